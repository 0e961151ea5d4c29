"""
A report as one HTML page: no script, nothing fetched from anywhere, readable on a phone and in the dark.

The page is well-formed XML too, which a test can hold it to.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from consolidator.instants import to_datetime
from consolidator.report import words
from consolidator.report.report import Report

_STALE = 10  # shown of each scope
_CHART_WIDTH, _CHART_HEIGHT, _GAP = 96, 24, 3


@dataclass(frozen=True, slots=True)
class Bar:
    """One night of a chart, in the units of its drawing."""

    x: float
    y: float
    width: float
    height: float
    tonight: bool


@dataclass(frozen=True, slots=True)
class Tile:
    """One total: its number, its label, its average before and the nights as bars (none without a history)."""

    number: str
    label: str
    average: str
    bars: tuple[Bar, ...]


def html(report: Report, level: str) -> str:
    """The report at a level that has something to say."""
    problem, moment = words.problem(report), to_datetime(report.as_of).astimezone(report.zone)
    return _page().render(
        report=report,
        words=words,
        detailed=level == "detailed",
        problem=problem,
        brief="" if level == "errors" else words.work(report) if problem else words.summary(report),
        moment=f"{moment.day} {moment:%B %Y}, {moment:%H:%M %Z}",
        tiles=[] if level == "errors" else [_tile(report, name) for name in words.told(report)],
        chart=(_CHART_WIDTH, _CHART_HEIGHT),
        shown_stale=_STALE,
    )


@cache
def _page() -> Template:
    folder = FileSystemLoader(Path(__file__).parent)
    engine = Environment(
        loader=folder, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return engine.get_template("page.html")


def _tile(report: Report, name: str) -> Tile:
    nights = [*(night[name] for night in reversed(report.earlier)), report.totals[name]]
    return Tile(
        number=f"{report.totals[name]:,}",
        label=words.LABELS[name],
        average=f"{report.average[name]:,g}" if report.earlier else "",
        bars=_bars(nights) if report.earlier else (),
    )


def _bars(nights: Sequence[int]) -> tuple[Bar, ...]:
    """Bars from the oldest night to this one; a zero keeps a hair's height, so that the night is seen."""
    width = (_CHART_WIDTH + _GAP) / len(nights) - _GAP
    tallest = max(nights) or 1
    heights = [max(1.0, _CHART_HEIGHT * count / tallest) for count in nights]
    return tuple(
        Bar(
            x=round(i * (width + _GAP), 2),
            y=round(_CHART_HEIGHT - height, 2),
            width=round(width, 2),
            height=round(height, 2),
            tonight=i == len(nights) - 1,
        )
        for i, height in enumerate(heights)
    )
