"""Commands by which a person decides about single memories: pin, unpin, restore, forget."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from consolidator.cli.output import emit, emit_json, note, on_terminal, one_line, progress
from consolidator.cli.session import IdsArgument, JsonOption, ScopeOption, clock, scope_text
from consolidator.errors import BadInput

if TYPE_CHECKING:
    from consolidator.store.find import Found

_TEXT_SHOWN = 70


def pin(ctx: typer.Context, ids: IdsArgument, scope: ScopeOption = None) -> None:
    """
    Keep memories from being archived when they fade.

    \b
    Example:
        consolidate pin 3f9a1c22
    """
    _pin(ctx, ids, scope, pinned=True)


def unpin(ctx: typer.Context, ids: IdsArgument, scope: ScopeOption = None) -> None:
    """
    Let pinned memories fade again.

    \b
    Example:
        consolidate unpin 3f9a1c22
    """
    _pin(ctx, ids, scope, pinned=False)


def _pin(ctx: typer.Context, ids: list[str], scope: str | None, *, pinned: bool) -> None:
    from consolidator.store.care import pin
    from consolidator.store.find import find_memories

    wanted = scope_text(scope)
    with ctx.obj.open("write") as store, store.write() as conn:
        found = find_memories(conn, ids, wanted)
        changed = pin(conn, found, pinned=pinned)
    for each in found:
        said = (
            ("Pinned" if pinned else "Unpinned") if each in changed else ("Already pinned" if pinned else "Not pinned")
        )
        emit(f"{said}: {_named(each)}")


def restore(ctx: typer.Context, ids: IdsArgument, scope: ScopeOption = None) -> None:
    """
    Bring archived or superseded memories back.

    They are kept, however faded, until they are used again.

    \b
    Example:
        consolidate restore 3f9a1c22
    """
    from consolidator.store.care import restore
    from consolidator.store.find import find_memories

    wanted = scope_text(scope)
    with ctx.obj.open("write") as store, store.write() as conn:
        found = find_memories(conn, ids, wanted)
        back = restore(conn, found, now=clock())
    for each in found:
        emit(f"{f'Restored ({each.status} before)' if each in back else 'Already active'}: {_named(each)}")


def forget(
    ctx: typer.Context,
    ids: IdsArgument,
    scope: ScopeOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: JsonOption = False,
) -> int:
    """
    Delete memories everywhere, for good.

    What stays is a mark, without text, that keeps them from being imported again. Copies outside the store are yours
    to delete: exports, saved plans, backups, the copies that `migrate` makes.

    \b
    Example:
        consolidate forget 3f9a1c22 --yes
    """
    from consolidator.store.find import find_memories
    from consolidator.store.forget import forget

    wanted = scope_text(scope)
    asks = sys.stdin.isatty() and on_terminal(sys.stderr)
    if not yes and not asks:
        raise BadInput("forget deletes for good and cannot ask here; add --yes where that is meant")
    with ctx.obj.open("write") as store:
        with store.read() as conn:
            found = find_memories(conn, ids, wanted)
        if not yes:
            for each in found:
                note(_named(each))
            if not typer.confirm(f"Forget {len(found)} for good?", err=True):
                note("Nothing was forgotten.")
                return 0
        with progress("Forgetting"):
            done = forget(store, found, now=clock(), wall_clock=clock)
    if json:
        emit_json(
            {"forgotten": done.ids, "review": {"merged_from_it": done.merged, "sources_of_it": done.sources},
             "wiped": done.wiped}
        )  # fmt: skip
    else:
        for id_ in done.ids:
            emit(f"Forgotten: {id_[:12]}")
        for id_ in done.merged:
            emit(f"To review, merged from a forgotten memory: {id_[:12]} (`consolidate show {id_[:12]}`)")
        for id_ in done.sources:
            emit(f"To review, a source of a forgotten memory: {id_[:12]} (`consolidate show {id_[:12]}`)")
    if not done.wiped:
        note(
            "consolidate: forgotten, but another program has the file open: until it lets go, deleted bytes stay "
            "on the disk; the next night wipes them"
        )
        return 3
    return 0


def _named(found: "Found") -> str:
    return f"{found.id[:12]} {one_line(found.content or '', _TEXT_SHOWN)}"
