"""reembed, sweep, forget-user and doctor: looking after the whole data folder."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .exits import Exit
from .opening import Opened, opened
from .output import complain, confirm_forgetting, say, write_json

if TYPE_CHECKING:
    from ...model import Caller, Memory
    from ...ports import Entry
    from .diagnosis import Finding

_BLOCK_SECONDS = 600.0


def register(app: typer.Typer) -> None:
    for command in (reembed, sweep, forget_user, doctor):
        app.command()(command)


def reembed(
    all_users: Annotated[
        bool, typer.Option("--all", help="Also the users whose vectors this embedder made already.")
    ] = False,
    as_json: options.Json = False,
    data: options.Data = None,
) -> None:
    """Embed every memory of every user anew, after the embedder was changed. Stop the server first.

    Each user's vectors change all at once, when all are made. A command that was cut short goes on with the others.
    """
    from .progress import shown

    done: dict[str, int] = {"users": 0, "memories": 0, "already": 0, "failed": 0}
    with opened(data=data) as memory:
        users = list(_users(memory, done))
        try:
            with shown("Embedding", len(users)) as advance:
                for before, user in enumerate(users):
                    if not all_users and _is_embedded(memory, user):
                        done["already"] += 1
                    else:
                        _embed_anew(memory, user, done, partial(advance, before))
                    advance(before + 1, done["memories"])
        except KeyboardInterrupt:
            ready = done["users"] + done["already"]
            complain(
                f"Stopped: {ready:,} of {len(users):,} users have the new vectors, the others keep their old ones. The "
                "same command again goes on with the others."
            )
            raise
    said = f"{done['memories']:,} memories of {done['users']:,} users have new vectors."
    if done["already"]:
        said += f" {done['already']:,} users had them already; --all embeds theirs again."
    _finish(done, as_json, said)


def sweep(as_json: options.Json = False, data: options.Data = None) -> None:
    """Purge what has expired, and what was deleted longer ago than STEELTRAP_RETENTION_DAYS.

    With STEELTRAP_STORE=aws the search index loses its tombstones of what has been gone for 15 days, too.
    """
    from ...engine.upkeep.sweep import sweep as purge
    from ...errors import SteeltrapError

    done = {"users": 0, "memories": 0, "failed": 0}
    said = ""
    with opened(data=data) as memory:
        for user in _users(memory, done):
            try:
                done["memories"] += purge(memory.door.call_for(user, seconds=_BLOCK_SECONDS))
                done["users"] += 1
            except SteeltrapError as error:
                done["failed"] += 1
                complain(f"user {user.user_id}: {error.message}")
        if memory.settings.store == "aws":
            _sweep_index(memory, done)
            said = f" {done['tombstones']:,} tombstones of the search index went."
    _finish(done, as_json, f"{done['memories']:,} memories of {done['users']:,} users were purged.{said}")


def forget_user(
    user: Annotated[str, typer.Argument(metavar="USER", help="The user's id, as calls carry it.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    tenant: Annotated[str, typer.Option("--tenant", metavar="ID", help="The user's tenant, if any.")] = "",
    data: options.Data = None,
) -> None:
    """Erase everything of a user, to the bytes of the file, exported files too. There is no undo."""
    with opened(data=data) as memory:
        if memory.door.files is None:
            complain("No place of exported files is set (STEELTRAP_EXPORT_BUCKET): a user's files, if any, stay.")
        if not yes:
            confirm_forgetting(f"all memories of the user {user}")
        there = memory.door.store.forget_user(user, tenant=tenant)
        if memory.door.files is not None:
            there = memory.door.files.forget_user(user, tenant=tenant) or there
    if not there:
        complain(f"Nothing is stored of {user}.")
        raise typer.Exit(Exit.NOT_FOUND)
    say(f"Forgotten: everything of {user}.")


def doctor(as_json: options.Json = False, data: options.Data = None) -> None:
    """Check what steeltrap stands on, and say how to mend what is broken."""
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


def _users(memory: Opened, done: dict[str, int]) -> "Iterator[Caller]":
    """Everyone that the store can read; what it can't, which it raises behind them, counts as failed."""
    from ...errors import SteeltrapError
    from ...model import Caller

    try:
        for user in memory.door.store.users():
            yield Caller(user.user_id, tenant=user.tenant)
    except SteeltrapError as error:
        done["failed"] += 1
        complain(error.message)


def _is_embedded(memory: Opened, user: "Caller") -> bool:
    """Whether all of a user's vectors are by this embedder."""
    from ...errors import SteeltrapError
    from ...model import Filter

    if memory.settings.store == "aws":
        return False  # a user whose embedding was cut short has some of both there
    try:
        memory.door.store.space(user.user_id, tenant=user.tenant).page(Filter(), limit=1)
    except SteeltrapError:
        return False  # by another embedder; what else is wrong embedding meets again, and says so
    return True


def _embed_anew(memory: Opened, user: "Caller", done: dict[str, int], advance: "Callable[[int], None]") -> None:
    from ...engine.entry import anew
    from ...errors import SteeltrapError

    space = memory.door.store.space(user.user_id, tenant=user.tenant)
    made = 0

    def entries(memories: "Sequence[Memory]") -> "list[Entry]":
        nonlocal made
        found = anew(memory.door.call_for(user, seconds=_BLOCK_SECONDS), memories)
        made += len(memories)
        advance(done["memories"] + made)
        return found

    try:
        done["memories"] += space.reembed(entries)
        done["users"] += 1
    except SteeltrapError as error:
        done["failed"] += 1
        complain(f"user {user.user_id}: {error.message}")


def _sweep_index(memory: Opened, done: dict[str, int]) -> None:
    from ...engine.upkeep.sweep_index import sweep_index
    from ...errors import SteeltrapError
    from ...runtime import local as runtime

    done["tombstones"] = 0
    upkeep = runtime.open_upkeep(memory.settings, memory.door.embedder)
    try:
        done["tombstones"] = sweep_index(upkeep.truth, upkeep.index, memory.door.clock.now())
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
            say(f"        mend: {finding.mend}")
