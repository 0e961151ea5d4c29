"""
Supervisor: what the service manager that started us is told, in the words of systemd's sd_notify(3).

Where nobody asked (NOTIFY_SOCKET is not set) nothing is told.
"""

import socket
from collections.abc import MutableMapping
from contextlib import suppress

_PATIENCE_SECONDS = 5.0


class Supervisor:
    """
    The other end of NOTIFY_SOCKET, a path or an abstract name.

    watchdog_seconds: it ends us unless it hears of us so often; None where it does not watch this process. The
    variables are taken out of the environment: what we start is not what it watches.
    """

    def __init__(self, environ: MutableMapping[str, str], *, process: int) -> None:
        self._address = environ.pop("NOTIFY_SOCKET", "")
        microseconds, watched = environ.pop("WATCHDOG_USEC", ""), environ.pop("WATCHDOG_PID", str(process))
        watches = microseconds.isdecimal() and int(microseconds) > 0 and watched == str(process)
        self.watchdog_seconds = int(microseconds) / 1_000_000 if watches else None

    def tell(self, *words: str) -> None:
        """One message, e.g. READY=1 and a STATUS. A supervisor that is gone is no reason to stop."""
        if not self._address.startswith(("/", "@")):
            return
        name = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.settimeout(_PATIENCE_SECONDS)
            sender.sendto("\n".join(words).encode(), name)

    def beat(self) -> None:
        """Say that we are alive, where that is watched."""
        if self.watchdog_seconds is not None:
            self.tell("WATCHDOG=1")
