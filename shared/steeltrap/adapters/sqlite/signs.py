"""Finds the vectors that are probably nearest by their signs, which need a thirtieth of the memory.

Above some ten thousand memories reading every vector is what a save's look-around takes its time for.
Measured over 29,000 chunks of real conversations, the 2% with the most equal signs hold the nearest one
in 999 of 1,000 cases, and what is found instead is less than 0.01 in cosine away.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

SCAN_FROM: Final = 20_000
_FEWEST: Final = 1000
_SHARE: Final = 50


class Signs:
    """The signs of a matrix's rows, one bit per dimension, added as rows are appended."""

    def __init__(self, dimension: int) -> None:
        self._words = -(-dimension // 64)
        self._bits = np.empty((self._words, 0), np.uint64)
        self._rows = 0

    def take_in(self, matrix: NDArray[np.float32]) -> None:
        """Add the rows that are new since the last time."""
        if len(matrix) > self._bits.shape[1]:
            larger = np.empty((self._words, len(matrix) + len(matrix) // 4), np.uint64)
            larger[:, : self._rows] = self._bits[:, : self._rows]
            self._bits = larger
        self._bits[:, self._rows : len(matrix)] = self._packed(matrix[self._rows :]).T
        self._rows = len(matrix)

    def probably_near(self, vector: NDArray[np.float32]) -> NDArray[np.intp]:
        """The rows, 2% and at least 1,000 of them, whose signs differ least from the vector's; ties are all in."""
        wanted = self._packed(vector[np.newaxis])[0]
        differing = np.zeros(self._rows, np.uint16)
        for word in range(self._words):
            differing += np.bitwise_count(self._bits[word, : self._rows] ^ wanted[word])
        # Counting how many differ by how much tells the cut without sorting.
        keep = min(self._rows, max(_FEWEST, self._rows // _SHARE))
        furthest = int(np.bincount(differing).cumsum().searchsorted(keep))
        return np.flatnonzero(differing <= furthest)

    def memory(self) -> int:
        """Bytes held."""
        return self._bits.nbytes

    def _packed(self, rows: NDArray[np.float32]) -> NDArray[np.uint64]:
        octets = np.packbits(rows > 0, axis=1)
        padded = np.zeros((len(rows), self._words * 8), np.uint8)
        padded[:, : octets.shape[1]] = octets
        return padded.view(np.uint64)
