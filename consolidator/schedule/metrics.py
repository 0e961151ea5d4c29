"""
Numbers for Prometheus: a file in its text format, as the node exporter's textfile collector reads it.

The file is its own memory: a job replaces what it wrote before and keeps what the other jobs wrote.
"""

import fcntl
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consolidator.instants import SECOND
from consolidator.report import Report

_READABLE = 0o644  # the exporter is another user
_PREFIX = "consolidator_"
_HELP = {
    "last_success_timestamp_seconds": "When the job last ended well.",
    "last_run_timestamp_seconds": "When the job last ended, well or not.",
    "last_run_duration_seconds": "How long it took.",
    "last_run_exit_code": "How it ended: 0 well, 1 failed, 2 bad settings or store, 3 in part, 11 another held it.",
    "last_run_rows": "What each step did in the last run, by verb.",
    "last_run_archived": "Memories archived in the last run.",
    "last_run_merged": "Groups of memories merged in the last run.",
    "last_run_rejected": "Answers of a language model rejected in the last run.",
    "last_run_tokens": "Tokens that language models took in the last run.",
    "last_run_cost_usd": "What language models cost in the last run, in US dollars; missing where that is not known.",
    "outbox_messages": "Messages that wait to be sent, or were given up.",
}
_OF_THE_STORE = "outbox_messages"

Sample = tuple[str, Mapping[str, str], float]


@dataclass(frozen=True, slots=True)
class Measured:
    """
    How a job ended, for the file. report: of its night, where it has one. outbox: messages by state; None: not known.
    """

    job: str
    ended_at: int
    seconds: float
    exit_code: int
    succeeded: bool
    report: Report | None = None
    outbox: Mapping[str, int] | None = None


def write_metrics(path: str, measured: Measured) -> str | None:
    """Write the file anew, whole or not at all; what went wrong, else None. Nothing that goes wrong is raised."""
    from prometheus_client import CollectorRegistry, write_to_textfile

    try:
        with _alone(Path(path).absolute().parent):
            registry = CollectorRegistry()
            registry.register(_Written([*_kept(path, measured), *_samples(measured)]))
            write_to_textfile(path, registry)
            os.chmod(path, _READABLE)
    except OSError as error:
        return f"metrics.textfile: {path}: cannot be written: {error.strerror or error}"
    return None


class _Written:
    """The samples, as the library asks for them."""

    def __init__(self, samples: list[Sample]) -> None:
        self._samples = samples

    def collect(self) -> Iterator[Any]:
        """Families in a fixed order, each with its help."""
        from prometheus_client.core import GaugeMetricFamily

        for name, text in _HELP.items():
            of_name = [(labels, value) for each, labels, value in self._samples if each == name]
            family = GaugeMetricFamily(_PREFIX + name, text)
            for labels, value in of_name:
                family.add_sample(_PREFIX + name, dict(labels), value)
            if of_name:
                yield family


def _samples(measured: Measured) -> Iterator[Sample]:
    of_job = {"job": measured.job}
    if measured.succeeded:
        yield "last_success_timestamp_seconds", of_job, measured.ended_at / SECOND
    yield "last_run_timestamp_seconds", of_job, measured.ended_at / SECOND
    yield "last_run_duration_seconds", of_job, measured.seconds
    yield "last_run_exit_code", of_job, measured.exit_code
    for state, count in (measured.outbox or {}).items():
        yield _OF_THE_STORE, {"state": state}, count
    report = measured.report
    if report is None:
        return
    rows: Counter[tuple[str, str]] = Counter()
    for scope in report.scopes:
        for step in scope.steps:
            rows.update({(step.step, verb): count for verb, count in step.counts.items()})
    for (name, verb), count in sorted(rows.items()):
        yield "last_run_rows", {**of_job, "step": name, "verb": verb}, count
    for name in ("archived", "merged", "rejected"):
        yield f"last_run_{name}", of_job, report.totals[name]
    asked = report.asked
    yield "last_run_tokens", {**of_job, "direction": "input"}, asked.input_tokens
    yield "last_run_tokens", {**of_job, "direction": "output"}, asked.output_tokens
    if asked.usd is not None:
        yield "last_run_cost_usd", of_job, asked.usd


def _kept(path: str, measured: Measured) -> Iterator[Sample]:
    """What the file says of other jobs, and the last success of this one where it had none now."""
    from prometheus_client.parser import text_string_to_metric_families

    try:
        families = list(text_string_to_metric_families(Path(path).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, KeyError, IndexError):  # there is none yet, or it is damaged
        return
    for family in families:
        name = family.name.removeprefix(_PREFIX)
        for sample in family.samples:
            mine = sample.labels.get("job") == measured.job
            lasts = name == "last_success_timestamp_seconds" and not measured.succeeded
            unknown = name == _OF_THE_STORE and measured.outbox is None
            if name in _HELP and (unknown if name == _OF_THE_STORE else lasts or not mine):
                yield name, sample.labels, sample.value


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """No other process writes metrics into the folder meanwhile."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
