"""From a path to its documents: a file, the members of a ZIP archive, the files of a folder.

Nothing is unpacked to disk: members are streams, within bounds. An archive's directory is read once for all members.
A member's declared size is as far as it is read, so the bounds hold whatever the archive really contains.
"""

import codecs
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Final, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from ..errors import InvalidInput, NotFound
from ..local_files import writing_temporary
from ..model.frozen import frozen
from .items import OTHER_FILES, Flaw, LeftOut, flaw_of_file

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
    return Flaw(where=info.filename, at=0, sentence=sentence, file=info.filename)


def _member(whole: ZipFile, info: ZipInfo, swollen: int) -> Member | Flaw | LeftOut:
    """A member. `swollen` is how much has been unpacked to over 200 times its size, with this one."""
    inside = PurePosixPath(info.filename.replace("\\", "/"))
    if not inside.parts or inside.is_absolute() or ".." in inside.parts or ":" in inside.parts[0]:
        return _flaw(info, "the path leads out of the archive, so the file is not read.")
    if inside.suffix.lower() not in _READ or any(part.startswith((".", "__MACOSX")) for part in inside.parts):
        return LeftOut(kind=OTHER_FILES, file=info.filename)
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


_UTF_16: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_NOT_UTF_16: Final = "the file begins as UTF-16 and is not valid UTF-16 after that. Save it as UTF-8."
_BLOCK: Final = 1024 * 1024
_BUFFER: Final = 64 * 1024


@frozen
class Document:
    """One thing to read. `name` is its path below the imported folder or inside of the archive.

    `path` is the file that it is in, `member` tells whether that is an archive.
    """

    name: str
    path: Path
    size: int
    member: bool = False
    open: Callable[[], BinaryIO]

    @property
    def suffix(self) -> str:
        return Path(self.name).suffix.lower()

    def text(self) -> BinaryIO:
        """Its bytes, in UTF-8 where it says that it is UTF-16. Raises InvalidInput, and Unavailable where that
        finds no room."""
        file = self.open()
        encoding = _UTF_16.get(file.read(2))
        file.close()
        file = self.open()
        return file if encoding is None else _in_utf_8(file, encoding)


def documents(path: Path, going_on: Callable[[], None]) -> Iterator[Document | Flaw | LeftOut]:
    """Everything that may be read, in the order of names; and what may not.

    Hidden files, symbolic links and what is no file are left out in a folder. `going_on` is called before each piece of
    a file is read, and raises what is to end the import. Raises NotFound, or InvalidInput where the path itself can't
    be read.
    """
    if not path.is_dir():
        if not path.exists():
            raise NotFound(f"There is no file or folder {path}.")
        if not path.is_file():
            raise InvalidInput(f"{path} is neither a file nor a folder; pipe it in: `... | steeltrap import -`.")
        yield from _of_file(path, path.name, going_on)
        return
    for entry in sorted(path.rglob("*")):
        below = entry.relative_to(path)
        if entry.is_symlink():
            yield LeftOut(kind="symbolic links", file=str(below))
        elif entry.is_file() and not any(part.startswith(".") for part in below.parts):
            try:
                yield from _of_file(entry, str(below), going_on)
            except InvalidInput as error:
                yield flaw_of_file(str(below), error.message)


def _of_file(path: Path, name: str, going_on: Callable[[], None]) -> Iterator[Document | Flaw | LeftOut]:
    try:
        with path.open("rb") as file:
            is_archive = file.read(4) in SIGNATURES
        size = path.stat().st_size
    except OSError as error:
        raise InvalidInput(f"{name} can't be read ({error.strerror}).") from None
    if not is_archive:
        yield Document(name=name, path=path, size=size, open=lambda: _watched(io.FileIO(path), going_on))
        return
    for member in members(path, name):
        if isinstance(member, Member):
            yield _of_member(member, path, going_on)
        else:
            yield member


def _of_member(member: Member, path: Path, going_on: Callable[[], None]) -> Document:
    return Document(
        name=member.name,
        path=path,
        size=member.size,
        member=True,
        open=lambda: _watched(member.open(), going_on),
    )


def _watched(raw: io.RawIOBase, going_on: Callable[[], None]) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(_Watched(raw, going_on), _BUFFER))


class _Watched(io.RawIOBase):
    """A file that asks before each piece whether it is to be read."""

    def __init__(self, raw: io.RawIOBase, going_on: Callable[[], None]) -> None:
        self._raw = raw
        self._going_on = going_on

    @property
    def damaged(self) -> bool:
        """Whether the archive that the file is in is damaged up to where it was read."""
        return bool(getattr(self._raw, "damaged", False))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._going_on()
        return self._raw.readinto(buffer)

    def tell(self) -> int:
        return self._raw.tell()

    def close(self) -> None:
        self._raw.close()
        super().close()


def _in_utf_8(file: BinaryIO, encoding: str) -> BinaryIO:
    decode = codecs.getincrementaldecoder(encoding)().decode
    with file:
        with writing_temporary():
            whole = cast(BinaryIO, TemporaryFile())  # noqa: SIM115 - the reader closes it
        try:
            while data := file.read(_BLOCK):
                text = decode(data).removeprefix("\ufeff").encode()
                with writing_temporary():
                    whole.write(text)
            decode(b"", True)
            with writing_temporary():
                whole.seek(0)
        except BaseException as error:
            with suppress(OSError):  # of what could not be written
                whole.close()
            if isinstance(error, UnicodeError):
                raise InvalidInput(_NOT_UTF_16) from None
            raise
    return whole
