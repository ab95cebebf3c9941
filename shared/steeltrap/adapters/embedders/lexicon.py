"""The words of other languages that static-256 knows, each with a row in the space of its English word pieces.

How the rows were found stands in `static_256/MODEL_CARD.md`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from ...errors import Unavailable
from ...text.words import fold_case

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ABSENT: Final = -1
"""The place of a word that the lexicon doesn't know."""

FOREIGN: Final = 30
"""From this sum on, in tenths of a natural logarithm, a text is taken for one of another language."""

_ENGLISH: Final = -10
_VERY_ENGLISH: Final = -40
_VERY_ENGLISH_WORDS: Final = frozenset(
    """i the to and of is for that you it with this be are have at not by but from my or we your his they if can about
    out what when who had their which she how some them would been were there said him her because could should into
    than then these where very did does going never""".split()
)

_DIGEST_BYTES: Final = 32
_KEY_BYTES: Final = 8
_KEPT: Final = 20_000
_KANA: Final = re.compile("[\u3041-\u3096\u30a1-\u30fa\u30fc]")
_SPELLED_OUT: Final = str.maketrans({"ß": "ss", "ä": "ae", "ö": "oe", "ü": "ue"})
_SHORTEST_PART: Final = 4
_LONGEST_COMPOUND: Final = 40
_LINKS: Final = ("", "s", "n", "en")
"""What may stand between the parts of a German compound."""


def english(whole: Iterable[str]) -> int:
    """What the words that the English tokenizer knows as a whole add to a text's odds; it is less than 0."""
    return _ENGLISH * sum(len(word) > 1 and word.isalpha() and word not in _VERY_ENGLISH_WORDS for word in whole)


def digest(word: str) -> bytes:
    """The hash of a word; its first bytes are the word's key in the lexicon."""
    return blake2b(word.encode(), digest_size=_DIGEST_BYTES, person=b"steeltrap").digest()


@contextmanager
def readable() -> Iterator[None]:
    """Raises Unavailable for whatever reading a file of the model raises."""
    try:
        yield
    except Exception as error:
        # tokenizers raises bare Exception, numpy and the file system their own.
        raise Unavailable(
            "The model static-256 can't be read: run `pip install --force-reinstall steeltrap`, or choose another "
            "STEELTRAP_EMBEDDER.",
            part="embedder",
        ) from error


class Lexicon:
    """Places of words, and rows by place: the forms of a word share one.

    Safe for threads. The rows are read when a text first needs them, from `path`, and the numbers of the nearest
    English pieces when a gloss does, from `english`.
    """

    def __init__(self, path: Path, english: Path) -> None:
        import numpy as np

        with path.open("rb") as file, np.load(file) as arrays:
            self._keys: NDArray[np.uint64] = arrays["keys"]
            self._odds: bytes = arrays["odds"].tobytes()
            self._row: NDArray[np.uint16] = arrays["row"]
        self._path, self._path_of_english = path, english
        self._reading = Lock()
        self._rows: tuple[NDArray[np.uint8], NDArray[np.float32]] | None = None
        self._english: NDArray[np.uint16] | None = None
        self.place = lru_cache(_KEPT)(self._place)
        self.compound = lru_cache(_KEPT)(self._compound)

    def odds(self, places: Iterable[int], words: Set[str]) -> int:
        """How much likelier the words at these places are in their own language than in English, in tenths of a natural
        logarithm, less what the commonest English ones of a text's words say.
        """
        return sum(map(self._odds.__getitem__, places)) + _VERY_ENGLISH * len(_VERY_ENGLISH_WORDS & words)

    def _place(self, word: str) -> int:
        return self.places([digest(_folded(word))])[0]

    def places(self, digests: Sequence[bytes]) -> list[int]:
        """The place of each word, -1 if it isn't here."""
        import numpy as np

        keys = np.frombuffer(b"".join(found[:_KEY_BYTES] for found in digests), "<u8")
        near = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        places: list[int] = np.where(self._keys[near] == keys, near, ABSENT).tolist()
        return places

    def _compound(self, word: str) -> tuple[int, ...]:
        """The places of the two words that a German compound is made of; none if it can't be parted.

        Of several ways the one whose shorter part is longest.
        """
        if not 2 * _SHORTEST_PART <= len(word) <= _LONGEST_COMPOUND or not word.isalpha():
            return ()
        ways = list(_parted(_folded(word)))
        places = self.places([digest(part) for way in ways for part in way])
        found = [
            (min(map(len, way)), pair)
            for way, pair in zip(ways, zip(places[::2], places[1::2], strict=True), strict=True)
            if ABSENT not in pair
        ]
        return max(found, key=lambda way: way[0])[1] if found else ()

    def knows_japanese(self, text: str, places: Sequence[int]) -> bool:
        """Whether the characters and pairs at these places are Japanese: by its kana, else if none is missing.

        The same characters mean something else in Chinese, which hardly ever has all pairs in common.
        """
        return _KANA.search(text) is not None or ABSENT not in places

    def sum_of(self, places: Sequence[int]) -> "NDArray[np.float32]":
        """The sum of the words' rows, each row counted once. Raises Unavailable when the file can't be read."""
        import numpy as np

        packed, scale = self._read()
        # Not np.unique: it imports numpy.ma, which the functions' bundles leave out.
        at = np.array(sorted(set(self._row[places].tolist())), np.intp)
        # Two numbers per byte, of 4 bits each: 0 stands for -7.5, 15 for 7.5.
        halves = np.stack([packed[at] >> 4, packed[at] & 15], axis=-1)
        numbers = halves.reshape(len(at), -1) - np.float32(7.5)
        total: NDArray[np.float32] = np.einsum("i,ij->j", scale[at], numbers)
        return total

    def english(self, places: Sequence[int]) -> list[int]:
        """The English word piece nearest to each word. Raises Unavailable when the file can't be read."""
        with self._reading:
            if self._english is None:
                import numpy as np

                with readable(), self._path_of_english.open("rb") as file, np.load(file) as arrays:
                    self._english = arrays["piece"]
        return [int(self._english[self._row[place]]) for place in places]

    def _read(self) -> "tuple[NDArray[np.uint8], NDArray[np.float32]]":
        import numpy as np

        with self._reading:
            if self._rows is None:
                with readable(), self._path.open("rb") as file, np.load(file) as arrays:
                    self._rows = arrays["rows"], arrays["scale"].astype(np.float32)
            return self._rows


def _folded(word: str) -> str:
    """A lower-case word as the lexicon has it: without accents, German vowels spelled out."""
    return word if word.isascii() else fold_case(word.translate(_SPELLED_OUT))


def _parted(word: str) -> Iterator[tuple[str, str]]:
    for at in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1):
        for link in _LINKS:
            head = word[:at].removesuffix(link) if word[:at].endswith(link) else ""
            if len(head) >= _SHORTEST_PART:
                yield head, word[at:]
