"""What is read of a text: facts, clauses with their marks, who did what; and the words that it is read by."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from consolidator.merging.language import FIRST, Language, languages


class Fact(NamedTuple):
    """
    One fact: its kind, its value (equal facts have equal values, however they are written), as it is written.

    weak: a small number in words, often left out of the same statement ('one man', 'two men'): missing it is no
    contradiction, another number in its place is.
    """

    kind: str
    value: str
    said: str
    weak: bool = False


class Clause(NamedTuple):
    """A clause: the stems of its content words, its marks (negation, possible, ...), as it is written."""

    stems: frozenset[str]
    marks: frozenset[str]
    said: str


@dataclass(frozen=True, slots=True)
class Bond:
    """What is said of a name or counted by a number: 'ada', 'lives in', 'turku'; '4', '', 'cat'."""

    one: str
    between: str
    other: str
    said: str = field(compare=False)


class End(NamedTuple):
    """A name or a value in a sentence, its first token and the one after its last."""

    value: str
    start: int
    after: int
    name: bool


@dataclass(slots=True)
class Reading:
    """What was read so far."""

    text: str
    names: frozenset[str]
    facts: list[Fact] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    risks: list[str] = field(default_factory=list)
    words: set[str] = field(default_factory=set)
    openers: set[str] = field(default_factory=set)
    bonds: list[Bond] = field(default_factory=list)
    ends: list[End] = field(default_factory=list)


def bare(word: str) -> str:
    """A word without the ending of a possessive."""
    return word[:-2] if word.endswith("'s") else word.rstrip("'")


def is_common(word: str, language: Language) -> bool:
    """Whether a word is one that can be no name: an article, a pronoun, an auxiliary."""
    return word in language.sets["stop"] or word in languages()[FIRST].sets["stop"]


@lru_cache(maxsize=50_000)
def stem(word: str, code: str) -> str:
    """What is left of a word without its usual endings: enough to see that two words are one."""
    language = languages()[code]
    word = bare(word)
    for ending in language.endings:
        if word.endswith(ending) and len(word) >= len(ending) + 3:
            word = word[: -len(ending)]
            break
    word = word.removesuffix("e") if len(word) > 3 else word
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word[: language.stem_length]


def pairs(text: str) -> set[str]:
    """The pairs of letters of a run without spaces; the letter itself if it is alone."""
    return {text[i : i + 2] for i in range(len(text) - 1)} or {text}
