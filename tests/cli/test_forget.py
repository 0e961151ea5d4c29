"""Forgetting: nothing of a memory is left but a mark that keeps it away."""

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import sqlalchemy as sa

from consolidator.store.engine import open_store
from consolidator.store.locks import hold_scope
from consolidator.store.tables import (
    aliases,
    associations,
    attributions,
    decisions,
    embeddings,
    exposures,
    identities,
    kept_replies,
    kept_reply_sources,
    memories,
    merge_sources,
    metadata,
    runs,
    tombstones,
    verdicts,
)
from tests.cli.conftest import Consolidate
from tests.cli.life import Life
from tests.lives import EVE, FADED_NAME, GONE, HUB, NEW_NAME, OLD, RENAMED, SPOKES, day, memory, name

SECRET = "The vault opens with zwirbelknopf and the year Aunt Ottilie moved to Kuopio, 金庫 🗝️"
MERGED = "Ottilie moved to Kuopio; the vault is known"


def everything(url: str) -> str:
    """All that the tables hold, as text."""
    with open_store(url, mode="read") as store, store.read() as conn:
        return "\n".join(repr(tuple(row)) for table in metadata.sorted_tables for row in conn.execute(sa.select(table)))


def keys(url: str) -> dict[str, int]:
    """The keys of all identities."""
    with open_store(url, mode="read") as store, store.read() as conn:
        return dict(conn.execute(sa.select(identities.c.hash, identities.c.key)).all())


def count(url: str, table: sa.Table, *conditions: sa.ColumnElement[bool]) -> int:
    """How many rows a table has."""
    with open_store(url, mode="read") as store, store.read() as conn:
        return conn.scalar(sa.select(sa.func.count()).select_from(table).where(*conditions)) or 0


@pytest.fixture
def secret_url(eve: Consolidate, eve_url: str, write_lines: Callable[..., Path]) -> str:
    """A busy life with a secret that has left traces in every table."""
    shown = [
        {"kind": "exposure", "session_id": "s", "turn_id": f"t{n}", "memory_id": name(text), "mode": "tool_get",
         "at": "2026-03-20T10:00:00Z"}
        for n in range(6) for text in (SECRET, HUB, SPOKES[0], MERGED)
    ]  # fmt: skip
    rated = [
        {"kind": "attribution", "message_id": f"m{n}", "session_id": "s", "turn_id": f"t{n}", "memory_id": name(SECRET),
         "evidence": "agent_feedback_positive", "at": "2026-03-20T10:00:00Z"}
        for n in range(6)
    ]  # fmt: skip
    lines = [
        memory(SECRET, 2, 0.7, embedding={"model": "m", "vector": [1, 0]}, metadata={"said": "zwirbelknopf"},
               temporal_anchor="2026-03-25", temporal_state="future"),
        memory(MERGED, 3, 0.6, source="consolidation"),
        {"kind": "merge_source", "memory_id": name(MERGED), "source_id": name(SECRET), "at": "2026-03-05T00:00:00Z"},
        {"kind": "verdict", "members": sorted([name(SECRET), name(HUB)]), "verdict": "distinct",
         "at": "2026-03-05T00:00:00Z"},
        *shown, *rated,
    ]  # fmt: skip
    assert eve("import", "jsonl", write_lines(*lines)).code == 0
    for night in ("2026-03-31T08:59:58Z", "2026-03-31T08:59:59Z"):
        assert eve("run", "--as-of", night).code == 0
    with open_store(eve_url, mode="write") as store, store.write() as conn:
        conn.execute(sa.insert(kept_replies).values(
            request_hash="r", model="m", reply="so the zwirbelknopf it is", input_tokens=1, output_tokens=1, at=1
        ))  # fmt: skip
        key = conn.scalar(sa.select(identities.c.key).where(identities.c.hash == name(SECRET)))
        conn.execute(sa.insert(kept_reply_sources).values(request_hash="r", memory_key=key))
        report = json.dumps(conn.scalars(sa.select(runs.c.report).order_by(runs.c.key.desc())).first())
        named = conn.scalar(sa.select(sa.func.count()).select_from(decisions).where(decisions.c.row_a == key))
        inferred = conn.scalar(
            sa.select(sa.func.count()).select_from(associations).where(associations.c.via.is_not(None))
        )
    assert "zwirbelknopf" in report or named
    assert inferred
    return eve_url


def test_nothing_is_left(eve: Consolidate, secret_url: str) -> None:
    """No table holds the text, the id or the key of a forgotten memory, but for the mark."""
    key = keys(secret_url)[name(SECRET)]
    said = eve("forget", name(SECRET)[:8], "--yes")
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines() == [
        f"Forgotten: {name(SECRET)[:12]}",
        f"To review, merged from a forgotten memory: {name(MERGED)[:12]} (`consolidate show {name(MERGED)[:12]}`)",
    ]
    left = everything(secret_url)
    assert "zwirbelknopf" not in left
    assert SECRET[:20] not in left
    assert left.count(name(SECRET)) == 1
    assert count(secret_url, tombstones, tombstones.c.hash == name(SECRET)) == 1
    for column in (
        memories.c.key, memories.c.superseded_by, embeddings.c.memory_key, exposures.c.memory_key, identities.c.key,
        attributions.c.memory_key, attributions.c.target_key, aliases.c.old_key, aliases.c.new_key,
        merge_sources.c.memory_key, merge_sources.c.source_key, associations.c.memory_a, associations.c.memory_b,
        associations.c.via, decisions.c.row_a, decisions.c.row_b, kept_reply_sources.c.memory_key,
    ):  # fmt: skip
        conditions = [decisions.c.table_name != "scopes"] if column.table is decisions else []
        assert count(secret_url, column.table, column == key, *conditions) == 0, column
    assert count(secret_url, kept_replies) == 0
    assert count(secret_url, verdicts, sa.cast(verdicts.c.members, sa.Text).contains(name(SECRET))) == 0
    assert f'"via":{key}' not in left
    assert eve("search", "zwirbelknopf", "--status", "all").out == "No memory.\n"
    eve("show", name(SECRET)[:8]).refused("no memory")
    assert eve("doctor").code == 0


def test_not_in_the_bytes(
    consolidate: Consolidate, eve_sqlite: Path, tmp_path: Path, write_lines: Callable[..., Path]
) -> None:
    """Nor do the bytes of a SQLite store hold the text, nor its words, in any page or log."""
    path = tmp_path / "bytes.db"
    path.write_bytes(eve_sqlite.read_bytes())
    long = memory(SECRET + " zwirbelknopf" * 2000, 2, 0.05)
    texts = [SECRET, long["content"]]
    assert consolidate("--store", path, "import", "jsonl", write_lines(memory(SECRET, 2, 0.06), long)).code == 0
    assert consolidate("--store", path, "run", "--as-of", "2026-03-31T08:59:59Z").code == 0
    assert consolidate("--store", path, "run").code == 0
    assert consolidate("--store", path, "undo", "last").code == 0

    def held() -> bytes:
        return b"".join(each.read_bytes() for each in tmp_path.glob("bytes.db*"))

    assert b"zwirbelknopf" in held()
    assert consolidate("--store", path, "forget", "--yes", *map(name, texts)).code == 0
    for trace in ("zwirbelknopf", "wirbelknop", "Ottilie", "Kuopio", "金庫"):
        assert trace.encode() not in held(), trace
    assert {each.name for each in tmp_path.glob("bytes.db*")} == {"bytes.db"}


def test_stays_away(eve: Consolidate, secret_url: str, write_lines: Callable[..., Path]) -> None:
    """A forgotten memory and its events are left out when they are imported again."""
    assert eve("forget", name(SECRET), "--yes").code == 0
    event = {"kind": "exposure", "session_id": "s", "turn_id": "t", "memory_id": name(SECRET), "mode": "tool_get",
             "at": "2026-03-20T10:00:00Z"}  # fmt: skip
    said = eve("import", "jsonl", write_lines(memory(SECRET, 2), event), "--json").document
    assert said["forgotten"] == {"memory": 1, "exposure": 1}
    assert not any(said["added"].values())
    assert "zwirbelknopf" not in everything(secret_url)


def test_nights_go_on(eve: Consolidate, secret_url: str) -> None:
    """After a memory was forgotten nights run, and those before it can be taken back, the newest first."""
    assert eve("forget", name(SECRET), "--yes").code == 0
    assert eve("run").code == 0
    ids = [run["run_id"] for run in eve("runs", "-n", "20", "--json").document["runs"]]
    for run_id in ids:
        said = eve("undo", run_id)
        assert said.code in (0, 3), said
    assert "zwirbelknopf" not in everything(secret_url)
    assert eve("doctor").code == 0
    assert eve("run").code == 0


def test_undo_finds_the_events_of_others(eve: Consolidate, secret_url: str) -> None:
    """What a night counted together with a forgotten memory waits again when that night is undone."""
    assert eve("forget", name(SECRET), "--yes").code == 0
    while (said := eve("undo", "last")).code != 2:
        assert said.code in (0, 3)
    after = (exposures.c.at == day(19) + 3_600_000_000, exposures.c.linked.is_(True))
    assert count(secret_url, exposures, *after) == 0


def test_heir_keeps_what_it_counted(eve: Consolidate, eve_url: str) -> None:
    """A memory that had counted the ratings of a forgotten one keeps its strength, also when it is replayed later."""
    assert eve("run", "--as-of", "2026-03-31T08:59:59Z").code == 0
    strength = eve("show", name(NEW_NAME), "--json").document["strength"]
    assert eve("forget", name(RENAMED), name(FADED_NAME), "--yes").code == 0
    heir = eve("show", name(NEW_NAME), "--json").document
    assert heir["strength"] == pytest.approx(strength, abs=1e-6)
    assert count(eve_url, aliases) == 0


def test_aliases_lead_past(consolidate: Consolidate, made_store_url: str, write_lines: Callable[..., Path]) -> None:
    """Who was led to a memory by way of a forgotten one is led there still."""
    a, b, c = "first wording", "second wording", "third wording"
    lines = [
        memory(a, 1, status="superseded", superseded_by=name(b)),
        memory(b, 1, status="superseded", superseded_by=name(c)),
        memory(c, 1),
        *({"kind": "alias", "old_id": name(old), "new_id": name(new), "reason": "merged", "at": "2026-03-03T00:00:00Z"}
          for old, new in ((a, b), (b, c))),
    ]  # fmt: skip
    store = ("--store", made_store_url)
    assert consolidate(*store, "import", "jsonl", write_lines(*lines)).code == 0
    assert consolidate(*store, "forget", name(b), "--yes").code == 0
    known = keys(made_store_url)
    condition = (aliases.c.old_key == known[name(a)], aliases.c.new_key == known[name(c)])
    assert count(made_store_url, aliases, *condition) == 1
    assert consolidate(*store, "show", name(a), "--json").document["superseded_by"] == name(c)


def test_of_sources(consolidate: Consolidate, made_store_url: str, write_lines: Callable[..., Path]) -> None:
    """Forgetting names what was merged from it, however many merges away, and what it was merged from."""
    texts = [f"wording {n}" for n in range(4)]
    lines = [memory(text, 1) for text in texts]
    lines += [
        {"kind": "merge_source", "memory_id": name(later), "source_id": name(sooner), "at": "2026-03-03T00:00:00Z"}
        for sooner, later in pairwise(texts)
    ]
    store = ("--store", made_store_url)
    assert consolidate(*store, "import", "jsonl", write_lines(*lines)).code == 0
    said = consolidate(*store, "forget", name(texts[1]), "--yes", "--json").document
    assert said["review"] == {
        "merged_from_it": sorted(map(name, texts[2:])),
        "sources_of_it": [name(texts[0])],
    }


def test_asks_or_refuses(eve: Consolidate, eve_url: str) -> None:
    """Where nobody can be asked, forgetting is refused without --yes."""
    eve("forget", name(GONE)).refused("--yes")
    assert count(eve_url, memories, memories.c.content == GONE) == 1


def test_during_a_night(eve: Consolidate, eve_url: str) -> None:
    """While a night holds the scope nothing is forgotten, for the night's report may still name it: exit 11."""
    scope = 1
    with open_store(eve_url, mode="write") as store:
        with store.read() as conn:
            scope = conn.scalar(sa.select(identities.c.scope_key).where(identities.c.hash == name(GONE)))
        with hold_scope(store, scope, wall_clock=lambda: day(EVE)):
            eve("forget", name(GONE), "--yes").refused("another night holds", code=11)
    assert count(eve_url, memories, memories.c.content == GONE) == 1
    assert eve("forget", name(GONE), "--yes").code == 0


def test_old_plan(eve: Consolidate, eve_url: str, tmp_path: Path) -> None:
    """A plan made before brings nothing back of what was forgotten, not even into the run's report."""
    plan = tmp_path / "plan.json"
    assert eve("run", "--dry-run", "--out", plan).code == 0
    assert eve("forget", name(OLD), "--yes").code == 0
    assert eve("apply", plan).code == 3
    left = everything(eve_url)
    assert OLD not in left
    assert left.count(name(OLD)) == 1


def test_open_reader(consolidate: Consolidate, eve_sqlite: Path, tmp_path: Path) -> None:
    """Where another program still reads the file, it is said that deleted bytes may stay: exit 3."""
    path = tmp_path / "read.db"
    path.write_bytes(eve_sqlite.read_bytes())
    for reader in _reading(path):
        said = consolidate("--store", path, "forget", name(GONE), "--yes")
        assert said.code == 3
        assert "another program" in said.err
        reader.rollback()
    assert consolidate("--store", path, "pin", name(HUB)).code == 0
    assert GONE.encode() not in path.read_bytes()


def _reading(path: Path) -> Iterator[sa.Connection]:
    with open_store(str(path), mode="read") as store, store.engine.connect() as conn:
        conn.execute(sa.select(memories.c.key)).all()
        yield conn


def test_all_for_which_conditions_hold_are_forgotten(life: Life) -> None:
    """A dry run lists them; all conditions have to hold; the rest stays."""
    life.take(
        memory("Tea is bitter.", 0.5, type="observation") | {"strength": 0.2},
        memory("Tea is hot.", 0.6, type="observation"),
        memory("Tea is green.", 1.5, type="fact"),
        memory("The tram is late.", 0.5, type="observation"),
    )
    life.wall(day(2))
    where = ("--where", "type=observation,noise", "--where", "text~TEA", "--where", "before=2026-03-02")
    would = life("forget", *where, "--dry-run")
    assert would.out.splitlines()[-1] == "2 would be forgotten."
    assert "Tea is hot." in would.out
    assert len(life.active()) == 4
    weak = life("forget", *where, "--where", "strength<0.5", "--dry-run", "--json").document
    assert weak == {"dry_run": True, "would_forget": [name("Tea is bitter.")]}
    assert life("forget", *where, "--yes").out == "Forgotten: 2.\n"
    assert life.active() == {"Tea is green.", "The tram is late."}
    assert life("forget", *where, "--yes").out == "Forgotten: 0.\n"


def test_an_export_may_be_of_some_memories(life: Life) -> None:
    """With the same conditions: these memories, and what is said of them alone."""
    life.take(
        memory("Tea is hot.", 0.5),
        memory("Coffee is hot.", 0.5),
        {"kind": "exposure", "session_id": "s", "turn_id": "t", "memory_id": name("Tea is hot."), "mode": "tool_get",
         "at": "2026-03-01T15:00:00Z"},
        {"kind": "exposure", "session_id": "s", "turn_id": "t", "memory_id": name("Coffee is hot."), "mode": "tool_get",
         "at": "2026-03-01T15:00:00Z"},
    )  # fmt: skip
    life.night(2)
    lines = [json.loads(line) for line in life("export", "--where", "text~tea").out.splitlines()]
    assert [line["kind"] for line in lines] == ["header", "scope", "memory", "exposure"]
    values = life("export", "--format", "json", "--where", "text~tea").document
    assert [each["content"] for each in values["scopes"][0]["memories"]] == ["Tea is hot."]


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("tpye=fact", "there is no tpye; did you mean type?"),
        ("fact", "is no condition; write type="),
        ("strength=0.2", "write strength<0.2 or strength>0.2"),
        ("strength<2", "2 is not between 0 and 1"),
        ("status=gone", "gone is no status; there are active, archived, superseded"),
        ("before=yesterday", "'yesterday' is not a time"),
        ("type=", "says no value"),
        ("pinned=maybe", "write pinned=yes or pinned=no"),
    ],
)
def test_a_condition_that_cannot_be_meant_is_refused(eve: Consolidate, condition: str, said: str) -> None:
    """In one line that says what can, before anything is asked, and nothing is forgotten."""
    for answer in (["--yes"], []):
        eve("forget", "--where", condition, *answer).refused(f"--where {condition}: {said}")


def test_ids_and_conditions_are_not_mixed(eve: Consolidate) -> None:
    """Nobody means that, and neither is nothing at all."""
    eve("forget", OLD, "--where", "type=fact", "--yes").refused("say what to forget")
    eve("forget", "--yes").refused("say what to forget")
