"""Commands that look at many memories and change nothing: list, search, stats, graph."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from consolidator.cli.output import ID_SHOWN, emit, emit_json, emit_pairs, emit_table, send
from consolidator.cli.session import JsonOption, OutputOption, ScopeOption, clock, one_of, scope_text

STATUSES = ("active", "superseded", "archived", "all")
GRAPHS = ("json", "dot", "graphml")

StatusOption = Annotated[str, typer.Option("--status", metavar="S", help=", ".join(STATUSES))]
CountOption = Annotated[int, typer.Option("-n", metavar="N", min=1, help="At most so many.")]


def list_(
    ctx: typer.Context,
    scope: ScopeOption = None,
    status: StatusOption = "active",
    kind: Annotated[
        str | None, typer.Option("--type", metavar="T", help="fact, preference, ...", show_default=False)
    ] = None,
    count: CountOption = 50,
    json: JsonOption = False,
) -> None:
    """
    List memories, the strongest first.

    \b
    Example:
        consolidate list --status archived -n 20
    """
    from consolidator.store.find import find_scopes
    from consolidator.store.readers import Clocks, memory_documents, strongest

    chosen = one_of("--status", status, STATUSES)
    wanted, now = scope_text(scope), clock()
    with ctx.obj.open("read") as store, store.read() as conn:
        scopes = find_scopes(conn, wanted)
        clocks = Clocks(conn, now=now, rates=ctx.obj.rates)
        keys = strongest(
            conn, scopes, clocks, now=now, status=None if chosen == "all" else chosen, kind=kind, limit=count
        )
        found = memory_documents(conn, keys, {each.key: each for each in scopes}, clocks, now=now)
    _emit_memories(found, chosen, json=json, scopes=len(scopes))


def search(
    ctx: typer.Context,
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="What to look for.")],
    scope: ScopeOption = None,
    status: StatusOption = "active",
    count: CountOption = 20,
    json: JsonOption = False,
) -> None:
    """
    Find memories by their words.

    The best match comes first. Archived and superseded ones are found with --status all.

    \b
    Example:
        consolidate search birthday Linnea
    """
    from consolidator.store.find import find_scopes
    from consolidator.store.readers import Clocks, memory_documents
    from consolidator.store.search import search_keys

    chosen = one_of("--status", status, STATUSES)
    wanted, now = scope_text(scope), clock()
    with ctx.obj.open("read") as store, store.read() as conn:
        scopes = find_scopes(conn, wanted)
        ranked = search_keys(
            conn,
            " ".join(words),
            scopes[0].key if wanted is not None else None,
            count,
            statuses=None if chosen == "all" else [chosen],
        )
        clocks = Clocks(conn, now=now, rates=ctx.obj.rates)
        keys = [key for key, _ in ranked]
        found = memory_documents(conn, keys, {each.key: each for each in scopes}, clocks, now=now)
    _emit_memories(found, chosen, json=json, scopes=len(scopes))


def _emit_memories(found: list[dict[str, Any]], chosen: str, *, json: bool, scopes: int) -> None:
    from consolidator.scopes import canonical, spell

    if json:
        emit_json({"memories": found})
        return
    if not found:
        emit("No memory." if chosen == "all" else f"No {chosen} memory; --status all looks among the others too.")
        return
    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "id": lambda each: each["id"][:ID_SHOWN],
        "strength": lambda each: f"{each['strength']:.3f}",
        "type": lambda each: each["type"],
        "status": _status,
        "time": lambda each: each["temporal_state"].replace("none", ""),
        "scope": lambda each: spell(canonical(each["scope"])),
        "text": lambda each: each["content"],
    }
    if scopes == 1:
        del columns["scope"]
    if {columns["status"](each) for each in found} == {"active"}:
        del columns["status"]
    emit_table(tuple(columns), [[cell(each) for cell in columns.values()] for each in found])


def _status(memory: dict[str, Any]) -> str:
    if not memory["pinned"]:
        return str(memory["status"])
    return "pinned" if memory["status"] == "active" else f"{memory['status']}, pinned"


def stats(ctx: typer.Context, scope: ScopeOption = None, json: JsonOption = False) -> None:
    """
    Count what is in the store, and what waits for the night.

    \b
    Example:
        consolidate stats
    """
    from consolidator.scopes import canonical, spell
    from consolidator.store.census import stats
    from consolidator.store.find import find_scopes
    from consolidator.store.readers import Clocks

    wanted, now = scope_text(scope), clock()
    with ctx.obj.open("read") as store, store.read() as conn:
        clocks = Clocks(conn, now=now, rates=ctx.obj.rates)
        found = stats(store, conn, find_scopes(conn, wanted), clocks, now=now)
    if json:
        emit_json(found)
        return
    last = found["last_run"]
    emit_pairs(
        {
            "store": f"{found['store']['kind']}, {found['store']['bytes'] / 1e6:.1f} MB",
            "last run": f"{last['run_id']}, as of {last['as_of']}" if last else "none yet",
        }
    )
    if found["scopes"]:
        emit("")
        heads = ("active", "superseded", "archived", "direct links", "inferred links", "waiting", "scope")
        emit_table(
            heads,
            [
                (
                    *each["memories"].values(),
                    *each["links"].values(),
                    sum(each["pending"].values()),
                    spell(canonical(each["scope"])),
                )
                for each in found["scopes"]
            ],
        )


def graph(
    ctx: typer.Context,
    form: Annotated[str, typer.Option("--format", metavar="FORM", help=", ".join(GRAPHS))] = "json",
    scope: ScopeOption = None,
    output: OutputOption = None,
) -> None:
    """
    Give the graph of linked active memories.

    \b
    Example:
        consolidate graph --format dot -o memories.dot
    """
    from consolidator.report.document import dumps
    from consolidator.store.find import find_scopes
    from consolidator.store.graph import as_dot, as_graphml, graph

    chosen = one_of("--format", form, GRAPHS)
    wanted = scope_text(scope)
    with ctx.obj.open("read") as store:
        with store.read() as conn:
            found = graph(conn, find_scopes(conn, wanted), now=clock(), rates=ctx.obj.rates)
        text = dumps(found) if chosen == "json" else "\n".join((as_dot if chosen == "dot" else as_graphml)(found))
        send(text, output, never=Path(store.url.database or "") if store.dialect == "sqlite" else None)
