"""Logs in a folder of this machine.

An entry is written beside its place, made durable and linked into place, so it is there as a whole or not at all, and
only one of two writers gets the number.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from secrets import token_bytes, token_hex

from ...errors import Unavailable
from ...local_files import is_full
from ...model import UserRef
from ...ports import BaseName, Marker
from .. import whole_files as files
from .names import (
    LOG_ID,
    MARKERS,
    USERS,
    base_name,
    bases_among,
    bases_of,
    entries_of,
    entry_name,
    listed_among,
    listed_markers,
    listing_of,
    marker_of,
    markers_among,
    user_of_listing,
    user_to_json,
)
from .probing import Fault, Place


class FolderLogs:
    """The logs under a folder, which is made with the first write. Only its owner can read it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._root = Root(folder)

    def of(self, user: UserRef) -> "FolderLog":
        return FolderLog(self._root, user)

    def id(self) -> bytes:
        return self._root.id()

    def is_begun(self) -> bool:
        with self._root.in_place():
            return any(self._folder.glob("u/*"))

    def users(self, first: str = "", end: str = "g") -> Iterator[UserRef]:
        with self._root.in_place():
            keys = listed_among((path.name for path in (self._folder / USERS).glob("*")), first, end)
        for key in keys:
            if (user := user_of_listing(self._listing(key), key)) is not None:
                yield user

    def due(self, hour: str) -> Iterator[list[tuple[UserRef, Marker]]]:
        with self._root.in_place():
            names = [path.relative_to(self._folder / MARKERS) for path in (self._folder / MARKERS).glob("*/*")]
        due = [(marker, key) for marker, key in markers_among(name.as_posix() for name in names) if marker.hour < hour]
        listings = {key: self._listing(key) for key in dict.fromkeys(key for _, key in due)}
        for marker, key in due:
            if listings[key] is None:
                with suppress(Unavailable):  # the next sweep removes it
                    _remove_marker(self._folder / MARKERS / marker.name / key)
        yield listed_markers(due, listings)

    def _listing(self, key: str) -> bytes | None:
        with self._root.in_place():
            return files.read(self._folder / USERS / key)

    def check(self) -> None:
        with self._root.in_place():
            probe = self._folder / f"{files.PART}{token_hex(8)}"
            files.make(self._folder)
            files.write(probe, b"")
            probe.unlink()

    def places(self, user: UserRef) -> list[Place]:
        """The places that `probing.probe` tries. A folder is the same for all users."""
        return [_FolderPlace(self._folder / "check")]

    def close(self) -> None:
        """Nothing is kept open."""


class Root:
    """The folder of all logs. Where its id was once seen and is no longer, its disk isn't mounted: an entry that was
    written there would be lost to everybody."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen: bytes | None = None

    def id(self) -> bytes:
        with self.in_place():
            path = self.folder / LOG_ID
            if not path.exists():
                files.create(path, token_bytes(16))
            self._seen = path.read_bytes()
            return self._seen

    @contextmanager
    def in_place(self) -> Iterator[None]:
        with _translated():
            if self._seen is not None and files.read(self.folder / LOG_ID) != self._seen:
                raise Unavailable(
                    "The memories are no longer in the folder of the logs: mount its disk again. If others are there "
                    "for good, start steeltrap again.",
                    retryable=False,
                    part="store",
                )
            yield


class FolderLog:
    """One user's log. Safe for threads and processes."""

    def __init__(self, root: Root, user: UserRef) -> None:
        self._root, folder = root, root.folder
        self._entries = folder / entries_of(user)
        self._bases = folder / bases_of(user)
        self._listed = folder / listing_of(user)
        self._folder = folder
        self._user = user

    def create(self, n: int, entry: bytes) -> bool:
        with self._root.in_place():
            return files.create(self._entry(n), entry)

    def read(self, numbers: Sequence[int]) -> list[bytes | None]:
        with self._root.in_place():
            return [files.read(self._entry(n)) for n in numbers]

    def read_on(self, n: int, *, are_many: bool = False) -> list[bytes]:
        entries: list[bytes] = []
        with self._root.in_place():
            for number in count(n):
                entry = files.read(self._entry(number))
                if entry is None:
                    return entries
                entries.append(entry)
        raise AssertionError("count ends")

    def overwrite(self, stubs: Mapping[int, bytes]) -> None:
        with self._root.in_place():
            for n, stub in stubs.items():
                files.replace(self._entry(n), stub, sync_folder=False)
            if stubs:
                files.sync(self._entries)
            files.clear_parts(self._entries)
            files.clear_parts(self._bases)

    def bases(self) -> list[BaseName]:
        with self._root.in_place():
            try:
                names = os.listdir(self._bases)
            except FileNotFoundError:
                return []
        return bases_among(names)

    def put_base(self, name: BaseName, base: bytes) -> None:
        with self._root.in_place():
            files.replace(self._bases / base_name(name), base)

    def read_base(self, name: BaseName) -> bytes | None:
        with self._root.in_place():
            return files.read(self._bases / base_name(name))

    def delete_base(self, name: BaseName) -> None:
        with self._root.in_place():
            (self._bases / base_name(name)).unlink(missing_ok=True)
            files.sync(self._bases)

    def may_delete(self) -> bool:
        return True

    def list_user(self) -> None:
        with self._root.in_place():
            files.replace(self._listed, user_to_json(self._user))

    def unlist_user(self) -> None:
        with self._root.in_place():
            self._listed.unlink(missing_ok=True)

    def mark(self, marker: Marker) -> None:
        with self._root.in_place():
            files.replace(self._folder / marker_of(self._user, marker), b"")

    def unmark(self, marker: Marker) -> None:
        _remove_marker(self._folder / marker_of(self._user, marker))

    def _entry(self, n: int) -> Path:
        return self._entries / entry_name(n)


def _remove_marker(path: Path) -> None:
    with _translated():
        path.unlink(missing_ok=True)
        with suppress(OSError):  # another user has a marker in it
            path.parent.rmdir()


class _FolderPlace:
    """A folder as something to be tried."""

    unseen = ""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def warnings(self) -> list[Fault]:
        return []

    def create(self, name: str, content: bytes) -> bool:
        with _translated():
            return files.create(self._folder / name, content)

    def read(self, name: str) -> bytes | None:
        with _translated():
            return files.read(self._folder / name)

    def overwrite(self, name: str, content: bytes) -> bool:
        with _translated():
            files.replace(self._folder / name, content)
        return False

    def write_times(self) -> Mapping[str, datetime]:
        with _translated():
            return {path.name: datetime.fromtimestamp(path.stat().st_mtime, UTC) for path in self._folder.iterdir()}

    def delete(self, name: str) -> None:
        with _translated():
            (self._folder / name).unlink(missing_ok=True)
            with suppress(OSError):  # another probe is in it
                self._folder.rmdir()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise Unavailable("The disk of the logs is full: free some space, then try again.", part="store") from error
        raise Unavailable(
            f"The folder of the logs can't be used ({error.strerror}); check its disk and permissions.",
            retryable=False,
            part="store",
        ) from error
