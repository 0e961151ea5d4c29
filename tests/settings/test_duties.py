"""A job is done as its settings and those above it say."""

from datetime import date
from zoneinfo import ZoneInfo

import pytest

from consolidator.errors import BadInput
from consolidator.instants import parse_instant
from consolidator.schedule.calendar import due_after
from consolidator.settings import Settings, parse_settings
from consolidator.settings.duty import JOB_NAMES, duties, local_zone
from consolidator.settings.jobs import Jobs

UTC = ZoneInfo("UTC")


def test_the_defaults_are_the_night_and_what_it_needs() -> None:
    """All but the backup, which needs a folder, and collecting, of batches; without channels nobody is told."""
    found = duties(Settings(), UTC)
    assert list(found) == ["consolidate", "shift", "report", "purge"]
    assert duties(Settings.model_validate({"merge": {"mode": "batch"}}), UTC)["collect"].cron == "*/30 * * * *"
    assert {name: duty.cron for name, duty in found.items()} == {
        "consolidate": "30 3 * * *",
        "shift": "0 15 * * *",
        "report": "0 9 * * MON",
        "purge": "30 4 * * *",
    }
    assert {duty.zone for duty in found.values()} == {UTC}
    assert {duty.level for name, duty in found.items() if name != "report"} == {"errors"}
    assert all(duty.scopes is None and duty.store is None and not duty.channels for duty in found.values())
    assert tuple(Jobs.model_fields) == JOB_NAMES


def test_what_a_job_leaves_out_is_as_above() -> None:
    """Its zone, scopes, channels and quiet; what it names itself comes first."""
    found = duties(
        parse_settings(
            "time_zone: Europe/Helsinki\nscopes: [user=ada, user=bob]\nquiet: true\nstores: {team: t.db}\n"
            "channels: {a: {type: stdout}, b: {type: stdout}}\n"
            "jobs:\n  shift: {time_zone: UTC, scopes: [user=bob], channels: [b], quiet: false, store: team}\n"
            "  purge: {enabled: false}\n  report: {channels: []}",
            "s",
        ),
        UTC,
    )
    night, shift = found["consolidate"], found["shift"]
    assert "purge" not in found
    assert (night.zone.key, night.scopes, night.quiet, night.store) == (
        "Europe/Helsinki", ('{"user":"ada"}', '{"user":"bob"}'), True, None,
    )  # fmt: skip
    assert list(night.channels) == ["a", "b"]
    assert (shift.zone.key, shift.scopes, shift.quiet, shift.store) == ("UTC", ('{"user":"bob"}',), False, "t.db")
    assert list(shift.channels) == ["b"]
    assert not found["report"].channels


def test_either_a_time_or_an_expression() -> None:
    """The default of the one gives way where the other is given."""
    jobs = parse_settings("jobs: {consolidate: {cron: '1  2 * * *'}, collect: {at: 4:05}}", "s").jobs
    assert (jobs.consolidate.at, jobs.consolidate.expression) == (None, "1 2 * * *")
    assert (jobs.collect.cron, jobs.collect.expression) == (None, "5 4 * * *")


def test_a_weekly_digest_comes_on_the_day_that_it_names() -> None:
    """Names of days are as cron means them."""
    report = duties(Settings(), ZoneInfo("Europe/Helsinki"))["report"]
    first = next(due_after(report.cron, report.zone, parse_instant("2026-11-25T00:00:00Z")))
    assert (first.day, first.at) == (date(2026, 11, 30), parse_instant("2026-11-30T07:00:00Z"))


def test_the_zone_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """As $TZ says; where it says nothing that is a zone, the settings have to."""
    import tzlocal

    monkeypatch.setenv("TZ", "Europe/Helsinki")
    tzlocal.reload_localzone()
    assert local_zone().key == "Europe/Helsinki"
    monkeypatch.setattr(tzlocal, "get_localzone_name", lambda: "Nowhere/There")
    with pytest.raises(BadInput, match="time_zone: UTC"):
        local_zone()
