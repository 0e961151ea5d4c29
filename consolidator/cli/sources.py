"""Commands on other systems' stores: sources, pull, push, messages."""

import json as json_text
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from consolidator.cli.files import advancing, receiving_store
from consolidator.cli.output import emit, emit_json, emit_table, note, one_line, progress
from consolidator.cli.session import AsOfOption, JsonOption, Session, clock, moment, scope_text

if TYPE_CHECKING:
    from consolidator.sources.named import Named
    from consolidator.sources.pull import Pulled
    from consolidator.sources.push import Pushed
    from consolidator.store.engine import Store

LINES_SHOWN = 20

SourceArgument = Annotated[
    str, typer.Argument(metavar="SOURCE", help="A name from `sources` in the settings, or KIND:PLACE.")
]
SourceScopeOption = Annotated[
    str | None,
    typer.Option("--scope", metavar="K=V,...", help="Pairs that its scopes have here besides.", show_default=False),
]
ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="M", help="Of which model the vectors in it are.", show_default=False),
]


def sources(ctx: typer.Context, json: JsonOption = False) -> None:
    """
    List the kinds of other stores, and those known.

    What is not installed says what to install.

    \b
    Example:
        consolidate sources
    """
    from consolidator.instants import format_instant
    from consolidator.sources.choose import KINDS

    session: Session = ctx.obj
    known = [each._asdict() for each in _known(session)]
    for each in known:
        each |= {name: each[name] and format_instant(each[name]) for name in ("pulled_at", "pushed_at")}
    names = {source.url: name for name, source in session.settings.sources.items()}
    known = [{"name": names.get(each["url"]), **each} for each in known]
    there = {each["url"] for each in known}
    named = [{"name": name, "url": url} for url, name in names.items() if url not in there]
    kinds = [
        {"kind": kind.name, "whose": kind.what, "place": kind.place, "ways": kind.ways, "missing": kind.missing}
        for kind in KINDS.values()
    ]
    if json:
        emit_json({"kinds": kinds, "sources": [*known, *named]})
        return
    needs = [f"pip install '{kind['missing']}'" if kind["missing"] else "" for kind in kinds]
    emit_table(
        ("kind", "ways", "needs", "whose", "place"),
        [
            (kind["kind"], kind["ways"], need, kind["whose"], kind["place"])
            for kind, need in zip(kinds, needs, strict=True)
        ],
    )
    if not known and not named:
        return
    emit("")
    emit_table(
        ("name", "records", "gone", "last pull", "last push", "url"),
        [
            (
                each["name"] or "",
                each.get("records", ""),
                each.get("gone", ""),
                each.get("pulled_at") or "never",
                each.get("pushed_at") or "never",
                each["url"],
            )
            for each in (*known, *named)
        ],
    )


def _known(session: Session) -> list[Any]:
    """Those that the store knows; none where there is no store yet."""
    from consolidator.sources.listing import listing
    from consolidator.store.urls import is_file, parse_url, path_of

    url = parse_url(session.url)
    if is_file(url) and not path_of(url).exists():
        return []
    with session.open("read") as store:
        return listing(store)


def pull(
    ctx: typer.Context,
    source: SourceArgument,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; say what would be taken in.")] = False,
    scope: SourceScopeOption = None,
    model: ModelOption = None,
    mapping: Annotated[
        Path | None,
        typer.Option("--mapping", metavar="FILE", help="The file that says what the fields mean.", show_default=False),
    ] = None,
    gone: Annotated[
        bool, typer.Option("--gone", help="Archive what is gone there, though it be more than half of all.")
    ] = False,
    as_of: AsOfOption = None,
    json: JsonOption = False,
) -> int:
    """
    Take in what another system's store holds.

    And, from then on, what was done there since the last time. Nothing is changed over there. What cannot be read as a
    memory is left out and listed (exit 3).

    \b
    Example:
        consolidate pull claw-memory-ultra --dry-run
        consolidate pull "csv:notes.csv" --mapping notes.yaml
    """
    session: Session = ctx.obj
    now = moment(as_of, ahead=False)
    named = _named(session, source, scope=scope, model=model, mapping=mapping)
    with receiving_store(session, dry_run=dry_run) as store:
        url, pulled = pulled_from(session, store, named, now=now, dry_run=dry_run, allow_gone=gone)
    document = tell_pulled(named.name, url, pulled, dry_run=dry_run, json=json)
    if json:
        emit_json({"dry_run": dry_run, **document})
    return pulled.exit_code


def tell_pulled(name: str, url: str, pulled: "Pulled", *, dry_run: bool = False, json: bool = False) -> dict[str, Any]:
    """Say what was pulled; with json nothing. The document that says it."""
    from consolidator.sources.telling import pulled_document, pulled_line

    if not json:
        _list("skipped", map(str, pulled.bad), pulled.bad_lines)
        _list("conflict", pulled.conflicts, len(pulled.conflicts))
        for line in pulled.notes:
            note(f"consolidate: {one_line(line)}")
        emit(pulled_line(name, pulled, dry_run=dry_run))
    return pulled_document(name, url, pulled)


def pulled_from(
    session: Session, store: "Store", named: "Named", *, now: int, dry_run: bool = False, allow_gone: bool = False
) -> tuple[str, "Pulled"]:
    """Pull a source; its canonical URL, and what came of it."""
    from consolidator.sources.named import opened
    from consolidator.sources.pull import pull

    with (
        progress(f"Pulling {named.name}") as advance,
        opened(named, store, session.settings.embedding, os.environ) as (source, options),
    ):
        told = advancing(advance)
        pulled = pull(
            store,
            source,
            options=options,
            now=now,
            wall_clock=clock,
            dry_run=dry_run,
            allow_gone=allow_gone,
            expiry=session.settings.day.expiry,
            progress=lambda _what, done, _total: told(done),
        )
        return source.url, pulled


def push(
    ctx: typer.Context,
    source: SourceArgument,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; say what would be written.")] = False,
    scope: SourceScopeOption = None,
    model: ModelOption = None,
    json: JsonOption = False,
) -> int:
    """
    Write back to another system's store.

    What nights have changed is written, and of each record only that. What was changed over there since the last pull
    is left alone and listed (exit 3). `undo PUSH` takes it back.

    \b
    Example:
        consolidate push claw-memory-ultra --dry-run
    """
    session: Session = ctx.obj
    now = clock()
    named = _named(session, source, scope=scope, model=model)
    with session.open("read" if dry_run else "write") as store:
        url, pushed = pushed_to(session, store, named, now=now, dry_run=dry_run)
    document = tell_pushed(named.name, url, pushed, dry_run=dry_run, json=json)
    if json:
        emit_json({"dry_run": dry_run, **document})
    return pushed.exit_code


def tell_pushed(name: str, url: str, pushed: "Pushed", *, dry_run: bool = False, json: bool = False) -> dict[str, Any]:
    """Say what was pushed; with json nothing. The document that says it."""
    from consolidator.sources.telling import pushed_document, pushed_line

    if not json:
        for line in pushed.planned:
            emit(one_line(line))
        _list("conflict", pushed.conflicts, len(pushed.conflicts))
        for line in pushed.notes:
            note(f"consolidate: {one_line(line)}")
        emit(pushed_line(name, pushed, dry_run=dry_run))
        if pushed.push_id and pushed.written + pushed.made + pushed.removed:
            emit(f"To take it back: consolidate undo {pushed.push_id}")
    return pushed_document(name, url, pushed)


def pushed_to(
    session: Session, store: "Store", named: "Named", *, now: int, dry_run: bool = False
) -> tuple[str, "Pushed"]:
    """Push to a source; its canonical URL, and what came of it."""
    from consolidator.sources.named import opened
    from consolidator.sources.push import push

    with (
        progress(f"Pushing {named.name}") as advance,
        opened(named, store, session.settings.embedding, os.environ) as (source, options),
    ):
        told = advancing(advance)
        pushed = push(
            store,
            source,
            options=options,
            now=now,
            wall_clock=clock,
            rates=session.rates,
            dry_run=dry_run,
            progress=lambda _what, done, _total: told(done),
        )
        return source.url, pushed


def messages(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A log of conversations, or a folder of them.")],
    json: Annotated[bool, typer.Option("--json", help="Print a JSON document for each instead.")] = False,
) -> int:
    """
    Read logs of conversations.

    Those of OpenClaw, Claude Code, or plain JSONL; a line for each message. Nothing is taken in. What cannot be read
    is listed (exit 3).

    \b
    Example:
        consolidate messages ~/.openclaw/agents/main/sessions
    """
    from consolidator.exchange.records import BadLine
    from consolidator.instants import format_instant
    from consolidator.sources.conversations import read_messages

    bad = 0
    for message in read_messages(path):
        if isinstance(message, BadLine):
            bad += 1
            if bad <= LINES_SHOWN:
                note(f"skipped: {message}")
            continue
        at = None if message.at is None else format_instant(message.at)
        if json:
            about = {"session": message.session, "at": at, "role": message.role, "text": message.text, "id": message.id}
            emit(json_text.dumps(about, ensure_ascii=False))
        else:
            emit(f"{at or '-'}  {one_line(message.session)}  {one_line(message.role)}: {one_line(message.text)}")
    if bad > LINES_SHOWN:
        note(f"skipped: {bad - LINES_SHOWN:,} more lines")
    return 3 if bad else 0


def _named(
    session: Session, source: str, *, scope: str | None, model: str | None, mapping: Path | None = None
) -> "Named":
    """The source, as the settings know it, with what was said of it here in their place."""
    from consolidator.embedding.choose import named as model_named
    from consolidator.sources.named import named_source

    named = named_source(session.settings, source)
    options = named.options
    if scope is not None:
        options = replace(options, scope=scope_text(scope) or options.scope)
    if model is not None:
        model_named(model, "--model")
        options = replace(options, model=model)
    if mapping is not None:
        options = replace(options, mapping=str(mapping))
    return replace(named, options=options)


def _list(what: str, lines: Iterable[str], count: int) -> None:
    """The first of some lines, on standard error."""
    for number, line in enumerate(lines):
        if number == LINES_SHOWN:
            break
        note(f"{what}: {one_line(line)}")
    if count > LINES_SHOWN:
        note(f"{what}: {count - LINES_SHOWN:,} more (--json lists them)")
