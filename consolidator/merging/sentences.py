"""One sentence read from left to right: its numbers, dates, names and marks, and the clauses that they stand in."""

from collections.abc import Sequence
from itertools import pairwise

from consolidator.merging.amounts import read_amount
from consolidator.merging.clauses import Clauses, acts
from consolidator.merging.language import FIRST, Language, languages
from consolidator.merging.reading import Bond, End, Fact, Reading, bare, is_common, stem
from consolidator.merging.times import read_when, read_year
from consolidator.merging.tokens import Sentence, Token

_LONGEST_BOND = 5
_OPENS = frozenset("\"'([{:-*\u2022\u2014\u2013>")


def read_sentence(reading: Reading, sentence: Sentence, found: Sequence[tuple[str, int]]) -> None:
    """
    Add what a sentence says.

    found: (mark, where) of what was already read in a text without spaces.
    """
    tokens, language = sentence.tokens, sentence.language
    letters = [token.text for token in tokens if token.kind == "word"]
    shouted = len(letters) > 1 and (all(word.isupper() for word in letters) or all(word.islower() for word in letters))
    clause = Clauses(reading, sentence, found)
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
        after = _when(reading, tokens, i, language, shouted) or read_amount(reading, tokens, i, language)
        if after is None:
            after = clause.mark(i)
            if after is None:
                _name(reading, tokens, i, language, initial, shouted)
                clause.add(i)
                after = i + 1
        else:
            for j in range(i, after):
                clause.add(j, numeric=True)
            reading.ends.append(End(reading.facts[-1].value, i, after, name=False))
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
        reading.ends.append(End(word, i, i + 1, name=True))
    elif initial and not is_common(word, language) and acts(tokens, i, language):
        reading.openers.add(word)
        reading.ends.append(End(word, i, i + 1, name=True))
