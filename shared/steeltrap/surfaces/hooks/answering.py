"""The work of a hook at each event: the one function, whether a server runs it or the hook's own process."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ...errors import InvalidInput, SteeltrapError
from ...invoke import Door
from ...model import Caller, UserRef
from ...text.dates import zone_of
from . import clients, recalling, session_file
from .clients import Asked
from .keeping import keep
from .log import log
from .session_file import Session

_OTHERS: Final = 5
"""Earlier sessions of the project that are looked after when another one starts."""
_OTHERS_SECONDS: Final = 1.0
_KEEP_SECONDS: Final = 2.0
"""For what was said in a session, and for that of all others. A step that has begun is finished, and the rest is kept
at the next event."""


def answer(
    door: Door,
    user: str,
    data: Path,
    event: str,
    asked: Any,
    *,
    tell: Callable[[dict[str, Any]], None] = lambda _: None,
    now: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """The text that the client is to read for an event, and what was offered by it. `data` is the folder for hooks' own
    files. `tell` is given the answer before what was said is kept, which takes longer.

    Where what was said can't be kept, that is a line in the log, and what was recalled is answered all the same.
    Raises SteeltrapError, OSError.
    """
    if not isinstance(asked, dict) or not isinstance(asked.get("input"), dict):
        raise InvalidInput("a hook is asked by an object with `input`, the client's own JSON.")
    read = clients.read(event, asked["input"], client=asked.get("client"), folder=str(asked.get("folder") or "."))
    caller = Caller(UserRef(user), read.client)
    session = session_file.of(data, read)
    if read.fresh and session.offered:
        session.note(forgot=True)
    offer = recalling.Offer()
    timezone = _timezone(asked.get("timezone"))
    if event == "session-start":
        _look_after_others(door, caller, data, session, now)
        offer = recalling.for_start(door, caller, session, timezone)
    elif event == "prompt":
        offer = recalling.for_prompt(door, caller, session, read.prompt, timezone)
    text = clients.form(read, offer.text)
    answered = {"print": text, "file": session.path.name, "offered": list(offer.ids) if text else []}
    tell(answered)
    _keep(door, caller, data, session, read, now)
    return answered


def _timezone(name: object) -> str | None:
    """The zone of the hook's process, None where it names none that is known here: the server's serves as well."""
    return name if isinstance(name, str) and zone_of(name) is not None else None


def _keep(door: Door, caller: Caller, data: Path, session: Session, asked: Asked, now: Callable[[], float]) -> None:
    end = now() + _KEEP_SECONDS
    try:
        for error in keep(door, caller, session, asked.said, ended=asked.ended, stopped=lambda: now() > end):
            log(str(data), asked.event, f"a message was not kept ({error.code}).")
    except FileNotFoundError as error:
        if asked.event not in ("session-start", "prompt"):  # before the first answer, there may be no file yet
            log(str(data), asked.event, f"the transcript can't be read: {_sentence(error)}")
    except Exception as error:  # whatever a transcript holds, what was recalled is answered
        log(str(data), asked.event, f"what was said was not kept: {_sentence(error)}")


def _look_after_others(door: Door, caller: Caller, data: Path, session: Session, now: Callable[[], float]) -> None:
    """Keep the rest of sessions that ended without saying so, and make memories of what was said in them."""
    end = now() + _OTHERS_SECONDS
    for other in session_file.others(data, session, _OTHERS):
        if now() > end:
            return
        # Noted before: what ends this process must not end that of every later start too.
        other.note(tries=other.tries + 1)
        before, agent = other.offset, Caller(caller.user, other.client)
        try:
            keep(door, agent, other, ended=True, stopped=lambda: now() > end)
        except OSError as error:
            # What was kept of it is all there is. Where nobody said anything, there never was a transcript.
            if other.offset:
                log(str(data), "session-start", f"an earlier session's transcript can't be read: {_sentence(error)}")
        except Exception as error:
            log(str(data), "session-start", f"an earlier session was not closed: {_sentence(error)}")
        if other.offset != before:
            other.note(tries=0)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.strerror}: {error.filename}"
    return error.message if isinstance(error, SteeltrapError) else f"{type(error).__name__}: {error}"
