"""Whether a written text has the form of a memory: no refusal, no frame around it, no other language, not too long."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from consolidator.merging.asking import SYSTEM
from consolidator.merging.fold import fold
from consolidator.merging.language import all_of, known_by

_LEAST_SHARE, _MAIN_SHARE, _LEAST_LETTERS = 0.1, 0.3, 3
_LEAST_WORDS = 3  # of a language, before it is believed to be one
_ECHO_WORDS = 6
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_TAG = re.compile(r"</?[a-zA-Z][\w-]*(?: [^<>]*)?/?>")
_KEY = re.compile(r"[\"'](?:verdict|text|kept|dropped|fact|because|content|memory)[\"']\s*:", re.IGNORECASE)
_MARKUP = ("```", "**", "## ", "~~~")
_TITLE = re.compile(
    r"^\W*(?:(?:the |a )?(?:merged|combined|updated|consolidated|new|final|revised|single) )?"
    r"(?:memory|memories|text|note|notes|summary|version|result|answer|output|merged|combined)\s*(?:#?\d+)?\s*:",
    re.IGNORECASE,
)


def wrong_form(text: str, contents: Sequence[str]) -> Iterator[str]:
    """What is wrong with the form of a text that replaces these contents, in short sentences."""
    if len(text) > sum(map(len, contents)) + len(contents) - 1:
        yield "the text is longer than the memories together"
    folded, sources = fold(text).lower(), [fold(content).lower() for content in contents]
    if _new(folded, sources, all_of("refusals")):
        yield "the text is a refusal, not a memory"
    if _framed(text, folded, contents, sources):
        yield "the text has something around the memory: write the memory alone"
    if _echoes(folded, sources):
        yield "the text repeats the task"
    yield from _scripts(text, contents)
    if _translated(folded, sources):
        yield "the text is in another language than the memories"


def _new(text: str, sources: Sequence[str], phrases: frozenset[str]) -> bool:
    """Whether one of the phrases is in the text and in no source."""
    return any(phrase in text and not any(phrase in source for source in sources) for phrase in phrases)


def _framed(text: str, folded: str, contents: Sequence[str], sources: Sequence[str]) -> bool:
    if _new(folded, sources, all_of("framing")):
        return True
    if any(mark in text and not any(mark in content for content in contents) for mark in _MARKUP):
        return True
    for pattern in (_TAG, _KEY, _TITLE):
        found = {match[0].lower() for match in pattern.finditer(text)}
        if any(not any(each in content.lower() for content in contents) for each in found):
            return True
    quoted = text[0] == text[-1] == '"' and not any(content.strip()[:1] == '"' for content in contents)
    return quoted or (_is_json(text) and not any(map(_is_json, contents)))


def _is_json(text: str) -> bool:
    if text[:1] not in "{[":
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _echoes(folded: str, sources: Sequence[str]) -> bool:
    words = _WORD.findall(folded)
    runs = {tuple(words[i : i + _ECHO_WORDS]) for i in range(len(words) - _ECHO_WORDS + 1)}
    own = {run for source in sources for run in _runs(source)}
    return bool((runs & _runs(SYSTEM.lower())) - own)


def _runs(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text)
    return {tuple(words[i : i + _ECHO_WORDS]) for i in range(len(words) - _ECHO_WORDS + 1)}


def _scripts(text: str, contents: Sequence[str]) -> Iterator[str]:
    written, given = _letters(text), _letters(" ".join(contents))
    for script, count in written.items():
        if count >= _LEAST_LETTERS and count >= _LEAST_SHARE * written.total() and script not in given:
            yield f"the text is written in {script} letters, the memories are not"
    for script, count in given.items():
        if count >= _MAIN_SHARE * given.total() and script not in written:
            yield f"the memories are written in {script} letters, the text is not"


def _letters(text: str) -> Counter[str]:
    """How many letters of each script a text has."""
    return Counter(unicodedata.name(letter, "unknown").split()[0].title() for letter in text if letter.isalpha())


def _translated(folded: str, sources: Sequence[str]) -> bool:
    written, given = _votes(folded), _votes(" ".join(sources))
    if not written or not given:
        return False
    language, count = written.most_common(1)[0]
    before, most = given.most_common(1)[0]
    return (
        language != before
        and count >= _LEAST_WORDS
        and most >= _LEAST_WORDS
        and 3 * written[before] <= count
        and 3 * given[language] <= most
    )


def _votes(text: str) -> Counter[str]:
    known = known_by()
    return Counter(code for word in _WORD.findall(text) for code in known.get(word, ()))
