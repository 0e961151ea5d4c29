"""`consolidate sync`: pull, night, push."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from consolidator.cli.files import receiving_store
from consolidator.cli.nights import turn_of
from consolidator.cli.output import emit, emit_json, note, one_line, progress
from consolidator.cli.session import JsonOption, Session, clock
from consolidator.cli.sources import pulled_from, pushed_to, tell_pulled, tell_pushed
from consolidator.cli.telling import LevelOption, as_document, earlier_of, level_of, report_of
from consolidator.errors import BadInput, ConsolidatorError
from consolidator.plan import STEPS

if TYPE_CHECKING:
    from consolidator.report import Report
    from consolidator.sources.named import Named
    from consolidator.store.engine import Store

PARTLY = 3


def sync(
    ctx: typer.Context,
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="SOURCE", help="Names or KIND:PLACE; all of the settings if none is given."),
    ] = None,
    report: LevelOption = None,
    json: JsonOption = False,
) -> int:
    """
    Pull from other stores, run the night, push.

    A source that cannot be pulled is told of and not pushed; the rest is done (exit 3).

    \b
    Example:
        consolidate sync claw-memory-ultra
    """
    from consolidator.report import render
    from consolidator.sources.choose import parse_source
    from consolidator.sources.named import named_source

    session: Session = ctx.obj
    level, now = level_of(session, report), clock()
    named = [named_source(session.settings, each) for each in dict.fromkeys(sources or session.settings.sources)]
    if not named:
        raise BadInput("name a source, or have the settings name some under `sources:`; see `consolidate sources`")
    done = {each.name: _Synced(session, each, json=json) for each in named}
    with receiving_store(session, dry_run=False) as store:
        there = [each for each in done.values() if each.pull(store, now)]
        if not there:
            raise BadInput("; ".join(each.trouble or "" for each in done.values()))
        night = _night(session, store, now)
        if not json and (text := render(night, level)):
            emit(text)
        for each in there:
            if parse_source(each.named.url)[0].ways == "both":
                each.push(store, now)
    for each in done.values():
        if each.trouble:
            note(f"consolidate: {one_line(each.trouble)}")
    code = night.exit_code or max(each.exit_code for each in done.values())
    if json:
        emit_json({"exit": code, "sources": [each.document for each in done.values()], "night": as_document(night)})
    return code


class _Synced:
    """One source, and what became of it. trouble: what could not be done, and why."""

    def __init__(self, session: Session, named: "Named", *, json: bool) -> None:
        self.session, self.named, self._json = session, named, json
        self.document: dict[str, Any] = {"source": named.name}
        self.trouble: str | None = None
        self.exit_code = 0

    def pull(self, store: "Store", now: int) -> bool:
        """Whether that went well."""
        try:
            url, pulled = pulled_from(self.session, store, self.named, now=now)
        except ConsolidatorError as failure:
            return self._failed("pull", failure)
        self.document["pull"] = tell_pulled(self.named.name, url, pulled, json=self._json)
        self.exit_code = max(self.exit_code, pulled.exit_code)
        return True

    def push(self, store: "Store", now: int) -> bool:
        """Whether that went well."""
        try:
            url, pushed = pushed_to(self.session, store, self.named, now=now)
        except ConsolidatorError as failure:
            return self._failed("push", failure)
        self.document["push"] = tell_pushed(self.named.name, url, pushed, json=self._json)
        self.exit_code = max(self.exit_code, pushed.exit_code)
        return True

    def _failed(self, what: str, failure: ConsolidatorError) -> bool:
        self.trouble, self.exit_code = f"{self.named.name} was not {what}ed: {failure}", PARTLY
        self.document[what] = {"error": str(failure)}
        return False


def _night(session: Session, store: "Store", now: int) -> "Report":
    """A whole night, as by hand."""
    from consolidator.night import run_night
    from consolidator.terms import Terms

    zone = session.settings.time_zone
    with session.means() as means, progress("The night") as advance:
        means.insist(store)
        earlier = earlier_of(store, STEPS)
        result = run_night(
            store,
            now=now,
            rates=session.rates,
            wall_clock=clock,
            describe=lambda result: as_document(report_of(store, result, earlier, zone)),
            means=means,
            progress=lambda _done, _all: advance(1),
            terms=Terms(turn_of(session, now)),
        )
        return report_of(store, result, earlier, zone)
