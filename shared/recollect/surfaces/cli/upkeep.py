"""reembed, sweep, forget-user and doctor: looking after the whole data folder."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .exits import Exit
from .opening import Opened, opened
from .output import complain, confirm_forgetting, say, write_json

if TYPE_CHECKING:
    from ...model import Caller, Embedding, Memory
    from .diagnosis import Finding

_BLOCK_SECONDS = 600.0


def register(app: typer.Typer) -> None:
    for command in (reembed, sweep, forget_user, doctor):
        app.command()(command)


def reembed(as_json: options.Json = False, data: options.Data = None) -> None:
    """Embed every memory of every user anew, after the embedder was changed. Stop the server first."""
    from .progress import shown

    done: dict[str, int] = {"users": 0, "memories": 0, "failed": 0}
    with opened(data=data) as memory:
        users = list(_users(memory, done))
        with shown("Embedding", len(users)) as advance:
            for reached, user in enumerate(users, 1):
                _embed_anew(memory, user, done)
                advance(reached, done["memories"])
    _finish(done, as_json, f"{done['memories']:,} memories of {done['users']:,} users have new vectors.")


def sweep(as_json: options.Json = False, data: options.Data = None) -> None:
    """Purge what has expired, and what was deleted longer ago than RECOLLECT_RETENTION_DAYS.

    With RECOLLECT_STORE=aws the search index loses its tombstones of what has been gone for 15 days, too.
    """
    from ...engine.sweep import sweep as purge
    from ...errors import RecollectError

    done = {"users": 0, "memories": 0, "failed": 0}
    said = ""
    with opened(data=data) as memory:
        for user in _users(memory, done):
            try:
                done["memories"] += purge(memory.door.call_for(user, seconds=_BLOCK_SECONDS))
                done["users"] += 1
            except RecollectError as error:
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
            complain("No place of exported files is set (RECOLLECT_EXPORT_BUCKET): a user's files, if any, stay.")
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
    """Check what recollect stands on, and say how to mend what is broken."""
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
    from ...errors import RecollectError
    from ...model import Caller

    try:
        for user in memory.door.store.users():
            yield Caller(user.user_id, tenant=user.tenant)
    except RecollectError as error:
        done["failed"] += 1
        complain(error.message)


def _embed_anew(memory: Opened, user: "Caller", done: dict[str, int]) -> None:
    from ...engine.entry import embed_memories
    from ...errors import RecollectError

    def embed(memories: "Sequence[Memory]") -> "list[tuple[Embedding, ...]]":
        return embed_memories(memory.door.call_for(user, seconds=_BLOCK_SECONDS), memories)

    try:
        done["memories"] += memory.door.store.space(user.user_id, tenant=user.tenant).reembed(embed)
        done["users"] += 1
    except RecollectError as error:
        done["failed"] += 1
        complain(f"user {user.user_id}: {error.message}")


def _sweep_index(memory: Opened, done: dict[str, int]) -> None:
    from ... import runtime
    from ...engine.sweep_index import sweep_index
    from ...errors import RecollectError

    done["tombstones"] = 0
    upkeep = runtime.open_upkeep(memory.settings, memory.door.embedder)
    try:
        done["tombstones"] = sweep_index(upkeep.truth, upkeep.index, memory.door.clock.now())
    except RecollectError as error:
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
