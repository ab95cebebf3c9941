"""Folders opened one below the other by their descriptors: no link is followed, whenever it is planted."""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def folder_below(root: Path | int, parts: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """A descriptor of the folder that `parts` lead to from `root`, made for its owner only where it is missing.

    Raises OSError: FileNotFoundError, NotADirectoryError, and ELOOP for a link.
    """
    folder = os.dup(root) if isinstance(root, int) else os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=folder)
            above, folder = folder, _open_folder(part, folder)
            os.close(above)
        yield folder
    finally:
        os.close(folder)


def open_file(name: str, folder: int, flags: int) -> int:
    """A descriptor of a file, which its owner only may read if it is made. Raises OSError: ELOOP for a link."""
    return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600, dir_fd=folder)


def mode(name: str, folder: int) -> int:
    """What is there by a name, as in `st_mode`; 0 for nothing."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0


def files(folder: int) -> Iterator[str]:
    """The paths of all files in a folder and the folders below."""
    for path, _, names, within in os.fwalk(".", dir_fd=folder):
        for name in names:
            if stat.S_ISREG(mode(name, within)):
                yield os.path.normpath(os.path.join(path, name))


def _open_folder(name: str, folder: int) -> int:
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    except NotADirectoryError:
        # What a link is refused with depends on the system.
        if stat.S_ISLNK(mode(name, folder)):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise
