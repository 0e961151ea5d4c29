"""
How long it takes to pull another system's store, and how much memory: the first time, and again with nothing new.

Each store is made with the system's own library. A pull is a process of its own, from its start to its end, into a
store in a file; its memory is the most that it had at any time. Vectors are as long as MiniLM's: with those of 1536
numbers Qdrant's local mode by itself takes 9 GB for 100,000 points. Nothing is asserted: the last column holds the
figures against the bar.

    make bench-sources
    .venv/bin/python bench/sources.py [--records 100000] [--dimension 384] [--only SQLite]
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _sources import BEGAN, MAKERS, MODEL

from consolidator.instants import NIGHT
from consolidator.sources.choose import open_source
from consolidator.sources.port import Options
from consolidator.sources.pull import pull
from consolidator.store.engine import open_store

SECONDS = 60.0
NOW = BEGAN + 30 * NIGHT


def main() -> None:
    """Measure, and print as it comes."""
    parser = argparse.ArgumentParser(description="What a pull costs.")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=384, help="of their vectors")
    parser.add_argument("--only", choices=MAKERS, help="one of the stores")
    parser.add_argument("--one", nargs=2, metavar=("URL", "STORE"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(measured(*chosen.one)))
    else:
        tell(chosen.records, chosen.dimension, [chosen.only] if chosen.only else [*MAKERS])


def tell(records: int, dimension: int, names: list[str]) -> None:
    """Every store: pulled, and pulled again."""
    print(f"{os.cpu_count()} processors; load {os.getloadavg()[0]:.1f}; {records:,} records, vectors of {dimension}")
    print(f"{'':16}{'made s':>8}{'pull s':>8}{'cpu s':>7}{'MB':>7}{'again s':>9}{'cpu s':>7}{'MB':>7}")
    for name in names:
        with tempfile.TemporaryDirectory(prefix="consolidator-bench.") as folder:
            there = Path(folder, "theirs")
            there.mkdir()
            begun = time.perf_counter()
            url = MAKERS[name](there, records, dimension)
            made = time.perf_counter() - begun
            store = f"sqlite:///{folder}/ours.db"
            open_store(store, mode="create").close()
            first, again = pulled(url, store), pulled(url, store)
        assert (first["new"], again["changes"]) == (records, 0), (first, again)
        judged = "holds" if max(first["seconds"], again["seconds"]) <= SECONDS else f"MISSES {SECONDS:g} s"
        print(
            f"{name:16}{made:8.1f}{first['seconds']:8.1f}{first['cpu']:7.1f}{first['megabytes']:7.0f}"
            f"{again['seconds']:9.1f}{again['cpu']:7.1f}{again['megabytes']:7.0f}  {judged}",
            flush=True,
        )


def pulled(url: str, store: str) -> dict[str, Any]:
    """A pull in a process of its own."""
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, __file__, "--one", url, store], check=True, stdout=subprocess.PIPE)
    return {**json.loads(done.stdout), "seconds": time.perf_counter() - begun}


def measured(url: str, store_url: str) -> dict[str, Any]:
    """That pull."""
    options = Options(model=MODEL)
    with open_store(store_url, mode="write") as store, open_source(url, options) as source:
        done = pull(store, source, options=options, now=NOW, wall_clock=lambda: NOW)
    assert not done.bad_lines, done.bad[0]
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "new": done.new,
        "changes": done.new + done.changed + done.gone,
        "cpu": used.ru_utime + used.ru_stime,
        "megabytes": most_held(),
    }


def most_held() -> float:
    """The most memory that this process ever had; what `getrusage` says holds that of its parent too."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024  # type: ignore[index]


if __name__ == "__main__":
    main()
