"""What became of records that are named by what they say: which new one is an old one, moved or edited at its place."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

VERSION = 1


@dataclass(frozen=True, slots=True)
class Seen:
    """
    What a reading saw. hashes: SHA-256 of each file, empty where it could not be understood. keys: its records in
    order, which for such a file are those that it had before.
    """

    hashes: dict[str, str] = field(default_factory=dict)
    keys: dict[str, list[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        files = {name: [digest, *self.keys[name]] for name, digest in self.hashes.items()}
        return json.dumps({"version": VERSION, "files": files}, ensure_ascii=False, separators=(",", ":"))


def seen(since: str | None) -> Seen:
    """The reading that this was told of; an empty one where it was told by another version, or never."""
    told = json.loads(since) if since else {}
    if told.get("version") != VERSION:
        return Seen()
    files = told["files"]
    return Seen(
        {name: digest for name, (digest, *_) in files.items()}, {name: keys for name, (_, *keys) in files.items()}
    )


def moved(before: Seen, now: Seen) -> dict[tuple[str, str], tuple[str, str]]:
    """
    By (file, key) of a record that is new, what it was before: the same text that is gone from elsewhere, else the one
    that is gone from the same place, between the same neighbours.
    """
    fresh = list(_but(now, before))
    if not fresh:
        return {}
    unknown, lost = {*fresh}, dict.fromkeys(_but(before, now))
    found: dict[tuple[str, str], tuple[str, str]] = {}
    by_key: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for old in lost:
        by_key[old[1]].append(old)
    for new in fresh:
        if by_key[new[1]]:
            found[new] = by_key[new[1]].pop(0)
            del lost[found[new]]
    for name in dict.fromkeys(name for name, _ in fresh):
        for old_keys, new_keys in _replaced(before.keys.get(name, ()), now.keys[name]):
            went = [(name, key) for key in old_keys if (name, key) in lost]
            came = [(name, key) for key in new_keys if (name, key) in unknown and (name, key) not in found]
            if len(went) == len(came):  # else nobody knows which is which
                found |= zip(came, went, strict=True)
    return found


def _but(one: Seen, other: Seen) -> Iterator[tuple[str, str]]:
    for name, keys in one.keys.items():
        known = {*other.keys.get(name, ())}
        yield from ((name, key) for key in keys if key not in known)


def _replaced(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """What stands where something else stood."""
    for what, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "replace":
            yield old[start:end], new[new_start:new_end]
