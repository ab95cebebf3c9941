"""What a hook does at each event: the one function, whether a server runs it or the hook's own process."""

from pathlib import Path
from typing import Any, Final

from ...errors import InvalidInput, SteeltrapError
from ...invoke import Door
from ...model import Caller, UserRef
from . import clients, recalling, session_file
from .clients import Asked
from .keeping import keep
from .log import log
from .session_file import Session

_OTHERS: Final = 5
"""Earlier sessions of the project that are looked after when another one starts."""


def answer(door: Door, user: str, data: Path, event: str, asked: Any) -> dict[str, Any]:
    """What the client is to read for an event, and what was offered by it. `data` is the folder for hooks' own files.

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
    if event == "session-start":
        _look_after_others(door, caller, data, session)
        offer = recalling.for_start(door, caller, session)
    elif event == "prompt":
        offer = recalling.for_prompt(door, caller, session, read.prompt)
    _keep(door, caller, data, session, read)
    text = clients.form(read, offer.text)
    return {"print": text, "file": session.path.name, "offered": list(offer.ids) if text else []}


def _keep(door: Door, caller: Caller, data: Path, session: Session, asked: Asked) -> None:
    try:
        for error in keep(door, caller, session, asked.said, ended=asked.ended):
            log(str(data), asked.event, f"a message was not kept ({error.code}).")
    except FileNotFoundError as error:
        if asked.event not in ("session-start", "prompt"):  # before the first answer, there may be no file yet
            log(str(data), asked.event, f"the transcript can't be read: {_sentence(error)}")
    except (SteeltrapError, OSError) as error:
        log(str(data), asked.event, f"what was said was not kept: {_sentence(error)}")


def _look_after_others(door: Door, caller: Caller, data: Path, session: Session) -> None:
    """Keep the rest of sessions that ended without saying so, and make memories of what was said in them."""
    for other in session_file.others(data, session, _OTHERS):
        agent = Caller(caller.user, other.client)
        try:
            keep(door, agent, other, ended=True)
        except OSError as error:
            # What was kept of it is all there is. Where nobody said anything, there never was a transcript.
            if other.offset:
                log(str(data), "session-start", f"an earlier session's transcript can't be read: {_sentence(error)}")
        except SteeltrapError as error:
            log(str(data), "session-start", f"an earlier session was not closed: {_sentence(error)}")


def _sentence(error: SteeltrapError | OSError) -> str:
    return error.message if isinstance(error, SteeltrapError) else f"{error.strerror}: {error.filename}"
