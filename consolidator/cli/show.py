"""Commands that look at one memory or one night and change nothing: show, history."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from consolidator.cli.output import ID_SHOWN, emit, emit_json, emit_pairs, emit_table, harmless, one_line, send
from consolidator.cli.session import (
    IdArgument,
    JsonOption,
    OutputOption,
    ScopeOption,
    Session,
    clock,
    one_of,
    scope_text,
)
from consolidator.errors import BadInput

if TYPE_CHECKING:
    import sqlalchemy as sa

    from consolidator.store.find import Found

FORMS = ("text", "markdown", "html", "json")
_LINKS_SHOWN = 10


def show(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="ID", help="A memory, by 8 or more characters of its id; a run, or `last`.")
    ],
    scope: ScopeOption = None,
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="FORM", help=f"Of a run's report: {', '.join(FORMS)}.", show_default=False),
    ] = None,
    decisions: Annotated[bool, typer.Option("--decisions", help="Of a run: list every decision.")] = False,
    output: OutputOption = None,
    json: JsonOption = False,
) -> None:
    """
    Show a memory whole, or what a night did.

    \b
    Example:
        consolidate show 3f9a1c22
        consolidate show last --format html -o night.html
    """
    from consolidator.store.find import LAST, find_memory, find_run, is_prefix

    form = None if form is None else one_of("--format", form, FORMS)
    wanted = scope_text(scope)
    with ctx.obj.open("read") as store, store.read() as conn:
        run = find_run(conn, name)
        if run is not None:
            _show_run(conn, run.key, form or ("json" if json else "text"), decisions=decisions, output=output)
            return
        if name == LAST:
            raise BadInput("last: no night has run yet; `consolidate run` runs one")
        if not is_prefix(name):
            raise BadInput(
                f"{name}: neither a run nor the beginning of a memory's id; see `consolidate runs` and `list`"
            )
        if decisions or form not in (None, "text", "json"):
            raise BadInput(f"{name}: a memory has no {'decisions' if decisions else form}; that is for runs")
        _show_memory(conn, ctx.obj, find_memory(conn, name, wanted), json=json or form == "json", output=output)


def _show_run(conn: "sa.Connection", key: int, form: str, *, decisions: bool, output: Path | None) -> None:
    from consolidator.cli.telling import told
    from consolidator.report import from_json, render
    from consolidator.report.document import dumps
    from consolidator.store.journal import decisions_of_run, run_document

    run = run_document(conn, key)
    listed = list(decisions_of_run(conn, key)) if decisions else []
    if form == "json":
        text = dumps(run | ({"decisions": listed} if decisions else {}))
    else:
        head = [f"{run['run_id']} was undone at {run['undone_at']}."] if run["undone_at"] and form == "text" else []
        if run["report"] is None:
            raise BadInput(
                f"{run['run_id']}: has no report, it is under way or was killed; --decisions --json lists it"
            )
        told_decisions = [told(decision) for decision in listed] if form == "text" else []
        text = "\n".join([*head, *told_decisions, render(from_json(run["report"]), "detailed", form)])
    send(text, output)


def _show_memory(conn: "sa.Connection", session: Session, found: "Found", *, json: bool, output: Path | None) -> None:
    from consolidator.report.document import dumps
    from consolidator.store.readers import Clocks, links_of, memory_documents, merged_from, vectors_of

    now = clock()
    clocks = Clocks(conn, now=now, rates=session.rates)
    (document,) = memory_documents(conn, [found.key], {found.scope.key: found.scope}, clocks, now=now)
    document["links"] = links_of(conn, found.key, clocks.of(found.scope.key), now=now)
    document["merged_from"] = merged_from(conn, found.key)
    document["embeddings"] = list(vectors_of(conn, found.key))
    if json:
        send(dumps(document), output)
        return
    if output is not None:
        raise BadInput("-o: of a memory only JSON goes to a file; add --json")
    emit(harmless(document["content"]) + "\n")
    emit_pairs(
        {**_facts(document), "vectors": ", ".join(f"{v['model']} ({v['dimension']})" for v in document["embeddings"])}
    )
    if document["merged_from"]:
        emit("")
        emit_table(
            ("merged from", "status", "text"),
            [
                (source["id"][:ID_SHOWN], source["status"] or "", source["content"] or "(known only by its name)")
                for source in document["merged_from"]
            ],
        )
    if document["links"]:
        emit("")
        emit_table(
            ("weight", "link", "id", "text"),
            [
                (f"{link['weight']:.3f}", "inferred" if link["inferred"] else "direct", link["id"][:ID_SHOWN],
                 link["content"])
                for link in document["links"][:_LINKS_SHOWN]
            ],
        )  # fmt: skip
        if len(document["links"]) > _LINKS_SHOWN:
            emit(f"and {len(document['links']) - _LINKS_SHOWN} weaker links; --json lists all")


def _facts(document: dict[str, Any]) -> dict[str, object]:
    from consolidator.scopes import canonical, spell

    archived = document["archived_at"] and f"{document['archived_at']}, {document['archived_because']}"
    flags = [name for name in ("pinned", "kept", "consolidated") if document[name]]
    return {
        "id": document["id"],
        "scope": spell(canonical(document["scope"])),
        "type": document["type"],
        "status": document["status"],
        "strength": f"{document['strength']:.3f}",
        "flags": ", ".join(flags),
        "archived": archived,
        "superseded by": document["superseded_by"],
        "valid until": document["valid_until"],
        "created": document["created_at"],
        "observed": document["observed_at"],
        "time": None if document["temporal_state"] == "none" else document["temporal_state"],
        "anchor": document["temporal_anchor"],
        "end": document["temporal_end"],
        "recurrence": document["recurrence"],
        "expires": document["expires_at"],
        "source": document["source"],
        "topics": ", ".join(document["topics"] or ()),
    }


def history(ctx: typer.Context, name: IdArgument, scope: ScopeOption = None, json: JsonOption = False) -> None:
    """
    Tell what happened to a memory, in order.

    \b
    Example:
        consolidate history 3f9a1c22
    """
    from consolidator.store.find import find_identity
    from consolidator.store.history import history

    wanted = scope_text(scope)
    with ctx.obj.open("read") as store, store.read() as conn:
        found = find_identity(conn, name, wanted)
        entries = history(conn, found)
    if json:
        emit_json({"id": found.id, "content": found.content, "entries": entries})
        return
    emit(f"{found.id[:ID_SHOWN]} {one_line(found.content or '(known only by its events)')}\n")
    emit_table(("at", "what", "how"), [(entry["at"], entry["what"], _how(entry)) for entry in entries])


def _how(entry: dict[str, Any]) -> str:
    match entry["what"]:
        case "created":
            return f"{entry['type']}, from {entry['source']}"
        case "base":
            return f"strength {entry['strength']:.3f}"
        case "shown":
            score = "" if entry["score"] is None else f", score {entry['score']:.2f}"
            return f"{entry['mode']}{score}, turn {entry['turn_id']}{_waits(entry)}"
        case "used":
            through = ", through an alias" if entry["through_alias"] else ""
            return f"{entry['evidence']} {entry['confidence']:+.2f}, turn {entry['turn_id']}{through}{_waits(entry)}"
        case "alias":
            return f"{entry['old_id'][:ID_SHOWN]} -> {entry['new_id'][:ID_SHOWN]}: {entry['reason']}"
        case "merged":
            return f"{entry['source_id'][:ID_SHOWN]} into {entry['memory_id'][:ID_SHOWN]}"
        case "decided":
            others = "".join(f" with {(each['id'] or 'gone')[:ID_SHOWN]}" for each in entry["with"])
            undone = ", undone" if entry["undone"] else ""
            return f"{entry['verb']}{others}: {entry['because']} ({entry['run_id']}{undone})"
        case _:
            return str(entry.get("because") or "")


def _waits(entry: dict[str, Any]) -> str:
    return ", waiting for a night" if entry["waiting"] else ""
