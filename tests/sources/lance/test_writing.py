"""What is written to a row, and what others write meanwhile stays."""

import json
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from consolidator.errors import BadInput
from consolidator.sources.port import NeedsVector, Write
from tests.lives import EVE, T0, day
from tests.sources.lance.acts import OFFICIAL, PRO, STRANGE, ULTRA, merged, told, while_looking, written
from tests.sources.lance_foreign import LanceForeign, fields_of, vector_of
from tests.sources.test_port import items_of, ours_of


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
