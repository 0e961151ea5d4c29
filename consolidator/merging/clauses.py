"""The clauses of a sentence while it is read, with the marks that deny, doubt, end or limit what they say."""

from collections.abc import Sequence

from consolidator.merging.language import Language
from consolidator.merging.reading import Clause, Fact, Reading, bare, is_common, pairs, stem
from consolidator.merging.tokens import Sentence, Token

_SPLITS = frozenset(";:\u2014\uff1b\uff1a")


class Clauses:
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
            breaks = self.language.has(token.low, "clause_breaks")
            if i > self.start and (breaks or (self.language.has(token.low, "joiners") and self._subject(i + 1))):
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
        """Whether a clause begins at token i after a comma: with a conjunction or a subject of its own."""
        if i >= len(self.tokens):
            return False
        token = self.tokens[i]
        conjunction = token.kind == "letters" or self.language.has(token.low, "clause_breaks")
        return conjunction or self._subject(i)

    def _subject(self, i: int) -> bool:
        """'she likes', 'Bo does'."""
        if i + 1 >= len(self.tokens):
            return False
        token = self.tokens[i]
        known = self.language.has(token.low, "subjects")
        return known or (token.kind == "word" and token.text[0].isupper() and acts(self.tokens, i, self.language))

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
            self._mark("negation")
            meaning_end = i + 1
        for j in range(i, meaning_end or i):
            self.reading.words.add(bare(self.tokens[j].low))
        return meaning_end

    def _take(self, i: int, end: int, kind: str, value: str) -> None:
        said = self.reading.text[self.tokens[i].start : self.tokens[end - 1].end]
        following = self.tokens[end].text if end < len(self.tokens) else ""
        if kind == "relative day":
            self.reading.facts.append(Fact(kind, value, said))
        elif kind == "negation" and end == i + 1 and following == "," and self._first(i):
            self.reading.risks.append(value)  # 'No, Ada likes tea' answers; it denies nothing itself
        elif kind == "risk" or kind == "plain":
            if kind == "risk":
                self.reading.risks.append(value)
            for j in range(i, end):
                self.add(j)
        else:
            self._mark(kind)
            if (
                self.language.has(value, "negation_then_ended")
                or self.tokens[i].low in self.language.sets["negation_then_ended"]
            ):
                self.marks.discard("negation")

    def _first(self, i: int) -> bool:
        return all(token.kind == "other" for token in self.tokens[:i])

    def _mark(self, kind: str) -> None:
        """'without' in a clause that has a 'not' already is a mark of its own: either may be lost."""
        self.marks.add(f"second {kind}" if kind == "negation" and kind in self.marks else kind)
        self.reading.marks.append(kind)

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


def acts(tokens: Sequence[Token], i: int, language: Language) -> bool:
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
