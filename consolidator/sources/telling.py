"""What a pull or a push did, in a line for people and as a document for programs."""

from typing import Any

from consolidator.report.words import counted
from consolidator.sources.pull import Pulled
from consolidator.sources.push import Pushed


def pulled_line(name: str, pulled: Pulled, *, dry_run: bool = False) -> str:
    """What was taken in, or would be."""
    parts = {"new": pulled.new, "changed": pulled.changed, "gone": pulled.gone, "as before": pulled.unchanged}
    said = [f"{count:,} {what}" for what, count in parts.items() if count]
    said += [f"{count:,} {kind.replace('_', ' ')}s new" for kind, count in pulled.added.items() if count]
    if pulled.uses:
        said.append(f"used {counted(pulled.uses, 'time', 'times')} since")
    if pulled.conflicts:
        said.append(counted(len(pulled.conflicts), "conflict", "conflicts"))
    if pulled.bad_lines:
        said.append(f"{pulled.bad_lines:,} left out")
    return f"{'Would pull' if dry_run else 'Pulled'} {name}: {', '.join(said) or 'nothing new'}."


def pushed_line(name: str, pushed: Pushed, *, dry_run: bool = False) -> str:
    """What was written back, or would be."""
    parts = {"rewritten": pushed.written, "made": pushed.made, "removed": pushed.removed}
    said = [f"{count:,} {what}" for what, count in parts.items() if count]
    if pushed.planned:
        said.append(f"{counted(len(pushed.planned), 'record', 'records')} to write")
    said = said or ["nothing to write"]
    if pushed.conflicts:
        said.append(counted(len(pushed.conflicts), "conflict", "conflicts"))
    by = f" ({pushed.push_id})" if pushed.push_id else ""
    return f"{'Would push' if dry_run else 'Pushed'} {name}: {', '.join(said)}{by}."


def pulled_document(name: str, url: str, pulled: Pulled) -> dict[str, Any]:
    """The same for programs."""
    return {
        "source": name,
        "url": url,
        "exit": pulled.exit_code,
        "new": pulled.new,
        "changed": pulled.changed,
        "gone": pulled.gone,
        "unchanged": pulled.unchanged,
        "uses": pulled.uses,
        "added": dict(pulled.added),
        "known": dict(pulled.known),
        "bad_lines": pulled.bad_lines,
        "bad": [str(bad) for bad in pulled.bad],
        "conflicts": list(pulled.conflicts),
        "notes": list(pulled.notes),
    }


def pushed_document(name: str, url: str, pushed: Pushed) -> dict[str, Any]:
    """The same for programs."""
    return {
        "source": name,
        "url": url,
        "push_id": pushed.push_id,
        "exit": pushed.exit_code,
        "written": pushed.written,
        "made": pushed.made,
        "removed": pushed.removed,
        "unchanged": pushed.unchanged,
        "conflicts": list(pushed.conflicts),
        "planned": list(pushed.planned),
        "notes": list(pushed.notes),
    }
