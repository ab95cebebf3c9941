"""The requests that places of objects answer: a bucket by `objects`, a database by `postgres_tables`.

It is a file of its own because each of the two needs a package that users of the other haven't installed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from math import inf
from typing import Any, Protocol, TypeVar

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
