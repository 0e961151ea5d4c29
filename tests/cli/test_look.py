"""Looking at memories: list, search, show, history, stats, graph."""

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

from consolidator.store.engine import open_store
from tests import authors
from tests.cli.conftest import Consolidate
from tests.lives import (
    CROWD,
    EVE,
    FADED_NAME,
    FADING,
    GONE,
    HUB,
    NEW_NAME,
    OLD,
    PINNED,
    RENAMED,
    SPOKES,
    ÅSA,
    memory,
    name,
)


def test_list(eve: Consolidate) -> None:
    """Memories are listed by strength; of one status, type and scope, where asked."""
    found = eve("list", "--json", "-n", "1000").document["memories"]
    strengths = [each["strength"] for each in found]
    assert strengths == sorted(strengths, reverse=True)
    assert {each["status"] for each in found} == {"active"}
    everything = eve("list", "--json", "-n", "1000", "--status", "all").document["memories"]
    assert len(everything) > len(found)
    assert [each["id"] for each in eve("list", "--json", "-n", "3").document["memories"]] == [
        each["id"] for each in found[:3]
    ]
    assert eve("list", "--type", "recipe").out.startswith("No active memory; ")
    of_asa = eve("list", "--scope", json.dumps(ÅSA), "--json").document["memories"]
    assert {each["content"] for each in of_asa} == {"她喜欢山 ⛰️", "冬天在海边", "faded away"}
    eve("list", "--scope", "user=ada").refused("user=ada")


def test_list_and_export_agree(eve: Consolidate) -> None:
    """Strength and temporal state of a memory are those that an export of values gives for the same moment."""
    assert eve("run").code == 0
    values = {
        (json.dumps(scope["scope"]), each["id"]): (each["strength"], each["temporal_state"])
        for scope in eve("export", "--format", "json").document["scopes"]
        for each in scope["memories"]
    }
    found = eve("list", "--json", "-n", "1000", "--status", "all").document["memories"]
    assert len(found) == len(values)
    for each in found:
        strength, state = values[json.dumps(each["scope"]), each["id"]]
        assert each["strength"] == pytest.approx(strength, abs=1e-6)
        assert each["temporal_state"] == state


def test_list_as_text(eve: Consolidate) -> None:
    """Where nobody sees the width, no text is cut and every memory is one line; scopes are told apart."""
    lines = eve("list", "-n", "1000").out.splitlines()
    assert all(title in lines[0] for title in ("id", "strength", "scope", "text"))
    assert sum(HUB in line for line in lines) == 1
    assert any("她喜欢山 ⛰️" in line and "user=åsa 🦉" in line for line in lines)


def test_search(eve: Consolidate) -> None:
    """Words find memories, Chinese ones too, and of every status where asked; nothing found is no failure."""
    assert eve("search", "wheel", "hub", "--json").document["memories"][0]["id"] == name(HUB)
    assert name(FADED_NAME)[:12] not in eve("search", FADED_NAME).out
    assert name(FADED_NAME)[:12] in eve("search", FADED_NAME, "--status", "all").out
    assert "superseded" in eve("search", FADED_NAME, "--status", "all").out
    assert eve("search", "喜欢", "--json").document["memories"][0]["content"] == "她喜欢山 ⛰️"
    assert "No active memory" in eve("search", "喜欢", "--scope", "").out
    assert eve("search", "xylophone", "--status", "all").out == "No memory.\n"
    for odd in ('"', "*", "AND", "NEAR(", "a:b", "-", "%", "''", "\\"):
        assert eve("search", odd).code == 0


def test_show(eve: Consolidate) -> None:
    """A memory is shown whole, with its links, the strongest first."""
    assert eve("run").code == 0
    said = eve("show", name(HUB)[:8])
    assert said.out.startswith(f"{HUB}\n")
    assert name(HUB) in said.out
    document = eve("show", name(HUB), "--json").document
    weights = [link["weight"] for link in document["links"]]
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] >= 0.01
    assert {link["content"] for link in document["links"]} >= set(SPOKES[:3])
    for link in eve("show", name(SPOKES[0]), "--json").document["links"]:
        assert link["inferred"] == (link["via"] is not None)
    eve("show", name(HUB), "--format", "html").refused("html")
    eve("show", name(HUB), "--decisions").refused("decisions")
    eve("show", "nonsense").refused("nonsense", "consolidate runs")
    assert "pinned" in eve("show", name(PINNED)).out


def test_show_is_harmless(consolidate: Consolidate, made_store_url: str, write_lines: Callable[..., Path]) -> None:
    """What a memory holds cannot move a cursor, change colours or forge lines of a table."""
    text = "fine\x1b[31mred\x1b]0;title\x07\r\nsecond line\u202e"
    store = ("--store", made_store_url)
    assert consolidate(*store, "import", "jsonl", write_lines(memory(text, 1))).code == 0
    for command in (["show", name(text)], ["list"], ["search", "fine"], ["history", name(text)], ["pin", name(text)],
                    ["run", "--dry-run"], ["graph", "--format", "dot"], ["forget", name(text), "--yes"]):  # fmt: skip
        said = consolidate(*store, *command)
        assert said.code == 0
        assert not set("\x1b\x07\r\u202e") & set(said.out + said.err), command


def test_history(eve: Consolidate) -> None:
    """A memory's life in order: taken in, shown, used, decided with its reasons, archived and back."""
    run_id = eve("run", "--json").document["run_id"]
    entries = eve("history", name(GONE)[:8], "--json").document["entries"]
    assert [entry["at"] for entry in entries] == sorted(entry["at"] for entry in entries)
    assert [entry["what"] for entry in entries][:2] == ["created", "base"]
    decided = [(entry["verb"], entry["undone"]) for entry in entries if entry["what"] == "decided"]
    assert ("archived", False) in decided
    assert ("revived", False) in decided
    assert run_id in eve("history", name(GONE)).out
    assert eve("undo", "last").code == 0
    entries = eve("history", name(GONE), "--json").document["entries"]
    assert ("revived", True) in [(entry["verb"], entry["undone"]) for entry in entries if entry["what"] == "decided"]


def test_history_of_links(eve: Consolidate) -> None:
    """Both ends of a link have it in their history, each with the other."""
    assert eve("run").code == 0
    for one, other in ((HUB, SPOKES[6]), (SPOKES[6], HUB)):
        entries = eve("history", name(one), "--json").document["entries"]
        linked = [entry["with"][0]["id"] for entry in entries if entry.get("verb") == "linked"]
        assert name(other) in linked


def test_history_through_aliases(eve: Consolidate) -> None:
    """A rating that counted for the memory that replaced another is in the history of both."""
    assert eve("run").code == 0
    for text, through in ((RENAMED, False), (NEW_NAME, True)):
        entries = eve("history", name(text), "--json").document["entries"]
        assert [entry["through_alias"] for entry in entries if entry.get("message_id") == "m renamed"] == [through]
        assert "alias" in [entry["what"] for entry in entries]


def test_merges(eve: Consolidate, eve_url: str) -> None:
    """A merged memory says what it was merged from, a source where it went, and both tell when and why."""
    text = "an old friend of the crowd 👥"
    with open_store(eve_url, mode="write") as store:
        authors.night(store, EVE, authors.one(OLD, CROWD[2], text=text, because="both are old friends"))
    document = eve("show", name(text), "--json").document
    assert {source["content"]: source["status"] for source in document["merged_from"]} == {
        OLD: "superseded",
        CROWD[2]: "superseded",
    }
    assert OLD in eve("show", name(text)).out
    assert eve("show", name(OLD), "--json").document["superseded_by"] == name(text)
    for named in (OLD, text):
        told = eve("history", name(named)).out
        assert f"{name(OLD)[:12]} into {name(text)[:12]}" in told
        entries = eve("history", name(named), "--json").document["entries"]
        assert "merge" in [entry["step"] for entry in entries if entry["what"] == "decided"]
    assert "both are old friends" in eve("history", name(text)).out
    assert name(OLD) not in json.dumps(eve("list", "--json").document)
    assert name(OLD) in json.dumps(eve("list", "--status", "superseded", "--json").document)


def test_history_of_events_alone(eve: Consolidate) -> None:
    """Of a memory known only by its events, those are its history."""
    entries = eve("history", name("nobody knows this")[:10], "--json").document["entries"]
    assert {entry["what"] for entry in entries} == {"shown", "used"}


def test_stats(eve: Consolidate) -> None:
    """Memories and links are counted by scope, with what waits; after the night only what lies ahead waits."""
    document = eve("stats", "--json").document
    assert [scope["scope"] for scope in document["scopes"]] == [ÅSA, {}]
    assert document["store"]["bytes"] > 10_000
    assert sum(document["scopes"][1]["pending"].values()) > 10
    everything = eve("list", "--json", "-n", "1000", "--status", "all").document["memories"]
    assert sum(sum(scope["memories"].values()) for scope in document["scopes"]) == len(everything)
    run_id = eve("run", "--json").document["run_id"]
    document = eve("stats", "--json").document
    assert document["last_run"]["run_id"] == run_id
    assert [sum(scope["pending"].values()) for scope in document["scopes"]] == [0, 0]
    links = {json.dumps(scope["scope"]): len(scope["links"]) for scope in eve("graph").document["scopes"]}
    assert all(sum(scope["links"].values()) >= links[json.dumps(scope["scope"])] for scope in document["scopes"])
    assert "user=åsa 🦉" in eve("stats").out


def test_graph(eve: Consolidate, tmp_path: Path) -> None:
    """The graph's links are those that an export of values gives, in each of its forms."""
    assert eve("run").code == 0
    document = eve("graph").document
    exported = eve("export", "--format", "json").document
    for scope, values in zip(document["scopes"], exported["scopes"], strict=True):
        assert scope["scope"] == values["scope"]
        links = {(link["source"], link["target"]): link["weight"] for link in scope["links"]}
        expected = {(link["memory_a"], link["memory_b"]): link["weight"] for link in values["associations"]}
        assert links == pytest.approx(expected, abs=1e-6)
        assert {node["id"] for node in scope["nodes"]} == {end for link in links for end in link}
    number = sum(len(scope["links"]) for scope in document["scopes"])
    assert number
    assert eve("graph", "--format", "dot").out.count(" -- ") == number
    path = tmp_path / "memories.graphml"
    assert eve("graph", "--format", "graphml", "-o", path).out == ""
    edges = ElementTree.parse(path).getroot().iter("{http://graphml.graphdrawing.org/xmlns}edge")
    assert sum(1 for _ in edges) == number


def test_nothing_is_changed(eve: Consolidate) -> None:
    """Looking changes nothing."""
    before = eve("export").out
    for command in (["list"], ["search", "wheel"], ["show", name(OLD)], ["history", name(OLD)], ["stats"], ["graph"],
                    ["runs"], ["doctor"]):  # fmt: skip
        assert eve(*command).code == 0
    assert eve("export").out == before
    assert name(FADING[0])[:12] in eve("list", "-n", "100").out
