"""Putting a backup in place of a data folder: all of it, or nothing."""

from collections.abc import Callable, Collection
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import apsw

from ...errors import Conflict, InvalidInput
from ...ports import Clock
from ..data_folder import NotRegular, held
from .backup import (
    Kept,
    Manifest,
    copy_file,
    folder_beside,
    is_of_user,
    make_folders,
    read_manifest,
    sync_all,
    sync_folder,
    translated_at,
)
from .connection import select
from .header import is_named_by_owner
from .schema import has_own_schema


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
        _check(source, folder, replace=replace)
        make_folders(folder.parent)
        with folder_beside(folder) as part:
            copied = 0
            for file in manifest.files:
                _copy(source, part, file)
                copied += file.size
                advance(copied, manifest.size)
            (part / "users").mkdir(mode=0o700, exist_ok=True)
            sync_all(part)
            former_folder = _swap(part, folder, f"{folder.name}.before-{clock.now():%Y%m%d-%H%M%S}")
    return Restored(manifest, former_folder)


def _copy(source: Path, part: Path, file: Kept) -> None:
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


def _check(source: Path, folder: Path, *, replace: bool) -> None:
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
            sync_folder(folder.parent)
            return former_folder
        folder.rmdir()
    part.rename(folder)
    sync_folder(folder.parent)
    return None
