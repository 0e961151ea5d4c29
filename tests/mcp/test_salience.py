"""The salience profile: found, read anew, cut where it is too long, and never a fault."""

import os
from pathlib import Path

import pytest

from consolidator.cli import main
from consolidator.salience import LONGEST, read_salience, salience_file


def test_the_named_file_comes_first_then_that_beside_the_settings_then_that_beside_the_store(tmp_path: Path) -> None:
    """The named file is the profile; else the one beside the settings, else the one beside the store, if there."""
    settings, store = tmp_path / "etc" / "schedules.yaml", tmp_path / "data" / "memories.db"
    for folder in (settings.parent, store.parent):
        folder.mkdir()
    assert salience_file(None, settings=settings, store=store) is None
    (store.parent / "salience.md").write_text("of the store")
    assert salience_file(None, settings=settings, store=store) == store.parent / "salience.md"
    (settings.parent / "salience.md").write_text("of the settings")
    assert salience_file(None, settings=settings, store=store) == settings.parent / "salience.md"
    assert salience_file(None, settings=None, store=None) is None
    assert salience_file("mine.md", settings=settings, store=store) == Path("mine.md")


def test_a_profile_is_read_as_it_is_now_and_what_is_wrong_with_it_is_said(tmp_path: Path) -> None:
    """What stands in the file now is the profile; what is too long is cut, what is no text is none, with the reason."""
    path = tmp_path / "salience.md"
    assert "cannot be read (No such file" in str(read_salience(path).problem)
    path.write_text("\ufeff  Names of birds 鸟 🐦\n")
    assert read_salience(path) == read_salience(path)
    assert (read_salience(path).text, read_salience(path).problem) == ("Names of birds 鸟 🐦", None)
    for text in ("鸟" * LONGEST, "🐦" * LONGEST):
        path.write_text(text)
        assert read_salience(path).problem is None
        path.write_text(text + "…")
        assert read_salience(path).text == text
        assert "only its first 4,000 characters are used" in str(read_salience(path).problem)
    path.write_text("🐦" * 1_000_000)
    assert (len(read_salience(path).text), bool(read_salience(path).problem)) == (LONGEST, True)
    path.write_bytes(b"\xff\xfe")
    assert "is not UTF-8 text" in str(read_salience(path).problem)
    assert "is no file" in str(read_salience(tmp_path).problem)
    os.mkfifo(tmp_path / "endless")
    assert "is no file" in str(read_salience(tmp_path / "endless").problem)
    assert read_salience(None).text == ""


def test_settings_check_notes_a_profile_that_is_cut_or_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A profile that is not told whole is a note of `settings check`, and no error."""
    settings = tmp_path / "schedules.yaml"
    settings.write_text("store: memories.db\nsalience: wishes.md\n")
    for text, note in ((None, "cannot be read"), ("a" * 4001, "only its first 4,000 characters"), ("birds", "")):
        if text:
            (tmp_path / "wishes.md").write_text(text)
        assert main(["--settings", str(settings), "settings", "check"]) == 0
        told = capsys.readouterr().err
        assert note in told
        assert bool(note) == (f"salience: {tmp_path / 'wishes.md'}: " in told)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ("token: short", "mcp.token"),
        ("token: 'with a space in the token'", "mcp.token"),
        ("hosts: ['http://memory.example.org']", "mcp.hosts[0]"),
        ("hosts: ['*']", "mcp.hosts[0]"),
    ],
)
def test_what_cannot_be_a_token_or_a_host_is_refused_and_no_token_is_repeated(
    given: str, wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Settings refuse a token that no header can carry or that is guessed, and a host that is none."""
    settings = tmp_path / "schedules.yaml"
    settings.write_text(f"mcp: {{{given}}}\n")
    assert main(["--settings", str(settings), "settings", "check"]) == 2
    told = capsys.readouterr().err
    assert wrong in told
    assert "with a space" not in told
    assert "short" not in told.replace("shorter", "")
