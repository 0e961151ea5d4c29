"""Secrets stand elsewhere: in variables and in files."""

from pathlib import Path

import pytest

from consolidator.errors import BadSettings
from consolidator.notify.channels import AppriseChannel, WebhookChannel
from consolidator.settings import Settings, load_settings, parse_settings, read_settings
from tests.settings.conftest import Refused


def parsed(text: str, **environ: str) -> Settings:
    return parse_settings(text, "s.yaml", environ=environ)


def test_a_variable_stands_for_its_value() -> None:
    """Anywhere in a text, with a default for where it is not set or empty; two dollars are one."""
    assert parsed("store: a-${ONE}-${TWO:-2}-${THREE:-}$$", ONE="1", TWO="").store == "a-1-2-$"
    assert parsed("store: $5 ${A}", A="${B} $$").store == "$5 ${B} $$"
    assert parsed("store: ${A}", A="x: [1]\ny: #").store == "x: [1]\ny: #"
    key = parsed("merge: {api_key: '${KEY}'}", KEY="123456").merge.api_key
    assert key is not None
    assert key.get_secret_value() == "123456"


def test_a_variable_is_a_number_where_one_is_wanted() -> None:
    """Quoted or not; elsewhere it is a text."""
    text = (
        "rates: {working: '${RATE}'}\nquiet: ${QUIET}\nservice:\n  health_port: ${PORT}\njobs: {shift: {level: '${L}'}}"
    )
    found = parsed(text, RATE="0.5", QUIET="true", PORT="8080", L="off")
    assert (found.rates.working, found.quiet, found.service.health_port) == (0.5, True, 8080)
    assert found.jobs.shift.level == "off"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("store: ${NONE}", "store: the variable NONE is not set; set it, or write ${NONE:-DEFAULT} (line 1)"),
        ("store: x${EMPTY}", "store: the variable EMPTY is empty; set it, or write ${EMPTY:-DEFAULT} (line 1)"),
        ("store: $NONE", "store: write ${NONE} for the variable, or $$NONE for the text itself (line 1)"),
        (
            "store: ${a b}",
            "store: `${` begins the name of a variable, as in ${NAME}; for a dollar itself write $$ (line 1)",
        ),
        ("store: x ${", "store: `${` begins the name of a variable"),
        ("rates:\n  working: ${RATE}", "rates.working: ${RATE} is not between 0 and 1 (line 2)"),
        ("time_zone: ${SECRET}", "time_zone: ${SECRET} is not a time zone; write e.g. Europe/Helsinki or UTC (line 1)"),
        ("jobs: {shift: {at: '${SECRET}'}}", "jobs.shift.at: ${SECRET} is not a time of day; write e.g. 03:30"),
        ("jobs: {shift: {cron: '${SECRET}'}}", "jobs.shift.cron: ${SECRET} is not a cron expression"),
        ("quiet: ${SECRET}", "quiet: ${SECRET} is not true or false (line 1)"),
        ("scopes: ['${SECRET}']", "scopes[0]: ${SECRET} is not a scope"),
        ("merge: {base_url: '${SECRET}'}", "merge.base_url: ${SECRET} is not a URL"),
        ("ping:\n  start: ${SECRET}", "ping.start: "),
        ("channels: {x: {type: '${SECRET}'}}", "channels.x.type: must be one of apprise, "),
    ],
)
def test_a_variable_that_does_not_do_is_said_without_its_value(text: str, said: str, refused: Refused) -> None:
    """A problem with the path where it is used, once; what the variable holds is not repeated."""
    (line,) = refused(text, {"EMPTY": "", "RATE": "7777", "SECRET": "sesame99"})
    assert line.startswith(said)
    assert "7777" not in line
    assert "sesame99" not in line


def test_a_file_stands_for_what_it_holds(tmp_path: Path) -> None:
    """Beside the settings, or wherever a variable says; without the space around it."""
    (tmp_path / "key").write_text("\ufeff  k-1 \n\n")
    (tmp_path / "url").write_text("tgram://123:token/1\n")
    (tmp_path / "hook").write_text("https://hook.example/in")
    (tmp_path / "store").write_text("postgresql://ada:k-1@h/d\n")
    (tmp_path / "s.yaml").write_text(
        "store_file: store\nembedding: {api_key_file: key}\nmerge: {api_key_file: '${DIR}/key', api_key: null}\n"
        "channels:\n  a: {type: apprise, url_file: url}\n  b: {type: webhook, url_file: hook, secret_file: key}\n"
        "ping: {start_file: hook}"
    )
    found = load_settings(tmp_path / "s.yaml", {"DIR": str(tmp_path)})
    assert found.store == "postgresql://ada:k-1@h/d"
    secrets = [found.embedding.api_key, found.merge.api_key, found.ping.start]
    assert [each and each.get_secret_value() for each in secrets] == ["k-1", "k-1", "https://hook.example/in"]
    a, b = found.channels["a"], found.channels["b"]
    assert isinstance(a, AppriseChannel)
    assert isinstance(b, WebhookChannel)
    assert (a.url.get_secret_value(), b.url.get_secret_value()) == ("tgram://123:token/1", "https://hook.example/in")
    assert b.secret is not None
    assert b.secret.get_secret_value() == "k-1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("merge: {api_key_file: none}", "merge.api_key_file: none cannot be read: No such file or directory (line 1)"),
        ("merge: {api_key_file: .}", "merge.api_key_file: . cannot be read: not a file"),
        ("merge: {api_key_file: empty}", "merge.api_key_file: empty is empty"),
        ("merge: {api_key_file: bytes}", "merge.api_key_file: bytes is not UTF-8 text"),
        ("merge: {api_key_file: nul}", "merge.api_key_file: nul holds a NUL"),
        ("merge: {api_key_file: long}", "merge.api_key_file: long is longer than 64 kB, which no secret is"),
        ("merge: {api_key_file: 5}", "merge.api_key_file: is not the path of a file"),
        ("merge: {api_key_file: '${NO}'}", "merge.api_key_file: the variable NO is not set"),
        ("merge: {api_key: x, api_key_file: key}", "merge.api_key_file: api_key is given too; leave one of them out"),
        ("channels: {x: {type: webhook, url_file: none}}", "channels.x.url_file: none cannot be read"),
        ("channels: {x: {type: webhook, url_file: key}}", "channels.x.url: not an address of the form"),
        ("channels: {x: {type: file, path_file: key}}", "channels.x.path_file: unknown; "),
        ("merge: {model_file: key}", "merge.model_file: unknown; did you mean "),
        ("time_zone_file: key", "time_zone_file: unknown; did you mean time_zone?"),
        ("merge: {api_key_fle: key}", "merge.api_key_fle: unknown; did you mean merge.api_key_file?"),
    ],
)
def test_a_file_that_does_not_do_is_said(text: str, said: str, tmp_path: Path) -> None:
    """What is wrong with it, and never what it holds; a key that takes no file is unknown."""
    (tmp_path / "s.yaml").write_text(text)
    (tmp_path / "s.yaml").chmod(0o600)
    for name, content in (
        ("key", b"sesame99"),
        ("empty", b" \n"),
        ("bytes", b"sesame99\xff"),
        ("nul", b"sesame99\0"),
        ("long", b"sesame99" * 10_000),
    ):
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BadSettings) as refusal:
        load_settings(tmp_path / "s.yaml", {})
    assert any(line.startswith(f"{tmp_path / 's.yaml'}: {said}") for line in refusal.value.lines)
    assert "url: is missing" not in str(refusal.value)
    assert "sesame99" not in str(refusal.value)


def test_files_that_others_can_read_are_noted(tmp_path: Path) -> None:
    """That of a secret, and the settings themselves where they hold one; nothing is refused for it."""
    file, key = tmp_path / "s.yaml", tmp_path / "key"
    key.write_text("k")
    file.write_text("merge: {api_key_file: key}")
    for mode, noted in ((0o600, False), (0o640, False), (0o644, True), (0o620, True)):
        key.chmod(mode)
        (tmp_path / "s.yaml").chmod(0o644)
        notes = read_settings(file, {}).notes
        assert len(notes) == noted
        assert all(f"chmod 600 {key}" in note for note in notes)
    key.chmod(0o600)
    for secret in (
        "merge: {api_key: k}",
        "store: postgresql://a:b@c/d",
        "channels: {x: {type: apprise, url: 'ntfys://t'}}",
    ):
        file.write_text(secret)
        assert f"{file}: holds secrets and can be read by others" in read_settings(file, {}).notes[0]
    for harmless in ("merge: {api_key: '${K}'}", "store: postgresql://a@c/d", "channels: {x: {type: stdout}}"):
        file.write_text(harmless)
        assert read_settings(file, {"K": "k"}).notes == ()


def test_paths_lead_from_the_folder_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of stores, channels, backups and metrics; a URL is no path, and `~` is home."""
    monkeypatch.setenv("HOME", "/home/ada")
    file = tmp_path / "s.yaml"
    file.write_text(
        "store: a.db\nstores: {b: sqlite:///b.db, c: sqlite:////c.db, d: postgresql://h/d, e: ~/e.db}\n"
        "channels: {log: {type: file, path: ../x/./log.txt}}\n"
        "jobs: {backup: {folder: copies}}\nmetrics: {textfile: /m.prom}"
    )
    found = load_settings(file, {})
    assert found.store == str(tmp_path / "a.db")
    assert found.stores == {
        "b": str(tmp_path / "b.db"), "c": "sqlite:////c.db", "d": "postgresql://h/d", "e": "/home/ada/e.db",
    }  # fmt: skip
    assert getattr(found.channels["log"], "path", None) == str(tmp_path.parent / "x" / "log.txt")
    assert found.jobs.backup.folder == str(tmp_path / "copies")
    assert found.metrics.textfile == "/m.prom"
