"""Every way a call can fail, in one tree.

    SteeltrapError
    ├── InvalidInput        the arguments don't fit; the message says what would
    ├── IdentityMissing     the call carries no user that is admitted (or no agent where one is needed)
    │   └── TokenRefused        a key or token came with the call, and is not accepted
    ├── AccessDenied        the caller may not do this
    ├── NotFound            no such memory, tool or scope (another user's id reads the same)
    │   └── MemoryNotFound      no memory has this id
    ├── Conflict            the memory changed since it was read, or it is there already
    │   ├── VersionConflict     another write came first: read again and repeat the change
    │   ├── AlreadyExists       a memory with this id exists, deleted or not
    │   └── Duplicate           a guarded creation met the same text, or one that is too similar
    ├── TooLarge            over a size that the message names
    │   └── IndexTooLarge       the search index refuses a request of this size
    ├── Throttled           too many calls, or over a quota; try again after `retry_after` seconds
    │   ├── OverQuota           the user's quota of memories or bytes is used up
    │   └── IndexThrottled      the search index has too much to do
    ├── Unavailable         a part that is needed does not answer (store, index, embedder, ...)
    │   └── IndexUnavailable    the search index does not answer
    └── Internal            a fault of ours; details are in the log, never in the answer
        └── IndexFault          the search index permanently rejects this request

Each of the nine has a stable `code`, a sentence that a model can act on, and says whether a retry helps. The types
below them share their code: callers see the nine, and the code decides by type. An adapter may add a type of its own
below these. Each adapter maps foreign exceptions to these in one place. How an error looks on the wire is a
toolset's or a surface's business.
"""

from typing import Any, ClassVar, Final


class SteeltrapError(Exception):
    """A failure that the caller is told about.

    `can_retry` says whether the same call may succeed later (`retryable` is the kind's default),
    `fixable` whether other arguments would.
    `advice` says what to do and ends the message, behind a semicolon; `cause` is the message without it and without
    its full stop, for a sentence that goes on.
    `details` are facts that callers are shown (ids, versions), JSON-ready and free of other users' data. Code decides
    by the type of an error, never by its details or its message. Every type takes these same arguments, so that an
    error can be raised again in other words.
    """

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False
    fixable: ClassVar[bool] = False

    def __init__(
        self, message: str, *, advice: str | None = None, retryable: bool | None = None, **details: Any
    ) -> None:
        self.message = f"{message}; {advice}." if advice else message
        super().__init__(self.message)
        self.cause = message.rstrip(".")
        self.details: dict[str, Any] = details
        self.can_retry = self.retryable if retryable is None else retryable


class InvalidInput(SteeltrapError):
    """The arguments don't fit; the message quotes the right form."""

    code = "invalid_input"
    fixable = True


class IdentityMissing(SteeltrapError):
    """No authenticated user came with the call, or no agent or conversation where one is needed."""

    code = "identity_missing"


class TokenRefused(IdentityMissing):
    """A key or token came with the call, and is not accepted; `details["reason"]` is RFC 6750's word for it."""


class AccessDenied(SteeltrapError):
    """The caller is known and may not do this."""

    code = "access_denied"


class NotFound(SteeltrapError):
    """Nothing of that name or id among what the caller can see."""

    code = "not_found"
    fixable = True


class MemoryNotFound(NotFound):
    """The caller has no memory with this id."""

    @property
    def id(self) -> str:
        return str(self.details["id"])


class Conflict(SteeltrapError):
    """The memory changed since it was read, or what is saved is there already."""

    code = "conflict"
    fixable = True


class VersionConflict(Conflict):
    """Another write came first; `details` has the memory's id and the version that is stored."""


class AlreadyExists(Conflict):
    """A memory with this id exists, deleted or not."""

    @property
    def id(self) -> str:
        return str(self.details["id"])


class Duplicate(Conflict):
    """The scope has a memory of the same text, or one that is at least as similar as the guard's threshold."""

    @property
    def id(self) -> str:
        """The memory that is there."""
        return str(self.details["id"])

    @property
    def similarity(self) -> float:
        """The cosine of the two; 1 for the same text."""
        return float(self.details.get("similarity", 1.0))


class TooLarge(SteeltrapError):
    """Over a limit that the message names."""

    code = "too_large"
    fixable = True


class IndexTooLarge(TooLarge):
    """The search index refuses a request of this size."""


class Throttled(SteeltrapError):
    """Too many calls, or more than a quota allows; `details["retry_after"]` is in seconds."""

    code = "throttled"
    retryable = True


class OverQuota(Throttled):
    """The user's quota is used up; `details["quota"]` says which one: `memories` or `bytes`."""


class IndexThrottled(Throttled):
    """The search index has too much to do."""


class Unavailable(SteeltrapError):
    """A part does not answer: `details["part"]` says which, such as `store`, `index`, `embedder` or `issuer`."""

    code = "unavailable"
    retryable = True


class IndexUnavailable(Unavailable):
    """The search index, or the part of it that is needed, does not answer."""


class Internal(SteeltrapError):
    """A fault of ours. The message never quotes the cause; the log has it."""

    code = "internal"


class IndexFault(Internal):
    """The search index refuses the request as it is; sending it again never helps."""


INDEX_FAILURES: Final = (IndexUnavailable, IndexThrottled, IndexTooLarge, IndexFault)
"""Every way in which the search index fails while the store may answer."""
