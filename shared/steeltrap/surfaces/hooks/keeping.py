"""Keeps what was said: the new part of a session's transcript, in the scope of its project."""

from collections.abc import Sequence
from typing import Any, Final

from ...errors import InvalidInput, SteeltrapError
from ...invoke import Door
from ...model import Caller
from ...rules.transcripts.said import Said
from .reading import blocks
from .session_file import Session

_AT_ONCE: Final = 50
"""Messages of one call: all of them are kept, or none."""


def keep(door: Door, caller: Caller, session: Session, said: Sequence[Said] = (), *, ended: bool = False) -> None:
    """Keep what was said since the last time, and `said` where the event itself brought it. A conversation that has
    `ended` becomes memories at once. Raises SteeltrapError, and OSError for a transcript that can't be read."""
    unreadable: OSError | None = None
    try:
        for block in blocks(session):
            _append(door, caller, session, block.said)
            if (block.offset, block.line) != (session.offset, session.line):
                session.note(offset=block.offset, line=block.line)
    except OSError as error:
        unreadable = error
    _append(door, caller, session, said)
    if ended:
        _call(door, caller, {"conversation_id": session.id, "messages": [], "ended": True})
        session.note(ended=True)
    if unreadable is not None:
        raise unreadable


def _append(door: Door, caller: Caller, session: Session, said: Sequence[Said]) -> None:
    for first in range(0, len(said), _AT_ONCE):
        messages = [
            {"id": each.id, "role": each.role, "content": each.content, "time": each.time and each.time.isoformat()}
            for each in said[first : first + _AT_ONCE]
        ]
        _append_all(door, caller, session, messages)


def _append_all(door: Door, caller: Caller, session: Session, messages: Sequence[dict[str, Any]]) -> None:
    """Keep messages, without those that are refused, such as for a secret: nobody is there to write them again."""
    try:
        _call(door, caller, {"conversation_id": session.id, "messages": messages, "scope": session.scope})
    except InvalidInput:
        if len(messages) > 1:
            for message in messages:
                _append_all(door, caller, session, [message])


def _call(door: Door, caller: Caller, arguments: dict[str, Any]) -> None:
    result = door.invoke("core.append_messages", arguments, caller, secrets="redact")
    if isinstance(result.error, SteeltrapError):
        raise result.error
