"""What was said together."""

import numpy as np
from numpy.typing import NDArray

from consolidator.instants import SECOND

GAP = 3600 * SECOND  # what was said within an hour of what was said before belongs together
MOST_ROWS = 16  # of what was said in one go, however long that went on


def stretches_of(said_at: NDArray[np.int64]) -> NDArray[np.int64]:
    """
    int64[n]: the number of the stretch of each row: what was said without an hour's silence in between.

    said_at: int64[n] microseconds. What went on for more than 16 rows, or was taken in all at once, is cut into even
    pieces in order of time, then of rows: the further apart, the less one answer says of another.
    """
    order = np.argsort(said_at, kind="stable")
    in_time = said_at[order]
    begins = np.diff(in_time, prepend=in_time[:1]) > GAP
    sitting = np.cumsum(begins)
    sizes = np.bincount(sitting)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    pieces = -(-sizes // MOST_ROWS)
    piece = (np.arange(len(order)) - first[sitting]) * pieces[sitting] // sizes[sitting]
    found = np.empty(len(order), np.int64)
    found[order] = (np.cumsum(pieces) - pieces)[sitting] + piece
    return found
