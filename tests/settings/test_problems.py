"""Everything that is wrong is said at once, each with its path, its line and what to write instead."""

import re
from typing import Any, get_args

import pytest
import yaml

from consolidator.errors import BadSettings
from consolidator.notify.channels import CHANNELS
from consolidator.plan import STEPS
from consolidator.settings import LEVELS, Settings, parse_settings
from consolidator.settings.explain import paths_of
from consolidator.settings.kinds import Step
from tests.settings.conftest import Refused

MANY = """\
rates:
  working: 1.2
  asociation: 0.9
report: sumary
stores: {team: team.db}
channels:
  chat: {type: apprise, url: SECRETSECRET}
  hook: {type: webhook}
jobs:
  shift: {at: 25:00, cron: 61 * * * *, channels: [chta, hook, hook]}
  nightly: {}
  consolidate:
    store: tema
    steps: [reinforc]
    deadline_minutes: 0
"""


def test_all_at_once(refused: Refused) -> None:
    """In the order of the file, one line each."""
    assert refused(MANY) == [
        "rates.working: 1.2 is not between 0 and 1 (line 2)",
        "rates.asociation: unknown; did you mean rates.association? (line 3)",
        "report: 'sumary' is not one of off, errors, summary, detailed; did you mean summary? (line 4)",
        "channels.hook.url: is missing; write e.g. url: https://example.org/hook, or url_file (line 8)",
        "jobs.shift.at: '25:00' is not a time of day, from 00:00 to 23:59; write e.g. 03:30 (line 10)",
        "jobs.shift.cron: '61 * * * *' is no cron expression: Bad minute (line 10)",
        "jobs.shift.channels[0]: there is no channel 'chta'; did you mean chat? (line 10)",
        "jobs.nightly: unknown; known here: consolidate, shift, collect, report, purge, backup (line 11)",
        "jobs.consolidate.store: there is no store 'tema'; did you mean team? (line 13)",
        (
            "jobs.consolidate.steps[0]: 'reinforc' is not one of reinforce, decay, associate, shift, prune, merge; "
            "did you mean reinforce? (line 14)"
        ),
        "jobs.consolidate.deadline_minutes: 0 is not between 1 and 1440 (line 15)",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # kinds
        ("rates: {working: 90%}", "rates.working: '90%' is not a number; write 0.9"),
        ("rates: {working: true}", "rates.working: true is not a number"),
        ("rates: 5", "rates: 5 is not a group of settings; indent its names below it"),
        ("rates: [working]", "rates: ['working'] is not a group of settings"),
        ("quiet: no", "quiet: 'no' is not true or false; write false"),
        ("quiet: 1", "quiet: 1 is not true or false"),
        ("merge: {retries: '5'}", "merge.retries: '5' is not a whole number; write it without quotes"),
        ("merge: {retries: 5.5}", "merge.retries: 5.5 is not a whole number"),
        ("merge: {budget: {usd: -1}}", "merge.budget.usd: -1 is not a number from 0 up"),
        ("merge: {mode: alive}", "merge.mode: 'alive' is not one of live, batch; did you mean live?"),
        ("merge: {model: ollama:x}", "merge.model: 'ollama:x' is not auto, none, anthropic, openai, anthropic:NAME or"),
        ("merge: {base_url: localhost:1}", "merge.base_url: not a URL; write e.g. http://localhost:11434/v1"),
        ("merge: {prices: {m: {input: 1}}}", "merge.prices.m.output: is missing; write e.g. output: 0.5"),
        ("merge: {api_key: 5}", "merge.api_key: not a text; put it in quotes"),
        ("embedding: {model: minilml}", "embedding.model: 'minilml' is not minilm, openai:NAME or none"),
        ("store: ''", "store: '' is not a path or URL"),
        ("store: ['postgresql://a:SECRETSECRET@h/d']", "store: not a path or URL"),
        ("stores: {'a b': x}", "stores: 'a b' is no name for a store; use letters, digits, dots and dashes"),
        ("stores: x", "stores: 'x' is not a group of settings"),
        ("scopes: user=ada", "scopes: 'user=ada' is not a list; write ['user=ada']"),
        ("scopes: [ada]", "scopes[0]: 'ada' is not a scope (write e.g. user=ada,project=atlas)"),
        ("scopes: [user=ada, user=ada]", "scopes: user=ada is named twice"),
        (
            "time_zone: Europe/Helsinky",
            "time_zone: 'Europe/Helsinky' is not a time zone; did you mean Europe/Helsinki?",
        ),
        ("time_zone: ../etc/passwd", "time_zone: '../etc/passwd' is not a time zone; "),
        ("time_zone: /etc/localtime", "time_zone: '/etc/localtime' is not a time zone; "),
        ("time_zone: Europe", "time_zone: 'Europe' is not a time zone; "),
        ("persona: ''", "persona: '' is not a sentence or two"),
        (f"persona: {'x' * 501}", "persona: is longer than 500 characters"),
        ("service: {health_port: 70000}", "service.health_port: 70000 is not between 1 and 65535"),
        ("ping: {start: SECRETSECRET}", "ping.start: not an address of the form https://host/path"),
        ("watch: {nights: 1}", "watch.nights: 1 is not between 2 and 365"),
        # times
        ("jobs: {shift: {at: 330}}", "jobs.shift.at: 330 is not a time of day; write e.g. 03:30"),
        ("jobs: {shift: {at: 3.30}}", "jobs.shift.at: 3.3 is not a time of day; write e.g. 03:30"),
        (
            "jobs: {shift: {at: 24:00}}",
            "jobs.shift.at: '24:00' is not a time of day, from 00:00 to 23:59; write e.g. 03:30",
        ),
        ("jobs: {shift: {at: 3:30 pm}}", "jobs.shift.at: '3:30 pm' is not a time of day"),
        ("jobs: {shift: {at: '３:30'}}", "jobs.shift.at: '３:30' is not a time of day"),
        ("jobs: {shift: {cron: 30 3 * *}}", "jobs.shift.cron: '30 3 * *' is no cron expression: it has five fields"),
        ("jobs: {shift: {cron: 0 0 30 2 *}}", "jobs.shift.cron: '0 0 30 2 *' is no cron expression: Bad day-of-month"),
        ("jobs: {shift: {cron: 5}}", 'jobs.shift.cron: 5 is not a cron expression; write e.g. "30 3 * * *"'),
        ("jobs: {shift: {at: 3:30, cron: 1 1 * * *}}", "jobs.shift.cron: `at` is given too; leave one of them out"),
        # jobs
        (
            "jobs: {shift: off}",
            "jobs.shift: 'off' is not a group of settings; to turn a job off write `enabled: false`",
        ),
        ("jobs: {shift: {nights: 3}}", "jobs.shift.nights: unknown; it belongs to jobs.report"),
        ("jobs: {shift: {enabled: yes}}", "jobs.shift.enabled: 'yes' is not true or false; write true"),
        ("jobs: {shift: {level: all}}", "jobs.shift.level: 'all' is not one of off, errors, summary, detailed"),
        ("jobs: {shift: {level: false}}", "jobs.shift.level: false is not one of off, errors, summary, detailed"),
        (
            "jobs: {shift: {channels: [a]}}",
            "jobs.shift.channels[0]: there is no channel 'a'; the settings have none, name",
        ),
        ("jobs: {shift: {channels: a}}", "jobs.shift.channels: 'a' is not a list; write ['a']"),
        ("jobs: {shift: {store: a}}", "jobs.shift.store: there is no store 'a'; the settings have none, name it under"),
        ("jobs: {shift: {jitter_seconds: -1}}", "jobs.shift.jitter_seconds: -1 is not between 0 and 21600"),
        ("jobs: {consolidate: {steps: []}}", "jobs.consolidate.steps: is empty; leave it out, or write something"),
        ("jobs: {purge: {exposures_nights: 0}}", "jobs.purge.exposures_nights: 0 is not between 1 and 36500"),
        ("jobs: {purge: {exposures: 3}}", "jobs.purge.exposures: unknown; did you mean jobs.purge.exposures_nights?"),
        (
            "jobs: {backup: {enabled: true}}",
            "jobs.backup.folder: is missing; say where the copies go, e.g. folder: /var",
        ),
        (
            "scopes: [user=ada, '']\njobs: {shift: {scopes: [user=bob]}}",
            "jobs.shift.scopes[0]: user=bob is not one of the scopes above: user=ada; {}",
        ),
        # stores that cannot be one
        ("stores: {team: 'mysql://u:SECRET@h/x'}", "stores.team: mysql: not a kind of store; write sqlite:///"),
        ("store: sqlite:///x.db?key=SECRET", "store: a SQLite store takes a path and nothing else; write sqlite:///"),
        ("store: tgram://SECRET/1", "store: tgram: not a kind of store; "),
        # unknown keys
        ("stroe: a.db", "stroe: unknown; did you mean store?"),
        ("Report: off", "Report: unknown; did you mean report?"),
        ("working: 0.9", "working: unknown; did you mean rates.working?"),
        ("consolidate: {at: 3:30}", "consolidate: unknown; did you mean jobs.consolidate?"),
        ("jobs: {shift: {steps: [decay]}}", "jobs.shift.steps: unknown; it belongs to jobs.consolidate"),
        ("service: {grace: 5}", "service.grace: unknown; did you mean service.grace_minutes?"),
        ("service: {port: 5}", "service.port: unknown; did you mean service.health_port?"),
        ("merge: {budget: {dollars: 5}}", "merge.budget.dollars: unknown; did you mean merge.budget.usd?"),
        (
            "channels: {c: {type: slack, url: SECRET}}",
            "channels.c.type: must be one of apprise, webhook, openclaw, file, stdout; write type: apprise and url: ",
        ),
        ("zzz: 1", "zzz: unknown; known here: store, store_file, stores, sources, "),
        ("5: 1", "5: unknown; known here: "),
        ("null: 1", "null: unknown; known here: "),
    ],
)
def test_each_says_what_to_write_instead(text: str, said: str, refused: Refused) -> None:
    """In one line that names the path and never a secret."""
    (line,) = refused(text)
    assert line.startswith(said)
    assert line.endswith(f"(line {text.count(chr(10)) + 1})")
    assert "SECRET" not in line


@pytest.mark.parametrize(
    "text",
    [
        "jobs: {consolidate: {store: 'SECRET'}}",
        "stores: {'SECRET': x.db}\njobs: {shift: {store: x}}",
        "store: ['SECRET']",
        "channels: ['SECRET']",
        "channels: {'SECRET': {type: stdout}}\njobs: {shift: {channels: [x]}}",
        "ping: 'SECRET'",
        "report: 'SECRET'",
        "rates: {working: 'SECRET'}",
        "rates: {'SECRET': 1}",
        "? 'SECRET'\n: {x: 1}",
        "scopes: ['SECRET']",
        "scopes: ['a=SECRET', 'a=SECRET']",
        "scopes: ['a=SECRET']\njobs: {shift: {scopes: ['b=SECRET']}}",
        "time_zone: 'SECRET'",
        "merge: {model: 'SECRET'}",
        "merge: {mode: '${NO:-SECRET}'}",
        "merge: {api_key_file: 'SECRET'}",
        "jobs: {shift: {at: 'SECRET'}}",
        "jobs: {shift: {cron: 'SECRET'}}",
        "jobs: {consolidate: {steps: ['SECRET']}}",
        "jobs: {'SECRET': {}}",
        "'SECRET': 1",
        "store: !SECRET",
        "store: *SECRET",
    ],
)
@pytest.mark.parametrize(
    "secret", ["postgresql://u:hunter@h/x", "tgram://hunter/1", "https://hc/hunter", "sk-hunter-0123abcd", "hunter" * 4]
)
def test_a_secret_in_a_wrong_place_is_not_repeated(text: str, secret: str, refused: Refused) -> None:
    """Wherever it stands, only short plain words are said again."""
    assert "hunter" not in "\n".join(refused(text.replace("SECRET", secret)))


LEAVES = [path for path, shape in paths_of(Settings) if not shape.groups and path != ("channels",)]


@pytest.mark.parametrize("value", [-(10**9), 10**12, -0.5, 1.5, "a b", "", [], {}, [""], {"a": -1}, True, float("inf")])
@pytest.mark.parametrize("type_of_channel", CHANNELS)
def test_what_does_not_fit_is_refused_in_our_words(value: object, type_of_channel: str) -> None:
    """Whatever the setting and whatever stands there: no line is pydantic's."""
    document: dict[str, Any] = {}
    for path in [*LEAVES, *(("channels", "c", name) for name in CHANNELS[type_of_channel].model_fields)]:
        group = document
        for name in path[:-1]:
            group = group.setdefault(str(name), {})
        group[str(path[-1])] = value
    document["channels"]["c"]["type"] = type_of_channel
    for name, section in document.items():
        with pytest.raises(BadSettings) as refusal:  # of an unknown one at least; no more are told than 50
            parse_settings(yaml.safe_dump({"unknown": 1, name: section}), "s", environ={})
        assert not re.search(r"should|Input|Unable|Extra|Value error|valid ", "\n".join(refusal.value.lines))


def test_very_many_are_counted(refused: Refused) -> None:
    """A file that is all wrong does not fill the screen."""
    lines = refused("\n".join(f"wrong{number}: 1" for number in range(80)))
    assert len(lines) == 51
    assert lines[-1] == "and 30 more problems"


def test_the_words_are_those_of_the_program() -> None:
    """Steps and levels are the same in the settings as everywhere."""
    assert get_args(Step) == STEPS
    assert LEVELS == ("off", "errors", "summary", "detailed")


def test_what_jobs_name_may_stand_below_them() -> None:
    """The order of the file means nothing."""
    found = parse_settings(
        "jobs: {shift: {channels: [x], store: s}}\nstores: {s: s.db}\nchannels: {x: {type: stdout}}", "s"
    )
    assert (found.jobs.shift.channels, found.jobs.shift.store) == (("x",), "s")
