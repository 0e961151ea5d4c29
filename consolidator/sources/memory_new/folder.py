"""The base folder of memory-new: which files are its memories, scenes and persona."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from consolidator.errors import BadInput
from consolidator.sources.memory_new import files, lines, memories, scenes


@dataclass(frozen=True, slots=True)
class Folder:
    """base: absolute, without links."""

    base: Path

    @classmethod
    def of(cls, place: str) -> "Folder":
        """The one at a place that a person names. BadInput where there is none."""
        base = Path(os.path.abspath(os.path.expanduser(place)))
        if not base.is_dir():
            raise BadInput(f"{base}: there is no such folder; name memory-new's folder, the one that holds memory/l1")
        base = base.resolve()
        if not (base / "memory").is_dir():
            raise BadInput(f"{base}: not memory-new's folder (there is no folder `memory` in it)")
        return cls(base)

    def held(self) -> dict[str, bytes]:
        """All its files at rest, by their paths from the base. BadInput where they cannot be read, or never rest."""
        found = files.at_rest(self._paths, is_whole)
        return {path.relative_to(self.base).as_posix(): raw for path, raw in found.items()}

    def path(self, name: str) -> Path:
        """Where a file of ours is: one below the base, whatever its name holds. BadInput where it is not."""
        path = self.base / name
        if name not in scenes.PERSONAS and path.parent not in (self.base / memories.FOLDER, self.base / scenes.FOLDER):
            raise BadInput(f"{path}: is none of memory-new's files")
        return path

    def _paths(self) -> Iterator[Path]:
        yield from self._named(memories.FOLDER, ".jsonl")
        yield from self._named(scenes.FOLDER, ".md")
        for name in (scenes.INDEX, *scenes.PERSONAS):
            if files.is_there(self.base / name):
                yield self.base / name

    def _named(self, folder: str, ending: str) -> Iterator[Path]:
        path = self.base / folder
        if path.is_symlink():
            raise BadInput(f"{path}: is a symbolic link; put the folder itself there")
        try:
            yield from (path / name for name in os.listdir(path) if name.endswith(ending))
        except FileNotFoundError:
            return
        except OSError as error:
            raise BadInput(f"{path}: cannot be read ({error.strerror})") from None


def since_of(held: Mapping[str, bytes]) -> str:
    """What names the state of all files."""
    return json.dumps({name: hashlib.sha256(raw).hexdigest()[:32] for name, raw in sorted(held.items())})


def is_whole(path: Path, raw: bytes) -> bool:
    """Whether a file's last line has come to its end."""
    return path.suffix != ".jsonl" or lines.is_whole(raw)
