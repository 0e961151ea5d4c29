"""What stopped happening is seen: from what the ledger, the reports and the outbox say, and nothing else."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from consolidator.instants import NIGHT, SECOND, format_instant, parse_instant
from consolidator.schedule.calendar import due_after, last_due
from consolidator.schedule.owed import day_of
from consolidator.schedule.watch import Finding, watch
from consolidator.settings.duty import Duty, duties
from consolidator.settings.model import Settings
from consolidator.settings.model import Watch as WatchSettings
from consolidator.store.watching import Begun, Outbox, Seen, Success, Undone

HELSINKI = ZoneInfo("Europe/Helsinki")
ADA, EMPTY = '{"user":"ada"}', "{}"
HOUR = 3_600 * SECOND
NOW = parse_instant("2026-06-10T09:00:00Z")  # 12:00 in Helsinki
LONG_AGO = parse_instant("2026-05-01T00:00:00Z")
LONG = {"consolidate": Begun("2026-05-20", "2026-06-01")}
DAILY = WatchSettings()


def jobs(**settings: Any) -> Mapping[str, Duty]:
    return duties(Settings.model_validate({"jobs": settings}), HELSINKI)


def night(
    back: int, scope: Mapping[str, str] = {}, *, exit_code: int = 0, **steps: Mapping[str, Any]
) -> dict[str, Any]:
    """The report of a night, as it is kept."""
    blank = {"counts": {}, "seen": 0, "because_nothing": "nothing was due"}
    named = {step: {**blank, **part} for step, part in {"reinforce": {}, "merge": {}, **steps}.items()}
    return {
        "as_of": format_instant(NOW - 9 * HOUR - back * NIGHT),
        "exit": 0,
        "scopes": [{"scope": {}, "steps": named}],
    }


def names(found: list[Finding]) -> list[str]:
    return [finding.name.split(":")[0] for finding in found]


def seen(job: str = "consolidate", scope: str = EMPTY, *, done: str | None, day: str | None = None) -> Seen:
    """A job begun by itself and done once, at a time."""
    success = {} if done is None else {(job, scope): Success(parse_instant(done), day or done[:10])}
    return Seen({job: LONG["consolidate"]}, {(job, scope): "2026-05-20"}, success, scopes={EMPTY: LONG_AGO})


@pytest.mark.parametrize(
    ("done", "day", "now", "late"),
    [
        ("2026-06-10T00:31:00Z", None, "2026-06-10T09:00:00Z", False),  # tonight
        ("2026-06-09T00:31:00Z", None, "2026-06-10T06:29:00Z", False),  # within the grace of six hours
        ("2026-06-09T00:31:00Z", None, "2026-06-10T06:30:00Z", True),
        ("2026-06-09T20:00:00Z", "2026-06-09", "2026-06-10T06:30:00Z", True),  # made up late, for the day before
        ("2026-06-09T22:00:00Z", "2026-06-10", "2026-06-10T09:00:00Z", False),  # by hand, before its time had come
        (None, None, "2026-06-10T09:00:00Z", True),
    ],
)
def test_a_job_has_its_period_and_a_grace(done: str | None, day: str | None, now: str, late: bool) -> None:
    """03:30 in Helsinki is 00:30 UTC in summer."""
    found = watch(seen(done=done, day=day), jobs(), DAILY, now=parse_instant(now))
    assert names(found) == ["unfinished"] * late
    for finding in found:
        assert finding.job == "consolidate"
        assert "`consolidate job consolidate`" in finding.sentence


def test_a_job_that_nothing_ever_began_is_not_watched() -> None:
    """Whoever runs the night by hand alone is not told that there is no purge."""
    assert watch(Seen(scopes={EMPTY: 0}), jobs(), DAILY, now=NOW) == []


def test_a_weekly_job_has_a_week() -> None:
    """Monday 09:00 local."""
    last = seen("report", "", done="2026-06-01T06:01:00Z")
    assert watch(last, jobs(), DAILY, now=parse_instant("2026-06-08T11:59:00Z")) == []
    assert names(watch(last, jobs(), DAILY, now=parse_instant("2026-06-08T12:00:00Z"))) == ["unfinished"]


def test_a_job_that_is_off_is_not_missed() -> None:
    """Nor is one in a scope that is not its own, or that was not there when it was due."""
    last = seen(done="2026-06-01T00:31:00Z")
    assert watch(last, jobs(consolidate={"enabled": False}), DAILY, now=NOW) == []
    assert watch(last, jobs(consolidate={"scopes": ["user=ada"]}), DAILY, now=NOW) == []
    new = Seen(LONG, scopes={EMPTY: NOW - HOUR})
    assert watch(new, jobs(), DAILY, now=NOW) == []


def test_what_lasts_keeps_its_name_and_what_begins_anew_gets_another() -> None:
    """By the name it is known that it was told."""
    last = seen(done="2026-06-01T00:31:00Z")
    first, later = (watch(last, jobs(), DAILY, now=NOW + days * NIGHT)[0] for days in (0, 3))
    assert first == later
    again = watch(seen(done="2026-06-12T00:31:00Z"), jobs(), DAILY, now=NOW + 5 * NIGHT)[0]
    assert again.name != first.name


def test_the_scopes_that_wait_are_named() -> None:
    """Where others are done."""
    done = {("consolidate", EMPTY): Success(NOW - HOUR, "2026-06-10")}
    both = Seen(LONG, done=done, scopes={EMPTY: 0, ADA: NOW - 9 * NIGHT})
    (found,) = watch(both, jobs(), DAILY, now=NOW)
    assert "in user=ada;" in found.sentence


@pytest.mark.parametrize("cron", ["30 3 * * *", "0 9 * * 1", "* * * * *"])
@pytest.mark.parametrize("undone", [{}, {("consolidate", EMPTY): Undone(1, NOW + 60 * SECOND)}])
def test_a_store_made_now_does_not_alarm(cron: str, undone: Mapping[tuple[str, str], Undone]) -> None:
    """Whatever dates its memories have: not in the first period and grace after something began a job there."""
    duty = jobs(consolidate={"cron": cron})
    due = last_due(cron, HELSINKI, NOW)
    assert due is not None
    day = day_of(duty["consolidate"], due, NOW).name
    new = Seen({"consolidate": Begun(day, day)}, {("consolidate", EMPTY): day}, undone=undone, scopes={EMPTY: LONG_AGO})
    following = next(due_after(cron, HELSINKI, NOW)).at + 6 * HOUR
    assert [watch(new, duty, DAILY, now=now) for now in (NOW, following - SECOND)] == [[], []]
    assert names(watch(new, duty, DAILY, now=following + 60 * SECOND)) == ["unfinished"]


def test_what_a_hand_did_long_ago_does_not_begin_the_watch() -> None:
    """Nor does a scope that came after the job was last begun."""
    begun = {"consolidate": Begun("2026-06-10", "2026-06-10")}
    by_hand = {("consolidate", EMPTY): Success(LONG_AGO, "2026-05-01")}
    known = {("consolidate", EMPTY): "2026-05-01"}
    assert watch(Seen(begun, known, by_hand, scopes={EMPTY: LONG_AGO, ADA: LONG_AGO}), jobs(), DAILY, now=NOW) == []


def test_a_date_that_is_being_made_up_is_no_alarm() -> None:
    """While attempts are to come for the one date that failed; given up, or for a second date, it is."""
    for undone, late in ((Undone(1, NOW - HOUR), False), (Undone(1, None), True), (Undone(2, NOW + HOUR), True)):
        off = replace(seen(done="2026-06-06T00:31:00Z"), undone={("consolidate", EMPTY): undone})
        assert names(watch(off, jobs(), DAILY, now=NOW)) == ["unfinished"] * late


def healthy(*nights: Mapping[str, Any], waiting: Mapping[str, int] | None = None) -> Seen:
    return Seen(nights=nights, waiting=waiting or {})


def test_nights_that_decide_nothing_though_there_was_something() -> None:
    """Three in a row: events read without effect, or left waiting; one night with work, or two nights, are nothing."""
    idle = [night(back, reinforce={"seen": 4}, decay={"counts": {"clock": 1}}) for back in range(3)]
    assert names(watch(healthy(*idle), jobs(), DAILY, now=NOW)) == ["idle"]
    assert watch(healthy(*idle[:2]), jobs(), DAILY, now=NOW) == []
    busy = night(1, reinforce={"counts": {"reinforced": 1}, "seen": 4})
    assert watch(healthy(idle[0], busy, idle[2]), jobs(), DAILY, now=NOW) == []
    quiet = [night(back) for back in range(3)]
    assert watch(healthy(*quiet), jobs(), DAILY, now=NOW) == []
    assert names(watch(healthy(*quiet, waiting={EMPTY: NOW - 9 * NIGHT}), jobs(), DAILY, now=NOW)) == ["idle"]
    assert watch(healthy(*quiet, waiting={EMPTY: NOW - NIGHT}), jobs(), DAILY, now=NOW) == []


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("no language model: no key in the settings (merge.api_key), in ANTHROPIC_API_KEY or in OPENAI_API_KEY", []),
        ("no language model: merge.model is openai, but there is no key: set OPENAI_API_KEY", ["gated"]),
        ("the budget is spent: merge.budget.calls is 20", ["gated"]),
        ("no language model: merge.model is none", []),
        ("in a batch; the next run takes its answer in", []),
    ],
)
def test_a_step_that_is_held_back_night_after_night(reason: str, expected: list[str]) -> None:
    """For the same reason, and not one that a person chose."""
    held = [night(back, merge={"asked": {"waiting": {reason: back + 1}, "failures": []}}) for back in range(3)]
    assert names(watch(healthy(*held), jobs(), DAILY, now=NOW)) == expected
    other = night(1, merge={"asked": {"waiting": {"something else": 1}}})
    assert watch(healthy(held[0], other, held[2]), jobs(), DAILY, now=NOW) == []


def test_a_spent_budget_is_said_as_such() -> None:
    """With what to raise."""
    asked = {"waiting": {"the budget is spent: merge.budget.calls is 20": 3}}
    (found,) = watch(healthy(*(night(back, merge={"asked": asked}) for back in range(3))), jobs(), DAILY, now=NOW)
    assert found.what == "the budget is always spent"
    assert "merge.budget.calls is 20; raise it" in found.sentence


def test_a_provider_that_is_down_for_nights() -> None:
    """What failed counts as a reason."""
    asked = {"waiting": {}, "failures": ["anthropic:x answered 401"]}
    (found,) = watch(healthy(*(night(back, merge={"asked": asked}) for back in range(3))), jobs(), DAILY, now=NOW)
    assert found.sentence == (
        "merge was held back 3 nights in a row: anthropic:x answered 401; "
        "mend that, or set merge.model to none where no model is to be asked"
    )


def test_an_outbox_that_does_not_drain() -> None:
    """A message may wait a day."""
    for oldest, expected in ((NOW - 23 * HOUR, []), (NOW - 25 * HOUR, ["outbox"]), (None, [])):
        found = watch(Seen(outbox=Outbox(2, oldest)), jobs(), DAILY, now=NOW)
        assert names(found) == expected


def test_as_many_nights_as_the_settings_say() -> None:
    """Two, or three."""
    idle = [night(back, reinforce={"seen": 4}) for back in range(2)]
    assert names(watch(healthy(*idle), jobs(), WatchSettings(nights=2), now=NOW)) == ["idle"]
