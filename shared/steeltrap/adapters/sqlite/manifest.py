"""What a backup says of itself: every file in it, with its size and checksum. It is the last file to be written."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from pydantic import TypeAdapter, ValidationError

from ...errors import InvalidInput, NotFound
from ...model.frozen import frozen

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
    """A user's file that could not be copied, and why."""

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


def read_manifest(source: Path) -> Manifest:
    """The manifest of a backup. Raises NotFound, InvalidInput."""
    if not source.is_dir():
        raise NotFound(f"There is no folder {source}. To restore a deleted memory, run `steeltrap undo ID`.")
    try:
        text = (source / NAME).read_bytes()
    except FileNotFoundError:
        raise InvalidInput(
            f"{source} is not a finished backup: it has no {NAME}. The backup was interrupted, is still being made, "
            "or this is another folder. Nothing was restored."
        ) from None
    try:
        manifest = _READER.validate_json(text)
    except ValidationError:
        manifest = None
    if manifest is not None and manifest.format > _FORMAT:
        raise InvalidInput(
            f"{source} was made by a newer steeltrap ({manifest.steeltrap}). Nothing was restored: upgrade first."
        )
    if manifest is None or not all(_stays_inside(file.path) for file in manifest.files):
        raise InvalidInput(f"{source / NAME} is damaged: use another backup. Nothing was restored.")
    return manifest


def _stays_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts
