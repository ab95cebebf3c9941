"""Claude Code's transcripts, one file per session, and a folder of them: what `text.transcripts.claude_code` reads.

A message keeps the id of its line and a conversation that of its session, so that hooks which append the same session
later add only what is new.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path, PurePath
from typing import BinaryIO, Final

from ....engine.conversations import Said
from ....engine.importing import Conversation
from ....model import JsonObject, Message
from ....text.transcripts import claude_code
from ....text.transcripts.messages import Said as InTranscript
from ...project import Project, project_of
from ..filing import Filing
from ..parts import Flaw, Item, LeftOut, Part

_OTHER: Final = ("summary", "file-history-snapshot", "queue-operation", "attachment", "permission-mode", "last-prompt")
MAX_LINE_BYTES: Final = 64 * 1024 * 1024
_UNSAID: Final = {"tool": "tool calls and their results", "notice": "notices and summaries of the program"}
_Told = Sequence[tuple[claude_code.Entry, InTranscript]]


def is_value(body: JsonObject) -> bool:
    if "uuid" in body or body.get("type") in _OTHER:
        return "sessionId" in body or "leafUuid" in body or "snapshot" in body or body.get("type") in _OTHER
    return False


def parts(file: BinaryIO, name: str, before: int, size: int, filing: Filing) -> Iterator[Part]:
    """The one conversation of a file, without branches that the user went back from."""
    entries: dict[str, claude_code.Entry] = {}
    tree = claude_code.Tree()
    left_out: Counter[str] = Counter()
    number = at = 0
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
        if entry is not None and entry.id not in entries:
            tree.add(entry)
            entries[entry.id] = entry
            if entry.said is None:
                left_out[_UNSAID[entry.kind]] += 1
    kept = tree.kept()
    left_out.update(tree.left_out(kept))
    for what, count in left_out.items():
        if count:
            yield LeftOut(what=what, count=count)
    told = [(entry, entry.said) for id, entry in entries.items() if entry.said is not None and id in kept]
    if not told:
        yield LeftOut(what="conversations without text")
        return
    yield Item(where=name, at=before + size, size=_size(told), conversation=_conversation(told, name, filing))


def _conversation(told: _Told, name: str, filing: Filing) -> Conversation:
    last, _ = told[-1]
    project = _project(last.folder) if last.folder else None
    return Conversation(
        id=last.session or PurePath(name).stem,
        messages=tuple(
            Said(id=each.id, message=Message(role=each.role, content=each.content, time=each.time), universal=True)
            for _, each in told
        ),
        copied_from=tuple(dict.fromkeys(id for entry, _ in told for id in (entry.session, entry.origin) if id)),
        context=project.name if project else None,
        scope=project.scope if project and filing.by_project else filing.scope,
        tags=filing.tags,
        metadata={"imported_from": "Claude Code"},
    )


def _size(told: _Told) -> int:
    return sum(len(each.content) for _, each in told)


@cache
def _project(folder: str) -> Project | None:
    return project_of(Path(folder))
