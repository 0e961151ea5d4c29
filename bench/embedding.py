"""
How fast memories get vectors from the local model, and how fast a store's vectors are read.

Laws: `consolidate embed` costs what lacks a vector; a scope's vectors come as one array, with no work per memory.

Texts are made of a few hundred words, about as long as memories are. Nothing is asserted.

    make bench-embedding
    .venv/bin/python bench/embedding.py [--texts 1000] [--vectors 100000] [--dimension 384]
"""

import argparse
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

from consolidator.embedding.minilm import MiniLM
from consolidator.exchange.intake import import_lines
from consolidator.store.engine import Store, open_store
from consolidator.store.tables import embeddings, identities, memories, scopes
from consolidator.store.vectors import Pin, vectors_of

WORDS = (
    "the of a and to in is her his their with for on at from tea train house book garden letter doctor meeting Monday "
    "morning river winter green small old early likes wants reads keeps sold bought meets moved plays two three seven"
)
ROWS = 10_000
LENGTHS = (6, 25)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=1_000)
    parser.add_argument("--vectors", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=384)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="consolidator-bench.") as folder:
        tell_command(Path(folder) / "texts.db", texts(chosen.texts))
        tell_vectors(Path(folder) / "vectors.db", chosen.vectors, chosen.dimension)
    tell_model(texts(chosen.texts))


def texts(count: int) -> list[str]:
    """Sentences of 6 to 24 words, none twice."""
    rng, words = np.random.default_rng(7), WORDS.split()
    return [f"{' '.join(rng.choice(words, rng.integers(*LENGTHS)))} {number}." for number in range(count)]


def tell_model(some: list[str]) -> None:
    """Loading, speed and memory of the model in this process."""
    process = psutil.Process()
    before = process.memory_info().rss
    began = time.perf_counter()
    MiniLM().passages(["one"])
    loaded = time.perf_counter() - began
    began, cpu = time.perf_counter(), time.process_time()
    MiniLM().passages(some)
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    grown = (process.memory_info().rss - before) / 1e6
    print(f"minilm loads in {loaded:.2f} s, and takes {grown:.0f} MB")
    print(f"{len(some):,} texts: {len(some) / wall:.0f} a second ({len(some) / cpu:.0f} a second of its own time)")


def tell_command(path: Path, some: list[str]) -> None:
    """`consolidate embed`, a whole process: of memories without vectors, and again."""
    header = {"kind": "header", "format": "consolidator-jsonl", "version": 1}
    memory = {"kind": "memory", "type": "fact", "created_at": "2026-03-01T09:00:00Z"}
    lines = [json.dumps(line) for line in (header, *({**memory, "content": text} for text in some))]
    with open_store(str(path), mode="create") as store:
        import_lines(store, io.BytesIO("\n".join(lines).encode()), "bench", now=1_780_000_000_000_000)
    for what in ("without vectors", "that have theirs"):
        began = time.perf_counter()
        command = [sys.executable, "-m", "consolidator", "--store", str(path), "embed", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as done:
            said = json.loads(done.stdout.read())
            _, _, used = os.wait4(done.pid, 0)
        wall = time.perf_counter() - began
        print(
            f"consolidate embed, {len(some):,} memories {what}: {wall:.1f} s, {used.ru_maxrss / 1024:.0f} MB, "
            f"{said['embedded']} embedded"
        )


def tell_vectors(path: Path, count: int, dimension: int) -> None:
    """Reading a scope's vectors."""
    with open_store(str(path), mode="create") as store:
        fill(store, count, dimension)
        base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        for _ in range(3):
            with store.read() as conn:
                began = time.perf_counter()
                keys, _rows = vectors_of(conn, 1, Pin("bench", dimension))
                wall = time.perf_counter() - began
            print(f"{len(keys):,} vectors of {dimension} read in {wall:.2f} s")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"peak memory {peak:.0f} MB ({base:.0f} MB before; the vectors fill {count * dimension * 4 / 2**20:.0f} MB)"
        )


def fill(store: Store, count: int, dimension: int) -> None:
    """A scope of so many memories with vectors."""
    rng = np.random.default_rng(7)
    plain = {
        "scope_key": 1, "type": "fact", "source": "bench", "created_at": 0, "base_strength": 1.0, "base_at": 0,
        "strength": 1.0, "strength_at": 0,
    }  # fmt: skip
    with store.write() as conn:
        conn.execute(scopes.insert().values(key=1, scope="{}"))
        for start in range(1, count + 1, ROWS):
            keys = range(start, min(start + ROWS, count + 1))
            rows = rng.standard_normal((len(keys), dimension)).astype("<f4")
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            conn.execute(identities.insert(), [{"key": key, "scope_key": 1, "hash": f"{key:064x}"} for key in keys])
            conn.execute(memories.insert(), [plain | {"key": key, "content": f"memory {key}"} for key in keys])
            vectors = [
                {"memory_key": key, "model": "bench", "dimension": dimension, "vector": row.tobytes()}
                for key, row in zip(keys, rows, strict=True)
            ]
            conn.execute(embeddings.insert(), vectors)


if __name__ == "__main__":
    main()
