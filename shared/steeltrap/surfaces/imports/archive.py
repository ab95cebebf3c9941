"""ZIP archives: their members as streams, within bounds. Nothing is unpacked to disk.

The directory is read once for all members. A member's declared size is as far as it is read, so the bounds hold
whatever the archive really contains.
"""

import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from ...errors import InvalidInput
from .parts import Flaw, LeftOut

SIGNATURES: Final = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
MAX_MEMBERS: Final = 100_000
MAX_BYTES: Final = 64 * 1024**3
MAX_RATIO: Final = 200
"""Chats and notes shrink to a tenth, the most repetitive ones to a fiftieth."""
MAX_DIRECTORY_BYTES: Final = 32 * 1024 * 1024
"""100,000 entries with paths of 200 characters take 25 MiB."""
_MAX_ENTRIES: Final = 2 * MAX_MEMBERS
_SMALL: Final = 16 * 1024 * 1024
_ENTRY: Final = b"PK\x01\x02"
_HEADER: Final = 30
"""The bytes of a member's header without its name."""
_READ: Final = (".json", ".jsonl", ".ndjson", ".md", ".markdown", ".txt", ".csv", ".tsv")
_DAMAGE: Final = (BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive, with its size as the archive declares it."""

    name: str
    size: int
    open: Callable[[], io.RawIOBase]


class _TooMany(Exception):
    """The directory has more entries than are read."""


def members(path: Path, name: str) -> Iterator[Member | Flaw | LeftOut]:
    """The members that may hold memories. Raises InvalidInput if the archive can't be read or exceeds the bounds."""
    try:
        whole = _Whole(path)
    except _TooMany:
        raise InvalidInput(f"{name} has too many files; at most {MAX_MEMBERS:,} are read from an archive.") from None
    except _DAMAGE:
        raise InvalidInput(f"{name} is a damaged or incomplete ZIP archive. Download it again.") from None
    infos = [info for info in whole.infolist() if not info.is_dir()]
    if len(infos) > MAX_MEMBERS:
        raise InvalidInput(f"{name} has {len(infos):,} files; at most {MAX_MEMBERS:,} are read from an archive.")
    if sum(info.file_size for info in infos) > MAX_BYTES:
        raise InvalidInput(f"{name} would unpack to over {MAX_BYTES // 1024**3} GiB. Import its files one by one.")
    last = {info.filename: info for info in infos}
    sharing = _sharing(infos, path.stat().st_size)
    swollen = 0
    for info in sorted(infos, key=lambda info: info.filename):
        if info.file_size > MAX_RATIO * info.compress_size:
            swollen += min(info.file_size, _SMALL) + 1
        if last[info.filename] is not info:
            yield _flaw(info, "the archive has several files of this name; only the last one is read.")
        elif info.header_offset in sharing:
            yield _flaw(info, "it shares its bytes with other files of the archive, as in a ZIP bomb.")
        else:
            yield _member(whole, info, swollen)


def _sharing(infos: list[ZipInfo], size: int) -> set[int]:
    """Where members begin that reach into the next one, or beyond the archive's end."""
    ordered = sorted(infos, key=lambda info: info.header_offset)
    ends = [*(info.header_offset for info in ordered[1:]), size]
    return {
        info.header_offset
        for info, end in zip(ordered, ends, strict=True)
        if info.header_offset + _HEADER + info.compress_size > end
    }


def _flaw(info: ZipInfo, sentence: str) -> Flaw:
    return Flaw(where=info.filename, at=0, sentence=sentence)


def _member(whole: ZipFile, info: ZipInfo, swollen: int) -> Member | Flaw | LeftOut:
    """A member. `swollen` is how much has been unpacked to over 200 times its size, with this one."""
    inside = PurePosixPath(info.filename.replace("\\", "/"))
    if not inside.parts or inside.is_absolute() or ".." in inside.parts or ":" in inside.parts[0]:
        return _flaw(info, "the path leads out of the archive, so the file is not read.")
    if inside.suffix.lower() not in _READ or any(part.startswith((".", "__MACOSX")) for part in inside.parts):
        return LeftOut(what="files of other formats")
    if info.flag_bits & 1:
        return _flaw(info, "the file is encrypted. Unpack the archive with its password.")
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):  # of the others Python unpacks a block of any size at once
        return _flaw(info, "it is compressed by another method than Deflate. Unpack the archive, or pack it again.")
    if info.file_size > MAX_RATIO * info.compress_size and (swollen > 2 * _SMALL or info.file_size > _SMALL):
        return _flaw(info, f"the file would unpack to over {MAX_RATIO} times its size, as a ZIP bomb does.")
    return Member(info.filename, info.file_size, lambda: _Stream(whole, info))


class _Archive(io.FileIO):
    """The file of an archive. A directory that is too long is refused before anything is made of it."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MAX_DIRECTORY_BYTES:
            raise _TooMany
        data = super().read(-1 if size is None else size) or b""
        if len(data) > _MAX_ENTRIES and data.count(_ENTRY) > _MAX_ENTRIES:
            raise _TooMany
        return data


class _Whole(ZipFile):
    """An archive that is open as long as it, or a member of it, is used."""

    def __init__(self, path: Path) -> None:
        self._archive = _Archive(path)
        try:
            super().__init__(self._archive)
        except BaseException:
            self._archive.close()
            raise

    def close(self) -> None:
        super().close()
        self._archive.close()


class _Stream(io.RawIOBase):
    """A member's bytes. At a damaged place it ends, and `damaged` is true from then on."""

    def __init__(self, whole: ZipFile, info: ZipInfo) -> None:
        self.damaged = False
        self._at = 0
        self._whole = whole
        self._file = self._open(whole, info)

    def _open(self, whole: ZipFile, info: ZipInfo) -> Any:
        try:
            return whole.open(info)
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
        super().close()
