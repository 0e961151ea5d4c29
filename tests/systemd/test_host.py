"""Units fit the machine: whose they are, what they may write, where their secrets are, and what will not work."""

import os
from collections.abc import Callable
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from consolidator.errors import BadInput, BadSettings
from consolidator.schedule import host as module
from consolidator.schedule.host import Call, host_of
from consolidator.schedule.units import Host
from consolidator.settings import read_settings
from consolidator.settings.duty import duties
from tests.conftest import unavailable

NOBODY, DAEMON = 65534, 1
Found = Callable[..., tuple[Host, list[str]]]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is nobody's, and no more private to a service than any other."""
    if os.geteuid() != 0:
        unavailable("not root")
    monkeypatch.setattr(module, "_PRIVATE", ())
    monkeypatch.setattr(module, "STATE_FOLDER", tmp_path / "state")
    os.chown(tmp_path, NOBODY, NOBODY)
    return tmp_path


@pytest.fixture
def found(place: Path) -> Found:
    """What is found for these settings."""

    def found(
        text: str, *, store: str | None = None, own: bool = False, environ: dict[str, str] | None = None
    ) -> tuple[Host, list[str]]:
        file = place / "s.yaml"
        file.write_text(text)
        file.chmod(0o600)
        reading = read_settings(file, environ or {})
        due = duties(reading.settings, ZoneInfo("UTC"))
        host, notes = host_of(Call(store, file, own, environ or {}), reading, due)
        return host, [note for note in notes if "cannot" not in note and "no store yet" not in note]

    return found


def test_a_store_s_owner_runs_the_units_and_writes_its_folder(found: Found, place: Path) -> None:
    """Of a store that is not there yet, the owner of its folder. A person's own units are theirs anyway."""
    host, _ = found("store: m.db")
    assert (host.account, host.writes) == ("nobody", (str(place),))
    assert found("store: m.db", own=True)[0].account is None
    (place / "m.db").write_text("")
    os.chown(place / "m.db", DAEMON, DAEMON)
    assert found("store: m.db")[0].account == "daemon"


def test_without_a_file_of_theirs_the_units_have_an_account_of_their_own(found: Found, place: Path) -> None:
    """With Postgres, or a store in the state folder, which becomes theirs, whoever made it."""
    (place / "state").mkdir()
    (place / "state" / "m.db").write_text("")
    for text in ("", "store: postgresql://h/d", "store: state/m.db"):
        host, _ = found(text)
        assert (host.account, host.writes) == (None, ())


def test_what_else_is_written_is_open(found: Found, place: Path) -> None:
    """Files of channels, backups, metrics, and the stores of jobs that are on."""
    text = (
        "store: m.db\nstores: {a: a/a.db, b: b/b.db}\nchannels: {log: {type: file, path: log/x.txt}}\n"
        "metrics: {textfile: prom/c.prom}\n"
        "jobs: {backup: {enabled: true, folder: copies}, shift: {store: a}, purge: {enabled: false, store: b}}"
    )
    assert found(text)[0].writes == tuple(
        str(place / name) for name in ("", "a", "copies", "log", "prom")
    )  # fmt: skip
    assert str(place / "a") not in found(text, store=str(place / "m.db"))[0].writes


def test_the_stores_of_other_systems_that_a_night_writes_are_open(found: Found, place: Path) -> None:
    """Their folders, where the settings name them; a server needs none, and what no job names stays shut."""
    (place / "a.db").write_text("")
    text = (
        "store: state/m.db\nsources:\n  a: {url: 'formative:a.db'}\n  b: {url: 'markdown:notes'}\n"
        "  c: {url: 'memory-smart:http://h:1/c'}\n  d: {url: memory-new}\n  e: {url: 'markdown:other'}\n"
        "jobs: {consolidate: {sources: [a, b, c, d]}}"
    )
    host, notes = found(text)
    assert host.writes == (str(place), str(place / "notes"))
    assert notes == ["sources.d.url: names no place, and units write only in those that are named; memory-new:PLACE"]
    assert found(text, own=True)[1] == []


def test_a_store_that_no_unit_can_have_is_refused(found: Found, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root's, one whose folder is private to each service, and those of several people at once."""
    (place / "a").mkdir()
    with pytest.raises(BadInput, match=r"a/m\.db: the store is root's"):
        found("store: a/m.db")
    os.chown(place / "a", DAEMON, DAEMON)
    with pytest.raises(BadInput, match="of several people"):
        found("store: a/m.db\nstores: {b: b.db}\njobs: {shift: {store: b}}")
    os.chown(place / "a", 54_321, 54_321)
    with pytest.raises(BadInput, match="has no name on this machine"):
        found("store: a/m.db")
    monkeypatch.setattr(module, "_PRIVATE", (place,))
    with pytest.raises(BadSettings, match="services of the system have a /tmp of their own"):
        found("store: m.db")
    assert found("store: m.db", own=True)[0].writes == (str(place),)


def test_secrets_among_a_unit_s_credentials_are_loaded(found: Found, place: Path) -> None:
    """Those that the settings look for there; a person's own units read the files themselves."""
    (place / "keys").mkdir()
    for name in ("merge", "chat", "other"):
        (place / "keys" / name).write_text("slack://x")
    text = (
        'merge: {api_key_file: "${CREDENTIALS_DIRECTORY:-keys}/merge"}\nembedding: {api_key_file: keys/other}\n'
        'channels: {chat: {type: apprise, url_file: "${CREDENTIALS_DIRECTORY:-keys}/chat"}}'
    )
    assert found(text)[0].credentials == (("chat", f"{place}/keys/chat"), ("merge", f"{place}/keys/merge"))
    assert found(text, own=True)[0].credentials == ()


def test_variables_that_the_units_would_miss_are_said(found: Found, place: Path) -> None:
    """Those that the settings or the models' libraries take from this shell, until they stand in the file."""
    text = 'merge: {api_key: "${MERGE_KEY}"}\npersona: "${MOOD:-calm}"'
    environ = {"MERGE_KEY": "sesame99", "OPENAI_API_KEY": "sesame99", "HOME": "/"}
    host, (said,) = found(text, environ=environ)
    assert host.environment == f"{place}/environment"
    assert said == (
        f"units do not see your shell: write MERGE_KEY=..., OPENAI_API_KEY=... into {place}/environment (chmod 600)"
    )
    (place / "environment").write_text("# keys\nMERGE_KEY=a\nOPENAI_API_KEY=b\n")
    assert found(text, environ=environ)[1] == []


def test_a_channel_that_starts_programs_finds_them(found: Found) -> None:
    """On the PATH of whoever installs; other channels start none."""
    claw = "channels: {claw: {type: openclaw, channel: telegram, to: '1'"
    assert found(f"{claw}}}}}", environ={"PATH": "/opt/node/bin"})[0].programs == "/opt/node/bin"
    assert found(f"{claw}, via: agent, token: x}}}}", environ={"PATH": "/opt/node/bin"})[0].programs is None


def test_what_the_account_cannot_reach_is_said(place: Path) -> None:
    """By the modes of files and folders: the settings read, what is written written."""
    for name in ("settings", "log", "deep"):
        (place / name).mkdir()
    file = place / "settings" / "s.yaml"
    file.write_text(f"store: {place}/m.db\nchannels: {{log: {{type: file, path: {place}/log/x}}}}")
    file.chmod(0o600)
    for folder in place.parents:
        if folder != Path("/tmp") and folder.is_relative_to("/tmp"):
            folder.chmod(0o755)
    place.chmod(0o755)

    def notes() -> list[str]:
        reading = read_settings(file, {})
        told = host_of(Call(None, file, False, {}), reading, duties(reading.settings, ZoneInfo("UTC")))[1]
        return [each.split(";")[0] for each in told if each.startswith(str(place)) and " cannot " in each]

    assert notes() == [f"{file}: nobody cannot read it", f"{place}/log: nobody cannot write there"]
    file.chmod(0o644)
    os.chown(place / "log", NOBODY, 0)
    assert notes() == []
    (place / "settings").chmod(0o700)
    assert notes() == [f"{file}: nobody cannot read it"]
