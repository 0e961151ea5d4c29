"""Association: memories shown in one turn are linked; strong links let a third be inferred."""

from collections.abc import Iterable, Sequence
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consolidator.instants import NIGHT
from consolidator.laws.association import Inference, Pair, Shown, pairs, shown, strengthen, strongest_new
from consolidator.laws.clock import ASSOCIATION, Clock, Rates, observe
from consolidator.laws.fading import DEAD
from consolidator.plan import Decision
from consolidator.steps.associate import infer
from consolidator.steps.rows import Link

END = 90 * NIGHT
CLOCK = observe(Clock(), [0, 5 * NIGHT, 30 * NIGHT, 33 * NIGHT, 60 * NIGHT], rates=Rates(), now=END)
TIMES = st.integers(0, 89).map(lambda night: night * NIGHT) | st.integers(0, END)
Exposure = tuple[int, str, float | None, int]  # memory, mode, score, at

exposures = st.lists(
    st.tuples(
        st.integers(1, 20),
        st.sampled_from(["auto_injected", "tool_search_returned", "tool_get"]),
        st.sampled_from([None, 0.0, 0.25, 0.5, 0.75]) | st.floats(-1, 1),
        st.integers(0, 100),
    ),
    max_size=60,
)


def named(memory: int) -> str:
    """Names in another order than keys."""
    return f"{memory * 7 % 23:02}"


def turn(given: Iterable[Exposure]) -> list[Shown]:
    rows: dict[int, list[tuple[str, float | None, int]]] = {}
    for memory, mode, score, at in given:
        rows.setdefault(memory, []).append((mode, score, at))
    return [shown(memory, named(memory), told) for memory, told in rows.items()]


def read_slowly(given: Sequence[Exposure]) -> dict[Pair, tuple[int, float]]:
    """Pair by pair, as the law says it."""

    def rank(memory: int) -> tuple[int, float, str]:
        scores = [score for one, _, score, _ in given if one == memory]
        missing = any(score is None for score in scores)
        return (0 if missing else 1, -max((score for score in scores if score is not None), default=0), named(memory))

    def ranked(memory: int) -> tuple[int, float, str]:
        first, score, name = rank(memory)
        return (first, score if first else 0, name)

    best = sorted({memory for memory, *_ in given}, key=ranked)[:12]
    found = {}
    for a, b in combinations(sorted(best), 2):
        times = [min(at for one, _, _, at in given if one == memory) for memory in (a, b)]
        modes = [{mode for one, mode, _, _ in given if one == memory} for memory in (a, b)]
        found[a, b] = (max(times), 0.05 if modes[0] == modes[1] else 0.15)
    return found


@given(given=exposures, chance=st.randoms(use_true_random=False))
def test_a_turn_links_its_12_best(given: list[Exposure], chance: object) -> None:
    """
    Each pair of the 12 best is linked once, at the later of their first exposures.

    By 0.15 where their channels differ, else by 0.05. No score ranks first, then the highest; ties go by name; the
    order of rows counts for nothing.
    """
    shuffled = list(given)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    found = list(pairs(turn(shuffled)))
    assert {pair: (at, amount) for pair, at, amount in found} == read_slowly(given)
    assert len(found) == len({pair for pair, _, _ in found}) <= 66


def test_the_best_of_a_crowd() -> None:
    """Of 14 alike the first 12 by name are linked; one without a score comes before all; one worse never."""
    crowd: list[Exposure] = [(memory, "auto_injected", 0.5, 0) for memory in range(1, 15)]
    first = sorted(range(1, 15), key=named)[:12]
    assert {end for pair, _, _ in pairs(turn(crowd)) for end in pair} == set(first)
    more: list[Exposure] = [*crowd, (99, "tool_get", None, 3), (98, "auto_injected", 0.1, 0)]
    assert {end for pair, _, _ in pairs(turn(more)) for end in pair} == {99, *first[:11]}
    assert {(at, amount) for pair, at, amount in pairs(turn(more)) if 99 in pair} == {(3, 0.15)}
    both: list[Exposure] = [(1, "tool_get", None, 5), (1, "auto_injected", 0.2, 2), (2, "tool_get", None, 1)]
    assert list(pairs(turn(both))) == [((1, 2), 2, 0.15)]
    assert list(pairs(turn([*both, (2, "auto_injected", 0.9, 9)]))) == [((1, 2), 2, 0.05)]
    assert list(pairs(turn(crowd[:1]))) == []


def grown(weight: float, since: int, turns: Sequence[tuple[int, float]], *, clock: Clock = CLOCK) -> tuple[float, int]:
    """The weight of one link after its turns."""
    found, at = strengthen(
        clock, [weight], [since], [0] * len(turns), [at for at, _ in turns], [amount for _, amount in turns]
    )
    return float(found[0]), int(at[0])


turns = st.lists(st.tuples(TIMES, st.sampled_from([0.05, 0.15])), max_size=15).map(sorted)


@given(weight=st.floats(0, 1), since=TIMES, told=turns)
def test_a_weight_grows_by_what_is_missing(weight: float, since: int, told: list[tuple[int, float]]) -> None:
    """w := w + d - w * d at each turn, after decay, from zero where it had fallen below 0.01; never beyond 1."""
    found = grown(weight, since, told)
    for at, amount in told:
        moment = max(at, since)
        weight *= 2.0 ** -float(CLOCK.age(moment, ASSOCIATION) - CLOCK.age(since, ASSOCIATION))
        weight, since = (0.0 if weight < 0.01 else weight), moment
        weight = weight + amount - weight * amount
    assert found == (pytest.approx(weight, abs=1e-12), since)
    assert 0 <= found[0] <= 1


def test_a_weight_is_dead_below_a_hundredth() -> None:
    """A weight of 0.01 still counts, one below counts as zero, wherever it is asked for."""
    assert DEAD == 0.01
    assert grown(0.01, NIGHT, [(NIGHT, 0.05)])[0] == pytest.approx(0.01 + 0.05 - 0.0005)
    assert grown(0.0099, NIGHT, [(NIGHT, 0.05)])[0] == 0.05
    clock = observe(Clock(), [0, 6 * NIGHT, 12 * NIGHT, 18 * NIGHT], rates=Rates(), now=END)
    assert grown(0, 0, [(0, 0.05), (15 * NIGHT, 0.05)], clock=clock)[0] == pytest.approx(0.05 + 0.95 * 0.05 * 0.9**15)
    assert grown(0, 0, [(0, 0.05), (16 * NIGHT, 0.05)], clock=clock)[0] == 0.05


@given(told=turns, part=st.integers(0, 15))
def test_turns_in_halves_are_turns_at_once(told: list[tuple[int, float]], part: int) -> None:
    """Replaying the first turns of a link, and the others from there, gives the weight of replaying all."""
    half = grown(0, 0, told[:part])
    whole, parts = grown(0, 0, told), grown(*half, told[part:])
    assert parts == (pytest.approx(whole[0], abs=1e-12), whole[1])


@given(links=st.lists(st.tuples(st.floats(0, 1), TIMES, turns), max_size=6))
def test_many_links_grow_as_one_by_one(links: list[tuple[float, int, list[tuple[int, float]]]]) -> None:
    """The weights of many links are the weights of each alone."""
    flat = [(number, at, amount) for number, (_, _, told) in enumerate(links) for at, amount in told]
    weight, at = strengthen(
        CLOCK,
        [one[0] for one in links],
        [one[1] for one in links],
        [number for number, _, _ in flat],
        [when for _, when, _ in flat],
        [amount for _, _, amount in flat],
    )
    assert list(zip(weight.tolist(), at.tolist(), strict=True)) == [grown(*link) for link in links]


# Weights of a few sizes, so that ties and products near 0.1 are met.
WEIGHTS = st.sampled_from([0.05, 0.1, 0.2, 0.25, 0.32, 0.4, 0.5, 0.8, 1.0])
webs = st.dictionaries(
    st.tuples(st.integers(1, 9), st.integers(1, 9)).map(lambda ends: (min(ends), max(ends))), WEIGHTS, max_size=25
).map(lambda web: {pair: weight for pair, weight in web.items() if pair[0] != pair[1]})


def graph(web: dict[Pair, float]) -> nx.Graph:
    legs: nx.Graph = nx.Graph()
    for (a, b), weight in web.items():
        legs.add_edge(a, b, weight=weight)
    return legs


def implied_by(web: dict[Pair, float], changed: Iterable[Pair], closed: Iterable[int]) -> dict[Pair, tuple[float, int]]:
    """Every pair around the links that changed, with the best product and its middle, as the law says it."""
    shut, arms = set(closed), {}
    for middle in {end for pair in web for end in pair} - shut:
        legs = [(-weight, a + b - middle) for (a, b), weight in web.items() if middle in (a, b)]
        arms[middle] = {end: -weight for weight, end in sorted(legs)[:50] if end not in shut}
    found: dict[Pair, tuple[float, int]] = {}
    touched = set()
    for middle, ends in sorted(arms.items()):
        for a, c in combinations(sorted(ends), 2):
            product = ends[a] * ends[c]
            if product >= 0.1:
                legs_of_it = {(min(a, middle), max(a, middle)), (min(c, middle), max(c, middle))}
                if legs_of_it & set(changed):
                    touched.add((a, c))
                if product > found.get((a, c), (0.0, 0))[0]:
                    found[a, c] = (product, middle)
    return {pair: path for pair, path in found.items() if pair in touched}


def night(
    web: dict[Pair, float], changed: Iterable[Pair], closed: Iterable[int], rows: dict[Pair, Link]
) -> list[Decision]:
    """What a night infers around links that changed, with these inferred rows there."""
    inference = Inference(graph(web), closed=frozenset(closed))
    return infer(
        inference,
        inference.around(changed),
        rows,
        web,
        dead={},
        revisions=lambda legs: {},
        fates={},
        scope_key=1,
        clock=CLOCK,
        now=END,
    )


def inferred(decisions: Iterable[Decision]) -> dict[Pair, tuple[float, int]]:
    return {
        (one.row[0], one.row[1]): (one.after["weight"], one.after["via"]) for one in decisions if one.after is not None
    }


def rows_of(decisions: Iterable[Decision]) -> dict[Pair, Link]:
    return {
        (one.row[0], one.row[1]): Link(0, one.after["weight"], END, 0.0, None, True, one.after["via"], 0.0)
        for one in decisions
        if one.after is not None
    }


@settings(max_examples=200)
@given(web=webs, closed=st.sets(st.integers(1, 9), max_size=3))
def test_strong_legs_imply_a_third(web: dict[Pair, float], closed: set[int]) -> None:
    """A-C is inferred where direct A-B and B-C multiply to 0.1, by the best middle; nothing reaches the archived."""
    expected = implied_by(web, web, closed)
    found = Inference(graph(web), closed=closed)
    assert {pair: found.best(pair, middles) for pair, middles in found.around(web).items()} == expected
    decided = night(web, web, closed, {})
    assert inferred(decided) == {pair: path for pair, path in expected.items() if pair not in web}


@given(web=webs, closed=st.sets(st.integers(1, 9), max_size=2), chance=st.randoms(use_true_random=False))
def test_inferred_links_never_feed_themselves(web: dict[Pair, float], closed: set[int], chance: object) -> None:
    """Judging again with the inferred links there decides nothing, in whatever order rows come."""
    decided = night(web, web, closed, {})
    shuffled = list(web.items())
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert night(dict(shuffled), reversed(list(web)), closed, rows_of(decided)) == []


@given(web=webs, part=st.sets(st.integers(0, 24)), closed=st.sets(st.integers(1, 9), max_size=2))
def test_only_around_links_that_changed(web: dict[Pair, float], part: set[int], closed: set[int]) -> None:
    """Pairs are inferred around links that changed alone, each by the best product through any middle."""
    changed = [pair for number, pair in enumerate(sorted(web)) if number in part]
    expected = {pair: path for pair, path in implied_by(web, changed, closed).items() if pair not in web}
    assert inferred(night(web, changed, closed, {})) == expected


@given(web=webs, weaker=webs, closed=st.sets(st.integers(1, 9), max_size=2))
def test_a_leg_that_changes_has_its_links_judged_again(
    web: dict[Pair, float], weaker: dict[Pair, float], closed: set[int]
) -> None:
    """Inferred links are added, changed and removed as their legs are: what is left is what the legs imply."""
    before = rows_of(night(web, web, (), {}))
    after = {pair: weaker.get(pair, weight) for pair, weight in web.items()}
    decided = night(after, after, closed, before)
    left = {pair: (row.weight, row.via) for pair, row in before.items()}
    for one in decided:
        pair = (one.row[0], one.row[1])
        left.pop(pair, None)
        if one.after is not None:
            left[pair] = (one.after["weight"], one.after["via"])
    assert left == {pair: path for pair, path in implied_by(after, after, closed).items() if pair not in after}


def test_a_middle_reaches_over_its_50_strongest_links() -> None:
    """At most the 50 strongest links of a middle count, ties by key."""
    web = {(1, spoke): 0.5 if spoke < 60 else 0.9 for spoke in range(2, 64)}
    ends = {end for pair in Inference(graph(web), closed=()).around(web) for end in pair}
    assert ends == {*range(2, 48), *range(60, 64)}
    assert implied_by(web, web, ()).keys() == Inference(graph(web), closed=()).around(web).keys()


def test_a_night_adds_the_100_strongest() -> None:
    """At most the 100 strongest new inferred links are added a night, ties by keys; those there are not counted."""
    web = {(1, spoke): 0.4 + spoke / 100 for spoke in range(2, 22)}
    decided = night(web, web, (), {})
    expected = implied_by(web, web, ())
    assert len(expected) == 190
    strongest = sorted(expected, key=lambda pair: (-expected[pair][0], pair))[:100]
    assert [one.row for one in decided] == strongest == strongest_new(expected)
    again = night(web, web, (), rows_of(decided))
    assert inferred(again).keys() == expected.keys() - set(strongest)


def test_weights_are_told_as_arrays() -> None:
    """Without turns weights stay as they are, as arrays."""
    weight, at = strengthen(CLOCK, [0.3, 0.4], [NIGHT, 2 * NIGHT], [], [], [])
    assert (weight.tolist(), at.tolist()) == ([0.3, 0.4], [NIGHT, 2 * NIGHT])
    assert isinstance(weight, np.ndarray)
