"""
How long a recall takes, how much memory, and what the first one of a process costs, on both kinds of store.

Warm figures are of one process that recalls again and again, after twenty recalls: by itself, and while nights run
beside it in another process, one after the other. Memory is that of the whole process before a model is loaded.
The embedder's own time is left out of `recall`, where the query's vector is known already, and in `with MiniLM`.
`command` is one whole `consolidate recall`, from its start to its end. Nothing is asserted: the last column holds the
figures against the bars.

    make bench-recall_speed
    .venv/bin/python bench/recall_speed.py [--rows 10000,100000] [--recalls 300] [--no-postgres] [--profile URL]
"""

import argparse
import cProfile
import json
import os
import pstats
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import _rows
import numpy as np
import psutil
import sqlalchemy as sa
from _life import KNOWN, NIGHT, WAVE
from _load import _fill_file, fill_postgres

from consolidator.embedding.minilm import DIMENSION, MODEL, MiniLM
from consolidator.instants import NIGHT as ONE_NIGHT
from consolidator.instants import format_instant
from consolidator.laws.clock import Rates
from consolidator.recall.recall import recall
from consolidator.scopes import EMPTY
from consolidator.store.engine import Store, open_store
from consolidator.store.nearest import keep_up
from consolidator.store.tables import memories
from consolidator.store.vectors import Pin, pin, vectors_of, write_vectors

MEDIAN, NINETY_NINTH, SMALL, MEGABYTES = 30.0, 100.0, 10.0, 400
WARM_UP = 20
TOPICS, SYLLABLES = 500, ("ka", "lo", "mi", "ren", "tu", "sa", "vel", "no", "pi", "dra", "es", "tol", "gu", "shi")


def main() -> None:
    """Measure, and print as it comes."""
    parser = argparse.ArgumentParser(description="What a recall costs.")
    parser.add_argument("--rows", default="10000,100000", help="memories of each store")
    parser.add_argument("--recalls", type=int, default=300)
    parser.add_argument("--no-postgres", dest="postgres", action="store_false")
    parser.add_argument("--profile", metavar="URL", help="only say where the time goes, on a store made by --keep")
    parser.add_argument("--keep", metavar="URL", help="only make a store of the first of --rows there")
    parser.add_argument("--one", metavar="URL", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    sizes = [int(size) for size in chosen.rows.split(",")]
    if chosen.one:
        print(json.dumps(measured(chosen.one, chosen.recalls)))
    elif chosen.keep:
        fill(chosen.keep, sizes[0])
    elif chosen.profile:
        profiled(chosen.profile, chosen.recalls)
    else:
        tell(sizes, chosen.recalls, postgres=chosen.postgres)


def tell(sizes: list[int], recalls: int, *, postgres: bool) -> None:
    """Every store, by itself and with nights beside it."""
    print(f"{os.cpu_count()} processors; load {os.getloadavg()[0]:.1f}")
    print(f"{'':34}{'median ms':>10}{'99 %':>7}{'cpu':>7}{'with MiniLM':>13}{'first s':>9}{'command s':>11}{'MB':>6}")
    for name, url, count in stores(sizes, postgres=postgres):
        for beside in (False, True):
            with nights(url, going=beside) as counted:
                command = [sys.executable, __file__, "--one", url, "--recalls", str(recalls)]
                found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
                label = f"{name} {count:,}" + (f", {counted()} nights beside it" if beside else "")
            whole = f"{commanded(url):11.2f}" if not beside else " " * 11
            print(
                f"{label:34}{found['median']:10.1f}{found['most']:7.1f}{found['cpu']:7.1f}{found['minilm']:13.1f}"
                f"{found['first']:9.2f}{whole}{found['megabytes']:6.0f}  {judged(found, count)}",
                flush=True,
            )


def judged(found: dict[str, float], count: int) -> str:
    """Which bars a figure misses."""
    bars = [("median", SMALL if count <= KNOWN else MEDIAN), ("most", NINETY_NINTH), ("megabytes", MEGABYTES)]
    missed = [f"{name} over {bar:g}" for name, bar in bars if found[name] > bar]
    return f"MISSES {', '.join(missed)}" if missed else "holds"


def stores(sizes: list[int], *, postgres: bool) -> Iterator[tuple[str, str, int]]:
    """Stores of each size, in files and on a throwaway server, filled alike."""
    with tempfile.TemporaryDirectory(prefix="consolidator-bench.") as folder:
        for count in sizes:
            url = f"sqlite:///{Path(folder) / f'{count}.db'}"
            fill(url, count)
            yield "sqlite", url, count
    if not postgres:
        return
    from night import SERVER

    from tests.postgres import PostgresMissing, fresh_database, running_postgres

    try:
        with running_postgres(**SERVER | {"autovacuum": "on"}) as server:
            for count in sizes:
                with fresh_database(server) as url:
                    fill(url, count)
                    yield "postgres", url, count
    except PostgresMissing as missing:
        print(f"postgres: left out ({missing})")


def fill(url: str, count: int) -> None:
    """A store in mid-life (`_life.py`), its texts of a vocabulary as Zipf says, its vectors about topics."""
    rng = np.random.default_rng(7)
    syllables = np.array(SYLLABLES)
    vocabulary = np.array(
        ["".join(syllables[rng.integers(0, len(syllables), rng.integers(2, 5))]) for _ in range(30_000)]
    )
    chance = 1 / (np.arange(len(vocabulary)) + 5.0)
    sizes = rng.integers(6, 31, count)
    said = np.split(rng.choice(vocabulary, sizes.sum(), p=chance / chance.sum()), np.cumsum(sizes)[:-1])
    _rows._text = lambda i: f"{' '.join(said[i])} {i}."
    if url.startswith("sqlite"):
        with open_store(url, mode="create") as store:
            path = Path(str(store.url.database))
        _fill_file(path, count)
    else:
        fill_postgres(url, count)
    topics = rng.standard_normal((TOPICS, DIMENSION)).astype(np.float32)
    shared = rng.standard_normal(DIMENSION).astype(np.float32)
    with open_store(url, mode="write") as store:
        with store.write() as conn:
            pin(conn, Pin(MODEL, DIMENSION))
        for start in range(1, count + 1, 10_000):
            keys = range(start, min(start + 10_000, count + 1))
            vectors = shared + topics[rng.integers(0, TOPICS, len(keys))]
            vectors = vectors + rng.standard_normal(vectors.shape, np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            with store.write() as conn:
                write_vectors(conn, MODEL, keys, vectors)
        keep_up(store, make=True)
        if store.dialect == "postgresql":
            with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
                conn.exec_driver_sql("VACUUM (ANALYZE)")


@contextmanager
def nights(url: str, *, going: bool) -> Iterator[Any]:
    """Nights of another process, one after the other, until the end of the block."""
    if not going:
        yield lambda: 0
        return
    code = (
        "import sys, subprocess\n"
        f"for at in sys.stdin.read().split():\n"
        f"    subprocess.run([sys.executable, '-m', 'consolidator', '--store', {url!r}, 'run', '--as-of', at],"
        " stdout=subprocess.DEVNULL, check=True)\n"
        "    print(at, flush=True)\n"
    )
    with (
        tempfile.TemporaryFile("w+") as done,
        subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=done, text=True) as process,
    ):
        assert process.stdin is not None
        process.stdin.write(" ".join(format_instant(NIGHT + number * ONE_NIGHT) for number in range(500)))
        process.stdin.close()

        def count() -> int:
            done.seek(0)
            return len(done.read().split())

        try:
            yield count
        finally:
            going = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
            for each in going:
                each.terminate()
            psutil.wait_procs(going)


class Known:
    """MiniLM, for queries whose vectors are known already."""

    model, dimension, local = MODEL, DIMENSION, True

    def __init__(self, known: dict[str, Any]) -> None:
        self.known = known
        self.really = False

    def queries(self, some: Any) -> Any:
        """Those of the questions; `really`: after the model's own work, whose vectors of such words mean nothing."""
        if self.really:
            MiniLM().queries(some)
        return np.stack([self.known[each] for each in some])

    passages = queries


def questions(store: Store, count: int) -> Known:
    """Some words of memories and vectors near theirs."""
    rng = np.random.default_rng(11)
    with store.read() as conn:
        total = conn.scalar(sa.select(sa.func.count()).select_from(memories)) or 0
        keys = sorted({int(key) for key in rng.integers(1, total + 1, 2 * count)})
        texts = dict(conn.execute(sa.select(memories.c.key, memories.c.content).where(memories.c.key.in_(keys))).all())
        found, vectors = vectors_of(conn, 1, Pin(MODEL, DIMENSION), keys)
    known = {}
    for key, vector in zip(found.tolist(), vectors, strict=True):
        words = texts[key].split()
        near = vector + rng.standard_normal(DIMENSION).astype(np.float32) / np.float32(np.sqrt(DIMENSION))
        known[" ".join(rng.choice(words, min(6, len(words)), replace=False)) + "?"] = near / np.linalg.norm(near)
    chosen = rng.permutation(sorted(known))[:count]
    return Known({str(each): known[str(each)] for each in chosen})


def measured(url: str, recalls: int) -> dict[str, float]:
    """What recalls of this process take."""
    with open_store(url, mode="write") as store:
        known = questions(store, recalls + WARM_UP)
        walls, cpus = timed(store, known, list(known.known))
        megabytes = psutil.Process().memory_info().rss / 1e6  # a peak would be that of whoever started this process
        known.really = True
        more, _ = timed(store, known, list(known.known)[: WARM_UP + 60])
    return {
        "first": walls[0],
        "median": median(walls[WARM_UP:]) * 1e3,
        "most": float(np.quantile(walls[WARM_UP:], 0.99)) * 1e3,
        "cpu": median(cpus[WARM_UP:]) * 1e3,
        "minilm": median(more[WARM_UP:]) * 1e3,
        "megabytes": megabytes,
    }


def timed(store: Store, embedder: Any, asked: list[str]) -> tuple[list[float], list[float]]:
    """Seconds on the wall and of the processor, of each recall."""
    walls, cpus = [], []
    for question in asked:
        began, used = time.perf_counter(), time.process_time()
        found = recall(store, EMPTY, question, now=WAVE, embedder=embedder, rates=Rates(), limit=10)
        walls.append(time.perf_counter() - began)
        cpus.append(time.process_time() - used)
        assert found.results, question
    return walls, cpus


def commanded(url: str) -> float:
    """Seconds of a whole process of the command line."""
    command = [sys.executable, "-m", "consolidator", "--store", url, "recall", "the garden of her sister", "--json"]
    walls = []
    for _ in range(3):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        walls.append(time.perf_counter() - began)
    return median(walls)


def profiled(url: str, recalls: int) -> None:
    """Print where the time of warm recalls goes."""
    with open_store(url, mode="write") as store:
        known = questions(store, recalls + WARM_UP)
        asked = list(known.known)
        timed(store, known, asked[:WARM_UP])
        profile = cProfile.Profile()
        profile.runcall(timed, store, known, asked[WARM_UP:])
    pstats.Stats(profile).sort_stats("tottime").print_stats(40)


if __name__ == "__main__":
    main()
