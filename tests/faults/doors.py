"""A door over a SQLite store, and programs that run beside it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clock import SettableClock
from embedding import HashedWords
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.ports import Clock, Embedder, MemoryStore
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.toolsets import CATALOGUE

ANA = Caller(UserRef("ana"), agent_id="agent", conversation_id="talk")


def open_door(
    folder: Path,
    *,
    clock: Clock | None = None,
    embedder: Embedder | None = None,
    store: MemoryStore | None = None,
) -> Door:
    clock = clock or SettableClock()
    embedder = embedder or HashedWords()
    store = store or SqliteStore(folder, embedder, clock)
    return Door(catalogue=CATALOGUE, store=store, embedder=embedder, clock=clock)


def answer(door: Door, tool: str, caller: Caller = ANA, **arguments: Any) -> Any:
    """The answer of a tool; an error is raised."""
    result = door.invoke(tool, arguments, caller)
    if result.error is not None:
        raise result.error
    return result.body


def user_bytes(folder: Path) -> dict[str, bytes]:
    """The bytes of every file below a data folder.

    Closing a file drops the locks that this process has on it, so: only where no other process writes.
    """
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@contextmanager
def running(program: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A Python program beside this one, killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def lines_of(program: str, *arguments: object) -> list[str]:
    """The output of a program. It must end well."""
    with running(program, *arguments) as process:
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        return out.splitlines()
