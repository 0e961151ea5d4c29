"""What is told at which level: never more than the level allows, and nothing where there is nothing to tell."""

from collections.abc import Callable
from typing import Any

import pytest

from consolidator.errors import BadInput
from consolidator.notify.brief import brief, digest_message
from consolidator.notify.channels import Channel, FileChannel, StdoutChannel, WebhookChannel
from consolidator.notify.message import LEVELS, Message, facts, message_of
from consolidator.notify.parts import MOST_PARTS, parcels_of, parts_of
from consolidator.notify.send import way_of
from consolidator.notify.webhook import document_of
from consolidator.report import Report
from consolidator.schedule.stopped import stopped_message
from consolidator.schedule.watch import Finding
from tests.notify.conftest import NOW
from tests.notify.kinds import APPRISE, apprise, openclaw, webhook
from tests.notify.nights import NIGHTS, TEXTS, WILD, failed, huge, partly, preview, quiet
from tests.report.weeks import busy_week

MEMORY_TEXT = [text[:12].strip() for text in [*TEXTS.values(), *WILD.values()]]


def everything(message: Any) -> str:
    return repr(message)


@pytest.mark.parametrize("name", NIGHTS)
@pytest.mark.parametrize("level", ["errors", "summary"])
def test_no_memory_text_below_detailed(name: str, level: str) -> None:
    """In no field, document included."""
    message = message_of(NIGHTS[name](), level=level)
    assert not any(text in everything(message) for text in MEMORY_TEXT)


@pytest.mark.parametrize("name", NIGHTS)
def test_a_wake_up_call_holds_counts_only(name: str) -> None:
    """Whatever the level: its text is trusted by the agent, so nothing that was read anywhere is in it."""
    report = NIGHTS[name]()
    message = message_of(report, level="detailed")
    assert message
    (part,) = parts_of(message, openclaw(via="wake", token="token"))
    assert part["body"] == message.counts
    assert not any(text in str(part) for text in MEMORY_TEXT)
    assert "life.db" not in str(part)
    assert "atlas" not in str(part)


def test_levels_say_what_they_are_for() -> None:
    """Off nothing; errors only trouble; summary sentences; detailed all, with the way back."""
    told = {(name, level): message_of(night(), level=level) for name, night in NIGHTS.items() for level in LEVELS}
    assert {key for key, message in told.items() if message is None} == {
        *((name, "off") for name in NIGHTS),
        ("sound", "errors"),
        ("quiet", "errors"),
        ("wild", "errors"),
    }
    assert "`consolidate undo " in told["sound", "detailed"].markdown
    assert told["sound", "summary"].text.count(". ") <= 2


def test_errors_can_be_muted() -> None:
    """`error_notification: false`: a failed night says nothing, and `errors` never; a sound night is told as ever."""
    for level in LEVELS:
        assert message_of(failed(), level=level, error_notification=False) is None
    assert message_of(partly(), level="errors", error_notification=False) is None
    assert message_of(partly(), level="summary", error_notification=False) is not None


def test_a_quiet_night_is_one_short_line_or_none() -> None:
    """None where `quiet` is set; trouble is told all the same."""
    message = message_of(quiet(), level="summary")
    assert message
    assert message.text == "A quiet night: nothing was due."
    for level in LEVELS:
        assert message_of(quiet(), level=level, quiet=True) is None
    assert message_of(failed(), level="summary", quiet=True) is not None
    assert message_of(NIGHTS["sound"](), level="summary", quiet=True) is not None


def test_a_preview_tells_nobody() -> None:
    """It is for who asked for it."""
    assert all(message_of(preview(), level=level) is None for level in LEVELS)


def test_an_unknown_level_is_refused() -> None:
    """And the known ones are named."""
    with pytest.raises(BadInput, match="off, errors, summary, detailed"):
        message_of(quiet(), level="loud")


class Model:
    """Says what it is told to, and keeps what it was asked."""

    def __init__(self, reply: str | None) -> None:
        self.reply = reply
        self.asked: list[tuple[dict[str, Any], str | None]] = []

    def __call__(self, facts: dict[str, Any], persona: str | None) -> str | None:
        self.asked.append((facts, persona))
        return self.reply


def told_by(reply: str | None, night: Callable[[], Report], level: str = "summary") -> tuple[str, Model]:
    model = Model(reply)
    message = message_of(night(), level=level, phrase=model, persona="a friendly owl")
    assert message
    return message.text, model


def test_a_model_may_find_the_words_for_a_sound_night() -> None:
    """It is given numbers and a persona, and no memory text, name or scope."""
    text, model = told_by("Hoo! I strengthened 1 memory.", NIGHTS["sound"])
    assert text == "Hoo! I strengthened 1 memory."
    ((given, persona),) = model.asked
    assert persona == "a friendly owl"
    assert given == facts(NIGHTS["sound"]())
    assert not any(word in str(given) for word in [*MEMORY_TEXT, "ada", "atlas"])
    assert 0 not in given["done"].values()


@pytest.mark.parametrize("reply", [None, "", "I can't help with that.", "I strengthened 5 memories.", "x" * 501])
def test_words_that_cannot_be_trusted_are_replaced_by_the_rules(reply: str | None) -> None:
    """Empty, refused, made up or too long."""
    rule = message_of(NIGHTS["sound"](), level="summary")
    assert rule
    assert told_by(reply, NIGHTS["sound"])[0] == rule.text


def test_trouble_is_never_left_to_a_model() -> None:
    """What was left out stands after its words; a failed or quiet night, or another level, does not ask it."""
    text, model = told_by("All went well.", partly)
    assert text.startswith("All went well. 1 decision was left out because")
    for night, level in [(failed, "summary"), (quiet, "summary"), (NIGHTS["sound"], "detailed")]:
        text, model = told_by("All went well.", night, level)
        assert not model.asked
        assert "All went well" not in text


def test_markup_of_a_model_is_text() -> None:
    """Its words are escaped as a memory's are."""
    message = message_of(NIGHTS["sound"](), level="summary", phrase=Model("*Hoo* <b>1</b>"))
    assert message
    assert message.markdown == r"\*Hoo\* \<b>1\</b>."


@pytest.mark.parametrize("service", APPRISE)
def test_a_huge_report_is_a_bounded_number_of_parts(service: str) -> None:
    """Each within the limit; the last says where the rest is."""
    channel = apprise(APPRISE[service])
    message = message_of(huge(), level="detailed")
    assert message
    parts = parts_of(message, channel)
    assert len(parts) <= MOST_PARTS
    if len(parts) == MOST_PARTS:
        assert f"consolidate show {message.name}" in parts[-1]["body"]
    for payload in parts:
        assert len(list(parcels_of(payload, channel, key="key", now=NOW, late=True))) == 1


def test_a_message_that_comes_late_says_which_night_it_means() -> None:
    """Where no title goes beside it and the text does not say it itself."""
    message = message_of(failed(), level="errors")
    assert message
    for channel, begins in [
        (
            apprise(APPRISE["telegram"]),
            "<b>Night of 2026-05-30 03:30 UTC: the night failed on the way (told late)</b>\n",
        ),
        (apprise(APPRISE["mail"]), "The night failed"),
    ]:
        (payload,) = parts_of(message, channel)
        (parcel,) = parcels_of(payload, channel, key="key", now=NOW, late=True)
        assert parcel.text.startswith(begins)


MESSAGES: dict[str, Message | None] = {
    **{f"{name} {level}": message_of(NIGHTS[name](), level=level) for name in ("sound", "failed") for level in LEVELS},
    **{f"week {level}": digest_message(busy_week(), name="week", level=level) for level in ("summary", "detailed")},
    "purge": brief(
        name="p", kind="purge", title="The purge of 1 May", level="errors", lines=["The purge of 1 May: no"]
    ),
    "stopped": stopped_message([Finding("a:b", "shift", "it stopped", "it stopped")], now=NOW),
    "title alone": brief(name="t", kind="test", title="It happens again", level="errors", lines=["It happens again."]),
}
CHANNELS: dict[str, Channel] = {
    **{name: apprise(url) for name, url in APPRISE.items()},
    "webhook": webhook("https://example.org/hook"),
    "openclaw": openclaw(via="message", channel="signal", to="1"),
    "file": FileChannel(type="file", path="messages.txt"),
    "stdout": StdoutChannel(type="stdout"),
}


@pytest.mark.parametrize("name", [name for name, message in MESSAGES.items() if message])
@pytest.mark.parametrize("to", CHANNELS)
@pytest.mark.parametrize("late", [False, True])
def test_a_title_is_said_once_in_every_channel(name: str, to: str, late: bool) -> None:
    """Beside the text or at its beginning; and what stands beside it leaves nothing else of the text out."""
    message, channel = MESSAGES[name], CHANNELS[to]
    assert message
    first, *_ = parts_of(message, channel)
    (parcel, *_) = parcels_of(first, channel, key="key", now=NOW, late=late)
    texts = [parcel.text]
    if isinstance(channel, WebhookChannel):
        texts.append(str(document_of(parcel)["markdown"]))
    heading = message.title.partition(": ")[0]
    for text in texts:
        said = text.replace("\\", "").count(heading)
        assert said == 0 or name == "title alone" if way_of(channel).titled else said <= 1
        assert text.strip()


def test_a_part_fits_its_channel_however_that_was_set_anew() -> None:
    """A part cut for mail, sent by a chat now, goes as some messages with keys of their own."""
    message = message_of(NIGHTS["wild"](), level="detailed")
    assert message
    (payload,) = parts_of(message, apprise(APPRISE["mail"]))
    parcels = list(parcels_of(payload, apprise(APPRISE["discord"]), key="key", now=NOW, late=False))
    assert len(parcels) > 3
    assert all(len(parcel.text) <= 2_000 for parcel in parcels)
    assert [parcel.key for parcel in parcels[:3]] == ["key", "key.2", "key.3"]


def test_nothing_of_an_address_is_in_a_payload() -> None:
    """Secrets stay in the settings."""
    message = message_of(NIGHTS["sound"](), level="detailed")
    assert message
    for channel in [*map(apprise, APPRISE.values()), webhook("https://hook.example/s3cr3t", secret="s3cr3t")]:
        assert "s3cr3t" not in str(parts_of(message, channel))
