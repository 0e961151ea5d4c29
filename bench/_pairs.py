"""What the guard, the proof and absorbing do on real pairs of sentences, and on sentences corrupted on purpose."""

import json
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

from consolidator.merging.contained import absorbs, same_text
from consolidator.merging.facts import facts_of, names_known
from consolidator.merging.guard import differ, differences
from consolidator.merging.proof import prove
from consolidator.merging.secrets import find_secrets
from consolidator.merging.texts import Text

DATA = Path(__file__).parents[2] / "shared" / "data"
CONVERSATIONS = ("26", "41", "43", "47", "49")
Pair = tuple[str, str]

_NEGATIONS = {"won't": "will", "can't": "can", "cannot": "can", "no longer": "", "never": "", "not": "", "no": "a"}
_DENIES = re.compile(r"\b(?:won't|can't|cannot|no longer|never|not|no)\b(?! only| doubt)|n't\b")


def text(content: str, key: int = 1) -> Text:
    """A memory that says no more than its content."""
    return Text(key, str(key), content, "fact", 0, 1.0, (None, None, None, None), False, False)


def pairs(name: str) -> list[dict[str, Any]]:
    """The lines of one of the sets of pairs."""
    lines = (DATA / "pairs" / f"{name}.train.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def memories(conversation: str) -> list[str]:
    """The contents of the memories of a conversation."""
    lines = (DATA / "locomo" / f"conv-{conversation}.memories.jsonl").read_text("utf-8").splitlines()
    return [row["content"] for row in map(json.loads, lines) if row["kind"] == "memory"]


def equivalents() -> dict[str, list[Pair]]:
    """Pairs that people judged to say the same; MSRP's are looser: they often differ in a number or a day."""
    sick = [(p["a"], p["b"]) for p in pairs("sick") if p["label"] == "entailment" and p["relatedness"] >= 4.5]
    stsb = [(p["a"], p["b"]) for p in pairs("stsb") if p["score"] == 5.0]
    return {"SICK": sick, "STS-B": stsb, "MSRP": [(p["a"], p["b"]) for p in pairs("msrp") if p["same"] == 1]}


def false_alarms(equal: Sequence[Pair]) -> Counter[str]:
    """In how many pairs each kind of fact keeps two texts from being duplicates, and any does."""
    found: Counter[str] = Counter()
    for a, b in equal:
        kinds = {each.kind for each in differences((text(a), text(b))) if each.blocks}
        found.update(kinds)
        found["any"] += bool(kinds)
    return found


def corrupted_digits(rng: Random) -> Iterator[Pair]:
    """Texts with a digit, and with another digit in its place."""
    for content in _sentences():
        places = [i for i, letter in enumerate(content) if letter.isdigit()]
        if places:
            at = rng.choice(places)
            other = rng.choice([digit for digit in "123456789" if digit != content[at]])
            yield content, content[:at] + other + content[at + 1 :]


def dropped_negations() -> Iterator[Pair]:
    """Texts with one negation, and without it."""
    for content in _sentences():
        found = _DENIES.findall(content)
        if len(found) == 1:
            without = _DENIES.sub(lambda match: _NEGATIONS.get(match[0], ""), content)
            yield content, " ".join(without.split())


def swapped_names(rng: Random) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Memories with a name, with another name of the conversation in its place, and the names that are known."""
    for conversation in CONVERSATIONS:
        contents = memories(conversation)
        names = names_known(contents)
        for content in contents:
            said = [fact for fact in facts_of(content, names).found if fact.kind == "name" and fact.value in names]
            others = sorted(names - {fact.value for fact in said})
            if said and others:
                one = rng.choice(said).said.removesuffix("'s")
                yield content, re.sub(rf"\b{re.escape(one)}\b", rng.choice(others).title(), content), names


def variants(content: str) -> list[str]:
    """The text in other case, spacing, punctuation and Unicode form."""
    bare = content.rstrip(".!?")
    mark = "?" if content.endswith("?") else ""
    wide = "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in content)
    return [
        content.upper(),
        content.lower(),
        f"  {content.replace(' ', '  ')}\n",
        content.replace(" ", "\n", 1),
        unicodedata.normalize("NFD", content),
        wide,
        f"{bare}!{mark}",
        f"{bare}{mark}",
        f'"{content}"',
        f"- {content}",
        content.replace("'", "\u2019").replace(" - ", " \u2014 "),
        re.sub(r"(?<=[a-z]),(?= [a-z])", "", content) if not content.lower().lstrip('"').startswith("no,") else content,
    ]


def _sentences() -> Iterator[str]:
    for name in ("msrp", "stsb", "sick"):
        for pair in pairs(name):
            yield pair["a"]
    for conversation in CONVERSATIONS:
        yield from memories(conversation)


def _share(found: int, of: int) -> str:
    return f"{found} of {of} ({100 * found / of:.2f} %)" if of else "none"


def _caught(corrupted: Sequence[tuple[str, str, frozenset[str]]]) -> tuple[int, int]:
    """How many corruptions the guard sees, and how many the proof refuses as the text of two equal memories."""
    guarded = sum(differ(a, b, names) for a, b, names in corrupted)
    refused = sum(bool(prove([text(a), text(a, 2)], b, (), "merge", names)) for a, b, names in corrupted)
    return guarded, refused


def report(say: Callable[[str], None] = print) -> None:
    """All figures, a line each."""
    for name, equal in equivalents().items():
        found = false_alarms(equal)
        kinds = ", ".join(f"{kind} {100 * count / len(equal):.2f} %" for kind, count in found.most_common())
        say(f"guard, false alarms on {len(equal)} equivalent pairs of {name}: {kinds or 'none'}")
    rng = Random(3)
    nobody: frozenset[str] = frozenset()
    for what, corrupted in {
        "a corrupted digit": [(a, b, nobody) for a, b in corrupted_digits(rng)],
        "a dropped negation": [(a, b, nobody) for a, b in dropped_negations()],
        "a swapped name": list(swapped_names(rng)),
    }.items():
        guarded, refused = _caught(corrupted)
        count = len(corrupted)
        say(f"{what}: guard {_share(guarded, count)}, proof {_share(refused, count)}")
    proven = [bool(prove([text(a), text(b, 2)], max(a, b, key=len), (), "merge")) for a, b in equivalents()["SICK"]]
    say(f"proof, the longer of two equivalent texts of SICK refused: {_share(sum(proven), len(proven))}")
    started = process_time()
    taken: Counter[str] = Counter()
    for name in ("sick", "stsb", "msrp"):
        for pair in pairs(name):
            if absorbs(pair["a"], pair["b"]) or absorbs(pair["b"], pair["a"]):
                equal_texts = same_text(pair["a"], pair["b"])
                taken[f"{name}, {'equal' if equal_texts else 'contained'}"] += 1
                taken["contradictions"] += pair.get("label") == "contradiction"
    say(f"absorbed without a model: {dict(taken)} in {process_time() - started:.1f} s")
    changed = [(content, other) for content in list(_sentences())[::7] for other in variants(content)]
    equal_count = sum(same_text(a, b) for a, b in changed)
    say(f"equal up to case, spacing, punctuation, Unicode form: {_share(equal_count, len(changed))}")
    contents = [content for conversation in CONVERSATIONS for content in memories(conversation)]
    contents += [pair[side] for pair in pairs("sick") for side in "ab"]
    contents = contents[:10_000]
    for what, work in {"facts": facts_of, "secrets": find_secrets}.items():
        started = process_time()
        found_any = sum(bool(work(content)) for content in contents)
        spent = process_time() - started
        say(
            f"{what} of {len(contents)} texts: {spent:.2f} s"
            + (f", {found_any} held back" if what == "secrets" else "")
        )


if __name__ == "__main__":
    report(lambda line: sys.stdout.write(f"{line}\n"))
