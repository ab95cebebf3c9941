"""The same text again, reordered or with a small edit. The same at every run."""

import random
import re
from collections.abc import Callable, Mapping
from typing import Final

_OTHER_WORDS: Final = "table river green seven quickly Peter under machine winter write".split()
_LONG_WORD: Final = re.compile(r"\w{4,}")
_PUNCTUATION: Final = re.compile(r"[^\w\s]")


def _reordered(text: str, chance: random.Random) -> str:
    words = text.split()
    chance.shuffle(words)
    return " ".join(words)


def _a_word_changed(text: str, chance: random.Random) -> str:
    words = text.split()
    if len(words) > 1:  # Japanese has no spaces: its one word would be the whole text
        words[chance.randrange(len(words))] = chance.choice(_OTHER_WORDS)
    return " ".join(words)


def _a_word_left_out(text: str, chance: random.Random) -> str:
    words = text.split()
    if len(words) > 1:
        del words[chance.randrange(len(words))]
    return " ".join(words)


def _a_typo(text: str, chance: random.Random) -> str:
    word = chance.choice(list(_LONG_WORD.finditer(text)))
    at = chance.randrange(word.start(), word.end() - 1)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


REWORDINGS: Final[Mapping[str, Callable[[str, random.Random], str]]] = {
    "words reordered": _reordered,
    "a word changed": _a_word_changed,
    "a word left out": _a_word_left_out,
    "a typo": _a_typo,
    "no punctuation": lambda text, chance: _PUNCTUATION.sub("", text),
    "in lower case": lambda text, chance: text.lower(),
    "in capitals": lambda text, chance: text.upper(),
}
"""The rewordings of a text, by name. A typo swaps two letters of a word of four or more."""


def reworded(text: str, how: str) -> str:
    """The text with one of `REWORDINGS` done to it; the text itself where that changes nothing."""
    return REWORDINGS[how](text, random.Random(f"{how}/{text}"))
