"""A JSON document read as a stream: the items of an array, or those of some arrays of an object.

Values before a damaged place are returned. After it, values can't be told apart, so reading ends there. A value that
is too large costs no other.
"""

import codecs
from collections.abc import Iterator
from typing import BinaryIO, Final

from ...model import JsonObject
from ...text.json_pieces import Broken, Oversized, Pieces
from .json_value import Damage, Value

_STREAMED: Final = ("messages", "results", "memories", "entities", "relations")


def read(file: BinaryIO) -> Iterator[Value | Damage]:
    """The values of a file. Memory: one item, of 192 MiB at most, however large the document."""
    text = _Text(file)
    pieces = Pieces(text.more)
    try:
        while following := pieces.peek():
            yield from _array(pieces, text) if following == "[" else _object(pieces, text)
        broken = None
    except Broken as error:
        broken = str(error)
    if text.undecodable:
        broken = "the file is not valid UTF-8 from here on."
    if broken:
        yield Damage(line=pieces.line(), at=text.at(pieces), sentence=broken)


def _array(pieces: Pieces, text: "_Text", around: JsonObject | None = None, key: str = "") -> Iterator[Value | Damage]:
    pieces.take("[")
    if pieces.peek() == "]":
        pieces.take("]")
        return
    while True:
        line, began = pieces.line_after_space(), text.at(pieces)
        try:
            value = pieces.value()
        except Oversized as error:
            yield Damage(line=line, at=text.at(pieces), sentence=str(error))
        else:
            at = text.at(pieces)
            yield Value(line=line, at=at, size=at - began, value=value, around=around, key=key)
        if pieces.peek() != ",":
            break
        pieces.take(",")
    pieces.take("]")


def _object(pieces: Pieces, text: "_Text") -> Iterator[Value | Damage]:
    """The items of an array that may be long, such as a conversation's messages, as they come; other objects whole."""
    line, began = pieces.line_after_space(), text.at(pieces)
    pieces.take("{")
    known: JsonObject = {}
    spent = 0
    streamed = oversized = False
    while pieces.peek() != "}":
        pieces.spent = spent
        key = pieces.key()
        # A record of ours has `messages` too; its content stands before them.
        if key in _STREAMED and pieces.peek() == "[" and "content" not in known:
            streamed = True
            yield from _array(pieces, text, known, key)
        else:
            try:
                known[key] = pieces.value(spent=pieces.spent)
            except Oversized as error:
                if not oversized:
                    yield Damage(line=line, at=text.at(pieces), sentence=str(error))
                known, spent, oversized = {}, 0, True
            else:
                spent = pieces.spent
        if pieces.peek() != ",":
            break
        pieces.take(",")
    pieces.take("}")
    if not (streamed or oversized):
        at = text.at(pieces)
        yield Value(line=line, at=at, size=at - began, value=known)


class _Text:
    """The text of a file, as it is asked for."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._ended = False
        self.undecodable = False

    def more(self, size: int) -> str:
        text = ""
        while not (text or self._ended):  # the bytes of half a character are no text yet
            data = self._file.read(size)
            self._ended = not data
            try:
                text = self._decode(data, self._ended)
            except UnicodeDecodeError as error:
                text = error.object[: error.start].decode()
                self._ended = self.undecodable = True
        return text

    def at(self, pieces: Pieces) -> int:
        return self._file.tell() - pieces.ahead
