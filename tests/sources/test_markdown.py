"""Folders of Markdown as a source: which files, what of them, and what a push does to them beside other writers."""

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from consolidator.errors import BadInput
from consolidator.exchange.records import BadLine
from consolidator.instants import format_instant, from_datetime
from consolidator.sources.choose import open_source
from consolidator.sources.markdown import files
from consolidator.sources.markdown.blocks import key_of
from consolidator.sources.markdown.source import MarkdownSource
from consolidator.sources.port import Item, Options, Ours, Reading, Unreadable, Write

WRITTEN_AT = datetime(2026, 5, 30, 3, 30, tzinfo=UTC)
NOW = from_datetime(datetime(2026, 6, 1, tzinfo=UTC))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and a home without one."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    (tmp_path / "notes").mkdir()
    return tmp_path / "notes"


def put(folder: Path, name: str, text: str | bytes, at: datetime = WRITTEN_AT) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    os.utime(file, (at.timestamp(), at.timestamp()))
    return file


def opened(folder: Path, kind: str = "markdown", scope: str = "{}") -> Iterator[MarkdownSource]:
    with open_source(f"{kind}:{folder}", Options(scope=scope)) as source:
        assert isinstance(source, MarkdownSource)
        yield source


def source_of(folder: Path, kind: str = "markdown", scope: str = "{}") -> MarkdownSource:
    return next(opened(folder, kind, scope))


def items(reading: Reading) -> dict[str, Item]:
    return {each.id: each for each in reading.records if isinstance(each, Item)}


def contents(folder: Path, kind: str = "markdown") -> dict[str, str]:
    """By text, its file."""
    found = items(source_of(folder, kind).read(None)).values()
    return {each.memory.content: each.id.rpartition("#")[0] for each in found}


def id_of(source: MarkdownSource, text: str) -> str:
    return next(name for name, item in items(source.read(None)).items() if item.memory.content == text)


def ours(content: str, *merged_from: str, **more: object) -> Ours:
    about = {"status": "active", "because": None, "heir": None, **more}
    return Ours("f" * 64, "{}", content, "fact", NOW, 0.5, merged_from=merged_from, **about)  # type: ignore[arg-type]


def test_openclaw_remembers_in_its_workspace(folder):
    """MEMORY.md, USER.md, SOUL.md and memory/; not what it is told to do, nor the reports of its own nights."""
    for name in ("MEMORY.md", "USER.md", "SOUL.md", "AGENTS.md", "DREAMS.md", "memory/a.md", "memory/deep/b.md"):
        put(folder, name, f"- of {name}\n")
    for name in ("memory/.dreams/x.md", "memory/dreaming/light/2026-05-01.md", "memory/notes.txt", "other/c.md"):
        put(folder, name, f"- of {name}\n")
    names = ("MEMORY.md", "SOUL.md", "USER.md", "memory/a.md", "memory/deep/b.md")
    assert contents(folder, "openclaw") == {f"of {name}": name for name in names}
    found = {each.memory.content: each.memory for each in items(source_of(folder, "openclaw").read(None)).values()}
    assert {name: (found[f"of {name}"].type, found[f"of {name}"].pinned) for name in names[:3]} == {
        "MEMORY.md": ("fact", False),
        "SOUL.md": ("instruction", True),
        "USER.md": ("preference", False),
    }


def test_what_a_template_says_of_itself_is_no_memory(folder):
    """OpenClaw's USER.md begins with how to fill it in, and has labels without anything behind them."""
    put(folder, "USER.md", "# USER.md\n\n_Learn about the person you're helping._\n\n- **Name:**\n- **Pets:** a cat\n")
    assert contents(folder, "openclaw") == {"**Pets:** a cat": "USER.md"}


def test_claude_code_remembers_for_each_project(folder, tmp_path):
    """What it was told is read alone; what it noted is of its project's scope; the index is no memory."""
    home = tmp_path / "home" / ".claude"
    put(home, "CLAUDE.md", "- Be brief.\n\n@more.md\n")
    put(home, "rules/style.md", "Use tabs.\n")
    memory = "projects/-home-ada-atlas/memory"
    put(home, f"{memory}/MEMORY.md", "- [Tests](tests.md) — how they run\n- The port is 8080.\n")
    put(
        home,
        f"{memory}/tests.md",
        '---\nname: "tests"\ndescription: how they run\nmetadata:\n  type: feedback\n---\n\n'
        "Run make.\n\n**Why:** quick\n\nIn a container.\n",
    )
    put(home, "projects/-home-ada-atlas/x.jsonl", "{}")
    put(home, "projects/-other/memory/MEMORY.md", "- Another port.\n")
    found = {
        each.memory.content: each
        for each in items(source_of(home, "claude-code", '{"user":"ada"}').read(None)).values()
    }
    assert {text: (each.memory.scope, each.memory.type, each.memory.pinned) for text, each in found.items()} == {
        "Be brief.": ('{"user":"ada"}', "instruction", True),
        "Use tabs.": ('{"user":"ada"}', "instruction", True),
        "The port is 8080.": ('{"project":"-home-ada-atlas","user":"ada"}', "fact", False),
        "Run make.\n**Why:** quick": ('{"project":"-home-ada-atlas","user":"ada"}', "feedback", False),
        "In a container.": ('{"project":"-home-ada-atlas","user":"ada"}', "feedback", False),
        "Another port.": ('{"project":"-other","user":"ada"}', "fact", False),
    }
    about = found["Run make.\n**Why:** quick"].memory.metadata
    assert about == {"file": f"{memory}/tests.md", "name": "tests", "description": "how they run"}


def test_a_project_is_its_instructions_and_what_claude_code_noted_of_it(folder, tmp_path):
    """Its notes lie in ~/.claude, under a name made of its path; there they can be named too."""
    slug = str(folder.resolve()).replace("/", "-").replace("_", "-")
    put(folder, "CLAUDE.md", "- Use make.\n")
    put(folder, ".claude/rules/style.md", "- Use tabs.\n")
    put(folder, "docs/page.md", "- No memory.\n")
    put(tmp_path / "home" / ".claude", f"projects/{slug}/memory/debugging.md", "- The port is 8080.\n")
    assert contents(folder, "claude-code") == {
        "Use make.": "CLAUDE.md",
        "Use tabs.": ".claude/rules/style.md",
        "The port is 8080.": f"~{slug}/memory/debugging.md",
    }
    there = tmp_path / "home" / ".claude" / "projects" / slug
    assert contents(there, "claude-code") == {"The port is 8080.": "memory/debugging.md"}


def test_a_folder_of_markdown_is_all_its_pages(folder):
    """At any depth, without what is hidden; each file once, however many links lead to it."""
    put(folder, "a.md", "- a\n")
    put(folder, "deep/er/b.md", "- b\n")
    put(folder, ".git/c.md", "- c\n")
    put(folder, "node_modules/d.md", "- d\n")
    (folder / "z.md").symlink_to("a.md")
    assert contents(folder) == {"a": "a.md", "b": "deep/er/b.md"}


def test_the_usual_place_needs_no_name(folder, tmp_path):
    """And where there is none, or no folder, that is said."""
    put(tmp_path / "home" / ".openclaw" / "workspace", "MEMORY.md", "- a\n")
    with open_source("openclaw", Options()) as source:
        assert source.url == f"openclaw:{(tmp_path / 'home/.openclaw/workspace').resolve()}"
    with (
        pytest.raises(BadInput, match="Write markdown:FOLDER"),
        open_source("markdown", Options()),
    ):
        pass
    with pytest.raises(BadInput, match="no such folder"), open_source(f"markdown:{folder}/none", Options()):
        pass


def test_a_daily_note_was_said_on_its_day(folder):
    """At noon, in UTC, but not later than it was written; other pages were said when they were last changed."""
    put(folder, "2026-05-02.md", "- a\n")
    put(folder, "2026-05-30-standup.md", "- b\n")
    put(folder, "2026-13-01.md", "- c\n")
    put(folder, "notes.md", "- d\n")
    found = {each.memory.content: each.memory for each in items(source_of(folder).read(None)).values()}
    assert {text: (format_instant(each.created_at), each.observed_at is not None) for text, each in found.items()} == {
        "a": ("2026-05-02T12:00:00.000Z", True),
        "b": ("2026-05-30T03:30:00.000Z", True),
        "c": ("2026-05-30T03:30:00.000Z", False),
        "d": ("2026-05-30T03:30:00.000Z", False),
    }


def test_headings_and_labels_are_what_a_memory_is_about(folder):
    """Topics, but for the title of the page; all of it is in the metadata."""
    put(folder, "a.md", "# Ada\n\n## Home\n\nPets:\n\n- Cats\n  - [x] Misha\n\n")
    put(folder, "2026-05-02.md", "# 2026-05-02\n\n- plain\n")
    found = {each.memory.content: each.memory for each in items(source_of(folder).read(None)).values()}
    assert found["Misha"].topics == ["Home", "Pets", "Cats"]
    assert found["Misha"].metadata == {
        "file": "a.md",
        "headings": ["Ada", "Home"],
        "under": ["Pets", "Cats"],
        "done": True,
    }
    assert found["plain"].topics is None


def test_an_unchanged_folder_is_not_read_again(folder):
    """By the SHA-256 of each file: a new mtime is no change."""
    put(folder, "a.md", "- a\n")
    since = source_of(folder).read(None).since
    put(folder, "a.md", "- a\n", datetime(2026, 5, 31, tzinfo=UTC))
    assert source_of(folder).read(since).unchanged
    put(folder, "b.md", "# nothing\n")
    assert not source_of(folder).read(since).unchanged
    assert not source_of(folder).read('{"version":0}').unchanged


def test_an_edit_at_its_place_is_an_edit(folder):
    """The new text names the one that was there, in each file by itself; what came besides is new."""
    put(folder, "a.md", "- a\n- b\n- c\n\nP one\n\nP two\n")
    put(folder, "z.md", "- z\n")
    source = source_of(folder)
    before, since = (
        {each.memory.content: name for name, each in items(source.read(None)).items()},
        source.read(None).since,
    )
    put(folder, "a.md", "- a\n- bee\n- c\n- more\n\nP 1\n\nP 2\n")
    put(folder, "z.md", "- y\n- z\n- q\n")
    now = {each.memory.content: each.moved_from for each in items(source_of(folder).read(since)).values()}
    assert now == {
        **dict.fromkeys(("a", "c", "y", "z", "q"), None),
        "bee": before["b"],
        **dict.fromkeys(("more", "P 1", "P 2"), None),
    }


def test_as_many_edits_as_there_were_items_are_edits(folder):
    """Side by side they are paired in their order."""
    put(folder, "a.md", "- a\n- b\n- c\n- d\n")
    source = source_of(folder)
    before, since = (
        {each.memory.content: name for name, each in items(source.read(None)).items()},
        source.read(None).since,
    )
    put(folder, "a.md", "- a\n- bee\n- cee\n- d\n")
    now = {each.memory.content: each.moved_from for each in items(source_of(folder).read(since)).values()}
    assert now == {"a": None, "bee": before["b"], "cee": before["c"], "d": None}


def test_what_was_moved_is_known_again(folder):
    """Into another file, or with its file; what was copied is new."""
    put(folder, "a.md", "- a\n- b\n")
    put(folder, "old.md", "- c\n- d\n")
    source = source_of(folder)
    before, since = (
        {each.memory.content: name for name, each in items(source.read(None)).items()},
        source.read(None).since,
    )
    put(folder, "a.md", "- b\n")
    put(folder, "b.md", "- a\n- b\n")
    (folder / "old.md").rename(folder / "new.md")
    now = {name: each.moved_from for name, each in items(source_of(folder).read(since)).items()}
    assert {name: former for name, former in now.items() if former} == {
        before["a"].replace("a.md", "b.md"): before["a"],
        before["c"].replace("old", "new"): before["c"],
        before["d"].replace("old", "new"): before["d"],
    }


def test_a_heading_or_a_box_is_part_of_what_people_decide(folder):
    """Renamed or ticked, the record has another fingerprint and its old name; bullet and place do not matter."""
    put(folder, "a.md", "# T\n\n- [ ] a\n")
    [(name, first)] = items(source_of(folder).read(None)).items()
    for text, same in (("# T\n\n\n* [ ] a\n", True), ("# U\n\n- [ ] a\n", False), ("# T\n\n- [x] a\n", False)):
        put(folder, "a.md", text)
        [(again, item)] = items(source_of(folder).read(None)).items()
        assert again == name
        assert (item.fingerprint == first.fingerprint) is same


def test_a_text_twice_in_a_file_is_one_record(folder):
    """Removed, and put back, at both places."""
    file = put(folder, "a.md", "# A\n- x\n- same\n\n# B\n- same\n- y\n")
    source = source_of(folder)
    name = id_of(source, "same")
    image = source.look([name])[name]
    assert source.write([Write(name, image, None)])[name].conflict is None
    assert file.read_text() == "# A\n- x\n\n# B\n- y\n"
    source.write([Write(name, None, image)])
    assert file.read_text() == "# A\n- x\n- same\n\n# B\n- same\n- y\n"


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"- caf\xe9\n", "is not valid UTF-8 (byte 6)"),
        (b"- a\0b\n", "holds a NUL"),
        (b"- a\n" * (files.LARGEST // 4 + 1), "is larger than 4 MiB"),
    ],
)
def test_a_file_that_cannot_be_understood_is_not_gone(folder, raw, why):
    """Its records are there still, it is told of every time, and it is never written."""
    put(folder, "a.md", "- a\n- b\n")
    put(folder, "b.md", "- c\n")
    source = source_of(folder)
    image = source.look([id_of(source, "a")])
    since = source.read(None).since
    put(folder, "a.md", raw)
    for _ in range(2):
        reading = source_of(folder).read(since)
        assert not reading.unchanged
        records = [*reading.records]
        bad = [each for each in records if isinstance(each, Unreadable)]
        assert {each.id for each in bad} == {id_of_text("a.md", "a"), id_of_text("a.md", "b")}
        assert str(bad[0].bad) == f"{folder.resolve()}/a.md: file: {why}"
        since = reading.since
    assert [each.reason for each in source_of(folder).read(None).records if isinstance(each, BadLine)] == [why]
    [(name, before)] = image.items()
    assert source_of(folder).write([Write(name, before, None)])[name].conflict == f"is in a file that {why}"
    assert (folder / "a.md").read_bytes() == raw
    assert contents(folder) == {"c": "b.md"}


def test_what_a_page_held_is_not_gone_while_it_is_written_anew(folder, monkeypatch):
    """Who writes it empties it first; it is read when it is at rest. One that never is stops the reading."""
    page = put(folder, "a.md", "")
    put(folder, "b.md", "- c\n")
    acts = [lambda: page.write_text("- a\n"), lambda: page.write_text("- a\n- b\n"), lambda: None]

    class Waiting:
        def wait(self, _seconds: float) -> None:
            (acts.pop(0) if len(acts) > 1 else acts[0])()

    monkeypatch.setattr(files, "Event", Waiting)
    assert contents(folder) == {"a": "a.md", "b": "a.md", "c": "b.md"}
    acts[:] = [lambda: page.write_text(page.read_text() + "- more\n")]
    with pytest.raises(BadInput, match=r"a.md: is written to without a pause"):
        source_of(folder).read(None)
    acts[:] = [page.unlink, lambda: None]
    assert contents(folder) == {"c": "b.md"}


def test_a_pipe_among_the_pages_is_told_and_not_waited_for(folder):
    """Nobody may ever write to it."""
    put(folder, "b.md", "- c\n")
    os.mkfifo(folder / "a.md")
    bad = [each.reason for each in source_of(folder).read(None).records if isinstance(each, BadLine)]
    assert (bad, contents(folder)) == (["is no file"], {"c": "b.md"})


def id_of_text(name: str, text: str) -> str:
    return f"{name}#{key_of(text)}"


def test_a_folder_that_cannot_be_looked_into_stops_the_reading(folder, monkeypatch):
    """What is in it would count as gone."""
    put(folder, "deep/a.md", "- a\n")
    scandir = os.scandir

    def refuse(place):
        if str(place).endswith("deep"):
            raise PermissionError(13, "Permission denied", str(place))
        return scandir(place)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(BadInput, match="deep: Permission denied"):
        source_of(folder).read(None)


def test_a_merge_is_written_over_its_sources(folder):
    """The new record is known by the name that it was given before; read again it is as it was written."""
    file = put(folder, "a.md", "# Home\n\n- Ada has a cat.\n- Ada's cat is\n  Misha.\n- Ada has a dog.\n")
    source = source_of(folder)
    first, second = id_of(source, "Ada has a cat."), id_of(source, "Ada's cat is Misha.")
    told = ours("Ada has a cat, Misha.", first, second)
    new = source.new_id(told)
    there = source.look([first, second])
    image = source.render(told, None, there[first], now=NOW)
    assert image is not None
    done = source.write([Write(new, None, image)])[new]
    assert (done.conflict, done.fingerprint) == (None, source.fingerprint(image))
    there = source.look([first, second])
    for name in (first, second):
        gone = ours("x", status="superseded", heir=new)
        assert source.render(gone, there[name], None, now=NOW) is None
    assert {each.conflict for each in source.write([Write(name, there[name], None) for name in there]).values()} == {
        None
    }
    assert file.read_text() == "# Home\n\n- Ada has a cat, Misha.\n- Ada has a dog.\n"
    assert items(source_of(folder).read(None))[new].fingerprint == source.fingerprint(image)
    assert source.render(told, source.look([new])[new], None, now=NOW) == source.look([new])[new]
    assert source.write([Write(new, None, image)])[new].conflict is None
    assert file.read_text().count("Misha") == 1


def test_a_merged_text_goes_to_a_file_that_may_be_written(folder):
    """Not to who the agent is; where all its sources are there, it is nowhere."""
    put(folder, "SOUL.md", "- Be kind.\n")
    put(folder, "MEMORY.md", "- Be kind to all.\n")
    source = source_of(folder, "openclaw")
    soul, memory = id_of(source, "Be kind."), id_of(source, "Be kind to all.")
    there = source.look([soul, memory])
    assert source.new_id(ours("x", soul, memory)).startswith("MEMORY.md#")
    assert source.render(ours("x", soul, memory), None, there[memory], now=NOW) is not None
    assert source.render(ours("x", soul), None, there[soul], now=NOW) is None


def test_what_is_always_in_mind_does_not_move_to_a_page_that_is_looked_up(folder):
    """A merged text goes to MEMORY.md, whichever source was first; what is there stays if its like is elsewhere."""
    file = put(folder, "MEMORY.md", "- Ada lives in Turku.\n")
    put(folder, "memory/2026-05-01.md", "Ada lives in Turku!\n")
    source = source_of(folder, "openclaw")
    kept, daily = id_of(source, "Ada lives in Turku."), id_of(source, "Ada lives in Turku!")
    there = source.look([kept, daily])
    told = ours("Ada lives there.", daily, kept)
    image = source.render(told, None, there[daily], now=NOW)
    assert image is not None
    assert source.new_id(told).startswith("MEMORY.md#")
    assert source.write([Write(source.new_id(told), None, image)])[source.new_id(told)].conflict is None
    assert file.read_text() == "- Ada lives there.\n- Ada lives in Turku.\n"
    for name, heir, stays in ((kept, daily, True), (daily, kept, False), (kept, source.new_id(told), False)):
        rendered = source.render(ours("x", status="superseded", heir=heir), there[name], None, now=NOW)
        assert (rendered == there[name]) is stays


def test_who_the_agent_is_and_what_it_was_told_stays(folder):
    """Neither merged away, nor faded, nor forgotten there: that is for a person to do."""
    file = put(folder, "SOUL.md", "- Be kind.\n")
    source = source_of(folder, "openclaw")
    name = id_of(source, "Be kind.")
    image = source.look([name])[name]
    for gone in (
        ours("Be kind.", status="superseded", heir="MEMORY.md#x"),
        ours("Be kind.", status="archived", because="user"),
    ):
        assert source.render(gone, image, None, now=NOW) == image
    assert source.write([Write(name, image, None)])[name].conflict == "is in a file that is only read"
    assert file.read_text() == "- Be kind.\n"


def test_what_has_faded_stays_in_its_file(folder):
    """A page has no states. What expired or was put away by a person goes, and what bears others never by a merge."""
    put(folder, "a.md", "- a\n  - b\n- c\n")
    source = source_of(folder)
    names = [id_of(source, text) for text in "ac"]
    bearing, plain = (source.look([name])[name] for name in names)
    for image, status, because, heir, stays in (
        (plain, "archived", "faded", None, True),
        (plain, "archived", "gone", None, True),
        (plain, "archived", "expired", None, False),
        (plain, "archived", "user", None, False),
        (plain, "superseded", None, "a.md#x", False),
        (plain, "superseded", None, None, True),
        (bearing, "superseded", None, "a.md#x", True),
    ):
        told = ours("x", status=status, because=because, heir=heir)
        assert (source.render(told, image, None, now=NOW) == image) is stays


def test_a_write_beside_another_writer_keeps_both(folder, monkeypatch):
    """The file was changed between reading it and replacing it: it is read again, and both changes are there."""
    file = put(folder, "a.md", "- a\n- b\n")
    source = source_of(folder)
    name = id_of(source, "a")
    image = source.look([name])[name]
    replace_file, late = files.replace_file, ["- c\n", "- d\n"]

    def beside(path, raw, new):
        if late:
            with file.open("a") as stream:
                stream.write(late.pop(0))
        return replace_file(path, raw, new)

    monkeypatch.setattr("consolidator.sources.markdown.source.replace_file", beside)
    assert source.write([Write(name, image, None)])[name].conflict is None
    assert file.read_text() == "- b\n- c\n- d\n"


def test_a_file_that_never_rests_is_left_alone(folder, monkeypatch):
    """And reported; as is one that was deleted meanwhile."""
    file = put(folder, "a.md", "- a\n")
    source = source_of(folder)
    name = id_of(source, "a")
    image = source.look([name])[name]
    with monkeypatch.context() as patch:
        patch.setattr("consolidator.sources.markdown.source.replace_file", lambda *_: False)
        assert source.write([Write(name, image, None)])[name].conflict == "is in a file that is written to all the time"
    file.unlink()
    assert source.write([Write(name, image, None)])[name].conflict == "is in a file that is no more"


def test_a_killed_write_leaves_the_file_as_it_was(folder, monkeypatch):
    """It is replaced whole, and what was left beside it is no page."""
    file = put(folder, "a.md", "- a\n- b\n")
    source = source_of(folder)
    name = id_of(source, "a")
    image = source.look([name])[name]

    class Killed(BaseException):
        pass

    def kill(*_):
        raise Killed

    monkeypatch.setattr(os, "replace", kill)
    with pytest.raises(Killed):
        source.write([Write(name, image, None)])
    assert file.read_text() == "- a\n- b\n"
    assert contents(folder) == {"a": "a.md", "b": "a.md"}


def test_a_link_goes_on_leading_to_its_file_and_modes_stay(folder, tmp_path):
    """What is written is the file that the link leads to."""
    target = put(tmp_path, "elsewhere/real.md", "- a\n- b\n")
    target.chmod(0o640)
    (folder / "link.md").symlink_to(target)
    source = source_of(folder)
    name = id_of(source, "a")
    source.write([Write(name, source.look([name])[name], None)])
    assert (folder / "link.md").is_symlink()
    assert target.read_text() == "- b\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert [each.name for each in target.parent.iterdir()] == ["real.md"]


def test_a_folder_that_may_only_be_read_is_refused_before_anything_is_written(folder):
    """One line, and no file is changed, also not in other folders."""
    put(folder, "a.md", "- a\n")
    locked = put(folder, "locked/b.md", "- b\n").parent
    source = source_of(folder)
    names = [id_of(source, text) for text in "ab"]
    there = source.look(names)
    locked.chmod(0o555)
    for mode in (0o644, 0o444):
        (locked / "b.md").chmod(mode)
        with pytest.raises(BadInput, match="locked: may only be read"):
            source.write([Write(name, there[name], None) for name in names])
    locked.chmod(0o755)
    assert contents(folder) == {"a": "a.md", "b": "locked/b.md"}


def test_a_file_that_may_only_be_read_is_left_alone(folder):
    """It is reported, and the others are written."""
    put(folder, "a.md", "- a\n")
    put(folder, "b.md", "- b\n").chmod(0o444)
    source = source_of(folder)
    names = [id_of(source, text) for text in "ab"]
    there = source.look(names)
    done = source.write([Write(name, there[name], None) for name in names])
    assert [done[name].conflict for name in names] == [None, "is in a file that is only read"]
    assert contents(folder) == {"b": "b.md"}


def test_a_full_disk_is_one_line(folder, monkeypatch):
    """And the file is as it was, without a scrap beside it."""
    file = put(folder, "a.md", "- a\n")
    source = source_of(folder)
    name = id_of(source, "a")

    def full(_):
        raise OSError(28, "No space left on device")

    image = source.look([name])[name]
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadInput, match=r"a.md: cannot be written \(No space left on device\)"):
        source.write([Write(name, image, None)])
    assert file.read_text() == "- a\n"
    assert [each.name for each in folder.iterdir()] == ["a.md"]


def test_what_cannot_be_changed_alone_is_left_and_the_rest_is_done(folder):
    """Taking it out would make a heading of another; one by one, the others are written."""
    file = put(folder, "a.md", "above\n- b\n---\n\n- c\n- d\n")
    source = source_of(folder)
    names = [id_of(source, text) for text in "bc"]
    there = source.look(names)
    done = source.write([Write(name, there[name], None) for name in names])
    assert done[names[0]].conflict == "cannot be changed without changing what stands around it in its file"
    assert done[names[1]].conflict is None
    assert file.read_text() == "above\n- b\n---\n\n- d\n"


def test_many_pages_are_read(folder):
    """All of them, each once."""
    for number in range(500):
        put(folder, f"{number // 100}/{number}.md", f"- note {number}\n")
    assert len(contents(folder)) == 500
