"""small: the transformer small-4 and the words of static-256, as one vector.

Their cosines are added. small-4 tells what an English sentence means; static-256 tells rare words apart, and knows
Spanish, German and Japanese ones. `steeltrap_small/MODEL_CARD.md` has what each of them gains.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from ..model import Embedding
from . import out_of_time
from .onnx import OnnxEmbedder
from .static import StaticEmbedder

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

_SHARE: Final = 0.7
"""small-4's share of the cosine. Its cosines lie within a quarter of the scale, those of static-256 spread over all of
it, so that three tenths of these count more than the rest: static-256 tells what is stored from what only resembles
it, and small-4 hardly does."""

_UNRELATED: Final = 0.57
"""The cosine between questions and what doesn't answer them; the median of pairs picked at random is 0.56."""

_LOAD_SECONDS: Final = 60.0


class SmallEmbedder:
    """The vector of small-4 and after it that of static-256, so weighted that the cosine of two texts is 0.7 of
    small-4's and 0.3 of static-256's.

    small-4 knows English only: it embeds the gloss of a Spanish or German text. A text in which static-256 knows no
    word has small-4's vector alone. The other levels are those of the two models, weighted alike; `unrelated`
    replaces the one of that name. Raises InvalidInput for a folder that is not small-4's.
    """

    def __init__(
        self, folder: Path, *, unrelated: float | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._meaning = meaning = OnnxEmbedder(folder, monotonic=monotonic)
        self._words = words = StaticEmbedder(monotonic=monotonic)
        self.name = f"small-2/{meaning.name}+{words.name}"
        self.dimension = meaning.dimension + words.dimension
        self.unrelated = _UNRELATED if unrelated is None else unrelated
        self.unrelated_japanese = _mixed(meaning.unrelated_japanese, words.unrelated_japanese)
        self.novel = _mixed(meaning.novel, words.novel)
        self.slope = _mixed(meaning.slope, words.slope)
        self._monotonic = monotonic

    def embed(self, texts: Sequence[str], *, purpose: Literal["document", "query"], timeout: float) -> list[Embedding]:
        """One embedding per text, in order; the other texts have no influence on it.

        Raises Unavailable when a package or a file is missing or damaged, and when it takes longer than `timeout`.
        """
        ends = self._monotonic() + timeout
        words = self._words.embed(texts, purpose=purpose, timeout=timeout)
        glosses = [self._words.gloss(text) if text.strip() else text for text in texts]
        seconds_left = ends - self._monotonic()
        if seconds_left <= 0:
            raise out_of_time(len(texts), timeout)
        meanings = self._meaning.embed(glosses, purpose=purpose, timeout=seconds_left)
        return [_joined(*pair) for pair in zip(meanings, words, strict=True)]

    def has_changed(self, text: str, since: int) -> bool:
        """Whether static-256's part of the vector is another one than by this version of the analysis."""
        return self._words.has_changed(text, since)

    def knows(self, word: str) -> bool:
        """Whether a language of static-256 has a word. Raises Unavailable when its files can't be read."""
        return self._words.knows(word)

    def load(self) -> None:
        """Load the models now and not at the first text. Raises Unavailable."""
        self.embed(["load"], purpose="query", timeout=_LOAD_SECONDS)


def _mixed(meaning: float, words: float) -> float:
    return _SHARE * meaning + (1 - _SHARE) * words


def _joined(meaning: Embedding, words: Embedding) -> Embedding:
    """Both vectors, one after the other, at length 1; zeros for a blank text, which has neither."""
    import numpy as np

    parts = (meaning, _SHARE), (words, 1 - _SHARE)
    both: NDArray[float32] = np.concatenate(
        [np.frombuffer(vector, "<f4") * np.float32(share**0.5) for vector, share in parts]
    )
    # Not BLAS, whose sum may depend on how many threads it takes.
    length = float(np.sqrt(np.einsum("i,i->", both, both)))
    return (both / np.float32(length or 1)).astype("<f4", copy=False).tobytes()
