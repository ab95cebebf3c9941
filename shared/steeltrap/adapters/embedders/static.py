"""static-256: one vector per word piece, trained for recalling conversations; in the package, no download, no network.

What it is made from and how well it finds stands in `static_256/MODEL_CARD.md`.
"""

import re
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, Literal

from ...errors import Unavailable
from ...model import Embedding
from ...rules.analysis import tokens
from .calibration import STATIC_NOVEL, STATIC_SLOPE, STATIC_UNRELATED, STATIC_UNRELATED_JAPANESE
from .vectors import placed, worded

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

FOLDER: Final = Path(__file__).with_name("static_256")
DIMENSION: Final = 256
_LOAD_SECONDS: Final = 60.0
BLOCK: Final = 128
"""Texts between two looks at the clock."""

_UNKNOWN: Final = 100
"""The piece that stands for everything the tokenizer doesn't know: texts that have only it in common share nothing."""

_BEYOND_LATIN: Final = re.compile(
    "[\u0370-\u1dff\u1f00-\u1fff\u2c80-\u2ddf\u2e80-\uffef\U00010000-\U0001efff\U00020000-\U0003ffff]+"
)
"""The characters of other scripts, their punctuation too. The model knows some of them, all nearly alike: by these,
unrelated Japanese sentences would have a cosine of 0.95."""


_PLAIN: Final = re.compile("[\\t\\n\\r -~\\u2013\\u2014\\u2018\\u2019\\u201c\\u201d\\u2026]*")
_PLAIN_WORD: Final = re.compile("[a-z0-9]+|[^a-z0-9\\s]")
"""What the tokenizer takes for a word in such texts, which are most. To look up words that were seen before takes a
tenth of the time."""

_LONGEST_WORD: Final = 100
"""Characters; the tokenizer knows no longer one."""

_WORDS_KEPT: Final = 10_000


class StaticEmbedder:
    """The weighted sum of the vectors of a text's word pieces, each counted once; a query weighs its pieces.

    Words of other scripts than Latin have a vector made from their hash, so they match themselves and nothing else.
    A text without a known piece and without such a word has no vector. The model is loaded at the first text and
    shared by all threads. `unrelated` None takes the level that was measured for it.
    """

    name = "steeltrap/static-256"
    dimension = DIMENSION
    unrelated_japanese = STATIC_UNRELATED_JAPANESE
    novel = STATIC_NOVEL
    slope = STATIC_SLOPE

    def __init__(self, *, unrelated: float | None = None, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.unrelated = STATIC_UNRELATED if unrelated is None else unrelated
        self._monotonic = monotonic
        self._loading = Lock()
        self._model: _Model | None = None

    def embed(self, texts: Sequence[str], *, purpose: Literal["document", "query"], timeout: float) -> list[Embedding]:
        """One embedding per text, in order; the other texts have no influence on it.

        Raises Unavailable when the model's files can't be read or the texts take longer than `timeout`.
        """
        positions = worded(texts)
        vectors = self._vectors([texts[position] for position in positions], purpose, timeout) if positions else []
        return placed(vectors, positions, len(texts), DIMENSION)

    def load(self) -> None:
        """Load the model now and not at the first text. Raises Unavailable when its files can't be read."""
        self.embed(["load"], purpose="query", timeout=_LOAD_SECONDS)

    def _vectors(self, texts: Sequence[str], purpose: Literal["document", "query"], timeout: float) -> list[Embedding]:
        ends = self._monotonic() + timeout
        model = self._loaded()
        vectors: list[Embedding] = []
        for start in range(0, len(texts), BLOCK):
            if self._monotonic() > ends:
                raise Unavailable(
                    f"Embedding {len(texts):,} texts takes longer than {timeout:g} s; send fewer at a time.",
                    part="embedder",
                )
            vectors += [model.vector(text, purpose) for text in texts[start : start + BLOCK]]
        return vectors

    def _loaded(self) -> "_Model":
        with self._loading:
            if self._model is None:
                self._model = _load()
            return self._model


class _Model:
    """The rows of the word pieces in 8 bits, what to multiply each row by, and the tokenizer."""

    def __init__(
        self, tokenizer: "Tokenizer", table: "NDArray[np.int8]", weights: "dict[str, NDArray[np.float32]]"
    ) -> None:
        self._tokenizer = tokenizer
        self._table = table
        self._weights = weights
        self._of_word = lru_cache(_WORDS_KEPT)(self._tokenized)

    def vector(self, text: str, purpose: Literal["document", "query"]) -> Embedding:
        import numpy as np

        pieces = self._pieces(text)
        # Not BLAS, whose sum for one text may depend on how many threads it takes.
        total: NDArray[np.float32] = np.einsum("i,ij->j", self._weights[purpose][pieces], self._table[pieces])
        foreign = [] if text.isascii() else _foreign_words(text)
        if foreign:
            total += _hashed(foreign).sum(axis=0)
        length = float(np.sqrt(np.einsum("i,i->", total, total)))
        unit = total / np.float32(length or 1)
        return unit.astype("<f4", copy=False).tobytes()

    def _pieces(self, text: str) -> "NDArray[np.intp]":
        """The known pieces of a text, each once; sorted, because a sum of floats depends on its order."""
        import numpy as np

        if _PLAIN.fullmatch(text):
            words = {word for word in _PLAIN_WORD.findall(text.lower()) if len(word) <= _LONGEST_WORD}
            found = set(chain.from_iterable(map(self._of_word, words)))
        else:
            found = set(self._tokenized(_BEYOND_LATIN.sub(" ", text)))
        return np.array(sorted(found - {_UNKNOWN}), np.intp)

    def _tokenized(self, text: str) -> tuple[int, ...]:
        # One at a time: the tokenizer's thread pool would warn in a process that forks.
        return tuple(self._tokenizer.encode(text, add_special_tokens=False).ids)


def _foreign_words(text: str) -> list[str]:
    """What a text is found by beyond Latin script: words, and pairs of characters where a script has no spaces."""
    found = _BEYOND_LATIN.findall(text)
    return list(dict.fromkeys(tokens(" ".join(found)))) if found else []


def _hashed(words: Sequence[str]) -> "NDArray[np.float32]":
    """A vector of length 1 for each word: the bits of its hash as signs."""
    import numpy as np

    digests = b"".join(
        blake2b(word.encode(), digest_size=DIMENSION // 8, person=b"steeltrap").digest() for word in words
    )
    bits = np.unpackbits(np.frombuffer(digests, np.uint8)).reshape(len(words), DIMENSION)
    return (2 * bits.astype(np.float32) - 1) / np.float32(DIMENSION**0.5)


def _load() -> _Model:
    """Read the model from its folder. Raises Unavailable when it can't be read."""
    try:
        import numpy as np
        from tokenizers import Tokenizer

        with (FOLDER / "model.npz").open("rb") as file, np.load(file) as arrays:
            table, scale, of_query = arrays["table"], arrays["scale"], arrays["qw"]
        tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
        return _Model(tokenizer, table, {"document": scale, "query": scale * of_query.astype("f4")})
    except Exception as error:
        # tokenizers raises bare Exception, numpy and the file system their own.
        raise Unavailable(
            "The model static-256 can't be read: run `pip install --force-reinstall steeltrap`, or choose another "
            "STEELTRAP_EMBEDDER.",
            part="embedder",
        ) from error
