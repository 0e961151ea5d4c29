"""Each night reads, at each level and in each form, exactly as the golden files say."""

import os
from pathlib import Path

import pytest

from consolidator.report import FORMS, LEVELS, render
from tests.report.nights import NIGHTS

GOLDEN = Path(__file__).parent / "golden"
ENDINGS = {"text": "txt", "markdown": "md", "html": "html", "json": "json"}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NIGHTS)
def test_a_report_reads_as_its_golden_file(name: str, form: str, level: str) -> None:
    """What a level has nothing to say about has no file. CONSOLIDATOR_WRITE_GOLDEN=1 writes them anew: read them."""
    rendered = render(NIGHTS[name](), level, form)
    golden = GOLDEN / f"{name}.{level}.{ENDINGS[form]}"
    if os.environ.get("CONSOLIDATOR_WRITE_GOLDEN"):
        golden.unlink(missing_ok=True)
        if rendered:
            golden.write_text(rendered + "\n", encoding="utf-8")
    assert rendered == (golden.read_text(encoding="utf-8").removesuffix("\n") if golden.exists() else "")
