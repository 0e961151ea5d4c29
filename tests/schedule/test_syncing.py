"""The sources of a night: pulled before it, pushed after it, and made up for without a second night."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from consolidator.errors import BadInput, Terminated
from consolidator.instants import SECOND
from consolidator.schedule import syncing
from consolidator.schedule.jobs import Ended, do
from consolidator.schedule.owed import owed, source_row
from consolidator.store import ledger
from consolidator.store.engine import Store, open_store
from consolidator.store.locks import WHOLE_STORE
from consolidator.store.tables import runs
from tests.lives import EVE, day
from tests.schedule.works import NIGHT, StoppedAfter, duty, work_on
from tests.sources.kind_foreign import as_kind
from tests.sources.memory_foreign import JsonForeign

SAME = ("The cat sleeps on the warm radiator.", "the cat sleeps on the warm radiator")


@pytest.fixture
def store(made_store_url: str) -> Iterator[Store]:
    with open_store(made_store_url, mode="write") as store:
        yield store


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JsonForeign:
    """With two records that say the same."""
    theirs = as_kind(monkeypatch, tmp_path / "theirs")
    for text in SAME:
        theirs.add(text)
    return theirs


def told(theirs: JsonForeign, **more: str) -> dict[str, Any]:
    """Settings in which the night has this source, and others by name and place."""
    urls = {"them": f"json:{theirs.path}", **more}
    return {
        "sources": {name: {"url": url} for name, url in urls.items()},
        "jobs": {"consolidate": {"sources": (*urls,)}},
    }


def nights(store: Store) -> int:
    with store.read() as conn:
        return int(conn.scalar(sa.select(sa.func.count()).select_from(runs)) or 0)


def row_of(store: Store, name: str = "them") -> ledger.Entry:
    with store.read() as conn:
        return ledger.entries(conn, [WHOLE_STORE], source_row(name), NIGHT, NIGHT)[WHOLE_STORE]


def refusing(*_: object, **__: object) -> Any:
    raise BadInput("them: nobody answers")


def test_a_night_begins_with_a_pull_and_ends_with_a_push(store: Store, theirs: JsonForeign) -> None:
    """Also the first one of a store in which nothing was; for its date that is done once."""
    settings = told(theirs)
    assert owed(store, duty(**settings), day(EVE))
    ended = do(work_on(store, EVE, **settings))
    assert (ended.exit_code, ended.trouble) == (0, None)
    assert ended.lines[0] == "Pulled them: 2 new."
    assert ended.lines[1].startswith("Pushed them: ")
    assert ended.synced == ended.lines
    assert len(theirs.texts()) == 1
    assert row_of(store).done
    assert owed(store, duty(**settings), day(EVE)) is None
    again = do(work_on(store, EVE, **settings))
    assert (again.before, again.synced, nights(store)) == (True, (), 1)


def test_a_push_that_failed_is_made_up_for_without_a_second_night(
    store: Store, theirs: JsonForeign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job ends in part and is tried again."""
    settings = told(theirs)
    with monkeypatch.context() as patch:
        patch.setattr(syncing, "push", refusing)
        ended = do(work_on(store, EVE, **settings))
    assert (ended.exit_code, ended.trouble) == (3, "source them was not pushed: them: nobody answers")
    assert ended.report is not None
    found = owed(store, duty(**settings), day(EVE))
    assert found is not None
    assert found.begin_at == day(EVE) + 60 * SECOND
    then = do(work_on(store, EVE, **settings))
    assert (then.exit_code, then.before, nights(store)) == (0, False, 1)
    assert len(theirs.texts()) == 1
    assert row_of(store).done


def test_a_night_killed_before_its_push_is_pushed_by_the_next_attempt(
    store: Store, theirs: JsonForeign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attempt counts, and the night is not done again."""
    settings = told(theirs)

    def killed(*_: object, **__: object) -> Any:
        raise Terminated

    with monkeypatch.context() as patch:
        patch.setattr(syncing, "push", killed)
        with pytest.raises(Terminated):
            do(work_on(store, EVE, **settings))
    assert (row_of(store).killed, nights(store)) == (True, 1)
    assert do(work_on(store, EVE, **settings)).exit_code == 0
    assert (row_of(store).attempts, nights(store), len(theirs.texts())) == (2, 1, 1)


def test_a_source_that_cannot_be_pulled_keeps_none_of_the_rest(store: Store, theirs: JsonForeign) -> None:
    """It is not pushed and tried again; the others are done and are not done again with it."""
    settings = told(theirs, gone=f"json:{theirs.path}.gone")
    ended = do(work_on(store, EVE, **settings))
    assert ended.exit_code == 3
    assert ended.trouble == f"source gone was not pulled: {theirs.path}.gone: there is no such file"
    assert len(theirs.texts()) == 1
    assert (row_of(store).done, row_of(store, "gone").done) == (True, False)
    again = do(work_on(store, EVE, **settings))
    assert (again.exit_code, again.lines[1:], nights(store)) == (3, (), 1)


def test_a_fault_over_there_is_told_without_what_it_says(
    store: Store, theirs: JsonForeign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may quote memories; and the night is done all the same."""
    monkeypatch.setattr(syncing, "pull", lambda *_, **__: 1 / 0)
    ended = do(work_on(store, EVE, **told(theirs)))
    assert ended.trouble is not None
    assert "ZeroDivisionError" in ended.trouble
    assert "division by" not in ended.trouble


def test_who_is_told_to_end_takes_no_attempt(store: Store, theirs: JsonForeign) -> None:
    """The next start goes on at once."""
    do(work_on(store, EVE, stop=StoppedAfter(1), **told(theirs)))
    assert (row_of(store).attempts, row_of(store).done) == (0, False)
    ended: Ended = do(work_on(store, EVE, **told(theirs)))
    assert (ended.exit_code, row_of(store).done) == (0, True)
