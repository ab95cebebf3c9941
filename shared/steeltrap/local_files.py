"""Small files that other programs write, or read: read and added to only where a regular file is in their place, and
replaced at once. And the errors of a full disk, and of a folder for temporary files that takes no more.

A pipe, a device or a terminal may never answer, and a sparse file of a few bytes on the disk may have gigabytes to
read. It imports the standard library alone until something fails: hooks use it before anything else of the
product is imported.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from pathlib import Path  # takes longer to import than the standard library's other modules that hooks need

    from .errors import Unavailable

# Without O_NONBLOCK, opening a pipe waits for its other end. O_NOCTTY keeps a terminal from becoming the process's own.
_FLAGS: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


def open_regular(path: "str | Path") -> BinaryIO:
    """Open a regular file, or a link to one, for reading. Raises OSError: EINVAL for anything else."""
    _check(os.stat(path), path)  # a device may act when it is opened
    return os.fdopen(_opened(path, os.O_RDONLY), "rb")


def read_regular(path: "str | Path", most: int) -> bytes:
    """The content of a regular file of `most` bytes or fewer. Raises OSError: EINVAL for anything but a regular file,
    EFBIG for a larger one."""
    with open_regular(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return content


def append_line(path: "str | Path", text: str) -> None:
    """Add a line to a file that only its owner can read, in one write: processes at the same time don't mix theirs.
    Raises OSError: EINVAL for anything but a regular file."""
    with suppress(FileNotFoundError):
        _check(os.stat(path), path)
    file = _opened(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(file, (text + "\n").encode(errors="backslashreplace"))
    finally:
        os.close(file)


def replace_file(path: "Path", text: str, mode: int = 0o600) -> None:
    """Put a text in place of the file at a path, as a whole or not at all. No folder is made. Raises OSError."""
    import tempfile  # hooks, which only read and add, start without it

    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # its mode is 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _opened(path: "str | Path", flags: int) -> int:
    file = os.open(path, flags | _FLAGS, 0o600)
    try:
        _check(os.fstat(file), path)  # again: another file may have come in its place
    except BaseException:
        os.close(file)
        raise
    return file


def _check(status: os.stat_result, path: "str | Path") -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


def is_full(error: OSError) -> bool:
    """Whether a write failed because the disk, or the share of it that the user may fill, has no room left."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def writing_temporary(advice: str = "", *, part: str = "temporary folder") -> Iterator[None]:
    """Raises Unavailable, with a sentence that ends in `advice`, where the temporary folder takes no file in the block.

    Only what is written there belongs into the block: any OSError counts as the folder's.
    """
    try:
        yield
    except OSError as error:
        raise temporary_folder_fails(error, advice, part=part) from error


def temporary_folder_fails(
    error: OSError | None = None, advice: str = "", *, part: str = "temporary folder"
) -> "Unavailable":
    """The error that says why the temporary folder takes no file; it is full unless `error` says something else."""
    import tempfile  # where nothing fails, nobody needs it

    from .errors import Unavailable

    try:
        where = tempfile.gettempdir()
    except FileNotFoundError:  # Python writes a file to each folder that it knows, and keeps the first that takes it
        sentence = "No temporary folder can be written to: free some space, or set TMPDIR to a folder that has some."
    else:
        sentence = f"The temporary folder {where} "
        if error is None or is_full(error):
            sentence += "is full: free some space there, or set TMPDIR to another folder."
        else:
            sentence += f"can't be written to ({error.strerror}): check TMPDIR."
    return Unavailable(f"{sentence} {advice}".rstrip(), part=part)
