"""Commands over the places of memories: moving from one to another, and going back to a time."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ..errors import counted
from . import terminal
from .session import Exit, complain, say, write_json
from .terminal import confirm, progress_bar

if TYPE_CHECKING:
    from ..model import Difference
    from ..settings import Settings

_PLACE = (
    "A folder, a URL (s3://bucket/prefix, gs://..., az://..., dynamodb://table?bases=..., "
    "postgresql://user@host/database, file:///folder), or `aws`: the tables and the index that the settings name."
)


def move(
    source: Annotated[str, typer.Argument(metavar="FROM", help=_PLACE)],
    target: Annotated[str, typer.Argument(metavar="TO", help="Likewise. Whoever has memories there keeps them.")],
    user: Annotated[str | None, typer.Option("--user", metavar="ID", help="Only this user.")] = None,
    tenant: Annotated[str, typer.Option("--tenant", metavar="ID", help="The user's tenant, if any.")] = "",
    as_json: terminal.Json = False,
) -> None:
    """Move memories and exported files to another place, while they are used.

    Each user is moved whole and compared, or not at all. From then on FROM refuses that user's calls and names TO, also
    in programs that run: give them the new STEELTRAP_STORE, or for a folder STEELTRAP_DATA. What was moved stays in
    FROM, to be removed by hand. The exit code is 1 if a user could not be moved; run it again to go on.
    """
    from ..model import UserRef
    from ..runtime import moving

    with progress_bar("Moving", 1, unit="users") as advance:
        moved = moving.move(
            source,
            target,
            only=None if user is None else UserRef(user, tenant),
            advance=lambda number, of: advance(number / of if of else 1, number),
        )
    for user_ref, why in moved.failures:
        complain(f"{user_ref.user_id}: {why}")
    if as_json:
        failed = [
            {"user": user_ref.user_id, "tenant": user_ref.tenant, "reason": why} for user_ref, why in moved.failures
        ]
        write_json(
            {
                "users": moved.users,
                "memories": moved.memories,
                "files": moved.files,
                "moved_before": moved.done_before,
                "failed": failed,
            }
        )
    else:
        before = f" {moved.done_before:,} had been moved before." if moved.done_before else ""
        total = f"{counted(moved.memories, 'memory', 'memories')} of {counted(moved.users, 'user', 'users')}"
        say(f"Moved {total} to {target}.{before}")
        if moved.users and source != "aws" and "://" not in source:
            say(f"Whoever uses {source} finds them {_way_to(target, source)}")
    if moved.failures:
        raise typer.Exit(Exit.OTHER)


def _way_to(target: str, source: str) -> str:
    if "://" in target or target == "aws":
        return f"by: steeltrap config set store {shlex.join([target, '--data', source])}"
    folder = shlex.quote(str(Path(target).expanduser().absolute()))
    return f"with: --data {folder}, or STEELTRAP_DATA={folder}"


_MOST_SHOWN: Final = 20
_WIDTH: Final = 100


def restore_as_of(settings: "Settings", user: str, tenant: str, at: str, *, yes: bool, as_json: bool) -> None:
    """Show how a user's memories at a time differ from those of now, and restore them if the answer is yes."""
    from ..model import UserRef
    from ..runtime import SystemClock, moving
    from .showing import Reader

    reader = Reader(SystemClock().now(), settings.zone)
    moment = _moment(reader.utc(at))
    with moving.as_it_was(settings, UserRef(user, tenant), moment) as (differences, restore):
        if not as_json:
            _show(differences, reader.time(moment.isoformat()))
        if differences:
            if not yes:
                confirm("Restore?", otherwise="Nothing was changed")
            restore()
    if as_json:
        return write_json({"restored": [asdict(difference) for difference in differences]})
    if differences:
        options = ["--user", user, *(["--tenant", tenant] if tenant else [])]
        say(f"Restored. To take it back: steeltrap restore {shlex.join(options)} --at {reader.now.isoformat()}")
    return None


def _moment(at: str) -> datetime:
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise typer.BadParameter("Give a time such as 2026-01-31T09:30.", param_hint="'--at'")
    return moment


def _show(differences: "Sequence[Difference]", time: str) -> None:
    if not differences:
        return say(f"At {time} the memories were as they are now.")
    say(f"{counted(len(differences), 'memory differs', 'memories differ')} from {time}:")
    for difference in differences[:_MOST_SHOWN]:
        for mark, style, text in (("- ", "red", difference.now), ("+ ", "green", difference.then)):
            if text is not None:
                say((mark + shorten(text, _WIDTH, placeholder=" ..."), style))
    if len(differences) > _MOST_SHOWN:
        say(f"... and {len(differences) - _MOST_SHOWN:,} more.")
    return None
