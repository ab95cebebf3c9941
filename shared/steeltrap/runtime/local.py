"""The only composition root: settings in, a door over the chosen adapters out."""

import os
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

from .. import telemetry
from ..engine.call import Rules
from ..engine.quota import Quotas
from ..errors import InvalidInput, Unavailable
from ..invoke import Door
from ..model import UserRef
from ..ports import Clock, Counters, Embedder, FileStore, Loads, MemoryStore, SharedFolder
from ..ranking.weights import WEIGHTS
from ..settings import Settings
from ..toolsets import CATALOGUE
from . import SystemClock

if TYPE_CHECKING:
    from ..stores.logs.bucket import BucketLogs
    from ..stores.logs.dynamodb import DynamoLogs
    from ..stores.logs.folder import FolderLogs
    from ..stores.logs.postgres import PostgresLogs
    from ..stores.logs.probing import Fault
    from ..stores.shared_folders import ObjectPlace
    from ..stores.sqlite.backup import Manifest, Restored
    from ..stores.sqlite.foreign import ForeignDatabase
    from ..stores.sqlite.opening import Inspection
    from .aws import Following, Upkeep


_MB: Final = 1024 * 1024


def open_door(
    settings: Settings,
    *,
    clock: Clock | None = None,
    embedder: Embedder | None = None,
    observe: telemetry.Observe = telemetry.log_call,
) -> Door:
    """The tools over the store and the embedder that the settings choose. `observe` is called after each call.

    Close its store at the end.
    """
    clock = clock or SystemClock()
    embedder = embedder or embedder_of_folder(settings)
    store = open_store(settings, embedder, clock)
    quotas = Quotas(
        calls_per_minute=settings.calls_per_minute,
        max_memories=settings.max_memories,
        max_bytes=settings.max_bytes,
    )
    return Door(
        catalogue=CATALOGUE,
        store=store,
        embedder=embedder,
        clock=clock,
        rules=Rules(
            vector_weight=None if settings.vector_weight == "auto" else settings.vector_weight,
            ranking=replace(WEIGHTS, role=settings.role_weight),
            retention=settings.retention,
            short_term_ttl=timedelta(hours=settings.short_term_hours),
            zone=settings.zone,
            show_untrusted=settings.show_untrusted,
            start_tokens=settings.start_tokens,
            secrets=settings.secrets,
        ),
        files=open_files(settings),
        quotas=quotas,
        counters=None if quotas == Quotas() else open_counters(settings, store),
        observe=observe,
    )


def load(door: Door) -> None:
    """Load ahead what a first call would wait for: a local model, clients. Nothing is asked of another machine."""
    for part in (door.embedder, door.store):
        if isinstance(part, Loads):
            part.load()


def _check_folder(folder: Path) -> None:
    """Raises Unavailable where a folder can't be, because of a file: else it would look as if nothing were stored."""
    nearest_path = nearest_to(folder)
    if not nearest_path.is_dir():
        raise not_a_folder(folder, f"{nearest_path} is not a folder")


def nearest_to(folder: Path) -> Path:
    """A data folder, or the nearest path above it that is there. Raises Unavailable."""
    try:
        return next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    except FileNotFoundError:
        raise not_a_folder(folder, "the current folder was removed") from None


def not_a_folder(folder: Path, reason: str) -> Unavailable:
    """The error of a data folder that can't be one."""
    return Unavailable(
        f"Memories can't be stored in {folder}: {reason}. Name another folder, or set STEELTRAP_DATA.",
        retryable=False,
        part="store",
    )


def open_store(settings: Settings, embedder: Embedder, clock: Clock) -> MemoryStore:
    """The store that the settings choose. Raises InvalidInput when a setting that it needs is missing."""
    if settings.store_kind == "aws":
        from . import aws

        return aws.open_store(settings, embedder, clock)
    cache_bytes = settings.cache_mb * _MB
    if settings.store_kind == "log":
        logs = open_logs(settings)
        from ..stores.replica import ReplicaStore

        return ReplicaStore(
            cache_of(settings),
            logs,
            embedder,
            clock,
            cache_bytes=cache_bytes,
            disk_bytes=settings.cache_disk_mb * _MB,
            retention=settings.retention,
        )
    from ..stores.sqlite import SqliteStore

    _check_folder(settings.data)
    return SqliteStore(
        settings.data,
        embedder,
        clock,
        cache_bytes=cache_bytes,
        retention=settings.retention,
        takes_over="embedder" not in settings.explicit,
    )


def _check_log_folder(folder: Path, cache: Path) -> None:
    """Refuse a folder whose logs this machine has used and that has them no longer, as where its disk isn't mounted: it
    would look empty, and what was saved there would be lost to others. Raises Unavailable."""
    from ..stores.logs.names import LOG_ID
    from ..stores.replica.store import REMEMBERED_ID

    try:
        is_gone = (cache / REMEMBERED_ID).exists() and not (folder / LOG_ID).exists()
    except OSError:
        return  # whether it is there can't be seen: the first call says why
    if is_gone:
        raise Unavailable(
            f"The memories are no longer in {folder}: mount its disk again. To begin anew there, remove {cache}.",
            retryable=False,
            part="store",
        )


def cache_of(settings: Settings) -> Path:
    """The folder for the replicas of a log. Each log has its own, so that two never throw away each other's."""
    folder = settings.cache_folder or settings.data / ".cache"
    return folder.expanduser() / sha256(settings.store.rstrip("/").encode()).hexdigest()[:16]


_EXTRAS: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "file": ((), ("bucket",)),
    "dynamodb": (("obstore", "boto3"), ("bucket", "aws")),
    "postgresql": (("psycopg", "psycopg_pool"), ("postgres",)),
}
"""The packages that a store's scheme needs, and the extras that have them. All other schemes are buckets."""


def open_logs(settings: Settings) -> "BucketLogs | FolderLogs | PostgresLogs":
    """The logs at the store's URL. Nothing is asked of it yet. Raises InvalidInput, Unavailable."""
    url = urlsplit(settings.store)
    packages, extras = _EXTRAS.get(url.scheme, (("obstore",), ("bucket",)))
    modules = (*packages, "backports.zstd") if sys.version_info < (3, 14) else packages
    if not all(map(_is_installed, modules)):
        from ..installation import install_line

        lines = " and ".join(f"`{install_line(extra)}`" for extra in extras)
        raise InvalidInput(f"STEELTRAP_STORE={url.scheme}:// needs more packages: run {lines}.")
    match url.scheme:
        case "file":
            from ..stores.logs.folder import FolderLogs

            folder = _folder_of(url.path)
            _check_log_folder(folder, cache_of(settings))
            return FolderLogs(folder)
        case "dynamodb":
            return _dynamo_logs(settings)
        case "postgresql":
            return _postgres_logs(settings)
        case _:
            from ..stores.logs.bucket import BucketLogs

            return BucketLogs(settings.store)


def probe_logs(settings: Settings, clock: Clock | None = None) -> "tuple[list[Fault], list[str]]":
    """The faults of the place at the store's URL, and what can't be seen of it. Raises InvalidInput, Unavailable."""
    from ..stores.logs.probing import probe

    clock = clock or SystemClock()
    with closing(open_logs(settings)) as logs:
        places = logs.places(UserRef(settings.user))
        faults = [fault for place in places for fault in probe(place, clock.now)]
        if not any(fault.broken for fault in faults):
            logs.id()
    return faults, [place.unseen for place in places if place.unseen]


def _dynamo_logs(settings: Settings) -> "DynamoLogs":
    from ..stores.logs.dynamodb import DynamoLogs

    return DynamoLogs(settings.store, endpoint_url=settings.dynamodb_url or None)


def _postgres_logs(settings: Settings) -> "PostgresLogs":
    from ..stores.logs.postgres import PostgresLogs
    from ..stores.postgres_tables import shared_database

    return PostgresLogs(shared_database(settings.store), settings.store)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def inspect_file(path: Path, *, has_meta: bool = True) -> "Inspection":
    """Look through a file of the data folder without changing it. Never raises."""
    from ..stores.sqlite.opening import inspect

    return inspect(path, has_meta=has_meta)


def inspect_copy(path: Path) -> "Inspection | None":
    """Look through a file of the cache of a log without changing it; None where it is no longer there, or still empty.
    Raises Unavailable while it is being removed."""
    from ..stores.data_folder import release
    from ..stores.replica.cached_file import hold_made

    if not path.exists():
        return None
    descriptor = hold_made(path)  # else another process may remove it and make it again meanwhile
    try:
        return inspect_file(path) if path.exists() and path.stat().st_size else None
    finally:
        release(descriptor)


def open_counters(settings: Settings, store: MemoryStore) -> Counters:
    """The counters of what users use: shared by all processes, in the tables of `aws` or in the data folder.

    Over a log all machines count amounts exactly, and calls together where it is a table.
    """
    if settings.store_kind == "aws":
        from . import aws

        return aws.open_counters(store)
    from ..stores.sqlite import SqliteCounters

    if settings.store_kind == "sqlite":
        return SqliteCounters(settings.data)
    from ..stores.sqlite.counters import LogCounters

    match urlsplit(settings.store).scheme:
        case "dynamodb":
            return LogCounters(_dynamo_logs(settings))
        case "postgresql":
            return LogCounters(_postgres_logs(settings))
    return LogCounters(SqliteCounters(cache_of(settings)))


def counts_calls_together(settings: Settings) -> bool:
    """Whether a user's calls per minute are those on all machines."""
    return settings.store_kind == "aws" or urlsplit(settings.store).scheme in ("dynamodb", "postgresql")


def open_indexer(settings: Settings) -> "Following":
    """Updates the index of `aws` from the table's stream. Raises InvalidInput for another store."""
    _needs_aws(settings)
    from . import aws

    return aws.open_indexer(settings)


def open_upkeep(settings: Settings, embedder: Embedder | None = None) -> "Upkeep":
    """Table and index of `aws`, to be compared and rebuilt. Raises InvalidInput for another store."""
    _needs_aws(settings)
    from . import aws

    return aws.open_upkeep(settings, embedder or open_embedder(settings))


def set_up(settings: Settings, embedder: Embedder | None = None, *, role: str = "") -> list[str]:
    """Make the tables and the first index of `aws`, or the tables of a PostgreSQL database, where they are missing; the
    names of what was made. A `role` of the database gets all rights that serving needs.

    Raises InvalidInput for another store.
    """
    if urlsplit(settings.store).scheme == "postgresql":
        return _set_up_postgres(settings, role)
    if role or settings.store_kind != "aws":
        raise InvalidInput("This needs STEELTRAP_STORE=aws or postgresql://...; only the latter has roles to grant to.")
    from . import aws

    return aws.set_up(settings, embedder or open_embedder(settings))


def _set_up_postgres(settings: Settings, role: str) -> list[str]:
    from ..stores.postgres_tables import TABLES, database_at, grant

    open_logs(settings).close()  # says which packages are missing
    with closing(database_at(settings.store)) as database:
        are_new = database.require_tables()
        if role:
            grant(database, role)
    return [f"{database.schema}.{table}" for table in TABLES] if are_new else []


def _needs_aws(settings: Settings) -> None:
    if settings.store_kind != "aws":
        raise InvalidInput("This needs STEELTRAP_STORE=aws: SQLite has no separate search index.")


def back_up(
    settings: Settings, target: Path, *, skip: Collection[str], advance: Callable[[int, int], None]
) -> "Manifest":
    """Copy the data folder, or a log, also while it is served. Raises SteeltrapError: InvalidInput for `aws`."""
    _refuse_tables(settings)
    if settings.store_kind == "log":
        from . import moving

        return moving.back_up(settings, target, skip=skip, advance=advance)
    from ..stores.sqlite import backup

    _check_folder(settings.data)
    return backup.back_up(settings.data, target, SystemClock(), skip=skip, advance=advance)


def restore(
    settings: Settings, source: Path, *, skip: Collection[str], replace: bool, advance: Callable[[int, int], None]
) -> "Restored":
    """Restore a backup as the data folder, or into a log. Raises SteeltrapError: InvalidInput for `aws`."""
    _refuse_tables(settings)
    if settings.store_kind == "log":
        from . import moving

        if replace:
            raise InvalidInput("Nothing at a URL is replaced: restore into another prefix, without --replace.")
        return moving.restore(settings, source, skip=skip, advance=advance)
    from ..stores.sqlite import backup

    return backup.restore(source, settings.data, SystemClock(), skip=skip, replace=replace, advance=advance)


def _refuse_tables(settings: Settings) -> None:
    if settings.store_kind == "aws":
        raise InvalidInput(
            "With STEELTRAP_STORE=aws, memories are in DynamoDB: use its point-in-time recovery, as docs/operate.md "
            "shows under 'Restore a stage', or `steeltrap export` per user."
        )


def open_files(settings: Settings) -> FileStore | None:
    """The place for users' files that the settings choose; None where there is none."""
    if settings.export_bucket:
        from ..stores.files.s3 import BucketFiles

        return BucketFiles(settings.export_bucket)
    if settings.store_kind == "log":
        return _files_beside_logs(settings)
    if settings.store_kind == "aws":
        # The disk of a function is gone with it, and another function never sees it.
        return None
    from ..stores.files.folder import FolderFiles

    return FolderFiles(settings.data)


def _files_beside_logs(settings: Settings) -> FileStore:
    if (folder := log_folder(settings)) is not None:
        from ..stores.files.folder import FolderFiles

        return FolderFiles(folder)
    from ..stores.files.objects import ObjectFiles

    return ObjectFiles(_objects_beside_logs(settings))


def open_keys_folder(settings: Settings) -> SharedFolder:
    """The folder of the digests of API keys."""
    if settings.keys_folder is None:
        return open_shared_folder(settings, "keys")
    from ..stores.shared_folders import LocalFolder

    return LocalFolder(settings.keys_folder.expanduser())


def open_shared_folder(settings: Settings, name: str = "") -> SharedFolder:
    """A folder that all servers over the same memories share: in the data folder, or beside the logs."""
    from ..stores.shared_folders import LocalFolder, ObjectFolder, RemembersReads

    if settings.store_kind != "log":
        _check_folder(settings.data)
    folder = settings.data if settings.store_kind != "log" else log_folder(settings)
    if folder is not None:
        return LocalFolder(folder / name)
    return RemembersReads(ObjectFolder(_objects_beside_logs(settings), name), SystemClock())


def log_folder(settings: Settings) -> Path | None:
    """The folder of the logs; None where they are in a bucket."""
    url = urlsplit(settings.store)
    return _folder_of(url.path) if url.scheme == "file" else None


def _objects_beside_logs(settings: Settings) -> "ObjectPlace":
    """The objects of the bucket or the database in which the logs are."""
    url = urlsplit(settings.store)
    if url.scheme == "postgresql":
        return _postgres_logs(settings).objects
    from ..stores.objects import Objects

    return Objects(parse_qs(url.query)["bases"][0] if url.scheme == "dynamodb" else settings.store)


def _folder_of(path: str) -> Path:
    """The folder that the path of a file:// URL means."""
    from urllib.request import url2pathname

    return Path(url2pathname(path))


def open_embedder(settings: Settings) -> Embedder:
    """The embedder that the settings choose. Raises InvalidInput when a setting that it needs is missing."""
    tuning: dict[str, Any] = {
        "dimension": settings.embedder_dimension,
        "unrelated": settings.embedder_unrelated,
        "query_prefix": settings.embedder_query_prefix,
        "document_prefix": settings.embedder_document_prefix,
    }
    match settings.embedder:
        case "static-256":
            from ..embedders.static import StaticEmbedder

            return StaticEmbedder(unrelated=settings.embedder_unrelated)
        case "small":
            from ..embedders.small import SmallEmbedder

            return SmallEmbedder(_small(), unrelated=settings.embedder_unrelated)
        case "onnx":
            from ..embedders.onnx import OnnxEmbedder

            return OnnxEmbedder(_folder(settings.embedder_model), unrelated=settings.embedder_unrelated)
        case "endpoint":
            from ..embedders.endpoint import EndpointEmbedder

            url, model, key = settings.embedder_url, settings.embedder_model, settings.embedder_key
            return EndpointEmbedder(url, model, key=key, **tuning)
        case "bedrock":
            from ..embedders.bedrock import BedrockEmbedder

            return BedrockEmbedder(settings.embedder_model, **tuning)


def embedder_of_folder(settings: Settings) -> Embedder:
    """The embedder that the settings choose; where nobody chose one, the one that made the folder's vectors, if it is
    installed. Raises InvalidInput when a setting that it needs is missing."""
    embedder = open_embedder(settings)
    if settings.store != "sqlite" or "embedder" in settings.explicit:
        return embedder
    recorded = _recorded(settings)
    if recorded is None or not recorded.endswith(f"+{embedder.name}"):  # `small` is a model beside the default one
        return embedder
    try:
        small = open_embedder(settings.with_values(embedder="small"))
    except InvalidInput:
        return embedder  # nothing that is said in the meantime is lost, and searches say what is missing
    return small if small.name == recorded else embedder


def _recorded(settings: Settings) -> str | None:
    """The name of the embedder that made the vectors of the local user, or of another one, None without any."""
    from ..stores.sqlite.opening import recorded_embedder

    key = UserRef(settings.user).key
    own = settings.data / "users" / key[:2] / f"{key}.db"
    path = own if own.exists() else next(settings.data.glob("users/*/*.db"), None)
    return None if path is None else recorded_embedder(path)


def add_embedder(folder: Path, options: Mapping[str, Any]) -> Embedder:
    """Check and calibrate the model in a folder, so that `onnx` can use it. Raises InvalidInput, Unavailable."""
    from ..embedders import adding
    from ..embedders.onnx import OnnxEmbedder

    adding.add(folder, options)
    return OnnxEmbedder(folder)


def _folder(path: str) -> Path:
    if not path:
        raise InvalidInput("STEELTRAP_EMBEDDER=onnx needs STEELTRAP_EMBEDDER_MODEL: the folder of the model.")
    return Path(path).expanduser()


def _small() -> Path:
    try:
        from steeltrap_small import FOLDER
    except ImportError:
        raise InvalidInput(
            "STEELTRAP_EMBEDDER=small needs its model: run `steeltrap embedder small`, or choose another."
        ) from None
    return Path(FOLDER)


def open_foreign_database(
    path: Path, name: str, going_on: Callable[[], None] = lambda: None
) -> "AbstractContextManager[ForeignDatabase]":
    """A SQLite database that another program made, to read its tables. Raises as `stores.sqlite.foreign.opened`."""
    from ..stores.sqlite.foreign import opened

    return opened(path, name, going_on)
