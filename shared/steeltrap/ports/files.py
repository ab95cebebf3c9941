"""Users' files."""

from typing import Protocol

from ..model import UserRef


class ExportFiles(Protocol):
    """One user's files by name. A name is a relative path that `text.limits.check_file_name` accepts."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file in one step, replacing an existing one. Raises InvalidInput, Unavailable."""
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
        """The files of one user; no other user's files can be reached through them."""
        ...

    def forget_user(self, user: UserRef) -> bool:
        """Remove every file of a user. False when there was none."""
        ...
