"""Exports and CSV files by a mapping: what is read of them, and what is said of those that cannot be read."""

import json
from pathlib import Path
from typing import Any

import pytest

from consolidator.errors import BadInput
from consolidator.exchange.records import BadLine
from consolidator.instants import parse_instant
from consolidator.sources.choose import open_source
from consolidator.sources.mapped.mapping import built_in
from consolidator.sources.port import Item, Options, Unreadable

EXAMPLES = Path(__file__).parents[2] / "docs/examples"
CSV = "text: note\ncreated_at: written\ntime_zone: UTC\n"


def read(url: str, mapping: Path | str | None = None, scope: str = "{}") -> tuple[list[Item], list[str]]:
    """The items of a source, and its bad lines without their file."""
    with open_source(url, Options(scope=scope, mapping=str(mapping) if mapping else None)) as source:
        records = list(source.read(None).records)
    lines = [each.bad if isinstance(each, Unreadable) else each for each in records if not isinstance(each, Item)]
    bad = [f"{each.line}: {each.field}: {each.reason}" for each in lines if isinstance(each, BadLine)]
    return [each for each in records if isinstance(each, Item)], bad


def refusal(url: str, mapping: Path | str | None = None) -> str:
    with pytest.raises(BadInput) as refused:
        read(url, mapping)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def made(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def told(item: Item, *names: str) -> dict[str, Any]:
    return {name: getattr(item.memory, name) for name in names}


def mem0(folder: Path, *records: dict[str, Any]) -> str:
    text = json.dumps({"results": [{"created_at": "2026-05-30T03:30:00Z", **each} for each in records]})
    return f"mem0:{made(folder, 'export.json', text)}"


@pytest.mark.parametrize("kind", ["mem0", "letta", "langmem"])
def test_the_example_mapping_is_the_one_that_is_built_in(kind: str) -> None:
    """So that whoever copies it changes what is at work, and the example cannot drift."""
    shipped = Path(__file__).parents[2] / f"consolidator/sources/mapped/{kind}.yaml"
    assert (EXAMPLES / f"{kind}.yaml").read_bytes() == shipped.read_bytes()
    assert built_in(kind).text


def test_the_example_of_mem0() -> None:
    """Scopes, topics, an expiry that is a date, metadata laid open."""
    (food, slides), bad = read(f"mem0:{EXAMPLES / 'mem0.json'}")
    assert bad == []
    assert told(food, "content", "type", "scope", "topics", "strength", "expires_at") == {
        "content": "Ada is a vegetarian and allergic to nuts", "type": "fact", "scope": '{"user":"ada"}',
        "topics": ["health"], "strength": 1.0, "expires_at": None,
    }  # fmt: skip
    assert food.id == "2f6c5d0e-8a51-4a0e-9a7d-3f1d5a4be001"
    assert food.memory.created_at == parse_instant("2026-05-30T13:31:12.417Z")
    assert food.memory.metadata == {
        "category": "food", "source": "chat", "hash": "92e1a7c04bd8f3f2b0b1d6c9c3e5a871",
        "updated_at": "2026-06-02T10:00:00-07:00",
    }  # fmt: skip
    assert slides.memory.scope == '{"agent":"planner","user":"ada"}'
    assert slides.memory.expires_at == parse_instant("2026-07-01T00:00:00Z")


def test_the_examples_of_letta() -> None:
    """Blocks of an agent file, whose time is the file's own; passages, but not those that are deleted."""
    (human, persona), bad = read(f"letta:{EXAMPLES / 'letta.af'}")
    assert bad == []
    assert told(human, "content", "type", "metadata") == {
        "content": "First name: Ada\nWorks at the university of Turku", "type": "human", "metadata": None,
    }  # fmt: skip
    assert (human.id, persona.id, persona.memory.type) == ("block-0", "block-1", "persona")
    assert human.memory.created_at == (EXAMPLES / "letta.af").stat().st_mtime_ns // 1000
    (violin,), bad = read(f"letta:{EXAMPLES / 'letta-passages.json'}")
    assert bad == []
    assert told(violin, "content", "type", "topics", "metadata") == {
        "content": "Ada plays the violin on Thursdays", "type": "fact", "topics": ["music", "habits"],
        "metadata": {"page": 3, "archive_id": "archive-7a1b"},
    }  # fmt: skip


def test_the_example_of_langmem() -> None:
    """A key counts within its namespace, which is the scope; a profile is told as JSON."""
    (dog, profile, team), bad = read(f"langmem:{EXAMPLES / 'langmem.json'}")
    assert bad == []
    assert dog.id == "memories/ada/0145905e-2b78-4675-9a54-4cb13099bd0b"
    assert told(dog, "content", "type", "scope") == {
        "content": "Ada has a dog named Fido", "type": "fact", "scope": '{"namespace":"memories/ada"}',
    }  # fmt: skip
    assert told(profile, "content", "type") == {"content": '{"name": "Ada", "language": "fi"}', "type": "UserProfile"}
    assert told(team, "content", "scope") == {
        "content": "Deployments are on Tuesdays", "scope": '{"namespace":"memories/team"}',
    }  # fmt: skip


def test_the_example_of_csv() -> None:
    """Quoted newlines, times of a place, stars as importance, uses."""
    (tea, monday, key), bad = read(f"csv:{EXAMPLES / 'notes.csv'}", EXAMPLES / "notes.yaml")
    assert bad == []
    assert told(tea, "content", "type", "topics", "importance", "strength", "metadata") == {
        "content": "Ada likes strong tea,\nwithout sugar", "type": "preference", "topics": ["tea", "habits"],
        "importance": 0.8, "strength": 0.8, "metadata": {"place": "kitchen"},
    }  # fmt: skip
    assert tea.memory.created_at == parse_instant("2026-05-30T06:30:00+03:00")
    assert (tea.uses, tea.used_at) == (12, parse_instant("2026-06-01T08:00:00+03:00"))
    assert told(monday, "content", "type", "importance", "scope") == {
        "content": 'She said "never on Mondays"', "type": "task", "importance": None,
        "scope": '{"from":"notes","user":"ada"}',
    }  # fmt: skip
    assert told(key, "importance", "strength", "scope") == {
        "importance": 0.0, "strength": 0.5, "scope": '{"from":"notes"}',
    }  # fmt: skip


def test_a_file_that_did_not_change_is_not_read_again(tmp_path: Path) -> None:
    """Unless it is to be read in another way."""
    url = mem0(tmp_path, {"id": "1", "memory": "The cat is grey."})
    with open_source(url, Options()) as source:
        first = source.read(None)
        assert source.read(first.since).unchanged
    with open_source(url, Options(scope='{"user":"ada"}')) as source:
        assert not source.read(first.since).unchanged
    mem0(tmp_path, {"id": "1", "memory": "The cat is black."})
    with open_source(url, Options()) as source:
        assert not source.read(first.since).unchanged


def test_a_fingerprint_is_of_what_is_said_and_not_of_the_file(tmp_path: Path) -> None:
    """Counters of use, the order of records, and when the file was made do not count."""
    mapping = made(tmp_path, "mapping.yaml", "text: note\nid: id\nuses: opened\n")
    csv = made(tmp_path, "a.csv", "id,note,opened\n1,The cat is grey.,3\n2,The dog is brown.,\n")
    before, _ = read(f"csv:{csv}", mapping)
    made(tmp_path, "a.csv", "opened,id,note\n,2,The dog is brown.\n9,1,The cat is grey.\n")
    after, _ = read(f"csv:{csv}", mapping)
    assert {each.id: each.fingerprint for each in before} == {each.id: each.fingerprint for each in after}
    assert {each.id: each.uses for each in after} == {"1": 9, "2": 0}


def test_what_has_no_id_is_known_by_what_it_says_and_where(tmp_path: Path) -> None:
    """The same text in two scopes is two memories; said twice in one it is one, and no fault."""
    mapping = made(tmp_path, "mapping.yaml", 'text: note\nscope: {user: "{who}"}\n')
    csv = made(tmp_path, "a.csv", "note,who\nTea is good.,ada\nTea is good.,ben\nTea is good.,ada\nTea is good.,\n")
    items, bad = read(f"csv:{csv}", mapping)
    assert bad == []
    assert [each.memory.scope for each in items] == ['{"user":"ada"}', '{"user":"ben"}', "{}"]
    assert len({each.id for each in items}) == 3
    assert items[2].id == items[2].memory.id


def test_a_bad_record_costs_itself(tmp_path: Path) -> None:
    """And says where it is and what is wrong with it; what is blank is nothing, and no fault."""
    url = mem0(
        tmp_path,
        {"id": "1", "memory": "One.", "metadata": {"n": float("nan"), "k": 1, "v": [0.5] * 384}},
        {"id": "1", "memory": "Two."},
        {"id": "3", "note": "Three."},
        {"id": "4", "memory": "Four.", "created_at": "last Tuesday"},
        {"id": "5", "memory": "  \n"},
        {"id": "6", "memory": "NUL \0"},
        {"id": "7", "memory": "Half \ud83d"},
        {"id": "8", "memory": None},
        {"id": "9", "memory": "Nine.", "created_at": "2026-05-30 06:30:00"},
        {"id": "nul \0", "memory": "Ten."},
        {"id": "x" * 1001, "memory": "Eleven."},
        {"id": "12", "memory": "Twelve.", "user_id": "half \ud83d"},
    )
    items, bad = read(url)
    assert [each.id for each in items] == ["1", "9"]
    assert items[0].memory.metadata == {"k": 1}
    assert bad == [
        "1: id: '1' is the id of a record before it",
        "1: text: there is no memory or data or text; the record has created_at, id, note",
        "1: created_at: 'last Tuesday' is not a time (e.g. 2026-05-30T03:30:00)",
        "1: content: holds a NUL",
        "1: content: holds half a surrogate pair",
        "1: id: holds a NUL",
        "1: id: is longer than 1000 bytes",
        "1: scope: 'half \\ud83d' in a scope is not valid Unicode",
    ]


def test_a_record_that_cannot_be_taken_is_not_gone(tmp_path: Path) -> None:
    """Where its id is known; of a second one with an id only the line is told."""
    url = mem0(
        tmp_path, {"id": "1", "memory": "One."}, {"id": "1", "memory": "NUL \0"}, {"id": "2", "memory": "NUL \0"}
    )
    with open_source(url, Options()) as source:
        _, again, nul = source.read(None).records
    assert isinstance(again, BadLine)
    assert isinstance(nul, Unreadable)
    assert nul.id == "2"


def test_the_scope_of_the_source_is_added(tmp_path: Path) -> None:
    """And a record that says otherwise is a bad line, for nobody's memories get into another's."""
    url = mem0(
        tmp_path, {"id": "1", "memory": "One.", "user_id": "ada"}, {"id": "2", "memory": "Two.", "user_id": "ben"}
    )
    items, bad = read(url, scope='{"house":"blue","user":"ada"}')
    assert [each.memory.scope for each in items] == ['{"house":"blue","user":"ada"}']
    assert bad == ["1: scope.user: 'ben' is not 'ada', which the source's scope says"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", ": is empty, which no export is; make it anew"),
        (" \n", ": is empty, which no export is; make it anew"),
        ('{"results": [{"id": "1", "memory": "One."},\n {"id": "2", "mem', ":2: not one whole JSON document"),
        ('{"results": [{"id": "1", "memory": "One."}', ":1: not one whole JSON document (it ends in the middle)"),
        ('{"results": [], ', ":1: not one whole JSON document"),
        ('{"results" []}', ":1: not one whole JSON document (':' was expected)"),
        (
            '{"rows": [], "n": 0}',
            "no list of records under results or memories or the document itself; it has: rows, n",
        ),
        ("7", "there is no list of records under results or memories or the document itself"),
        (
            '{"id": "1"}\n{"id": "2"}',
            ":2: not one whole JSON document (something follows the document; where each line",
        ),
        ("[" * 100_000, "not one whole JSON document (nested without end"),
        (f'{{"results": [{"9" * 5000}]}}', "or a number without end in it); make it anew"),
        ('{"results": "\xff"}'.encode("latin-1"), ": not utf-8 text (byte 14); name its `encoding` in the mapping"),
    ],
)
def test_a_damaged_document_is_refused_in_a_line(tmp_path: Path, content: str | bytes, said: str) -> None:
    """As a whole: what was not read would be taken for gone."""
    path = made(tmp_path, "export.json", content)
    line = refusal(f"mem0:{path}")
    assert line.startswith(str(path))
    assert said in line


def test_an_export_without_records_is_one() -> None:
    """It is whole and says that there is nothing."""
    assert built_in("mem0").records == ("results", "memories", ".")


@pytest.mark.parametrize("content", ['{"results": []}', "[]", '\ufeff{"results": []}\r\n', '"{\\"results\\": []}"'])
def test_an_empty_list_is_a_whole_export(tmp_path: Path, content: str) -> None:
    """With a byte order mark, and as a text within a text too, as some agent files are."""
    assert read(f"mem0:{made(tmp_path, 'export.json', content)}") == ([], [])


def test_records_lie_where_the_mapping_says(tmp_path: Path) -> None:
    """Below names, in every element of a list, or as every value of an object; bad lines name their line."""
    document = {
        "agents": [{"name": "a", "notes": [{"t": "One."}]}, {"notes": [{"t": "Two."}]}],
        "byid": {"7": {"t": "Seven."}},
    }
    path = made(tmp_path, "export.json", json.dumps(document, indent=1))
    mapping = made(tmp_path, "m.yaml", 'format: json\nrecords: [agents.*.notes, "byid.*"]\ntext: t\n')
    items, bad = read(f"csv:{path}", mapping)
    assert ([each.memory.content for each in items], bad) == (["One.", "Two.", "Seven."], [])
    mapping = made(tmp_path, "m.yaml", 'format: json\nrecords: [agents.*.notes, "byid.*"]\ntext: u\n')
    assert [each.split(":")[0] for each in read(f"csv:{path}", mapping)[1]] == ["6", "13", "20"]


def test_lines_of_json_are_read_one_by_one(tmp_path: Path) -> None:
    """Blank lines, CRLF and a byte order mark mean nothing; a line that is cut off refuses the file."""
    mapping = made(tmp_path, "m.yaml", "format: jsonl\ntext: t\nid: i\ncreated_at: at\ntimes: epoch_ms\n")
    lines = '\ufeff{"i": 1, "t": "One.", "at": 1780111800000}\r\n\r\n{"i": 2, "t": "Two.", "at": "1780111800000"}\n7\n'
    path = made(tmp_path, "a.jsonl", lines)
    items, bad = read(f"mem0:{path}", mapping)
    assert {each.id: each.memory.created_at for each in items} == dict.fromkeys("12", 1780111800000000)
    assert bad == ["4: record: 7 is no object"]
    made(tmp_path, "a.jsonl", lines + '{"i": 3, "t": "Thr')
    assert refusal(f"mem0:{path}", mapping).startswith(f"{path}:5: not whole JSON (Unterminated string")
    made(tmp_path, "a.jsonl", "\n")
    assert refusal(f"mem0:{path}", mapping) == f"{path}: is empty, which no export is; make it anew"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "{path}: is empty: there is no line that names its columns"),
        ("id,text\n1,One.\n", "{path}: there is no column 'note', which {mapping} names as text; there are: id, text"),
        ("note,when\nOne.,x\n", "{path}: there is no column 'written', which {mapping} names as created_at"),
        ("note,note\n", "{path}: the column 'note' is there twice; rename one of them"),
        ('note,written\n"One,2026-05-30\n', "{path}:2: not whole CSV (unexpected end of data)"),
    ],
)  # fmt: skip
def test_a_damaged_table_is_refused_in_a_line(tmp_path: Path, content: str, said: str) -> None:
    """Naming the column that is missing and those that are there."""
    mapping, path = made(tmp_path, "m.yaml", CSV), made(tmp_path, "a.csv", content)
    assert refusal(f"csv:{path}", mapping).startswith(said.format(path=path, mapping=mapping))


@pytest.mark.parametrize(
    ("times", "cell", "until"),
    [
        ("%d.%m.%Y", "30.06.2026", "2026-07-01T00:00:00+03:00"),
        ("%d.%m.%Y %H", "30.06.2026 00", "2026-06-30T00:00:00+03:00"),
        ("rfc3339", "2026-06-30", "2026-07-01T00:00:00+03:00"),
        ("rfc3339", "2026-06-30 00:00", "2026-06-30T00:00:00+03:00"),
        ("epoch_s", "1782766800", "2026-06-30T00:00:00+03:00"),
    ],
)
def test_a_day_on_which_something_expires_counts_whole(tmp_path: Path, times: str, cell: str, until: str) -> None:
    """In its place; an hour is an hour."""
    text = f'text: note\nexpires_at: until\ntimes: "{times}"\ntime_zone: Europe/Helsinki\n'
    csv = made(tmp_path, "a.csv", f"note,until\nOne.,{cell}\n")
    (item,), _ = read(f"csv:{csv}", made(tmp_path, "m.yaml", text))
    assert item.memory.expires_at == parse_instant(until)


def test_a_row_of_another_length_costs_itself(tmp_path: Path) -> None:
    """So does a number that is none; rows of nothing are none."""
    mapping = made(tmp_path, "m.yaml", CSV + "importance: stars\nimportance_range: [1, 5]\nencoding: cp1252\n")
    rows = (
        'note,written,stars\r\n"On\xe9\r\n\r\n",2026-05-30,5\r\nTwo.,2026-05-30\r\n\r\nThree.,2026-05-30,nan\r\n'
        "Four.,2026-05-30,9\r\nFive.,2026-05-30,many\r\n"
    )
    items, bad = read(f"csv:{made(tmp_path, 'a.csv', rows.encode('cp1252'))}", mapping)
    assert [(each.memory.content, each.memory.importance) for each in items] == [("Oné", 1.0), ("Three.", None)]
    assert bad == [
        "5: record: has 2 values, and there are 3 columns",
        "8: importance: 9 is not between 1 and 5, the mapping's importance_range",
        "9: importance: 'many' is not a number",
    ]


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ("text: n\ntopic: note\n", "topic: unknown; did you mean topics? (line 2)"),
        ("id: a\n", "text: is missing"),
        ("text: []\n", "text: is empty; name the field that holds what is remembered"),
        ("text: [note, 7]\n", "text[1]: 7 is not a text; put it in quotes (line 1)"),
        ("text: n\ntimes: often\n", "times: 'often' is no way to write times; write rfc3339"),
        ("text: n\ntimes: '%d.%m.%Y'\n", "time_zone: is missing; times without an offset need one"),
        ("text: n\ntime_zone: Mars\n", "time_zone: 'Mars' is not a time zone"),
        ("text: n\nimportance_range: [5, 1]\n", "importance_range: has to go from the least to the most"),
        ("text: n\nencoding: klingon\n", "encoding: 'klingon' is no"),
        ("text: n\ndelimiter: ';;'\n", "delimiter: ';;' is not one character between two values"),
        ("text: n\nformat: xml\n", "format: 'xml' is not one of json, jsonl, csv"),
        ("text: n\nscope: {user: 7}\n", "scope.user: 7 is not a text; put it in quotes"),
        ("- text\n", "not a mapping of settings, but a list"),
        ("text: n\ntext: m\n", "text: given twice, first in line 1"),
        ("text: {\n", "not readable as YAML"),
    ],
)  # fmt: skip
def test_a_mapping_that_cannot_be_used_is_refused_in_a_line(tmp_path: Path, mapping: str, said: str) -> None:
    """That names the file, the key and the reason."""
    path, csv = made(tmp_path, "m.yaml", mapping), made(tmp_path, "a.csv", "note\nOne.\n")
    line = refusal(f"csv:{csv}", path)
    assert line.startswith(f"{path}: ")
    assert said in line


def test_what_cannot_be_opened_is_said_in_a_line(tmp_path: Path) -> None:
    """A file that is not there, a folder, no file at all, no mapping."""
    csv = made(tmp_path, "a.csv", "note\nOne.\n")
    assert refusal(f"mem0:{tmp_path}/no.json") == f"{tmp_path}/no.json: there is no such file"
    assert refusal(f"mem0:{tmp_path}") == f"{tmp_path}: not a file; name the mem0 export itself"
    assert refusal("letta:") == "letta: which file? write letta:export.json"
    assert refusal(f"csv:{csv}").startswith(f"csv:{csv}: needs a mapping, a file that says which column is what")
    assert "m.yaml: the mapping cannot be read: No such file" in refusal(f"csv:{csv}", tmp_path / "m.yaml")


def test_it_can_only_be_read(tmp_path: Path) -> None:
    """What writes is refused, and the file is as it was."""
    url = mem0(tmp_path, {"id": "1", "memory": "One."})
    with open_source(url, Options()) as source:
        assert source.ways == "read"
        with pytest.raises(BadInput, match="can only be read"):
            source.write([])
        with pytest.raises(BadInput, match="can only be read"):
            source.look(["1"])
