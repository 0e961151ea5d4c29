"""A folder of memory-new, written and read byte for byte as its own program does."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from consolidator.instants import format_instant
from consolidator.sources.port import Options
from tests.lives import T0
from tests.sources.foreign import Foreign

SESSION = "agent:main:telegram:ada"
MILLISECOND = 1000


class MemoryNewForeign(Foreign):
    """Such a folder, and what its agent does to it."""

    def __init__(self, folder: Path) -> None:
        self.base = folder / "memory-new"
        self.url, self.options = f"memory-new:{self.base}", Options()
        self._next = 0
        self.write("memory/l0/main.jsonl", '{"id":"l0_1_a","role":"user","content":"Hello","timestamp":1}\n')
        self.write("team/agents/main.json", '{"id":"main","name":"Åsa"}')
        self.write("l3-preview.json", "{}")
        (self.base / "memory/l1").mkdir()

    def add(self, text: str, **about: Any) -> str:
        """`appendL1`, after `storeL1` has given the row an id and its times. about: session, and fields of the row."""
        self._next += 1
        at, session = T0 + self._next * MILLISECOND, about.pop("session", SESSION)
        now = format_instant(at)
        row = {
            "content": text, "type": "episodic", "priority": 80, "sceneName": "日常", "sourceMessageIds": ["l0_1_a"],
            "metadata": {}, "timestamps": [now], "sessionKey": session, "sessionId": "s1", "userId": "ada",
            "agentId": "main", "status": "active", "kind": "fact", "importance": 0.8,
            "id": f"l1_{at // MILLISECOND}_{self._next:07}", "createdAt": now, "updatedAt": now, "version": 1, **about,
        }  # fmt: skip
        row = {name: value for name, value in row.items() if value is not None}
        with self.file(session).open("a", newline="") as file:
            file.write(stringify(row) + "\n")
        return str(row["id"])

    def edit(self, id: str, text: str) -> None:  # noqa: A002
        self.patch(id, content=text)

    def use(self, id: str) -> None:  # noqa: A002
        """`bumpL1Recalled`."""
        row = self.rows()[id]
        if row.get("status", "active") == "active":
            at = (T0 + 10**9) // MILLISECOND
            self.patch(id, retrievalCount=row.get("retrievalCount", 0) + 1, lastEffectiveAt=at, lastRetrievedAt=at)

    def remove(self, id: str) -> None:  # noqa: A002
        """Its own decay takes it out of recall."""
        self.patch(id, status="forgotten")

    def patch(self, id: str, **fields: Any) -> None:  # noqa: A002
        """`persistL1Patches`: the whole file, in place; broken lines stay."""
        for path in self.files():
            lines = path.read_bytes().decode().split("\n")
            for place, line in enumerate(lines):
                row = parsed(line)
                if row is not None and row.get("id") == id:
                    lines[place] = stringify({**row, **fields})
                    path.write_bytes("\n".join(lines).encode())
                    return

    def rows(self) -> dict[str, dict[str, Any]]:
        """`readAllL1`."""
        lines = [line for path in self.files() for line in path.read_bytes().decode().split("\n")]
        return {row["id"]: row for row in map(parsed, lines) if row is not None}

    def texts(self) -> dict[str, str]:
        """What `isL1Recallable` lets through."""
        recalled = {key: row for key, row in self.rows().items() if row.get("status") not in ("frozen", "forgotten")}
        return {key: row["content"] for key, row in recalled.items()}

    def rest(self) -> object:
        others = [path for path in self.base.rglob("*") if path.is_file() and path.parent.name != "l1"]
        return {path.relative_to(self.base).as_posix(): path.read_bytes() for path in sorted(others)}

    def file(self, session: str = SESSION) -> Path:
        return self.base / "memory/l1" / f"{session}.jsonl"

    def files(self) -> list[Path]:
        return sorted((self.base / "memory/l1").glob("*.jsonl"))

    def write(self, name: str, text: str) -> Path:
        path = self.base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def scene(self, name: str, title: str, points: list[str], *, at: int = T0) -> str:
        """`writeScene` of what `buildSceneContent` makes, and the index with it. Returns the id of its item."""
        now, summary = format_instant(at), "平均优先级: 80"
        body = (
            f"# {title}\n\n## Key Points\n" + "\n".join(f"- [episodic] {point}" for point in points)
            + f"\n\n## Summary\n{summary}\n共 {len(points)} 条相关记忆\n\n---\nGenerated: {now}\n"
        )  # fmt: skip
        head = f"id: {name}\ntitle: {title}\nsummary: {summary}\ntags: {stringify([title])}\n"
        self.write(f"memory/scenes/{name}.md", f"---\n{head}created_at: {now}\nupdated_at: {now}\n---\n\n{body}")
        path = self.base / "memory/scenes/index.json"
        index = json.loads(path.read_text()) if path.exists() else {}
        index[name] = {"id": name, "title": title, "summary": summary, "tags": [title]}
        path.write_text(json.dumps(index, ensure_ascii=False, indent=2))
        return f"scene:{name}"

    def persona(self, text: str) -> None:
        now = format_instant(T0)
        head = f"---\nid: persona_{T0 // MILLISECOND}\ncreated_at: {now}\nupdated_at: {now}\n---\n\n"
        self.write("memory/persona.md", head + text)


def stringify(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def parsed(line: str) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and isinstance(row.get("id"), str) else None


@contextmanager
def plain(folder: Path) -> Iterator[MemoryNewForeign]:
    yield MemoryNewForeign(folder)
