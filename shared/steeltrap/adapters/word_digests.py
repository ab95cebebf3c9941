"""The digest that stands for a word in an index, the same in every store."""

from functools import lru_cache
from hashlib import blake2b
from typing import Final

LONGEST_KEPT: Final = 64
"""Characters of the longest word whose digest is remembered; nobody types a longer one twice."""
MOST_KEPT: Final = 65_536
"""How many digests a process remembers: about 10 MB of ordinary words, 36 MB at the very most."""


def word_digest(word: str) -> bytes:
    """8 bytes that stand for a word: among a billion different words two meet with a chance of 3%."""
    return _remembered(word) if len(word) <= LONGEST_KEPT else _digest(word)


def _digest(word: str) -> bytes:
    return blake2b(word.encode(), digest_size=8).digest()


_remembered: Final = lru_cache(maxsize=MOST_KEPT)(_digest)
