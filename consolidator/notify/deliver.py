"""
Delivery: messages into the outbox, and out of it to their channels, again and again for days where need be.

Whatever a channel does, it is an outcome that is noted; only the store can fail here. At least once: who dies between
sending and noting it has sent, and the next one sends it again with the same key.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from consolidator.errors import BadInput
from consolidator.instants import SECOND
from consolidator.notify.channels import Channel
from consolidator.notify.message import Message, trial
from consolidator.notify.outcome import DELIVERED, Outcome, failed
from consolidator.notify.parts import parcels_of, parts_of
from consolidator.notify.send import Emit, send
from consolidator.store import outbox
from consolidator.store.engine import Store
from consolidator.store.outbox import Claimed, Entry

WallClock = Callable[[], int]

# Waited after the first try, the second, and so on; after the last one a message is given up, 3 days after it was told.
BACKOFF_SECONDS = (60, 300, 1_800, 7_200, 21_600, 43_200, 86_400, 86_400)
GIVEN_UP_AFTER_SECONDS = 7 * 86_400
CLAIM_SECONDS = 1_800
LATE_SECONDS = 6 * 3600


@dataclass(frozen=True, slots=True)
class Sent:
    """One try: which part of which message, over which channel, and what became of it."""

    idempotency_key: str
    channel: str
    outcome: Outcome
    given_up: bool = False


def entries_of(message: Message, channels: Mapping[str, Channel]) -> list[Entry]:
    """
    The parts of a message for each of these channels, for `outbox.put` in the transaction that ends a run.

    Made before that transaction begins: where a service of Apprise is among them, the first time takes a second.
    """
    return [
        Entry(_key(message.name, name, payload["part"]), message.name, name, payload["part"], payload)
        for name, channel in channels.items()
        for payload in parts_of(message, channel)
    ]


def chosen(channels: Mapping[str, Channel], names: Sequence[str]) -> dict[str, Channel]:
    """The channels of these names. BadInput names the first that is not there."""
    for name in names:
        if name not in channels:
            known = f"there are {', '.join(channels)}" if channels else "the settings have none"
            raise BadInput(f"there is no channel {name}; {known}")
    return {name: channels[name] for name in names}


def tell_directly(message: Message, channels: Mapping[str, Channel], *, now: int, emit: Emit) -> tuple[Sent, ...]:
    """
    Send a message once, without the outbox: where there is no store to keep it in, it is this or nothing.

    One outcome for each channel; after a part that fails, the parts behind it are not sent.
    """
    sent: dict[str, Sent] = {}
    for entry in entries_of(message, channels):
        before = sent.get(entry.channel)
        if before is None or before.outcome.delivered:
            channel, key = channels[entry.channel], entry.idempotency_key
            outcome = _try(channel, entry.payload, key=key, now=now, late=False, emit=emit)
            sent[entry.channel] = Sent(key, entry.channel, outcome)
    return tuple(sent.values())


def try_channel(name: str, channel: Channel, *, now: int, emit: Emit) -> Outcome:
    """Send a test message to a channel, once and now."""
    ((part,), key) = parts_of(trial(name), channel), _key(f"test-{now}", name, 1)
    return _try(channel, part, key=key, now=now, late=False, emit=emit)


def drain(
    store: Store,
    channels: Mapping[str, Channel],
    *,
    wall_clock: WallClock,
    emit: Emit,
    again: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[Sent, ...]:
    """
    Send what is due. Two processes that drain at once send nothing twice.

    A channel that fails for reasons of its own is left alone until the next time; a message that a channel refuses for
    good is given up. again: also what is not due yet, or was given up. stop: asked before each part.
    """
    outbox.give_up_strangers(store, channels=channels, before=wall_clock() - GIVEN_UP_AFTER_SECONDS * SECOND)
    return tuple(_drained(store, channels, wall_clock=wall_clock, emit=emit, again=again, stop=stop))


def _drained(
    store: Store,
    channels: Mapping[str, Channel],
    *,
    wall_clock: WallClock,
    emit: Emit,
    again: bool,
    stop: Callable[[], bool],
) -> Iterator[Sent]:
    passed: set[int] = set()
    open_channels = set(channels)
    while open_channels and not stop():
        now = wall_clock()
        until = now + CLAIM_SECONDS * SECOND
        row = outbox.claim(store, channels=open_channels, passed=passed, now=now, until=until, again=again)
        if row is None:
            return
        passed.add(row.key)
        late = now - row.created_at > LATE_SECONDS * SECOND
        outcome = _try(channels[row.channel], row.payload, key=row.idempotency_key, now=now, late=late, emit=emit)
        ended = wall_clock()
        if outcome.delivered:
            outbox.delivered(store, row, now=ended)
            yield Sent(row.idempotency_key, row.channel, outcome)
            continue
        next_at = _next_try(row, outcome, ended)
        held = ended + round(outcome.wait_seconds * SECOND) if outcome.wait_seconds else None
        outbox.not_delivered(store, row, reason=outcome.reason, next_at=next_at, not_before=next_at and held)
        yield Sent(row.idempotency_key, row.channel, outcome, given_up=next_at is None)
        if not outcome.for_good:
            open_channels.discard(row.channel)


def _next_try(row: Claimed, outcome: Outcome, now: int) -> int | None:
    """When a part is tried again; None: never, unless a person asks."""
    if outcome.for_good or row.given_up or row.attempts > len(BACKOFF_SECONDS):
        return None
    if now - row.created_at > GIVEN_UP_AFTER_SECONDS * SECOND:
        return None
    return now + round(max(BACKOFF_SECONDS[row.attempts - 1], outcome.wait_seconds) * SECOND)


def _try(channel: Channel, payload: Mapping[str, object], *, key: str, now: int, late: bool, emit: Emit) -> Outcome:
    try:
        for parcel in parcels_of(payload, channel, key=key, now=now, late=late):
            outcome = send(channel, parcel, emit=emit)
            if not outcome.delivered:
                return outcome
    except BadInput as error:
        return failed(str(error), for_good=True)
    return DELIVERED


def _key(message: str, channel: str, part: int) -> str:
    """The name of a part for a channel: ASCII, for it goes into headers."""
    return f"{quote(message, safe=':')}:{quote(channel, safe='')}:{part}"
