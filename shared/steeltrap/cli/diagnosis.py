"""The checks of `steeltrap doctor`. Every check answers a finding and, where it isn't fine, how to mend it."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from ..errors import SteeltrapError
from ..model import UserRef

if TYPE_CHECKING:
    from ..ports import Embedder
    from ..settings import Settings

State = Literal["fine", "warning", "broken"]

_LOWEST_SQLITE: Final = (3, 44)
_FEW_BYTES: Final = 100 * 1024 * 1024
_SCARCE_BYTES: Final = 1024 * 1024 * 1024
_FEW_DESCRIPTORS: Final = 1024


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: its name, its state, what was found, and how to mend it."""

    check: str
    state: State
    found: str
    mend: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


def examine(settings: "Settings") -> list[Finding]:
    """Every check, in the order in which one would mend them."""
    from ..runtime import local as runtime

    embedder, finding = _embedder(settings)
    if settings.store_kind == "aws":
        return [finding, *_cloud(settings, embedder)]
    if settings.store_kind == "log":
        return [*_sqlite(), finding, *_log(settings), _space(runtime.cache_of(settings)), _descriptors()]
    return [
        *_sqlite(),
        finding,
        _folder(settings.data),
        _space(settings.data),
        *_files(settings.data, embedder),
        *_counters(settings.data / "counters.db"),
        _descriptors(),
    ]


def _sqlite() -> Iterator[Finding]:
    try:
        import apsw
    except ImportError:
        yield Finding("sqlite", "broken", "apsw is not installed.", "Run `pip install steeltrap`.")
        return
    version = apsw.sqlite_lib_version()
    found = f"SQLite {version} by apsw {apsw.apsw_version()}, Python {sys.version.split()[0]}."
    if tuple(int(part) for part in version.split(".")[:2]) < _LOWEST_SQLITE:
        yield Finding("sqlite", "broken", found, "Run `pip install --upgrade apsw`: it brings a current SQLite.")
    else:
        yield Finding("sqlite", "fine", found)


def _embedder(settings: "Settings") -> "tuple[Embedder | None, Finding]":
    from ..runtime import local as runtime

    try:
        embedder = runtime.embedder_of_folder(settings)
        [vector] = embedder.embed(["a sentence to try it with"], purpose="document", timeout=30)
    except SteeltrapError as error:
        mend = "Install or start it, or choose another with STEELTRAP_EMBEDDER."
        return None, Finding("embedder", "broken", error.message, mend)
    if len(vector) != 4 * embedder.dimension:
        found = f"{embedder.name} returns {len(vector) // 4} dimensions, but {embedder.dimension} are set."
        return None, Finding("embedder", "broken", found, "Set STEELTRAP_EMBEDDER_DIMENSION to what the model returns.")
    return embedder, Finding("embedder", "fine", f"{embedder.name}, {embedder.dimension} dimensions.")


def _cloud(settings: "Settings", embedder: "Embedder | None") -> Iterator[Finding]:
    """Tables and index, when there is an embedder to open them with."""
    from ..runtime import local as runtime
    from ..runtime.clock import SystemClock

    if embedder is None:
        return
    mend = "Start it, or fix its address and permissions; `steeltrap admin setup` creates what is missing."
    try:
        store = runtime.open_store(settings, embedder, SystemClock())
        try:
            store.check()
        finally:
            store.close()
        upkeep = runtime.open_upkeep(settings, embedder)
        try:
            unfit = upkeep.index.unfit()
        finally:
            upkeep.close()
    except SteeltrapError as error:
        yield Finding("store", "broken", error.message, mend)
        return
    found = f"Tables {settings.memory_table} and {settings.usage_table}, search index {settings.opensearch_index}."
    yield Finding("store", "fine", found)
    if unfit:
        yield Finding("index", "broken", unfit, "Run `steeltrap admin reindex`, or restore the old STEELTRAP_EMBEDDER.")


def _log(settings: "Settings") -> Iterator[Finding]:
    from ..runtime.local import open_logs

    mend = "Check the URL in STEELTRAP_STORE, your cloud's credentials and their rights."
    try:
        with closing(open_logs(settings)) as logs:
            logs.check()
            logs.id()
    except SteeltrapError as error:
        yield Finding("store", "broken", error.message, mend)
    else:
        yield Finding("store", "fine", f"{settings.store} can be read and written.")


def _folder(folder: Path) -> Finding:
    existing = _existing(folder)
    if not os.access(existing, os.R_OK | os.W_OK | os.X_OK) or not existing.is_dir():
        mend = f"Run `chmod u+rwx {existing}`, or set STEELTRAP_DATA to another folder."
        return Finding("folder", "broken", f"{existing} can't be read and written.", mend)
    if existing != folder:
        return Finding("folder", "fine", f"{folder} doesn't exist yet; the first save creates it.")
    if os.name == "posix" and any(path.stat().st_mode & 0o077 for path in folder.glob("users/*/*.db")):
        mend = f"Run `chmod -R go-rwx {folder}`."
        return Finding("folder", "warning", f"{folder} has memories that other accounts can read.", mend)
    return Finding("folder", "fine", f"{folder} can be read and written.")


def _space(folder: Path) -> Finding:
    free = shutil.disk_usage(_existing(folder)).free
    found = f"{free / 1024**3:,.1f} GiB are free."
    if free < _SCARCE_BYTES:
        state: State = "broken" if free < _FEW_BYTES else "warning"
        return Finding("space", state, found, "Free some space, or set STEELTRAP_DATA to a folder on another disk.")
    return Finding("space", "fine", found)


def _files(folder: Path, embedder: "Embedder | None") -> Iterator[Finding]:
    """Each file that isn't fine by itself, then all that are together."""
    fine = 0
    for path in sorted(folder.glob("users/*/*.db")):
        finding = _file(path, embedder)
        fine += finding is None
        if finding is not None:
            yield finding
    yield Finding("files", "fine", f"{fine:,} user files are intact." if fine else "There are no other user files.")


def _file(path: Path, embedder: "Embedder | None") -> Finding | None:
    from ..runtime.local import inspect_file

    file = inspect_file(path)
    if file.is_newer:
        found = f"{path} was written by a newer steeltrap (schema {file.schema}; this one reads up to {file.newest})."
        mend = "Run `pip install --upgrade steeltrap`, or restore a backup from before the upgrade."
        return Finding("file", "broken", found, mend)
    if file.faults:
        return _damaged(path, "; ".join(file.faults))
    meta = file.meta
    if meta and UserRef(meta.get("user_id", ""), meta.get("tenant", "")).key != path.stem:
        found = f"{path} holds the memories of another user, so it is not served."
        return Finding("file", "broken", found, "Move it back to its own name, or copy the right one from a backup.")
    recorded = (meta.get("embedder"), meta.get("dimension"))
    if "next_embedder" in meta:
        found = f"{path} is being embedded by {meta['next_embedder']}, and is not ready."
        return Finding("file", "warning", found, "If `steeltrap reembed` is not running, run it to continue.")
    if meta and embedder is not None and recorded != (embedder.name, embedder.dimension):
        found = (
            f"{path} was embedded by {recorded[0]} ({recorded[1]} dimensions), but the settings say {embedder.name}."
        )
        return Finding("file", "broken", found, "Run `steeltrap reembed`, or restore the old STEELTRAP_EMBEDDER.")
    return None


def _counters(path: Path) -> Iterator[Finding]:
    from ..runtime.local import inspect_file

    if path.exists() and inspect_file(path, has_meta=False).faults:
        mend = f"Stop the server and remove `{path}`: it is made again, and holds no memories."
        yield Finding("counters", "warning", f"{path} is damaged, so quotas are not enforced.", mend)


def _damaged(path: Path, why: str) -> Finding:
    mend = (
        "Stop the server and move the file away, with those beside it that end in -wal and -shm. Then copy it back "
        "from a backup, where it has the same path, or import an export. It was left as it is."
    )
    return Finding("file", "broken", f"{path} is damaged ({why}).", mend)


def _descriptors() -> Finding:
    try:
        import resource
    except ImportError:  # Windows has no such limit to ask for
        return Finding("descriptors", "fine", "This system sets no limit.")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = soft if hard == resource.RLIM_INFINITY else hard
    found = f"{soft:,} open files at once, up to {most:,} in `steeltrap serve`."
    if most < _FEW_DESCRIPTORS:
        return Finding("descriptors", "warning", found, "Run `ulimit -n 8192` first if there are many users.")
    return Finding("descriptors", "fine", found)


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
