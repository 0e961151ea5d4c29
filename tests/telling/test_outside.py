"""Monitors outside hear of a job, and whatever becomes of that, the job ends as it would."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.lives import memory
from tests.notify.servers import Answer, Server
from tests.telling.town import DOWN, Town

SECRET = "0123-secret-4567"


@pytest.fixture
def switch(town: Town, server: Callable[..., Server]) -> Server:
    """A dead man's switch, which the settings name."""
    switch = server()
    town.say(ping=addresses(switch))
    town.life.take(memory("one", 0.5))
    return switch


def addresses(switch: Server) -> dict[str, Any]:
    return {which: f"{switch.url}/{SECRET}/{which}" for which in ("start", "success", "fail")} | {"timeout_seconds": 5}


def asked(switch: Server) -> list[str]:
    return [request.path.removeprefix(f"/{SECRET}/") for request in switch.arrived]


def test_the_switch_hears_of_the_night(town: Town, switch: Server) -> None:
    """When it begins and when it has ended well; of no other job."""
    assert town.job(at=2).code == 0
    assert town.job("shift").code == 0
    assert asked(switch) == ["start", "success"]
    assert town.job(at=3).code == 0
    assert asked(switch) == ["start", "success"] * 2


def test_what_was_done_before_is_no_news_outside(town: Town, switch: Server, tmp_path: Path) -> None:
    """No ping, and the numbers of the night that did the work stay as they are."""
    path = tmp_path / "consolidator.prom"
    town.say(ping=addresses(switch), metrics={"textfile": str(path)})
    assert town.job(at=2).code == town.job("purge").code == 0
    before = path.read_text()
    assert town.job(at=2.1).code == town.job("purge").code == 0
    assert path.read_text() == before
    assert asked(switch) == ["start", "success"]
    assert town.job("consolidate", "--again", at=2.2).code == 0
    assert asked(switch) == ["start", "success"] * 2
    assert path.read_text() != before


def test_the_switch_hears_why_a_night_failed(town: Town, switch: Server) -> None:
    """In one line; also where there is no store."""
    town.say(ping=addresses(switch), merge="{base_url: 'http://127.0.0.1:1'}")
    assert town.job(at=2).code == 2
    assert asked(switch) == ["start", "fail"]
    assert switch.arrived[1].method == "POST"
    assert switch.arrived[1].body.startswith(b"merge.base_url: say which model is there")
    Path(town.life.url.removeprefix("sqlite:///")).unlink()
    assert town.job(at=3).code == 2
    assert asked(switch)[2:] == ["start", "fail"]
    assert b"\n" not in switch.arrived[3].body


def test_a_switch_that_is_down_is_said_and_no_more(town: Town, switch: Server) -> None:
    """In a line for the log, in which its address is not."""
    switch.rule = lambda _: DOWN
    ended = town.job(at=2)
    assert ended.code == 0
    assert ended.err.splitlines() == [
        f"consolidate: ping.{which}: not sent: answered 503 (Service Unavailable)" for which in ("start", "success")
    ]
    switch.rule = lambda _: Answer()
    assert SECRET not in ended.err + ended.out


def samples(path: Path) -> dict[tuple[str, ...], float]:
    families = text_string_to_metric_families(path.read_text())
    found = (sample for family in families for sample in family.samples)
    return {(sample.name.removeprefix("consolidator_"), *sample.labels.values()): sample.value for sample in found}


def test_metrics_are_written_after_each_job(town: Town, tmp_path: Path) -> None:
    """Of the night, of jobs that have no report, and of those that failed."""
    path = tmp_path / "consolidator.prom"
    town.say(metrics={"textfile": str(path)}, jobs={"consolidate": {"level": "summary"}})
    town.life.take(memory("Tea at four.", 0.5), memory("tea at four", 0.5))
    town.chat.rule = lambda _: DOWN
    assert town.job(at=2).code == 0
    found = samples(path)
    assert found["last_run_rows", "consolidate", "merge", "absorbed"] == 1
    assert found["outbox_messages", "waiting"] == 1
    town.chat.rule = lambda _: Answer()
    assert town.job("purge", at=2.1).code == 0
    found = samples(path)
    assert found["last_run_exit_code", "purge"] == found["outbox_messages", "waiting"] == 0
    assert ("last_success_timestamp_seconds", "consolidate") in found
    Path(town.life.url.removeprefix("sqlite:///")).unlink()
    assert town.job("purge", at=2.2).code == 2
    later = samples(path)
    assert later["last_run_exit_code", "purge"] == 2
    same = ("last_success_timestamp_seconds", "purge")
    assert later[same] == found[same]


def test_a_folder_that_is_missing_changes_nothing(town: Town, tmp_path: Path) -> None:
    """It is said."""
    town.say(metrics={"textfile": str(tmp_path / "nowhere" / "x.prom")})
    town.life.take(memory("one", 0.5))
    ended = town.job(at=2)
    assert ended.code == 0
    assert "metrics.textfile" in ended.err
    assert ended.err.count("\n") == 1
