"""
What the search for candidates takes, how that grows, and how many of the true pairs it keeps.

The store is drawn: a third of the memories are near another one, at a cosine from 0.5 to 0.99 and with any part of its
words; the rest are strangers. Words follow Zipf's law, so that a few stand in nearly every text, as in life. Recall is
held against every pair of a sample of the changed memories with all others, scored one by one.

Each search is a process of its own, with its tokenising and all else; drawing the data is not counted in its time, but
in its memory.
"""

import json
import os
import resource
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SEARCHES = ((10_000, 10_000), (30_000, 30_000), (100_000, 100_000), (10_000, 5_000), (30_000, 5_000), (100_000, 5_000))
BARS = {(100_000, 100_000): (45, 1536), (100_000, 5_000): (5, 1536)}
DIMENSIONS = 384
SAMPLED = 300
LOWEST = 0.16  # below it not even equal texts are a pair
WORDS_KNOWN, WORDS_SAID = 30_000, (6, 30)


def measure_search() -> None:
    """Search in stores of growing size, on the first night and on a later one, and print a table."""
    print("memories  changed  seconds  cpu s  peak MB    pairs  recall (of so many true pairs)")
    for count, changed in SEARCHES:
        command = [sys.executable, __file__, str(count), str(changed)]
        found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        line = f"{count:8,} {changed:8,} {found['seconds']:8.1f} {found['cpu']:6.1f} {found['megabytes']:8.0f}"
        line += f" {found['pairs']:8,}  {found['recall']:.5f} ({found['true']:,})"
        if (count, changed) in BARS:
            seconds, megabytes = BARS[count, changed]
            kept = found["seconds"] <= seconds and found["megabytes"] <= megabytes and found["recall"] >= 0.99
            line += f"  {'holds' if kept else 'MISSES'} the bar: {seconds} s, {megabytes} MB, 0.99"
        print(line, flush=True)
    print(f"{os.cpu_count()} processors; load {', '.join(f'{one:.1f}' for one in os.getloadavg())} (1, 5, 15 minutes)")


def measure_on_sentences() -> None:
    """Print what candidates are among MSRP's pairs of sentences."""
    from _pairs import pairs

    from consolidator.embedding.minilm import MiniLM
    from consolidator.merging.candidates import likeness_of
    from consolidator.merging.guard import differ

    judged = pairs("msrp")
    contents = list(dict.fromkeys(pair[side] for pair in judged for side in "ab"))
    place = {content: at for at, content in enumerate(contents)}
    vectors = MiniLM().passages(contents)
    likeness = likeness_of(contents, vectors, np.ones(len(contents), bool))
    same = np.array([pair["same"] for pair in judged], bool)
    ends = [(place[pair["a"]], place[pair["b"]]) for pair in judged]
    found = np.array([likeness(a, b) >= 1 for a, b in ends])
    equal = np.array([not differ(pair["a"], pair["b"]) for pair in judged])
    near = equal & np.array([vectors[a] @ vectors[b] >= 0.9 for a, b in ends])
    print(f"MSRP, {same.size} pairs, {same.sum()} judged the same, each as if the two were a store:")
    for what, chosen in {"candidates": found, "candidates with equal facts": found & equal}.items():
        print(f"  {what}: {chosen.sum()}, precision {same[chosen].mean():.3f}, recall {chosen[same].mean():.3f}")
    print(f"  of {near.sum()} with equal facts at a cosine of 0.9 or more: {found[near].mean():.3f} are candidates")


def draw(count: int) -> tuple[list[str], NDArray[np.float32]]:
    """Texts and vectors: two thirds strangers, then families of up to 7 around one of them."""
    rng = np.random.default_rng(count)
    known = np.array(["".join(map(chr, rng.integers(97, 123, rng.integers(2, 10)))) for _ in range(WORDS_KNOWN)])
    often = 1 / np.arange(1, WORDS_KNOWN + 1)
    often /= often.sum()
    strangers = 2 * count // 3
    parent = np.concatenate([np.arange(strangers), rng.integers(0, strangers // 3, count - strangers)])
    said = [rng.choice(WORDS_KNOWN, size, p=often) for size in rng.integers(*WORDS_SAID, strangers)]
    for place in range(strangers, count):
        own = said[parent[place]].copy()
        other = rng.random(own.size) < rng.random()
        own[other] = rng.choice(WORDS_KNOWN, int(other.sum()), p=often)
        said.append(own)
    noise = _unit(rng.standard_normal((count, DIMENSIONS), dtype=np.float32))
    cosine = np.where(np.arange(count) < strangers, 0, rng.uniform(0.5, 0.99, count)).astype(np.float32)[:, np.newaxis]
    vectors = _unit(cosine * noise[parent] + np.sqrt(1 - cosine**2) * noise)
    order = rng.permutation(count)
    return [" ".join(known[said[place]]) for place in order], vectors[order]


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def true_pairs(contents: list[str], vectors: NDArray[np.float32], rows: NDArray[np.int64]) -> set[tuple[int, int]]:
    """Every candidate with one of these rows, by the definition."""
    from consolidator.merging.features import features

    bag = cache(lambda place: features(contents[place]))
    found = set()
    for row in rows.tolist():
        cosines = vectors @ vectors[row]
        for other in np.flatnonzero(cosines >= LOWEST).tolist():
            share = len(bag(row) & bag(other)) / len(bag(row) | bag(other))
            if other != row and 0.4 * share + 0.6 * float(cosines[other]) >= 0.5:
                found.add((min(row, other), max(row, other)))
    return found


def search(count: int, changed: int) -> dict[str, Any]:
    """One search, timed; then its recall."""
    from consolidator.merging.candidates import find_pairs

    contents, vectors = draw(count)
    rng = np.random.default_rng(1)
    news = rng.choice(count, changed, replace=False)
    is_new = np.zeros(count, bool)
    is_new[news] = True
    since, cpu = time.perf_counter(), time.process_time()
    pairs = find_pairs(contents, vectors, np.ones(count, bool), is_new)
    seconds, cpu = time.perf_counter() - since, time.process_time() - cpu
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = set(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))
    true = true_pairs(contents, vectors, news[:SAMPLED])
    return {
        "seconds": seconds,
        "cpu": cpu,
        "megabytes": megabytes,
        "pairs": pairs.a.size,
        "recall": len(true & found) / len(true),
        "true": len(true),
    }


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    json.dump(search(int(sys.argv[1]), int(sys.argv[2])), sys.stdout)
