"""
Lines of the exchange format: read without trust, one good record or one bad line each.

No line is held that is longer than a line may be, nor more than one at a time.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from consolidator.exchange import fields
from consolidator.exchange.fields import Unfit
from consolidator.exchange.records import FORMAT, VERSION, BadLine, Record
from consolidator.exchange.shapes import record_of

LONGEST_LINE = 16 * 2**20
_CHUNK = 2**16
_BOM = b"\xef\xbb\xbf"
_DOUBTFUL = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")


def read_lines(stream: BinaryIO, name: str) -> Iterator[Record | BadLine]:
    """
    The records of a file of lines, with a bad line in the place of each that is none.

    The first line is the header; without it, or with one of another version, nothing that follows can be
    understood: that bad line is the last. Blank lines, a byte order mark at the start and CRLF mean nothing. The
    header may come again, as where files were joined.
    """
    headed = False
    line = 0
    for line, raw in _raw_lines(stream):
        if line == 1 and raw is not None:
            raw = raw.removeprefix(_BOM)
        try:
            if raw is None:
                raise Unfit(f"is longer than {LONGEST_LINE // 2**20} MiB", "line")
            if not raw.strip():
                continue
            document = parse(raw)
            if document.get("kind") == "header":
                _check_header(document)
                headed = True
            elif not headed:
                raise Unfit("the first line is not a header", "kind")
            else:
                yield record_of(document, line)
        except ValueError as error:
            whole_file = not headed
            yield BadLine(name, line, _clip(getattr(error, "below", "") or "line", 100), _clip(str(error)), whole_file)
            if whole_file:
                return
        except _HeaderError as error:
            yield BadLine(name, line, _clip(error.field, 100), error.reason, whole_file=True)
            return
    if not headed:
        yield BadLine(name, max(line, 1), "kind", "there is no header", whole_file=True)


def parse(raw: bytes) -> dict[str, Any]:
    """The object that a line is. ValueError (`below`: its field) where it is none."""
    try:
        document = _DECODER.decode(raw.decode())
    except UnicodeDecodeError as error:
        raise Unfit(f"is not valid UTF-8 (byte {error.start + 1})", "line") from None
    except json.JSONDecodeError as error:
        raise Unfit(f"is not a whole JSON object ({error.msg}, column {error.colno})", "line") from None
    except RecursionError:
        raise Unfit("is nested without end", "line") from None
    if not isinstance(document, dict):
        raise Unfit("is not a JSON object", "line")
    if _DOUBTFUL.search(raw):
        for key, value in document.items():
            fields.examine(key, "line")
            fields.examine(value, key)
    return document


class _HeaderError(Exception):
    def __init__(self, field: str, reason: str) -> None:
        self.field, self.reason = field, reason


def _check_header(document: Mapping[str, Any]) -> None:
    if document.get("format") != FORMAT:
        raise _HeaderError("format", f"{fields.spell(document.get('format'))} is not {FORMAT!r}")
    version = document.get("version")
    if isinstance(version, bool) or version != VERSION:
        raise _HeaderError("version", f"{fields.spell(version)} is another version; this program reads {VERSION}")
    for key in document.keys() - {"kind", "format", "version"}:
        raise _HeaderError(key, "is no field of a header")


def _raw_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Lines with their numbers; None for one that is too long, of which no more than a chunk is held."""
    line = 0
    while raw := stream.readline(LONGEST_LINE + 2):
        line += 1
        if len(raw.rstrip(b"\r\n")) <= LONGEST_LINE and (raw.endswith(b"\n") or len(raw) < LONGEST_LINE + 2):
            yield line, raw
            continue
        while raw and not raw.endswith(b"\n"):
            raw = stream.readline(_CHUNK)
        yield line, None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        keys = [key for key, _ in pairs]
        key = next(key for key in keys if keys.count(key) > 1)
        raise Unfit("stands twice in one object", key)
    return unique


def _refuse(constant: str) -> float:
    raise Unfit(f"{constant} is not JSON", "line")


def _clip(text: str, most: int = 300) -> str:
    """A text from the file in a message: one line, and not the whole of a long one."""
    plain = text if text.isprintable() else repr(text)[1:-1]
    return plain if len(plain) <= most else plain[: most - 3] + "..."


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse)
