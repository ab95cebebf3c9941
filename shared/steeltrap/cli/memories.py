"""Commands on memories: save and show them (remember, recall, list, get, history, trash, stats), and change them
(revise, edit, delete, undo, forget)."""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from ..errors import InvalidInput, MemoryNotFound, NotFound, SteeltrapError
from ..record import moves_past_end, read_when
from ..text.limits import canonical
from . import terminal
from .session import CliSession, advise, beyond, complain, read_stdin, say, write_json
from .showing import Reader, indented, say_short, say_whole, short
from .terminal import confirm_forgetting, on_memory

Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1000, help="Maximum number of memories.")]
Happened = Annotated[
    str | None,
    typer.Option("--happened", metavar="TIME", help="When it happened, such as 2026-01-31. Local time."),
]
Offset = Annotated[int, typer.Option("--offset", metavar="N", min=0, help="Number of memories to skip.")]


@on_memory("data", "user", "agent", "conversation")
def remember(
    memory: CliSession,
    content: Annotated[str, typer.Argument(metavar="TEXT", help="The text to save; `-` reads it from stdin.")],
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A tag for it; can be repeated.")] = None,
    scope: Annotated[
        str | None, typer.Option("--scope", help="The scope to file it under, such as work/project-x.")
    ] = None,
    happened: Happened = None,
    as_json: terminal.Json = False,
) -> None:
    """Save one memory."""
    content = read_stdin() if content == "-" else content
    saved = memory.ask("core.save", content=content, tags=tag, scope=scope, occurred_at=_happened(memory, happened))
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
    from . import recalling  # the other commands need no search

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
    _say_rest(page, offset, none=lambda: "There are no such memories." if tag or scope else memory.nothing_stored())
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
    _say_rest(page, offset, none=lambda: "The trash is empty." if memory.has_folder else memory.nothing_stored())
    return None


@on_memory("data", "user", "agent")
def stats(memory: CliSession, as_json: terminal.Json = False) -> None:
    """Count what is stored for a user: memories, messages, bytes."""
    counted = memory.ask("core.stats")
    if not memory.has_folder:
        complain(memory.nothing_stored())
    if as_json:
        return write_json(counted)
    for name, number in counted.items():
        say(f"{number:>14,}  {_COUNTED[name]}")
    return None


def _say_rest(page: dict[str, Any], offset: int, *, none: Callable[[], str]) -> None:
    """Say on stderr what the page doesn't show. Only an empty store is asked for the sentence `none`, which may read
    all that is deleted."""
    count, total = len(page["memories"]), page["total"]
    if not total:
        complain(none())
    elif not count:
        complain(beyond(total))
    elif offset + count < total:
        complain(f"{offset + 1:,} to {offset + count:,} of {total:,}; `--offset {offset + count}` shows the next.")


def existing(memory: CliSession, id: str) -> dict[str, Any]:
    """A memory by its id, or the start of it. Raises NotFound, which names `undo` for one that was deleted."""
    try:
        image: dict[str, Any] = memory.ask("core.get", id=id)
    except MemoryNotFound:
        if "deleted_at" in _last_image(memory, id):
            raise NotFound(f"The memory {id} is deleted; `steeltrap undo {id}` restores it.") from None
        raise
    return image


def _last_image(memory: CliSession, id: str) -> dict[str, Any]:
    """A memory as it is, or as it was deleted. Raises NotFound."""
    from ..text.limits import MAX_VERSION

    image: dict[str, Any] = memory.ask("core.history", id=id, after=MAX_VERSION)["revisions"][-1]["memory"]
    return image


@on_memory("data", "user", "agent", "conversation")
def revise(
    memory: CliSession,
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of the memory that is no longer right.")],
    content: Annotated[str, typer.Argument(metavar="TEXT", help="What is right now; `-` reads it from stdin.")],
    as_json: terminal.Json = False,
) -> None:
    """Save a memory in place of one that is no longer right.

    The new one has the same scope, tags and category. The older one stays in the history and comes up no more. `undo`
    with the new id takes the revision back.
    """
    content = read_stdin() if content == "-" else content
    old = existing(memory, id)
    fields = {name: old[name] for name in ("scope", "tags", "category") if name in old}
    saved = memory.ask("core.save", content=content, supersedes=[old["id"]], **fields)
    if as_json:
        return write_json(saved)
    say(f"Remembered as {saved['id']} in {saved['scope']}, in place of {old['id']}.")
    say((f"Superseded: {old['content']}", "dim"))
    return None


def _happened(memory: CliSession, typed: str | None) -> str | None:
    """When something happened, as tools take it: a day, or the time in UTC that was typed in local time.

    Raises InvalidInput.
    """
    if typed is None:
        return None
    try:
        is_day = not isinstance(read_when(typed), datetime)
    except ValueError as error:
        raise InvalidInput(f"--happened {error}.") from None
    return typed if is_day else Reader.of(memory).utc(typed)


@on_memory("data", "user", "agent", "conversation")
def edit(
    memory: CliSession,
    id: terminal.Id,
    content: Annotated[
        str | None,
        typer.Argument(metavar="[TEXT]", help="The new text; `-` reads it from stdin.", show_default=False),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="A tag, in place of those it has; can be repeated.")
    ] = None,
    no_tags: Annotated[bool, typer.Option("--no-tags", help="Take its tags away.")] = False,
    scope: Annotated[str | None, typer.Option("--scope", help="Move it to this scope, such as work/project-x.")] = None,
    happened: Happened = None,
    pinned: Annotated[
        bool | None, typer.Option("--pin/--unpin", help="A pinned memory never fades, and bulk deletes spare it.")
    ] = None,
    as_json: terminal.Json = False,
) -> None:
    """Change the text, tags, or pin of a memory.

    Without a text and options, your editor ($VISUAL or $EDITOR) opens with the text. `undo` takes the change back. If
    the fact itself changed, use `revise`: it keeps what was true before.
    """
    if tag and no_tags:
        raise InvalidInput("Give --tag or --no-tags, not both.")
    if content is not None and canonical(content.strip()):
        raise InvalidInput("`edit` changes one memory: the second argument is its new text, and this one is an id.")
    changes: dict[str, Any] = {"scope": scope, "occurred_at": _happened(memory, happened), "pinned": pinned}
    changes["tags"] = [] if no_tags else tag
    old = existing(memory, id)
    changes |= (without_end := _without_end(old, changes["occurred_at"]))
    draft = None
    if content is not None:
        changes["content"] = read_stdin() if content == "-" else content
    elif all(value is None for value in changes.values()):
        draft = _Draft(old["content"])
        changes |= {"content": draft.edited(), "version": old["version"]}
        if changes["content"] == old["content"]:
            draft.drop()
            complain("The text was not changed.")
            return None
    try:
        edited = memory.ask("core.update", id=old["id"], **changes)
    except SteeltrapError:
        if draft is not None:
            complain(f"Your text is kept in {draft.path}.")
        raise
    if draft is not None:
        draft.drop()
    if as_json:
        return write_json(edited)
    say(f"Changed: {short(edited['content'])}")
    if without_end:
        say(f"Its end, {Reader.of(memory).time(old['occurred_until'])}, was before the new time, and was removed.")
    advise(f"To take it back: `steeltrap undo {edited['id']}`.")
    return None


def _without_end(old: dict[str, Any], happened: str | None) -> dict[str, Any]:
    """The arguments that remove the end of an event which moves past it: there is no option for another end."""
    return {"clear": ["occurred_until"], "version": old["version"]} if moves_past_end(old, happened) else {}


class _Draft:
    """A text in a file of its own, for an editor."""

    def __init__(self, text: str) -> None:
        if not is_interactive():
            raise InvalidInput("Give the new text after the id; `-` reads it from stdin.")
        handle, name = tempfile.mkstemp(prefix="steeltrap-", suffix=".md")  # its mode is 0600
        self.path = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text + "\n")

    def edited(self) -> str:
        """The text after the editor has ended. Raises InvalidInput where it fails."""
        command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
        try:
            process = subprocess.run([*shlex.split(command), str(self.path)], check=False)
        except OSError as error:
            self.drop()
            raise InvalidInput(f"The editor {command} can't be started ({error.strerror}): set EDITOR.") from None
        if process.returncode:
            raise InvalidInput(f"The editor failed, so nothing was changed. Your text is kept in {self.path}.")
        try:
            return self.path.read_text(encoding="utf-8-sig").rstrip("\r\n")
        except (OSError, UnicodeDecodeError):
            raise InvalidInput(f"{self.path} is no UTF-8 text any more. Nothing was changed.") from None

    def drop(self) -> None:
        self.path.unlink(missing_ok=True)


def is_interactive() -> bool:
    """Whether somebody sits at a terminal."""
    return sys.stdin.isatty()


@on_memory("data", "user", "agent")
def delete(
    memory: CliSession, ids: terminal.Ids, yes: terminal.NoQuestion = False, as_json: terminal.Json = False
) -> None:
    """Delete memories.

    `undo ID` restores one for STEELTRAP_RETENTION_DAYS, and `trash` lists them. If one of the ids is unknown, nothing
    is deleted. `forget` erases a memory permanently.
    """
    memories = [existing(memory, id) for id in ids]
    by_id = {each["id"]: each for each in memories}
    deleted_ids = [memory.ask("core.delete", id=id)["deleted"][0] for id in by_id]
    days = memory.settings.retention_days
    if as_json:
        return write_json({"deleted": deleted_ids})
    for id in deleted_ids:
        say(f"Deleted: {short(by_id[id]['content'])}")
    if not days:
        say(("It can't be restored, because STEELTRAP_RETENTION_DAYS is 0.", "dim"))
    else:
        restored = "it" if len(by_id) == 1 else "them"
        within = f"{days:g} {'day' if days == 1 else 'days'}"
        advise(f"To restore {restored} within {within}: `steeltrap undo {' '.join(by_id)}`.")
    return None


@on_memory("data", "user", "agent")
def undo(memory: CliSession, ids: terminal.ChangedIds, as_json: terminal.Json = False) -> None:
    """Undo the last change to a memory, or its deletion.

    If one of the ids is unknown, nothing is undone.
    """
    ids_to_restore = list(dict.fromkeys(_last_image(memory, id)["id"] for id in ids))
    restored = [memory.ask("core.undo", id=id) for id in ids_to_restore]
    if as_json:
        return write_json(restored if len(ids) > 1 else restored[0])
    for image in restored:
        if "deleted_at" in image:
            say(f"Undone. What it superseded is back, and this is deleted again: {image['content']}")
        else:
            say(f"Undone. Version {image['version']} restores: {image['content']}")
    return None


@on_memory("data", "user", "agent")
def forget(
    memory: CliSession,
    ids: terminal.Ids,
    merged: Annotated[bool, typer.Option("--merged", help="Also forget memories that were merged from it.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask for confirmation.")] = False,
    as_json: terminal.Json = False,
) -> None:
    """Erase memories and their history permanently.

    This can't be undone. If one of the ids is unknown, nothing is erased. An episode takes its messages along. A
    forgotten message is taken out of its episode. The answer lists other memories and exported files that still hold
    the text.
    """
    doomed = {image["id"]: image for image in (_last_image(memory, id) for id in ids)}
    if not yes:
        confirm_forgetting("\n  ".join(short(image["content"]) for image in doomed.values()))
    selection = {"id": next(iter(doomed))} if len(doomed) == 1 else {"ids": list(doomed)}
    receipt = memory.ask("core.forget", merged=merged, **selection)
    if as_json:
        return write_json(receipt)
    along = len(receipt["forgotten"]) - len(doomed)
    say(
        f"Forgotten: {', '.join(doomed)}{f' and {along:,} that belonged to it' if along > 0 else ''}. "
        f"{receipt['message']}"
    )
    for line in _receipt_lines(receipt):
        say((line, "dim"))
    say(receipt["outside"])
    return None


def _receipt_lines(receipt: dict[str, Any]) -> list[str]:
    lines = [f"still there, {item['why']}: {item['id']}" for item in receipt.get("left", ())]
    if (more := receipt.get("left_count", 0) - len(lines)) > 0:
        lines.append(f"still there: {more:,} more")
    lines += [f"rewritten without it: {each['was']}, now {each['id']}" for each in receipt.get("rewritten", ())]
    lines += [f"found again, no longer superseded: {id}" for id in receipt.get("back", ())]
    lines += [f"exported file that holds it: {name}" for name in receipt.get("exports", ())]
    lines += [f"exported file that could not be read: {name}" for name in receipt.get("unread_exports", ())]
    return lines + [f"import that brought it: {each['id'][:8]}, {each['name']}" for each in receipt.get("imports", ())]
