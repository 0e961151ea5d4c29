"""Channels are settings like any others, and keep their secrets."""

import pytest

from consolidator.errors import BadInput
from consolidator.notify.channels import hide, shown
from consolidator.settings import parse_settings

TOKEN = "AAEhBP0av28FrHq4tokentokentoken"
ALL = f"""
channels:
  chat:
    type: apprise
    url: tgram://123456789:{TOKEN}/-1001234
  mail: {{type: apprise, url: "mailto://ada:pass%20word%21@mail.example:2525/?to=a@b.example"}}
  program: {{type: webhook, url: "https://u:hunter2@hook.example:8443/in/{TOKEN}?key=sesame99", secret: whsec_c2VjcmV0}}
  claw: {{type: openclaw, channel: telegram, to: 123456789}}
  wake: {{type: openclaw, via: wake, token: {TOKEN}}}
  log: {{type: file, path: night.txt}}
  here: {{type: stdout}}
"""


def test_every_kind_of_channel_is_read() -> None:
    """By its type; what a person may see of it is no secret."""
    channels = parse_settings(ALL, "s.yaml").channels
    assert {name: shown(channel) for name, channel in channels.items()} == {
        "chat": "apprise tgram",
        "mail": "apprise mailto",
        "program": "webhook https://hook.example:8443",
        "claw": "openclaw message telegram",
        "wake": "openclaw wake http://127.0.0.1:18789",
        "log": "file night.txt",
        "here": "stdout",
    }
    assert TOKEN not in repr(channels)
    assert "hunter2" not in repr(channels)
    assert channels["claw"].to == "123456789"


def test_no_secret_of_a_channel_can_be_read_in_a_text() -> None:
    """As it is written, or as a URL writes it."""
    channels = parse_settings(ALL, "s.yaml").channels
    text = f"POST /bot123456789:{TOKEN}/sendMessage, https://u:hunter2@hook.example/in/{TOKEN}?key=sesame99"
    assert hide(text, channels["chat"]).startswith("POST /bot***/sendMessage, ")
    assert "hunter2" not in hide(text, channels["program"])
    assert "sesame99" not in hide(text, channels["program"])
    assert "c2VjcmV0" not in hide("signed with whsec_c2VjcmV0", channels["program"])
    assert hide("535 ada: pass word! or pass%20word%21", channels["mail"]) == "535 ada: *** or ***"
    assert hide("Bearer " + TOKEN, channels["wake"]) == "Bearer ***"
    assert hide("mail.example says no", channels["mail"]) == "mail.example says no"
    assert hide("the text", channels["log"]) == "the text"


@pytest.mark.parametrize(
    ("channel", "message"),
    [
        ("{url: tgram://SECRETSECRET/1}", "channels.x.type: must be one of apprise, webhook, openclaw, file, stdout"),
        ("{type: smoke, url: SECRETSECRET}", "channels.x.type: must be one of"),
        ("SECRETSECRET", "channels.x: not a group of settings"),
        ("{type: apprise, urll: SECRETSECRET}", "channels.x"),
        ("{type: apprise, url: tgram://x/1, urll: SECRETSECRET}", "channels.x.urll: unknown; did you mean url?"),
        ("{type: webhook, url: SECRETSECRET}", "channels.x.url: not an address of the form https://host/path"),
        ("{type: webhook, url: [SECRETSECRET]}", "channels.x.url: "),
        ("{type: file}", "channels.x.path: is missing"),
        ("{type: openclaw}", "channels.x: via: message needs channel and to"),
        ("{type: openclaw, channel: telegram, to: --help}", "channels.x.to: "),
        ("{type: openclaw, via: wake}", "channels.x: via: wake needs token"),
        ("{type: webhook, url: 'http://a.example', timeout_seconds: 0}", "channels.x.timeout_seconds: "),
    ],
)
def test_a_channel_that_cannot_be_is_refused_without_a_word_of_it(channel: str, message: str) -> None:
    """The path and what to write instead; values, which may be secrets, are not repeated."""
    with pytest.raises(BadInput) as refused:
        parse_settings(f"channels:\n  x: {channel}", "s.yaml")
    assert f"s.yaml: {message}" in str(refused.value)
    assert "SECRETSECRET" not in str(refused.value)


@pytest.mark.parametrize("name", ["a b", "", "a:b", "x/y"])
def test_the_name_of_a_channel_is_a_word(name: str) -> None:
    """It is part of keys and commands."""
    with pytest.raises(BadInput, match="no name for a channel"):
        parse_settings(f"channels:\n  '{name}': {{type: stdout}}", "s.yaml")
