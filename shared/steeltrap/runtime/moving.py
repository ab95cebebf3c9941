"""The memories of one place moved to another: data folders and the URLs of logs, either way."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..errors import InvalidInput, SteeltrapError
from ..model import UserRef
from ..ports import Deadline, FileStore
from ..settings import Settings, read_settings
from . import local
from .clock import SystemClock

if TYPE_CHECKING:
    from ..stores.replica.moving import Place

_USER_SECONDS: Final = 1800.0
_LARGEST_FILE: Final = 4 * 1024**3


@dataclass(slots=True)
class Moves:
    """How many users were moved, with how many memories and files; how many were before; who was not, and why."""

    users: int = 0
    memories: int = 0
    files: int = 0
    done_before: int = 0
    failures: list[tuple[UserRef, str]] = field(default_factory=list)


def move(source: str, target: str, *, only: UserRef | None = None, advance: Callable[[int, int], None]) -> Moves:
    """Move all users' memories and exported files, or one user's, while others read and write them.

    A place is a folder's path or a URL as STEELTRAP_STORE takes it. Each user is moved whole or not at all. Raises
    InvalidInput for a place that isn't one, Unavailable for one that can't be reached.
    """
    from ..stores.replica.moving import move_user

    places = _settings_of(source), _settings_of(target)
    if places[0].place == places[1].place:
        raise InvalidInput("Both places are the same: name another one to move to.")
    done = Moves()
    with _opened(places[0]) as (old, old_files), _opened(places[1]) as (new, new_files):
        users: Sequence[UserRef] = [only] if only is not None else list(old.store.users())
        for number, user in enumerate(users):
            advance(number, len(users))
            try:
                done.files += _copy_files(old_files, new_files, user)
                count = move_user(user, old, new, Deadline.after(_USER_SECONDS, SystemClock()))
            except SteeltrapError as error:
                done.failures.append((user, error.message))
                continue
            done.users += count is not None
            done.done_before += count is None
            done.memories += count or 0
        advance(len(users), len(users))
    return done


def _settings_of(place: str) -> Settings:
    if "://" in place:
        return read_settings(store=place)
    return read_settings(store="sqlite", data=Path(place).expanduser().absolute())


@contextmanager
def _opened(settings: Settings) -> "Iterator[tuple[Place, FileStore | None]]":
    from ..stores.replica.moving import Place
    from ..stores.sqlite import SqliteStore

    store = local.open_store(settings, local.open_embedder(settings), SystemClock())
    with ExitStack() as ending:
        ending.callback(store.close)
        assert isinstance(store, SqliteStore)
        yield Place(settings.place, store), local.open_files(settings)


def _copy_files(source: FileStore | None, target: FileStore | None, user: UserRef) -> int:
    if source is None or target is None:
        return 0
    old, new = source.files(user), target.files(user)
    names = old.names()
    for name in names:
        new.write(name, old.read(name, most=_LARGEST_FILE))
    return len(names)
