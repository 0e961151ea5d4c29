"""The proof: a text that a model wrote replaces memories only if nothing in them is lost and nothing is made up."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from consolidator.merging.alignment import Statements, covers
from consolidator.merging.facts import Facts, facts_of
from consolidator.merging.form import wrong_form
from consolidator.merging.language import FIRST
from consolidator.merging.meant import dates_meant
from consolidator.merging.reading import Clause, Fact, stem
from consolidator.merging.roles import swapped
from consolidator.merging.texts import Text

LEAST_SHARED = 1 / 4  # of the content words of a sentence
_SAID_LENGTH = 80
_GROUPS = (
    frozenset({"number", "amount", "order"}),
    frozenset({"date", "time", "weekday", "relative day"}),
    frozenset({"name"}),
    frozenset({"e-mail", "URL", "path", "identifier", "phone number", "code"}),
)
_MARKS = {
    "negation": "is denied",
    "second negation": "is denied twice",
    "ended": "has ended",
    "possible": "is only possible",
    "planned": "is only planned",
    "condition": "holds on a condition",
    "exception": "has an exception",
    "question": "is a question",
}


class Listed(Protocol):
    """What the model says that it left out."""

    @property
    def fact(self) -> str: ...


class _Source(NamedTuple):
    text: Text
    facts: Facts
    newest: bool


def prove(
    sources: Sequence[Text],
    text: str,
    dropped: Sequence[Listed],
    verdict: str,
    names: frozenset[str] = frozenset(),
) -> tuple[str, ...]:
    """
    What keeps a text from replacing its sources, in short sentences for the model; empty where it is proven.

    Every number, date, name, identifier, address and negation of the sources is in the text, or is listed as dropped
    and has been replaced by a newer source (verdict `update`; nothing of the newest may go). Nothing of that kind is
    in the text that is in no source, but the day that a source means by 'yesterday'. The text keeps some of every
    sentence, the language and the roles, is no refusal and not longer than its sources together. The sources one after
    another are always proven.
    """
    if not text.strip():
        return ("the text is empty",)
    if _joins(text, [source.content for source in sources]):
        return ()
    latest = max(source.observed_at for source in sources)
    read = [_Source(one, facts_of(one.content, names), one.observed_at == latest) for one in sources]
    facts = facts_of(text, names)
    listed = [facts_of(each.fact, names) for each in dropped] if verdict == "update" else []
    problems = [
        *wrong_form(text, [source.content for source in sources]),
        *_lost(read, facts, listed),
        *_invented(read, facts),
        *_turned(read, facts, listed),
        *_dropped_sentences(read, facts, listed),
        *swapped([source.facts for source in read], facts),
    ]
    return tuple(dict.fromkeys(problems))


def _joins(text: str, contents: Sequence[str]) -> bool:
    """Whether a text is all of the contents one after another, in any order, with nothing but space between them."""
    whole = " ".join(text.split())
    parts = tuple(sorted(" ".join(content.split()) for content in contents if content.strip()))
    states = {(whole, parts)}
    while states:
        rest, left = states.pop()
        if not rest and not left:
            return True
        for part in set(left):
            if rest == part or rest.startswith(f"{part} "):
                remaining = list(left)
                remaining.remove(part)
                states.add((rest[len(part) + 1 :], tuple(remaining)))
    return False


def _lost(sources: Sequence[_Source], facts: Facts, listed: Sequence[Facts]) -> Iterator[str]:
    said = _stems([facts])
    for source in sources:
        for fact in (*source.facts.found, *_possible_names(source.facts, said)):
            if (
                not covers(facts, fact)
                and not _article(fact, sources)
                and not _superseded(fact, source, sources, facts, listed)
            ):
                yield f"the {fact.kind} {_short(fact.said)} of a source is missing"


def _article(fact: Fact, sources: Sequence[_Source]) -> bool:
    """'one man' where another source says 'a man': the number is an article."""
    return fact.weak and fact.value == "1" and any(not covers(source.facts, fact) for source in sources)


def _possible_names(facts: Facts, stems: frozenset[str]) -> Iterator[Fact]:
    """Words that a text begins with and that may be names, but for those of these stems."""
    yield from (Fact("name", word, word.capitalize()) for word in facts.openers if stem(word, FIRST) not in stems)


def _superseded(fact: Fact, source: _Source, sources: Sequence[_Source], facts: Facts, listed: Sequence[Facts]) -> bool:
    """Whether a fact is listed as dropped, is in no newest source, and a newer one says another of its kind instead."""
    if not any(_lists(each, fact) for each in listed):
        return False
    if any(each.newest and covers(each.facts, fact) for each in sources):
        return False
    group = next(group for group in _GROUPS if fact.kind in group)
    about = _about(fact, source.facts)
    return any(
        newer.text.observed_at > source.text.observed_at
        and any(
            other.kind in group and not covers(source.facts, other) and covers(facts, other)
            and (about & _about(other, newer.facts) or not about)
            for other in newer.facts.found
        )
        for newer in sources
    )  # fmt: skip


def _lists(listed: Facts, fact: Fact) -> bool:
    """Whether a fact is listed, by itself or by its number alone."""
    if covers(listed, fact) or fact.said.lower() in listed.folded.lower():
        return True
    return fact.kind == "amount" and covers(listed, Fact("number", fact.value.partition(" ")[0], fact.said))


def _about(fact: Fact, facts: Facts) -> frozenset[str]:
    """The content words of the clauses that a fact stands in."""
    return frozenset(stem for clause in facts.clauses if fact.said in clause.said for stem in clause.stems)


def _invented(sources: Sequence[_Source], facts: Facts) -> Iterator[str]:
    for fact in facts.found:
        if any(covers(source.facts, fact) for source in sources):
            continue
        if fact.kind == "date" and any(
            fact.value in dates_meant(each.facts, each.text.observed_at) for each in sources
        ):
            continue
        yield f"the {fact.kind} {_short(fact.said)} is in no source"
    known = _stems([source.facts for source in sources])
    for fact in _possible_names(facts, known):
        if not any(covers(source.facts, fact) for source in sources):
            yield f"the name {fact.said} is in no source"


def _turned(sources: Sequence[_Source], facts: Facts, listed: Sequence[Facts]) -> Iterator[str]:
    """Statements that are denied, doubted or asked on one side only."""
    written = Statements(facts.clauses)
    for source in sources:
        for mark, clause in written.lack(source.facts.clauses):
            if not _outdated(clause, source, sources, listed):
                yield f"a source says that this {_MARKS[mark]}, the text does not: {_short(clause.said)}"
    together = Statements([clause for source in sources for clause in source.facts.clauses])
    for mark, clause in together.lack(facts.clauses):
        yield f"the text says that this {_MARKS[mark]}, no source does: {_short(clause.said)}"


def _outdated(clause: Clause, source: _Source, sources: Sequence[_Source], listed: Sequence[Facts]) -> bool:
    """Whether a statement is listed as dropped and a newer source says it otherwise."""
    if source.newest or not any(
        len(clause.stems & each.stems) * 2 >= len(clause.stems) for one in listed for each in one.clauses
    ):
        return False
    newer = [each for one in sources if one.text.observed_at > source.text.observed_at for each in one.facts.clauses]
    return any(clause.stems & each.stems and each.marks != clause.marks for each in Statements(newer).closest(clause))


def _dropped_sentences(sources: Sequence[_Source], facts: Facts, listed: Sequence[Facts]) -> Iterator[str]:
    """Clauses of a source of which almost nothing is in the text, and of the text of which almost nothing is in any."""
    said, excused = _stems([facts]), _stems([facts, *listed])
    for source in sources:
        found = said if source.newest else excused
        for clause in source.facts.clauses:
            if _little(clause.stems, found):
                yield f"this of a source is missing: {_short(clause.said)}"
        stems = _stems([source.facts])
        plain = stems - {stem(name, FIRST) for name in _names(source.facts)}
        if (stems and not stems & found) or (len(plain) > 1 and not plain & found):
            yield f"a source is missing altogether: {_short(source.text.content)}"
    known = _stems([source.facts for source in sources])
    for clause in facts.clauses:
        if _little(clause.stems, known):
            yield f"this is in no source: {_short(clause.said)}"


def _stems(several: Sequence[Facts]) -> frozenset[str]:
    return frozenset(stem for facts in several for clause in facts.clauses for stem in clause.stems)


def _names(facts: Facts) -> Iterator[str]:
    yield from facts.openers
    yield from (fact.value for fact in facts.found if fact.kind == "name")


def _little(stems: frozenset[str], other: frozenset[str]) -> bool:
    return len(stems) > 2 and len(stems & other) < LEAST_SHARED * len(stems)


def _short(said: str) -> str:
    said = " ".join(said.split())
    return said if len(said) <= _SAID_LENGTH else f"{said[:_SAID_LENGTH].rstrip()}..."
