"""A door over the store of the run, and every form of the client over it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clock import SettableClock
from embedding import HashedWords
from integrations.seams import FORMS, Seam
from integrations.seams import seam as opened
from steeltrap.invoke import Door
from steeltrap.stores.files.folder import FolderFiles
from steeltrap.toolsets import CATALOGUE
from stores import Opening


@pytest.fixture
def door(tmp_path: Path, clock: SettableClock, open_store: Opening) -> Iterator[Door]:
    embedder = HashedWords(dimension=256)
    store = open_store(tmp_path, embedder, clock)
    yield Door(catalogue=CATALOGUE, store=store, embedder=embedder, clock=clock, files=FolderFiles(tmp_path))
    store.close()


@pytest.fixture(params=FORMS)
def seam(request: pytest.FixtureRequest, door: Door) -> Iterator[Seam]:
    with opened(request.param, door) as it:
        yield it


@pytest.fixture
def with_fields(seam: Seam, clock: SettableClock) -> Callable[[list[str] | None], Any]:
    """LangGraph's store over the seam, which searches these fields of values."""
    pytest.importorskip("langgraph.store.base", reason="langgraph is not installed")
    from steeltrap.integrations.langgraph import SteeltrapStore

    return lambda fields: SteeltrapStore(seam.client("ana"), fields=fields, now=clock.now)


@pytest.fixture
def store(with_fields: Callable[[list[str] | None], Any]) -> Any:
    """LangGraph's store over the seam."""
    return with_fields(None)
