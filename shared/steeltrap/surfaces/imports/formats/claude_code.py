"""Claude Code's transcripts, one file per session, and a folder of them: what `rules.transcripts.claude_code` reads.

A message keeps the id of its line and a conversation that of its session, so that hooks which append the same session
later add only what is new.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePath
from typing import BinaryIO, Final

from ....engine.conversations.append_messages import Said
from ....engine.conversations.import_ import Conversation
from ....model import JsonObject, Message
from ....rules.transcripts import claude_code
from ...project import Project, project_of
from ..filing import Filing
from ..parts import Flaw, Item, LeftOut, Part

_OTHER: Final = ("summary", "file-history-snapshot", "queue-operation", "attachment", "permission-mode", "last-prompt")
MAX_LINE_BYTES: Final = 64 * 1024 * 1024


def is_value(body: JsonObject) -> bool:
    if "uuid" in body or body.get("type") in _OTHER:
        return "sessionId" in body or "leafUuid" in body or "snapshot" in body or body.get("type") in _OTHER
    return False


def parts(file: BinaryIO, name: str, before: int, size: int, filing: Filing) -> Iterator[Part]:
    """The one conversation of a file, without branches that the user went back from."""
    entries: list[claude_code.Entry] = []
    others = number = at = 0
    while line := file.readline(MAX_LINE_BYTES):
        number, at = number + 1, at + len(line)
        if not line.strip():
            continue
        try:
            entry = claude_code.entry(line)
        except ValueError:
            cut = "" if line.endswith(b"\n") else ", the file ends in the middle of it"
            yield Flaw(where=f"{name}:{number}", at=before + at, sentence=f"the line is no JSON object{cut}.")
            continue
        if entry is not None:
            entries.append(entry)
            others += entry.said is None
    if others:
        yield LeftOut(what="tool calls and their results", count=others)
    said = claude_code.thread(entries)
    told = sum(entry.said is not None for entry in {each.id: each for each in entries}.values())
    if told > len(said):
        yield LeftOut(what="messages of subagents and of branches that were left", count=told - len(said))
    if not said:
        yield LeftOut(what="conversations without text")
        return
    last = next((each for each in reversed(entries) if each.said is not None and not each.is_sidechain), entries[-1])
    project = _project(last.folder) if last.folder else None
    conversation = Conversation(
        id=last.session or PurePath(name).stem,
        messages=tuple(
            Said(id=each.id, message=Message(role=each.role, content=each.content, time=each.time)) for each in said
        ),
        context=project.name if project else None,
        scope=project.scope if project and filing.by_project else filing.scope,
        tags=filing.tags,
        metadata={"imported_from": "Claude Code"},
    )
    yield Item(where=name, at=before + size, size=sum(len(each.content) for each in said), conversation=conversation)


@cache
def _project(folder: str) -> Project | None:
    return project_of(Path(folder))
