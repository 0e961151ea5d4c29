"""The system made for tests as a kind of source that commands and settings know: `json:PATH`."""

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import ModuleType

import pytest

from consolidator.errors import BadInput
from consolidator.sources.choose import KINDS, Kind
from consolidator.sources.port import Options
from tests.sources.memory_foreign import JsonForeign, JsonSource, Ways

STATES = Ways(states=True)


def as_kind(patch: pytest.MonkeyPatch, folder: Path) -> JsonForeign:
    """A new one in an empty folder. Its file moved away, it cannot be opened."""

    def open_source(_kind: str, place: str, _options: Options) -> AbstractContextManager[JsonSource]:
        if not Path(place).exists():
            raise BadInput(f"{place}: there is no such file")
        return nullcontext(JsonSource(Path(place), STATES))

    module = ModuleType("consolidator.sources.json_for_tests")
    module.open_source = open_source  # type: ignore[attr-defined]
    patch.setitem(sys.modules, module.__name__, module)
    patch.setitem(KINDS, "json", Kind("json", "a test", "its file", "both", "json_for_tests", ("token",)))
    folder.mkdir()
    return JsonForeign(folder, STATES)
