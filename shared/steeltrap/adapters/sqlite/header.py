"""What a file says of itself: whose memories it has, which embedder made its vectors, how many changes it has seen."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

import apsw

from ...errors import Conflict, Unavailable
from ...model import UserRef
from ...text.words import WORDS_VERSION
from . import staging


@dataclass(frozen=True, slots=True)
class Header:
    """What the `meta` table of a user's file has to say, so that the file is used."""

    user: UserRef
    embedder: str
    dimension: int

    def begin(self, connection: apsw.Connection, path: Path) -> int:
        """The number of the next change, in a transaction. Raises Unavailable, Conflict."""
        meta = self.check_owner(connection, path)
        if "generation" not in meta:
            # A new file, or one that was wiped: a fresh space begins.
            meta = {
                "generation": token_hex(8),
                "change": 0,
                "user_id": self.user.user_id,
                "tenant": self.user.tenant,
                "embedder": self.embedder,
                "dimension": self.dimension,
                "words_version": WORDS_VERSION,
            }
            connection.executemany("INSERT INTO meta (key, value) VALUES (?, ?)", meta.items())
        self._check_embedder(meta)
        return int(meta["change"]) + 1

    def check(self, connection: apsw.Connection, path: Path) -> bool:
        """Whether the file has begun. Raises Unavailable, Conflict."""
        meta = self.check_owner(connection, path)
        if meta:
            self._check_embedder(meta)
        return bool(meta)

    def degraded(self, connection: apsw.Connection) -> str | None:
        """Why there are no vectors of this embedder to search by: they are being made. None where there are."""
        return staging.degraded(connection, self.embedder) if self.is_next(connection) else None

    def is_next(self, connection: apsw.Connection) -> bool:
        """Whether vectors are being made for this embedder, and another one's are in use."""
        return self._is_next(dict(connection.execute("SELECT key, value FROM meta")))

    def is_embedded(self, connection: apsw.Connection, path: Path) -> bool:
        """Whether all vectors are this embedder's, and none are being made."""
        meta = self.check_owner(connection, path)
        return not meta or (self._is_own(meta) and not staging.is_begun(meta))

    def check_owner(self, connection: apsw.Connection, path: Path) -> dict[str, Any]:
        """All that the file says of itself. Raises Unavailable for another user's file, or a newer steeltrap's."""
        meta = dict(connection.execute("SELECT key, value FROM meta"))
        if meta and owner(meta) != self.user:
            raise not_the_users(path)
        if meta.get("words_version", 0) > WORDS_VERSION:
            # Its words would not be found by ours, and ours not by its.
            raise Unavailable(
                f"The file {path.name} was opened by a newer steeltrap: restart this one if it was upgraded, else "
                "upgrade it.",
                retryable=False,
                part="store",
            )
        return meta

    def _check_embedder(self, meta: Mapping[str, Any]) -> None:
        if not self._is_own(meta) and not self._is_next(meta):
            stored = (meta["embedder"], meta["dimension"])
            raise Conflict(
                f"These memories were embedded by {stored[0]} ({stored[1]} dimensions), and this is {self.embedder} "
                f"({self.dimension}). Run `steeltrap reembed` to re-embed them, or set STEELTRAP_EMBEDDER back if you "
                f"changed it.",
                part="embedder",
            )

    def _is_own(self, meta: Mapping[str, Any]) -> bool:
        return bool((meta["embedder"], meta["dimension"]) == (self.embedder, self.dimension))

    def _is_next(self, meta: Mapping[str, Any]) -> bool:
        return bool(meta) and not self._is_own(meta) and staging.is_for(meta, self.embedder, self.dimension)


def owner(meta: Mapping[str, Any]) -> UserRef:
    """Whose memories a file has."""
    return UserRef(str(meta["user_id"]), str(meta["tenant"]))


def is_named_by_owner(connection: apsw.Connection, path: Path) -> bool:
    """Whether a file that has begun has the name of the user whose memories are in it."""
    meta = dict(connection.execute("SELECT key, value FROM meta"))
    return "user_id" in meta and "tenant" in meta and path.stem == owner(meta).key


def not_the_users(path: Path) -> Unavailable:
    """What is said of a file that has the name of another user's."""
    return Unavailable(
        f"The file {path.name} holds the memories of another user, so it is not served: move it back to its own name, "
        "or restore the right one.",
        retryable=False,
        part="store",
    )
