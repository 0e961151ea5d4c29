"""Files and standard output."""

import threading
from pathlib import Path

import pytest

from consolidator.notify.channels import FileChannel, StdoutChannel
from consolidator.notify.outcome import DELIVERED, Outcome
from consolidator.notify.send import send
from consolidator.notify.way import Parcel
from tests.apart import run_apart
from tests.notify.conftest import NOW

PARCEL = Parcel("run-7:log:1", "Night of 2026-05-30 03:30 UTC", "All is well. 会议 🙂\nsecond line", {}, NOW)


def append(path: Path | str, parcel: Parcel = PARCEL) -> Outcome:
    return send(FileChannel(type="file", path=str(path)), parcel, emit=print)


def test_a_file_grows_by_one_message_with_its_time_and_key(tmp_path: Path) -> None:
    """It is its owner's alone."""
    path = tmp_path / "night.txt"
    assert append(path) == append(path) == DELIVERED
    entry = (
        "== 2026-05-30T03:31:00.000Z Night of 2026-05-30 03:30 UTC [run-7:log:1]\nAll is well. 会议 🙂\nsecond line\n\n"
    )
    assert path.read_text() == entry * 2
    assert path.stat().st_mode & 0o777 == 0o600


def test_messages_of_many_writers_do_not_mix(tmp_path: Path) -> None:
    """Each stands whole."""
    path = tmp_path / "night.txt"
    texts = [char * 50_000 for char in "abcd"]
    threads = [
        threading.Thread(target=append, args=(path, Parcel("k", "t", text, {}, NOW))) for text in texts for _ in "12"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(line for line in path.read_text().splitlines() if len(line) > 1_000) == sorted(texts * 2)


def test_a_message_that_does_not_fit_on_the_disk_leaves_no_half() -> None:
    """And the failure is said."""
    code = """
from consolidator.notify.channels import FileChannel
from consolidator.notify.send import send
from consolidator.notify.way import Parcel
import pathlib, signal, tempfile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = pathlib.Path(tempfile.mkdtemp()) / "night.txt"
channel = FileChannel(type="file", path=str(path))
send(channel, Parcel("k", "t", "short", {}, 0), emit=print)
before = path.read_text()
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
outcome = send(channel, Parcel("k", "t", "x" * 2000, {}, 0), emit=print)
assert path.read_text() == before
assert not outcome.delivered
print(outcome.reason)
"""
    assert "cannot be written" in run_apart(code)


@pytest.mark.parametrize(
    ("path", "reason"), [("/no/such/folder/x", "No such file"), ("/", "directory"), ("a\0b", "null")]
)
def test_a_file_that_cannot_be_opened_is_said(path: str, reason: str) -> None:
    """It is tried again: a disk may come back."""
    outcome = append(path)
    assert reason in outcome.reason
    assert not outcome.for_good


def test_standard_output_gets_the_text_alone() -> None:
    """For whoever passes it on as it is."""
    printed: list[str] = []
    assert send(StdoutChannel(type="stdout"), PARCEL, emit=printed.append) == DELIVERED
    assert printed == [PARCEL.text]
