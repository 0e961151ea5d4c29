"""Whole lives of Markdown pages: pulled, merged by nights, pushed, taken back, edited by a person in between."""

from pathlib import Path
from typing import Any

import pytest

from consolidator.sources.port import Options
from consolidator.store.engine import Store
from consolidator.store.undo import undo_run
from tests.sources.acts import OWL, TRAM, WRITTEN, day, forgotten, merged, pulled, pushed, slept, standing, taken_back
from tests.sources.foreign import Foreign

PAGES = {
    "tight": f"# A\n\n- first\n- {TRAM}\n- {OWL}\n- last\n",
    "loose": f"- first\n\n- {TRAM}\n\n- {OWL}\n\n- last",
    "prose": f"# A\r\n\r\n{TRAM}\r\n\r\n{OWL}\r\n\r\n## B\r\n\r\nlast\r\n",
    "under headings": f"## A\n{TRAM}\n\n## B\n{OWL}\n\n## C\n- last\n",
    "wrapped": f"* first\n* [ ] {TRAM[:8]}\n  {TRAM[8:]}  \n\n\n{OWL}\n   \n| a |\n|---|\n| 1 |\n",
    "nested": f"- first\n  - {TRAM}\n  - {OWL}\n\n```\n- {OWL}\n```\n",
    "at the end": f"\ufeff---\na: b\n---\n- first\n1. {OWL}\n2. {TRAM}",
    "twice": f"- {OWL}\n- {TRAM}\n- {OWL}\n\n- {TRAM}\n",
}


class Notes(Foreign):
    """A folder with one page, which a person writes with an editor."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "notes.md"
        self.url, self.options = f"markdown:{folder}", Options()

    @property
    def text(self) -> str:
        return self.file.read_bytes().decode()

    @text.setter
    def text(self, text: str) -> None:
        self.file.write_bytes(text.encode())

    def sorted_lines(self) -> list[str]:
        return sorted(line.strip() for line in self.text.splitlines() if line.strip())


@pytest.fixture
def store(new_store: Any) -> Store:
    made: Store = new_store()
    return made


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    folder = tmp_path / "notes"
    folder.mkdir()
    return Notes(folder)


@pytest.mark.parametrize("page", PAGES)
def test_a_push_and_its_undo_leave_the_page_as_it_was(store, notes, page):
    """To the byte, whatever it is made of; and pushed again it says the same as the first time."""
    notes.text = PAGES[page]
    pulled(store, notes, 1)
    merged(store, 2, TRAM, OWL, text=WRITTEN)
    done = pushed(store, notes, 2)
    assert (done.made, done.removed, done.conflicts) == (1, 2, ())
    after = notes.text
    assert after.count(WRITTEN) == 1
    assert TRAM not in " ".join(after.split())
    again = pulled(store, notes, 3)
    assert (again.new, again.changed, again.gone) == (0, 0, 0)
    assert pushed(store, notes, 3).push_id is None
    assert notes.text == after
    assert taken_back(store, notes, 4).refused == ()
    assert notes.text == PAGES[page]
    pushed(store, notes, 5)
    assert notes.text == after


@pytest.mark.parametrize("page", PAGES)
def test_a_night_taken_back_leaves_the_page_as_it_was(store, notes, page):
    """The push after the undo of the night removes what it made, and what it took the place of is back."""
    notes.text = PAGES[page]
    pulled(store, notes, 1)
    merged(store, 2, TRAM, OWL, text=WRITTEN)
    pushed(store, notes, 2)
    undo_run(store, "last", wall_clock=lambda: day(3))
    assert pushed(store, notes, 3).conflicts == ()
    assert notes.text == PAGES[page]
    assert {standing(store)[text] for text in (TRAM, OWL)} == {"active"}


@pytest.mark.parametrize("page", PAGES)
def test_what_a_person_writes_meanwhile_stays(store, notes, page):
    """Lines above, below and between, before the push and before its undo."""
    notes.text = PAGES[page] if page != "at the end" else PAGES[page].removeprefix("\ufeff---\na: b\n---\n")
    pulled(store, notes, 1)
    merged(store, 2, TRAM, OWL, text=WRITTEN)
    notes.text = f"# New\n\n{notes.text}\n\n- by hand\n"
    before = notes.sorted_lines()
    pulled(store, notes, 2)
    assert pushed(store, notes, 2).conflicts == ()
    notes.text = f"Also by hand.\n\n{notes.text}\n- at last\n"
    assert taken_back(store, notes, 4).refused == ()
    assert notes.sorted_lines() == sorted([*before, "Also by hand.", "- at last"])


def test_an_edit_of_what_was_merged_wins(store, notes):
    """Before the push: the edited line stays as it is, and so does the other, till the next night has seen it."""
    notes.text = PAGES["tight"]
    pulled(store, notes, 1)
    merged(store, 2, TRAM, OWL, text=WRITTEN)
    notes.text = edited = notes.text.replace("line six", "line nine")
    assert pushed(store, notes, 2).exit_code == 3
    assert notes.text == edited
    assert pulled(store, notes, 3).changed == 1
    assert standing(store)[TRAM.replace("six", "nine")] == "active"


def test_an_edit_is_history_and_a_removal_is_an_archive(store, notes):
    """What stood at the place of the new text is superseded by it; what was moved is the same memory."""
    notes.text = "- one cat\n- two dogs\n- three owls\n"
    pulled(store, notes, 1)
    notes.text = "# Moved\n\n- three owls\n- one cat\n- four dogs\n"
    seen = pulled(store, notes, 2)
    assert (seen.new, seen.gone) == (0, 0)
    assert standing(store)["two dogs"] == "superseded"
    notes.text = "# Moved\n\n- three owls\n- one cat\n- five dogs\n"
    seen = pulled(store, notes, 3)
    assert (seen.new, seen.changed, seen.gone) == (0, 1, 0)
    assert standing(store)["four dogs"] == "superseded"
    notes.text = "# Moved\n\n- one cat\n- five dogs\n"
    assert pulled(store, notes, 4).gone == 1
    assert standing(store)["three owls"] == "gone"
    assert pushed(store, notes, 4).push_id is None


def test_what_is_forgotten_goes_also_where_others_are_nested_below(store, notes):
    """The text alone: those below keep their place."""
    notes.text = f"- {TRAM}\n  - below\n- {OWL}\n"
    pulled(store, notes, 1)
    forgotten(store, TRAM, 2)
    forgotten(store, OWL, 2)
    assert pushed(store, notes, 2).removed == 2
    assert notes.text == "-\n  - below\n"


def test_what_is_new_at_the_place_of_what_a_push_removed_is_no_edit_of_it(store, notes):
    """It is a memory of its own; and of what had to stay there nobody says that it is there again."""
    notes.text = f"- {TRAM}\n  - below\n- {OWL}\n"
    pulled(store, notes, 1)
    merged(store, 2, TRAM, OWL, text=WRITTEN)
    pushed(store, notes, 2)
    notes.text += "- new\n"
    seen = pulled(store, notes, 3)
    assert (seen.new, seen.changed, seen.gone, seen.conflicts, seen.notes) == (1, 0, 0, (), ())
    assert taken_back(store, notes, 4).refused == ()
    assert notes.sorted_lines() == sorted(["- below", "- new", f"- {OWL}", f"- {TRAM}"])


def test_why_a_page_cannot_be_read_is_said_once(store, notes):
    """However many memories it held; all of them are as they were."""
    notes.text = PAGES["tight"]
    pulled(store, notes, 1)
    notes.file.write_bytes(b"- caf\xe9\n")
    seen = pulled(store, notes, 2)
    assert (seen.gone, seen.bad_lines, [each.reason for each in seen.bad]) == (0, 1, ["is not valid UTF-8 (byte 6)"])
    assert {*standing(store).values()} == {"active"}


def test_what_is_forgotten_stays_where_it_is_only_read(store, tmp_path):
    """It goes everywhere else; each push says so, and is complete all the same: nobody can do more tonight."""
    workspace = Notes(tmp_path)
    workspace.file, workspace.url = tmp_path / "USER.md", f"openclaw:{tmp_path}"
    workspace.text = f"- {TRAM}\n- {OWL}\n"
    (tmp_path / "SOUL.md").write_text(f"- {TRAM}\n")
    pulled(store, workspace, 1)
    forgotten(store, TRAM, 2)
    first, second = pushed(store, workspace, 2), pushed(store, workspace, 3)
    assert (first.removed, first.exit_code) == (1, 0)
    assert (second.push_id, second.exit_code) == (None, 0)
    assert "is only read" in first.notes[0]
    assert first.notes == second.notes
    assert workspace.text == f"- {OWL}\n"
    assert (tmp_path / "SOUL.md").read_text() == f"- {TRAM}\n"


def test_what_fades_stays_on_its_page(store, notes):
    """Forty nights pass; nothing is written, and nothing comes back as news."""
    notes.text = PAGES["nested"]
    pulled(store, notes, 1)
    slept(store, 60)
    assert {*standing(store).values()} == {"active"}  # nothing happened meanwhile: the clock stood still
    notes.text += "\n- a word\n"
    for number in range(1, 8):
        notes.text += f"\n- a word {number}\n"
        pulled(store, notes, 60 + 6 * number)
        slept(store, 60 + 6 * number)
    before = notes.text
    assert standing(store)[TRAM] == "faded"
    assert pushed(store, notes, 103).push_id is None
    assert notes.text == before
    notes.text += "- another\n"
    seen = pulled(store, notes, 104)
    assert (seen.new, seen.changed, seen.notes) == (1, 0, ())
