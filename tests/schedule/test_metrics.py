"""The metrics file is valid, whole, and says of each job how it ended last."""

import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from consolidator.instants import SECOND, parse_instant
from consolidator.schedule.metrics import Measured, write_metrics
from tests.report.nights import busy, quiet

NOW = parse_instant("2026-05-30T03:31:00Z")
NIGHT = Measured("consolidate", NOW, 12.5, 0, True, busy(), {"waiting": 2, "given_up": 1})


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "consolidator.prom")


def read(path: str) -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels, each there once."""
    families = list(text_string_to_metric_families(Path(path).read_text(encoding="utf-8")))
    assert all(family.documentation and family.type == "gauge" for family in families)
    samples = [sample for family in families for sample in family.samples]
    found = {(sample.name.removeprefix("consolidator_"), *sample.labels.values()): sample.value for sample in samples}
    assert len(found) == len(samples)
    return found


def test_a_night_in_numbers(path: str) -> None:
    """When it ended well, how long it took, what each step did, what it took and cost, and what waits."""
    assert write_metrics(path, NIGHT) is None
    found = read(path)
    asked = busy().asked
    expected: dict[Any, Any] = {
        ("last_success_timestamp_seconds", "consolidate"): NOW / SECOND,
        ("last_run_timestamp_seconds", "consolidate"): NOW / SECOND,
        ("last_run_duration_seconds", "consolidate"): 12.5,
        ("last_run_exit_code", "consolidate"): 0,
        ("last_run_rows", "consolidate", "prune", "archived"): 2,
        ("last_run_rows", "consolidate", "merge", "rejected"): 1,
        ("last_run_archived", "consolidate"): 2,
        ("last_run_merged", "consolidate"): 1,
        ("last_run_rejected", "consolidate"): 1,
        ("last_run_tokens", "input", "consolidate"): asked.input_tokens,
        ("last_run_tokens", "output", "consolidate"): asked.output_tokens,
        ("last_run_cost_usd", "consolidate"): asked.usd,
        ("outbox_messages", "waiting"): 2,
        ("outbox_messages", "given_up"): 1,
    }
    assert expected.items() <= found.items()


def test_a_failure_leaves_the_last_success(path: str) -> None:
    """And what of the outbox cannot be known stays as it was."""
    write_metrics(path, NIGHT)
    failed = Measured("consolidate", NOW + 60 * SECOND, 1.0, 2, False)
    write_metrics(path, failed)
    found = read(path)
    assert found["last_success_timestamp_seconds", "consolidate"] == NOW / SECOND
    assert found["last_run_exit_code", "consolidate"] == 2
    assert found["outbox_messages", "waiting"] == 2
    assert not any(name == "last_run_rows" for name, *_ in found)


def test_each_job_keeps_its_own(path: str) -> None:
    """What another wrote stays; what this one wrote before goes."""
    write_metrics(path, NIGHT)
    write_metrics(path, Measured("purge", NOW, 1.0, 0, True, outbox={"waiting": 0, "given_up": 0}))
    found = read(path)
    assert found["last_run_archived", "consolidate"] == 2
    assert found["last_success_timestamp_seconds", "purge"] == NOW / SECOND
    assert found["outbox_messages", "waiting"] == 0
    write_metrics(path, replace(NIGHT, report=quiet()))
    assert read(path)["last_run_archived", "consolidate"] == 0


def test_an_unknown_price_is_no_price(path: str) -> None:
    """Missing, and not zero."""
    report = busy()
    steps = [replace(step, asked=step.asked and replace(step.asked, usd=None)) for step in report.scopes[0].steps]
    scopes = (replace(report.scopes[0], steps=tuple(steps)), *report.scopes[1:])
    write_metrics(path, replace(NIGHT, report=replace(report, scopes=scopes)))
    assert not any(name == "last_run_cost_usd" for name, *_ in read(path))


@pytest.mark.parametrize("damage", ["", "not { metrics", 'x{job="a"} 1\n# TYPE', "\udcff"])
def test_a_damaged_file_is_written_anew(path: str, damage: str) -> None:
    """Whatever stood in it."""
    Path(path).write_bytes(damage.encode(errors="surrogateescape"))
    assert write_metrics(path, NIGHT) is None
    assert ("last_run_archived", "consolidate") in read(path)


def test_the_exporter_can_read_it(path: str) -> None:
    """It is another user; and nothing else is left in the folder."""
    write_metrics(path, NIGHT)
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o644
    assert list(Path(path).parent.iterdir()) == [Path(path)]


def test_a_folder_that_is_missing_is_said(tmp_path: Path) -> None:
    """In words, and nothing is made."""
    said = write_metrics(str(tmp_path / "nowhere" / "x.prom"), NIGHT)
    assert said
    assert "No such file or directory" in said
    assert list(tmp_path.iterdir()) == []
