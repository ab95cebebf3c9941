"""Files: a text at a path, stored as one memory whose id follows from the path.

A file is edited as any memory is, with the version that was read, so history, undo and search know it. A deleted file
leaves its image in its place; a new file at that path takes the place over, and its history goes on. Directories are
not stored: a directory is there as long as a file is below it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ..changes.images import deletion, replaced
from ..errors import AlreadyExists, Conflict, InvalidInput, NotFound, TooLarge, Unavailable, VersionConflict
from ..model import MAX_FILE_BYTES, Draft, Edit, JsonObject, Memory
from ..model.frozen import frozen
from ..ports import Create, Replace
from ..text.file_paths import ROOT, directory_scope, file_scope, parents
from ..text.limits import PATH, check_metadata, file_id, is_file
from .call import Call
from .deleting import delete, delete_all
from .reading import memories_in
from .saving import compose, creations
from .secrets import check_name
from .updating import commit_edits

BLANK: Final = "blank"
"""The key of the text of a file that has nothing but white space, which no memory's content can be."""
EMPTY: Final = "(empty file)"
_PAGE: Final = 200
_FILES_AT_ONCE: Final = 20
_BYTES_AT_ONCE: Final = 1024 * 1024


@frozen
class File:
    """A file: its path, its text and the memory that it is."""

    path: str
    text: str
    memory: Memory

    @property
    def size(self) -> int:
        return len(self.text.encode())


def find_file(call: Call, path: str) -> File | None:
    """The file of a path; None where there is none."""
    id = file_id(path)
    memory = call.space.get([id]).get(id)
    return None if memory is None else _file(path, memory)


def read_file(call: Call, path: str) -> File | None:
    """The same, counted as a reading."""
    file = find_file(call, path)
    if file is not None:
        call.space.note_access([file.memory.id], call.now())
    return file


def files_below(call: Call, directory: str) -> Iterator[File]:
    """The files of a directory and of the directories below it, newest first."""
    # Other toolsets may save in this scope too: a file is what lies under the id of its path.
    for memory in call.in_time(memories_in(call, directory_scope(directory), block=_PAGE)):
        path = str(memory.metadata.get(PATH, ""))
        if path.startswith(f"{directory}/") and is_file(memory):
            yield _file(path, memory)


def is_directory(call: Call, path: str) -> bool:
    """Whether a file is below a path, or it is the root."""
    return path == ROOT or next(files_below(call, path), None) is not None


def create_file(call: Call, path: str, text: str) -> File:
    """A new file. Raises AlreadyExists, InvalidInput for a path below a file, TooLarge.

    A call that is repeated under its idempotency key answers the file that it created.
    """
    if is_directory(call, path):
        raise _exists(path)

    def write(_: None) -> File:
        file = find_file(call, path)
        if file is not None and call.idempotency_key is not None and file.text == text:
            return file
        if file is not None:
            raise _exists(path)
        _check_parents(call, path)
        return _write(call, [(path, text)], [])[0]

    return call.change(lambda: None, write)


def edit_file(call: Call, path: str, change: Callable[[str], str]) -> File:
    """The file after a change of its text, which is made again if another write came in between.

    Raises NotFound, TooLarge, and what `change` raises.
    """

    def read() -> File:
        file = find_file(call, path)
        if file is None and is_directory(call, path):
            raise InvalidInput(f"The path {path} is not a file.")
        if file is None:
            raise missing(path, " Please provide a valid path.")
        return file

    def write(file: File) -> File:
        content, metadata = _stored(path, change(file.text))
        edit = Edit(content=content, metadata={BLANK: None, **metadata}, max_bytes=MAX_FILE_BYTES)
        return _file(path, commit_edits(call, [(file.memory, edit)])[0])

    return call.change(read, write)


def delete_path(call: Call, path: str) -> list[str]:
    """Delete a file, or all files of a directory; undo brings each of them back. The ids.

    Raises NotFound, InvalidInput for the root, Unavailable where time ran out before all were deleted.
    """
    if path == ROOT:
        raise InvalidInput(f"Cannot delete the {ROOT} directory itself")
    file = find_file(call, path)
    if file is not None:
        return [delete(call, file.memory.id).id]
    ids = [file.memory.id for file in files_below(call, path)]
    if not ids:
        raise missing(path)
    result = delete_all(call, ids)
    if result.more:
        raise Unavailable(
            f"{len(result.ids):,} of {len(ids):,} files of {path} were deleted in time; delete it again for the rest.",
            part="store",
        )
    return result.ids


def rename_path(call: Call, old: str, new: str) -> list[File]:
    """Move a file, or all files of a directory, to another path. Each file is deleted at the old path and created at
    the new one in one commit. A small directory takes one commit.

    Raises NotFound, AlreadyExists, InvalidInput for the root and for a directory that would be below itself.
    """
    if ROOT in (old, new):
        raise InvalidInput(f"Cannot rename the {ROOT} directory itself")

    file = find_file(call, old)
    files = [file] if file is not None else list(files_below(call, old))
    if not files:
        raise missing(old)
    if new == old or find_file(call, new) is not None or is_directory(call, new):
        raise AlreadyExists(f"The destination {new} already exists", id=file_id(new))
    if new.startswith(f"{old}/"):
        raise InvalidInput(f"Cannot move {old} below itself, to {new}")
    _check_parents(call, new)
    targets = {file.path: new + file.path.removeprefix(old) for file in files}
    return [
        file for group in _groups(files) for file in _moved(call, {each.path: targets[each.path] for each in group})
    ]


def _moved(call: Call, targets: Mapping[str, str]) -> list[File]:
    """Move files to the paths that are given by their own, in one commit; one that has gone since is left out."""

    def read() -> list[File]:
        for path in targets.values():
            if find_file(call, path) is not None:
                raise AlreadyExists(f"The destination {path} already exists", id=file_id(path))
        return [file for path in targets if (file := find_file(call, path)) is not None]

    def write(files: list[File]) -> list[File]:
        texts = [(targets[file.path], file.text) for file in files]
        return _write(call, texts, [file.memory for file in files])

    return call.change(read, write)


def missing(path: str, advice: str = "") -> NotFound:
    """The error for a path at which there is nothing."""
    return NotFound(f"The path {path} does not exist{'.' if advice else ''}{advice}")


def _exists(path: str) -> Conflict:
    return AlreadyExists(f"File {path} already exists", id=file_id(path))


def _overwritten_error(id: str) -> VersionConflict:
    return VersionConflict("Another file was written at this path in between: repeat the change.", id=id)


def _check_parents(call: Call, path: str) -> None:
    above = {file_id(directory): directory for directory in parents(path)}
    files = call.space.get(list(above)) if above else {}
    for id in files:
        raise InvalidInput(f"The path {above[id]} is a file, so nothing can be below it; choose another directory.")


def _groups(files: Sequence[File]) -> Iterator[list[File]]:
    """The files in groups that every store can write in one transaction."""
    group: list[File] = []
    for file in files:
        if group and (len(group) == _FILES_AT_ONCE or sum(each.size for each in group) + file.size > _BYTES_AT_ONCE):
            yield group
            group = []
        group.append(file)
    yield group


def _write(call: Call, texts: Sequence[tuple[str, str]], old_memories: Sequence[Memory]) -> list[File]:
    """Write new files and delete others, in one commit. Raises VersionConflict where another write came first."""
    drafts = [_draft(call, path, text) for path, text in texts]
    composed = [(draft, compose(call, draft, id=file_id(path))) for draft, (path, _) in zip(drafts, texts, strict=True)]
    changes = [_in_place(call, creation) for creation in creations(call, composed, surroundings=True)]
    if purges := bool(old_memories) and not call.rules.retention:
        call.space.check_purge()
    by = call.author()
    try:
        call.commit([*changes, *(deletion(memory, by) for memory in old_memories)])
    except AlreadyExists as conflict:
        raise _overwritten_error(conflict.id) from conflict
    if purges:
        call.space.purge([memory.id for memory in old_memories])
    return [_file(path, change.entry.memory) for (path, _), change in zip(texts, changes, strict=True)]


def _in_place(call: Call, new: Create) -> Create | Replace:
    """The change that writes a new file where an earlier file of its path was deleted, or is none.

    The text of a file that was deleted joins the history, unless it is too old to be brought back.
    """
    memory = new.entry.memory
    old = call.space.get([memory.id], deleted=True).get(memory.id)
    if old is None:
        return new
    if old.is_visible(call.now()):
        raise _overwritten_error(old.id)
    if old.deleted_at is None or call.now() - old.deleted_at >= call.rules.retention:
        call.space.purge([old.id])
        return new
    by = call.author()
    at = max(by.at, old.updated_at)
    image = replace(memory, version=old.version + 1, created_at=old.created_at, updated_at=at, updated_by=by.agent_id)
    return replaced(replace(old, deleted_at=None), replace(new.entry, memory=image), by)


def _draft(call: Call, path: str, text: str) -> Draft:
    check_name(call, PATH, path)
    content, metadata = _stored(path, text)
    return Draft(content=content, metadata=metadata, scope=file_scope(path), max_bytes=MAX_FILE_BYTES)


def _stored(path: str, text: str) -> tuple[str, JsonObject]:
    """The content and the metadata of a file's text. Raises TooLarge."""
    size = len(text.encode())
    if size > MAX_FILE_BYTES:
        raise TooLarge(
            f"The file {path} would be {size:,} bytes; at most {MAX_FILE_BYTES:,} fit. Split it into several files."
        )
    if text.strip():
        return text, {PATH: path}
    blank: JsonObject = {PATH: path, BLANK: text}
    try:
        check_metadata(blank)
    except TooLarge:
        raise TooLarge(
            f"The file {path} would be {size:,} bytes of white space and nothing else, which is too much; leave it out."
        ) from None
    return EMPTY, blank


def _file(path: str, memory: Memory) -> File:
    blank = memory.metadata.get(BLANK)
    is_blank = memory.content == EMPTY and isinstance(blank, str)
    return File(path=path, text=str(blank) if is_blank else memory.content, memory=memory)
