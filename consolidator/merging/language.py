"""Languages as data: one file in `words/` is one language. Read once; a word without its language is nobody's word."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from consolidator.merging.fold import fold

FIRST = "en"


class Meaning(NamedTuple):
    """What a phrase is: its further words, what kind of thing it says and which."""

    rest: tuple[str, ...]
    kind: str
    value: str


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """
    The words of one language by what they do; every word in lower case, as `fold` leaves it.

    letters: what only its script has, where it is written without spaces between words; scanned: its phrases there.
    notable: the words that may begin something other than a plain word; only_before: those that do so before certain
    words only.
    """

    code: str
    unspaced: bool
    nouns_capital: bool
    decimal_comma: bool
    stem_length: int
    joins_after: int
    numbers: Mapping[str, int]
    multipliers: Mapping[str, int]
    suffixes: Mapping[str, int]
    ordinals: Mapping[str, int]
    fractions: Mapping[str, int]
    fractions_after_article: Mapping[str, int]
    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    weekdays_if_capital: Mapping[str, int]
    clock: Mapping[str, str]
    quarter_hour: Mapping[str, int]
    ago: Mapping[str, str]
    units: Mapping[str, str]
    marks: frozenset[str]
    endings: tuple[str, ...]
    negation_endings: tuple[str, ...]
    sets: Mapping[str, frozenset[str]]
    phrases: Mapping[str, Sequence[Meaning]]
    letters: re.Pattern[str] | None
    scanned: re.Pattern[str]
    meanings: Mapping[str, tuple[str, str]]
    number_starts: frozenset[str]
    notable: frozenset[str]
    only_before: Mapping[str, frozenset[str]]
    compound: re.Pattern[str] | None
    parts: re.Pattern[str]

    def has(self, word: str, group: str) -> bool:
        """Whether the file lists the word in this group."""
        return word in self.sets[group]


_SETS = (
    "weak", "articles", "joiners", "months_that_are_words", "before_year", "before_weekday", "am", "pm",
    "oclock", "before_clock", "past", "before_hour", "negation_then_ended", "clause_breaks", "continues", "restricts",
    "pronouns", "stop", "contractions_that_are_words", "hyphen_matters_after", "abbreviations", "refusals", "framing",
    "ordinal_endings", "of", "ranges", "possessives", "people",
    "auxiliaries", "verb_endings", "passives", "also_words", "subjects",
)  # fmt: skip
_TELLING = ("stop", "pronouns", "articles", "clause_breaks", "also_words")  # what tells the language of a text
_MAPS = (
    "numbers", "multipliers", "suffixes", "ordinals", "fractions", "fractions_after_article", "months", "weekdays",
    "weekdays_if_capital", "clock", "quarter_hour", "ago",
)  # fmt: skip


@cache
def languages() -> Mapping[str, Language]:
    """All languages that came with the program, by code; English first."""
    folder = resources.files("consolidator.merging").joinpath("words")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".json")), key=lambda file: file.name)
    found = {file.name[:-5]: _language(file.name[:-5], _folded(json.loads(file.read_text("utf-8")))) for file in files}
    return {FIRST: found.pop(FIRST), **found}


@cache
def known_by() -> Mapping[str, tuple[str, ...]]:
    """The languages that know a word, by the word."""
    by_word: dict[str, list[str]] = {}
    for language in languages().values():
        if not language.unspaced:
            words = {word for group in _TELLING for word in language.sets[group]}
            words |= {word for name in ("numbers", "months", "weekdays") for word in getattr(language, name)}
            words |= {word for word, meanings in language.phrases.items() if any(not each.rest for each in meanings)}
            for word in words:
                by_word.setdefault(word, []).append(language.code)
    return {word: tuple(codes) for word, codes in by_word.items()}


def language_of(words: Iterable[str], otherwise: str = FIRST) -> str:
    """
    The language that knows most of the words; `otherwise` if none knows any.

    Of equals English, unless a word has letters that English has not.
    """
    votes: dict[str, int] = {}
    known = known_by()
    foreign = False
    for word in words:
        for code in known.get(word, ()):
            votes[code] = votes.get(code, 0) + 1
        foreign = foreign or not word.isascii()
    if not votes:
        return otherwise
    return max(votes, key=lambda code: (votes[code], (code == FIRST) != foreign, code == otherwise))


@cache
def all_of(group: str) -> frozenset[str]:
    """What any language lists in this group."""
    return frozenset(word for language in languages().values() for word in language.sets[group])


@cache
def all_months() -> frozenset[str]:
    """The names of months in any language."""
    return frozenset(word for language in languages().values() for word in language.months)


def _folded(data: Any) -> Any:
    """All words as `fold` leaves them, so that they are found in folded texts."""
    if isinstance(data, str):
        return fold(data)
    if isinstance(data, list):
        return [_folded(each) for each in data]
    return {fold(key): _folded(value) for key, value in data.items()} if isinstance(data, dict) else data


def _language(code: str, data: Mapping[str, Any]) -> Language:
    phrases = _phrases(data)
    meanings = {"".join((word, *each.rest)): each[1:] for word, several in phrases.items() for each in several}
    starts = {word for name in ("numbers", "multipliers", "ordinals", "fractions") for word in data.get(name, ())}
    starts |= set(data.get("articles", ()))
    notable = starts | {word for name in _MAPS for word in data.get(name, ())} | set(phrases)
    notable |= {word for name in ("before_clock", "clause_breaks") for word in data.get(name, ())}
    open_ended = {word for word, meanings in phrases.items() if all(meaning.rest for meaning in meanings)}
    alone = {word for name in (*_MAPS, "before_clock", "clause_breaks") for word in data.get(name, ())}
    alone |= set(phrases) - open_ended
    tails = {*data.get("multipliers", ()), *data.get("fractions_after_article", ())}
    only_before = {
        word: frozenset(tails if word in data.get("articles", ()) else ())
        | {meaning.rest[0] for meaning in phrases.get(word, ()) if meaning.rest}
        for word in notable - alone
    }
    parts = "|".join(_longest_first([*data.get("numbers", ()), *data.get("multipliers", ()), *data.get("joiners", ())]))
    return Language(
        code=code,
        unspaced=data.get("unspaced", False),
        nouns_capital=data.get("nouns_capital", False),
        decimal_comma=data.get("decimal_comma", False),
        stem_length=data.get("stem_length", 99),
        joins_after=data.get("joins_after", 100),
        **{name: dict(data.get(name, {})) for name in _MAPS},
        units={word: unit for unit, words in _units(data).items() for word in words.split()},
        marks=frozenset(data.get("marks", ())),
        endings=tuple(data.get("endings", ())),
        negation_endings=tuple(data.get("negation_endings", ())),
        sets={name: frozenset(data.get(name, ())) for name in _SETS},
        phrases=phrases,
        letters=re.compile(data["letters"]) if "letters" in data else None,
        scanned=_scanned(data, meanings),
        meanings=meanings,
        number_starts=frozenset(starts),
        notable=frozenset(notable),
        only_before=only_before,
        compound=re.compile(f"(?:{parts})+") if data.get("compounds") else None,
        parts=re.compile(parts),
    )


def _units(data: Mapping[str, Any]) -> dict[str, str]:
    return {**data.get("units", {}), **data.get("currencies", {})}


def _phrases(data: Mapping[str, Any]) -> dict[str, list[Meaning]]:
    """The meanings that begin with a word, the longest first; what is listed as no mark comes before marks."""
    listed = [(phrase, "plain", "") for phrase in data.get("not_marks", ())]
    listed += [(phrase, "relative day", value) for phrase, value in data.get("relative_days", {}).items()]
    listed += [(phrase, "unit", unit) for phrase, unit in data.get("unit_phrases", {}).items()]
    listed += [(phrase, name, name) for name, phrases in data.get("marks", {}).items() for phrase in phrases]
    listed += [(phrase, "risk", phrase) for phrase in data.get("risks", ())]
    found: dict[str, list[Meaning]] = {}
    for phrase, kind, value in listed:
        first, *rest = phrase.split()
        found.setdefault(first, []).append(Meaning(tuple(rest), kind, value))
    for meanings in found.values():
        meanings.sort(key=lambda meaning: -len(meaning.rest))
    return found


def _scanned(data: Mapping[str, Any], phrases: Iterable[str]) -> re.Pattern[str]:
    """What a text without spaces is searched for: dates, amounts, clock times, phrases, numbers; nothing elsewhere."""
    if not data.get("unspaced"):
        return re.compile("(?!)")

    def one_of(words: Iterable[str]) -> str:
        return f"(?:{'|'.join(map(re.escape, _longest_first(words))) or '(?!)'})"

    def group(name: str) -> str:
        return one_of(data.get(name, ()))

    digits = r"(?<![A-Za-z0-9_.,:/-])[0-9]+(?:[.,][0-9]+)*(?![A-Za-z0-9_:/-])"
    n = f"(?:{digits}|{one_of([*data.get('numbers', ()), *data.get('multipliers', ())])}+)"
    units = one_of(word for words in _units(data).values() for word in words.split())
    known = one_of([*phrases, *data.get("weekdays", ()), *data.get("clock", ())])
    return re.compile(
        f"(?P<plain>{group('not_marks')})"
        f"|(?:(?P<year>{n}){group('year')})?(?P<month>{n}){group('month')}(?:(?P<day>{n}){group('day')})?"
        f"|(?P<day_before>{n}) ?(?P<named>{group('months')})(?: ?(?P<year_after>[0-9]{{4}}))?"
        f"|(?P<only_year>{n}){group('year')}"
        f"|(?P<money>[$€£¥])(?P<sum>{n})|{group('percent_before')}(?P<percent>{n})|(?P<amount>{n}) ?(?P<unit>{units})"
        f"|(?P<half>{one_of([*data.get('am', ()), *data.get('pm', ())])})?(?P<hour>{n}){group('hour')}"
        f"(?:(?P<minute>{n}){group('minute')}|(?P<half_hour>{group('half_hour')}))?"
        f"|{group('ordinal_before')}(?P<ordinal>{n})|(?P<phrase>{known})|(?P<number>{n})"
    )


def _longest_first(words: Iterable[str]) -> list[str]:
    return sorted(words, key=lambda word: (-len(word), word))


def number(value: Fraction | int) -> str:
    """A number as people write it where that is exact, else as a fraction: the same for equal numbers."""
    value = Fraction(value)
    if value.denominator == 1:
        return str(value.numerator)
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest > 1:
        return f"{value.numerator}/{value.denominator}"
    digits = 0
    while (value * 10**digits).denominator > 1:
        digits += 1
    whole = abs(value.numerator) * 10**digits // value.denominator
    text = str(whole).rjust(digits + 1, "0")
    return f"{'-' if value < 0 else ''}{text[:-digits]}.{text[-digits:]}"
