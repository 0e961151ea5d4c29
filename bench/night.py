"""
How long a night takes, and how much memory, on stores of very different size with the same day in them.

Law: a night costs what was touched plus what falls due, not the size of the store.

Each figure is of a whole process, from its start to its end: `consolidate run --json` on a fresh copy of a store
(`_life.py` says what it holds; making the copy is not part of the time, and leaves it in the page cache). Sizes take
turns, so that whatever else the machine does falls on all of them; quoted are medians. Nothing is asserted: the last
lines hold the figures against the bars.

    make bench-night
    .venv/bin/python bench/night.py [--sizes 10000,1000000] [--runs 5] [--no-postgres] [--profile FILE]
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from _days import TOUCHED
from _life import DUE_LINKS, DUE_MEMORIES, NIGHT, WAVE
from _load import DATA, HERE

from consolidator.instants import format_instant

SECONDS, TIMES, MEGABYTES, TIMES_POSTGRES = 3.0, 3.0, 400, 2.0
GOAL_TIMES = 2.0
SERVER = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "shared_buffers": "256MB",
    "maintenance_work_mem": "256MB",
    "max_wal_size": "4GB",
}


@dataclass(frozen=True)
class Cost:
    """What one process took. cpu_seconds is its own: not that of a server."""

    wall_seconds: float
    cpu_seconds: float
    peak_megabytes: float
    totals: dict[str, int]


@dataclass(frozen=True)
class Case:
    """A store of so many memories, and which night."""

    store: str
    count: int
    as_of: int

    def __str__(self) -> str:
        wave = " with the wave" if self.as_of == WAVE else ""
        return f"{self.store} {self.count:,}{wave}"


def main() -> None:
    """Measure, and print as it comes."""
    arguments = _arguments()
    sizes = sorted(int(size) for size in arguments.sizes.split(","))
    print(
        f"The day: {TOUCHED:,} memories touched, {DUE_MEMORIES} memories and {DUE_LINKS:,} links falling due; "
        f"the wave: 6.5 % of all memories and 5 % of all links besides.\n{_machine()}"
    )
    for size in sizes:
        since = time.perf_counter()
        subprocess.run([sys.executable, HERE / "_load.py", str(size)], check=True)
        print(f"sqlite {size:,}: store ready after {time.perf_counter() - since:.0f} s")
    if arguments.profile:
        with _copy(sizes[-1]) as url:
            measure(url, NIGHT, ["-m", "cProfile", "-o", arguments.profile])
        return
    nights = [Case("sqlite", size, NIGHT) for size in sizes]
    waves = [Case("sqlite", size, WAVE) for size in sizes]
    costs = series(nights, arguments.runs, lambda case: _copy(case.count))
    costs |= series(waves, -(-arguments.runs // 2), lambda case: _copy(case.count))
    if arguments.postgres:
        costs |= _postgres(sizes, arguments.runs)
    _print(costs)
    _judge(costs, sizes)
    print(_machine())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What a night costs.")
    parser.add_argument("--sizes", default="10000,100000,1000000", help="memories of each store")
    parser.add_argument("--runs", type=int, default=5, help="runs of each; half as many with the wave and on Postgres")
    parser.add_argument("--no-postgres", dest="postgres", action="store_false")
    parser.add_argument("--profile", metavar="FILE", help="only run the night of the largest store, under cProfile")
    return parser.parse_args()


def _machine() -> str:
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    return f"{os.cpu_count()} processors; load {load} (1, 5, 15 minutes)"


@contextmanager
def _copy(count: int) -> Iterator[str]:
    """A fresh copy of a store, on the disk before it is used."""
    original = DATA / f"life-{count}.db"
    with tempfile.TemporaryDirectory(dir=DATA) as folder:
        path = Path(folder) / original.name
        shutil.copyfile(original, path)
        with path.open("rb") as file:
            os.fsync(file.fileno())
        yield f"sqlite:///{path}"


def series(cases: list[Case], runs: int, fresh: Callable) -> dict[Case, list[Cost]]:
    """The costs of each case, runs of them; the cases take turns."""
    costs: dict[Case, list[Cost]] = {case: [] for case in cases}
    for _ in range(runs):
        for case in cases:
            with fresh(case) as url:
                costs[case].append(measure(url, case.as_of))
    return costs


def measure(url: str, as_of: int, options: list[str] | None = None) -> Cost:
    """Run one night in a process of its own."""
    command = [sys.executable, *(options or []), "-m", "consolidator", "--store", url]
    command += ["run", "--as-of", format_instant(as_of), "--json"]
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryFile() as output:
        environment = os.environ | {"XDG_CONFIG_HOME": empty, "PYTHONDONTWRITEBYTECODE": ""}
        since = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - since
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))} ended with {process.returncode}: {output.read(2000)!r}")
        totals = {name: count for name, count in json.load(output)["totals"].items() if count}
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, totals)


def _postgres(sizes: list[int], runs: int) -> dict[Case, list[Cost]]:
    """The same nights on a throwaway server that syncs what it commits, filled with the same rows."""
    from tests.postgres import PostgresMissing, fresh_database, running_postgres

    costs: dict[Case, list[Cost]] = {}
    try:
        with running_postgres(**SERVER) as server:
            for size in (sizes[0], sizes[-1]):
                with fresh_database(server) as url:
                    since = time.perf_counter()
                    subprocess.run([sys.executable, HERE / "_load.py", str(size), url], check=True)
                    print(f"postgres {size:,}: store ready after {time.perf_counter() - since:.0f} s")
                    fresh = partial(fresh_database, server, template=url.rsplit("/", 1)[1].split("?")[0])
                    for as_of, times in ((NIGHT, -(-runs // 2)), (WAVE, 1)):
                        costs |= series([Case("postgres", size, as_of)], times, lambda _, fresh=fresh: fresh())
    except PostgresMissing as missing:
        print(f"postgres: left out ({missing})")
    return costs


def _print(costs: dict[Case, list[Cost]]) -> None:
    print(f"\n{'':34}{'wall s':>8}{'min-max':>14}{'cpu s':>8}{'peak MB':>9}  what it did")
    for case, given in costs.items():
        wall = [cost.wall_seconds for cost in given]
        did = ", ".join(f"{count:,} {verb}" for verb, count in given[0].totals.items())
        spread = f"{min(wall):.2f}-{max(wall):.2f}"
        print(
            f"{case!s:34}{median(wall):8.2f}{spread:>14}{median(cost.cpu_seconds for cost in given):8.2f}"
            f"{max(cost.peak_megabytes for cost in given):9.0f}  {did}"
        )


def _judge(costs: dict[Case, list[Cost]], sizes: list[int]) -> None:
    def wall(store: str, size: int, as_of: int = NIGHT) -> float:
        return median(cost.wall_seconds for cost in costs[Case(store, size, as_of)])

    small, large = sizes[0], sizes[-1]
    times = wall("sqlite", large) / wall("sqlite", small)
    cpu = [median(cost.cpu_seconds for cost in costs[Case("sqlite", size, NIGHT)]) for size in (small, large)]
    peak = max(cost.peak_megabytes for cost in costs[Case("sqlite", large, NIGHT)])
    print()
    _bar(f"the night on {large:,}", wall("sqlite", large), SECONDS, "s")
    _bar(f"its peak of memory, process and all, on {large:,}", peak, MEGABYTES, "MB")
    _bar(f"{large:,} to {small:,} (goal {GOAL_TIMES:g}; by cpu {cpu[1] / cpu[0]:.2f})", times, TIMES, "times")
    print(f"  the wave on {large:,}: {wall('sqlite', large, WAVE):.2f} s")
    if Case("postgres", large, NIGHT) in costs:
        ratio = wall("postgres", large) / wall("sqlite", large)
        _bar(f"Postgres to SQLite on {large:,}", ratio, TIMES_POSTGRES, "times")
        _bar(f"Postgres on {large:,}", wall("postgres", large), TIMES_POSTGRES * SECONDS, "s")


def _bar(what: str, figure: float, bar: float, unit: str) -> None:
    print(f"  {'holds ' if figure <= bar else 'MISSES'}  {what}: {figure:.2f} {unit} (bar {bar:g} {unit})")


if __name__ == "__main__":
    main()
