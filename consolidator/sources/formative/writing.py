"""
Writing images into formative-memory's store, inside one transaction.

What is written are the differences between two images, over what the row is by then. Rows that its own agent wrote
meanwhile, and all that no image holds, stay as they are.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from consolidator.errors import BadInput
from consolidator.sources.formative.file import state_of
from consolidator.sources.formative.images import (
    OWNED,
    Counted,
    fingerprint_of_row,
    images_of,
    vector_of,
)
from consolidator.sources.port import Done, Image, Write

_LAST = "last_consolidation_at"
_NOTHING: Mapping[str, Any] = {"links": [], "aliases": [], "waiting": []}


def write_images(conn: sqlite3.Connection, writes: Sequence[Write], counted: Counted) -> dict[str, Done]:
    """Make these writes, and tell how each ended."""
    there = images_of(conn, [each.id for each in writes])
    done: dict[str, Done] = {}
    fit: list[Write] = []
    for each in writes:
        if conflict := _conflict(each.before, there.get(each.id)):
            done[each.id] = Done(conflict=conflict)
        else:
            fit.append(each)
    gone = [each for each in fit if each.after is None and each.id in there]
    new = [each.after for each in fit if each.after is not None and each.id not in there]
    _remove(conn, [each.id for each in gone])
    _insert(conn, new)
    for each in fit:
        if each.after is not None and each.id in there:
            _change(conn, each.id, each.before or {}, each.after)
    for each in sorted(fit, key=lambda each: each.id not in there):
        before = each.before or _NOTHING
        if each.after is not None:
            _link(conn, each.id, before["links"], each.after["links"], over=each.id in there)
            _lead(conn, before["aliases"], each.after["aliases"])
            _mark(conn, each.id, before["waiting"], each.after["waiting"])
        else:
            kept = [one for one in before["waiting"] if not counted.holds(*one[1:])]
            _mark(conn, each.id, before["waiting"], kept)
    _date(conn, fit)
    now = images_of(conn, [each.id for each in fit])
    for each in fit:
        image = now.get(each.id)
        done[each.id] = Done(None if image is None else fingerprint_of_row(image["memory"]))
    return done


def pin_vectors(conn: sqlite3.Connection, path: Path, writes: Sequence[Write], *, model: str | None) -> None:
    """
    See that new vectors are of the model that its vectors are of; the first ones there are say which that is.
    Where neither it nor the settings name one, none is made, and those that come back are its own.

    BadInput where they are of another, or of another size.
    """
    vectors = [vector for each in writes if each.before is None and each.after for vector in [vector_of(each.after)]]
    sizes = {len(vector) // 4 for vector in vectors if vector is not None}
    if not sizes:
        return
    pin = state_of(conn, path).pin
    if pin is None and model is not None:
        provider, _, name = model.rpartition(":")
        named = {"embedding_provider_id": provider, "embedding_model": name}
        conn.executemany("INSERT OR REPLACE INTO state (key, value) VALUES (?, ?)", [*named.items()])
    elif pin is not None and model not in (pin, f"openai:{pin}"):
        raise BadInput(f"{path}: its vectors are of {pin} by now; push again")
    held = conn.execute("SELECT length(embedding) / 4 FROM memory_embeddings LIMIT 1").fetchone()
    if sizes - {*(held or sizes)}:
        raise BadInput(f"{path}: its vectors have {held[0]} numbers, and new ones {max(sizes)}; look which model it is")


def _conflict(before: Image | None, now: Image | None) -> str | None:
    if before is None:
        return None if now is None else "is there by now"
    if now is None:
        return "was removed over there meanwhile"
    same = fingerprint_of_row(before["memory"]) == fingerprint_of_row(now["memory"])
    return None if same else "was edited over there meanwhile"


def _remove(conn: sqlite3.Connection, ids: list[str]) -> None:
    """Memories with all that is theirs. Ratings and showings stay, and what led there goes on leading."""
    keys = [(each,) for each in ids]
    conn.executemany("DELETE FROM memories WHERE id = ?", keys)
    conn.executemany("DELETE FROM memory_embeddings WHERE id = ?", keys)
    conn.executemany("DELETE FROM associations WHERE memory_a = ?", keys)
    conn.executemany("DELETE FROM associations WHERE memory_b = ?", keys)
    _leave_search(conn, ids)


def _leave_search(conn: sqlite3.Connection, ids: Iterable[str]) -> None:
    """Rows of full-text search, which no index finds by their id: all are found in one pass."""
    wanted = {*ids}
    if wanted:
        found = [(row,) for row, key in conn.execute("SELECT rowid, id FROM memory_fts") if key in wanted]
        conn.executemany("DELETE FROM memory_fts WHERE rowid = ?", found)


def _insert(conn: sqlite3.Connection, images: Sequence[Image]) -> None:
    """Memories with what finds them. One that is there is no more an alias of another."""
    _leave_search(conn, (image["memory"]["id"] for image in images))
    for image in images:
        memory = image["memory"]
        names, marks = ", ".join(memory), ", ".join("?" * len(memory))
        conn.execute(f"INSERT INTO memories ({names}) VALUES ({marks})", [*memory.values()])
        conn.execute("DELETE FROM memory_aliases WHERE old_id = ?", (memory["id"],))
        conn.execute(
            "INSERT INTO memory_fts (id, content, type) VALUES (?, ?, ?)",
            (memory["id"], memory["content"], memory["type"]),
        )
        if (vector := vector_of(image)) is not None:
            conn.execute("INSERT OR REPLACE INTO memory_embeddings VALUES (?, ?)", (memory["id"], vector))


def _change(conn: sqlite3.Connection, key: str, before: Image, after: Image) -> None:
    was, is_to_be = before["memory"], after["memory"]
    changed = {name: is_to_be[name] for name in OWNED if is_to_be[name] != was[name]}
    if changed:
        sets = ", ".join(f"{name} = ?" for name in changed)
        conn.execute(f"UPDATE memories SET {sets} WHERE id = ?", [*changed.values(), key])


_ADD_LINK = """
INSERT INTO associations (memory_a, memory_b, weight, created_at, last_updated_at)
SELECT ?, ?, ?, ?, ?
WHERE EXISTS (SELECT 1 FROM memories WHERE id = ?)
ON CONFLICT (memory_a, memory_b)
"""
_OVER = "DO UPDATE SET weight = excluded.weight, last_updated_at = excluded.last_updated_at"


def _link(
    conn: sqlite3.Connection, key: str, before: Sequence[list[Any]], after: Sequence[list[Any]], *, over: bool
) -> None:
    """
    Its links, as far as the other end is there; that end's image holds the same link.

    over: what is there is written over. A memory that comes back takes what its other end says by now.
    """
    was, is_to_be = ({other: rest for other, *rest in some} for some in (before, after))
    pairs = [sorted((key, other)) for other in was if other not in is_to_be]
    conn.executemany("DELETE FROM associations WHERE memory_a = ? AND memory_b = ?", pairs)
    conn.executemany(
        f"{_ADD_LINK} {_OVER if over else 'DO NOTHING'}",
        [(*sorted((key, other)), *rest, other) for other, rest in is_to_be.items() if was.get(other) != rest],
    )


def _lead(conn: sqlite3.Connection, before: Sequence[list[Any]], after: Sequence[list[Any]]) -> None:
    """What leads to it. A memory that leads elsewhere already goes on doing so."""
    was, is_to_be = ({old: rest for old, *rest in some} for some in (before, after))
    conn.executemany(
        "DELETE FROM memory_aliases WHERE old_id = ? AND new_id = ?",
        [(old, new) for old, (new, *_) in was.items() if old not in is_to_be],
    )
    conn.executemany(
        "INSERT OR IGNORE INTO memory_aliases (old_id, new_id, reason, created_at) VALUES (?, ?, ?, ?)",
        [(old, *rest) for old, rest in is_to_be.items() if old not in was],
    )


def _mark(conn: sqlite3.Connection, key: str, before: Sequence[list[Any]], after: Sequence[list[Any]]) -> None:
    """Its ratings that are counted from now on, or are not any more; one that was given anew meanwhile waits."""
    was, is_to_be = ({(message, time) for message, _, time in some} for some in (before, after))
    conn.executemany(
        "UPDATE message_memory_attribution SET reinforcement_applied = ?"
        " WHERE message_id = ? AND memory_id = ? AND coalesce(updated_at, created_at) = ?",
        [
            (applied, message, key, time)
            for applied, some in ((1, was - is_to_be), (0, is_to_be - was))
            for message, time in some
        ],
    )


def _date(conn: sqlite3.Connection, writes: Sequence[Write]) -> None:
    """
    Say when strengths were last true: the time of the push, so that its own nights do not decay for that again, and
    what it was before where a push is taken back.
    """
    told = [(each.before and each.before["true_at"], each.after["true_at"]) for each in writes if each.after]
    (now,) = conn.execute("SELECT max(value) FROM state WHERE key = ?", (_LAST,)).fetchone()
    earlier = [after for before, after in told if before and before == now and (after or "") < before]
    later = [after for _, after in told if after and after > (now or "")]
    if not earlier and not later:
        return
    conn.execute("DELETE FROM state WHERE key = ?", (_LAST,))
    if told_now := max(filter(None, later or earlier), default=None):
        conn.execute("INSERT INTO state (key, value) VALUES (?, ?)", (_LAST, told_now))
