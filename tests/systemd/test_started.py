"""What units start runs as they start it."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import unavailable
from tests.systemd.machine import needs
from tests.systemd.started import Machine, each_job, machine


@pytest.fixture
def host() -> Iterator[Machine]:
    needs("setpriv")
    if os.geteuid() != 0:
        unavailable("not root")
    with machine(Path(sys.executable).with_name("consolidate")) as one:
        yield one


def test_each_job_is_done_by_nobody(host: Machine) -> None:
    """From an empty folder, with a secret from the unit's credentials, and where no memory can become code."""
    said = list(each_job(host))
    assert [text.partition(":")[0] for text in said] == [
        "consolidate-purge.service", "consolidate-report.service", "consolidate-shift.service", "consolidate.service"
    ]  # fmt: skip
    assert "no new vectors" not in said[-1]


def test_the_service_of_all_jobs_begins_and_ends(host: Machine) -> None:
    """It says when it is ready, and ends with 0 when it is told to."""
    host.fill(host.units()["consolidate.service"])
    assert "READY=1" in host.serve()
