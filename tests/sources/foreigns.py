"""
Every foreign store that the contract runs over, a line each: MODULE:NAME in tests.sources.

NAME is called with an empty folder of the test's own and gives a context manager of a `Foreign`.
"""

from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path

from tests.sources.foreign import Foreign

FOREIGNS = {
    "claude-code": "markdown_foreign:claude_code",
    "claw-memory-ultra": "lance_foreign:ultra",
    "formative": "formative_foreign:formative",
    "json": "memory_foreign:plain",
    "json-states": "memory_foreign:with_states",
    "json-versions": "memory_foreign:with_versions",
    "markdown": "markdown_foreign:markdown",
    "mem0": "mapped_foreign:mem0",
    "vertex": "vertex_foreign:vertex",
    "memory-lancedb": "lance_foreign:official",
    "memory-lancedb-pro": "lance_foreign:pro",
    "memory-new": "memory_new_foreign:plain",
    "memory-smart": "qdrant_foreign:plain",
    "openclaw": "markdown_foreign:openclaw",
}
READ = {"mem0"}  # they are only read
WRITTEN = sorted(FOREIGNS.keys() - READ)
NAMED_BY_TEXT = {"formative"}  # no two records say the same


def made(name: str, folder: Path) -> AbstractContextManager[Foreign]:
    """A new foreign store in an empty folder."""
    module, _, maker = FOREIGNS[name].partition(":")
    opened: AbstractContextManager[Foreign] = getattr(import_module(f"tests.sources.{module}"), maker)(folder)
    return opened
