"""What a row is as a record of ours."""

import json
import shutil
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
import pytest

from consolidator.exchange.records import BadLine
from consolidator.sources.choose import open_source
from consolidator.sources.lance.flavours import TABLE
from consolidator.sources.lance.table import Table
from consolidator.sources.port import Item, Options, Unreadable, Write
from tests.lives import EVE, T0, day
from tests.sources.lance.acts import OFFICIAL, PRO, ULTRA, merged, told, written
from tests.sources.lance_foreign import LanceForeign, fields_of, vector_of
from tests.sources.test_port import items_of


def test_an_empty_table_holds_nothing(foreign: LanceForeign) -> None:
    """Nor is the row with which the plugins make a table a memory; it is never touched."""
    with foreign.source() as source:
        assert [*source.read(None).records] == []
    foreign.add("", id="__schema__")
    with foreign.source() as source:
        assert [*source.read(None).records] == []
        assert source.look(["__schema__"]) == {}
        assert source.write([Write("__schema__", None, None)]) == {}
    assert "__schema__" in foreign.rows()


def test_the_row_of_its_own_smoke_test_is_read(tmp_path: Path) -> None:
    """Its vector of zeros points nowhere, and is not taken."""
    row = {"id": "test_smoke_1", "text": "hello from smoke test", "category": "other", "scope": "global",
           "importance": 0.7, "timestamp": float(T0 // 1000), "metadata": "{}", "vector": [0.0] * 4}  # fmt: skip
    table = lancedb.connect(tmp_path).create_table(TABLE, schema=pa.schema([*fields_of(ULTRA, 4).items()]))
    table.add([row])
    with open_source(f"{ULTRA}:{tmp_path}", Options(model="openai:somebody's")) as source:
        item = items_of(source)["test_smoke_1"]
    assert (item.memory.content, item.memory.type, item.memory.scope) == (row["text"], "observation", "{}")
    assert (item.memory.importance, item.memory.strength, item.memory.created_at) == (0.7, 0.7, T0)
    assert item.memory.vector is None


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("global", {"house": "blue"}),
        (None, {"house": "blue"}),
        ("", {"house": "blue"}),
        ("agent:main", {"agent": "main", "house": "blue"}),
        ("user:åsa", {"user": "åsa", "house": "blue"}),
        ("project:a:b", {"project": "a:b", "house": "blue"}),
        ("custom:x", {"custom": "x", "house": "blue"}),
        ("house:red", {"house": "red"}),
        ("attic", {"scope": "attic", "house": "blue"}),
    ],
)
def test_a_scope_is_pairs(ultra: LanceForeign, theirs: str | None, ours: dict[str, str]) -> None:
    """With those of the settings, where the record does not know better."""
    key = ultra.add("It is somewhere.", scope=theirs)
    with open_source(ultra.url, Options(scope='{"house":"blue"}')) as source:
        assert json.loads(items_of(source)[key].memory.scope or "") == ours


def test_an_agent_of_the_official_table_is_a_scope(tmp_path: Path) -> None:
    """With the newest column `scope`, and without."""
    foreign = LanceForeign(OFFICIAL, tmp_path)
    key, other = foreign.add("One."), foreign.add("Two.", agentId="o'hara", scope="work")
    with foreign.source() as source:
        items = items_of(source)
    assert [items[each].memory.scope for each in (key, other)] == [
        '{"agent":"main"}',
        '{"agent":"o\'hara","scope":"work"}',
    ]
    foreign.make({name: kind for name, kind in fields_of(OFFICIAL).items() if name != "scope"})
    foreign.agent().table.add([{"id": "a", "text": "Three.", "vector": vector_of("x"), "category": "fact",
                                "importance": 1.0, "createdAt": T0 // 1000, "agentId": "main"}])  # fmt: skip
    with foreign.source() as source:
        assert items_of(source)["a"].memory.scope == '{"agent":"main"}'


@pytest.mark.parametrize(
    ("theirs", "ours"), [(1.7, 1.0), (-3.0, 0.0), (float("nan"), None), (float("inf"), 1.0), (None, None), (0.0, 0.0)]
)
def test_an_importance_past_its_bounds_is_cut_as_theirs_are(ultra: LanceForeign, theirs: Any, ours: Any) -> None:
    """What is no number says nothing. A row with it can be written back as it was."""
    key = ultra.add("It matters.", importance=theirs)
    with ultra.source() as source:
        assert items_of(source)[key].memory.importance == ours
    before, _ = told(ultra, key)
    json.loads(json.dumps(before, allow_nan=False))
    assert written(ultra, key, before, None) is None
    assert written(ultra, key, None, before) is None
    assert str(ultra.rows()[key]["importance"]) == str(theirs)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [(T0 // 1000, T0), (T0 // 1_000_000, T0), (0.0, 0), (None, 0), (float("nan"), 0), (-1.0, 0)],
)
def test_a_time_is_in_milliseconds_or_was_once_in_seconds(ultra: LanceForeign, theirs: Any, ours: int) -> None:
    """A record without one counts as the oldest."""
    key = ultra.add("It was then.", timestamp=theirs)
    with ultra.source() as source:
        assert items_of(source)[key].memory.created_at == ours


def test_whole_numbers_are_taken_for_times_too(tmp_path: Path) -> None:
    """Some library has inferred them so, and what is written is whole then."""
    foreign = LanceForeign(ULTRA, tmp_path)
    foreign.make({**fields_of(ULTRA), "timestamp": pa.int64()})
    key = foreign.add("It was then.", timestamp=T0 // 1000)
    with foreign.source() as source:
        assert items_of(source)[key].memory.created_at == T0
        like = source.look([key])[key]
        new = source.render(merged(key), None, like, now=day(EVE))
        assert source.write([Write("n", None, {**(new or {}), "id": "n"})])["n"].conflict is None
    assert foreign.rows()["n"]["timestamp"] == T0 // 1000


def test_a_row_that_is_no_memory_is_told_as_bad(ultra: LanceForeign) -> None:
    """And the rest is read: no text, no id, half a text, a time past all bounds. What is there is not gone."""
    ultra.add("Good.", id="a")
    ultra.add(" ", id="b")
    ultra.add("No id.", id="")
    ultra.add("A NUL \0 in it.", id="d")
    ultra.add("In the year 200000.", id="e", timestamp=6.3e15)
    with ultra.source() as source:
        records = [*source.read(None).records]
    assert [each.id for each in records if isinstance(each, Item)] == ["a"]
    assert [each.id for each in records if isinstance(each, Unreadable)] == ["b", "d", "e"]
    assert [str(each) for each in records if isinstance(each, BadLine)] == [f"{ultra.url}: row '': is empty"]


def test_counters_are_uses(ultra: LanceForeign) -> None:
    """With the time of the last; counted in either spelling."""
    about = {"accessCount": 2, "access_count": 3, "lastAccessedAt": T0 // 1000, "last_accessed_at": T0 // 1000 + 5}
    key = ultra.add("It is used.", metadata=json.dumps(about))
    never = ultra.add("It is not.", metadata=json.dumps({"access_count": 0, "last_accessed_at": T0 // 1000}))
    odd = ultra.add("Odd.", metadata=json.dumps({"accessCount": "many", "lastAccessedAt": -1}))
    with ultra.source() as source:
        items = items_of(source)
    assert (items[key].uses, items[key].used_at) == (3, T0 + 5000)
    assert [(items[each].uses, items[each].used_at) for each in (never, odd)] == [(0, None), (0, None)]


def test_what_they_know_and_we_have_no_field_for_is_kept(pro: LanceForeign) -> None:
    """Small things only; a summary of a session is a record, archived by their own rule."""
    about = {"type": "session-summary", "sessionKey": "agent:main:1", "l1_overview": "x" * 900, "tier": "core"}
    key = pro.add("We spoke of cats.", metadata=json.dumps(about))
    with pro.source() as source:
        memory = items_of(source)[key].memory
    assert memory.metadata == {"type": "session-summary", "sessionKey": "agent:main:1", "tier": "core"}
    assert (memory.status, memory.archived_because) == ("archived", "user")


@pytest.mark.parametrize(
    ("about", "standing"),
    [
        ({"state": "archived", "archived_at": T0 // 1000 + 7}, ("archived", "user", T0 + 7000)),
        ({"invalidated_at": T0 // 1000 + 9, "superseded_by": "b"}, ("archived", "gone", T0 + 9000)),
        ({"invalidated_at": 5}, ("active", None, None)),  # before it began: they ignore it
        ({"state": "pending"}, ("active", None, None)),
        ({"state": "nonsense"}, ("active", None, None)),
    ],
)
def test_a_state_of_theirs_is_a_status(pro: LanceForeign, about: dict[str, Any], standing: tuple[Any, ...]) -> None:
    """Their times too."""
    key = pro.add(
        "It was so.", metadata=json.dumps({"valid_from": T0 // 1000, "valid_until": T0 // 1000 + 60, **about})
    )
    with pro.source() as source:
        memory = items_of(source)[key].memory
    assert (memory.status, memory.archived_because, memory.archived_at) == standing
    assert (memory.observed_at, memory.expires_at) == (T0, T0 + 60_000)


@pytest.mark.parametrize("broken", ["{", "[1]", '"x"', "NaN", '{"a":NaN}', "{}x", "[" * 100_000])
@pytest.mark.parametrize("kind", [ULTRA, PRO])
def test_broken_metadata_stays_as_it_is(kind: str, broken: str, tmp_path: Path) -> None:
    """The rest of the record is taken; where it should say what is archived, the row goes."""
    foreign = LanceForeign(kind, tmp_path)
    key = foreign.add("It is legible.", metadata=broken)
    before, after = told(foreign, key, strength=0.2)
    assert after == before
    assert told(foreign, key, status="archived", because="faded")[1] is None
    with foreign.source() as source:
        assert items_of(source)[key].memory.content == "It is legible."


def test_vectors_are_read_where_their_model_is_known(ultra: LanceForeign) -> None:
    """Under the name by which the store keeps them."""
    key, none = ultra.add("It points somewhere."), ultra.add("It does not.", vector=None)
    with open_source(ultra.url, Options(model="openai:somebody's")) as source:
        items = items_of(source)
    assert items[key].memory.model == "somebody's"
    assert np.frombuffer(items[key].memory.vector or b"", "<f4").tolist() == vector_of("It points somewhere.")
    assert (items[none].memory.model, items[none].memory.vector) == (None, None)
    with open_source(ultra.url, Options()) as source:
        assert items_of(source)[key].memory.vector is None


def test_nothing_is_read_again_until_something_was_written(ultra: LanceForeign) -> None:
    """A table made anew is another one, even at the same version; so is one that is read with other settings."""
    ultra.add("Here.")
    with ultra.source() as source:
        since = source.read(None).since
        assert source.read(since).unchanged
    with open_source(ultra.url, Options(scope='{"user":"ada"}')) as source:
        assert not source.read(since).unchanged
    shutil.rmtree(ultra.folder)
    ultra.make(fields_of(ULTRA))
    ultra.add("There.")
    with ultra.source() as source:
        reading = source.read(since)
        assert (reading.since or "").split(":")[0] == (since or "").split(":")[0]
        assert [each.memory.content for each in reading.records if isinstance(each, Item)] == ["There."]


def test_a_version_that_cannot_be_told_from_another_is_read_again(
    ultra: LanceForeign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where its file lies is LanceDB's own, and may change."""
    ultra.add("Here.")
    monkeypatch.setattr(Table, "stamp", lambda *_: None)
    with ultra.source() as source:
        since = source.read(None).since
        assert not source.read(since).unchanged


def test_a_reading_is_of_one_version(ultra: LanceForeign) -> None:
    """Whatever is written meanwhile."""
    for number in range(3):
        ultra.add(f"Number {number}.")
    with ultra.source() as source:
        records = iter(source.read(None).records)
        ultra.add("Late.")
        assert len([*records]) == 3
