"""A settings file as YAML: what it may be, and the one line that is said where it may not."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consolidator.errors import BadInput, BadSettings
from consolidator.settings import Settings, load_settings, parse_settings
from consolidator.settings.yaml import block
from tests.settings.conftest import Refused

BOMB = "\n".join(
    ["a: &a [x, x, x, x, x, x, x, x, x]"]
    + [
        f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]"
        for before, after in zip("abcdefgh", "bcdefghi", strict=True)
    ]
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rates:\n\tworking: 0.9", "line 2: not readable as YAML: a tab where YAML wants spaces; indent with spaces"),
        ("report: off\nreport: errors", "report: given twice, first in line 1; keep one of them (line 2)"),
        (
            "rates: {working: 0.5, working: 0.6}",
            "rates.working: given twice, first in line 1; keep one of them (line 1)",
        ),
        ("- report: off", "not a mapping of settings, but a list; write e.g. `report: summary`"),
        ("report", "not a mapping of settings, but a single value; write e.g. `report: summary`"),
        ("report: off\n---\nquiet: true", "line 2: not readable as YAML: a second document begins; settings are one"),
        ("store: a\0b", "line 1: not readable as YAML: a NUL in it"),
        ("quiet: true\nstore: a\x07b", "line 2: not readable as YAML: the control character U+0007 in it"),
        ("%YAML 1.1\n---\nreport: off", "line 1: not readable as YAML: settings begin without a directive"),
        ("report: [", "line 1: not readable as YAML: "),
        ("report: 'off", "line 1: not readable as YAML: "),
        ("report: *level", "line 1: not readable as YAML: found undefined alias 'level'"),
        ("a: !!python/object/apply:os.getcwd []", "a: the tag !!python/object/apply:os.getcwd means nothing here"),
        ("store: !secret x", "store: the tag !secret means nothing here; leave it out (line 1)"),
        ("store: !!binary aGk=", "store: the tag !!binary means nothing here"),
        ("? [a, b]\n: c", "a name has to be a word (line 1)"),
        (f"store: {'9' * 5000}", "store: not readable as a value; put it in quotes if it is a text (line 1)"),
        (BOMB, "too much of it: aliases that repeat each other, or groups in groups without end"),
        ("a: &a [*a]", "too much of it: "),
        ("a: &a\n  <<: *a", "too much of it: "),
        ("[" * 5000, "too much of it: "),
        ("[" * 100_000, "too much of it: "),
        ("- " * 50_000, "too much of it: "),
        ("a: " + "{a: " * 50 + "}" * 50, "too much of it: "),
        (
            "ping: {start: ${URL}}",
            "line 1: not readable as YAML: expected ',' or '}', but got '{'; within { } and [ ] a",
        ),
    ],
)
def test_what_is_no_settings_file_is_refused_in_one_line(text: str, said: str, refused: Refused) -> None:
    """With its line and what to do, however odd it is."""
    (line,) = refused(text)
    assert line.startswith(said)
    assert len(line) < 200


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"report: \xff", "not UTF-8 text; save it as UTF-8"),
        ("report: off".encode("utf-16"), "not UTF-8 text; save it as UTF-8"),
        (b"# " + b"x" * 300_000, "longer than 256 kB, which no settings are"),
    ],
)
def test_what_is_no_text_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    """A settings file is UTF-8, and not endless."""
    file = tmp_path / "s.yaml"
    file.write_bytes(content)
    with pytest.raises(BadSettings) as refusal:
        load_settings(file)
    assert refusal.value.lines == (f"{file}: {said}",)


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    """Missing, a folder, a device, a pipe that nobody fills, or no possible path."""
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("none.yaml"), Path("/"), Path("a\0b"), Path("/dev/zero"), tmp_path / "pipe"):
        with pytest.raises(BadInput, match="the settings cannot be read"):
            load_settings(path)


@pytest.mark.parametrize(
    "text", ["", "\ufeff", "# nothing", "---", "---\n...", "{}", "rates:", "jobs:\n  shift:", "jobs: {}"]
)
def test_what_is_left_out_has_its_default(text: str, tmp_path: Path) -> None:
    """Also in a file that says nothing, or begins with a byte order mark."""
    file = tmp_path / "s.yaml"
    file.write_text(text)
    assert load_settings(file, {}) == Settings()


def test_null_is_the_default_unless_it_means_something() -> None:
    """A key without a value is left out; where null is a value of its own, it is that."""
    found = parse_settings("rates: {working: null}\nquiet:\njobs: {purge: {exposures_nights: null, at: }}", "s")
    assert found.rates.working == Settings().rates.working
    assert found.quiet is False
    assert found.jobs.purge.exposures_nights is None
    with_calls = parse_settings("merge: {budget: {calls: null}}", "s")
    assert with_calls.merge.budget.calls is None


def test_words_and_numbers_are_what_they_look_like() -> None:
    """YAML 1.2: no octal, no sixty, no `off` that is false."""
    found = parse_settings("store: no\nreport: off\njobs: {shift: {at: 3:30, deadline_minutes: 010}}", "s")
    assert (found.store, found.report) == ("no", "off")
    assert found.jobs.shift.at == "03:30"
    assert found.jobs.shift.deadline_minutes == 10
    assert parse_settings("store: 2026-01-01", "s").store == "2026-01-01"


def test_anchors_spare_typing() -> None:
    """An alias is what it stands for, and `<<` what is not said itself."""
    text = (
        "jobs:\n  shift: &usual {time_zone: UTC, level: 'off'}\n  purge: *usual\n"
        "  report:\n    <<: *usual\n    level: detailed\n  collect:\n    <<: [*usual, {quiet: true}]"
    )
    jobs = parse_settings(text, "s").jobs
    assert jobs.purge.time_zone == jobs.report.time_zone == jobs.collect.time_zone == "UTC"
    assert (jobs.purge.level, jobs.report.level, jobs.collect.quiet) == ("off", "detailed", True)


@settings(max_examples=200)
@given(
    st.one_of(
        st.text(),
        st.binary().map(lambda raw: raw.decode("latin-1")),
        st.text("{}[]&*!|>'\"%@`:-# \n\tax$", max_size=40),
    )
)
def test_no_text_breaks_reading(text: str) -> None:
    """It is settings, or it is refused in lines; nothing else ever happens."""
    lines: tuple[str, ...] = ("s.yaml: ",)
    try:
        parse_settings(text, "s.yaml", environ={})
    except BadSettings as refusal:
        lines = refusal.lines
    assert lines
    assert all(line.startswith("s.yaml: ") for line in lines)


@settings(max_examples=100)
@given(
    st.dictionaries(
        st.text(min_size=1),
        st.one_of(st.text(), st.integers(), st.booleans(), st.none(), st.lists(st.text())),
        min_size=1,
    )
)
def test_what_is_shown_as_yaml_can_be_read_again(data: dict[str, object]) -> None:
    """Texts are quoted where another reading of them is possible."""
    from consolidator.settings.document import read_document

    assert read_document("\n".join(block(data))).data == data
