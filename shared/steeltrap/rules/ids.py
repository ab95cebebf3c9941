"""A memory's id in its forms: a lower-case UUID as text, the 16 bytes that a store keys it by, and as much of the text
as tells it from others. Pure."""

import re
from collections.abc import Collection
from typing import Final
from uuid import UUID, uuid5

SHORTEST: Final = 8
"""Digits that the start of an id has at least."""
_UNIVERSAL: Final = re.compile(
    r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?::(?:user|assistant)(?::[0-9]{1,9})?)?"
)
_HYPHENS: Final = (8, 12, 16, 20)
_DIGITS: Final = frozenset("0123456789abcdef")


def piece_id(id: str, number: int) -> str:
    """The id of a piece of a text that is stored in several memories: the first one's for 0, else one made of it."""
    return str(uuid5(UUID(id), f"piece {number}")) if number else id


def is_universal(id: str) -> bool:
    """Whether a message's id is its own wherever it is met: a UUID, or one of a turn with who spoke in it. Others, such
    as numbers, count within their conversation."""
    return _UNIVERSAL.fullmatch(id) is not None


def to_key(id: str) -> bytes:
    """An id's 16 bytes; b"" for what is no id."""
    digits = id.replace("-", "")
    try:
        key = bytes.fromhex(digits)
    except ValueError:
        return b""
    return key if 2 * len(key) == len(digits) == 32 else b""


def from_key(key: bytes) -> str:
    """The id of 16 bytes."""
    text = key.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def canonical(id: str) -> str:
    """An id in its one form; "" for what is no id."""
    key = to_key(id)
    return from_key(key) if key else ""


def start_of(text: str) -> str:
    """The start of an id in its one form, however it was written; "" for what no id starts with, or too few digits."""
    digits = text.replace("-", "").lower()
    if not SHORTEST <= len(digits) <= 32 or not _DIGITS.issuperset(digits):
        return ""
    ends = (*(hyphen for hyphen in _HYPHENS if hyphen < len(digits)), len(digits))
    return "-".join(digits[begin:end] for begin, end in zip((0, *ends), ends, strict=False))


def bounds_of_start(start: str) -> tuple[bytes, bytes]:
    """The first and the last key that a start can have."""
    digits = start.replace("-", "")
    return bytes.fromhex(digits.ljust(32, "0")), bytes.fromhex(digits.ljust(32, "f"))


def shortest_start(id: str, others: Collection[str]) -> str:
    """The shortest start of an id, of 8 digits or more, that none of the others has."""
    for end in range(SHORTEST, len(id)):
        if id[end - 1] != "-" and not any(other.startswith(id[:end]) for other in others if other != id):
            return id[:end]
    return id
