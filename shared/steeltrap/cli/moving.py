"""The command that moves memories between data folders and the URLs of logs."""

from typing import Annotated

import typer

from . import terminal
from .terminal import Exit, complain, progress_bar, say, write_json

_PLACE = "A folder, or a URL: s3://bucket/prefix, gs://..., az://..., dynamodb://table?bases=..., file:///folder."


def move(
    source: Annotated[str, typer.Argument(metavar="FROM", help=_PLACE)],
    target: Annotated[str, typer.Argument(metavar="TO", help="Likewise. Whoever has memories there keeps them.")],
    user: Annotated[str | None, typer.Option("--user", metavar="ID", help="Only this user.")] = None,
    tenant: Annotated[str, typer.Option("--tenant", metavar="ID", help="The user's tenant, if any.")] = "",
    as_json: terminal.Json = False,
) -> None:
    """Move memories and exported files to another place, while they are used.

    Each user is moved whole and compared, or not at all. From then on FROM refuses that user's calls and names TO, also
    in programs that run: give them the new STEELTRAP_STORE. What was moved stays in FROM, to be removed by hand. The
    exit code is 1 if a user could not be moved; run it again to go on.
    """
    from ..model import UserRef
    from ..runtime import moving

    with progress_bar("Moving", 1, unit="users") as advance:
        done = moving.move(
            source,
            target,
            only=None if user is None else UserRef(user, tenant),
            advance=lambda number, of: advance(number / of if of else 1, number),
        )
    for whose, why in done.failures:
        complain(f"{whose.user_id}: {why}")
    if as_json:
        failed = [{"user": whose.user_id, "tenant": whose.tenant, "reason": why} for whose, why in done.failures]
        write_json(
            {
                "users": done.users,
                "memories": done.memories,
                "files": done.files,
                "moved_before": done.done_before,
                "failed": failed,
            }
        )
    else:
        before = f" {done.done_before:,} had been moved before." if done.done_before else ""
        what = f"{_count(done.memories, 'memory', 'memories')} of {_count(done.users, 'user', 'users')}"
        say(f"Moved {what} to {target}.{before}")
        if done.users and "://" not in source:
            store = target if "://" in target else "sqlite"
            say(f"Whoever uses {source} finds them by: steeltrap config set store {store} --data {source}")
    if done.failures:
        raise typer.Exit(Exit.OTHER)


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
