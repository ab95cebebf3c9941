"""Where a benchmark keeps its memories: gone when it ends."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .... import runtime
from ....invoke import Door
from ....settings import Settings, read_settings
from ..opening import log_to_stderr
from .stores import Store


@dataclass(frozen=True, slots=True)
class Place:
    """A door, the settings that opened it, and `settle`, which waits until all that was written is in the index."""

    door: Door
    settings: Settings
    settle: Callable[[], None]


@contextmanager
def opened(folder: Path, store: Store) -> Iterator[Place]:
    """An empty store: in a folder, or with tables and an index of its own on the parts that the settings name."""
    if store is Store.SQLITE:
        settings = read_settings(data=folder, store=store.value)
        log_to_stderr(settings.log)
        door = runtime.open_door(settings)
        try:
            yield Place(door, settings, lambda: None)
        finally:
            door.store.close()
        return
    settings = _apart(folder)
    log_to_stderr(settings.log)
    embedder = runtime.open_embedder(settings)
    runtime.set_up(settings, embedder)
    following = runtime.open_indexer(settings)
    upkeep = runtime.open_upkeep(settings, embedder)

    def settle() -> None:
        following.drain()
        upkeep.index.refresh()

    try:
        door = runtime.open_door(settings, embedder=embedder)
        try:
            yield Place(door, settings, settle)
        finally:
            door.store.close()
    finally:
        following.close()
        upkeep.close()
        runtime.tear_down(settings)


def _apart(folder: Path) -> Settings:
    name = f"recollect-bench-{os.getpid()}"
    return read_settings(
        data=folder, store=Store.AWS.value, memory_table=name, usage_table=f"{name}-usage", opensearch_index=name
    )
