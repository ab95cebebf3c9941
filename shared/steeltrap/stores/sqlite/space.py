"""One user's memories in SQLite."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from secrets import token_hex
from typing import Final

import apsw
import numpy as np

from ...errors import nothing_after
from ...model import (
    Candidates,
    Embedding,
    Filter,
    Happened,
    Import,
    Matches,
    Memory,
    Page,
    Query,
    Revision,
    ScopeUse,
    Session,
    Surroundings,
    Usage,
    from_micros,
    to_micros,
)
from ...ports import Change, Clock, Deadline, Entry, Gone, Lookup, Probe, TextKey
from ...record import from_image
from ...text.limits import from_key, to_key
from ...text.words import WORDS_VERSION, indexed_words
from ..exact.columns import Mask
from ..exact.index import Index
from . import header, records
from .connection import select
from .file import UNFINISHED, Redo, T, UserFile, is_marked, read_usage, write_review
from .records import CURRENT, NAMING, conditions, read_vectors, to_names

_NAMED: Final = (
    ("memory", "SELECT 1 FROM memory WHERE id = :key"),
    ("links", "SELECT 1 FROM link WHERE target = :key"),
    ("links of images", f"SELECT 1 FROM memory WHERE {NAMING}"),
    ("links of earlier images", f"SELECT 1 FROM revision WHERE {NAMING}"),
)


def purge(file: UserFile, ids: Sequence[str], deadline: Deadline) -> list[str]:
    """Remove memories and cut the log; the ids that were there.

    Raises Unavailable when the disk is too full to remove anything. It is also raised when a reader in another process
    held the log until the deadline, or the disk is too full to rewrite the file: the memories are gone from every
    answer then, and a repeated call or the next sweep finishes the work.
    """
    from . import writes

    if not file.is_there():
        return []
    keys = [to_key(id) for id in ids]

    def redo(connection: apsw.Connection, number: int) -> tuple[list[bytes], bool]:
        """The keys that were there, and whether bytes of these or earlier ones are left."""
        before = connection.total_changes()
        removed_keys = writes.purge(connection, keys, number)
        if connection.total_changes() != before:
            connection.execute("INSERT OR IGNORE INTO meta (key, value) VALUES (?, 1)", (UNFINISHED,))
        return removed_keys, is_marked(connection)

    removed_keys: list[bytes] = []
    unfinished = False
    if keys:
        removed_keys, unfinished = file.reserve.with_room(lambda: file.transaction("change", redo, deadline))
    if unfinished or file.is_unfinished():
        finish(file, deadline)
    return [from_key(key) for key in removed_keys]


def finish(file: UserFile, deadline: Deadline) -> None:
    """Leave no byte of what was removed. Raises Unavailable, to be called again."""
    file.scrub(deadline)
    with file.reading() as connection:
        has_mark = connection is not None and is_marked(connection)
    if has_mark:
        file.transaction("change", _finish, deadline)


def _finish(connection: apsw.Connection, _: int) -> None:
    header.remove_meta(connection, UNFINISHED)


def traces(file: UserFile, id: str) -> list[str]:
    """Where an id is still known; what a user wrote of it in texts and metadata is no trace."""
    key = to_key(id)
    values = {"key": key, "names": to_names([key])}
    with file.reading() as connection:
        if connection is None:
            return []
        return [name for name, question in _NAMED if select(connection, question, values)]


def reembed(
    file: UserFile, make_entries: Callable[[Sequence[Memory]], list[Entry]], on_start: Callable[[int, int], None]
) -> int:
    """New vectors and tokens for all that can be searched; how many memories that was.

    `on_start` gets how many have them from an earlier run, and how many there are. The file is locked only while a
    block is read or written, so memories can be saved meanwhile. What was made before a crash is not made again.
    """
    if not file.is_there():
        return 0
    name, dimension = file.embedder, file.dimension

    def begin(connection: apsw.Connection, _: int) -> tuple[int, int]:
        header.begin_staging(connection, name, dimension)
        return header.staged_count(connection)

    def block_after(last: int) -> list[header.Unstaged] | int:
        """The next memories without new vectors; without any, the number of memories that have the new ones now."""

        def redo(connection: apsw.Connection, _: int) -> list[header.Unstaged] | int:
            block = header.unstaged(connection, name, dimension, last)
            if not block and last:
                # Those before the first block's end may have been written again meanwhile.
                block = header.unstaged(connection, name, dimension, 0)
            return block or _take_over(connection, name, dimension)

        return file.transaction("vectors", redo)

    on_start(*file.transaction("vectors", begin))
    last = 0
    while not isinstance(block := block_after(last), int):
        file.transaction("vectors", _staging(block, make_entries([each.memory for each in block])))
        last = block[-1].n
    return block


def _staging(block: Sequence[header.Unstaged], entries: Sequence[Entry]) -> Redo[None]:
    return lambda connection, _: header.stage(connection, block, entries)


def _take_over(connection: apsw.Connection, embedder: str, dimension: int) -> int:
    count = header.take_over_staged(connection)
    connection.executemany(
        "UPDATE meta SET value = ? WHERE key = ?",
        # A new generation makes every open index reload the vectors.
        [(embedder, "embedder"), (dimension, "dimension"), (token_hex(8), "generation")],
    )
    return count


_LOOK_SECONDS: Final = 0.05
"""How long a look at the file holds for the call that took it."""


class SqliteSpace:
    """A `Space` over a user's file. Safe for threads, but for `ahead`, which is one thread's."""

    atomic_updates: int | None = None

    def __init__(self, opened: Callable[[], UserFile], clock: Clock, deadline: Deadline) -> None:
        self._opened = opened
        self._clock = clock
        self._deadline = deadline
        self._only_reads = False
        self._look: tuple[UserFile, float] | None = None

    def until(self, deadline: Deadline) -> "SqliteSpace":
        return SqliteSpace(self._opened, self._clock, deadline)

    def ahead(self, read: Callable[[], T]) -> T:
        self._only_reads = True
        try:
            return read()
        finally:
            self._only_reads, self._look = False, None

    def cached_at(self) -> datetime | None:
        return None

    @property
    def _file(self) -> UserFile:
        """The user's file, while there is time to use it. Raises Unavailable."""
        self._deadline.left()
        return self._opened()

    def _to_read(self) -> tuple[UserFile, AbstractContextManager[apsw.Connection | None]]:
        """The user's file and its reading connection. A search asks who speaks, searches and reads memories within two
        milliseconds: one look at what is in the file is enough for these. Raises Unavailable."""
        if not self._only_reads:
            file = self._file
            return file, file.reading()
        self._deadline.left()
        now = self._clock.monotonic()
        if self._look is not None and self._look[0].is_open and now - self._look[1] < _LOOK_SECONDS:
            file = self._look[0]
            return file, file.reading_again()
        file = self._opened()
        self._look = file, now
        return file, file.reading()

    def commit(self, changes: Sequence[Change]) -> None:
        if changes:
            from . import writes  # not loaded by a search

            self._look = None
            writes.commit(self._file, changes, self._clock, self._deadline)

    def get(self, ids: Sequence[str], *, deleted: bool = False) -> dict[str, Memory]:
        file, reading = self._to_read()
        with reading as connection:
            if connection is None or not ids:
                return {}
            memories = file.memories(connection, ids)
        now = self._clock.now()
        return {id: memory for id, memory in memories.items() if deleted or memory.is_visible(now)}

    def find(self, lookup: Lookup) -> list[str]:
        with self._file.reading() as connection:
            return [] if connection is None else records.find(connection, lookup, self._now())

    def successions(self, ids: Sequence[str]) -> dict[str, str]:
        with self._file.reading() as connection:
            return {} if connection is None else records.successions(connection, ids, self._now())

    def copies(self, texts: Sequence[TextKey]) -> list[int]:
        with self._file.reading() as connection:
            if connection is None:
                return [0] * len(texts)
            now = self._now()
            return [
                connection.execute(
                    "SELECT count(*) FROM memory WHERE fold = :fold AND scope = :scope AND agent_id IS :agent "
                    f"AND conversation_id IS :conversation AND {CURRENT}",
                    {
                        "fold": text.fold,
                        "scope": text.scope,
                        "agent": text.agent_id,
                        "conversation": text.conversation_id,
                        "now": now,
                    },
                ).get
                for text in texts
            ]

    def search(self, query: Query) -> Matches:
        file, reading = self._to_read()
        with reading as connection:
            if connection is None:
                return Matches(candidates=Candidates.of([]), stored=0, admitted=0)
            index = file.index(connection)
            visible_slots, base, candidates_filter = index.bases(query, self._now())
            candidates = self._admitted(connection, index, base, candidates_filter)
            vector = query.embedding if index.degraded is None else None
            keyword = index.bm25(query.tokens, visible_slots, base) if query.tokens else None
            return Matches(
                candidates=index.candidates(
                    candidates, vector, keyword, query.per_leg, by_term=query.by_term, during=query.during
                ),
                stored=int(np.count_nonzero(visible_slots)),
                admitted=int(np.count_nonzero(candidates & visible_slots)),
                degraded=index.degraded,
            )

    def look_around(self, probes: Sequence[Probe], *, floor: float, top_k: int) -> list[Surroundings]:
        from . import writes

        file = self._file
        with file.reading() as connection:
            if connection is None or not probes:
                return [Surroundings(nearest=None) for _ in probes]
            return writes.with_vectors(file.index(connection)).look_around(probes, self._now(), floor, top_k)

    def page(self, filter: Filter, *, limit: int, offset: int = 0, happened: Happened | None = None) -> Page:
        with self._file.reading() as connection:
            if connection is None:
                return Page(memories=(), total=0)
            return records.page(connection, filter, self._now(), limit=limit, offset=offset, happened=happened)

    def walk(self, *, after: str | None = None, turns: bool = False) -> Iterator[Memory]:
        # Block by block, so that a long export holds no lock and no snapshot.
        last = 0 if after is None else self._row_number(after)
        while block := self._block(last, turns):
            for _, memory in block:
                yield memory
            last = block[-1][0]

    def images(self, *, earlier: bool = False) -> Iterator[Memory]:
        last, place = 0, (0, -1)
        while True:
            with self._file.reading() as connection:
                if connection is None:
                    return
                if earlier:
                    replaced = records.earlier_images(connection, place)
                    memories = [memory for _, memory in replaced]
                    place = replaced[-1][0] if replaced else place
                else:
                    block = records.images(connection, last)
                    memories = [memory for _, memory in block]
                    last = block[-1][0] if block else last
            if not memories:
                return
            yield from memories

    def idle_conversations(self, since: datetime, *, limit: int) -> list[str]:
        with self._file.reading() as connection:
            if connection is None:
                return []
            return records.idle_conversations(connection, to_micros(since), self._now(), limit)

    def embeddings(self, ids: Sequence[str]) -> dict[str, tuple[Embedding, ...]]:
        file = self._file
        with file.reading() as connection:
            if connection is None:
                return {}
            table = "staged" if file.header.is_next(connection) else "search"
            return read_vectors(connection, ids, 4 * file.dimension, table)

    def speakers(self) -> frozenset[str]:
        file, reading = self._to_read()
        with reading as connection:
            return frozenset() if connection is None else file.index(connection).speakers()

    def vocabulary(self) -> Set[str] | None:
        file, reading = self._to_read()
        with reading as connection:
            if connection is None:
                return None
            index = file.index(connection)
            if (words := index.vocabulary) is not None or not index.keeps_words:
                return words
        # A look of its own: words that are read once are taken for those of the index, which may be newer than `_look`.
        with file.reading() as connection:
            if connection is None:
                return None
            return file.index(connection).read_words(
                lambda ids: map(indexed_words, file.memories(connection, ids).values())
            )

    def scopes(self) -> dict[str, ScopeUse]:
        with self._file.reading() as connection:
            return {} if connection is None else records.scopes(connection, self._now())

    def sessions(self) -> list[Session]:
        with self._file.reading() as connection:
            return [] if connection is None else records.read_sessions(connection)

    def add_session(self, session: Session) -> bool:
        return self._write(lambda connection, _: records.add_session(connection, session))

    def remove_session(self, id: str) -> bool:
        if not self._file.is_there():
            return False
        return self._write(lambda connection, _: records.remove_session(connection, id))

    def imports(self) -> list[Import]:
        with self._file.reading() as connection:
            return [] if connection is None else records.read_imports(connection)

    def put_import(self, run: Import) -> None:
        self._write(lambda connection, _: records.put_import(connection, run))

    def revisions(self, id: str, *, after: int = 0, limit: int | None = None) -> list[Revision]:
        with self._file.reading() as connection:
            if connection is None:
                return []
            rows = select(
                connection,
                "SELECT revision.image, replaced_at, replaced_by FROM revision JOIN memory USING (n) "
                "WHERE id = ? AND revision.version > ? ORDER BY revision.version LIMIT ?",
                (to_key(id), after, -1 if limit is None else limit),
            )
        return [
            Revision(memory=from_image(image), replaced_at=from_micros(at), replaced_by=by) for image, at, by in rows
        ]

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        with self._file.reading() as connection:
            usages = {} if connection is None else read_usage(connection, ids)
        return self._file.usage.on_top_of(usages, ids)

    def note_access(self, ids: Sequence[str], at: datetime) -> None:
        # Opened again, which counts what the call has loaded.
        self._opened().usage.add(ids, at)

    def note_review(self, id: str, *, previous: str | None, card: str) -> None:
        self._opened().usage.review(id, previous, card)

    def keep_review(self, id: str, *, previous: str | None, card: str) -> bool:
        file = self._file
        if not file.is_there():
            return False
        file.flush_usage()  # `previous` may still be in the buffer
        return self._write(lambda connection, _: write_review(connection, id, previous, card))

    def check_purge(self) -> None:
        """Whoever has the store may purge."""

    def purge(self, ids: Sequence[str]) -> list[str]:
        self._file.usage.drop(ids)
        return purge(self._file, ids, self._deadline)

    def sweep(self, deleted_before: datetime) -> int:
        """Purge what is stale, and finish a purge that was cut short; how many memories went."""
        if stale := self.find(Gone(deleted_before)):
            return len(self.purge(stale))
        if self._file.is_unfinished():
            finish(self._file, self._deadline)
        return 0

    def traces(self, id: str) -> list[str]:
        return traces(self._file, id)

    def analysis(self) -> int:
        with self._file.reading() as connection:
            return WORDS_VERSION if connection is None else header.analysis_of(connection)

    def set_analysis(self, version: int) -> None:
        if self._file.is_there():
            self._file.transaction("vectors", lambda connection, _: header.set_analysis(connection, version))

    def is_embedded(self) -> bool:
        return self._file.is_embedded()

    def reembed(
        self,
        make_entries: Callable[[Sequence[Memory]], list[Entry]],
        on_start: Callable[[int, int], None] = lambda count, total: None,
    ) -> int:
        return reembed(self._file, make_entries, on_start)

    def statistics(self) -> Mapping[str, int]:
        with self._file.reading() as connection:
            return records.statistics(connection, self._now(), 4 * self._file.dimension)

    def _write(self, redo: Redo[T]) -> T:
        return self._file.transaction("change", redo, self._deadline)

    def _now(self) -> int:
        return to_micros(self._clock.now())

    def _admitted(self, connection: apsw.Connection, index: Index, base: Mask, filter: Filter) -> Mask:
        if not filter.episodes:
            base = base & index.without_episodes(filter)
        if filter.scope is not None or filter.project is not None:
            base = base & index.in_scopes(filter)
        if filter.is_open_within_scopes():
            return base
        where, values = conditions(replace(filter, scope=None, project=None), self._now())
        rows = select(connection, f"SELECT n FROM memory WHERE {where}", values)
        return base & index.among([n for (n,) in rows])

    def _block(self, last: int, turns: bool) -> list[tuple[int, Memory]]:
        with self._file.reading() as connection:
            return [] if connection is None else records.block(connection, last, self._now(), turns=turns)

    def _row_number(self, id: str) -> int:
        with self._file.reading() as connection:
            number = None if connection is None else records.row_number(connection, id)
        if number is None:
            raise nothing_after(id)
        return number
