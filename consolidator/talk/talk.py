"""
Talk: greetings, answers that say nothing, questions about remembering, refusals, pings, and orders to a model.

A text is read folded (no case, no accents) and sentence by sentence. Patterns are data: `words/` has a file for each
language, in small letters.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from consolidator.words import LETTER, fold, kinds

MOST_SMALL_TALK_WORDS = 6
MOST_SMALL_TALK_LETTERS = 16  # of a script without spaces
LONGEST_READ = 4_000  # characters: what is longer is no small talk

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_SENTENCE = re.compile(r"[^.!?。\n]+[.!?。]*|[.!?。]+")
_EDGE = " \t\"'`*_~-–—•·()[]{}<>«»¿¡…,;:!.。、"
_INVISIBLE = dict.fromkeys([0x00AD, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF])
_FRAME = re.compile(
    r"<\|?\s*/?(?:system|im_start|im_end|assistant|endoftext)\s*\|?>|\[/?inst\]|(?:^|\n)\s*(?:system|developer)\s*:"
    r"|\bcurl\b[^\n]{0,200}\|\s*(?:sudo )?(?:ba|z)?sh\b|\brm -rf\b"
)


def plain(text: str) -> str:
    """A text as it is read: folded, apostrophes straight, spaces single, nothing invisible, lines kept."""
    folded = fold(text).translate({0x2019: "'", 0x2018: "'", 0x02BC: "'", 0x3002: "。"} | _INVISIBLE)
    return "\n".join(" ".join(line.split()) for line in folded.splitlines())


def letters_of(folded: str) -> str:
    """The letters and digits of a folded text."""
    return "".join(letter for letter in folded if unicodedata.category(letter)[0] in "LN")


def is_unspaced(letters: str) -> bool:
    """Whether some of these letters are of a script without spaces, of which one says more."""
    return any(ord(letter) < 0x10000 and kinds()[ord(letter)] == LETTER for letter in letters)


def is_small_talk(text: str) -> bool:
    """Whether a plain text is nothing but a greeting, thanks, or an answer that says nothing."""
    letters = letters_of(text)
    if not letters:
        return False
    if is_unspaced(letters):
        return len(letters) <= MOST_SMALL_TALK_LETTERS and _unspaced().fullmatch(letters) is not None
    said = _WORD.findall(text)
    return len(said) <= MOST_SMALL_TALK_WORDS and _spaced().fullmatch(" ".join(said)) is not None


def forces_recall(text: str) -> bool:
    """Whether a plain text speaks of remembering or of an earlier time."""
    return _found("forcing", text)


def is_unknowing(text: str) -> bool:
    """Whether a text says that something is not known."""
    return _found("unknowing", plain(text))


def empty_talk(text: str) -> str | None:
    """What a text is that is nothing but talk, in every sentence of it; None where it says something."""
    read = plain(text[: LONGEST_READ + 1])
    if len(text) > LONGEST_READ:
        return None
    if not letters_of(read):
        return "there is no word in it"
    whole = _bare(read)
    if _is("pings", whole):
        return "a ping"
    found = [_kind(sentence) for sentence in _sentences(read)]
    if not found or None in found:
        return None
    return next((kind for kind in found if kind != _GREETING), _GREETING)


def is_instruction(text: str) -> bool:
    """Whether a text orders a model to forget its rules, to show its prompt or to keep things from its user."""
    read = plain(text)
    return _found("instructions", read) or _FRAME.search(read) is not None


_GREETING = "a greeting, or an answer that says nothing"


def _kind(sentence: str) -> str | None:
    if is_small_talk(sentence):
        return _GREETING
    if _is("asks", sentence):
        return "a question whether something is remembered"
    if _is("refusals", sentence):
        return "a refusal"
    return "a ping" if _is("pings", sentence) else None


def _sentences(text: str) -> Iterator[str]:
    """The sentences of a plain text that have a letter, bare; a question keeps its mark."""
    for match in _SENTENCE.finditer(text):
        if letters_of(match.group()):
            yield _bare(match.group())


def _bare(sentence: str) -> str:
    asks = "?" in sentence[-4:]
    bare = sentence.strip(_EDGE + "?")
    return f"{bare}?" if asks else bare


def _is(name: str, sentence: str) -> bool:
    return any(
        pattern.fullmatch(sentence) or pattern.fullmatch(sentence.removesuffix("?")) for pattern in _patterns(name)
    )


def _found(name: str, text: str) -> bool:
    return any(pattern.search(text) for pattern in _patterns(name))


@cache
def _languages() -> tuple[dict[str, Any], ...]:
    folder = files("consolidator.talk") / "words"
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".json"))
    return tuple(json.loads((folder / name).read_text(encoding="utf-8")) for name in names)


@cache
def _patterns(name: str) -> tuple[re.Pattern[str], ...]:
    """The patterns of each language in one; words of scripts with spaces stand alone."""
    found = []
    for language in _languages():
        if given := language.get(name):
            one = "|".join(plain(each) for each in given)
            found.append(re.compile(one if language.get("unspaced") else rf"(?<!\w)(?:{one})(?!\w)"))
    return tuple(found)


@cache
def _spaced() -> re.Pattern[str]:
    said = _any(each for one in _languages() if not one.get("unspaced") for each in one["small_talk"])
    return re.compile(rf"(?:{said})(?: (?:{said}))*")


@cache
def _unspaced() -> re.Pattern[str]:
    said = (letters_of(plain(each)) for one in _languages() if one.get("unspaced") for each in one["small_talk"])
    return re.compile(rf"(?:{_any(said)})+")


def _any(phrases: Iterable[str]) -> str:
    """A pattern for any of these phrases, the longest first."""
    return "|".join(re.escape(each) for each in sorted({plain(each) for each in phrases}, key=len, reverse=True))
