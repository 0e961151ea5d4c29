"""The words that a search goes by: stop words left out, English endings cut, as `consolidator/words.py` cuts a text."""

import re
from itertools import pairwise

from consolidator.words import words

_STOP = (
    "a an the and or but if then than so as of at by for from in into on onto to up with without about over under out "
    "off is are was were be been being am do does did done doing have has had having will would shall should can could "
    "may might must not no nor it its he him his she her hers they them their theirs we us our ours you your yours i "
    "me my mine this that these those there here what which who whom whose when where why how any some all both each "
    "few more most other such own same too very just also s t d ll re ve m don"
)
STOP_WORDS = frozenset(_STOP.split())
_ASCII_WORDS = str.maketrans({chr(code): " " for code in range(1, 128) if not chr(code).isalnum()})
_LONGEST_WORD = 200
_ENDINGS = (("ies", "y"), ("sses", "ss"), ("ing", ""), ("edly", ""), ("ed", ""), ("ly", ""), ("es", ""), ("s", ""))
_KEPT_S = ("ss", "us", "is")
_SHORTEST_STEM = 3
_MOST_STEMS = 200_000


class _Stems(dict[str, str]):
    """The term of each word that was seen; empty for a stop word."""

    def __missing__(self, word: str) -> str:
        found = term_of(word)
        if len(self) < _MOST_STEMS:
            self[word] = found
        return found


_stems = _Stems()


def terms(text: str) -> list[str]:
    """The terms of a text, in order, repeats kept. A stretch without spaces gives the pairs of its letters."""
    if text.isascii():
        return [term for word in ascii_words(text.replace("\0", " ")) if (term := _stems[word])]
    found = []
    for word in words(text):
        if len(word) > 1:
            found += [one + other for one, other in pairwise(word)]
        elif term := _stems[word[0]]:
            found.append(term)
    return found


def ascii_words(text: str) -> list[str]:
    """The words of a text that is ASCII alone, in order; a NUL between spaces is one, too."""
    return text.lower().translate(_ASCII_WORDS).split()


def term_of(word: str) -> str:
    """The term of a word of `ascii_words`; empty for a stop word."""
    return "" if word in STOP_WORDS else stem(word[:_LONGEST_WORD])


def stem(word: str) -> str:
    """A word without its English ending: `painted`, `paints` and `painting` are one. Other scripts stay as they are."""
    if len(word) <= _SHORTEST_STEM or not word.isascii():
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            if ending == "s" and word.endswith(_KEPT_S):
                continue
            word = word[: -len(ending)] + instead
            break
    if len(word) > _SHORTEST_STEM and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    if len(word) > _SHORTEST_STEM and word.endswith("e"):
        word = word[:-1]
    if len(word) > _SHORTEST_STEM and word.endswith("i"):
        word = word[:-1] + "y"
    return word


def forms(term: str) -> list[str]:
    """The words of which `stem` makes a term, each with its usual endings; of another script, the term as it is."""
    if not term.isascii() or len(term) < _SHORTEST_STEM:
        return [term]
    bases = [term, f"{term}e", term + term[-1], *([f"{term[:-1]}i"] if term.endswith("y") else [])]
    every = [base + ending for base in bases for ending in ("", *(ending for ending, _ in _ENDINGS))]
    return [word for word in dict.fromkeys(every) if stem(word) == term]


_NAME = re.compile(r"\b\w[\w'’-]*")
_ASKED_WITH = "what when where who whom whose which how why would did does do is are was were has have can could tell"
_ASKING = frozenset(_ASKED_WITH.split())


def names_in(question: str) -> list[str]:
    """The terms of what is written large in a question, as names are; its first word only where it asks for nothing."""
    found = []
    for match in _NAME.finditer(question):
        word = match.group()
        if word[0].isupper() and word.lower() not in _ASKING and word.lower() not in STOP_WORDS:
            found += terms(word)[:1]
    return list(dict.fromkeys(found))


def marked(question: str) -> str:
    """A question with its mark, where who typed it left that out: models read what is asked from it."""
    asked = question.strip()
    first = _NAME.match(asked)
    return asked + "?" if first and first.group().lower() in _ASKING and asked[-1].isalnum() else question
