"""What stopped happening is told by whoever still runs: once, again after a week, and a word when it is over."""

from consolidator.store.tables import outbox
from tests.lives import day, memory, rated
from tests.telling.town import Town

LOUD = {"shift": {"level": "summary"}, "consolidate": {"level": "summary"}}


def stopped(town: Town) -> list[str]:
    return [heard["text"] for heard in town.heard if heard["type"] == "stopped"]


def begun(town: Town) -> None:
    """The night and the shift were done by themselves for day 2."""
    town.life.take(memory("one", 0.5))
    assert town.job(at=2).code == 0
    assert town.job("shift", at=2.3).code == 0
    assert stopped(town) == []


def test_a_night_that_is_done_no_more_is_told_by_another_job(town: Town) -> None:
    """Once, however many jobs look; again after a week; the doctor says it too."""
    begun(town)
    assert town.life("doctor").code == 0
    assert town.job("shift", at=3.3).code == 0
    (told,) = stopped(town)
    assert told.startswith("The night was due at 2026-03-04 03:30 UTC and is not done")
    for at in (3.4, 4.3, 7.3):
        town.job("shift", at=at)
    assert len(stopped(town)) == 1
    town.job("shift", at=10.4)
    assert len(stopped(town)) == 2
    seen = town.life("doctor", "--json")
    assert seen.code == 1
    assert [each["what"] for each in seen.document["checks"] if each["sound"] is False] == ["the night is not done"]


def test_a_new_store_is_no_reason_for_alarm(town: Town) -> None:
    """Memories of days ago, jobs made up one after the other, each of which looks at the others."""
    town.say(jobs=LOUD)
    town.life.take(memory("one", -8.5))
    for name in ("shift", "purge", "report", "consolidate", "shift"):
        assert town.job(name, at=2.9).code == 0
        assert stopped(town) == []
        assert town.life("doctor").code == 0


def test_a_word_when_it_happens_again(town: Town) -> None:
    """To those who want to hear more than errors; once."""
    town.say(jobs=LOUD)
    begun(town)
    town.job("shift", at=3.3)
    assert town.job(at=3.35).code == 0
    assert stopped(town)[1:] == ["The night is done."]
    assert town.job(at=3.9).code == 0  # the next night's time has come
    town.job("shift", at=4.3)
    assert len(stopped(town)) == 2
    assert town.life("doctor").code == 0


def test_who_wants_no_errors_hears_none(town: Town) -> None:
    """Level off, or errors muted."""
    for settings in ({"jobs": {"consolidate": {"level": "off"}}}, {"error_notification": False}):
        town.say(**settings)
        begun(town)
        town.job("shift", at=3.3)
        assert stopped(town) == []


def test_an_outbox_that_does_not_drain_is_seen_by_the_doctor(town: Town) -> None:
    """A day after its oldest message was written."""
    town.say({"chat": {"type": "webhook", "url": "http://127.0.0.1:1/"}}, jobs=LOUD)
    begun(town)
    town.life.wall(town.rows(outbox)[0].created_at + 25 * 3_600_000_000)
    found = town.life("doctor", "--json").document["checks"]
    assert "the outbox does not drain" in [each["what"] for each in found if each["sound"] is False]


def test_nights_that_decide_nothing_are_seen_in_what_they_left(town: Town) -> None:
    """
    Three nights in a row read ratings of memories that are not there. When that was over and is so again, it is told
    again, be it in the same week.
    """
    town.life.take(memory("one", 0.5))
    town.job(at=1.9)
    for number in (2, 3, 4):
        town.life.wall(day(number))
        town.life.take(rated(f"m{number}", f"t{number}", "never taken in", number - 0.2))
        assert town.job(at=number + 0.8).code == 0
    (told,) = stopped(town)
    assert told.startswith("3 nights in a row decided nothing in {}, though memories were")
    town.life.take(rated("m", "t", "one", 4.9))
    assert town.job(at=5.8).code == 0
    assert len(stopped(town)) == 1
    for number in (6, 7, 8):
        town.life.wall(day(number))
        town.life.take(rated(f"m{number}", f"t{number}", "never taken in", number - 0.2))
        assert town.job(at=number + 0.8).code == 0
    assert stopped(town) == [told, told]
