"""
The use test: whether a reply refers to a memory that was shown. Shown is not used.

What counts is what the memory tells and the question does not: its telling facts (names, numbers, dates, addresses)
and its telling words. A word that several of the shown memories have counts for less in each, and so does one that
everybody says. A memory was used where the reply

- says a telling fact of it that no other shown memory has, or one that others have too and a third of its words;
- says half of its telling words, and two at least where it has more than two;
- has a statement of which half the words are telling words of it, those of the question left out;
- says two telling words that stand side by side in it, or four letters of a script without spaces;
- repeats it where the question had said all of it already;
- or has a statement of nearly its meaning (cosine >= 0.6, by the model on this machine) that is nearer to it than the
  question is, by 0.05.

What asks, refuses or says that it does not know is no statement.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consolidator.merging.alignment import covers
from consolidator.merging.facts import Facts, facts_of
from consolidator.merging.fold import fold
from consolidator.merging.language import language_of, languages
from consolidator.recall.terms import terms
from consolidator.talk.talk import empty_talk, is_unknowing, is_unspaced
from consolidator.words import words

LEAST_SHARE = 0.5
LEAST_SHARE_WITH_FACT = 1 / 3
NEAR, NEARER = 0.6, 0.05
WINDOW = 4  # letters of a script without spaces that say something together
COMMON_WEIGHT = 0.25
MOST_SENTENCES = 24
LONGEST_REPLY = 20_000  # characters that are read

Embed = Callable[[Sequence[str]], NDArray[np.float32]]

_COMMON = frozenset(
    term
    for term in terms(
        "every day days week month year time times today tomorrow yesterday morning evening night now then like likes "
        "love go goes get make want need thing things people good great nice well know knows think say says said one "
        "new always often usually also still since live lives work works use uses take keep please help sure maybe "
        "favourite favorite name called"
    )
)
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_WORD = re.compile(r"[^\W\d_]+")
_SAYING_LITTLE = ("stop", "pronouns", "articles")
_HIRAGANA = re.compile(r"[぀-ゟ]+")


class _Said(NamedTuple):
    """What is compared of a text."""

    terms: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    windows: frozenset[str]
    facts: Facts


class _Answer(NamedTuple):
    """A reply: all of it, and the terms of each sentence that states something."""

    whole: _Said
    sentences: tuple[frozenset[str], ...]


def used(shown: Sequence[tuple[str, str]], reply: str, asked: Sequence[str], *, embed: Embed | None = None) -> set[str]:
    """
    The ids of those of the shown memories (id, content) that a reply refers to.

    asked: what the reply answers. embed: gives vectors of length 1, zeros for what it cannot read; None: words alone.
    """
    contents = dict(shown)
    reply = reply[:LONGEST_REPLY]
    sentences = [each.strip() for each in _SENTENCE.findall(reply) if _says(each)][:MOST_SENTENCES]
    answer = _Answer(_read(reply), tuple(_read(each).terms for each in sentences))
    question = _read("\n".join(asked))
    read = {name: _read(content) for name, content in contents.items()}
    holders = Counter(term for each in read.values() for term in each.terms)
    found = {name for name in read if _by_words(name, read, answer, question, holders)}
    left = {name: contents[name] for name in read if name not in found}
    if embed is None or not left or not sentences:
        return found
    return found | _by_meaning(left, sentences, asked, embed)


def _by_words(name: str, read: dict[str, _Said], answer: _Answer, question: _Said, holders: Counter[str]) -> bool:
    memory, said = read[name], answer.whole
    others = [each for key, each in read.items() if key != name]
    telling = memory.terms - question.terms
    if not telling:
        return len(memory.terms) > 1 and _share(memory.terms, said.terms, holders) > LEAST_SHARE
    share = _share(telling, said.terms, holders)
    for fact in memory.facts.found:
        if covers(question.facts, fact) or not covers(said.facts, fact):
            continue
        if (fact.weak or len(fact.value) <= 2) and not (memory.terms & said.terms) - _COMMON - {fact.said}:
            continue  # a small number is said of many things
        if share >= LEAST_SHARE_WITH_FACT or not any(covers(each.facts, fact) for each in others):
            return True
    if share >= LEAST_SHARE and len(telling & said.terms) >= min(2, len(telling)):
        return True
    for sentence in answer.sentences:
        new = sentence - question.terms
        if any(not _is_common(term) for term in new & telling) and _share(new, telling, holders) >= LEAST_SHARE:
            return True
    side_by_side = {pair for pair in memory.pairs & said.pairs if not {*pair} & (question.terms | _COMMON)}
    if any(all(pair not in each.pairs for each in others) for pair in side_by_side):
        return True
    windows = memory.windows & said.windows - question.windows
    return any(all(window not in each.windows for each in others) for window in windows)


def _share(wanted: frozenset[str], said: frozenset[str], holders: Counter[str]) -> float:
    """How much of what is wanted is said."""

    def weight(term: str) -> float:
        return (COMMON_WEIGHT if _is_common(term) else 1.0) / max(holders[term], 1)

    return sum(weight(term) for term in wanted & said) / sum(map(weight, wanted))


def _is_common(term: str) -> bool:
    """Whether everybody says it: a common word, or a small number."""
    return term in _COMMON or (term.isdigit() and len(term) <= 2)


def _by_meaning(left: dict[str, str], sentences: Sequence[str], asked: Sequence[str], embed: Embed) -> set[str]:
    vectors = embed([*left.values(), *sentences, *asked])
    memories, rest = vectors[: len(left)], vectors[len(left) :]
    near = (memories @ rest[: len(sentences)].T).max(axis=1)
    asking = (memories @ rest[len(sentences) :].T).max(axis=1, initial=0.0)
    return {name for name, one, other in zip(left, near, asking, strict=True) if one >= max(NEAR, other + NEARER)}


def _says(sentence: str) -> bool:
    """Whether a sentence states something: it asks nothing, and does not say that nothing is known."""
    if sentence.rstrip().endswith(("?", "？")):
        return False
    return empty_talk(sentence) is None and not is_unknowing(sentence)


@lru_cache(maxsize=2_048)
def _read(text: str) -> _Said:
    stops = _stops(text)
    found = [term for term in terms(text) if term not in stops]
    windows = set()
    for word in words(text):
        stretch = "".join(word)
        if is_unspaced(stretch):
            for start in range(len(stretch) - WINDOW + 1):
                window = stretch[start : start + WINDOW]
                if not _HIRAGANA.fullmatch(window):
                    windows.add(window)
    spaced = [term for term in found if not is_unspaced(term)]
    return _Said(frozenset(found), frozenset(pairwise(spaced)), frozenset(windows), facts_of(text))


def _stops(text: str) -> frozenset[str]:
    """The terms that say little in the language of a text."""
    return _stops_of(language_of(_WORD.findall(fold(text).lower())))


@cache
def _stops_of(code: str) -> frozenset[str]:
    said = (word for group in _SAYING_LITTLE for word in languages()[code].sets[group])
    return frozenset(term for word in said for term in terms(word))
