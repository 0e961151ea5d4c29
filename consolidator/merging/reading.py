"""One sentence read from left to right: its numbers, dates, names and marks, and the clauses that they stand in."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from consolidator.merging.language import FIRST, Language, languages, number
from consolidator.merging.numbers import CURRENCY_SIGNS, Number, of_digits, read_number
from consolidator.merging.times import read_when, read_year
from consolidator.merging.tokens import Sentence, Token


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


class Bond(NamedTuple):
    """What is said of a name or counted by a number: 'ada', 'lives in', 'turku'; '4', '', 'cat'."""

    one: str
    between: str
    other: str
    said: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bond) and self[:3] == other[:3]

    def __hash__(self) -> int:
        return hash(self[:3])


class _End(NamedTuple):
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
    ends: list[_End] = field(default_factory=list)


_LONGEST_BOND = 5
_FEW = 12  # a number word up to a dozen is often left out: 'two men', 'the men'
_SPLITS = frozenset(";:\u2014\uff1b\uff1a")
_OPENS = frozenset("\"'([{:-*\u2022\u2014\u2013>")


def read_sentence(reading: Reading, sentence: Sentence, found: Sequence[tuple[str, int]]) -> None:
    """
    Add what a sentence says.

    found: (mark, where) of what was already read in a text without spaces.
    """
    tokens, language = sentence.tokens, sentence.language
    letters = [token.text for token in tokens if token.kind == "word"]
    shouted = len(letters) > 1 and (all(word.isupper() for word in letters) or all(word.islower() for word in letters))
    clause = _Clauses(reading, sentence, found)
    notable, only_before, compound = language.notable, language.only_before, language.compound is not None
    initial, i = True, 0
    reading.ends = []
    while i < len(tokens):
        token = tokens[i]
        if token.kind == "word" and token.low == token.text and not compound:
            following = tokens[i + 1].low if i + 1 < len(tokens) else ""
            plain = token.low not in notable or following not in only_before.get(token.low, (following,))
            if plain and not token.low.endswith(language.negation_endings or "\0"):
                clause.plain(token.low)
                initial, i = False, i + 1
                continue
        if token.kind == "hidden":
            clause.add(i)
            initial, i = False, i + 1
            continue
        if token.kind == "other":
            clause.add(i)
            initial, i = initial or token.text in _OPENS, i + 1
            continue
        after = _when(reading, tokens, i, language, shouted) or _number(reading, tokens, i, language)
        if after is None:
            after = clause.mark(i)
            if after is None:
                _name(reading, tokens, i, language, initial, shouted)
                clause.add(i)
                after = i + 1
        else:
            for j in range(i, after):
                clause.add(j, numeric=True)
            reading.ends.append(_End(reading.facts[-1].value, i, after, name=False))
        initial, i = False, after
    clause.end()
    _bind(reading, tokens, language)


def _bind(reading: Reading, tokens: Sequence[Token], language: Language) -> None:
    """What stands between a name and the next name or value, and what a number counts."""
    for one, other in pairwise(reading.ends):
        between = tokens[one.after : other.start]
        words = " ".join(token.low for token in between)
        plain = all(token.kind == "word" or token.text in "-'" for token in between)
        if one.name and plain and 0 < len(between) <= _LONGEST_BOND and words not in language.sets["ranges"]:
            owner = "'s " if tokens[one.after - 1].low.endswith("'s") else ""
            said = reading.text[tokens[one.start].start : tokens[other.after - 1].end]
            reading.bonds.append(Bond(one.value, owner + words, other.value, said))
    for end in reading.ends:
        if not end.name and end.after < len(tokens):
            token = tokens[end.after]
            if token.kind == "word" and not is_common(token.low, language) and token.low not in language.notable:
                said = reading.text[tokens[end.start].start : token.end]
                reading.bonds.append(Bond(end.value, "", stem(token.low, language.code), said))


def _when(reading: Reading, tokens: Sequence[Token], i: int, language: Language, shouted: bool) -> int | None:
    when = read_when(tokens, i, language, shouted=shouted) or read_year(tokens, i, language)
    if when is None:
        return None
    said = reading.text[tokens[i].start : tokens[when.after - 1].end]
    reading.facts.extend(Fact(kind, value, said) for kind, value in when.facts)
    return when.after


def _number(reading: Reading, tokens: Sequence[Token], i: int, language: Language) -> int | None:
    token = tokens[i]
    if token.kind == "mixed":
        reading.facts.append(Fact("identifier", token.low, token.text))
        return i + 1
    if token.kind == "word" and token.low not in language.number_starts and language.compound is None:
        return None
    read = read_number(tokens, i, language)
    if read is None:
        return _several(reading, tokens, i, language) if token.kind == "number" else None
    suffix = token.suffix if token.kind == "number" and read.after == i + 1 and not read.ordinal else ""
    if suffix and read.scaled:
        suffix = ""
    unit, after = unit_after(tokens, read.after, suffix, language)
    if suffix and unit is None:
        reading.facts.append(Fact("identifier", f"{token.text}{suffix}".lower(), token.text + suffix))
        return i + 1
    value = read.value
    if token.kind == "number" and _negative(tokens, i):
        value = f"-{value}"
    said = reading.text[token.start : tokens[after - 1].end]
    if read.ordinal:
        reading.facts.append(Fact("order", value, said, read.weak))
        return read.after
    money = _money_before(tokens, i, language)
    weak = not (unit or money) and (read.weak or (token.kind == "word" and (read.exact or 99) <= _FEW))
    reading.facts.append(Fact("number", value, reading.text[token.start : tokens[read.after - 1].end], weak))
    if money or unit:
        reading.facts.append(
            Fact("amount", f"{value} {money or unit}", f"{money_sign(tokens, i) if money else ''}{said}")
        )
        if after < len(tokens) and (side := language.ago.get(tokens[after].low)):
            reading.facts.append(Fact("relative day", f"{value} {unit} {side}", said))
    elif not read.weak:
        _shared_unit(reading, tokens, read, after, language)
    return after


def _shared_unit(reading: Reading, tokens: Sequence[Token], read: Number, after: int, language: Language) -> None:
    """'5 to 10 km': the unit of the second number is that of the first."""
    if after + 1 < len(tokens) and (tokens[after].low in language.sets["ranges"]):
        second = read_number(tokens, after + 1, language)
        if second is None or second.ordinal:
            return
        suffix = tokens[after + 1].suffix
        unit, _ = unit_after(tokens, second.after, "" if suffix in language.suffixes else suffix, language)
        if unit:
            reading.facts.append(Fact("amount", f"{read.value} {unit}", f"{read.value} {unit}"))


def _several(reading: Reading, tokens: Sequence[Token], i: int, language: Language) -> int:
    """'5-10', '3:2', '1,2,3': each number; what falls is also a pair, so that 3-2 is not 2-3."""
    token = tokens[i]
    parts = [part for part in _cut(token.text) if part]
    unit, after = unit_after(tokens, i + 1, token.suffix, language)
    money = _money_before(tokens, i, language)
    values = [of_digits(part, language) or part for part in parts]
    for part, value in zip(parts, values, strict=True):
        reading.facts.append(Fact("number", value, part))
        if unit or money:
            reading.facts.append(Fact("amount", f"{value} {money or unit}", f"{part} {money or unit}"))
    if any(mark in token.text for mark in "-:/") and not _rises(values):
        reading.facts.append(Fact("number", "-".join(values), token.text))
    return after


def _cut(text: str) -> list[str]:
    for marks in ("-", "/", ":"):
        if marks in text:
            return [piece for part in text.split(marks) for piece in _cut(part)]
    return text.split(",") if text.count(",") > 1 else text.split("'") if "'" in text else [text]


def _rises(values: Sequence[str]) -> bool:
    try:
        exact = [float(value) for value in values]
    except ValueError:
        return False
    return all(low < high for low, high in pairwise(exact))


def unit_after(tokens: Sequence[Token], j: int, suffix: str, language: Language) -> tuple[str | None, int]:
    """The unit that follows a number (written right after it, after a space or a hyphen) and the index after it."""
    first = languages()[FIRST]
    words: list[str] = [suffix.lower()] if suffix else []
    if not suffix:
        if (
            j + 1 < len(tokens)
            and tokens[j].text == "-"
            and tokens[j].start == tokens[j - 1].end == tokens[j + 1].start - 1
        ):
            j += 1
        if j >= len(tokens):
            return None, j
        words, j = [tokens[j].low], j + 1
        for meaning in language.phrases.get(words[0], ()):
            rest = tuple(token.low for token in tokens[j : j + len(meaning.rest)])
            if meaning.kind == "unit" and rest == meaning.rest:
                return meaning.value, j + len(rest)
    if j < len(tokens) and tokens[j].start == tokens[j - 1].end:
        glued = tokens[j].low if words[0] == "\u00b0" else ""
        if tokens[j].text == "/" and j + 1 < len(tokens) and tokens[j + 1].start == tokens[j].end:
            glued = f"/{tokens[j + 1].low}"
        joined = f"{words[0]}{glued}"
        unit = glued and (language.units.get(joined) or first.units.get(joined))
        if unit:
            return unit, j + 1 + glued.startswith("/")
    unit = language.units.get(words[0]) or first.units.get(words[0])
    if unit is None:
        return None, j if suffix else j - 1
    return unit, j


def _money_before(tokens: Sequence[Token], i: int, language: Language) -> str | None:
    if i == 0:
        return None
    sign = money_sign(tokens, i).lower()
    return (
        language.units.get(sign) or languages()[FIRST].units.get(sign) or languages()[FIRST].units.get(sign[-1:])
        if sign
        else None
    )


def money_sign(tokens: Sequence[Token], i: int) -> str:
    """The currency written before the number at i: '$', 'A$', 'USD'; '' if none is."""
    before = tokens[i - 1] if i else None
    if before is None:
        return ""
    if before.text in CURRENCY_SIGNS:
        front = tokens[i - 2] if i > 1 else None
        joined = front is not None and front.kind == "word" and front.end == before.start and len(front.text) < 4
        return f"{front.text}{before.text}" if joined and front is not None else before.text
    return before.text if before.kind == "word" and len(before.text) == 3 and before.text.isupper() else ""


def _negative(tokens: Sequence[Token], i: int) -> bool:
    if not i or tokens[i - 1].text != "-" or tokens[i - 1].end != tokens[i].start:
        return False
    return i == 1 or tokens[i - 2].end < tokens[i - 1].start or tokens[i - 2].text in "($€£"


def _name(reading: Reading, tokens: Sequence[Token], i: int, language: Language, initial: bool, shouted: bool) -> None:
    token = tokens[i]
    if token.kind != "word":
        return
    word = bare(token.low)
    reading.words.add(word)
    if not token.text[0].isupper() or len(word) < 2:
        return
    if word in languages()[FIRST].units and token.text.isupper():
        return
    certain = not initial and not shouted and not language.nouns_capital and not is_common(word, language)
    if word in reading.names or certain:
        reading.facts.append(Fact("name", word, token.text))
        reading.ends.append(_End(word, i, i + 1, name=True))
    elif initial and not is_common(word, language) and _acts(tokens, i, language):
        reading.openers.add(word)
        reading.ends.append(_End(word, i, i + 1, name=True))


def _acts(tokens: Sequence[Token], i: int, language: Language) -> bool:
    """Whether a word at the beginning of a sentence is followed as a name is: 'Ada likes', 'Ada is', "Ada's"."""
    if language.nouns_capital or language.has(tokens[i].low, "people") or tokens[i].low.endswith("ing"):
        return False
    if tokens[i].low.endswith("'s"):
        return True
    if i + 1 >= len(tokens) or tokens[i + 1].kind != "word":
        return False
    adverb = tokens[i + 1].low.endswith("ly") and i + 2 < len(tokens)
    following = tokens[i + 1 + adverb].low
    if following in language.sets["joiners"] and i + 2 < len(tokens):
        return tokens[i + 2].text[0].isupper()
    verb = any(following.endswith(ending) for ending in language.sets["verb_endings"]) and len(following) > 3
    return language.has(following, "auxiliaries") or (verb and not following.endswith("ss"))


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


class _Clauses:
    """The clauses of a sentence while it is read."""

    def __init__(self, reading: Reading, sentence: Sentence, found: Sequence[tuple[str, int]]) -> None:
        self.reading, self.tokens, self.language = reading, sentence.tokens, sentence.language
        self.question = sentence.end == "?"
        self.found = list(found)
        self.stems: set[str] = set()
        self.marks: set[str] = set()
        self.start = 0

    def add(self, i: int, *, numeric: bool = False) -> None:
        """Take in a token; a mark of punctuation or a conjunction may end the clause before it."""
        token = self.tokens[i]
        if token.kind == "other":
            if token.text in _SPLITS or (token.text in ",\uff0c" and self._breaks(i + 1)):
                self.end(i)
            elif not token.text.isascii() and token.text.isprintable() and not token.text.isalnum():
                self.stems.add(token.text)
        elif token.kind == "letters":
            self.stems.update(pairs(token.text))
        elif token.kind == "word":
            if i > self.start and self.language.has(token.low, "clause_breaks"):
                self.end(i)
            if not numeric and not is_common(token.low, self.language):
                self.stems.add(stem(token.low, self.language.code))
            elif numeric:
                self.reading.words.add(bare(token.low))
        elif not numeric:
            self.stems.add(token.low)

    def plain(self, word: str) -> None:
        """Take in a word that is nothing but a word."""
        self.reading.words.add(bare(word))
        if not is_common(word, self.language):
            self.stems.add(stem(word, self.language.code))

    def _breaks(self, i: int) -> bool:
        return i < len(self.tokens) and (
            self.tokens[i].kind == "letters" or self.language.has(self.tokens[i].low, "clause_breaks")
        )

    def mark(self, i: int) -> int | None:
        """Read the mark, the relative day or the risk that begins at token i; the index after it, None if none does."""
        token = self.tokens[i]
        if token.kind != "word":
            return None
        meaning_end = None
        for meaning in self.language.phrases.get(token.low, ()):
            end = i + 1 + len(meaning.rest)
            if tuple(each.low for each in self.tokens[i + 1 : end]) == meaning.rest:
                if meaning.kind == "unit":
                    continue
                meaning_end = end
                if self.language.has(token.low, "clause_breaks") and i > self.start:
                    self.end(i)
                self._take(i, end, meaning.kind, meaning.value)
                break
        if meaning_end is None and token.low.endswith(self.language.negation_endings or "\0"):
            self.marks.add("negation")
            self.reading.marks.append("negation")
            meaning_end = i + 1
        for j in range(i, meaning_end or i):
            self.reading.words.add(bare(self.tokens[j].low))
        return meaning_end

    def _take(self, i: int, end: int, kind: str, value: str) -> None:
        said = self.reading.text[self.tokens[i].start : self.tokens[end - 1].end]
        following = self.tokens[end].text if end < len(self.tokens) else ""
        if kind == "relative day":
            self.reading.facts.append(Fact(kind, value, said))
        elif kind == "negation" and end == i + 1 and i == 0 and following == ",":
            self.reading.risks.append(value)  # 'No, Ada likes tea' answers; it denies nothing itself
        elif kind == "risk" or kind == "plain":
            if kind == "risk":
                self.reading.risks.append(value)
            for j in range(i, end):
                self.add(j)
        else:
            self.marks.add(kind)
            self.reading.marks.append(kind)
            if (
                self.language.has(value, "negation_then_ended")
                or self.tokens[i].low in self.language.sets["negation_then_ended"]
            ):
                self.marks.discard("negation")

    def end(self, i: int | None = None) -> None:
        """Close the clause before token i."""
        stop = len(self.tokens) if i is None else i
        if stop > self.start:
            first, last = self.tokens[self.start], self.tokens[stop - 1]
            for mark, where in self.found:
                if first.start <= where < last.end:
                    self.marks.add(mark)
            if self.question:
                self.marks.add("question")
            if self.stems or self.marks:
                said = self.reading.text[first.start : last.end]
                self.reading.clauses.append(Clause(frozenset(self.stems), frozenset(self.marks), said))
        self.stems, self.marks, self.start = set(), set(), stop


def pairs(text: str) -> set[str]:
    """The pairs of letters of a run without spaces; the letter itself if it is alone."""
    return {text[i : i + 2] for i in range(len(text) - 1)} or {text}


__all__ = ["Clause", "Fact", "Reading", "bare", "is_common", "number", "pairs", "read_sentence", "stem"]
