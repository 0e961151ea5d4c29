"""What is to be told waits in the store until it is told, or given up where all can see it; on both stores."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from consolidator.errors import BadInput, ConsolidatorError
from consolidator.instants import SECOND
from consolidator.notify.channels import Channel, StdoutChannel
from consolidator.notify.deliver import BACKOFF_SECONDS, CLAIM_SECONDS, Sent, chosen, drain, entries_of, tell_directly
from consolidator.notify.message import Message, message_of
from consolidator.store.engine import Store, open_store
from consolidator.store.find import find_memory
from consolidator.store.forget import forget
from consolidator.store.outbox import claim, forget_messages, listed
from consolidator.store.outbox import put as put_rows
from consolidator.store.tables import identities, memories, outbox, runs, scopes
from consolidator.store.traces import Traces
from tests.apart import running_apart
from tests.notify import servers
from tests.notify.conftest import NOW
from tests.notify.kinds import APPRISE, SECRET, apprise, webhook
from tests.notify.nights import NIGHTS, WILD
from tests.notify.servers import Answer, Server

HOUR = 3_600 * SECOND
DAY = 24 * HOUR


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(made_store_url: str) -> Iterator[Store]:
    """An empty store, once of each kind."""
    with open_store(made_store_url, mode="write") as store:
        yield store


def message(name: str = "quiet", level: str = "summary", *, run: str = "") -> Message:
    found = message_of(NIGHTS[name](), level=level)
    assert found
    return replace(found, name=run, run_id=run) if run else found


def put(store: Store, channels: Mapping[str, Channel], told: Message | None = None, *, now: int = NOW) -> None:
    entries = entries_of(told or message(), channels)
    with store.write() as conn:
        put_rows(conn, entries, run_key=None, now=now)


def send_due(store: Store, channels: Mapping[str, Channel], clock: Clock, *, again: bool = False) -> tuple[Sent, ...]:
    return drain(store, channels, wall_clock=clock, emit=print, again=again)


def rows(store: Store, clock: Clock) -> list[dict[str, Any]]:
    """Oldest first."""
    with store.read() as conn:
        return listed(conn, now=clock.now, limit=100)[::-1]


def texts(store: Store) -> str:
    """All that the table holds."""
    with store.read() as conn:
        return "".join(json.dumps(row.payload, ensure_ascii=False) for row in conn.execute(sa.select(outbox)))


def test_a_message_is_delivered_once(store: Store, clock: Clock, server: Callable[..., Server]) -> None:
    """However often it is told and the outbox emptied; its text is not kept after."""
    here = server()
    channels = {"hook": webhook(here.url), "other": webhook(here.url + "/other")}
    put(store, channels)
    put(store, channels)
    assert [sent.outcome.delivered for sent in send_due(store, channels, clock)] == [True, True]
    assert send_due(store, channels, clock) == send_due(store, channels, clock, again=True) == ()
    assert [request.path for request in here.arrived] == ["/", "/other"]
    assert "A quiet night" not in texts(store)
    first, _ = rows(store, clock)
    assert first["state"] == "delivered"
    assert first["id"] == f"{message().name}:hook:1"
    assert (first["attempts"], first["reason"], first["title"]) == (1, None, message().title)


def test_a_message_belongs_to_its_run(store: Store, clock: Clock, server: Callable[..., Server]) -> None:
    """Written in the transaction that ends the run: with it, or not at all."""
    channels = {"hook": webhook(server().url)}
    with suppress(ZeroDivisionError), store.write() as conn:
        put_rows(conn, entries_of(message(), channels), run_key=None, now=NOW)
        _ = 1 / 0
    assert rows(store, clock) == []
    with store.write() as conn:
        row = {"run_id": "run-7", "as_of": NOW, "started_at": NOW}
        key = conn.scalars(sa.insert(runs).returning(runs.c.key), [row]).one()
        put_rows(conn, entries_of(message(), channels), run_key=key, now=NOW)
    assert [row["run_id"] for row in rows(store, clock)] == ["run-7"]


def test_parts_go_in_order_and_stop_at_the_one_that_fails(
    store: Store, clock: Clock, internet: Callable[..., Server]
) -> None:
    """The next time goes on from there, with the same keys."""
    server = internet("api.telegram.org", servers.telegram)
    server.told += [Answer(200), Answer(500)]
    channels = {"chat": apprise(APPRISE["telegram"])}
    put(store, channels, message("wild", "detailed"))
    assert [sent.outcome.delivered for sent in send_due(store, channels, clock)] == [True, False]
    assert [row["state"] for row in rows(store, clock)] == ["delivered", "waiting", "waiting"]
    assert send_due(store, channels, clock) == ()
    clock.now += 61 * SECOND
    assert [sent.outcome.delivered for sent in send_due(store, channels, clock)] == [True, True]
    texts_sent = [request.json["text"] for request in server.arrived]
    assert texts_sent[1] == texts_sent[2]
    assert [text[-5:] for text in texts_sent] == ["(1/3)", "(2/3)", "(2/3)", "(3/3)"]


def test_tries_go_on_over_days_and_end_where_all_can_see(
    store: Store, clock: Clock, server: Callable[..., Server]
) -> None:
    """Each later than the one before; the last leaves the reason."""
    here = server(lambda _: Answer(500))
    channels = {"hook": webhook(here.url)}
    put(store, channels)
    for seconds in BACKOFF_SECONDS:
        (sent,) = send_due(store, channels, clock)
        assert not sent.given_up
        assert send_due(store, channels, clock) == ()
        clock.now += (seconds - 1) * SECOND
        assert send_due(store, channels, clock) == ()
        clock.now += SECOND
    (sent,) = send_due(store, channels, clock)
    assert sent.given_up
    assert clock.now - NOW > 2 * DAY
    (row,) = rows(store, clock)
    assert (row["state"], row["next_at"], row["attempts"]) == ("given up", None, len(BACKOFF_SECONDS) + 1)
    assert row["reason"] == "answered 500 (Internal Server Error)"
    clock.now += 30 * DAY
    assert send_due(store, channels, clock) == ()


def test_asked_for_it_is_tried_once_more(store: Store, clock: Clock, server: Callable[..., Server]) -> None:
    """What was given up and what is not due yet, each once."""
    here = server(lambda _: Answer(404))
    channels = {"hook": webhook(here.url)}
    put(store, channels)
    (sent,) = send_due(store, channels, clock)
    assert sent.given_up
    (sent,) = send_due(store, channels, clock, again=True)
    assert sent.given_up
    here.rule = lambda _: Answer()
    (sent,) = send_due(store, channels, clock, again=True)
    assert sent.outcome.delivered
    assert len(here.arrived) == 3


def test_a_channel_that_asks_to_wait_is_left_alone(store: Store, clock: Clock, server: Callable[..., Server]) -> None:
    """All its messages, also those told meanwhile; others go on."""
    here, other = server(), server()
    here.told.append(Answer(429, b"", {"Retry-After": "7200"}))
    channels = {"hook": webhook(here.url), "other": webhook(other.url)}
    put(store, channels)
    send_due(store, channels, clock)
    clock.now += HOUR
    put(store, channels, message(run="next"), now=clock.now)
    send_due(store, channels, clock)
    assert (len(here.arrived), len(other.arrived)) == (1, 2)
    clock.now += HOUR + SECOND
    send_due(store, channels, clock)
    assert (len(here.arrived), len(other.arrived)) == (3, 2)
    assert all(row["state"] == "delivered" for row in rows(store, clock))


def test_a_channel_that_is_down_costs_one_try_each_time(
    store: Store, clock: Clock, server: Callable[..., Server]
) -> None:
    """Not one for each message that waits for it; a message that it refuses holds no other up."""
    here = server(lambda _: Answer(503))
    channels = {"hook": webhook(here.url)}
    for run in ("first", "second", "third"):
        put(store, channels, message(run=run))
    send_due(store, channels, clock)
    assert len(here.arrived) == 1
    clock.now += HOUR
    here.rule = lambda request: Answer(400) if request.json["run_id"] == "second" else Answer()
    assert [sent.outcome.delivered for sent in send_due(store, channels, clock)] == [True, False, True]


def test_parts_after_one_that_is_given_up_are_given_up_too(
    store: Store, clock: Clock, internet: Callable[..., Server]
) -> None:
    """And say so."""
    internet("api.telegram.org", lambda _: Answer(403, b'{"description":"bot was blocked by the user"}'))
    channels = {"chat": apprise(APPRISE["telegram"])}
    put(store, channels, message("wild", "detailed"))
    assert len(send_due(store, channels, clock)) == 1
    found = rows(store, clock)
    assert {row["state"] for row in found} == {"given up"}
    assert found[0]["reason"] == "answered 403 (Forbidden): bot was blocked by the user"
    assert found[1]["reason"].startswith("the part before it was given up: answered 403")


def test_a_crash_between_sending_and_noting_it_sends_again_with_the_same_key(
    store: Store, clock: Clock, server: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At least once: after the claim of the dead has ended, not before."""
    here = server()
    channels = {"hook": webhook(here.url)}
    put(store, channels)

    class Killed(BaseException):
        pass

    def dies(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("consolidator.store.outbox.delivered", dies)
        with pytest.raises(Killed):
            send_due(store, channels, clock)
    assert [row["state"] for row in rows(store, clock)] == ["being sent"]
    assert send_due(store, channels, clock) == send_due(store, channels, clock, again=True) == ()
    clock.now += CLAIM_SECONDS * SECOND
    (sent,) = send_due(store, channels, clock)
    assert sent.outcome.delivered
    first, second = here.arrived
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body


def test_a_claim_is_one_process_alone(store: Store, clock: Clock, server: Callable[..., Server]) -> None:
    """Until it ends; who comes late does not undo what was noted by then."""
    channels = {"hook": webhook(server().url)}
    put(store, channels)
    claims = [
        claim(store, channels=channels, passed=(), now=NOW, until=NOW + SECOND, again=again) for again in (False, True)
    ]
    assert claims[0] is not None
    assert claims[1] is None


DRAINING = """
from consolidator.notify.channels import WebhookChannel
from consolidator.notify.deliver import drain
store = open_store(arguments[0], mode="write")
wait()
channels = {"hook": WebhookChannel.model_validate({"type": "webhook", "url": arguments[1]})}
sent = drain(store, channels, wall_clock=lambda: int(arguments[2]), emit=print)
print(len(sent), flush=True)
store.close()
"""


def test_two_processes_at_once_send_nothing_twice(
    made_store_url: str, clock: Clock, server: Callable[..., Server]
) -> None:
    """Each row by one of them."""
    here = server()
    channels = {"hook": webhook(here.url)}
    with open_store(made_store_url, mode="write") as store:
        for number in range(30):
            put(store, channels, message(run=f"run-{number}"))
        arguments = (made_store_url, here.url, str(NOW))
        with running_apart(DRAINING, *arguments) as one, running_apart(DRAINING, *arguments) as two:
            for process in (one, two):
                assert process.stdin
                process.stdin.write("go\n")
                process.stdin.flush()
            counts = []
            for process in (one, two):
                assert process.stdout
                counts.append(int(process.stdout.readline()))
                assert process.wait(20) == 0
        keys = [request.headers["webhook-id"] for request in here.arrived]
        assert len(keys) == len(set(keys)) == sum(counts) == 30
        assert all(row["state"] == "delivered" for row in rows(store, clock))


def test_a_process_killed_while_it_sends_leaves_the_message_to_the_next(
    made_store_url: str, clock: Clock, server: Callable[..., Server]
) -> None:
    """With the same key, once its claim has ended."""
    hold, arrived = threading.Event(), threading.Event()

    def holds(_: servers.Request) -> Answer:
        arrived.set()
        return Answer(hold=hold)

    here = server(holds)
    channels = {"hook": webhook(here.url)}
    with open_store(made_store_url, mode="write") as store:
        put(store, channels)
        with running_apart(DRAINING, made_store_url, here.url, str(NOW)) as process:
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
            assert arrived.wait(20)
            process.kill()
            process.wait(20)
        hold.set()
        here.rule = lambda _: Answer()
        assert send_due(store, channels, clock, again=True) == ()
        clock.now += CLAIM_SECONDS * SECOND
        assert [sent.outcome.delivered for sent in send_due(store, channels, clock)] == [True]
        first, second = here.arrived
        assert first.headers["webhook-id"] == second.headers["webhook-id"]


def test_what_waits_for_a_channel_that_is_not_set_waits_a_week(
    store: Store, clock: Clock, server: Callable[..., Server]
) -> None:
    """Other settings may know it; then it is given up."""
    put(store, {"gone": webhook(server().url)})
    assert send_due(store, {}, clock) == ()
    assert [row["state"] for row in rows(store, clock)] == ["waiting"]
    clock.now += 7 * DAY + SECOND
    send_due(store, {}, clock)
    (row,) = rows(store, clock)
    assert (row["state"], row["reason"]) == ("given up", "the settings have no channel of this name")


def test_an_address_that_means_nothing_is_given_up_and_said(store: Store, clock: Clock) -> None:
    """It can be told all the same: what waits is tried again when it was mended."""
    put(store, {"chat": apprise("nonsense://x")})
    (sent,) = send_due(store, {"chat": apprise("nonsense://x")}, clock)
    assert sent.given_up
    assert sent.outcome.reason.startswith("its URL means nothing to Apprise")


def test_a_service_that_comes_back_after_hours_says_which_night_it_was(
    store: Store, clock: Clock, server: Callable[..., Server]
) -> None:
    """A chat's own time would mislead."""
    here = server(lambda _: Answer(200, b"ok"))
    channels = {"chat": apprise(f"mmost://127.0.0.1:{here.port}/{SECRET}")}
    put(store, channels, message("quiet"))
    clock.now += 7 * HOUR
    send_due(store, channels, clock)
    assert here.arrived[0].json["text"] == (
        "**Night of 2026-05-30 03:30 UTC (told late)**\n\nA quiet night: nothing was due."
    )


def test_no_secret_is_in_the_outbox(store: Store, clock: Clock, server: Callable[..., Server]) -> None:
    """Neither in what waits nor in the reasons."""
    here = server(lambda _: Answer(500, f"no {SECRET}".encode()))
    channels = {"hook": webhook(f"{here.url}/{SECRET}", secret=SECRET), "chat": apprise(APPRISE["telegram"])}
    put(store, channels, message("wild", "detailed"))
    send_due(store, {"hook": channels["hook"]}, clock)
    assert SECRET not in texts(store) + str(rows(store, clock))


def test_what_is_forgotten_is_not_told(store: Store, clock: Clock, server: Callable[..., Server]) -> None:
    """Nor what may be the rest of a text that was told in part; other messages stay."""
    channels = {"hook": webhook(server().url), "chat": apprise(APPRISE["telegram"])}
    put(store, channels, message("wild", "detailed"))
    put(store, {"hook": channels["hook"]}, message("sound", "detailed", run="other"))
    with store.write() as conn:
        forget_messages(conn, Traces([("01" + "ab" * 31, WILD[1])]))
    held = texts(store)
    assert "Not bold" not in held
    assert "everyone" not in held
    assert "named a memory since forgotten" in held
    assert "Ada takes her tea" in held
    assert all(sent.outcome.delivered for sent in send_due(store, {"hook": channels["hook"]}, clock))


def test_forgetting_a_memory_takes_it_out_of_the_outbox(store: Store, server: Callable[..., Server]) -> None:
    """In the same transaction as everywhere else."""
    content = "Ada takes her tea without milk and reads before breakfast."
    with store.write() as conn:
        conn.execute(sa.insert(scopes).values(key=1, scope="{}"))
        name = hashlib.sha256(content.encode()).hexdigest()
        conn.execute(sa.insert(identities).values(key=1, scope_key=1, hash=name))
        moment = dict.fromkeys(("created_at", "base_at", "strength_at"), NOW)
        values = {"base_strength": 1.0, "strength": 1.0, "type": "fact", "source": "test"}
        conn.execute(sa.insert(memories).values(key=1, scope_key=1, content=content, **moment, **values))
    put(store, {"hook": webhook(server().url), "chat": apprise(APPRISE["telegram"])}, message("sound", "detailed"))
    assert texts(store).count("without milk") > 2
    with store.read() as conn:
        found = find_memory(conn, name, None)
    forget(store, [found], now=NOW, wall_clock=lambda: NOW)
    assert "without milk" not in texts(store)


def test_without_a_store_a_message_goes_out_at_once_or_not(server: Callable[..., Server]) -> None:
    """One outcome a channel, whatever it is."""
    here, down = server(), server(lambda _: Answer(500))
    printed: list[str] = []
    channels = {"hook": webhook(here.url), "down": webhook(down.url), "out": StdoutChannel(type="stdout")}
    sent = tell_directly(message("failed", "errors"), channels, now=NOW, emit=printed.append)
    assert [each.outcome.delivered for each in sent] == [True, False, True]
    assert printed == [message("failed", "errors").text]


def test_a_channel_is_chosen_by_a_name_that_is_there() -> None:
    """The others are named."""
    channels = {"hook": webhook("https://x.example")}
    assert chosen(channels, ["hook"]) == channels
    with pytest.raises(BadInput, match="there is no channel chat; there are hook"):
        chosen(channels, ["chat"])


def test_only_the_store_can_fail(
    store: Store, clock: Clock, server: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plugin that raises whatever it likes is a channel that is down; a store that fails is said."""
    here = server()
    channels = {"chat": apprise(f"json://127.0.0.1:{here.port}/in")}
    put(store, channels)

    def raises(*_: object, **__: object) -> None:
        raise KeyError("oh")

    with monkeypatch.context() as patch:
        patch.setattr("apprise.plugins.base.NotifyBase.notify", raises)
        (sent,) = send_due(store, channels, clock)
    assert sent.outcome.reason == "Apprise's plugin for it failed; try another version of Apprise"
    with monkeypatch.context() as patch:
        patch.setattr("consolidator.store.outbox.claim", lambda *_, **__: (_ for _ in ()).throw(ConsolidatorError("x")))
        with pytest.raises(ConsolidatorError):
            send_due(store, channels, clock)
