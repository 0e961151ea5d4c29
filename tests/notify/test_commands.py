"""`consolidate notify`, as a person gives it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from consolidator.notify.deliver import entries_of
from consolidator.notify.message import message_of
from consolidator.settings import load_settings
from consolidator.store.engine import open_store
from consolidator.store.outbox import put
from tests.cli.conftest import Consolidate, consolidate, own_folders, wall
from tests.lives import EVE, day
from tests.notify.kinds import SECRET
from tests.notify.nights import NIGHTS
from tests.notify.servers import Answer, Server

__all__ = ["consolidate", "own_folders", "wall"]  # fixtures
TOLD_AT = day(EVE)


@pytest.fixture
def settings(tmp_path: Path, server: Callable[..., Server]) -> tuple[Path, Server]:
    """A settings file with a channel of each local kind, one that leads to a server, and one to nowhere."""
    here = server()
    path = tmp_path / "schedules.yaml"
    path.write_text(f"""
channels:
  hook: {{type: webhook, url: "{here.url}/{SECRET}", secret: "{SECRET}"}}
  log: {{type: file, path: night.txt}}
  here: {{type: stdout}}
  bad: {{type: apprise, url: "nonsense://{SECRET}"}}
""")
    return path, here


def test_a_test_message_goes_to_the_channel_now(
    settings: tuple[Path, Server], consolidate: Consolidate, tmp_path: Path
) -> None:
    """Without a store; a file is beside the settings."""
    path, here = settings
    for name, shown in [("hook", f"webhook {here.url}"), ("log", f"file {tmp_path / 'night.txt'}"), ("here", "stdout")]:
        ended = consolidate("--settings", path, "notify", "test", name)
        assert (ended.code, ended.err) == (0, f"{name} ({shown}): sent.\n")
        assert ("*stars*, <tags> & 会议 🙂 arrive" in ended.out) is (name == "here")
    assert here.arrived[0].json["type"] == "test"
    assert "A test of the channel log: *stars*" in (tmp_path / "night.txt").read_text()


def test_a_test_message_that_is_not_taken_is_exit_1_with_the_reason(
    settings: tuple[Path, Server], consolidate: Consolidate
) -> None:
    """In one line that repeats no secret."""
    path, here = settings
    here.rule = lambda _: Answer(403, f"no {SECRET}".encode())
    ended = consolidate("--settings", path, "notify", "test", "hook")
    ended.refused(f"hook (webhook {here.url}): not sent: answered 403 (Forbidden): no ***", code=1)
    ended = consolidate("--settings", path, "notify", "test", "bad")
    ended.refused("bad (apprise nonsense): not sent: its URL means nothing to Apprise", code=1)
    assert SECRET not in ended.err


def test_an_unknown_channel_is_refused(settings: tuple[Path, Server], consolidate: Consolidate) -> None:
    """And the known ones are named."""
    consolidate("--settings", settings[0], "notify", "test", "chat").refused("there are hook, log, here, bad")
    consolidate("notify", "test", "chat").refused("the settings have none")


@pytest.fixture
def told(settings: tuple[Path, Server], made_store_url: str, consolidate: Consolidate) -> Consolidate:
    """Commands with a store, once of each kind, in whose outbox a message waits for three channels."""
    channels = load_settings(settings[0]).channels
    message = message_of(NIGHTS["failed"](), level="errors")
    assert message
    with open_store(made_store_url, mode="write") as store, store.write() as conn:
        put(conn, entries_of(message, {name: channels[name] for name in ("hook", "bad")}), run_key=None, now=TOLD_AT)
        put(conn, entries_of(message, {"gone": channels["here"]}), run_key=None, now=TOLD_AT)

    def give(*arguments: object):
        return consolidate("--store", made_store_url, "--settings", settings[0], "notify", *arguments)

    return give


def test_the_outbox_lists_what_waits_and_why(told: Consolidate, settings: tuple[Path, Server]) -> None:
    """Nothing is sent by looking; no secret is shown."""
    ended = told("outbox")
    assert ended.code == 0
    assert not settings[1].arrived
    assert ended.out.count("waiting") == 3
    assert "gone" in ended.out
    assert "the settings have no channel of this name" in ended.out
    assert SECRET not in ended.out
    document = told("outbox", "--json").document
    assert SECRET not in str(document)
    assert [each["channel"] for each in document["outbox"]] == ["gone", "bad", "hook"]
    assert set(document["outbox"][0]) == {
        "id", "run_id", "channel", "kind", "title", "level", "part", "parts", "state", "attempts", "created_at",
        "next_at", "delivered_at", "reason",
    }  # fmt: skip


def test_retry_sends_now_and_says_what_became_of_it(told: Consolidate, settings: tuple[Path, Server]) -> None:
    """Exit 3 where some could not be sent, 1 where none could, 0 where nothing is left to try."""
    path, here = settings
    ended = told("outbox", "--retry")
    assert ended.code == 3
    assert ended.out.startswith("Tried 2, sent 1.\n")
    assert len(here.arrived) == 1
    lines = {line.split()[1]: line for line in ended.out.splitlines()[2:]}
    assert "delivered" in lines["hook"]
    assert "given up" in lines["bad"]
    assert "its URL means nothing to Apprise" in lines["bad"]
    assert told("outbox", "--retry").code == 1
    path.write_text(path.read_text().replace(f"nonsense://{SECRET}", f"json://127.0.0.1:{here.port}"))
    assert told("outbox", "--retry").code == 0
    ended = told("outbox", "--retry")
    assert (ended.code, ended.out.splitlines()[0]) == (0, "Nothing waits to be sent.")
    assert told("outbox", "-n", "0", "--json").document["outbox"] == [
        each for each in told("outbox", "--json").document["outbox"] if each["channel"] == "gone"
    ]


def test_an_empty_outbox_is_said(made_store_url: str, consolidate: Consolidate) -> None:
    """Rather than nothing."""
    ended = consolidate("--store", made_store_url, "notify", "outbox")
    assert (ended.code, ended.out) == (0, "The outbox is empty: no message was written yet.\n")


def test_a_json_listing_is_one_document_also_where_a_channel_prints(
    settings: tuple[Path, Server], made_store_url: str, consolidate: Consolidate
) -> None:
    """What would be printed waits."""
    channels = load_settings(settings[0]).channels
    message = message_of(NIGHTS["failed"](), level="errors")
    assert message
    with open_store(made_store_url, mode="write") as store, store.write() as conn:
        put(conn, entries_of(message, {"here": channels["here"]}), run_key=None, now=TOLD_AT)
    command = ("--store", made_store_url, "--settings", settings[0], "notify", "outbox", "--retry")
    assert consolidate(*command, "--json").document["outbox"][0]["state"] == "waiting"
    ended = consolidate(*command)
    assert ended.out.startswith(message.text)
    assert "delivered" in ended.out
