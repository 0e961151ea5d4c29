"""Jobs as commands: each once for its date, by whomever it is started."""

import sqlalchemy as sa

from consolidator.store.engine import open_store
from consolidator.store.tables import ledger, runs
from tests.cli.life import WORDS_ALONE, Life
from tests.lives import day, memory

UTC = "time_zone: UTC\n" + WORDS_ALONE


def rows(life: Life, table: sa.Table) -> list[sa.Row]:
    with open_store(life.url, mode="read") as store, store.read() as conn:
        return list(conn.execute(sa.select(table)))


def test_a_job_is_done_once_for_its_date(life: Life) -> None:
    """The second time it says so and leaves no run; on the next date it is done again."""
    life.say(UTC)
    life.take(memory("one", 0.5))
    life.wall(day(2))
    assert life("job", "consolidate").code == 0
    again = life("job", "consolidate")
    assert (again.code, again.err) == (0, "")
    assert "was done for 2026-" in again.out
    assert len(rows(life, runs)) == len(rows(life, ledger)) == 1
    assert life("job", "consolidate", "--again").code == 0
    assert (len(rows(life, runs)), len(rows(life, ledger))) == (2, 1)
    life.wall(day(3))
    assert life("job", "consolidate").code == 0
    assert (len(rows(life, runs)), len(rows(life, ledger))) == (3, 2)
