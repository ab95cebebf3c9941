"""Users' files beside the logs in a bucket of any cloud or a database: one prefix per user, which no name from a
client leaves."""

from ...errors import NotFound, TooLarge
from ...model import UserRef
from ..shared_folders import ObjectPlace
from . import check_apart, check_name

__all__ = ["ObjectFiles"]


class ObjectFiles:
    """The files among objects. Rights: to read, write, list and delete those under `files/`."""

    def __init__(self, objects: ObjectPlace) -> None:
        self._objects = objects

    def files(self, user: UserRef) -> "UserObjects":
        return UserObjects(self._objects, user)

    def forget_user(self, user: UserRef) -> bool:
        """Remove every file. A bucket that keeps old versions keeps these, too: see `steeltrap doctor`."""
        home, was_there = _home(user), False
        for names in self._objects.names(home):
            was_there = True
            self._objects.side_by_side(self._objects.delete, [f"{home}/{name}" for name in names])
        return was_there


class UserObjects:
    """One user's files. Made without a request."""

    def __init__(self, objects: ObjectPlace, user: UserRef) -> None:
        self._objects = objects
        self._home = _home(user)

    def write(self, name: str, content: bytes) -> None:
        check_name(name)
        # A bucket could hold both; what is exported must fit a folder, too.
        check_apart(name, self.names())
        self._objects.put(f"{self._home}/{name}", content)

    def read(self, name: str, *, max_bytes: int) -> bytes:
        try:
            content = self._objects.get(f"{self._home}/{check_name(name)}", max_bytes=max_bytes)
        except TooLarge:
            raise TooLarge(f"The file `{name}` has more than {max_bytes:,} bytes.") from None
        if content is None:
            raise NotFound(f"No file `{name}` among the exported files.")
        return content

    def names(self) -> list[str]:
        return sorted(name for page in self._objects.names(self._home) for name in page)


def _home(user: UserRef) -> str:
    return f"files/{user.key}"
