"""What is told beside nights reads exactly as the golden files say, at each level, in text and in Markdown."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from consolidator.notify.brief import digest_message
from consolidator.notify.message import LEVELS, Message
from consolidator.purge import Purged
from consolidator.schedule.outage import Outage
from consolidator.schedule.outside import Outside
from consolidator.schedule.stopped import again_message, stopped_message
from consolidator.schedule.stopping import Stopping
from consolidator.schedule.telling import Audience
from consolidator.schedule.watch import watch
from consolidator.settings import Settings
from consolidator.settings.duty import Duty, duties
from consolidator.store.backup import BackedUp
from tests.notify.conftest import NOW
from tests.notify.test_golden import compare
from tests.report.weeks import WEEKS
from tests.schedule.test_watch import DAILY, healthy, jobs, night, seen
from tests.schedule.test_watch import NOW as WATCHED

GONE = "postgresql://ada@home/memories: cannot be reached; check the address, and that the server runs (refused)"
PURGED = Purged(exposures=1_204, attributions=3, left=("user=ada: another night holds it",))
COPIED = BackedUp(Path("/var/backups/consolidator/memories_20260530T023000Z.db"), 12_600_000, removed=(Path("old"),))


def audience(name: str, level: str, tmp_path: Path) -> Audience:
    settings = Settings.model_validate(
        {
            "channels": {"chat": {"type": "stdout"}},
            "jobs": {name: {"level": level, "enabled": True, **({"folder": "/"} if name == "backup" else {})}},
        }
    )
    duty: Duty = duties(settings, ZoneInfo("UTC"))[name]  # type: ignore[index]
    outside = Outside(duty.name, settings, lambda: NOW, print)
    return Audience(duty, settings, "2026-05-30", Stopping(60), Outage(tmp_path, "x"), outside, lambda: NOW, print)


def purged(level: str, tmp_path: Path) -> Message | None:
    return audience("purge", level, tmp_path).told(f"{PURGED.words} Left for the next time: {PURGED.left[0]}")


def backed_up(level: str, tmp_path: Path) -> Message | None:
    return audience("backup", level, tmp_path).told(COPIED.words)


def no_store(level: str, tmp_path: Path) -> Message | None:
    return audience("consolidate", level, tmp_path).failed(GONE)


def backup_failed(level: str, tmp_path: Path) -> Message | None:
    return audience("backup", level, tmp_path).failed("/var/backups/consolidator: there is no such folder; make it")


TOLD = {"purge": purged, "backup": backed_up, "no-store": no_store, "backup-failed": backup_failed}


def told(message: Message | None) -> tuple[str, str]:
    """As text, with the title and the counts that may be told anywhere; and as Markdown."""
    if message is None:
        return "", ""
    return f"{message.title}\n{message.counts}\n\n{message.text}", message.markdown


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", TOLD)
def test_other_jobs_and_failures_without_a_store(name: str, level: str, tmp_path: Path) -> None:
    """A purge and a backup speak at `summary` and above; failures at `errors` too."""
    for form, text in zip(("txt", "md"), told(TOLD[name](level, tmp_path)), strict=True):
        compare(f"{name}.{level}.{form}", text)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", WEEKS)
def test_digests(name: str, level: str) -> None:
    """Nothing at `errors` but what was missed or failed."""
    message = digest_message(WEEKS[name](), name="report:2026-06-01", level=level)
    for form, text in zip(("txt", "md"), told(message), strict=True):
        compare(f"week-{name}.{level}.{form}", text)


def everything() -> list[Any]:
    """All that can have stopped."""
    held = {"waiting": {"the budget is spent: merge.budget.calls is 20": 1}, "failures": ["anthropic:x answered 401"]}
    nights = [night(back, reinforce={"seen": 4}, merge={"asked": held}) for back in range(3)]
    late = watch(seen(done="2026-06-08T00:31:00Z"), jobs(), DAILY, now=WATCHED)
    return [*late, *watch(healthy(*nights), jobs(), DAILY, now=WATCHED)]


MESSAGES: dict[str, Callable[[Audience], Message | None]] = {
    "stopped-one": lambda _: stopped_message(everything()[:1], now=WATCHED),
    "stopped-many": lambda _: stopped_message(everything(), now=WATCHED),
    "again": lambda hears: again_message({each.name: 1 for each in everything()}, hears.duty, now=WATCHED),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_what_stopped_and_what_happens_again(name: str, tmp_path: Path) -> None:
    """One sentence, or a list; nobody's memory."""
    message = MESSAGES[name](audience("consolidate", "summary", tmp_path))
    for form, text in zip(("txt", "md"), told(message), strict=True):
        compare(f"{name}.{form}", text)
