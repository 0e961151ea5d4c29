"""`consolidate serve` as a real process: nights at their times, once, whatever clocks and machines do."""

from pathlib import Path

import pytest

from consolidator.instants import parse_instant
from consolidator.notify.brief import brief
from consolidator.notify.channels import FileChannel, StdoutChannel
from consolidator.notify.deliver import entries_of
from consolidator.store.engine import open_store
from consolidator.store.outbox import put
from tests.providers.provider import Provider
from tests.schedule.services import TOO_LONG_SECONDS, Machine, asked_slowly, filled, nights, runs_of, settings
from tests.schedule.test_health import ask


def test_a_night_at_its_time(machine: Machine, store: str, free_port: int) -> None:
    """It says which jobs are due when, and that they began and ended; health says the same."""
    machine.say(settings(more=f"service: {{health_port: {free_port}}}"))
    machine.clock.stop_at("2026-06-02T00:29:58Z")
    with machine.running("serve") as service:
        service.hear("2026-06-02 03:29:58 EEST serving: consolidate 2026-06-02 03:30 EEST")
        status, document = ask(free_port)
        assert (status, document["status"], document["problems"]) == (200, "ok", [])
        assert document["since"] == "2026-06-02T00:29:58.000Z"
        assert document["jobs"] == {
            "consolidate": {
                "next_due": "2026-06-02T00:30:00.000Z", "last_begun": None, "last_ended": None, "exit_code": None,
                "under_way": False,
            }
        }  # fmt: skip
        machine.clock.set("2026-06-02T00:29:58Z")
        service.hear("2026-06-02 03:30:", "consolidate: begun, process")
        service.hear("consolidate: Night of 2026-06-02 03:30 EEST: ")
        service.hear("consolidate: ended after 0:00:", "exit code 0")
        service.looked()
        job = ask(free_port)[1]["jobs"]["consolidate"]
        assert (job["exit_code"], job["under_way"], job["next_due"]) == (0, False, "2026-06-03T00:30:00.000Z")
        assert service.stop() == 0
    assert service.said.count("begun") == 1
    assert [line[24:] for line in service.said.splitlines()[-2:]] == [" stopping", " stopped"]
    assert nights(store) == ["2026-06-02"]


def test_two_services_and_a_timer_do_one_night(machine: Machine, made_store_url: str) -> None:
    """All at once, on each store: one of them does it, and the others find it done."""
    url = filled(made_store_url)
    machine.say(settings())
    machine.clock.stop_at("2026-06-02T00:29:59Z")
    with machine.running("--store", url, "serve") as one, machine.running("--store", url, "serve") as other:
        one.hear("serving")
        other.hear("serving")
        machine.clock.set("2026-06-02T00:29:59Z")
        one.hear("consolidate: begun")
        with machine.running("--store", url, "job", "consolidate") as timer:
            assert timer.end() == 0
        for service in (one, other):
            service.idle()
            assert service.stop() == 0
            assert service.said.count("begun") == service.said.count(", exit code 0") <= 1
    assert (nights(url), runs_of(url)) == (["2026-06-02"], 1)


def test_a_night_by_hand_that_is_under_way(machine: Machine, store: str, provider: Provider) -> None:
    """Counts as that of its date: a service whose time comes meanwhile waits for it, and finds it done."""
    asked = asked_slowly(provider)
    machine.say(settings(merge="model: anthropic"))
    machine.clock.stop_at("2026-06-02T00:29:58Z")
    with machine.running("run", **provider.anthropic_environ) as hand, machine.running("serve") as service:
        service.hear("serving")
        provider.wait_for_calls(1, at_most_seconds=TOO_LONG_SECONDS)
        machine.clock.set("2026-06-02T00:29:59Z")
        service.hear("consolidate: begun")
        asked.set()
        assert hand.end() == 0
        service.hear("consolidate was done for 2026-06-02 already")
        service.hear("consolidate: ended", "exit code 0")
        assert service.stop() == 0
    assert (nights(store), runs_of(store)) == (["2026-06-02"], 1)


def test_a_clock_that_is_set_back_an_hour(machine: Machine, store: str) -> None:
    """Half past three comes again and the night does not; what was not done before is."""
    machine.say(settings())
    machine.clock.set("2026-06-02T00:30:10Z")
    with machine.running("serve") as service:
        service.hear("consolidate: ended", "exit code 0")
        machine.clock.stop_at("2026-06-01T23:30:10Z")
        machine.say(settings(shift="at: '03:30'"))
        assert "shift 2026-06-02 03:30 EEST" in service.reload()
        service.looked()
        machine.clock.set("2026-06-02T00:29:59Z")
        service.reload()
        service.hear("shift: begun")
        service.hear("shift: ended", "exit code 0")
        service.looked()
        assert service.stop() == 0
    assert service.said.count("consolidate: begun") == 1
    assert service.said.count("shift: begun") == 1


@pytest.mark.parametrize(
    ("at", "before", "then", "later", "expected"),
    [
        ("02:30", "2027-03-14T06:59:58Z", "03:00:", "2027-03-14T07:35:00Z", ["2027-03-13", "2027-03-14"]),
        ("01:30", "2026-11-01T05:29:58Z", "01:30:", "2026-11-01T06:35:00Z", ["2026-10-31", "2026-11-01"]),
    ],
    ids=["skipped", "repeated"],
)
def test_when_clocks_change(
    machine: Machine, store: str, at: str, before: str, then: str, later: str, expected: list[str]
) -> None:
    """A time that New York skips is as the gap ends, one that it repeats is the first of the two: once that date."""
    machine.say(settings(at, zone="America/New_York"))
    machine.clock.stop_at(before)
    with machine.running("serve") as service:
        service.hear("consolidate: ended", "exit code 0")  # the night before, which is made up
        machine.clock.set(before)
        service.reload()
        service.hear(f"{expected[-1]} {then}", "consolidate: begun")
        service.hear("consolidate: ended", "exit code 0")
        machine.clock.set(later)
        service.idle()
        assert service.stop() == 0
    assert service.said.count("begun") == 2
    assert (nights(store), runs_of(store)) == (expected, 2)


def test_a_missed_night_is_made_up_at_the_start_once(machine: Machine, store: str) -> None:
    """However late it is, and only the last one; it is that date's night."""
    machine.say(settings())
    machine.clock.set("2026-06-05T18:00:00Z")
    for begun in (1, 0):
        with machine.running("serve") as service:
            service.hear("serving")
            service.looked()
            if begun:
                service.hear("consolidate: ended", "exit code 0")
            service.looked()
            assert service.stop() == 0
        assert service.said.count("begun") == begun
    assert nights(store) == ["2026-06-05"]


def test_what_is_made_up_goes_one_after_the_other(machine: Machine, store: str) -> None:
    """In order of the times at which it was due, however late the second one is by then."""
    machine.say(settings(shift="at: '02:00'"))
    machine.clock.set("2026-06-02T20:00:00Z")
    with machine.running("serve") as service:
        service.hear("shift: begun")
        service.hear("shift: ended", "exit code 0")
        assert "consolidate: begun" not in service.said
        service.hear("consolidate: begun")
        service.hear("consolidate: ended", "exit code 0")
        service.looked()
        assert service.stop() == 0
    assert service.said.count("begun") == 2


@pytest.mark.parametrize(("awake", "done"), [("06:00", ["2026-06-02"]), ("06:40", [])])
def test_a_night_that_was_slept_through(machine: Machine, store: str, awake: str, done: list[str]) -> None:
    """While it serves, a night begins so late as its grace allows; later it is said to be missed, once."""
    machine.say(settings())
    machine.clock.set("2026-06-01T20:00:00Z")
    with machine.running("serve") as service:
        service.hear("serving")
        service.looked()
        machine.clock.set(f"2026-06-02T{awake}:00Z")
        service.looked()
        if done:
            service.hear("consolidate: ended", "exit code 0")
        service.looked()
        assert service.stop() == 0
    assert nights(store) == done
    missed = "consolidate: missed: it was due 2026-06-02 03:30 EEST, more than 360 minutes ago"
    assert service.said.count(missed) == (0 if done else 1)


def test_messages_that_are_due_are_sent_between_jobs(machine: Machine, store: str, tmp_path: Path) -> None:
    """By a process of its own, within a minute; the service itself never waits for a channel."""
    told = tmp_path / "told.txt"
    machine.say(settings(more=f"channels: {{notes: {{type: stdout}}, file: {{type: file, path: {told}}}}}"))
    machine.clock.set("2026-06-02T07:00:00Z")
    message = brief(name="left", kind="night", title="A night", level="summary", lines=["It waited for days."])
    channels = {"notes": StdoutChannel(type="stdout"), "file": FileChannel(type="file", path=str(told))}
    with open_store(store, mode="write") as opened, opened.write() as conn:
        put(conn, entries_of(message, channels), run_key=None, now=parse_instant("2026-06-02T06:00:00Z"))
    with machine.running("serve") as service:
        service.hear("It waited for days.")
        service.idle()
        assert service.stop() == 0
    assert "It waited for days." in told.read_text()
    assert service.said.count("It waited for days.") == 1
