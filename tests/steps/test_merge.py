"""The merge as decisions, from rows at hand: what is handed on, for any memories and links."""

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidator.instants import NIGHT
from consolidator.laws.association import Pair
from consolidator.laws.clock import ASSOCIATION, CONSOLIDATED, WORKING, Clock, Rates, observe
from consolidator.laws.fading import DEAD, FADED
from consolidator.laws.pace import LAWS, Ageing
from consolidator.laws.strength import strength_at
from consolidator.plan import Decision
from consolidator.steps.lives import Life, base_without, decide_messages, made_of
from consolidator.steps.merge import Member, New, inherit, unite
from consolidator.steps.reinforce import Attribution
from consolidator.steps.rows import Link, Memory, strengths

NOW = 20 * NIGHT
CLOCK = observe(Clock(), [NIGHT * n for n in range(0, 21, 3)], rates=Rates(), now=NOW)
NEW = New(-1, "id of the new", "the new text")


def member(key: int, *, strength: float = 0.5, since: int = 0, **more: Any) -> Member:
    """A memory of no anchor, unless told otherwise."""
    columns = {name: more.pop(name) for name in list(more) if name in Memory._fields}
    row: dict[str, Any] = {
        **dict.fromkeys(Memory._fields), "key": key, "revision": 3, "consolidated": False, "pinned": False,
        "kept": False, "spared": False, "status": "active", "base_strength": strength, "base_at": since,
        "strength": strength, "strength_at": since, "temporal_state": "none", "fades_age": 9.0,
    }  # fmt: skip
    beside: dict[str, Any] = {**dict.fromkeys(Member._fields), "source": "import", "type": "fact", "fresh": False}
    beside |= {"observed_at": since, "sources": (), **more}
    return Member(**{**beside, "memory": Memory(**{**row, **columns}), "id": f"id of {key}"})


def united(members: Sequence[Member], target: Member | New = NEW, *, update: bool = False) -> list[Decision]:
    decisions, _ = unite(
        members, target, scope_key=1, update=update, because="", reads=(), clock=CLOCK, zone="UTC", now=NOW
    )
    return decisions


members = st.builds(
    lambda key, strength, since, consolidated, pinned, expires, importance, trust, topics: member(
        key, strength=strength, since=since, consolidated=consolidated, pinned=pinned, expires_at=expires,
        importance=importance, trust=trust, topics=topics,
    ),
    key=st.integers(1, 10**6),
    strength=st.floats(0, 1),
    since=st.integers(0, NOW),
    consolidated=st.booleans(),
    pinned=st.booleans(),
    expires=st.none() | st.integers(NOW + 1, 2 * NOW),
    importance=st.none() | st.floats(0, 1),
    trust=st.none() | st.floats(0, 1),
    topics=st.none() | st.lists(st.sampled_from("abc"), unique=True),
)  # fmt: skip
groups = st.lists(members, min_size=2, max_size=7, unique_by=lambda one: one.key)


def current(one: Member) -> float:
    row = one.memory
    kind = CONSOLIDATED if row.consolidated else WORKING
    return float(strength_at(CLOCK, row.strength, row.strength_at, NOW, kind))


@given(groups)
def test_the_new_memory_has_the_best_of_them(group: list[Member]) -> None:
    """Whatever they are: strength, pin, expiry, importance, trust and topics; and no order of rows matters."""
    first, *others = united(group)
    after = first.after or {}
    assert after["strength"] == after["base_strength"] == max(map(current, group))
    assert after["base_at"] == after["strength_at"] == after["created_at"] == NOW
    assert after["fades_age"] == pytest.approx(
        float(CLOCK.age(NOW, CONSOLIDATED)) + np.log2(max(after["strength"], 1e-300) / FADED)
    )
    assert after["pinned"] == any(one.memory.pinned for one in group)
    expiries = [one.memory.expires_at for one in group]
    assert after["expires_at"] == (None if None in expiries else max(expiries))
    given_trust = [one.trust for one in group if one.trust is not None]
    assert after["trust"] == (min(given_trust) if given_trust else None)
    assert set(after["topics"] or ()) == {topic for one in group for topic in one.topics or ()}
    assert [key for key, _ in after["sources"]] == sorted(one.key for one in group)
    assert {one.row[0] for one in others} == {one.key for one in group}
    assert all(one.verb == "superseded" and one.revision == 3 for one in others)
    assert united(group[::-1]) == united(group)


@given(groups)
def test_one_that_stays_is_never_worth_less(group: list[Member]) -> None:
    """It has the largest strength; its base moves only where it has to, and what it was is kept."""
    target = group[0]
    first, *others = united(group, target)
    after, row = first.after or {}, target.memory
    strength = after.get("strength", row.strength)
    since = after.get("strength_at", row.strength_at)
    best = max(map(current, group))
    assert float(strength_at(CLOCK, strength, since, NOW, CONSOLIDATED)) == pytest.approx(best)
    stays = row.consolidated and current(target) == best
    assert ("base_at" in after and "lives" in after) == (not stays) or row.base_at == NOW
    if "lives" in after:
        other = [row.importance] if "importance" in after else []
        assert after["lives"][-1] == [row.base_strength, row.base_at, row.consolidated, *other]
    assert {one.row[0] for one in others} == {one.key for one in group[1:]}
    assert "content" not in after
    assert set(first.before or ()) == set(after)


@given(groups)
def test_an_update_ends_what_was_observed_earlier(group: list[Member]) -> None:
    """Each older one was valid until the latest was observed, no longer."""
    latest = max(one.observed_at for one in group)
    ends = {one.row[0]: (one.after or {}).get("valid_until") for one in united(group, update=True)[1:]}
    assert ends == {one.key: latest if one.observed_at < latest else None for one in group}


def test_a_merged_memory_hands_on_its_sources_and_not_itself() -> None:
    """Texts that merging wrote are nobody's first words; one that has only taken others in is."""
    merged = member(5, source="consolidation", sources=((1, 7), (2, 7)))
    keeper = member(6, sources=((3, 8),))
    first, *_ = united([merged, keeper, member(9)])
    assert [key for key, _ in (first.after or {})["sources"]] == [1, 2, 3, 6, 9]


link_values = st.tuples(st.floats(0, 1), st.integers(0, NOW))


@given(st.dictionaries(st.tuples(st.integers(1, 3), st.integers(4, 7)), link_values, max_size=12), st.booleans())
def test_weights_are_joined_as_chances(given_links: dict[Pair, tuple[float, int]], existing: bool) -> None:
    """1 - prod(1 - w) over the living; never less than any of them; a base of its own, dated now."""
    target = 3 if existing else -1
    links = {pair: Link(0, w, at, 0.1, None, False, None, 1.0) for pair, (w, at) in given_links.items()}
    among = {(1, 2): Link(0, 0.9, 0, 0.0, None, False, None, 1.0)}
    decisions, changed = inherit({1, 2, 3, target}, target, links | among, {}, scope_key=1, clock=CLOCK, now=NOW)
    weights: dict[int, list[float]] = {}
    for (one, end), (w, at) in given_links.items():
        now = float(strength_at(CLOCK, w, at, NOW, ASSOCIATION))
        if now >= DEAD:
            weights.setdefault(end, []).append(now)
        if one == target and now >= DEAD:
            weights.setdefault(-end, []).append(now)
    for end in range(4, 8):
        pair = (min(end, target), max(end, target))
        parts, own = weights.get(end, []), weights.get(-end, [])
        if len(parts) == len(own):
            assert pair not in changed
            continue
        expected = 1 - np.prod([1 - part for part in parts])
        assert changed[pair].weight == pytest.approx(expected)
        assert changed[pair].weight >= max(parts) - 1e-12
        assert (changed[pair].base_weight, changed[pair].base_at) == (changed[pair].weight, NOW)
    assert {decision.row for decision in decisions} == changed.keys()
    assert all(decision.verb == "inherited" and decision.step == "merge" for decision in decisions)


# What was said before a merge and after it

_keys = count(1)


def rating(message: str, at: int, evidence: str, confidence: float, memory: int = 1) -> Attribution:
    return Attribution(next(_keys), memory, message, evidence, confidence, at, 1.0, new=True)


def test_of_one_message_only_what_counts_by_the_law_is_replayed() -> None:
    """A later explicit rating corrects what the base holds; a weaker or earlier one acts as nothing."""
    held = [
        rating("corrected", 5, "agent_feedback_positive", 0.95),
        rating("stands", 9, "agent_feedback_positive", 0.95),
        rating("stronger", 5, "tool_get", 0.6),
        rating("beside", 5, "tool_get", 0.6),
    ]
    current = [
        rating("corrected", 12, "agent_feedback_negative", -0.5),
        rating("stands", 8, "agent_feedback_negative", -0.5),
        rating("stands", 12, "tool_get", 0.6),
        rating("stronger", 12, "auto_injected", 0.15),
        rating("alone", 12, "tool_get", 0.6),
    ]
    replayed, corrected = decide_messages(held, current)
    assert corrected == {"corrected"}
    assert {(one.message, one.at, one.confidence, one.new) for one in replayed} == {
        ("corrected", 5, 0.95, False), ("corrected", 12, -0.5, True), ("stands", 8, 0.0, True),
        ("stands", 12, 0.0, True), ("stronger", 12, 0.0, True), ("alone", 12, 0.6, True),
    }  # fmt: skip


def test_a_base_is_told_again_without_what_was_corrected() -> None:
    """Through sources and earlier lives, however many merges away; what was not corrected keeps its part."""
    good = rating("m", 1 * NIGHT, "agent_feedback_positive", 0.95)
    other = rating("n", 2 * NIGHT, "tool_get", 0.6)
    lives = {
        1: [Life(0.2, 0, WORKING, (good,))],
        2: [Life(0.3, 0, WORKING, (other,))],
        3: [Life(0.5, 0, WORKING), Life(0.9, 4 * NIGHT, CONSOLIDATED, (), (1,)),
            Life(0.8, 6 * NIGHT, CONSOLIDATED, (), (2,))],
        4: [Life(0.7, 9 * NIGHT, CONSOLIDATED, (), (3,))],
    }  # fmt: skip
    assert set(made_of(lives, 4)) == {(3, 0), (3, 1), (3, 2), (1, 0), (2, 0)}
    without = base_without(lives, 4, {"m"}, clock=CLOCK)
    two = (0.3 * 0.906**2 + 0.42) * 0.906**4
    assert without == pytest.approx(max(0.5 * 0.906**4 * 0.977**2, two) * 0.977**3)
    assert base_without(lives, 4, {"m", "n"}, clock=CLOCK) == pytest.approx(0.5 * 0.906**4 * 0.977**5)


@given(st.integers(2, 400))
def test_long_chains_are_no_trouble(length: int) -> None:
    """A memory that was merged again every night for a year is told again like any other."""
    lives = {0: [Life(0.9, 0, CONSOLIDATED)]}
    lives |= {n: [Life(0.5, n, CONSOLIDATED, (), (n - 1,))] for n in range(1, length)}
    assert base_without(lives, length - 1, set(), clock=CLOCK) == pytest.approx(0.9, rel=1e-6)


@given(st.lists(members, min_size=2, max_size=4, unique_by=lambda one: one.key), st.sampled_from([*LAWS]))
def test_under_a_law_by_importance_a_merge_keeps_what_was_worth_most(group: list[Member], law: str) -> None:
    """From the merge on it ages by the largest importance: what it was worth by then has its own pace in the base."""
    clock = observe(Clock(), [NIGHT * n for n in range(0, 21, 3)], rates=Rates(by_importance=law), now=NOW)
    for target in (group[0], NEW):
        _, after = unite(
            group, target, scope_key=1, update=False, because="", reads=(), clock=clock, zone="UTC", now=NOW
        )  # fmt: skip
        row = after[target.key]
        known = [one.memory.importance for one in group if one.memory.importance is not None]
        assert row.importance == max(known, default=None)
        best = strengths(clock, [one.memory for one in group], NOW).max()
        assert strengths(clock, [row], NOW) == pytest.approx(best)
        if row.strength > 0:
            lasts = clock.age_at(
                clock.lived(NOW, Ageing.of([row])) + np.log2(max(best, 1e-300) / FADED), Ageing.of([row])
            )
            assert row.fades_age == pytest.approx(float(lasts[0]))
        if isinstance(target, Member) and row.base_at == target.memory.base_at != NOW:
            assert target.memory.importance == row.importance
