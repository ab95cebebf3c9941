"""The page of one memory: its text, where it comes from, what it is linked to, and how it changed."""

import json
from collections.abc import Mapping
from typing import Any, Final

from ...errors import NotFound
from ...model import JsonObject
from .asked import Asked, Page
from .diffs import STEPS, changed_fields, difference
from .finding import said
from .rows import Row, badges, row, when

_VERSIONS: Final = 20
_SHOWN: Final = (
    *("category", "context", "tier", "content_type", "confidence", "agent_id", "agent_label", "updated_by"),
    *("imported_by", "surprise"),
)
_TIMES: Final = ("created_at", "updated_at", "occurred_at", "occurred_until", "expires_at", "imported_at", "deleted_at")


def memory_page(asked: Asked) -> Page:
    """One memory; a deleted one too, until it is purged. Raises NotFound."""
    memory = asked.find("get", id=asked.id)
    versions = _history(asked, memory)
    if memory is None:
        memory = versions[-1]["memory"]
    values: JsonObject = {
        "memory": memory,
        "facts": _facts(asked, memory),
        "badges": badges(memory, asked.zone),
        "metadata": json.dumps(memory["metadata"], ensure_ascii=False, indent=2) if memory.get("metadata") else "",
        "versions": _changes(asked, versions),
        "more_versions": memory["version"] > _VERSIONS,
        "superseded_by": _other(asked, memory.get("superseded_by")),
        "supersedes": [other for id in memory.get("supersedes", ()) if (other := _other(asked, id))],
        "associations": [],
        "importance": None,
        "said": said(asked),
        "messages": [_message(asked, each) for each in memory.get("messages", ())],
    }
    if "deleted_at" not in memory:
        values["associations"] = asked.ask("associations", id=memory["id"], limit=20)["associations"]
        values["importance"] = asked.ask("score", id=memory["id"])
    return Page(template="memory.html", values=values)


def _history(asked: Asked, memory: Mapping[str, Any] | None) -> list[Any]:
    """The latest versions, oldest first, the current one last."""
    after = 0 if memory is None else max(0, memory["version"] - 1 - _VERSIONS)
    found: list[Any] = []
    while True:
        page = asked.find("history", id=asked.id, limit=1000, after=after)
        if page is None:
            raise NotFound("There is no memory with this id: it never existed, has expired, or was forgotten.")
        found = [*found, *page["revisions"]][-_VERSIONS - 1 :]
        if page.get("next") is None:
            return found
        after = page["next"]


def _changes(asked: Asked, versions: list[Any]) -> list[JsonObject]:
    """Each version beside the one before it, newest first."""
    found = []
    steps = STEPS // len(versions)
    for number, version in enumerate(versions):
        memory = version["memory"]
        before = versions[number - 1] if number else None
        found.append(
            {
                "version": memory["version"],
                "time": when(memory["updated_at"], asked.zone),
                "at": memory["updated_at"],
                "by": (before or {}).get("replaced_by") or memory.get("updated_by") or memory.get("agent_id"),
                "pieces": difference(before["memory"]["content"], memory["content"], steps) if before else [],
                "same_text": before is not None and before["memory"]["content"] == memory["content"],
                "fields": changed_fields(before["memory"], memory) if before else [],
                "first": memory["content"] if before is None else "",
            }
        )
    return found[::-1]


def _facts(asked: Asked, memory: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The facts about a memory: name, value, and for times the exact one."""
    same = {"updated_at"} if memory["version"] == 1 else set()
    if memory.get("updated_by") == memory.get("agent_id"):
        same.add("updated_by")
    times = [(name, when(memory[name], asked.zone), memory[name]) for name in _TIMES if memory.get(name)]
    rest = [(name, _shortly(memory[name]), "") for name in _SHOWN if memory.get(name) is not None]
    return [
        (_LABELS.get(name, name.replace("_", " ").capitalize()), value, at)
        for name, value, at in (*times, *rest)
        if name not in same
    ]


_LABELS: Final = {
    "created_at": "Saved",
    "updated_at": "Changed",
    "occurred_at": "Happened",
    "occurred_until": "Until",
    "expires_at": "Expires",
    "imported_at": "Imported",
    "deleted_at": "Deleted",
    "agent_id": "Written by",
    "updated_by": "Changed by",
    "agent_label": "Label",
    "content_type": "Type",
}


def _shortly(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _other(asked: Asked, id: str | None) -> Row | None:
    memory = asked.find("get", id=id) if id else None
    return row(memory, asked.zone) if memory else None


def _message(asked: Asked, message: Mapping[str, Any]) -> JsonObject:
    at = message.get("time")
    return {
        "who": message.get("speaker") or message["role"],
        "role": message["role"],
        "text": message["content"],
        "at": at,
        "time": when(at, asked.zone) if at else "",
    }
