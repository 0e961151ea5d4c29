"""
Recall: how much of what answers a question is found within a budget. (How fast: `recall_speed.py`.)

found: the share of a question's evidence that the recalled memories hold, of the evidence that any memory holds, as a
mean over questions. Every constant that was chosen is chosen anew on the other conversations, for each conversation
that is scored. The least score is tried with questions that the memories cannot answer too. Nothing is asserted.

    make bench-recall
    .venv/bin/python bench/recall.py [--data FOLDER]      (of *.memories.jsonl and *.questions.jsonl)
"""

import argparse
import io
import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from consolidator.embedding.fill import embed_missing
from consolidator.embedding.minilm import MiniLM
from consolidator.exchange.intake import import_lines
from consolidator.instants import parse_instant
from consolidator.laws.clock import Rates
from consolidator.recall.choosing import Budget, diversified, fitting
from consolidator.recall.ranking import Asked as Question
from consolidator.recall.ranking import parts_of
from consolidator.recall.scoring import FULL, USUAL, Parts, Weights, answering, own, together
from consolidator.scopes import canonical
from consolidator.store.engine import Store, open_store
from consolidator.store.recall import Shelf, rows_of, shelf_of
from consolidator.store.tables import scopes
from consolidator.store.vectors import pin_of

BUDGETS = (Budget(words=75), Budget(words=150), Budget(words=300), Budget(limit=10))
GRID: dict[str, tuple[float, ...]] = {
    "words": (0.2, 0.3, 0.4),
    "names": (0.0, 0.1, 0.2, 0.3),
    "times": (0.0, 0.3, 0.5, 0.7),
    "echo": (0.0, 0.2),
    "stretch": (0.0, 0.4, 0.6, 0.8),
}
NOW = parse_instant("2026-01-01T00:00:00Z")


@dataclass
class Asked:
    """A question, what answers it, and the parts of every memory's score by the weight of the echo."""

    text: str
    vector: Any
    category: str
    evidence: set[str]
    parts: dict[float, Parts]
    cosine: Any
    bm25: Any


@dataclass
class Conversation:
    """A conversation: its questions, and what is known of its memories, in order of rows."""

    name: str
    asked: list[Asked]
    contents: list[str]
    evidence: list[set[str]]
    vectors: Any
    stretches: Any
    shelf: Shelf
    known: dict[Weights, float] = field(default_factory=dict)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data" / "locomo")
    chosen = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="consolidator-bench.") as folder,
        open_store(str(Path(folder) / "data.db"), mode="create") as store,
    ):
        conversations = [prepare(store, file) for file in sorted(chosen.data.glob("*.memories.jsonl"))]
        if not conversations:
            print(f"no *.memories.jsonl in {chosen.data}: nothing to measure")
            return
        tell_found(conversations)
        tell_least(conversations)


def prepare(store: Store, file: Path) -> Conversation:
    """Take a conversation in, embed it, and ask its questions."""
    import_lines(store, io.BytesIO(file.read_bytes()), file.name, now=NOW)
    model = MiniLM()
    embed_missing(store, None, model)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    kept = [line for line in lines if line["kind"] == "memory"]
    evidence_of = {line["id"]: set(line["metadata"]["evidence"]) for line in kept}
    with store.read() as conn:
        key = conn.scalar(scopes.select().with_only_columns(scopes.c.key).where(scopes.c.scope == scope_of(kept)))
        shelf = shelf_of(store, key, pin_of(conn))
        shelf.refresh(conn, key)
        rows = rows_of(conn, shelf.index.keys.tolist())
    in_order = [rows[key] for key in shelf.index.keys.tolist()]
    evidence = [evidence_of[row.id] for row in in_order]
    vectors = shelf.index.vectors(np.arange(len(in_order)))
    asked = []
    for line in Path(str(file).replace(".memories.", ".questions.")).read_text().splitlines():
        question = json.loads(line)
        vector = model.queries([question["question"]])[0]
        text = question["question"]
        parts = {echo: parts_for(shelf, text, vector, USUAL._replace(echo=echo)) for echo in GRID["echo"]}
        held = set(question["evidence"]) & set().union(*evidence)
        if held:
            asked.append(Asked(text, vector, question["category"], held, parts, vectors @ vector, parts[0.0].words))
    contents = [row.content for row in in_order]
    return Conversation(file.name.split(".")[0], asked, contents, evidence, vectors, shelf.index.stretches(), shelf)


def parts_for(shelf: Shelf, text: str, vector: Any, weights: Weights) -> Parts:
    """What the scores of all rows of a shelf are made of."""
    asked = Question(text, vector, NOW, "UTC", Rates(), Budget())
    return parts_of(shelf, asked, eligible=np.ones(len(shelf.index), bool), weights=weights)


def scope_of(kept: list[dict[str, Any]]) -> str:
    """The scope of a file."""
    return canonical(kept[0].get("scope", {}))


def tell_found(conversations: list[Conversation]) -> None:
    """The table: meaning alone, words alone, both as they are, and both with constants chosen without the scored."""
    count = sum(len(each.asked) for each in conversations)
    print(f"{len(conversations)} conversations, {count} questions; found within 75, 150, 300 words and at 10")
    rows: dict[str, list[tuple[str, str, list[float]]]] = {}
    for name, score in {
        "cosine alone": lambda _, asked: asked.cosine,
        "words alone": lambda _, asked: asked.bm25,
        "without an embedder": lambda each, asked: worded(each, asked),
        "0.6 cosine, 0.4 words": lambda _, asked: 0.6 * asked.cosine + 0.4 * asked.bm25,
        "hybrid, as shipped": lambda each, asked: scored(each, asked, USUAL),
    }.items():
        rows[name] = [
            (
                each.name,
                asked.category,
                found(each, asked, score(each, asked), diverse=name.startswith(("hybrid", "without"))),
            )
            for each in conversations
            for asked in each.asked
        ]
    for name, values in rows.items():
        tell(name, values)
    values = []
    for left in conversations:
        weights = chosen_on([each for each in conversations if each is not left])
        print(f"without {left.name}: {weights}", flush=True)
        values += [
            (left.name, asked.category, found(left, asked, scored(left, asked, weights), diverse=True))
            for asked in left.asked
        ]
    tell("hybrid, leave one out", values)


def tell(name: str, values: list[tuple[str, str, list[float]]]) -> None:
    """Figures of all questions, by conversation and by type."""
    print(f"{name:<24}" + figures([value for _, _, value in values]))
    for place in (0, 1):
        for group in sorted({value[place] for value in values}):
            print(f"  {group:<22}" + figures([value[2] for value in values if value[place] == group]), flush=True)


def figures(values: list[list[float]]) -> str:
    """Means, and how many questions they are of."""
    return "  ".join(f"{mean:.3f}" for mean in np.mean(values, axis=0)) + f"   ({len(values)})"


def scored(each: Conversation, asked: Asked, weights: Weights) -> Any:
    """The scores of every memory."""
    return together(own(asked.parts[weights.echo], weights), each.stretches, weights) / FULL


def worded(each: Conversation, asked: Asked) -> Any:
    """The scores where words alone can be compared."""
    weights, parts = USUAL._replace(words=1.0), asked.parts[0.0]
    return together(own(parts._replace(meaning=np.zeros_like(parts.words)), weights), each.stretches, weights) / FULL


def found(each: Conversation, asked: Asked, scores: Any, *, diverse: bool, budgets: Any = BUDGETS) -> list[float]:
    """The share of the evidence within each budget. A plain ranking ends where its next memory does not fit."""
    order = np.argsort(-scores, kind="stable")[:120]
    if diverse:
        ranked = np.maximum(scores[order].astype(np.float64), 0)
        order = order[[place for place, _ in diversified(ranked, each.vectors[order], most=100)]]
    contents = [each.contents[place] for place in order]
    shares = []
    for budget in budgets:
        places = fitting(contents, budget)
        if not diverse:
            places = [place for rank, place in enumerate(places) if rank == place]
        seen = set().union(*(each.evidence[order[place]] for place in places)) if places else set()
        shares.append(len(asked.evidence & seen) / len(asked.evidence))
    return shares


def chosen_on(conversations: list[Conversation]) -> Weights:
    """The weights that find most within all budgets together, one after another, twice around, from none at all."""
    weights = Weights(words=0.3, names=0.0, times=0.0, echo=0.0, stretch=0.0)
    for _ in range(2):
        for name, values in GRID.items():
            tried = [weights._replace(**{name: value}) for value in values]
            weights = max(tried, key=lambda each: mean_found(conversations, each))
    return weights


def mean_found(conversations: list[Conversation], weights: Weights) -> float:
    """Without stepping back, which is slow and changes little; every question counts the same."""
    sums = [sum_found(each, weights) for each in conversations]
    return sum(sums) / sum(len(each.asked) for each in conversations)


def sum_found(each: Conversation, weights: Weights) -> float:
    """Of one conversation, worked out once."""
    if weights in each.known:
        return each.known[weights]
    total = 0.0
    for asked in each.asked:
        order = np.argsort(-scored(each, asked, weights), kind="stable")[:40]
        sizes = np.cumsum([len(each.contents[place].split()) for place in order])
        for most in (*np.searchsorted(sizes, (75, 150, 300), side="right").tolist(), 10):
            seen = set().union(*(each.evidence[place] for place in order[:most]))
            total += len(asked.evidence & seen) / len(asked.evidence) / 4
    each.known[weights] = total
    return total


LEAST = (0.1, 0.15, 0.18, 0.2, 0.25)
LOST = 0.005  # the share of found evidence that a least score chosen on other conversations may lose there
FOREIGN_STEP = 4  # every so manieth question of the other conversations
NOTHING_SAID = (
    "What is the capital of Mongolia?",
    "How do I configure nginx as a reverse proxy?",
    "Why does my Rust code not compile with a borrow error?",
    "What is the boiling point of ethanol?",
    "Write a regex that matches an email address",
    "What is the difference between TCP and UDP?",
    "Convert 30 miles to kilometres",
    "Who won the world cup in 1998?",
    "Fix the failing unit test in parser.py",
    "What is the GDP of Brazil?",
    "Which enzyme breaks down lactose?",
    "Refactor this function to be async",
    "How do I delete a git branch?",
    "Compute the integral of x squared",
    "When was the Treaty of Westphalia signed?",
    "What does the HTTP status 418 mean?",
    "List the prime numbers below fifty",
    "What is the password of the staging server?",
    "What is the serial number of the dishwasher?",
    "Which port does Postgres listen on?",
)


def tell_least(conversations: list[Conversation]) -> None:
    """What a least score loses of the evidence in the first ten, and leaves out for questions without an answer."""
    right = {each.name: np.concatenate([values_of(each, asked) for asked in each.asked]) for each in conversations}
    foreign = [
        first_ten(each, asked.text, asked.vector)
        for each in conversations
        for other in conversations
        if other is not each
        for asked in other.asked[::FOREIGN_STEP]
    ]
    vectors = MiniLM().queries(NOTHING_SAID)
    nothing = [first_ten(each, *asked) for each in conversations for asked in zip(NOTHING_SAID, vectors, strict=True)]
    every = np.concatenate(list(right.values()))
    print("least score: lost of the evidence in the first ten; left out for questions of others, and about nothing")
    for least in LEAST:
        shares = [np.mean(np.concatenate(values) < least) for values in (foreign, nothing)]
        empty = np.mean([(values < least).all() for values in nothing])
        print(
            f"  {least:.2f}  lost {np.mean(every < least):.4f}, left out {shares[0]:.2f} and {shares[1]:.2f}; "
            f"{empty:.2f} of the latter recall nothing"
        )
    for left in conversations:
        others = np.concatenate([values for name, values in right.items() if name != left.name])
        least = float(np.quantile(others, LOST))
        print(f"  without {left.name}: {least:.3f}, which loses {np.mean(right[left.name] < least):.4f} there")


def values_of(each: Conversation, asked: Asked) -> Any:
    """How far those of the first ten answer that hold evidence."""
    parts = asked.parts[USUAL.echo]
    best = np.argsort(-scored(each, asked, USUAL), kind="stable")[:10]
    values = answering(parts, each.stretches, USUAL)
    return values[[place for place in best if each.evidence[place] & asked.evidence]]


def first_ten(each: Conversation, text: str, vector: Any) -> Any:
    """How far the first ten answer a question that has no answer there."""
    parts = parts_for(each.shelf, text, vector, USUAL)
    best = np.argsort(-together(own(parts, USUAL), each.stretches, USUAL), kind="stable")[:10]
    return answering(parts, each.stretches, USUAL)[best]


if __name__ == "__main__":
    main()
