"""
Propose: what of one scope seems to say the same, from one read snapshot. Nothing is written, and no model is asked.

What is contained in another text needs no model; what is left of a cluster does, and waits in a fair order.
"""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple
from zoneinfo import ZoneInfo

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from consolidator.instants import to_datetime
from consolidator.laws.clock import Clock
from consolidator.merging.candidates import Pairs, find_pairs, likeness_of, score_among
from consolidator.merging.clusters import find_clusters
from consolidator.merging.contained import absorbs, normal_form, same_text
from consolidator.merging.facts import names_known
from consolidator.merging.guard import Difference, differences
from consolidator.merging.secrets import find_secrets
from consolidator.merging.texts import Text
from consolidator.plan import ScopePlan
from consolidator.store import merges
from consolidator.store.merges import Open, Sight
from consolidator.store.overlay import Overlay

Vectors = Callable[[Sequence[Text]], tuple[NDArray[np.float32] | None, NDArray[np.bool_]]]
NO_ANCHOR = (None, None, None, None)
_NONE, _NO_SCORE = np.zeros(0, np.int64), np.zeros(0, np.float64)
NO_PAIRS = Pairs(_NONE, _NONE, _NO_SCORE, _NO_SCORE, _NO_SCORE)


class Known(NamedTuple):
    """Texts of one type by position: their contents, their vectors (float32[n, d] or None), which have one."""

    contents: Sequence[str]
    vectors: NDArray[np.float32] | None
    has_vector: NDArray[np.bool_]


class Contained(NamedTuple):
    """A text of which nothing is lost if only the large one stays. equal: they are the same but for their form."""

    small: Text
    large: Text
    equal: bool


class Guard(NamedTuple):
    """What judging one scope's texts needs: the names that it knows, and where its days begin."""

    names: frozenset[str]
    zone: ZoneInfo

    def contains(self, large: Text, small: Text) -> bool:
        """Whether nothing is lost, nor turned round, where a text goes into another."""
        if small.anchor not in (NO_ANCHOR, large.anchor):
            return False
        days = {to_datetime(text.observed_at).astimezone(self.zone).date() for text in (large, small)}
        return absorbs(large.content, small.content, self.names, same_day=len(days) == 1)


class Proposal(NamedTuple):
    """
    A cluster. texts: those that none of the others contains; where it is one alone, nothing needs writing.

    differences: the facts in which `texts` differ. score: of the two most alike. since: when it began to wait, now
    where it is new. tries, problem: how often a model was asked in vain on earlier nights, and what was wrong.
    """

    texts: tuple[Text, ...]
    contained: tuple[Contained, ...]
    differences: tuple[Difference, ...]
    score: float
    since: int
    tries: int = 0
    problem: str = ""

    @property
    def members(self) -> tuple[Text, ...]:
        """All of it."""
        return (*self.texts, *(one.small for one in self.contained))

    @property
    def order(self) -> tuple[int, bool, float, str]:
        """The fair one: the longest waiting first, then those with equal facts, then the most alike."""
        differs = any(one.blocks for one in self.differences)
        return self.since, differs, -self.score, min(text.id for text in self.texts)


class Proposed(NamedTuple):
    """
    What a snapshot gives. names: those that the scope knows. held_back: memories with a secret in them.

    revisions: of the rows of all members, by key.
    """

    proposals: tuple[Proposal, ...]
    names: frozenset[str]
    held_back: int
    revisions: Mapping[int, int]

    @property
    def to_write(self) -> tuple[Proposal, ...]:
        """Those that need a model, in the fair order."""
        return tuple(one for one in self.proposals if len(one.texts) > 1)


def propose(rows: Overlay, part: ScopePlan, sight: Sight, *, clock: Clock, now: int, vectors: Vectors) -> Proposed:
    """
    The clusters of a scope, in the fair order: what changed against all of its type, and what waits among itself.

    A merged memory joins only where there is something new; one that holds a secret joins nothing.
    vectors: of texts, float32[n, d] or None, and which of them have one, bool[n].
    """
    texts = merges.texts(rows, part, sight.types, clock=clock, now=now, new=sight.fresh)
    judged = merges.judged(rows, part)
    zone = ZoneInfo(part.time_zone)
    found: list[tuple[list[Text], float]] = []
    held_back = 0
    for _, group in groupby(texts, key=lambda text: text.type):
        alike = list(group)
        known = Known([text.content for text in alike], *vectors(alike))
        pairs, hidden = _pairs(alike, known, sight)
        held_back += len(hidden)
        places = {text.key: place for place, text in enumerate(alike)}
        both = ((places[one], places[other]) for one, other in judged if one in places and other in places)
        apart = frozenset((min(pair), max(pair)) for pair in both)
        equals = _equals(alike, sight.changed, hidden, apart, Guard(frozenset(), zone))
        found += _clusters(alike, known, pairs, equals, apart, sight.open)
    names = names_known(text.content for text in texts) if found else frozenset()
    guard = Guard(names, zone)
    proposals = [_proposal(members, score, sight.open, guard, now) for members, score in found]
    keys = [text.key for one in proposals for text in one.members]
    ordered = tuple(sorted(proposals, key=lambda one: one.order))
    return Proposed(ordered, names, held_back, merges.revisions(rows, keys))


def _pairs(texts: Sequence[Text], known: Known, sight: Sight) -> tuple[Pairs, set[int]]:
    """The pairs of positions that seem to say the same; the positions of what changed and holds a secret."""
    contents = known.contents
    changed = np.array([text.key in sight.changed for text in texts], np.bool_)
    hidden = {place for place in np.flatnonzero(changed).tolist() if find_secrets(contents[place])}
    changed[list(hidden)] = False
    found = [find_pairs(contents, known.vectors, known.has_vector, changed)] if changed.any() else []
    pairs = _joined([*found, *_waiting_pairs(texts, known, sight.open)])
    named = np.unique(np.concatenate([pairs.a, pairs.b])).tolist()
    hidden |= {place for place in named if find_secrets(contents[place])}
    open_to_all = ~(np.isin(pairs.a, list(hidden)) | np.isin(pairs.b, list(hidden)))
    return pairs.where(open_to_all), hidden


def _waiting_pairs(texts: Sequence[Text], known: Known, waiting: Iterable[Open]) -> Iterator[Pairs]:
    """The pairs inside each of the clusters that wait."""
    places = {text.key: place for place, text in enumerate(texts)}
    for one in waiting:
        members = [places[key] for key in one.members if key in places]
        if len(members) > 1:
            yield score_among(*known, members).likely()


def _joined(found: Sequence[Pairs]) -> Pairs:
    """All of these pairs, each once, in order."""
    if not found:
        return NO_PAIRS
    every = Pairs(*(np.concatenate(columns) for columns in zip(*found, strict=True)))
    _, first = np.unique(np.stack([every.a, every.b]), axis=1, return_index=True)
    return every.where(first)


def _equals(
    texts: Sequence[Text],
    changed: Container[int],
    hidden: Container[int],
    apart: Container[tuple[int, int]],
    guard: Guard,
) -> dict[int, list[int]]:
    """
    The texts that are the same but for their form, however many: the first by position, and the others.

    Only where one of them changed. What holds a secret, or was judged before, is left as it is.
    """
    if not any(text.key in changed for text in texts):
        return {}
    forms: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        if place not in hidden:
            forms.setdefault(normal_form(text.content), []).append(place)
    equals: dict[int, list[int]] = {}
    for places in forms.values():
        if len(places) > 1 and any(texts[place].key in changed for place in places):
            stay: list[int] = []
            for place in sorted(places, key=lambda place: _first(texts[place])):
                large = next((one for one in stay if guard.contains(texts[one], texts[place])), None)
                if large is None:
                    stay.append(place)
                elif (min(large, place), max(large, place)) not in apart:
                    equals.setdefault(large, []).append(place)
    return {large: places for large, places in equals.items() if not find_secrets(texts[large].content)}


def _first(text: Text) -> tuple[int, str]:
    """Of equal texts the one that was observed first stays."""
    return text.observed_at, text.id


def _standing(pairs: Pairs, stands: Mapping[int, int]) -> Pairs:
    """The pairs of those that stand for texts which are equal to them, each with its highest score."""
    a, b = (np.array([stands.get(place, place) for place in ends.tolist()], np.int64) for ends in (pairs.a, pairs.b))
    moved = pairs._replace(a=np.minimum(a, b), b=np.maximum(a, b)).where(a != b)
    return _joined([moved.where(np.argsort(-moved.score, kind="stable"))])


def _clusters(
    texts: Sequence[Text],
    known: Known,
    pairs: Pairs,
    equals: Mapping[int, Sequence[int]],
    apart: Collection[tuple[int, int]],
    waiting: Iterable[Open],
) -> Iterator[tuple[list[Text], float]]:
    """
    The clusters among texts of one type, each with the score of its two most alike.

    One of texts that are equal stands for all of them. A cluster without anything new in it loses the merged memories
    that do not wait with another one of it, and holds as far as the others are alike.
    """
    together = [frozenset(one.members) for one in waiting]
    stands = {place: large for large, places in equals.items() for place in places}
    pairs = _standing(pairs, stands)
    moved = ((stands.get(one, one), stands.get(other, other)) for one, other in apart)
    apart = frozenset((min(pair), max(pair)) for pair in moved if pair[0] != pair[1])
    alone = dict(equals)
    alike: nx.Graph = nx.Graph()
    alike.add_weighted_edges_from(zip(pairs.a.tolist(), pairs.b.tolist(), pairs.score.tolist(), strict=True))
    alike.remove_edges_from(apart)
    for members in find_clusters([text.id for text in texts], pairs, apart, likeness_of(*known)):
        keys = {texts[place].key for place in members}
        waits = {key for one in together if len(one & keys) > 1 for key in one & keys}
        plain = [place for place in members if not texts[place].merged or texts[place].key in waits]
        every = [one for place in members for one in (place, *equals.get(place, ()))]
        whole = len(plain) == len(members) or any(texts[place].new for place in every)
        for found in [members] if whole else nx.connected_components(alike.subgraph(plain)):
            if len(found) > 1:
                scores: list[float] = list(nx.get_edge_attributes(alike.subgraph(found), "weight").values())
                inside = sorted([*found, *(one for place in found for one in alone.pop(place, ()))])
                yield [texts[place] for place in inside], max(scores)
    for large, places in alone.items():
        yield [texts[place] for place in sorted((large, *places))], 1.0


def _proposal(members: Sequence[Text], score: float, waiting: Iterable[Open], guard: Guard, now: int) -> Proposal:
    texts, contained = _contained(members, guard)
    ids = {text.id for text in texts}
    before = [one for one in waiting if len(ids.intersection(one.ids)) > 1]
    same = next((one for one in before if ids == {*one.ids}), None)
    return Proposal(
        texts,
        contained,
        differences(texts, guard.names) if len(texts) > 1 else (),
        score,
        min((one.at for one in before), default=now),
        same.tries if same else 0,
        (same.because or "") if same and same.tries else "",
    )


def _contained(members: Sequence[Text], guard: Guard) -> tuple[tuple[Text, ...], tuple[Contained, ...]]:
    """What remains of a cluster where each text that another contains has gone into it, and those that have."""
    ranked = sorted(members, key=_first)
    remaining = list(ranked)
    for small in reversed(ranked):
        if any(guard.contains(large, small) for large in remaining if large is not small):
            remaining.remove(small)
    gone = [text for text in ranked if text not in remaining]
    contained = [
        Contained(small, large, same_text(large.content, small.content))
        for small in gone
        for large in [next((one for one in remaining if guard.contains(one, small)), None)]
        if large is not None
    ]
    inside = {one.small.key for one in contained}
    return tuple(text for text in members if text.key not in inside), tuple(contained)


def guard_lines(proposal: Proposal) -> tuple[str, ...]:
    """The facts that differ, in words; those that only warn are marked."""
    count = len(proposal.texts)
    return tuple(
        f"{one.kind} {one.value}, in {len(one.where)} of {count}{'' if one.blocks else ' (a warning)'}"
        for one in proposal.differences
    )
