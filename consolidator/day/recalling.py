"""Recall by day: the one ranking of `consolidator.recall`, with the embedder of the store."""

from collections.abc import Mapping
from typing import Any

from consolidator.day.given import instant, types_of
from consolidator.day.place import Place
from consolidator.errors import BadInput
from consolidator.recall.recall import Recalled, recall
from consolidator.recall.scoring import USUAL

_COUNTS = ("limit", "words", "tokens")


def options_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a recall, of the arguments of a call."""
    return {name: value for name, value in arguments.items() if name not in ("self", "query")}


def recalled(place: Place, query: str, options: Mapping[str, Any]) -> Recalled:
    """What answers a query. BadInput where an option makes no sense."""
    if not isinstance(query, str):
        raise BadInput(f"query: {query!r} is not a text")
    given = dict(options)
    for name in _COUNTS:
        count = given.get(name)
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise BadInput(f"{name}: {count!r} is not a whole number from 1 on")
    for name in ("recency", "importance"):
        if not 0 <= given.get(name, 0.0) <= 1_000:
            raise BadInput(f"{name}: {given[name]!r} is not a number from 0 on")
    least = given.get("least_score")
    if least is not None and not 0 <= least <= 1:
        raise BadInput(f"least_score: {least!r} is not a number from 0 to 1")
    weights = USUAL._replace(recency=given.pop("recency", 0.0), importance=given.pop("importance", 0.0))
    since, until = instant("since", given.pop("since", None)), instant("until", given.pop("until", None), end=True)
    choice = place.embedder()
    return recall(
        place.store,
        place.scope,
        query,
        now=place.now(),
        embedder=choice.embedder,
        why_no_embedder=choice.why,
        rates=place.rates,
        since=since,
        until=until,
        weights=weights,
        **{**given, "types": types_of(given.get("types"))},
    )
