"""remember, revise, recall, history, undo, forget: the core tools in a person's words."""

import sys
from typing import Annotated, Any

import typer

from . import options
from .opening import opened
from .output import complain, confirm_forgetting, say, write_json
from .showing import Reader, indented, say_about, short


def register(app: typer.Typer) -> None:
    for command in (remember, revise, recall, history, undo, forget):
        app.command()(command)


def remember(
    content: Annotated[str, typer.Argument(metavar="TEXT", help="The text to save; `-` reads it from stdin.")],
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A tag for it; can be repeated.")] = None,
    scope: Annotated[
        str | None, typer.Option("--scope", help="The scope to file it under, such as work/project-x.")
    ] = None,
    as_json: options.Json = False,
    data: options.Data = None,
    user: options.User = None,
    agent: options.Agent = None,
    conversation: options.Conversation = None,
) -> None:
    """Save one memory."""
    content = _stdin() if content == "-" else content
    with opened(data=data, user=user, agent=agent, conversation=conversation) as memory:
        saved = memory.ask("core.save", content=content, tags=tag, scope=scope)
        if as_json:
            return write_json(saved)
        say(f"Remembered as {saved['id']} in {saved['scope']}.")
        suggested = saved.get("probably_supersedes")
        if suggested or saved.get("similarity", 0) >= 0.7:
            near = memory.ask("core.get", id=suggested[0] if suggested else saved["nearest_id"])
            say((f"Similar to {near['id']}: {near['content']}", "dim"))
        if suggested:
            say(("If it corrects that: forget the new one, then `steeltrap revise ID TEXT` with the older id.", "dim"))
    return None


def revise(
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of the memory that is no longer right.")],
    content: Annotated[str, typer.Argument(metavar="TEXT", help="What is right now; `-` reads it from stdin.")],
    as_json: options.Json = False,
    data: options.Data = None,
    user: options.User = None,
    agent: options.Agent = None,
    conversation: options.Conversation = None,
) -> None:
    """Save a memory in place of another, with the same scope, tags and category.

    The older one stays in the history and comes up no more. `undo` with the new id takes the revision back.
    """
    content = _stdin() if content == "-" else content
    with opened(data=data, user=user, agent=agent, conversation=conversation) as memory:
        old = memory.ask("core.get", id=id)
        kept = {name: old[name] for name in ("scope", "tags", "category") if name in old}
        saved = memory.ask("core.save", content=content, supersedes=[old["id"]], **kept)
    if as_json:
        return write_json(saved)
    say(f"Remembered as {saved['id']} in {saved['scope']}, in place of {old['id']}.")
    say((f"Superseded: {old['content']}", "dim"))
    return None


def recall(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for, in plain language.")],
    why: Annotated[bool, typer.Option("--why", help="Explain why each memory was found.")] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="Maximum number of memories.")] = 5,
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
    as_json: options.Json = False,
    data: options.Data = None,
    user: options.User = None,
    agent: options.Agent = None,
    conversation: options.Conversation = None,
) -> None:
    """Search memories by meaning and keywords."""
    with opened(data=data, user=user, agent=agent, conversation=conversation) as memory:
        reader, unseen = Reader.of(memory), 0
        found = memory.ask(
            "core.search",
            query=query,
            limit=limit,
            why=why,
            tags=tag,
            scope=scope,
            include_conversation=turns,
            include_superseded=superseded or None,
            as_of=as_of and reader.utc(as_of),
            related_only=True,
            precision="all" if everything else "relevant",
        )
        if found["outcome"]["kind"] == "nothing_stored" and not turns:
            unseen = memory.ask("core.stats")["turns"]
    if as_json:
        return write_json(found)
    for hit in found["results"]:
        _print_hit(hit, reader)
    if unseen:
        complain(f"Only {unseen:,} messages of conversations are stored yet; search them with recall --turns.")
    elif not found["results"] or found["outcome"]["kind"] == "degraded":
        complain(found["outcome"]["message"])
    return None


def history(
    id: options.Id,
    as_json: options.Json = False,
    data: options.Data = None,
    user: options.User = None,
    agent: options.Agent = None,
) -> None:
    """Show all versions of a memory, oldest first."""
    with opened(data=data, user=user, agent=agent) as memory:
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


def undo(
    id: options.Id,
    as_json: options.Json = False,
    data: options.Data = None,
    user: options.User = None,
    agent: options.Agent = None,
) -> None:
    """Undo the last change to a memory, or its deletion."""
    with opened(data=data, user=user, agent=agent) as memory:
        restored = memory.ask("core.undo", id=id)
    if as_json:
        return write_json(restored)
    if "deleted_at" in restored:
        say(f"Undone. Deleted again, and what it superseded is back: {restored['content']}")
    else:
        say(f"Undone. Version {restored['version']} restores: {restored['content']}")
    return None


def forget(
    id: options.Id,
    merged: Annotated[bool, typer.Option("--merged", help="Also forget memories that were merged from it.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask for confirmation.")] = False,
    as_json: options.Json = False,
    data: options.Data = None,
    user: options.User = None,
    agent: options.Agent = None,
) -> None:
    """Erase a memory and its history permanently. This can't be undone.

    An episode takes its messages along. A forgotten message is taken out of its episode. The answer lists other
    memories and exported files that still hold the text.
    """
    from ...text.limits import MAX_VERSION

    with opened(data=data, user=user, agent=agent) as memory:
        if not yes:
            content = memory.ask("core.history", id=id, after=MAX_VERSION)["revisions"][-1]["memory"]["content"]
            confirm_forgetting(short(content))
        receipt = memory.ask("core.forget", id=id, merged=merged)
    if as_json:
        return write_json(receipt)
    along = len(receipt["forgotten"]) - 1
    say(f"Forgotten: {receipt['id']}{f' and {along:,} that belonged to it' if along else ''}. {receipt['message']}")
    for line in _receipt_lines(receipt):
        say((line, "dim"))
    say(receipt["outside"])
    return None


def _receipt_lines(receipt: dict[str, Any]) -> list[str]:
    lines = [f"still there, {left['why']}: {left['id']}" for left in receipt.get("left", ())]
    if (more := receipt.get("left_count", 0) - len(lines)) > 0:
        lines.append(f"still there: {more:,} more")
    lines += [f"rewritten without it: {each['was']}, now {each['id']}" for each in receipt.get("rewritten", ())]
    lines += [f"found again, no longer superseded: {id}" for id in receipt.get("back", ())]
    lines += [f"exported file that holds it: {name}" for name in receipt.get("exports", ())]
    lines += [f"exported file that could not be read: {name}" for name in receipt.get("unread_exports", ())]
    return lines + [f"import that brought it: {each['id'][:8]}, {each['name']}" for each in receipt.get("imports", ())]


def _print_hit(hit: dict[str, Any], reader: Reader) -> None:
    say((f"{hit['score']:.2f}  ", "green"), indented(hit["content"], 6))
    say_about(hit, reader, 6)
    if "why" in hit:
        say(("      " + _explained(hit["why"]), "cyan"))


def _explained(why: dict[str, Any]) -> str:
    parts = []
    if "similarity" in why:
        parts.append(f"meaning {why['semantic']:.2f} (cosine {why['similarity']:.2f})")
    parts.append(f"words {why['keyword']:.2f} (BM25 {why['bm25']:.2f})" if why.get("bm25") else "no shared words")
    parts += [f"{rule} {boost:+.2f}" for rule, boost in (why.get("boosts") or {}).items()]
    return "because: " + ", ".join(parts)


def _stdin() -> str:
    """The text that is piped in, without the newlines at its end, as a shell's `$(...)` has it."""
    from ...errors import InvalidInput

    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise InvalidInput("The text is not valid UTF-8; send it encoded as UTF-8.") from None
