"""JSON Lines: one value a line, each line on its own, so that a damaged one costs no other."""

import codecs
import json
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

from ...text.json_pieces import PIECE, Broken, Oversized, Pieces
from .json_value import Damage, Value

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class _NoValue(Exception):
    """A line holds no value; the argument is the sentence that says why."""


def read(file: BinaryIO) -> Iterator[Value | Damage]:
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
