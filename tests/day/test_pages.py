"""The examples in the pages are what happens."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["docs/day.md", "README.md"])
def test_examples(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python of a page, from its top to its end, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    blocks = PYTHON.findall((ROOT / page).read_text())
    assert blocks
    exec("\n".join(blocks), {})
