"""The header of a file: whose memories it has, which embedder made its vectors, how many changes it has seen; and
the vectors of another embedder, made beside those in use.

`meta` names the embedder for which they are made. A write that changes a memory's text drops what was made for it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, NamedTuple

import apsw

from ...errors import Conflict, Unavailable, moved_away, other_embedder
from ...model import Memory, UserRef
from ...model.frozen import frozen
from ...ports import Entry
from ...record import from_image
from ...text.words import WORDS_VERSION
from ...version import VERSION
from .connection import select
from .records import AMONG, to_keys, to_terms

MOVED_TO: Final = "moved_to"
"""The place, in `meta`, to which all memories of a file were moved: nothing reads or writes them here any more."""
_KEYS: Final = ("next_embedder", "next_dimension", "next_version")
_BLOCK: Final = 256


def read_meta(connection: apsw.Connection) -> dict[str, Any]:
    """The header by key; nothing in a file that has not begun or was emptied."""
    return dict(select(connection, "SELECT key, value FROM meta"))


def write_meta(connection: apsw.Connection, values: Mapping[str, str | int]) -> None:
    """Write keys of the header, in a transaction."""
    connection.executemany("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", values.items())


def remove_meta(connection: apsw.Connection, *keys: str) -> None:
    """Take keys out of the header, in a transaction."""
    connection.executemany("DELETE FROM meta WHERE key = ?", [(key,) for key in keys])


class Unstaged(NamedTuple):
    """A memory without new vectors, and the number of the transaction that wrote it last."""

    n: int
    change: int
    memory: Memory


def is_staged_for(meta: Mapping[str, Any], embedder: str, dimension: int) -> bool:
    """Whether vectors are being made for this embedder."""
    return (meta.get("next_embedder"), meta.get("next_dimension")) == (embedder, dimension)


def is_staging_begun(meta: Mapping[str, Any]) -> bool:
    """Whether vectors are being made for any embedder."""
    return "next_embedder" in meta


def begin_staging(connection: apsw.Connection, embedder: str, dimension: int) -> None:
    """Go on with what was made for this embedder by this version, or start from nothing."""
    values: dict[str, str | int] = dict(zip(_KEYS, (embedder, dimension, VERSION), strict=True))
    if not values.items() <= read_meta(connection).items():
        connection.execute("DELETE FROM staged")
        write_meta(connection, values)


def unstaged(connection: apsw.Connection, embedder: str, dimension: int, after: int) -> list[Unstaged]:
    """A block of the memories after a row number that have no new vectors.

    Raises Conflict when another run took over.
    """
    if not is_staged_for(read_meta(connection), embedder, dimension):
        raise Conflict(
            "Another `steeltrap reembed` has begun or is done; run it again to see whether all is.", part="embedder"
        )
    rows = select(
        connection,
        "SELECT n, change, image FROM memory JOIN search USING (n) LEFT JOIN staged USING (n) "
        "WHERE staged.n IS NULL AND n > ? ORDER BY n LIMIT ?",
        (after, _BLOCK),
    )
    return [Unstaged(n, change, from_image(image)) for n, change, image in rows]


def stage(connection: apsw.Connection, block: Sequence[Unstaged], entries: Sequence[Entry]) -> None:
    """Keep the new vectors and tokens of a block, but for memories that were written meanwhile."""
    connection.executemany(
        "INSERT OR REPLACE INTO staged (n, terms, vectors) "
        "SELECT n, :terms, :vectors FROM memory JOIN search USING (n) WHERE n = :n AND change = :change",
        [
            {
                "n": each.n,
                "change": each.change,
                "terms": to_terms(entry.tokens or ()),
                "vectors": b"".join(entry.embeddings or ()),
            }
            for each, entry in zip(block, entries, strict=True)
        ],
    )


def move_staged(connection: apsw.Connection, ids: Sequence[str]) -> None:
    """Put aside the vectors of memories that were just written by the embedder for which vectors are made."""
    connection.execute(
        "INSERT OR REPLACE INTO staged (n, terms, vectors) "
        f"SELECT n, terms, vectors FROM memory JOIN search USING (n) WHERE {AMONG}",
        (to_keys(ids),),
    )
    connection.execute(
        f"UPDATE search SET vectors = x'' WHERE n IN (SELECT n FROM memory WHERE {AMONG})", (to_keys(ids),)
    )


def take_over_staged(connection: apsw.Connection) -> int:
    """Put the new vectors and tokens in place of the old ones; how many memories have them."""
    connection.execute(
        "UPDATE search SET terms = staged.terms, vectors = staged.vectors FROM staged WHERE staged.n = search.n"
    )
    count = connection.changes()
    connection.execute("DELETE FROM staged")
    remove_meta(connection, *_KEYS)
    return count


def staged_count(connection: apsw.Connection) -> tuple[int, int]:
    """How many memories have new vectors, and how many there are."""
    [(count, total)] = connection.execute("SELECT (SELECT count(*) FROM staged), (SELECT count(*) FROM search)")
    return int(count), int(total)


def staging_degraded(connection: apsw.Connection, embedder: str) -> str:
    """The sentence of a search that goes by words until the vectors are there."""
    count, total = staged_count(connection)
    return (
        f"the vectors are being rebuilt for {embedder} ({count:,} of {total:,} memories are done), so only words "
        "were compared. If `steeltrap reembed` is not running, run it to continue."
    )


def taken_over_degraded(connection: apsw.Connection, embedder: str) -> str:
    """The sentence of a search in a file of another embedder, for which no vectors were begun."""
    made_by = str(read_meta(connection)["embedder"])
    # An earlier release's vectors of `small` can't be compared with today's, and today's may not be installed.
    is_small = made_by.startswith("small")
    choose = "run `steeltrap embedder small`" if is_small else "choose it by STEELTRAP_EMBEDDER if it is installed"
    return (
        f"the memories were embedded by {made_by}, which is not at hand, so only words were compared. Restart a server "
        f"that was running when it was chosen. Otherwise {choose}, or run `steeltrap reembed` to go on with {embedder}."
    )


@frozen(kw_only=False)
class Header:
    """The content that the `meta` table of a user's file must have, so that the file is used."""

    user: UserRef
    embedder: str
    dimension: int
    takes_over: bool = False
    """Whether a file of another embedder is opened all the same: it is searched by words, and from the first write on,
    vectors are made beside those in use."""

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
                "analysis": WORDS_VERSION,
            }
            connection.executemany("INSERT INTO meta (key, value) VALUES (?, ?)", meta.items())
        self._check_embedder(meta)
        if self._is_next(meta) and not is_staging_begun(meta):
            begin_staging(connection, self.embedder, self.dimension)
        return int(meta["change"]) + 1

    def check(self, connection: apsw.Connection, path: Path) -> dict[str, Any]:
        """All that the file says of itself; nothing if it has not begun. Raises Unavailable, Conflict."""
        meta = self.check_owner(connection, path)
        if meta:
            self._check_embedder(meta)
        return meta

    def degraded(self, connection: apsw.Connection, meta: Mapping[str, Any]) -> str | None:
        """Why a file with this header has no vectors of this embedder to search by: they are being made. None where it
        has."""
        if not self._is_next(meta):
            return None
        why = staging_degraded if is_staging_begun(meta) else taken_over_degraded
        return why(connection, self.embedder)

    def is_next(self, connection: apsw.Connection) -> bool:
        """Whether vectors are being made for this embedder, and another one's are in use."""
        return self._is_next(read_meta(connection))

    def is_embedded(self, connection: apsw.Connection, path: Path) -> bool:
        """Whether all vectors are this embedder's, and none are being made."""
        meta = self.check_owner(connection, path)
        return not meta or (self._is_own(meta) and not is_staging_begun(meta))

    def check_owner(self, connection: apsw.Connection, path: Path, *, may_be_reserved: bool = False) -> dict[str, Any]:
        """All that the file says of itself. Raises Unavailable for another user's file, a newer steeltrap's, or one
        whose memories were moved or, unless it may be reserved, are to be moved here."""
        meta = read_meta(connection)
        if meta and owner(meta) != self.user:
            raise not_the_users(path)
        if MOVED_TO in meta and not (may_be_reserved and "generation" not in meta):
            raise moved_away(meta[MOVED_TO])
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
            raise other_embedder(meta["embedder"], meta["dimension"], self.embedder, self.dimension)

    def _is_own(self, meta: Mapping[str, Any]) -> bool:
        return bool((meta["embedder"], meta["dimension"]) == (self.embedder, self.dimension))

    def _is_next(self, meta: Mapping[str, Any]) -> bool:
        if not meta or self._is_own(meta):
            return False
        begins = self.takes_over and not is_staging_begun(meta)
        return begins or is_staged_for(meta, self.embedder, self.dimension)


def analysis_of(connection: apsw.Connection) -> int:
    """By which version of the analysis all of a file is found; 0 if it was written before that was kept."""
    meta = read_meta(connection)
    return int(meta.get("analysis", 0)) if meta else WORDS_VERSION


def set_analysis(connection: apsw.Connection, version: int) -> None:
    """Keep by which version of the analysis all of a file is found; nothing in a file that was emptied.

    Its words are of that version, too: where no opening made them, which is so over a log, the analysis has.
    """
    connection.execute(
        "INSERT OR REPLACE INTO meta (key, value) SELECT key, ? FROM (SELECT 'analysis' AS key UNION SELECT "
        "'words_version') WHERE EXISTS (SELECT 1 FROM meta)",
        (version,),
    )


def is_here(connection: apsw.Connection) -> bool:
    """Whether a file has begun, and its memories weren't moved to another place."""
    keys = {key for (key,) in connection.execute("SELECT key FROM meta WHERE key IN ('generation', ?)", (MOVED_TO,))}
    return keys == {"generation"}


def owner(meta: Mapping[str, Any]) -> UserRef:
    """The user whose memories a file has."""
    return UserRef(str(meta["user_id"]), str(meta["tenant"]))


def is_named_by_owner(connection: apsw.Connection, path: Path) -> bool:
    """Whether a file that has begun has the name of the user whose memories are in it."""
    meta = read_meta(connection)
    return "user_id" in meta and "tenant" in meta and path.stem == owner(meta).key


def not_the_users(path: Path) -> Unavailable:
    """The refusal of a file that has the name of another user's."""
    return Unavailable(
        f"The file {path.name} holds the memories of another user, so it is not served: move it back to its own name, "
        "or restore the right one.",
        retryable=False,
        part="store",
    )
