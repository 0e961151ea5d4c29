"""Messages read exactly as the golden files say, at each level, in text and Markdown, and in each service's markup."""

import os
from pathlib import Path

import pytest

from consolidator.notify.message import LEVELS, message_of
from consolidator.notify.parts import parcels_of, parts_of
from tests.notify.conftest import NOW
from tests.notify.kinds import APPRISE, apprise, openclaw
from tests.notify.nights import NIGHTS

GOLDEN = Path(__file__).parent / "golden"


def compare(name: str, text: str) -> None:
    """CONSOLIDATOR_WRITE_GOLDEN=1 writes them anew: read them. What says nothing has no file."""
    golden = GOLDEN / name
    if os.environ.get("CONSOLIDATOR_WRITE_GOLDEN"):
        golden.unlink(missing_ok=True)
        if text:
            golden.write_text(text + "\n", encoding="utf-8")
    assert text == (golden.read_text(encoding="utf-8").removesuffix("\n") if golden.exists() else "")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", NIGHTS)
def test_a_message_reads_as_its_golden_file(name: str, level: str) -> None:
    """In text and in Markdown, with the title and the counts that may be told anywhere."""
    message = message_of(NIGHTS[name](), level=level)
    compare(f"{name}.{level}.txt", f"{message.title}\n{message.counts}\n\n{message.text}" if message else "")
    compare(f"{name}.{level}.md", message.markdown if message else "")


@pytest.mark.parametrize("service", APPRISE)
@pytest.mark.parametrize(("name", "level"), [("wild", "detailed"), ("partly", "summary"), ("failed", "errors")])
def test_a_service_gets_it_in_its_own_markup(service: str, name: str, level: str) -> None:
    """Part by part."""
    channel = apprise(APPRISE[service])
    message = message_of(NIGHTS[name](), level=level)
    assert message
    texts = [
        parcel.text
        for payload in parts_of(message, channel)
        for parcel in parcels_of(payload, channel, key="key", now=NOW, late=False)
    ]
    compare(f"{name}.{level}.{service}", "\n=== next part ===\n".join(texts))


def test_openclaw_gets_markdown_in_parts() -> None:
    """It puts Markdown into the markup of the channel behind it."""
    message = message_of(NIGHTS["wild"](), level="detailed")
    assert message
    bodies = [part["body"] for part in parts_of(message, openclaw(channel="telegram", to="1"))]
    compare("wild.detailed.openclaw", "\n=== next part ===\n".join(bodies))
