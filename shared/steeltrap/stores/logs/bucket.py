"""Logs in a bucket of any cloud.

An entry is an object that is only created where none is, in one request of the service. So only one of two writers
gets the number, and whoever reads sees an entry as a whole or not at all.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from secrets import token_bytes
from typing import Final

from ...errors import Unavailable
from ...model import UserRef
from ...ports import BaseName, Marker
from ..objects import AT_ONCE, Objects
from .names import (
    LOG_ID,
    USERS,
    UserObjects,
    base_name,
    bases_among,
    bases_of,
    due_pages,
    entries_of,
    entry_name,
    listed_among,
    log_id,
    probes_of,
    user_of_listing,
)
from .probing import Place, ProbedFolder

_WAVES: Final = (1, 1, 8)
"""How many entries are asked for side by side, before it is `AT_ONCE`: mostly none is new, else mostly one."""
_WAVES_OF_MANY: Final = (16, AT_ONCE, 24)
"""Most users have 0 to 21 entries after a base: one round trip reads most of them, with few requests in vain."""


class BucketLogs:
    """The logs under a URL: `s3://bucket/prefix`, `gs://bucket/prefix` or `az://container/prefix`.

    Rights: to read, write and list objects under the prefix; to delete them for who puts bases and forgets. They may be
    limited to one user's objects and to reading the id.
    """

    def __init__(self, url: str) -> None:
        self.objects = Objects(url)
        self._id: bytes | None = None

    def of(self, user: UserRef) -> "BucketLog":
        return BucketLog(self.objects, user)

    def id(self) -> bytes:
        if self._id is None:
            self._id = log_id(self.objects, "The object `log` in the bucket of the memories")
        return self._id

    def is_begun(self) -> bool:
        return any(self.objects.names("u"))

    def users(self, first: str = "", end: str = "g") -> Iterator[UserRef]:
        for names in self.objects.names(USERS):
            keys = listed_among(names, first, end)
            users = map(user_of_listing, self.objects.get_all([f"{USERS}/{key}" for key in keys]), keys)
            yield from (user for user in users if user is not None)

    def due(self, hour: str) -> Iterator[list[tuple[UserRef, Marker]]]:
        return due_pages(self.objects, hour)

    def check(self) -> None:
        try:
            # Whoever may not write is refused before it is looked whether the object is there: nothing is left behind.
            self.objects.create(LOG_ID, token_bytes(16))
        except Unavailable as error:
            # Credentials for one user are refused here, and may read the id.
            if error.can_retry or self.objects.get(LOG_ID) is None:
                raise

    def places(self, user: UserRef) -> list[Place]:
        """The places that `probing.probe` tries, as a user's log is in them."""
        return [_BucketPlace(self.objects, probes_of(user))]

    def close(self) -> None:
        self.objects.close()


class BucketLog(UserObjects):
    """One user's log. Safe for threads and processes."""

    _objects: Objects

    def __init__(self, objects: Objects, user: UserRef) -> None:
        super().__init__(objects, user)
        self._entries = entries_of(user)
        self._bases = bases_of(user)
        self._may_delete = False

    def create(self, n: int, entry: bytes) -> bool:
        return self._objects.create(self._entry(n), entry)

    def read(self, numbers: Sequence[int]) -> list[bytes | None]:
        return self._objects.get_all([self._entry(n) for n in numbers])

    def read_on(self, n: int, *, are_many: bool = False) -> list[bytes]:
        return read_in_waves(self.read, n, are_many=are_many)

    def overwrite(self, stubs: Mapping[int, bytes]) -> None:
        self._objects.side_by_side(self._objects.put, map(self._entry, stubs), stubs.values())

    def bases(self) -> list[BaseName]:
        return bases_among(name for page in self._objects.names(self._bases) for name in page)

    def put_base(self, name: BaseName, base: bytes) -> None:
        self._objects.put(self._base(name), base)

    def read_base(self, name: BaseName) -> bytes | None:
        return self._objects.get(self._base(name))

    def delete_base(self, name: BaseName) -> None:
        self._objects.delete(self._base(name))

    def may_delete(self) -> bool:
        if not self._may_delete:
            self._may_delete = self._objects.may_delete(f"{self._bases}/none")
        return self._may_delete

    def _entry(self, n: int) -> str:
        return f"{self._entries}/{entry_name(n)}"

    def _base(self, name: BaseName) -> str:
        return f"{self._bases}/{base_name(name)}"


def read_in_waves(
    read: Callable[[Sequence[int]], list[bytes | None]], n: int, *, are_many: bool = False
) -> list[bytes]:
    """The entry `n` and all after it up to the first number that isn't taken, more and more of them side by side."""
    entries: list[bytes] = []
    for size in chain(_WAVES_OF_MANY if are_many else _WAVES, repeat(AT_ONCE)):
        for entry in read(range(n + len(entries), n + len(entries) + size)):
            if entry is None:
                return entries
            entries.append(entry)
    raise AssertionError("waves never end")


class _BucketPlace(ProbedFolder):
    """A bucket as something to be tried."""

    _objects: Objects

    def __init__(self, objects: Objects, folder: str) -> None:
        super().__init__(objects, folder)
        self.unseen = _UNSEEN.get(objects.scheme, "")

    def overwrite(self, name: str, content: bytes) -> bool:
        version = self._objects.put(f"{self._folder}/{name}", content)
        # Google tells a generation of every object, kept or not; "null" is a version of S3's that replaces the last.
        return self._objects.scheme != "gs" and version not in (None, "", "null")


_UNSEEN: Final = {
    "gs": "Turn off the bucket's soft delete and versioning, which can't be seen here: forgotten memories would stay.",
    "az": "Turn off the account's soft delete, which can't be seen here: forgotten memories would stay.",
}
