"""list, get, delete, trash, stats: looking through what is stored, and taking out what is wrong."""

from typing import Annotated, Any, Final

import typer

from . import options
from .opening import opened
from .output import complain, say, write_json
from .showing import Reader, say_short, say_whole, short

_COUNTED: Final = {
    "memories": "memories",
    "superseded": "superseded memories",
    "turns": "messages of conversations",
    "deleted": "deleted or expired memories, not purged yet",
    "chunks": "searchable pieces of text",
    "bytes": "bytes on disk",
    "record_bytes": "bytes that count towards a quota",
}
"""The words for what each number of core.stats counts."""

Limit = Annotated[int, typer.Option("--limit", metavar="N", help="Maximum number of memories, at most 1000.")]
Offset = Annotated[int, typer.Option("--offset", metavar="N", help="Number of memories to skip.")]


def register(app: typer.Typer) -> None:
    app.command("list")(list_)
    for command in (get, delete, trash, stats):
        app.command()(command)


def list_(
    limit: Limit = 20,
    offset: Offset = 0,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Only memories with this tag; can be repeated.")
    ] = None,
    scope: Annotated[str | None, typer.Option("--scope", help="Only this scope and the scopes below it.")] = None,
    superseded: Annotated[
        bool, typer.Option("--superseded", help="Also list memories that another one superseded.")
    ] = False,
    as_json: options.Json = False,
    data: options.Data = None,
    user: options.User = None,
    agent: options.Agent = None,
) -> None:
    """List memories, newest first.

    Long texts are cut; `get` shows the whole memory. To find something, use `recall`.
    """
    with opened(data=data, user=user, agent=agent) as memory:
        page = memory.ask("core.list", limit=limit, offset=offset, tags=tag, scope=scope, include_superseded=superseded)
        reader = Reader.of(memory)
    if as_json:
        return write_json(page)
    for listed in page["memories"]:
        say_short(listed, reader)
    _say_rest(page, offset, none="There are no such memories." if tag or scope else "Nothing is stored yet.")
    return None


def get(
    id: options.Id,
    as_json: options.Json = False,
    data: options.Data = None,
    user: options.User = None,
    agent: options.Agent = None,
) -> None:
    """Show one memory with all its fields."""
    with opened(data=data, user=user, agent=agent) as memory:
        found = memory.ask("core.get", id=id)
        reader = Reader.of(memory)
    if as_json:
        return write_json(found)
    say_whole(found, reader)
    return None


def delete(
    id: options.Id,
    as_json: options.Json = False,
    data: options.Data = None,
    user: options.User = None,
    agent: options.Agent = None,
) -> None:
    """Delete a memory. `undo ID` restores it for STEELTRAP_RETENTION_DAYS.

    `trash` lists the deleted memories. `forget` erases a memory permanently.
    """
    with opened(data=data, user=user, agent=agent) as memory:
        content = memory.ask("core.get", id=id)["content"]
        done = memory.ask("core.delete", id=id)
        days = memory.settings.retention_days
    if as_json:
        return write_json(done)
    say(f"Deleted: {short(content)}")
    if days:
        say((f"To restore it within {days:g} days: `steeltrap undo {id}`.", "dim"))
    else:
        say(("It can't be restored, because STEELTRAP_RETENTION_DAYS is 0.", "dim"))
    return None


def trash(
    limit: Limit = 20,
    offset: Offset = 0,
    as_json: options.Json = False,
    data: options.Data = None,
    user: options.User = None,
    agent: options.Agent = None,
) -> None:
    """List the deleted memories that can be restored, latest deletion first.

    `steeltrap undo ID` restores one. (`steeltrap restore` is for backups.)
    """
    with opened(data=data, user=user, agent=agent) as memory:
        page = memory.ask("core.list", deleted=True, limit=limit, offset=offset)
        reader = Reader.of(memory)
    if as_json:
        return write_json(page)
    for listed in page["memories"]:
        say_short(listed, reader)
    if page["memories"]:
        complain("To restore one: `steeltrap undo ID`.")
    _say_rest(page, offset, none="The trash is empty.")
    return None


def stats(
    as_json: options.Json = False,
    data: options.Data = None,
    user: options.User = None,
    agent: options.Agent = None,
) -> None:
    """Count what is stored for a user: memories, messages, bytes."""
    with opened(data=data, user=user, agent=agent) as memory:
        counted = memory.ask("core.stats")
    if as_json:
        return write_json(counted)
    for name, number in counted.items():
        say(f"{number:>14,}  {_COUNTED[name]}")
    return None


def _say_rest(page: dict[str, Any], offset: int, *, none: str) -> None:
    """Say on stderr what the page doesn't show."""
    shown, total = len(page["memories"]), page["total"]
    if not total:
        complain(none)
    elif not shown:
        complain(f"There are only {total:,}; use a smaller --offset.")
    elif offset + shown < total:
        complain(f"{offset + 1:,} to {offset + shown:,} of {total:,}; `--offset {offset + shown}` shows the next.")
