"""The page of one memory: its text, where it comes from, what it is linked to, and how it changed.

The difference that a change made is shown as words that went, words that came, and the fields that differ.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ...errors import NotFound
from ...model import JsonObject
from .finding import said
from .rendering import Asked, Page, Row, badges, row, when

STEPS: Final = 400_000
"""Comparisons for all differences of one page: about a fifth of a second."""
_CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD: Final = re.compile(rf"[^\W\d_{_CJK}]+|\d+|\s+|.", re.DOTALL)
"""Words, numbers and space; one letter each of Chinese and Japanese, which put no space between words."""
_FIELDS: Final = (
    *("scope", "tags", "category", "context", "content_type", "tier", "confidence", "pinned", "metadata"),
    *("expires_at", "superseded_by", "importance", "deleted_at"),
)


class Piece(NamedTuple):
    """A stretch of text: `same`, `gone` or `new`."""

    kind: str
    text: str


class Budget:
    """The comparisons that are left. Where none are, a stretch is shown as replaced."""

    def __init__(self, steps: int) -> None:
        self.left = steps


def difference(old: str, new: str, steps: int = STEPS) -> list[Piece]:
    """How one text becomes the other: by lines, and within the lines that changed by words. After so many comparisons
    what is left to compare is shown as replaced."""
    budget = Budget(steps)
    pieces: list[Piece] = []
    for gone, new_lines, kept in _runs(old.splitlines(keepends=True), new.splitlines(keepends=True), budget):
        for words_gone, words_new, words_kept in _runs(_WORD.findall(gone), _WORD.findall(new_lines), budget):
            pieces += [Piece("gone", words_gone), Piece("new", words_new), Piece("same", words_kept)]
        pieces.append(Piece("same", kept))
    return list(_joined(pieces))


def changed_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The fields besides the text that differ: name, before, after."""
    return [
        (name.replace("_", " "), _told(old.get(name)), _told(new.get(name)))
        for name in _FIELDS
        if old.get(name) != new.get(name)
    ]


def _joined(pieces: list[Piece]) -> Iterator[Piece]:
    """Pieces that have a text, neighbours of one kind as one."""
    texts: list[str] = []
    kind = ""
    for piece in (*pieces, Piece("", "end")):
        if piece.kind != kind and piece.text:
            if texts:
                yield Piece(kind, "".join(texts))
            kind, texts = piece.kind, []
        texts += [piece.text] if piece.text else []


def _runs(a: Sequence[str], b: Sequence[str], budget: Budget) -> Iterator[tuple[str, str, str]]:
    """Stretches of what went, what came in its place, and what stayed after it."""
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    yield "", "", "".join(a[:start])
    rest = 0
    while rest < min(len(a), len(b)) - start and a[-1 - rest] == b[-1 - rest]:
        rest += 1
    end_a, end_b = len(a) - rest, len(b) - rest
    at_a, at_b = start, start
    for x, y, length in (*_kept(a[start:end_a], b[start:end_b], budget), (end_a - start, end_b - start, rest)):
        yield "".join(a[at_a : start + x]), "".join(b[at_b : start + y]), "".join(a[start + x : start + x + length])
        at_a, at_b = start + x + length, start + y + length


def _kept(a: Sequence[str], b: Sequence[str], budget: Budget) -> list[tuple[int, int, int]]:
    """The runs that two sequences have in common, in order: where it is in each, and how long. None of it where the
    budget ends.

    E. W. Myers, "An O(ND) difference algorithm and its variations" (1986).
    """
    if not a or not b:
        return []
    furthest = {1: 0}
    trace: list[dict[int, int]] = []
    for edits in range(len(a) + len(b) + 1):
        reached: dict[int, int] = {}
        # Diagonals beyond the ends of either sequence lead nowhere.
        for k in range(-(edits - 2 * max(0, edits - len(b))), edits - 2 * max(0, edits - len(a)) + 1, 2):
            down = k == -edits or (k != edits and furthest.get(k - 1, -1) < furthest.get(k + 1, -1))
            x = begin = furthest[k + 1] if down else furthest[k - 1] + 1
            while x < len(a) and x - k < len(b) and a[x] == b[x - k]:
                x += 1
            budget.left -= 1 + x - begin
            reached[k] = x
            if x >= len(a) and x - k >= len(b):
                return _walked([*trace, reached], len(a), len(b))
        trace.append(reached)
        furthest = reached
        if budget.left <= 0:
            return []
    return []


def _walked(trace: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int, int]]:
    """The stretches in common on the way back from the ends of both sequences."""
    found: list[tuple[int, int, int]] = []
    for edits in range(len(trace) - 1, -1, -1):
        k = x - y
        before = trace[edits - 1] if edits else {1: 0}
        down = k == -edits or (k != edits and before.get(k - 1, -1) < before.get(k + 1, -1))
        begin = before[k + 1] if down else before[k - 1] + 1
        if x > begin:
            found.append((begin, begin - k, x - begin))
        x = begin if down else begin - 1
        y = x - (k + 1 if down else k - 1)
    return found[::-1]


def _told(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


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
