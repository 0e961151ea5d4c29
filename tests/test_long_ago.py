"""What is told of a time before the first night, in parts: the clock's past is rewritten where nobody looked before."""

import hashlib

import pytest

from consolidator.exchange.records import AttributionLine, ExposureLine, MemoryLine
from consolidator.instants import NIGHT
from consolidator.laws.strength import CONFIDENCE
from tests.lifetimes import START, Recorded, without_activity_in_closed_pauses
from tests.oracle import DAY_RATES
from tests.test_cadence import assert_as_judged, live

TEXTS = ["now and here", "long ago 🌿", "long ago, 第二", "in between"]


def day(number: float) -> int:
    return START + round(number * NIGHT)


def name(number: int) -> str:
    return hashlib.sha256(TEXTS[number].encode()).hexdigest()


def memory(number: int, at: float, strength: float = 1.0) -> MemoryLine:
    return MemoryLine(0, "{}", name(number), TEXTS[number], "fact", day(at), strength=strength, strength_at=day(at))


def rating(number: int, at: float, evidence: str = "tool_get") -> AttributionLine:
    return AttributionLine(0, "{}", f"m {at}", f"t {at}", name(number), evidence, CONFIDENCE[evidence], day(at), "s")


def turn(numbers: tuple[int, ...], at: float) -> list[ExposureLine]:
    return [
        ExposureLine(0, "{}", "s", f"t {at}", name(one), "auto_injected", day(at), 0.5, "hybrid") for one in numbers
    ]


def told(at: float, *lines: MemoryLine | AttributionLine | ExposureLine) -> Recorded:
    happened = tuple(one.strength_at or 0 if isinstance(one, MemoryLine) else one.at for one in lines)
    return Recorded(day(at), lines, happened)


@pytest.mark.parametrize("daily", [True, False], ids=["a night between the parts", "one night for all parts"])
@pytest.mark.parametrize("strength", [1.0, 0.08])
@pytest.mark.parametrize("late", [[15.5], [15.5, 21, 21.5], [11.2, 17, 14, 40], [30, 60, 5, 18, 24.5]])
def test_a_past_told_in_parts_is_the_past_told_at_once(
    sqlite_url: str, late: list[float], strength: float, daily: bool
) -> None:
    """Strengths and links are those of everything replayed at once, however late long ago is told, in what parts."""
    first = (memory(1, 10, strength), memory(2, 10.5), *turn((1, 2), 11), rating(1, 11.5), *turn((0, 1, 2), 61))
    records = [told(60, memory(0, 60), *turn((0,), 60)), told(61.5, *first)]
    for number, at in enumerate(late):
        lines = (rating(1 + number % 2, at), *turn((1, 2), at + 0.01)) if number % 2 == 0 else turn((0, 2), at)
        records.append(told(62 + number, *lines))
    nights = [day(60.5), *(day(61.6 + number) for number in range(6) if daily), day(75)]
    records = without_activity_in_closed_pauses(records, nights)
    with live(sqlite_url, records, [(now, DAY_RATES) for now in nights]) as store:
        assert_as_judged(store, records, [(0, DAY_RATES)], nights[-1])
