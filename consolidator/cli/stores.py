"""Commands on the store as a whole: init, migrate, doctor."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from consolidator.cli.output import emit, emit_json, emit_table, progress
from consolidator.cli.session import JsonOption, Session, clock
from consolidator.errors import BadInput

if TYPE_CHECKING:
    from consolidator.store.census import Check
    from consolidator.store.engine import Store


def init(ctx: typer.Context) -> None:
    """
    Make an empty store.

    One that is there already is left as it is.

    \b
    Example:
        consolidate --store memories.db init
    """
    from consolidator.store.urls import shown

    with ctx.obj.open("create") as store, store.read():
        emit(f"The store {shown(store.url)} is ready. `consolidate import` fills it.")


def migrate(
    ctx: typer.Context,
    check: Annotated[bool, typer.Option("--check", help="Only say whether it is needed; exit 1 if it is.")] = False,
) -> int:
    """
    Bring an older store to this program's schema.

    A SQLite file is copied aside first.

    \b
    Example:
        consolidate migrate --check
    """
    from consolidator.store import schema

    if check:
        versions = schema.check(ctx.obj.url)
        if versions.store == versions.program:
            emit(f"The store has schema {versions.store}, as this program.")
            return 0
        emit(f"The store has schema {versions.store}, this program {versions.program}: run `consolidate migrate`.")
        return 1
    with progress("Migrating"):
        done = schema.migrate(ctx.obj.url, now=clock())
    if done.before == done.after:
        emit(f"The store has schema {done.after} already.")
    else:
        emit(f"The store went from schema {done.before} to {done.after}.")
    if done.copy:
        emit(f"The file as it was before: {done.copy}")
    return 0


def doctor(ctx: typer.Context, json: JsonOption = False) -> int:
    """
    Check that the store is sound, and that its jobs happen.

    Changes nothing; exit 1 where something is wrong or has stopped happening.

    \b
    Example:
        consolidate doctor
    """
    from consolidator.store import census, schema
    from consolidator.store.urls import shown

    with progress("Checking"), ctx.obj.open("read") as store:
        with store.read() as conn:
            checks = list(census.checks(store, conn, version=schema.schema_version(conn)))
        checks += _stopped(ctx.obj, store)
    healthy = all(check.sound is not False for check in checks)
    settings = str(ctx.obj.settings_file) if ctx.obj.settings_file else "the defaults"
    if json:
        emit_json(
            {
                "store": shown(store.url),
                "store_id": store.store_id,
                "settings": settings,
                "healthy": healthy,
                "checks": [{"what": check.what, "sound": check.sound, "finding": check.finding} for check in checks],
            }
        )
        return 0 if healthy else 1
    rows = [("", "store", shown(store.url)), ("", "settings", settings)]
    marks = {True: "ok", False: "WRONG", None: ""}
    rows += [(marks[check.sound], check.what, check.finding) for check in checks]
    emit_table(("", "what", "finding"), rows)
    return 0 if healthy else 1


def _stopped(session: Session, store: "Store") -> "Iterator[Check]":
    """What has stopped happening, of the jobs of this store."""
    from consolidator.schedule.stopped import found_in
    from consolidator.settings.duty import duties_in
    from consolidator.store.census import Check

    settings = session.settings
    try:
        on = duties_in(settings, None)
    except BadInput as why:
        yield Check("jobs", False, str(why))
        return
    found = found_in(store, on, settings, now=clock())
    yield from (Check(finding.what, False, finding.sentence) for finding in found)
    if not found:
        yield Check("jobs", True, "nothing has stopped happening")
