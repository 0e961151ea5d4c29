"""
Vertex AI Memory Bank, both ways: the memories of one reasoning engine, by Google's own client library.

Its scopes are exact pairs as ours are, and never change: a merged text is a new memory in the same scope, and what it
was merged from is deleted. Memories are made, changed and deleted one by one; nothing is ever generated, which would
cost its person money and merge by itself.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qsl, urlencode, urlsplit

from consolidator.errors import BadInput
from consolidator.sources.port import Options
from consolidator.sources.vertex.bank import Bank, opened
from consolidator.sources.vertex.source import VertexSource

_ENGINE = re.compile(r"projects/(?P<project>[^/?#\s]+)/locations/(?P<location>[a-z0-9-]+)/reasoningEngines/[a-z0-9-]+")


@contextmanager
def open_source(kind: str, place: str, options: Options) -> Iterator[VertexSource]:
    """
    The memories of the reasoning engine at a place: `projects/P/locations/L/reasoningEngines/N`, and where it is not
    reached at its location's usual address, `?endpoint=https://HOST`.

    It is asked with `options.token`, an access token, where there is one; else with application default credentials.
    BadInput where there are none.
    """
    engine, _, query = place.partition("?")
    named = _ENGINE.fullmatch(engine)
    if named is None:
        raise BadInput(f"{kind}:{engine}: no reasoning engine; write {kind}:projects/P/locations/L/reasoningEngines/N")
    endpoint = _endpoint(kind, query)
    url = f"{kind}:{engine}" + (f"?{urlencode({'endpoint': endpoint}, safe=':/[]')}" if endpoint else "")
    with opened(url, named["project"], named["location"], endpoint=endpoint, token=options.token) as memories:
        yield VertexSource(kind, url, Bank(memories, engine, url), options)


def _endpoint(kind: str, query: str) -> str | None:
    """The address that a query names, without anything secret."""
    given = dict(parse_qsl(query, keep_blank_values=True))
    endpoint = given.pop("endpoint", None)
    if given:
        raise BadInput(f"{kind}: {next(iter(given))!r} means nothing after the place; only `endpoint` does")
    if endpoint is None:
        return None
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise BadInput(f"{kind}: the endpoint is no plain address; write e.g. ?endpoint=https://HOST")
    return endpoint.rstrip("/")
