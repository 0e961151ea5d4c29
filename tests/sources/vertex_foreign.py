"""A Memory Bank on this machine, and what its other clients do to it: through the server's own bank, not our source."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from consolidator.sources.port import Options
from consolidator.sources.vertex import bank
from tests.sources.foreign import Foreign
from tests.sources.vertex_server import VertexServer, serving

SCOPE = {"agent_name": "openclaw"}  # that of the OpenClaw plugin where nothing else is said


class MemoryBank(Foreign):
    def __init__(self, server: VertexServer) -> None:
        self.server = server
        self.url = f"vertex:{server.engine}?endpoint={server.address}"
        self.options = Options()

    def add(self, text: str, **about: Any) -> str:
        """about: `scope`, canonical; `topics`; other fields as the API spells them."""
        scope = json.loads(about.pop("scope", json.dumps(SCOPE)))
        topics = [{"customMemoryTopicLabel": topic} for topic in about.pop("topics", ())]
        name = self.server.remember(text, scope, **({"topics": topics} if topics else {}), **about)
        return name.rpartition("/")[2]

    def edit(self, id: str, text: str) -> None:  # noqa: A002
        with self.server.lock:
            self.server.bank.patch(self.name(id), {"fact": text}, "fact")

    def use(self, id: str) -> None:  # noqa: A002
        """It counts none."""

    def remove(self, id: str) -> None:  # noqa: A002
        with self.server.lock:
            self.server.bank.delete(self.name(id))

    def texts(self) -> dict[str, str]:
        with self.server.lock:
            found = self.server.bank.memories.items()
            return {name.rpartition("/")[2]: memory["fact"] for name, memory in found if "fact" in memory}

    def rest(self) -> object:
        """A structured profile, which the service keeps beside."""
        with self.server.lock:
            return [memory for memory in self.server.bank.memories.values() if "fact" not in memory]

    def theirs(self) -> object:
        """Of every memory what we do not own."""
        with self.server.lock:
            return {
                name: {
                    **{key: memory.get(key) for key in ("scope", "topics", "displayName", "createTime", "expireTime")},
                    "metadata": {
                        key: value
                        for key, value in memory.get("metadata", {}).items()
                        if not key.startswith("consolidator_")
                    },
                }
                for name, memory in self.server.bank.memories.items()
            }

    def name(self, id: str) -> str:  # noqa: A002
        return f"{self.server.engine}/memories/{id}"


@contextmanager
def hasty() -> Iterator[None]:
    """No pause between tries, nor between two looks at an operation."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bank, "RETRIES", {"attempts": 3, "initial_delay": 0.0, "max_delay": 0.0, "jitter": 0.0})
        patch.setattr(bank, "FIRST_PAUSE_SECONDS", 0.0)
        yield


@contextmanager
def vertex(folder: Path) -> Iterator[MemoryBank]:
    with hasty(), serving(VertexServer()) as server:
        profile = {"memoryType": "STRUCTURED_PROFILE", "structuredContent": {"data": {"name": "Ada"}}}
        server.bank.create(server.engine, {"scope": SCOPE, "displayName": "Ada", **profile})
        yield MemoryBank(server)
