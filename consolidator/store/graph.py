"""The graph of what is linked: active memories of which a link has not faded, per scope."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa

from consolidator.laws.clock import ASSOCIATION, Rates
from consolidator.laws.fading import DEAD
from consolidator.laws.strength import strength_at
from consolidator.scopes import canonical, parse_scope, spell
from consolidator.store.find import Scope
from consolidator.store.readers import ROWS_AT_ONCE, Clocks, memory_documents
from consolidator.store.tables import associations, memories

_LABEL_LENGTH = 60


def graph(conn: sa.Connection, scopes: Sequence[Scope], *, now: int, rates: Rates) -> dict[str, Any]:
    """Nodes and links per scope, with weights at `now`, as a JSON document."""
    clocks = Clocks(conn, now=now, rates=rates)
    return {"scopes": [_scope(conn, scope, clocks, now=now) for scope in scopes]}


def _scope(conn: sa.Connection, scope: Scope, clocks: Clocks, *, now: int) -> dict[str, Any]:
    pairs: list[tuple[int, int, float, bool]] = []
    one, other = memories.alias(), memories.alias()
    query = (
        sa.select(
            associations.c.memory_a,
            associations.c.memory_b,
            associations.c.weight,
            associations.c.weight_at,
            associations.c.inferred,
        )
        .join(one, one.c.key == associations.c.memory_a)
        .join(other, other.c.key == associations.c.memory_b)
        .where(associations.c.scope_key == scope.key, one.c.status == "active", other.c.status == "active")
    )
    for rows in conn.execute(query).partitions(ROWS_AT_ONCE):
        a, b, weight, since, inferred = zip(*rows, strict=True)
        weights = strength_at(clocks.of(scope.key), weight, since, now, ASSOCIATION)
        alive = np.flatnonzero(weights >= DEAD)
        pairs += [(a[i], b[i], round(float(weights[i]), 6), inferred[i]) for i in alive]
    keys = sorted({key for pair in pairs for key in pair[:2]})
    documents = dict(zip(keys, memory_documents(conn, keys, {scope.key: scope}, clocks, now=now), strict=True))
    links = []
    for one_key, other_key, link_weight, is_inferred in pairs:
        source, target = sorted((documents[one_key]["id"], documents[other_key]["id"]))
        links.append({"source": source, "target": target, "weight": link_weight, "inferred": is_inferred})
    return {
        "scope": parse_scope(scope.text),
        "nodes": sorted(
            (
                {name: each[name] for name in ("id", "content", "type", "strength", "temporal_state")}
                for each in documents.values()
            ),
            key=lambda node: node["id"],
        ),
        "links": sorted(links, key=lambda link: (link["source"], link["target"])),
    }


def as_dot(document: dict[str, Any]) -> Iterator[str]:
    """The lines of a Graphviz file: a cluster a scope, thicker lines for stronger links, dashed ones inferred."""
    yield "graph memories {"
    yield '  node [shape=box, style=rounded, fontname="sans-serif"];'
    for number, scope in enumerate(document["scopes"]):
        yield f"  subgraph cluster_{number} {{"
        yield f"    label={_quoted(spell(canonical(scope['scope'])))};"
        for node in scope["nodes"]:
            yield f'    "{number}_{node["id"][:16]}" [label={_quoted(_short(node["content"]))}];'
        for link in scope["links"]:
            style = ", style=dashed" if link["inferred"] else ""
            ends = f'"{number}_{link["source"][:16]}" -- "{number}_{link["target"][:16]}"'
            yield f"    {ends} [weight={link['weight']}, penwidth={0.5 + 4 * link['weight']:.2f}{style}];"
        yield "  }"
    yield "}"


def as_graphml(document: dict[str, Any]) -> Iterator[str]:
    """The lines of a GraphML file, one graph for all scopes."""
    import networkx as nx  # only this format needs it

    made: nx.Graph[str] = nx.Graph()
    for number, scope in enumerate(document["scopes"]):
        text = spell(canonical(scope["scope"]))
        for node in scope["nodes"]:
            values = {**node, "content": _printable(node["content"]), "scope": _printable(text)}
            made.add_node(f"{number}_{node['id']}", **values)
        for link in scope["links"]:
            values = {"weight": link["weight"], "inferred": link["inferred"]}
            made.add_edge(f"{number}_{link['source']}", f"{number}_{link['target']}", **values)
    yield from nx.generate_graphml(made)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LABEL_LENGTH else line[: _LABEL_LENGTH - 1].rstrip() + "…"


def _quoted(text: str) -> str:
    return '"' + _printable(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _printable(text: str) -> str:
    """Without what XML cannot hold and a terminal should not."""
    return "".join(character if character.isprintable() or character in "\t\n" else "\ufffd" for character in text)
