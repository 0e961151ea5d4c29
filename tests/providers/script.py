"""What is to go wrong, and with which calls."""

import threading
from typing import NamedTuple

from tests.providers.behaviours import Behaviour
from tests.providers.record import matches
from tests.providers.wire import Call


class Line(NamedTuple):
    """A behaviour that waits for a matching call; None lets that call pass. always: it stays."""

    to: str
    behaviour: Behaviour | None
    always: bool


class Script:
    """Of one provider."""

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._waited_for: set[threading.Event] = set()
        self._stopped = False
        self._lock = threading.Lock()

    def then(self, *behaviours: Behaviour | None, to: str = "POST *") -> None:
        """
        The next calls that match go so, one each in this order; None is a call that goes well.

        to: a pattern over method and path, as in `POST /v1/messages` or `GET /v1/batches*`.
        """
        with self._lock:
            self._lines += [Line(to, behaviour, always=False) for behaviour in behaviours]

    def always(self, behaviour: Behaviour, *, to: str = "POST *") -> None:
        """From now on every call that matches goes so, until `heal`."""
        with self._lock:
            self._lines.append(Line(to, behaviour, always=True))

    def heal(self) -> None:
        """Nothing goes wrong from now on."""
        with self._lock:
            self._lines.clear()

    def behaviour_for(self, call: Call) -> Behaviour | None:
        """What the first line that matches says, after the wait it says."""
        with self._lock:
            at = next((at for at, line in enumerate(self._lines) if matches(call, line.to)), None)
            if at is None:
                return None
            behaviour = (self._lines[at] if self._lines[at].always else self._lines.pop(at)).behaviour
        if behaviour:
            self.wait(behaviour)
        return behaviour.then if behaviour and behaviour.then else behaviour

    def wait(self, behaviour: Behaviour) -> None:
        """Where it has an event, until that is set, or the server stops."""
        if behaviour.released is None:
            return
        with self._lock:
            self._waited_for.add(behaviour.released)
            if self._stopped:
                behaviour.released.set()
        behaviour.released.wait(behaviour.at_most_seconds)

    def stop_waiting(self) -> None:
        with self._lock:
            self._stopped = True
            for event in self._waited_for:
                event.set()
