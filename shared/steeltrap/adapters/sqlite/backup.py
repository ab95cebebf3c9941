"""A backup of a data folder, made while others read and write it."""

import errno
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import apsw

from ...errors import Conflict, InvalidInput, NotFound
from ...ports import Clock
from ...version import VERSION
from ..data_folder import NotRegular, held
from .connection import OPEN_SECONDS, select, translate
from .copying import beside, copy_file, keep, make_folders, sync_all, sync_folder, translated_at
from .header import is_named_by_owner
from .manifest import NAME, Kept, LeftOut, Manifest, is_in_passing, is_portable
from .opening import connect
from .schema import has_own_schema, is_foreign

_USERS: Final = "users"
_EXPORTS: Final = "exports"
_SUFFIX: Final = ".db"
_UNPORTABLE: Final = "Its name has characters that not every system shows or takes: rename it."


def back_up(
    folder: Path,
    target: Path,
    clock: Clock,
    *,
    skip: Collection[str] = (),
    advance: Callable[[int, int], None] = lambda *_: None,
) -> Manifest:
    """Copy a data folder to a new folder, which is there only once it is complete.

    Each user's file is copied as of one moment; a user who is forgotten meanwhile is in the backup whole, or not at
    all. A file that can't be copied is left out and named, and doesn't stop the others. Hidden files, counters, those
    that `skip` names, and links are not copied. `advance` is called with the number of users that are done, and of all.
    Raises NotFound, Conflict, InvalidInput, Unavailable.
    """
    folder, target = folder.resolve(), target.absolute()
    _check(folder, target)
    began = clock.now()
    with translated_at(target), held(folder), beside(target) as part:
        files: list[Kept] = []
        left_out: list[LeftOut] = []
        paths = sorted(folder.glob(f"{_USERS}/*/*{_SUFFIX}"))
        users = 0
        for at, path in enumerate(paths):
            try:
                copied = _copy_user(folder, path, part)
                users += bool(copied)
                files += copied
            except apsw.Error as error:
                if isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_WRITE:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
                left_out.append(LeftOut(path.relative_to(folder).as_posix(), translate(error, path).message))
            advance(at + 1, len(paths))
        of_users = {_exports_of(folder, path) for path in paths}
        others = _files(folder, of_users | {folder / _USERS})
        names = [name for path in others if not is_in_passing(name := path.relative_to(folder).as_posix(), skip)]
        left_out += [LeftOut(ascii(name), _UNPORTABLE) for name in names if not is_portable(name)]
        files += _copy_others(folder, part, [name for name in names if is_portable(name)])
        manifest = Manifest(
            steeltrap=VERSION,
            began_at=began.isoformat(),
            finished_at=clock.now().isoformat(),
            users=users,
            files=tuple(files),
            left_out=tuple(left_out),
        )
        with open(os.open(part / NAME, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(manifest.as_json())
            file.flush()
            os.fsync(file.fileno())
        sync_all(part)
        part.rename(target)
        sync_folder(target.parent)
    return manifest


def _check(folder: Path, target: Path) -> None:
    if not folder.is_dir():
        raise NotFound(f"There is no data folder {folder}: name it with --data or STEELTRAP_DATA.")
    if target.exists():
        raise Conflict(f"{target} exists, and a backup never overwrites: name a new folder.")
    if target.resolve().is_relative_to(folder.resolve()):
        raise InvalidInput(f"{target} is inside the data folder: name a folder outside it, best on another disk.")
    if not target.parent.is_dir():
        raise NotFound(f"There is no folder {target.parent}: create it, or mount its disk.")


def _copy_user(folder: Path, path: Path, part: Path) -> list[Kept]:
    """Copy a user's file and exported files; nothing for a user who was forgotten."""
    name = path.relative_to(folder)
    copy, exports = part / name, _exports_of(folder, path)
    make_folders(copy.parent)
    try:
        with closing(connect(path)[0]) as source:
            source.set_busy_timeout(int(OPEN_SECONDS * 1000))
            generation = _copy_database(source, copy)
            names = [path.relative_to(folder).as_posix() for path in _files(exports, ())]
            files = _copy_others(folder, part, [name for name in names if not is_in_passing(name, ())])
            if generation is None or _generation(source) != generation:
                shutil.rmtree(part / exports.relative_to(folder), ignore_errors=True)
                copy.unlink()
                return []
            return [keep(copy, name.as_posix()), *files]
    except BaseException:
        copy.unlink(missing_ok=True)
        raise


def _copy_database(source: apsw.Connection, copy: Path) -> str | None:
    """Copy all of a file as of one moment; the generation of its space, None for an empty one.

    In one step, so in one read transaction: between steps, another process's write would restart the copy.
    """
    if is_foreign(source):
        raise apsw.NotADBError("a database of another program")
    with closing(connect(copy, new=True)[0]) as target:
        # It is brought to the disk as a whole, once it is complete.
        target.pragma("journal_mode", "off")
        target.pragma("synchronous", "off")
        with target.backup("main", source, "main") as copying:
            copying.step(-1)
    # `immutable`: the copy is in WAL mode too, and must not get a log.
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with closing(apsw.Connection(f"{copy.as_uri()}?immutable=1", flags=flags)) as copied:
        faults = select(copied, "PRAGMA quick_check(1)")
        if faults != [("ok",)]:
            raise apsw.CorruptError(str(faults))
        generation = _generation(copied)
        if generation is not None and not (has_own_schema(copied) and is_named_by_owner(copied, copy)):
            raise apsw.NotADBError("a database of another program or user")
        return generation


def _generation(connection: apsw.Connection) -> str | None:
    if not select(connection, "SELECT 1 FROM sqlite_schema WHERE name = 'meta'"):
        return None
    found = select(connection, "SELECT value FROM meta WHERE key = 'generation'")
    return str(found[0][0]) if found else None


def _exports_of(folder: Path, path: Path) -> Path:
    return folder / _EXPORTS / path.parent.name / path.stem


def _copy_others(folder: Path, part: Path, names: Iterable[str]) -> list[Kept]:
    """Copy files of the data folder. One that is removed or replaced meanwhile is left out."""
    copied = []
    for name in names:
        with suppress(FileNotFoundError, NotRegular):
            copied.append(copy_file(folder, part, name))
    return copied


def _files(of: Path, skip: Collection[Path]) -> Iterator[Path]:
    for above, folders, names in os.walk(of):
        folders[:] = [name for name in folders if not name.startswith(".") and Path(above, name) not in skip]
        yield from (path for name in names if (path := Path(above, name)).is_file() and not path.is_symlink())
