"""Room on the disk that is kept for forgetting, which has to work on a full disk too."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import Final, TypeVar

from .connection import DiskFull

RESERVE_BYTES: Final = 8 * 1024 * 1024
"""Enough for the log of any forgetting but that of thousands of memories at once."""
_PLENTY: Final = 8
"""The reserve is made only while so many times its size is free, so that it never fills a disk."""


_T = TypeVar("_T")


class Reserve:
    """A file that is given up when the disk is full, and made again when there is plenty of room."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / ".reserve"

    def keep(self) -> None:
        """Make the file where it is missing. Never raises: without it, forgetting needs some room."""
        with suppress(OSError):
            if self._path.exists() or shutil.disk_usage(self._path.parent).free < _PLENTY * RESERVE_BYTES:
                return
            part = self._path.with_name(f"{self._path.name}-{token_hex(8)}")
            try:
                with open(part, "xb", opener=_private) as file:
                    # File systems that compress would keep no room for zeros.
                    file.write(token_bytes(RESERVE_BYTES))
                part.replace(self._path)
            finally:
                part.unlink(missing_ok=True)

    def with_room(self, forget: Callable[[], _T]) -> _T:
        """Forget, on a full disk in the room of the reserve. Raises DiskFull where that is not enough."""
        try:
            return forget()
        except DiskFull:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
        try:
            return forget()
        except DiskFull as full:
            raise DiskFull(
                "The disk is full, so nothing was forgotten: free at least "
                f"{megabytes(RESERVE_BYTES)} on the disk of the data folder, then try again."
            ) from full


def megabytes(size: int) -> str:
    """A size, rounded up."""
    return f"{-(-size // (1024 * 1024))} MB"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
