"""The run of an import: recorded while it goes on, listed with what it did, and taken back whole.

Each memory carries the id of the import that wrote it, and the version that it wrote. So an undo knows which memories
the import created and changed, and which were changed since. An undo purges the created ones, so that the same file can
be imported again. It leaves those that were changed since, and lists them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Final
from uuid import uuid4

from ..changes.images import entry, replaced, stepped_back
from ..errors import Conflict, InvalidInput, NotFound, SteeltrapError, Unavailable, VersionConflict
from ..model import Import, Memory, later
from ..model.frozen import frozen
from ..ports import OfImport
from ..processes import has_died
from ..text.dates import in_zone, minute_text
from ..text.json_limits import check_json
from ..text.limits import canonical, start_of
from .call import Call
from .saving import embed_memories

_BLOCK: Final = 2000
_READ_AT_ONCE: Final = 500
_MAX_NAME: Final = 400


@frozen
class ImportPage:
    """A page of imports, the latest first, and how many there are in all."""

    imports: list[Import]
    total: int


@frozen
class ImportUndone:
    """Result of an undo: how many memories and messages went, how many have their earlier text again, and the
    memories that were left because they were changed since. `more` says that time ran out before all was done."""

    run: Import
    removed: int
    restored: int
    changed_memories: list[Memory]
    more: bool = False


@contextmanager
def recorded(call: Call, name: str, formats: Sequence[str] = (), *, id: str | None = None) -> Iterator[Import]:
    """Record an import that one call makes, and give the call its id. Calls with the same `id`, a UUID, are one import.

    The caller records the end by `finish` after the block. Raises InvalidInput for another id, and Conflict for that
    of an import that was taken back.
    """
    run = begin(call, name, formats) if id is None else _continued(call, name, formats, id)
    call.import_id = run.id
    try:
        yield run
    except BaseException:
        with suppress(SteeltrapError):
            stop(call, run)
        raise


def begin(
    call: Call, name: str, formats: Sequence[str] = (), *, process: str | None = None, id: str | None = None
) -> Import:
    """Record an import that begins."""
    run = Import(
        id=id or str(uuid4()),
        name=name.encode(errors="replace").decode().replace("\x00", "\ufffd")[:_MAX_NAME],
        started_at=call.now(),
        formats=tuple(formats),
        agent_id=call.caller.agent_id,
        process=process,
    )
    check_json(run.name, where="the name of the import")
    return note(call, run)


def note(call: Call, run: Import) -> Import:
    """Record how far an import is. For as long as the call may take, it counts as running."""
    run = replace(run, busy_until=later(call.now(), timedelta(seconds=call.deadline.left())), finished_at=None)
    call.space.put_import(run)
    return run


def finish(call: Call, run: Import) -> Import:
    """Record that an import is complete."""
    run = replace(run, busy_until=None, process=None, finished_at=call.now())
    call.space.put_import(run)
    return run


def stop(call: Call, run: Import) -> Import:
    """Record that an import ended before it was complete."""
    run = replace(run, busy_until=None, process=None)
    call.space.put_import(run)
    return run


def list_imports(call: Call, *, limit: int, offset: int = 0) -> ImportPage:
    """The imports, the latest first."""
    every = call.space.imports()
    return ImportPage(imports=every[offset : offset + limit], total=len(every))


def find_import(call: Call, id: str) -> Import:
    """The import of an id, or of the start of one. Raises NotFound, or InvalidInput for a start that several have."""
    start = start_of(id)
    matches = [run for run in call.space.imports() if start and run.id.startswith(start)]
    if not matches:
        raise NotFound(f"There is no import {id[:60]}. `steeltrap imports` lists them.")
    if len(matches) > 1:
        raise InvalidInput(f"{len(matches)} imports have ids that begin with {id}; give more of the id.")
    return matches[0]


def is_running(call: Call, run: Import) -> bool:
    """Whether an import may still write."""
    if run.finished_at is not None or run.undone_at is not None or run.busy_until is None:
        return False
    return run.busy_until > call.now() and not (run.process is not None and has_died(run.process))


def state_of(call: Call, run: Import) -> str:
    """running, unfinished (it was stopped or killed), complete, or undone."""
    if run.undone_at is not None:
        return "undone"
    if run.finished_at is not None:
        return "complete"
    return "running" if is_running(call, run) else "unfinished"


def undo_import(call: Call, id: str) -> ImportUndone:
    """Take back what an import did: what it created is purged, what it changed gets its earlier image again.

    What was changed since, by whomever, is left. What an import found already there was never its own. Repeated after
    an interruption, it goes on. Raises NotFound, and Conflict for an import that is running or was taken back before.
    """
    run = find_import(call, id)
    if run.undone_at is not None:
        raise Conflict(
            f"Import {run.id} was taken back already, at {minute_text(run.undone_at, call.zone)}.", id=run.id
        )
    if is_running(call, run):
        end = in_zone(run.busy_until or call.now(), call.zone)
        raise Conflict(
            f"Import {run.id} is running. Stop it or wait until it has ended, then take it back. If its process was "
            f"killed elsewhere, it counts as ended from {end:%H:%M:%S %Z} on.",
            id=run.id,
        )
    call.space.check_purge()
    ids = call.space.find(OfImport(run.id))
    removed_count = restored_count = 0
    changed_since: list[Memory] = []
    try:
        for start in range(0, len(ids), _BLOCK):
            created, updates, others = _sorted_out(call, run, ids[start : start + _BLOCK])
            changed_since += others
            removed_count += len(call.space.purge(created)) if created else 0
            for memory, image in updates:
                if _restore(call, memory, image):
                    restored_count += 1
                else:
                    changed_since.append(memory)
    except Unavailable:
        if not (removed_count or restored_count):
            raise
        return ImportUndone(
            run=run, removed=removed_count, restored=restored_count, changed_memories=changed_since, more=True
        )
    run = replace(run, undone_at=call.now(), busy_until=None, process=None, kept=len(changed_since))
    call.space.put_import(run)
    return ImportUndone(run=run, removed=removed_count, restored=restored_count, changed_memories=changed_since)


def _continued(call: Call, name: str, formats: Sequence[str], id: str) -> Import:
    canonical_id = canonical(id.lower())
    if not canonical_id:
        raise InvalidInput("`import_id` must be a UUID, the same one for each call of the import.")
    run = next((run for run in call.space.imports() if run.id == canonical_id), None)
    if run is None:
        return begin(call, name, formats, id=canonical_id)
    if run.undone_at is not None:
        raise Conflict(f"Import {run.id} was taken back; use another `import_id` for another import.", id=run.id)
    return note(call, run)


def _sorted_out(
    call: Call, run: Import, ids: Sequence[str]
) -> tuple[list[str], list[tuple[Memory, Memory]], list[Memory]]:
    """The ids of what the import created, what it changed with the image before, and what was changed since."""
    created: list[str] = []
    updates: list[tuple[Memory, Memory]] = []
    changed_since: list[Memory] = []
    for start in call.in_time(range(0, len(ids), _READ_AT_ONCE)):
        for memory in call.space.get(ids[start : start + _READ_AT_ONCE], deleted=True).values():
            before = _before(call, run, memory)
            if memory.import_id != run.id or not _is_as_imported(memory):
                changed_since.append(memory)
            elif before is None:
                created.append(memory.id)
            elif memory.deleted_at is not None:
                changed_since.append(memory)
            else:
                updates.append((memory, before))
    return created, updates, [memory for memory in changed_since if memory.deleted_at is None]


def _is_as_imported(memory: Memory) -> bool:
    """Whether nobody changed it since; that somebody only deleted it is what the undo does too."""
    deleted = memory.deleted_at is not None
    return memory.import_version is not None and memory.version <= memory.import_version + deleted


def _before(call: Call, run: Import, memory: Memory) -> Memory | None:
    """The image that an import changed; None for what the import created."""
    if memory.version == 1:
        return None
    images = [revision.memory for revision in call.space.revisions(memory.id)]
    others = [image for image in images if image.import_id != run.id]
    own = [image.version for image in (*images, memory) if image.import_id == run.id]
    earlier = [image for image in others if image.version < min(own, default=0)]
    return max(earlier, key=lambda image: image.version, default=None)


def _restore(call: Call, memory: Memory, image: Memory) -> bool:
    """Make the image before an import the new version. False if the memory was changed in between."""
    by = call.author()
    restored = stepped_back(memory, image, by)
    if image.import_version == image.version:
        restored = replace(restored, import_version=restored.version)
    [embeddings] = embed_memories(call, [restored])
    try:
        call.commit([replaced(memory, entry(restored, embeddings), by)])
    except VersionConflict:
        return False
    return True
