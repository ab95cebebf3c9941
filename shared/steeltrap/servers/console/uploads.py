"""Files that are brought to the console, until their import has ended.

They are stored in one folder per process, which is locked while the process lives. Each upload removes its own folder.
The next process that starts removes the folders of killed ones.
"""

import os
import shutil
import stat
import sys
import tempfile
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path, PureWindowsPath
from threading import Lock
from typing import Final
from weakref import finalize

import anyio.to_thread
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive

from ...errors import InvalidInput, TooLarge
from ...local_files import writing_temporary
from ...model import DEFAULT_SCOPE

MAX_UPLOAD_BYTES: Final = 2 * 1024**3
PREFIX: Final = "steeltrap-uploads-"
MAX_NAME_BYTES: Final = 140
"""Some file systems take 255 bytes, encrypted ones 143."""


class Upload:
    """One file in a folder of its own, and the scope that its memories go to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = ""
        self.scope = DEFAULT_SCOPE

    @property
    def path(self) -> Path:
        return self.folder / self.name

    def close(self) -> None:
        """Remove the file. Again is safe."""
        shutil.rmtree(self.folder, ignore_errors=True)


class Uploads:
    """The uploads of one process. For many threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._folder: Path | None = None

    def remove_leftovers(self) -> None:
        """Remove the folders of processes that have ended without removing their own."""
        if sys.platform == "win32":
            return
        with suppress(FileNotFoundError):  # where no temporary folder takes a file, there is none
            self._remove_leftovers(Path(tempfile.gettempdir()))

    def _remove_leftovers(self, temporary: Path) -> None:
        for folder in temporary.glob(f"{PREFIX}*"):
            if _is_own(folder) and (descriptor := _locked(folder)) is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(descriptor)

    def begin(self) -> Upload:
        """A place for an upload. Raises Unavailable."""
        with self._lock, _writing():
            return Upload(Path(tempfile.mkdtemp(dir=self._own())))

    def _own(self) -> Path:
        while self._folder is None or not self._folder.is_dir():
            folder = Path(tempfile.mkdtemp(prefix=PREFIX))
            descriptor = _locked(folder)
            # Without the lock another process took the new folder for a leftover and is removing it.
            if descriptor is not None and folder.is_dir():
                self._folder = folder
                finalize(self, _remove, folder, descriptor)
        return self._folder


def _writing() -> AbstractContextManager[None]:
    return writing_temporary("Nothing was imported.", part="uploads")


async def receive(request: Request, upload: Upload) -> None:
    """Put the one file of the form into the upload's folder. Raises InvalidInput, TooLarge, Unavailable."""
    limited = Request(request.scope, _at_most(MAX_UPLOAD_BYTES, request.receive))
    try:
        with _writing():
            async with limited.form(max_files=1, max_fields=4) as form:
                file, scope = form.get("file"), form.get("scope")
                if not isinstance(file, UploadFile) or not file.filename:
                    raise InvalidInput("Choose a file to import.")
                upload.name = file_name(file.filename)
                if isinstance(scope, str):
                    upload.scope = scope.strip() or DEFAULT_SCOPE
                await anyio.to_thread.run_sync(partial(_copy, file, upload.path))
    except HTTPException:
        raise InvalidInput("The form can't be read: send it as multipart/form-data with one file.") from None
    except ClientDisconnect:
        raise InvalidInput("The connection ended before the file did.") from None


def file_name(path: str) -> str:
    """The last part of a name, without what a file system could take for something else, of at most 140 bytes."""
    name = "".join(c if c.isprintable() and c not in '/\\:*?"<>|' else "_" for c in PureWindowsPath(path).name)
    name_bytes = name.strip(". ").encode("utf-8", "ignore")[-MAX_NAME_BYTES:].decode("utf-8", "ignore")
    return name_bytes.strip(". ") or "file"


def _copy(file: UploadFile, to: Path) -> None:
    with to.open("wb") as target:
        shutil.copyfileobj(file.file, target, 1024 * 1024)


def _at_most(most: int, receive: Receive) -> Receive:
    room = most

    async def limited() -> Message:
        nonlocal room
        message = await receive()
        room -= len(message.get("body", b""))
        if room < 0:
            raise TooLarge("A file may have up to 2 GiB here; `steeltrap import` on the server takes larger ones.")
        return message

    return limited


def _is_own(folder: Path) -> bool:
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()


def _locked(folder: Path) -> int | None:
    """A descriptor that locks a folder while it is open; None where another process has it, or it is gone."""
    if sys.platform == "win32":
        return -1
    import fcntl

    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove(folder: Path, descriptor: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if descriptor >= 0:
        os.close(descriptor)
