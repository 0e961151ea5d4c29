"""
Records of a page as images, and a page with some of them removed, put back or taken the place of. Pure.

A record is a text in a file, with every spot where it stands. Its image holds the lines themselves and how far they
stand from the memories before and after them, so that what was removed can be put back at its place, and a page from
which nothing else was changed is then the same, byte for byte.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from consolidator.sources.markdown.blocks import PLAIN, Page, Rules, end_of, parse, write_line
from consolidator.sources.port import Image


def images_of(page: Page, name: str) -> dict[str, Image]:
    """All records of a page, by key, in the order of their first spots."""
    images: dict[str, dict[str, Any]] = {}
    for number, spot in enumerate(page.spots):
        image = images.setdefault(spot.key, {"file": name, "text": spot.text, "spots": []})
        image["spots"].append(_spot_image(page, number))
    return dict(images)


def _spot_image(page: Page, number: int) -> dict[str, Any]:
    spot, lines = page.spots[number], page.lines
    before = page.spots[number - 1] if number else None
    after = page.spots[number + 1] if number + 1 < len(page.spots) else None
    gap = _gap(lines, spot.start, spot.end)
    rest = (after.start if after else len(lines)) - spot.end - (1 if gap else 0)
    return {
        "lines": [*lines[spot.start : spot.end]],
        "gap": gap,
        "line": spot.start,
        "above": [before.key if before else None, spot.start - (before.end if before else 0)],
        "below": [after.key if after else None, rest],
        "prefix": spot.prefix,
        "headings": [*spot.headings],
        "under": [*spot.under],
        "done": spot.done,
        "bears": spot.bears,
        "whole": spot.whole,
    }


def _gap(lines: Sequence[str], start: int, end: int) -> str:
    """The blank line that goes with what stands alone between two."""
    if (start == 0 or not lines[start - 1].strip()) and end < len(lines) and not lines[end].strip():
        return lines[end]
    return ""


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
    line = write_line(text, first["prefix"], whole=first["whole"])
    if line is None:
        return None
    spots = parse(line.lstrip(), PLAIN).spots
    read = " ".join(text.split()) if first["whole"] else spots[0].text
    spot = {**first, "lines": [line + end_of(first["lines"][-1])], "gap": "", "bears": False, "instead": instead}
    return {"file": like["file"], "text": read, "spots": [spot]}


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

    def remove(self, key: str) -> None:
        """Every spot of a record; of what bears others the text alone, so that they keep their place."""
        for number in sorted({row.number for row in self.rows if row.key == key}):
            start, end = self._span(key, number)
            spot = self.page.spots[number]
            if spot.bears:
                self.rows[start:end] = [_Row(_bare(spot.prefix, self.rows[end - 1].line))]
            else:
                gap = 1 if _gap([row.line for row in self.rows], start, end) else 0
                del self.rows[start : end + gap]

    def replace(self, spot: Mapping[str, Any], key: str) -> bool:
        """Write a spot where the first one of another record begins, which is still there. False: there is none."""
        old = spot.get("instead")
        start = next((place for place, row in enumerate(self.rows) if old is not None and row.key == old), None)
        if start is None:
            return False
        self.rows[start:start] = [_Row(line, key, -1) for line in spot["lines"]]
        return True

    def part(self, old: str) -> None:
        """A blank line before a paragraph that stays where a new one has come."""
        place = next((place for place, row in enumerate(self.rows) if row.key == old), 0)
        if place:
            self.rows.insert(place, _Row(self.page.line_end))

    def put_back(self, spot: Mapping[str, Any], key: str) -> None:
        """Write a spot where it stood: as far from a neighbour that is still there, else at its line."""
        place = self._place(spot)
        bare = _bare(spot["prefix"], spot["lines"][-1])
        if spot["bears"] and place < len(self.rows) and self.rows[place].line.rstrip("\r\n") == bare.rstrip("\r\n"):
            del self.rows[place]
        rows = [_Row(line, key, -2 - spot["line"]) for line in spot["lines"]]
        self.rows[place:place] = [*rows, *([_Row(spot["gap"])] if spot["gap"] else [])]

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


def _bare(prefix: str, line: str) -> str:
    return prefix.rstrip() + end_of(line)


def edited(page: Page, rules: Rules, changes: Mapping[str, Image | None]) -> Page | None:
    """
    The page after all of these changes: by key, the image to be written, or None to remove what is there.

    None where another memory would be changed with it, or what was written would not be read.
    """
    removed = {key for key, image in changes.items() if image is None}
    added = {key: image for key, image in changes.items() if image is not None}
    spots = [(spot, key) for key, image in added.items() for spot in image["spots"]]
    sheet = Sheet(page)
    rest = [(spot, key) for spot, key in spots if not sheet.replace(spot, key)]
    for key in removed:
        sheet.remove(key)
    for spot, _ in spots:
        if spot.get("instead") and not spot["prefix"].strip():
            sheet.part(spot["instead"])
    for spot, key in sorted(rest, key=lambda each: each[0]["line"]):
        sheet.put_back(spot, key)
    after = parse(str(sheet), rules)
    wanted = {*page.keys} - removed | {*added}
    return after if {*after.keys} == wanted and after.keys.total() == _total(page, removed, added) else None


def _total(page: Page, removed: set[str], added: Mapping[str, Image]) -> int:
    keys = page.keys
    return keys.total() - sum(keys[key] for key in removed) + sum(len(image["spots"]) for image in added.values())
