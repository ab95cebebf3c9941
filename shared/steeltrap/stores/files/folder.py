"""Users' files in folders of the local disk: one folder per user, which no name given by a client leaves."""

import errno
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

from ...errors import InvalidInput, NotFound, TooLarge, Unavailable
from ...local_files import is_full
from ...model import UserRef
from ..data_folder import DataFolder
from . import both_file_and_folder, check_name

__all__ = ["FolderFiles"]


@contextmanager
def folder_below(root: Path | int, parts: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """A descriptor of the folder that `parts` lead to from `root`, made for its owner only where it is missing.

    Raises OSError: FileNotFoundError, NotADirectoryError, and ELOOP for a link.
    """
    folder = os.dup(root) if isinstance(root, int) else os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=folder)
            above, folder = folder, _open_folder(part, folder)
            os.close(above)
        yield folder
    finally:
        os.close(folder)


def open_file(name: str, folder: int, flags: int) -> int:
    """A descriptor of a file, which its owner only may read if it is made. Raises OSError: ELOOP for a link."""
    return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600, dir_fd=folder)


def mode(name: str, folder: int) -> int:
    """The `st_mode` of a name; 0 where nothing has it."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0


def files_below(folder: int) -> Iterator[str]:
    """The paths of all files in a folder and the folders below."""
    for path, _, names, within in os.fwalk(".", dir_fd=folder):
        for name in names:
            if stat.S_ISREG(mode(name, within)):
                yield os.path.normpath(os.path.join(path, name))


def _open_folder(name: str, folder: int) -> int:
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    except NotADirectoryError:
        # What a link is refused with depends on the system.
        if stat.S_ISLNK(mode(name, folder)):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise


_UNFINISHED: Final = ".unfinished-"


class FolderFiles:
    """One folder per user, named by the digest that names the user's memories."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._data = DataFolder(folder)

    def files(self, user: UserRef) -> "UserFolder":
        return UserFolder(self._data, _home(user))

    def forget_user(self, user: UserRef) -> bool:
        *above, own = _home(user)
        self._data.require()
        with _translated(), suppress(FileNotFoundError), folder_below(self.folder, above) as folder:
            if stat.S_ISLNK(mode(own, folder)):
                # Not what a link names, but the link.
                os.unlink(own, dir_fd=folder)
                return True
            had_files = any(UserFolder(self._data, (*above, own)).names())
            shutil.rmtree(own, dir_fd=folder)
            return had_files
        return False


class UserFolder:
    """One user's files. Made without touching the disk; the folder comes to be with the first file."""

    def __init__(self, data: DataFolder, home: tuple[str, ...]) -> None:
        self._data = data
        self._home = home

    def write(self, name: str, content: bytes) -> None:
        self._data.make()
        with _translated_missing(), self._folder_of(name, make=True) as (folder, last):
            file_mode = mode(last, folder)
            if stat.S_ISLNK(file_mode):
                raise _leads_out(name)
            if stat.S_ISDIR(file_mode):
                raise both_file_and_folder(name)
            part = f"{_UNFINISHED}{token_hex(8)}"
            try:
                with os.fdopen(open_file(part, folder, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(part, last, src_dir_fd=folder, dst_dir_fd=folder)
                os.fsync(folder)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(part, dir_fd=folder)

    def read(self, name: str, *, max_bytes: int) -> bytes:
        self._data.require()
        try:
            with (
                self._folder_of(name) as (folder, last),
                os.fdopen(open_file(last, folder, os.O_RDONLY), "rb") as file,
            ):
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise FileNotFoundError
                content = file.read(max_bytes + 1)
        except FileNotFoundError:
            raise NotFound(f"No file `{name}` among the exported files.") from None
        if len(content) > max_bytes:
            raise TooLarge(f"The file `{name}` has more than {max_bytes:,} bytes.")
        return content

    def names(self) -> list[str]:
        self._data.require()
        with _translated(), suppress(FileNotFoundError), folder_below(self._data.path, self._home) as folder:
            return sorted(name for name in files_below(folder) if not os.path.basename(name).startswith(_UNFINISHED))
        return []

    @contextmanager
    def _folder_of(self, name: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The folder that a file is in, and its name there. Raises FileNotFoundError, SteeltrapError."""
        *folders, last = check_name(name).split("/")
        with _translated(name), folder_below(self._data.path, self._home, make=make) as home:
            # A file in place of one of these folders is the name's fault, not the disk's.
            try:
                with folder_below(home, folders, make=make) as folder:
                    yield folder, last
            except (NotADirectoryError, IsADirectoryError):
                raise both_file_and_folder(name) from None


def _home(user: UserRef) -> tuple[str, ...]:
    return "exports", user.key[:2], user.key


def _leads_out(name: str) -> InvalidInput:
    return InvalidInput(f"`{name}` is outside the folder of exported files: its path contains a link.")


@contextmanager
def _translated(name: str = "exports") -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _leads_out(name) from error
        if is_full(error):
            sentence = "The disk of the folder of exported files is full: free some space, then try again."
        else:
            sentence = f"The folder of exported files can't be used ({error.strerror})."
        raise Unavailable(sentence, part="store") from error


@contextmanager
def _translated_missing() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise Unavailable(
            "The folder of exported files was removed in the meantime; try again.", part="store"
        ) from error
