"""The states and tiers of memory-lancedb-pro, and the metadata in which they stand."""

import json
from typing import Any

import pytest

from consolidator.sources.lance.metadata import parsed, with_members
from consolidator.sources.lance.rendering import tier_of
from tests.lives import EVE, day
from tests.sources.lance.acts import merged, told, written
from tests.sources.lance_foreign import LanceForeign
from tests.sources.test_port import items_of


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


@pytest.mark.parametrize("since", ["1e999", "-5", '"soon"', "true"])
def test_what_holds_from_no_time_at_all_is_archived_as_of_now(pro: LanceForeign, since: str) -> None:
    """A broken `valid_from` keeps no push from saying what it has to say."""
    key = pro.add("Old.", metadata=f'{{"valid_from":{since}}}')
    _, after = told(pro, key, status="archived", because="faded")
    assert after is not None
    about = parsed(after["metadata"]) or {}
    assert about["invalidated_at"] == about["archived_at"]


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
