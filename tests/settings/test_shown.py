"""What a person sees of the settings: all that is in force, where it is from, and no secret."""

from pathlib import Path
from typing import Any

import pytest

from consolidator.settings import Settings, parse_settings, read_settings
from consolidator.settings.references import Elsewhere
from consolidator.settings.shown import hidden_url, lines_of, masked, origins, without_password

TOKEN = "AAEhBP0av28FrHq4tokentokentoken"
ALL = f"""\
store: postgresql://ada:{TOKEN}@db.example/memories?sslmode=require&password={TOKEN}
stores: {{team: "postgresql://ada:${{PG}}@h/d", other: "postgresql://${{DATABASE_PASSWORD}}@h/d"}}
embedding: {{api_key_file: key, base_url: "https://u:{TOKEN}@h.example/v1?api-version=3&key={TOKEN}"}}
merge: {{api_key: "${{MERGE_KEY}}"}}
channels:
  chat: {{type: apprise, url: "tgram://123456789:{TOKEN}/-1001234"}}
  hook: {{type: webhook, url: "https://u:{TOKEN}@hook.example:8443/in/{TOKEN}?key={TOKEN}", secret: {TOKEN}}}
  claw: {{type: openclaw, via: wake, url_file: url, token_file: key}}
ping: {{start: "https://ping.example/{TOKEN}"}}
rates:
  working: ${{RATE}}
scopes: ["user=ada,project=atlas", ""]
"""


@pytest.fixture
def shown(tmp_path: Path) -> tuple[dict[str, Any], str]:
    """The settings above as data, and as text."""
    (tmp_path / "key").write_text(TOKEN)
    (tmp_path / "url").write_text(f"http://127.0.0.1:18789/{TOKEN}")
    (tmp_path / "s.yaml").write_text(ALL)
    environ = {"PG": TOKEN, "DATABASE_PASSWORD": TOKEN, "MERGE_KEY": TOKEN, "RATE": "0.5"}
    reading = read_settings(tmp_path / "s.yaml", environ)
    data = masked(reading.settings, reading.sources)
    return data, "\n".join(lines_of(data, origins(reading.lines, reading.sources)))


def test_no_secret_is_shown(shown: tuple[dict[str, Any], str]) -> None:
    """Wherever it is: in a key, a URL, a file or a variable."""
    data, text = shown
    assert TOKEN not in text
    assert TOKEN not in str(data)
    assert data["store"] == "postgresql://ada:***@db.example/memories?sslmode=require&password=***"
    assert data["stores"] == {"team": "postgresql://ada:***@h/d", "other": "postgresql://${DATABASE_PASSWORD}@h/d"}
    assert data["embedding"]["base_url"] == "https://u:***@h.example/v1?api-version=3&key=***"
    assert data["channels"]["chat"]["url"] == "tgram://***"
    assert data["channels"]["hook"]["url"] == "https://hook.example:8443/***"
    assert data["channels"]["claw"]["url"] == "http://127.0.0.1:18789/***"
    assert data["ping"]["start"] == "https://ping.example/***"


def test_what_is_in_force_is_shown_with_where_it_is_from(shown: tuple[dict[str, Any], str]) -> None:
    """A line, a variable, a file; what has no remark has its default."""
    data, text = shown
    assert data.keys() == Settings.model_fields.keys()
    assert data["scopes"] == ["project=atlas,user=ada", "{}"]
    assert "\n  working: 0.5  # line 11, from $RATE\n  consolidated: 0.977\n" in text
    assert '\n  api_key: "***"  # line 3, from key\n' in text
    assert '\n  api_key: "***"  # line 4, from $MERGE_KEY\n' in text


def test_a_secret_in_a_wrong_place_is_not_shown() -> None:
    """An address where none belongs, and what a program is started with."""
    found = parse_settings(
        "channels: {c: {type: openclaw, channel: x, to: 'tgram://hunter/1', command: [openclaw, --token, hunter]}}\n"
        "merge: {prices: {'https://h/hunter': {input: 1, output: 1}}}\npersona: see https://hc/hunter\n"
        "scopes: ['at=postgresql://u:hunter@h/x']\nreport: ${TOKEN:-off}",
        "s.yaml",
        environ={},
    )
    data = masked(found, {("report",): Elsewhere("${TOKEN:-hunter}", ("TOKEN",))})
    assert "hunter" not in str(data)
    assert data["channels"]["c"]["command"] == ["openclaw", "***", "***"]
    assert data["report"] == "${TOKEN:-***}"


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("s3cret", "***"),
        ("ntfys://topic", "ntfys://***"),
        ("http://127.0.0.1:18789", "http://127.0.0.1:18789"),
        ("https://h.example/", "https://h.example/"),
        ("https://h.example?token=x", "https://h.example/***"),
        ("https://user@h.example", "https://h.example/***"),
        ("https://h.example:port/x", "https://***"),
        ("https://[x/y", "https://***"),
        ("not a scheme://x", "***"),
    ],
)
def test_of_a_secret_that_is_an_address_the_server_is_seen(given: str, seen: str) -> None:
    """The beginning of a URL tells which it is; the rest may be a token."""
    assert hidden_url(given) == seen


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("memories.db", "memories.db"),
        ("sqlite:///a/b.db", "sqlite:///a/b.db"),
        ("postgresql://ada@h/d", "postgresql://ada@h/d"),
        ("postgresql://ada:p@ss/w?rd@h/d", "postgresql://ada:***@h/d"),
        ("postgresql://:pw@h/d", "postgresql://:***@h/d"),
        ("https://token@h/v1", "https://***@h/v1"),
        ("https://h/v1?api_key=x&v=1", "https://h/v1?api_key=***&v=1"),
    ],
)
def test_of_a_store_and_an_address_the_password_is_hidden(given: str, seen: str) -> None:
    """However it is written."""
    assert without_password(given) == seen
