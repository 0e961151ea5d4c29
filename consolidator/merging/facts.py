"""The facts of a text: what must neither be lost nor invented when memories are merged."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from consolidator.merging.fold import fold
from consolidator.merging.language import FIRST, language_of, languages
from consolidator.merging.reading import Bond, Clause, Fact, Reading, bare, is_common
from consolidator.merging.sentences import read_sentence
from consolidator.merging.tokens import IS_UNSPACED, sentences_of
from consolidator.merging.unspaced import read_unspaced
from consolidator.merging.verbatim import read_verbatim

_HALVES = re.compile(r"\b([AaPp])\.[ ]?([Mm])(?:\.|\b)")
_WORD = re.compile(
    r"(?P<start>(?:^|[.!?\u2026\n][\"')\]]{0,3}\s{1,5}|[:\"(\[]\s?)[\"'(\[]{0,3})?(?P<word>[^\W\d_]+(?:['-][^\W\d_]+)*)"
)
_SEEN_INSIDE, _SEEN_ANYWHERE = 2, 3


@dataclass(frozen=True, slots=True)
class Facts:
    """
    What a text says that can be compared.

    found: its facts in order; clauses: with the marks that turn them round; words: all in lower case; marks, risks:
    every mark and every word that may limit or retract a statement, in order; openers: words that sentences begin with
    and that may be names; bonds: who did what; folded: the text in one Unicode form.
    """

    found: tuple[Fact, ...]
    clauses: tuple[Clause, ...]
    words: frozenset[str]
    marks: tuple[str, ...]
    risks: tuple[str, ...]
    openers: frozenset[str]
    bonds: tuple[Bond, ...]
    folded: str


@lru_cache(maxsize=4_096)
def facts_of(content: str, names: frozenset[str] = frozenset()) -> Facts:
    """
    The facts of a text: numbers, amounts, dates, times, weekdays, names, addresses, paths, identifiers, code, marks.

    A capital inside a sentence makes a name; at its beginning only a known name is one. names: in lower case.
    """
    folded = _HALVES.sub(lambda match: f"{match[1]}{match[2]}".ljust(len(match[0])), fold(content))
    verbatim, text = read_verbatim(folded)
    reading = Reading(text, names)
    reading.facts.extend(Fact(kind, value, said) for kind, value, said, _ in verbatim)
    marks: list[tuple[str, int]] = []
    if not text.isascii() and IS_UNSPACED.search(text):
        text = _read_unspaced(reading, text, marks)
    for sentence in sentences_of(text):
        read_sentence(reading, sentence, marks)
    return Facts(
        tuple(dict.fromkeys(reading.facts)),
        tuple(reading.clauses),
        frozenset(reading.words),
        tuple(reading.marks),
        tuple(reading.risks),
        frozenset(reading.openers),
        tuple(reading.bonds),
        folded,
    )


def _read_unspaced(reading: Reading, text: str, marks: list[tuple[str, int]]) -> str:
    for language in languages().values():
        if language.letters is not None and language.letters.search(text):
            found, text = read_unspaced(text, language)
            for kind, value, said, start, weak in found:
                if kind in language.marks:
                    marks.append((kind, start))
                    reading.marks.append(kind)
                elif kind == "risk":
                    reading.risks.append(value)
                else:
                    reading.facts.append(Fact(kind, value, said, weak))
            reading.text = text
            break
    return text


def names_known(contents: Iterable[str]) -> frozenset[str]:
    """
    The names of a scope, in lower case: written with a capital inside sentences of two memories, or in three memories.

    A word that is as often written small is no name; nor is any that a language lists as common. Where nouns have
    capitals (German) none can be told.
    """
    inside: Counter[str] = Counter()
    anywhere: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for content in contents:
        names, starts, others, words = set[str](), set[str](), set[str](), list[str]()
        for match in _WORD.finditer(fold(content)):
            word = match["word"]
            low = bare(word.lower())
            words.append(low)
            if not word[0].isupper():
                others.add(low)
            elif match["start"] is None:
                names.add(low)
            else:
                starts.add(low)
        if names and languages()[language_of(words)].nouns_capital:
            continue
        inside.update(names)
        anywhere.update(names | starts)
        small.update(others)
    common = languages()[FIRST]
    return frozenset(
        name
        for name, count in anywhere.items()
        if (inside[name] >= _SEEN_INSIDE or count >= _SEEN_ANYWHERE)
        and count > 2 * small[name]
        and len(name) > 1
        and not is_common(name, common)
    )
