"""Writers of one user on several machines that die and are answered wrongly, and what must be true behind them.

A writer says what it does in a journal: before an operation that it tries it, and after it that it was acknowledged.
Each is of a release, and migrates now and then to the tables of its own; who is refused for an old one is upgraded.
"""

import json
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import apsw
import pytest

from clock import NOON
from contracts.entries import EMBEDDER, creation, delete, entry, save, update
from faults.doors import running
from spaces import in_time, space_of
from steeltrap.errors import SteeltrapError, Unavailable
from steeltrap.model import Memory, Session, UserRef
from steeltrap.ports import Logs, Space, hour_of
from steeltrap.runtime import SystemClock
from steeltrap.runtime.local import open_logs
from steeltrap.settings import read_settings
from steeltrap.stores.logs.folder import FolderLogs
from steeltrap.stores.replica import ReplicaStore
from steeltrap.stores.replica.entries import unpack
from steeltrap.stores.replica.history import put_back
from steeltrap.stores.replica.moving import FilePlace, move_user
from steeltrap.stores.sqlite import schema
from unruly_log import UnrulyLogs

ANA: Final = UserRef("ana")
TODAY: Final = schema.MIGRATIONS
NEXT: Final = (
    *TODAY,
    "ALTER TABLE usage ADD COLUMN kind INTEGER NOT NULL DEFAULT 7; UPDATE memory SET scope = 'user/moved';",
)
AFTER_NEXT: Final = (*NEXT, "ALTER TABLE usage ADD COLUMN place TEXT;")
RELEASES: Final = (TODAY, NEXT, AFTER_NEXT)
"""The migrations of this release and of two newer ones, each of which works on the tables of those before it."""
_DIED: Final = 9
_IS_OLD: Final = 10
_PATIENCE: Final = 300.0
"""Seconds for what must succeed, while the writers of the other kinds of log take all processors."""
_PROGRAM: Final = "import sys; from faults.replica_history import write; write(*sys.argv[1:])"


def logs_at(url: str) -> Logs:
    """A client of the logs at a URL."""
    return open_logs(read_settings(store=url))


def be_of(release: tuple[str, ...], patch: pytest.MonkeyPatch) -> None:
    """Have this process be of a release, which works on the tables of today's and of those in between."""
    patch.setattr(schema, "MIGRATIONS", release)
    patch.setattr(schema, "WORKS_SINCE", len(TODAY))


def write(folder: str, url: str, name: str, release: str, seed: str, operations: str, deadly: str, sleep: str) -> None:
    """Do so many operations on ana's memories, and say each in the journal of this writer."""
    place = Path(folder)
    be_of(RELEASES[int(release)], pytest.MonkeyPatch())
    logs = UnrulyLogs(logs_at(url), int(seed), deadly=float(deadly), sleep=float(sleep))
    store = ReplicaStore(place / name, logs, EMBEDDER, SystemClock(), retention=None)
    with open(place / f"{name}.journal", "a", encoding="utf-8") as journal:
        writer = _Writer(store, random.Random(int(seed) + 1), lambda *line: _say(journal, line), f"{name}-{seed}")
        for _ in range(int(operations)):
            writer.step()
            logs.step()
    store.close()


def _say(journal: Any, line: tuple[Any, ...]) -> None:
    journal.write(json.dumps(line) + "\n")
    journal.flush()


class _Writer:
    def __init__(self, store: ReplicaStore, pick: random.Random, say: Callable[..., None], name: str) -> None:
        self._store = store
        self._pick = pick
        self._say = say
        self._name = name
        self._count = 0

    def step(self) -> None:
        operation = self._pick.choices(
            [
                self._save,
                self._update,
                self._delete,
                self._forget,
                self._batch,
                self._session,
                self._read,
                self._upkeep,
                self._migrate,
            ],
            [30, 20, 4, 4, 6, 4, 20, 3, 2],
        )[0]
        try:
            operation(space_of(self._store, ANA.user_id, seconds=20))
        except Unavailable as error:
            if "upgrade" in error.message:
                sys.exit(_IS_OLD)
        except SteeltrapError:
            pass

    def _text(self) -> str:
        self._count += 1
        return f"heron marker{self._name}x{self._count}end reed"

    def _save(self, space: Space) -> None:
        change = creation(self._text())
        memory = change.entry.memory
        self._say("try", "save", memory.id, memory.content)
        space.commit([change])
        self._say("did", "save", memory.id, memory.version, memory.content)

    def _batch(self, space: Space) -> None:
        changes = [creation(self._text()) for _ in range(5)]
        for change in changes:
            self._say("try", "save", change.entry.memory.id, change.entry.memory.content)
        space.commit(changes)
        for change in changes:
            memory = change.entry.memory
            self._say("did", "save", memory.id, memory.version, memory.content)

    def _update(self, space: Space) -> None:
        if (memory := self._some(space)) is not None:
            text = self._text()
            self._say("try", "update", memory.id, text)
            new = update(space, memory, content=text)
            self._say("did", "update", memory.id, new.version, text)

    def _delete(self, space: Space) -> None:
        if (memory := self._some(space)) is not None:
            self._say("try", "delete", memory.id)
            delete(space, memory)
            self._say("did", "delete", memory.id)

    def _forget(self, space: Space) -> None:
        if (memory := self._some(space)) is not None:
            self._say("try", "forget", memory.id)
            if space.purge([memory.id]):
                self._say("did", "forget", memory.id)

    def _session(self, space: Space) -> None:
        space.add_session(Session(id=self._text(), created_at=NOON))

    def _read(self, space: Space) -> None:
        memories = list(space.walk())
        space.note_access([memory.id for memory in memories[:5]], NOON)
        self._pick.choice([lambda: None, self._store.flush])()

    def _upkeep(self, space: Space) -> None:
        self._pick.choice(
            [
                lambda: space.sweep(NOON - timedelta(days=1)),
                lambda: self._sweep_due(space),
                lambda: self._store._replica(ANA).put_base(),
                lambda: space.reembed(lambda memories: [entry(memory) for memory in memories], lambda *_: None),
            ]
        )()

    def _sweep_due(self, space: Space) -> None:
        for page in self._store.due():
            if ANA in page:
                space.sweep(NOON - timedelta(days=1))
                self._store.note_sweep(ANA, in_time())

    def _migrate(self, space: Space) -> None:
        if self._store.migrate(ANA, in_time()):
            self._say("did", "migrate", str(len(schema.MIGRATIONS)))

    def _some(self, space: Space) -> Memory | None:
        memories = list(space.walk())
        return self._pick.choice(memories) if memories else None


@dataclass
class History:
    """All that the writers of a folder said."""

    folder: Path
    acknowledged: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))
    forgotten: set[str] = field(default_factory=set)
    maybe_gone: set[str] = field(default_factory=set)
    migrations: int = 0
    texts: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, folder: Path) -> "History":
        history = cls(folder)
        for journal in folder.glob("*.journal"):
            for line in journal.read_text(encoding="utf-8").splitlines():
                said, kind, id, *rest = json.loads(line)
                if kind in ("save", "update"):
                    history.texts[id].add(rest[-1])
                    if said == "did":
                        history.acknowledged[id].append((rest[0], rest[1]))
                elif kind == "migrate":
                    history.migrations += 1
                elif said == "did" and kind == "forget":
                    history.forgotten.add(id)
                else:
                    history.maybe_gone.add(id)
        return history

    @property
    def markers(self) -> set[bytes]:
        """The texts that were forgotten."""
        return {text.split()[1].encode() for id in self.forgotten for text in self.texts[id]}

    def missing(self, memories: dict[str, Memory]) -> list[str]:
        """The memories that were acknowledged and are neither there nor gone by anybody's wish."""
        gone = self.forgotten | self.maybe_gone
        return [
            id
            for id, versions in self.acknowledged.items()
            if id not in gone and (id not in memories or memories[id].version < max(versions)[0])
        ]

    def doubled(self) -> list[str]:
        """The memories of which one version was acknowledged twice."""
        return [
            id
            for id, versions in self.acknowledged.items()
            if len({version for version, _ in versions}) < len(versions)
        ]


def run_writers(
    folder: Path, url: str, *, writers: int, operations: int, seed: int, deadly: float, sleep: float
) -> int:
    """Have writers run side by side until each has done its operations; how many died on the way.

    Two share a cache, the last one sleeps between a patchset and its entry. One is of the next release, and whoever
    died or was refused comes back as one of a newer release.
    """
    deaths = 0
    pick = random.Random(seed)
    with_work = dict.fromkeys(range(writers), operations)
    releases = [int(name == 2) for name in range(writers)]
    while with_work:
        processes = []
        for name, left in with_work.items():
            cache, seconds = f"cache{max(0, name - 1)}", sleep if name == 3 else 0.0
            options = (cache, releases[name], pick.randrange(10**9), left, deadly, seconds)
            context = running(_PROGRAM, folder, url, *options)
            processes.append((name, context, context.__enter__()))
        with_work = {}
        for name, context, process in processes:
            process.communicate()
            assert process.returncode in (0, _DIED, _IS_OLD)
            if process.returncode:
                deaths += process.returncode == _DIED
                assert process.returncode == _DIED or releases[name] < len(RELEASES) - 1
                releases[name] = min(releases[name] + 1, len(RELEASES) - 1)
                with_work[name] = max(1, operations // 4)
            context.__exit__(None, None, None)
        if deaths > 40:
            deadly = 0.0
    return deaths


def all_bytes(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """The content of a log's objects, decompressed, and of the files of caches as they are."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.endswith(".journal"):
            content = path.read_bytes()
            if path.parent.name in ("e", "b"):
                content = unpack(content, ANA, int(path.name.split("-")[0])).body
            yield path, content


def rows(store: ReplicaStore) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of ana's replica, by table."""
    path = store.path(ANA)
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return {
            table: sorted(connection.execute(f"SELECT * FROM {table}").fetchall(), key=repr) for table in schema.TABLES
        }
    finally:
        connection.close()


def check(folder: Path, logs: Logs) -> History:
    """Bring all caches and a new one to the end of the log: nothing acknowledged is missing or there twice, all have
    the same rows, and what was forgotten is in no byte."""
    names = [path.name for path in folder.iterdir() if path.is_dir() and path.name.startswith("cache")]
    stores = [brought_up(folder, name, logs) for name in names]
    _space(stores[0]).sweep(NOON - timedelta(days=1))  # finishes what a death cut short
    stores[0].migrate(ANA, in_time(_PATIENCE))
    stores.append(brought_up(folder, "fresh", logs))
    for store in stores:
        store._replica(ANA).catch_up(in_time(_PATIENCE))
    tables = [rows(store) for store in stores]
    assert all(each == tables[0] for each in tables)

    if any(memory.deleted_at for memory in _space(stores[-1]).images()):
        hour = hour_of(SystemClock().now())
        assert any(marker.hour <= hour for page in logs.due("9999") for _, marker in page), "deletes without a marker"

    history = History.of(folder)
    memories = {memory.id: memory for memory in _space(stores[-1]).walk()}
    assert history.missing(memories) == []
    assert history.doubled() == []
    assert not history.forgotten & set(memories)

    entries = [unpack(data, ANA, n) for n, data in enumerate(logs.of(ANA).read_on(1), 1)]
    assert all(entry.after == before.nonce for before, entry in pairwise(entries))
    assert len({entry.nonce for entry in entries}) == len(entries)
    log = logs.of(ANA)
    kept = [entry.body for entry in entries]
    for name in log.bases():
        if (data := log.read_base(name)) is not None:
            kept.append(unpack(data, ANA, name.n).body)
    for store in stores:
        store.close()
    kept += [content for _, content in all_bytes(folder)]
    left = [marker for content in kept for marker in history.markers if marker in content]
    assert left == []
    return history


def brought_up(folder: Path, name: str, logs: Logs) -> ReplicaStore:
    """A replica at the end of the log, and swept."""
    store = ReplicaStore(folder / name, logs, EMBEDDER, SystemClock())
    store._replica(ANA).catch_up(in_time(_PATIENCE))
    return store


def restore_and_move(folder: Path, logs: Logs) -> None:
    """Put ana's memories back as they were, and move them to another log, while a replica sleeps: it follows the one,
    and is told of the other."""
    with (
        closing(brought_up(folder, "cache0", logs)) as asleep,
        closing(brought_up(folder, "awake", logs)) as awake,
        closing(ReplicaStore(folder / "there", FolderLogs(folder / "other log"), EMBEDDER, SystemClock())) as there,
    ):
        before, then = _contents(awake), SystemClock().now()
        space = _space(awake)
        for memory in list(space.walk())[:3]:
            delete(space, memory)
        save(space, "heron later reed")
        assert _contents(awake) != before
        awake.build(ANA, then, folder / "then.db")
        put_back(awake.open_file(ANA, in_time(_PATIENCE)), folder / "then.db", in_time(_PATIENCE))
        assert _contents(asleep) == _contents(awake) == before
        move_user(ANA, FilePlace("here", awake), FilePlace("there", there), in_time(_PATIENCE))
        assert _contents(there) == before
        with pytest.raises(Unavailable, match="moved to there"):
            _contents(asleep)


def _space(store: ReplicaStore) -> Space:
    return space_of(store, ANA.user_id, seconds=_PATIENCE)


def _contents(store: ReplicaStore) -> dict[str, str]:
    return {memory.id: memory.content for memory in _space(store).walk()}
