"""static-256: one vector per word piece, trained for recalling conversations; in the package, no download. And the
words of other languages that it knows, each with a row in the space of its English words.

What it is made from and how well it finds stands in `static_256/MODEL_CARD.md`.
"""

import re
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal

from ..errors import TooManyFiles, Unavailable
from ..model import Embedding
from ..text.patterns import lazy_pattern
from ..text.words import fold_case, is_hebrew, normalised, tokens
from . import nonblank_positions, out_of_time, restore_positions
from .calibration import STATIC_NOVEL, STATIC_SLOPE, STATIC_UNRELATED, STATIC_UNRELATED_JAPANESE
from .languages import CYRILLIC, LATIN, Languages
from .word_pieces import WordPieces

if TYPE_CHECKING:
    from zipfile import ZipFile

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
_KANA: Final = lazy_pattern("[\u3041-\u3096\u30a1-\u30fa\u30fc]")
_SPELLED_OUT: Final = str.maketrans({"ß": "ss", "ä": "ae", "ö": "oe", "ü": "ue"})
_SHORTEST_PART: Final = 4
_LONGEST_COMPOUND: Final = 40
_LINKS: Final = ("", "s", "n", "en")
"""Letters that may stand between the parts of a German compound."""


def english(whole: Iterable[str]) -> int:
    """The part of a text's odds by words that the English tokenizer knows as a whole; it is less than 0."""
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
        if TooManyFiles.are_behind(error):
            raise TooManyFiles(part="embedder") from error
        # numpy, zipfile and the file system raise their own.
        raise Unavailable(
            "The model static-256 can't be read: install steeltrap again, or choose another STEELTRAP_EMBEDDER.",
            part="embedder",
        ) from error


def read_arrays(path: Path, *names: str) -> "list[NDArray[Any]]":
    """The arrays of these names in a file of a model. `numpy.load` also loads the letters of MS-DOS, which takes longer
    than the arrays."""
    from zipfile import ZipFile

    with ZipFile(path, metadata_encoding="ascii") as archive:
        return [_read_array(archive, f"{name}.npy") for name in names]


def _read_array(archive: "ZipFile", name: str) -> "NDArray[Any]":
    from numpy.lib.format import read_array

    with archive.open(name) as file:
        array: NDArray[Any] = read_array(file, allow_pickle=False)
    return array


class Lexicon:
    """Places of words, and rows by place: the forms of a word share one.

    Safe for threads. The rows are read when a text first needs them, from `path`, and the numbers of the nearest
    English pieces when a gloss does, from `english`.
    """

    def __init__(self, path: Path, english: Path) -> None:
        keys, odds, row = read_arrays(path, "keys", "odds", "row")
        self._keys: NDArray[np.uint64] = keys
        self._sorted = keys.data
        self._odds: bytes = odds.tobytes()
        self._row: NDArray[np.uint16] = row
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
        # A search meets words that nobody has used, one by one: an array for each takes three times as long.
        key = int.from_bytes(digest(_folded(word))[:_KEY_BYTES], "little")
        place = bisect_left(self._sorted, key)
        return place if place < len(self._sorted) and self._sorted[place] == key else ABSENT

    def places(self, digests: Sequence[bytes]) -> list[int]:
        """The place of each word, -1 if it isn't here."""
        import numpy as np

        keys = np.frombuffer(b"".join(word_digest[:_KEY_BYTES] for word_digest in digests), "<u8")
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
        splits = [
            (min(map(len, way)), pair)
            for way, pair in zip(ways, zip(places[::2], places[1::2], strict=True), strict=True)
            if ABSENT not in pair
        ]
        return max(splits, key=lambda way: way[0])[1] if splits else ()

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
                with readable():
                    [self._english] = read_arrays(self._path_of_english, "piece")
        return [int(self._english[self._row[place]]) for place in places]

    def _read(self) -> "tuple[NDArray[np.uint8], NDArray[np.float32]]":
        import numpy as np

        with self._reading:
            if self._rows is None:
                with readable():
                    rows, scale = read_arrays(self._path, "rows", "scale")
                self._rows = rows, scale.astype(np.float32)
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


FOLDER: Final = Path(__file__).with_name("static_256")
DIMENSION: Final = 256
_LOAD_SECONDS: Final = 60.0
BLOCK: Final = 128
"""Texts between two looks at the clock."""

_UNKNOWN: Final = 100
"""The piece that stands for everything the tokenizer doesn't know: texts that have only it in common share nothing."""

_PLAIN: Final = lazy_pattern("[\\t\\n\\r -~\\u2013\\u2014\\u2018\\u2019\\u201c\\u201d\\u2026]*")
_PLAIN_WORD: Final = lazy_pattern("[a-z0-9]+|[^a-z0-9\\s]")
"""The tokenizer's words in such texts, which are most. To look up words that were seen before takes a
tenth of the time."""

_WORD: Final = lazy_pattern(r"[^\W_]+")
_MARKS: Final = str.maketrans(dict.fromkeys("¿¡«»„‚‹›", " "))
"""Marks that English lacks. Their rows were hardly trained, and are longer than those of words."""

_LONGEST_WORD: Final = 100
"""Characters; the tokenizer knows no longer one."""

_WORDS_KEPT: Final = 10_000

_MOSTLY: Final = 0.75
"""The share of a text's words that must be in the lexicon for a gloss, those left out that English has too. French and
Dutch have fewer in common with Spanish and German, and a half-glossed text means less than the text."""

_KNOWN: Final = 0.1
"""The share of its hash that a word of another script keeps beside its row: so the same words still find each other
best."""


REWORKED: Final = frozenset({*LATIN, *CYRILLIC, "ar"})
"""The languages whose texts have other vectors since version 4 of the analysis."""


class StaticEmbedder:
    """The weighted sum of the vectors of a text's word pieces, each counted once; a query weighs its pieces.

    In a Spanish, German or Japanese text the words of the lexicon have their own vectors. Other words of other scripts
    than Latin have a vector made from their hash, so they match themselves and nothing else. A text without a known
    piece and without such a word has no vector. The model is loaded at the first text and shared by all threads.
    `unrelated` None takes the level that was measured for it.
    """

    name = "steeltrap/static-256-2"
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
        positions = nonblank_positions(texts)
        vectors = self._vectors([texts[position] for position in positions], purpose, timeout) if positions else []
        return restore_positions(vectors, positions, len(texts), DIMENSION)

    def load(self) -> None:
        """Load the model now and not at the first text. Raises Unavailable when its files can't be read."""
        self.embed(["load"], purpose="query", timeout=_LOAD_SECONDS)

    def has_changed(self, text: str, since: int) -> bool:
        """Whether a later version of the analysis gave the text another vector: version 2 in the languages that it
        brought, version 3 in Hebrew, whose words got stems, version 4 in the languages whose words got other rows."""
        if since < 3 and is_hebrew(text):
            return True
        languages = self._loaded().languages_of(text) if since < 4 else set()
        return bool(languages) if since < 2 else not REWORKED.isdisjoint(languages)

    def knows(self, word: str) -> bool:
        """Whether English or one of the other languages has a word. Raises Unavailable when a file can't be read."""
        return self._loaded().knows(word)

    def gloss(self, text: str) -> str:
        """A Spanish or German text with the nearest English word in place of each word, for models that know English
        only; any other text as it is. Raises Unavailable when the model's files can't be read.
        """
        return self._loaded().gloss(text)

    def _vectors(self, texts: Sequence[str], purpose: Literal["document", "query"], timeout: float) -> list[Embedding]:
        ends = self._monotonic() + timeout
        model = self._loaded()
        vectors: list[Embedding] = []
        for start in range(0, len(texts), BLOCK):
            if self._monotonic() > ends:
                raise out_of_time(len(texts), timeout)
            vectors += [model.vector(text, purpose) for text in texts[start : start + BLOCK]]
        return vectors

    def _loaded(self) -> "_Model":
        with self._loading:
            if self._model is None:
                self._model = _load()
            return self._model


class _Model:
    """The rows of the word pieces in 8 bits, what to multiply each row by, the vocabulary, and the lexicon."""

    def __init__(
        self,
        pieces: WordPieces,
        table: "NDArray[np.int8]",
        weights: "dict[str, NDArray[np.float32]]",
        lexicon: Lexicon,
        languages: Languages,
    ) -> None:
        self._pieces = pieces
        self._table = table
        self._weights = weights
        self._lexicon = lexicon
        self._languages = languages
        self._of_word = lru_cache(_WORDS_KEPT)(self._looked_up)
        self._size = len(table)

    def vector(self, text: str, purpose: Literal["document", "query"]) -> Embedding:
        import numpy as np

        piece_numbers, places, language = self._split(text)
        # Sorted, because a sum of floats depends on its order.
        pieces = np.array(sorted(piece_numbers - {_UNKNOWN}), np.intp)
        # Not BLAS, whose sum for one text may depend on how many threads it takes.
        total: NDArray[np.float32] = np.einsum("i,ij->j", self._weights[purpose][pieces], self._table[pieces])
        if places:
            total += self._lexicon.sum_of(places) if language is None else self._in_language(places, language)
        others = [] if text.isascii() else _words_beyond_latin(text)
        if others:
            total += self._beyond_latin(text, others)
        length = float(np.sqrt(np.einsum("i,i->", total, total)))
        unit = total / np.float32(length or 1)
        return unit.astype("<f4", copy=False).tobytes()

    def languages_of(self, text: str) -> set[str]:
        """The languages that a text has words of, beside English and the lexicon's."""
        lowered = _lowered(text)
        digests = [digest(word) for word in _words_beyond_latin(text)]
        is_japanese = not digests or self._is_japanese(text, self._lexicon.places(digests))
        languages = set() if is_japanese else {language for language, _ in self._scripts(lowered)}
        latin = _latin_of(text)
        in_latin = self._language(latin, _words(_lowered(latin)))
        return languages if in_latin is None else languages | {in_latin}

    def knows(self, word: str) -> bool:
        """Whether a word is one of English as a whole, of the lexicon, or of another language."""
        lowered = _lowered(word)
        pieces = self._pieces.encode(lowered)
        if (len(pieces) == 1 and pieces[0] != _UNKNOWN) or self._lexicon.place(lowered) != ABSENT:
            return True
        with readable():
            return self._languages.have(lowered) or bool(self._lexicon.compound(lowered))

    def _is_japanese(self, text: str, places: Sequence[int]) -> bool:
        return any(place != ABSENT for place in places) and self._lexicon.knows_japanese(text, places)

    def _split(self, text: str) -> tuple[set[int], list[int], str | None]:
        """The known pieces of a text, each once, and the places of what the lexicon knows in place of pieces, or what
        the words of another language do; with that language.
        """
        if _PLAIN.fullmatch(text):
            latin, lowered = text, text.lower()
            words = {word for word in _PLAIN_WORD.findall(lowered) if len(word) <= _LONGEST_WORD}
            pieces = word_numbers = set(chain.from_iterable(map(self._of_word, words)))
        else:
            latin = _latin_of(text)
            lowered = _lowered(latin)
            words = _words(lowered)
            word_numbers = set(chain.from_iterable(map(self._of_word, words)))
            pieces = set(self._pieces.encode(latin))
        language = self._language(latin, words)
        places_by_word = self._foreign(words, word_numbers) if language is None else self._known(words, language)
        if not places_by_word:
            return {piece for piece in pieces if piece < self._size}, [], None
        rest = _WORD.sub(lambda word: " " if word[0] in places_by_word else word[0], lowered.translate(_MARKS))
        return set(self._pieces.encode(rest)), [*chain.from_iterable(places_by_word.values())], language

    def gloss(self, text: str) -> str:
        """The text in English words, if it is Spanish or German."""
        lowered = normalised("NFKC", text).lower()
        words = _words(_latin_of(lowered))
        places_by_word = self._foreign(words, set(chain.from_iterable(map(self._of_word, words))))
        others = (word for word in words - places_by_word.keys() if word.isalpha() and len(self._of_word(word)) > 1)
        if not places_by_word or len(places_by_word) < _MOSTLY * (len(places_by_word) + sum(1 for _ in others)):
            return text
        glosses = {word: self._pieces.decode(self._lexicon.english(places)) for word, places in places_by_word.items()}
        return _WORD.sub(lambda word: glosses.get(word[0], word[0]), lowered.translate(_MARKS))

    def _language(self, latin: str, words: set[str]) -> str | None:
        """The language of a Latin text, of which these are the lower-case words, if neither English nor the lexicon is
        for it.
        """
        if not self._languages.may_be_of_latin(words) and not self._is_strange(words):
            return None
        known_in_english = sum(len(self._of_word(word)) == 1 for word in words)
        with readable():
            return self._languages.of_latin(words, known_in_english, lambda: _capitals(latin))

    def _is_strange(self, words: set[str]) -> bool:
        """Whether a text has a word that English lacks as a whole, and none of the commonest English ones."""
        return _VERY_ENGLISH_WORDS.isdisjoint(words) and any(len(self._of_word(word)) > 1 for word in words)

    def _scripts(self, lowered: str) -> list[tuple[str, re.Pattern[str]]]:
        with readable():
            return list(self._languages.of_scripts(lowered))

    def _known(self, words: Iterable[str], language: str) -> dict[str, tuple[int, ...]]:
        with readable():
            return self._languages.known(words, language)

    def _in_language(self, places: Iterable[int], language: str) -> "NDArray[np.float32]":
        with readable():
            return self._languages.sum_of(places, language)

    def _foreign(self, words: set[str], word_numbers: set[int]) -> dict[str, tuple[int, ...]]:
        """Which words of a text in another language the lexicon knows, with their places there; none of an English
        text. `word_numbers` are the pieces of the words.
        """
        if max(word_numbers, default=0) < self._size:
            return {}
        odds = self._lexicon.odds([piece - self._size for piece in word_numbers if piece >= self._size], words)
        # Nearly all English texts end here: what follows takes as long as all the rest.
        if odds < FOREIGN:
            return {}
        numbers = {word: self._of_word(word) for word in words}
        whole = {word for word, pieces in numbers.items() if len(pieces) == 1}
        if odds + english(whole) < FOREIGN:
            return {}
        last = {word: pieces[-1] - self._size for word, pieces in numbers.items() if pieces}
        places_by_word: dict[str, tuple[int, ...]] = {word: (place,) for word, place in last.items() if place >= 0}
        compounds = ((word, self._lexicon.compound(word)) for word in numbers.keys() - places_by_word.keys() - whole)
        return places_by_word | {word: places for word, places in compounds if places}

    def _looked_up(self, word: str) -> tuple[int, ...]:
        """The pieces of a word; after them, if the lexicon knows it too, the number of pieces plus its place there."""
        place = self._lexicon.place(word)
        return self._pieces.encode(word) if place == ABSENT else (*self._pieces.encode(word), self._size + place)

    def _beyond_latin(self, text: str, words: Sequence[str]) -> "NDArray[np.float32]":
        digests = [digest(word) for word in words]
        places = self._lexicon.places(digests)
        if not self._is_japanese(text, places):
            return self._by_script(text)
        chars = {char for word, place in zip(words, places, strict=True) if place != ABSENT for char in word}
        hashed = _signs(digests)
        hashed[[chars.issuperset(word) for word in words]] *= _KNOWN
        hashed[0] += self._lexicon.sum_of([place for place in places if place != ABSENT])
        total: NDArray[np.float32] = hashed.sum(axis=0)
        return total

    def _by_script(self, text: str) -> "NDArray[np.float32]":
        """The sum for the words of a text that is beyond Latin script and not Japanese."""
        import numpy as np

        total = np.zeros(DIMENSION, np.float32)
        lowered = normalised("NFKC", text).lower()
        for language, runs in self._scripts(lowered):
            places_by_word = self._known(dict.fromkeys(runs.findall(lowered)), language)
            if places_by_word:
                total += self._in_language(chain.from_iterable(places_by_word.values()), language)
                total += _KNOWN * _hashed(_words_beyond_latin(" ".join(places_by_word)))
                lowered = _without(lowered, runs, places_by_word.keys())
        return total + _hashed(_words_beyond_latin(lowered))


@cache
def _beyond_latin() -> re.Pattern[str]:
    """Runs of other scripts, with their punctuation. The model knows some of these characters, all nearly alike: by
    them, unrelated Japanese sentences would have a cosine of 0.95. Compiled when the first text needs it: so many
    characters take 5 ms.
    """
    return re.compile(
        "[\u0370-\u1dff\u1f00-\u1fff\u2c80-\u2ddf\u2e80-\uffef\U00010000-\U0001efff\U00020000-\U0003ffff]+"
    )


def _latin_of(text: str) -> str:
    """A text with a space for each run of another script."""
    return text if text.isascii() else _beyond_latin().sub(" ", text)


def _words_beyond_latin(text: str) -> list[str]:
    """The words of a text beyond Latin script: words, and pairs of characters where a script has no spaces."""
    matches = [] if text.isascii() else _beyond_latin().findall(text)
    return list(dict.fromkeys(tokens(" ".join(matches)))) if matches else []


def _words(lowered: str) -> set[str]:
    return {word for word in _WORD.findall(lowered) if len(word) <= _LONGEST_WORD}


def _lowered(text: str) -> str:
    # Python lowers the Turkish capital I with a dot to an i and a dot of its own.
    return normalised("NFKC", text).lower().replace("i\u0307", "i")


def _capitals(latin: str) -> set[str]:
    """The words that begin with a capital, in lower case."""
    return {_lowered(word) for word in _WORD.findall(latin) if word[0].isupper()}


def _without(text: str, runs: re.Pattern[str], words: Set[str]) -> str:
    return runs.sub(lambda run: " " if run[0] in words else run[0], text)


def _hashed(words: Sequence[str]) -> "NDArray[np.float32]":
    """The sum of what is made from the words' hashes."""
    import numpy as np

    if not words:
        return np.zeros(DIMENSION, np.float32)
    total: NDArray[np.float32] = _signs([digest(word) for word in words]).sum(axis=0)
    return total


def _signs(digests: Sequence[bytes]) -> "NDArray[np.float32]":
    """A vector of length 1 for each digest: its bits as signs."""
    import numpy as np

    bits = np.unpackbits(np.frombuffer(b"".join(digests), np.uint8)).reshape(len(digests), DIMENSION)
    return (2 * bits.astype(np.float32) - 1) / np.float32(DIMENSION**0.5)


def _load() -> _Model:
    """Read the model from its folder. Raises Unavailable when it can't be read."""
    with readable():
        table, scale, of_query = read_arrays(FOLDER / "model.npz", "table", "scale", "qw")
        pieces = WordPieces(FOLDER / "vocab.txt")
        if len(pieces) != len(table):
            raise ValueError("vocab.txt has another number of pieces than model.npz has rows")
        weights = {"document": scale, "query": scale * of_query.astype("f4")}
        lexicon = Lexicon(FOLDER / "lexicon.npz", FOLDER / "english.npz")
        return _Model(pieces, table, weights, lexicon, Languages(FOLDER / "words.npz"))
