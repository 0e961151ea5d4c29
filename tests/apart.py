"""Code that runs in a process of its own: a writer that lives, one that is killed, a user who may not write."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]

# What the code may use. Everything is imported before a user is given up, who may not reach the environment.
PREAMBLE = """
import os, resource, signal, sys
import sqlalchemy as sa
from consolidator.errors import ConsolidatorError, StoreUnusable
from consolidator.store import postgres, sqlite, tables
from consolidator.store.engine import open_store
from consolidator.store.locks import hold_scope

def become_nobody():
    if os.geteuid() == 0:
        os.setgroups([]); os.setgid(65534); os.setuid(65534)

def add_scope(store, scope):
    with store.write() as connection:
        connection.execute(sa.insert(tables.scopes).values(scope=scope))

def wait():
    print("ready", flush=True)
    sys.stdin.readline()

arguments = sys.argv[1:]
"""


def run_apart(code: str, *arguments: str) -> str:
    """What the code printed, or the one line of the ConsolidatorError that it ended with, after its name."""
    body = "\n".join(f"    {line}" for line in code.strip().splitlines())
    guarded = f"try:\n{body}\nexcept ConsolidatorError as error:\n    print(type(error).__name__, error)"
    command = [sys.executable, "-c", PREAMBLE + guarded, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@contextmanager
def running_apart(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that runs the code and has reached `wait()`; killed at the end of the block, if it still lives."""
    command = [sys.executable, "-c", PREAMBLE + code, *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline() == "ready\n", process.stderr.read()
            yield process
        finally:
            process.kill()
