"""Files that are there as a whole or not at all, durable, and their owner's alone: written beside their place and put
there in one step. All functions raise OSError."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

PART: Final = ".part-"
"""The beginning of a file's name while it is written."""


def read(path: Path) -> bytes | None:
    """A file's content; None where there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def create(path: Path, content: bytes) -> bool:
    """Put a file where none is, and make its folder. False where one is."""
    if path.exists():
        return False
    try:
        _place(path, content, os.link)
    except FileExistsError:
        return False
    sync(path.parent)
    return True


def replace(path: Path, content: bytes, *, sync_folder: bool = True) -> None:
    """Put a file in the place of what is there, and make its folder."""
    _place(path, content, os.replace)
    if sync_folder:
        sync(path.parent)


def _place(path: Path, content: bytes, put: Callable[[Path, Path], None]) -> None:
    """Write content beside its place and put it there. If `clear_parts` of another writer took it away, again."""
    for is_last_try in (False, False, True):
        part = _part(path, content)
        try:
            put(part, path)
            return
        except FileNotFoundError:
            if is_last_try:
                raise
        finally:
            part.unlink(missing_ok=True)


def clear_parts(folder: Path) -> None:
    """Remove the partial files of killed writers: they may hold text that must be forgotten."""
    for part in folder.glob(f"{PART}*"):
        with suppress(FileNotFoundError, PermissionError):  # Windows keeps what is open
            part.unlink()


def _part(path: Path, content: bytes) -> Path:
    """Write the content of a path beside it, durably."""
    part = path.with_name(f"{PART}{token_hex(8)}")
    try:
        write(part, content)
    except FileNotFoundError:
        make(path.parent)
        write(part, content)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return part


def write(path: Path, content: bytes) -> None:
    """Write a new file durably, byte by byte."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def make(folder: Path) -> None:
    """Make a folder and those above it, durably, where they aren't there."""
    if not folder.is_dir():
        make(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        sync(folder.parent)


def sync(folder: Path) -> None:
    """Make the names in a folder durable, where a system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows opens no folders
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
