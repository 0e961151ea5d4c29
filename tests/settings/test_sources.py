"""Sources in the settings: known kinds, and nothing that a kind has no use for."""

from pathlib import Path

import pytest

from consolidator.instants import NIGHT
from consolidator.settings import load_settings, parse_settings
from tests.settings.conftest import Refused


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "sources: {a: {url: memory-smrt}}",
            "sources.a.url: memory-smrt is no kind of source; did you mean memory-smart?",
        ),
        ("sources: {a: {url: 'quiz:x'}}", "sources.a.url: quiz is no kind of source; `consolidate sources` lists them"),
        ("sources: {a: {scope: user=ada}}", "sources.a.url: is missing; write e.g. url: claw-memory-ultra"),
        ("sources: {a: {url: openclaw, model: minilm}}", "sources.a.model: openclaw has no model; leave it out"),
        ("sources: {a: {url: openclaw, mapping: m}}", "sources.a.mapping: openclaw has no mapping; leave it out"),
        ("sources: {a: {url: openclaw, token: t}}", "sources.a.token: openclaw has no token; leave it out"),
        (
            "sources: {a: {url: 'csv:x.csv'}}",
            "sources.a.mapping: is missing: a CSV file says nothing of its columns itself; docs/sources.md shows one",
        ),
        (
            "sources: {a: {url: memory-smart, model: none}}",
            "sources.a.model: none is no model; leave it out where it is not known",
        ),
        (
            "sources: {claw: {url: openclaw}}\njobs: {consolidate: {sources: [clew]}}",
            "jobs.consolidate.sources[0]: there is no source 'clew'; did you mean claw?",
        ),
        (
            "jobs: {consolidate: {sources: [claw]}}",
            "jobs.consolidate.sources[0]: there is no source 'claw'; the settings have none, name it under `sources:`",
        ),
    ],
)
def test_a_source_that_cannot_be_meant_is_refused(refused: Refused, text: str, said: str) -> None:
    """With what is wrong, where, and what to write instead."""
    (line,) = refused(text)
    assert line.rpartition(" (line")[0] == said


def test_a_relative_place_leads_from_the_folder_of_the_file(tmp_path: Path) -> None:
    """But no server's address, and no name of a resource."""
    file = tmp_path / "s.yaml"
    file.write_text(
        "sources:\n  notes: {url: 'markdown:notes'}\n  smart: {url: 'memory-smart:http://localhost:6333/m'}\n"
        "  bank: {url: 'vertex:projects/p/locations/l/reasoningEngines/1'}\n  usual: {url: memory-new}\n"
    )
    urls = {name: source.url for name, source in load_settings(file).sources.items()}
    assert urls == {
        "notes": f"markdown:{tmp_path}/notes",
        "smart": "memory-smart:http://localhost:6333/m",
        "bank": "vertex:projects/p/locations/l/reasoningEngines/1",
        "usual": "memory-new",
    }


def test_agents_have_scopes_and_tokens_of_their_own(refused: Refused) -> None:
    """No two the same token: nobody could tell them apart."""
    token = "0123456789abcdef"
    same = f"agents: {{a: {{scopes: [''], token: {token}}}, b: {{scopes: [''], token: {token}}}}}"
    assert refused(same) == ["agents: two agents have the same token; give each its own (line 1)"]
    assert refused("agents: {a: {scopes: []}}") == ["agents.a.scopes: [] is not a list of one scope or more (line 1)"]
    (short,) = refused("agents: {a: {scopes: [''], token: short}}")
    assert short.startswith("agents.a.token: not a token; it has 16 or more")


def test_a_time_to_live_is_by_scope(refused: Refused) -> None:
    """The scope's own, else that of all; null is never."""
    day = parse_settings('day: {expire_nights: {"*": 30, "user=ada": 7, "user=bo": null}}', "s").day
    given = {scope: day.expiry(scope, 0) for scope in ("{}", '{"user":"ada"}', '{"user":"bo"}')}
    assert given == {"{}": 30 * NIGHT, '{"user":"ada"}': 7 * NIGHT, '{"user":"bo"}': None}
    assert refused("day: {expire_nights: {ada: 7}}") == [
        'day.expire_nights: \'ada\' is not a scope; write e.g. user=ada,project=atlas, "" or "*" (line 1)'
    ]


def test_a_token_may_lie_in_a_file(tmp_path: Path) -> None:
    """As every secret may."""
    (tmp_path / "token").write_text("hush\n")
    (tmp_path / "token").chmod(0o600)
    found = parse_settings(f"sources: {{a: {{url: memory-smart, token_file: {tmp_path}/token}}}}", "s")
    assert found.sources["a"].token is not None
    assert found.sources["a"].token.get_secret_value() == "hush"
