"""The vectors of an index: a row per chunk, and rows are only added."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

_SMALL: Final = 4096 * 256
"""So many numbers are multiplied in one thread."""


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
    # BLAS wakes another thread for this, which on a busy machine takes milliseconds.
    found: NDArray[np.float32] = np.vecdot(rows, vector) if rows.size <= _SMALL else rows @ vector
    return found
