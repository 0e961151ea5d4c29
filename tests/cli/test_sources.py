"""Other systems' stores as commands: pulled, pushed, both around a night, taken back, and listed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from consolidator.sources import choose
from tests.cli.conftest import Consolidate
from tests.cli.life import WORDS_ALONE, Life
from tests.lives import day
from tests.sources.kind_foreign import as_kind
from tests.sources.memory_foreign import JsonForeign

SAME = ("The cat sleeps on the warm radiator.", "the cat sleeps on the warm radiator")


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JsonForeign:
    """With two records that say the same and one that does not."""
    theirs = as_kind(monkeypatch, tmp_path / "theirs")
    for text in (*SAME, "The tram to the harbour is line six."):
        theirs.add(text)
    return theirs


@pytest.fixture
def named(life: Life, theirs: JsonForeign) -> Life:
    """The store whose settings call it `them`."""
    life.say(WORDS_ALONE + f"sources: {{them: {{url: 'json:{theirs.path}'}}}}\n")
    return life


def test_what_was_pulled_is_consolidated_and_written_back(named: Life, theirs: JsonForeign) -> None:
    """One of two that say the same goes over there; the second time there is nothing to do; undo gives it back."""
    before = theirs.records()
    assert named("pull", "them").out == "Pulled them: 3 new.\n"
    named.night(2)
    would = named("push", "them", "--dry-run")
    assert would.code == 0
    assert would.out.endswith("Would push them: 2 records to write.\n")
    assert theirs.records() == before
    pushed = named("push", "them")
    assert pushed.code == 0
    assert len(theirs.texts()) == 2
    assert "To take it back: consolidate undo push-" in pushed.out
    assert named("push", "them").out == "Pushed them: nothing to write.\n"
    assert named("pull", "them").out == "Pulled them: 3 as before.\n"
    push = pushed.out.split()[-1]
    assert named("undo", push).out == f"{push}: 2 records of them given back.\n"
    assert theirs.records() == before
    named("undo", push).refused("has been undone already")
    named("undo", "push-20260101-0000-00000000").refused("no such push")


def test_sync_is_pull_night_and_push(named: Life, theirs: JsonForeign) -> None:
    """In one command, which counts as the night of its date."""
    named.wall(day(2))
    done = named("sync", "--report", "summary")
    assert done.code == 0
    first, night, pushed, undo = done.out.splitlines()
    assert first == "Pulled them: 3 new."
    assert "cat" not in night
    assert pushed.startswith("Pushed them: 2 rewritten (push-")
    assert undo.startswith("To take it back: consolidate undo push-")
    assert len(theirs.texts()) == 2
    again = named("sync", "them", "--json").document
    assert (again["exit"], again["sources"][0]["pull"]["new"], again["sources"][0]["push"]["written"]) == (0, 0, 0)


def test_a_source_that_cannot_be_read_keeps_none_of_the_rest(named: Life, theirs: JsonForeign, tmp_path: Path) -> None:
    """It is told of and not pushed, and the exit code is 3; where it is all that was asked for, nothing is done."""
    gone = tmp_path / "gone.json"
    named.wall(day(2))
    done = named("sync", "them", f"json:{gone}", "--report", "off")
    assert done.code == 3
    assert done.err == f"consolidate: json:{gone} was not pulled: {gone}: there is no such file\n"
    assert len(theirs.texts()) == 2
    named("sync", f"json:{gone}").refused("there is no such file")


def test_a_record_that_was_edited_over_there_is_a_conflict(named: Life, theirs: JsonForeign) -> None:
    """It is left alone, listed, and the exit code is 3; the next pull takes the edit in."""
    named("pull", "them")
    named.night(2)
    for record, text in theirs.texts().items():
        if text in SAME:
            theirs.edit(record, f"{text} Or so it seems.")
    pushed = named("push", "them")
    assert pushed.code == 3
    assert "conflict: " in pushed.err
    assert "2 conflicts" in pushed.out
    assert named("pull", "them").out.startswith("Pulled them: 2 changed")


def test_a_dry_run_takes_nothing_in(theirs: JsonForeign, consolidate: Consolidate, tmp_path: Path) -> None:
    """Not even a store that was not there."""
    store = tmp_path / "new.db"
    done = consolidate("--store", store, "pull", f"json:{theirs.path}", "--dry-run", "--json")
    assert (done.code, done.document["new"], done.document["dry_run"]) == (0, 3, True)
    assert not store.exists()


def test_most_of_it_gone_is_believed_only_when_it_is_said(named: Life, theirs: JsonForeign) -> None:
    """A folder that is not mounted archives nothing; with --gone it does."""
    named("pull", "them")
    for record in theirs.texts():
        theirs.remove(record)
    named("pull", "them").refused("--gone")
    assert named("pull", "them", "--gone").out == "Pulled them: 3 gone.\n"


def test_kinds_and_known_sources_are_listed(named: Life, theirs: JsonForeign, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what has to be installed, and when each was pulled and pushed."""
    monkeypatch.setattr(choose, "find_spec", lambda _: None)
    listed = named("sources")
    assert "pip install 'consolidator[qdrant]'" in listed.out
    assert "never" in listed.out
    named("pull", "them")
    document = named("sources", "--json").document
    kinds = {kind["kind"]: kind for kind in document["kinds"]}
    assert kinds["claw-memory-ultra"] == {
        "kind": "claw-memory-ultra", "whose": "Claw Memory Ultra", "place": "its LanceDB folder", "ways": "both",
        "missing": "consolidator[lancedb]",
    }  # fmt: skip
    (known,) = document["sources"]
    assert (known["name"], known["url"], known["records"]) == ("them", f"json:{theirs.path}", 3)
    assert known["pulled_at"] == "2026-03-02T09:00:00.000Z"
    assert known["pushed_at"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("pull", "thm"), ("thm: neither the name of a source in the settings (them) nor KIND:PLACE",)),
        (("pull", "claw-memory-ultra:x"), ("pip install 'consolidator[lancedb]'",)),
        (("push", "them"), ("was never pulled",)),
        (("pull", "them", "--model", "word2vec"), ("--model: 'word2vec' is not minilm",)),
        (("pull", "them", "--scope", "ada"), ("--scope: ",)),
    ],
)
def test_what_cannot_be_meant_is_one_line(
    named: Life, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    """And nothing is written."""
    monkeypatch.setattr(choose, "find_spec", lambda _: None)
    named(*arguments).refused(*words)


def test_messages_of_a_log_are_a_line_each(consolidate: Consolidate, tmp_path: Path) -> None:
    """With --json a document each; what cannot be read is listed, and the exit code is 3."""
    log = tmp_path / "log.jsonl"
    said = [{"role": "user", "content": "Where is\nthe cat?", "session": "s1", "at": "2026-05-01T10:00:00Z"}]
    log.write_text("".join(json.dumps(each) + "\n" for each in said) + '{"role": "assi')
    done = consolidate("messages", log)
    assert done.code == 3
    assert done.out == "2026-05-01T10:00:00.000Z  s1  user: Where is the cat?\n"
    assert done.err.startswith("skipped: ")
    document = json.loads(consolidate("messages", log, "--json").out)
    assert document == {
        "session": "s1", "at": "2026-05-01T10:00:00.000Z", "role": "user", "text": "Where is\nthe cat?", "id": None,
    }  # fmt: skip
    consolidate("messages", tmp_path / "none").refused("none")


def test_memories_that_are_pulled_expire_as_their_scope_has_it(
    life: Life, theirs: JsonForeign, wall: Callable[[int], None]
) -> None:
    """Where they have no end of their own."""
    life.say(
        WORDS_ALONE + f"sources: {{them: {{url: 'json:{theirs.path}'}}}}\nday: {{expire_nights: {{'*': 30, '': 7}}}}\n"
    )
    wall(day(1))
    life("pull", "them")
    life.night(7.5)
    assert len(life.active()) == 2
    life.night(8.5)
    assert life.active() == set()


def test_the_job_tells_what_was_pulled_and_pushed(named: Life, theirs: JsonForeign, tmp_path: Path) -> None:
    """A line each in a message of its own, for those who hear more than errors; what went wrong is told to all."""
    log = tmp_path / "log.txt"
    named.say(
        WORDS_ALONE + f"time_zone: UTC\nchannels: {{log: {{type: file, path: {log}}}}}\n"
        f"sources: {{them: {{url: 'json:{theirs.path}'}}, gone: {{url: 'json:{tmp_path}/gone'}}}}\n"
        "jobs: {consolidate: {sources: [them, gone], level: summary}}\n"
    )
    named.wall(day(2))
    ended = named("job", "consolidate")
    assert ended.code == 3
    assert ended.err == f"consolidate: source gone was not pulled: {tmp_path}/gone: there is no such file\n"
    assert "Pulled them: 3 new.\n" in ended.out
    told = log.read_text()
    assert "The night of 2026-03-03: other stores [" in told
    assert "Pulled them: 3 new." in told
    assert "Pushed them: 2 rewritten (push-" in told
    assert "The night of 2026-03-03: other stores failed" in told
    assert named("job", "consolidate").code == 3
    assert log.read_text() == told


def test_settings_check_says_what_a_source_lacks(life: Life, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package, a file; and whose vectors nobody can make here is noted."""
    life.say(WORDS_ALONE + "sources: {a: {url: memory-smart, model: minilm}}\n")
    fine = life("settings", "check")
    assert fine.code == 0
    assert "sources.a.model: minilm is not the embedder's, none: new texts get no vectors there" in fine.err
    life.say(WORDS_ALONE + f"sources: {{a: {{url: 'csv:x', mapping: {tmp_path}/none.yaml}}}}\n")
    life("settings", "check").refused(f"sources.a.mapping: there is no file {tmp_path}/none.yaml")
    monkeypatch.setattr(choose, "find_spec", lambda _: None)
    life.say("sources: {a: {url: memory-smart}}\n")
    life("settings", "check").refused("sources.a.url: ", "pip install 'consolidator[qdrant]'")
