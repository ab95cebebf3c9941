"""Files copied for good: private, with a checksum, and on the disk before anybody relies on them."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Final

from ...errors import Unavailable
from ...full_disks import is_full
from ..data_folder import open_regular
from .connection import DiskFull
from .manifest import Kept, unfinished

_BLOCK: Final = 1024 * 1024


def copy_file(source: Path, target: Path, name: str, most: int | None = None) -> Kept:
    """Copy the regular file of a name from one folder to another: all of it, or a block more than `most` bytes. Raises
    NotRegular, OSError: FileExistsError."""
    make_folders((target / name).parent)
    digest, size = sha256(), 0
    with (
        open_regular(source, name) as reading,
        open(os.open(target / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as writing,
    ):
        while (most is None or size <= most) and (block := reading.read(_BLOCK)):
            writing.write(block)
            digest.update(block)
            size += len(block)
        writing.flush()
        os.fsync(writing.fileno())
    return Kept(name, size, digest.hexdigest())


def keep(path: Path, name: str) -> Kept:
    """Bring a file that was written by another means to the disk."""
    digest = sha256()
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        while block := file.read(_BLOCK):
            digest.update(block)
        return Kept(name, file.tell(), digest.hexdigest())


def make_folders(folder: Path) -> None:
    """Make a folder and those above it, for their owner only."""
    if not folder.is_dir():
        make_folders(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    if os.name == "posix":  # Windows opens no folders
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def beside(target: Path) -> Iterator[Path]:
    """A folder beside the target, to be filled and renamed to it; it is removed if the block fails.

    One that a killed process left has a name that ends in `.unfinished-` and eight digits.
    """
    part = unfinished(target, token_hex(4))
    try:
        part.mkdir(mode=0o700)
        yield part
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def sync_all(folder: Path) -> None:
    """Bring the names in a folder, and in all below it, to the disk."""
    for path, _, _ in os.walk(folder):
        sync_folder(Path(path))


@contextmanager
def translated_at(place: Path) -> Iterator[None]:
    """Turn the errors of the disk that is written to into ours."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise DiskFull(f"The disk of {place.parent} is full: free some space, or choose another disk.") from error
        at = error.filename2 or error.filename or place
        raise Unavailable(f"{error.strerror}: {at}.", retryable=False, part="store") from error
