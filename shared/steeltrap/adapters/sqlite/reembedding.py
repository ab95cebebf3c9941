"""Giving every memory of a user new vectors and tokens: made in blocks, put in place in one transaction."""

from collections.abc import Callable, Sequence
from secrets import token_hex

from ...model import Memory
from ...ports import Entry
from . import staging
from .file import UserFile


def reembed(file: UserFile, anew: Callable[[Sequence[Memory]], list[Entry]], begun: Callable[[int, int], None]) -> int:
    """New vectors and tokens for all that can be searched; how many memories that was.

    `begun` is told how many have them from an earlier run, and how many there are. The file is locked only while a
    block is read or written, so memories can be saved meanwhile. What was made before a crash is not made again.
    """
    if not file.is_there():
        return 0
    with file.rewriting() as connection:
        staging.begin(connection, file.embedder, file.dimension)
        made, all_of_them = staging.made(connection)
    begun(made, all_of_them)
    last = 0
    while True:
        with file.rewriting() as connection:
            block = staging.unmade(connection, file.embedder, file.dimension, last)
            if not block and last:
                # Those before the first block's end may have been written again meanwhile.
                block = staging.unmade(connection, file.embedder, file.dimension, 0)
            if not block:
                done = staging.take_over(connection)
                connection.executemany(
                    "UPDATE meta SET value = ? WHERE key = ?",
                    # A new generation makes every open index reload the vectors.
                    [(file.embedder, "embedder"), (file.dimension, "dimension"), (token_hex(8), "generation")],
                )
                return done
        entries = anew([each.memory for each in block])
        with file.rewriting() as connection:
            staging.keep(connection, block, entries)
        last = block[-1].n
