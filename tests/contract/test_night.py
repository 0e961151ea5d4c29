"""A night depends on what is known and on its moment: not on the order of rows, nor on how often it ran, nor when."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from consolidator.cli.main import main
from consolidator.instants import format_instant, parse_instant
from consolidator.store.engine import Store, open_store
from consolidator.store.tables import associations, attributions, exposures, memories
from tests import lives
from tests.children import Child
from tests.lives import EVE, Line, day, describe, exported, journal, memory, name, night, plan_of, rated, shown, take

Copy = Callable[[], str]


def quiet(result: Any) -> bool:
    return not any(part.decisions or part.unlinked for part in result.plan.scopes)


def values(store: Store, at: float) -> dict[str, Any]:
    return exported(store, at).values


def without_inferred(document: dict[str, Any]) -> list[object]:
    """Memories and direct links: inferred ones are a view as of the night that last changed a link beside them."""
    return [
        (scope["memories"], [link for link in scope["associations"] if not link["inferred"]])
        for scope in document["scopes"]
    ]


def whole_life() -> list[Line]:
    return [*lives.beginning(), *lives.middle(), *lives.after_the_leave(), *lives.last_days()]


def test_a_second_night_of_the_same_moment_decides_nothing(eve_url: str) -> None:
    """It changes no byte of an export, and all its totals are 0."""
    with open_store(eve_url, mode="write") as store:
        night(store, EVE)
        before = exported(store, EVE)
        again = night(store, EVE)
        assert (again.exit_code, quiet(again)) == (0, True)
        assert set(describe(again)["totals"].values()) == {0}
        assert exported(store, EVE) == before
        assert quiet(plan_of(store))


def test_every_step_that_did_nothing_says_why(eve_url: str) -> None:
    """A night that ran and did nothing is never silent."""
    with open_store(eve_url, mode="write") as store:
        night(store, EVE)
        for scope in describe(night(store, EVE))["scopes"]:
            assert all(step["because_nothing"] for step in scope["steps"].values())


def test_the_order_of_rows_does_not_matter(store_url: str, tmp_path: Path) -> None:
    """The same lines in any order, in one file or several: the same values to 1e-12, and the same decisions by id."""
    files = 5
    lines = [*whole_life(), *equals()]
    shuffled = random.Random(files).sample(lines, len(lines))
    (scope,) = (line for line in lines if line["kind"] == "scope")
    with open_store(store_url, mode="create") as store, open_store(f"{tmp_path}/other.db", mode="create") as other:
        take(store, lines, at=EVE)
        take(other, [scope], at=EVE)
        for start in range(files):
            take(other, shuffled[start::files], at=EVE)
        for at in (10, EVE):
            assert night(store, at).exit_code == night(other, at).exit_code == 0
        assert_close(values(store, EVE), values(other, EVE))
        assert len(journal(store)) > 150
        assert_close([*map(list, journal(store))], [*map(list, journal(other))])


def equals() -> list[Line]:
    """Memories that nothing tells apart but their ids: a hub in the middle of them, and two ways round it."""
    scope = {"of": "equals"}
    leaves = [f"leaf {number}" for number in range(20)]
    lines = [memory(text, 1) for text in ("hub", "other hub", *leaves)]
    for turn in range(8):
        for leaf in leaves:
            lines += shown(f"{turn} {leaf}", ["hub", leaf], 2 + turn / 4)
        for leaf in leaves[:4]:
            lines += shown(f"{turn} {leaf} too", ["other hub", leaf], 2 + turn / 4)
    return [{**line, "scope": scope} for line in lines]


def assert_close(one: Any, other: Any) -> None:
    """Equal, numbers to 1e-12."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        one, other = list(one.values()), [other[key] for key in one]
    if isinstance(one, list):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            assert_close(left, right)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=0, abs=1e-12)
    else:
        assert one == other


def rows_later_than(store: Store, at: float) -> dict[tuple[Any, ...], Any]:
    moment = day(at)
    with store.read() as conn:
        found = {
            ("memory", row.key): row
            for row in conn.execute(
                sa.select(memories).where(sa.or_(memories.c.strength_at > moment, memories.c.archived_at > moment))
            )
        }
        links = sa.select(associations).where(associations.c.weight_at > moment)
        found |= {("link", row.memory_a, row.memory_b): row for row in conn.execute(links)}
        for events in (attributions, exposures):
            found |= {
                (events.name, row.key): row for row in conn.execute(sa.select(events).where(events.c.at > moment))
            }
    return found


@pytest.mark.parametrize("seed", range(2))
def test_a_clock_that_goes_back_changes_nothing_later_and_is_made_up_for(copy_of_eve: Copy, seed: int) -> None:
    """A night of before the last one leaves rows of later alone, and the next one ends as if it had not been."""
    chance = random.Random(seed)
    texts = [lives.HUB, lives.OLD, lives.GONE, *lives.SPOKES, *lives.CROWD]
    lines = [memory("told late", 25, 0.06), memory("told late, of later", EVE + 0.5)]
    for number in range(6):
        at = chance.uniform(24.5, EVE + 0.9)
        lines += shown(f"late {number}", chance.sample(texts, 2), at)
        lines.append(rated(f"m late {number}", f"late {number}", chance.choice(texts), at, "tool_get"))
    with open_store(copy_of_eve(), mode="write") as store, open_store(copy_of_eve(), mode="write") as other:
        for one in (store, other):
            night(one, EVE)
            take(one, lines, at=EVE)
        before = rows_later_than(store, 27)
        assert before
        back = night(store, 27)
        assert (back.exit_code, quiet(back)) == (0, False)
        assert rows_later_than(store, 27) == before
        for one in (store, other):
            assert night(one, EVE + 1).exit_code == 0
        assert without_inferred(values(store, EVE + 1)) == without_inferred(values(other, EVE + 1))


def test_rows_of_the_future_wait_for_their_time(store_url: str, tmp_path: Path) -> None:
    """A life taken in before it was lived: every night is as if what lies after it were not there."""
    life = [*whole_life(), *from_the_future()]
    with open_store(store_url, mode="create") as store, open_store(f"{tmp_path}/other.db", mode="create") as other:
        take(store, life, at=4)
        before = 0
        for at in (4, 24, EVE, 50):
            take(other, [line for line in life if before < moment(line) <= day(at)], at=at)
            before = day(at)
            assert night(store, at).exit_code == night(other, at).exit_code == 0
            assert lived(values(store, at), other) == lived(values(other, at), other)


def moment(line: Line) -> int:
    """Of which time a line is."""
    told = (line[name] for name in ("weight_at", "strength_at", "at") if name in line)
    return parse_instant(next(told, format_instant(1)))


AHEAD = 0.9  # the weight of a link of later; before its time it is told as it stands


def from_the_future() -> list[Line]:
    later = format_instant(day(45))
    link = {"kind": "association", "memory_a": name(lives.CROWD[0]), "memory_b": name(lives.PINNED), "weight": AHEAD}
    return [
        {**link, "weight_at": later},
        memory("not yet", 44, temporal_state="future", temporal_anchor="2026-04-20"),
        *shown("then", ["not yet", lives.CROWD[1]], 45),
        *shown("then", [lives.CROWD[0], lives.PINNED], 44),
        rated("m then", "then", lives.OLD, 45.1),
        rated("m then", "then", lives.OLD, 45.2, "agent_feedback_negative"),
    ]


def lived(document: dict[str, Any], known: Store) -> list[object]:
    """Memories that a store knows, and the direct links between them, but for the one of later."""
    with known.read() as conn:
        here = set(conn.scalars(sa.text("SELECT i.hash FROM identities i JOIN memories m ON m.key = i.key")))
    return [
        (
            [one for one in scope["memories"] if one["id"] in here],
            [
                link
                for link in scope["associations"]
                if not link["inferred"] and {link["memory_a"], link["memory_b"]} <= here and link["weight"] != AHEAD
            ],
        )
        for scope in document["scopes"]
        if any(one["id"] in here for one in scope["memories"])
    ]


def test_a_store_without_a_scope_has_its_night(made_store_url: str) -> None:
    """Nothing is there, nothing is done, and the run is kept."""
    with open_store(made_store_url, mode="write") as store:
        result = night(store, 1)
        assert (result.exit_code, result.plan.scopes, result.error) == (0, (), None)
        assert result.run_id
        assert exported(store, 1).values["scopes"] == []


@pytest.mark.parametrize(
    "lines",
    [
        [{"kind": "scope", "scope": {}, "time_zone": "Asia/Tokyo"}],
        [*shown("t", ["never", "seen"], 1), rated("m", "t", "never", 1)],
        [memory("gone", 1, 0.01, status="archived", archived_because="faded")],
        [memory("by hand", 1, status="archived", archived_because="user"), rated("m", "t", "by hand", 2)],
        [memory("heir", 1), memory("old", 1, status="superseded", superseded_by=name("heir"))],
    ],
    ids=["bare", "strangers", "faded", "by hand", "superseded"],
)
def test_a_scope_with_little_in_it_has_its_night(made_store_url: str, lines: Sequence[Line]) -> None:
    """A scope without memories, or only of archived ones: nothing fails, nothing comes back, the second is quiet."""
    with open_store(made_store_url, mode="write") as store:
        take(store, lines, at=3)
        before = [(one["id"], one["status"]) for one in values(store, 3)["scopes"][0]["memories"]]
        assert night(store, 3).exit_code == 0
        assert [(one["id"], one["status"]) for one in values(store, 3)["scopes"][0]["memories"]] == before
        assert quiet(night(store, 3))
        assert night(store, 90).exit_code == 0


def test_ids_and_texts_of_every_script(made_store_url: str) -> None:
    """Chinese, emoji and combining marks, in ids of sessions, turns and messages too."""
    texts = ["山里有雾 🌫️", "雾散了", "e\u0301té", "été", "👩‍👩‍👧", "שלום", "ﷺ"]
    lines = [memory(text, 1) for text in texts]
    for number, text in enumerate(texts):
        lines += shown(f"轮次 {number} 🗣️", [text, texts[0]], 2, session_id=f"会话 {text}")
        lines.append(rated(f"消息 {text}", f"轮次 {number} 🗣️", text, 2.1, session_id=f"会话 {text}"))
    with open_store(made_store_url, mode="write") as store:
        take(store, lines, at=3)
        totals = describe(night(store, 3))["totals"]
        assert (totals["reinforced"], totals["linked"]) == (len(texts), len(texts) - 1)


@contextmanager
def closed(path: Path) -> Iterator[None]:
    assert not path.with_name(f"{path.name}-wal").exists()
    yield


def write_a_little(store: Store) -> None:
    take(store, [memory("a little more", 29.9), rated("m little", "t", lives.OLD, 29.9)], at=EVE)


@contextmanager
def live(path: Path) -> Iterator[None]:
    """Another process has it open and has written what is not in the main file yet."""

    def act(child: Child) -> None:
        with open_store(str(path), mode="write") as store:
            write_a_little(store)
            child.pause()

    child = Child(act)
    child.wait_until_paused()
    yield
    child.go_on()
    child.wait()


@contextmanager
def crashed(path: Path) -> Iterator[None]:
    """Another process wrote and was killed."""

    def act(child: Child) -> None:
        with open_store(str(path), mode="write") as store:
            write_a_little(store)
            child.pause()

    child = Child(act)
    child.wait_until_paused()
    child.kill()
    yield


@pytest.mark.parametrize("standing", [closed, live, crashed])
def test_a_dry_run_leaves_a_file_as_it_was(
    eve_sqlite: Path, tmp_path: Path, standing: Callable[[Path], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither the main file nor the contents of its log change; what is in the log is seen."""
    path = tmp_path / "store.db"
    path.write_bytes(eve_sqlite.read_bytes())
    with open_store(str(path), mode="write") as store:
        night(store, 28)
    log = path.with_name("store.db-wal")

    def contents() -> Iterable[bytes]:
        return path.read_bytes(), log.read_bytes() if log.exists() else b""

    with standing(path):
        before = contents()
        assert bool(before[1]) == (standing is not closed)
        with open_store(str(path), mode="read") as store:
            seen = {key for part in plan_of(store).plan.scopes for key in part.known_attributions}
        assert contents() == before
        as_of = ("--as-of", format_instant(day(EVE)))
        plan = str(tmp_path / "plan.json")
        assert main(["--store", str(path), "run", "--dry-run", *as_of, "--out", plan]) == 0
        assert main(["--store", str(path), "undo", "last", "--dry-run"]) == 0
        assert contents() == before
        assert len(seen) > (0 if standing is closed else 1)
    assert capsys.readouterr().out
