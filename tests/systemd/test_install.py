"""Units are written whole or not at all, for this machine, and over nothing that is someone else's."""

import os
import sys
from pathlib import Path

import pytest

from consolidator.errors import BadInput, BadSettings
from consolidator.schedule.install import left_over, write
from consolidator.schedule.units import MARK
from tests.cli.conftest import Consolidate


def units(**texts: str) -> dict[str, str]:
    return {f"consolidate{name}.service": f"{MARK}\n{text}" for name, text in texts.items()}


def test_what_is_as_it_should_be_is_not_written_again(tmp_path: Path) -> None:
    """And what is not is written anew, also where it was changed by hand."""
    folder = tmp_path / "a" / "b"
    assert write(units(a="1", b="2"), folder) == ["consolidatea.service", "consolidateb.service"]
    assert write(units(a="1", b="2"), folder) == []
    assert write(units(a="1", b="3"), folder) == ["consolidateb.service"]
    assert (folder / "consolidateb.service").read_text() == f"{MARK}\n3"
    assert (folder / "consolidateb.service").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_nothing_is_written_where_a_file_is_someone_else_s(tmp_path: Path, kind: str) -> None:
    """Each such file is named, and stays as it was."""
    foreign = tmp_path / "consolidateb.service"
    if kind == "file":
        foreign.write_text("[Unit]")
    elif kind == "link":
        foreign.symlink_to("/dev/null")  # as `systemctl mask` does
    else:
        foreign.mkdir()
    with pytest.raises(BadSettings, match="was not written by `systemd install`"):
        write(units(a="1", b="2"), tmp_path)
    assert list(tmp_path.iterdir()) == [foreign]


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """And nothing half written stays."""
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be written"):
        write(units(a="1"), tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_is_not_wanted_any_more_is_named(tmp_path: Path) -> None:
    """Timers first; other people's files are not."""
    for name in ("consolidate-shift.timer", "consolidate-shift.service", "consolidate-purge.timer"):
        (tmp_path / name).write_text(MARK)
    (tmp_path / "consolidate-mine.timer").write_text("")
    assert left_over(["consolidate-purge.timer"], tmp_path) == ["consolidate-shift.timer", "consolidate-shift.service"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "systemd" / "user"


def test_install_says_what_to_type_next(consolidate: Consolidate, folder: Path, tmp_path: Path) -> None:
    """What is to be taken away, if anything, and what starts them; the second time as the first."""
    settings = tmp_path / "s.yaml"
    settings.write_text("store: m.db\njobs: {report: {enabled: false}, purge: {enabled: false}}")
    first = consolidate("--settings", settings, "systemd", "install", "--user")
    assert first.code == 0
    written = "consolidate-failure@.service, consolidate-shift.service, consolidate-shift.timer, consolidate.service"
    assert first.out.splitlines() == [
        f"{folder}: wrote {written}, consolidate.timer.",
        "Type next:",
        "  systemctl --user daemon-reload",
        "  systemctl --user enable --now consolidate-shift.timer consolidate.timer",
        "  loginctl enable-linger    # so that they run while you are logged out, too",
    ]
    command = f"ExecStart={Path(sys.executable).with_name('consolidate')} --settings {settings} job consolidate\n"
    assert command in (folder / "consolidate.service").read_text()
    second = consolidate("--settings", settings, "systemd", "install", "--user", "--daemon").out.splitlines()
    assert second == [
        f"{folder}: wrote consolidate-scheduler.service.",
        "Type next:",
        *(
            line
            for name in ("consolidate-shift", "consolidate")
            for line in (
                f"  systemctl --user disable --now {name}.timer",
                f"  rm {folder}/{name}.timer",
            )
        ),
        *(f"  rm {folder}/{name}.service" for name in ("consolidate-shift", "consolidate")),
        "  systemctl --user daemon-reload",
        "  systemctl --user enable --now consolidate-scheduler.service",
        "  loginctl enable-linger    # so that they run while you are logged out, too",
    ]


def test_print_writes_nothing(consolidate: Consolidate, folder: Path) -> None:
    """Each unit after the name of its file, and where bad settings are used, what is wrong with them."""
    ended = consolidate("systemd", "print", "--user")
    assert ended.code == 0
    assert f"# {folder}/consolidate.timer\n{MARK}\n" in ended.out
    assert not folder.exists()


def test_the_store_that_is_named_is_that_of_the_units(
    consolidate: Consolidate, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By option or variable, from wherever it is called; a password is not written down."""
    monkeypatch.chdir(tmp_path)
    store = os.path.realpath(tmp_path / "m.db")
    assert f" --store {store} job consolidate\n" in consolidate("--store", "m.db", "systemd", "print", "--user").out
    monkeypatch.setenv("CONSOLIDATOR_STORE", "postgresql://ada@h/d")
    assert " --store postgresql://ada@h/d job consolidate\n" in consolidate("systemd", "print", "--user").out
    refused = consolidate("--store", "postgresql://ada:sesame99@h/d", "systemd", "install", "--user")
    assert refused.code == 2
    assert "sesame99" not in refused.out + refused.err
    assert not folder.exists()


def test_the_folders_of_whoever_installs_are_those_of_the_units(
    consolidate: Consolidate, folder: Path, tmp_path: Path
) -> None:
    """Where they are other than usual; it says where settings would be read, and that there is no store yet."""
    told = consolidate("systemd", "print", "--user")
    store = tmp_path / "data" / "consolidator" / "memories.db"
    assert f" --store {store} job consolidate\n" in told.out
    for name in ("CONFIG", "DATA", "STATE"):
        assert f"Environment=XDG_{name}_HOME={tmp_path / name.lower()}\n" in told.out
    assert f"{tmp_path / 'config' / 'consolidator' / 'schedules.yaml'} would be read" in told.err
    assert f"{store}: there is no store yet; `consolidate init` comes first" in told.err
    assert consolidate("init").code == 0
    assert "no store yet" not in consolidate("systemd", "print", "--user").err


def test_units_of_the_system_are_written_from_the_settings_that_they_would_read(
    consolidate: Consolidate, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though whoever installs them has others, or none; where there are none it says where they would be read."""
    theirs = tmp_path / "etc" / "consolidator"
    monkeypatch.setattr("consolidator.schedule.host.SYSTEM_FOLDER", theirs)
    told = consolidate("systemd", "print")
    assert "--settings" not in told.out
    assert f"{theirs / 'schedules.yaml'} would be read" in told.err
    assert "write the units anew when it is there" in told.err
    theirs.mkdir(parents=True)
    (theirs / "schedules.yaml").write_text("time_zone: UTC\njobs: {consolidate: {at: '04:44'}}\n")
    told = consolidate("systemd", "print")
    assert "04:44:00" in told.out
    assert f"--settings {theirs / 'schedules.yaml'} " in told.out
    (theirs / "schedules.yaml").write_text("jobs: {consolidate: {at: '44:44'}}\n")
    refused = consolidate("systemd", "print")
    assert (refused.code, refused.out) == (2, "")
