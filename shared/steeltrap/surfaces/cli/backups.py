"""backup and restore: copies of the whole data folder."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .aside import aside
from .exits import Exit
from .output import complain, say, write_json

if TYPE_CHECKING:
    from ...settings import Settings


def register(app: typer.Typer) -> None:
    for command in (backup, restore):
        app.command()(command)


def backup(
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="A new folder; it must not exist yet.")],
    as_json: options.Json = False,
    data: options.Data = None,
) -> None:
    """Back up the data folder, also while it is served: memories, exported files, keys.

    TARGET is there only once the backup is complete. The exit code is 1 if a damaged file had to be left out.
    """
    from ...runtime import local as runtime
    from ...settings import read_settings
    from ..hooks.server_file import NAME as SERVER_FILE
    from .progress import shown

    settings = read_settings(data=data and data.expanduser())
    with shown("Backing up", 1, unit="users") as advance:

        def advanced(check: Callable[[], None], done: int, of: int) -> None:
            check()
            advance(done / of, done)

        made = aside(
            lambda check: runtime.back_up(
                settings, target.expanduser(), skip=(SERVER_FILE,), advance=partial(advanced, check)
            )
        )
    for each in made.left_out:
        complain(f"Left out: {each.path}. {each.reason}")
    for missing in _elsewhere(settings):
        complain(missing)
    if as_json:
        left_out = [each.path for each in made.left_out]
        write_json({"users": made.users, "files": len(made.files), "bytes": made.size, "left_out": left_out})
    else:
        say(f"Backed up {_users(made.users)} ({_megabytes(made.size)}) to {target}.")
    if made.left_out:
        raise typer.Exit(Exit.OTHER)


def restore(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A folder that `steeltrap backup` made.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Restore over a folder that is not empty; the old one is kept beside it.")
    ] = False,
    as_json: options.Json = False,
    data: options.Data = None,
) -> None:
    """Restore a backup into a new or empty data folder.

    Every file is compared with its checksum, and every user's file is looked into, before anything changes. Stop the
    server first. To restore a deleted memory, use `undo`.
    """
    from ...runtime import local as runtime
    from ...settings import read_settings
    from ..hooks.server_file import NAME as SERVER_FILE
    from .progress import shown

    settings = read_settings(data=data and data.expanduser())
    with shown("Restoring", 1, unit="bytes") as advance:
        done = runtime.restore(
            settings,
            source.expanduser(),
            skip=(SERVER_FILE,),
            replace=replace,
            advance=lambda copied, of: advance(copied / of if of else 1, copied),
        )
    made = done.manifest
    if made.left_out:
        complain(f"The backup lacks {len(made.left_out):,} files that could not be copied when it was made.")
    if as_json:
        kept = {} if done.kept is None else {"kept": str(done.kept)}
        return write_json({"users": made.users, "files": len(made.files), "bytes": made.size, **kept})
    say(f"Restored {_users(made.users)} ({_megabytes(made.size)}) of {made.began_at[:19]}Z to {settings.data}.")
    if done.kept is not None:
        say(f"The folder that was there before is kept: {done.kept}.")
    return None


def _elsewhere(settings: "Settings") -> list[str]:
    """Names of the data that is not in its folder."""
    said = []
    if settings.keys_folder is not None and not settings.keys_folder.expanduser().is_relative_to(settings.data):
        said.append(f"The API keys in {settings.keys_folder} are not in the backup.")
    if settings.export_bucket:
        said.append(f"The exported files in the bucket {settings.export_bucket} are not in the backup.")
    return said


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"


def _users(count: int) -> str:
    return "1 user" if count == 1 else f"{count:,} users"
