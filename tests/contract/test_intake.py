"""Taking lines in: twice is as once, order does not matter, and nothing of a refused file is written."""

import io
import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from consolidator.exchange.intake import BadLines, import_lines
from consolidator.store.engine import Store, open_store
from consolidator.store.tables import (
    aliases,
    associations,
    attributions,
    clock_segments,
    embeddings,
    exposures,
    identities,
    memories,
    scopes,
    turns,
)
from tests.exchanged import NOW, a_life, alias, contents, iso, link, take, tombstone
from tests.lives import ÅSA, day, exported, memory, name, night, rated, shown


@pytest.fixture
def store(made_store_url: str) -> Iterator[Store]:
    with open_store(made_store_url, mode="write") as store:
        yield store


def refusal(store: Store, *lines: dict[str, Any], **how: Any) -> str:
    """The one line in which a file is refused; nothing of it is in the store."""
    before = contents(store)
    with pytest.raises(BadLines) as refused:
        take(store, *lines, **how)
    assert contents(store) == before
    assert refused.value.exit_code == 2
    return str(refused.value)


def rows(store: Store, query: sa.Select[Any]) -> list[Any]:
    with store.read() as conn:
        return conn.execute(query).all()


def row(store: Store, text: str) -> Any:
    """The row of a memory."""
    query = sa.select(memories).join(identities, identities.c.key == memories.c.key)
    (found,) = rows(store, query.where(identities.c.hash == name(text)))
    return found


def test_twice_is_as_once(store: Store) -> None:
    """Everything of a file is added the first time; the second time all of it is known, and no row changes."""
    first = take(store, *a_life())
    assert not first.known
    assert sum(first.added.values()) == len(a_life())
    before = contents(store)
    second = take(store, *a_life())
    assert not second.added
    assert second.known == first.added
    assert contents(store) == before


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_lines_does_not_matter(store: Store, sqlite_url: str, seed: int) -> None:
    """Shuffled, a file makes a store that exports the same, and a night decides the same."""
    lines = [line for line in a_life() if line.get("evidence") != "agent_feedback_negative"]
    take(store, *lines)
    random.Random(seed).shuffle(lines)
    with open_store(sqlite_url + ".other", mode="create") as other:
        take(other, *lines)
        assert exported(other, NOW) == exported(store, NOW)
        night(store, NOW)
        night(other, NOW)
        assert exported(other, NOW) == exported(store, NOW)


def test_a_file_in_parts_is_as_whole(store: Store, sqlite_url: str) -> None:
    """Taken in line by line, each with its own file, in an order that names nothing too early, it is the same."""
    take(store, *a_life())
    with open_store(sqlite_url + ".other", mode="create") as other:
        for line in a_life():
            take(other, line)
        assert exported(other, NOW) == exported(store, NOW)


@pytest.mark.parametrize("known", [False, True])
def test_a_rehearsal_tells_what_would_be_added(store: Store, known: bool) -> None:
    """A dry run counts what the import then counts, in a file and against the store, and changes nothing."""
    lines = [*a_life(), *a_life()[3:9], *shown("t1", ["二", "new"], 2), alias("new", "二"), tombstone("two", 1)]
    if known:
        take(store, *a_life()[:14])
    before = contents(store)
    rehearsed = take(store, *lines, dry_run=True)
    assert contents(store) == before
    assert take(store, *lines) == rehearsed


def test_a_rehearsal_refuses_what_the_import_refuses(store: Store) -> None:
    """Also what is bad only beside other lines."""
    for dry_run in (True, False):
        said = refusal(store, memory("a", 1), link("a", "b"), alias("a", "c"), alias("c", "a"), dry_run=dry_run)
        assert said.startswith(("life.jsonl:5: new_id: ", "life.jsonl:3: memory_b: "))
        assert "1 more bad line" in said


def test_one_bad_line_refuses_the_file(store: Store) -> None:
    """Nothing of it is written, wherever the line stands, and the refusal names it."""
    assert refusal(store, *a_life(), memory("x", 1, strength=2)).startswith(
        f"life.jsonl:{len(a_life()) + 2}: strength: "
    )
    assert refusal(store, memory("x", 1, strength=2), *a_life()).startswith("life.jsonl:2: strength: ")
    assert "(and 2 more bad lines)" in refusal(store, *[memory("", 1)] * 3)


def test_bad_lines_can_be_skipped(store: Store) -> None:
    """The good ones are written, the bad ones told; what hangs on a bad one is bad too."""
    intake = take(store, memory("a", 1), memory("b", 1, strength=2), link("a", "b"), memory("c", 1), link("a", "c"),
                  skip_bad=True)  # fmt: skip
    assert intake.added == {"memory": 2, "association": 1}
    assert intake.bad_lines == 2
    assert [(bad.line, bad.field) for bad in intake.bad] == [(3, "strength"), (4, "memory_b")]


def test_a_file_without_its_header_cannot_be_skipped_through(store: Store) -> None:
    """What version its lines are of, nobody knows."""
    text = json.dumps(memory("a", 1)).encode()
    with pytest.raises(BadLines, match=r"life\.jsonl:1: kind: "):
        import_lines(store, io.BytesIO(text), "life.jsonl", now=day(NOW), skip_bad=True)


def test_an_association_needs_both_ends(store: Store) -> None:
    """In the store or in the file, and in its own scope; its middle too."""
    take(store, memory("here", 1), memory("elsewhere", 1, scope=ÅSA))
    take(store, memory("new", 1), link("new", "here"))
    assert "memory_b" in refusal(store, link("here", "elsewhere"))
    assert "memory_a" in refusal(store, link("nowhere", "here"))
    assert "via" in refusal(store, link("new", "here", inferred=True, via=name("nowhere")))
    take(store, *shown("t", ["seen only"], 1))
    assert "memory_b" in refusal(store, link("here", "seen only"))


def test_a_scope_fills_lines_without_one(store: Store) -> None:
    """A line with the same scope is good, one with another bad, `{}` included."""
    scope = json.dumps(ÅSA, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    take(store, memory("a", 1), memory("b", 1, scope=ÅSA), link("a", "b"), scope=scope)
    assert {found.scope for found in rows(store, sa.select(scopes.c.scope).join(memories))} == {scope}
    said = refusal(store, memory("c", 1), memory("d", 1, scope={}), scope=scope)
    assert said.startswith("life.jsonl:3: scope: is {}, and the import is for project=山")
    said = refusal(store, memory("c", 1), memory("d", 1, scope={"user": "ada"}), scope=scope)
    assert "user=ada" in said


def test_what_a_memory_does_not_say(store: Store) -> None:
    """It is as strong as it can be when it is taken in; its base is its head; a recurrence starts with its anchor."""
    line = {"kind": "memory", "content": "a", "type": "fact", "created_at": iso(-400)}
    take(store, line, {**line, "content": "b", "strength": 0.3, "strength_at": iso(-3)},
         {**line, "content": "c", "temporal_anchor": "2026-03-08", "recurrence": "FREQ=WEEKLY"})  # fmt: skip
    a, b, c = (row(store, text) for text in "abc")
    assert (a.strength, a.strength_at, a.base_strength, a.base_at) == (1.0, day(NOW), 1.0, day(NOW))
    assert (b.strength, b.strength_at, b.base_strength, b.base_at) == (0.3, day(-3), 0.3, day(-3))
    assert (a.status, a.source, a.temporal_state, a.fades_age, a.shifts_at) == ("active", "import", "none", None, None)
    assert c.recurrence_start == "2026-03-08"
    said = refusal(store, {**line, "content": "d", "base_at": iso(NOW + 1)})
    assert said.startswith("life.jsonl:2: base_at: ")


def test_a_known_memory_stays_as_it_is(store: Store) -> None:
    """But for a vector of a model of which it has none."""
    take(store, memory("a", 1, 0.5))
    before = row(store, "a")
    vector = {"model": "mini", "vector": [0.1, 0.2]}
    intake = take(store, memory("a", 2, 0.9, pinned=True, embedding=vector), memory("a", 3, 0.2))
    assert intake.known == {"memory": 2}
    assert row(store, "a") == before
    take(
        store,
        memory("a", 2, embedding={**vector, "vector": [1, 1]}),
        memory("a", 2, embedding={**vector, "model": "x"}),
    )
    kept = {found.model: found for found in rows(store, sa.select(embeddings))}
    assert kept.keys() == {"mini", "x"}
    assert np.frombuffer(kept["mini"].vector, "<f4").tolist() == np.array([0.1, 0.2], np.float32).tolist()
    assert kept["mini"].dimension == 2


def test_what_was_forgotten_stays_away(store: Store) -> None:
    """Neither the memory nor what names it comes back, and it is told how much was left out."""
    take(store, tombstone("gone"))
    intake = take(
        store, memory("gone", 1), memory("a", 1), link("a", "gone"), *shown("t", ["gone", "a"], 2),
        rated("m", "t", "gone", 2), alias("gone", "a"),
        {"kind": "verdict", "members": [name("gone"), name("a")], "verdict": "update", "at": iso(2)},
        {"kind": "merge_source", "memory_id": name("a"), "source_id": name("gone"), "at": iso(2)},
        memory("heir of the gone", 1, superseded_by=name("gone"), status="superseded"),
    )  # fmt: skip
    assert intake.added == {"memory": 2, "exposure": 2}
    assert intake.forgotten == {
        "memory": 1, "association": 1, "exposure": 1, "attribution": 1, "alias": 1, "merge_source": 1, "verdict": 1,
    }  # fmt: skip
    assert not rows(store, sa.select(identities).where(identities.c.hash == name("gone")))


def test_a_tombstone_forgets_in_its_file_too(store: Store) -> None:
    """Wherever it stands there, and only in its own scope."""
    intake = take(store, memory("gone", 1), memory("gone", 1, scope=ÅSA), tombstone("gone"))
    assert (intake.added["memory"], intake.forgotten) == (1, {"memory": 1})


def test_a_tombstone_deletes_nothing(store: Store) -> None:
    """What is remembered here stays, and a person hears of it: only `forget` deletes."""
    take(store, memory("a", 1))
    intake = take(store, tombstone("a"))
    assert "`consolidate forget`" in intake.notes[0]
    assert row(store, "a")
    assert take(store, memory("a", 1)).known == {"memory": 1}


def test_a_rating_without_a_session_takes_the_only_one(store: Store) -> None:
    """Of its turn, in its scope, in store or file, before it or after it."""
    take(store, *shown("t1", ["a"], 1), *shown("t3", ["a"], 1), *shown("t3", ["a"], 1, session_id="s2", scope=ÅSA))
    bare = {"session_id": None}
    take(store, rated("m1", "t1", "a", 1, **bare), rated("m2", "t2", "a", 1, **bare), *shown("t2", ["a"], 1),
         rated("m3", "t3", "a", 1, **bare), rated("m4", "t4", "a", 1, **bare), rated("m5", "t4", "a", 1))  # fmt: skip
    query = sa.select(attributions.c.message_id, turns.c.session_id).join(turns)
    assert sorted(rows(store, query)) == [(f"m{number}", "s") for number in range(1, 6)]


def test_a_rating_without_a_session_is_bad_where_there_are_several(store: Store) -> None:
    """The refusal names them; a rating that came while there was one stays known."""
    bare = rated("m", "t", "a", 1, session_id=None)
    take(store, *shown("t", ["a"], 1), bare)
    take(store, *shown("t", ["a"], 1, session_id="s2"))
    said = refusal(store, rated("m2", "t", "a", 1, session_id=None))
    assert said.startswith("life.jsonl:2: session_id: ")
    assert "'t' is in several: s, s2" in said
    assert take(store, bare).known == {"attribution": 1}


def test_a_rating_without_any_session_gets_the_first(store: Store) -> None:
    """Its turn takes the session that is heard of later; taken in again, the rating is known."""
    bare = rated("m", "t", "a", 1, session_id=None)
    take(store, bare)
    assert rows(store, sa.select(turns.c.session_id)) == [("",)]
    assert take(store, bare).known == {"attribution": 1}
    take(store, *shown("t", ["a"], 1))
    assert rows(store, sa.select(turns.c.session_id)) == [("s",)]
    assert take(store, bare, rated("m", "t", "a", 1)).known == {"attribution": 2}


def test_an_alias_leads_on_and_never_back(store: Store) -> None:
    """A circle is bad, however long and however split into files; so is a second alias of one id."""
    take(store, alias("a", "b"), alias("c", "d"))
    said = refusal(store, alias("b", "c"), alias("d", "a"))
    assert said.startswith("life.jsonl:3: new_id: leads back")
    said = refusal(store, alias("a", "x"))
    assert said.startswith("life.jsonl:2: old_id: is an alias of another memory already")
    said = refusal(store, alias("y", "x"), alias("y", "z"), alias("x", "z"))
    assert said.startswith(f"life.jsonl:3: old_id: is an alias of {name('x')} already")
    assert take(store, alias("a", "b"), alias("b", "c")).added == {"alias": 1}
    assert len(rows(store, sa.select(aliases))) == 3


def test_an_alias_that_ends_where_the_known_one_ends_is_known(store: Store) -> None:
    """Another system may lead there at once where we lead by way of others, or the other way round."""
    take(store, alias("a", "b"), alias("b", "c"), alias("x", "c"))
    assert take(store, alias("a", "c"), alias("x", "b")).known == {"alias": 2}
    assert len(rows(store, sa.select(aliases))) == 3


def test_applied_ratings_are_in_the_base_or_in_the_replay(store: Store) -> None:
    """Those later than the base of the memory that counts them are in its replay; events of nobody are in no one's."""
    take(store, memory("a", 2, 0.5), memory("b", 5, 0.5, base_at=iso(2), base_strength=0.4), alias("old b", "b"),
         rated("m1", "t", "a", 1, applied=True), rated("m2", "t", "b", 3, applied=True),
         rated("m3", "t", "old b", 3, applied=True), rated("m4", "t", "nobody", 3, applied=True),
         rated("m5", "t", "b", 4))  # fmt: skip
    b = row(store, "b").key
    query = sa.select(attributions.c.message_id, attributions.c.applied, attributions.c.target_key)
    assert sorted(rows(store, query)) == [
        ("m1", True, None), ("m2", True, b), ("m3", True, b), ("m4", True, None), ("m5", False, None),
    ]  # fmt: skip


def test_a_rating_that_our_strength_cannot_hold_is_still_to_be_replayed(store: Store) -> None:
    """Applied elsewhere, after the memory was taken in here: it is not in the strength here."""
    take(store, memory("a", 2, 0.5))
    take(store, rated("m", "t", "a", 4, applied=True))
    assert [found.applied for found in rows(store, sa.select(attributions))] == [False]
    night(store, NOW)
    assert row(store, "a").strength_at == day(4)


def test_a_memory_that_comes_after_its_events_is_as_one_that_came_before(store: Store, sqlite_url: str) -> None:
    """A night that saw the events alone changes nothing; once their memory is there, they count."""
    events = [*shown("t", ["a", "b", "old a"], 4), rated("m", "t", "a", 4), rated("m2", "t", "old a", 5),
              rated("m3", "t", "b", 4.5, applied=True)]  # fmt: skip
    known = [memory("a", 2, 0.1), memory("b", 6, 0.2, base_at=iso(1)), alias("old a", "a")]
    take(store, *events)
    night(store, 6)
    take(store, *known)
    with open_store(sqlite_url + ".other", mode="create") as other:
        take(other, *known, *events)
        for one in (store, other):
            night(one, NOW)
        assert exported(store, NOW).values == exported(other, NOW).values
        assert len(exported(store, NOW).values["scopes"][0]["associations"]) == 1
    assert row(store, "a").strength_at == day(5)


def test_linked_showings_came_with_their_weights(store: Store) -> None:
    """They are linked and in the base of the link; the others wait."""
    take(store, *shown("t", ["a"], 1, linked=True), *shown("t2", ["a"], 1))
    query = sa.select(exposures.c.linked, exposures.c.in_base, exposures.c.waiting).order_by(exposures.c.key)
    assert rows(store, query) == [(True, True, True), (False, False, True)]


def test_a_link_has_its_own_weight_for_a_base(store: Store) -> None:
    """But an inferred one has no base: it is a view."""
    take(
        store,
        *(memory(text, 1) for text in "abc"),
        link("b", "a", 2, 0.25),
        link("c", "a", inferred=True, via=name("b")),
    )
    direct, inferred = rows(store, sa.select(associations).order_by(associations.c.inferred))
    assert (direct.base_weight, direct.base_at, direct.weight) == (0.25, day(2), 0.25)
    assert (inferred.base_weight, inferred.base_at, inferred.via) == (0.0, None, row(store, "b").key)
    assert direct.memory_a < direct.memory_b


def test_a_time_zone_holds_from_when_it_is_told(store: Store) -> None:
    """Every anchor of the scope is judged anew by the next night, and a plan made before is stale."""
    take(store, memory("a day", 1, temporal_anchor="2026-04-01", temporal_state="future"), memory("b", 1))
    night(store, 2)
    before = {text: row(store, text) for text in ("a day", "b")}
    assert before["a day"].shifts_at is not None
    line = {"kind": "scope", "scope": {}, "time_zone": "Pacific/Auckland"}
    rehearsed = take(store, line, dry_run=True)
    intake = take(store, line)
    assert intake == rehearsed
    assert "Pacific/Auckland" in intake.notes[0]
    assert row(store, "a day").revision > before["a day"].revision
    assert row(store, "b") == before["b"]
    night(store, 2.5)
    assert row(store, "a day").shifts_at < before["a day"].shifts_at
    again = contents(store)
    take(store, {"kind": "scope", "scope": {}, "time_zone": "Pacific/Auckland"})
    assert contents(store) == again


def test_a_clock_is_taken_where_there_is_none(store: Store) -> None:
    """Once a night has kept the clock, a file no longer changes it."""
    told = {"kind": "scope", "scope": {}, "segments": [
        {"from": iso(-30), "working": 0.2, "consolidated": 0.1, "association": 0.3}]}  # fmt: skip
    take(store, told)
    (segment,) = rows(store, sa.select(clock_segments))
    assert (segment.from_at, segment.working) == (day(-30), 0.2)
    take(store, memory("a", 1))
    night(store, 2)
    before = rows(store, sa.select(clock_segments))
    told["segments"][0]["working"] = 0.5
    take(store, told)
    assert rows(store, sa.select(clock_segments)) == before


def test_text_that_the_store_must_not_mistake(store: Store) -> None:
    """Quotes, wild cards, format characters and every script come out as they went in."""
    texts = [
        "Robert'); DROP TABLE memories;--", "100% _%s %(x)s :name ?", "e\u0301 ≠ é", "ﷺ 𝒳 👩‍👩‍👧 \u200f", "a\tb\r\nc",
        " padded ",
    ]  # fmt: skip
    take(store, *(memory(text, 1) for text in texts))
    assert {found.content for found in rows(store, sa.select(memories.c.content))} == {*texts}
    events = [
        line
        for text in texts
        for line in (*shown(text, ["a"], 1, session_id=text), rated(text, text, "a", 1, session_id=text))
    ]
    take(store, *events, *({**line, "session_id": None} for line in events if line["kind"] == "attribution"))
    asked = sa.select(turns.c.turn_id, turns.c.session_id, attributions.c.message_id).join(turns)
    assert sorted(rows(store, asked)) == sorted((text, text, text) for text in texts)
    assert [each["content"] for each in exported(store, NOW).values["scopes"][0]["memories"]] == sorted(texts, key=name)


def test_many_lines_are_taken_in_batches(store: Store) -> None:
    """More lines than are held at once, across scopes, are one file."""
    lines = [memory(f"memory {number}", 1, scope={"n": str(number % 3)}) for number in range(4500)]
    lines += [link(f"memory {number}", f"memory {number + 3}", scope={"n": str(number % 3)}) for number in range(4400)]
    lines += [rated(f"m{number}", "t", f"memory {number}", 2, scope={"n": str(number % 3)}) for number in range(4500)]
    random.Random(7).shuffle(lines)
    assert take(store, *lines, dry_run=True).added == {"memory": 4500, "association": 4400, "attribution": 4500}
    assert take(store, *lines).added == {"memory": 4500, "association": 4400, "attribution": 4500}
    assert take(store, *lines).known == {"memory": 4500, "association": 4400, "attribution": 4500}
