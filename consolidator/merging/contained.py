"""What may vanish without a language model: a text that another one says as it is."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from consolidator.merging.facts import Facts, facts_of
from consolidator.merging.fold import fold
from consolidator.merging.language import FIRST, languages
from consolidator.merging.tokens import IS_UNSPACED, Sentence, sentences_of
from consolidator.merging.verbatim import read_verbatim

NONE, SOFT, HARD = 0, 1, 2  # between two letters: nothing, a hyphen or an apostrophe, a space

_FACE = re.compile(r"(?<!\S)(?:[:;=]['-]?[()\[\]DPpOo/\\|*3$]+|\^_?\^|[xX]D+|-_-|[oO]_[oO]|<3|</3)(?!\S)")
_THOUSANDS = re.compile(
    r"(?<![0-9.,])[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![0-9,])|(?<![0-9.,])[1-9][0-9]{0,2}(?:'[0-9]{3})+(?![0-9'])"
)
_SIGN = re.compile(r"[\W_]+")
_SIGNS = frozenset("%@&\\/?\u2030\u2031\u2032\u2033\u200d\u00a7")
_FRAMES = frozenset('"()[]{}<>*~_|`')
_SENSITIVE = frozenset({"URL", "path", "code"})
_LONG_ID = re.compile(r"(?<!\w)(?=\w*[0-9])(?=\w*[a-z][A-Z])\w{8,}(?!\w)")
_MOST_WORDS_MORE = 6


class Letter(NamedTuple):
    """A letter, digit or sign that carries meaning, and what stands before it."""

    text: str
    before: int


def normal_form(content: str) -> str:
    """
    The letters and digits of a text in lower case: equal for all texts that `same_text` calls the same.

    The reverse has to be asked of `same_text`: 3.5 and 35 have one form, so have 'therapist' and 'the rapist'.
    """
    folded = fold(content)
    return (
        _SIGN.sub("", folded.casefold())
        or "".join(letter.text for letter in _letters(content))
        or "".join(folded.split())
    )


def same_text(a: str, b: str) -> bool:
    """
    Whether two texts are equal up to case, spacing, punctuation and Unicode form.

    Punctuation that carries meaning counts: 3.5 is not 35, C++ not C, -5 not 5, a question not its statement, :) not
    :(; so does the case of an address, a path or code. The same texts have the same facts.
    """
    if a == b:
        return True
    if normal_form(a) != normal_form(b):
        return False
    first, second = _letters(a), _letters(b)
    if len(first) != len(second) or not all(map(_may_stand, first, second)):
        return False
    if _contracted(a, b) or _sensitive(a) != _sensitive(b):
        return False
    one, other = (facts_of(" ".join(fold(content).lower().split())) for content in (a, b))
    return _values(one) == _values(other) and one.marks == other.marks


def absorbs(large: str, small: str, names: frozenset[str] = frozenset(), *, same_day: bool = True) -> bool:
    """
    Whether a text may vanish into another without a model: nothing that it says is lost or turned round.

    They are the same; or every sentence of the small one stands in the large one, in order and side by side, whole or
    as the beginning of a sentence that only adds to it, while both have the same numbers, dates, negations and other
    marks. What could limit, retract, report or quote the statement anywhere in the large text forbids it.
    same_day: they were observed on one day; else 'yesterday' or 'on Friday' need not mean the same in both.
    """
    if same_text(large, small):
        return True
    if len(small) >= len(large) or normal_form(small) not in normal_form(large):
        return False
    whole, part = facts_of(large, names), facts_of(small, names)
    if _values(whole) != _values(part) or Counter(whole.marks) != Counter(part.marks):
        return False
    if not same_day and any(fact.kind in ("relative day", "weekday") for fact in part.found):
        return False
    if Counter(whole.risks) != Counter(part.risks) or _frames(whole.folded) - _frames(part.folded):
        return False
    outer, inner = _sentences(large), _sentences(small)
    if not inner or len(inner) > len(outer):
        return False
    return any(_stands_at(outer, inner, at) for at in range(len(outer) - len(inner) + 1))


class _Part(NamedTuple):
    """A sentence and its text, its mark at the end included."""

    sentence: Sentence
    text: str


def _sentences(content: str) -> list[_Part]:
    folded = fold(content)
    _, hidden = read_verbatim(folded)
    parts = []
    for sentence in sentences_of(hidden):
        start, end = sentence.tokens[0].start, sentence.tokens[-1].end
        parts.append(_Part(sentence, folded[start:end] + sentence.end.strip()))
    return parts


def _stands_at(outer: Sequence[_Part], inner: Sequence[_Part], at: int) -> bool:
    """Whether the sentences stand side by side from `at`, not led in by what could make them something else."""
    if at:
        before = [part.sentence for part in outer[:at]]
        led_in = any(sentence.end in ("", "?") for sentence in before)
        led_in = led_in or any(token.text in ":;" for sentence in before for token in sentence.tokens)
        if led_in or any(_points_back(part.sentence) for part in inner):
            return False
    *places, last = outer[at : at + len(inner)]
    whole = all(same_text(place.text, part.text) for place, part in zip(places, inner[:-1], strict=True))
    long_enough = len(inner[-1].sentence.tokens) > 1 or inner[-1].sentence.language.unspaced
    return whole and ((long_enough and same_text(last.text, inner[-1].text)) or _begins(last, inner[-1]))


def _points_back(sentence: Sentence) -> bool:
    """Whether a sentence has a word that another sentence before it could give a new meaning."""
    language = sentence.language
    pronouns = language.sets["pronouns"]
    if language.unspaced:
        return any(word in token.text for token in sentence.tokens for word in pronouns)
    return any(token.low in pronouns for token in sentence.tokens)


def _begins(place: _Part, part: _Part) -> bool:
    """'Ada likes tea' begins 'Ada likes tea with milk': what follows is short, plain and led in by a word that adds."""
    language = place.sentence.language
    outer, inner = place.sentence.tokens, part.sentence.tokens
    n = len(inner)
    if (
        language is not part.sentence.language
        or "?" in (place.sentence.end, part.sentence.end)
        or n < 3
        or len(outer) < n + 2
    ):
        return False
    if [token.low for token in outer[:n]] != [token.low for token in inner]:
        return False
    link, rest = outer[n], outer[n + 1 :]
    if link.low not in language.sets["continues"] or len(rest) > _MOST_WORDS_MORE:
        return False
    if any(token.kind != "word" or token.low in language.sets["restricts"] for token in rest):
        return False
    if any(token.low in language.sets["pronouns"] and token.low not in language.sets["possessives"] for token in rest):
        return False
    if link.low in language.sets["joiners"]:
        names = outer[n - 1].text[0].isupper() and rest[0].text[0].isupper()
        return (
            len(rest) <= 2
            and not names
            and not any(token.low.endswith(("s", "ed", "ing", "t")) for token in rest[:-1] or rest)
        )
    return True


def _values(facts: Facts) -> set[tuple[str, str]]:
    return {fact[:2] for fact in facts.found if fact.kind != "name"}


def _frames(text: str) -> Counter[str]:
    return Counter(sign for sign in text if sign in _FRAMES)


def _sensitive(content: str) -> frozenset[str]:
    """What is written in mixed case where case counts; all in one case says nothing of it."""
    facts = [fact for fact in facts_of(content).found if fact.kind in _SENSITIVE]
    found = {_after_host(fact.value) if fact.kind == "URL" else fact.value for fact in facts}
    found.update(_LONG_ID.findall(content))
    return frozenset(each for each in found if each not in (each.lower(), each.upper()))


def _after_host(address: str) -> str:
    return address.rpartition("://")[2].partition("/")[2]


def _contracted(a: str, b: str) -> bool:
    """Whether one has a contraction where the other has another word: we're and were."""
    words = languages()[FIRST].sets["contractions_that_are_words"]

    def written(content: str) -> Counter[str]:
        found = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", fold(content).lower())
        return Counter(word for word in found if "'" in word and word.replace("'", "") in words)

    def hyphened(content: str) -> Counter[str]:
        prefixes = "|".join(languages()[FIRST].sets["hyphen_matters_after"])
        return Counter(re.findall(rf"\b(?:{prefixes})-[^\W\d_]+", fold(content).lower()))

    return written(a) != written(b) or hyphened(a) != hyphened(b)


def _may_stand(a: Letter, b: Letter) -> bool:
    return a.text == b.text and {a.before, b.before} != {NONE, HARD}


@lru_cache(maxsize=4_096)
def _letters(content: str) -> tuple[Letter, ...]:
    text = _THOUSANDS.sub(lambda match: re.sub("[,']", "", match[0]), fold(content))
    kept: list[Letter] = []
    faces = {i for match in _FACE.finditer(text) for i in range(*match.span())}
    between, last = HARD, ""
    for i, sign in enumerate(text):
        if sign.isspace() or unicodedata.category(sign) in ("Cc", "Cs"):
            between = HARD
        elif sign.isalnum() or unicodedata.category(sign)[0] == "M":
            for letter in sign.casefold():
                free = not last or _loose(last, letter)
                kept.append(Letter(letter, SOFT if free else between))
                between, last = NONE, letter
        elif i in faces or _means(text, i):
            kept.append(Letter(sign, SOFT))
            between, last = NONE, ""
        else:
            between = max(between, _parting(text, i))
    return tuple(kept)


def _loose(last: str, letter: str) -> bool:
    """Whether a space between the two says nothing: a digit and a letter, or scripts without spaces."""
    if last.isdigit() != letter.isdigit():
        return True
    return not last.isascii() and not letter.isascii() and bool(IS_UNSPACED.match(last) or IS_UNSPACED.match(letter))


def _parting(text: str, i: int) -> int:
    """How a sign that carries no meaning parts the letters around it."""
    before, after = text[i - 1 : i], text[i + 1 : i + 2]
    return SOFT if text[i] in "-'." and before.isalpha() and after.isalpha() else HARD


def _means(text: str, i: int) -> bool:
    """Whether a sign carries meaning where it stands."""
    sign = text[i]
    before, after = text[i - 1 : i] if i else "", text[i + 1 : i + 2]
    if sign in _SIGNS:
        return True
    if before.isdigit() and after.isdigit():
        return True
    if sign in "-:*" and text[:i].rstrip()[-1:].isdigit() and text[i + 1 :].lstrip()[:1].isdigit():
        return True
    if unicodedata.category(sign)[0] in "SC":
        return sign != "`"
    starts = not before or before.isspace() or before in "([\"'"
    if sign == "-":
        single = before.isalpha() and (i < 2 or not text[i - 2].isalnum()) and not after.isalnum()
        return (starts and after.isdigit()) or (single and before.isupper())
    if sign == ".":
        return starts and after.isalnum()
    if sign == "#":
        return before.isalnum() or after.isalnum()
    if sign == "_":
        return before.isalnum() and after.isalnum()
    if sign == "*":
        return text.count("*") % 2 == 1 and (before.isalnum() or after.isdigit())
    if sign in "'\"":
        return (
            before.isdigit()
            and not after.isalnum()
            and len(re.findall(rf"(?<![^\W\d_]){sign}|{sign}(?![^\W\d_])", text)) % 2 == 1
        )
    return sign == "!" and after == "="
