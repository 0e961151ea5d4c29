"""The use test: whether a reply refers to a memory that was shown. Shown is not used."""

from collections.abc import Sequence

from consolidator.day.place import Place
from consolidator.recall.terms import terms


def used(place: Place, shown: Sequence[tuple[str, str]], reply: str, asked: Sequence[str]) -> set[str]:
    """The ids of the memories (id, content) that a reply to what was asked refers to."""
    known = {term for text in asked for term in terms(text)}
    said = {*terms(reply)}
    found = set()
    for name, content in shown:
        telling = {*terms(content)} - known
        if telling and len(telling & said) >= len(telling) / 2:
            found.add(name)
    return found
