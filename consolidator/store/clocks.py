"""The clock of a scope as rows: read, brought up to date with what waits, written."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from consolidator.instants import format_instant, parse_instant
from consolidator.laws.clock import PAUSE_AFTER, Clock, Rates, Segment, from_segments, observe
from consolidator.laws.pace import OFF
from consolidator.store.arrivals import arrivals
from consolidator.store.segments import SegmentRow, segment_rows, write_segments
from consolidator.store.tables import WAITING, attributions, exposures, scopes


def load_clock(conn: sa.Connection, scope_key: int) -> Clock:
    """The clock as the last night left it."""
    epoch, first, last = conn.execute(
        sa.select(scopes.c.epoch_at, scopes.c.first_activity_at, scopes.c.last_activity_at).where(
            scopes.c.key == scope_key
        )
    ).one()
    return from_segments(
        [
            Segment(at, (one, two, three), paused, law)
            for at, one, two, three, paused, law in segment_rows(conn, scope_key)
        ],
        epoch=epoch,
        first=first,
        last=last,
    )


def read_clock(conn: sa.Connection, scope_key: int, *, now: int, rates: Rates) -> Clock:
    """The clock as a night at `now` would leave it."""
    return observe(load_clock(conn, scope_key), waiting_activity(conn, scope_key, now=now), rates=rates, now=now)


def waiting_activity(conn: sa.Connection, scope_key: int, *, now: int) -> NDArray[np.int64]:
    """Times, at or before `now`, of activity that no night has seen: memories taken in, exposures, attributions."""
    times = [
        sa.select(exposures.c.at).where(exposures.c.scope_key == scope_key, WAITING, exposures.c.at <= now),
        sa.select(attributions.c.at).where(attributions.c.scope_key == scope_key, WAITING, attributions.c.at <= now),
    ]
    return np.array([*arrivals(conn, scope_key, now=now).values(), *conn.scalars(sa.union(*times))], np.int64)


def as_rows(clock: Clock) -> list[SegmentRow]:
    """A clock as the rows that store it."""
    segments = clock.segments(open_pause=False)
    return [(segment.from_at, *segment.slopes, segment.paused, segment.law) for segment in segments]


def segments_of(conn: sa.Connection, scope_key: int, *, now: int, rates: Rates) -> list[dict[str, Any]]:
    """The clock as exchange lines tell it; a pause, also the one still to come, has zero slopes."""
    return [
        {
            "from": format_instant(segment.from_at),
            **dict(
                zip(
                    ("working", "consolidated", "association"),
                    (0.0, 0.0, 0.0) if segment.paused else segment.slopes,
                    strict=True,
                )
            ),
            **({} if segment.law == OFF else {"law": segment.law}),
        }
        for segment in read_clock(conn, scope_key, now=now, rates=rates).segments()
    ]


def adopt_segments(conn: sa.Connection, scope_key: int, segments: Sequence[Mapping[str, Any]]) -> None:
    """Take the segments of an exchange line for a scope that has no clock yet."""
    if not segments or load_clock(conn, scope_key).first is not None:
        return
    rows: list[Segment] = []
    for line in sorted(segments, key=lambda line: parse_instant(line["from"])):
        slopes = (float(line["working"]), float(line["consolidated"]), float(line["association"]))
        paused = slopes == (0.0, 0.0, 0.0)
        nominal = slopes if not paused or not rows else rows[-1].slopes
        rows.append(Segment(parse_instant(line["from"]), nominal, paused, line.get("law", OFF)))
    first, last = rows[0].from_at, rows[-1].from_at
    while rows[-1].paused and len(rows) > 1:
        last = rows.pop().from_at - PAUSE_AFTER
    clock = from_segments(rows, epoch=first, first=first, last=last)
    write_segments(conn, scope_key, as_rows(clock))
    conn.execute(
        sa.update(scopes)
        .where(scopes.c.key == scope_key)
        .values(epoch_at=first, first_activity_at=first, last_activity_at=last)
    )
