"""Users' files, such as exports: in a folder of the local disk, in S3, or beside the logs in a bucket or a database.

Here: one class per place, behind `ports.FileStore`, and which names are valid. Not here: a file's content (`engine`).
Only `runtime` makes one.
"""

from collections.abc import Iterable
from typing import Final

from ...errors import InvalidInput

_LONGEST: Final = 255


def check_name(name: str) -> str:
    """A file's name. Raises InvalidInput for one that leads, or might lead, elsewhere."""
    if (
        not name.isascii()
        or len(name) > _LONGEST
        or any(part == "" or part.startswith(".") for part in name.split("/"))
        or any(char in "\\:" or not char.isprintable() for char in name)
    ):
        raise InvalidInput(
            f"{name[:60]!r} is not a valid file name; use a relative path such as 'backup/memories.json'."
        )
    return name


def check_apart(name: str, others: Iterable[str]) -> None:
    """No other name is a folder of this one, or the other way round. Raises InvalidInput."""
    if any(other.startswith(f"{name}/") or name.startswith(f"{other}/") for other in others):
        raise both_file_and_folder(name)


def both_file_and_folder(name: str) -> InvalidInput:
    """The refusal where a disk could not hold both."""
    return InvalidInput(f"`{name}` can't be a file here: a folder and a file would have the same name.")
