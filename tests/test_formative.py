"""Reading formative-memory's store: all of it, while it is in use, and what is new the next time."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from consolidator.errors import BadInput
from consolidator.exchange.intake import BadLines, Intake, take_spool
from consolidator.exchange.spool import Spool
from consolidator.instants import parse_instant
from consolidator.sources.formative import read_formative
from consolidator.store.engine import Store, open_store
from consolidator.store.tables import (
    aliases,
    associations,
    attributions,
    embeddings,
    exposures,
    identities,
    memories,
    turns,
)
from tests.apart import run_apart, running_apart
from tests.exchanged import contents
from tests.formatives import Formative, name
from tests.lives import T0, day, exported, night

# The source's nights are at 03:00, its days at noon; ours are told as days since the morning of 1 March.
NIGHT_1, NIGHT_2, NIGHT_3 = (f"2026-03-0{number}T03:00:00.000Z" for number in (2, 3, 4))
DAY_0, DAY_1, DAY_2, DAY_3 = (f"2026-03-0{number}T12:00:00.000Z" for number in (1, 2, 3, 4))
NOW = 5.0


@pytest.fixture
def store(made_store_url: str) -> Iterator[Store]:
    with open_store(made_store_url, mode="write") as store:
        yield store


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Formative]:
    """A store of theirs that consolidated once, and whose agent is running."""
    with Formative(tmp_path / "associations.db", consolidated_at=NIGHT_1) as source:
        yield source


def take(
    store: Store, path: Path, *, scope: str = "{}", at: float = NOW, skip_bad: bool = False, dry_run: bool = False
) -> Intake:
    with Spool(str(path), scope=scope) as spool:
        spool.fill(read_formative(path))
        return take_spool(store, spool, now=day(at), skip_bad=skip_bad, dry_run=dry_run)


def rows(store: Store, query: sa.Select[Any]) -> list[Any]:
    with store.read() as conn:
        return conn.execute(query).all()


def memory(store: Store, text: str) -> Any:
    query = sa.select(memories).join(identities, identities.c.key == memories.c.key)
    (found,) = rows(store, query.where(identities.c.hash == name(text)))
    return found


def ratings(store: Store) -> list[Any]:
    rated = attributions.c
    query = sa.select(identities.c.hash, rated.evidence, rated.confidence, rated.at, rated.applied, turns.c.session_id)
    query = query.select_from(attributions).join(identities, identities.c.key == rated.memory_key).join(turns)
    return rows(store, query.order_by(rated.key))


def at(time: str) -> int:
    return parse_instant(time)


def test_a_real_store_comes_whole(store: Store, shared_data: Path) -> None:
    """Every row of it; a second time nothing changes; then a night runs on it."""
    path = shared_data / "formative" / "conv-26.db"
    whole = {"memory": 192, "association": 892, "exposure": 427, "attribution": 401, "alias": 2}
    before = [(file.name, file.read_bytes()) for file in sorted(path.parent.iterdir())]
    assert take(store, path, dry_run=True).added == whole
    assert take(store, path).added == whole
    there = contents(store)
    assert take(store, path).known == whole
    assert contents(store) == there
    tables = (memories, associations, exposures, attributions, aliases, embeddings)
    counts = [rows(store, sa.select(sa.func.count()).select_from(table))[0][0] for table in tables]
    assert counts == [192, 892, 427, 401, 2, 182]
    lasts = rows(store, sa.select(memories.c.strength_at, memories.c.base_at).distinct())
    assert lasts == [(at("2023-10-30T03:00:00Z"),) * 2]
    assert not rows(store, sa.select(exposures).where(~exposures.c.linked))
    assert not rows(store, sa.select(attributions).where(~attributions.c.applied))
    run = night(store, (at("2023-10-31T03:00:00Z") - T0) / 86_400_000_000)
    assert run.exit_code == 0
    assert [file for file in sorted(path.parent.iterdir()) if (file.name, file.read_bytes()) not in before] == []


def test_what_a_memory_becomes(store: Store, source: Formative) -> None:
    """Its strength is that of the last consolidation, or of its creation where that is later; its base is its head."""
    source.remember("old", DAY_0, 0.4, consolidated=1, type="preference", source="auto_capture")
    source.remember("new 二 🦉", DAY_1, 0.9, temporal_state="future", temporal_anchor="2026-03-08T10:00:00.000Z")
    source.embed("old", [0.5, -0.25, 1e-7])
    take(store, source.path)
    old, new = memory(store, "old"), memory(store, "new 二 🦉")
    assert (old.strength, old.strength_at, old.base_strength, old.base_at) == (0.4, at(NIGHT_1), 0.4, at(NIGHT_1))
    assert (old.created_at, old.type, old.source, old.consolidated) == (at(DAY_0), "preference", "auto_capture", True)
    assert (new.strength, new.strength_at, new.base_at) == (0.9, at(DAY_1), at(DAY_1))
    assert (new.temporal_state, new.temporal_anchor) == ("future", "2026-03-08T10:00:00.000Z")
    (vector,) = rows(store, sa.select(embeddings))
    assert (vector.model, vector.dimension, vector.memory_key) == ("text-embedding-3-small", 3, old.key)
    assert np.frombuffer(vector.vector, "<f4").tolist() == np.array([0.5, -0.25, 1e-7], np.float32).tolist()


def test_a_store_that_never_consolidated(store: Store, tmp_path: Path) -> None:
    """Its strengths are those of the creation, and everything is still to be replayed."""
    with Formative(tmp_path / "associations.db") as source:
        source.remember("a", DAY_0)
        source.remember("b", DAY_0)
        source.link("a", "b", 0.3, DAY_0)
        source.show("t", ["a", "b"], DAY_0)
    take(store, source.path)
    assert memory(store, "a").strength_at == at(DAY_0)
    assert [found.weight_at for found in rows(store, sa.select(associations))] == [at(DAY_0)]
    assert [found.linked for found in rows(store, sa.select(exposures))] == [False, False]


def test_what_it_has_counted_is_history_and_the_rest_is_replayed(store: Store, source: Formative) -> None:
    """Applied ratings and linked showings change nothing; a pending rating reaches an alias's memory."""
    for text in ("a", "b", "kept"):
        source.remember(text, DAY_0, 0.2)
    source.rename("was kept", "kept", DAY_0)
    source.link("a", "b", 0.3, DAY_0, NIGHT_1)
    source.show("t0", ["a", "b"], DAY_0)
    source.show("t1", ["a", "b"], NIGHT_1)
    source.show("t2", ["a", "b"], DAY_1)
    source.rate("m0", "t0", "a", DAY_0, reinforcement_applied=1)
    source.rate("m2", "t2", "b", DAY_1)
    source.rate("m3", "t2", "was kept", DAY_1, "agent_feedback_positive")
    take(store, source.path)
    assert [found.linked for found in rows(store, sa.select(exposures.c.linked).order_by(exposures.c.at))] == [
        True, True, True, True, False, False,
    ]  # fmt: skip
    night(store, NOW)
    assert memory(store, "a").strength_at == at(NIGHT_1)
    assert memory(store, "b").strength == pytest.approx(0.2 * 0.906 ** (9 / 24) + 0.7 * 0.6)
    assert memory(store, "kept").strength == pytest.approx(0.2 * 0.906 ** (9 / 24) + 0.7 * 0.95)
    weight = 0.3 * 0.9 ** (9 / 24)
    assert rows(store, sa.select(associations.c.weight)) == [(pytest.approx(weight + 0.05 - weight * 0.05),)]


def test_orphaned_history_comes_too(store: Store, source: Formative) -> None:
    """Showings and ratings of memories that are no more are kept by their ids."""
    source.show("t", ["gone"], DAY_0)
    source.rate("m", "t", "gone", DAY_0, reinforcement_applied=1)
    source.rename("gone", "gone too", DAY_0)
    assert take(store, source.path).added == {"exposure": 1, "attribution": 1, "alias": 1}
    assert [found.hash for found in ratings(store)] == [name("gone")]


def test_a_link_to_nothing_is_left_out_and_told(store: Store, source: Formative) -> None:
    """It binds nothing; the rest is taken in."""
    source.remember("a", DAY_0)
    source.link("a", "gone", 0.3, DAY_0)
    intake = take(store, source.path)
    assert intake.added == {"memory": 1}
    assert "associations there with a memory that is no more (1)" in intake.notes[0]


@pytest.mark.parametrize(
    ("turn", "sessions", "session"),
    [
        ("t", ["one"], "one"),
        ("agent:main:3:" + "a" * 64, [], "agent:main"),
        ("agent:main:3:" + "a" * 64, ["one"], "one"),
        ("one:3:" + "a" * 64, ["one", "two"], "one"),
        ("t", ["two", "one"], "one"),
        ("t", [], ""),
    ],
)
def test_a_rating_finds_its_session(
    store: Store, source: Formative, turn: str, sessions: list[str], session: str
) -> None:
    """From what the turn showed, else from its name; ratings themselves do not tell."""
    for each in sessions:
        source.show(turn, ["a"], DAY_0, session=each)
    source.rate("m", turn, "a", DAY_0)
    take(store, source.path)
    assert [found.session_id for found in ratings(store)] == [session]
    assert take(store, source.path).known["attribution"] == 1


def test_what_is_new_is_added(store: Store, source: Formative) -> None:
    """New rows of every kind, also vectors that came late; what was there stays as it is here."""
    source.remember("a", DAY_0, 0.5)
    source.show("t", ["a"], DAY_1)
    source.rate("m", "t", "a", DAY_1)
    take(store, source.path)
    source.remember("a", DAY_0, 0.1)
    source.remember("b", DAY_2)
    source.embed("a", [1, 2])
    source.link("a", "b", 0.2, DAY_2)
    source.show("t", ["b"], DAY_2)
    source.rate("m2", "t", "b", DAY_2)
    source.rename("c", "b", DAY_2)
    assert take(store, source.path).added == {
        "memory": 1, "association": 1, "exposure": 1, "attribution": 1, "alias": 1,
    }  # fmt: skip
    assert memory(store, "a").strength == 0.5
    assert len(rows(store, sa.select(embeddings))) == 1


def test_a_rating_that_was_overwritten_is_a_new_rating(store: Store, source: Formative) -> None:
    """With its own time; one that stayed as it was is known, also where it had been overwritten before."""
    source.remember("a", DAY_0, 0.5)
    source.rate("m", "t", "a", DAY_1, "auto_injected")
    source.rate("m", "t", "b", DAY_1, "tool_get", updated_at=DAY_2)
    take(store, source.path)
    first = [
        (name("a"), "auto_injected", 0.15, at(DAY_1), False, ""),
        (name("b"), "tool_get", 0.6, at(DAY_1), False, ""),
    ]
    assert sorted(ratings(store)) == sorted(first)
    source.rate("m", "t", "a", DAY_1, "agent_feedback_positive", updated_at=DAY_3)
    assert take(store, source.path).added == {"attribution": 1}
    assert sorted(ratings(store)) == sorted(
        [*first, (name("a"), "agent_feedback_positive", 0.95, at(DAY_3), False, "")]
    )
    assert take(store, source.path).added == {}
    assert take(store, source.path, dry_run=True).added == {}


def test_a_rating_that_changed_after_their_night_was_not_applied_by_it(store: Store, source: Formative) -> None:
    """Theirs stays marked as applied and is lost; here it counts."""
    source.remember("a", DAY_0, 0.5)
    source.rate("m", "t", "a", DAY_0, "agent_feedback_positive", updated_at=DAY_1, reinforcement_applied=1)
    take(store, source.path)
    assert [found.applied for found in ratings(store)] == [False]


def test_a_rating_that_their_night_applied_while_it_ran_is_in_the_strength(store: Store, source: Formative) -> None:
    """It is dated after the night, which is what the strength is dated by; it must not count twice."""
    source.remember("a", DAY_0, 0.5)
    just_after = NIGHT_1.replace("00.000Z", "02.500Z")
    source.rate("m", "t", "a", just_after, reinforcement_applied=1)
    take(store, source.path)
    assert memory(store, "a").base_at == memory(store, "a").strength_at == at(just_after)
    assert [(found.applied, found.target_key) for found in rows(store, sa.select(attributions))] == [(True, None)]


def test_after_the_first_import_only_our_nights_count(store: Store, source: Formative, sqlite_url: str) -> None:
    """Whether theirs go on or not, the same days give the same values here: nothing counts twice, nothing is lost."""
    for text in ("a", "b", "c", "d"):
        source.remember(text, DAY_0, 0.2)
    source.link("a", "b", 0.2, DAY_0, NIGHT_1)
    source.show("t0", ["a", "b"], DAY_0)
    shutil.copy(source.path, aside := source.path.with_name("aside.db"))
    shutil.copy(f"{source.path}-wal", f"{aside}-wal")
    idle = Formative.again(aside)
    with open_store(sqlite_url + ".other", mode="create") as other:
        take(store, source.path)
        take(other, aside)
        for each, applied in ((source, 1), (idle, 0)):
            each.show("t2", ["a", "b", "c"], DAY_1)
            each.remember("e", DAY_1)
            each.rate("m2", "t2", "a", DAY_1, reinforcement_applied=applied)
        source.state("last_consolidation_at", NIGHT_2)
        source.link("a", "b", 0.23, DAY_0, NIGHT_2)
        source.link("a", "c", 0.05, NIGHT_2, NIGHT_2)
        source.link("b", "c", 0.05, NIGHT_2, NIGHT_2)
        source.link("c", "d", 0.4, NIGHT_2, NIGHT_2)
        idle.link("c", "d", 0.4, NIGHT_2, NIGHT_2)
        added = take(store, source.path, dry_run=True).added
        assert take(store, source.path).added == added == {
            "memory": 1, "association": 1, "exposure": 3, "attribution": 1,
        }  # fmt: skip
        take(other, aside)
        night(store, NOW)
        night(other, NOW)
        ours, theirs = exported(store, NOW).values["scopes"][0], exported(other, NOW).values["scopes"][0]
        assert ours["associations"] == theirs["associations"]
        assert len(ours["associations"]) == 4
        assert [one for one in ours["memories"] if one["content"] != "e"] == [
            one for one in theirs["memories"] if one["content"] != "e"
        ]
        assert memory(store, "a").strength_at == at(DAY_1)
    idle.conn.close()


def test_one_scope_takes_it_all(store: Store, source: Formative) -> None:
    """The one that the import names; two sources may go into one scope."""
    source.remember("a", DAY_0)
    source.show("t", ["a"], DAY_0)
    take(store, source.path, scope='{"user":"ada"}')
    assert [scope["scope"] for scope in exported(store, NOW).values["scopes"]] == [{"user": "ada"}]
    with Formative(source.path.with_name("second.db"), consolidated_at=NIGHT_3) as second:
        second.show("t9", ["a"], DAY_2)
        take(store, second.path, scope='{"user":"ada"}')
    linked = rows(store, sa.select(exposures.c.linked))
    assert linked == [(True,), (True,)]


def test_what_cannot_be_read_exactly(store: Store, source: Formative) -> None:
    """A time without Z is UTC there; an anchor that is no time, which it ignores too, is kept as metadata."""
    source.remember("a", "2026-03-01T12:00:00", temporal_anchor="2026-04-01")
    source.remember("b", DAY_0, temporal_anchor="next Tuesday", temporal_state="future")
    source.remember("c", DAY_0, temporal_anchor="2026-04-01T10:00:00")
    take(store, source.path)
    assert (memory(store, "a").created_at, memory(store, "a").temporal_anchor) == (at(DAY_0), "2026-04-01")
    assert (memory(store, "b").temporal_anchor, memory(store, "b").metadata) == (
        None,
        {"temporal_anchor": "next Tuesday"},
    )
    assert memory(store, "c").temporal_anchor == "2026-04-01T10:00:00.000Z"


@pytest.mark.parametrize(
    ("table", "row", "told"),
    [
        ("memories", {"id": name("a"), "content": "b"}, "memories ca978112ca1b: id: "),
        ("memories", {"id": name(""), "content": ""}, "memories e3b0c44298fc: content: "),
        ("memories", {"id": name("a\0"), "content": "a\0"}, "content: holds a NUL"),
        ("memories", {"id": name("a"), "content": "a", "strength": 1.5}, "strength: "),
        ("memories", {"id": name("a"), "content": "a", "created_at": "yesterday"}, "created_at: "),
        ("memories", {"id": name("a"), "content": "a", "source": "dream"}, "source: "),
        ("memories", {"id": name("a"), "content": b"\xff".decode(errors="surrogateescape")}, "half a surrogate"),
        ("memory_embeddings", {"id": name("ok"), "embedding": b"abc"}, "embedding: "),
        ("memory_embeddings", {"id": name("ok"), "embedding": b"\x00\x00\xc0\x7f"}, "embedding: "),
        ("message_memory_attribution", {"message_id": "m", "memory_id": "short"}, "memory_id: "),
        ("message_memory_attribution", {"message_id": "m", "memory_id": name("a"), "evidence": "x"}, "evidence: "),
    ],
)
def test_a_bad_row_is_told(store: Store, source: Formative, table: str, row: dict[str, Any], told: str) -> None:
    """With its file, table, row and field; nothing is written, or, where it is to be skipped, all the rest."""
    source.remember("ok", DAY_0)
    defaults = {
        "memories": {"type": "fact", "created_at": DAY_0, "source": "import"},
        "memory_embeddings": {},
        "message_memory_attribution": {
            "evidence": "tool_get",
            "confidence": 0.5,
            "turn_id": "t",
            "created_at": DAY_0,
        },
    }
    row = defaults[table] | row
    if "\udcff" in str(row.get("content")):
        row["content"] = "x"
        source.add(table, **row)
        source.conn.execute("UPDATE memories SET content = CAST(X'61ff' AS TEXT) WHERE content = 'x'")
    else:
        source.add(table, **row)
    with pytest.raises(BadLines) as refused:
        take(store, source.path)
    assert str(refused.value).startswith(f"{source.path}: ")
    assert told in str(refused.value)
    assert exported(store, NOW).values["scopes"] == []
    intake = take(store, source.path, skip_bad=True)
    assert intake.bad_lines == 1
    assert intake.added.get("memory", 0) == (0 if table == "memory_embeddings" else 1)


@pytest.mark.parametrize("schema", ["4", "6", None])
def test_another_schema_is_refused_by_name(tmp_path: Path, schema: str | None) -> None:
    """Its rows may mean something else."""
    with Formative(tmp_path / "associations.db", schema=str(schema)) as source:
        told = f"of schema {schema}, and this program reads schema 5"
        if schema is None:
            source.conn.execute("DELETE FROM state")
            told = "names no schema"
        with pytest.raises(BadInput, match=told):
            list(read_formative(source.path))


def test_what_is_no_such_store_is_refused(tmp_path: Path, made_store_url: str) -> None:
    """In one line that names the file: nothing there, no database, another one, one that is cut off."""
    text = tmp_path / "text.db"
    text.write_text("memories\n" * 1000)
    with Formative(tmp_path / "associations.db") as source:
        source.conn.execute("DROP TABLE memory_aliases")
        cut = tmp_path / "cut.db"
    cut.write_bytes(source.path.read_bytes()[:5000])
    ours = tmp_path / "store.db"
    open_store(f"sqlite:///{ours}.x", mode="create").close()
    for path, told in (
        (tmp_path / "none.db", "no such file"),
        (tmp_path / "none" / "none.db", "no such file"),
        (text, "not a SQLite database"),
        (source.path, "memory_aliases"),
        (cut, str(cut)),
        (Path(f"{ours}.x"), "no such table: state"),
    ):
        with pytest.raises(BadInput, match=told) as refused:
            list(read_formative(path))
        assert str(refused.value).startswith(str(path))
        assert "\n" not in str(refused.value)


def test_its_folder_will_do(source: Formative) -> None:
    """The path may be that of the folder in which it keeps its files."""
    source.remember("a", DAY_0)
    assert [type(each) for each in read_formative(source.path.parent)] == [
        type(each) for each in read_formative(source.path)
    ]


def files(path: Path) -> dict[str, bytes]:
    """The main file and the log, with what is in them; none and an empty log are one."""
    return {each.name: data for each in (path, Path(f"{path}-wal")) if each.exists() and (data := each.read_bytes())}


def test_it_is_read_while_its_agent_writes(source: Formative) -> None:
    """What was committed is read, in one state, and neither side waits for the other; its files stay as they are."""
    for number in range(3000):
        source.remember(f"memory {number}", DAY_0)
    before = files(source.path)
    reading = read_formative(source.path)
    next(reading)
    source.conn.execute("BEGIN IMMEDIATE")
    source.remember("written meanwhile", DAY_0)
    source.conn.execute("COMMIT")
    after = files(source.path)
    assert len(list(reading)) == 3000
    assert before != after == files(source.path)
    source.conn.execute("BEGIN IMMEDIATE")
    source.remember("not committed", DAY_0)
    assert len(list(read_formative(source.path))) == 3002
    source.conn.execute("ROLLBACK")


def test_closed_and_crashed_files_stay_as_they_are(source: Formative, tmp_path: Path) -> None:
    """A log that a crash left is read and left; a closed file is closed again."""
    source.remember("a", DAY_0)
    crashed = tmp_path / "crashed.db"
    for ending in ("", "-wal"):
        shutil.copy(f"{source.path}{ending}", f"{crashed}{ending}")
    source.conn.close()
    for path in (crashed, source.path):
        before = files(path)
        assert len(list(read_formative(path))) == 2
        assert files(path) == before


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that an unprivileged user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="consolidator-test-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


READ_AS_NOBODY = """
from pathlib import Path
from consolidator.sources.formative import read_formative
import consolidator.store.postgres
become_nobody()
print(len(list(read_formative(Path(arguments[0])))))
"""


@pytest.mark.parametrize("left", ["closed", "live", "crashed", "crashed without index"])
def test_it_is_read_by_one_who_may_not_write(source: Formative, public_folder: Path, left: str) -> None:
    """In a folder of which nothing may be written, closed, in use, or with a log that a crash left."""
    folder = public_folder
    source.remember("a", DAY_0)
    for ending in ("", "-wal", "-shm"):
        shutil.copy(f"{source.path}{ending}", folder / f"a.db{ending}")
    path = folder / "a.db"
    if left == "crashed without index":
        (folder / "a.db-shm").unlink()
    elif left != "crashed":
        writer = Formative.again(path)
        writer.remember("b", DAY_0)
        if left == "closed":
            writer.conn.close()
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    before = files(path)
    assert run_apart(READ_AS_NOBODY, str(path)) == ("2" if left.startswith("crashed") else "3")
    assert files(path) == before
    if left == "live":
        writer.conn.close()


def test_one_that_is_locked_is_told(source: Formative) -> None:
    """Another process may hold it alone for longer than we wait; then it is not taken for anything else."""
    source.conn.close()
    hold = """
import sqlite3
held = sqlite3.connect(arguments[0], isolation_level=None)
held.execute("PRAGMA locking_mode = EXCLUSIVE")
held.execute("BEGIN EXCLUSIVE")
wait()
"""
    with running_apart(hold, str(source.path)), pytest.MonkeyPatch.context() as patch:
        patch.setattr("consolidator.sources.formative.file.BUSY_TIMEOUT_SECONDS", 0.05)
        with pytest.raises(BadInput, match="locked"):
            list(read_formative(source.path))
