"""
What asking may cost, and what it has cost: limits of a run and of each of its scopes.

Money is whole tokens times a price, reckoned exactly when it is asked for, so that nothing adds up to be wrong.
"""

import json
from collections import defaultdict
from collections.abc import Hashable
from fractions import Fraction
from threading import Lock
from typing import NamedTuple

from consolidator.llm.port import Reply
from consolidator.merging.asking import Question, tokens_of
from consolidator.settings import Budget, Price

ROOM_FOR_FORM = 300  # what providers write around a question and the form of its answer


class Tokens(NamedTuple):
    """What one call takes: tokens in, tokens out."""

    input: int
    output: int


class Spent(NamedTuple):
    """What calls have taken. usd: None where the price is not known."""

    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None


class Refused(NamedTuple):
    """Why a call may not be made. limit: calls, input_tokens, output_tokens, usd, or price. because: that in words."""

    limit: str
    because: str


def most_of(question: Question) -> Tokens:
    """
    What asking a question takes at most: a token for three bytes of all that is sent, and all the tokens it may say.

    Tokenizers make fewer of most texts; of one that is all symbols they can make more.
    """
    given = tokens_of(question.system, question.prompt, json.dumps(question.schema))
    return Tokens(given + ROOM_FOR_FORM, question.max_tokens)


def taken_by(reply: Reply) -> Tokens:
    """What a reply took."""
    return Tokens(reply.input_tokens, reply.output_tokens)


def cost(tokens: Tokens, price: Price | None) -> float | None:
    """US dollars; None where the price is not known."""
    return None if price is None else float(_usd(tokens.input, tokens.output, price))


def _usd(given: int, taken: int, price: Price) -> Fraction:
    return (given * Fraction(repr(price.input)) + taken * Fraction(repr(price.output))) / 1_000_000


class _Sums(NamedTuple):
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def plus(self, calls: int, tokens: Tokens) -> "_Sums":
        """With so many calls more (or less), each of so many tokens."""
        return _Sums(
            self.calls + calls, self.input_tokens + calls * tokens.input, self.output_tokens + calls * tokens.output
        )


class _Purse:
    """One budget. held: what is settled and what is reserved."""

    def __init__(self, name: str, limits: Budget) -> None:
        self.name = name
        self.limits = limits
        self.settled = self.held = _Sums()

    def refused(self, sums: _Sums, price: Price | None) -> Refused | None:
        """Which limit these sums exceed."""
        limits = self.limits
        for limit, reached, most in (
            ("calls", sums.calls, limits.calls),
            ("input_tokens", sums.input_tokens, limits.input_tokens),
            ("output_tokens", sums.output_tokens, limits.output_tokens),
        ):
            if most is not None and reached > most:
                return Refused(limit, f"{self.name}.{limit} is {most}")
        if limits.usd is None:
            return None
        if price is None:
            return Refused("price", f"{self.name}.usd is set, but what the model costs is not known: set merge.prices")
        if _usd(sums.input_tokens, sums.output_tokens, price) > Fraction(repr(limits.usd)):
            return Refused("usd", f"{self.name}.usd is {limits.usd:g}")
        return None


class Reservation:
    """Room for one call. It ends once, with `settle` or `release`."""

    def __init__(self, spending: "Spending", purses: tuple[_Purse, ...], tokens: Tokens) -> None:
        self._spending = spending
        self._purses = purses
        self._tokens = tokens
        self._open = True

    def settle(self, tokens: Tokens) -> None:
        """The call took so much, also where that is more than was reserved."""
        self._end(tokens)

    def release(self) -> None:
        """The call was not made, or brought nothing that is paid."""
        self._end(None)

    def _end(self, tokens: Tokens | None) -> None:
        with self._spending.lock:
            if not self._open:
                raise RuntimeError("a reservation ends once")
            self._open = False
            for purse in self._purses:
                purse.held = purse.held.plus(-1, self._tokens)
                if tokens is not None:
                    purse.held = purse.held.plus(1, tokens)
                    purse.settled = purse.settled.plus(1, tokens)


class Spending:
    """
    The budgets of a run: every call is reserved first, then settled with what it took, or released.

    What is settled and what is reserved together never exceed a limit, however many threads ask, as long as no call
    takes more than was reserved for it; where one does, that counts, and no further call fits.
    """

    def __init__(self, run: Budget, per_scope: Budget, price: Price | None) -> None:
        self.price = price
        self.lock = Lock()
        self._run = _Purse("merge.budget", run)
        self._scopes: defaultdict[Hashable, _Purse] = defaultdict(lambda: _Purse("merge.budget_per_scope", per_scope))

    def reserve(self, scope: Hashable, tokens: Tokens) -> Reservation | Refused:
        """Room for a call of at most so many tokens, or which limit leaves none now."""
        with self.lock:
            purses = (self._run, self._scopes[scope])
            for purse in purses:
                refused = purse.refused(purse.held.plus(1, tokens), self.price)
                if refused:
                    return refused
            for purse in purses:
                purse.held = purse.held.plus(1, tokens)
            return Reservation(self, purses, tokens)

    def spent(self, scope: Hashable | None = None) -> Spent:
        """What the calls that are settled took: of a scope, or of all."""
        with self.lock:
            sums = self._run.settled if scope is None else self._scopes[scope].settled
        return Spent(*sums, cost(Tokens(sums.input_tokens, sums.output_tokens), self.price))
