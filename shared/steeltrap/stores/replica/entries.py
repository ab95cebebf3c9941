"""Entries of a log as they are written, and how one comes to be.

An entry, a stub and a base have one form: a header and a body, with a checksum over both. Of a stub only the header is
left, whose nonce still says who took the number.
"""

import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from secrets import token_bytes
from types import ModuleType
from typing import Final, Literal

from ...errors import StoreUnreachable, Unavailable
from ...model import UserRef
from ...ports import Deadline, Log

Kind = Literal["change", "migrate", "stub", "base"]

_KINDS: Final[dict[bytes, Kind]] = {b"c": "change", b"m": "migrate", b"s": "stub", b"b": "base"}
_LETTERS: Final = {kind: letter for letter, kind in _KINDS.items()}
_MAGIC: Final = b"st"
_FORMAT: Final = 1
_HEAD: Final = struct.Struct(">2sBc16sQ16s16s8sQQQQ")
_CHECKSUM: Final = 16
NONCE_BYTES: Final = 16
_PAUSE: Final = 0.05
_LEVEL: Final = 1
_LARGEST: Final = 4 * 1024**3
"""The most bytes of a body: no user's file has as many, and a damaged one could ask for all memory."""


def damaged(reason: str) -> Unavailable:
    """The error for an entry or a base that isn't what its writer wrote."""
    return Unavailable(
        f"The log of these memories is damaged: {reason}. Restore the bucket or the folder from a copy.",
        retryable=False,
        part="store",
    )


class Lost(Exception):
    """Another writer took the number."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A commit: the patchset of its rows, and where it belongs.

    `after` is the nonce of the entry before, or the log's id. `schema` is the fingerprint of the tables that the
    patchset is about; an entry that migrates has none, and `schema` is of the tables that each replica has after it.
    `base` is the newest base that the writer knew; up to `forgot` all entries are stubs, and `removed` is the last
    entry that removed something for good. `written` is the writer's clock in microseconds, to be shown and never used
    for order.
    """

    kind: Kind
    user: UserRef
    n: int
    nonce: bytes
    after: bytes
    schema: bytes
    base: int
    forgot: int
    removed: int
    written: int
    body: bytes = b""

    def pack(self) -> bytes:
        head = _HEAD.pack(
            _MAGIC,
            _FORMAT,
            _LETTERS[self.kind],
            _digest(self.user),
            self.n,
            self.nonce,
            self.after,
            self.schema,
            self.base,
            self.forgot,
            self.removed,
            self.written,
        )
        body = _zstd().compress(self.body, _LEVEL) if self.body else b""
        return head + _checksum(head, body) + body

    def stub(self) -> "LogEntry":
        """The entry without what it changed."""
        return replace(self, kind="stub", body=b"")


def unpack(data: bytes, user: UserRef, n: int) -> LogEntry:
    """The entry `n` of a user's log. Raises Unavailable for the format of a newer steeltrap."""
    start = _HEAD.size + _CHECKSUM
    if len(data) < start or data[:2] != _MAGIC:
        raise damaged(f"entry {n} is cut off, or not an entry")
    _, form, letter, digest, number, nonce, after, schema, base, forgot, removed, written = _HEAD.unpack_from(data)
    if form > _FORMAT:
        raise newer()
    head, body = data[: _HEAD.size], data[start:]
    if data[_HEAD.size : start] != _checksum(head, body):
        raise damaged(f"entry {n} has changed since it was written")
    if letter not in _KINDS:
        raise newer()
    if digest != _digest(user) or number != n:
        raise damaged(f"in the place of entry {n} is another one")
    return LogEntry(
        _KINDS[letter],
        user,
        number,
        nonce,
        after,
        schema,
        base,
        forgot,
        removed,
        written,
        _decompress(body, n) if body else b"",
    )


@cache
def _zstd() -> ModuleType:
    """The package is only there with the extras of logs: moves between folders and tables import this module, too."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def _decompress(body: bytes, n: int) -> bytes:
    reading = _zstd().ZstdDecompressor()
    try:
        content: bytes = reading.decompress(body, _LARGEST)
    except _zstd().ZstdError:
        raise damaged(f"entry {n} can't be decompressed") from None
    if not reading.eof:
        raise damaged(f"entry {n} is cut off, or larger than any")
    return content


def nonce_of(data: bytes) -> bytes:
    """The nonce of the writer that took the number of a stored entry or stub."""
    return bytes(_HEAD.unpack_from(data)[5]) if len(data) >= _HEAD.size else b""


def number_of(data: bytes) -> int:
    return int(_HEAD.unpack_from(data)[4]) if len(data) >= _HEAD.size else 0


def new_nonce() -> bytes:
    """A nonce that no other entry has."""
    return token_bytes(NONCE_BYTES)


def newer() -> Unavailable:
    """The refusal of what a newer steeltrap wrote."""
    return Unavailable(
        "These memories were written by a newer steeltrap, or one with other tables: upgrade this one.",
        retryable=False,
        part="store",
    )


def offline() -> StoreUnreachable:
    """The refusal of a change while the log can't be reached."""
    return StoreUnreachable(
        "Nothing was changed: the place of these memories can't be reached, and offline they can only be read. Try "
        "again once the network is back.",
        part="store",
    )


def may_not_purge() -> Unavailable:
    """The refusal of a forgetting that could not delete the bases which hold what is forgotten."""
    return Unavailable(
        "Nothing was changed: these credentials may not delete from the bucket, which forgetting needs. Forget it with "
        "a server or a machine that may.",
        retryable=False,
        part="store",
    )


def commit_entry(log: Log, n: int, entry: bytes, deadline: Deadline, pause: Callable[[float], None]) -> None:
    """Create an entry, and be sure of it: every answer but success is settled by reading the place.

    A service that fails may have done its work, and a client that tries again by itself meets its own entry. Raises
    Lost when another writer took the number, Unavailable when nothing could be settled until the deadline, or the
    service refuses: it says whether an earlier attempt may still have worked.
    """
    wait, is_sure = _PAUSE, True
    while True:
        failure: Unavailable | None = None
        try:
            if log.create(n, entry):
                return
        except Unavailable as error:
            failure = error
        stored = _look(log, n)
        if stored is not None:
            if nonce_of(stored) == nonce_of(entry):
                return
            raise Lost
        is_refused = failure is not None and not failure.can_retry
        if failure is not None and is_refused and is_sure:
            raise failure
        if is_refused or deadline.before() <= wait:
            raise Unavailable(
                "Whether this was saved could not be found out in time: repeat it with the same idempotency key, or "
                "look whether it is there.",
                part="store",
            ) from failure
        is_sure = False
        pause(wait)
        wait = min(2 * wait, 1.0)


def _look(log: Log, n: int) -> bytes | None:
    try:
        return log.read([n])[0]
    except Unavailable:
        return None


def _digest(user: UserRef) -> bytes:
    return bytes.fromhex(user.key)[:16]


def _checksum(head: bytes, body: bytes) -> bytes:
    return sha256(head + body).digest()[:_CHECKSUM]
