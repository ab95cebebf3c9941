"""The vectors of an index: a row per chunk, and rows are only added."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

_BLOCK: Final = 512
"""So many rows are gathered at a time: they stay in the processor's cache until they are multiplied."""


class Matrix:
    """Rows of single precision, with room to grow."""

    def __init__(self, dimension: int) -> None:
        self.size = 0
        self._room = np.empty((0, dimension), np.float32)

    @property
    def rows(self) -> NDArray[np.float32]:
        """All rows, as a view."""
        return self._room[: self.size]

    def append(self, rows: NDArray[np.float32]) -> int:
        """Add rows; the number of the first."""
        first, self.size = self.size, self.size + len(rows)
        if self.size > len(self._room):
            self.reserve(max(64, self.size + first // 4))
        self._room[first : self.size] = rows
        return first

    def reserve(self, wanted: int) -> None:
        """Make room for so many rows."""
        kept = min(self.size, len(self._room))
        larger = np.empty((wanted, self._room.shape[1]), np.float32)
        larger[:kept] = self._room[:kept]
        self._room = larger

    def memory(self) -> int:
        """Bytes held."""
        return self._room.nbytes


def cosines(rows: NDArray[np.float32], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """The product of each row with a vector."""
    # The operator @ is not faster, but has BLAS wake more threads, which then spin and keep others from the processor.
    found: NDArray[np.float32] = np.vecdot(rows, vector)
    return found


def cosines_of(rows: NDArray[np.float32], some: NDArray[np.intp], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """The product of some of the rows, by their numbers, with a vector."""
    found = np.empty(len(some), np.float32)
    gathered = np.empty((min(_BLOCK, len(some)), rows.shape[1]), np.float32)
    for start in range(0, len(some), _BLOCK):
        numbers = some[start : start + _BLOCK]
        block = gathered[: len(numbers)]
        # What is clipped is taken without a copy in between; no number is out of bounds.
        rows.take(numbers, axis=0, out=block, mode="clip")
        found[start : start + _BLOCK] = cosines(block, vector)
    return found
