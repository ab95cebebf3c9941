"""The notice of a call whose store can't be reached while a copy of the memories answers: since when it may be old.

Such a call can change nothing. What its answer lacks may have been saved on another machine.
"""

from dataclasses import replace

from ..errors import NotFound
from ..model import Outcome, OutcomeKind
from ..text.dates import minute_text
from .call import Call


def notice(call: Call) -> str | None:
    """A sentence for the caller; None where what the call read was current."""
    at = call.space.cached_at()
    return None if at is None else f"Offline: this is as of {minute_text(at, call.zone)}."


def outcome(call: Call, own: Outcome | None) -> Outcome | None:
    """The outcome of a call with the notice at its beginning. A degraded one stays so: that is worse."""
    sentence = notice(call)
    if sentence is None or (own is not None and own.message.startswith(sentence)):
        return own
    if own is None:
        return Outcome(kind=OutcomeKind.OFFLINE, message=sentence)
    kind = own.kind if own.kind is OutcomeKind.DEGRADED else OutcomeKind.OFFLINE
    return replace(own, kind=kind, message=f"{sentence} {own.message}")


def missing(call: Call, error: NotFound) -> NotFound:
    """The error for what isn't in the copy, with the notice at its end."""
    if (sentence := notice(call)) is not None:
        error.message = f"{error.message} {sentence}"
        error.args = (error.message,)
    return error
