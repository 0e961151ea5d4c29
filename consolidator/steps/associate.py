"""Associate: link what was shown together, and what such links imply."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from consolidator.laws.association import Inference, Pair, Shown, pairs, shown, strengthen, strongest_new
from consolidator.laws.clock import ASSOCIATION, Clock
from consolidator.laws.fading import DEAD, fades_age
from consolidator.laws.strength import strength_at
from consolidator.plan import Decision, Events, Row
from consolidator.steps.rows import Link


class Exposure(NamedTuple):
    """
    One showing of a memory (aliases followed) in a turn; `new` where no night has seen it.

    linked_in: the run that counted it here, where that is known.
    """

    key: int
    memory: int
    name: str
    mode: str
    score: float | None
    at: int
    linked: bool
    in_base: bool
    new: bool
    linked_in: int | None = None


class Head(NamedTuple):
    """A value, and since when."""

    value: float
    at: int


class CoRetrieval(NamedTuple):
    """Two memories shown in one turn: when, how much it links them, and by which new exposures."""

    pair: Pair
    at: int
    amount: float
    exposures: tuple[int, ...]


def co_retrievals(turn: Iterable[Exposure]) -> list[CoRetrieval]:
    """The pairs that a turn links and that no earlier night has linked for it."""
    exposures = list(turn)
    fresh: dict[int, list[int]] = {}
    for one in exposures:
        if one.new:
            fresh.setdefault(one.memory, []).append(one.key)
    known = counted(exposures)
    return [
        CoRetrieval(pair, at, amount, (*fresh.get(pair[0], ()), *fresh.get(pair[1], ())))
        for pair, at, amount in pairs(_shown(exposures))
        if pair not in known
    ]


def counted(turn: Iterable[Exposure]) -> set[Pair]:
    """The pairs that earlier nights have linked for a turn."""
    return {pair for pair, _, _ in pairs(_shown(one for one in turn if one.linked))}


def counted_before(turn: Iterable[Exposure], pair: Pair, base_mark: int | None = None) -> list[tuple[int, float]]:
    """
    When and how much a turn, as counted here by earlier nights, linked a pair; nothing that is in its base.

    base_mark: the run whose merge set that base, where one did.
    """
    exposures = [one for one in turn if one.linked]
    based = {known for known, _, _ in pairs(_shown(one for one in exposures if is_based(one, base_mark)))}
    return [(at, amount) for known, at, amount in pairs(_shown(exposures)) if known == pair and pair not in based]


def is_based(one: Exposure, base_mark: int | None) -> bool:
    return one.in_base or (base_mark is not None and (one.linked_in is None or one.linked_in <= base_mark))


def _shown(exposures: Iterable[Exposure]) -> list[Shown]:
    by_memory: dict[int, list[Exposure]] = {}
    for one in exposures:
        by_memory.setdefault(one.memory, []).append(one)
    return [
        shown(memory, rows[0].name, ((row.mode, row.score, row.at) for row in rows))
        for memory, rows in by_memory.items()
    ]


def is_late(link: Link | None, at: int, latest_night: int) -> bool:
    """
    Whether a co-retrieval may come before one already counted, so that the link is replayed from its base.

    A pair without a direct link may have had one that a night before `latest_night` found dead and deleted.
    """
    if link is None or link.inferred:
        return at < latest_night
    grown = link.base_at is None or link.weight_at > link.base_at
    return grown and at < link.weight_at


def link(
    found: Sequence[CoRetrieval],
    links: Mapping[Pair, Link],
    history: Mapping[Pair, Sequence[tuple[int, float]]],
    pasts: Mapping[Pair, Head],
    *,
    scope_key: int,
    clock: Clock,
    now: int,
) -> tuple[list[Decision], dict[Pair, Link]]:
    """
    Each pair's weight after its turns, in order of time.

    links: the rows there are. history: for pairs replayed from their base, the co-retrievals counted before. pasts: of
    these, the weights after co-retrievals that were purged.
    Returns one decision a pair and the links as they then are.
    """
    by_pair: dict[Pair, list[CoRetrieval]] = {}
    for one in found:
        by_pair.setdefault(one.pair, []).append(one)
    order = sorted(by_pair.keys() | history.keys())
    starts = [
        start_of(links.get(pair), pasts.get(pair)) if pair in history else _head_of(links.get(pair)) for pair in order
    ]
    events: list[tuple[int, int, float]] = []
    for i, pair in enumerate(order):
        acting = [(i, one.at, one.amount) for one in by_pair.get(pair, ())]
        acting += [(i, at, amount) for at, amount in history.get(pair, ())]
        events += sorted(acting)
    owner = [i for i, _, _ in events]
    first = dict(reversed([(i, at) for i, at, _ in events]))
    since = [first.get(i, 0) if start is None else start.at for i, start in enumerate(starts)]
    weight, weight_at = strengthen(
        clock,
        [0.0 if start is None else start.value for start in starts],
        since,
        owner,
        [at for _, at, _ in events],
        [amount for _, _, amount in events],
    )
    fades = fades_age(clock.age(weight_at, ASSOCIATION), weight, floor=DEAD)
    before = strength_at(
        clock,
        [links[pair].weight if pair in links else 0.0 for pair in order],
        [links[pair].weight_at if pair in links else now for pair in order],
        now,
        ASSOCIATION,
    )
    decisions, changed = [], {}
    heads = zip(order, before.tolist(), weight.tolist(), weight_at.tolist(), fades.tolist(), strict=True)
    for pair, current, value, at, age in heads:
        turns, row = by_pair.get(pair, []), links.get(pair)
        because = _because(turns, pair in history, current, value)
        events_of = Events(exposures=tuple(dict.fromkeys([(key, True) for one in turns for key in one.exposures])))
        head = {"weight": value, "weight_at": at, "fades_age": age}
        decisions.append(change_link("linked", pair, row, head, because, scope_key, events_of))
        base = (row.base_weight, row.base_at) if row and not row.inferred else (0.0, None)
        mark = row.base_mark if row and not row.inferred else None
        changed[pair] = Link((row.revision or 0) + 1 if row else 0, value, at, *base, False, None, age, mark)
    return decisions, changed


def infer(
    inference: Inference,
    implied: Mapping[Pair, Iterable[int]],
    judged: Mapping[Pair, Link],
    direct: Container[Pair],
    *,
    dead: Mapping[Pair, Link],
    revisions: Callable[[Iterable[Pair]], Mapping[Pair, int | None]],
    fates: Mapping[int, int],
    scope_key: int,
    clock: Clock,
    now: int,
) -> list[Decision]:
    """
    Inferred links added, changed and removed around direct links that changed.

    implied: the pairs around those links, each with its middles. judged: the inferred links that a change may
    concern, judged anew through any middle. direct: pairs with a direct link, which rules an inferred one out. dead:
    rows of direct links that have faded to nothing, in whose place an inferred one may come. revisions: those of
    links as stored, asked once. fates: of the memories that this night archives or revives, their revisions as
    stored.
    """
    paths: dict[Pair, tuple[float, int] | None] = {}
    for pair, row in sorted(judged.items()):
        if pair not in direct:
            shut = pair[0] in inference.closed or pair[1] in inference.closed
            path = None if shut else inference.best(pair, inference.between(pair))
            if path is None or _differs(row, path, clock, now):
                paths[pair] = path
    for pair, path in newly_implied(inference, implied, judged, direct).items():
        paths[pair] = inference.best(pair, inference.between(pair)) or path
    known = revisions({leg for pair, path in paths.items() if path for leg in _legs(pair, path[1])})
    return [
        _imply(pair, judged.get(pair) or dead.get(pair), path, known, fates, scope_key, clock, now)
        for pair, path in paths.items()
    ]


def _legs(pair: Pair, middle: int) -> list[Pair]:
    return [(min(end, middle), max(end, middle)) for end in pair]


def _imply(
    pair: Pair,
    row: Link | None,
    path: tuple[float, int] | None,
    revisions: Mapping[Pair, int | None],
    fates: Mapping[int, int],
    scope_key: int,
    clock: Clock,
    now: int,
) -> Decision:
    middle = path[1] if path else row.via if row else None
    legs = _legs(pair, path[1]) if path else []
    reads: list[tuple[str, Row, int | None]] = [("associations", leg, revisions.get(leg)) for leg in legs]
    reads += [("memories", (key,), fates[key]) for key in (*pair, middle) if key is not None and key in fates]
    if path is None:
        because = "no path of 0.1 or more is left"
        return change_link("inferred", pair, row, None, because, scope_key, reads=tuple(reads))
    fades = float(fades_age(clock.age(now, ASSOCIATION), path[0], floor=DEAD))
    head = {"weight": path[0], "weight_at": now, "inferred": True, "via": path[1], "fades_age": fades}
    because = f"its legs multiply to {path[0]:.3f}"
    return change_link("inferred", pair, row, head, because, scope_key, reads=tuple(reads))


def newly_implied(
    inference: Inference, implied: Mapping[Pair, Iterable[int]], judged: Container[Pair], direct: Container[Pair]
) -> dict[Pair, tuple[float, int]]:
    """The strongest pairs, not linked yet, that links which changed imply, by the middles of those links alone."""
    best = {
        pair: inference.best(pair, middles)
        for pair, middles in implied.items()
        if pair not in judged and pair not in direct
    }
    paths = {
        pair: path
        for pair, path in best.items()
        if path and pair[0] not in inference.closed and pair[1] not in inference.closed
    }
    return {pair: paths[pair] for pair in strongest_new(paths, inference.named)}


def _differs(row: Link, path: tuple[float, int], clock: Clock, now: int) -> bool:
    weight = float(strength_at(clock, row.weight, row.weight_at, now, ASSOCIATION))
    return row.via != path[1] or abs(weight - path[0]) > 1e-12


def change_link(
    verb: str,
    pair: Pair,
    row: Link | None,
    head: Mapping[str, object] | None,
    because: str,
    scope_key: int,
    events: Events = Events(),
    reads: tuple[tuple[str, Row, int | None], ...] = (),
    step: str = "associate",
) -> Decision:
    """The decision on a link that has this row, or none: what it has afterwards, or None to remove it."""
    if row is None:
        whole = {"scope_key": scope_key, "base_weight": 0.0, "base_at": None, "inferred": False, "via": None}
        before, after = None, {**whole, **(head or {})}
    elif head is None:
        before, after = {"scope_key": scope_key, **_columns(row)}, None
    else:
        grounded = {"base_weight": 0.0, "base_at": None, "base_mark": None}
        grounded = grounded if row.inferred != (verb == "inferred") else {}
        after = {**({"inferred": False, "via": None} if row.inferred else {}), **grounded, **head}
        before = {name: getattr(row, name) for name in after}
    revision = row.revision if row else None
    return Decision(step, verb, "associations", pair, revision, before, after, because, reads, events)


def _columns(row: Link) -> dict[str, object]:
    names = ("weight", "weight_at", "base_weight", "base_at", "inferred", "via", "fades_age", "base_mark")
    return {name: getattr(row, name) for name in names}


def _head_of(row: Link | None) -> Head | None:
    return None if row is None or row.inferred else Head(row.weight, row.weight_at)


def start_of(row: Link | None, past: Head | None) -> Head | None:
    """What a replay of a link starts from: its base, or what was purged on that; None: from nothing."""
    based = row is not None and not row.inferred and row.base_at is not None
    base = Head(row.base_weight, row.base_at) if based else None  # type: ignore[union-attr, arg-type]
    return past if base is None or (past is not None and past.at >= base.at) else base


def _because(turns: Sequence[CoRetrieval], anew: bool, before: float, after: float) -> str:
    together = f"shown together in {len(turns)} turn{'s' if len(turns) != 1 else ''}" if turns else "replayed"
    late = ", counted from its base" if anew else ""
    return f"{together}{late}: weight {before:.3f} -> {after:.3f}"
