"""Reads on in a session's transcript: what was said after what is kept already.

A transcript may be large, damaged or no transcript at all. So it is read line by line, and memory holds one line and
one block of messages, whatever the file has.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import BinaryIO, Final

from ...regular_files import open_regular
from ...text.schemas import has_more_values
from ...text.transcripts import claude_code, codex, cursor
from ...text.transcripts.messages import Said
from .session_file import Session

MESSAGES: Final = 400
"""Messages of a block, which are kept in one go."""
BYTES: Final = 1024 * 1024
"""Bytes of the texts of a block, after which it ends."""
MAX_LINE: Final = 16 * 1024 * 1024
"""Longer lines are passed over: a line with images is shorter, and what is said fits a hundredth of it."""
MAX_VALUES: Final = 100_000
"""JSON values of a line that is read: objects take many times the memory of their text."""
AT_ONCE: Final = 32 * 1024 * 1024
"""Bytes of a transcript that are read at an event; the next event reads on. All of them are read before the first
message is kept, and that has to leave a hook most of its time."""
LOOKED_BACK: Final = 128 * 1024 * 1024
"""Bytes before these that are looked through for the parents of lines."""
LINES: Final = 100_000
"""Lines of a transcript that are read at an event."""
_CHUNK: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Block:
    """Some messages, and from where the next block is read."""

    said: list[Said]
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class _Line:
    """A line with its number, where it begins, where the next one begins, and its text, None for one that is not
    read."""

    number: int
    begin: int
    end: int
    text: bytes | None


def blocks(session: Session) -> Iterator[Block]:
    """The messages in the transcript of a session since it was read last. Raises OSError.

    A last line without its end is left for the next time: the client is still writing it.
    """
    if session.transcript is None:
        return
    with open_regular(session.transcript) as file:
        size = os.fstat(file.fileno()).st_size
        # A file that has become shorter was written anew.
        offset, line = (session.offset, session.line) if session.offset <= size else (0, 0)
        lines = partial(_lines, file, offset, line, min(size, offset + AT_ONCE))
        if session.client == "codex":
            yield from _of_codex(lines(), offset, line)
        elif session.client == "cursor":
            yield from _in_blocks((each, cursor.said(_numbered(each))) for each in lines())
        else:
            kept = _kept(lines(), file, offset)
            yield from _in_blocks((each, _of_claude_code(each, kept)) for each in lines())


def has_more(session: Session) -> bool:
    """Whether a transcript has more than one event reads, so that the session is not kept to its end yet. Raises
    OSError."""
    return session.transcript is not None and os.stat(session.transcript).st_size - session.offset > MAX_LINE


def _lines(file: BinaryIO, offset: int, number: int, end: int) -> Iterator[_Line]:
    """The lines from an offset on that begin before `end` and are written to their own."""
    file.seek(offset)
    at, last = offset, number + LINES
    while at < end and number < last:
        text = file.readline(MAX_LINE)
        if not text.endswith(b"\n"):
            if len(text) < MAX_LINE:
                return
            length, is_whole = _rest(file, end - at)
            at, begin = at + len(text) + length, at
            # Where the rest is too long, the next time begins in the middle of it and finds no JSON there.
            yield _Line(number, begin, at, None)
            if not is_whole:
                return
        else:
            at, begin = at + len(text), at
            yield _Line(number, begin, at, None if has_more_values(text, MAX_VALUES) else text)
        number += 1


def _rest(file: BinaryIO, most: int) -> tuple[int, bool]:
    """Pass over the rest of a line: how long it was, and whether its end was reached within about `most` bytes."""
    length = 0
    while length < most and (text := file.readline(_CHUNK)):
        length += len(text)
        if text.endswith(b"\n"):
            return length, True
    return length, False


def _in_blocks(read: Iterable[tuple[_Line, Iterable[Said]]]) -> Iterator[Block]:
    said: list[Said] = []
    size = 0
    last: _Line | None = None
    for last, found in read:
        for each in found:
            said.append(each)
            size += len(each.content)
        if len(said) >= MESSAGES or size >= BYTES:
            yield Block(said, last.end, last.number + 1)
            said, size = [], 0
    if last is not None:
        yield Block(said, last.end, last.number + 1)


def _of_codex(lines: Iterable[_Line], offset: int, number: int) -> Iterator[Block]:
    """A turn of Codex is read again from its start, because its lines don't name it."""
    turn = codex.Turn(begins_at=number)
    starts = {number: offset}

    def read() -> Iterator[tuple[_Line, list[Said]]]:
        for line in lines:
            begun = turn.begins_at
            said = list(codex.said(_numbered(line), turn))
            if turn.begins_at != begun:
                starts.clear()
                starts[turn.begins_at] = line.begin
            yield line, said

    for block in _in_blocks(read()):
        begun = turn.begins_at if turn.id is not None else block.line
        yield Block(block.said, starts.get(begun, block.offset), begun)


def _numbered(line: _Line) -> list[tuple[int, bytes]]:
    return [] if line.text is None else [(line.number, line.text)]


def _of_claude_code(line: _Line, kept: set[str]) -> Iterator[Said]:
    entry = _entry(line)
    if entry is not None and entry.said is not None and not entry.is_sidechain and entry.id in kept:
        kept.remove(entry.id)  # a file may repeat a line
        yield entry.said


def _kept(lines: Iterable[_Line], file: BinaryIO, offset: int) -> set[str]:
    """The lines of Claude Code that the user did not go back from, which only the whole tree tells."""
    tree = claude_code.Tree()
    for line in lines:
        if (entry := _entry(line)) is not None:
            tree.add(entry)
    return tree.kept(_is_before(file, offset))


def _is_before(file: BinaryIO, offset: int) -> Callable[[str], bool]:
    """Whether the part before an offset has a line of an id. It is looked through from its end, so that the usual
    parent, which is the last line there, is found at once."""
    chunks = LOOKED_BACK // _CHUNK  # of all searches, so that thousands of missing lines cost no more

    @cache
    def is_before(id: str) -> bool:
        nonlocal chunks
        marks = (f'"uuid":"{id}"'.encode(), f'"uuid": "{id}"'.encode())
        end = offset
        while id and end > 0 and chunks > 0:
            begin = max(0, end - _CHUNK)
            file.seek(begin)
            text = file.read(end - begin + max(map(len, marks)))
            if any(mark in text for mark in marks):
                return True
            end, chunks = begin, chunks - 1
        return False

    return is_before


def _entry(line: _Line) -> claude_code.Entry | None:
    try:
        return None if line.text is None else claude_code.entry(line.text)
    except ValueError:
        return None
