"""Words of twelve languages beyond those of the lexicon, each with a row in the space of static-256's English words.

Each language has its arrays in `words.npz`; they are read when a text in it is met. Words are kept as hashes of their
stems, so that all forms of a word find its row. A row is 64 numbers of 8 bits, each the place of a centre: four numbers
that stand for those of many rows, which were rotated before. `models/languages/build.py` makes the file.
"""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import Stemmer

from ..text.patterns import lazy_pattern
from ..text.words import arabic_stem, cyrillic_stem, fold_case, ukrainian_stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LATIN: Final = ("fr", "pt", "it", "nl", "pl", "tr")

STEMMED: Final = {
    "fr": "french",
    "hi": "hindi",
    "it": "italian",
    "nl": "dutch",
    "pl": "polish",
    "pt": "portuguese",
    "tr": "turkish",
}
"""The Snowball algorithm for a language's words."""

CYRILLIC: Final = ("ru", "uk")
SPACELESS: Final = frozenset({"ko", "zh"})
"""Languages whose words are found in a run of characters, the longest first."""

TELLING: Final = frozenset(
    """de le la les du des une et est je mon mes nous notre dans avec que qui chez quel quelle
    os da dos das em um uma meu minha nao com para por qual quem onde na
    il lo gli di del della che chi mio mia sono ho una quale dove quando nel alla
    het een en ik mijn niet voor onze wat welke waar wie naar op zijn heb
    nie mam moj moja moje kto gdzie jak sie jaki od
    ve bir bu benim icin ile hangi nerede kim cok""".split()
)
"""Frequent words of our languages in Latin script, folded."""

MARGIN: Final = 25
"""By so much, in tenths of a decimal logarithm, a text's words must be likelier in another language than in English."""

NEAR: Final = 5
"""By so much, likewise, than in Spanish and German, whose words the lexicon knows better."""

_SPELT: Final = {
    "pl": lazy_pattern("^[a-ząćęó]*[łśźżń][a-ząćęółśźżń]*$"),
    "tr": lazy_pattern("^[a-zçöüâî]*[ğış][a-zçöşüâîğı]*$"),
}
"""Lower-case words with a letter that no other of our languages in Latin script has, and with none that it lacks."""
_BY_SPELLING: Final = 30
"""By so much, likewise, such a word is likelier in its language, if it is frequent in none: of a language with many
endings, few words of a text are."""
_UNLIKELY: Final = 10
"""A text with a word that is by so much, likewise, likelier in English, Spanish or German has foreign names."""

_FLOOR: Final = 15
"""The frequency of a word that a language lacks: so many tenths of log10 of how often it comes in a billion words."""
_ENGLISH: Final = 0
_UNKNOWN_ENGLISH: Final = 5
"""The weight of a word that English knows, but that is frequent in no language."""
_RAREST: Final = 255
"""The length, in hundredths, that counts for the row of an unknown word: that of the rarest one."""
_KEY_BYTES: Final = 4
_LONGEST: Final = 6
"""Characters of the longest word in a run without spaces."""
_KEPT: Final = 20_000

_SCRIPTS: Final = (
    ("ar", lazy_pattern("[\u0621-\u065f\u0670-\u06d3]+")),
    ("hi", lazy_pattern("[\u0900-\u0963\u0971-\u097f]+")),
    ("ko", lazy_pattern("[\uac00-\ud7a3]+")),
    ("ru", lazy_pattern("[\u0400-\u052f][\u0400-\u052f'\u2019\u02bc]*")),
    ("zh", lazy_pattern("[\u3400-\u9fff\uf900-\ufaff]+")),
)
_APOSTROPHE: Final = lazy_pattern("['\u2019\u02bc]")
"""Ukrainian words may have one, such as "м'ясо"; after others it is a quotation mark."""
_UKRAINIAN: Final = lazy_pattern("[ієїґІЄЇҐ]|[\u0400-\u052f]['\u2019\u02bc][яюЯЮ]")
_RUSSIAN: Final = lazy_pattern("[ыэёъЫЭЁЪ]")
_PERSIAN_OR_URDU: Final = lazy_pattern("[\u067e\u0686\u0698\u06af\u0679\u0688\u06d2\u06ba\u06cc]")

_WITH_ENDINGS: Final = frozenset({"ar", "tr"})
"""Languages whose words have more endings than stems lack."""
_SHORTEST_TURKISH: Final = 4
"""Letters of the shortest beginning that a word is known by."""
_FRONT: Final = frozenset("eiöü")
_BACK: Final = frozenset("aıou")
_IN_TURKISH_ENDINGS: Final = frozenset("aeıiuübcçdğklmnrsştyz")
_LAST_OF_TURKISH_ENDINGS: Final = frozenset("aeıiuüklmnprşz")
_OF_ANY_HARMONY: Final = lazy_pattern("ki|ken|yor.*")
_SHORTEST_ARABIC: Final = 3
_ARABIC_SUFFIXES: Final = ("هما", "كما", "نا", "كم", "هم", "هن", "ها", "وا", "ون", "ني", "ته", "تي", "تك", *"تهكيان")
_ARABIC_FEMININE: Final = "ت"
"""The feminine ending, as it is written before a suffix."""
_ARABIC_PERSONS: Final = frozenset("ايتن")
"""The letters before a verb that say who does it."""
_ARABIC_PARTICLES: Final = frozenset("سبلف")
"""The future, prepositions and a conjunction, which are written with the word."""
_stemming: Final = threading.Lock()


@lru_cache(maxsize=len(STEMMED))
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(STEMMED[language], 0)


@lru_cache(maxsize=_KEPT)
def key_of(word: str, language: str) -> str:
    """The stem by which a lower-case word is found in a language, without accents."""
    if language == "ar":
        return arabic_stem(fold_case(word))
    if language in CYRILLIC:
        folded = fold_case(_APOSTROPHE.sub("", word))
        return ukrainian_stem(folded) if language == "uk" else cyrillic_stem(folded)
    if language in STEMMED:
        with _stemming:
            word = _stemmer(language).stemWord(word)
    return fold_case(word)


def shorter_keys(word: str, language: str) -> list[str]:
    """The keys by which a lower-case word may be known in Turkish or Arabic if its own is not, the likeliest first.

    A Turkish word has a row of endings: the longest beginning that is a word means most of what it means. An Arabic one
    has pronouns as endings, and in front of it a letter for the person, or a particle.
    """
    if language == "tr":
        folded = fold_case(word)
        lengths = range(len(folded) - 1, _SHORTEST_TURKISH - 1, -1)
        return [folded[:length] for length in lengths if _is_of_endings(folded[:length], folded[length:])]
    stem = key_of(word, language)
    suffixes = [each for each in _ARABIC_SUFFIXES if stem.endswith(each) and len(stem) - len(each) >= _SHORTEST_ARABIC]
    keys: list[str] = []
    for base in map(stem.removesuffix, suffixes):
        keys.append(base)
        if len(base) > _SHORTEST_ARABIC and base.endswith(_ARABIC_FEMININE):
            keys.append(base[:-1])
    keys += [base[1:] for base in (stem, *keys) if len(base) > _SHORTEST_ARABIC and base[0] in _ARABIC_PERSONS]
    if len(stem) > _SHORTEST_ARABIC + 1 and stem[0] in _ARABIC_PARTICLES:
        keys.append(stem[1:])
    return keys


def _is_of_endings(beginning: str, rest: str) -> bool:
    """Whether what follows the beginning of a folded Turkish word may be endings: by their letters, and by vowels that
    agree with the last one before them. Else names and foreign words would be taken for others.
    """
    if rest[-1] not in _LAST_OF_TURKISH_ENDINGS:
        return False
    harmonious = _OF_ANY_HARMONY.sub("", rest)
    last = next((vowel for vowel in reversed(beginning) if vowel in _FRONT or vowel in _BACK), "")
    return _IN_TURKISH_ENDINGS.issuperset(harmonious) and (_BACK if last in _FRONT else _FRONT).isdisjoint(harmonious)


def digest_of(key: str) -> bytes:
    """The hash by which a key is kept."""
    return blake2b(key.encode(), digest_size=_KEY_BYTES, person=b"languages").digest()


class Languages:
    """The languages of a file. Safe for threads; reading raises whatever NumPy and the file system raise."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reading = threading.Lock()
        self._arrays: dict[str, NDArray[Any]] = {}
        self._place = lru_cache(_KEPT)(self._found)
        self._shorter_place = lru_cache(_KEPT)(self._found_shorter)
        self._simplified = lru_cache(1)(self._read_simplified)

    def may_be_of_latin(self, words: Set[str]) -> bool:
        """Whether it is worth while to ask `of_latin` about a text's lower-case words."""
        return not TELLING.isdisjoint(words) or not all(map(str.isascii, words))

    def of_latin(self, words: Set[str], known_in_english: int, capitals: Callable[[], Set[str]]) -> str | None:
        """Which of our languages a text's lower-case words are in; None for English, and for those of the lexicon.

        `known_in_english` is how many of the words the English tokenizer knows as a whole. `capitals` tells which
        of them have a capital in the text, and is called only where that matters.
        """
        import numpy as np

        frequencies = self._of("frequent")
        by_word = {word: self._place("frequent", word) for word in words}
        places = [place for place in by_word.values() if place is not None]
        rare = {word for word, place in by_word.items() if place is None and not word.isascii()}
        if not places and not rare:
            return None
        of_words = np.maximum(frequencies[places].astype(int), _FLOOR)
        odds = of_words.sum(axis=0)
        for language, own in _SPELT.items():
            if spelt := {word for word in rare if own.search(word)}:
                column = 1 + LATIN.index(language)
                rivals = of_words[:, [_ENGLISH, *range(1 + len(LATIN), of_words.shape[1])]].max(axis=1, initial=0)
                lead = int((of_words[:, column] - rivals).min(initial=_BY_SPELLING))
                # A capital may be that of a name, or of the first word in a text without names.
                names = capitals()
                is_first = len(names) == 1 < len(words) and lead > 0
                if lead > -_UNLIKELY:
                    odds[column] += len(spelt if is_first else spelt - names) * _BY_SPELLING
        best = 1 + int(np.argmax(odds[1 : 1 + len(LATIN)]))
        english = odds[_ENGLISH] + max(0, known_in_english - len(places)) * _UNKNOWN_ENGLISH + MARGIN
        others = max(english, *(odds[1 + len(LATIN) :] + NEAR))
        return LATIN[best - 1] if odds[best] > others else None

    def of_scripts(self, text: str) -> Iterator[tuple[str, re.Pattern[str]]]:
        """The languages of other scripts in a text, Japanese left out, and a pattern for the runs of their letters."""
        for language, runs in _SCRIPTS:
            if runs.search(text) and not (language == "ar" and _PERSIAN_OR_URDU.search(text)):
                yield self._of_cyrillic(text, runs) if language in CYRILLIC else language, runs

    def _of_cyrillic(self, text: str, runs: re.Pattern[str]) -> str:
        """Whether a text with Cyrillic letters is Russian, which stands for all but Ukrainian: by the letters that only
        one of the two has, else by the one in which its words are more frequent.
        """
        if _UKRAINIAN.search(text):
            return "uk"
        if _RUSSIAN.search(text):
            return "ru"
        words = set(runs.findall(text))
        return min(CYRILLIC, key=lambda language: sum(self._rarity(word, language) for word in words))

    def _rarity(self, word: str, language: str) -> int:
        """The length of a word's row, in hundredths: rarer words have longer ones, unknown ones count as the rarest."""
        place = self._place(language, word)
        return _RAREST if place is None else int(self._of(f"{language}_lengths")[place])

    def known(self, words: Iterable[str], language: str) -> dict[str, tuple[int, ...]]:
        """The places of the words that a language knows, if only without some endings; of a run without spaces those of
        its parts that are known.
        """
        places_by_word: dict[str, tuple[int, ...]] = {}
        for word in words:
            places = self._whole(word, language)
            if not places and language in _WITH_ENDINGS:
                shorter = self._shorter_place(language, word)
                places = () if shorter is None else (shorter,)
            if places:
                places_by_word[word] = places
        return places_by_word

    def have(self, word: str) -> bool:
        """Whether one of the languages with a word's script has the lower-case word, by its stem."""
        script = next((language for language, runs in _SCRIPTS if runs.fullmatch(word)), None)
        languages = CYRILLIC if script in CYRILLIC else LATIN if script is None else (script,)
        return any(self._whole(word, language) for language in languages)

    def sum_of(self, places: Iterable[int], language: str) -> "NDArray[np.float32]":
        """The sum of the rows at these places, each counted once."""
        import numpy as np

        at = sorted(set(places))
        centres = self._of("centres")
        codes = self._of(f"{language}_rows")[at]
        rows = centres[np.arange(codes.shape[1]), codes].reshape(len(at), -1)
        lengths = self._of(f"{language}_lengths")[at].astype(np.float32) / np.float32(100)
        total = np.einsum("i,ij->j", lengths / np.sqrt(np.einsum("ij,ij->i", rows, rows)), rows)
        turned: NDArray[np.float32] = np.einsum("ij,j->i", self._of("rotation"), total)
        return turned

    def _whole(self, word: str, language: str) -> tuple[int, ...]:
        """The place of a word, or those of the parts of a run without spaces; () for an unknown one."""
        place = self._place(language, word)
        if place is not None:
            return (place,)
        return self._parts(word, language) if language in SPACELESS else ()

    def _parts(self, run: str, language: str) -> tuple[int, ...]:
        """The places of the longest words from the left, one after the other."""
        run = fold_case(run)
        run = run.translate(self._simplified()) if language == "zh" else run
        # Folded, a part is its own key. All are looked up at once: one by one, a page of rare characters takes seconds.
        spans = [(at, end) for at in range(len(run)) for end in range(at + 1, min(len(run), at + _LONGEST) + 1)]
        places = dict(zip(spans, self._places(language, [run[at:end] for at, end in spans]), strict=True))
        parts: list[int] = []
        at = 0
        while at < len(run):
            for end in range(min(len(run), at + _LONGEST), at, -1):
                if (place := places[at, end]) is not None:
                    parts.append(place)
                    at = end
                    break
            else:
                at += 1
        return tuple(parts)

    def _found(self, name: str, word: str) -> int | None:
        """The place of a word among those of a language, or among the frequent ones of all; None if it isn't there."""
        return self._places(name, [fold_case(word) if name == "frequent" else key_of(word, name)])[0]

    def _found_shorter(self, language: str, word: str) -> int | None:
        """The place of a word by what is left of it without some endings; None if that isn't there either."""
        keys = shorter_keys(word, language)
        return next((place for place in self._places(language, keys) if place is not None), None) if keys else None

    def _places(self, name: str, keys: Sequence[str]) -> list[int | None]:
        """The place of each key; None for those that aren't there."""
        import numpy as np

        table = self._of(f"{name}_keys")
        digests = np.frombuffer(b"".join(map(digest_of, keys)), "<u4")
        near = np.minimum(np.searchsorted(table, digests), len(table) - 1)
        is_there = (table[near] == digests).tolist()
        return [place if is_match else None for place, is_match in zip(near.tolist(), is_there, strict=True)]

    def _read_simplified(self) -> dict[int, int]:
        """The simplified form of each traditional Chinese character that has another."""
        return dict(zip(self._of("traditional").tolist(), self._of("simplified").tolist(), strict=True))

    def _of(self, name: str) -> "NDArray[Any]":
        with self._reading:
            if name not in self._arrays:
                import numpy as np

                with self._path.open("rb") as file, np.load(file) as arrays:
                    numbers = arrays[name]
                self._arrays[name] = numbers.astype(np.float32) if numbers.dtype == np.float16 else numbers
            return self._arrays[name]
