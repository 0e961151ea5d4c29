"""The command that takes in what providers have answered in batches: collect."""

import typer

from consolidator.cli.output import emit, emit_json
from consolidator.cli.session import JsonOption, ScopeOption, Session, clock, scope_text
from consolidator.cli.telling import (
    DecisionsOption,
    LevelOption,
    as_document,
    earlier_of,
    level_of,
    report_of,
    tell,
)
from consolidator.plan import Plan, Result


def collect(
    ctx: typer.Context,
    scope: ScopeOption = None,
    report: LevelOption = None,
    decisions: DecisionsOption = False,
    json: JsonOption = False,
) -> int:
    """
    Take in the answers of batches that have ended.

    With `merge.mode: batch` a run hands its questions in; the next run takes the answers in, or this does, before.
    Nothing else of a night is done.

    \b
    Example:
        consolidate collect
    """
    session: Session = ctx.obj
    now = clock()
    level, zone = level_of(session, report), session.settings.time_zone
    wanted = scope_text(scope)
    from consolidator.night import collect_batches
    from consolidator.store.find import find_scopes

    with session.open("write") as store, session.means() as means:
        with store.read() as conn:
            find_scopes(conn, wanted)
        means.insist(store)
        earlier = earlier_of(store, ("merge",))
        result = collect_batches(
            store,
            now=now,
            rates=session.rates,
            wall_clock=clock,
            describe=lambda result: as_document(report_of(store, result, earlier, zone)),
            means=means,
            scopes=None if wanted is None else [wanted],
        )
        if result is not None:
            return tell(store, result, earlier, time_zone=zone, level=level, decisions=decisions, json=json)
        if json:
            nothing = Result(Plan(store.store_id, now, ("merge",), ()))
            emit_json(as_document(report_of(store, nothing, earlier, zone)))
        elif level != "off":
            emit("No batch is under way.")
    return 0
