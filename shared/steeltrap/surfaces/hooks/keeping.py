"""Keeps what was said: the new part of a session's transcript, in the scope of its project."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from ...errors import InvalidInput, SteeltrapError, TooLarge
from ...invoke import Door
from ...model import Caller
from ...text.transcripts.messages import Said
from .reading import blocks, has_more
from .session_file import Session

_AT_ONCE: Final = 50
"""Messages of one call: all of them are kept, or none."""


def keep(
    door: Door,
    caller: Caller,
    session: Session,
    said: Sequence[Said] = (),
    *,
    ended: bool = False,
    stopped: Callable[[], bool] = lambda: False,
) -> list[SteeltrapError]:
    """Keep what was said since the last time, and `said` where the event itself brought it. A conversation that has
    `ended` becomes memories at once. Once `stopped` says so, the rest is left for the next time, the end too.

    Answers why single messages were refused. They are passed over: nobody would write them again, and nothing behind
    them would ever be kept. Raises SteeltrapError, and OSError for a transcript that can't be read.
    """
    refused: list[SteeltrapError] = []
    unreadable: OSError | None = None
    is_whole = True
    try:
        for block in blocks(session):
            refused += _append(door, caller, session, block.said)
            if (block.offset, block.line) != (session.offset, session.line):
                session.note(offset=block.offset, line=block.line)
            if stopped():
                is_whole = False
                break
        is_whole = is_whole and not has_more(session)
    except OSError as error:
        unreadable = error
    refused += _append(door, caller, session, said)
    if ended and is_whole:
        _call(door, caller, {"conversation_id": session.id, "messages": [], "ended": True})
        session.note(ended=True)
    if unreadable is not None:
        raise unreadable
    return refused


def _append(door: Door, caller: Caller, session: Session, said: Sequence[Said]) -> list[SteeltrapError]:
    refused: list[SteeltrapError] = []
    for first in range(0, len(said), _AT_ONCE):
        some = said[first : first + _AT_ONCE]
        try:
            _call(door, caller, _appending(session, some))
        except (InvalidInput, TooLarge):
            for each in some:
                try:
                    _call(door, caller, _appending(session, [each]))
                except (InvalidInput, TooLarge) as error:
                    refused.append(error)
    return refused


def _appending(session: Session, said: Sequence[Said]) -> dict[str, Any]:
    messages = [
        {"id": each.id, "role": each.role, "content": each.content, "time": each.time and each.time.isoformat()}
        for each in said
    ]
    return {"conversation_id": session.id, "messages": messages, "scope": session.scope}


def _call(door: Door, caller: Caller, arguments: dict[str, Any]) -> None:
    result = door.invoke("core.append_messages", arguments, caller, secrets="redact")
    if result.error is not None:
        raise result.error
