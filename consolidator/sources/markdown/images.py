"""
Records of a page as images, and a page with some of them removed, put back or taken the place of. Pure.

A record is a text in a file, with every spot where it stands. Its image holds the lines themselves and how far they
stand from the memories before and after them, so that what was removed can be put back at its place, and a page from
which nothing else was changed is then the same, byte for byte.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from consolidator.sources.markdown.blocks import PLAIN, Page, Rules, end_of, parse, write_line
from consolidator.sources.port import Image

_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")


def images_of(page: Page, name: str) -> dict[str, Image]:
    """All records of a page, by key, in the order of their first spots."""
    images: dict[str, dict[str, Any]] = {}
    for number, spot in enumerate(page.spots):
        image = images.setdefault(spot.key, {"file": name, "text": spot.text, "spots": []})
        image["spots"].append(_spot_image(page, number))
    return dict(images)


def _spot_image(page: Page, number: int) -> dict[str, Any]:
    spot, lines, gap = page.spots[number], page.lines, _gap(page, number)
    before = page.spots[number - 1] if number else None
    after = page.spots[number + 1] if number + 1 < len(page.spots) else None
    return {
        "lines": [*lines[spot.start : spot.end]],
        "gap": gap,
        "line": spot.start,
        "above": [before.key if before else None, spot.start - (before.end if before else 0)],
        "below": [after.key if after else None, (after.start if after else len(lines)) - spot.end - bool(gap)],
        "prefix": spot.prefix,
        "headings": [*spot.headings],
        "under": [*spot.under],
        "done": spot.done,
        "bears": spot.bears,
    }


def _gap(page: Page, number: int) -> str:
    """
    The blank line that goes with a spot: the one below what stands alone between two, and below a paragraph that
    stands right under a heading, where the next paragraph then stands.
    """
    spot, lines = page.spots[number], page.lines
    if spot.bears or spot.end >= len(lines) or lines[spot.end].strip():
        return ""
    above = lines[spot.start - 1] if spot.start else ""
    after = page.spots[number + 1] if number + 1 < len(page.spots) else None
    moves_up = after and after.start == spot.end + 1 and not (after.prefix + spot.prefix).strip()
    return lines[spot.end] if not above.strip() or (moves_up and _HEADING.match(above)) else ""


def told(image: Image) -> dict[str, Any]:
    """What of an image people decide: what a fingerprint names. Not where in its file it stands, nor its bullet."""
    spots = image["spots"]
    places = sorted([[*spot["headings"]], [*spot["under"]], spot["done"]] for spot in spots)
    return {"file": image["file"], "text": image["text"], "places": places}


def merged(text: str, like: Image, instead: str) -> Image | None:
    """
    The record of a new text that takes the place of the record `like`, whose key is `instead`.

    None where it cannot be written as one line.
    """
    first = like["spots"][0]
    line = write_line(text, first["prefix"])
    if line is None:
        return None
    spot = {**first, "lines": [line + end_of(first["lines"][-1])], "gap": "", "bears": False, "instead": instead}
    if not first["prefix"].strip():
        spot["gap"] = end_of(first["lines"][0]) or "\n"  # between it and the paragraph that it takes the place of
    return {"file": like["file"], "text": parse(line.lstrip(), PLAIN).spots[0].text, "spots": [spot]}


@dataclass(slots=True)
class _Row:
    line: str
    key: str | None = None  # of the memory that it is a part of
    number: int = 0  # which of its spots


class Sheet:
    """A page while it is edited."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.rows = [_Row(line) for line in page.lines]
        for number, spot in enumerate(page.spots):
            for row in self.rows[spot.start : spot.end]:
                row.key, row.number = spot.key, number

    def __str__(self) -> str:
        """The text of the file. A line that is no longer the last has an end."""
        for row in self.rows[:-1]:
            if not end_of(row.line):
                row.line += self.page.line_end
        return self.page.mark + "".join(row.line for row in self.rows)

    def remove(self, key: str, *, parted: bool) -> None:
        """
        Every spot of a record; of what bears others the text alone, so that they keep their place. parted: the blank
        line below was written with it.
        """
        for number in sorted({row.number for row in self.rows if row.key == key}):
            start, end = self._span(key, number)
            spot = self.page.spots[number]
            if spot.bears:
                self.rows[start:end] = [_Row(_bare(spot.prefix, self.rows[end - 1].line))]
            else:
                blank = end < len(self.rows) and not self.rows[end].line.strip()
                del self.rows[start : end + (blank and (parted or bool(_gap(self.page, number))))]

    def put_before(self, spot: Mapping[str, Any], key: str) -> bool:
        """Write a spot before the record that it takes the place of. False: that is not there."""
        old = spot.get("instead")
        start = next((place for place, row in enumerate(self.rows) if old is not None and row.key == old), None)
        if start is None:
            return False
        self.rows[start:start] = _rows(spot, key, -1)
        return True

    def put_back(self, spot: Mapping[str, Any], key: str, *, apart: bool) -> None:
        """
        Write a spot where it stood: as far from a neighbour that is still there, else at its line. apart: between
        blank lines, which it had not.
        """
        place = self._place(spot)
        bare = _bare(spot["prefix"], spot["lines"][-1])
        if spot["bears"] and place < len(self.rows) and self.rows[place].line.rstrip("\r\n") == bare.rstrip("\r\n"):
            del self.rows[place]
        parting = [_Row(self.page.line_end)] if apart else []
        self.rows[place:place] = [*parting, *_rows(spot, key, -2 - spot["line"]), *parting]

    def _place(self, spot: Mapping[str, Any]) -> int:
        key, distance = spot["above"]
        ends = [end for _, end in self._spans(key)] if key is not None else [0]
        if ends:
            start = min(ends, key=lambda end: abs(end + distance - spot["line"]))
            following = next((at for at in range(start, len(self.rows)) if self.rows[at].key), len(self.rows))
            if start + distance <= following:
                return int(start + distance)
        key, distance = spot["below"]
        starts = [start for start, _ in self._spans(key)] if key is not None else [len(self.rows)]
        if starts:
            end = min(starts, key=lambda start: abs(start - distance - spot["line"]))
            preceding = next((at + 1 for at in range(end - 1, -1, -1) if self.rows[at].key), 0)
            if end - distance >= preceding:
                return int(end - distance)
        return min(int(spot["line"]), len(self.rows))

    def _spans(self, key: str) -> list[tuple[int, int]]:
        numbers = {row.number for row in self.rows if row.key == key}
        return [self._span(key, number) for number in numbers]

    def _span(self, key: str, number: int) -> tuple[int, int]:
        places = [place for place, row in enumerate(self.rows) if row.key == key and row.number == number]
        return places[0], places[-1] + 1


def _rows(spot: Mapping[str, Any], key: str, number: int) -> list[_Row]:
    rows = [_Row(line, key, number) for line in spot["lines"]]
    return [*rows, *([_Row(spot["gap"])] if spot["gap"] else [])]


def _bare(prefix: str, line: str) -> str:
    return prefix.rstrip() + end_of(line)


@dataclass(frozen=True, slots=True)
class Change:
    """Of one record: from the image that it has, None for none, to the image that it is to have, None to be removed."""

    before: Image | None
    after: Image | None


def edited(page: Page, rules: Rules, changes: Mapping[str, Change]) -> Page | None:
    """
    The page after all of these changes, by key: what is to be there comes before anything goes.

    None where another memory would be changed with it, or what was written would not be read.
    """
    made = {key: change.after for key, change in changes.items() if change.after is not None}
    gone = {key: change.before for key, change in changes.items() if change.before is not None}
    for apart in (False, True) if made else ():
        more = _with(page, rules, made, apart=apart)
        if more is not None:
            return _without(more, rules, gone)
    return None if made else _without(page, rules, gone)


def _with(page: Page, rules: Rules, images: Mapping[str, Image], *, apart: bool) -> Page | None:
    sheet = Sheet(page)
    spots = [(spot, key) for key, image in images.items() for spot in image["spots"]]
    rest = [(spot, key) for spot, key in spots if not sheet.put_before(spot, key)]
    for spot, key in sorted(rest, key=lambda each: each[0]["line"]):
        sheet.put_back(spot, key, apart=apart)
    return _checked(sheet, rules, page.keys + Counter(key for _, key in spots))


def _without(page: Page, rules: Rules, images: Mapping[str, Image]) -> Page | None:
    sheet, wanted = Sheet(page), page.keys
    for key, image in images.items():
        first = image["spots"][0]
        sheet.remove(key, parted="instead" in first and bool(first["gap"]))
        del wanted[key]
    return _checked(sheet, rules, wanted)


def _checked(sheet: Sheet, rules: Rules, wanted: Counter[str]) -> Page | None:
    after = parse(str(sheet), rules)
    return after if after.keys == wanted and after.lines == tuple(row.line for row in sheet.rows) else None
