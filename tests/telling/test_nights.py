"""Nights that are told: once, to whoever wants to hear, and no night ends otherwise for it."""

from collections.abc import Callable
from typing import Any

import pytest

from consolidator.store.apply import finish
from consolidator.store.tables import ledger, outbox, runs
from tests.lives import memory, name, rated
from tests.notify import servers
from tests.notify.kinds import APPRISE
from tests.notify.servers import Answer, Server
from tests.providers.provider import Provider
from tests.telling.town import DOWN, Town

SUMMARY = {"consolidate": {"level": "summary"}}
PAIR = ("The cat sleeps on the sofa.", "the cat sleeps on the sofa")
HOSTS = {"slack": "hooks.slack.com", "telegram": "api.telegram.org"}


def busy(town: Town, at: float = 0.5) -> None:
    """Something for the night to do."""
    town.life.take(memory(PAIR[0], at), memory(PAIR[1], at))


def test_a_night_is_told_by_its_sentences(town: Town) -> None:
    """Once, by its run's id, without a memory's text; a second start of the same night tells nothing."""
    town.say(jobs=SUMMARY)
    busy(town)
    assert town.job(at=2).code == 0
    (heard,) = town.heard
    (run,) = town.rows(runs)
    assert (heard["run_id"], heard["type"], heard["level"]) == (run.run_id, "night", "summary")
    assert heard["text"] == "I merged 1 memory into 1 that says the same."
    assert "cat" not in str(heard)
    assert town.job().code == 0
    assert len(town.heard) == 1
    assert [row.run_key for row in town.rows(outbox)] == [run.key]


def test_a_night_by_hand_is_told_to_nobody(town: Town) -> None:
    """But whoever sits there."""
    town.say(jobs=SUMMARY)
    busy(town)
    assert town.life("run").code == 0
    assert town.heard == []


@pytest.mark.parametrize(("level", "told"), [("off", 0), ("errors", 0), ("summary", 1), ("detailed", 1)])
@pytest.mark.parametrize("quiet", [False, True])
def test_a_quiet_night(town: Town, level: str, told: int, quiet: bool) -> None:
    """One short line, or none where `quiet` is true."""
    town.say(quiet=quiet, jobs={"consolidate": {"level": level}})
    town.life.take(memory("one", 0.5))
    assert town.job(at=2).code == 0
    town.chat.arrived.clear()
    assert town.job(at=3).code == 0
    assert len(town.heard) == (0 if quiet else told)
    if town.heard and level == "summary":
        assert town.heard[0]["text"] == "A quiet night: nothing was due."


@pytest.mark.parametrize("service", ["webhook", "slack", "telegram"])
def test_a_channel_that_is_down_changes_nothing_and_is_told_by_the_next_job(
    town: Town, internet: Callable[..., Server], service: str
) -> None:
    """The night ends with 0; an hour later another job delivers it, once."""
    rule: Any = getattr(servers, service, lambda _: Answer())
    here = town.chat if service == "webhook" else internet(HOSTS[service], rule)
    if service != "webhook":
        town.say({service: {"type": "apprise", "url": APPRISE[service]}}, jobs=SUMMARY)
    else:
        town.say(jobs=SUMMARY)
    busy(town)
    here.rule = lambda _: DOWN
    ended = town.job(at=2)
    assert (ended.code, ended.err) == (0, "")
    assert len(here.arrived) == 1
    here.rule = rule
    assert town.job("shift", at=2.05).code == 0
    assert len(here.arrived) == 2
    assert b"I merged 1 memory" in here.arrived[1].body
    assert town.job("collect", at=2.1).code == 0
    assert len(here.arrived) == 2
    (row,) = town.rows(outbox)
    assert row.delivered_at is not None


def test_each_job_has_its_own_people(town: Town, server: Callable[..., Server]) -> None:
    """A job without channels of its own tells all; one with some tells those."""
    other = server()
    hooks = {"chat": town.chat, "ops": other}
    town.say(
        {name: {"type": "webhook", "url": each.url} for name, each in hooks.items()},
        jobs={"consolidate": {"level": "summary", "channels": ["ops"]}},
    )
    busy(town)
    town.job(at=2)
    assert (len(town.heard), len(other.arrived)) == (0, 1)


def test_scopes_in_any_script_and_memories_with_emoji(town: Town, internet: Callable[..., Server]) -> None:
    """Detailed, to a service that is strict about its markup; names and texts arrive as they are."""
    here = internet(HOSTS["telegram"], servers.telegram)
    town.say(
        {"phone": {"type": "apprise", "url": APPRISE["telegram"]}},
        jobs={"consolidate": {"level": "detailed"}},
    )
    scope = {"项目": "地图 🗺️", "user": "ada_b*c"}
    text = "会议改到周五下午三点 👩‍💻 <b>不变</b>"
    town.life.take(memory(text, 0.5, scope=scope), rated("m", "t", text, 1.0, scope=scope))
    assert town.job(at=2).code == 0
    told = "".join(request.json["text"] for request in here.arrived)
    assert "项目=地图 🗺️" in told
    assert "👩‍💻 &lt;b&gt;不变&lt;/b&gt;" in told
    assert name(text)[:8] in told


def test_a_language_model_finds_the_words(town: Town, anthropic: Provider) -> None:
    """As the persona has it; it is asked once, and where it says what is not so, the rule speaks."""
    anthropic.answer = lambda *_: {"text": "One memory, Captain, merged while you slept."}
    town.say(persona="A dry night porter who calls me Captain.", jobs=SUMMARY)
    busy(town)
    assert town.job(at=2).code == 0
    assert town.heard[0]["text"] == "One memory, Captain, merged while you slept."
    assert len(anthropic.asked) == 1
    assert "calls me Captain" in anthropic.asked[0].prompt
    anthropic.answer = lambda *_: {"text": "I merged 4711 memories."}
    town.life.take(memory("Tea at four.", 2.5), memory("tea at four", 2.5))
    assert town.job(at=3).code == 0
    assert town.heard[1]["text"] == "I merged 1 memory into 1 that says the same."


def test_failures_can_be_muted(town: Town) -> None:
    """`error_notification: false`: a job that cannot be done is told to nobody."""
    town.say(error_notification=False, merge="{base_url: 'http://127.0.0.1:1'}")
    busy(town)
    assert town.job(at=2).code == 2
    assert town.heard == []


def test_a_failure_is_told_once_for_its_date(town: Town) -> None:
    """However often it is tried again; the next date it is told again."""
    town.say(merge="{base_url: 'http://127.0.0.1:1'}")
    busy(town)
    for at in (2, 2.001, 2.02):
        assert town.job(at=at).code == 2
    (heard,) = town.heard
    assert heard["title"].startswith("The night of 2026-")
    assert "merge.base_url: say which model is there" in heard["text"]
    assert town.job(at=3).code == 2
    assert len(town.heard) == 2


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (OSError(28, "No space left on device"), "No space left on device."),
        (ValueError("Ada's secret"), "A fault of this program; its log says more."),
    ],
)
def test_a_failure_that_nobody_foresaw_is_told(
    town: Town, monkeypatch: pytest.MonkeyPatch, fault: Exception, said: str
) -> None:
    """Once, without what it says itself; the command ends as it would."""

    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr("consolidator.schedule.jobs.do", fail)
    assert town.job(at=2).code == 1
    assert town.job().code == 1
    (heard,) = town.heard
    assert heard["text"] == said
    assert "secret" not in str(heard)


def test_a_job_that_has_nothing_to_do_is_done_too(town: Town) -> None:
    """Where models are asked live there is nothing to collect; the ledger says that it was done, so none is owed."""
    town.life.take(memory("one", 0.5))
    assert town.job("collect", at=2).code == 0
    assert "was done for" in town.job("collect").out
    assert [(row.job, row.done_at is not None) for row in town.rows(ledger)] == [("collect", True)]


def test_what_words_cost_is_in_the_report(town: Town, anthropic: Provider) -> None:
    """In the run's, in what a webhook hears, in the metrics' numbers, and in the digest of the week."""
    anthropic.answer = lambda *_: {"text": "All is well."}
    prices = "{retries: 0, prices: {claude-haiku-5-5: {input: 100, output: 500}}}"
    town.say(merge=prices, jobs={**SUMMARY, "report": {"level": "detailed"}})
    busy(town)
    town.job(at=2)
    (run,) = town.rows(runs)
    taken = run.report["worded"]
    assert taken["calls"] == 1
    assert taken["usd"] > 0
    assert town.heard[0]["report"]["worded"] == taken
    shown = town.life("show", run.run_id).out
    assert f"Words of its message: {taken['model']} was asked 1 time: " in shown
    ended = town.job("report", at=8.01)
    (digest,) = (heard for heard in town.heard if heard["type"] == "digest")
    assert f"{taken['model']} was asked 1 time" in digest["text"]
    assert digest["report"]["usd"] == taken["usd"]
    assert ended.code == 0


def test_who_is_killed_before_the_end_of_a_night_has_told_nothing_and_the_next_tells(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last scope is not done without its message; what it had done is told by the next attempt, once."""

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    town.say(jobs=SUMMARY)
    busy(town)
    with monkeypatch.context() as patched:
        patched.setattr("consolidator.perform.finish", die)
        assert town.job(at=2).code == 130
    assert town.heard == []
    killed = town.rows(runs)[0].run_id
    for at in (2.01, 2.02):
        assert town.job(at=at).code == 0
        (heard,) = town.heard
    assert heard["title"] == "The night of 2026-03-03 was cut off"
    assert heard["text"].startswith("What it had done stays, and another attempt did the rest: ")
    assert "groups absorbed 1" in heard["text"]
    assert f"consolidate undo {killed}" in heard["text"]


def test_who_is_killed_before_any_work_has_nothing_to_be_told(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next attempt tells of its own work alone."""

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    town.say(jobs=SUMMARY)
    busy(town)
    with monkeypatch.context() as patched:
        patched.setattr("consolidator.perform.apply_scope", die)
        assert town.job(at=2).code == 130
    assert town.job(at=2.01).code == 0
    assert [heard["text"] for heard in town.heard] == ["I merged 1 memory into 1 that says the same."]


def test_who_is_killed_after_the_end_of_a_night_has_told_of_it(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ledger and message are one: the next attempt finds both, and sends it."""

    def end_and_die(*given: Any, **options: Any) -> None:
        finish(*given, **options)
        raise KeyboardInterrupt

    town.say(jobs=SUMMARY)
    busy(town)
    with monkeypatch.context() as patched:
        patched.setattr("consolidator.perform.finish", end_and_die)
        assert town.job(at=2).code == 130
    assert [row.done_at is None for row in town.rows(ledger)] == [False]
    assert town.job(at=2.01).code == 0
    (heard,) = town.heard
    assert heard["text"] == "I merged 1 memory into 1 that says the same."


def test_a_channel_that_can_never_work_is_said_at_the_start(town: Town) -> None:
    """On standard error, a line; the night is done, and whoever is told nothing hears nothing of it."""
    bad = {"phone": {"type": "apprise", "url": "telegramm://s3cr3ttoken/1"}}
    for level, said in (("errors", 1), ("off", 0)):
        town.say(bad, jobs={"consolidate": {"level": level}})
        ended = town.job(at=2)
        assert ended.code == 0
        assert ended.err.count("channels.phone: its URL means nothing to Apprise; write e.g. tgram://") == said
        assert ended.err.count("\n") == said


def test_times_are_told_where_the_job_is(town: Town) -> None:
    """With the zone, in every message and in the report that is kept; the time of a digest is a date there."""
    town.life.take(memory("Tea at four.", 0.9))
    for at, zone, told in [(2, "Europe/Helsinki", "11:00 EET"), (3, "America/Sao_Paulo", "06:00 -03")]:
        town.say(jobs={"consolidate": {"level": "detailed", "time_zone": zone}})
        town.job(at=at)
        heard = town.heard[-1]
        assert heard["title"] == f"Night of 2026-03-{at + 1:02} {told}"
        shown = town.life("show", heard["run_id"]).out
        assert heard["title"] in shown
        assert "UTC" not in shown + heard["text"] + heard["markdown"]
    there = {"level": "detailed", "at": "00:30", "time_zone": "Pacific/Auckland", "nights": 1}
    town.say(jobs={"report": there})
    town.job("report", at=3.2)  # 13:48 in the evening of the day before
    assert town.heard[-1]["title"] == "The last night up to 2026-03-05"


def test_a_shift_by_day_is_called_one_and_compared_with_shifts(town: Town) -> None:
    """Its heading and its averages are not those of nights, and nights are not compared with it."""
    every: dict[str, Any] = {name: {"level": "detailed"} for name in ("consolidate", "shift")}
    town.say(jobs={**every, "shift": {**every["shift"], "at": "12:00"}})
    for at in (2, 3, 4):
        anchor = f"2026-03-{at + 1:02}T10:00:00Z"
        town.life.take(memory(f"At the dentist's for the {at}th time.", at - 1, temporal_anchor=anchor))
        town.job(at=at)
        town.job("shift", at=at + 0.2)
    *_, night, shift = town.heard
    assert (night["title"], shift["title"]) == ("Night of 2026-03-05 09:00 UTC", "Shift of 2026-03-05 13:48 UTC")
    assert "average of the last 2 nights" in night["text"]
    assert "average of the last 2 times" in shift["text"]
    assert "To take this back:" in shift["text"]
    assert (night["report"]["comparison"]["nights"], shift["report"]["comparison"]["nights"]) == (2, 2)
    assert "night" not in shift["text"].lower()
