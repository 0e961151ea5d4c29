"""The server as a real process, and the SDK's own client that uses it over standard input and output or HTTP."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.schedule.services import ROOT

TOKEN = "0123456789abcdef0123456789abcdef"
TOO_LONG_SECONDS = 240.0


def environ(folder: Path, **variables: str) -> dict[str, str]:
    """The environment of a user at home in a folder, who has set these variables and no key."""
    return {"PATH": os.defpath, "HOME": f"{folder}", "PYTHONPATH": f"{ROOT}", "LC_ALL": "C.UTF-8", **variables}


def command(*arguments: object) -> list[str]:
    """A command of the program."""
    return [sys.executable, "-m", "consolidator", *map(str, arguments)]


def night(folder: Path, url: str, *arguments: object, **variables: str) -> str:
    """Do a night as a process of its own; what it prints."""
    done = subprocess.run(
        command("--store", url, "run", *arguments), cwd=folder, env=environ(folder, **variables), check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TOO_LONG_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


class Agent:
    """An agent with a connection. Each tool is a method; a tool that fails is an AssertionError."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def use(self, tool: str, **arguments: Any) -> tuple[dict[str, Any], str]:
        """What a tool gives back, as data and as text."""
        result = await self.client.call_tool(tool, arguments)
        text = result.content[0].text  # type: ignore[union-attr]
        assert not result.is_error, text
        assert result.structured_content is not None
        return result.structured_content, text

    async def fails(self, tool: str, **arguments: Any) -> str:
        """The one line with which a tool refuses."""
        result = await self.client.call_tool(tool, arguments)
        (content,) = result.content
        assert result.is_error, content
        assert result.structured_content is None
        assert "\n" not in content.text  # type: ignore[union-attr]
        assert "Traceback" not in content.text  # type: ignore[union-attr]
        return content.text  # type: ignore[union-attr,no-any-return]

    async def store(self, content: str, **more: Any) -> str:
        """Remember a text; its id."""
        return str((await self.use("memory_store", content=content, **more))[0]["id"])

    async def recall(self, query: str, **more: Any) -> list[dict[str, Any]]:
        """What a search gives."""
        found, _ = await self.use("memory_search", query=query, **more)
        return list(found["results"])

    async def read(self, uri: str) -> str:
        """A resource."""
        (content,) = (await self.client.read_resource(uri)).contents
        return content.text  # type: ignore[union-attr,no-any-return]


@asynccontextmanager
async def over_stdio(
    folder: Path, *arguments: object, mode: str = "auto", errors: Path | None = None, **variables: str
) -> AsyncIterator[Agent]:
    """An agent that starts a server of its own: `consolidate mcp`. errors: what it complains of."""
    program, *rest = command("mcp", *arguments)
    parameters = StdioServerParameters(command=program, args=rest, env=environ(folder, **variables), cwd=folder)
    with (errors or folder / "stderr.txt").open("w") as log:
        async with Client(stdio_client(parameters, errlog=log), mode=mode) as client:
            yield Agent(client)


@contextmanager
def serving(folder: Path, *arguments: object, **variables: str) -> Iterator[tuple[str, list[str]]]:
    """
    A server over HTTP on a free port of this machine: its URL and, after the block, what it complained of. It is told
    to end then, and ends with 0.
    """
    told: list[str] = []
    process = subprocess.Popen(
        command("mcp", "--http", "0", *arguments), cwd=folder, env=environ(folder, **variables), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with process:
        try:
            assert process.stderr
            line = process.stderr.readline()
            assert line.startswith("consolidate: serving at http://127.0.0.1:"), line + process.stderr.read()
            yield line.split()[3], told
            process.terminate()
            told += process.stderr.read().splitlines()
            assert process.wait(TOO_LONG_SECONDS) == 0, told
        finally:
            process.kill()


@asynccontextmanager
async def over_http(url: str, *, token: str | None = None, mode: str = "auto") -> AsyncIterator[Agent]:
    """An agent that uses a server over HTTP."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=TOO_LONG_SECONDS, trust_env=False) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield Agent(client)


def run(work: Callable[[], Awaitable[None]]) -> None:
    """Do what agents do, within a time."""

    async def timed() -> None:
        with anyio.fail_after(TOO_LONG_SECONDS):
            await work()

    anyio.run(timed)
