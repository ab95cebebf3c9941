"""Giving every memory of a user new vectors, in one transaction."""

from collections.abc import Callable, Sequence
from secrets import token_hex
from typing import Final

from ...model import Embedding, Memory
from .connection import select
from .file import UserFile
from .rows import from_image

_BLOCK: Final = 256


def reembed(file: UserFile, embed: Callable[[Sequence[Memory]], list[tuple[Embedding, ...]]]) -> int:
    """New vectors for all that can be searched; how many memories that was."""
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
            vectors = embed([from_image(image) for _, image in rows])
            connection.executemany(
                "UPDATE search SET vectors = ? WHERE n = ?",
                [(b"".join(chunks), n) for (n, _), chunks in zip(rows, vectors, strict=True)],
            )
            last = rows[-1][0]
            done += len(rows)
        connection.executemany(
            "UPDATE meta SET value = ? WHERE key = ?",
            # A new generation makes every open index load the vectors anew.
            [(file.embedder, "embedder"), (file.dimension, "dimension"), (token_hex(8), "generation")],
        )
    return done
