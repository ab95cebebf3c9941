"""Commands that save and show memories: remember, recall, list, get, history, trash, stats."""

from typing import Annotated, Any, Final

import typer

from . import recalling, terminal
from .changing import existing
from .session import CliSession, advise, complain, read_stdin, say, write_json
from .showing import Reader, indented, say_short, say_whole
from .terminal import on_memory

Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1000, help="Maximum number of memories.")]
Offset = Annotated[int, typer.Option("--offset", metavar="N", min=0, help="Number of memories to skip.")]


@on_memory("data", "user", "agent", "conversation")
def remember(
    memory: CliSession,
    content: Annotated[str, typer.Argument(metavar="TEXT", help="The text to save; `-` reads it from stdin.")],
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A tag for it; can be repeated.")] = None,
    scope: Annotated[
        str | None, typer.Option("--scope", help="The scope to file it under, such as work/project-x.")
    ] = None,
    as_json: terminal.Json = False,
) -> None:
    """Save one memory."""
    content = read_stdin() if content == "-" else content
    saved = memory.ask("core.save", content=content, tags=tag, scope=scope)
    if as_json:
        return write_json(saved)
    say(f"Remembered as {saved['id']} in {saved['scope']}.")
    suggested = saved.get("probably_supersedes")
    if suggested or saved.get("similarity", 0) >= 0.7:
        near = memory.ask("core.get", id=suggested[0] if suggested else saved["nearest_id"])
        say((f"Similar to {near['id']}: {near['content']}", "dim"))
    if suggested:
        advise("If it corrects that: forget the new one, then `steeltrap revise ID TEXT` with the older id.")
    return None


@on_memory("data", "user", "agent", "conversation", "timezone")
def recall(
    memory: CliSession,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for, in plain language.")],
    why: Annotated[bool, typer.Option("--why", help="Explain why each memory was found.")] = False,
    limit: Limit = 5,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Only memories with this tag; can be repeated.")
    ] = None,
    scope: Annotated[str | None, typer.Option("--scope", help="Only this scope and the scopes below it.")] = None,
    superseded: Annotated[
        bool, typer.Option("--superseded", help="Also show memories that another one superseded.")
    ] = False,
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of",
            metavar="TIME",
            help="Search what was known then, such as 2026-01-31. Local time.",
        ),
    ] = None,
    turns: Annotated[bool, typer.Option("--turns", help="Also search the messages of conversations.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Also show memories that are much less relevant than the best one.")
    ] = False,
    as_json: terminal.Json = False,
) -> None:
    """Search memories by meaning and keywords."""
    recalling.recall(
        memory,
        query,
        why=why,
        limit=limit,
        tag=tag,
        scope=scope,
        superseded=superseded,
        as_of=as_of,
        turns=turns,
        everything=everything,
        as_json=as_json,
    )


@on_memory("data", "user", "agent", "timezone")
def history(memory: CliSession, id: terminal.Id, as_json: terminal.Json = False) -> None:
    """Show all versions of a memory, oldest first."""
    images = memory.ask("core.history", id=id)
    while "next" in images:
        page = memory.ask("core.history", id=id, after=images.pop("next"))
        images |= {**page, "revisions": images["revisions"] + page["revisions"]}
    reader = Reader.of(memory)
    if as_json:
        return write_json(images)
    for image in images["revisions"]:
        version = image["memory"]
        state = f"replaced {reader.when(image['replaced_at'])}" if "replaced_at" in image else "current"
        if "deleted_at" in version:
            state = f"deleted {reader.when(version['deleted_at'])}"
        elif "superseded_by" in version and state == "current":
            state = f"superseded by {version['superseded_by']}"
        say((f"version {version['version']}  {reader.when(version['updated_at'])}  {state}", "dim"))
        say(indented("  " + version["content"], 2))
    return None


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


@on_memory("data", "user", "agent", "timezone")
def list_(
    memory: CliSession,
    limit: Limit = 20,
    offset: Offset = 0,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Only memories with this tag; can be repeated.")
    ] = None,
    scope: Annotated[str | None, typer.Option("--scope", help="Only this scope and the scopes below it.")] = None,
    superseded: Annotated[
        bool, typer.Option("--superseded", help="Also list memories that another one superseded.")
    ] = False,
    as_json: terminal.Json = False,
) -> None:
    """List memories, those that happened last first.

    A memory without such a date counts from when it was saved. Long texts are cut; `get` shows the whole memory. To
    find something, use `recall`.
    """
    page = memory.ask(
        "core.list",
        order="happened",
        limit=limit,
        offset=offset,
        tags=tag,
        scope=scope,
        include_superseded=superseded,
    )
    reader = Reader.of(memory)
    if as_json:
        return write_json(page)
    for listed in page["memories"]:
        say_short(listed, reader)
    _say_rest(page, offset, none="There are no such memories." if tag or scope else memory.nothing_stored())
    return None


@on_memory("data", "user", "agent", "timezone")
def get(memory: CliSession, ids: terminal.Ids, as_json: terminal.Json = False) -> None:
    """Show memories with all their fields."""
    memories = [existing(memory, id) for id in ids]
    reader = Reader.of(memory)
    if as_json:
        return write_json(memories if len(memories) > 1 else memories[0])
    for number, each in enumerate(memories):
        if number:
            say("")
        say_whole(each, reader)
    return None


@on_memory("data", "user", "agent", "timezone")
def trash(memory: CliSession, limit: Limit = 20, offset: Offset = 0, as_json: terminal.Json = False) -> None:
    """List the deleted memories that `undo` can restore.

    The latest deletion comes first. `steeltrap undo ID` restores one. (`steeltrap restore` is for backups.)
    """
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


@on_memory("data", "user", "agent")
def stats(memory: CliSession, as_json: terminal.Json = False) -> None:
    """Count what is stored for a user: memories, messages, bytes."""
    counted = memory.ask("core.stats")
    if as_json:
        return write_json(counted)
    for name, number in counted.items():
        say(f"{number:>14,}  {_COUNTED[name]}")
    return None


def _say_rest(page: dict[str, Any], offset: int, *, none: str) -> None:
    """Say on stderr what the page doesn't show."""
    count, total = len(page["memories"]), page["total"]
    if not total:
        complain(none)
    elif not count:
        complain(f"There are only {total:,}; use a smaller --offset.")
    elif offset + count < total:
        complain(f"{offset + 1:,} to {offset + count:,} of {total:,}; `--offset {offset + count}` shows the next.")
