"""
How much of their features two texts share, |common| / |together|, for very many pairs.

Exact, with two shortcuts that lose nothing. Two texts have at most as many features in common as bits, and those that
share a bit with another one of their own. And two texts that share enough share one of their rarest features.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consolidator.merging.features import bags, mixed

Positions = NDArray[np.int64]
Floats = NDArray[np.float64]

HASHES_AT_ONCE = 1_000_000
PAIRS_AT_ONCE = 100_000
BYTES_AT_ONCE = 2_000_000

BITS_FOR_A_FEATURE = 8
FEWEST_BITS, MOST_BITS = 256, 2048

# How many of their neighbours texts meet that have one rare feature in common, or all.
MOST_WITH_ONE = 1_000
MOST_WITH_ALL = 20


class Overlap:
    """The features of texts, by position, and what two of them share."""

    def __init__(self, contents: Sequence[str]) -> None:
        self.starts, self.hashes = bags(contents)
        self.sizes = np.diff(self.starts)
        self._bits = self._set_bits()
        self._unseen = self.sizes - np.bitwise_count(self._bits).sum(axis=1, dtype=np.int64)

    def shares(self, a: Positions, b: Positions) -> Floats:
        """The share of each pair; 0 where neither has a feature."""
        together = self.sizes[a] + self.sizes[b]
        common = np.zeros(a.size, np.int64)
        for pairs in _lots(together, HASHES_AT_ONCE):
            keys = np.sort(np.concatenate([self._keys(a[pairs]), self._keys(b[pairs])]))
            twice = keys[1:][keys[1:] == keys[:-1]] >> np.uint64(32)
            common[pairs] = np.bincount(twice.astype(np.int64), minlength=a[pairs].size)
        return _share(common, together)

    def at_most(self, a: Positions, b: Positions) -> Floats:
        """No less than the share of each pair, and quickly known."""
        common = np.empty(a.size, np.int64)
        step = BYTES_AT_ONCE // (8 * self._bits.shape[1])
        for first in range(0, a.size, step):
            one, other = a[first : first + step], b[first : first + step]
            both = self._bits.take(one, axis=0)
            both &= self._bits.take(other, axis=0)
            counts = np.bitwise_count(both)
            shared = counts[:, 0].astype(np.int64)
            for word in range(1, counts.shape[1]):
                shared += counts[:, word]
            common[first : first + step] = np.minimum(self._unseen.take(one), self._unseen.take(other)) + shared
        return _share(common, self.sizes.take(a) + self.sizes.take(b))

    def _keys(self, texts: Positions) -> NDArray[np.uint64]:
        """The features of these texts, each with the place of its text in the list: (place, hash)."""
        place, within = _each(self.sizes[texts])
        hashes = self.hashes[self.starts[texts][place] + within].astype(np.uint64)
        keys: NDArray[np.uint64] = place.astype(np.uint64) << np.uint64(32) | hashes
        return keys

    def _set_bits(self) -> NDArray[np.uint64]:
        """A bit for each feature of each text; more bits where texts are long."""
        mean = self.hashes.size // max(self.sizes.size, 1)
        width = min(max(1 << (BITS_FOR_A_FEATURE * mean).bit_length(), FEWEST_BITS), MOST_BITS)
        bits = np.empty((self.sizes.size, width // 8), np.uint8)
        step = BYTES_AT_ONCE // width
        for first in range(0, self.sizes.size, step):
            starts = self.starts[first : first + step + 1]
            flags = np.zeros((starts.size - 1, width), bool)
            owner = np.repeat(np.arange(starts.size - 1), np.diff(starts))
            flags[owner, self.hashes[starts[0] : starts[-1]] & (width - 1)] = True
            bits[first : first + step] = np.packbits(flags, axis=1)
        return bits.view(np.uint64)


def alike(overlap: Overlap, least: float, changed: int) -> Iterator[tuple[Positions, Positions]]:
    """
    The pairs a < b, a < changed, that may share at least `least`, many at a time; a pair may come more than once.

    Complete, except that among more than 1,000 texts with one rare feature each meets the 1,000 nearest in size, and
    among more than 21 texts with the very same features each meets the 20 that follow.
    """
    same = _same(overlap)
    each = np.arange(same.members.size)
    ends = np.repeat(same.starts[1:], same.sizes)
    for one, other in _following(each, np.minimum(ends - each - 1, MOST_WITH_ALL)):
        yield from _of_changed(same.members[one], same.members[other], changed)
    for a, b in _with_one(overlap, same.members[same.starts[:-1]], least, changed):
        yield from _spread(same, a, b, changed)


class _Same(NamedTuple):
    """Texts in groups with the very same features: members[starts[g]:starts[g + 1]], ascending."""

    members: Positions
    starts: Positions

    @property
    def sizes(self) -> Positions:
        return np.diff(self.starts)


def _same(overlap: Overlap) -> _Same:
    sums = np.zeros(overlap.hashes.size + 1, np.uint64)
    np.cumsum(mixed(overlap.hashes.astype(np.uint64)), out=sums[1:])
    signature = sums[overlap.starts[1:]] - sums[overlap.starts[:-1]]
    filled = np.flatnonzero(overlap.sizes)
    members = filled[np.argsort(signature[filled], kind="stable")]
    starts = np.flatnonzero(np.diff(signature[members], prepend=~signature[members[:1]]))
    return _Same(members, np.append(starts, members.size))


def _spread(same: _Same, a: Positions, b: Positions, changed: int) -> Iterator[tuple[Positions, Positions]]:
    """The pairs of two groups' members, of at most 21 of each."""
    sizes = np.minimum(same.sizes, MOST_WITH_ALL + 1)
    counts = sizes[a] * sizes[b]
    for lot in _lots(counts, PAIRS_AT_ONCE):
        pair, within = _each(counts[lot])
        one, other = a[lot][pair], b[lot][pair]
        mine, theirs = np.divmod(within, sizes[other])
        yield from _of_changed(
            same.members[same.starts[one] + mine], same.members[same.starts[other] + theirs], changed
        )


def _of_changed(a: Positions, b: Positions, changed: int) -> Iterator[tuple[Positions, Positions]]:
    low, high = np.minimum(a, b), np.maximum(a, b)
    keep = low < changed
    yield low[keep], high[keep]


def _with_one(overlap: Overlap, texts: Positions, least: float, changed: int) -> Iterator[tuple[Positions, Positions]]:
    """
    The pairs, as places in `texts`, that may share `least`; found through the rarest features of each.

    Ordered by rarity, the first s - ceil(least * s) + 1 of a text's s features hold one of the other's, and of the
    smaller of the two the first s - ceil(2 * least / (1 + least) * s) + 1 are enough.
    """
    sizes = overlap.sizes[texts]
    place, hashes = _rarest_first(overlap, texts)
    rank = np.arange(place.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    looked_at = (sizes - np.ceil(least * sizes - 1e-9) + 1)[place]
    enough = (sizes - np.ceil(2 * least / (1 + least) * sizes - 1e-9) + 1)[place]
    order = np.argsort(sizes, kind="stable")
    by_size = np.empty(sizes.size, np.uint64)
    by_size[order] = np.arange(sizes.size, dtype=np.uint64)
    keys = hashes << np.uint64(32) | by_size[place] << np.uint64(1) | (rank < enough)
    keys = np.sort(keys[rank < looked_at])
    place = order[(keys >> np.uint64(1) & np.uint64(0x7FFFFFFF)).astype(np.int64)]
    largest = np.searchsorted(sizes[order], sizes / least + 1e-9, side="right").astype(np.uint64)
    ends = np.searchsorted(keys, keys & ~np.uint64(0xFFFFFFFF) | largest[place] << np.uint64(1))
    counts = np.minimum(ends - np.arange(keys.size) - 1, MOST_WITH_ONE)
    is_new = texts[place] < changed
    news = np.append(0, np.cumsum(is_new))
    small = np.flatnonzero((keys & np.uint64(1) == 1) & (counts > 0) & (is_new | (news[ends] > news[:-1])))
    for one, other in _following(small, counts[small]):
        keep = is_new[one] | is_new[other]
        pairs = np.unique(place[one[keep]] << 32 | place[other[keep]])
        a, b = pairs >> 32, pairs & 0xFFFFFFFF
        keep = overlap.at_most(texts[a], texts[b]) >= least
        yield a[keep], b[keep]


def _rarest_first(overlap: Overlap, texts: Positions) -> tuple[Positions, NDArray[np.uint64]]:
    """
    The features of these texts, text by text, each text's rarest first: (place of its text, hash).

    How rare is counted by the first bits of the hash, roughly: all that matters is that all texts agree.
    """
    place, within = _each(overlap.sizes[texts])
    hashes = overlap.hashes[overlap.starts[texts][place] + within].astype(np.uint64)
    bits = min(hashes.size.bit_length() + 1, 22)
    bucket = (hashes >> np.uint64(32 - bits)).astype(np.int64)
    rarity = (4 * np.log2(np.maximum(np.bincount(bucket), 1))).astype(np.uint64)[bucket]
    keys = np.sort(place.astype(np.uint64) << np.uint64(38) | np.minimum(rarity, 63) << np.uint64(32) | hashes)
    return (keys >> np.uint64(38)).astype(np.int64), keys & np.uint64(0xFFFFFFFF)


def _following(each: Positions, counts: Positions) -> Iterator[tuple[Positions, Positions]]:
    """(i, i + 1), (i, i + 2) .. of each i, `counts` of them."""
    for lot in _lots(counts, PAIRS_AT_ONCE):
        owner, within = _each(counts[lot])
        one = each[lot][owner]
        yield one, one + 1 + within


def _each(counts: Positions) -> tuple[Positions, Positions]:
    """For each of `counts` things: whose it is, and which of its owner's."""
    owner = np.repeat(np.arange(counts.size), counts)
    return owner, np.arange(owner.size) - (np.cumsum(counts) - counts)[owner]


def _lots(counts: Positions, most: int) -> Iterator[slice]:
    """The list cut where its counts come to `most` or, where one alone is more, after it."""
    ends = np.cumsum(counts)
    first = 0
    while first < counts.size:
        before = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
        yield slice(first, last)
        first = last


def _share(common: Positions, together: Positions) -> Floats:
    share: Floats = common / np.maximum(together - common, 1)
    return share
