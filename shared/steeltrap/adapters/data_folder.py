"""A folder of data that is made at most once: if it goes away later, that is an error and not an empty place."""

import os
from pathlib import Path

from ..errors import Unavailable


class DataFolder:
    """Folders that are made are open to their owner only; those that are there stay as they are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._was_there = os.path.isdir(path)

    def make(self) -> None:
        """Make the folder, unless it was there before. Raises Unavailable."""
        self.require()
        if not self._was_there:
            try:
                _make_private(self.path)
            except OSError as error:
                raise Unavailable(
                    f"The data folder can't be created ({error.strerror}): set STEELTRAP_DATA to a folder that can be "
                    "written to.",
                    retryable=False,
                    part="store",
                ) from error
            self._was_there = True

    def require(self) -> None:
        """Raises Unavailable when the folder was there before and is gone."""
        was_there = self._was_there  # read first: another thread may make the folder during the look
        if os.path.isdir(self.path):
            self._was_there = True
        elif was_there:
            raise Unavailable(
                "The data folder was removed, or its disk was unmounted, while it was in use: put it back, or restart "
                "to begin with an empty one.",
                retryable=False,
                part="store",
            )


def _make_private(folder: Path) -> None:
    if not folder.is_dir():
        _make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
