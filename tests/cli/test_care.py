"""What a person decides by hand: pin, unpin, restore."""

from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from consolidator.store.engine import open_store
from consolidator.store.tables import aliases, identities, memories
from tests.cli.conftest import Consolidate, Ended
from tests.lives import (
    COMING,
    FADED_NAME,
    FADING,
    HUB,
    NEW_NAME,
    PINNED,
    TTL,
    ÅSA,
    memory,
    name,
)


def row(url: str, text: str) -> sa.RowMapping:
    """A memory's row."""
    with open_store(url, mode="read") as store, store.read() as conn:
        query = sa.select(memories).join(identities, identities.c.key == memories.c.key)
        return conn.execute(query.where(identities.c.hash == name(text))).mappings().one()


def test_pin(eve: Consolidate, eve_url: str) -> None:
    """A pinned memory does not fade away; unpinned, it does; each counts its revision up, and only once."""
    ids = [name(text)[:10] for text in FADING[:2]]
    before = row(eve_url, FADING[0])
    said = eve("pin", *ids)
    assert said.code == 0
    assert said.out.count("Pinned: ") == 2
    after = row(eve_url, FADING[0])
    assert (after["pinned"], after["revision"]) == (True, before["revision"] + 1)
    assert eve("pin", ids[0]).out.startswith("Already pinned")
    assert row(eve_url, FADING[0])["revision"] == after["revision"]
    archived = {one["id"] for one in archived_in(eve("run", "--dry-run", "--json", "--decisions"))}
    assert not archived & {name(text) for text in FADING[:2]}
    assert eve("unpin", ids[0]).out.startswith("Unpinned")
    archived = {one["id"] for one in archived_in(eve("run", "--dry-run", "--json", "--decisions"))}
    assert archived & {name(text) for text in FADING[:2]} == {name(FADING[0])}


def archived_in(ended: Ended) -> list[dict[str, str]]:
    """The memories that a run archives."""
    return [{"id": one["ids"][0]} for one in ended.document["decisions"] if one["verb"] == "archived"]


def test_pin_makes_a_plan_stale(eve: Consolidate, eve_url: str, tmp_path: Path) -> None:
    """A plan made before a memory was pinned leaves that memory alone."""
    plan = tmp_path / "plan.json"
    assert eve("run", "--dry-run", "--out", plan).code == 0
    eve("pin", name(FADING[0]))
    assert eve("apply", plan).code == 3
    assert row(eve_url, FADING[0])["status"] == "active"
    assert row(eve_url, FADING[1])["status"] == "archived"


def test_restore_archived(eve: Consolidate, eve_url: str) -> None:
    """A restored memory is active, kept, and stays so in the nights that follow."""
    assert eve("run", "--report", "off").code == 0
    assert row(eve_url, FADING[0])["status"] == "archived"
    said = eve("restore", name(FADING[0])[:8])
    assert said.out.startswith("Restored (archived before)")
    back = row(eve_url, FADING[0])
    assert (back["status"], back["archived_at"], back["archived_because"]) == ("active", None, None)
    assert back["kept"]
    assert eve("run", "--report", "off").code == 0
    assert row(eve_url, FADING[0])["status"] == "active"
    assert eve("restore", name(FADING[0])[:8]).out.startswith("Already active")


def test_restore_expired(eve: Consolidate, eve_url: str) -> None:
    """A restored memory whose time to live has passed loses it, or the next night would archive it again."""
    assert eve("run", "--report", "off").code == 0
    assert row(eve_url, TTL)["archived_because"] == "expired"
    eve("restore", name(TTL))
    assert eve("run", "--report", "off").code == 0
    assert row(eve_url, TTL)["status"] == "active"


def test_restore_superseded(eve: Consolidate, eve_url: str) -> None:
    """A restored memory is itself again: nothing leads its events elsewhere, and what they led to is revised."""
    before = row(eve_url, NEW_NAME)
    said = eve("restore", name(FADED_NAME))
    assert said.out.startswith("Restored (superseded before)")
    back = row(eve_url, FADED_NAME)
    assert (back["status"], back["superseded_by"]) == ("active", None)
    assert row(eve_url, NEW_NAME)["revision"] == before["revision"] + 1
    with open_store(eve_url, mode="read") as store, store.read() as conn:
        assert conn.scalar(sa.select(sa.func.count()).select_from(aliases).where(aliases.c.old_key == back["key"])) == 0


@pytest.mark.parametrize("command", ["pin", "unpin", "restore", "forget"])
def test_all_or_none(eve: Consolidate, eve_url: str, command: str) -> None:
    """Where one of several ids is not to be found, nothing is done for any."""
    more = ["--yes"] if command == "forget" else []
    text = {"unpin": PINNED, "restore": FADED_NAME}.get(command, COMING)
    before = row(eve_url, text)
    eve(command, name(text), "00000000", *more).refused("00000000", "consolidate list")
    assert row(eve_url, text) == before


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("1234567", ["8 to 64"]),
        ("xyzxyzxyz", ["8 to 64"]),
        ("0" * 65, ["8 to 64"]),
        ("00000000", ["no memory in this store"]),
        (name("nobody knows this")[:12], ["known only by its events"]),
    ],
)
def test_bad_ids(eve: Consolidate, given: str, words: list[str]) -> None:
    """What is no id, or of no memory here, is refused with what an id is and where to find one."""
    eve("pin", given).refused(given, *words)


def test_ids_as_people_copy_them(eve: Consolidate) -> None:
    """Capitals do not matter."""
    assert eve("pin", name(HUB)[:9].upper()).code == 0


def test_one_id_in_two_scopes(consolidate: Consolidate, made_store_url: str, write_lines: Callable[..., Path]) -> None:
    """A text kept in two scopes is two memories of one id: --scope says which, and without it both are named."""
    lines = [memory("twice", 1), memory("twice", 1, scope=ÅSA), memory("twice", 1, scope={"user": "ada"})]
    assert consolidate("--store", made_store_url, "import", "jsonl", write_lines(*lines)).code == 0

    def pin(*more: str) -> Ended:
        return consolidate("--store", made_store_url, "pin", name("twice"), *more)

    pin().refused("several memories", "({})", "project=山", "user=ada", "narrow with --scope")
    assert pin("--scope", "user=ada").out.startswith("Pinned")
    assert pin("--scope", "").out.startswith("Pinned")
    pin("--scope", "user=eve").refused("user=eve")
    pinned = {
        each["scope"].get("user"): each["pinned"]
        for each in consolidate("--store", made_store_url, "list", "--json").document["memories"]
    }
    assert pinned == {None: True, "ada": True, "åsa 🦉": False}
