"""The guard: where memories differ in a fact, they are no duplicates, however alike they sound."""

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

from consolidator.merging.alignment import Statements, covers
from consolidator.merging.facts import Facts, facts_of
from consolidator.merging.reading import Fact
from consolidator.merging.texts import Text

_DAY = 86_400_000_000
ANCHOR = ("anchor", "end", "recurrence", "start of the recurrence")


class Difference(NamedTuple):
    """
    A fact that some of the memories have and others lack.

    kind: number, date, negation, ...; value: as it is written; where: the positions of the memories that have it;
    blocks: whether it keeps them from being duplicates. What only warns: a name that nobody else in the scope
    mentions, a small number in words that the others simply leave out.
    """

    kind: str
    value: str
    where: tuple[int, ...]
    blocks: bool


def differences(texts: Sequence[Text], names: frozenset[str] = frozenset()) -> tuple[Difference, ...]:
    """
    Where memories differ in a fact; empty for memories that may be duplicates.

    names: those known to the scope, of `names_known`. The order of the texts changes only the positions.
    """
    facts = [facts_of(text.content, names) for text in texts]
    found: dict[tuple[str, str], tuple[str, set[int]]] = {}
    blocking: set[tuple[str, str]] = set()
    for a, b in permutations(range(len(texts)), 2):
        for kind, value, said, blocks in _lacking(facts[a], facts[b], names):
            found.setdefault((kind, value), (said, set()))[1].add(a)
            if blocks:
                blocking.add((kind, value))
    differing = [
        Difference(kind, said, tuple(sorted(where)), (kind, value) in blocking)
        for (kind, value), (said, where) in found.items()
    ]
    return (
        *_anchors(texts),
        *_other_days(texts, facts),
        *sorted(differing, key=lambda each: (not each.blocks, each.where, each.kind, each.value)),
    )


def differ(a: str, b: str, names: frozenset[str] = frozenset()) -> bool:
    """Whether two contents differ in a fact that keeps them from being duplicates."""
    first, second = facts_of(a, names), facts_of(b, names)
    return any(
        blocks for one, other in ((first, second), (second, first)) for *_, blocks in _lacking(one, other, names)
    )


def _lacking(facts: Facts, other: Facts, names: frozenset[str]) -> Iterator[tuple[str, str, str, bool]]:
    """(kind, value, as written, whether it blocks) of what the other text lacks."""
    for fact in facts.found:
        if not covers(other, fact):
            warns = _needless(fact, facts, other) if fact.weak else fact.kind == "name" and fact.value not in names
            yield fact.kind, fact.value, fact.said, not warns
    for mark, clause in Statements(other.clauses).lack(facts.clauses):
        yield mark, clause.said.lower(), clause.said, True


def _needless(weak: Fact, facts: Facts, other: Facts) -> bool:
    """'one man' and 'a man' are the same; 'one man' and 'two men' are not."""
    return not any(each.kind == weak.kind and not covers(facts, each) for each in other.found)


def _other_days(texts: Sequence[Text], facts: Sequence[Facts]) -> Iterator[Difference]:
    """'yesterday' of memories observed on different days is not the same day."""
    meant: dict[str, dict[int, str]] = {}
    for i, each in enumerate(facts):
        for fact in each.found:
            if fact.kind == "relative day":
                meant.setdefault(fact.value, {})[i] = fact.said
    for holders in meant.values():
        if len({texts[i].observed_at // _DAY for i in holders}) > 1:
            yield Difference(
                "relative day", f"{next(iter(holders.values()))} (of different days)", tuple(holders), True
            )


def _anchors(texts: Sequence[Text]) -> Iterator[Difference]:
    for position, name in enumerate(ANCHOR):
        values = [text.anchor[position] for text in texts]
        for value in dict.fromkeys(values):
            where = tuple(i for i, each in enumerate(values) if each == value)
            if value is not None and len(where) < len(texts):
                yield Difference(name, value, where, True)
