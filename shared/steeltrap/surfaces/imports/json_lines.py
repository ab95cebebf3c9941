"""JSON Lines: one value a line, each line on its own, so that a damaged one costs no other."""

import json
from collections.abc import Iterator
from typing import BinaryIO, Final

from .json_value import Damage, Value

MAX_LINE_BYTES: Final = 64 * 1024 * 1024


def read(file: BinaryIO) -> Iterator[Value | Damage]:
    """The values of a file and the lines that hold none. Memory: one line, of 64 MiB at most."""
    at = number = 0
    while line := file.readline(MAX_LINE_BYTES):
        number += 1
        at += len(line)
        if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            while (rest := file.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
                at += len(rest)
            at += len(rest)
            yield Damage(line=number, at=at, sentence="the line is longer than 64 MiB.")
        elif line.strip():
            yield _parsed(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, number, at)


def _parsed(line: bytes, number: int, at: int) -> Value | Damage:
    try:
        return Value(line=number, at=at, size=len(line), value=json.loads(line.decode("utf-8")))
    except UnicodeDecodeError:
        sentence = "the line is not valid UTF-8."
    except json.JSONDecodeError as error:
        sentence = f"the line is not valid JSON ({error.msg})."
        if not line.endswith(b"\n"):
            sentence = "the file ends in the middle of this line."
    except (ValueError, RecursionError):
        sentence = "the line holds a number or a nesting that is too long."
    return Damage(line=number, at=at, sentence=sentence)
