"""Commands that take memories in and give them out: import, export."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from consolidator.cli.output import emit, emit_json, note, open_or_refuse, output_file, progress
from consolidator.cli.session import (
    AsOfOption,
    JsonOption,
    OutputOption,
    ScopeOption,
    Session,
    WhereOption,
    moment,
    one_of,
    scope_text,
)

if TYPE_CHECKING:
    from consolidator.exchange.intake import Intake
    from consolidator.exchange.records import BadLine, Record
    from consolidator.store.engine import Store

FORMS = ("jsonl", "json")
_BAD_LINES_SHOWN = 20

SkipBadOption = Annotated[bool, typer.Option("--skip-bad", help="Take the good lines, list the bad ones (exit 3).")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Change nothing; say what would be taken in.")]


def import_jsonl(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A consolidator-jsonl file; - for standard input.")],
    scope: ScopeOption = None,
    as_of: AsOfOption = None,
    skip_bad: SkipBadOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> int:
    """
    Take in a file of lines, as `export` writes them.

    A file with a bad line is refused whole.

    \b
    Example:
        consolidate import jsonl memories.jsonl --scope user=ada
    """
    from consolidator.exchange.lines import read_lines

    name = "standard input" if str(path) == "-" else str(path)
    with ExitStack() as stack:
        stream: BinaryIO = sys.stdin.buffer if str(path) == "-" else stack.enter_context(open_or_refuse(path, "rb"))
        return _take_in(
            ctx.obj,
            name,
            read_lines(stream, name),
            scope=scope,
            as_of=as_of,
            skip_bad=skip_bad,
            dry_run=dry_run,
            json=json,
        )


def import_formative(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The associations.db of formative-memory.")],
    scope: ScopeOption = None,
    as_of: AsOfOption = None,
    skip_bad: SkipBadOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> int:
    """
    Take in the store of formative-memory.

    It is only read, and may be in use. Done again, it takes in what is new since.

    \b
    Example:
        consolidate import formative ~/.openclaw/memory/associative/associations.db
    """
    from consolidator.sources.formative import read_formative

    return _take_in(
        ctx.obj,
        str(path),
        read_formative(path),
        scope=scope,
        as_of=as_of,
        skip_bad=skip_bad,
        dry_run=dry_run,
        json=json,
    )


def _take_in(
    session: Session,
    name: str,
    records: "Iterable[Record | BadLine]",
    *,
    scope: str | None,
    as_of: str | None,
    skip_bad: bool,
    dry_run: bool,
    json: bool,
) -> int:
    """Read everything, then write it: a file that is refused leaves no trace, not even a store that was not there."""
    from consolidator.exchange.intake import BadLines, take_spool
    from consolidator.exchange.spool import Spool

    now = moment(as_of, ahead=False)
    with ExitStack() as stack:
        spool = stack.enter_context(Spool(name, scope=scope_text(scope)))
        with progress(f"Reading {name}") as advance:
            spool.fill(records, advancing(advance))
        if spool.bad_lines and not skip_bad:
            raise BadLines(tuple(spool.bad), spool.bad_lines)
        store = stack.enter_context(receiving_store(session, dry_run=dry_run))
        with progress("Writing", total=sum(spool.counts.values())) as advance:
            told = advancing(advance)
            intake = take_spool(
                store,
                spool,
                now=now,
                skip_bad=skip_bad,
                dry_run=dry_run,
                progress=lambda _what, done, _total: told(done),
            )
    return _tell(intake, dry_run=dry_run, json=json)


@contextmanager
def receiving_store(session: Session, *, dry_run: bool) -> Iterator["Store"]:
    """
    The store that an import goes to, made where there is none.

    One made for an import that is refused goes again; a dry run of such an import has a store of its own that
    nobody sees.
    """
    from consolidator.store.engine import open_store
    from consolidator.store.urls import is_file, parse_url, path_of

    url = parse_url(session.url)
    is_new = is_file(url) and not path_of(url).exists()
    if dry_run:
        with ExitStack() as stack:
            if is_new:
                folder = stack.enter_context(TemporaryDirectory())
                yield stack.enter_context(open_store(os.path.join(folder, "store.db"), mode="create"))
            else:
                yield stack.enter_context(session.open("read"))
        return
    store = session.open("create")
    try:
        yield store
    except BaseException:
        unused = is_new and _is_empty(store)
        store.close()
        if unused:
            path_of(url).unlink(missing_ok=True)
        raise
    store.close()


def _is_empty(store: "Store") -> bool:
    import sqlalchemy as sa

    from consolidator.store.tables import scopes

    with store.read() as conn:
        return not conn.scalar(sa.select(sa.func.count()).select_from(scopes))


def advancing(advance: Callable[[int], None]) -> Callable[[int], None]:
    """A listener to how much is done, for a bar that hears how much more."""
    before = 0

    def told(done: int) -> None:
        nonlocal before
        advance(done - before)
        before = done

    return told


def _tell(intake: "Intake", *, dry_run: bool, json: bool) -> int:
    code = 3 if intake.bad_lines else 0
    if json:
        emit_json(
            {
                "dry_run": dry_run,
                "exit": code,
                "added": intake.added,
                "known": intake.known,
                "forgotten": intake.forgotten,
                "bad_lines": intake.bad_lines,
                "bad": [str(bad) for bad in intake.bad],
                "notes": list(intake.notes),
            }
        )
        return code
    for bad in intake.bad[:_BAD_LINES_SHOWN]:
        note(f"skipped: {bad}")
    if intake.bad_lines > _BAD_LINES_SHOWN:
        note(f"skipped: {intake.bad_lines - _BAD_LINES_SHOWN} more bad lines (--json lists them)")
    for line in intake.notes:
        note(line)
    kinds = {
        "Would be added" if dry_run else "Added": intake.added,
        "Known already": intake.known,
        "Forgotten here, left out": intake.forgotten,
    }
    said = [f"{what}: {_counts(counts)}." for what, counts in kinds.items() if any(counts.values())]
    emit(" ".join(said) or "Nothing to take in.")
    return code


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {_plural(kind, count)}" for kind, count in counts.items() if count)


def _plural(kind: str, count: int) -> str:
    word = kind.replace("_", " ")
    if count == 1:
        return word
    if word.endswith("y"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith("s") else f"{word}s"


def export(
    ctx: typer.Context,
    form: Annotated[
        str, typer.Option("--format", metavar="FORM", help="jsonl: everything, to import again. json: values at T.")
    ] = "jsonl",
    as_of: AsOfOption = None,
    scope: ScopeOption = None,
    where: WhereOption = None,
    output: OutputOption = None,
) -> None:
    """
    Give out what the store holds.

    With --where only the memories for which that holds, with what is said of them alone.

    \b
    Example:
        consolidate export --format json --as-of 2026-12-24T18:00:00Z -o values.json
        consolidate export --where type=preference --where "strength>0.5" -o preferences.jsonl
    """
    chosen = one_of("--format", form, FORMS)
    now, wanted = moment(as_of, ahead=True), scope_text(scope)
    from consolidator.conditions import parse_conditions
    from consolidator.exchange.export import export_jsonl, export_values
    from consolidator.report.document import dumps
    from consolidator.store.find import find_scopes
    from consolidator.store.matching import matching
    from consolidator.store.readers import Clocks
    from consolidator.store.urls import is_file, path_of

    session: Session = ctx.obj
    conditions = parse_conditions(where or ())
    with session.open("read") as store, store.read() as conn:
        scopes: Any = None if wanted is None else [each.text for each in find_scopes(conn, wanted)]
        only: frozenset[tuple[str, str]] | None = None
        if where:
            clocks = Clocks(conn, now=now, rates=session.rates)
            found = matching(conn, find_scopes(conn, wanted), conditions, clocks, now=now)
            only = frozenset((each.scope.text, each.id) for each in found)
        never = path_of(store.url) if is_file(store.url) else None
        with output_file(output, never=never) as file, progress("Exporting"):
            if chosen == "jsonl":
                export_jsonl(conn, file, scopes=scopes, as_of=now, rates=session.rates, whole=as_of is None, only=only)
            else:
                values = export_values(conn, scopes=scopes, as_of=now, rates=session.rates, only=only)
                file.write(f"{dumps(values)}\n".encode())
