"""Signals: they arrive as bytes on a socket, so that none is missed and whoever waits for something else wakes up."""

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager


class Signals:
    """Where signals arrive. socket: is ready to be read when one has."""

    def __init__(self, near: socket.socket) -> None:
        self.socket = near

    def arrived(self) -> list[signal.Signals]:
        """Those since it was last asked, in order."""
        try:
            return [signal.Signals(number) for number in self.socket.recv(4096)]
        except BlockingIOError:
            return []


@contextmanager
def hearing(*wanted: signal.Signals) -> Iterator[Signals]:
    """Within the block these do nothing but arrive. For the main thread."""
    near, far = socket.socketpair()
    with near, far:
        near.setblocking(False)
        far.setblocking(False)
        fd = signal.set_wakeup_fd(far.fileno(), warn_on_full_buffer=False)
        before = {each: signal.signal(each, lambda *_: None) for each in wanted}
        try:
            yield Signals(near)
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
            signal.set_wakeup_fd(fd)
