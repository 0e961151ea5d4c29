"""How texts are read before they are embedded: what is cut, and what some models want before a text."""

import re
from typing import NamedTuple

from consolidator.store.vectors import LONGEST_TEXT


class Prefixes(NamedTuple):
    """What a model was taught to see before a question, and before what may answer it."""

    query: str = ""
    passage: str = ""


_SEARCHING = "Represent this sentence for searching relevant passages: "
_TASK = "Instruct: Given a question, retrieve passages that answer it\nQuery: "
# By the name of a model, wherever a server files it; the first that is found in it.
_TAUGHT = {
    r"e5.*instruct|qwen3-embedding": Prefixes(query=_TASK),
    r"\be5\b|[^a-z]e5[^a-z]": Prefixes("query: ", "passage: "),
    r"nomic-embed": Prefixes("search_query: ", "search_document: "),
    r"embeddinggemma": Prefixes("task: search result | query: ", "title: none | text: "),
    r"mxbai-embed|arctic-embed|bge-.*-en": Prefixes(query=_SEARCHING),
}


def prefixes_of(model: str) -> Prefixes:
    """Those of a model by its name; none for a model that was taught none."""
    return next((each for named, each in _TAUGHT.items() if re.search(named, model.lower())), Prefixes())


def readable(text: str) -> str:
    """The beginning of a text that is read at all, as Unicode: half a surrogate pair becomes a question mark."""
    return text[:LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")
