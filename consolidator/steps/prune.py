"""Prune: archive what has faded or expired, bring back what has revived. Nothing is deleted."""

from collections.abc import Iterable

import numpy as np

from consolidator.instants import format_instant
from consolidator.laws.clock import Clock
from consolidator.laws.fading import FADED
from consolidator.plan import Decision
from consolidator.steps.rows import Memory, change, kinds, strengths


def prune(memories: Iterable[Memory], *, clock: Clock, now: int) -> tuple[list[Decision], dict[int, Memory]]:
    """
    A memory is archived if it has expired, or has faded and nothing protects it; a faded one revives if it has not.

    A pin, an anchor until 7 nights after its end, and being kept (by `restore` or an undo) protect.
    Returns the decisions and the memories as they then are.
    """
    rows = [row for row in memories if row.fades_age is not None]
    ages = clock.age(now, kinds(rows))
    faded = ages >= np.array([row.fades_age for row in rows], np.float64)
    decisions, changed = [], {}
    fading: list[Memory] = []
    for row, is_faded in zip(rows, faded.tolist(), strict=True):
        expired = row.expires_at is not None and row.expires_at <= now
        if row.status == "active" and expired:
            decision, changed[row.key] = change(
                row,
                "prune",
                "archived",
                f"expired at {format_instant(row.expires_at or 0)}",
                status="archived",
                archived_at=now,
                archived_because="expired",
            )
            decisions.append(decision)
        elif row.status == "active" and is_faded and not protected(row, now):
            fading.append(row)
        elif row.status == "archived" and row.archived_because == "faded" and not is_faded and not expired:
            strength = float(strengths(clock, [row], now)[0])
            decision, changed[row.key] = change(
                row,
                "prune",
                "revived",
                f"strength {strength:.3f} > {FADED} again",
                status="active",
                archived_at=None,
                archived_because=None,
            )
            decisions.append(decision)
    for row, because in zip(fading, _since(fading, clock, now), strict=True):
        decision, changed[row.key] = change(
            row, "prune", "archived", because, status="archived", archived_at=now, archived_because="faded"
        )
        decisions.append(decision)
    return decisions, changed


def protected(row: Memory, now: int) -> bool:
    """Whether a pin, an anchor until 7 nights after its end, `restore` or an undo keeps a memory from fading."""
    anchored = row.protected_until is not None and now < row.protected_until
    return row.pinned or row.kept or row.spared or anchored


def _since(rows: list[Memory], clock: Clock, now: int) -> list[str]:
    current = strengths(clock, rows, now).tolist()
    ages = np.array([row.fades_age for row in rows], np.float64)
    since = np.zeros(len(rows))
    for kind in (0, 1):
        of_kind = kinds(rows) == kind
        since[of_kind] = clock.when(ages[of_kind], kind)
    return [
        f"strength {strength:.3f} <= {FADED} since {format_instant(int(min(max(at, row.strength_at), now)))[:10]}"
        for row, strength, at in zip(rows, current, since.tolist(), strict=True)
    ]
