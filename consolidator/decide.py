"""Decide: one scope's night from one read snapshot, step by step, as a plan. Nothing is written."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from consolidator.carried import carry_over
from consolidator.implied import count_dead, infer_links
from consolidator.laws.clock import ASSOCIATION, NEVER, Clock, Rates, observe, rewritten, turned
from consolidator.laws.fading import DEAD, fades_age
from consolidator.plan import Decision, Events, ScopePlan
from consolidator.soon import note_fading
from consolidator.steps import associate, decay, prune, reinforce, shift
from consolidator.steps.rows import Link, fading_ages
from consolidator.store import gather
from consolidator.store import legs as leg_rows
from consolidator.store.aliases import resolve
from consolidator.store.clocks import as_rows, load_clock, waiting_activity
from consolidator.store.segments import segment_rows
from consolidator.store.tables import attributions, exposures, scopes
from consolidator.tonight import Night

EXAMPLES = 5


def decide_scope(
    conn: sa.Connection,
    scope_key: int,
    *,
    now: int,
    rates: Rates,
    steps: Iterable[str],
    under_way: int | None = None,
) -> ScopePlan:
    """
    What a night at `now` would do to a scope: the steps in their order, each on what the ones before it left.

    conn: a read snapshot. Everything due at `now` or touched since the last night is read, nothing else.
    under_way: the key of the night's own run, where an earlier scope has written it.
    """
    asked = set(steps)
    scope = conn.execute(sa.select(scopes).where(scopes.c.key == scope_key)).one()
    old = load_clock(conn, scope_key)
    clock = observe(old, waiting_activity(conn, scope_key, now=now), rates=rates, now=now)
    span = rewritten(old, clock)
    plan = ScopePlan(scope_key, scope.scope, scope.undos, time_zone=scope.time_zone)
    latest = gather.latest_night(conn, other_than=under_way)
    if span and latest > now and gather.lies_ahead(conn, scope_key, *span, now=now):
        because = "what came in would change times later than this night; a night later than those takes it in"
        return replace(
            plan, because_nothing=dict.fromkeys(("reinforce", "decay", "associate", "shift", "prune"), because)
        )
    night = Night(conn, scope, clock, now, gather.memories_due(conn, scope_key, clock, now=now), latest)
    _schedule(night, old, span, replays="reinforce" in asked)
    if night.rewrites and not asked >= {"reinforce", "decay", "associate"}:
        because = "what came in changes the past; a night with reinforce, decay and associate takes it in"
        return replace(
            plan, because_nothing=dict.fromkeys(("reinforce", "decay", "associate", "shift", "prune"), because)
        )
    if "reinforce" in asked:
        _reinforce(night)
    else:
        night.known_attributions = gather.keys_waiting(conn, attributions, scope_key, now=now)
    if "associate" in asked:
        _associate(night, span)
    else:
        night.known_exposures = gather.keys_waiting(conn, exposures, scope_key, now=now)
    _shift(night, decides="shift" in asked)
    pruned = night.take(prune.prune(night.memories.values(), clock=clock, now=now)) if "prune" in asked else []
    if "associate" in asked or pruned:
        infer_links(night, archived=_rows(pruned, "archived"), revived=_rows(pruned, "revived"))
    dead_before = float(clock.age(now, ASSOCIATION)) if "decay" in asked else None
    unlinked = count_dead(night, dead_before) if dead_before is not None else 0
    consumes = bool(night.unscheduled) or any(decision.events for decision in night.decisions)
    if "decay" in asked or consumes:
        _keep_clock(night, old, rates)
    if "decay" in asked:
        note_fading(night)
    return replace(
        plan,
        decisions=tuple(_in_order(night.decisions)),
        memory_schedule=tuple(
            (row.key, row.fades_age, row.shifts_at, row.protected_until)
            for row in (night.memories[key] for key in sorted(night.unscheduled))
            if row.fades_age is not None
        ),
        link_schedule=tuple((a, b, age) for (a, b), age in sorted(night.link_ages.items())),
        known_attributions=frozenset(night.known_attributions),
        known_exposures=frozenset(night.known_exposures),
        ends=gather.ends_of_waiting(conn, scope_key, now=now),
        sensitive=tuple(clock.sensitive(now)),
        dead_before=dead_before,
        unlinked=unlinked,
        names=_names(conn, night.decisions),
        because_nothing=night.because | {step: "not asked for" for step in _STEPS if step not in asked},
        notes=night.notes,
        paced={key: night.revisions[key] for key in sorted(night.unscheduled)} if clock.laws else {},
        whole=night.rewrites,
    )


_STEPS = ("reinforce", "decay", "associate", "shift", "prune", "merge")


def _schedule(night: Night, old: Clock, span: tuple[int, int] | None, *, replays: bool) -> None:
    """
    Give memories and links that no night has seen their fading ages, and those that a rewritten clock moved.

    So too all memories of known importance where the law by importance turns, tonight or at another age than was known:
    the one night that costs what the scope holds. replays: whether those whose pace has changed are replayed tonight.
    """
    conn, key, now = night.conn, night.scope.key, night.now
    turns = turned(old, night.clock)
    if turns:
        night.memories |= gather.memories_of_importance(conn, key, now=now)
    if span:
        if span[0] > -NEVER or span[1] < night.latest:
            night.memories |= gather.memories_outside(conn, key, *span, now=now)
        night.moved = {
            row.key
            for row in night.memories.values()
            if row.strength_at > span[1] or (row.base_at < span[0] and row.fades_age is not None)
        }
    night.rewrites = bool(span and span[0] > -NEVER)
    night.rewrites |= any(night.memories[key].fades_age is not None for key in night.moved)
    night.rewrites |= turns and [law for _, law in old.laws] == [law for _, law in night.clock.laws]
    anew = {row.key for row in night.memories.values() if row.anew}
    night.moved |= anew if replays else set()
    rows = [
        row
        for row in night.memories.values()
        if row.fades_age is None or row.key in night.moved | anew or (turns and row.importance is not None)
    ]
    night.revisions = {row.key: row.revision for row in night.memories.values()}
    for row, age in zip(rows, fading_ages(night.clock, rows).tolist(), strict=True):
        night.memories[row.key] = row._replace(fades_age=age)
    night.unscheduled = {row.key for row in rows}
    if not replays:
        _leave(night, anew)
    links = night.links_unseen = leg_rows.links_unscheduled(conn, key, now=now)
    if span and (span[0] > -NEVER or span[1] < night.latest):
        links = links | leg_rows.links_outside(conn, key, *span, now=now)
        night.rewrites |= len(links) > len(night.links_unseen)
    pairs = list(links)
    ages = night.clock.age([links[pair].weight_at for pair in pairs], ASSOCIATION)
    fades = fades_age(ages, [links[pair].weight for pair in pairs], floor=DEAD).tolist()
    night.link_ages = dict(zip(pairs, fades, strict=True))


def _leave(night: Night, anew: Iterable[int]) -> None:
    """Judge nothing by when these fade, which is told by heads that a night with reinforce replays."""
    for key in anew:
        row = night.memories[key]
        if row.strength_at > row.base_at:
            night.memories[key] = row._replace(fades_age=None)
            night.unscheduled.discard(key)


def _reinforce(night: Night) -> None:
    conn, key, now = night.conn, night.scope.key, night.now
    rows = gather.attributions_waiting(conn, key, now=now)
    night.known_attributions = {row.key for row in rows}
    ends = resolve(conn, {row.memory_key for row in rows})
    night.memories |= gather.memories_by_key(conn, set(ends.values()) - night.memories.keys(), now=now)
    named = gather.known(conn, set(ends.values()))
    pending = [row for row in rows if not row.applied and ends[row.memory_key] in night.memories]
    seen = [row.key for row in rows if row.applied or ends[row.memory_key] not in named]
    factors = gather.mode_factors(conn, key, {(row.turn_key, ends[row.memory_key]) for row in pending})
    given: dict[int, list[reinforce.Attribution]] = {}
    for row in pending:
        end = ends[row.memory_key]
        mode = factors[row.turn_key, end] if row.mode is None else row.mode
        given.setdefault(end, []).append(
            reinforce.Attribution(
                row.key, end, row.message_id, row.evidence, row.confidence, row.at, mode, True, row.mode is not None
            )
        )
    counted = gather.corrected(conn, key, now=now)
    anew = night.moved | {
        end
        for end, ratings in given.items()
        if any(one.at <= night.memories[end].strength_at or (one.message, end) in counted for one in ratings)
    }
    for one in gather.attributions_counted(conn, anew, now=now):
        given.setdefault(one.memory, []).append(one)
    for end in night.moved:
        given.setdefault(end, [])
    bases = carry_over(night, given, anew)
    moved = frozenset(night.moved)
    decisions = night.take(reinforce.reinforce(night.memories, given, moved, bases=bases, clock=night.clock, now=now))
    if seen:
        events = Events(attributions=tuple((attribution, None, None) for attribution in sorted(seen)))
        because = "history, or of a memory that is not here"
        night.decisions.append(Decision("reinforce", "seen", "", (), None, None, None, because, events=events))
    if not decisions:
        night.because["reinforce"] = "nothing was rated since the last night" if not rows else "no rating counts yet"


def _associate(night: Night, span: tuple[int, int] | None) -> None:
    conn, key, now = night.conn, night.scope.key, night.now
    turns, unknown = gather.turns_waiting(conn, key, now=now)
    found = {turn: associate.co_retrievals(exposures) for turn, exposures in turns.items()}
    links = leg_rows.links_of(conn, {one.pair for turn in found.values() for one in turn})
    held = {pair for pair, row in links.items() if row.weight_at > now}
    taken = {turn: ones for turn, ones in found.items() if not any(one.pair in held for one in ones)}
    together = [one for ones in taken.values() for one in ones]
    late = {one.pair for one in together if associate.is_late(links.get(one.pair), one.at, night.latest)}
    if span:
        moved = {pair: row for pair, row in night.links_unseen.items() if row.weight_at > span[1]}
        if span[0] > -NEVER:
            moved |= leg_rows.links_based_before(conn, key, span[0], now=now)
            moved |= leg_rows.links_of(conn, gather.pairs_counted_before(conn, key, span[0], now=now))
        if span[1] < night.latest:
            moved |= leg_rows.links_outside(conn, key, -NEVER, span[1], now=now)
        grown = {
            pair: row
            for pair, row in moved.items()
            if not row.inferred and (row.base_at is None or row.weight_at > row.base_at)
        }
        links, late = links | grown, late | grown.keys()
    history = {
        pair: [event for turn in past for event in associate.counted_before(turn, pair, _base_mark(links.get(pair)))]
        for pair, past in gather.turns_counted(conn, late, now=now).items()
    }
    pasts = leg_rows.pasts_of(conn, history)
    decisions, night.links = associate.link(together, links, history, pasts, scope_key=key, clock=night.clock, now=now)
    night.decisions += decisions
    for pair in night.links:
        night.link_ages.pop(pair, None)
    consumed = {exposure for decision in decisions for exposure, _ in decision.events.exposures}
    seen = [(one.key, True) for turn in taken for one in turns[turn] if one.new and one.key not in consumed]
    seen += [(exposure, False) for exposure in sorted(unknown)]
    if seen:
        events = Events(exposures=tuple(seen))
        because = "shown alone, beyond the best of its turn, or of a memory that is not here"
        night.decisions.append(Decision("associate", "seen", "", (), None, None, None, because, events=events))
    night.known_exposures = unknown | {one.key for exposures in turns.values() for one in exposures if one.new}
    if not decisions:
        night.because["associate"] = "no two memories were shown together since the last night"


def _base_mark(row: Link | None) -> int | None:
    return None if row is None or row.inferred else row.base_mark


def _shift(night: Night, *, decides: bool) -> None:
    due = [
        row
        for row in night.memories.values()
        if row.temporal_anchor is not None
        and (row.key in night.unscheduled or (row.shifts_at is not None and row.shifts_at <= night.now))
    ]
    zone = night.scope.time_zone
    if decides:
        shifted = night.take(shift.shift(due, zone=zone, now=night.now))
        night.unscheduled |= {row.key for row in due}
        if not shifted:
            night.because["shift"] = "no anchor was reached or passed"
        return
    for row in due:
        found = shift.temporal_of(row, zone=zone, now=night.now)
        night.memories[row.key] = row._replace(shifts_at=row.base_at, protected_until=found.protected_until)


def _keep_clock(night: Night, old: Clock, rates: Rates) -> None:
    def columns(clock: Clock, rows: list[Any]) -> dict[str, Any]:
        edges = {"epoch_at": clock.epoch, "first_activity_at": clock.first, "last_activity_at": clock.last}
        return {**edges, "segments": [list(row) for row in rows]}

    before = columns(old, segment_rows(night.conn, night.scope.key))
    after = columns(night.clock, as_rows(night.clock))
    decided = decay.decay(night.scope.key, night.scope.revision, before, after, night.clock, rates=rates)
    night.decisions += decided
    if not decided:
        night.because["decay"] = "no activity since the last night; the clock is a matter of arithmetic"


def _rows(decisions: Iterable[Decision], verb: str) -> set[int]:
    return {one.row[0] for one in decisions if one.verb == verb}


def _in_order(decisions: list[Decision]) -> list[Decision]:
    return sorted(decisions, key=lambda decision: _STEPS.index(decision.step))


def _names(conn: sa.Connection, decisions: Iterable[Decision]) -> dict[int, tuple[str, str]]:
    counts: Counter[str] = Counter()
    keys: set[int] = set()
    for decision in decisions:
        counts[decision.verb] += 1
        if decision.table in ("memories", "associations") and counts[decision.verb] <= EXAMPLES:
            keys |= set(decision.row)
    return gather.names_of(conn, keys)
