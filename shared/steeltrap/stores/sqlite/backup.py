"""A backup of a data folder: made while others read and write it, and put back as a whole or not at all."""

import errno
import json
import os
import re
import shutil
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Final

import apsw
from pydantic import TypeAdapter, ValidationError

from ...errors import Conflict, InvalidInput, NotFound, Unavailable
from ...local_files import is_full
from ...model.frozen import frozen
from ...ports import Clock
from ...version import VERSION
from ..data_folder import NotRegular, held, open_regular
from ..whole_files import make, sync
from .connection import OPEN_SECONDS, DiskFull, select, translate
from .header import is_named_by_owner, read_meta
from .opening import connect
from .schema import has_own_schema, is_foreign

NAME: Final = "steeltrap-backup.json"
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Kept:
    """A file of a backup: its path in the data folder, with slashes."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that could not be copied, and why."""

    path: str
    reason: str


@frozen
class Manifest:
    """A finished backup."""

    steeltrap: str
    began_at: str
    finished_at: str
    users: int
    files: tuple[Kept, ...]
    left_out: tuple[LeftOut, ...] = ()
    format: int = _FORMAT

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files)

    def as_json(self) -> bytes:
        return json.dumps(asdict(self), indent=1).encode() + b"\n"


_READER: Final = TypeAdapter(Manifest)
_MAX_BYTES: Final = 256 * 1024 * 1024
"""Bytes of the manifest itself: those of a million users' files."""
_UNFINISHED: Final = re.compile(r"\.unfinished-[0-9a-f]{8}$")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_USERS_PREFIX: Final = "users/"
_IN_PASSING: Final = "counters.db"
"""Counts of the current minute, and amounts that are measured anew."""
_MEANS_MORE: Final = frozenset("\\:" if os.name == "nt" else "")


def unfinished(target: Path, digits: str) -> Path:
    """Where a copy is made before it gets its name."""
    return target.with_name(f"{target.name}.unfinished-{digits}")


def is_in_passing(path: str, skip: Collection[str]) -> bool:
    """Whether a file of the data folder belongs to a running process: it is hidden, has counters, or is one of `skip`.
    Names that some file system takes for such a one count too."""
    parts = [unicodedata.normalize("NFKC", part).casefold().rstrip(" .") for part in path.split("/")]
    return any(part[:1] in ("", ".") or part.startswith(_IN_PASSING) for part in parts) or parts in [
        [name] for name in (NAME, *skip)
    ]


def is_portable(path: str) -> bool:
    """Whether a path names the same file below any folder and on any screen."""
    return path.isprintable() and _MEANS_MORE.isdisjoint(path)


def is_of_user(path: str) -> bool:
    """Whether a path is that of a user's file of memories."""
    return path.startswith(_USERS_PREFIX) and path.count("/") == 2 and path.endswith(".db")


def read_manifest(source: Path, *, skip: Collection[str] = ()) -> Manifest:
    """The manifest of a backup, which lists only what a backup has. Raises NotFound, InvalidInput, OSError."""
    if not source.is_dir():
        raise NotFound(f"There is no folder {source}. To restore a deleted memory, run `steeltrap undo ID`.")
    if _UNFINISHED.search(source.resolve().name):
        raise InvalidInput(
            f"{source} is not a finished backup: its name says that it was interrupted, or is still being made. "
            "Nothing was restored: use another backup, and delete this one."
        )
    try:
        with open_regular(source, NAME) as file:
            text = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        raise InvalidInput(
            f"{source} is not a finished backup: it has no {NAME}. The backup was interrupted, is still being made, "
            "or this is another folder. Nothing was restored."
        ) from None
    except NotRegular:
        text = b""
    try:
        manifest = _READER.validate_json(text if len(text) <= _MAX_BYTES else b"")
    except ValidationError:
        manifest = None
    if manifest is not None and manifest.format > _FORMAT:
        version = manifest.steeltrap if manifest.steeltrap.isprintable() else "unknown"
        raise InvalidInput(
            f"{source} was made by a newer steeltrap ({version[:32]}). Nothing was restored: upgrade first."
        )
    if manifest is None or not _is_of_a_backup(manifest, skip):
        raise InvalidInput(f"{source / NAME} is damaged: use another backup. Nothing was restored.")
    if not manifest.files:
        raise InvalidInput(f"{source} is an empty backup: it has no file. Nothing was restored.")
    return manifest


def _is_of_a_backup(manifest: Manifest, skip: Collection[str]) -> bool:
    """Whether a backup could have written it: other files are somebody else's addition."""
    names = {unicodedata.normalize("NFKC", file.path).casefold() for file in manifest.files}
    folders = {name[:at] for name in names for at, letter in enumerate(name) if letter == "/"}
    try:
        datetime.fromisoformat(manifest.began_at)
    except ValueError:
        return False
    return (
        manifest.began_at.isascii()
        and manifest.users == sum(is_of_user(file.path) for file in manifest.files)
        and len(names) == len(manifest.files)
        and names.isdisjoint(folders)
        and all(_is_of_backup(file, skip) for file in manifest.files)
    )


def _is_of_backup(file: Kept, skip: Collection[str]) -> bool:
    is_elsewhere = file.path.startswith(_USERS_PREFIX) and not is_of_user(file.path)
    return (
        is_portable(file.path)
        and not is_in_passing(file.path, skip)
        and not is_elsewhere
        and file.size >= 0
        and _DIGEST.fullmatch(file.sha256) is not None
    )


_BLOCK: Final = 1024 * 1024


def copy_file(source: Path, target: Path, name: str, most: int | None = None) -> Kept:
    """Copy the regular file of a name from one folder to another: all of it, or a block more than `most` bytes. Raises
    NotRegular, OSError: FileExistsError."""
    make((target / name).parent)
    digest, size = sha256(), 0
    with (
        open_regular(source, name) as reading,
        open(os.open(target / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as writing,
    ):
        while (most is None or size <= most) and (block := reading.read(_BLOCK)):
            writing.write(block)
            digest.update(block)
            size += len(block)
        writing.flush()
        os.fsync(writing.fileno())
    return Kept(name, size, digest.hexdigest())


def keep_copy(path: Path, name: str) -> Kept:
    """Bring a file that was written by another means to the disk."""
    digest = sha256()
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        while block := file.read(_BLOCK):
            digest.update(block)
        return Kept(name, file.tell(), digest.hexdigest())


@contextmanager
def folder_beside(target: Path) -> Iterator[Path]:
    """A folder beside the target, to be filled and renamed to it; it is removed if the block fails.

    One that a killed process left has a name that ends in `.unfinished-` and eight digits.
    """
    part = unfinished(target, token_hex(4))
    try:
        part.mkdir(mode=0o700)
        yield part
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def sync_all(folder: Path) -> None:
    """Bring the names in a folder, and in all below it, to the disk."""
    for path, _, _ in os.walk(folder):
        sync(Path(path))


@contextmanager
def translated_at(place: Path) -> Iterator[None]:
    """Turn the errors of the disk that is written to into ours."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise DiskFull(f"The disk of {place.parent} is full: free some space, or choose another disk.") from error
        at = error.filename2 or error.filename or place
        raise Unavailable(f"{error.strerror}: {at}.", retryable=False, part="store") from error


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
    left_out: Sequence[LeftOut] = (),
    advance: Callable[[int, int], None] = lambda *_: None,
) -> Manifest:
    """Copy a data folder to a new folder, which is there only once it is complete.

    Each user's file is copied as of one moment; a user who is forgotten meanwhile is in the backup whole, or not at
    all. A file that can't be copied is left out and named, and doesn't stop the others. Hidden files, counters, those
    that `skip` names, and links are not copied. `left_out` is what the folder lacks already. `advance` is called with
    the number of users that are done, and of all. Raises NotFound, Conflict, InvalidInput, Unavailable.
    """
    folder, target = folder.resolve(), target.absolute()
    _check(folder, target)
    began = clock.now()
    with translated_at(target), held(folder), folder_beside(target) as part:
        files: list[Kept] = []
        left_out = list(left_out)
        paths = sorted(folder.glob(f"{_USERS}/*/*{_SUFFIX}"))
        users = 0
        for at, path in enumerate(paths):
            try:
                copied = _copy_user(folder, path, part)
                users += bool(copied)
                files += copied
            except (apsw.Error, UnicodeDecodeError) as error:
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
        sync(target.parent)
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
    make(copy.parent)
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
            return [keep_copy(copy, name.as_posix()), *files]
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
    generation = read_meta(connection).get("generation")
    return generation and str(generation)


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


@dataclass(frozen=True, slots=True)
class Restored:
    """Result of a restore, and where the folder that was there before is kept."""

    manifest: Manifest
    kept: Path | None


def restore(
    source: Path,
    folder: Path,
    clock: Clock,
    *,
    skip: Collection[str] = (),
    replace: bool = False,
    advance: Callable[[int, int], None] = lambda *_: None,
) -> Restored:
    """Restore a backup into a new or empty data folder, or with `replace` in place of the one that is there.

    Only what a backup has is taken, so nothing that `skip` names. Every file is copied beside the folder and compared
    with its checksum, and a user's file is looked into, before anything changes. `advance` is called with the number of
    bytes that are copied, and of all. Raises NotFound, Conflict, InvalidInput, Unavailable.
    """
    source, folder = source.absolute(), folder.resolve()
    with translated_at(source):
        manifest = read_manifest(source, skip=skip)
    with translated_at(folder), held(folder, alone=True):
        _check_place(source, folder, replace=replace)
        make(folder.parent)
        with folder_beside(folder) as part:
            copied = 0
            for file in manifest.files:
                _copy_back(source, part, file)
                copied += file.size
                advance(copied, manifest.size)
            (part / "users").mkdir(mode=0o700, exist_ok=True)
            sync_all(part)
            former_folder = _swap(part, folder, f"{folder.name}.before-{clock.now():%Y%m%d-%H%M%S}")
    return Restored(manifest, former_folder)


def _copy_back(source: Path, part: Path, file: Kept) -> None:
    """Copy a file of a backup. Raises InvalidInput for one that is not what the backup wrote."""
    try:
        intact = copy_file(source, part, file.path, most=file.size) == file
    except (FileNotFoundError, NotADirectoryError):
        intact = False
    except NotRegular as error:
        raise InvalidInput(
            f"{error.args[0]} is a link, a pipe, a device or a folder, and a backup has none in place of a file: use "
            "another backup. Nothing was restored."
        ) from None
    if not intact:
        raise InvalidInput(f"{source / file.path} is damaged or missing: use another backup. Nothing was restored.")
    if is_of_user(file.path) and not _is_of_its_user(part / file.path):
        raise InvalidInput(
            f"{source / file.path} is not a file of memories that steeltrap wrote for this user: use another backup. "
            "Nothing was restored."
        )


def _is_of_its_user(path: Path) -> bool:
    """Whether a file is a database of the product's own, of the user whose name it has."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        # `immutable`: it is in WAL mode, and must not get a log.
        with closing(apsw.Connection(f"{path.as_uri()}?immutable=1", flags=flags)) as connection:
            if not has_own_schema(connection) or select(connection, "PRAGMA quick_check(1)") != [("ok",)]:
                return False
            return is_named_by_owner(connection, path)
    except apsw.Error:
        return False


def _check_place(source: Path, folder: Path, *, replace: bool) -> None:
    if folder.resolve().is_relative_to(source.resolve()):
        raise InvalidInput(f"{folder} is inside the backup: name a data folder outside it with --data.")
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder} is not a folder: name another one with --data.")
    if folder.is_mount():
        raise InvalidInput(
            f"{folder} is where a disk is mounted, so it can't be replaced as a whole: restore into a folder below it, "
            f"such as --data {folder / 'data'}, and set STEELTRAP_DATA to that."
        )
    if not replace and folder.is_dir() and any(folder.iterdir()):
        raise Conflict(
            f"{folder} is not empty: name a new folder with --data, or pass --replace to restore in its place. The "
            "folder that is there is then kept beside it."
        )


def _swap(part: Path, folder: Path, aside: str) -> Path | None:
    """Rename the folder that is there, unless it is empty, then the new one to its name."""
    with suppress(FileNotFoundError):
        if any(folder.iterdir()):
            former_folder = folder.with_name(aside)
            folder.rename(former_folder)
            try:
                part.rename(folder)
            except BaseException:
                former_folder.rename(folder)
                raise
            sync(folder.parent)
            return former_folder
        folder.rmdir()
    part.rename(folder)
    sync(folder.parent)
    return None
