"""Made-up memories: the same at every run, with the length and the word frequencies of real ones."""

import random
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

_SEED: Final = 20_260_131
_WORDS: Final = 20_000
_FRAMES: Final = (
    "the of to and a in is that for was with on user as she he they at by from prefers has not but which about when "
    "said will after"
).split()
_ONSETS: Final = "b br c cl d f g gr h l m n p pl r s st t tr v".split()
_VOWELS: Final = "a e i o u ai ea ou".split()
_CODAS: Final = ["", "", *"n r l s t nd ck m".split()]
_LENGTH: Final = (60, 140)


class Corpus:
    """Sentences of about 100 characters over a vocabulary whose frequencies fall as one over the rank."""

    def __init__(self) -> None:
        chance = random.Random(_SEED)
        words = dict.fromkeys(_FRAMES)
        while len(words) < _WORDS:
            syllables = chance.choices((1, 2, 3), (1, 4, 3))[0]
            words["".join(_syllable(chance) for _ in range(syllables))] = None
        self._vocabulary = list(words)
        self._weights = list(accumulate(1 / rank for rank in range(1, _WORDS + 1)))

    def texts(self, count: int, *, part: int = 0) -> Iterator[str]:
        """So many sentences; another `part` gives others."""
        chance = random.Random(f"{_SEED}/{part}")
        for _ in range(count):
            yield self._sentence(chance, chance.randint(*_LENGTH))

    def questions(self, texts: list[str], count: int) -> list[str]:
        """Queries that share some words with a text each, and some with none."""
        chance = random.Random(_SEED + 1)
        return [self._question(chance, chance.choice(texts)) for _ in range(count)]

    def _sentence(self, chance: random.Random, length: int) -> str:
        words: list[str] = []
        while sum(map(len, words)) + len(words) < length:
            words += chance.choices(self._vocabulary, cum_weights=self._weights, k=4)
        return " ".join(words).capitalize() + "."

    def _question(self, chance: random.Random, text: str) -> str:
        words = chance.sample(text.rstrip(".").lower().split(), 4)
        other = chance.choices(self._vocabulary, cum_weights=self._weights, k=2)
        return f"what did the user say about {' '.join(words + other)}?"


def _syllable(chance: random.Random) -> str:
    return chance.choice(_ONSETS) + chance.choice(_VOWELS) + chance.choice(_CODAS)
