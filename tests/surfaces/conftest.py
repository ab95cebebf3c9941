"""A door of each test's own, one that fails, and the local application served."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from recollect.invoke import Door
from recollect.surfaces.http import create_app
from recollect.surfaces.identity import LocalUser
from surfaces.callers import opened
from surfaces.serving import served


class FailingStore:
    """A store with a fault that nobody foresaw."""

    secret = "the table users_prod at 10.0.0.7"

    def __init__(self) -> None:
        self.closed = False

    def space(self, user_id: str, *, tenant: str = "") -> None:
        raise RuntimeError(self.secret)

    def check(self) -> None:
        raise RuntimeError(self.secret)

    def flush(self) -> None:
        raise RuntimeError(self.secret)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    with opened(tmp_path) as it:
        yield it


@pytest.fixture
def failing(door: Door) -> Door:
    return replace(door, store=FailingStore())  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of the local single-user server."""
    with opened(tmp_path_factory.mktemp("memories")) as door:
        app = create_app(door, LocalUser("local", "default"), closes_store=False)
        with served(app) as url, httpx.Client(base_url=url) as client:
            yield client
