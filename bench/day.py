"""
How long it takes to remember, to record a turn and to rate, on both kinds of store, by itself and beside nights.

The embedder's own time is left out: vectors are known already. `words` remembers without one; `vector` with one, which
is written too and by which a memory that says the same is looked for. `known` is the same text again. `turn` records
ten shown memories; `used` finds out which of them a reply used, by words, and records it. Every write is on the disk
before it is counted, so a slow disk is most of it. Nothing is asserted; the bar for `words` and `vector` is a median of
2 ms.

    make bench-day
    .venv/bin/python bench/day.py [--rows 10000,100000] [--times 200] [--no-postgres]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from _life import NIGHT
from recall_speed import nights, stores

from consolidator.day.memory import Memory
from consolidator.embedding.choose import Choice
from consolidator.embedding.minilm import DIMENSION, MODEL
from consolidator.instants import SECOND
from consolidator.settings import Embedding, Settings
from consolidator.store.engine import open_store

BAR = 2.0


class Quick:
    """MiniLM's place, with a vector at once."""

    model, dimension, local = MODEL, DIMENSION, True

    def __init__(self) -> None:
        self._rng = np.random.default_rng(1)

    def passages(self, texts: Any) -> Any:
        """Vectors in no direction."""
        rows = self._rng.standard_normal((len(texts), DIMENSION)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    queries = passages


def main() -> None:
    """Measure, and print as it comes."""
    parser = argparse.ArgumentParser(description="What a day costs.")
    parser.add_argument("--rows", default="10000,100000", help="memories of each store")
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--no-postgres", dest="postgres", action="store_false")
    parser.add_argument("--one", nargs=2, metavar=("URL", "LABEL"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:  # a process of its own, as an agent's is
        print(json.dumps(measured(chosen.one[0], chosen.times, chosen.one[1])))
        return
    disk = disk_of(Path(tempfile.gettempdir()))
    print(f"{os.cpu_count()} processors; load {os.getloadavg()[0]:.1f}; the disk takes {disk:.1f} ms; median / 99 % ms")
    heads = ("words", "vector", "known", "turn", "used", "rate")
    print(f"{'':34}" + "".join(f"{head:>16}" for head in heads))
    for name, url, count in stores([int(size) for size in chosen.rows.split(",")], postgres=chosen.postgres):
        for beside in (False, True):
            with nights(url, going=beside) as counted:
                command = [sys.executable, __file__, "--times", str(chosen.times), "--one", url, f"beside {beside}"]
                found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
                said = f"{name} {count:,}" + (f", beside {counted()} nights" if beside else "")
            told = "".join(f"{median(found[head]):8.2f} /{np.quantile(found[head], 0.99):6.1f}" for head in heads)
            print(f"{said:34}{told}", flush=True)


def disk_of(folder: Path) -> float:
    """Milliseconds, in the median, until a disk says that a few pages are written: no commit is faster."""
    found = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(50):
            file.write(bytes(32_768))
            file.flush()
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            found.append((time.perf_counter() - began) * 1000)
    return median(found)


def measured(url: str, times: int, label: str) -> dict[str, list[float]]:
    """Milliseconds of each act."""
    found: dict[str, list[float]] = {}
    now = NIGHT

    def clock() -> int:
        nonlocal now
        now += SECOND
        return now

    def timed(name: str, act: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        result = act()
        found.setdefault(name, []).append((time.perf_counter() - began) * 1000)
        return result

    words = Settings(embedding=Embedding(model="none"))
    with open_store(url, mode="write", busy_timeout_seconds=30) as store:
        plain = Memory.of(store, settings=words, clock=clock)
        quick = Quick()
        seeing = Memory.of(store, settings=Settings(), clock=clock)
        seeing._place.embedder_by = lambda _: Choice(quick, MODEL)  # type: ignore[method-assign]
        for number in range(10):
            plain.remember(f"Ada waters plant {number} of the garden in Turku ({label}).")
        shown = plain.recall("What of the garden in Turku?", limit=10)
        for number in range(-10, times):
            text = f"Ada keeps note {number} ({label}) about the garden in Turku and train {number * 7}."
            one = timed("words", lambda text=text: plain.remember(text))
            timed("vector", lambda text=text: seeing.remember(f"Seen: {text}"))
            timed("known", lambda text=text: plain.remember(text))
            turn = plain.turn("bench")
            timed("turn", lambda turn=turn: turn.show(shown, "auto_injected"))
            timed(
                "used", lambda turn=turn: turn.reply("She takes the train to Turku.", asked="How does she get there?")
            )
            timed("rate", lambda turn=turn, one=one: turn.rate(one.id, 4))
            if number < 0:
                found.clear()
    return found


if __name__ == "__main__":
    main()
