"""Old things go and copies are made by jobs, as a timer starts them."""

import re
from pathlib import Path

from tests.cli.life import WORDS_ALONE, Life
from tests.lives import day, memory, shown

PURGE = "jobs: {purge: {exposures_nights: 5, journal_nights: 5}}\n"


def test_a_purge_is_done_once_for_its_date(life: Life) -> None:
    """It says what went; --again does it once more, and says that nothing was old enough."""
    life.say(WORDS_ALONE + PURGE)
    life.take(*(memory(text, 0.1) for text in ("a cat", "a dog")), *shown("together", ["a cat", "a dog"], 0.5))
    life.night(1)
    life.wall(day(8))
    told = [life("job", "purge", *options) for options in ((), (), ("--again",))]
    assert [each.code for each in told] == [0, 0, 0]
    assert told[0].out == "Purged: 3 old exposures deleted, 1 old night can no longer be undone.\n"
    assert told[1].out == "purge was done for 2026-03-09 already; --again does it once more.\n"
    assert told[2].out == "Nothing was old enough to be purged.\n"
    life("undo", "last").refused("cannot be undone any more: its journal was purged at 2026-03-09")


def test_a_purge_keeps_to_the_scopes_of_its_job(life: Life) -> None:
    """What the settings name and is not here is said."""
    life.say(WORDS_ALONE + "jobs: {purge: {exposures_nights: 5, scopes: ['user=nobody']}}\n")
    life.take(memory("a cat", 0.1))
    life.wall(day(8))
    assert life("job", "purge").out == (
        "There is no scope user=nobody in the store yet.\nNothing was old enough to be purged.\n"
    )


def test_a_backup_is_made_beside_the_older_ones(life: Life, tmp_path: Path) -> None:
    """So many are kept; where the folder is not there, one line says so, and the job is not done."""
    life.say(WORDS_ALONE + "jobs: {backup: {enabled: true, folder: copies, keep: 1}}\n")
    life.take(memory("a cat", 0.1))
    life.wall(day(2))
    life("job", "backup").refused("copies: there is no such folder for copies; make it first")
    (tmp_path / "copies").mkdir()
    for at in (3, 4):
        life.wall(day(at))
        ended = life("job", "backup")
        assert ended.code == 0, ended
        (copy,) = (tmp_path / "copies").iterdir()
        assert re.match(rf"Copied to {copy}{' by pg_dump [0-9.]+' * (copy.suffix == '.dump')}, ", ended.out)
        assert f"-2026030{1 + at}T" in copy.name
