"""Folders that take no more, and what is told of the one for temporary files."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from .errors import Unavailable


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
) -> Unavailable:
    """The error that says why the temporary folder takes no file; it is full unless `error` says something else."""
    import tempfile  # where nothing fails, nobody needs it

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
