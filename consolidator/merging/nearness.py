"""
How near vectors are, and which of very many are near at all.

Every pair is looked at, in tiles, so none is overlooked by a wrong guess about where it might be. Where there are very
many, a shadow is looked at first: the vectors' projection on 126 random directions. Whatever two vectors are, the part
of their squared distance that a random projection keeps follows one Beta distribution; pairs whose shadow is farther
apart than this allows all but one time in a thousand are passed over, the rest measured exactly.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from consolidator.merging.overlap import PAIRS_AT_ONCE, Floats, Positions

Matrix = NDArray[np.float32]
Tile = tuple[Positions, Positions, Matrix]
Progress = Callable[[int, int], None]

FEW_PRODUCTS = 400_000_000
DIRECTIONS = 126
MISSED = 0.001
WORTH_A_SHADOW = 0.02
SAMPLE = 2_000
TILE_ROWS, TILE_COLUMNS = 512, 1024
FLOATS_AT_ONCE = 8_000_000
SLACK = 1e-5


class Nearness:
    """Vectors by position, of which some are missing: those not said to be there, of length zero, or not finite."""

    def __init__(self, vectors: Matrix, rows: Positions) -> None:
        """rows: the row of each position in `vectors`, -1 where it has none."""
        given = np.flatnonzero(rows >= 0)
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[rows[given]]
        usable = np.isfinite(lengths) & (lengths > 0)
        self.positions = given[usable]
        self.unit = vectors[rows[self.positions]]
        self.unit /= lengths[usable, np.newaxis]
        self.row = np.full(rows.size, -1)
        self.row[self.positions] = np.arange(self.positions.size)

    def cosines(self, a: Positions, b: Positions) -> Floats:
        """The cosine of each pair; nan where either has no vector."""
        rows, others = self.row[a], self.row[b]
        cosines = np.full(a.size, np.nan)
        known = np.flatnonzero((rows >= 0) & (others >= 0))
        step = max(FLOATS_AT_ONCE // max(self.unit.shape[1], 1) // 4, 1)
        for first in range(0, known.size, step):
            pairs = known[first : first + step]
            cosines[pairs] = np.einsum("ij,ij->i", self.unit[rows[pairs]], self.unit[others[pairs]])
        return cosines

    def near(
        self,
        least: float,
        changed: int,
        found: Callable[[Positions, Positions, Floats], None],
        pool: ThreadPoolExecutor,
        progress: Progress | None = None,
    ) -> None:
        """
        Tell `found`, from the pool's threads, of the pairs a < b, a < changed, whose cosine may be `least` or more, and
        the most that it may be.

        All of them where they are few (400 million pairs) or the shadow would spare too little; else each with a
        probability of at least 0.999, the nearer the surer.
        """
        changed = int(np.searchsorted(self.positions, changed))
        shadows = None
        if changed * len(self.unit) > FEW_PRODUCTS and self.unit.shape[1] > DIRECTIONS * 3 // 2:
            shadows = self._shadows(least, changed)
        left, right, bar = shadows or (self.unit, self.unit, least - SLACK)

        def search(top: int) -> int:
            bottom = min(top + TILE_ROWS, changed)
            for rows, columns, products in _gathered(_tiles(left[:bottom], right, bar, top)):
                a, b = self.positions[rows], self.positions[columns]
                if shadows:
                    keep = (cosines := self.cosines(a, b)) >= least
                    found(a[keep], b[keep], cosines[keep])
                else:
                    found(a, b, products + SLACK)
            return sum(range(len(right) - bottom + 1, len(right) - top + 1))

        done, total = 0, sum(range(len(right) - changed + 1, len(right) + 1))
        for compared in pool.map(search, range(0, changed, TILE_ROWS)):
            done += compared
            if progress:
                progress(done, total)

    def _shadows(self, least: float, changed: int) -> tuple[Matrix, Matrix, float] | None:
        """
        Two matrices whose products tell the squared distances of the shadows, and the bar; None where not worth it.

        A product is x . y - |x|^2 / 2 - |y|^2 / 2 = -|x - y|^2 / 2.
        """
        rng = np.random.default_rng(0)
        dimensions = self.unit.shape[1]
        directions, _ = np.linalg.qr(rng.standard_normal((dimensions, DIRECTIONS)))
        left = np.empty((len(self.unit), DIRECTIONS + 2), np.float32)
        np.matmul(self.unit, directions.astype(np.float32), out=left[:, :DIRECTIONS])
        left[:, -2] = np.einsum("ij,ij->i", left[:, :DIRECTIONS], left[:, :DIRECTIONS]) / -2
        left[:, -1] = 1
        right = left.copy()
        right[:, [-2, -1]] = left[:, [-1, -2]]
        kept = rng.beta(DIRECTIONS / 2, (dimensions - DIRECTIONS) / 2, 200_000)
        bar = -float(np.quantile(kept, 1 - MISSED)) * (1 - least)
        some, others = rng.integers(0, changed, SAMPLE), rng.integers(0, len(left), SAMPLE)
        passing = np.count_nonzero(left[some] @ right[others].T >= bar) / SAMPLE**2
        return (left, right, bar) if passing < WORTH_A_SHADOW else None


def _tiles(left: Matrix, right: Matrix, bar: float, top: int) -> Iterator[Tile]:
    """Row < column, from row `top` on, whose product reaches the bar, tile by tile: rows, columns, products."""
    rows = left[top:]
    out = np.empty((len(rows), TILE_COLUMNS), np.float32)
    for start in range(top, len(right), TILE_COLUMNS):
        columns = right[start : start + TILE_COLUMNS]
        tile = np.matmul(rows, columns.T, out=out if len(columns) == TILE_COLUMNS else None)
        found = np.flatnonzero(tile >= bar)
        if not found.size:
            continue
        row = found // len(columns)
        column = found - row * len(columns)
        if start < top + len(rows):
            keep = row + top < column + start
            found, row, column = found[keep], row[keep], column[keep]
        yield row + top, column + start, tile.reshape(-1)[found]


def _gathered(tiles: Iterator[Tile]) -> Iterator[tuple[Positions, Positions, Floats]]:
    """The same, in larger lots."""
    lot: list[Tile] = []
    size = 0
    for tile in tiles:
        lot.append(tile)
        size += tile[0].size
        if size >= PAIRS_AT_ONCE:
            yield _together(lot)
            lot, size = [], 0
    if lot:
        yield _together(lot)


def _together(lot: list[Tile]) -> tuple[Positions, Positions, Floats]:
    rows, columns, products = (np.concatenate(parts) for parts in zip(*lot, strict=True))
    return rows, columns, products.astype(np.float64)
