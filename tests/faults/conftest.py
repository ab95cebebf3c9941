"""The fixtures of tests on real parts and of moves. What they need is imported by the tests that ask for them alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clock import SettableClock

if TYPE_CHECKING:
    from faults.clients import Client
    from faults.indexing_homes import Home, RealParts
    from faults.moving_sides import Open


@pytest.fixture(scope="module")
def parts() -> "Iterator[RealParts]":
    from embedding import HashedWords
    from faults.indexing_homes import ONE_NODE, opened_parts

    with opened_parts(HashedWords(), ONE_NODE) as opened:
        yield opened


@pytest.fixture
def home(parts: "RealParts", clock: SettableClock) -> "Iterator[Home]":
    from faults.indexing_homes import opened_home

    with opened_home(parts, clock) as opened:
        yield opened


@pytest.fixture
def client(parts: "RealParts", clock: SettableClock) -> "Iterator[Client]":
    from faults.clients import opened_client

    with opened_client(parts, clock) as opened:
        yield opened


@pytest.fixture
def open_side(tmp_path: Path) -> "Iterator[Open]":
    from faults.moving_sides import sides

    with sides(tmp_path) as opened:
        yield opened
