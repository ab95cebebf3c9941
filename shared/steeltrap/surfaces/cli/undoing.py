"""imports, and import --undo: the imports that were made, and taking one back."""

from typing import Any

import typer

from ...errors import SteeltrapError
from . import options
from .browsing import Limit, Offset
from .opening import Opened, opened
from .output import complain, say, write_json
from .showing import Reader, short


def register(app: typer.Typer) -> None:
    app.command()(imports)


def imports(
    limit: Limit = 20,
    offset: Offset = 0,
    as_json: options.Json = False,
    data: options.Data = None,
    user: options.User = None,
    agent: options.Agent = None,
) -> None:
    """List the imports, the latest first: when, from which file, and what each wrote.

    `import --undo ID` takes one back. An unfinished import was stopped or killed; the same command again goes on.
    """
    with opened(data=data, user=user, agent=agent) as memory:
        page = memory.ask("core.list_imports", limit=limit, offset=offset)
        reader = Reader.of(memory)
    if as_json:
        return write_json(page)
    for run in page["imports"]:
        say(f"{run['id'][:8]}  {reader.time(run['started_at'])}  {run['name']}")
        say((f"          {_what(run, reader)}", "dim"))
    shown = len(page["imports"])
    if not page["total"]:
        say("Nothing was imported yet.")
    elif offset + shown < page["total"]:
        say((f"{shown} of {page['total']:,}. More: --offset {offset + shown}", "dim"))
    return None


def undo(memory: Opened, id: str, *, as_json: bool) -> None:
    """Take an import back, in as many calls as it takes, and say what was left."""
    undone = _undone(memory, id)
    while undone.get("more"):
        try:
            further = _undone(memory, id)
        except (KeyboardInterrupt, SteeltrapError):
            complain(f"Stopped with {undone['removed']:,} erased. Run the same command again to continue.")
            raise
        undone = _both(undone, further)
    if as_json:
        return write_json(undone)
    say(f"Import {undone['id'][:8]} is undone: {undone['removed']:,} memories and messages erased.")
    if undone["restored"]:
        say(f"{undone['restored']:,} memories have their earlier text again.")
    if undone["left_total"]:
        say(f"Changed since, and left ({undone['left_total']:,}):")
        for left in undone["left"]:
            say(f"  {left['id']}  {short(left['content'])}")
    return None


def _both(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """The answers of two calls of one undo as one. The second one may have met what the first left, and counted it."""
    counts = {name: first[name] + second[name] for name in ("removed", "restored")}
    left = list({each["id"]: each for each in (*first["left"], *second["left"])}.values())
    return {**second, **counts, "left": left, "left_total": max(len(left), first["left_total"], second["left_total"])}


def _undone(memory: Opened, id: str) -> dict[str, Any]:
    result = memory.door.invoke("core.undo_import", {"id": id}, memory.caller)
    if result.error is not None:
        raise result.error
    body: dict[str, Any] = result.body
    return body


def _what(run: dict[str, Any], reader: Reader) -> str:
    counts = [f"{run['written']:,} written", f"{run['skipped']:,} were there already", f"{run['failed']:,} failed"]
    counts += [f"{run['updated']:,} updated"] if run.get("updated") else []
    counts += [f"{run['episodes']:,} episodes"] if run.get("episodes") else []
    counts += [f"{run['kept']:,} changed since and kept"] if run.get("kept") else []
    state = "" if run["state"] == "complete" else run["state"]
    if "undone_at" in run:
        state = f"undone {reader.time(run['undone_at'])}" + ("" if run.get("kept") else ": nothing of it is left")
    words = [", ".join(run.get("formats", ())), state, ", ".join(counts)]
    return "; ".join(word for word in words if word)
