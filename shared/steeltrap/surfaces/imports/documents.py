"""From a path to its documents: a file, the members of an archive, the files of a folder."""

import codecs
import io
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Final, cast

from ...errors import InvalidInput, NotFound
from ...full_disks import writing_temporary
from ...model.frozen import frozen
from . import archive
from .parts import Flaw, LeftOut

_UTF_16: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_NOT_UTF_16: Final = "the file begins as UTF-16 and is not valid UTF-16 behind that. Save it as UTF-8."
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
        if not path.is_file():
            raise NotFound(f"There is no file or folder {path}.")
        yield from _of_file(path, path.name, going_on)
        return
    for found in sorted(path.rglob("*")):
        below = found.relative_to(path)
        if found.is_symlink():
            yield LeftOut(what="symbolic links")
        elif found.is_file() and not any(part.startswith(".") for part in below.parts):
            try:
                yield from _of_file(found, str(below), going_on)
            except InvalidInput as error:
                yield Flaw(where=str(below), at=0, sentence=error.message)


def _of_file(path: Path, name: str, going_on: Callable[[], None]) -> Iterator[Document | Flaw | LeftOut]:
    try:
        with path.open("rb") as file:
            is_archive = file.read(4) in archive.SIGNATURES
        size = path.stat().st_size
    except OSError as error:
        raise InvalidInput(f"{name} can't be read ({error.strerror}).") from None
    if not is_archive:
        yield Document(name=name, path=path, size=size, open=lambda: _watched(io.FileIO(path), going_on))
        return
    for member in archive.members(path, name):
        if isinstance(member, archive.Member):
            yield _of_member(member, path, going_on)
        else:
            yield member


def _of_member(member: archive.Member, path: Path, going_on: Callable[[], None]) -> Document:
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
