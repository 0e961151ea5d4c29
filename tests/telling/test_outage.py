"""A store that is gone: one message, told without it, and a night that the next one completes."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from consolidator.store.tables import memories, runs
from tests.cli.life import Life
from tests.conftest import made_store_url
from tests.lives import memory
from tests.providers.provider import Provider
from tests.telling.town import Town

__all__ = ["made_store_url"]  # of both kinds

PAIRS = {f"Ada keeps {what} in the kitchen.": f"In the kitchen Ada keeps {what}." for what in ("tea", "rice", "salt")}
TEXTS = [text for pair in PAIRS.items() for text in pair]


class Database:
    """The store of a life, which can vanish and come back while others use it."""

    def __init__(self, url: str, server: str) -> None:
        self._url, self._server = make_url(url), make_url(server).set(drivername="postgresql")
        self._name = str(self._url.database)

    def vanish(self) -> None:
        """Who is connected is cut off, and nobody gets in again; a file is somewhere else."""
        if self._url.drivername.startswith("sqlite"):
            Path(self._name).rename(f"{self._name}.away")
            return
        self._say(f'ALTER DATABASE "{self._name}" WITH ALLOW_CONNECTIONS false')
        self.cut()

    def cut(self) -> None:
        """Who is connected is cut off."""
        self._say(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self._name}'")

    def come_back(self) -> None:
        """Whoever held it has ended, as a job's process has; here it is the tests', which lives on."""
        if self._url.drivername.startswith("sqlite"):
            Path(f"{self._name}.away").rename(self._name)
            with closing(sqlite3.connect(self._name)) as connection, connection:
                connection.execute("DELETE FROM locks")
            return
        self._say(f'ALTER DATABASE "{self._name}" WITH ALLOW_CONNECTIONS true')

    def _say(self, statement: str) -> None:
        with psycopg.connect(self._server.render_as_string(hide_password=False), autocommit=True) as connection:
            connection.execute(statement)


@pytest.fixture
def database(life: Life, postgres_dsn: str) -> Database:
    return Database(life.url, postgres_dsn)


def merging(provider: Provider, *, then: Callable[[], object]) -> None:
    """The first question that is asked is answered after something happens."""
    happens = [then]

    def answer(sources: list[dict[str, str]], _request: object) -> dict[str, object]:
        if happens:
            happens.pop()()
        text = sources[0]["content"]
        return {"verdict": "merge", "text": text, "kept": [text], "dropped": []}

    provider.answer = answer


def prepared(town: Town) -> None:
    town.say(merge="{retries: 0, concurrency: 1}")
    town.life.take(*(memory(text, 0.5) for text in TEXTS))


def active(town: Town) -> int:
    return sum(row.status == "active" for row in town.rows(memories))


def test_a_night_whose_store_vanishes_half_way(town: Town, anthropic: Provider, database: Database) -> None:
    """
    Exit 1, one message; the attempts that find no store say nothing more; and when it is back the next one
    completes the night.
    """
    prepared(town)
    merging(anthropic, then=database.vanish)
    ended = town.job(at=2)
    assert ended.code == 1
    assert "failed" in ended.out or ended.err.count("\n") == 1  # a moved file may be read to the end
    (heard,) = town.heard
    assert "failed" in heard["title"]
    assert not any(text in str(heard) for text in TEXTS)
    for at in (2.001, 2.01, 2.1):
        assert town.job(at=at).code == 2
    assert town.job("purge", at=2.2).code == 2
    assert len(town.heard) == 1
    database.come_back()
    assert town.job(at=2.3).code == 0
    assert active(town) == len(PAIRS)
    assert len(town.heard) == 1
    assert town.life("doctor").code == 0


def test_a_connection_that_is_cut_fails_the_night_and_is_told_by_the_store(
    town: Town, anthropic: Provider, database: Database
) -> None:
    """Where the server is there again at once, the message is kept in it and told once; the next attempt completes."""
    if "sqlite" in town.life.url:
        return  # a file has no connections
    prepared(town)
    merging(anthropic, then=database.cut)
    assert town.job(at=2).code == 1
    (heard,) = town.heard
    (run,) = town.rows(runs)
    assert (heard["run_id"], run.exit_code) == (run.run_id, 1)
    assert town.job(at=2.1).code == 0
    assert active(town) == len(PAIRS)
    assert len(town.heard) == 1


def test_a_store_that_cannot_be_opened_is_told_once_a_day(town: Town, database: Database) -> None:
    """By whichever job comes first; again after a day; and anew once it had been back."""
    town.say()
    town.life.take(memory("one", 0.5))
    database.vanish()
    for at in (2, 2.5, 2.9):
        assert town.job(at=at).code == 2
    assert town.job("collect", at=2.95).code == 2
    assert len(town.heard) == 1
    assert town.job(at=3.01).code == 2
    assert len(town.heard) == 2
    database.come_back()
    assert town.job(at=3.1).code == 0
    database.vanish()
    assert town.job(at=3.2).code == 2
    assert len(town.heard) == 3
    database.come_back()


def test_another_reason_is_told(town: Town, tmp_path: Path) -> None:
    """What is in brackets behind it may change."""
    town.say(store=str(tmp_path / "nowhere" / "one.db"))
    bare = ("--settings", town.life.settings)
    assert town.life.give(*bare, "job", "consolidate").code == 2
    assert town.life.give(*bare, "job", "consolidate").code == 2
    assert len(town.heard) == 1
    (tmp_path / "nowhere").mkdir()
    (tmp_path / "nowhere" / "one.db").write_bytes(b"no database at all, but some bytes of another kind" * 30)
    assert town.life.give(*bare, "job", "consolidate").code == 2
    assert len(town.heard) == 2
    assert town.rows(runs) == []


def test_what_is_remembered_lies_in_the_state_folder(
    town: Town, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That which systemd gives, else the user's; it names no store and no secret, and goes when the store is back."""
    town.life.take(memory("one", 0.5))
    folder = tmp_path / "given"
    monkeypatch.setenv("STATE_DIRECTORY", str(folder))
    database.vanish()
    assert town.job(at=2).code == 2
    (path,) = folder.iterdir()
    assert set(json.loads(path.read_text())) == {"reason", "told_at"}
    database.come_back()
    assert town.job(at=2.1).code == 0
    assert list(folder.iterdir()) == []


def test_where_nothing_can_be_remembered_it_is_told_each_time(
    town: Town, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice is better than never."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "file" / "within"))
    database.vanish()
    for at in (2, 2.1):
        assert town.job(at=at).code == 2
    assert len(town.heard) == 2
    database.come_back()
