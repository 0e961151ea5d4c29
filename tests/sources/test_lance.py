"""What is special to the LanceDB tables of OpenClaw's plugins."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
import pytest

from consolidator.errors import BadInput, ConsolidatorError
from consolidator.exchange.records import BadLine
from consolidator.sources.choose import open_source
from consolidator.sources.lance import lock
from consolidator.sources.lance.flavours import FLAVOURS, TABLE
from consolidator.sources.lance.metadata import parsed, with_members
from consolidator.sources.lance.rendering import tier_of
from consolidator.sources.lance.table import Table
from consolidator.sources.port import Image, Item, NeedsVector, Options, Ours, Unreadable, Write
from tests.lives import EVE, T0, day
from tests.sources.lance_foreign import LanceForeign, fields_of, vector_of
from tests.sources.test_port import items_of, ours_of

ULTRA, PRO, OFFICIAL = "claw-memory-ultra", "memory-lancedb-pro", "memory-lancedb"
STRANGE = "it's \"so\"; 你好 🦉 \\n \\' -- /* %_ \u2028\n\te\u0301"


@pytest.fixture(params=FLAVOURS)
def foreign(request: pytest.FixtureRequest, tmp_path: Path) -> LanceForeign:
    return LanceForeign(request.param, tmp_path / "it")


@pytest.fixture
def ultra(tmp_path: Path) -> LanceForeign:
    return LanceForeign(ULTRA, tmp_path / "it")


@pytest.fixture
def pro(tmp_path: Path) -> LanceForeign:
    return LanceForeign(PRO, tmp_path / "it")


def told(foreign: LanceForeign, key: str, **more: object) -> tuple[Image, Image | None]:
    """The image of a record, and the one that a push makes of it."""
    with foreign.source() as source:
        before = source.look([key])[key]
        ours = ours_of(source, items_of(source)[key], **more)
        return before, source.render(ours, before, None, now=day(EVE))


def written(foreign: LanceForeign, key: str, before: Image | None, after: Image | None) -> str | None:
    """Write one record, and tell the conflict."""
    with foreign.source() as source:
        return source.write([Write(key, before, after)])[key].conflict


def refusal(url: str, **options: Any) -> str:
    with pytest.raises(BadInput) as refused, open_source(url, Options(**options)) as source:
        list(source.read(None).records)
    assert "\n" not in str(refused.value)
    return str(refused.value)


# What is no such table


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


# What is read


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


def test_a_reading_is_of_one_version(ultra: LanceForeign) -> None:
    """Whatever is written meanwhile."""
    for number in range(3):
        ultra.add(f"Number {number}.")
    with ultra.source() as source:
        records = iter(source.read(None).records)
        ultra.add("Late.")
        assert len([*records]) == 3


# What is written


def merged(*keys: str, **more: Any) -> Ours:
    told = {"id": "f" * 64, "scope": "{}", "content": f"All in one. {STRANGE}", "type": "fact", "created_at": day(2),
            "strength": 0.9, "consolidated": True, "observed_at": T0, "merged_from": keys,
            "vector": np.array(vector_of("All"), "<f4").tobytes()}  # fmt: skip
    return Ours(**{**told, **more})


def test_a_merged_text_is_a_record_of_the_shape_of_the_first(foreign: LanceForeign) -> None:
    """With its agent or scope, its category, and the time of what was observed; what it says has its own vector."""
    about: dict[str, Any] = {"agentId": "o'hara"} if foreign.kind == OFFICIAL else {"scope": "project:x"}
    key = foreign.add("The first.", category="decision", **about)
    foreign.use(key)
    with foreign.source() as source:
        ours = merged(key, type="unheard of")
        image = source.render(ours, None, source.look([key])[key], now=day(3))
        new = source.new_id(ours)
        done = source.write([Write(new, None, image)])[new]
        item = items_of(source)[new]
    row = foreign.rows()[new]
    assert (done.conflict, done.fingerprint) == (None, item.fingerprint)
    assert (row["text"], row["category"], row["importance"]) == (ours.content, "decision", 0.7)
    assert row.items() >= about.items()
    assert row[foreign.flavour.at] == T0 // 1000
    assert row["vector"] == vector_of("All")
    assert item.uses == 0
    assert foreign.texts()[new] == ours.content


def test_a_merged_text_without_a_vector_is_not_written(ultra: LanceForeign) -> None:
    """Nobody would find it; one of another size is refused before anything is written."""
    key = ultra.add("The first.")
    with ultra.source() as source:
        like = source.look([key])[key]
        with pytest.raises(NeedsVector):
            source.render(merged(key, vector=None), None, like, now=day(3))
        with pytest.raises(BadInput, match="8 numbers and the embedder gives 3"):
            source.render(merged(key, vector=b"x" * 12), None, like, now=day(3))


def test_strange_letters_are_written_and_found(foreign: LanceForeign) -> None:
    """In ids, texts, metadata and scopes."""
    key = f"id {STRANGE}"
    about: dict[str, Any] = {"metadata": json.dumps({"note": STRANGE})} if foreign.flavour.metadata else {}
    foreign.add(STRANGE, id=key, scope=f"user:{STRANGE}", **about)
    before, after = told(foreign, key, strength=0.3)
    assert written(foreign, key, before, after) is None
    assert written(foreign, key, after, None) is None
    assert foreign.texts() == {}
    assert written(foreign, key, None, before) is None
    with foreign.source() as source:
        assert source.look([key])[key] == before


def test_columns_that_nobody_knows_stay(tmp_path: Path) -> None:
    """Of every type, also where the row is removed and written back."""
    foreign = LanceForeign(ULTRA, tmp_path)
    more: dict[str, Any] = {
        "blob": (pa.binary(), b"\0\xff"), "when": (pa.timestamp("us", "UTC"), day(1)),
        "tags": (pa.list_(pa.utf8()), ["a"]), "part": (pa.struct([("x", pa.float32())]), {"x": 0.5}),
        "half": (pa.float32(), 0.1), "big": (pa.int64(), 2**62), "flag": (pa.bool_(), True),
        "second": (pa.list_(pa.float32(), 2), [1.5, 2.5]), "none": (pa.utf8(), None),
    }  # fmt: skip
    foreign.make({**fields_of(ULTRA), **{name: kind for name, (kind, _) in more.items()}})
    key = foreign.add("It has more.", **{name: value for name, (_, value) in more.items()})
    whole = str(foreign.rows()[key])
    before, after = told(foreign, key, strength=0.3)
    json.dumps(before, allow_nan=False)
    assert written(foreign, key, before, after) is None
    assert written(foreign, key, after, before) is None
    assert str(foreign.rows()[key]) == whole
    assert written(foreign, key, before, None) is None
    assert written(foreign, key, None, before) is None
    assert str(foreign.rows()[key]) == whole


def while_looking(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], object]) -> None:
    """Have something done over there each time after a write has looked, told how often that was."""
    look, times = Table.look, iter(range(1_000_000))

    def looked(self: Table, ids: Any) -> Any:
        found = look(self, ids)
        act(next(times))
        return found

    monkeypatch.setattr(Table, "look", looked)


@pytest.mark.parametrize("kind", [ULTRA, PRO])
def test_counters_that_were_raised_meanwhile_survive(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look and the write, twice; and the record is removed with whatever they are by then."""
    foreign = LanceForeign(kind, tmp_path)
    key = foreign.add("It is used.", metadata='{ "accessCount":7 , "big": 12345678901234567890, "f": 1.0}')
    before, after = told(foreign, key, strength=0.25, consolidated=True)
    while_looking(monkeypatch, lambda time: foreign.use(key) if time < 2 else None)
    assert written(foreign, key, before, after) is None
    about = foreign.about(key)
    assert (about["accessCount"], about["consolidator"]) == (9, {"strength": 0.25, "consolidated": True})
    while_looking(monkeypatch, lambda time: foreign.use(key) if time < 1 else None)
    assert written(foreign, key, after, None) is None
    assert foreign.texts() == {}


def test_what_is_edited_at_that_very_moment_is_a_conflict(
    foreign: LanceForeign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a record to be removed, and of one that is to be made."""
    key = foreign.add("It is so.")
    before, _ = told(foreign, key)
    while_looking(monkeypatch, lambda time: foreign.edit(key, "It is not so.") if time == 0 else None)
    assert written(foreign, key, before, None) == "was edited over there meanwhile"
    assert foreign.texts() == {key: "It is not so."}
    assert written(foreign, key, None, before) == "is there already"
    foreign.remove(key)
    assert written(foreign, key, before, {**before, "text": "x"}) == "was removed over there meanwhile"


def test_a_record_that_others_write_all_the_time_is_given_up(
    ultra: LanceForeign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said, and the next push tries again."""
    key = ultra.add("It is used.")
    before, after = told(ultra, key, strength=0.1)
    while_looking(monkeypatch, lambda _: ultra.use(key))
    assert written(ultra, key, before, after) == "is written by others all the time"


def test_a_half_done_write_is_recognised(foreign: LanceForeign) -> None:
    """What is as it should be already is done; so is a removal of what is no more."""
    key = foreign.add("It is so.")
    before, after = told(foreign, key, strength=0.2)
    for _ in range(2):
        assert written(foreign, key, before, after) is None
    for _ in range(2):
        assert written(foreign, key, before, None) is None
    for _ in range(2):
        assert written(foreign, key, None, before) is None
    assert foreign.texts() == {key: "It is so."}


def test_many_records_are_few_versions(ultra: LanceForeign) -> None:
    """A hundred a statement, each with its own metadata; the disk is not filled with histories."""
    rows = [(f"id-{number}", json.dumps({"n": number})) for number in range(250)]
    agent = ultra.agent()
    fact = {"category": "fact", "scope": None, "importance": 0.7, "timestamp": T0 / 1000}
    agent.table.add(
        [{"id": key, "text": key, "vector": vector_of(key), "metadata": about, **fact} for key, about in rows]
    )
    with ultra.source() as source:
        before = source.look([key for key, _ in rows])
        items = items_of(source)
        writes = [
            Write(key, image, source.render(ours_of(source, items[key], strength=0.5), image, None, now=day(EVE)))
            for key, image in before.items()
        ]
        version = ultra.agent().table.version
        assert not [key for key, done in source.write(writes).items() if done.conflict]
        assert ultra.agent().table.version == version + 3
    assert {key: ultra.about(key)["n"] for key, _ in rows[:3]} == {"id-0": 0, "id-1": 1, "id-2": 2}


def test_an_agent_that_goes_on_counting_loses_nothing_and_nor_do_we(ultra: LanceForeign) -> None:
    """Two writers at once, in earnest: LanceDB tries each anew on what the other has made of the table."""
    keys = [ultra.add(f"Number {number}.") for number in range(5)]
    over = threading.Event()
    counted = 0

    def count() -> None:
        nonlocal counted
        table = ultra.agent().table
        while not over.is_set():
            table.checkout_latest()
            was = table.search().where(f"id = '{keys[0]}'").select(["metadata"]).to_list()[0]["metadata"]
            about = json.loads(was)
            now = json.dumps({**about, "accessCount": about.get("accessCount", 0) + 1})
            condition = f"id = '{keys[0]}' AND metadata = '{was}'"
            counted += table.update(where=condition, values={"metadata": now}).rows_updated

    thread = threading.Thread(target=count)
    thread.start()
    try:
        for strength in (0.1, 0.2, 0.3, 0.4):
            with ultra.source() as source:
                items, before = items_of(source), source.look(keys)
                writes = [
                    Write(key, before[key], source.render(ours_of(source, items[key], strength=strength), before[key],
                                                          None, now=day(EVE)))
                    for key in keys
                ]  # fmt: skip
                done = source.write(writes)
            assert {each.conflict for each in done.values()} <= {None, "is written by others all the time"}
    finally:
        over.set()
        thread.join()
    assert ultra.about(keys[0]).get("accessCount", 0) == counted
    assert ultra.about(keys[1])["consolidator"] == {"strength": 0.4}


# memory-lancedb-pro's states


def filled_in(text: str, about: dict[str, Any], at: int) -> dict[str, Any]:
    """Metadata as memory-lancedb-pro writes it when it first touches a record."""
    return {
        **about, "l0_abstract": text, "l1_overview": f"- {text}", "l2_content": text, "memory_category": "cases",
        "tier": "working", "access_count": 1, "confidence": 0.7, "last_accessed_at": at + 5, "valid_from": at,
        "fact_key": "cases:it is so", "source": "legacy", "state": "confirmed", "memory_layer": "working",
        "injected_count": 1, "last_injected_at": at + 5, "bad_recall_count": 0, "suppressed_until_turn": 0, **about,
    }  # fmt: skip


def test_what_they_fill_in_by_themselves_is_no_edit(pro: LanceForeign) -> None:
    """The first use of a record writes down all that they know of it."""
    key = pro.add("It is so.", metadata='{"note":1.0}')
    before, after = told(pro, key, strength=0.5)
    at = int(pro.rows()[key]["timestamp"])
    pro.agent().change(key, metadata=json.dumps(filled_in("It is so.", {"note": 1}, at)))
    assert written(pro, key, before, after) is None
    about = pro.about(key)
    assert (about["access_count"], about["consolidator"]) == (1, {"strength": 0.5})


def test_what_was_merged_away_is_archived_there_and_comes_back_as_it_was(pro: LanceForeign) -> None:
    """With who took its place; restored, it has the state of before, and undone, every byte."""
    was = '{ "state":"pending", "memory_layer":"durable", "x": 1e2 }'
    key = pro.add("It is so.", metadata=was)
    before, after = told(pro, key, status="superseded", heir="the heir", strength=0.5)
    assert written(pro, key, before, after) is None
    about, now = pro.about(key), day(EVE) // 1000
    assert (about["state"], about["memory_layer"], about["superseded_by"]) == ("archived", "archive", "the heir")
    assert (about["archived_at"], about["invalidated_at"]) == (now, now)
    assert pro.texts() == {}
    with pro.source() as source:
        assert items_of(source)[key].memory.status == "archived"
    again, restored = told(pro, key, strength=0.5)
    assert written(pro, key, again, restored) is None
    about = pro.about(key)
    assert {name: about.get(name) for name in ("state", "memory_layer", "invalidated_at", "superseded_by", "x")} == {
        "state": "pending", "memory_layer": "durable", "invalidated_at": None, "superseded_by": None, "x": 100,
    }  # fmt: skip
    assert written(pro, key, restored, before) is None
    assert pro.rows()[key]["metadata"] == was


def test_what_they_archived_and_a_person_restores_here_is_confirmed_there(pro: LanceForeign) -> None:
    """A summary of a session too, which is archived without saying so."""
    keys = [pro.add("Old.", metadata='{"state":"archived","archived_at":5}'),
            pro.add("Spoken.", metadata='{"type":"session-summary"}')]  # fmt: skip
    for key in keys:
        before, after = told(pro, key, status="active")
        assert written(pro, key, before, after) is None
        assert pro.about(key)["state"] == "confirmed"


def test_what_is_archived_already_is_left_as_it_is(pro: LanceForeign) -> None:
    """Its time and its reason are theirs."""
    key = pro.add("Old.", metadata='{"state":"archived","archived_at":5,"archive_reason":"because"}')
    before, after = told(pro, key, status="archived", because="user", strength=0.5)
    assert written(pro, key, before, after) is None
    about = pro.about(key)
    assert (about["archived_at"], about["archive_reason"]) == (5, "because")


@pytest.mark.parametrize(
    ("strength", "consolidated", "there", "tier"),
    [
        (0.7, True, None, "core"), (0.69, True, None, "working"), (0.9, False, "working", "working"),
        (0.5, False, "core", "core"), (0.39, True, "core", "working"), (0.4, False, "peripheral", "working"),
        (0.3, False, "peripheral", "peripheral"), (0.15, False, "working", "working"),
        (0.14, True, "core", "peripheral"), (0.3, False, None, "working"),
    ],
)  # fmt: skip
def test_a_tier_follows_the_strength(strength: float, consolidated: bool, there: str | None, tier: str) -> None:
    """By their thresholds; between them it stays."""
    assert tier_of(merged(strength=strength, consolidated=consolidated), there) == tier


def test_a_tier_is_written_where_it_changes(pro: LanceForeign) -> None:
    """And only there."""
    key = pro.add("It is so.")
    for strength, tier in ((0.5, None), (0.1, "peripheral"), (0.2, "peripheral"), (0.5, "working")):
        before, after = told(pro, key, strength=strength)
        written(pro, key, before, after)
        assert pro.about(key).get("tier") == tier


# The metadata


@pytest.mark.parametrize(
    "text",
    ["{}", " { } ", '{"a":1}', '{ "b" : [1, {"a":2}] , "a" : "x,}" }', '{"a":1,"a":2,"b":"\\u00e9 \\""}', None, ""],
)
def test_a_member_is_set_and_taken_out_and_the_rest_stays(text: str | None) -> None:
    """To the byte, wherever it stands."""
    found = parsed(text) or {}
    for name in ("a", "b", "it's"):
        set_ = with_members(text, {name: {"x": "é"}})
        assert parsed(set_) == {**found, name: {"x": "é"}}
        assert parsed(with_members(set_, {name: None})) == {key: value for key, value in found.items() if key != name}
    added = with_members(text, {"c": 1})
    assert with_members(added, {"c": None}) == (text or "{}")


# Versions


def test_a_push_is_taken_back_by_the_version_before(foreign: LanceForeign) -> None:
    """And not where anybody wrote after it, or while it wrote, or where that version is no more."""
    key, other = foreign.add("It is so."), foreign.add("The other.")
    before, _ = told(foreign, key)

    def pushed(meanwhile: Callable[[], object] | None = None) -> tuple[str, str]:
        with foreign.source() as source:
            version = source.version()
            if meanwhile:
                meanwhile()
            assert source.write([Write(key, before, None)])[key].conflict is None
            since = source.version()
        with foreign.source() as source:
            assert (source.version() == since) == (meanwhile is None)
        assert version
        assert since
        return version, since

    def back(version: str, since: str) -> bool:
        with foreign.source() as source:
            return source.go_back(version, since)

    version, since = pushed()
    assert key not in foreign.texts()
    assert back(version, since)
    assert foreign.texts() == {key: "It is so.", other: "The other."}
    assert not back(version, since)
    version, since = pushed()
    foreign.add("Later.")
    assert not back(version, since)
    assert written(foreign, key, None, before) is None
    version, since = pushed(lambda: foreign.add("Meanwhile."))
    assert not back(version, since)
    assert written(foreign, key, None, before) is None
    version, since = pushed()
    number = int(version.split(":")[0])
    (foreign.folder / f"{TABLE}.lance" / "_versions" / f"{2**64 - 1 - number:020}.manifest").unlink()
    assert not back(version, since)


def test_what_is_written_at_the_moment_of_going_back_stays(
    ultra: LanceForeign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LanceDB would throw it away."""
    key = ultra.add("It is so.")
    before, _ = told(ultra, key)
    with ultra.source() as source:
        version = source.version()
        source.write([Write(key, before, None)])
        since = source.version()
        stamp, times = Table.stamp, iter(range(100))

        def stamped(self: Table, number: int) -> str | None:
            found = stamp(self, number)
            if next(times) == 1:
                ultra.add("At this moment.")
            return found

        monkeypatch.setattr(Table, "stamp", stamped)
        assert not source.go_back(version or "", since or "")
    assert [*ultra.texts().values()] == ["At this moment."]


def test_the_index_for_words_is_brought_up_to_date_and_old_versions_stay(foreign: LanceForeign) -> None:
    """Where there is one and much is new; the push can still be taken back by the version before."""
    keys = [foreign.add(f"Number {number} of many.") for number in range(3)]
    foreign.index()
    new = merged()
    with foreign.source() as source:
        like = source.look(keys[:1])[keys[0]]
        version = source.version()
        image = source.render(new, None, like, now=day(EVE)) or {}
        writes = [Write(f"n{n}", None, {**image, "id": f"n{n}", "text": f"Zebra {n}."}) for n in range(30)]
        source.write(writes)
        since = source.version()
    table = foreign.agent().table
    assert [each.num_unindexed_rows for each in table.list_indices()] == [0]
    assert len(table.search("zebra", query_type="fts").limit(50).to_list()) == 30
    with foreign.source() as source:
        assert source.go_back(version or "", since or "")
    assert sorted(foreign.texts()) == sorted(keys)


# A plugin that goes on using an old handle


def test_a_row_that_an_old_handle_brings_back_is_seen_and_removed_again(ultra: LanceForeign) -> None:
    """It has the id and the fingerprint of the one that was removed."""
    key = ultra.add("It faded.")
    agent = ultra.agent()
    before, _ = told(ultra, key)
    with ultra.source() as source:
        gone = items_of(source)[key].fingerprint
    assert written(ultra, key, before, None) is None
    agent.use(key)
    assert ultra.texts() == {key: "It faded."}
    with ultra.source() as source:
        assert items_of(source)[key].fingerprint == gone
    assert written(ultra, key, before, None) is None
    assert ultra.texts() == {}


# The lock


def test_writing_takes_the_lock_of_memory_lancedb_pro(
    pro: LanceForeign, ultra: LanceForeign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder beside the file that is locked, gone afterwards."""
    key = pro.add("It is so.")
    before, after = told(pro, key, strength=0.2)
    seen: list[bool] = []
    place = pro.folder / ".memory-write.lock.lock"
    while_looking(monkeypatch, lambda _: seen.append(place.is_dir()))
    assert written(pro, key, before, after) is None
    assert seen[0]
    assert not place.exists()
    assert (pro.folder / ".memory-write.lock").is_file()


def test_a_lock_that_nobody_touches_is_taken_and_one_that_is_touched_is_waited_for(tmp_path: Path) -> None:
    """Without a clock: what stands still while it is looked at was left behind."""
    place = tmp_path / ".memory-write.lock.lock"
    place.mkdir()
    with lock.held(tmp_path, stale_seconds=0.05, patience_seconds=20):
        assert place.is_dir()
    assert not place.exists()
    with lock.held(tmp_path, stale_seconds=0.5), pytest.raises(ConsolidatorError, match="another program"):
        lock._take(place, 20.0, 0.2)


# Processes


APART = """
import sys
from multiprocessing import get_context

def work(url, key):
    from consolidator.sources.choose import open_source
    from consolidator.sources.port import Options, Write
    with open_source(url, Options()) as source:
        before = source.look([key])[key]
        assert [each.id for each in source.read(None).records] == [key]
        assert source.write([Write(key, before, None)])[key].conflict is None
        assert source.write([Write(key, None, before)])[key].conflict is None

if __name__ == "__main__":
    process = get_context("spawn").Process(target=work, args=sys.argv[1:])
    process.start()
    process.join()
    sys.exit(process.exitcode)
"""


def test_a_process_that_used_it_ends_by_itself_and_says_nothing(pro: LanceForeign, tmp_path: Path) -> None:
    """In a child that is made as the service makes its own; a warning would end it."""
    key = pro.add("It is so.")
    script = tmp_path / "apart.py"
    script.write_text(APART)
    command = [sys.executable, "-W", "error", str(script), pro.url, key]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
