"""`consolidate recall`: what a scope remembers that answers a question. Records nothing, changes nothing."""

import json as json_text
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from consolidator.cli.output import ID_SHOWN, emit, emit_json, emit_table, note, open_or_refuse
from consolidator.cli.session import AgentOption, AsOfOption, JsonOption, ScopeOption, Session, moment, scope_text
from consolidator.errors import BadInput
from consolidator.instants import format_instant
from consolidator.scopes import canonical

if TYPE_CHECKING:
    from consolidator.recall.recall import Recalled


def recall(
    ctx: typer.Context,
    query: Annotated[str | None, typer.Argument(metavar="QUERY", help="What to recall.", show_default=False)] = None,
    words: Annotated[
        int | None, typer.Option("--words", metavar="N", min=1, help="At most so many words.", show_default=False)
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=1,
            help="At most so many memories; 10 without --words or --tokens.",
            show_default=False,
        ),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option("--tokens", metavar="N", min=1, help="At most so many tokens, about.", show_default=False),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="T", help="Of this type alone; may be given again.", show_default=False),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="T", help="Observed, else created, at T (a date or time) or later."),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="T", help="Observed, else created, at T or earlier.")
    ] = None,
    upcoming: Annotated[bool, typer.Option("--upcoming", help="What is still to come goes first.")] = False,
    recency: Annotated[
        float, typer.Option("--recency", metavar="W", min=0, max=1_000, help="How much being recent counts.")
    ] = 0.0,
    importance: Annotated[
        float, typer.Option("--importance", metavar="W", min=0, max=1_000, help="How much importance counts.")
    ] = 0.0,
    least_score: Annotated[
        float | None,
        typer.Option(
            "--least-score",
            metavar="S",
            min=0,
            max=1,
            show_default=False,
            help="Leave out what answers less, before strength counts; 0.15 without it.",
        ),
    ] = None,
    deep: Annotated[bool, typer.Option("--deep", help="Archived and superseded memories too.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show what each score is made of.")] = False,
    queries: Annotated[
        Path | None,
        typer.Option(
            "--queries",
            metavar="FILE",
            help='Many: a {"query", "scope"?} a line of a file or, with -, of standard input; with --json.',
            show_default=False,
        ),
    ] = None,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    as_of: AsOfOption = None,
    json: JsonOption = False,
) -> None:
    """
    Recall what answers a question, the best first.

    By meaning and by words; names and times in the question count too, and what was said together helps itself. A
    score is the sum of the parts that --explain shows. Without --scope, from the empty scope. Nothing is recorded.

    \b
    Example:
        consolidate recall "Where does Linnea live?" --words 150
        consolidate recall "What is planned?" --type plan --upcoming --since 2026-05-01
    """
    from consolidator.day.given import instant
    from consolidator.embedding.choose import embedder_of
    from consolidator.recall.need import no_need
    from consolidator.recall.recall import LIMIT, recall
    from consolidator.recall.scoring import USUAL
    from consolidator.store.vectors import pin_of

    session: Session = ctx.obj
    if (query is None) == (queries is None):
        raise BadInput("say what to recall: QUERY, or --queries FILE")
    if queries is not None and not json:
        raise BadInput("--queries gives JSON, a line for each query; add --json")
    asked_for, now = scope_text(scope), moment(as_of, ahead=False)
    given = session.scope_of(agent, asked_for)
    start, end = instant("--since", since), instant("--until", until, end=True)
    asked = [(query, given)] if query is not None else _read(queries, given)
    for _, where in asked:
        session.scope_of(agent, where)
    with session.open("read") as store:
        with store.read() as conn:
            choice = embedder_of(session.settings.embedding, pin_of(conn), os.environ)
        for text, where in asked:
            found = recall(
                store,
                where,
                text or "",
                now=now,
                embedder=choice.embedder,
                why_no_embedder=choice.why,
                rates=session.rates,
                limit=LIMIT if limit is None and words is None and tokens is None else limit,
                words=words,
                tokens=tokens,
                types=types or None,
                since=start,
                until=end,
                upcoming_first=upcoming,
                least_score=least_score,
                weights=USUAL._replace(recency=recency, importance=importance),
                deep=deep,
                explain=explain,
            )
            if queries is not None:
                emit(json_text.dumps(_document(found), ensure_ascii=False))
            elif json:
                emit_json(_document(found))
            else:
                _tell(found, explain=explain)
                if not found.results and asked_for is None and agent is None and not no_need(found.query):
                    note("consolidate: without --scope the empty scope {} is meant; `consolidate stats` lists them all")


def _read(path: Path | None, scope: str) -> list[tuple[str, str]]:
    """The queries of a file and their scopes. BadInput names the first line that is none."""
    found = []
    assert path is not None
    with nullcontext(sys.stdin.buffer) if str(path) == "-" else open_or_refuse(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                asked = json_text.loads(line)
                query, where = asked["query"], asked.get("scope")
                if not isinstance(query, str) or not isinstance(where, dict | None):
                    raise TypeError
                found.append((query, scope if where is None else canonical(where)))
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                raise BadInput(
                    f'{path}:{number}: is not a query; write {{"query": "...", "scope": {{"user": "ada"}}}}'
                ) from None
    return found


def _document(found: "Recalled") -> dict[str, Any]:
    document: dict[str, Any] = {"query": found.query, "mode": found.mode}
    if found.because:
        document["because"] = found.because
    if found.reason:
        document["reason"] = found.reason
    document["results"] = [
        {
            "id": each.id,
            "content": each.content,
            "score": each.score,
            "type": each.type,
            "status": each.status,
            "strength": each.strength,
            "created_at": format_instant(each.created_at),
            "observed_at": None if each.observed_at is None else format_instant(each.observed_at),
            "temporal_state": each.temporal_state,
            "temporal_anchor": each.temporal_anchor,
            **({} if each.parts is None else {"parts": each.parts}),
        }
        for each in found.results
    ]
    return document


def _tell(found: "Recalled", *, explain: bool) -> None:
    if found.because:
        note(f"consolidate: words alone were compared: {found.because}")
    if found.reason:
        emit(f"Nothing: {found.reason}.")
        return
    heads = ["id", "score"]
    rows = [[each.id[:ID_SHOWN], f"{each.score:.3f}"] for each in found.results]
    if any(each.status != "active" for each in found.results):
        heads.append("status")
        rows = [[*row, each.status] for row, each in zip(rows, found.results, strict=True)]
    if explain:
        told = [each.parts or {} for each in found.results]
        names = [name for name in told[0] if any(parts[name] for parts in told)]
        heads += names
        rows = [
            [*row, *(f"{round((each.parts or {})[name], 3) + 0.0:.3f}" for name in names)]
            for row, each in zip(rows, found.results, strict=True)
        ]
    emit_table((*heads, "text"), [[*row, each.content] for row, each in zip(rows, found.results, strict=True)])
