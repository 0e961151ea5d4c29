"""The store of formative-memory, `associations.db`, both ways."""

from consolidator.sources.formative.reader import read_formative
from consolidator.sources.formative.source import open_source

__all__ = ["open_source", "read_formative"]
