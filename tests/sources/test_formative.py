"""formative-memory's store both ways: what its plugin finds after a push, and what it does meanwhile."""

import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from consolidator.errors import BadInput
from consolidator.instants import format_instant, parse_instant
from consolidator.night import run_night
from consolidator.sources.choose import open_source
from consolidator.sources.formative.file import BUSY_TIMEOUT_SECONDS
from consolidator.sources.formative.source import FormativeSource
from consolidator.sources.port import Done, Options, Write
from consolidator.sources.pull import Pulled, pull
from consolidator.sources.push import Pushed, push
from consolidator.sources.undo import undo_push
from consolidator.store.engine import Store, open_store
from consolidator.store.find import find_memory
from consolidator.store.tables import memories
from tests import authors
from tests.apart import run_apart
from tests.formatives import name
from tests.lives import RATES, T0, day, describe, exported, night
from tests.sources.formative_foreign import MODEL, FormativeForeign, again, formative, letters

CAT, CAT_AGAIN = "The cat sleeps on the warm radiator.", "The cat likes the warm radiator in the kitchen."
TRAM = "The tram to the harbour is line six."
BOTH = "The cat sleeps on the warm radiator in the kitchen."


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[FormativeForeign]:
    with formative(tmp_path) as foreign:
        yield foreign


@pytest.fixture
def store(tmp_path: Path, made_sqlite: Path) -> Iterator[Store]:
    path = tmp_path / "ours.db"
    path.write_bytes(made_sqlite.read_bytes())
    with open_store(f"sqlite:///{path}", mode="write") as store:
        yield store


class Between(FormativeSource):
    """The source, with something that happens before it writes."""

    def happens(self, act: Callable[[], object]) -> None:
        self.act = act

    def write(self, writes: Sequence[Write]) -> Mapping[str, Done]:
        self.act()
        return super().write(writes)


def pulled(store: Store, theirs: FormativeForeign, now: int) -> Pulled:
    with theirs.source() as source:
        return pull(store, source, options=theirs.options, now=now, wall_clock=lambda: now)


def pushed(store: Store, theirs: FormativeForeign, now: int, *, act: Callable[[], object] | None = None) -> Pushed:
    """A push. act: what happens before each portion is written."""
    with theirs.source() as source:
        if act is not None:
            source.__class__ = Between
            source.happens(act)  # type: ignore[attr-defined]
        return push(store, source, options=theirs.options, now=now, wall_clock=lambda: now, rates=RATES)


def merged(store: Store, at: float) -> None:
    """A night in which a model writes one text of two."""
    done = authors.night(store, at, authors.one(CAT, CAT_AGAIN, text=BOTH))
    assert [bool(one.merge.decisions) for one in done.landed] == [True]


def tables(theirs: FormativeForeign, *names: str) -> dict[str, Any]:
    return {table: theirs.table(table) for table in names or ALL}


ALL = (
    "memories", "memory_embeddings", "memory_fts", "associations", "memory_aliases", "state", "turn_memory_exposure",
    "message_memory_attribution",
)  # fmt: skip


def strengths(theirs: FormativeForeign) -> dict[str, float]:
    return dict(theirs.conn.execute("SELECT content, strength FROM memories"))


def test_a_real_store_is_pulled_consolidated_and_pushed(store: Store, tmp_path: Path, shared_data: Path) -> None:
    """Its own reader finds our strengths, states and links as of then; the second time nothing changes."""
    path = tmp_path / "conv-26" / "associations.db"
    path.parent.mkdir()
    shutil.copyfile(shared_data / "formative" / "conv-26.db", path)
    theirs = FormativeForeign.__new__(FormativeForeign)
    theirs.path, theirs.conn = path, again(path)
    theirs.url, theirs.options = f"formative:{path.parent}", Options()
    (path.parent / "salience.md").write_text("What matters.\n")
    now = parse_instant("2023-12-20T03:00:00Z")
    first = pulled(store, theirs, now)
    assert (first.new, first.bad_lines) == (192, 0)
    rest = theirs.rest()
    run_night(store, now=now, rates=RATES, wall_clock=lambda: now, describe=describe)
    done = pushed(store, theirs, now)
    assert (done.conflicts, done.made) == ((), 0)
    assert done.removed > 0
    theirs.insist_whole()
    (values,) = exported(store, (now - T0) / 86_400e6).values["scopes"]
    active = {one["id"]: one for one in values["memories"] if one["status"] == "active"}
    there = {row[0]: row for row in theirs.table("memories")}
    assert there.keys() == active.keys()
    for key, row in there.items():
        assert row[6] == pytest.approx(active[key]["strength"], abs=1e-9)
        assert (row[3], bool(row[8])) == (active[key]["temporal_state"], active[key]["consolidated"])
    links = {(a, b): weight for a, b, weight, *_ in theirs.table("associations")}
    held = {
        tuple(sorted((one["memory_a"], one["memory_b"]))): one["weight"]
        for one in values["associations"]
        if not one["inferred"] and active.keys() >= {one["memory_a"], one["memory_b"]}
    }
    assert links == pytest.approx(held, abs=1e-9)
    assert dict(theirs.table("state"))["last_consolidation_at"] == "2023-12-20T03:00:00.000Z"
    assert theirs.rest() == rest
    before = tables(theirs)
    second = pulled(store, theirs, now)
    assert (second.new, second.changed, second.gone, second.bad_lines) == (0, 0, 0, 0)
    once_more = pushed(store, theirs, now)
    assert (once_more.written, once_more.made, once_more.removed) == (0, 0, 0)
    assert tables(theirs) == before
    theirs.conn.close()


def test_a_merged_text_is_found_by_words_and_by_its_vector(store: Store, theirs: FormativeForeign) -> None:
    """What it was written from is gone there, leads to it, and is kept here; undone, all is as it was."""
    for text in (CAT, CAT_AGAIN, TRAM):
        theirs.add(text)
    theirs.theirs.link(CAT, TRAM, 0.5, "2026-02-27T09:00:00.000Z")
    theirs.theirs.link(CAT, CAT_AGAIN, 0.5, "2026-02-27T09:00:00.000Z")
    before = tables(theirs)
    pulled(store, theirs, day(1))
    merged(store, 2)
    done = pushed(store, theirs, day(2))
    assert (done.made, done.removed) == (1, 2)
    theirs.insist_whole()
    assert set(theirs.texts().values()) == {BOTH, TRAM}
    assert theirs.search("kitchen") == [BOTH]
    assert theirs.search("sleep*") == [BOTH]
    (row,) = theirs.conn.execute("SELECT * FROM memories WHERE content = ?", (BOTH,))
    assert row[:3] + row[7:] == (name(BOTH), "fact", BOTH, "consolidation", 1)
    aliases = [(old, new, reason) for old, new, reason, _ in theirs.table("memory_aliases")]
    assert aliases == sorted((name(text), name(BOTH), "merged") for text in (CAT, CAT_AGAIN))
    (link,) = theirs.table("associations")
    assert link[:2] == tuple(sorted((name(BOTH), name(TRAM))))
    second = pulled(store, theirs, day(3))
    assert (second.new, second.changed, second.gone, second.bad_lines) == (0, 0, 0, 0)
    with theirs.source() as source:
        assert undo_push(store, source, "last", wall_clock=lambda: day(3)).refused == ()
    assert tables(theirs) == before
    theirs.insist_whole()


def test_what_was_merged_twice_leads_on(store: Store, theirs: FormativeForeign) -> None:
    """Also where the text between was never there; and the next pull finds nothing wrong with it."""
    other = "The cat sleeps on the warm radiator in the old kitchen."
    last = "The cat sleeps on the warm radiator in the old kitchen, always."
    for text in (CAT, CAT_AGAIN, other, TRAM):
        theirs.add(text)
    pulled(store, theirs, day(1))
    merged(store, 2)
    done = authors.night(store, 3, authors.one(BOTH, other, text=last))
    assert [bool(one.merge.decisions) for one in done.landed] == [True]
    pushed(store, theirs, day(3))
    leads = {old: new for old, new, *_ in theirs.table("memory_aliases")}
    assert leads == {name(text): name(last) for text in (CAT, CAT_AGAIN, other)}
    second = pulled(store, theirs, day(4))
    assert (second.new, second.changed, second.gone, second.bad_lines) == (0, 0, 0, 0)
    again = pushed(store, theirs, day(3))
    assert (again.written, again.made, again.removed) == (0, 0, 0)


def test_a_rating_between_pull_and_push_waits_there(store: Store, theirs: FormativeForeign) -> None:
    """Those that were taken in are counted; the later one is taken by the next pull, and counted by the next push."""
    for text in (CAT, TRAM):
        theirs.add(text)
        theirs.theirs.show("s:1:0123456789", [text], "2026-03-01T10:00:00.000Z")
    theirs.theirs.rate("m1", "s:1:0123456789", CAT, "2026-03-01T10:00:01.000Z")
    theirs.theirs.rate("m2", "s:1:0123456789", TRAM, "2026-03-01T10:00:02.000Z")
    pulled(store, theirs, day(1))
    night(store, 1)
    theirs.theirs.rate("m3", "s:1:0123456789", TRAM, "2026-03-02T10:00:02.000Z")
    theirs.theirs.rate(
        "m1", "s:1:0123456789", CAT, "2026-03-01T10:00:01.000Z", "agent_feedback_positive",
        updated_at="2026-03-02T10:00:00.000Z",
    )  # fmt: skip
    pushed(store, theirs, day(2))
    assert applied(theirs) == {"m1": 0, "m2": 1, "m3": 0}
    second = pulled(store, theirs, day(3))
    assert second.added["attribution"] == 2
    night(store, 3)
    done = pushed(store, theirs, day(3))
    assert applied(theirs) == {"m1": 1, "m2": 1, "m3": 1}
    assert done.push_id is not None
    with theirs.source() as source:
        undo_push(store, source, done.push_id, wall_clock=lambda: day(3))
    assert applied(theirs) == {"m1": 0, "m2": 1, "m3": 0}


def applied(theirs: FormativeForeign) -> dict[str, int]:
    return dict(theirs.conn.execute("SELECT message_id, reinforcement_applied FROM message_memory_attribution"))


def test_strengths_are_told_as_of_the_push(store: Store, theirs: FormativeForeign) -> None:
    """So that the catch-up of its own next night decays for nothing that is counted already."""
    theirs.add(CAT)
    pulled(store, theirs, day(0))
    night(store, 3)
    pushed(store, theirs, day(5))
    assert strengths(theirs)[CAT] == pytest.approx(0.906**5, rel=1e-6)
    assert dict(theirs.table("state"))["last_consolidation_at"] == format_instant(day(5))
    pushed(store, theirs, day(6))
    assert strengths(theirs)[CAT] == pytest.approx(0.906**6, rel=1e-6)


def test_what_faded_here_goes_there_and_comes_back_when_restored(store: Store, theirs: FormativeForeign) -> None:
    """Row, words, vector and links, each as it was."""
    theirs.add(CAT, strength=0.06)
    theirs.add(TRAM)
    theirs.theirs.link(CAT, TRAM, 0.9, "2026-03-01T09:00:00.000Z")
    pulled(store, theirs, day(0))
    embedding = theirs.table("memory_embeddings")
    night(store, 4)
    assert pushed(store, theirs, day(4)).removed == 1
    assert set(theirs.texts().values()) == {TRAM}
    assert theirs.search("radiator") == []
    assert theirs.table("associations") == []
    with store.write() as conn:
        key = find_memory(conn, name(CAT)).key
        conn.execute(
            sa.update(memories)
            .where(memories.c.key == key)
            .values(status="active", archived_because=None, archived_at=None, revision=memories.c.revision + 1)
        )
    assert pulled(store, theirs, day(4)).gone == 0
    pushed(store, theirs, day(4))
    theirs.insist_whole()
    assert set(theirs.texts().values()) == {CAT, TRAM}
    assert theirs.table("memory_embeddings") == embedding


def test_what_its_own_night_merged_is_superseded_here(store: Store, theirs: FormativeForeign) -> None:
    """It leaves an alias where one was, and our memory follows it."""
    for text in (CAT, TRAM):
        theirs.add(text)
    pulled(store, theirs, day(0))
    theirs.edit(name(CAT), BOTH)
    found = pulled(store, theirs, day(1))
    assert (found.changed, found.new, found.gone, found.bad_lines) == (1, 0, 0, 0)
    with store.read() as conn:
        query = sa.select(memories.c.content, memories.c.status)
        assert dict(conn.execute(query).all()) == {CAT: "superseded", BOTH: "active", TRAM: "active"}


def test_its_agent_goes_on_writing_during_a_push(store: Store, theirs: FormativeForeign) -> None:
    """It holds the lock as we begin, stores a memory, removes one and rates: all of it stands, and we say so."""
    for text in (CAT, CAT_AGAIN, TRAM):
        theirs.add(text)
    pulled(store, theirs, day(1))
    merged(store, 2)
    holds, begun, errors = threading.Event(), threading.Event(), list[BaseException]()

    def agent() -> None:
        try:
            other = again(theirs.path)
            other.execute("BEGIN IMMEDIATE")
            other.execute(
                "INSERT INTO memories (id, type, content, created_at, source) VALUES (?, 'fact', ?, ?, 'agent_tool')",
                (name("Written meanwhile."), "Written meanwhile.", format_instant(day(2))),
            )
            other.execute("UPDATE memories SET type = 'plan' WHERE content = ?", (CAT_AGAIN,))
            other.execute("DELETE FROM memories WHERE content = ?", (TRAM,))
            holds.set()
            assert begun.wait(BUSY_TIMEOUT_SECONDS / 2)
            other.execute("COMMIT")
            other.close()
        except BaseException as error:
            errors.append(error)
            raise

    writer = threading.Thread(target=agent)

    def act() -> None:
        if not holds.is_set():
            writer.start()
            assert holds.wait(10)
        begun.set()

    done = pushed(store, theirs, day(2), act=act)
    writer.join()
    assert errors == []
    assert {line.partition(":")[0] for line in done.conflicts} >= {name(CAT_AGAIN), name(TRAM)}
    rows = dict(theirs.conn.execute("SELECT content, type FROM memories"))
    assert rows.items() >= {BOTH: "fact", CAT_AGAIN: "plan", "Written meanwhile.": "fact"}.items()
    assert TRAM not in rows
    second = pulled(store, theirs, day(3))
    assert (second.new, second.changed, second.gone) == (1, 1, 1)


def test_one_that_stays_locked_is_told_and_nothing_is_written(
    store: Store, theirs: FormativeForeign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program may hold it for longer than we wait; pushed again later, all is well."""
    theirs.add(CAT)
    pulled(store, theirs, day(0))
    night(store, 1)
    monkeypatch.setattr("consolidator.sources.formative.file.BUSY_TIMEOUT_SECONDS", 0.05)
    other = again(theirs.path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(BadInput, match="another program keeps it locked"):
        pushed(store, theirs, day(1))
    other.execute("ROLLBACK")
    other.close()
    assert strengths(theirs) == {CAT: 1.0}
    assert pushed(store, theirs, day(1)).written == 1


def test_a_copy_is_kept_of_before_the_first_push(store: Store, theirs: FormativeForeign) -> None:
    """Whole, beside it, told in one line, and never written over."""
    theirs.add(CAT)
    pulled(store, theirs, day(0))
    before = tables(theirs)
    first = pushed(store, theirs, day(1))
    copy = theirs.path.with_name("associations.db.before-consolidator")
    assert [note for note in first.notes if str(copy) in note]
    kept = FormativeForeign.__new__(FormativeForeign)
    kept.path, kept.conn = copy, sqlite3.connect(copy)
    assert tables(kept) == before
    kept.conn.close()
    bytes_before = copy.read_bytes()
    pushed(store, theirs, day(2))
    with theirs.source() as source:
        assert source.prepare() == ()
    assert copy.read_bytes() == bytes_before


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("UPDATE state SET value = '6' WHERE key = 'schema_version'", "schema 6"),
        ("DELETE FROM state WHERE key = 'schema_version'", "names no schema"),
        ("UPDATE state SET value = 'text-embedding-3-large' WHERE key = 'embedding_model'", "text-embedding-3-large"),
        ("DROP TABLE state", "not a formative-memory store"),
    ],
)
def test_a_store_that_we_do_not_understand_is_left_alone(
    store: Store, theirs: FormativeForeign, fault: str, says: str
) -> None:
    """Another schema, another model of vectors, no such tables: one line, and nothing is read or written."""
    theirs.add(CAT)
    pulled(store, theirs, day(0))
    theirs.conn.execute(fault)
    for act in (pulled, pushed):
        with pytest.raises(BadInput, match=says) as refused:
            act(store, theirs, day(1))
        assert "\n" not in str(refused.value)
    assert strengths(theirs) == {CAT: 1.0}


def test_a_table_without_its_column_is_told(store: Store, theirs: FormativeForeign) -> None:
    """As one line."""
    theirs.conn.execute("ALTER TABLE memories DROP COLUMN consolidated")
    theirs.conn.execute("INSERT INTO memories VALUES ('a', 'fact', 'b', 'none', NULL, '2026', 1.0, 'import')")
    with pytest.raises(BadInput, match="not a formative-memory store of schema 5"):
        pulled(store, theirs, day(0))


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("DROP TABLE memory_fts", "it has no table memory_fts"),
        ("DROP TABLE turn_memory_exposure", "it has no table turn_memory_exposure"),
        ("ALTER TABLE memories DROP COLUMN consolidated", "it has no column memories.consolidated"),
    ],
)
def test_what_lacks_a_part_is_neither_read_nor_written(
    store: Store, theirs: FormativeForeign, fault: str, says: str
) -> None:
    """One line from the pull and from the push alike, before a copy is made beside it."""
    theirs.add(CAT)
    pulled(store, theirs, day(0))
    theirs.conn.execute(fault)
    for act in (pulled, pushed):
        with pytest.raises(BadInput, match=says) as refused:
            act(store, theirs, day(1))
        assert "\n" not in str(refused.value)
    assert not theirs.path.with_name("associations.db.before-consolidator").exists()


@pytest.mark.parametrize("content", [b"", b"no database at all", None])
def test_what_is_no_database_is_told(tmp_path: Path, content: bytes | None) -> None:
    """Neither an empty file, nor another one, nor none."""
    path = tmp_path / "associations.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInput) as refused, open_source(f"formative:{path}", Options()):
        pass
    assert str(path) in str(refused.value)


def test_its_usual_place_is_that_of_its_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no place is named; a folder will do as well as the file."""
    folder = tmp_path / ".openclaw" / "memory" / "associative"
    folder.mkdir(parents=True)
    with formative(folder):
        monkeypatch.setenv("HOME", str(tmp_path))
        for place in ("formative", "formative:~/.openclaw/memory/associative", f"formative:{folder}/associations.db"):
            with open_source(place, Options()) as source:
                assert source.url == f"formative:{folder}/associations.db"


PUSH_AS_NOBODY = """
from consolidator.errors import BadInput
from consolidator.sources.choose import open_source
from consolidator.sources.port import Options
import consolidator.store.postgres
become_nobody()
with open_source(arguments[0], Options()) as source:
    items = len(list(source.read(None).records))
    for act in (source.prepare, lambda: source.write([])):
        try:
            act()
        except BadInput as error:
            print(error)
"""


def test_new_vectors_are_of_its_model_or_there_are_none(store: Store, theirs: FormativeForeign) -> None:
    """Without a model none is made; where it names none yet, the first says which it is; no other size is mixed in."""
    theirs.conn.execute("DELETE FROM state WHERE key LIKE 'embedding_%'")
    for text in (CAT, CAT_AGAIN):
        theirs.add(text)
    theirs.conn.execute("DELETE FROM memory_embeddings")
    pulled(store, theirs, day(1))
    merged(store, 2)
    model, theirs.options = theirs.options, Options()
    done = pushed(store, theirs, day(2))
    assert theirs.table("memory_embeddings") == []
    with theirs.source() as source:
        undo_push(store, source, str(done.push_id), wall_clock=lambda: day(2))
    theirs.options = model
    pushed(store, theirs, day(2))
    ((key, blob),) = theirs.table("memory_embeddings")
    assert (key, np.frombuffer(blob, "<f4").tolist()) == (name(BOTH), letters([BOTH])[0].tolist())
    state = dict(theirs.table("state"))
    assert f"{state['embedding_provider_id']}:{state['embedding_model']}" == MODEL


def test_vectors_of_no_named_model_come_back(store: Store, theirs: FormativeForeign) -> None:
    """Where nobody says of which model its vectors are, what an undo brings back has its own all the same."""
    theirs.conn.execute("DELETE FROM state WHERE key LIKE 'embedding_%'")
    theirs.options = Options()
    for text in (CAT, CAT_AGAIN):
        theirs.add(text)
    pulled(store, theirs, day(1))
    before = theirs.table("memory_embeddings")
    merged(store, 2)
    done = pushed(store, theirs, day(2))
    assert theirs.table("memory_embeddings") == []
    with theirs.source() as source:
        assert undo_push(store, source, str(done.push_id), wall_clock=lambda: day(2)).refused == ()
    assert sorted(theirs.table("memory_embeddings")) == sorted(before)


def test_vectors_of_another_size_are_refused(store: Store, theirs: FormativeForeign) -> None:
    """One line, and nothing of that portion is written."""
    for text in (CAT, CAT_AGAIN):
        theirs.add(text)
        theirs.theirs.embed(text, [1.0, 2.0, 3.0])
    pulled(store, theirs, day(1))
    merged(store, 2)
    before = tables(theirs)
    with pytest.raises(BadInput, match="its vectors have 3 numbers, and new ones 4"):
        pushed(store, theirs, day(2))
    assert tables(theirs) == before


def test_an_anchor_that_only_it_understands_stays(store: Store, theirs: FormativeForeign) -> None:
    """We say what state it is in, and leave what we cannot read."""
    theirs.add(CAT, temporal_anchor="next spring", temporal_state="future")
    theirs.add(TRAM, temporal_anchor="2026-03-02T08:00:00.000Z", temporal_state="future")
    pulled(store, theirs, day(0))
    night(store, 5)
    pushed(store, theirs, day(5))
    rows = {row[2]: row[3:5] for row in theirs.table("memories")}
    assert rows == {CAT: ("future", "next spring"), TRAM: ("past", "2026-03-02T08:00:00.000Z")}


def test_one_who_may_not_write_reads_and_is_told() -> None:
    """A read-only file is pulled; a push of it is refused in one line."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        with formative(folder) as theirs:
            theirs.add(CAT)
        folder.chmod(0o755)
        said = run_apart(PUSH_AS_NOBODY, f"formative:{folder}/associations.db").splitlines()
    assert len(said) == 2
    assert all("read-only" in line for line in said)
