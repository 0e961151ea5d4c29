"""Forgetting by day: it waits for a night that is at work on the scope, for an agent can do nothing about that."""

from threading import Event
from time import monotonic

from consolidator.day.place import Place
from consolidator.errors import ScopeHeld
from consolidator.store.find import find_memory
from consolidator.store.forget import Forgotten, forget

PATIENCE_SECONDS = 30.0
_BETWEEN_SECONDS = 0.25


def forget_in(place: Place, prefix: str) -> Forgotten:
    """Forget as `Memory.forget` says. ScopeHeld where the scope is held longer than half a minute."""
    since, pause = monotonic(), Event()
    while True:
        with place.store.read() as conn:
            found = find_memory(conn, prefix, place.scope)
        try:
            return forget(place.store, [found], now=place.now(), wall_clock=place.now)
        except ScopeHeld:
            if monotonic() - since > PATIENCE_SECONDS:
                raise
        pause.wait(_BETWEEN_SECONDS)
