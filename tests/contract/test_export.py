"""Writing a store out: lines that make an equal store, and values that tell what it means at a moment."""

import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from consolidator.exchange.export import export_jsonl, export_values
from consolidator.exchange.intake import import_lines
from consolidator.instants import SECOND, format_instant
from consolidator.laws.clock import Rates
from consolidator.store.engine import Store, open_store
from consolidator.store.tables import attributions, exposures, identities
from tests.exchanged import HEADER, NOW, a_life, iso, link, take
from tests.lives import EVE, RATES, ÅSA, day, exported, memory, name, night, rated, shown


@pytest.fixture
def store(made_store_url: str) -> Iterator[Store]:
    with open_store(made_store_url, mode="write") as store:
        yield store


def text(store: Store, at: float = NOW, scopes: list[str] | None = None) -> bytes:
    out = io.BytesIO()
    with store.read() as conn:
        number = export_jsonl(conn, out, scopes=scopes, as_of=day(at), rates=RATES)
    assert out.getvalue().count(b"\n") == number
    return out.getvalue()


def lines(store: Store, at: float = NOW, scopes: list[str] | None = None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text(store, at, scopes).splitlines()]


def values(store: Store, at: float = NOW, rates: Rates = RATES) -> dict[str, Any]:
    with store.read() as conn:
        return export_values(conn, scopes=None, as_of=day(at), rates=rates)


def of_kind(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [line for line in found if line["kind"] == kind]


def import_into(url: str, written: bytes, at: float) -> Store:
    store = open_store(url, mode="create")
    import_lines(store, io.BytesIO(written), "all.jsonl", now=day(at))
    return store


@pytest.mark.parametrize("at", [NOW, 400.0])
def test_there_and_back(store: Store, sqlite_url: str, at: float) -> None:
    """An export taken in by an empty store, whichever it is, gives the same lines and the same values again."""
    take(store, *a_life())
    first = exported(store, at)
    assert {json.loads(line)["kind"] for line in first.lines} == {"header", *(line["kind"] for line in a_life())}
    with import_into(sqlite_url + ".other", text(store, at), at) as other:
        assert exported(other, at) == first


def test_there_and_back_through_a_night(eve_url: str, sqlite_url: str) -> None:
    """After a life of nights too; and the next night decides in both stores what it decides in one."""
    with open_store(eve_url, mode="write") as store:
        before = exported(store, EVE)
        with import_into(sqlite_url + ".other", text(store, EVE), EVE) as other:
            assert exported(other, EVE) == before
            for at in (EVE, EVE + 1, EVE + 40):
                here, there = night(store, at), night(other, at)
                assert decided(store, here) == decided(other, there)
                compare(exported(store, at).values, exported(other, at).values)


def decided(store: Store, result: Any) -> dict[str, list[str]]:
    """Ids by verb, of what a night decided on memories."""
    with store.read() as conn:
        ids = dict(conn.execute(sa.select(identities.c.key, identities.c.hash)).all())
    return {
        verb: sorted(ids[one.row[0]] for part in result.plan.scopes for one in part.of(verb))
        for verb in ("reinforced", "shifted", "archived", "revived")
    }


def compare(one: Any, other: Any) -> None:
    """Equal, numbers to 1e-9."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            compare(one[key], other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            compare(a, b)
    else:
        assert one == (pytest.approx(other, abs=1e-9) if isinstance(one, float) else other)


def test_every_line_is_in_its_place(store: Store) -> None:
    """The header, then by scope its line and those of each kind, by natural key: by character, not by locale."""
    sessions = ["b", "B", "a", "é", "z", "Z1", "Z-1", "山"]
    take(store, *a_life(), *(line for each in sessions for line in shown("t", ["one 🦉"], 2, session_id=each)))
    found = lines(store)
    assert found[0] == HEADER
    assert [line["scope"] for line in of_kind(found, "scope")] == [ÅSA, {}]
    kinds = [
        "scope",
        "memory",
        "association",
        "exposure",
        "attribution",
        "alias",
        "merge_source",
        "verdict",
        "tombstone",
    ]
    places = [(json.dumps(line["scope"], sort_keys=True), kinds.index(line["kind"])) for line in found[1:]]
    assert places == sorted(places)
    keys = {
        "memory": ["id"], "association": ["memory_a", "memory_b"], "alias": ["old_id"],
        "exposure": ["session_id", "turn_id", "memory_id", "mode"], "attribution": ["message_id", "memory_id", "at"],
    }  # fmt: skip
    for kind, names in keys.items():
        for scope in (ÅSA, {}):
            order = [[line[each] for each in names] for line in of_kind(found, kind) if line["scope"] == scope]
            assert order == sorted(order)


def test_what_a_line_tells(store: Store) -> None:
    """Times are UTC with Z, dates dates, unknown keys metadata, vectors float32; nothing of how the store keeps it."""
    take(store, *a_life())
    by_content = {line["content"]: line for line in of_kind(lines(store), "memory") if line["scope"] == {}}
    assert by_content["one 🦉"] == {
        "kind": "memory", "scope": {}, "id": name("one 🦉"), "content": "one 🦉", "type": "fact",
        "source": "agent_tool", "created_at": "2026-03-03T09:00:00.000Z", "strength": 0.4,
        "strength_at": "2026-03-03T09:00:00.000Z", "base_strength": 0.3, "base_at": "2026-02-27T09:00:00.000Z",
        "consolidated": False, "pinned": False, "kept": False, "temporal_state": "none", "status": "active",
        "importance": 0.3, "topics": ["owls"], "trust": 1.0,
        "metadata": {"big": 2**70, "mood": "good", "z": [1, {"a": None, "b": 2.5}]},
    }  # fmt: skip
    assert by_content["at noon"]["temporal_anchor"] == "2026-03-08T10:00:00.000Z"
    assert by_content["kolme"]["temporal_anchor"] == "2026-03-03"
    assert by_content["was one"]["superseded_by"] == name("one 🦉")
    vector = by_content["二"]["embedding"]["vector"]
    assert vector == np.array([0.1, -2.5e-7, 3], np.float32).astype(float).tolist()


def test_only_what_was_asked_for(store: Store) -> None:
    """Scopes are exact."""
    take(store, *a_life())
    assert {json.dumps(line["scope"]) for line in lines(store, scopes=["{}"])[1:]} == {"{}"}
    assert lines(store, scopes=['{"user":"eve"}']) == [HEADER]


def test_ratings_of_one_moment_keep_their_order(store: Store, sqlite_url: str) -> None:
    """The later of two explicit ratings of one moment counts, on the way there and back too."""
    good, bad = (rated("m", "t", "a", 2, f"agent_feedback_{verdict}") for verdict in ("positive", "negative"))
    take(store, memory("a", 1, 0.5), good, bad)
    take(store, memory("a", 1, 0.5, scope=ÅSA), {**bad, "scope": ÅSA}, {**good, "scope": ÅSA})
    with import_into(sqlite_url + ".other", text(store), NOW) as other:
        night(store, NOW)
        night(other, NOW)
        strengths = [scope["memories"][0]["strength"] for scope in values(other)["scopes"]]
        assert strengths[0] > 0.3 > strengths[1]
        assert exported(other, NOW) == exported(store, NOW)


def test_what_a_rating_was_counted_with_survives_its_showings(store: Store, sqlite_url: str) -> None:
    """Once the showing that halved a rating is gone, its line says so, and a replay counts it as before."""
    take(store, memory("a", 1, 0.1), *shown("t", ["a"], 2, retrieval_mode="bm25_only"), rated("m", "t", "a", 2))
    night(store, 3)
    assert "mode" not in of_kind(lines(store), "attribution")[0]
    with store.write() as conn:
        conn.execute(sa.delete(exposures))
    assert of_kind(lines(store), "attribution")[0]["mode"] == 0.5
    with import_into(sqlite_url + ".other", text(store), NOW) as other:
        for one in (store, other):
            take(one, rated("m0", "t0", "a", 1.5, "tool_get"))
            night(one, NOW)
        compare(values(other), values(store))


def test_a_link_that_has_faded_is_not_there(store: Store) -> None:
    """Below 0.01 at the moment asked, it is in neither export; up to there it is in both, as its head."""
    take(store, memory("a", 1), memory("b", 1), link("a", "b", 1, 0.0125), *shown("late", ["a"], 9))
    assert of_kind(lines(store, 3), "association")[0]["weight"] == 0.0125
    assert values(store, 3)["scopes"][0]["associations"][0]["weight"] == pytest.approx(0.0125 * 0.9**2)
    for at in (3.2, 100):
        assert not of_kind(lines(store, at), "association")
        assert not values(store, at)["scopes"][0]["associations"]


def test_values_are_those_of_the_moment(store: Store) -> None:
    """Heads moved there, earlier than a head as stored; states as they are then, on the scope's own clock."""
    take(
        store, {"kind": "scope", "scope": {}, "time_zone": "Pacific/Auckland"}, memory("w", 1, 0.5),
        memory("c", 1, 0.5, consolidated=True), memory("day", 1, temporal_anchor="2026-03-05", temporal_state="future"),
        memory("tuesdays", 1, temporal_anchor="2026-03-03", recurrence="FREQ=WEEKLY", temporal_state="future"),
    )  # fmt: skip

    def at(moment: float, **rates: float) -> dict[str, dict[str, Any]]:
        found = values(store, moment, Rates(**rates))["scopes"][0]["memories"]
        return {each["content"]: each for each in found}

    assert at(0.5)["w"]["strength"] == at(1)["w"]["strength"] == 0.5
    assert at(4)["w"]["strength"] == pytest.approx(0.5 * 0.906**3, abs=1e-10)
    assert at(4)["c"]["strength"] == pytest.approx(0.5 * 0.977**3, abs=1e-10)
    assert at(4, working=0.5)["w"]["strength"] == pytest.approx(0.5 * 0.5**3, abs=1e-10)
    assert at(500)["w"]["strength"] == pytest.approx(0.5 * 0.906**7, abs=1e-10)
    midnight = 3 + 2 / 24  # of 5 March in Auckland, 11:00 UTC the day before
    assert [at(midnight + late / 24)["day"]["temporal_state"] for late in (-0.1, 0.1, 23.9, 24.1)] == [
        "future", "present", "present", "past",
    ]  # fmt: skip
    assert at(4)["tuesdays"]["temporal_anchor"] == "2026-03-10"
    assert at(12)["tuesdays"]["temporal_anchor"] == "2026-03-17"


def test_what_the_document_of_values_holds(store: Store) -> None:
    """Memories of every status, links between active ones once each, in order, and nothing of processing."""
    take(store, *a_life(), memory("idle", 1, status="archived"), link("idle", "二"), link("faded", "was one"))
    document = values(store)
    assert document["as_of"] == iso(NOW)
    assert [scope["scope"] for scope in document["scopes"]] == [ÅSA, {}]
    assert [scope["time_zone"] for scope in document["scopes"]] == ["Asia/Kathmandu", "UTC"]
    memories = document["scopes"][1]["memories"]
    assert {each["status"] for each in memories} == {"active", "archived", "superseded"}
    assert [each["id"] for each in memories] == sorted(each["id"] for each in memories)
    links = document["scopes"][1]["associations"]
    assert [(each["memory_a"], each["memory_b"]) for each in links] == sorted(
        tuple(sorted(map(name, pair))) for pair in (("one 🦉", "二"), ("二", "kolme"), ("kolme", "one 🦉"))
    )
    assert sorted(each["inferred"] for each in links) == [False, False, True]
    assert {*links[0]} == {"memory_a", "memory_b", "weight", "inferred"}
    kept = {
        "id", "content", "type", "status", "strength", "temporal_state", "temporal_anchor", "temporal_end",
        "recurrence", "recurrence_start", "consolidated", "pinned", "kept", "source", "created_at", "observed_at",
        "expires_at", "valid_until", "archived_because", "superseded_by", "importance", "trust", "topics", "metadata",
    }  # fmt: skip
    assert all({*each} == kept for each in memories)


def test_events_not_yet_replayed_do_not_count(store: Store) -> None:
    """Until a night has been, a rating changes no value but that the memory was used at all."""
    take(store, memory("a", 1, 0.1))
    before = values(store, 4)["scopes"][0]["memories"]
    take(store, rated("m", "t", "a", 2))
    assert values(store, 4)["scopes"][0]["memories"] == before
    night(store, 4)
    assert values(store, 4)["scopes"][0]["memories"][0]["strength"] > 0.6


def test_stores_that_mean_the_same_export_the_same(store: Store, sqlite_url: str) -> None:
    """Nights of their own leave no mark in the values: one store is told by another in nothing."""
    life = a_life()[1:]
    take(store, *life)
    with open_store(sqlite_url + ".other", mode="create") as other:
        take(other, *reversed([line for line in life if line.get("message_id") != "m1"]))
        take(other, *[line for line in life if line.get("message_id") == "m1"])
        for at in (4, 6, 6, 9):
            night(other, at)
        night(store, 9)
        assert values(other) == values(store)


def test_an_empty_store(store: Store) -> None:
    """Has a header and no scopes."""
    assert lines(store) == [HEADER]
    assert values(store)["scopes"] == []


def test_every_rating_is_written(store: Store) -> None:
    """However many there are: an export reads in batches and misses none."""
    take(store, memory("a", 1), *(rated(f"m{number}", "t", "a", 2) for number in range(4500)))
    assert len(of_kind(lines(store), "attribution")) == 4500
    with store.read() as conn:
        assert conn.scalar(sa.select(sa.func.count()).select_from(attributions)) == 4500


vectors = st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(str.strip)
instants = st.integers(day(-400), day(NOW) - SECOND).map(format_instant)
numbers = st.floats(0, 1)
jsons = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
memory_lines = st.fixed_dictionaries(
    {"content": texts, "type": texts.filter(lambda text: len(text) < 50), "created_at": instants},
    optional={
        "scope": st.sampled_from([{}, {"user": "ada"}]), "strength": numbers, "base_strength": numbers,
        "base_at": st.integers(day(-900), day(-400)).map(format_instant), "strength_at": instants,
        "consolidated": st.booleans(), "pinned": st.booleans(), "kept": st.booleans(), "expires_at": instants,
        "importance": numbers, "metadata": st.dictionaries(texts, jsons, max_size=3), "topics": st.lists(texts),
        "status": st.sampled_from(["active", "archived", "superseded"]),
        "temporal_anchor": instants | st.dates().filter(lambda day: 2 < day.year < 9998).map(str),
        "temporal_state": st.sampled_from(["none", "future", "present", "past"]),
        "embedding": st.fixed_dictionaries({"model": st.just("m"), "vector": vectors}),
    },
)  # fmt: skip


@settings(max_examples=25)
@given(st.lists(memory_lines, max_size=4))
def test_any_memories_there_and_back(
    tmp_path_factory: pytest.TempPathFactory, given_lines: list[dict[str, Any]]
) -> None:
    """Whatever memories say, both exports say it again of a store made from the first."""
    folder = tmp_path_factory.mktemp("stores")
    with open_store(f"sqlite:///{folder / 'one.db'}", mode="create") as one:
        take(one, *({"kind": "memory", **line} for line in given_lines))
        written = text(one)
        with import_into(f"sqlite:///{folder / 'other.db'}", written, NOW) as other:
            assert text(other) == written
            assert values(other) == values(one)
