"""Vectors out of hashed words: equal texts have equal ones, texts that share most of their words similar ones."""

import hashlib
import re
from functools import lru_cache

import numpy as np

# A word in letters that are not Latin may be a whole sentence, so each of its letters counts too.
WORD = re.compile(r"\w+|[^\w\s]")
DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
DIMENSION_OF_OTHERS = 384


def vector_of(text: str, model: str, dimensions: int | None = None) -> np.ndarray:
    """float32, of length 1. A smaller dimension is the beginning of the whole vector, made one of length 1 again."""
    whole = DIMENSIONS.get(model, DIMENSION_OF_OTHERS)
    total = np.zeros(whole)
    for word in words_of(text):
        total += direction(model, word, whole)
    total = total[: dimensions or whole]
    return (total / np.linalg.norm(total)).astype(np.float32)


def words_of(text: str) -> list[str]:
    words = WORD.findall(text.casefold()) or [text]
    return words + [letter for word in words for letter in word if ord(letter) > 0x2E7F]


@lru_cache(maxsize=2048)
def direction(model: str, word: str, dimension: int) -> np.ndarray:
    seed = hashlib.sha256(f"{model}\0{word}".encode()).digest()
    return np.random.default_rng(int.from_bytes(seed[:8])).standard_normal(dimension)
