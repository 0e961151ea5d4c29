"""What of one text is also in another: a fact however it is written, and a statement with its negation or its doubt."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from consolidator.merging.facts import Facts
from consolidator.merging.reading import Clause, Fact

_AS_WRITTEN = frozenset({"URL", "path", "code"})
_IDENTIFIERS = frozenset({"e-mail", "identifier", "phone number"})


def covers(facts: Facts, fact: Fact) -> bool:
    """
    Whether a text says a fact, or more of it: 8 June 2026 says 8 June, 8:15 pm says 8:15.

    A name counts as a word in any case; what must stay letter by letter counts wherever those letters stand alone.
    """
    if any(each.kind == fact.kind and each.value == fact.value for each in facts.found):
        return True
    if fact.kind == "name":
        return fact.value in facts.words or _stands(fact.value, facts.folded.lower())
    if fact.kind == "date":
        return any(each.kind == "date" and _says_date(each.value, fact.value) for each in facts.found) or (
            fact.value.endswith("-??-??") and any(each == ("number", fact.value[:4]) for each in _pairs(facts))
        )
    if fact.kind == "number" and len(fact.value) == 4:
        return any(kind == "date" and value.startswith(f"{fact.value}-") for kind, value in _pairs(facts))
    if fact.kind == "time" and " " not in fact.value:
        return any(each.kind == "time" and each.value.startswith(f"{fact.value} ") for each in facts.found)
    if fact.kind in _AS_WRITTEN:
        return _stands(fact.said, facts.folded)
    return fact.kind in _IDENTIFIERS and _stands(fact.said.lower(), facts.folded.lower())


def _pairs(facts: Facts) -> Iterable[tuple[str, str]]:
    return (each[:2] for each in facts.found)


def _stands(said: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(said)}(?![\w-])", text) is not None


def _says_date(fuller: str, vaguer: str) -> bool:
    if "/" in fuller or "/" in vaguer or len(fuller) != len(vaguer):
        return fuller == vaguer
    return all(a == b or b == "?" for a, b in zip(fuller, vaguer, strict=True))


class Statements:
    """Clauses to compare others with."""

    def __init__(self, clauses: Sequence[Clause]) -> None:
        self.clauses = clauses
        self.by_stem: dict[str, list[int]] = {}
        for place, clause in enumerate(clauses):
            for stem in clause.stems:
                self.by_stem.setdefault(stem, []).append(place)

    def closest(self, clause: Clause) -> list[Clause]:
        """The clauses that share most content words with this one; where none does, those that have none."""
        shared = Counter(place for stem in clause.stems for place in self.by_stem.get(stem, ()))
        if not shared:
            return [each for each in self.clauses if not clause.stems or not each.stems]
        most = max(shared.values())
        return [self.clauses[place] for place, count in shared.items() if count == most]

    def lack(self, clauses: Sequence[Clause]) -> list[tuple[str, Clause]]:
        """
        The marks of clauses that the same statement lacks here: (negation, 'Ada does not like tea').

        The same statement is the closest; of equals one with the mark.
        """
        return [
            (mark, clause)
            for clause in clauses
            if clause.marks
            for closest in [self.closest(clause)]
            for mark in sorted(clause.marks)
            if not any(mark in each.marks for each in closest)
        ]
