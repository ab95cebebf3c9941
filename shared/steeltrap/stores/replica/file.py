"""One user's file as a replica of a log: it is read at the end of the log, and each of its commits is the next entry.

A transaction that changed rows creates its entry before it commits. If another writer took the number, it is rolled
back, the file catches up, and the change is made again on what is there now. So all replicas have the same rows.
"""

import logging
import os
import random
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal

import apsw

from ...errors import SteeltrapError, Unavailable
from ...model import to_micros
from ...ports import BaseName, Clock, Deadline, Log, Marker
from ..data_folder import DataFolder, release
from ..sqlite.connection import OPEN_SECONDS, DamagedFile, translated, writing
from ..sqlite.file import Kind, Redo, T, UserFile, is_marked, write_usage
from ..sqlite.header import Header, is_here
from ..sqlite.opening import Identity, identity
from ..sqlite.schema import TABLES, is_current, migrate_within
from ..sqlite.scrubbing import Reserve, scrub
from .applying import Applier, Diverged, NeedsBase, body_of_migration, reload_indexes, require_own
from .bases import clear_bases, make_base, put_rows, read_newest, remove_copies, side_by_side, stub_entries, unpacked
from .cached_file import BEHIND, CachedFile, current_at, hold_open, note_behind, note_current
from .due import DueWork, standing
from .entries import LogEntry, Lost, commit_entry, damaged, new_nonce, newer, offline
from .position import Position, is_worth_a_base, read_position, write_position

_ROOM_FOR_ENTRIES: Final = 2
"""Bytes of a file for each byte of its entries, about: those are compressed."""
_CROWD_SECONDS: Final = 5.0
_NEAR_SECONDS: Final = 0.3
_GAP_SECONDS: Final = 0.14
_USAGE_SECONDS: Final = 600.0
_FAR_SECONDS: Final = 0.002

_log = logging.getLogger("steeltrap")


class ReplicaFile(CachedFile):
    """A file that is the entries of its log, as far as they were applied. Safe for threads."""

    def __init__(
        self,
        path: Path,
        header: Header,
        data: DataFolder,
        reserve: Reserve,
        *,
        log: Log,
        log_id: bytes,
        clock: Clock,
        retention: timedelta,
        make_room: Callable[[int], None] = lambda size: None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(path, header, data, reserve, log_id)
        self._log = log
        self._clock = clock
        self._make_room = make_room
        self._pause = pause
        self._log_seconds = 0.0
        self._created: LogEntry | None = None
        self._applier = Applier(log, header.user, log_id)
        self._due = DueWork(log, retention, clock)
        self._committed_at = -_NEAR_SECONDS
        self._crowded_until = 0.0
        self._had_nothing = False
        self._is_offline = self._has_unapplied = self._makes_no_bases = False
        self._written_to: bytes | None = None
        self._usage_since = clock.monotonic()

    # Reading the log

    def catch_up(self, deadline: Deadline) -> None:
        """Bring the file to the end of the log. Raises Unavailable when the log can't be read, or the file has tables
        that this release doesn't work on."""
        self._pull_undamaged(deadline)
        if self._last_position is None:
            self._position()  # of a file that has just begun with a base
        if self._last_position is not None and self._last_position[1] != self._works_on:
            self._require_own_tables(self._last_position[1])
        self._is_offline = False
        note_current(self.path, self._clock.now())

    def _pull_undamaged(self, deadline: Deadline) -> None:
        """Bring the file to the end of the log; one that is damaged is made again."""
        try:
            if self._look_for_damage():
                self._make_again(deadline)
            self._pull(deadline)
        except DamagedFile as error:
            self._note_damage(error)
            self._make_again(deadline)

    def is_far(self) -> bool:
        """Whether the log answers so late that a call had better read the rows that are here meanwhile, and may: this
        process has brought the file to the end of the log before."""
        return (
            self._log_seconds >= _FAR_SECONDS
            and self._last_position is not None
            and self._last_position[1] == self._works_on == identity(self.path)
            and not (self._is_offline or self._has_unapplied or self._is_beginning or self._is_damaged)
        )

    def go_offline(self) -> datetime | None:
        """Answer by what the file has, and change nothing, until it catches up; when it was at the end of the log last.

        None where it has nothing, or older rows than those that a call has seen. Raises Unavailable.
        """
        if self._look_for_damage() or self._position().n == 0 or self._has_unapplied or self._is_beginning:
            return None
        at = current_at(self.path)
        if at == BEHIND:
            return None
        if self._last_position is not None and self._last_position[1] != self._works_on:
            self._require_own_tables(self._last_position[1])
        self._is_offline = True
        return at

    def _require_own_tables(self, file: Identity | None) -> None:
        with self._reading_unchecked() as connection:
            if connection is not None:
                require_own(connection)
                self._works_on = file

    def _pull(self, deadline: Deadline) -> None:
        position = self._position()
        if position.n == 0:
            self._begin(deadline)
        else:
            began = self._clock.monotonic()
            entries = self._log.read_on(position.n + 1)
            self._log_seconds = self._clock.monotonic() - began
            if entries:
                self._has_unapplied = True
                with self._write_turn(deadline.before()):
                    self._take_in(entries, deadline)
        self._has_unapplied = False

    def _begin(self, deadline: Deadline) -> None:
        """Make the file of what the log has, if it has anything. A log that had nothing is asked for its entries only:
        to list its bases costs more."""
        if self._had_nothing:
            first, bases = self._log.read([1]), None
        else:
            first, bases = side_by_side(lambda: self._log.read([1]), self._log.bases)
        if first[0] is None:
            if bases and self._log.read([1]) == [None]:  # else it came between the two requests
                raise damaged("entry 1 is missing")
            self._had_nothing = not bases
            return
        entries = [] if bases is None or bases else [first[0], *self._log.read_on(2)]
        self._make_room(_ROOM_FOR_ENTRIES * sum(map(len, entries)))
        with self._write_turn(deadline.before()):
            if self._read_known().n:  # another thread has made it meanwhile
                self._go_on(deadline)
            else:
                self._take_in(entries, deadline, bases)

    def _take_in(self, entries: Sequence[bytes], deadline: Deadline, bases: Sequence[BaseName] | None = None) -> None:
        """Apply entries that were read, in one's turn to write. With none, the file begins with what the log has:
        with the newest of `bases`, where these were just listed."""
        self._is_beginning = identity(self.path) is None
        try:
            self._take_in_or_begin(entries, bases)
        finally:
            self._is_beginning = False
        position = self._read_known()
        if position.removed > position.scrubbed:
            self._scrub_here(deadline)

    def _take_in_or_begin(self, entries: Sequence[bytes], bases: Sequence[BaseName] | None) -> None:
        try:
            self._apply_or_load(entries, bases)
        except Diverged as error:
            _log.warning("a replica was thrown away and is made again: %s", error)
            self._is_beginning = True
            self._remove()
            try:
                self._apply_or_load([], None)
            except Diverged as again:
                raise damaged(str(again)) from again

    def _apply_or_load(self, entries: Sequence[bytes], bases: Sequence[BaseName] | None) -> None:
        if not entries:
            entries = self._load(bases)
        while entries and not self._apply(entries):
            entries = self._load()  # an entry is a stub: what it changed is in a base

    def _apply(self, stored: Sequence[bytes]) -> bool:
        """Apply entries, those that the file has left out. False where only a base has what they did, with nothing
        applied: at a stub, and at a migration to tables of another release."""
        opened = self._open_writer()
        try:
            with writing(opened.connection, self.path, OPEN_SECONDS):
                position, migrates = self._applier.apply(opened.connection, stored)
        except NeedsBase:
            self._applier.forget_tables()
            return False
        self._note(position, opened.file)
        self._crowded_until = self._clock.monotonic() + _CROWD_SECONDS
        if migrates:
            self._begin_connections_anew()
        return True

    def _begin_connections_anew(self) -> None:
        """Forget what was read by way of the tables before. In one's turn to write."""
        self._applier.forget_tables()
        with self._read_lock:
            self._disconnect()

    def _load(self, bases: Sequence[BaseName] | None = None) -> list[bytes]:
        """Begin with the newest base, or with an empty file where there is none; the entries after it."""
        newest = read_newest(self._log, self.header.user, bases)
        if newest is None:
            if self._read_known().n:
                raise damaged("entries were removed, and there is no base")
            return self._log.read_on(1)
        base, size, entries = newest
        self._make_room(len(base.body))
        self._data.make()
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        with unpacked(base, size, self.path, self._log_id) as base_file:
            if identity(self.path) is not None or not self._put_in_place(base_file):
                self._replace_rows(base_file, base, size)
        return entries

    def _put_in_place(self, base_file: Path) -> bool:
        with self._read_lock:
            self._disconnect()
            try:
                os.link(base_file, self.path)  # another process may be faster
            except FileExistsError:
                return False
        return True

    def _replace_rows(self, base_file: Path, base: LogEntry, size: int) -> None:
        opened = self._open_writer()
        if self._applier.tables(opened.connection) != base.schema:
            raise Diverged("the newest base has other tables")
        self._note(put_rows(opened.connection, self.path, base_file, base, size), opened.file)

    # Writing

    def _run(self, kind: Kind, redo: Redo[T], timeout: float) -> T:
        if self._is_offline:
            raise offline()
        deadline = Deadline.after(timeout, self._clock)
        usage = self.usage.take() if kind == "change" else {}
        answers: list[T] = []

        def whole(connection: apsw.Connection, number: int) -> T:
            self._due.begin()
            if usage:
                write_usage(connection, usage)
            answers.append(redo(connection, number))
            self._due.note_change(connection, kind, number)
            return answers[-1]

        self._leave_a_gap()
        while True:
            self._created = None
            try:
                return super()._run(kind, whole, max(deadline.before(), 0.001))
            except Lost:
                deadline.left()
                self._go_on(deadline)
            except SteeltrapError:
                if self._has_own_entry(deadline):
                    return answers[-1]
                self.usage.put_back(usage)
                with self.noting_damage():
                    raise

    def _has_entry(self, n: int) -> bool:
        return self._log.read([n]) != [None]

    def _begin_again(self, deadline: Deadline) -> None:
        self._take_in([], deadline)

    def _go_on(self, deadline: Deadline) -> None:
        """Catch up in one's turn to write."""
        if entries := self._log.read_on(self._read_known().n + 1):
            self._take_in(entries, deadline)

    @contextmanager
    def _transaction(self, timeout: float) -> Iterator[apsw.Connection]:
        deadline = Deadline.after(timeout, self._clock)
        with super()._transaction(timeout) as connection:
            position = read_position(connection, self._log_id)
            if position.log != self._log_id:
                raise Unavailable("The cache of these memories is of another log; try again.", part="store")
            was_here = is_here(connection)
            session = apsw.Session(connection, "main")
            try:
                for table in TABLES:
                    session.attach(table)
                yield connection
                if not was_here and is_here(connection):
                    self._make_room(len(session.patchset()))
                    self._log.list_user()
                is_there = connection.execute("SELECT 1 FROM meta").fetchone() is not None
                removes = not session.is_empty and (not is_there or is_marked(connection))
                needs_base = self._makes_no_bases and is_worth_a_base(position)
                self._due.cover(connection, position, at_once=removes or needs_base)
                patchset = session.patchset()
            finally:
                session.close()
            if patchset:
                self._require_works_on(connection)
                removed = position.n + 1 if removes else position.removed
                position = self._append(connection, replace(position, removed=removed), "change", patchset, deadline)
                write_position(connection, position)
        if patchset:
            self._note(position, self._known_file())
            self._committed_at = self._clock.monotonic()
            note_current(self.path, self._clock.now())

    def _require_works_on(self, connection: apsw.Connection) -> None:
        """Refuse to write into tables that a newer release, which shares the file, has migrated meanwhile."""
        tables = self._applier.tables(connection)
        if tables != self._written_to:
            require_own(connection)
            self._written_to = tables

    def _append(
        self,
        connection: apsw.Connection,
        position: Position,
        kind: Literal["change", "migrate"],
        patchset: bytes,
        deadline: Deadline,
    ) -> Position:
        """Create the next entry; the position after it. Raises Lost, Unavailable."""
        entry = LogEntry(
            kind=kind,
            user=self.header.user,
            n=position.n + 1,
            nonce=new_nonce(),
            after=position.nonce,
            schema=self._applier.tables(connection),
            base=position.base,
            forgot=position.forgot,
            removed=position.removed,
            written=to_micros(self._clock.now()),
            body=patchset,
        )
        packed = entry.pack()
        commit_entry(self._log, entry.n, packed, deadline, self._pause)
        self._created = entry
        return replace(position, n=entry.n, nonce=entry.nonce, since_bytes=position.since_bytes + len(packed))

    def renew_marker(self, deadline: Deadline, markers: Collection[Marker] = ()) -> None:
        """Have a marker stand for the earliest work that is due in all rows, and remove those by which a sweep found
        the user. One that stood before is put again: a copy of the log may lack it. Raises Unavailable."""

        def redo(connection: apsw.Connection, _: int) -> Marker | None:
            before = standing(connection)
            self._due.note_all(connection, read_position(connection, self._log_id), markers)
            return before

        before = self.transaction("usage", redo, deadline) if self.is_there() else None
        with self._reading_unchecked() as connection:
            stands = None if connection is None else standing(connection)
        if stands is not None and stands == before:
            self._log.mark(stands)
        position = self._position()
        if position.is_unfinished:
            return  # a file that was wiped lets no marker stand, and needs one
        for marker in markers:
            deadline.left()
            if marker != stands and marker.n <= position.n:
                self._log.unmark(marker)

    def migrate(self, deadline: Deadline) -> bool:
        """Bring the tables to those of this release by an entry, and put a base after it. False where they are, also
        when another one was faster. Raises Unavailable."""
        self._pull_undamaged(deadline)
        if not self.is_there():
            return False
        with self.noting_damage(), self._write_turn(deadline.before()), translated(self.path):
            while True:
                try:
                    if is_current(self._open_writer().connection):
                        return False
                    self._put_migration(deadline)
                    break
                except Lost:
                    deadline.left()
                    self._go_on(deadline)
                except ValueError:
                    raise newer() from None
                finally:
                    self._begin_connections_anew()
        self.put_base()
        return True

    def _put_migration(self, deadline: Deadline) -> None:
        opened = self._open_writer()
        connection = opened.connection
        with writing(connection, self.path, OPEN_SECONDS):
            position = read_position(connection, self._log_id)
            migrate_within(connection)
            self._applier.forget_tables()
            body = body_of_migration(connection)
            position = self._append(connection, position, "migrate", body, deadline)
            assert self._created is not None
            reload_indexes(connection, self._created)
            write_position(connection, position)
        self._note(position, opened.file)

    def _has_own_entry(self, deadline: Deadline) -> bool:
        """Whether the log took what could then not be committed to the file, which catches up with it, if it can: where
        it can't, as on a full disk, the next call that needs it says why. A removal is only done where the file has it:
        its bytes are taken out of the file and the log next."""
        created = self._created
        if created is None:
            return False
        has_it = False
        with suppress(SteeltrapError):
            with self._read_lock:
                if self._connections.are_replaced:
                    self._let_go()
            self._go_on(deadline)
            has_it = self._read_known().n >= created.n
        if not has_it:  # offline, an answer would lack it
            self._has_unapplied = True
            note_behind(self.path)
        return has_it or created.removed < created.n

    def _leave_a_gap(self) -> None:
        """Let writers on other machines get their turn: a log gives it to whoever is first."""
        now = self._clock.monotonic()
        if now < self._crowded_until and now - self._committed_at < _NEAR_SECONDS:
            self._pause(random.uniform(0, _GAP_SECONDS))

    def _known_file(self) -> Identity | None:
        writer = self._connections.writer
        return None if writer is None else writer.file

    # Usage rides with the next write

    def flush_usage(self, *, at_last: bool = False) -> None:
        if self._is_offline or self.is_lost():  # it waits; at the end that would cost more than it is worth
            if at_last:
                self.usage.take()
            return
        now = self._clock.monotonic()
        if not self.usage:
            self._usage_since = now
        elif at_last or now - self._usage_since > _USAGE_SECONDS:
            self._usage_since = now
            super().flush_usage()

    def _flush_at_once(self) -> bool:
        if self.is_lost():
            self.usage.take()
            return True
        return super()._flush_at_once()

    def close(self) -> None:
        self.flush_usage(at_last=True)
        super().close()

    # Bases and forgetting

    def is_unfinished(self) -> bool:
        return self._position().is_unfinished

    def scrub(self, deadline: Deadline) -> None:
        """Leave no byte of what was removed, here and in the log. Raises Unavailable, to be called again."""
        with self.noting_damage():
            with self._write_turn(deadline.before()):
                self._scrub_here(deadline)
            forgot = self._position().forgot
            base, size = self._put_base(forgetting=True)
            stub_entries(self._log, self.header.user, forgot + 1, base.n)
            clear_bases(self._log)
            self._note_base(base, size)

    def may_purge(self) -> bool:
        """Whether the bases that hold what is purged can be deleted."""
        return self._log.may_delete()

    def needs_base(self) -> bool:
        """Whether the entries since the last base would take a new replica long to read."""
        position = self._last_position[0] if self._last_position is not None else None
        if position is None or self._makes_no_bases or self._is_offline or self.is_lost():
            return False
        return is_worth_a_base(position)

    def put_base(self) -> None:
        """Put a base for new replicas, and clear away those that nobody needs. Whoever may not delete puts none.
        Raises Unavailable."""
        self._makes_no_bases = not self._log.may_delete()
        if self._makes_no_bases:
            return
        with self.noting_damage():
            self._note_base(*self._put_base(forgetting=False))
            clear_bases(self._log)

    def _put_base(self, *, forgetting: bool) -> tuple[LogEntry, int]:
        descriptor, highest = hold_open(self.path), self._highest  # what is written meanwhile need not be in it
        try:
            base = make_base(
                self.path,
                self.header.user,
                forgetting=forgetting,
                written=to_micros(self._clock.now()),
                log_id=self._log_id,
            )
        finally:
            release(descriptor)
        if base.n < highest:  # another process has removed the file, and makes it again
            raise self._data.removed(self.path)
        packed = base.pack()
        self._log.put_base(BaseName(base.n, base.forgot), packed)
        return base, len(packed)

    def _note_base(self, base: LogEntry, size: int) -> None:
        with self._write_turn(OPEN_SECONDS), UserFile._transaction(self, OPEN_SECONDS) as connection:
            position = read_position(connection, self._log_id)
            since = 0 if position.n == base.n else position.since_bytes
            position = replace(
                position, base=base.n, base_bytes=size, since_bytes=since, forgot=max(position.forgot, base.forgot)
            )
            write_position(connection, position)
        self._note(position, self._known_file())

    def _scrub_here(self, deadline: Deadline) -> None:
        """Rewrite the replica's file, which had what was removed. In one's turn to write."""
        with translated(self.path):
            remove_copies(self.path)
            opened = self._open_writer()
            scrub(opened.connection, self._read_lock, deadline)
            with writing(opened.connection, self.path, OPEN_SECONDS):
                position = read_position(opened.connection, self._log_id)
                position = replace(position, scrubbed=position.removed)
                write_position(opened.connection, position)
        self._note(position, opened.file)
