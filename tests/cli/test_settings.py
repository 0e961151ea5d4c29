"""Settings: one home for every number, refused by name where it is wrong."""

from pathlib import Path

import pytest

from consolidator.errors import BadInput
from consolidator.settings import Settings, load_settings, parse_settings
from tests.cli.conftest import Consolidate

EXAMPLE = Path(__file__).parents[2] / "schedules.yaml"


def test_example() -> None:
    """The annotated example loads, and says the defaults."""
    assert load_settings(EXAMPLE) == Settings()


def test_example_names_every_setting() -> None:
    """The annotated example names every setting there is."""
    text = EXAMPLE.read_text()
    for name, field in Settings.model_fields.items():
        assert f"\n{name}:" in text or f"\n# {name}:" in text
        for inner in getattr(field.annotation, "model_fields", {}):
            assert f"\n  {inner}:" in text or f"\n  # {inner}:" in text


@pytest.mark.parametrize("text", ["", "# nothing", "rates:", "rates: {}", "store:\nrates:\n  working:\n"[:7]])
def test_left_out(text: str) -> None:
    """What is left out has its default."""
    assert parse_settings(text, "schedules.yaml") == Settings()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rates:\n  working: 1.2", "rates.working: 1.2 is not between 0 and 1"),
        ("rates:\n  working: 0", "rates.working: 0 is not between 0 and 1"),
        ("rates:\n  association: -1", "rates.association: -1 is not between 0 and 1"),
        ("rates:\n  working: .nan", "rates.working: nan is not between 0 and 1"),
        ("rates:\n  working: .inf", "rates.working: inf is not between 0 and 1"),
        ("rates:\n  working: '0.9'", "rates.working: '0.9' is not a number"),
        ("rates:\n  working: true", "rates.working: true is not a number"),
        ("rates: 3", "rates: 3 is not a group of settings"),
        ("rates:\n  workin: 0.9", "rates.workin: unknown; did you mean rates.working?"),
        ("working: 0.9", "working: unknown; did you mean rates.working?"),
        ("stroe: a.db", "stroe: unknown; did you mean store?"),
        ("zzz: 1", "zzz: unknown; known here: store, store_file, stores, "),
        ("report: no", "report: 'no' is not one of off, errors, summary, detailed"),
        ("store: ''", "store: '' is not a path or URL"),
        ("store: 5", "store: 5 is not a path or URL"),
        ("report: off\nreport: errors", "report: given twice, first in line 1; keep one of them (line 2)"),
        ("report: [", "line 1: not readable as YAML"),
        ("- report", "not a mapping of settings"),
        ("report: off\n---\nreport: off", "line 2: not readable as YAML"),
        (
            "a: !!python/object/apply:os.getcwd []",
            "a: the tag !!python/object/apply:os.getcwd means nothing here; leave it out (line 1)",
        ),
    ],
)
def test_refused(text: str, message: str) -> None:
    """What cannot be used is refused in one line, with its path and what next."""
    with pytest.raises(BadInput) as refusal:
        parse_settings(text, "schedules.yaml")
    assert str(refusal.value).startswith(f"schedules.yaml: {message}")
    assert "\n" not in str(refusal.value)


def test_words_stay_words() -> None:
    """YAML 1.2: `off` and `no` are words, as a person reads them."""
    assert parse_settings("report: off", "s").report == "off"
    assert parse_settings("store: no", "s").store == "no"


def test_file_named(consolidate: Consolidate, tmp_path: Path) -> None:
    """A settings file that is missing, unreadable or wrong is refused before anything else."""
    consolidate("--settings", tmp_path / "none.yaml", "stats").refused("none.yaml", "No such file")
    consolidate("--settings", tmp_path, "stats").refused(str(tmp_path))
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("rates:\n  working: 1.2\n")
    consolidate("--settings", wrong, "stats").refused(f"{wrong}: rates.working: 1.2 is not between 0 and 1")
    wrong.write_bytes(b"report: \xff")
    consolidate("--settings", wrong, "stats").refused("not UTF-8")


def test_file_in_its_folder(consolidate: Consolidate, tmp_path: Path) -> None:
    """Settings are found in the configuration folder, and a store they name lies beside them."""
    folder = tmp_path / "config" / "consolidator"
    folder.mkdir(parents=True)
    (folder / "schedules.yaml").write_text("store: mine.db\n")
    assert consolidate("init").code == 0
    assert (folder / "mine.db").exists()
    assert str(folder / "schedules.yaml") in consolidate("doctor").out
    (folder / "schedules.yaml").write_text("store: sqlite:///mine.db\n")
    assert str(folder / "mine.db") in consolidate("doctor").out


def test_rates_reach_the_laws(consolidate: Consolidate, eve_url: str, tmp_path: Path) -> None:
    """A rate in the settings is the rate of the next night's clock."""
    settings = tmp_path / "slow.yaml"
    settings.write_text("rates:\n  working: 0.5\n")
    said = consolidate("--settings", settings, "--store", eve_url, "run", "--dry-run", "--steps", "decay")
    assert "0.5 of a working strength" in said.out


def test_report_level(consolidate: Consolidate, eve_url: str, tmp_path: Path) -> None:
    """`report` in the settings says how much `run` prints, and --report comes before it."""
    settings = tmp_path / "quiet.yaml"
    settings.write_text("report: off\n")
    run = ("--settings", settings, "--store", eve_url, "run", "--dry-run")
    assert consolidate(*run).out == ""
    assert consolidate(*run, "--report", "summary").out.count("\n") <= 3
