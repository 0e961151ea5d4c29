"""
The sample life: what an agent would remember of Ilona Saarelma after 60 days with her.

The texts are written by hand in `ilona.toml`. Which memories the agent saw in which turn, and what helped,
is drawn here, from a fixed seed: the same lines every time. Standard library only.

    python3 demo/life.py                 write the lines to standard output
    python3 demo/life.py -o FILE         write them to a file
    python3 demo/life.py --check [FILE]  check a file (default: the one that is kept here) line by line,
                                         and that it is what this script writes
"""

import argparse
import hashlib
import json
import random
import sys
import tomllib
from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

HERE = Path(__file__).parent
SAMPLE = HERE / "sample_life.jsonl"
SCOPE = {"user": "ilona"}
ZONE = ZoneInfo("Europe/Helsinki")
FIRST_DAY = date(2026, 3, 31)
DAYS = 60
NIGHT = datetime(2026, 5, 30, 3, 30, tzinfo=UTC)
SEED = 26

# How often each topic comes up: at first, in the last fortnight, and the weekdays (Monday 0) with three times that.
TOPICS = {
    "family": (3, 3, {5, 6}), "health": (2.5, 2.5, {1}), "work": (6, 6, {0, 1, 2, 3}), "cottage": (2, 3, {4, 5, 6}),
    "kayak": (1, 2, {5}), "choir": (1, 1, {2}), "mandarin": (1.5, 1.5, {0, 3}), "ghent": (1, 5, {1, 4}),
    "kitchen": (2, 1.5, {6}), "dog": (1.5, 1.5, {5}), "papers": (0.7, 0.7, {0}),
}  # fmt: skip
LAST_FORTNIGHT = date(2026, 5, 16)
WEEKEND_FREE = {"work", "ghent"}
SESSION_HOURS = (7.0, 11.5, 15.5, 19.5)
EMBEDDER_DOWN = {date(2026, 4, 22), date(2026, 4, 23), date(2026, 5, 18)}
RATINGS = ("agent_feedback_positive",) * 6 + ("agent_feedback_neutral",) * 2 + ("agent_feedback_negative",) * 2
CORRECTED = {"agent_feedback_positive": "agent_feedback_negative"}  # any other becomes positive


def utc(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def local(text: str) -> datetime:
    """A local time; without a year it is one of 2026."""
    return datetime.fromisoformat(text if text[:4].isdigit() else f"2026-{text}").replace(tzinfo=ZONE)


def anchor(text: str) -> str:
    """A date stays a date, a local time becomes an instant."""
    return text if len(text) == 10 else utc(local(text))


def read_texts() -> list[dict]:
    """The memories in order of time, each with its id, its topics and when it came and went out of use."""
    memories = []
    for topic, table in tomllib.loads((HERE / "ilona.toml").read_text(encoding="utf-8")).items():
        for text in table["memories"]:
            memories.append(
                text
                | {
                    "id": hashlib.sha256(text["text"].encode()).hexdigest(),
                    "topics": [topic, *text.get("also", [])],
                    "since": local(text["at"]),
                    "until": local(text["until"] + " 00:00") if "until" in text else NIGHT,
                }
            )
    return sorted(memories, key=lambda memory: (memory["since"], memory["id"]))


def memory_line(memory: dict) -> dict:
    since = utc(memory["since"])
    line = {"kind": "memory", "scope": SCOPE, "id": memory["id"], "content": memory["text"], "type": memory["type"]}
    line["source"] = "auto_capture" if memory.get("auto") else "agent_tool"
    line |= {"created_at": since, "strength_at": since, "topics": memory["topics"]}
    if memory.get("pinned"):
        line["pinned"] = True
    if "anchor" in memory:
        line |= {"temporal_state": "future", "temporal_anchor": anchor(memory["anchor"])}
    if "end" in memory:
        line["temporal_end"] = anchor(memory["end"])
    if "rrule" in memory:
        line |= {"recurrence": memory["rrule"], "recurrence_start": anchor(memory["start"])}
    if "expires" in memory:
        line["expires_at"] = utc(local(memory["expires"]))
    return line


class Life:
    """Sixty days of talk: sessions on a topic, turns in a session, memories in a turn."""

    def __init__(self, memories: list[dict]):
        self.random = random.Random(SEED)
        self.exposures: list[dict] = []
        self.attributions: list[dict] = []
        self.memories = memories
        ranked = sorted(memories, key=lambda memory: (-memory.get("use", 1), self.random.random()))
        self.popularity = {memory["id"]: rank**-0.9 for rank, memory in enumerate(ranked, 1) if memory.get("use", 1)}

    def live(self) -> None:
        for number in range(DAYS):
            self.spend(FIRST_DAY + timedelta(days=number))
        self.correct()

    def draw(self, weights: dict[str, float], count: int) -> list[str]:
        """At most `count` keys, each once, the heavy ones sooner."""
        left, drawn = dict(weights), []
        while left and len(drawn) < count:
            [key] = self.random.choices(list(left), list(left.values()))
            drawn.append(key)
            del left[key]
        return drawn

    def spend(self, day: date) -> None:
        weekend = day.weekday() >= 5
        sessions = [hour for hour in SESSION_HOURS if self.random.random() < 0.75 and not (weekend and hour < 9)]
        if day == FIRST_DAY or not sessions:
            sessions = [SESSION_HOURS[-1] + 1]
        for number, hour in enumerate(sessions):
            begin = datetime.combine(day, time(), ZONE) + timedelta(hours=hour + self.random.random() * 2)
            topics = {
                topic: (late if day >= LAST_FORTNIGHT else early) * (3 if day.weekday() in busy else 1)
                for topic, (early, late, busy) in TOPICS.items()
                if self.known(topic, begin) and not (weekend and topic in WEEKEND_FREE)
            }
            self.talk(f"{day:%m%d}{'abcd'[number]}", begin, self.draw(topics, 1)[0])

    def known(self, topic: str, moment: datetime) -> dict[str, float]:
        """What could come up on a topic, weighted: the sought-after, the new, and what is near in time more often."""
        weights = {}
        for memory in self.memories:
            sought = topic in memory["topics"] and memory["id"] in self.popularity
            if not sought or not memory["since"] < moment < memory["until"]:
                continue
            age_days = (moment - memory["since"]) / timedelta(days=1)
            weights[memory["id"]] = self.popularity[memory["id"]] * (1 + 3 * 0.5 ** (age_days / 3))
            if "anchor" in memory and timedelta(0) < local(memory["anchor"]) - moment < timedelta(days=4):
                weights[memory["id"]] *= 4
        return weights

    def talk(self, session: str, moment: datetime, topic: str) -> None:
        """A session: two to four turns that keep coming back to the same handful of memories."""
        known, habits = self.known(topic, moment), self.known("habits", moment)
        pool = self.draw(known, 4)
        for number in range(1, self.random.choice((2, 2, 3, 4)) + 1):
            shown = self.draw({key: known[key] for key in pool}, self.random.choice((2, 3, 3, 4)))
            others = {key: weight for key, weight in habits.items() if key not in shown}
            shown += self.draw(others, 1) if self.random.random() < 0.35 else []
            found = self.draw(dict.fromkeys(known, 1.0), self.random.choice((0, 0, 1, 2)))
            opened = self.draw({key: known.get(key, 0.01) for key in found or shown}, self.random.choice((0, 1)))
            self.turn(session, number, moment, shown=shown, found=found, opened=opened)
            moment += timedelta(seconds=self.random.randint(50, 400))

    def turn(self, session: str, number: int, moment: datetime, *, shown: list, found: list, opened: list) -> None:
        turn = f"{session}.{number}"
        search = "bm25_only" if moment.date() in EMBEDDER_DOWN else "hybrid"
        helped = {}
        for seconds, mode, share, ids in (
            (0, "auto_injected", 0.6, shown),
            (4, "tool_search_returned", 0.7, found),
            (9, "tool_get", 1.0, opened),
        ):
            score = 0.62 + 0.3 * self.random.random()
            for memory_id in ids:
                exposure = {"kind": "exposure", "scope": SCOPE, "session_id": session, "turn_id": turn}
                exposure |= {"memory_id": memory_id, "mode": mode}
                if mode != "tool_get":
                    exposure |= {"score": round(score, 3), "retrieval_mode": search}
                    score *= 0.75 + 0.2 * self.random.random()
                self.exposures.append(exposure | {"at": utc(moment + timedelta(seconds=seconds))})
                if self.random.random() < share:
                    helped[memory_id] = mode
        if not helped:  # an answer without a trace would leave its day without one
            helped[shown[0]] = "auto_injected"
        for memory_id, evidence in helped.items():
            self.attribute(turn, memory_id, evidence, moment + timedelta(seconds=20))
        if self.random.random() < 0.12:
            rated, rating = self.random.choice(list(helped)), self.random.choice(RATINGS)
            self.attribute(turn, rated, rating, moment + timedelta(seconds=self.random.randint(25, 45)))

    def attribute(self, turn: str, memory_id: str, evidence: str, moment: datetime) -> None:
        line = {"kind": "attribution", "scope": SCOPE, "message_id": f"{turn}m", "session_id": turn.split(".")[0]}
        self.attributions.append(
            line | {"turn_id": turn, "memory_id": memory_id, "evidence": evidence, "at": utc(moment)}
        )

    def correct(self) -> None:
        """Some days after she rated an answer, Ilona takes every eighth rating back."""
        ratings = [line for line in self.attributions if line["evidence"] in RATINGS]
        for line in ratings[3::8]:
            moment = datetime.fromisoformat(line["at"]) + timedelta(days=self.random.randint(2, 5), hours=1)
            if moment < NIGHT:
                evidence = CORRECTED.get(line["evidence"], "agent_feedback_positive")
                self.attribute(line["turn_id"], line["memory_id"], evidence, moment)


def write_life() -> str:
    memories = read_texts()
    life = Life(memories)
    life.live()
    lines = [{"kind": "header", "format": "consolidator-jsonl", "version": 1}]
    lines.append({"kind": "scope", "scope": SCOPE, "time_zone": ZONE.key})
    lines += map(memory_line, memories)
    for events in (life.exposures, life.attributions):
        lines += sorted(events, key=lambda line: (line["at"], line["turn_id"], line["memory_id"]))
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)


FIELDS = {  # required, optional
    "header": ("format version", ""),
    "scope": ("scope time_zone", ""),
    "memory": (
        "scope id content type source created_at strength_at topics",
        "pinned temporal_state temporal_anchor temporal_end recurrence recurrence_start expires_at",
    ),
    "exposure": ("scope session_id turn_id memory_id mode at", "score retrieval_mode"),
    "attribution": ("scope message_id session_id turn_id memory_id evidence at", ""),
}
KEY = ("session_id", "turn_id", "memory_id", "mode", "message_id", "evidence", "at")
WORDS = {
    "type": {"fact", "preference", "decision", "plan", "observation"},
    "source": {"agent_tool", "auto_capture"},
    "mode": {"auto_injected", "tool_search_returned", "tool_get"},
    "retrieval_mode": {"hybrid", "bm25_only"},
    "evidence": {"auto_injected", "tool_search_returned", "tool_get", *RATINGS},
}


def faults(line: dict, since: dict[str, str]) -> list[str]:
    """What the exchange format, or good sense, has against a line; notes a memory's beginning in `since`."""
    required, optional = (set(names.split()) for names in FIELDS.get(line.get("kind"), ("", "")))
    names = set(line) - {"kind"}
    found = [f"{name} is missing" for name in required - names]
    found += [f"{name} is unknown" for name in names - required - optional]
    found += [f"{name}: {line[name]}" for name, words in WORDS.items() if name in line and line[name] not in words]
    for name in names & {"at", "created_at", "strength_at", "expires_at"}:
        if not line[name].endswith("Z") or datetime.fromisoformat(line[name]).tzinfo is None:
            found.append(f"{name} is no UTC time")
    if line.get("kind") == "memory":
        if line["id"] != hashlib.sha256(line["content"].encode()).hexdigest() or line["id"] in since:
            found.append("the id is not the content's hash, or is there twice")
        since[line["id"]] = line["created_at"]
        begin, end = line.get("temporal_anchor", ""), line.get("temporal_end")
        if end and (len(begin) != len(end) or end < begin):
            found.append("the anchor ends before it begins")
        if ("recurrence" in line) != ("recurrence_start" in line):
            found.append("a recurrence and its start go together")
    elif "memory_id" in line:
        if not since.get(line["memory_id"], "9") < line["at"] < utc(NIGHT):
            found.append("not between the memory's beginning and the night")
        if "mode" in line and ("score" in line) == (line["mode"] == "tool_get"):
            found.append("what was injected or found has a score, what was opened has none")
        if not 0 <= line.get("score", 0) <= 1:
            found.append("score is not between 0 and 1")
    return found


def check(path: Path) -> int:
    """Print what is in the file; the exit code is 1 if something is wrong with it."""
    text = path.read_text(encoding="utf-8")
    lines, since, wrong = [json.loads(line) for line in text.splitlines()], {}, []
    for number, line in enumerate(lines, 1):
        wrong += [f"{path}:{number}: {fault}" for fault in faults(line, since)]
    if lines[0] != {"kind": "header", "format": "consolidator-jsonl", "version": 1}:
        wrong.append(f"{path}:1: no header")
    for kind in ("exposure", "attribution"):
        days = {datetime.fromisoformat(line["at"]).astimezone(ZONE).date() for line in lines if line["kind"] == kind}
        for missing in {FIRST_DAY + timedelta(days=number) for number in range(DAYS)} - days:
            wrong.append(f"{path}: no {kind} on {missing}")
    keys = Counter(tuple(line.get(name) for name in KEY) for line in lines if "memory_id" in line)
    wrong += [f"{path}: there {count} times: {key}" for key, count in keys.items() if count > 1]
    if text != write_life():
        wrong.append(f"{path}: not what this script writes; run it with -o {path}")
    kinds = Counter(line["kind"] for line in lines)
    used = Counter(line["memory_id"] for line in lines if line["kind"] == "exposure")
    print(f"{len(text.encode()):,} bytes; " + ", ".join(f"{count:,} {kind}" for kind, count in kinds.items()))
    for name in ("type", "mode", "evidence"):
        counts = Counter(line[name] for line in lines if name in line)
        print(f"{name}: " + ", ".join(f"{count:,} {word}" for word, count in counts.most_common()))
    print(f"shown most often: {[count for _, count in used.most_common(12)]}; never: {kinds['memory'] - len(used)}")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Write or check the sample life.")
    parser.add_argument("-o", "--output", type=Path, help="write to this file")
    parser.add_argument("--check", nargs="?", type=Path, const=SAMPLE, metavar="FILE", help="check this file")
    arguments = parser.parse_args()
    if arguments.check:
        return check(arguments.check)
    text = write_life().encode()
    if arguments.output:
        arguments.output.write_bytes(text)
    else:
        sys.stdout.buffer.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
