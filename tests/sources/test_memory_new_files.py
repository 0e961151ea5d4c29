"""memory-new's files: byte for byte, beside an agent that writes them whole at any moment."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from consolidator.errors import BadInput, ConsolidatorError
from consolidator.sources.memory_new import files
from consolidator.sources.memory_new.javascript import indent_of, parse, stringify, stringify_indented
from consolidator.sources.port import Image, Write
from tests.sources.memory_new_acts import NOW, back, bad, foreign, items, ours, push, quick
from tests.sources.memory_new_foreign import SESSION, MemoryNewForeign

__all__ = ["foreign", "quick"]


AWKWARD = (
    b'{"id":"l1_1_a","content":"first","createdAt":"2026-01-01T00:00:00Z", "importance" : 1.0, "x":1e-7,"y":0.10}\r\n'
    b"\r\n"
    b'{"id":"l1_2_b","content":"cut of\n'
    b"\xff\xfe no text\n"
    b"  \n"
    b'{"metadata":{"b":1,"a":[1,{"z":2.50}]},"content":"\xe7\x8c\xab \xf0\x9f\xa6\x89 \\ud83d","id":"l1_3_c",'
    b'"createdAt":"2026-01-01T00:00:00Z","big":12345678901234567890}\n'
    b'[1]\n{"content":"no id"}\n'
    b'{"id":"l1_4_d","content":"last","createdAt":"2026-01-01T00:00:00Z"}'
)


def awkward(foreign: MemoryNewForeign) -> Path:
    path = foreign.base / "memory/l1" / "-rf $(x) '; \"ü.jsonl"
    path.write_bytes(AWKWARD)
    return path


def between(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], *, times: int = 1) -> list[int]:
    """Have the agent act after our new file was written, before it takes the place of the old one."""
    calls = [0]
    sync = os.fsync

    def fsync(handle: int) -> None:
        sync(handle)
        calls[0] += 1
        if calls[0] <= times:
            act()

    monkeypatch.setattr(files.os, "fsync", fsync)
    return calls


def during(monkeypatch: pytest.MonkeyPatch, *acts: Callable[[], object]) -> None:
    """Have the agent act each time that we wait; the last act goes on."""
    left = list(acts)

    class Waiting:
        def wait(self, _seconds: float) -> None:
            act = left.pop(0) if len(left) > 1 else left[0]
            act()

    monkeypatch.setattr(files, "Event", Waiting)


def test_every_byte_of_the_other_lines_stays(foreign: MemoryNewForeign) -> None:
    """Broken lines, blank ones, their endings, spellings of numbers, and the missing newline at the end."""
    path = awkward(foreign)
    push(foreign, "l1_1_a", ours("first", status="archived", because="faded"))
    first, rest = AWKWARD.split(b"\n", 1)
    now, rest_now = path.read_bytes().split(b"\n", 1)
    assert rest_now == rest
    assert now == (
        b'{"id":"l1_1_a","content":"first","createdAt":"2026-01-01T00:00:00Z","importance":1.0,"x":1e-7,"y":0.10,'
        b'"status":"frozen","metadata":{"consolidator":{"strength":0.25}}}\r'
    )
    assert first != now


@pytest.mark.parametrize("key", ["l1_1_a", "l1_4_d"])
def test_a_push_taken_back_leaves_the_file_as_it_was(foreign: MemoryNewForeign, key: str) -> None:
    """Byte for byte, whether a row was changed or taken out."""
    path = awkward(foreign)
    write = push(foreign, key, ours(status="superseded"))
    assert path.read_bytes() != AWKWARD
    back(foreign, write)
    assert path.read_bytes() == AWKWARD
    with foreign.source() as source:
        removal = Write(key, source.look([key])[key], None)
        assert source.write([removal])[key].fingerprint is None
        assert key.encode() not in path.read_bytes()
    back(foreign, removal)
    assert path.read_bytes() == AWKWARD


def test_rows_taken_out_together_go_back_to_their_places(foreign: MemoryNewForeign) -> None:
    """Whatever the order in which they are written."""
    keys = [foreign.add(f"number {number}") for number in range(6)]
    whole = foreign.file().read_bytes()
    with foreign.source() as source:
        images = source.look(keys)
        gone = keys[1:4] + keys[5:]
        source.write([Write(key, images[key], None) for key in gone])
        assert list(foreign.rows()) == [keys[0], keys[4]]
        source.write([Write(key, None, images[key]) for key in reversed(gone)])
    assert foreign.file().read_bytes() == whole


def test_lines_that_nobody_can_read_are_told(foreign: MemoryNewForeign) -> None:
    """By their number; half a letter is a fault of its row alone."""
    awkward(foreign)
    told = [line.split(".jsonl:")[1] for line in bad(foreign)]
    assert [line.split(":")[0] for line in told] == ["3", "4", "6", "7", "8"]
    assert told[1] == "4: line: is not UTF-8"
    assert told[2] == "6: l1_3_c: content: holds half a surrogate pair"
    assert told[3:] == ["7: line: is not a JSON object", "8: line: has no id"]
    assert set(items(foreign)) == {"l1_1_a", "l1_4_d"}


def test_what_its_agent_writes_between_our_reading_and_writing_is_kept(
    foreign: MemoryNewForeign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recall, and a new row: the file is read again, and both are there with ours."""
    keys = [foreign.add("A text."), foreign.add("Another.")]

    def act() -> None:
        foreign.use(keys[1])
        foreign.add("A third.")

    calls = between(monkeypatch, act)
    push(foreign, keys[0], ours(status="archived", because="faded"))
    assert calls[0] >= 2
    rows = list(foreign.rows().values())
    assert [row["content"] for row in rows] == ["A text.", "Another.", "A third."]
    assert (rows[0]["status"], rows[1]["retrievalCount"]) == ("frozen", 1)
    assert [path.name for path in foreign.file().parent.iterdir()] == [foreign.file().name]


def test_an_edit_between_our_reading_and_writing_is_a_conflict(
    foreign: MemoryNewForeign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And stays."""
    key, other = foreign.add("A text."), foreign.add("Another.")
    with foreign.source() as source:
        images = source.look([key, other])
        between(monkeypatch, lambda: foreign.edit(key, "What she said."))
        writes = [Write(each, images[each], source.render(ours(), images[each], None, now=NOW)) for each in images]
        done = source.write(writes)
    assert done[key].conflict == "was edited over there meanwhile"
    assert done[other].conflict is None
    assert foreign.rows()[key]["content"] == "What she said."
    assert foreign.rows()[other]["metadata"] == {"consolidator": {"strength": 0.25}}


def test_a_change_that_its_agent_overwrites_is_a_conflict(
    foreign: MemoryNewForeign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had read the file before ours took its place: that is seen when it is read again."""
    key = foreign.add("A text.")
    old = foreign.file().read_bytes()
    replace = os.replace

    def replaced(new: Path, path: Path) -> None:
        replace(new, path)
        path.write_bytes(old)

    monkeypatch.setattr(files.os, "replace", replaced)
    with foreign.source() as source:
        before = source.look([key])[key]
        done = source.write([Write(key, before, source.render(ours(status="superseded"), before, None, now=NOW))])
    assert done[key].conflict == "was edited over there meanwhile"
    assert foreign.file().read_bytes() == old


def test_a_file_that_is_never_at_rest_is_told(foreign: MemoryNewForeign, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading ends with a line; writing with a conflict, and nothing of it is left behind."""
    key = foreign.add("A text.")
    with foreign.source() as source:
        before = source.look([key])[key]
        after = source.render(ours(status="superseded"), before, None, now=NOW)
        between(monkeypatch, lambda: foreign.use(key), times=10**6)
        done = source.write([Write(key, before, after)])[key]
        assert done.conflict == "lies in a file that is written to without a pause"
        assert [path.name for path in foreign.file().parent.iterdir()] == [foreign.file().name]
        during(monkeypatch, lambda: foreign.use(key))
        with pytest.raises(BadInput, match="is written to without a pause; try again later"):
            source.read(None)


@pytest.mark.parametrize("cut", [0, 40, 10**6])
def test_a_file_that_is_being_written_is_read_when_it_is_whole(
    foreign: MemoryNewForeign, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    """Empty, in the middle of a row, or before its last rows: what was there at the end counts."""
    keys = [foreign.add(f"Text {number} 猫") for number in range(3)]
    path = foreign.file()
    whole = path.read_bytes()
    path.write_bytes(whole[: min(cut, whole.index(b"\n") + 1)])
    during(monkeypatch, lambda: path.write_bytes(whole), lambda: None)
    assert set(items(foreign)) == set(keys)


def test_a_cut_off_file_is_refused(foreign: MemoryNewForeign) -> None:
    """One line; nothing is read and nothing is written."""
    key = foreign.add("A text.")
    with foreign.source() as source:
        image = source.look([key])[key]
    with foreign.file().open("ab") as file:
        file.write(b'{"id":"l1_9_z","content":"cut o')
    whole = foreign.file().read_bytes()
    with foreign.source() as source:
        for act in (
            lambda: source.read(None),
            lambda: source.look([key]),
            lambda: source.write([Write(key, image, None)]),
        ):
            with pytest.raises(BadInput, match=rf"{SESSION}.jsonl: its last line is cut off; mend it or take it out"):
                act()
    assert foreign.file().read_bytes() == whole


def test_permissions_and_owner_stay(foreign: MemoryNewForeign) -> None:
    """Of a file that is written anew."""
    key = foreign.add("A text.")
    foreign.file().chmod(0o640)
    if os.getuid() == 0:
        os.chown(foreign.file(), 65534, 65534)
    about = foreign.file().stat()
    push(foreign, key, ours(status="superseded"))
    after = foreign.file().stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (about.st_mode, about.st_uid, about.st_gid)
    assert after.st_ino != about.st_ino


def test_a_disk_that_is_full_leaves_the_file_as_it_was(
    foreign: MemoryNewForeign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, and nothing beside it."""
    key = foreign.add("A text.")
    whole = foreign.file().read_bytes()

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    with foreign.source() as source:
        image = source.look([key])[key]
        monkeypatch.setattr(files.os, "fsync", full)
        with pytest.raises(ConsolidatorError, match=r"cannot be written \(No space left on device\); it is as it was"):
            source.write([Write(key, image, None)])
    assert foreign.file().read_bytes() == whole
    assert [path.name for path in foreign.file().parent.iterdir()] == [foreign.file().name]


def test_a_file_of_somebody_else_is_left_to_them(foreign: MemoryNewForeign, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its successor cannot be given to them: one line, and nothing beside it."""
    key = foreign.add("A text.")
    whole = foreign.file().read_bytes()

    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    with foreign.source() as source:
        image = source.look([key])[key]
        monkeypatch.setattr(files.os, "fchmod", refused)
        with pytest.raises(BadInput, match=r"may not be written by this user \(Operation not permitted\)"):
            source.write([Write(key, image, None)])
    assert foreign.file().read_bytes() == whole
    assert [path.name for path in foreign.file().parent.iterdir()] == [foreign.file().name]


def test_a_folder_that_cannot_be_written_to_is_refused_first(
    foreign: MemoryNewForeign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading goes on."""
    key = foreign.add("A text.")
    monkeypatch.setattr(files.os, "access", lambda _path, _mode: False)
    with foreign.source() as source:
        image = source.look([key])[key]
        with pytest.raises(BadInput, match="memory/l1: cannot be written to, so nothing was"):
            source.write([Write(key, image, None)])


def _link(path: Path) -> None:
    path.rename(path.with_suffix(".elsewhere"))
    path.symlink_to(path.with_suffix(".elsewhere"))


def _no_memory(path: Path) -> None:
    path.parent.parent.rename(path.parent.parent.with_name("other"))


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (_link, "is a symbolic link, which writing would break; put the file itself there"),
        (lambda path: _link(path.parent), "l1: is a symbolic link; put the folder itself there"),
        (lambda path: (path.unlink(), path.mkdir()), "is no file"),
        (_no_memory, "not memory-new's folder (there is no folder `memory` in it)"),
        (lambda path: path.parent.parent.parent.rename("gone"), "there is no such folder; name memory-new's folder"),
    ],
)  # fmt: skip
def test_what_is_no_folder_of_memory_new_is_refused(
    foreign: MemoryNewForeign, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], object], told: str
) -> None:
    """In one line that says where; nothing is made or written."""
    monkeypatch.chdir(foreign.base.parent)
    foreign.add("A text.")
    damage(foreign.file())
    with pytest.raises(BadInput) as refused, foreign.source() as source:
        source.read(None)
    assert told in str(refused.value)
    assert str(refused.value).startswith(str(foreign.base))
    assert "\n" not in str(refused.value)


def test_an_image_names_no_file_outside(foreign: MemoryNewForeign) -> None:
    """Whatever a row or a kept image says."""
    with foreign.source() as source:
        image: Image = {"file": "memory/l1/../../../x.jsonl", "line": '{"id":"a"}'}
        with pytest.raises(BadInput, match="is none of memory-new's files"):
            source.write([Write("a", None, image)])


def test_the_folder_is_known_by_one_name(foreign: MemoryNewForeign, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its absolute path, however it was written."""
    monkeypatch.setenv("HOME", str(foreign.base.parent))
    foreign.url = "memory-new:~/memory-new/../memory-new"
    with foreign.source() as source:
        assert source.url == f"memory-new:{foreign.base.resolve()}"


@pytest.mark.parametrize(
    "text", ['{"a":1.50,"b":[true,null,"\\n\\u0001 é 🦉"],"c":{}}', '{"x":"\\ud83d","y":-0.0,"z":1e21}', "[]", '"/"']
)
def test_json_is_written_as_its_program_writes_it(text: str) -> None:
    """No spaces, no escapes that need not be; numbers as they were spelled."""
    assert stringify(parse(text)) == text
    indented = stringify_indented(parse(text), "  ")
    assert parse(indented) == parse(text)
    assert indent_of(indented) in ("", "  ")
