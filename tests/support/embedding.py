"""An embedder for tests: hashed word stems, quick, the same on every machine, and a real one by contract."""

import math
import re
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from steeltrap.embedders import nonblank_positions, restore_positions
from steeltrap.errors import Unavailable
from steeltrap.model import Embedding
from steeltrap.text.vectors import unit_vector

_WORDS = re.compile(r"[぀-ヿ㐀-鿿가-힯]|[^\W_]+")
STOP_WORDS = frozenset(
    _WORDS.findall(
        "a an and are as at be by for from has have he her his i in is it its my of on or she that the "
        "their they this to was we were what when where which who will with you your"
    )
)
_ENDINGS = ("ings", "ing", "edly", "ed", "ly", "es", "s")


class HashedWords:
    """A text's vector counts its word stems, hashed into `dimension` places.

    Texts of equal stems have cosine 1, texts that share none about 0.1, more when they are long. `state`
    `stuck` fails as a model does that ran out of time, `broken` as one that refuses; neither waits.
    """

    unrelated = 0.1
    unrelated_japanese = 0.45
    novel = 0.5
    slope = 0.05

    def __init__(self, *, dimension: int = 64, state: Literal["working", "stuck", "broken"] = "working") -> None:
        self.dimension = dimension
        self.name = f"hashed-words/{dimension}"
        self.state = state

    def embed(self, texts: Sequence[str], *, purpose: Literal["document", "query"], timeout: float) -> list[Embedding]:
        """One embedding a text, in order. Raises Unavailable unless `state` is `working`."""
        if self.state == "stuck":
            raise Unavailable(f"The embedder did not answer within {timeout:g} s; try again.", part="embedder")
        if self.state == "broken":
            raise Unavailable("The embedder refuses to answer.", part="embedder")
        positions = nonblank_positions(texts)
        vectors = [_vector(texts[position], self.dimension) for position in positions]
        return restore_positions(vectors, positions, len(texts), self.dimension)


class Placed(HashedWords):
    """Texts at chosen cosines from one: `cosines` says how near each is to it, 0 when it doesn't.

    Among each other they have only that in common. As many texts as `dimension` has room for.
    """

    def __init__(self, about: str, *, unrelated: float = 0.1, dimension: int = 160) -> None:
        super().__init__(dimension=dimension)
        self.unrelated = unrelated
        self.cosines = {about: 1.0}

    def embed(self, texts: Sequence[str], *, purpose: Literal["document", "query"], timeout: float) -> list[Embedding]:
        return [self._at(text) for text in texts]

    def _at(self, text: str) -> Embedding:
        cosine = self.cosines.setdefault(text, 0.0)
        numbers = [0.0] * self.dimension
        numbers[0] = cosine
        numbers[1 + list(self.cosines).index(text)] = math.sqrt(1 - cosine**2)
        return unit_vector(numbers)


@lru_cache(4096)
def _vector(text: str, dimension: int) -> Embedding:
    """Tests tell the same few stories: most of their texts were met before."""
    counts = [0] * dimension
    for stem in _stems(text) or list(text):
        counts[zlib.crc32(stem.encode()) % dimension] += 1
    return unit_vector(counts)


def _stems(text: str) -> list[str]:
    return [_stem(word) for word in _WORDS.findall(text.casefold()) if word not in STOP_WORDS]


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if len(word) > len(ending) + 2 and word.endswith(ending):
            return word.removesuffix(ending)
    return word
