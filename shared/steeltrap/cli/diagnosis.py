"""The checks of `steeltrap doctor`. Every check answers a finding and, where it isn't fine, how to mend it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, Literal

from ..errors import InvalidInput, SteeltrapError, counted
from ..installation import line_of, upgrade_advice
from ..model import UserRef

if TYPE_CHECKING:
    from ..ports import Embedder
    from ..settings import Settings

State = Literal["fine", "warning", "broken"]

_LOWEST_SQLITE: Final = (3, 44)
_FEW_BYTES: Final = 100 * 1024 * 1024
_SCARCE_BYTES: Final = 1024 * 1024 * 1024
_FEW_DESCRIPTORS: Final = 1024
_DAYS: Final = 7
"""Days of the hooks' log that are looked at."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: its name, its state, what was found, and how to mend it."""

    check: str
    state: State
    found: str
    mend: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


def settings_and_faults(data: Path | None) -> "tuple[Settings, list[Finding]]":
    """The settings without what is wrong with their file, and a finding for each such fault. Raises InvalidInput for an
    invalid value."""
    from ..settings import gather, settings_of

    refused: list[InvalidInput] = []
    settings = settings_of(gather(data=data, refuse=refused.append))
    mend = "Every other command stops at it: correct the file, or take the line out."
    return settings, [Finding("settings", "broken", error.message, mend) for error in refused]


def examine(settings: "Settings") -> list[Finding]:
    """Every check, in the order in which one would mend them."""
    from ..runtime import local as runtime

    embedder, finding = _embedder(settings)
    if settings.store_kind == "aws":
        return [finding, *_cloud(settings, embedder)]
    if settings.store_kind == "log":
        cache = runtime.cache_of(settings)
        folder = runtime.log_folder(settings)
        drives = [*(_drive(folder, "STEELTRAP_STORE") if folder else ()), *_drive(cache, "STEELTRAP_CACHE_FOLDER")]
        return [
            *_sqlite(),
            finding,
            *_log(settings),
            *drives,
            *_quotas(settings),
            _space(cache),
            *_copies(cache),
            _descriptors(),
        ]
    folder_finding = _folder(settings.data)
    return [
        *_sqlite(),
        finding,
        folder_finding,
        *_drive(settings.data, "STEELTRAP_DATA"),
        *([] if folder_finding.state == "broken" else [_space(settings.data)]),  # nothing is stored on that disk
        *_files(settings.data, embedder),
        *_counters(settings.data / "counters.db"),
        _descriptors(),
        *_clients(settings.data),
        _hooks(settings),
        *_server(settings.data),
    ]


def _sqlite() -> Iterator[Finding]:
    try:
        import apsw
    except ImportError:
        yield Finding("sqlite", "broken", "apsw is not installed.", f"Run `{line_of(['apsw'])}`.")
        return
    version = apsw.sqlite_lib_version()
    sentence = f"SQLite {version} by apsw {apsw.apsw_version()}, Python {sys.version.split()[0]}."
    if tuple(int(part) for part in version.split(".")[:2]) < _LOWEST_SQLITE:
        yield Finding(
            "sqlite", "broken", sentence, f"Run `{line_of(['--upgrade', 'apsw'])}`: it brings a current SQLite."
        )
    else:
        yield Finding("sqlite", "fine", sentence)


def _embedder(settings: "Settings") -> "tuple[Embedder | None, Finding]":
    from ..runtime import local as runtime

    try:
        embedder = runtime.embedder_of_folder(settings)
        [vector] = embedder.embed(["a sentence to try it with"], purpose="document", timeout=30)
    except SteeltrapError as error:
        mend = "Install or start it, or choose another with STEELTRAP_EMBEDDER."
        return None, Finding("embedder", "broken", error.message, mend)
    if len(vector) != 4 * embedder.dimension:
        sentence = f"{embedder.name} returns {len(vector) // 4} dimensions, but {embedder.dimension} are set."
        return None, Finding(
            "embedder", "broken", sentence, "Set STEELTRAP_EMBEDDER_DIMENSION to what the model returns."
        )
    return embedder, Finding("embedder", "fine", f"{embedder.name}, {embedder.dimension} dimensions.")


def _cloud(settings: "Settings", embedder: "Embedder | None") -> Iterator[Finding]:
    """Tables and index, when there is an embedder to open them with."""
    from ..runtime import SystemClock
    from ..runtime import local as runtime

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
    sentence = f"Tables {settings.memory_table} and {settings.usage_table}, search index {settings.opensearch_index}."
    yield Finding("store", "fine", sentence)
    if unfit:
        yield Finding("index", "broken", unfit, "Run `steeltrap admin reindex`, or restore the old STEELTRAP_EMBEDDER.")


def _log(settings: "Settings") -> Iterator[Finding]:
    """Each fault of the place, or that it has none."""
    from ..runtime.local import probe_logs

    mend = "Check the URL in STEELTRAP_STORE, your cloud's credentials and their rights."
    try:
        faults, unseen = probe_logs(settings)
    except SteeltrapError as error:
        yield Finding("store", "broken", error.message, mend)
        return
    for fault in faults:
        yield Finding("store", "broken" if fault.broken else "warning", fault.problem, fault.mend)
    if not any(fault.broken for fault in faults):
        yield Finding("store", "fine", " ".join([f"{settings.store} can be read and written.", *unseen]))


def _quotas(settings: "Settings") -> Iterator[Finding]:
    from ..runtime.local import counts_calls_together

    if settings.calls_per_minute and not counts_calls_together(settings):
        sentence = f"Calls are counted per machine: each admits {settings.calls_per_minute:,} per user and minute."
        mend = "Divide STEELTRAP_CALLS_PER_MINUTE by the machines, or use a `dynamodb://` or `postgresql://` store."
        yield Finding("quotas", "warning", sentence, mend)


def _folder(folder: Path) -> Finding:
    existing, elsewhere = _existing(folder), "set STEELTRAP_DATA to another folder."
    if not existing.is_dir():
        sentence = f"{existing} is no folder, so memories can't be stored in {folder}."
        return Finding("folder", "broken", sentence, f"Move it away, or {elsewhere}")
    if not os.access(existing, os.R_OK | os.W_OK | os.X_OK):
        mend = f"Run `chmod u+rwx {existing}`, or {elsewhere}"
        return Finding("folder", "broken", f"{existing} can't be read and written.", mend)
    if existing != folder.absolute():
        if why := _unmade(existing, folder.absolute()):
            return Finding("folder", "broken", f"{folder} can't be made ({why}).", f"S{elsewhere[1:]}")
        return Finding("folder", "fine", f"{folder} doesn't exist yet; the first save creates it.")
    if os.name == "posix" and any(path.stat().st_mode & 0o077 for path in folder.glob("users/*/*.db")):
        mend = f"Run `chmod -R go-rwx {folder}`."
        return Finding("folder", "warning", f"{folder} has memories that other accounts can read.", mend)
    return Finding("folder", "fine", f"{folder} can be read and written.")


def _drive(folder: Path, setting: str) -> Iterator[Finding]:
    mend = f"Set {setting} to a folder on a disk of this machine."
    if setting == "STEELTRAP_STORE":
        mend = "Use a folder on a disk of this machine, or a bucket for several machines."
    if (program := syncing_program(folder)) is not None:
        sentence = f"{folder} is synced by {program}, which copies files while they change: memories can be lost."
        yield Finding("drive", "warning", sentence, mend)
    elif (system := network_drive(_existing(folder))) is not None:
        sentence = f"{folder} is on a network drive ({system}), whose locks and links can't be relied on."
        yield Finding("drive", "warning", sentence, mend)


def _space(folder: Path) -> Finding:
    free = shutil.disk_usage(_existing(folder)).free
    sentence = f"{free / 1024**3:,.1f} GiB are free."
    if free < _SCARCE_BYTES:
        state: State = "broken" if free < _FEW_BYTES else "warning"
        return Finding("space", state, sentence, "Free some space, or set STEELTRAP_DATA to a folder on another disk.")
    return Finding("space", "fine", sentence)


def _files(folder: Path, embedder: "Embedder | None") -> Iterator[Finding]:
    """Each file that isn't fine by itself, then all that are together."""
    fine = 0
    for path in sorted(folder.glob("users/*/*.db")):
        finding = _file(path, embedder)
        fine += finding is None
        if finding is not None:
            yield finding
    intact = counted(fine, "user's file is", "users' files are")
    yield Finding("files", "fine", f"{intact} intact." if fine else "Nothing else is stored yet.")


def _file(path: Path, embedder: "Embedder | None") -> Finding | None:
    from ..runtime.local import inspect_file

    file = inspect_file(path)
    if file.is_newer:
        sentence = (
            f"{path} was written by a newer steeltrap (schema {file.schema}; this one reads up to {file.newest})."
        )
        mend = f"{upgrade_advice()}, or restore a backup from before the upgrade."
        return Finding("file", "broken", sentence, mend)
    if file.faults:
        return _damaged(path, "; ".join(file.faults))
    meta = file.meta
    if meta and UserRef(meta.get("user_id", ""), meta.get("tenant", "")).key != path.stem:
        sentence = f"{path} holds the memories of another user, so it is not served."
        return Finding("file", "broken", sentence, "Move it back to its own name, or copy the right one from a backup.")
    if "moved_to" in meta:  # every call says where they are
        return None
    recorded = (meta.get("embedder"), meta.get("dimension"))
    if "next_embedder" in meta:
        sentence = f"{path} is being embedded by {meta['next_embedder']}, and is not ready."
        return Finding("file", "warning", sentence, "If `steeltrap reembed` is not running, run it to continue.")
    if meta and embedder is not None and recorded != (embedder.name, embedder.dimension):
        sentence = f"{path} was embedded by {recorded[0]} ({recorded[1]} dimensions), but this is {embedder.name}."
        back = "run `steeltrap embedder small`" if f"+{embedder.name}" in str(recorded[0]) else "set STEELTRAP_EMBEDDER"
        return Finding("file", "broken", sentence, f"To go back, {back}; to go on with this one, `steeltrap reembed`.")
    return None


def _copies(cache: Path) -> Iterator[Finding]:
    """Each damaged copy of a user's memories that a log has, then all that are together."""
    from ..runtime.local import inspect_copy

    intact = 0
    for path in sorted(cache.glob("users/*/*.db")):
        try:
            file = inspect_copy(path)
        except SteeltrapError as error:
            yield Finding(
                "cache", "warning", f"{path} wasn't checked: {error.message}", "Run `steeltrap doctor` again."
            )
            continue
        if file is None:  # removed meanwhile, or still empty
            continue
        if not file.faults:
            intact += 1
        else:
            sentence = (
                f"{path} is damaged ({'; '.join(file.faults)}). It is this machine's copy of what is in the store."
            )
            mend = (
                "Stop what uses the cache, then remove the file and those beside it that end in -wal, -shm and "
                "-damaged: the next call makes it again from the store."
            )
            yield Finding("cache", "warning", sentence, mend)
    yield Finding("cache", "fine", f"Intact copies of users' memories on this machine: {intact:,}.")


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
    limit = soft if hard == resource.RLIM_INFINITY else hard
    sentence = f"{soft:,} open files at once, up to {limit:,} in `steeltrap serve`."
    if limit < _FEW_DESCRIPTORS:
        return Finding("descriptors", "warning", sentence, "Run `ulimit -n 8192` first if there are many users.")
    return Finding("descriptors", "fine", sentence)


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())


def _unmade(existing: Path, folder: Path) -> str | None:
    """Why the missing folders can't be made; None where they can. They are not there afterwards."""
    folders: list[Path] = []
    try:
        for part in folder.relative_to(existing).parts:
            path = (folders or [existing])[-1] / part
            path.mkdir(mode=0o700)
            folders.append(path)
    except OSError as error:
        return error.strerror
    finally:
        for path in reversed(folders):
            path.rmdir()
    return None


def _clients(data: Path) -> Iterator[Finding]:
    """Each client whose settings start something that is not there, or can't be read; then the others together."""
    from .installing import CLIENTS, Machine, commands_of

    machine, connected = Machine(Path.home(), os.environ), []
    for client in CLIENTS:
        try:
            commands = commands_of(client, machine)
        except SteeltrapError as error:
            sentence = error.message.removesuffix("Nothing was changed.").strip()
            mend = f"Correct the file if {client} is to remember; then run `steeltrap install {client}`."
            yield Finding("clients", "warning", f"{client}: {sentence}", mend)
            continue
        missing = sorted({program for program, *_ in commands if shutil.which(program) is None})
        if missing:
            sentence = f"{client} starts {' and '.join(missing)}, which is not there, so it remembers nothing."
            yield Finding("clients", "broken", sentence, f"Run `steeltrap install {client}`.")
        elif commands:
            folders = {Path(words[words.index("--data") + 1]) for words in commands if "--data" in words[:-1]}
            others = ", ".join(str(folder) for folder in folders if folder.expanduser() != data.absolute())
            connected.append(f"{client} (memories in {others})" if others else client)
    none = "No client is connected; `steeltrap install CLIENT` connects one."
    yield Finding("clients", "fine", f"Connected: {', '.join(connected)}." if connected else none)


def _hooks(settings: "Settings") -> Finding:
    from ..servers.hooks.command import FOLDER, NAME

    if settings.hooks == "off":
        return Finding("hooks", "fine", "Switched off by the setting `hooks`: prompts and answers are not stored.")
    path = settings.data / FOLDER / NAME
    since = (datetime.now(UTC) - timedelta(days=_DAYS)).strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        lines = []
    except OSError as error:
        return Finding("hooks", "warning", f"{path} can't be read ({error.strerror}).", "Remove it: it is a log.")
    recent = [line for line in lines if line[:20] >= since]
    if not recent:
        return Finding("hooks", "fine", f"No hook failed in the last {_DAYS} days.")
    sentence = f"{counted(len(recent), 'failure', 'failures')} in the last {_DAYS} days. The last one: {recent[-1]}"
    return Finding("hooks", "warning", sentence, f"If it goes on, correct what it names. All of them are in {path}.")


def _server(data: Path) -> Iterator[Finding]:
    from ..servers.hooks import server_file

    server = server_file.read(str(data))
    if server is None or not server_file.is_running(server):
        yield Finding("server", "fine", "No `steeltrap serve` runs over this folder; commands and hooks need none.")
    elif server_file.answers(server):
        sentence = f"It listens on port {server.port} of {server.host} (process {server.process})."
        yield Finding("server", "fine", sentence)
    else:
        sentence = f"The server of this folder (process {server.process}) does not answer on port {server.port}."
        mend = f"Restart it. If that process is another program, remove `{data / server_file.NAME}`."
        yield Finding("server", "warning", sentence, mend)


# Folders on which files don't behave as on a disk of this machine: drives of a network, and what a program syncs.
_NETWORK: Final = frozenset(
    "nfs nfs4 cifs smb2 smb3 smbfs afpfs webdav davfs ceph glusterfs lustre afs ncpfs 9p".split()
    + [
        f"fuse.{name}"
        for name in ("sshfs", "rclone", "s3fs", "gcsfuse", "blobfuse2", "goofys", "mount-s3", "glusterfs")
    ]
)
_SYNCED: Final = (
    ("dropbox", "Dropbox"),
    ("onedrive", "OneDrive"),
    ("icloud", "iCloud"),
    ("mobile documents", "iCloud"),
    ("com~apple~clouddocs", "iCloud"),
    ("cloudstorage", "a cloud drive of macOS"),
    ("google drive", "Google Drive"),
    ("googledrive", "Google Drive"),
    ("nextcloud", "Nextcloud"),
)
"""Beginnings of the names that such programs give their folders, which people seldom change."""


def syncing_program(folder: PurePath) -> str | None:
    """The program that syncs a folder, as far as its path tells."""
    for part in reversed(folder.parts):
        for beginning, program in _SYNCED:
            if part.lower().startswith(beginning):
                return program
    return None


def network_drive(folder: Path) -> str | None:
    """The kind of network drive that a folder, which is there, is on; None for a disk of this machine."""
    if sys.platform == "win32":
        return _windows_drive(folder)
    system = file_system(os.path.realpath(folder), _mounts())
    return system if system in _NETWORK else None


def file_system(path: str, mounts: str) -> str | None:
    """The kind of file system of a path by lines of mounts: those of /proc/self/mounts, or of macOS's `mount`."""
    longest: tuple[int, str | None] = (-1, None)
    for line in mounts.splitlines():
        if " (" in line and " on /" in line:
            _, _, rest = line.partition(" on ")
            point, _, options = rest.rpartition(" (")
            kind = options.split(",")[0].rstrip(")")
        else:
            fields = line.split(" ")
            if len(fields) < 3:
                continue
            point, kind = fields[1].encode().decode("unicode_escape"), fields[2]
        within = point.rstrip("/") + "/"
        if f"{path}/".startswith(within) and len(within) >= longest[0]:  # of mounts over each other the last is seen
            longest = (len(within), kind)
    return longest[1]


def _mounts() -> str:
    try:
        if sys.platform == "darwin":
            return subprocess.run(["/sbin/mount"], capture_output=True, text=True, timeout=5, check=False).stdout
        return Path("/proc/self/mounts").read_text()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _windows_drive(folder: Path) -> str | None:
    drive = os.path.splitdrive(os.path.realpath(folder))[0]
    if drive.startswith("\\\\"):
        return "SMB"
    import ctypes

    is_remote = ctypes.windll.kernel32.GetDriveTypeW(f"{drive}\\") == 4  # type: ignore[attr-defined,unused-ignore]
    return "SMB" if is_remote else None
