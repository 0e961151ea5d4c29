"""What jobs that are no night tell: a digest of the week, a purge, a backup."""

from pathlib import Path

from consolidator.store.tables import outbox
from tests.lives import memory, shown
from tests.telling.town import DOWN, Town

EVERY = {name: {"level": "summary"} for name in ("report", "purge")}


def test_a_week_is_told_on_monday(town: Town) -> None:
    """Day 1 is a Sunday: the digest of Monday the 9th says what the nights did and which were missed, once."""
    town.say(jobs=EVERY)
    town.life.take(memory("Tea at four.", 0.5), memory("tea at four", 0.5))
    for at in (1.8, 2.8, 3.8, 6.8, 7.8):
        assert town.job(at=at).code == 0
    town.chat.arrived.clear()
    ended = town.job("report", at=8.01)
    assert ended.code == 0
    (heard,) = town.heard
    assert (heard["type"], heard["title"]) == ("digest", "The last 7 nights up to 2026-03-09")
    assert heard["text"] == (
        "I merged 1 memory into 1 that says the same. 2 nights were missed (2026-03-06, 2026-03-07)."
    )
    assert heard["report"]["scopes"] == [{"scope": {}, "done": 5, "missed": ["2026-03-06", "2026-03-07"]}]
    assert town.job("report").code == 0
    assert len(town.heard) == 1
    assert town.job("report", "--again").code == 0
    assert len(town.heard) == 2


def test_no_night_was_missed_before_the_first(town: Town) -> None:
    """Memories of long ago, and one night so far; then one that was due each minute, and is not done for two days."""
    town.life.take(memory("one", -20.5))
    for cron, later, missed in (("30 3 * * *", 0.1, []), ("* * * * *", 2.4, ["2026-03-10", "2026-03-11"])):
        town.say(jobs={**EVERY, "consolidate": {"cron": cron}})
        assert town.job(at=8.2).code == 0
        assert town.job("report", "--again", at=8.2 + later).code == 0
        told = next(heard for heard in reversed(town.heard) if heard["type"] == "digest")
        assert told["report"]["scopes"] == [{"scope": {}, "done": 1, "missed": missed}]
        assert ("2 nights were missed (2026-03-10, 2026-03-11)" in told["text"]) == bool(missed)


def test_a_quiet_week(town: Town) -> None:
    """One line, or none where `quiet` is true."""
    for quiet in (False, True):
        town.say(quiet=quiet, jobs=EVERY)
        town.life.take(memory("one", 0.5))
        for at in range(2, 8):
            assert town.job(at=at - 0.2).code == 0
        assert town.job("report", "--again", at=7.9).code == 0
        assert [heard["text"] for heard in town.heard] == ["A quiet week: nothing was due."]


def test_a_purge_is_told_where_something_went(town: Town) -> None:
    """In a sentence; and nothing where nothing did."""
    town.say(jobs=EVERY)
    town.life.take(memory("one", 0.5), memory("two", 0.5), *shown("t", ["one", "two"], 1.0))
    town.job(at=2)
    assert town.job("purge", at=2.1).code == 0
    town.chat.arrived.clear()
    assert town.job(at=40).code == 0
    assert town.job("purge", at=40.1).code == 0
    told = [heard for heard in town.heard if heard["type"] == "purge"]
    assert [heard["text"] for heard in told] == ["Purged: 3 old exposures deleted."]
    assert "one" not in [word for heard in told for word in heard["text"].split()]


def test_a_backup_is_told(town: Town, tmp_path: Path) -> None:
    """Where the copy is; and where it failed, at `errors` too."""
    town.life.take(memory("one", 0.5))
    copies = {"enabled": True, "folder": str(tmp_path), "level": "summary"}
    town.say(jobs={"backup": copies})
    assert town.job("backup", at=2).code == 0
    assert town.heard[0]["text"].startswith(f"Copied to {tmp_path}")
    town.say(jobs={"backup": copies | {"folder": str(tmp_path / "nowhere"), "level": "errors"}})
    assert town.job("backup", at=3).code == 2
    assert town.heard[1]["title"] == "The backup of 2026-03-04 failed"
    assert town.heard[1]["text"].startswith(f"{tmp_path / 'nowhere'}: ")
    assert len(town.heard) == 2


def test_a_digest_waits_for_a_channel_that_is_down(town: Town) -> None:
    """And is told by the next job."""
    town.say(jobs=EVERY)
    town.life.take(memory("one", 0.5))
    town.chat.rule = lambda _: DOWN
    assert town.job("report", at=8.01).code == 0
    waiting = [row for row in town.rows(outbox) if row.payload["kind"] == "digest"]
    assert [row.delivered_at for row in waiting] == [None]
