"""settings check, example, schema and reference: what is in force, what it leads to, and what is wrong."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Consolidate

BAD = "rates: {working: 1.2}\nreport: sumry\nchannels: {x: {type: webhook}}\n"


def test_everything_wrong_is_a_line(consolidate: Consolidate, tmp_path: Path) -> None:
    """Exit code 2, a line each, from every command, and nothing is made."""
    file = tmp_path / "s.yaml"
    file.write_text(BAD)
    store = tmp_path / "new.db"
    for command in (("settings", "check"), ("settings", "check", "--json"), ("init",), ("run",)):
        ended = consolidate("--settings", file, "--store", store, *command)
        assert (ended.code, ended.out) == (2, "")
        assert [line.split(" (line")[0] for line in ended.err.splitlines()] == [
            f"consolidate: {file}: rates.working: 1.2 is not between 0 and 1",
            f"consolidate: {file}: report: 'sumry' is not one of off, errors, summary, detailed; did you mean summary?",
            f"consolidate: {file}: channels.x.url: is missing; write e.g. url: https://example.org/hook, or url_file",
        ]
    assert not store.exists()


def test_what_they_lead_to(consolidate: Consolidate, tmp_path: Path) -> None:
    """The next time of each job by the clock of its zone, where it works, and who is told."""
    file = tmp_path / "s.yaml"
    file.write_text(
        "time_zone: Asia/Tokyo\nstore: m.db\nmerge: {model: none}\nembedding: {model: none}\n"
        "channels: {chat: {type: apprise, url: 'ntfys://sesame99'}}\n"
        "jobs: {shift: {time_zone: UTC, level: summary}, purge: {enabled: false}}\n"
    )
    ended = consolidate("--settings", file, "settings", "check")
    assert ended.code == 0
    assert "sesame99" not in ended.out + ended.err
    assert str(tmp_path / "m.db") in ended.out
    rows = {line.split()[0]: line for line in ended.out.partition("What they lead to")[2].splitlines() if line.strip()}
    assert "03:30  Asia/Tokyo" in rows["consolidate"]
    assert "15:00  UTC" in rows["shift"]
    assert "summary to chat" in rows["shift"]
    assert rows["purge"].split() == ["purge", "off"]
    document = consolidate("--settings", file, "settings", "check", "--json").document
    assert document["settings"]["time_zone"] == "Asia/Tokyo"
    assert document["next"]["shift"]["time_zone"] == "UTC"
    assert document["next"]["purge"] is None


def test_without_a_file(consolidate: Consolidate) -> None:
    """All have their defaults, and the place is named where a file would be read."""
    ended = consolidate("settings", "check")
    assert ended.code == 0
    assert "consolidator/schedules.yaml would be read" in ended.out


def test_pages(consolidate: Consolidate, tmp_path: Path) -> None:
    """To standard output or a file, also where the settings in use are wrong; the example is a file to begin with."""
    bad, good = tmp_path / "bad.yaml", tmp_path / "good.yaml"
    bad.write_text(BAD)
    assert json.loads(consolidate("--settings", bad, "settings", "schema").out)["title"]
    assert consolidate("--settings", bad, "settings", "reference").out.startswith("# Settings\n")
    assert consolidate("--settings", bad, "settings", "example", "-o", good).code == 0
    assert good.read_text() == consolidate("settings", "example").out
    assert consolidate("--settings", good, "settings", "check").code == 0
    good.write_text("report: off\n")
    consolidate("settings", "example", "-o", good).refused(f"{good}: is there already; name another file, or remove it")
    assert good.read_text() == "report: off\n"


@pytest.mark.parametrize("url", ["nosuch://a/b", "slack://x"])
def test_a_channel_that_can_never_work(url: str, consolidate: Consolidate, tmp_path: Path) -> None:
    """What `notify test` would say of it is said before."""
    file = tmp_path / "s.yaml"
    file.write_text(f"merge: {{model: none}}\nchannels: {{c: {{type: apprise, url: '{url}'}}}}\n")
    ended = consolidate("--settings", file, "settings", "check")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"consolidate: {file}: channels.c: its URL ")


def test_folders_that_are_not_there_are_noted(consolidate: Consolidate, tmp_path: Path) -> None:
    """They may be made later, so nothing is refused for it."""
    file = tmp_path / "s.yaml"
    file.write_text(
        "merge: {model: none}\nchannels: {a: {type: file, path: no/a.txt}, b: {type: file, path: b.txt}}\n"
        "jobs: {backup: {enabled: true, folder: copies}}\nmetrics: {textfile: s.yaml/m.prom}\n"
    )
    ended = consolidate("--settings", file, "settings", "check")
    assert ended.code == 0
    assert ended.err.splitlines() == [
        f"channels.a.path: the folder {tmp_path / 'no'} is not there",
        f"jobs.backup.folder: the folder {tmp_path / 'copies'} is not there",
        f"metrics.textfile: {file} is no folder",
    ]
    assert "nothing: merge.mode is live" in ended.out
