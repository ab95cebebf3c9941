"""reembed, sweep, users, forget-user and doctor: looking after the whole data folder."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .exits import Exit
from .opening import Opened, opened
from .output import complain, confirm_forgetting, say, write_json

if TYPE_CHECKING:
    from ...errors import SteeltrapError
    from ...maintenance import Run
    from ...model import UserRef
    from .diagnosis import Finding


def register(app: typer.Typer) -> None:
    for command in (reembed, sweep, users, forget_user, doctor):
        app.command()(command)


def reembed(
    all_users: Annotated[
        bool, typer.Option("--all", help="Also re-embed users who already have this embedder's vectors.")
    ] = False,
    as_json: options.Json = False,
    data: options.Data = None,
) -> None:
    """Re-embed all memories of all users with the current embedder.

    Run it after changing the embedder. A user's vectors are replaced together, once all are computed. Until then a
    server with the new embedder compares words only, and says so. If the command was interrupted, run it again: it
    continues where it stopped.
    """
    from .progress import shown

    with opened(data=data) as memory:
        run = _run(memory)
        users = run.everyone()
        try:
            with shown("Embedding", len(users)) as advance:
                run.reembed(users, again=all_users, advance=advance)
        except KeyboardInterrupt:
            ready = run.users + run.already
            complain(
                f"Stopped: {ready:,} of {len(users):,} users have the new vectors, the others still have their old "
                "ones. Run the same command again: it continues where it stopped."
            )
            raise
    said = f"{run.memories:,} memories of {run.users:,} users have new vectors."
    if run.already:
        said += f" {run.already:,} users had them already; --all re-embeds them."
    done = {"users": run.users, "memories": run.memories, "already": run.already, "failed": run.failed}
    _finish(done, as_json, said)


def sweep(as_json: options.Json = False, data: options.Data = None) -> None:
    """Purge expired and old deleted memories, and close idle conversations.

    Memories that were saved without the search index get their links and surprise. A deleted memory is purged after
    STEELTRAP_RETENTION_DAYS. With STEELTRAP_STORE=aws, tombstones of memories gone for 15 days are also removed from
    the search index.
    """
    said = ""
    with opened(data=data) as memory:
        run = _run(memory)
        run.sweep(run.everyone())
        done = {"users": run.users, "memories": run.memories, "failed": run.failed}
        if memory.settings.store == "aws":
            _sweep_index(memory, done)
            said = f" {done['tombstones']:,} tombstones were removed from the search index."
    _finish(done, as_json, f"{done['memories']:,} memories of {done['users']:,} users were purged.{said}")


def users(as_json: options.Json = False, data: options.Data = None) -> None:
    """List the users who have data, by id.

    A file that can't be read is named on stderr, and the exit code is 1.
    """
    with opened(data=data) as memory:
        run = _run(memory)
        known = sorted((whose.user_id, whose.tenant) for whose in run.everyone())
    if as_json:
        write_json([{"user": user, "tenant": tenant} for user, tenant in known])
    else:
        for user, tenant in known:
            say(user, (f"  tenant {tenant}" if tenant else "", "dim"))
    if run.failed:
        raise typer.Exit(Exit.OTHER)
    if not known:
        complain("Nothing is stored for any user yet.")


def forget_user(
    user: Annotated[str, typer.Argument(metavar="USER", help="The user's id.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask for confirmation.")] = False,
    tenant: Annotated[str, typer.Option("--tenant", metavar="ID", help="The user's tenant, if any.")] = "",
    data: options.Data = None,
) -> None:
    """Erase all data of a user permanently.

    This includes exported files and the bytes on disk. It can't be undone.
    """
    from ... import maintenance
    from ...model import UserRef

    with opened(data=data) as memory:
        if memory.door.files is None:
            complain("STEELTRAP_EXPORT_BUCKET is not set: the user's exported files, if any, are kept.")
        if not yes:
            confirm_forgetting(f"all memories of the user {user}")
        whose = UserRef(user, tenant)
        there = maintenance.forget_user(whose, memory.door.store, memory.door.files)
    if not there:
        complain(f"Nothing is stored for {user}.")
        raise typer.Exit(Exit.NOT_FOUND)
    say(f"Forgotten: all data of {user}. Backups and exports made before may still contain it.")


def doctor(as_json: options.Json = False, data: options.Data = None) -> None:
    """Check the installation, and say how to fix what is broken."""
    from ...settings import read_settings
    from . import diagnosis

    settings = read_settings(data=data and data.expanduser())
    findings = diagnosis.examine(settings)
    broken = any(finding.state == "broken" for finding in findings)
    if as_json:
        write_json({"healthy": not broken, "checks": [finding.as_json() for finding in findings]})
    else:
        _print_findings(findings)
    if broken:
        raise typer.Exit(Exit.OTHER)


def _run(memory: Opened) -> "Run":
    """A run over everyone that names each failure on stderr."""
    from ...maintenance import Run

    return Run(store=memory.door.store, call_for=memory.door.call_for, report=_complain_of)


def _complain_of(whose: "UserRef | None", error: "SteeltrapError") -> None:
    complain(error.message if whose is None else f"user {whose.user_id}: {error.message}")


def _sweep_index(memory: Opened, done: dict[str, int]) -> None:
    from ... import maintenance
    from ...errors import SteeltrapError
    from ...runtime import local as runtime

    done["tombstones"] = 0
    upkeep = runtime.open_upkeep(memory.settings, memory.door.embedder)
    try:
        done["tombstones"] = maintenance.sweep_index(upkeep.truth, upkeep.index, memory.door.clock)
    except SteeltrapError as error:
        done["failed"] += 1
        complain(error.message)
    finally:
        upkeep.close()


def _finish(done: dict[str, int], as_json: bool, said: str) -> None:
    if as_json:
        write_json(done)
    else:
        say(said)
    if done["failed"]:
        raise typer.Exit(Exit.OTHER)


def _print_findings(findings: "Sequence[Finding]") -> None:
    styles = {"fine": "green", "warning": "yellow", "broken": "red"}
    for finding in findings:
        say((f"{finding.state:8}", styles[finding.state]), f"{finding.check}: {finding.found}")
        if finding.mend:
            say(f"        fix: {finding.mend}")
