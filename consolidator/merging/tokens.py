"""Texts cut into tokens and sentences, in every script."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from consolidator.merging.language import FIRST, Language, all_months, all_of, language_of, languages

# Chinese, Japanese, Thai, Lao, Burmese, Khmer: written without spaces between words. Korean has spaces.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
HIDDEN = "\ue000"  # stands for every character of what was read before the words are


def _ranges(categories: frozenset[str]) -> str:
    inside = [code for code in range(0x300, 0x1E950) if unicodedata.category(chr(code)) in categories]
    return "".join(map(chr, inside))


MARKS = _ranges(frozenset({"Mn", "Mc"}))
IS_UNSPACED = re.compile(f"[{UNSPACED}]")
_LETTERS = rf"[^\W\d_]+(?:[{MARKS}]+[^\W\d_]*)*"


def _pattern(letters: str, word: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<word>{letters}(?:'{letters})*)(?P<rest>[0-9_]{word}*)?|(?P<hidden>{HIDDEN}+)"
        rf"|(?P<number>[0-9]+(?:[.,:/'-][0-9]+)*)(?P<suffix>{letters}[0-9]*|%|°[CF]?)?|(?P<other>\S|\n)"
    )


_TOKEN = _pattern(_LETTERS, rf"[\w{MARKS}]")
_ASCII_TOKEN = _pattern("[A-Za-z]+", "[A-Za-z0-9_]")
_RUNS = re.compile(rf"[{UNSPACED}{MARKS}]+|(?:(?![{UNSPACED}])[^\s])+")
_CLOSERS = "\"')]}"
_ENDS = ".!?\u3002\uff0e\u2026\n"


class Token(NamedTuple):
    """
    A piece of a text: kind is word, number, mixed (letters and digits), letters (a run without spaces), hidden, other.

    low: in lower case; start, end: where in the folded text; suffix: letters written right after a number.
    """

    kind: str
    text: str
    low: str
    start: int
    end: int
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """Tokens up to the end of a sentence or a line; `end` is its mark ('' if it has none)."""

    tokens: Sequence[Token]
    language: Language
    end: str


def tokens_of(text: str) -> list[Token]:
    """The tokens of a folded text."""
    tokens: list[Token] = []
    plain = text.isascii()
    odd = not plain and IS_UNSPACED.search(text) is not None
    for match in (_ASCII_TOKEN if plain else _TOKEN).finditer(text):
        start, end = match.span()
        kind = match.lastgroup
        if kind == "word":
            word = match[0]
            if odd and IS_UNSPACED.search(word):
                tokens.extend(_runs(word, start))
            else:
                tokens.append(Token("word", word, word.lower(), start, end))
        elif kind == "number" or kind == "suffix":
            suffix = match["suffix"] or ""
            if suffix and odd and (cut := IS_UNSPACED.search(suffix)):
                tokens.append(Token("number", match["number"], match["number"], start, match.end("number"),
                                    suffix[: cut.start()]))  # fmt: skip
                tokens.extend(_runs(suffix[cut.start() :], match.start("suffix") + cut.start()))
            else:
                tokens.append(Token("number", match["number"], match["number"], start, end, suffix))
        elif kind == "rest":
            tokens.append(Token("mixed", match[0], match[0].lower(), start, end))
        else:
            tokens.append(Token(kind or "other", match[0], match[0], start, end))
    return tokens


def _runs(text: str, start: int) -> list[Token]:
    return [
        Token("letters" if IS_UNSPACED.match(run[0]) else "word", run[0], run[0].lower(),
              start + run.start(), start + run.end())
        for run in _RUNS.finditer(text)
    ]  # fmt: skip


def sentences_of(text: str) -> list[Sentence]:
    """
    The sentences of a folded text, each with its language.

    A sentence ends at its mark before a space or the end, and at the end of a line; not after an abbreviation or an
    initial. Languages without spaces end theirs at the mark alone.
    """
    tokens = tokens_of(text)
    groups: list[tuple[list[Token], str]] = []
    current: list[Token] = []
    for i, token in enumerate(tokens):
        if token.kind != "other" or token.text not in _ENDS:
            current.append(token)
        elif token.text == "\n":
            if current:
                groups.append((current, ""))
                current = []
        elif not _ends(tokens, i, current, text):
            current.append(token)
        elif current:
            groups.append((current, token.text))
            current = []
        elif groups and all(not after.text.isalnum() for after in current):
            mark = groups[-1][1]
            groups[-1] = (groups[-1][0], "?" if "?" in (mark, token.text) else mark or token.text)
    if current:
        groups.append((current, ""))
    groups = _closed(groups)
    whole = FIRST if len(groups) == 1 else language_of(token.low for token in tokens if token.kind == "word")
    return [Sentence(group, _language(group, whole, text), end) for group, end in groups]


def _closed(groups: list[tuple[list[Token], str]]) -> list[tuple[list[Token], str]]:
    """Closing quotes and brackets that stand after the mark belong to the sentence before."""
    closed: list[tuple[list[Token], str]] = []
    for tokens, end in groups:
        while closed and tokens and tokens[0].text in _CLOSERS and tokens[0].start == closed[-1][0][-1].end + 1:
            closed[-1][0].append(tokens[0])
            tokens = tokens[1:]
        if tokens:
            closed.append((tokens, end))
    return closed


def _ends(tokens: list[Token], i: int, before: list[Token], text: str) -> bool:
    token = tokens[i]
    if token.text not in ".!?":
        return True
    after = text[token.end : token.end + 1]
    if after and not after.isspace() and after not in _CLOSERS + _ENDS and not IS_UNSPACED.match(after):
        return False
    if token.text != "." or not before or before[-1].end != token.start:
        return True
    last = before[-1]
    if last.kind == "number":  # 8. Juni
        return i + 1 == len(tokens) or tokens[i + 1].low not in all_months()
    if last.kind != "word":
        return True
    if len(last.text) == 1 and last.text.isupper() and last.text != "I":
        return not after or (i + 1 < len(tokens) and tokens[i + 1].text == "\n")
    start = last.start
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    follows = text[token.end :].lstrip(" ")[:1]
    written = text[start : token.start].lower().strip("\"'([")
    return not (written in all_of("abbreviations") and follows and follows != "\n")


def _language(tokens: Sequence[Token], whole: str, text: str) -> Language:
    known = languages()
    if any(token.kind == "letters" for token in tokens):
        for language in known.values():
            if language.letters is not None and language.letters.search(text):
                return language
    return known[language_of((token.low for token in tokens if token.kind == "word"), whole)]
