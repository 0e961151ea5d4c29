"""The command that gives memories their vectors: embed."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from consolidator.cli.output import emit, emit_json, note, progress
from consolidator.cli.session import JsonOption, Session
from consolidator.errors import BadInput, ConsolidatorError

if TYPE_CHECKING:
    from consolidator.embedding.choose import Choice
    from consolidator.embedding.fill import Filled
    from consolidator.store.engine import Store
    from consolidator.store.vectors import Pin


def embed(
    ctx: typer.Context,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", metavar="M", help="minilm or openai:NAME; else the store's, else minilm.", show_default=False
        ),
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Embed all memories anew, with M or the model of the settings if given.")
    ] = False,
    json: JsonOption = False,
) -> int:
    """
    Embed the memories that lack a vector.

    Stopped on the way, it goes on from there the next time.

    \b
    Example:
        consolidate embed
        consolidate embed --all --model openai:text-embedding-3-small
    """
    from consolidator.embedding.choose import embedder_of
    from consolidator.store.vectors import pin_of

    session: Session = ctx.obj
    with session.open("write") as store:
        with store.read() as conn:
            pinned = pin_of(conn)
        choice = embedder_of(session.settings.embedding, pinned, os.environ, option=model, replaces=all_)
        if choice.embedder is None and model is not None and (pinned is None or pinned.model != choice.model):
            raise BadInput(f"--model: {choice.why}")
        before = _place(store, choice) if all_ else 0
        done = _fill(store, choice, pinned, all_=all_, before=before)
        return _tell(store, choice, done, all_=all_, before=before, json=json)


def _place(store: "Store", choice: "Choice") -> int:
    """How many memories an earlier run that was stopped has embedded anew."""
    from consolidator.store.vectors import count_memories, place_of

    if choice.model is None:
        return 0
    with store.read() as conn:
        place = place_of(conn, choice.model)
        return count_memories(conn) - count_memories(conn, after=place) if place else 0


def _fill(store: "Store", choice: "Choice", pinned: "Pin | None", *, all_: bool, before: int) -> "Filled":
    from consolidator.embedding.fill import Filled, delete_left, embed_all, embed_missing
    from consolidator.store.vectors import count_lacking, count_memories

    embedder = choice.embedder
    if embedder is None:
        return Filled(deleted=delete_left(store))
    dimension = pinned.dimension if pinned else embedder.dimension
    with store.read() as conn:
        if not all_:
            total = count_lacking(conn, embedder.model, which="all", dimension=dimension)
        elif pinned and pinned.model != embedder.model:
            total = count_lacking(conn, embedder.model, which="all", dimension=embedder.dimension)
        else:
            total = count_memories(conn) - before
    with progress("Embedding", total=total) as advance:
        if all_:
            return embed_all(store, embedder, advance=advance)
        done = Filled(deleted=delete_left(store))
        for which in ("active", "others"):
            if not done.why:
                done = done.and_then(
                    embed_missing(store, None, embedder, which=which, dimension=dimension, advance=advance)
                )
        return done


def _tell(store: "Store", choice: "Choice", done: "Filled", *, all_: bool, before: int, json: bool) -> int:
    """Print what was done, and return the exit code: 1 where it ended early."""
    from consolidator.embedding.choose import spell
    from consolidator.store.vectors import count_lacking, count_memories, pin_of

    with store.read() as conn:
        pinned = pin_of(conn)
        memories = count_memories(conn)
        without = memories if choice.model is None else count_lacking(conn, choice.model, which="all")
    code = ConsolidatorError.exit_code if done.why else 0
    why = done.why or choice.why
    if json:
        emit_json(
            {
                "exit": code,
                "model": choice.model,
                "dimension": pinned.dimension if pinned and pinned.model == choice.model else None,
                "embedded": done.embedded,
                "before": before,
                "forgotten": done.gone,
                "unread": done.unread,
                "held_back": done.held_back,
                "without": without,
                "deleted": done.deleted,
                "why": why or None,
            }
        )
    else:
        there = f"vectors of {spell(choice.model)}" if choice.model else ""
        if choice.model is None:
            emit(f"Nothing was embedded: {why}. Words alone are used.")
        elif choice.embedder is None:
            have = _of(memories - without, memories)
            emit(f"Nothing was embedded: {why}. Stored {there} ({have} have one) and words are used.")
        elif done.embedded or done.why:
            emit(f"Embedded {'anew ' if all_ else ''}with {spell(choice.model)}: {_counted(done.embedded)}.")
        elif not memories:
            emit("Nothing to embed: the store holds no memories.")
        else:
            emit(f"Nothing to embed: {there} are there for {_of(memories - without, memories)}.")
        if before and not done.why:
            emit(f"Embedded before this was stopped: {_counted(before)}; run again to embed these anew too.")
        if done.held_back:
            emit(f"Not sent, for there is a secret in them: {_counted(done.held_back)}.")
        if done.gone:
            emit(f"Forgotten meanwhile: {_counted(done.gone)}.")
        if done.unread:
            emit(f"Not readable by this model, found by their words alone: {_counted(done.unread)}.")
        if done.deleted:
            emit(f"Deleted: {done.deleted:,} vectors of the model before.")
    if done.why:
        note(f"consolidate: {done.why}; what is embedded stays, run again to go on")
    return code


def _counted(count: int) -> str:
    return f"{count:,} {'memory' if count == 1 else 'memories'}"


def _of(some: int, count: int) -> str:
    if some < count or not count:
        return f"{some:,} of {_counted(count)}"
    return "the one memory" if count == 1 else f"all {_counted(count)}"
