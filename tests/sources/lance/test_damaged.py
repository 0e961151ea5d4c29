"""What is no table of these systems, or is damaged, in one line."""

import os
import shutil
from pathlib import Path

import lancedb
import pyarrow as pa
import pytest

from consolidator.errors import BadInput
from consolidator.sources.choose import open_source
from consolidator.sources.lance.flavours import FLAVOURS, TABLE
from consolidator.sources.port import Options
from tests.sources.lance.acts import OFFICIAL, PRO, ULTRA, refusal, told, written
from tests.sources.lance_foreign import LanceForeign, fields_of


def test_a_folder_that_is_missing_is_said_and_never_made(tmp_path: Path) -> None:
    """LanceDB would make it."""
    assert "there is no such folder" in refusal(f"{ULTRA}:{tmp_path}/none")
    assert not (tmp_path / "none").exists()
    (tmp_path / "empty").mkdir()
    assert "holds no table memories" in refusal(f"{ULTRA}:{tmp_path}/empty")
    assert not [*(tmp_path / "empty").iterdir()]


@pytest.mark.parametrize("kind", FLAVOURS)
def test_a_column_that_is_missing_is_named(kind: str, tmp_path: Path) -> None:
    """Or of another type; nothing is guessed."""
    foreign = LanceForeign(kind, tmp_path)
    for name in FLAVOURS[kind].columns:
        columns, odd = fields_of(kind), pa.list_(pa.float32()) if name == "vector" else pa.binary()
        del columns[name]
        for have, said in ((columns, f"has no column {name}"), ({**columns, name: odd}, f"column {name} is {odd}")):
            lancedb.connect(tmp_path).create_table(TABLE, schema=pa.schema([*have.items()]), mode="overwrite")
            assert said in refusal(foreign.url)


def test_a_table_of_another_system_is_recognised(tmp_path: Path) -> None:
    """The hint names the kind to write; one from before agents had tables of their own is mended by its own doctor."""
    foreign = LanceForeign(OFFICIAL, tmp_path)
    assert f"write {OFFICIAL}:PLACE" in refusal(f"{ULTRA}:{tmp_path}")
    foreign.make({name: kind for name, kind in fields_of(OFFICIAL).items() if name != "agentId"})
    assert "openclaw doctor --fix" in refusal(foreign.url)
    foreign.make(fields_of(PRO))
    assert f"write {ULTRA}:PLACE" in refusal(foreign.url)


def test_vectors_of_another_size_than_the_models_are_refused(ultra: LanceForeign) -> None:
    """A model that nobody knows the size of is believed."""
    assert "have 8 numbers and those of openai:text-embedding-3-small have 1536" in refusal(
        ultra.url, model="openai:text-embedding-3-small"
    )
    with open_source(ultra.url, Options(model="openai:somebody's")) as source:
        assert source.model == "openai:somebody's"


def test_a_table_whose_files_are_broken_is_said_in_one_line(ultra: LanceForeign) -> None:
    """And nothing of a text stands in the line."""
    ultra.add("Something secret.")
    shutil.rmtree(ultra.folder / f"{TABLE}.lance" / "data")
    assert "cannot be read" in refusal(ultra.url)
    for manifest in (ultra.folder / f"{TABLE}.lance" / "_versions").iterdir():
        manifest.write_bytes(b"secret")
    said = refusal(ultra.url)
    assert "cannot be opened" in said
    assert "secret" not in said


def test_a_folder_that_cannot_be_written_is_read_all_the_same(
    ultra: LanceForeign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a push is refused."""
    key = ultra.add("It stays.")
    before, _ = told(ultra, key)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(BadInput, match="cannot be written"):
        written(ultra, key, before, None)
    assert ultra.texts() == {key: "It stays."}


def test_a_lock_that_cannot_be_made_is_said_in_one_line(pro: LanceForeign, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing is written without it."""
    key = pro.add("It stays.")
    before, _ = told(pro, key)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(BadInput, match="cannot be written"):
        written(pro, key, before, None)
    assert pro.texts() == {key: "It stays."}
