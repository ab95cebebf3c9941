"""A door over a store, and an agent's side of a dialect. Another store runs the same cases unchanged."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clock import SettableClock
from embedding import HashedWords
from steeltrap.embedders.static import StaticEmbedder
from steeltrap.invoke import Door, Result
from steeltrap.model import Caller, UserRef
from steeltrap.stores.files.folder import FolderFiles
from steeltrap.toolsets import CATALOGUE
from stores import Opening

Ask = Callable[..., Result]


@pytest.fixture
def door(tmp_path: Path, clock: SettableClock, open_store: Opening) -> Iterator[Door]:
    embedder = HashedWords(dimension=256)
    store = open_store(tmp_path, embedder, clock)
    yield Door(catalogue=CATALOGUE, store=store, embedder=embedder, clock=clock, files=FolderFiles(tmp_path))
    store.close()


@pytest.fixture
def own_door(tmp_path: Path, clock: SettableClock, open_store: Opening) -> Iterator[Door]:
    """A door with the embedder that comes with steeltrap, which knows what words mean."""
    embedder = StaticEmbedder()
    store = open_store(tmp_path / "own", embedder, clock)
    yield Door(catalogue=CATALOGUE, store=store, embedder=embedder, clock=clock, files=FolderFiles(tmp_path))
    store.close()


@pytest.fixture
def agent(door: Door) -> Callable[..., Any]:
    """`agent("ana")` is a function `(tool, **arguments) -> Result` for that user."""

    def speaks_for(user: str | None, conversation: str | None = None) -> Ask:
        caller = None if user is None else Caller(UserRef(user), "assistant", conversation)

        def ask(tool: str, **arguments: Any) -> Result:
            return door.invoke(tool, arguments, caller)

        return ask

    return speaks_for


@pytest.fixture
def ana(agent: Callable[..., Any]) -> Ask:
    """The agent of a user called Ana."""
    ask: Ask = agent("ana")
    return ask
