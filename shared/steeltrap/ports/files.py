"""Users' files."""

from typing import Protocol

from ..model import UserRef


class ExportFiles(Protocol):
    """One user's files by name. A name is a relative path that `engine.limits.check_file_name` admits."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole, in place of one of that name. Raises InvalidInput, Unavailable."""
        ...

    def read(self, name: str, *, most: int) -> bytes:
        """A file's bytes. Raises NotFound, TooLarge for more than `most` bytes, InvalidInput, Unavailable."""
        ...

    def names(self) -> list[str]:
        """The names of all files, sorted."""
        ...


class FileStore(Protocol):
    """Hands out users' files. Only `runtime` and maintenance hold one."""

    def files(self, user: UserRef) -> ExportFiles:
        """The files of one user, from which nobody else's can be reached."""
        ...

    def forget_user(self, user: UserRef) -> bool:
        """Remove every file of a user. False when there was none."""
        ...
