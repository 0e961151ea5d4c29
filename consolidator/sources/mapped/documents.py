"""
Records out of files: JSON documents, lines of JSON, and CSV. One at a time, each with the line where it begins.

A file that breaks off in the middle, or is not what it should be, is refused as a whole: what was not read would be
taken for gone.
"""

import csv
import json
import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from consolidator.errors import BadInput
from consolidator.exchange.fields import Unfit
from consolidator.sources.mapped.mapping import FieldMapping

_SPACE = re.compile(r"[ \t\r\n]*")
_LONGEST_CELL = 2**30
_MOST_NAMED = 20

Found = tuple[int, Any]  # the line, and what stands there; Unfit where that is known to be no record


def read_records(path: Path, mapping: FieldMapping, format_: str, mapping_name: str) -> Iterator[Found]:
    """Everything that stands where records should. BadInput where the file is not what it should be."""
    encoding = "utf-8-sig" if mapping.encoding.lower().replace("_", "-") in ("utf-8", "utf8") else mapping.encoding
    try:
        with path.open(encoding=encoding, newline="" if format_ == "csv" else "\n") as file:
            if format_ == "csv":
                yield from _rows(file, path, mapping, mapping_name)
            elif format_ == "jsonl":
                yield from _lines(file, path)
            else:
                yield from _Walker(path, file.read(), mapping.records).records()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeError as error:
        where = f" (byte {error.start + 1})" if isinstance(error, UnicodeDecodeError) else ""
        raise BadInput(f"{path}: not {mapping.encoding} text{where}; name its `encoding` in the mapping") from None


def _lines(file: Any, path: Path) -> Iterator[Found]:
    line = 0
    empty = True
    for line, raw in enumerate(file, 1):
        if raw.strip():
            empty = False
            yield line, _decoded(raw, path, line)
    if empty:
        raise BadInput(f"{path}: is empty, which no export is; make it anew")


def _decoded(raw: str, path: Path, line: int) -> Any:
    try:
        return json.loads(raw)
    except json.JSONDecodeError as error:
        raise BadInput(f"{path}:{line}: not whole JSON ({error.msg}, column {error.colno}); make it anew") from None
    except (RecursionError, ValueError):
        raise BadInput(f"{path}:{line}: nested without end, or a number without end in it") from None


def _rows(file: Any, path: Path, mapping: FieldMapping, mapping_name: str) -> Iterator[Found]:
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        reader = csv.reader(file, delimiter=mapping.delimiter, strict=True)
        header = next(reader, None)
        if not header or not any(header):
            raise BadInput(f"{path}: is empty: there is no line that names its columns")
        _check_columns(header, path, mapping, mapping_name)
        line = reader.line_num + 1
        for row in reader:
            if row:
                yield line, _row(header, row)
            line = reader.line_num + 1
    except csv.Error as error:
        raise BadInput(f"{path}:{reader.line_num}: not whole CSV ({error}); look for a quote that never ends") from None
    finally:
        csv.field_size_limit(before)


def _row(header: list[str], row: list[str]) -> dict[str, str] | Unfit:
    if len(row) != len(header):
        return Unfit(f"has {len(row)} values, and there are {len(header)} columns")
    return dict(zip(header, row, strict=True))


def _check_columns(header: list[str], path: Path, mapping: FieldMapping, mapping_name: str) -> None:
    """Refuse a mapping that names columns which are not there: nothing would be found in them."""
    there = ", ".join(header[:_MOST_NAMED])
    for name in header:
        if header.count(name) > 1:
            raise BadInput(f"{path}: the column {name!r} is there twice; rename one of them")
    for key, alternatives in mapping.named().items():
        missing = [next((name for name in each if name not in header), None) for each in alternatives]
        if missing and None not in missing:
            wanted = " or ".join(repr(name) for name in missing)
            raise BadInput(
                f"{path}: there is no column {wanted}, which {mapping_name} names as {key}; there are: {there}"
            )


class _Walker:
    """
    Goes through the text of a JSON document and makes an object of one record at a time; of what is not asked for it
    makes none that stays.
    """

    def __init__(self, path: Path, text: str, wanted: tuple[str, ...]) -> None:
        self.path, self.text = path, text
        self.wanted = [tuple(each.split(".")) if each != "." else () for each in wanted]
        self.names = [each if each != "." else "the document itself" for each in wanted]
        self.decoder = json.JSONDecoder()
        self.found = False
        self.there: list[str] = []
        self._line, self._counted = 1, 0

    def records(self) -> Iterator[Found]:
        start = self._skip(0)
        if start == len(self.text):
            raise BadInput(f"{self.path}: is empty, which no export is; make it anew")
        if self.text[start] == '"':
            inner, _ = self._decode(start)
            if inner.lstrip().startswith(("{", "[")):  # a document that was made a text once more
                self.text = inner
                start = self._skip(0)
        end = yield from self._walk(start, self.wanted)
        if self._skip(end) != len(self.text):
            raise self._broken(
                self._skip(end), "something follows the document; where each line is a record, a mapping says so"
            )
        if not self.found:
            there = f"; it has: {', '.join(self.there[:_MOST_NAMED])}" if self.there else ""
            raise BadInput(f"{self.path}: there is no list of records under {' or '.join(self.names)}{there}")

    def _walk(self, at: int, wanted: list[tuple[str, ...]]) -> Generator[Found, None, int]:
        """What is found in the value at a place of the text; returns where that ends."""
        opening = self.text[at : at + 1]
        below = [each for each in wanted if each]
        if opening == "[" and (len(below) < len(wanted) or ("*",) in below):
            self.found = True
            return (yield from self._each(at, None))
        if opening == "[" and any(each[0] == "*" for each in below):
            return (yield from self._each(at, below))
        if opening == "{" and below:
            return (yield from self._each(at, below))
        if opening == "{" and at == self._skip(0):
            self.there = list(self._decode(at)[0])
        return self._decode(at)[1]

    def _each(self, at: int, wanted: list[tuple[str, ...]] | None) -> Generator[Found, None, int]:
        """What is found in the values of a list or object; wanted None: each of them is a record."""
        closing = "]" if self.text[at] == "[" else "}"
        top = at == self._skip(0)
        at = self._skip(at + 1)
        while self.text[at : at + 1] != closing:
            key: str | None = None
            if closing == "}":
                key, at = self._decode(at)
                if not isinstance(key, str):
                    raise self._broken(at, "a name was expected")
                if top:
                    self.there.append(key)
                at = self._skip(self._past(self._skip(at), ":"))
            inner = [each[1:] for each in wanted or () if each[0] in ("*", key)]
            if wanted is None or (key is not None and ("*",) in wanted and self.text[at : at + 1] == "{"):
                self.found = True
                line = self._line_of(at)
                value, at = self._decode(at)
                yield line, value
            else:
                at = yield from self._walk(at, inner)
            at = self._skip(at)
            if self.text[at : at + 1] == closing:
                break
            at = self._skip(self._past(at, ","))
        return at + 1

    def _past(self, at: int, mark: str) -> int:
        if self.text[at : at + 1] != mark:
            raise self._broken(at, f"{mark!r} was expected" if at < len(self.text) else "it ends in the middle")
        return at + 1

    def _skip(self, at: int) -> int:
        return _SPACE.match(self.text, at).end()  # type: ignore[union-attr]

    def _decode(self, at: int) -> tuple[Any, int]:
        try:
            return self.decoder.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            raise self._broken(error.pos, error.msg) from None
        except (RecursionError, ValueError):
            raise self._broken(at, "nested without end, or a number without end in it") from None

    def _broken(self, at: int, why: str) -> BadInput:
        line = self.text.count("\n", 0, at) + 1
        return BadInput(f"{self.path}:{line}: not one whole JSON document ({why}); make it anew")

    def _line_of(self, at: int) -> int:
        self._line += self.text.count("\n", self._counted, at)
        self._counted = at
        return self._line
