"""Users' files under a data folder, in `exports`, beside their memories."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Final

from ...errors import InvalidInput, NotFound, TooLarge, Unavailable
from ...ports import UserRef
from ..file_names import both_file_and_folder, check_name

_UNFINISHED: Final = ".unfinished-"


class FolderFiles:
    """One folder a user, named by the digest that names the user's memories."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def files(self, user_id: str, *, tenant: str = "") -> "UserFolder":
        return UserFolder(self._path(user_id, tenant))

    def forget_user(self, user_id: str, *, tenant: str = "") -> bool:
        path = self._path(user_id, tenant)
        with _crossing():
            # Not what a link names, but the link.
            if path.is_symlink():
                path.unlink()
                return True
            there = any(UserFolder(path).names())
            if path.exists():
                shutil.rmtree(path)
            return there

    def _path(self, user_id: str, tenant: str) -> Path:
        key = UserRef(user_id=user_id, tenant=tenant).key
        return self.folder / "exports" / key[:2] / key


class UserFolder:
    """One user's files. Made without touching the disk; the folder comes to be with the first file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, name: str, content: bytes) -> None:
        with _crossing():
            path = self._inside(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            # Made between the check and here, a link may lead elsewhere.
            path = self._inside(name)
            part = path.with_name(f"{_UNFINISHED}{token_hex(8)}")
            try:
                with open(part, "xb", opener=_for_its_owner) as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)

    def read(self, name: str, *, most: int) -> bytes:
        with _crossing():
            path = self._inside(name)
            if not path.is_file():
                raise NotFound(f"No file `{name}` among the exported files.")
            with path.open("rb") as file:
                content = file.read(most + 1)
        if len(content) > most:
            raise TooLarge(f"The file `{name}` has more than {most:,} bytes.")
        return content

    def names(self) -> list[str]:
        with _crossing():
            found = (path for path in self._folder.rglob("*") if path.is_file() and not path.is_symlink())
            return sorted(
                path.relative_to(self._folder).as_posix() for path in found if not path.name.startswith(_UNFINISHED)
            )

    def _inside(self, name: str) -> Path:
        """Where a file of this name lies. Raises InvalidInput for a name that leads, or might lead, elsewhere."""
        parts = check_name(name).split("/")
        path = self._folder.joinpath(*parts)
        if any(self._folder.joinpath(*parts[:n]).is_symlink() for n in range(len(parts) + 1)):
            # A link leads where it wants to; without one the path stays below the folder.
            raise InvalidInput(f"`{name}` leads out of the folder of exported files.")
        if path.is_dir() or any(self._folder.joinpath(*parts[:n]).is_file() for n in range(1, len(parts))):
            raise both_file_and_folder(name)
        return path


def _for_its_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@contextmanager
def _crossing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(f"The folder of exported files can't be used ({error.strerror}).", part="store") from error
