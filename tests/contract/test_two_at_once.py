"""Two at once: one night at a time in a scope, and whoever writes during a night loses nothing by it."""

import json
import random
import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count, islice

import pytest
import sqlalchemy as sa

from consolidator import perform
from consolidator.instants import format_instant
from consolidator.plan import Plan, ScopeOutcome, ScopePlan
from consolidator.store.engine import Store, open_store
from consolidator.store.run import Run
from tests import lives
from tests.children import Child
from tests.lives import EVE, Exported, Line, day, exported, looked_at, memory, name, night, rated, shown, take
from tests.postgres import fresh_database

Copy = Callable[[], str]


def night_that_pauses(url: str, *, before: str = "{}") -> Child:
    """A night in a child, which pauses when it has decided on a scope and has yet to apply that."""
    apply_scope = perform.apply_scope

    def act(child: Child) -> str:
        def pausing(store: Store, plan: Plan, part: ScopePlan, run: Run) -> ScopeOutcome:
            if part.scope == before:
                child.pause()
            return apply_scope(store, plan, part, run)

        perform.apply_scope = pausing  # in the child alone
        with open_store(url, mode="write") as store:
            return str(night(store, EVE).exit_code)

    return Child(act)


def night_of_one(url: str, *, codes: tuple[int, ...] = (0,)) -> Exported:
    with open_store(url, mode="write") as store:
        assert night(store, EVE).exit_code in codes
        return exported(store, EVE)


def without_inferred(told: Exported) -> list[object]:
    """Memories and direct links: inferred ones are a view as of the night that last changed a link beside them."""
    return [
        (scope["memories"], [link for link in scope["associations"] if not link["inferred"]])
        for scope in told.values["scopes"]
    ]


def test_a_scope_is_held_by_one_night(copy_of_eve: Copy) -> None:
    """Another one leaves it out with exit code 11, does the scopes that are free, and is told who holds it."""
    url = copy_of_eve()
    there = night_of_one(copy_of_eve())
    child = night_that_pauses(url, before='{"project":"山","user":"åsa 🦉"}')  # the last in turn: nothing waits there
    child.wait_until_paused()
    with open_store(url, mode="write") as store:
        before = exported(store, EVE)
        result = night(store, EVE)
        assert result.exit_code == 11
        assert "another night holds this scope" in str(result.error)
        assert [part.scope for part in result.plan.scopes] == ["{}"]
        assert not any(outcome.applied for outcome in result.outcomes.values())  # the child had been there
        assert exported(store, EVE) == before
    child.go_on()
    assert child.wait().said == "0"
    assert looked_at(url, EVE) == there


def test_a_dry_run_asks_for_no_scope(copy_of_eve: Copy) -> None:
    """It reads what it reads, whoever is at work."""
    url = copy_of_eve()
    child = night_that_pauses(url)
    child.wait_until_paused()
    with open_store(url, mode="read") as store:
        assert lives.plan_of(store).exit_code == 0
    child.go_on()
    assert child.wait().said == "0"


@pytest.mark.parametrize("before", ["{}", '{"project":"山","user":"åsa 🦉"}'])
def test_what_a_killed_night_held_is_free_at_once(copy_of_eve: Copy, before: str) -> None:
    """The next one takes it over and completes it."""
    url = copy_of_eve()
    there = night_of_one(copy_of_eve())
    child = night_that_pauses(url, before=before)
    child.wait_until_paused()
    child.kill()
    assert night_of_one(url) == there


def test_nights_started_together_come_to_the_night_of_one(copy_of_eve: Copy) -> None:
    """Each scope is done by one of them, whole."""
    there = night_of_one(copy_of_eve())
    url = copy_of_eve()

    def act(_: Child) -> str:
        with open_store(url, mode="write") as store:
            return str(night(store, EVE).exit_code)

    children = [Child(act) for _ in range(3)]
    assert {child.wait().said for child in children} <= {"0", "11"}
    assert looked_at(url, EVE) == there


def test_what_is_written_while_a_night_thinks_is_not_lost(copy_of_eve: Copy) -> None:
    """It is left out where the night had not known of it, exit code 3, and the next night takes it in."""
    lines = [memory("in between", 29), *shown("new turn", ["in between", lives.HUB], 29.5)]
    lines += [rated("m new", "new turn", lives.OLD, 29.6), rated("m new", "new turn", "in between", 29.7)]
    url, other = copy_of_eve(), copy_of_eve()
    child = night_that_pauses(url)
    child.wait_until_paused()
    with open_store(url, mode="write") as store:
        take(store, lines, at=EVE)
    child.go_on()
    assert child.wait().said == "3"
    with open_store(other, mode="write") as store:
        take(store, lines, at=EVE)
    assert without_inferred(night_of_one(url)) == without_inferred(night_of_one(other))


def turns_of_an_agent() -> Iterator[list[Line]]:
    """What an agent writes, turn by turn: memories, showings of them and of old ones, ratings, also late ones."""
    chance = random.Random(7)
    known = [lives.HUB, lives.OLD, lives.GONE, *lives.SPOKES, *lives.CROWD]
    for number in count():
        turn, at = f"during {number}", chance.uniform(29, 31.5)
        lines = [memory(f"new {number} 🌱", chance.uniform(29, 30.5))] if number % 3 == 0 else []
        known += [line["content"] for line in lines]
        texts = chance.sample(known, 3)
        lines += shown(turn, texts, at)
        lines += [rated(f"m during {number}", turn, text, at + 0.1, "tool_get") for text in texts]
        if number % 4 == 0:
            lines.append(rated(f"m during {number - 2}", turn, chance.choice(known[:9]), at, "agent_feedback_negative"))
        yield lines


def agent_that_writes(url: str) -> Child:
    """In a child: turn after turn, until it is told to stop; it says how many."""

    def act(child: Child) -> str:
        written = 0
        with open_store(url, mode="write") as store:
            for lines in turns_of_an_agent():
                take(store, lines, at=EVE)
                written += 1
                if child.told():
                    break
        return str(written)

    return Child(act)


def test_nights_beside_an_agent_that_writes_all_the_time(copy_of_eve: Copy) -> None:
    """
    Whatever the nights saw of it and when, the last one leaves what one night over all of it leaves.

    So nothing of it was lost, also no row: every line is in the export.
    """
    url, other = copy_of_eve(), copy_of_eve()
    child = agent_that_writes(url)
    with open_store(url, mode="write") as store:
        for number in range(2):
            result = night(store, EVE + number / 100)
            assert result.exit_code in (0, 3), result.error
        child.go_on()
        written = list(islice(turns_of_an_agent(), int(child.wait().said)))
        assert night(store, 32).exit_code == 0
        left = exported(store, 32)
    told = [json.loads(line) for line in left.lines]
    for kind, key in (("memory", "content"), ("exposure", "turn_id"), ("attribution", "message_id")):
        assert {line[key] for lines in written for line in lines if line["kind"] == kind} <= {
            line[key] for line in told if line["kind"] == kind
        }
    with open_store(other, mode="write") as store:
        for lines in written:
            take(store, lines, at=EVE)
        assert night(store, 32).exit_code == 0
        assert without_inferred(left) == without_inferred(exported(store, 32))


def taking_that_pauses(url: str, lines: list[Line]) -> Child:
    """Lines taken in by a child, which pauses before it commits them."""

    def act(child: Child) -> None:
        writing = Store.write

        @contextmanager
        def pausing(store: Store) -> Iterator[sa.Connection]:
            with writing(store) as conn:
                yield conn
                child.pause()

        Store.write = pausing
        with open_store(url, mode="write") as store:
            take(store, lines, at=EVE)

    return Child(act)


def test_a_night_does_not_wait_for_who_writes_beside_it(eve_postgres: str, postgres_dsn: str) -> None:
    """On Postgres: a link taken in and not committed yet holds no row of the night's up, nor the other way round."""
    link = {"kind": "association", "memory_a": name(lives.OLD), "memory_b": name(lives.HUB), "weight": 0.2,
            "weight_at": format_instant(day(29))}  # fmt: skip
    with fresh_database(postgres_dsn, template=eve_postgres) as url:
        child = taking_that_pauses(url, [link])
        child.wait_until_paused()
        with open_store(url, mode="write") as store:
            assert night(store, EVE).exit_code == 0
            child.go_on()
            assert not child.wait().killed
            assert any('"weight": 0.2' in line for line in exported(store, EVE).lines)


def test_a_memory_committed_while_a_night_applies_keeps_its_events(eve_postgres: str, postgres_dsn: str) -> None:
    """On Postgres: the night had read them as those of a stranger; they wait, and the next night counts them."""
    events = [*shown("of x", ["x", lives.OLD], 29), rated("m x", "of x", "x", 29)]
    left = []
    for beside in (True, False):
        with fresh_database(postgres_dsn, template=eve_postgres) as url:
            with open_store(url, mode="write") as store:
                take(store, events, at=EVE)
            importing = taking_that_pauses(url, [memory("x", 28)])
            importing.wait_until_paused()
            if beside:
                applying = Child(lambda _: str(night_of_one(url, codes=(0, 3)).values and ""))
                wait_until_one_waits(url)
                importing.go_on()
                applying.wait()
            else:
                importing.go_on()
            importing.wait()
            left.append(without_inferred(night_of_one(url)))
    assert left[0] == left[1]


def wait_until_one_waits(url: str) -> None:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with open_store(url, mode="read") as store:
        for _ in range(3000):
            with store.read() as conn:
                if conn.exec_driver_sql(waiting).scalar():
                    return
            select.select([], [], [], 0.01)
    raise AssertionError("nobody waits for anybody")
