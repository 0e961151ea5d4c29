"""
Conversation logs, read: what a person and an agent said to each other, with session, time and role.

Lines of OpenClaw's and of Claude Code's sessions, of memory-new's first layer, and plain lines of role and content,
each known by its shape. Only what was said counts: tool calls and their results, thinking, pictures, summaries,
system prompts, talk between agents (Claude Code's sidechains) and what a program put into a person's mouth are left
out. The formats are those of 2026: OpenClaw 2026.x (session versions 1 to 3), Claude Code 1 and 2.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from consolidator.errors import BadInput
from consolidator.exchange.fields import Unfit, examine
from consolidator.exchange.records import BadLine
from consolidator.instants import parse_instant

LONGEST_LINE = 64 * 2**20  # a picture that somebody pasted is a part of its line
ROLES = ("user", "assistant")

_SESSIONS = ("session", "session_id", "sessionId", "sessionKey", "conversation_id", "conversation")
_TIMES = ("at", "time", "timestamp", "created_at", "createdAt", "ts")
_IDS = ("id", "uuid", "message_id")
# What a program writes in a person's name: commands and what they printed, reminders, what an editor shows.
_PROGRAM = re.compile(
    r"\s*<(command-|local-command-|bash-|system-reminder|ide_|task-notification|user-prompt-submit-hook)"
)
_LAST_SECOND = 10**11  # epoch seconds up to the year 5138; what is larger are milliseconds
_LATEST = 253_402_300_800 * 10**6  # the year 10000


@dataclass(frozen=True, slots=True)
class Message:
    """What was said. at: microseconds since 1970, None where the log tells none. id: the log's own, if it has one."""

    session: str
    at: int | None
    role: str
    text: str
    id: str | None


def read_messages(path: Path) -> Iterator[Message | BadLine]:
    """
    The messages of a log, or of all `*.jsonl` below a folder; a bad line in the place of each that cannot be read.

    Each file by itself: session by session as they begin, each in order of time, and its bad lines at the end. An
    answer that was logged piece by piece is one message; one that stands in several files (as where a session was
    resumed) comes once. The last line of a log that is still written to may be cut off: a bad line like others.
    BadInput where the path is no conversation log.
    """
    path = path.expanduser()
    files = [path] if not path.is_dir() else sorted(_logs(path))
    if not files:
        raise BadInput(f"{path}: there are no *.jsonl files in it; name a log or the folder that holds logs")
    seen: set[_Name] = set()
    for file in files:
        if file != path and file.exists() and not file.is_file():  # reading a pipe would wait for whoever writes to it
            yield BadLine(str(file), 0, "file", "is no file")
            continue
        try:
            with file.open("rb") as stream:
                log = _Log(file, seen).read(stream)
        except OSError as error:
            if file == path:
                raise BadInput(f"{file}: {error.strerror}") from None
            yield BadLine(str(file), 0, "file", f"cannot be read ({error.strerror})")
            continue
        if log.lines and not log.known:
            if file == path:
                raise BadInput(f"{file}: holds no conversation (no line of it tells a role and what was said)")
            yield BadLine(str(file), 0, "file", "holds no conversation")
            continue
        yield from log.messages()
        yield from log.bad


def _logs(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".jsonl") and not name.endswith(".trajectory.jsonl"):
                yield Path(place, name)


_Name = tuple[str, int | None, str]  # of a message: its id; its time and text where ids are short and come again


class _Log:
    """One file. known: whether any of its lines is of a conversation. seen: the messages that other files had."""

    def __init__(self, file: Path, seen: set[_Name]) -> None:
        self.file, self.seen = file, seen
        self.session = file.name.removesuffix(".jsonl")
        self.lines, self.known = 0, False
        self.bad: list[BadLine] = []
        self.sessions: dict[str, list[Message]] = {}
        self.own: set[_Name] = set()
        self.pieces: dict[str, tuple[str, int, list[str]]] = {}  # by an answer's id: session, place, texts so far

    def read(self, stream: BinaryIO) -> "_Log":
        while raw := stream.readline(LONGEST_LINE):
            self.lines += 1
            whole = raw.endswith(b"\n")
            try:
                if len(raw) == LONGEST_LINE and not whole:
                    while raw and not raw.endswith(b"\n"):
                        raw = stream.readline(2**16)
                    raise Unfit(f"is longer than {LONGEST_LINE // 2**20} MiB", "line")
                if raw.strip():
                    self._take(_parse(raw.removeprefix(b"\xef\xbb\xbf") if self.lines == 1 else raw, whole))
            except ValueError as error:
                field = getattr(error, "below", "") or "line"
                self.bad.append(BadLine(str(self.file), self.lines, field, str(error)))
        self.seen |= self.own
        return self

    def messages(self) -> Iterator[Message]:
        for messages in self.sessions.values():
            latest = 0
            order = []
            for message in messages:
                latest = message.at if message.at is not None else latest
                order.append(latest)
            yield from (messages[place] for place in sorted(range(len(messages)), key=order.__getitem__))

    def _take(self, entry: Mapping[str, Any]) -> None:
        kind, said = entry.get("type"), entry.get("message")
        if kind == "session":
            self.known = True
            self.session = _word(entry, ("id",)) or self.session
        elif kind == "message" and isinstance(said, dict):
            self._add(entry, said, said.get("role"))
        elif kind in ROLES and isinstance(said, dict):
            self.known = True
            if not any(entry.get(flag) for flag in _LEFT_OUT):
                self._add(entry, said, kind, answer=_word(said, ("id",)) if kind == "assistant" else None)
        elif "role" in entry and "content" in entry:
            self._add(entry, entry, entry["role"])
        elif not isinstance(kind, str):
            raise Unfit("tells no role and nothing said", "line")

    def _add(
        self, entry: Mapping[str, Any], said: Mapping[str, Any], role: object, *, answer: str | None = None
    ) -> None:
        """answer: the id that all pieces of one answer have."""
        self.known = True
        text = _text_of(said.get("content")) if role in ROLES else ""
        if not text:
            return
        examine(text, "content")
        at, session = _at(entry), _word(entry, _SESSIONS) or self.session
        name = answer or _word(entry, _IDS)
        if answer is not None and answer in self.pieces:
            self._continue(answer, text)
            return
        if name is not None:
            unique = (name, None, "") if "message" in entry and "uuid" in entry else (name, at, text)
            if unique in self.seen:
                return
            self.own.add(unique)
        messages = self.sessions.setdefault(session, [])
        if answer is not None:
            self.pieces[answer] = (session, len(messages), [text])
        messages.append(Message(session, at, str(role), text, name))

    def _continue(self, answer: str, text: str) -> None:
        """A further piece of an answer, or the same again, or the last one as it has grown."""
        session, place, texts = self.pieces[answer]
        if any(known.startswith(text) for known in texts):
            return
        if text.startswith(texts[-1]):
            texts.pop()
        texts.append(text)
        messages = self.sessions[session]
        messages[place] = replace(messages[place], text="\n\n".join(texts))


# Of Claude Code: between agents; put in by the program; the summary that replaces what was said; "API Error".
_LEFT_OUT = ("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")


def _parse(raw: bytes, whole: bool) -> dict[str, Any]:
    try:
        entry = json.loads(raw.decode())
    except (ValueError, RecursionError) as error:
        if not whole:
            raise Unfit("is cut off (it may still be written to)", "line") from None
        why = "is not UTF-8" if isinstance(error, UnicodeDecodeError) else f"is no JSON ({error})"
        raise Unfit(why, "line") from None
    if not isinstance(entry, dict):
        raise Unfit("is not a JSON object", "line")
    return entry


def _text_of(content: object) -> str:
    """What was said in it, without what else a message can hold."""
    if isinstance(content, str):
        parts = [content]
    elif isinstance(content, list):
        kinds = ("text", "input_text", "output_text")
        blocks = [block for block in content if isinstance(block, dict) and block.get("type") in kinds]
        parts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    elif content is None:
        return ""
    else:
        raise Unfit("is neither a text nor a list of parts", "content")
    return "\n\n".join(part.strip() for part in parts if part.strip() and not _PROGRAM.match(part))


def _word(entry: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    found = (entry[name] for name in names if isinstance(entry.get(name), str) and entry[name].strip())
    word = next(found, None)
    if word is not None:
        examine(word, "id")
    return word


def _at(entry: Mapping[str, Any]) -> int | None:
    name = next((name for name in _TIMES if entry.get(name) is not None), None)
    if name is None:
        return None
    value = entry[name]
    try:
        if isinstance(value, str):
            return parse_instant(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{value!r} is not a time")
        at = round(value * (1_000_000 if abs(value) < _LAST_SECOND else 1_000))
        if not 0 <= at < _LATEST:
            raise ValueError(f"{value!r} is not a possible time")
    except (ValueError, OverflowError) as error:
        raise Unfit(str(error), name) from None
    return at
