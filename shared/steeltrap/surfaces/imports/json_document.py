"""A JSON document read as a stream: the items of an array, or those of some arrays of an object.

Values before a damaged place are returned. After it, values can't be told apart, so reading ends there.
"""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

from ...model import JsonObject
from .json_value import Damage, Value

MAX_VALUE_CHARACTERS: Final = 64 * 1024 * 1024
_STREAMED: Final = ("messages", "results", "memories", "entities", "relations")
_CHUNK: Final = 64 * 1024
_TOKEN: Final = 32
"""Longer than any token but a string: an error further from the window's end is no cut."""
_CUT_TOKEN: Final = re.compile(r"[\w\\.+-]*\s*")


def read(file: BinaryIO) -> Iterator[Value | Damage]:
    """The values of a file. Memory: one item, of 64 Mi characters at most, however large the document."""
    scanner = _Scanner(file)
    try:
        while following := scanner.peek():
            yield from _array(scanner) if following == "[" else _object(scanner)
        broken = None
    except _Broken as error:
        broken = str(error)
    if scanner.undecodable:
        broken = "the file is not valid UTF-8 from here on."
    if broken:
        yield Damage(line=scanner.line(), at=scanner.at(), sentence=broken)


def _array(scanner: "_Scanner", around: JsonObject | None = None, key: str = "") -> Iterator[Value]:
    scanner.take("[")
    if scanner.peek() == "]":
        scanner.take("]")
        return
    while True:
        line, began = scanner.line_after_space(), scanner.at()
        value = scanner.value()
        yield Value(line=line, at=scanner.at(), size=scanner.at() - began, value=value, around=around, key=key)
        if scanner.peek() != ",":
            break
        scanner.take(",")
    scanner.take("]")


def _object(scanner: "_Scanner") -> Iterator[Value]:
    """The items of an array that may be long, such as a conversation's messages, as they come; other objects whole."""
    line, began = scanner.line_after_space(), scanner.at()
    scanner.take("{")
    known: JsonObject = {}
    streamed = False
    while scanner.peek() != "}":
        key = scanner.value()
        scanner.take(":")
        # A record of ours has `messages` too; its content stands before them.
        if key in _STREAMED and scanner.peek() == "[" and "content" not in known:
            streamed = True
            yield from _array(scanner, known, key)
        else:
            known[str(key)] = scanner.value()
        if scanner.peek() != ",":
            break
        scanner.take(",")
    scanner.take("}")
    if not streamed:
        yield Value(line=line, at=scanner.at(), size=scanner.at() - began, value=known)


class _Broken(Exception):
    """The document can't be read further; the argument is the sentence that says why."""


class _Scanner:
    """A window over the text, filled as values need it and cut behind them."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._json = json.JSONDecoder()
        self._text = ""
        self._position = 0
        self._lines_behind = 0
        self._ended = False
        self.undecodable = False

    def line(self) -> int:
        return self._lines_behind + self._text.count("\n", 0, self._position) + 1

    def line_after_space(self) -> int:
        self.peek()
        return self.line()

    def at(self) -> int:
        return self._file.tell() - len(self._text) + self._position

    def peek(self) -> str:
        """The next character that is not white space, "" at the end."""
        while True:
            while self._position < len(self._text) and self._text[self._position] in " \t\r\n":
                self._position += 1
            if self._position < len(self._text):
                return self._text[self._position]
            if not self._fill(_CHUNK):
                return ""

    def take(self, expected: str) -> None:
        found = self.peek()
        if found != expected:
            raise _Broken(f"`{expected}` was expected here." if found else "the file ends in the middle.")
        self._position += 1

    def value(self) -> Any:
        """The next value, whatever it is."""
        self.peek()
        self._cut()
        more = _CHUNK
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._position)
            except json.JSONDecodeError as error:
                if not self._is_cut_off(error) or not self._fill(more):
                    raise _Broken(self._why(error)) from None
            except (ValueError, RecursionError):
                raise _Broken("a number or a nesting here is too long.") from None
            else:
                # A number near the end of the window may go on behind it: 1 is the beginning of 1.5 and of 1e+7.
                if len(self._text) - end > _TOKEN or not self._fill(_CHUNK):
                    self._position = end
                    return value
            if len(self._text) - self._position > MAX_VALUE_CHARACTERS:
                raise _Broken("a single item is longer than 64 Mi characters; split it.")
            more *= 2

    def _is_cut_off(self, error: json.JSONDecodeError) -> bool:
        """Whether the window's end may be what is wrong: a string goes on, or a token is cut."""
        return error.msg.startswith("Unterminated") or error.pos > len(self._text) - _TOKEN

    def _why(self, error: json.JSONDecodeError) -> str:
        if error.msg.startswith("Unterminated") or _CUT_TOKEN.fullmatch(self._text, error.pos):
            return "the file ends in the middle of this item."
        self._position = error.pos
        return f"this is not valid JSON ({error.msg}); nothing behind it can be read."

    def _fill(self, size: int) -> bool:
        """Read more; False at the end of the file."""
        if self._ended:
            return False
        data = self._file.read(size)
        self._ended = not data
        try:
            self._text += self._decode(data, self._ended)
        except UnicodeDecodeError as error:
            self._text += error.object[: error.start].decode()
            self._ended = self.undecodable = True
        return bool(data)

    def _cut(self) -> None:
        if self._position > _CHUNK:
            self._lines_behind += self._text.count("\n", 0, self._position)
            self._text = self._text[self._position :]
            self._position = 0
