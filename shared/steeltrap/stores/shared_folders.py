"""Folders that servers share: on this machine, or objects of a bucket or a database; and one that remembers what it
read of another.

Here too: the requests that both kinds of objects answer, a bucket's by `objects` and a database's by `postgres_tables`,
each of which needs a package of its own. Not here: what the files mean. Only `runtime` makes a folder.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import islice
from math import inf
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from ..errors import Unavailable
from ..local_files import is_full
from ..ports import Clock, SharedFolder
from . import whole_files

_log = logging.getLogger("steeltrap")
T = TypeVar("T")


class ObjectPlace(Protocol):
    """Objects by their names, which are paths. Safe for threads. All methods raise Unavailable."""

    url: str

    def get(self, path: str, *, max_bytes: float = inf) -> bytes | None:
        """An object's content; None where there is none. Raises TooLarge where it has more bytes than `max_bytes`."""
        ...

    def get_all(self, paths: Sequence[str]) -> list[bytes | None]:
        """The contents of objects, None for those that aren't there."""
        ...

    def create(self, path: str, content: bytes) -> bool:
        """Put an object where none is. False where one is, or the place says so."""
        ...

    def put(self, path: str, content: bytes) -> object:
        """Put an object in the place of what is there."""
        ...

    def delete(self, path: str) -> None:
        """Remove an object, if it is there."""
        ...

    def names(self, folder: str) -> Iterator[list[str]]:
        """The names under `folder/`, without it, in pages."""
        ...

    def write_times(self, folder: str) -> Mapping[str, datetime]:
        """The names under `folder/`, without it, and when the place wrote each of them."""
        ...

    def side_by_side(self, request: Callable[..., T], *arguments: Iterable[Any]) -> list[T]:
        """The answers to many requests."""
        ...


class LocalFolder:
    """A folder of this machine, made with the first file, for its owner only. Hidden files aren't its own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def place(self) -> str:
        return str(self.path)

    def read(self, *names: str) -> list[bytes | None]:
        return [self._read(name) for name in names]

    def create(self, name: str, content: bytes) -> bool:
        with self._translated():
            return whole_files.create(self.path / name, content)

    def remove(self, name: str) -> None:
        with self._translated():
            try:
                (self.path / name).unlink()
            except FileNotFoundError:
                return
            whole_files.sync(self.path)

    def write_times(self) -> dict[str, datetime]:
        times = {}
        with self._translated():
            for name in self._names():
                with suppress(FileNotFoundError):  # removed in this moment
                    times[name] = datetime.fromtimestamp((self.path / name).stat().st_mtime, UTC)
        return times

    def _names(self) -> list[str]:
        try:
            return [entry.name for entry in os.scandir(self.path) if entry.is_file() and not entry.name.startswith(".")]
        except FileNotFoundError:
            return []

    def _read(self, name: str) -> bytes | None:
        with self._translated():
            try:
                return (self.path / name).read_bytes()
            except FileNotFoundError:
                return None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            _log.error("%s can't be used: %s", self.path, error)
            if is_full(error):
                sentence = f"The disk of the folder `{self.path.name}` is full: free some space, then try again."
                raise Unavailable(sentence, part="store") from None
            raise Unavailable(
                f"The folder `{self.path.name}` can't be used ({error.strerror}); check its disk and permissions.",
                retryable=False,
                part="store",
            ) from None


class ObjectFolder:
    """The objects under a folder of a bucket or a database, "" for those beside the logs."""

    def __init__(self, objects: ObjectPlace, folder: str) -> None:
        self._objects = objects
        self._folder = folder

    @property
    def place(self) -> str:
        return f"{self._objects.url}/{self._folder}".rstrip("/")

    def read(self, *names: str) -> list[bytes | None]:
        return self._objects.get_all([self._path(name) for name in names])

    def create(self, name: str, content: bytes) -> bool:
        return self._objects.create(self._path(name), content)

    def remove(self, name: str) -> None:
        self._objects.delete(self._path(name))

    def write_times(self) -> dict[str, datetime]:
        return dict(self._objects.write_times(self._folder))

    def _path(self, name: str) -> str:
        return f"{self._folder}/{name}" if self._folder else name


class _Read(NamedTuple):
    content: bytes | None
    at: datetime
    monotonic: float


REMEMBERED_SECONDS: Final = 30.0
"""How long a file, or that there is none, is answered from memory. With what a request may take it is under 60 s."""
_MOST: Final = 10_000


class RemembersReads:
    """A shared folder whose reads are answered from memory for a while, so that not each call costs a request.

    Changes by this process are seen at once, those of others after `REMEMBERED_SECONDS`. A failure isn't remembered,
    and nothing older is answered in its place.
    """

    def __init__(self, folder: SharedFolder, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self._reads: dict[str, _Read] = {}
        self._changes = 0
        self._lock = Lock()

    @property
    def place(self) -> str:
        return self._folder.place

    def read(self, *names: str) -> list[bytes | None]:
        at, monotonic = self._clock.now(), self._clock.monotonic()
        with self._lock:
            changes = self._changes
            reads = {name: self._reads[name] for name in names if self._is_fresh(name, at, monotonic)}
        missing = [name for name in dict.fromkeys(names) if name not in reads]
        if missing:
            contents = self._folder.read(*missing)
            fresh = {name: _Read(content, at, monotonic) for name, content in zip(missing, contents, strict=True)}
            reads |= fresh
            self._remember(fresh, changes)
        return [reads[name].content for name in names]

    def create(self, name: str, content: bytes) -> bool:
        try:
            return self._folder.create(name, content)
        finally:
            self._forget(name)

    def remove(self, name: str) -> None:
        try:
            self._folder.remove(name)
        finally:
            self._forget(name)

    def write_times(self) -> dict[str, datetime]:
        return dict(self._folder.write_times())

    def _remember(self, reads: dict[str, _Read], changes: int) -> None:
        with self._lock:
            if changes != self._changes:  # what was read may be of before a change
                return
            self._reads |= reads
            for oldest in list(islice(self._reads, max(0, len(self._reads) - _MOST))):
                del self._reads[oldest]

    def _forget(self, name: str) -> None:
        with self._lock:
            self._changes += 1
            self._reads.pop(name, None)

    def _is_fresh(self, name: str, now: datetime, monotonic: float) -> bool:
        entry = self._reads.get(name)
        # While a machine sleeps its monotonic clock may stand; the other one may be set.
        return (
            entry is not None
            and abs((now - entry.at).total_seconds()) < REMEMBERED_SECONDS
            and monotonic - entry.monotonic < REMEMBERED_SECONDS
        )
