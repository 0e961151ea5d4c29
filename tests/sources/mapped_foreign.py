"""An export of mem0 as its `get_all` returns it, saved anew after every change, as the one who exports does."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from consolidator.sources.port import Options
from tests.sources.foreign import Foreign


class Mem0Export(Foreign):
    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"mem0:{path}"
        self.options = Options()
        self._save([])

    def add(self, text: str, **about: Any) -> str:
        """about: `scope`, canonical; `topics`."""
        records = self._load()
        pairs = json.loads(about.get("scope", "{}"))
        new = {
            "id": str(uuid5(NAMESPACE_URL, f"{len(records)} {text}")), "memory": text, "hash": "0" * 32,
            "metadata": None, "categories": list(about.get("topics", ())), "created_at": "2026-05-30T03:30:00+00:00",
            "updated_at": None, "score": None, **{f"{key}_id": value for key, value in pairs.items()},
        }  # fmt: skip
        self._save([*records, new])
        return str(new["id"])

    def edit(self, id: str, text: str) -> None:  # noqa: A002
        edited = {"memory": text, "updated_at": "2026-06-02T08:00:00+00:00"}
        self._save([{**each, **(edited if each["id"] == id else {})} for each in self._load()])

    def use(self, id: str) -> None:  # noqa: A002
        """It counts none."""

    def remove(self, id: str) -> None:  # noqa: A002
        self._save([each for each in self._load() if each["id"] != id])

    def texts(self) -> dict[str, str]:
        return {each["id"]: each["memory"] for each in self._load()}

    def rest(self) -> object:
        return self.path.read_bytes()

    def _load(self) -> list[dict[str, Any]]:
        return list(json.loads(self.path.read_text(encoding="utf-8"))["results"])

    def _save(self, records: list[dict[str, Any]]) -> None:
        self.path.write_text(json.dumps({"results": records}, ensure_ascii=False), encoding="utf-8")


@contextmanager
def mem0(folder: Path) -> Iterator[Foreign]:
    export = Mem0Export(folder / "export.json")
    export.add("Ada drinks tea.", scope='{"user":"ada"}')
    export.add("The tram to the harbour is line six.", scope='{"user":"ada","agent":"planner"}', topics=("travel",))
    yield export
