"""BERT's word pieces, uncased: a text as numbers of a vocabulary, as the package `tokenizers` makes them.

That package requires what downloads models, ten packages that static-256 doesn't need. A test compares the two over
every character.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final

_LONGEST: Final = 100
"""Characters of a word; a longer one is unknown."""
_CONTINUES: Final = "##"
_SPECIAL: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_KEPT: Final = 20_000
_LINE_SPACES: Final = "\t\n\r"
_DROPPED: Final = ("Cc", "Cf", "Co", "Cs")
"""The categories of characters that leave no trace."""
_IDEOGRAPHS: Final = (
    *(("\u3400", "\u4dbf"), ("\u4e00", "\u9fff"), ("\uf900", "\ufaff"), ("\U00020000", "\U0002a6df")),
    *(("\U0002a700", "\U0002b81f"), ("\U0002b920", "\U0002ceaf"), ("\U0002f800", "\U0002fa1f")),
)
"""The first and the last of each block."""
_ASCII_PUNCTUATION: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_LATER_PUNCTUATION: Final = re.compile("[\u2e43-\u2e7f]")
"""Newer than the tables by which the model was trained: letters of unknown words there."""
_TIGHTENED: Final = (
    *((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m")),
    *((" do not", " don't"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re")),
)


class WordPieces:
    """The pieces of a vocabulary. Safe for threads."""

    def __init__(self, path: Path) -> None:
        """Read a `vocab.txt`: a piece per line, in the order of their numbers. Raises OSError, ValueError, KeyError."""
        pieces = path.read_bytes().decode().replace("\r\n", "\n").split("\n")[:-1]  # Git may write either end of a line
        self._numbers = dict(zip(pieces, range(len(pieces)), strict=True))
        self._special = {piece: self._numbers[piece] for piece in _SPECIAL}
        self._unknown = self._special["[UNK]"]
        self._parts = re.compile("(" + "|".join(map(re.escape, _SPECIAL)) + ")")
        self._spellings = _Spellings()
        self._of_word = lru_cache(_KEPT)(self._split)

    @cached_property
    def _pieces(self) -> dict[int, str]:
        return {number: piece for piece, number in self._numbers.items()}

    def __len__(self) -> int:
        return len(self._numbers)

    def encode(self, text: str) -> tuple[int, ...]:
        """The numbers of a text's pieces, in order."""
        numbers: list[int] = []
        for part in self._parts.split(text):
            if (special := self._special.get(part)) is not None:
                numbers.append(special)
                continue
            for word in part.translate(self._spellings).split(" "):
                numbers += self._of_word(word)
        return tuple(numbers)

    def decode(self, numbers: Iterable[int]) -> str:
        """The words that pieces make, without the special ones."""
        special = set(self._special.values())
        return "".join(_joined(self._pieces[number] for number in numbers if number not in special))

    def _split(self, word: str) -> tuple[int, ...]:
        """The longest piece that a word begins with, and so on; one unknown piece if that leads nowhere."""
        if len(word) > _LONGEST:
            return (self._unknown,)
        numbers: list[int] = []
        rest, shortest = word, 1
        while len(rest) >= shortest:
            ends = range(len(rest), shortest - 1, -1)
            end = next((end for end in ends if rest[:end] in self._numbers), None)
            if end is None:
                return (self._unknown,)
            numbers.append(self._numbers[rest[:end]])
            rest, shortest = _CONTINUES + rest[end:], len(_CONTINUES) + 1
        return tuple(numbers)


class _Spellings(dict[int, str]):
    """Each character as the vocabulary has it, for `str.translate`; worked out when a text first has it."""

    def __missing__(self, code: int) -> str:
        self[code] = spelling = _spelled(chr(code))
        return spelling


def _spelled(char: str) -> str:
    """Without accents, in lower case, and between spaces where it is a word of its own."""
    if char in _LINE_SPACES:
        return " "
    if char == "\ufffd" or unicodedata.category(char) in _DROPPED:
        return ""
    if char.isspace():
        return " "
    bare = (each for each in unicodedata.normalize("NFD", char) if unicodedata.category(each) != "Mn")
    lowered = "".join(f" {each} " if _is_punctuation(each) else each.lower() for each in bare)
    return f" {lowered} " if any(first <= char <= last for first, last in _IDEOGRAPHS) else lowered


def _is_punctuation(char: str) -> bool:
    if char in _ASCII_PUNCTUATION:
        return True
    return unicodedata.category(char).startswith("P") and _LATER_PUNCTUATION.match(char) is None


def _joined(pieces: Iterable[str]) -> Iterator[str]:
    for place, piece in enumerate(pieces):
        text = (
            piece.removeprefix(_CONTINUES) if place and piece.startswith(_CONTINUES) else f"{' ' * bool(place)}{piece}"
        )
        for loose, tight in _TIGHTENED:
            text = text.replace(loose, tight)
        yield text
