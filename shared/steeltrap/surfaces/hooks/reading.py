"""Reads on in a session's transcript: what was said behind what is kept already."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO, Final

from ...rules.transcripts import claude_code, codex, cursor
from ...rules.transcripts.said import Said
from ..regular_files import open_regular
from .session_file import Session

LINES: Final = 400
"""Of a block: what is kept in one go."""
_MAX_LINE: Final = 16 * 1024 * 1024
"""Longer lines hold images; what is said fits a hundredth of it."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some messages, and from where the next block is read."""

    said: list[Said]
    offset: int
    line: int


def blocks(session: Session) -> Iterator[Block]:
    """What was said in the transcript of a session since it was read last. Raises OSError.

    A last line without its end is left for the next time: the client is still writing it.
    """
    if session.transcript is None:
        return
    with open_regular(session.transcript) as file:
        size = os.fstat(file.fileno()).st_size
        # A file that has become shorter was written anew.
        offset, line = (session.offset, session.line) if session.offset <= size else (0, 0)
        file.seek(offset)
        turn = codex.Turn(begins_at=line)
        starts: dict[int, int] = {}
        while read := list(islice(_whole_lines(file), LINES)):
            numbered = []
            for text in read:
                starts[line] = offset
                numbered.append((line, text))
                offset, line = offset + len(text), line + 1
            said = list(_said(session.client, numbered, turn))
            # A turn of Codex is read again from its start: its lines don't name it.
            at = turn.begins_at if session.client == "codex" and turn.id is not None else line
            yield Block(said, starts.get(at, offset), at)
            starts = {at: starts[at]} if at in starts else {}


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    while (text := file.readline(_MAX_LINE)).endswith(b"\n") or len(text) == _MAX_LINE:
        yield text


def _said(client: str, lines: list[tuple[int, bytes]], turn: codex.Turn) -> Iterator[Said]:
    if client == "codex":
        return codex.said(lines, turn)
    return cursor.said(lines) if client == "cursor" else _of_claude_code(lines)


def _of_claude_code(lines: list[tuple[int, bytes]]) -> Iterator[Said]:
    for _, text in lines:
        try:
            entry = claude_code.entry(text)
        except ValueError:
            continue
        if entry is not None and entry.said is not None and not entry.is_sidechain:
            yield entry.said
