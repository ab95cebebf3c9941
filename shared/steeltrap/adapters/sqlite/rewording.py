"""Making the words of a file again, when it is opened, where an earlier version of the rules chose them.

Vectors stay, and so does a memory whose words are the same. What is done is kept block by block, so that the next
opening goes on where one ended.
"""

import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import apsw

from ...errors import Unavailable
from ...record import from_image
from ...text.words import WORDS_VERSION, indexed_words
from .connection import select, transaction
from .rows import to_terms

SECONDS: Final = 10.0
"""How long one opening makes words: callers wait for it, and each may wait no longer than for a lock."""
_BLOCK: Final = 1000
_REACHED: Final = "words_reached"
"""The key in `meta` of the row number up to which the words are made."""

_log = logging.getLogger("steeltrap")


def reword(connection: apsw.Connection, path: Path) -> None:
    """Bring the words of a file to those of today. Raises Unavailable, to be called again, when that takes long."""
    end = time.monotonic() + SECONDS
    try:
        while (reached := _reached(connection)) is not None:
            _make(connection, reached)
            if time.monotonic() > end and (reached := _reached(connection)) is not None:
                raise _unfinished(connection, path, reached)
    except apsw.FullError:
        # Reading and forgetting work on a full disk too.
        _log.warning("The disk is full, so memories in %s may not be found by words whose rules changed.", path.name)


def _reached(connection: apsw.Connection) -> int | None:
    """Up to which row number the words are made; None when all are, or there are none."""
    meta = _meta(connection)
    if "change" not in meta or meta.get("words_version", 0) >= WORDS_VERSION:
        return None
    # What another version began is begun again.
    version, _, row = str(meta.get(_REACHED, "")).partition(":")
    return int(row) if version == str(WORDS_VERSION) else 0


def _make(connection: apsw.Connection, after: int) -> None:
    """Make the words of the next block, and keep how far that is."""
    block = select(
        connection,
        "SELECT n, image, terms FROM memory JOIN search USING (n) WHERE n > ? ORDER BY n LIMIT ?",
        (after, _BLOCK),
    )
    made = [(to_terms(indexed_words(from_image(image))), n, terms) for n, image, terms in block]
    changed = [each for each in made if each[0] != each[2]]
    with transaction(connection):
        meta = _meta(connection)
        if "change" not in meta:  # the file was emptied meanwhile
            return
        if changed:
            _keep(connection, changed, int(meta["change"]) + 1)
        if len(block) == _BLOCK:
            _note(connection, _REACHED, f"{WORDS_VERSION}:{block[-1][0]}")
        else:
            _note(connection, "words_version", WORDS_VERSION)
            connection.execute("DELETE FROM meta WHERE key = ?", (_REACHED,))


def _keep(connection: apsw.Connection, changed: Sequence[tuple[bytes, int, bytes]], number: int) -> None:
    """Put new words in place as a change of its own number, so that every open index takes them in."""
    for terms, n, before in changed:
        connection.execute("UPDATE search SET terms = ? WHERE n = ? AND terms = ?", (terms, n, before))
        if connection.changes():  # else another process wrote it meanwhile
            connection.execute("UPDATE memory SET change = ? WHERE n = ?", (number, n))
    _note(connection, "change", number)


def _note(connection: apsw.Connection, key: str, value: str | int) -> None:
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))


def _meta(connection: apsw.Connection) -> dict[str, Any]:
    return dict(connection.execute("SELECT key, value FROM meta"))


def _unfinished(connection: apsw.Connection, path: Path, reached: int) -> Unavailable:
    done, all_of_them = connection.execute(
        "SELECT count(*) FILTER (WHERE n <= ?), count(*) FROM search", (reached,)
    ).fetchone() or (0, 0)
    return Unavailable(
        f"After the upgrade the words of the memories in {path.name} are made again: {done:,} of {all_of_them:,} are "
        "done; try again to go on.",
        part="store",
    )
