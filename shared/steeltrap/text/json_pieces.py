"""JSON of any size, read in pieces. Pure.

The parser of the standard library keeps the interpreter to itself until a whole value is there, and one value may take
thirty times the memory of its text. Here it gets 64 Ki characters at most. Longer values are read in parts, so that
other threads run in between, and the memory of a value is counted while it is read. A value that is too large is
skipped.
"""

import json
import re
from collections.abc import Callable
from math import inf
from sys import getsizeof
from typing import Any, Final

PIECE: Final = 64 * 1024
MAX_MEMORY: Final = 192 * 1024 * 1024
"""A chat of 20,000 messages takes 60 MiB."""
MAX_STRING: Final = 16 * 1024 * 1024
MAX_DEPTH: Final = 64
_MAX_NUMBER: Final = 4400
"""Python makes no integer of more than 4,300 digits."""
_TOKEN: Final = 32
"""Longer than any token but a string: an error further from the window's end is no cut."""
_PLACE: Final = 100
"""More bytes than a place in a list or a dictionary takes."""
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_CUT_TOKEN: Final = re.compile(r"[\w\\.+-]*\s*")
_IN_STRING: Final = re.compile(r'[^"\\]*(?:\\(?:[^u]|u.{4})[^"\\]*)*', re.DOTALL)
"""A string up to its end, or to an escape that is not all there."""
_HALF: Final = re.compile(r"\\u[dD][89abAB]..", re.DOTALL)
"""The escape of half of a character, whose other half may follow."""
_MARK: Final = re.compile(r'\\.|["\[\]{}]', re.DOTALL)
_ENDS: Final = "the file ends in the middle of this item."


class Broken(Exception):
    """The text can't be read further; the argument is the sentence that says why."""


class TooDeep(Broken):
    """A nesting is too deep."""


class Oversized(Exception):
    """A value was too large and was read over; the argument is the sentence that says why."""


class _Full(Exception):
    """There is no room for more of a value, which is left open; the argument is the sentence for Oversized."""


def parsed(text: str, *, max_bytes: float = 0, decoder: json.JSONDecoder | None = None) -> Any:
    """The one value of a text, which may take `max_bytes` bytes when it is read.

    Raises ValueError with the sentence that says why there is none, and RecursionError where it is nested too deep.
    """
    if len(text) <= PIECE:
        return (decoder or json.JSONDecoder()).decode(text)
    starts = iter(range(0, len(text), PIECE))
    pieces = Pieces(lambda _: text[(at := next(starts, len(text))) : at + PIECE], max_bytes=max_bytes, decoder=decoder)
    try:
        value = pieces.value()
        if pieces.peek():
            raise Broken("something stands after its end.")
    except TooDeep as error:
        raise RecursionError(str(error)) from None
    except (Broken, Oversized) as error:
        raise ValueError(str(error)) from None
    return value


class Pieces:
    """A window over a text, filled as values need it and cut after them.

    `more` answers about so many characters more, "" at the end of the text. `weight` is how many bytes are taken by the
    value that is read; who reads a value in several steps keeps it. Nothing is weighed where `max_bytes` is infinite.
    """

    def __init__(
        self, more: Callable[[int], str], *, max_bytes: float = 0, decoder: json.JSONDecoder | None = None
    ) -> None:
        self._more = more
        self._max_bytes = max_bytes or MAX_MEMORY
        self._json = decoder or json.JSONDecoder()
        self._text = ""
        self._position = 0
        self._lines_before = 0
        self._ended = False
        self._open = 0
        self.weight = 0

    @property
    def ahead(self) -> int:
        """How many characters are in the window that were not taken yet."""
        return len(self._text) - self._position

    def line(self) -> int:
        return self._lines_before + self._text.count("\n", 0, self._position) + 1

    def line_after_space(self) -> int:
        self.peek()
        return self.line()

    def peek(self) -> str:
        """The next character that is not white space, "" at the end."""
        while True:
            match = _SPACE.match(self._text, self._position)
            self._position = match.end() if match else self._position
            if self._position < len(self._text):
                return self._text[self._position]
            self._cut()
            if not self._fill(PIECE):
                return ""

    def take(self, expected: str) -> None:
        character = self.peek()
        if character != expected:
            raise Broken(f"`{expected}` was expected here." if character and not self._is_cut() else _ENDS)
        self._position += 1

    def key(self) -> str:
        """The name of an object's next member, and the colon after it. Raises Broken."""
        try:
            return self._key()
        except _Full as error:
            raise Broken(str(error)) from None

    def value(self, *, weight: int | None = None) -> Any:
        """The next value, whatever it is. With `weight` it is a part of one that takes that much already.

        Raises Broken, and Oversized after a value that is too large.
        """
        self.weight = weight or 0
        self._open = 0
        try:
            return self._value(0, weighed=weight is not None)
        except _Full as error:
            self._read_over(self._open)
            raise Oversized(str(error)) from None

    def _is_cut(self) -> bool:
        """Whether the rest of the text is half of a token: `1e` is the beginning of `1e+7`."""
        while self.ahead < _TOKEN and self._fill(PIECE):
            pass
        return self.ahead < _TOKEN and _CUT_TOKEN.fullmatch(self._text, self._position) is not None

    def _value(self, depth: int, *, weighed: bool = True) -> Any:
        following = self.peek()
        self._cut()
        value: Any
        if following == '"':
            is_whole, value = True, self._string()
        else:
            is_whole, value = self._small(is_container=following in ("[", "{"))
        if is_whole:
            if weighed and self._max_bytes != inf:
                self._spend(_weight(value))
            return value
        if depth >= MAX_DEPTH:
            raise TooDeep(f"a nesting here is deeper than {MAX_DEPTH} levels; flatten it.")
        self._open += 1
        value = self._array(depth) if following == "[" else self._object(depth)
        self._open -= 1
        return value

    def _small(self, *, is_container: bool) -> tuple[bool, Any]:
        """Whether a whole value is in the next 64 Ki characters, and the value."""
        size = PIECE if is_container else max(PIECE, 2 * _MAX_NUMBER)
        self._look_ahead(size)
        text, began = self._text, self._position
        if len(text) - began > 2 * size:
            text, began = text[began : began + size], 0
        is_all = self._ended and len(text) - began == self.ahead
        try:
            value, end = self._json.raw_decode(text, began)
        except json.JSONDecodeError as error:
            if not is_all and _is_cut_off(error, len(text)):
                if is_container:
                    return False, None
                raise Broken("a number here is too long.") from None
            error.pos += self._position - began
            raise Broken(self._why(error)) from None
        except RecursionError:
            raise TooDeep(f"a nesting here is deeper than {MAX_DEPTH} levels; flatten it.") from None
        except ValueError as error:
            too_long = "a number here is too long."
            raise Broken(too_long if "digits" in str(error) else f"{error}.") from None
        if not is_container and end - began > _MAX_NUMBER:
            raise Broken("a number here is too long.")
        self._position += end - began
        return True, value

    def _string(self) -> str:
        try:
            value, end = self._json.raw_decode(self._text, self._position)
        except json.JSONDecodeError as error:
            if not _is_cut_off(error, len(self._text)):
                raise Broken(self._why(error)) from None
            return self._long_string()
        self._position = end
        return str(value)

    def _long_string(self) -> str:
        """A string that goes on after the window: with many escapes the parser would take a second for all of it."""
        length = max(PIECE, _TOKEN)
        parts: list[str] = []
        size = 0
        self._position += 1
        while True:
            self._cut()
            self._look_ahead(length)
            piece = self._text[self._position : self._position + length]
            end = _end_of_whole(piece)
            is_last = piece[end : end + 1] == '"'
            if size <= MAX_STRING:
                parts.append(self._decoded(piece[:end] if end or is_last else piece))
            self._position += end
            size += end
            if is_last:
                break
            if not end:
                raise Broken(_ENDS)
        self._position += 1
        if size > MAX_STRING:
            raise _Full(f"a text here is longer than {MAX_STRING // 1024**2} Mi characters; split it.")
        return "".join(parts)

    def _decoded(self, piece: str) -> str:
        """The next part of a string, without its escapes. Raises Broken."""
        try:
            return str(self._json.raw_decode(f'"{piece}"')[0])
        except json.JSONDecodeError as error:
            error.pos += self._position - 1
            while len(self._text) - error.pos < _TOKEN and self._fill(PIECE):
                pass
            raise Broken(self._why(error)) from None

    def _array(self, depth: int) -> list[Any]:
        items: list[Any] = []
        self.take("[")
        while self.peek() != "]":
            items.append(self._value(depth + 1))
            self._spend(_PLACE)
            if self.peek() != ",":
                break
            self.take(",")
            if self.peek() == "]":
                raise Broken("a value was expected here.")
        self.take("]")
        return items

    def _object(self, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        self.take("{")
        while self.peek() != "}":
            key = self._key()
            members[key] = self._value(depth + 1)
            self._spend(_PLACE)
            if self.peek() != ",":
                break
            self.take(",")
            if self.peek() == "}":
                raise Broken("a name was expected here.")
        self.take("}")
        return members

    def _key(self) -> str:
        if (character := self.peek()) != '"':
            raise Broken("a name in quotes was expected here." if character else _ENDS)
        self._cut()
        key = self._string()
        self._spend(_weight(key))
        self.take(":")
        return key

    def _spend(self, weight: int) -> None:
        self.weight += weight
        if self.weight > self._max_bytes:
            raise _Full(
                f"a single item here takes more than {self._max_bytes // 1024**2:.0f} MiB when it is read; split it."
            )

    def _read_over(self, depth: int) -> None:
        """Go on after the end of `depth` open containers."""
        in_string = False
        while depth:
            self._cut()
            self._look_ahead(PIECE)
            piece = self._text[self._position : self._position + PIECE]
            if (len(piece) - len(piece.rstrip("\\"))) % 2:
                piece = piece[:-1]  # half of an escape
            if not piece:
                raise Broken(_ENDS)
            parts = piece.replace("\\\\", "").replace('\\"', "").split('"')
            outside = "".join(parts[in_string::2])
            closing = outside.count("]") + outside.count("}")
            if closing >= depth and (end := _end_of(piece, depth, in_string)):
                self._position += end
                return
            depth += outside.count("[") + outside.count("{") - closing
            in_string ^= len(parts) % 2 == 0
            self._position += len(piece)

    def _why(self, error: json.JSONDecodeError) -> str:
        if error.msg.startswith("Unterminated") or (self._ended and _CUT_TOKEN.fullmatch(self._text, error.pos)):
            return _ENDS
        self._position = error.pos
        return f"this is not valid JSON ({error.msg}); nothing after it can be read."

    def _look_ahead(self, size: int) -> None:
        """Have so many characters in the window, where the text has them."""
        while self.ahead < size and self._fill(size):
            pass

    def _fill(self, size: int) -> bool:
        """Read more; False at the end of the text."""
        if self._ended:
            return False
        more = self._more(size)
        self._ended = not more
        self._text += more
        return not self._ended

    def _cut(self) -> None:
        if self._position > max(PIECE, self.ahead):
            self._lines_before += self._text.count("\n", 0, self._position)
            self._text = self._text[self._position :]
            self._position = 0


def _is_cut_off(error: json.JSONDecodeError, end: int) -> bool:
    """Whether the error may be due to the end of the window: it cuts off a string or a token."""
    return error.msg.startswith("Unterminated") or error.pos > end - _TOKEN


def _end_of_whole(piece: str) -> int:
    """The end of a string that begins before a piece. If the string continues after the piece, the end of the part that
    can be decoded."""
    match = _IN_STRING.match(piece)
    end = match.end() if match else 0
    goes_on = piece[end : end + 1] != '"'
    if goes_on and end >= 6 and _HALF.fullmatch(piece, end - 6, end):
        before = piece[: end - 5]
        is_escape = (len(before) - len(before.rstrip("\\"))) % 2
        return end - 6 if is_escape else end
    return end


def _end_of(piece: str, depth: int, in_string: bool) -> int:
    """Where in a piece `depth` open containers end; 0 if they continue after it."""
    for match in _MARK.finditer(piece):
        mark = match[0]
        if mark == '"':
            in_string = not in_string
        elif not in_string and mark[0] != "\\":
            depth += 1 if mark in "[{" else -1
            if not depth:
                return match.end()
    return 0


def _weight(value: Any) -> int:
    """The number of bytes that a value takes, with all that is in it."""
    pending = [value]
    weight = 0
    while pending:
        each = pending.pop()
        weight += getsizeof(each)
        if isinstance(each, dict):
            pending.extend(each)
            pending.extend(each.values())
        elif isinstance(each, list):
            pending.extend(each)
    return weight
