"""Serving one client over standard input and output, until it closes them or this process is told to end."""

import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress

import anyio
from mcp.server.stdio import stdio_server

from consolidator.mcp.ending import end_soon
from consolidator.mcp.server import DayServer

_CHUNK = 65_536
_LOOK_SECONDS = 0.05
_MAY_BE_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>u[dD][89a-fA-F]..)|.)")


def serve_stdio(server: DayServer) -> None:
    """
    Serve until the client closes its end, or SIGTERM or SIGINT comes; calls under way are ended first.

    Only the protocol reaches standard output: whatever else is printed meanwhile goes to standard error.
    """
    with _input() as wire:
        try:
            anyio.run(_serve, server, wire)
        except* (BrokenPipeError, anyio.BrokenResourceError):
            pass  # the client is gone
        finally:
            with suppress(OSError):
                sys.stdout.flush()


async def _serve(server: DayServer, wire: int) -> None:
    async with anyio.create_task_group() as tasks:

        async def end_when_told() -> None:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                async for _ in signals:
                    end_soon()
                    tasks.cancel_scope.cancel()

        tasks.start_soon(end_when_told)
        async with stdio_server(stdin=_until_answered(server, wire)) as (reading, writing):  # type: ignore[arg-type]
            await server.run(reading, writing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _until_answered(server: DayServer, wire: int) -> AsyncIterator[str]:
    """The lines of a descriptor; they end only when all calls that came are answered."""
    async for line in _lines(wire):
        yield line
    quiet = 0
    while quiet < 2:  # what was read last is begun by the first look, and what ended last is written by the second
        await anyio.sleep(_LOOK_SECONDS)
        quiet = 0 if server.under_way else quiet + 1


async def _lines(wire: int) -> AsyncIterator[str]:
    """The lines of a descriptor as they come; no thread waits for the next one when all has ended."""
    left = bytearray()
    looked = 0
    while True:
        end = left.find(b"\n", looked)
        if end >= 0:
            yield _whole(left[:end].decode(errors="replace"))
            del left[: end + 1]
            looked = 0
            continue
        looked = len(left)
        with suppress(PermissionError):  # a file is always ready
            await anyio.wait_readable(wire)
        chunk = os.read(wire, _CHUNK)
        if not chunk:
            if left:
                yield _whole(left.decode(errors="replace"))
            return
        left += chunk


def _whole(message: str) -> str:
    """
    A message in which no half of a surrogate pair is escaped, as clients send it that cut texts in the middle of an
    emoji: it would be no message at all, and nobody would be answered.
    """
    if not _MAY_BE_HALF.search(message):
        return message
    return _ESCAPE.sub(lambda found: "\\ufffd" if found["half"] else found[0], message)


@contextmanager
def _input() -> Iterator[int]:
    """The descriptor of the client's messages; meanwhile nothing else reads standard input."""
    wire = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        yield wire
    finally:
        os.dup2(wire, 0)
        os.close(wire)
