"""The vectors of another embedder, made beside those in use: kept through a crash, and taken over all at once.

`meta` names the embedder for which they are made. A write that changes a memory's text drops what was made for it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import apsw

from ...errors import Conflict
from ...model import Memory
from ...ports import Entry
from ...record import from_image
from ...version import VERSION
from .connection import select
from .rows import AMONG, to_keys, to_terms

_KEYS: Final = ("next_embedder", "next_dimension", "next_version")
_BLOCK: Final = 256


class Unmade(NamedTuple):
    """A memory without new vectors, and the number of the transaction that wrote it last."""

    n: int
    change: int
    memory: Memory


def is_for(meta: Mapping[str, Any], embedder: str, dimension: int) -> bool:
    """Whether vectors are being made for this embedder."""
    return (meta.get("next_embedder"), meta.get("next_dimension")) == (embedder, dimension)


def is_begun(meta: Mapping[str, Any]) -> bool:
    """Whether vectors are being made for any embedder."""
    return "next_embedder" in meta


def begin(connection: apsw.Connection, embedder: str, dimension: int) -> None:
    """Go on with what was made for this embedder by this version, or start from nothing."""
    wanted: tuple[str | int, ...] = (embedder, dimension, VERSION)
    meta = _meta(connection)
    if tuple(meta.get(key) for key in _KEYS) != wanted:
        connection.execute("DELETE FROM staged")
        connection.executemany(
            "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", zip(_KEYS, wanted, strict=True)
        )


def unmade(connection: apsw.Connection, embedder: str, dimension: int, after: int) -> list[Unmade]:
    """A block of the memories behind a row number that have no new vectors.

    Raises Conflict when another run took over.
    """
    if not is_for(_meta(connection), embedder, dimension):
        raise Conflict(
            "Another `steeltrap reembed` has begun or is done; run it again to see whether all is.", part="embedder"
        )
    rows = select(
        connection,
        "SELECT n, change, image FROM memory JOIN search USING (n) LEFT JOIN staged USING (n) "
        "WHERE staged.n IS NULL AND n > ? ORDER BY n LIMIT ?",
        (after, _BLOCK),
    )
    return [Unmade(n, change, from_image(image)) for n, change, image in rows]


def keep(connection: apsw.Connection, block: Sequence[Unmade], entries: Sequence[Entry]) -> None:
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


def move(connection: apsw.Connection, ids: Sequence[str]) -> None:
    """Put aside the vectors of memories that were just written by the embedder for which vectors are made."""
    connection.execute(
        "INSERT OR REPLACE INTO staged (n, terms, vectors) "
        f"SELECT n, terms, vectors FROM memory JOIN search USING (n) WHERE {AMONG}",
        (to_keys(ids),),
    )
    connection.execute(
        f"UPDATE search SET vectors = x'' WHERE n IN (SELECT n FROM memory WHERE {AMONG})", (to_keys(ids),)
    )


def take_over(connection: apsw.Connection) -> int:
    """Put the new vectors and tokens in place of the old ones; how many memories have them."""
    connection.execute(
        "UPDATE search SET terms = staged.terms, vectors = staged.vectors FROM staged WHERE staged.n = search.n"
    )
    taken = connection.changes()
    connection.execute("DELETE FROM staged")
    connection.execute("DELETE FROM meta WHERE key IN (?, ?, ?)", _KEYS)
    return taken


def made(connection: apsw.Connection) -> tuple[int, int]:
    """How many memories have new vectors, and how many there are."""
    [(done, all_of_them)] = connection.execute("SELECT (SELECT count(*) FROM staged), (SELECT count(*) FROM search)")
    return int(done), int(all_of_them)


def degraded(connection: apsw.Connection, embedder: str) -> str:
    """What a search says that goes by words until the vectors are there."""
    done, all_of_them = made(connection)
    return (
        f"the vectors are being rebuilt for {embedder} ({done:,} of {all_of_them:,} memories are done), so only words "
        "were compared. If `steeltrap reembed` is not running, run it to continue."
    )


def _meta(connection: apsw.Connection) -> dict[str, Any]:
    return dict(connection.execute("SELECT key, value FROM meta WHERE key IN (?, ?, ?)", _KEYS))
