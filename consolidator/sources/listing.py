"""The sources that a store knows."""

from consolidator.store.engine import Store
from consolidator.store.sourced import Counted, counted_sources


def listing(store: Store) -> list[Counted]:
    """Every source that was pulled into a store, with counts of its records and when it was last pulled and pushed."""
    with store.read() as conn:
        return counted_sources(conn)
