"""What asking may cost: no limit is ever exceeded, and what stops a call is said."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidator.llm.budget import Refused, Reservation, Spending, Tokens, cost, most_of, taken_by
from consolidator.llm.port import Reply
from consolidator.llm.prices import in_batch
from consolidator.settings import Budget, Price
from tests.llm.models import cats

PRICE = Price(input=0.1, output=0.5)
NONE = Budget()


def held(room: Reservation | Refused) -> Reservation:
    assert isinstance(room, Reservation)
    return room


def spending(run: Budget = NONE, per_scope: Budget = NONE, price: Price | None = PRICE) -> Spending:
    return Spending(run, per_scope, price)


budgets = st.builds(
    Budget,
    calls=st.none() | st.integers(0, 8),
    input_tokens=st.none() | st.integers(0, 5000),
    output_tokens=st.none() | st.integers(0, 5000),
    usd=st.none() | st.integers(0, 200).map(lambda units: units / 100_000),
)
calls = st.lists(
    st.tuples(
        st.sampled_from(["a", "b"]),
        st.integers(0, 1500),
        st.integers(0, 1500),
        st.sampled_from(["settle", "release", "open"]),
    ),
    max_size=20,
)


@given(run=budgets, per_scope=budgets, asked=calls)
def test_never_exceeded(run: Budget, per_scope: Budget, asked: list[tuple[str, int, int, str]]) -> None:
    """What is settled and reserved together stays within every limit, of the run and of each scope."""
    budget = spending(run, per_scope)
    under_way: list[tuple[str, int, int, int]] = []
    for scope, given_tokens, taken, end in asked:
        room = budget.reserve(scope, Tokens(given_tokens, taken))
        if isinstance(room, Refused):
            continue
        if end == "settle":
            room.settle(Tokens(given_tokens // 2, taken))
            under_way.append((scope, 1, given_tokens // 2, taken))
        elif end == "open":
            under_way.append((scope, 1, given_tokens, taken))
        for limits, rows in (
            (run, under_way),
            *((per_scope, [row for row in under_way if row[0] == name]) for name in "ab"),
        ):
            made, used, said = (sum(row[at] for row in rows) for at in (1, 2, 3))
            assert made <= (made if limits.calls is None else limits.calls)
            assert used <= (used if limits.input_tokens is None else limits.input_tokens)
            assert said <= (said if limits.output_tokens is None else limits.output_tokens)
            if limits.usd is not None:
                assert (used * 0.1 + said * 0.5) / 1e6 <= limits.usd + 1e-12


@given(run=budgets, asked=calls)
def test_nothing_refused_that_fits(run: Budget, asked: list[tuple[str, int, int, str]]) -> None:
    """A call is refused only where it would exceed the limit that is named."""
    budget = spending(run)
    for scope, given_tokens, taken, _ in asked:
        before = budget.spent()
        room = budget.reserve(scope, Tokens(given_tokens, taken))
        if isinstance(room, Reservation):
            room.settle(Tokens(given_tokens, taken))
            continue
        after = (before.calls + 1, before.input_tokens + given_tokens, before.output_tokens + taken)
        money = cost(Tokens(*after[1:]), PRICE)
        reached = dict(zip(("calls", "input_tokens", "output_tokens", "usd"), (*after, money), strict=True))
        assert reached[room.limit] > getattr(run, room.limit)


def test_at_once() -> None:
    """However many threads ask, no more calls are made than may be."""
    budget = spending(Budget(calls=20, output_tokens=1700))

    def one(number: int) -> int:
        room = budget.reserve(number % 3, Tokens(10, 100))
        if isinstance(room, Refused):
            return 0
        room.settle(Tokens(10, 100))
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(one, range(200))) == 17
    assert budget.spent()[:3] == (17, 170, 1700)


def test_exact_money() -> None:
    """Ten calls of a cent each fit into ten cents, to the last."""
    budget = spending(Budget(usd=0.1), price=Price(input=0, output=10))
    for _ in range(10):
        held(budget.reserve("a", Tokens(0, 1000))).settle(Tokens(0, 1000))
    refused = budget.reserve("a", Tokens(0, 1))
    assert refused == Refused("usd", "merge.budget.usd is 0.1")
    assert budget.spent().usd == pytest.approx(0.1)


def test_released() -> None:
    """A call that brought nothing leaves its room to others, and is not counted."""
    budget = spending(Budget(calls=1))
    held(budget.reserve("a", Tokens(1, 1))).release()
    held(budget.reserve("a", Tokens(1, 1))).settle(Tokens(1, 1))
    assert isinstance(budget.reserve("a", Tokens(1, 1)), Refused)
    assert budget.spent() == (1, 1, 1, pytest.approx(6e-7))


def test_ends_once() -> None:
    """A reservation is settled or released once."""
    room = held(spending().reserve("a", Tokens(1, 1)))
    room.release()
    with pytest.raises(RuntimeError):
        room.settle(Tokens(1, 1))


def test_more_than_reserved() -> None:
    """What a call really took counts, also beyond what was reserved for it."""
    budget = spending(Budget(output_tokens=100))
    held(budget.reserve("a", Tokens(1, 50))).settle(Tokens(1, 150))
    assert budget.spent().output_tokens == 150
    assert isinstance(budget.reserve("a", Tokens(1, 1)), Refused)


def test_by_scope() -> None:
    """One scope's budget is not another's, and says its own name."""
    budget = spending(per_scope=Budget(calls=1))
    held(budget.reserve("a", Tokens(1, 1))).settle(Tokens(5, 7))
    assert budget.reserve("a", Tokens(1, 1)) == Refused("calls", "merge.budget_per_scope.calls is 1")
    held(budget.reserve("b", Tokens(1, 1))).settle(Tokens(1, 1))
    assert (budget.spent("a")[:3], budget.spent()[:3]) == ((1, 5, 7), (2, 6, 8))


def test_price_unknown() -> None:
    """With a limit in money nothing is asked whose price is not known; without one the cost is not known."""
    refused = spending(Budget(usd=5), price=None).reserve("a", Tokens(1, 1))
    assert isinstance(refused, Refused)
    assert refused.limit == "price"
    assert "merge.prices" in refused.because
    assert spending(price=None).spent().usd is None


def test_free() -> None:
    """What costs nothing fits into a budget of nothing."""
    free = spending(Budget(usd=0), price=Price(input=0, output=0))
    held(free.reserve("a", Tokens(1000, 1000))).settle(Tokens(1000, 1000))
    assert free.spent().usd == 0


def test_estimate() -> None:
    """A question is taken to need a token for three bytes of all that is sent, and its limit."""
    question = cats()
    most = most_of(question)
    assert most.output == question.max_tokens
    sent = len((question.system + question.prompt).encode())
    assert sent / 3 < most.input < sent / 3 + 1000


def test_cost() -> None:
    """A million tokens cost their price; a batch costs half."""
    assert cost(Tokens(1_000_000, 1_000_000), PRICE) == pytest.approx(0.6)
    assert cost(Tokens(1_000_000, 1_000_000), in_batch(PRICE)) == pytest.approx(0.3)
    assert cost(Tokens(1, 1), None) is None
    assert in_batch(None) is None
    assert taken_by(Reply("", 3, 4, "m")) == Tokens(3, 4)
