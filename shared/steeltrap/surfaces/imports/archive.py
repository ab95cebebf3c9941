"""ZIP archives: their members as streams, within bounds. Nothing is unpacked to disk.

A member's declared size is as far as it is read, so the bounds hold whatever the archive really contains.
"""

import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final
from zipfile import BadZipFile, ZipFile, ZipInfo

from ...errors import InvalidInput
from .parts import Flaw, LeftOut

SIGNATURES: Final = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
MAX_MEMBERS: Final = 100_000
MAX_BYTES: Final = 64 * 1024**3
MAX_RATIO: Final = 200
"""Chats and notes shrink to a tenth, the most repetitive ones to a fiftieth."""
_SMALL: Final = 16 * 1024 * 1024
_READ: Final = (".json", ".jsonl", ".ndjson", ".md", ".markdown", ".txt", ".csv", ".tsv")
_DAMAGE: Final = (BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive, with its size as the archive declares it."""

    name: str
    size: int
    open: Callable[[], BinaryIO]


def members(path: Path, name: str) -> Iterator[Member | Flaw | LeftOut]:
    """The members that may hold memories. Raises InvalidInput if the archive can't be read or exceeds the bounds."""
    try:
        with ZipFile(path) as whole:
            infos = [info for info in whole.infolist() if not info.is_dir()]
    except _DAMAGE:
        raise InvalidInput(f"{name} is a damaged or incomplete ZIP archive. Download it again.") from None
    if len(infos) > MAX_MEMBERS:
        raise InvalidInput(f"{name} has {len(infos):,} files; at most {MAX_MEMBERS:,} are read from an archive.")
    if sum(info.file_size for info in infos) > MAX_BYTES:
        raise InvalidInput(f"{name} would unpack to over {MAX_BYTES // 1024**3} GiB. Import its files one by one.")
    for info in sorted(infos, key=lambda info: info.filename):
        yield _member(path, info)


def _member(path: Path, info: ZipInfo) -> Member | Flaw | LeftOut:
    inside = PurePosixPath(info.filename.replace("\\", "/"))
    if inside.is_absolute() or ".." in inside.parts or ":" in inside.parts[0]:
        return Flaw(where=info.filename, at=0, sentence="the path leads out of the archive, so the file is not read.")
    if inside.suffix.lower() not in _READ or any(part.startswith((".", "__MACOSX")) for part in inside.parts):
        return LeftOut(what="files of other formats")
    if info.flag_bits & 1:
        return Flaw(where=info.filename, at=0, sentence="the file is encrypted. Unpack the archive with its password.")
    if info.file_size > _SMALL and info.file_size > MAX_RATIO * info.compress_size:
        return Flaw(
            where=info.filename,
            at=0,
            sentence=f"the file would unpack to over {MAX_RATIO} times its size, as a ZIP bomb does.",
        )
    return Member(info.filename, info.file_size, lambda: io.BufferedReader(_Stream(path, info)))


class _Stream(io.RawIOBase):
    """A member's bytes. At a damaged place it ends, and `damaged` is true from then on."""

    def __init__(self, path: Path, info: ZipInfo) -> None:
        self.damaged = False
        self._at = 0
        self._archive = ZipFile(path)
        self._file = self._open(info)

    def _open(self, info: ZipInfo) -> Any:
        try:
            return self._archive.open(info)
        except _DAMAGE:
            self.damaged = True
            return io.BytesIO()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._file.read(len(buffer))
        except _DAMAGE:
            self.damaged = True
            data = b""
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        self._file.close()
        self._archive.close()
        super().close()
