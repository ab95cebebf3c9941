"""What a backup says of itself: every file in it, with its size and checksum. It is the last file to be written."""

import json
import os
import re
import unicodedata
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from ...errors import InvalidInput, NotFound
from ...model.frozen import frozen
from ..data_folder import NotRegular, open_regular

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
"""Of the manifest itself: those of a million users' files."""
_UNFINISHED: Final = re.compile(r"\.unfinished-[0-9a-f]{8}$")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_USERS: Final = "users/"
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
    return path.startswith(_USERS) and path.count("/") == 2 and path.endswith(".db")


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
    is_elsewhere = file.path.startswith(_USERS) and not is_of_user(file.path)
    return (
        is_portable(file.path)
        and not is_in_passing(file.path, skip)
        and not is_elsewhere
        and file.size >= 0
        and _DIGEST.fullmatch(file.sha256) is not None
    )
