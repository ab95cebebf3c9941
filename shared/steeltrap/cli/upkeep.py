"""Commands for who looks after a data folder, and after the tables and the search index of STEELTRAP_STORE=aws.

reembed, sweep, migrate, users, forget-user, doctor; backup and restore; setup, index, reindex, verify.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from threading import Event, get_native_id
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

from ..errors import counted
from ..servers.process.logs import log_to_stderr
from . import terminal
from .session import CliSession, Exit, as_typed, complain, opened, say, write_json
from .terminal import confirm_forgetting, on_memory, progress_bar

if TYPE_CHECKING:
    from ..errors import SteeltrapError
    from ..maintenance import Run
    from ..model import UserRef
    from ..runtime.aws import Upkeep
    from ..settings import Settings
    from .diagnosis import Finding

T = TypeVar("T")

_NICENESS: Final = 5
"""With 10 and more, work takes many times as long beside a busy server."""


def at_low_priority(work: Callable[[Callable[[], None]], T]) -> T:
    """The result of work in a thread of lower priority, on Linux; elsewhere a thread has no priority of its own.

    The work gets a function to call now and then: it raises KeyboardInterrupt once the caller was interrupted.
    """
    interrupted = Event()

    def check() -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt

    with ThreadPoolExecutor(max_workers=1, initializer=_yield_to_others) as thread:
        try:
            return thread.submit(work, check).result()
        except BaseException:
            interrupted.set()
            raise


def _yield_to_others() -> None:
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + _NICENESS)


def reembed(
    all_users: Annotated[
        bool, typer.Option("--all", help="Also re-embed users who already have this embedder's vectors.")
    ] = False,
    as_json: terminal.Json = False,
    data: terminal.Data = None,
) -> None:
    """Re-embed all memories of all users with the current embedder.

    Run it after changing the embedder. A user's vectors are replaced together, once all are computed. Until then a
    server with the new embedder compares words only, and says so. If the command was interrupted, run it again: it
    continues where it stopped. Users who have this embedder's vectors already get new ones of texts whose vectors a
    new release makes otherwise.
    """
    with opened(data=data, as_set=True) as memory:
        run = reembed_everyone(memory, again=all_users)
    sentence = embedded(run)
    if run.already:
        sentence += f" {counted(run.already, 'user', 'users')} had them already; --all re-embeds them."
    report = {"users": run.users, "memories": run.memories, "already": run.already}
    _finish(report | {"moved": run.moved, "failed": run.failed}, as_json, sentence + _passed_over(run))


def embedded(run: "Run") -> str:
    """The sentence about a run that made vectors."""
    memories = counted(run.memories, "memory", "memories")
    return f"{memories} of {counted(run.users, 'user', 'users')} got new vectors."


def reembed_everyone(memory: CliSession, *, again: bool = False) -> "Run":
    """Give all users the vectors of the open embedder, with a progress bar; what was done."""
    run = _run(memory)
    users = run.everyone()
    try:
        with progress_bar("Embedding", len(users)) as advance:
            run.reembed(users, again=again, advance=advance)
    except KeyboardInterrupt:
        ready = run.users + run.already
        complain(
            f"Stopped: {ready:,} of {counted(len(users), 'user', 'users')} have the new vectors, the others their old "
            "ones. Run the same command again: it continues where it stopped."
        )
        raise
    return run


@on_memory("data")
def sweep(memory: CliSession, as_json: terminal.Json = False) -> None:
    """Purge expired and old deleted memories, and close idle conversations.

    Memories that were saved without the search index get their links and surprise. A deleted memory is purged after
    STEELTRAP_RETENTION_DAYS. With STEELTRAP_STORE=aws, tombstones of memories gone for 15 days are also removed from
    the search index.
    """
    sweep_of_index = ""
    run = _run(memory)
    run.sweep_due()
    report = {"users": run.users, "memories": run.memories, "moved": run.moved, "failed": run.failed}
    if memory.settings.store_kind == "aws":
        _sweep_index(memory, report)
        tombstones = counted(report["tombstones"], "tombstone was", "tombstones were")
        sweep_of_index = f" {tombstones} removed from the search index."
    users = counted(run.users, "user", "users")
    verb = "was" if run.memories == 1 else "were"
    sentence = f"{counted(run.memories, 'memory', 'memories')} of {users} {verb} purged."
    _finish(report, as_json, sentence + _passed_over(run) + sweep_of_index)


@on_memory("data")
def migrate(memory: CliSession, as_json: terminal.Json = False) -> None:
    """Bring memories in a bucket, a table or a shared folder to this release.

    The last step of an upgrade: run it when every machine has the new release. From then on, an earlier release asks to
    be upgraded. Files of a data folder need no command; they are migrated when they are opened.
    """
    run = _run(memory)
    run.migrate(run.everyone())
    report = {"users": run.users, "already": run.already, "moved": run.moved, "failed": run.failed}
    sentence = f"The memories of {counted(run.users, 'user', 'users')} were migrated."
    if run.already:
        sentence += f" Those of {counted(run.already, 'user', 'users')} are up to date."
    _finish(report, as_json, sentence + _passed_over(run))


@on_memory("data")
def users(memory: CliSession, as_json: terminal.Json = False) -> None:
    """List the users who have data, by id.

    A file that can't be read is named on stderr, and the exit code is 1.
    """
    run = _run(memory)
    rows = sorted((ref.user_id, ref.tenant) for ref in run.everyone())
    if as_json:
        write_json([{"user": user, "tenant": tenant} for user, tenant in rows])
    else:
        for user, tenant in rows:
            say(user, (f"  tenant {tenant}" if tenant else "", "dim"))
    if run.failed:
        raise typer.Exit(Exit.OTHER)
    if not rows:
        complain("Nothing is stored for any user yet.")


@on_memory("data")
def forget_user(
    memory: CliSession,
    user: Annotated[str, typer.Argument(metavar="USER", help="The user's id.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask for confirmation.")] = False,
    tenant: Annotated[str, typer.Option("--tenant", metavar="ID", help="The user's tenant, if any.")] = "",
) -> None:
    """Erase all data of a user permanently.

    This includes exported files and the bytes on disk. It can't be undone.
    """
    from .. import maintenance
    from ..model import UserRef

    if memory.door.files is None:
        complain("STEELTRAP_EXPORT_BUCKET is not set: the user's exported files, if any, are kept.")
    if not yes:
        confirm_forgetting(f"all memories of the user {user}")
    ref = UserRef(user, tenant)
    existed = maintenance.forget_user(ref, memory.door.store, memory.door.files)
    if not existed:
        complain(f"Nothing is stored for {user}.")
        raise typer.Exit(Exit.NOT_FOUND)
    say(f"Forgotten: all data of {user}. Backups and exports made before may still contain it.")


def doctor(as_json: terminal.Json = False, data: terminal.Data = None) -> None:
    """Check the installation, and say how to fix what is broken."""
    from . import diagnosis

    settings, faults = diagnosis.settings_and_faults(data and data.expanduser())
    findings = [*faults, *diagnosis.examine(settings)]
    is_broken = any(finding.state == "broken" for finding in findings)
    if as_json:
        write_json({"healthy": not is_broken, "checks": [finding.as_json() for finding in findings]})
    else:
        _print_findings(findings)
    if is_broken:
        raise typer.Exit(Exit.OTHER)


def _run(memory: CliSession) -> "Run":
    """A run over everyone that names each failure, and each user who is passed over, on stderr."""
    from ..maintenance import Run

    return Run(store=memory.door.store, call_for=memory.door.call_for, report=_complain_of)


def _complain_of(ref: "UserRef | None", error: "SteeltrapError") -> None:
    complain(error.message if ref is None else f"user {ref.user_id}: {error.message}")


def _passed_over(run: "Run") -> str:
    return (
        f" {counted(run.moved, 'user was', 'users were')} passed over: the move is going on or was cut short."
        if run.moved
        else ""
    )


def _sweep_index(memory: CliSession, report: dict[str, int]) -> None:
    from .. import maintenance
    from ..errors import SteeltrapError
    from ..runtime import local as runtime

    report["tombstones"] = 0
    upkeep = runtime.open_upkeep(memory.settings, memory.door.embedder)
    try:
        report["tombstones"] = maintenance.sweep_index(upkeep.truth, upkeep.index, memory.door.clock)
    except SteeltrapError as error:
        report["failed"] += 1
        complain(error.message)
    finally:
        upkeep.close()


def _finish(report: dict[str, int], as_json: bool, sentence: str) -> None:
    if as_json:
        write_json(report)
    else:
        say(sentence)
    if report["failed"]:
        raise typer.Exit(Exit.OTHER)


def _print_findings(findings: "Sequence[Finding]") -> None:
    styles = {"fine": "green", "warning": "yellow", "broken": "red"}
    for finding in findings:
        say((f"{finding.state:8}", styles[finding.state]), as_typed(f"{finding.check}: {finding.found}"))
        if finding.mend:
            say(as_typed(f"        fix: {finding.mend}"))


def backup(
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="A new folder; it must not exist yet.")],
    as_json: terminal.Json = False,
    data: terminal.Data = None,
) -> None:
    """Back up the data folder, also while it is served.

    Memories, exported files, settings and keys are copied. TARGET is there only once the backup is complete. The exit
    code is 1 if a damaged file had to be left out.
    """
    from ..runtime import local as runtime
    from ..servers.hooks.server_file import NAME as SERVER_FILE
    from ..settings import read_settings

    settings = read_settings(data=data and data.expanduser())
    with progress_bar("Backing up", 1, unit="users") as advance:

        def advanced(check: Callable[[], None], position: int, of: int) -> None:
            check()
            advance(position / of if of else 1, position)

        manifest = at_low_priority(
            lambda check: runtime.back_up(
                settings, target.expanduser(), skip=(SERVER_FILE,), advance=partial(advanced, check)
            )
        )
    for file in manifest.left_out:
        complain(f"Left out: {file.path}. {file.reason}")
    for missing in _elsewhere(settings):
        complain(missing)
    if as_json:
        left_out = [file.path for file in manifest.left_out]
        write_json(
            {"users": manifest.users, "files": len(manifest.files), "bytes": manifest.size, "left_out": left_out}
        )
    else:
        say(f"Backed up {counted(manifest.users, 'user', 'users')} ({_megabytes(manifest.size)}) to {target}.")
    if manifest.left_out:
        raise typer.Exit(Exit.OTHER)


def restore(
    source: Annotated[
        Path | None, typer.Argument(metavar="SOURCE", help="A folder that `steeltrap backup` made.", show_default=False)
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Restore over a folder that is not empty; the old one is kept beside it.")
    ] = False,
    user: Annotated[str | None, typer.Option("--user", metavar="ID", help="With --at: whose memories.")] = None,
    tenant: Annotated[str, typer.Option("--tenant", metavar="ID", help="The user's tenant, if any.")] = "",
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TIME",
            help="Restore one user's memories as they were then, such as 2026-01-31T09:30. Local time. For stores at a "
            "URL.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --at: don't ask for confirmation.")] = False,
    as_json: terminal.Json = False,
    data: terminal.Data = None,
) -> None:
    """Restore a backup, or a user's memories as they were at a time.

    A backup goes into a new or empty data folder, or into a store at a URL. Every file of it is compared with its
    checksum, and every user's file is looked into, before anything changes. Stop the server first. To restore a deleted
    memory, use `undo`. With --at, what would change is shown first; a server goes on meanwhile.
    """
    from .. import settings_file
    from ..runtime import local as runtime
    from ..servers.hooks.server_file import NAME as SERVER_FILE
    from ..settings import read_settings

    settings = read_settings(data=data and data.expanduser())
    if at is not None:
        from .moving import restore_as_of

        return restore_as_of(settings, user or settings.user, tenant, at, yes=yes, as_json=as_json)
    if source is None:
        raise typer.BadParameter("Name the folder of a backup, or a time with --at.", param_hint="'SOURCE'")
    with progress_bar("Restoring", 1, unit="bytes") as advance:
        restored = runtime.restore(
            settings,
            source.expanduser(),
            skip=(SERVER_FILE,),
            replace=replace,
            advance=lambda copied, of: advance(copied / of if of else 1, copied),
        )
    manifest = restored.manifest
    if manifest.left_out:
        files = counted(len(manifest.left_out), "file", "files")
        complain(f"The backup lacks {files} that could not be copied when it was made.")
    if as_json:
        folder_before = {} if restored.kept is None else {"kept": str(restored.kept)}
        return write_json(
            {"users": manifest.users, "files": len(manifest.files), "bytes": manifest.size, **folder_before}
        )
    restored_part = f"{counted(manifest.users, 'user', 'users')} ({_megabytes(manifest.size)})"
    say(f"Restored {restored_part} of {manifest.began_at[:19]}Z to {settings.place}.")
    if restored.kept is not None:
        say(f"The folder that was there before is kept: {restored.kept}.")
    if settings.store_kind == "sqlite" and (names := settings_file.read(settings.data)):
        # They may send texts to another machine, and a backup may be somebody else's.
        say(f"Settings that came with it and hold from now on: {', '.join(names)}. See `steeltrap config`.")
    return None


def _elsewhere(settings: "Settings") -> list[str]:
    """Names of the data that is not in its folder."""
    sentences = []
    if settings.keys_folder is not None and not settings.keys_folder.expanduser().is_relative_to(settings.data):
        sentences.append(f"The API keys in {settings.keys_folder} are not in the backup.")
    if settings.export_bucket:
        sentences.append(f"The exported files in the bucket {settings.export_bucket} are not in the backup.")
    return sentences


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"


Whose = Annotated[str | None, typer.Option("--user", metavar="ID", help="Only this user.")]
Tenant = Annotated[str, typer.Option("--tenant", metavar="ID", help="The user's tenant, if any.")]


def setup(
    role: Annotated[
        str,
        typer.Option(
            "--grant", metavar="ROLE", help="Give this role of PostgreSQL the rights that serving needs, and no more."
        ),
    ] = "",
    as_json: terminal.Json = False,
) -> None:
    """Create the tables, and for `aws` the first search index, if missing.

    This needs STEELTRAP_STORE=aws or postgresql://...
    """
    from ..runtime import local as runtime

    names = runtime.set_up(_operators_settings(), role=role)
    if as_json:
        write_json({"made": names})
    else:
        say(f"Created: {', '.join(names)}." if names else "Everything already exists.")


def index(
    once: Annotated[bool, typer.Option("--once", help="Stop when everything in the stream is indexed.")] = False,
    as_json: terminal.Json = False,
) -> None:
    """Update the search index from the table's stream.

    It runs until stopped. Use it if no Lambda function does this.
    """
    from threading import Event

    from ..runtime import local as runtime

    following = runtime.open_indexer(_operators_settings())
    try:
        if not once:
            complain("Following the table's stream; Ctrl-C stops it.")
            following.follow(Event())
        records = following.drain()
    finally:
        following.close()
    if as_json:
        write_json({"records": records})
    else:
        say(f"{counted(records, 'record of the stream was', 'records of the stream were')} processed.")


def reindex(
    user: Whose = None,
    tenant: Tenant = "",
    accept_refused: Annotated[
        bool, typer.Option("--accept-refused", help="Switch even if the new index rejects some memories.")
    ] = False,
    as_json: terminal.Json = False,
) -> None:
    """Rebuild the search index from the table, then switch to it.

    Searches use the old index while the new one is built; writes go on. If the command was interrupted, run it again:
    it continues. With --user, the user's memories are written to the current index, and documents that the table
    doesn't have are removed from it.
    """
    from .. import maintenance

    with _upkeep() as upkeep, progress_bar("Indexing", None) as advance:
        if user is not None:
            reindexed = maintenance.mend_index(upkeep.truth, upkeep.index, _user_ref(user, tenant))
        else:
            reindexed = maintenance.rebuild_index(
                upkeep.truth,
                upkeep.index,
                accept_refused=accept_refused,
                advance=lambda count: advance(count, count),
            )
    if as_json:
        write_json({"written": reindexed.written, "refused": reindexed.refused, "switched": reindexed.switched})
    else:
        searched = ", and the new index is in use" if reindexed.switched else ""
        written = counted(reindexed.written, "memory or tombstone was", "memories and tombstones were")
        say(f"{written} written{searched}.")
    if reindexed.refused:
        advice = (
            ""
            if reindexed.switched or user is not None
            else " The old index stays in use; --accept-refused switches anyway."
        )
        complain(f"{counted(reindexed.refused, 'was', 'were')} refused ({reindexed.why}).{advice}")
        raise typer.Exit(Exit.OTHER)


def verify(user: Whose = None, tenant: Tenant = "", as_json: terminal.Json = False) -> None:
    """Compare the table and the search index, and list differences.

    The exit code is 1 if there are any.
    """
    from .. import maintenance
    from ..runtime import SystemClock

    ref = None if user is None else _user_ref(user, tenant)
    with _upkeep() as upkeep:
        report = maintenance.verify_index(upkeep.truth, upkeep.index, SystemClock(), user=ref)
    if as_json:
        listed = [
            {**asdict(difference.user), "id": difference.id, "kind": difference.kind}
            for difference in report.differences
        ]
        write_json({**report.counts, "strays": report.strays, "differences": listed})
    else:
        for difference in report.differences:
            of = (
                f"{difference.user.user_id} ({difference.user.tenant})"
                if difference.user.tenant
                else difference.user.user_id
            )
            say(f"{difference.kind:11} {difference.id} of {of}")
        if report.strays:
            say(f"{report.strays:,} documents of the index belong to no known user.")
        if not report.differences and not report.strays:
            say("The index matches the table.")
    if report.differences or report.strays:
        raise typer.Exit(Exit.OTHER)


@contextmanager
def _upkeep() -> "Iterator[Upkeep]":
    """Table and index, closed at the end."""
    from ..runtime import local as runtime

    upkeep = runtime.open_upkeep(_operators_settings())
    try:
        yield upkeep
    finally:
        upkeep.close()


def _operators_settings() -> "Settings":
    from ..settings import read_settings

    settings = read_settings()
    log_to_stderr(settings.log, format=settings.log_format)
    return settings


def _user_ref(user: str, tenant: str) -> "UserRef":
    from ..model import UserRef

    return UserRef(user, tenant)
