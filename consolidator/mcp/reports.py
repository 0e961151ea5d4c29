"""The report of the last night, as far as it is about one scope: no agent reads of another one's memories."""

import json
from contextlib import closing
from dataclasses import replace

from consolidator.mcp.framing import NOTICE
from consolidator.plan import TOTALS
from consolidator.report import Report, from_json, render
from consolidator.report.document import as_json, dumps
from consolidator.store.engine import open_store
from consolidator.store.journal import earlier_reports

NONE_YET = "There was no night yet for these memories."


def last_report(url: str, scope: str) -> Report | None:
    """What the last night that was not taken back did in a scope. None where there was none. url: of the store."""
    pairs = json.loads(scope)
    with open_store(url, mode="read") as store, store.read() as conn, closing(earlier_reports(conn)) as documents:
        for document in documents:
            if any(each["scope"] == pairs for each in document["scopes"]) and (report := from_json(document)).whole:
                return about(report, pairs)
    return None


def about(report: Report, scope: dict[str, str]) -> Report:
    """The part of a report that is about one scope, as if the night had been for it alone."""
    own = tuple(each for each in report.scopes if each.scope == scope)
    totals = dict.fromkeys(TOTALS, 0)
    for each in own:
        for step in each.steps:
            totals |= {verb: totals[verb] + count for verb, count in step.counts.items() if verb in totals}
        totals["stale"] += len(each.stale)
    return replace(report, scopes=own, totals=totals, earlier=(), error=None)


def as_text(report: Report | None) -> str:
    """A report as a person reads it."""
    return NONE_YET if report is None else render(report, "detailed")


def as_document(report: Report | None) -> str:
    """A report as JSON, after the notice that it is data; null where there is none."""
    return "null" if report is None else dumps({"notice": NOTICE, **as_json(report)})
