"""Commands by which a person decides about single memories: pin, unpin, restore, forget."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from consolidator.cli.output import ID_SHOWN, emit, emit_json, note, on_terminal, one_line, progress
from consolidator.cli.session import IdsArgument, JsonOption, ScopeOption, Session, WhereOption, clock, scope_text
from consolidator.errors import BadInput

if TYPE_CHECKING:
    from consolidator.conditions import Conditions
    from consolidator.store.engine import Store
    from consolidator.store.find import Found
    from consolidator.store.forget import Forgotten

_TEXT_SHOWN = 70
_SHOWN = 20  # before it is asked
_AT_ONCE = 500  # memories in a transaction: agents go on writing between two


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
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Ids, or their first 8 or more characters.")
    ] = None,
    where: WhereOption = None,
    scope: ScopeOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Delete nothing; list what would be.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: JsonOption = False,
) -> int:
    """
    Delete memories everywhere, for good.

    By their ids, or all for which conditions hold. What stays is a mark, without text, that keeps them from being
    imported again. Copies outside the store are yours to delete: exports, saved plans, backups, the copies that
    `migrate` makes.

    \b
    Example:
        consolidate forget 3f9a1c22 --yes
        consolidate forget --where type=observation --where before=2026-01-01 --where "strength<0.1" --dry-run
    """
    from consolidator.conditions import parse_conditions
    from consolidator.store.bulk import portions
    from consolidator.store.forget import forget

    if bool(ids) == bool(where):
        raise BadInput("say what to forget: either ids, or conditions with --where")
    conditions = parse_conditions(where or [])
    asks = sys.stdin.isatty() and on_terminal(sys.stderr)
    if not (yes or asks or dry_run):
        raise BadInput("forget deletes for good and cannot ask here; add --yes where that is meant")
    session: Session = ctx.obj
    with session.open("read" if dry_run else "write") as store:
        found = _found(session, store, ids or [], conditions, scope_text(scope))
        if dry_run:
            return _would_forget(found, json=json)
        if not yes and found:
            for each in found[:_SHOWN]:
                note(_named(each))
            if len(found) > _SHOWN:
                note(f"and {len(found) - _SHOWN:,} more")
            if not typer.confirm(f"Forget {len(found):,} for good?", err=True):
                note("Nothing was forgotten.")
                return 0
        done: list[Forgotten] = []
        with progress("Forgetting", total=len(found)) as advance:
            for some in portions(found, _AT_ONCE):
                done.append(forget(store, some, now=clock(), wall_clock=clock))
                advance(len(some))
    return _tell_forgotten(done, whole=bool(ids), json=json)


def _found(
    session: Session, store: "Store", ids: list[str], conditions: "Conditions", scope: str | None
) -> "list[Found]":
    """The memories of these ids, or those for which all conditions hold."""
    from consolidator.store.find import find_memories, find_scopes
    from consolidator.store.matching import matching
    from consolidator.store.readers import Clocks

    now = clock()
    with store.read() as conn:
        if ids:
            return find_memories(conn, ids, scope)
        return matching(conn, find_scopes(conn, scope), conditions, Clocks(conn, now=now, rates=session.rates), now=now)


def _would_forget(found: "list[Found]", *, json: bool) -> int:
    if json:
        emit_json({"dry_run": True, "would_forget": [each.id for each in found]})
        return 0
    for each in found:
        emit(_named(each))
    emit(f"{len(found):,} would be forgotten.")
    return 0


def _tell_forgotten(done: "list[Forgotten]", *, whole: bool, json: bool) -> int:
    """whole: each by itself is named."""
    ids = [each for part in done for each in part.ids]
    gone = {*ids}
    merged = [each for part in done for each in part.merged if each not in gone]
    sources = [each for part in done for each in part.sources if each not in gone]
    wiped = all(part.wiped for part in done)
    if json:
        emit_json({"forgotten": ids, "review": {"merged_from_it": merged, "sources_of_it": sources}, "wiped": wiped})
    else:
        for id_ in ids if whole else ():
            emit(f"Forgotten: {id_[:ID_SHOWN]}")
        if not whole:
            emit(f"Forgotten: {len(ids):,}.")
        for what, named in (("merged from a", merged), ("a source of a", sources)):
            for id_ in named:
                emit(f"To review, {what} forgotten memory: {id_[:ID_SHOWN]} (`consolidate show {id_[:ID_SHOWN]}`)")
    if not wiped:
        note(
            "consolidate: forgotten, but another program has the file open: until it lets go, deleted bytes stay "
            "on the disk; the next night wipes them"
        )
        return 3
    return 0


def _named(found: "Found") -> str:
    return f"{found.id[:ID_SHOWN]} {one_line(found.content or '', _TEXT_SHOWN)}"
