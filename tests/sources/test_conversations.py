"""Conversation logs: what was said, and nothing else."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from consolidator.errors import BadInput
from consolidator.exchange.records import BadLine
from consolidator.instants import parse_instant
from consolidator.sources.conversations import Message, read_messages

SESSION = "b7300bff-a214-4c11-97ae-eab26883c67a"


def write(file: Path, entries: Sequence[dict[str, Any]], *, end: str = "\n") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(json.dumps(entry) for entry in entries) + end)
    return file


def said(path: Path) -> list[tuple[str, str, str]]:
    return [(each.session, each.role, each.text) for each in read_messages(path) if isinstance(each, Message)]


def bad(path: Path) -> list[str]:
    return [f"{each.line} {each.field} {each.reason}" for each in read_messages(path) if isinstance(each, BadLine)]


def text(*parts: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": part} for part in parts]


OPENCLAW = [
    {"type": "session", "version": 3, "id": SESSION, "timestamp": "2026-04-08T01:03:43.107Z", "cwd": "/home/ada"},
    {"type": "model_change", "id": "7f59d586", "parentId": None, "provider": "anthropic", "modelId": "x"},
    {
        "type": "message",
        "id": "d2f0c1aa",
        "parentId": "7f59d586",
        "timestamp": "2026-04-08T01:03:50.000Z",
        "message": {"role": "user", "content": text("Where is the key?", "I need it."), "timestamp": 1775610230000},
    },
    {
        "type": "message",
        "id": "d2f0c1ab",
        "parentId": "d2f0c1aa",
        "timestamp": "2026-04-08T01:03:55.000Z",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "toolCall", "id": "1", "name": "read", "arguments": {}},
                *text("Under the mat."),
            ],
        },
    },
    {
        "type": "message",
        "id": "d2f0c1ac",
        "timestamp": "2026-04-08T01:03:56.000Z",
        "message": {"role": "toolResult", "toolCallId": "1", "content": text("a result")},
    },
    {"type": "compaction", "id": "d2f0c1ad", "summary": "They spoke of a key.", "firstKeptEntryId": "d2f0c1aa"},
]


def claude(role: str, content: object, uuid: str, *, minute: int = 0, **about: Any) -> dict[str, Any]:
    message = {"role": role, "content": content, **({"id": about.pop("answer")} if "answer" in about else {})}
    return {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ada/atlas",
        "sessionId": SESSION,
        "version": "2.1.37",
        "type": role,
        "message": message,
        "uuid": uuid,
        "timestamp": f"2026-04-08T01:{minute:02}:00.000Z",
        **about,
    }


def test_an_openclaw_session_is_what_person_and_agent_said(tmp_path):
    """Headers, thinking, tool calls, results and summaries are left out; the session is the header's."""
    file = write(tmp_path / "other-name.jsonl", OPENCLAW)
    assert [*read_messages(file)] == [
        Message(SESSION, parse_instant("2026-04-08T01:03:50Z"), "user", "Where is the key?\n\nI need it.", "d2f0c1aa"),
        Message(SESSION, parse_instant("2026-04-08T01:03:55Z"), "assistant", "Under the mat.", "d2f0c1ab"),
    ]


def test_a_string_is_content_too(tmp_path):
    """Older lines of OpenClaw, and plain ones, hold the text itself."""
    line = {"type": "message", "timestamp": "2026-04-08T01:03:50Z", "message": {"role": "user", "content": " Hi. "}}
    assert said(write(tmp_path / "a.jsonl", [line])) == [("a", "user", "Hi.")]


def test_a_claude_code_session_is_what_person_and_agent_said(tmp_path):
    """Meta lines, sidechains, commands, reminders, tool results and compact summaries are nobody's words."""
    file = write(
        tmp_path / f"{SESSION}.jsonl",
        [
            {"type": "summary", "summary": "Keys", "leafUuid": "u1"},
            {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
            claude("user", "Where is the key?", "u1"),
            claude("user", "<command-name>/clear</command-name>", "u2"),
            claude("user", "Caveat: ...", "u3", isMeta=True),
            claude("user", "Look for the key", "u4", isSidechain=True),
            claude("user", "This session is continued", "u5", isCompactSummary=True),
            claude("user", [{"type": "tool_result", "tool_use_id": "t", "content": "\0 a result"}], "u6"),
            claude("user", text("<system-reminder>Be kind</system-reminder>", "And the door?"), "u7"),
            claude("assistant", text("API Error: 500"), "u8", isApiErrorMessage=True),
            claude("assistant", text("Open."), "u9", answer="msg_1"),
            {"type": "queue-operation", "operation": "enqueue", "content": "later", "sessionId": SESSION},
        ],
    )
    assert said(file) == [
        (SESSION, "user", "Where is the key?"),
        (SESSION, "user", "And the door?"),
        (SESSION, "assistant", "Open."),
    ]


def test_an_answer_logged_in_pieces_is_one_message(tmp_path):
    """Each block is a line of its own; a piece that comes again, or has grown, is there once."""
    answers = [text("Let me"), text("Let me look."), text("Let me look."), [{"type": "tool_use"}], text("Under it.")]
    lines = [claude("assistant", each, f"u{n}", minute=n, answer="msg_1") for n, each in enumerate(answers)]
    [message] = read_messages(write(tmp_path / "a.jsonl", lines))
    assert message == Message(
        SESSION, parse_instant("2026-04-08T01:00:00Z"), "assistant", "Let me look.\n\nUnder it.", "msg_1"
    )


def test_a_resumed_session_tells_its_past_once(tmp_path):
    """What was copied into the next file is not said twice; a short id that two sessions have is no copy."""
    first = [claude("user", "One", "u1"), claude("assistant", text("Two"), "u2", answer="msg_1")]
    write(tmp_path / "a.jsonl", first)
    write(tmp_path / "b.jsonl", [*first, claude("user", "Three", "u3")])
    write(tmp_path / "c.jsonl", OPENCLAW)
    write(tmp_path / "d.jsonl", [*OPENCLAW[:3], {**OPENCLAW[3], "timestamp": "2026-04-09T01:03:55.000Z"}])
    assert [each[2] for each in said(tmp_path)] == [
        *("One", "Two", "Three", "Where is the key?\n\nI need it.", "Under the mat.", "Under the mat."),
    ]


def test_plain_lines_may_tell_session_and_time(tmp_path):
    """Session by session as they begin, each in order of time; other roles are left out."""
    file = write(
        tmp_path / "talk.jsonl",
        [
            {"role": "system", "content": "You are kind."},
            {"role": "user", "content": "late", "session": "x", "at": "2026-04-08T12:00:00+02:00"},
            {"role": "user", "content": "elsewhere"},
            {"role": "assistant", "content": "early", "session": "x", "timestamp": 1775642399000},
            {"role": "assistant", "content": "earliest", "session": "x", "timestamp": 1775642398.5},
        ],
    )
    assert said(file) == [
        ("x", "assistant", "earliest"),
        ("x", "assistant", "early"),
        ("x", "user", "late"),
        ("talk", "user", "elsewhere"),
    ]


def test_the_first_layer_of_memory_new_is_a_log(tmp_path):
    """Its sessions are the sessions of the agent, its times milliseconds."""
    line = {
        "id": "l0_1775642399000_ab12",
        "role": "user",
        "content": "I moved to Turku.",
        "timestamp": 1775642399000,
        "sessionKey": "agent:main:main",
        "sessionId": "s1",
        "userId": "u",
        "agentId": "main",
        "recordedAt": "2026-04-08T09:59:59.000Z",
    }
    file = write(tmp_path / "agent:main:main.jsonl", [line])
    at = parse_instant("2026-04-08T09:59:59Z")
    assert [*read_messages(file)] == [Message("s1", at, "user", "I moved to Turku.", "l0_1775642399000_ab12")]


def test_a_log_that_is_still_written_to_loses_only_its_last_line(tmp_path):
    """The agent is in the middle of a line: a bad line, and all before it is read."""
    file = write(tmp_path / "a.jsonl", OPENCLAW, end='\n{"type":"message","id":"d2f0')
    assert len(said(file)) == 2
    assert bad(file) == ["7 line is cut off (it may still be written to)"]


def test_a_whole_last_line_needs_no_end(tmp_path):
    """A file that ends without a newline is not cut off if its last line is whole."""
    file = write(tmp_path / "a.jsonl", OPENCLAW[:3], end="")
    assert (len(said(file)), bad(file)) == (1, [])


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"nonsense", "line is no JSON"),
        (b"[1]", "line is not a JSON object"),
        (b"{}", "line tells no role and nothing said"),
        (b"\xff\xfe", "line is not UTF-8"),
        (b"[" * 100_000, "line is no JSON"),
        (b'{"role":"user","content":7}', "content is neither a text nor a list of parts"),
        (b'{"role":"user","content":"a\\u0000b"}', "content holds a NUL"),
        (b'{"role":"user","content":"a\\ud800b"}', "content holds half a surrogate pair"),
        (b'{"role":"user","content":"a","at":"2026-04-08T12:00:00"}', "at '2026-04-08T12:00:00' has no offset"),
        (b'{"role":"user","content":"a","at":1e300}', "at 1e+300 is not a possible time"),
        (b'{"role":"user","content":"a","at":NaN}', "at cannot convert float NaN to integer"),
        (b'{"role":"user","content":"a","at":-5}', "at -5 is not a possible time"),
        (b'{"role":"user","content":"a","at":true}', "at True is not a time"),
    ],
)
def test_a_bad_line_stops_nothing(tmp_path, line, what):
    """It is told with its number, and the lines around it are read."""
    file = tmp_path / "a.jsonl"
    file.write_bytes(b'{"role":"user","content":"before"}\n\n' + line + b'\r\n{"role":"user","content":"after"}\r\n')
    assert [each[2] for each in said(file)] == ["before", "after"]
    [told] = bad(file)
    assert told.startswith(f"3 {what}")


def test_a_folder_is_all_its_logs(tmp_path):
    """Found at any depth; what is no log there is told and stops nothing."""
    write(tmp_path / "main" / "sessions" / "a.jsonl", OPENCLAW)
    write(tmp_path / "main" / "sessions" / "a.trajectory.jsonl", [{"traceSchema": "openclaw-trajectory"}])
    write(tmp_path / "other" / "b.jsonl", [{"role": "user", "content": "Hi."}])
    write(tmp_path / "other" / "c.jsonl", [{"display": "ls", "project": "/home/ada"}])
    (tmp_path / "sessions.json").write_text("{}")
    assert [each[2] for each in said(tmp_path)] == ["Where is the key?\n\nI need it.", "Under the mat.", "Hi."]
    assert bad(tmp_path) == ["0 file holds no conversation"]


def test_what_is_no_log_is_refused(tmp_path):
    """One line: what it is, and why not."""
    (tmp_path / "empty").mkdir()
    other = write(tmp_path / "c.jsonl", [{"kind": "header", "format": "consolidator-jsonl", "version": 1}])
    for path, why in (
        (tmp_path / "none.jsonl", "No such file or directory"),
        (tmp_path / "empty", r"there are no \*.jsonl files"),
        (other, "holds no conversation"),
    ):
        with pytest.raises(BadInput, match=why):
            list(read_messages(path))


def test_an_empty_log_holds_nothing(tmp_path):
    """A session that has just begun is no error."""
    (tmp_path / "a.jsonl").touch()
    assert [*read_messages(tmp_path / "a.jsonl")] == []


def test_reading_changes_nothing(tmp_path):
    """The log is as it was, to the nanosecond of its mtime."""
    file = write(tmp_path / "a.jsonl", OPENCLAW)
    before = (file.read_bytes(), file.stat().st_mtime_ns)
    list(read_messages(file))
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before


def test_what_is_no_file_or_no_text_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    """A pipe in a folder of logs is not waited for; a line in another encoding is named as what it is."""
    os.mkfifo(tmp_path / "a.jsonl")
    log = b'{"role":"user","content":"hi there"}\n\xff\xfe\n'
    (tmp_path / "b.jsonl").write_bytes(log)
    assert said(tmp_path) == [("b", "user", "hi there")]
    assert sorted(bad(tmp_path)) == ["0 file is no file", "2 line is not UTF-8"]
