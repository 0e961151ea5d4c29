"""Secrets: what must not leave the machine is found, what only looks like it is let through."""

import json
from pathlib import Path

import pytest

from consolidator.merging import secrets as room
from consolidator.merging.secrets import find_secrets

MIXED = "aB3dE9xYzQ"

# Put together here, so that no reader of this repository takes an example for a leak.
TOKENS = {
    "AWS key": "AK" + "IAIOSFODNN7EXAMPLE",
    "GitHub token": "gh" + "p_" + "abcdefghijklmnopqrstuvwxyz0123456789",
    "GitLab token": "gl" + "pat-" + MIXED * 2,
    "Slack token": "xo" + "xb-123456789012-abcdefghijkl",
    "Stripe key": "sk" + "_live_4eC39HqLyjWDarjtT1",
    "Anthropic key": "sk-" + "ant-api03-" + MIXED * 4,
    "OpenAI key": "sk-" + "proj-" + MIXED * 4,
    "OpenRouter key": "sk-" + "or-v1-" + "0123456789abcdef" * 2,
    "Google key": "AI" + "za" + (MIXED * 4)[:35],
    "Hugging Face token": "hf" + "_" + "abcdefghij" * 3 + "klmn",
    "npm token": "npm" + "_" + (MIXED * 4)[:36],
    "PyPI token": "py" + "pi-" + MIXED * 4,
    "SendGrid key": "SG" + "." + MIXED * 2 + "." + MIXED * 4,
    "Mailchimp key": "0123456789abcdef" * 2 + "-us12",
    "Twilio key": "SK" + "0123456789abcdef" * 2,
    "Telegram token": "123456789:" + (MIXED * 4)[:35],
    "Discord token": "M" + "A" * 23 + ".abcdef." + "b" * 27,
    "Azure key": "Account" + "Key=" + MIXED * 4 + "==",
    "DigitalOcean token": "dop" + "_v1_" + "0123456789abcdef" * 4,
    "Shopify token": "shp" + "at_" + "0123456789abcdef" * 2,
    "Square token": "sq0" + "atp-" + (MIXED * 3)[:22],
    "Groq key": "gsk" + "_" + MIXED * 5,
    "xAI key": "xai" + "-" + MIXED * 8,
    "Databricks token": "dap" + "i" + "0123456789abcdef" * 2,
    "Notion token": "ntn" + "_" + MIXED * 5,
    "Linear key": "lin" + "_api_" + MIXED * 4,
    "Vault token": "hvs" + "." + MIXED * 3,
    "age key": "AGE-SECRET" + "-KEY-1" + "Q" * 58,
    "JSON web token": "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "private key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "password in a URL": "postgres://bob:" + "s3cret@db.example.com/x",
    "authorization header": "Authorization: " + "Bearer abcdef123456789",
    "payment card": "4111 1111 1111 1111",
    "bank account": "FI21 1234 5600 0007 85",
}


@pytest.mark.parametrize(("kind", "token"), TOKENS.items())
@pytest.mark.parametrize("frame", ["{}", "It is {}.", "use\n{}\nfor that", "(“{}”)"])
def test_a_secret_of_known_form_is_found_wherever_it_stands(kind: str, token: str, frame: str) -> None:
    """A key, a token, a card is told by its form, whatever is around it."""
    assert kind in find_secrets(frame.format(token))


def test_every_form_has_an_example() -> None:
    """No pattern is left untried."""
    assert set(room._TOKENS) <= set(TOKENS)


@pytest.mark.parametrize(
    "content",
    [
        "the password is hunter2",
        "password: hunter2secret",
        "password: swordfish",
        "password = swordfish",
        "pwd 'letmein'",
        'the password is "open sesame"',
        "Wifi password: correct-horse-9",
        "the wifi password for home is Kissa123!",
        "DB_PASSWORD=s3cr3t!",
        "PIN code is 4821",
        "Salasana on kissa123",
        "Das Passwort ist Katze#1",
        "密码：abc12345",
        "密码是 abc12345",
        "Das Passwort lautet Sommer2024",
        "the card 5555-5555-5555-4444 and its code",
        "The API key is aZ81kd02mmQ2x9",
        "The secret token is q8Zr2LxPw9TnB4vKd7Yc",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY",
    ],
)
def test_what_follows_a_word_for_a_secret_is_one(content: str) -> None:
    """A password has no form; the word before it tells it."""
    assert find_secrets(content)


@pytest.mark.parametrize(
    "content",
    [
        "commit 9f86d081884c7d659a2feaa0c55ad015b0b0b0b0 fixed the token bug",
        "id 123e4567-e89b-12d3-a456-426614174000 is the token id",
        "The password is stored in the vault",
        "Ada forgot her password",
        "the secret is patience",
        "The key to success is work",
        "Ada's secret: she likes tea",
        "a token of love",
        "Her password was changed on 12 May 2026",
        "secret ingredient: cinnamon",
        "Call +358 40 1234567",
        "Ada's phone has the IMEI 490154203237518.",
        "Message 1846970468434630866 was pinned.",
        "Parcel 9400110200881234567890 is on its way, and order 3000000000000004.",
        "The password for this is the one on the note.",
        "order 1234-5678-9012-3456",
        "https://example.com:8080/path@x",
        "The token budget is 100,000 tokens",
        "Token count: 4096",
        "PIN is required",
        "Access key: see the wiki",
        "password: <redacted>",
        "Set OPENAI_API_KEY=<your key> first.",
        "PASSWORD=${DB_PASSWORD}",
        "",
    ],
)
def test_what_only_looks_like_a_secret_is_none(content: str) -> None:
    """Words about secrets, hashes of commits and UUIDs are let through."""
    assert find_secrets(content) == ()


def test_ordinary_sentences_are_no_secrets(shared_data: Path) -> None:
    """No sentence of the sets of pairs, and no memory of the conversations, is held back."""
    contents = [
        row[side]
        for name in ("msrp", "stsb", "sick")
        for row in map(json.loads, (shared_data / "pairs" / f"{name}.train.jsonl").read_text("utf-8").splitlines())
        for side in "ab"
    ]
    for file in sorted((shared_data / "locomo").glob("*.memories.jsonl")):
        rows = map(json.loads, file.read_text("utf-8").splitlines())
        contents += [row["content"] for row in rows if row["kind"] == "memory"]
    assert not [content for content in contents if find_secrets(content)]
