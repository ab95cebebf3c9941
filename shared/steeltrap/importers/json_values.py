"""JSON read value by value: a document as a stream, and JSON Lines.

Of a document, the values before a damaged place are returned. After it, values can't be told apart, so reading ends
there. In JSON Lines, a damaged line costs no other. A value that is too large costs no other either.
"""

import codecs
import json
from collections.abc import Iterator
from dataclasses import field
from typing import Any, BinaryIO, Final

from ..model import JsonObject
from ..model.frozen import frozen
from ..text.json_pieces import PIECE, Broken, Oversized, Pieces


@frozen
class Value:
    """A JSON value, where it began, the number of bytes up to its end, and its size.

    `around` has what the object that it was streamed from said before it: a conversation's id, say. `key` is the name
    of the array there.
    """

    line: int
    at: int
    size: int
    value: Any
    around: "JsonObject | None" = None
    key: str = ""


@frozen
class Damage:
    """A place that can't be read."""

    line: int
    at: int
    sentence: str
    around: "JsonObject" = field(default_factory=dict)

    def place(self, name: str) -> str:
        """Where it is in a file of this name; line 0 is the file itself."""
        return f"{name}:{self.line}" if self.line else name


_STREAMED: Final = ("messages", "results", "memories", "entities", "relations")


def read_document(file: BinaryIO) -> Iterator[Value | Damage]:
    """The values of a file. Memory: one item, of 192 MiB at most, however large the document."""
    text = _Text(file)
    pieces = Pieces(text.more)
    try:
        while following := pieces.peek():
            yield from _array(pieces, text) if following == "[" else _object(pieces, text)
        sentence = None
    except Broken as error:
        sentence = str(error)
    if text.undecodable:
        sentence = "the file is not valid UTF-8 from here on."
    if sentence:
        yield Damage(line=pieces.line(), at=text.at(pieces), sentence=sentence)


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
    fields: JsonObject = {}
    weight = 0
    streamed = oversized = False
    while pieces.peek() != "}":
        pieces.weight = weight
        key = pieces.key()
        # A record of ours has `messages` too; its content stands before them.
        if key in _STREAMED and pieces.peek() == "[" and "content" not in fields:
            streamed = True
            yield from _array(pieces, text, fields, key)
        else:
            try:
                fields[key] = pieces.value(weight=pieces.weight)
            except Oversized as error:
                if not oversized:
                    yield Damage(line=line, at=text.at(pieces), sentence=str(error))
                fields, weight, oversized = {}, 0, True
            else:
                weight = pieces.weight
        if pieces.peek() != ",":
            break
        pieces.take(",")
    pieces.take("}")
    if not (streamed or oversized):
        at = text.at(pieces)
        yield Value(line=line, at=at, size=at - began, value=fields)


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


_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class _NoValue(Exception):
    """A line holds no value; the argument is the sentence that says why."""


def read_lines(file: BinaryIO) -> Iterator[Value | Damage]:
    """The values of a file and the lines that hold none. Memory: one value, of 192 MiB at most."""
    at = number = 0
    while began := file.readline(PIECE):
        number += 1
        line = _Line(began, file)
        if not began.strip() and line.is_whole:
            at += len(began)
            continue
        if number == 1:
            line.began = began.removeprefix(_BYTE_ORDER_MARK)
        try:
            value = _short(line.began) if line.is_whole else _long(line)
        except _NoValue as error:
            line.skip()
            at += line.size
            yield Damage(line=number, at=at, sentence=str(error))
        else:
            at += line.size
            yield Value(line=number, at=at, size=line.size, value=value)


def _short(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise _NoValue("the line is not valid UTF-8.") from None
    except json.JSONDecodeError as error:
        if not line.endswith(b"\n"):
            raise _NoValue("the file ends in the middle of this line.") from None
        raise _NoValue(f"the line is not valid JSON ({error.msg}).") from None
    except (ValueError, RecursionError):
        raise _NoValue("the line holds a number or a nesting that is too long.") from None


def _long(line: "_Line") -> Any:
    pieces = Pieces(line.more)
    try:
        value = pieces.value()
        ended = not pieces.peek()
    except UnicodeDecodeError:
        raise _NoValue("the line is not valid UTF-8.") from None
    except Oversized as error:
        raise _NoValue(str(error)) from None
    except Broken as error:
        raise _NoValue(f"the line can't be read: {error}") from None
    if not ended:
        raise _NoValue("the line is not valid JSON (Extra data).")
    return value


class _Line:
    """A line as it is asked for. `size` is how many of its bytes were read."""

    def __init__(self, began: bytes, file: BinaryIO) -> None:
        self.began = began
        self.size = len(began)
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self.is_whole = len(began) < PIECE or began.endswith(b"\n")

    def more(self, size: int) -> str:
        """The next characters, "" at its end. Raises UnicodeDecodeError."""
        text, self.began = self._decode(self.began), b""
        while not (text or self.is_whole):
            data = self._more(size)
            text = self._decode(data, self.is_whole)
        return text

    def skip(self) -> None:
        while not self.is_whole:
            self._more(PIECE)

    def _more(self, size: int) -> bytes:
        data = self._file.readline(size)
        self.size += len(data)
        self.is_whole = len(data) < size or data.endswith(b"\n")
        return data
