"""Merges taken back, forgotten, exported and taken in again: nothing of them is left, or all of it."""

import io
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from consolidator.errors import BadInput
from consolidator.exchange.intake import import_lines
from consolidator.store.care import pin, restore
from consolidator.store.engine import Store, open_store
from consolidator.store.find import find_memories
from consolidator.store.forget import Forgotten, forget
from consolidator.store.history import history
from consolidator.store.search import search_keys
from consolidator.store.tables import (
    batches,
    embeddings,
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
from consolidator.store.undo import Undone, undo_run
from tests import authors, lives
from tests.authors import Answer, absorbed, one
from tests.exchanged import contents
from tests.lives import day, exported, memory, name, rated, shown, take

CAT, KATZE, CAT_NOW = "Miezi is her cat", "Her pet is called Miezi", "She has a cat for a pet: Miezi"
DOG, HOUND, DOG_NOW = "He has a dog", "His pet is a hound", "He has a dog, a hound"
FISH, BIRD = "The fish are red", "A bird sings"
CATS = one(CAT, KATZE, text=CAT_NOW, because="both say that she has a cat")
DOGS = one(DOG, HOUND, text=DOG_NOW)


@pytest.fixture
def store(made_store_url: str) -> Iterator[Store]:
    """A store with two pairs, their friends, links and ratings of a day; open for writing; once on each kind."""
    with open_store(made_store_url, mode="write") as opened:
        take(opened, a_day(), at=1)
        lives.night(opened, 1, steps=authors.MAIN)
        take(opened, another_day(), at=2)
        yield opened


def a_day() -> list[lives.Line]:
    lines = [memory(text, 0, 0.5) for text in (CAT, KATZE, DOG, HOUND, FISH, BIRD)]
    for n in range(6):
        for a, b in ((CAT, FISH), (KATZE, FISH), (CAT, BIRD), (DOG, BIRD)):
            lines += shown(f"turn {len(lines)}", [a, b], 0.2 + n / 10)
    return [*lines, rated("m", "said", CAT, 0.9), rated("n", "said", DOG, 0.9)]


def another_day() -> list[lives.Line]:
    return [*shown("today", [HOUND, FISH], 1.5), rated("o", "today", HOUND, 1.6), memory("new today", 1.1, 0.4)]


def undo(store: Store, run: str = "last", *, dry_run: bool = False) -> Undone:
    return undo_run(store, run, wall_clock=lambda: day(9), dry_run=dry_run)


def state(store: Store) -> dict[str, Any]:
    """Every row of what a night may change, but for what only ever grows."""
    found = {}
    for table in metadata.sorted_tables:
        if table.name in ("runs", "decisions", "identities", "locks", "scopes"):
            continue
        columns = [column for column in table.c if column.name not in ("revision", "spared", "key")]
        columns += [table.c.key] if table.name in ("memories", "exposures", "attributions") else []
        with store.read() as conn:
            found[table.name] = sorted(map(repr, conn.execute(sa.select(*columns))))
    return found


ANSWERS: dict[str, tuple[Answer, ...]] = {
    "written": (CATS, DOGS),
    "absorbed": (absorbed(CAT, KATZE), absorbed(HOUND, DOG)),
    "an update": (Answer((CAT, KATZE), "update", CAT_NOW), Answer((DOG, HOUND), "update", HOUND)),
    "without a change": (Answer((CAT, KATZE), "distinct"), Answer((DOG, HOUND), "waiting", because="no model")),
}


@pytest.mark.parametrize("answers", ANSWERS)
def test_a_night_with_merges_taken_back_leaves_the_store_as_it_was(store: Store, answers: str) -> None:
    """Rows, vectors, aliases, sources, verdicts, marks of events and what was looked at; both exports to the byte."""
    before, lines = state(store), exported(store, 2)
    authors.night(store, 2, *ANSWERS[answers], vector=True)
    assert exported(store, 2) != lines
    told = undo(store, dry_run=True)
    assert undo(store) == told
    assert told.refused == ()
    assert exported(store, 2) == lines
    assert state(store) == before
    with store.read() as conn:
        assert search_keys(conn, CAT_NOW, None, 9, statuses=["active"]) == search_keys(conn, CAT_NOW, None, 9)
        assert conn.scalar(sa.select(sa.func.count()).select_from(embeddings)) == 0


@pytest.mark.parametrize("answers", ANSWERS)
def test_a_night_after_an_undo_merges_the_same(store: Store, answers: str) -> None:
    """The one memory has its key again, and the journal tells the same."""
    first = authors.night(store, 2, *ANSWERS[answers])
    after, told = exported(store, 2), lives.journal(store, first.run_id)
    undo(store)
    again = authors.night(store, 2, *ANSWERS[answers])
    assert exported(store, 2) == after
    assert [row for row in lives.journal(store, again.run_id) if row[0] == "merge"] == [
        row for row in told if row[0] == "merge"
    ]


def status(store: Store, *texts: str) -> list[str | None]:
    with store.read() as conn:
        query = sa.select(identities.c.hash, memories.c.status).join(memories, memories.c.key == identities.c.key)
        found = dict(conn.execute(query).all())
    return [found.get(name(text)) for text in texts]


def test_a_merge_stands_or_falls_whole(store: Store) -> None:
    """A rating on one merged memory since: it stays with all that belongs to it, the other merge goes back; exit 3."""
    result = authors.night(store, 2, CATS, DOGS, vector=True)
    take(store, [rated("later", "t", CAT_NOW, 2.5, "tool_get")], at=3)
    before = exported(store, 3)
    told = undo(store, dry_run=True)
    undone = undo(store)
    assert told == undone
    assert undone.exit_code == 3
    assert f"memories {name(CAT_NOW)}: rated since the run" in undone.refused
    assert status(store, CAT_NOW, CAT, KATZE) == ["active", "superseded", "superseded"]
    assert status(store, DOG_NOW, DOG, HOUND) == [None, "active", "active"]
    of_cats = [line for line in before.lines if any(name(text) in line for text in (CAT_NOW, CAT, KATZE))]
    kept = [line for line in of_cats if name(FISH) not in line and name(BIRD) not in line]
    assert set(kept) - set(exported(store, 3).lines) == set()
    with store.read() as conn:
        told_verdicts = conn.scalars(sa.select(verdicts.c.members)).all()
        assert conn.scalar(sa.select(sa.func.count()).select_from(embeddings)) == 1
    assert told_verdicts == [sorted(map(name, (CAT, KATZE)))]
    assert result.stale == []


CHANGES = {
    "pinned": lambda conn: pin(conn, find_memories(conn, [name(CAT_NOW)]), pinned=True),
    "restored": lambda conn: restore(conn, find_memories(conn, [name(KATZE)]), now=day(3)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_person_did_since_is_left_alone(store: Store, change: str) -> None:
    """The merged memory pinned, or a source brought back: that merge stays as it is, the other goes back."""
    authors.night(store, 2, CATS, DOGS)
    with store.write() as conn:
        assert CHANGES[change](conn)
    before = [line for line in exported(store, 3).lines if name(CAT_NOW) in line and '"memory"' in line]
    assert undo(store).exit_code == 3
    assert [line for line in exported(store, 3).lines if name(CAT_NOW) in line and '"memory"' in line] == before
    assert status(store, DOG_NOW, DOG) == [None, "active"]


LATER = {
    "rated and counted": [rated("later", "t", CAT_NOW, 2.5, "tool_get")],
    "shown and linked": shown("later", [CAT_NOW, DOG], 2.5),
    "a source shown": shown("later", [KATZE, DOG], 2.5),
}


@pytest.mark.parametrize("later", LATER)
def test_a_night_built_on_a_merge_is_taken_back_first(store: Store, later: str) -> None:
    """One line says which; then both can be, and nothing is left of either."""
    before = exported(store, 2)
    first = authors.night(store, 2, CATS)
    take(store, LATER[later], at=3)
    second = authors.night(store, 3)
    for dry_run in (True, False):
        with pytest.raises(BadInput, match=f"undo {second.run_id} first"):
            undo(store, first.run_id, dry_run=dry_run)
    assert undo(store, second.run_id).exit_code == 0
    if later == "rated and counted":
        assert undo(store, first.run_id).exit_code == 3
        return
    assert undo(store, first.run_id).exit_code == 0
    events = [line for line in exported(store, 2).lines if '"later"' not in line]
    assert events == list(before.lines)


def test_a_night_whose_links_a_merge_holds_is_taken_back_after_it(store: Store) -> None:
    """The merged memory's links are made of what the older night counted: without it they would count it twice."""
    older = lives.night(store, 2, steps=authors.MAIN)
    newer = authors.night(store, 2.1, DOGS)
    with pytest.raises(BadInput, match=f"undo {newer.run_id} first"):
        undo(store, str(older.run_id))
    before = exported(store, 2.1)
    undo(store)
    undo(store)
    assert exported(store, 2.1) != before


def test_a_merge_of_merged_memories_is_taken_back_step_by_step(store: Store) -> None:
    """The newest first; each undo leaves what was before its night."""
    states = [exported(store, 4)]
    authors.night(store, 2, CATS)
    states.append(exported(store, 4))
    take(store, [memory("her cat is black", 2.5)], at=3)
    before_second = exported(store, 4)
    authors.night(store, 3, one(CAT_NOW, "her cat is black", text="She has a black cat for a pet"))
    undo(store)
    assert exported(store, 4) == before_second
    undo(store)
    left = [line for line in exported(store, 4).lines if "black" not in line and '"scope"' not in line[:20]]
    assert [line for line in states[0].lines if '"kind": "memory"' in line] == [
        line for line in left if '"kind": "memory"' in line
    ]


# There and back


def test_there_and_back_a_night_decides_the_same(store: Store, sqlite_url: str) -> None:
    """A store with merges, verdicts, waiting ones and late ratings, exported and taken in, goes on as it would have."""
    waiting = Answer((DOG, HOUND), "waiting", because="no model")
    authors.night(store, 2, CATS, waiting)
    take(store, [rated("late", "t", CAT, 1.9, "tool_get"), rated("p", "u", CAT_NOW, 2.5)], at=3)
    authors.night(store, 3, absorbed(DOG, BIRD))
    more = [memory("new", 3.5), rated("m", "t", CAT, 3.6, "agent_feedback_negative"), *shown("x", [KATZE, FISH], 3.7)]
    take(store, more, at=4)
    with open_store(sqlite_url + ".other", mode="create") as other:
        copy(store, other, at=4)
        assert exported(other, 4).lines == exported(store, 4).lines
        mine, theirs = authors.night(store, 4), authors.night(other, 4)
        assert values(other, 4) == values(store, 4)
        assert seen(store, mine.sight) == seen(other, theirs.sight)
        assert [(one.ids, one.tries, one.because) for one in mine.sight.open] == [
            (one.ids, one.tries, one.because) for one in theirs.sight.open
        ]
        again = [authors.night(one, 12).sight.changed for one in (store, other)]
        assert again == [frozenset(), frozenset()]
        assert values(other, 20) == values(store, 20)


@pytest.mark.parametrize("answer", [CATS, absorbed(CAT, KATZE)], ids=["written", "absorbed"])
def test_merging_is_no_activity_there_or_back(store: Store, sqlite_url: str, answer: Answer) -> None:
    """A pause begins seven nights after the last activity of the person, whatever the nights have merged since."""
    authors.night(store, 6, answer)
    with open_store(sqlite_url + ".other", mode="create") as other:
        copy(store, other, at=6)
        for each in (store, other):
            lives.night(each, 7, steps=authors.MAIN)
        assert values(other, 30) == values(store, 30)
        clocks = [[line for line in exported(each, 30).lines if '"kind": "scope"' in line] for each in (store, other)]
    assert clocks[0] == clocks[1]
    (clock,) = clocks[0]
    assert clock.count('"working": 0.0,') == 1
    assert f'{{"from": "{memory("", 1.6 + 7)["created_at"]}", "working": 0.0,' in clock


def values(store: Store, at: float) -> Any:
    """The values, links inferred apart: what was inferred last is a view of that night."""
    told = exported(store, at).values
    for scope in told["scopes"]:
        scope["associations"] = [link for link in scope["associations"] if not link["inferred"]]
    return told


def seen(store: Store, sight: Any) -> tuple[set[str], set[str]]:
    with store.read() as conn:
        names = dict(conn.execute(sa.select(identities.c.key, identities.c.hash)).all())
    return {names[key] for key in sight.fresh}, {names[key] for key in sight.changed}


def copy(store: Store, other: Store, *, at: float) -> None:
    text = "\n".join(exported(store, at).lines) + "\n"
    import_lines(other, io.BytesIO(text.encode()), "copy.jsonl", now=day(at))


def test_taken_in_twice_nothing_changes(store: Store) -> None:
    """Every line of a store with merges is known to it."""
    authors.night(store, 2, CATS, absorbed(DOG, HOUND))
    before = contents(store)
    copy(store, store, at=2)
    assert contents(store) == before


# Forgetting


def forgetting(store: Store, *texts: str) -> Forgotten:
    with store.read() as conn:
        found = find_memories(conn, [name(text) for text in texts])
    return forget(store, found, now=day(3), wall_clock=lambda: day(3))


def everything(store: Store) -> str:
    with store.read() as conn:
        return "\n".join(repr(tuple(row)) for table in metadata.sorted_tables for row in conn.execute(sa.select(table)))


def with_replies(store: Store) -> None:
    """What a model said of the pairs, a batch that is under way, and a report that quotes."""
    with store.write() as conn:
        keys = dict(conn.execute(sa.select(identities.c.hash, identities.c.key)).all())
        for number, (texts, reply) in enumerate((((CAT, KATZE), CAT_NOW), ((DOG, HOUND), DOG_NOW))):
            conn.execute(
                sa.insert(kept_replies).values(
                    request_hash=f"r{number}", model="m", reply=reply, input_tokens=1, output_tokens=1, at=1
                )
            )
            rows = [{"request_hash": f"r{number}", "memory_key": keys[name(text)]} for text in texts]
            conn.execute(sa.insert(kept_reply_sources), rows)
        asked = {f"q{n}": {"members": [name(a), name(b)]} for n, (a, b) in enumerate(((CAT, KATZE), (DOG, HOUND)))}
        row = {"scope_key": 1, "run_key": conn.scalar(sa.select(sa.func.max(runs.c.key))), "provider": "p",
               "model": "m", "token": "t", "state": "under way", "submitted_at": 1, "requests": asked}  # fmt: skip
        conn.execute(sa.insert(batches).values(row))


@pytest.mark.parametrize("forgotten", [CAT, CAT_NOW])
def test_nothing_is_left_of_a_forgotten_memory(store: Store, forgotten: str) -> None:
    """A source, or what was written: no table holds its text or its id, but for the mark; the rest goes on."""
    quoting = one(CAT, KATZE, text=CAT_NOW, because=f"in other words: {forgotten}")
    authors.night(store, 2, quoting, Answer((DOG, FISH), "distinct", because=f"not {forgotten}"))
    with_replies(store)
    key = next(key for key, text in keyed(store).items() if text == name(forgotten))
    told = forgetting(store, forgotten)
    assert told.merged == ((name(CAT_NOW),) if forgotten == CAT else ())
    assert set(told.sources) == (set() if forgotten == CAT else {name(CAT), name(KATZE)})
    left = everything(store)
    assert forgotten not in left.replace(CAT_NOW, "") if forgotten == CAT else forgotten not in left
    assert left.count(name(forgotten)) == 1
    with store.read() as conn:
        assert conn.scalar(sa.select(sa.func.count()).select_from(tombstones)) == 1
        assert conn.scalars(sa.select(kept_replies.c.request_hash)).all() == ["r1"]
        sources = conn.execute(sa.select(merge_sources.c.memory_key, merge_sources.c.source_key)).all()
    assert all(key not in row for row in sources)
    assert lives.night(store, 3, steps=authors.MAIN).exit_code == 0
    assert undo(store).exit_code == 0
    assert undo(store).run_id
    assert name(forgotten) not in everything(store).replace(f"'{name(forgotten)}'", "", 1)
    assert authors.night(store, 4).stale == []


def keyed(store: Store) -> dict[int, str]:
    with store.read() as conn:
        return dict(conn.execute(sa.select(identities.c.key, identities.c.hash)).all())


def test_a_forgotten_source_does_not_keep_a_merge_from_being_taken_back(store: Store) -> None:
    """The merged memory goes, the source that is left is itself again, and the forgotten one stays away."""
    authors.night(store, 2, CATS)
    forgetting(store, CAT)
    assert undo(store).exit_code == 0
    assert status(store, CAT_NOW, CAT, KATZE) == [None, None, "active"]


def test_what_was_merged_from_a_merged_memory_is_told(store: Store) -> None:
    """However many merges away, in either direction."""
    authors.night(store, 2, CATS)
    take(store, [memory("her cat is black", 2.5)], at=3)
    black = "She has a black cat for a pet"
    authors.night(store, 3, one(CAT_NOW, "her cat is black", text=black))
    assert forgetting(store, CAT_NOW).merged == (name(black),)
    assert set(forgetting(store, CAT).merged) == {name(black)}


def test_a_history_tells_of_merges(store: Store) -> None:
    """Of the source and of the merged memory, with the ids of the other."""
    authors.night(store, 2, CATS)
    with store.read() as conn:
        of_source, of_made = (history(conn, find_memories(conn, [name(text)])[0]) for text in (CAT, CAT_NOW))
    for told in (of_source, of_made):
        merged = [entry for entry in told if entry["what"] == "merged"]
        assert {entry["memory_id"] for entry in merged} == {name(CAT_NOW)}
    decided = [entry for entry in of_source if entry["what"] == "decided" and entry["step"] == "merge"]
    assert [entry["verb"] for entry in decided if entry["verb"] == "superseded"] == ["superseded"]
    (superseded,) = [entry for entry in decided if entry["verb"] == "superseded"]
    assert superseded["after"]["superseded_by"] == name(CAT_NOW)
    (made,) = [entry for entry in of_made if entry.get("verb") == "merged"]
    assert {source for source, _ in made["after"]["sources"]} == {name(CAT), name(KATZE)}
