"""Lines of the exchange format: what is refused, and how the refusal reads."""

import hashlib
import io
import json
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidator.exchange.lines import LONGEST_LINE, read_lines
from consolidator.exchange.records import BadLine, MemoryLine, Record, ScopeLine
from consolidator.exchange.shapes import SHAPES

HEADER = b'{"kind": "header", "format": "consolidator-jsonl", "version": 1}\n'
A, B, C = (hashlib.sha256(text.encode()).hexdigest() for text in "abc")
AT = "2026-05-30T03:30:00Z"

MEMORY = {"kind": "memory", "content": "Ada likes oat milk", "type": "fact", "created_at": AT}
ASSOCIATION = {"kind": "association", "memory_a": A, "memory_b": B, "weight": 0.5, "weight_at": AT}
EXPOSURE = {
    "kind": "exposure", "session_id": "s", "turn_id": "t", "memory_id": A, "mode": "tool_get", "at": AT,
}  # fmt: skip
ATTRIBUTION = {
    "kind": "attribution", "message_id": "m", "turn_id": "t", "memory_id": A, "evidence": "tool_get", "at": AT,
}  # fmt: skip
ALIAS = {"kind": "alias", "old_id": A, "new_id": B, "reason": "merged", "at": AT}
MERGE_SOURCE = {"kind": "merge_source", "memory_id": A, "source_id": B, "at": AT}
VERDICT = {"kind": "verdict", "members": [A, B], "verdict": "distinct", "at": AT}
TOMBSTONE = {"kind": "tombstone", "id": A, "at": AT}
SCOPE = {"kind": "scope", "scope": {"user": "ada"}, "time_zone": "Europe/Helsinki"}
ALL = (MEMORY, ASSOCIATION, EXPOSURE, ATTRIBUTION, ALIAS, MERGE_SOURCE, VERDICT, TOMBSTONE, SCOPE)
SLOPES = {"working": 0.1, "consolidated": 0.03, "association": 0.15}


def read(data: bytes) -> list[Record | BadLine]:
    return list(read_lines(io.BytesIO(data), "day.jsonl"))


def line(*parts: dict[str, Any], **more: Any) -> bytes:
    merged = {key: value for part in (*parts, more) for key, value in part.items()}
    return json.dumps(merged).encode() + b"\n"


def refused(raw: bytes) -> BadLine:
    """The bad line between two good ones."""
    before, bad, after = read(HEADER + line(MEMORY) + raw + line(MEMORY))
    assert isinstance(before, MemoryLine)
    assert isinstance(after, MemoryLine)
    assert isinstance(bad, BadLine)
    assert str(bad).startswith(f"day.jsonl:3: {bad.field}: ")
    assert "\n" not in str(bad)
    return bad


@pytest.mark.parametrize("good", ALL, ids=lambda each: each["kind"])
def test_every_kind_is_read(good: dict[str, Any]) -> None:
    """A line of each kind becomes its record, which knows where it stands."""
    (record,) = read(HEADER + line(good))
    assert not isinstance(record, BadLine)
    assert record.line == 2


NOT_JSON = {
    "cut off": b'{"kind": "memory", "content": "Ada li\n',
    "cut off after a value": b'{"kind": "memory", "content": "x"\n',
    "two objects": b'{"kind": "memory"} {"kind": "memory"}\n',
    "no object": b'["memory"]\n',
    "a bare text": b'"memory"\n',
    "NaN": line(MEMORY).replace(b'"fact"', b'"fact", "strength": NaN'),
    "Infinity": line(MEMORY).replace(b'"fact"', b'"fact", "strength": -Infinity'),
    "invalid UTF-8": line(MEMORY).replace(b"oat", b"o\xe4t"),
    "a surrogate in UTF-8": line(MEMORY).replace(b"oat", b"o\xed\xa0\xbdt"),
    "UTF-16": "{}".encode("utf-16-le") + b"\n",
    "a control character": line(MEMORY).replace(b"oat", b"o\x01t"),
    "nested without end": b'{"kind": "memory", "metadata": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    "an endless number": b'{"kind": "memory", "importance": ' + b"1" * 5000 + b"}\n",
}


@pytest.mark.parametrize("raw", NOT_JSON.values(), ids=NOT_JSON.keys())
def test_what_is_not_json_is_refused(raw: bytes) -> None:
    """A line that is no JSON object in UTF-8 is refused as a line, and the next is read."""
    assert refused(raw).field == "line"


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (line(MEMORY).replace(b'"type"', b'"content": "y", "type"'), "content"),
        (line(MEMORY).replace(b'"fact"', b'"fact", "metadata": {"deep": {"x": 1, "x": 1}}'), "x"),
    ],
)
def test_a_key_that_stands_twice_is_refused(raw: bytes, field: str) -> None:
    """Of two values of one key neither is believed, however deep."""
    bad = refused(raw)
    assert bad.field == field
    assert "twice" in bad.reason


@pytest.mark.parametrize(
    ("data", "field", "number"),
    [
        (b"", "kind", 1),
        (b"\n\n", "kind", 2),
        (line(MEMORY), "kind", 1),
        (HEADER.replace(b"consolidator-jsonl", b"mem-jsonl") + line(MEMORY), "format", 1),
        (HEADER.replace(b"1}", b"2}") + line(MEMORY), "version", 1),
        (HEADER.replace(b"1}", b'"1"}') + line(MEMORY), "version", 1),
        (HEADER.replace(b"1}", b"true}") + line(MEMORY), "version", 1),
        (HEADER.replace(b"1}", b'1, "zone": "UTC"}') + line(MEMORY), "zone", 1),
        (b"{\n" + HEADER + line(MEMORY), "line", 1),
        (HEADER + line(MEMORY) + HEADER.replace(b"1}", b"2}") + line(MEMORY), "version", 3),
    ],
)
def test_without_its_header_nothing_of_a_file_is_understood(data: bytes, field: str, number: int) -> None:
    """No header, or one of another format or version, ends the reading: no line after it can be a good one."""
    *_, bad = read(data)
    assert isinstance(bad, BadLine)
    assert (bad.field, bad.line, bad.whole_file) == (field, number, True)


def test_what_editors_add_means_nothing() -> None:
    """A byte order mark, CRLF, blank lines, a missing last line feed and a repeated header are read over."""
    plain = read(HEADER + line(MEMORY) + line(ALIAS))
    edited = b"\xef\xbb\xbf" + HEADER + line(MEMORY) + line(ALIAS).rstrip()
    assert read(edited) == plain
    assert read(edited.replace(b"\n", b"\r\n")) == plain
    spaced = read(HEADER + b"\n  \n" + line(MEMORY) + b"\r\n" + HEADER + line(ALIAS))
    assert [type(record) for record in spaced] == [type(record) for record in plain]
    assert [record.line for record in spaced] == [4, 7]


def test_a_byte_order_mark_later_on_is_no_json() -> None:
    """Only at the very start does it mean nothing."""
    assert refused(b"\xef\xbb\xbf" + line(MEMORY)).field == "line"


UNFIT: list[tuple[str, dict[str, Any], str]] = [
    ("no kind", {"content": "x"}, "kind"),
    ("unknown kind", {"kind": "memoir"}, "kind"),
    ("kind of no text", {"kind": ["memory"]}, "kind"),
    ("empty content", {**MEMORY, "content": ""}, "content"),
    ("blank content", {**MEMORY, "content": " \n\t"}, "content"),
    ("content of no text", {**MEMORY, "content": 7}, "content"),
    ("NUL in content", {**MEMORY, "content": "a\0b"}, "content"),
    ("half a surrogate pair", {**MEMORY, "content": "a\ud83d"}, "content"),
    ("NUL in metadata", {**MEMORY, "metadata": {"deep": [{"x": "a\0"}]}}, "metadata.deep[0].x"),
    ("half a pair in a key of metadata", {**MEMORY, "metadata": {"a\udc00": 1}}, "metadata"),
    ("NUL in an unknown key", {**MEMORY, "mood": "\0"}, "mood"),
    ("NUL in a turn", {**EXPOSURE, "turn_id": "a\0"}, "turn_id"),
    ("another id", {**MEMORY, "id": A}, "id"),
    ("short id", {**MEMORY, "id": "8513d178"}, "id"),
    ("id in capitals", {**MEMORY, "id": hashlib.sha256(MEMORY["content"].encode()).hexdigest().upper()}, "id"),
    ("no type", {key: value for key, value in MEMORY.items() if key != "type"}, "type"),
    ("type null", {**MEMORY, "type": None}, "type"),
    ("unknown source", {**MEMORY, "source": "dream"}, "source"),
    ("unknown status", {**MEMORY, "status": "gone"}, "status"),
    ("unknown reason", {**MEMORY, "archived_because": "tired"}, "archived_because"),
    ("unknown state", {**MEMORY, "temporal_state": "soon"}, "temporal_state"),
    ("flag of no flag", {**MEMORY, "pinned": 1}, "pinned"),
    ("strength too large", {**MEMORY, "strength": 1.0000001}, "strength"),
    ("strength negative", {**MEMORY, "strength": -0.1}, "strength"),
    ("strength true", {**MEMORY, "strength": True}, "strength"),
    ("strength a text", {**MEMORY, "strength": "0.5"}, "strength"),
    ("strength past all bounds", {**MEMORY, "strength": 10**400}, "strength"),
    ("base_strength too large", {**MEMORY, "base_strength": 2}, "base_strength"),
    ("importance too large", {**MEMORY, "importance": 7}, "importance"),
    ("trust negative", {**MEMORY, "trust": -1}, "trust"),
    ("base later than the head", {**MEMORY, "base_at": "2026-05-31T00:00:00Z", "strength_at": AT}, "base_at"),
    ("impossible month", {**MEMORY, "created_at": "2026-13-01T00:00:00Z"}, "created_at"),
    ("impossible day", {**MEMORY, "created_at": "2026-02-29T00:00:00Z"}, "created_at"),
    ("impossible hour", {**MEMORY, "created_at": "2026-02-01T24:00:01Z"}, "created_at"),
    ("no offset", {**MEMORY, "created_at": "2026-05-30T03:30:00"}, "created_at"),
    ("a date for an instant", {**MEMORY, "created_at": "2026-05-30"}, "created_at"),
    ("a number for an instant", {**MEMORY, "created_at": 1780000000}, "created_at"),
    ("past the last year", {**MEMORY, "created_at": "9999-12-31T23:59:59-14:00"}, "created_at"),
    ("anchor of no date", {**MEMORY, "temporal_anchor": "2026-02-30"}, "temporal_anchor"),
    ("anchor without offset", {**MEMORY, "temporal_anchor": "2026-02-03T09:00:00"}, "temporal_anchor"),
    ("anchor at the end of time", {**MEMORY, "temporal_anchor": "9999-12-31"}, "temporal_anchor"),
    ("end without anchor", {**MEMORY, "temporal_end": "2026-02-03"}, "temporal_end"),
    ("end of another kind", {**MEMORY, "temporal_anchor": "2026-02-03", "temporal_end": AT}, "temporal_end"),
    (
        "end before anchor",
        {**MEMORY, "temporal_anchor": "2026-02-03", "temporal_end": "2026-02-02"},
        "temporal_end",
    ),
    ("recurrence without anchor", {**MEMORY, "recurrence": "FREQ=WEEKLY"}, "recurrence"),
    ("hourly", {**MEMORY, "temporal_anchor": AT, "recurrence": "FREQ=HOURLY"}, "recurrence"),
    ("twice a day", {**MEMORY, "temporal_anchor": AT, "recurrence": "FREQ=DAILY;BYHOUR=8,20"}, "recurrence"),
    ("no rule", {**MEMORY, "temporal_anchor": AT, "recurrence": "every Tuesday"}, "recurrence"),
    (
        "start of another kind",
        {**MEMORY, "temporal_anchor": AT, "recurrence": "FREQ=DAILY", "recurrence_start": "2026-05-30"},
        "recurrence_start",
    ),
    (
        "superseded by itself",
        {**MEMORY, "superseded_by": hashlib.sha256(b"Ada likes oat milk").hexdigest()},
        "superseded_by",
    ),
    ("topics of no texts", {**MEMORY, "topics": [1]}, "topics"),
    ("metadata of no object", {**MEMORY, "metadata": []}, "metadata"),
    ("number past all bounds in metadata", {**MEMORY, "metadata": {"x": [1e999]}}, "metadata.x[0]"),
    ("unknown key against metadata", {**MEMORY, "mood": "good", "metadata": {"mood": "bad"}}, "mood"),
    ("vector of texts", {**MEMORY, "embedding": {"model": "m", "vector": ["1"]}}, "embedding.vector"),
    ("vector of flags", {**MEMORY, "embedding": {"model": "m", "vector": [True]}}, "embedding.vector"),
    ("empty vector", {**MEMORY, "embedding": {"model": "m", "vector": []}}, "embedding.vector"),
    ("vector past float32", {**MEMORY, "embedding": {"model": "m", "vector": [1e39]}}, "embedding.vector"),
    ("vector past float64", {**MEMORY, "embedding": {"model": "m", "vector": [10**400]}}, "embedding.vector"),
    ("embedding of no model", {**MEMORY, "embedding": {"vector": [1.0]}}, "embedding"),
    ("embedding of an empty model", {**MEMORY, "embedding": {"model": "", "vector": [1.0]}}, "embedding.model"),
    ("scope of no object", {**MEMORY, "scope": "user=ada"}, "scope"),
    ("scope of numbers", {**MEMORY, "scope": {"user": 7}}, "scope.user"),
    ("scope of objects", {**MEMORY, "scope": {"user": {"name": "ada"}}}, "scope.user"),
    ("scope too long", {**MEMORY, "scope": {"user": "a" * 3000}}, "scope"),
    ("no scope of a scope", {"kind": "scope", "time_zone": "UTC"}, "scope"),
    ("unknown zone", {**SCOPE, "time_zone": "Europe/Turku"}, "time_zone"),
    ("zone that is a path", {**SCOPE, "time_zone": "../../etc/passwd"}, "time_zone"),
    ("zone that is a folder", {**SCOPE, "time_zone": "Europe"}, "time_zone"),
    ("segments of no list", {**SCOPE, "segments": {}}, "segments"),
    ("segment without a slope", {**SCOPE, "segments": [{"from": AT, "working": 0.1}]}, "segments[0]"),
    ("segment that goes back", {**SCOPE, "segments": [{"from": AT, **SLOPES, "working": -1}]}, "segments[0]"),
    ("segments out of order", {**SCOPE, "segments": [{"from": AT, **SLOPES}] * 2}, "segments[1].from"),
    ("unknown key of a scope", {**SCOPE, "owner": "ada"}, "owner"),
    ("unknown key of an association", {**ASSOCIATION, "why": "x"}, "why"),
    ("unknown key of an exposure", {**EXPOSURE, "why": "x"}, "why"),
    ("unknown key of an attribution", {**ATTRIBUTION, "why": None}, "why"),
    ("unknown key of an alias", {**ALIAS, "why": "x"}, "why"),
    ("unknown key of a tombstone", {**TOMBSTONE, "content": "x"}, "content"),
    ("both ends equal", {**ASSOCIATION, "memory_b": A}, "memory_b"),
    ("weight too large", {**ASSOCIATION, "weight": 1.5}, "weight"),
    ("inferred through nothing", {**ASSOCIATION, "inferred": True}, "via"),
    ("direct through something", {**ASSOCIATION, "via": C}, "via"),
    ("inferred through an end", {**ASSOCIATION, "inferred": True, "via": A}, "via"),
    ("no session", {key: value for key, value in EXPOSURE.items() if key != "session_id"}, "session_id"),
    ("empty session", {**EXPOSURE, "session_id": ""}, "session_id"),
    ("session too long for an index", {**EXPOSURE, "session_id": "s" * 1001}, "session_id"),
    ("session too long in bytes", {**EXPOSURE, "session_id": "山" * 400}, "session_id"),
    ("unknown mode", {**EXPOSURE, "mode": "guess"}, "mode"),
    ("unknown retrieval", {**EXPOSURE, "retrieval_mode": "dense"}, "retrieval_mode"),
    ("memory of no id", {**EXPOSURE, "memory_id": "the one about milk"}, "memory_id"),
    ("unknown evidence", {**ATTRIBUTION, "evidence": "applause"}, "evidence"),
    ("confidence too large", {**ATTRIBUTION, "confidence": 1.1}, "confidence"),
    ("confidence too small", {**ATTRIBUTION, "confidence": -1.1}, "confidence"),
    ("alias of itself", {**ALIAS, "new_id": A}, "new_id"),
    ("source of itself", {**MERGE_SOURCE, "source_id": A}, "source_id"),
    ("verdict on one", {**VERDICT, "members": [A, A]}, "members"),
    ("verdict on names", {**VERDICT, "members": ["a", "b"]}, "members"),
    ("verdict after less than no tries", {**VERDICT, "tries": -1}, "tries"),
    ("verdict after a truth of tries", {**VERDICT, "tries": True}, "tries"),
    ("verdict for no reason", {**VERDICT, "because": " "}, "because"),
    ("seen by a word", {**MEMORY, "merge_seen": "yes"}, "merge_seen"),
    ("lives of no list", {**MEMORY, "lives": {}}, "lives"),
    ("life without a clock", {**MEMORY, "lives": [{"strength": 1, "at": AT}]}, "lives[0]"),
    ("life too strong", {**MEMORY, "lives": [{"strength": 2, "at": AT, "consolidated": False}]}, "lives[0]"),
    ("target that is no id", {**ATTRIBUTION, "target": "a"}, "target"),
    ("base of no time", {**ATTRIBUTION, "based_at": "then"}, "based_at"),
]


@pytest.mark.parametrize(("document", "field"), [case[1:] for case in UNFIT], ids=[case[0] for case in UNFIT])
def test_a_field_that_is_unfit_is_named(document: dict[str, Any], field: str) -> None:
    """A value that cannot be kept is refused with its field and a reason."""
    bad = refused(line(document).replace(b"Infinity", b"1e999"))
    assert bad.field == field
    assert bad.reason


def test_a_refusal_is_short_whatever_the_line() -> None:
    """A message repeats no more of a value than helps."""
    assert len(str(refused(line(MEMORY, created_at="9" * 100_000)))) < 400
    assert len(str(refused(line(MEMORY, status="9" * 100_000)))) < 400
    assert len(str(refused(line(EXPOSURE, **{"k" * 100_000: 1})))) < 400
    assert refused(line(EXPOSURE, **{"bell\a\n": 1})).field == "bell\\x07\\n"


def test_unknown_keys_of_a_memory_are_kept() -> None:
    """They go into its metadata, beside what is there."""
    (record,) = read(HEADER + line(MEMORY, mood="good", evidence=["D1:3"], metadata={"speaker": "Ada", "mood": "good"}))
    assert isinstance(record, MemoryLine)
    assert record.metadata == {"speaker": "Ada", "mood": "good", "evidence": ["D1:3"]}


def test_what_is_optional_may_be_null() -> None:
    """A null is what is not there."""
    nulls = dict.fromkeys(("scope", "id", "strength", "temporal_anchor", "metadata", "embedding", "topics"))
    assert read(HEADER + line(MEMORY, nulls)) == read(HEADER + line(MEMORY))


def test_temporal_texts_keep_their_kind() -> None:
    """A date stays a date; an instant becomes UTC."""
    kept = {}
    for anchor in ("2026-05-30", "2026-05-30T06:30:00+03:00"):
        (record,) = read(HEADER + line(MEMORY, temporal_anchor=anchor))
        assert isinstance(record, MemoryLine)
        kept[anchor] = record.temporal_anchor
    assert [*kept.values()] == ["2026-05-30", "2026-05-30T03:30:00.000Z"]


def test_a_scope_has_one_text() -> None:
    """The order of its keys does not matter."""
    one, other = read(HEADER + line(SCOPE, scope={"a": "1", "b": "2"}) + line(SCOPE, scope={"b": "2", "a": "1"}))
    assert isinstance(one, ScopeLine)
    assert isinstance(other, ScopeLine)
    assert one.scope == other.scope


class Endless(io.RawIOBase):
    """A line of so many bytes, made while it is read, and good lines around it."""

    def __init__(self, size: int) -> None:
        self.parts = self._parts(size)

    def _parts(self, size: int) -> Iterator[bytes]:
        yield HEADER + line(MEMORY)
        start = b'{"kind": "memory", "content": "'
        yield start
        size -= len(start)
        while size:
            part = b"a" * min(size, 2**16)
            size -= len(part)
            yield part
        yield b"\n" + line(MEMORY)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = next(self.parts, b"")
        buffer[: len(part)] = part
        return len(part)


def test_a_line_too_long_is_refused_unread() -> None:
    """Of a line over 16 MiB no more is held than of the longest good one."""
    tracemalloc.start()
    before, bad, after = read_lines(io.BufferedReader(Endless(6 * LONGEST_LINE), 2**16), "day.jsonl")  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(bad, BadLine)
    assert (bad.line, bad.field) == (3, "line")
    assert "16 MiB" in bad.reason
    assert peak < 3 * LONGEST_LINE
    assert (before.line, after.line) == (2, 4)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_the_longest_line_is_read(end: bytes) -> None:
    """A line of 16 MiB is good, however it ends; of one byte more it is not."""
    frame = len(line(MEMORY, content="").rstrip())
    longest = line(MEMORY, content="a" * (LONGEST_LINE - frame)).rstrip()
    (record,) = read(HEADER + longest + end)
    assert isinstance(record, MemoryLine)
    (bad,) = read(HEADER + longest + b" " + end)
    assert isinstance(bad, BadLine)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(good=st.sampled_from(ALL), key=st.text() | st.sampled_from(sorted({key for each in ALL for key in each})),
       value=json_values)  # fmt: skip
def test_no_line_is_a_fault_of_the_program(good: dict[str, Any], key: str, value: Any) -> None:
    """Whatever stands in a field, the line is a record or a bad line."""
    (found,) = read(HEADER + line(good, {key: value}))
    assert found is not None


@given(st.binary())
def test_no_bytes_are_a_fault_of_the_program(data: bytes) -> None:
    """Whatever the bytes, every line is a record or a bad line."""
    for found in read(HEADER + data):
        assert isinstance(found, BadLine)


def test_what_is_added_to_the_format_is_on_its_page(shared_data: Path) -> None:
    """Every field that is read and that the format's own page does not have; and the page's lines can be read."""
    common = set(re.findall(r"`(\w+)`", (shared_data.parent / "EXCHANGE.md").read_text(encoding="utf-8")))
    page = (Path(__file__).parents[1] / "docs" / "exchange.md").read_text(encoding="utf-8")
    added = {name for shape in (*SHAPES.values(), SHAPES["turn"]) for name in shape} - common
    assert {"shown_until", "found"} <= added
    assert [name for name in sorted({*added, *SHAPES["turn"]}) if f"`{name}`" not in page] == []
    lines = "\n".join(re.findall(r"```json\n(.+?)\n```", page))
    found = read(HEADER + lines.encode() + b"\n")
    assert found
    assert not [each for each in found if isinstance(each, BadLine)]
