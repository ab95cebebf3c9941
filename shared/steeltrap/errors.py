"""Every way a call can fail, in one tree.

    SteeltrapError
    ├── InvalidInput        the arguments don't fit; the message says what would
    ├── IdentityMissing     the call carries no user that is admitted (or no agent where one is needed)
    ├── AccessDenied        the caller may not do this
    ├── NotFound            no such memory, tool or scope (another user's id reads the same)
    ├── Conflict            the memory changed since it was read, or it is there already
    ├── TooLarge            over a size that the message names
    ├── Throttled           too many calls, or over a quota; try again after `retry_after` seconds
    ├── Unavailable         a part that is needed does not answer (store, index, embedder, ...)
    └── Internal            a fault of ours; details are in the log, never in the answer

Each has a stable `code`, a sentence that a model can act on, and says whether a retry helps. Foreign
exceptions cross into this tree in one map per adapter. How an error looks on the wire is a toolset's
or a surface's business.
"""

from typing import Any, ClassVar


class SteeltrapError(Exception):
    """A failure that the caller is told about.

    `can_retry` says whether the same call may succeed later (`retryable` is the kind's default),
    `fixable` whether other arguments would.
    `details` are facts for a program (ids, versions), JSON-ready and free of other users' data.
    """

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False
    fixable: ClassVar[bool] = False

    def __init__(self, message: str, *, retryable: bool | None = None, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = details
        self.can_retry = self.retryable if retryable is None else retryable


class InvalidInput(SteeltrapError):
    """The arguments don't fit; the message quotes the right form."""

    code = "invalid_input"
    fixable = True


class IdentityMissing(SteeltrapError):
    """No authenticated user came with the call, or no agent or conversation where one is needed.

    `details["reason"]` is there when a key or token came and is not admitted.
    """

    code = "identity_missing"


class AccessDenied(SteeltrapError):
    """The caller is known and may not do this."""

    code = "access_denied"


class NotFound(SteeltrapError):
    """Nothing of that name or id among what the caller can see."""

    code = "not_found"
    fixable = True


class Conflict(SteeltrapError):
    """The memory changed since it was read, or what is saved is there already."""

    code = "conflict"
    fixable = True


class TooLarge(SteeltrapError):
    """Over a limit that the message names."""

    code = "too_large"
    fixable = True


class Throttled(SteeltrapError):
    """Too many calls, or more than a quota allows; `details["retry_after"]` is in seconds.

    `details["quota"]` is `memories` or `bytes` where that is what is used up.
    """

    code = "throttled"
    retryable = True


class Unavailable(SteeltrapError):
    """A part does not answer: `details["part"]` says which, such as `store`, `index`, `embedder` or `issuer`."""

    code = "unavailable"
    retryable = True


class Internal(SteeltrapError):
    """A fault of ours. The message never quotes the cause; the log has it."""

    code = "internal"
