"""The two connections to a user's file, and whether what they have open is still the file at its path."""

from pathlib import Path

from ...errors import Unavailable
from ..data_folder import DataFolder
from .opening import WRITER_KIB, Identity, Opened, identity, open_file


class Connections:
    """A connection to read by and one to write by, each opened when it is needed.

    Not safe for threads: whoever calls holds the lock to read or to write, and to close anything both.
    """

    def __init__(self, path: Path, data: DataFolder) -> None:
        self._path = path
        self._data = data
        self.reader: Opened | None = None
        self.writer: Opened | None = None

    @property
    def count(self) -> int:
        """How many are open."""
        return (self.reader is not None) + (self.writer is not None)

    @property
    def are_replaced(self) -> bool:
        """Whether another file is at the path. One connection to the old one is enough: its log would be read as the
        new one's."""
        return any(opened is not None and not opened.is_in_place for opened in (self.reader, self.writer))

    def find(self) -> Identity | None:
        """What is at the path. Raises Unavailable when it was there and is gone."""
        there = identity(self._path)
        if there is None:
            self._data.require()
            if self.count:
                raise Unavailable(
                    f"The file {self._path.name} was removed while it was in use: put it back, or restart to begin "
                    "with an empty one.",
                    retryable=False,
                    part="store",
                )
        return there

    def to_write(self, *, new: bool) -> Opened:
        """The connection to write by; a `new` file is made if it is not there."""
        if self.writer is None:
            if new:
                self._data.make()
                self._path.parent.mkdir(mode=0o700, exist_ok=True)
            self.writer = open_file(self._path, new=new, cache_kib=WRITER_KIB)
        return self.writer

    def take_logs_along(self) -> None:
        """Move the logs of a file that was replaced into it. Raises SteeltrapError, with all still open."""
        for opened in (self.writer, self.reader):
            if opened is not None:
                opened.take_log_along()

    def close(self) -> None:
        """Close what is open."""
        for opened in (self.reader, self.writer):
            if opened is not None:
                opened.connection.close()
        self.reader = self.writer = None
