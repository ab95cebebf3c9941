"""Every way a call can fail, in one tree.

    SteeltrapError
    ├── InvalidInput        invalid arguments; the message says what is valid
    ├── IdentityMissing     the call has no accepted user (or no agent where one is required)
    │   └── TokenRefused        the call has a key or token, but it is rejected
    ├── AccessDenied        the caller may not do this
    │   └── InsufficientScope   the token lacks an OAuth scope
    ├── NotFound            no such memory, tool or scope (another user's id gives the same error)
    │   └── MemoryNotFound      no memory has this id
    ├── Conflict            the memory changed since it was read, or it already exists
    │   ├── VersionConflict     another write came first: read again and repeat the change
    │   ├── AlreadyExists       a memory with this id exists, deleted or not
    │   └── Duplicate           a creation with a guard found the same text, or one that is too similar
    ├── TooLarge            a limit that the message names is exceeded
    │   └── IndexTooLarge       the search index rejects a request of this size
    ├── Throttled           too many calls, or over a quota; try again after `retry_after` seconds
    │   ├── OverQuota           the user's quota of memories or bytes is used up
    │   └── IndexThrottled      the search index is overloaded
    ├── Unavailable         a required part does not answer (store, index, embedder, ...)
    │   ├── IndexUnavailable    the search index does not answer
    │   ├── MovedAway           these memories were moved to another place, or are being moved
    │   ├── StoreUnreachable    nothing answers for the store: the network is down, or the way there
    │   └── TooManyFiles        the process may open no more files
    └── Internal            a bug in steeltrap; details are in the log, never in the answer
        └── IndexFault          the search index permanently rejects this request

Each of the nine top types has a stable `code`, a message that a model can act on, and says whether a retry helps. The
types below them share that code: callers see nine codes, and our code decides by type. An adapter may add its own
subtypes. Each adapter maps foreign exceptions to these types in one place. Toolsets and surfaces decide how an error
is rendered. Between processes, a type is named by its class in small letters, such as `memory_not_found`.
"""

import errno
import re
from collections.abc import Collection, Iterator
from typing import Any, ClassVar, Final


def counted(number: int, one: str, many: str) -> str:
    """A number and its noun, for a sentence."""
    return f"{number:,} {one if number == 1 else many}"


class SteeltrapError(Exception):
    """A failure that the caller sees.

    `can_retry` says whether the same call may succeed later (`retryable` is the type's default); `fixable` says whether
    other arguments may succeed.
    `advice` says what to do; it follows the message after a semicolon. `cause` is the message without advice and
    without its full stop, for use in a longer sentence.
    `details` are facts for the caller (ids, versions), JSON-ready and without other users' data. Code decides by the
    type of an error, never by its details or message. All types take the same arguments, so that an error can be
    raised again with another message.
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
    """Invalid arguments; the message says what is valid."""

    code = "invalid_input"
    fixable = True


class MalformedBody(InvalidInput):
    """A body that isn't a JSON object: a mistake of the program, which no model can correct."""


class IdentityMissing(SteeltrapError):
    """The call has no authenticated user, or no agent or conversation where one is required."""

    code = "identity_missing"


class TokenRefused(IdentityMissing):
    """The key or token in the call is rejected; `details["reason"]` is RFC 6750's error code."""


class AccessDenied(SteeltrapError):
    """The caller is known and may not do this."""

    code = "access_denied"


class InsufficientScope(AccessDenied):
    """The token lacks an OAuth scope; `details["required_scope"]` names those that would do, with spaces between."""


class NotFound(SteeltrapError):
    """The caller can see nothing with that name or id."""

    code = "not_found"
    fixable = True


class MemoryNotFound(NotFound):
    """The caller has no memory with this id."""

    @property
    def id(self) -> str:
        return str(self.details["id"])


def memory_not_found(id: str) -> MemoryNotFound:
    """The error for an unknown id, which reads the same whoever owns it."""
    return MemoryNotFound(f"No memory with id {id}; search or list to find the right id.", id=id)


def nothing_after(id: str) -> MemoryNotFound:
    """The error for continuing a list after an unknown id."""
    return MemoryNotFound(f"No memory with id {id} to continue after; start again from the first page.", id=id)


class Conflict(SteeltrapError):
    """The memory changed since it was read, or already exists."""

    code = "conflict"
    fixable = True


class VersionConflict(Conflict):
    """Another write came first; `details` has the memory's id and the stored version."""


class AlreadyExists(Conflict):
    """A memory with this id exists, deleted or not."""

    @property
    def id(self) -> str:
        return str(self.details["id"])


class Duplicate(Conflict):
    """The scope has a memory with the same text, or one at least as similar as the guard's threshold."""

    @property
    def id(self) -> str:
        """The id of the existing memory."""
        return str(self.details["id"])

    @property
    def similarity(self) -> float:
        """The cosine of the two; 1 for the same text."""
        return float(self.details.get("similarity", 1.0))


class TooLarge(SteeltrapError):
    """A limit that the message names is exceeded."""

    code = "too_large"
    fixable = True


class IndexTooLarge(TooLarge):
    """The search index rejects a request of this size."""


class Throttled(SteeltrapError):
    """Too many calls, or more than a quota allows; `details["retry_after"]` is in seconds."""

    code = "throttled"
    retryable = True


class OverQuota(Throttled):
    """The user's quota is used up; `details["quota"]` says which one: `memories` or `bytes`."""


class IndexThrottled(Throttled):
    """The search index is overloaded."""


class Unavailable(SteeltrapError):
    """A part does not answer: `details["part"]` says which, such as `store`, `index`, `embedder` or `issuer`."""

    code = "unavailable"
    retryable = True


class IndexUnavailable(Unavailable):
    """The search index, or the part of it that is needed, does not answer."""


class StoreUnreachable(Unavailable):
    """Nothing answers for the store: the network is down, or the way there. A service that refuses or fails does."""


class MovedAway(Unavailable):
    """These memories were moved to another place, or are being moved there or here."""


class TooManyFiles(Unavailable):
    """The process, or the machine, has as many files open as it may."""

    def __init__(
        self,
        message: str = "Too many files are open: raise the server's limit with `ulimit -n`, or try again later.",
        *,
        part: str = "store",
        **facts: Any,
    ) -> None:
        super().__init__(message, part=part, **facts)

    @staticmethod
    def are_behind(error: BaseException) -> bool:
        """Whether a failure of the system is this one."""
        return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


class Internal(SteeltrapError):
    """A bug in steeltrap. The message never quotes the cause; the log has it."""

    code = "internal"


class IndexFault(Internal):
    """The search index permanently rejects the request; retries don't help."""


INDEX_FAILURES: Final = (IndexUnavailable, IndexThrottled, IndexTooLarge, IndexFault)
"""The failures of the search index, during which the store may still answer."""


def moved_away(place: str) -> MovedAway:
    """The error for using memories where they were before they were moved to another place.

    Clients see it, so it names no table and no database: `steeltrap move` tells operators the whole name.
    """
    kind = place.partition(":")[0]
    name = kind if kind in ("aws", "dynamodb", "postgresql") else place
    return MovedAway(
        f"These memories were moved to {name}: use the store there. If it has none of them, the move was cut short: "
        "run `steeltrap move` again.",
        retryable=False,
        part="store",
    )


def other_embedder(embedder: str, dimension: int, own: str, own_dimension: int) -> Conflict:
    """The error for memories that another embedder made the vectors of."""
    return Conflict(
        f"These memories were embedded by {embedder} ({dimension} dimensions), and this is {own} ({own_dimension}). "
        "Run `steeltrap reembed` to re-embed them, or set STEELTRAP_EMBEDDER back if you changed it.",
        part="embedder",
    )


def being_embedded() -> Conflict:
    """The error for memories whose vectors are half another embedder's."""
    return Conflict("These memories are being re-embedded: run `steeltrap reembed` to its end first.", part="embedder")


def unknown_name(kind: str, name: str, names: Collection[str], *, of: str = "") -> NotFound:
    """The error for a name that is none of `names`, such as of a tool: it gives the nearest one, or all."""
    from difflib import get_close_matches

    name = name[:60]
    near = get_close_matches(name, names, 1)
    hint = f"did you mean `{near[0]}`?" if near else f"there are: {', '.join(names)}."
    return NotFound(f"No {kind} `{name}`{of}; {hint}")


def type_name(error: SteeltrapError) -> str:
    """The name of an error's type, or of the nearest type above it that is in this module."""
    kind = next(each for each in type(error).__mro__ if each.__module__ == __name__)
    return re.sub(r"(?<!^)([A-Z])", r"_\1", kind.__name__).lower()


def restored(name: str, code: str, message: str, *, retryable: bool, details: dict[str, Any]) -> SteeltrapError:
    """The error that another process described: of the type of that name, else of the type of that code."""
    kinds = {each.__name__.lower(): each for each in _types(SteeltrapError)}
    kind = kinds.get(name.replace("_", "")) or kinds.get(code.replace("_", ""), Internal)
    error = kind(message, retryable=retryable)
    error.details.update(details)
    return error


def _types(kind: type[SteeltrapError]) -> Iterator[type[SteeltrapError]]:
    for each in kind.__subclasses__():
        if each.__module__ == __name__:
            yield each
            yield from _types(each)
