"""WordLlama: one static vector per token, out of the wheel; no download, no network, ~20,000 texts/s.

The package's own files are read without importing it: the same vectors in a third of the time, and
neither `requests` nor a call of `logging.basicConfig` comes along with them.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import accumulate, chain, pairwise
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal

from ...errors import Unavailable
from ...model import Embedding
from .calibration import WORDLLAMA_NOVEL, WORDLLAMA_SLOPE, WORDLLAMA_UNRELATED, WORDLLAMA_UNRELATED_JAPANESE
from .vectors import placed, worded

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

CONFIG = "l2_supercat"
DIMENSION = 256
_LOAD_SECONDS = 60.0
BLOCK = 128
"""Texts tokenized before they are summed: by turns, the two push each other out of the CPU's cache."""


class WordLlamaEmbedder:
    """The mean of a text's token vectors. Queries and documents are embedded alike.

    The model is loaded at the first text and shared by all threads. `unrelated` None takes the level
    that was measured for it.
    """

    name = f"wordllama/{CONFIG}_{DIMENSION}"
    dimension = DIMENSION
    unrelated_japanese = WORDLLAMA_UNRELATED_JAPANESE
    novel = WORDLLAMA_NOVEL
    slope = WORDLLAMA_SLOPE

    def __init__(self, *, unrelated: float | None = None, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.unrelated = WORDLLAMA_UNRELATED if unrelated is None else unrelated
        self._monotonic = monotonic
        self._loading = Lock()
        self._model: _Model | None = None

    def embed(self, texts: Sequence[str], *, purpose: Literal["document", "query"], timeout: float) -> list[Embedding]:
        """One embedding a text, in order; each is computed alone, so that its neighbours have no say.

        Raises Unavailable when the package isn't installed or the texts take longer than `timeout`.
        """
        positions = worded(texts)
        vectors = self._vectors([texts[position] for position in positions], timeout) if positions else []
        return placed(vectors, positions, len(texts), DIMENSION)

    def load(self) -> None:
        """Load the model now and not at the first text. Raises Unavailable when the package isn't installed."""
        self.embed(["load"], purpose="query", timeout=_LOAD_SECONDS)

    def _vectors(self, texts: Sequence[str], timeout: float) -> list[Embedding]:
        ends = self._monotonic() + timeout
        model = self._loaded()
        vectors: list[Embedding] = []
        for start in range(0, len(texts), BLOCK):
            if self._monotonic() > ends:
                raise Unavailable(
                    f"Embedding {len(texts):,} texts takes longer than {timeout:g} s; send fewer at a time.",
                    part="embedder",
                )
            vectors += model.vectors(texts[start : start + BLOCK])
        return vectors

    def _loaded(self) -> "_Model":
        with self._loading:
            if self._model is None:
                self._model = _load()
            return self._model


@dataclass(frozen=True, slots=True)
class _Model:
    """The tokenizer and the table of token vectors."""

    tokenizer: "Tokenizer"
    table: "NDArray[np.float32]"

    def vectors(self, texts: Sequence[str]) -> list[Embedding]:
        # No padding, so that a text's vector does not depend on what it is embedded beside.
        import numpy as np

        tokens = self._tokens(texts)
        rows = self.table.take(list(chain.from_iterable(tokens)), axis=0)
        ends = list(accumulate(map(len, tokens)))
        sums = np.stack([rows[a:b].sum(axis=0) for a, b in pairwise((0, *ends))])
        lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, np.newaxis]
        units = (sums / np.where(lengths > 0, lengths, 1)).astype("<f4", copy=False)
        return [unit.tobytes() for unit in units]

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        # A single text leaves the tokenizer's thread pool unused, which would warn in a process that forks.
        if len(texts) == 1:
            encoded = [self.tokenizer.encode(texts[0], add_special_tokens=False)]
        else:
            encoded = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        # A text without a token gets the vector of the unknown one, as the package gives it.
        return [of_text.ids or [0] for of_text in encoded]


def _load() -> _Model:
    """Read the model from the package's folder. Raises Unavailable when it isn't there."""
    package = find_spec("wordllama")
    if package is None or not package.submodule_search_locations:
        raise Unavailable(
            "wordllama is not installed: run `pip install steeltrap`, or choose another STEELTRAP_EMBEDDER.",
            part="embedder",
        )
    folder = Path(package.submodule_search_locations[0])
    try:
        from safetensors import safe_open
        from tokenizers import Tokenizer

        with safe_open(folder / "weights" / f"{CONFIG}_{DIMENSION}.safetensors", framework="np") as weights:
            table = weights.get_tensor("embedding.weight").astype("f4")
        tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / f"{CONFIG}_tokenizer_config.json"))
        return _Model(tokenizer, table)
    except Exception as error:
        # tokenizers raises bare Exception, safetensors and the file system their own.
        raise Unavailable(
            "wordllama's own files can't be read: run `pip install --force-reinstall wordllama`.",
            part="embedder",
        ) from error
