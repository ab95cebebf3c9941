"""Giving every memory of a user new vectors and tokens, in one transaction."""

from collections.abc import Callable, Sequence
from secrets import token_hex
from typing import Final

from ...model import Memory
from ...ports import Entry
from ...record import from_image
from .connection import select
from .file import UserFile
from .rows import to_terms

_BLOCK: Final = 256


def reembed(file: UserFile, anew: Callable[[Sequence[Memory]], list[Entry]]) -> int:
    """New vectors and tokens for all that can be searched; how many memories that was."""
    done = 0
    if not file.is_there():
        return done
    with file.rewriting() as connection:
        last = 0
        while rows := select(
            connection,
            "SELECT n, image FROM memory JOIN search USING (n) WHERE n > ? ORDER BY n LIMIT ?",
            (last, _BLOCK),
        ):
            entries = anew([from_image(image) for _, image in rows])
            connection.executemany(
                "UPDATE search SET terms = ?, vectors = ? WHERE n = ?",
                [
                    (to_terms(entry.tokens or ()), b"".join(entry.embeddings or ()), n)
                    for (n, _), entry in zip(rows, entries, strict=True)
                ],
            )
            last = rows[-1][0]
            done += len(rows)
        connection.executemany(
            "UPDATE meta SET value = ? WHERE key = ?",
            # A new generation makes every open index reload the vectors.
            [(file.embedder, "embedder"), (file.dimension, "dimension"), (token_hex(8), "generation")],
        )
    return done
