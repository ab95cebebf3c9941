"""The memories of one place moved or copied to another: data folders, the URLs of logs and `aws`, either way.

A backup of a log is a backup of a data folder that has all of it, so that either can be restored as the other.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from ..errors import Conflict, InvalidInput, NotFound, SteeltrapError, counted
from ..model import Difference, UserRef
from ..ports import Clock, Deadline, Embedder, FileStore, MemoryStore
from ..settings import Settings, read_settings
from . import SystemClock, local

if TYPE_CHECKING:
    from ..stores.replica.moving import FilePlace
    from ..stores.sqlite.backup import Manifest, Restored
    from ..stores.table_place import TablePlace

_USER_SECONDS: Final = 1800.0
_TABLE_SECONDS: Final = 6 * 3600.0
"""For a user in tables: DynamoDB takes 1,000 write units per second of one user, and a memory with its indexes has
some 20."""
_USERS_AT_ONCE: Final = 32
"""Out of tables, where a move of a user mostly waits."""
_LARGEST_FILE: Final = 4 * 1024**3


@dataclass(slots=True)
class Moves:
    """The result of a move: how many users, memories and files were moved, how many users had been moved before, and
    which users failed and why."""

    users: int = 0
    memories: int = 0
    files: int = 0
    done_before: int = 0
    failures: list[tuple[UserRef, str]] = field(default_factory=list)
    had_users: bool = True
    """Whether anybody has or had memories where they come from: a log no longer lists those who were moved away."""


def move(source: str, target: str, *, only: UserRef | None = None, advance: Callable[[int, int], None]) -> Moves:
    """Move all users' memories and exported files, or one user's, while others read and write them.

    A place is a folder's path, a URL as STEELTRAP_STORE takes it, or `aws`: the tables that the settings name. Each
    user is moved whole or not at all. API keys go along once everybody has. Raises InvalidInput for a place that isn't
    one, NotFound for a folder that isn't there or a place where nobody has memories, Unavailable for one that can't be
    reached.
    """
    from ..stores.replica.moving import move_user

    places = _settings_of(source), _settings_of(target)
    if places[0].place == places[1].place:
        raise InvalidInput("Both places are the same: name another one to move to.")
    folder = _folder_of(places[0])
    if folder is not None and not folder.exists():
        raise NotFound(f"There is no folder {folder}.")
    moves = _for_each(move_user, *places, only=only, takes_away=True, advance=advance)
    keys = _copy_keys(*places, remove=True) if only is None and not moves.failures else 0
    if only is None and not moves.had_users and not keys:
        raise NotFound(f"Nothing was moved: nobody has memories in {folder or places[0].place}. Check FROM.")
    return moves


def _folder_of(settings: Settings) -> Path | None:
    """The folder of this machine that has the memories; None where they are elsewhere."""
    return settings.data if settings.store_kind == "sqlite" else local.log_folder(settings)


def back_up(
    settings: Settings, target: Path, *, skip: Collection[str], advance: Callable[[int, int], None]
) -> "Manifest":
    """Copy all that a log has into a new folder, as `steeltrap restore` takes it. Raises SteeltrapError."""
    from ..stores.replica.moving import copy_user
    from ..stores.sqlite import backup

    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as folder:
        copy = _settings_of(folder)
        copies = _for_each(copy_user, settings, copy, advance=advance)
        _copy_keys(settings, copy)
        left_out = [backup.LeftOut(f"user {user.user_id}", reason) for user, reason in copies.failures]
        Path(folder, "users").mkdir(exist_ok=True)
        return backup.back_up(Path(folder), target, SystemClock(), skip=skip, left_out=left_out)


def restore(
    settings: Settings, source: Path, *, skip: Collection[str], advance: Callable[[int, int], None]
) -> "Restored":
    """Put a backup into a log. Raises SteeltrapError: Conflict when a user has memories there, which stay."""
    from ..stores.replica.moving import copy_user
    from ..stores.sqlite import backup

    with TemporaryDirectory(prefix="steeltrap-restore-") as folder:
        data = Path(folder, "data")
        restored = backup.restore(source, data, SystemClock(), skip=skip, replace=False)
        unpacked = _settings_of(str(data))
        copies = _for_each(copy_user, unpacked, settings, advance=advance)
        _copy_keys(unpacked, settings)
    if copies.failures:
        user, reason = copies.failures[0]
        others = counted(len(copies.failures) - 1, "other", "others")
        more = f" So it is for {others}." if len(copies.failures) > 1 else ""
        raise Conflict(f"{user.user_id} was not restored: {reason}{more} All others were.")
    return restored


@contextmanager
def as_it_was(
    settings: Settings, user: UserRef, at: datetime
) -> "Iterator[tuple[list[Difference], Callable[[], None]]]":
    """The differences between a user's memories at a time and now, and a function that puts those of then back.

    Raises InvalidInput for a store that has no history, or a time before it; Unavailable.
    """
    if settings.store_kind != "log":
        raise InvalidInput(
            "Only a store at a URL goes back to a time: use `steeltrap undo` for one memory, or restore a backup."
        )
    from ..stores.replica import ReplicaStore, history

    deadline = Deadline.after(_USER_SECONDS, SystemClock())
    with _opened(settings) as (place, _), TemporaryDirectory(prefix="steeltrap-history-") as folder:
        store, past = place.store, Path(folder, "then.db")
        assert isinstance(store, ReplicaStore)
        file = store.open_file(user, deadline)
        if not file.is_there():
            raise NotFound(f"{user.user_id} has no memories at {settings.place}.")
        store.build(user, at, past)
        yield history.differences(file.path, past), partial(history.put_back, file, past, deadline)


def _for_each(
    work: Callable[[UserRef, Any, Any, Deadline], int | None],
    source: Settings,
    target: Settings,
    *,
    only: UserRef | None = None,
    takes_away: bool = False,
    advance: Callable[[int, int], None],
) -> Moves:
    moves = Moves()
    seconds = _TABLE_SECONDS if "aws" in (source.store_kind, target.store_kind) else _USER_SECONDS
    with _opened(source) as (old, old_files), _opened(target) as (new, new_files):
        all_users = old.store.users_to_move if takes_away else old.store.users
        users: Sequence[UserRef] = [only] if only is not None else list(all_users())

        def work_on(user: UserRef) -> tuple[int | None, int] | SteeltrapError:
            try:
                deadline = Deadline.after(seconds, SystemClock())
                count = work(user, old, new, deadline)
                if count is None and only is not None and "generation" not in new.meta(user, deadline):
                    raise NotFound(f"nothing is stored for this user in {source.place}.")
                files = _copy_files(old_files, new_files, user, again=count is None)
                if takes_away:  # at last: until then, the next move finds the user again
                    old.store.unlist(user)
            except SteeltrapError as error:
                return error
            return count, files

        if takes_away and not users:
            moves.had_users = old.store.has_had_users()
        advance(0, len(users))
        with ThreadPoolExecutor(_USERS_AT_ONCE) as pool:
            outcomes = (pool.map if source.store_kind == "aws" else map)(work_on, users)
            for number, (user, outcome) in enumerate(zip(users, outcomes, strict=True), 1):
                advance(number, len(users))
                if isinstance(outcome, SteeltrapError):
                    moves.failures.append((user, outcome.message))
                    continue
                count, files = outcome
                moves.users += count is not None
                moves.done_before += count is None
                moves.memories += count or 0
                moves.files += files
    return moves


def _settings_of(place: str) -> Settings:
    if not place:
        raise InvalidInput("One of the places is empty: give a folder, a URL or `aws`.")
    if "://" in place or place == "aws":
        return read_settings(source="argument", store=place)
    return read_settings(store="sqlite", data=Path(place).expanduser().absolute())


@contextmanager
def _opened(settings: Settings) -> "Iterator[tuple[FilePlace | TablePlace, FileStore | None]]":
    embedder, clock = local.open_embedder(settings), SystemClock()
    with closing(local.open_store(settings, embedder, clock)) as store:
        yield _place_of(settings, store, embedder, clock), local.open_files(settings)


def _place_of(settings: Settings, store: MemoryStore, embedder: Embedder, clock: Clock) -> "FilePlace | TablePlace":
    from ..stores.replica.moving import FilePlace
    from ..stores.sqlite import SqliteStore

    if isinstance(store, SqliteStore):
        return FilePlace(settings.place, store)
    from ..stores.dynamodb import DynamoStore
    from ..stores.table_place import TablePlace

    assert isinstance(store, DynamoStore)
    return TablePlace(f"aws:{settings.memory_table}", store, embedder, clock)


def _copy_keys(source: Settings, target: Settings, *, remove: bool = False) -> int:
    """Copy the API keys that the target lacks, and count all; with `remove` they are nowhere else then."""
    if source.keys_folder is not None:  # it is everybody's, wherever the memories are
        return 0
    kinds = source.store_kind, target.store_kind
    if "aws" in kinds and (read_settings().store_kind != "aws" or ("log" not in kinds and source.data == target.data)):
        return 0  # the data folder has the keys of another store's servers, or those of both
    old, new = local.open_keys_folder(source), local.open_keys_folder(target)
    names = list(old.write_times())
    for name, content in zip(names, old.read(*names), strict=True):
        if content is not None:
            new.create(name, content)
    for name in names if remove else ():
        old.remove(name)
    return len(names)


def _copy_files(source: FileStore | None, target: FileStore | None, user: UserRef, *, again: bool) -> int:
    """Copy a user's exported files; `again`, only those that the target lacks: the others may be newer there."""
    if source is None or target is None:
        return 0
    old, new = source.files(user), target.files(user)
    names = set(old.names()).difference(new.names() if again else ())
    for name in names:
        new.write(name, old.read(name, max_bytes=_LARGEST_FILE))
    return len(names)
