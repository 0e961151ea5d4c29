"""A server over an open store, from before the first client comes until after the last one has gone."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from consolidator.day.clock import wall_clock
from consolidator.day.memory import PATIENCE_SECONDS, Memory
from consolidator.mcp.server import DayServer, Served
from consolidator.salience import read_salience
from consolidator.settings import Settings
from consolidator.store.engine import open_store

NOBODY: Mapping[str, str] = {}


@contextmanager
def serving(
    url: str,
    scope: str,
    settings: Settings,
    *,
    salience: Callable[[], Path | None],
    complain: Callable[[str], object],
    agents: Mapping[str, str] = NOBODY,
) -> Iterator[DayServer]:
    """
    The server of a scope. StoreUnusable where the store cannot be used: before anything is said to a client.

    scope: canonical. agents: over HTTP, the scope of each. salience: finds the profile. complain: is told what is wrong
    with it.
    """
    with open_store(url, mode="write", busy_timeout_seconds=PATIENCE_SECONDS) as store:

        def memory_of(scope: str) -> Memory:
            return Memory.of(store, json.loads(scope), settings=settings, clock=wall_clock)

        memory = memory_of(scope)
        problem = read_salience(salience()).problem
        if problem:
            complain(f"salience: {problem}")
        own = {agent: memory if each == scope else memory_of(each) for agent, each in agents.items()}
        yield DayServer(Served(memory, url, scope, salience, own))
