"""Pages that find and show memories: search and list, browse, the timeline, the trash, and one memory with its history.

The difference that a change made is shown as words that went, words that came, and the fields that differ.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from ...errors import InvalidInput, NotFound
from ...model import JsonObject, later
from ...text.titles import conversation_name, happened_at, scope_name
from .markdown import MOST
from .rendering import Page, PageRequest, Row, badges, day_of, end_of_day, first, number_of, row, url, when, words

ROWS: Final = 25
HITS: Final = 20
DAYS: Final = 100
_LOOKED_AT: Final = 1000
"""The newest memories, of which tags, conversations and days are counted: as many as a list has at most."""
_MOST_OFFSET: Final = 1000
_CONDITIONS: Final = ("scope", "tag", "conversation", "day", "superseded")


def home(request: PageRequest) -> Page:
    """Search as one types, or without a query all memories, newest first; both by scope, tag, conversation and day."""
    query = first(request.query, "q").strip()
    values = _hits(request, query) if query else _newest(request, "/", ROWS)
    values |= {"q": query, "conditions": conditions(request), "base": "/", "grouped": False}
    values["names"] = _names(values["conditions"], values["rows"])
    if request.fragment:
        part = "rows.html" if first(request.query, "part") == "rows" else "results_part.html"
        return Page(template="home.html", part=part, values=values)
    return Page(template="home.html", values={**values, **_facets(request), "said": report(request)})


def ready(request: PageRequest) -> Page:
    """Nothing to see, as soon as searches are quick: the first one of a user loads the index of their memories."""
    request.ask("search", query="ready", limit=1, count_access=False)
    return Page(template="ready.html", values={})


def timeline(request: PageRequest) -> Page:
    """All memories by the day on which they happened, the latest first."""
    until = first(request.query, "until")
    values = _latest(request, end_of_day(request, until) if until else None)
    values |= {"until": until, "conditions": conditions(request), "grouped": True}
    return Page(template="timeline.html", part="rows.html", values=values)


def browse(request: PageRequest) -> Page:
    """The page of everything to look into: scopes, tags, conversations, days."""
    newest = request.latest(limit=_LOOKED_AT)
    memories = newest["memories"]
    days = Counter(day_of(happened_at(m), request.zone) for m in memories)
    names: dict[str, str] = {}
    for memory in memories:
        if (id := memory.get("conversation_id")) and names.get(id, id) == id:
            names[id] = conversation_name(memory)
    values = {
        "scopes": request.ask("list_scopes")["scopes"],
        "tags": _most_common(tag for memory in memories for tag in memory.get("tags", ())),
        "conversations": [
            {"id": id, "name": names[id], "memories": count}
            for id, count in _most_common(m["conversation_id"] for m in memories if m.get("conversation_id"))
        ],
        "days": sorted(days.items(), reverse=True)[:60],
        "busiest": max(days.values(), default=1),
        "total": newest["total"],
        "looked_at": len(memories),
    }
    return Page(template="browse.html", values=values)


def trash(request: PageRequest) -> Page:
    """The memories that were deleted and can be restored, latest deletion first."""
    offset = number_of(request.query, "offset")
    page = request.ask("list", deleted=True, limit=ROWS, offset=offset)
    rows = [row(memory, request.zone) for memory in page["memories"]]
    more = url("/console/trash", offset=offset + ROWS) if offset + ROWS < page["total"] else None
    values = {
        "rows": rows,
        "total": page["total"],
        "more": more,
        "said": report(request),
        "retention_days": request.door.rules.retention.total_seconds() / 86400,
    }
    return Page(template="trash.html", part="trash_rows.html", values=values)


def conditions(request: PageRequest) -> dict[str, str]:
    """The conditions that the address names."""
    return {name: value for name in _CONDITIONS if (value := first(request.query, name).strip())}


def _names(conditions: Mapping[str, str], rows: Sequence[Row]) -> dict[str, str]:
    """The names by which people know a scope and a conversation that are conditions."""
    names = {"scope": scope_name(conditions["scope"])} if "scope" in conditions else {}
    id = conditions.get("conversation")
    name = next((row.conversation_name for row in rows if row.conversation == id != row.conversation_name), id)
    return {**names, "conversation": name} if name else names


def report(request: PageRequest) -> dict[str, str] | None:
    """The report of what was just done, as the address of a redirect tells it: a word of ours, and an id."""
    message = first(request.query, "said")
    return {"done": message, "id": first(request.query, "about")[:64]} if message else None


def _hits(request: PageRequest, query: str) -> JsonObject:
    offset = number_of(request.query, "offset")
    fields = _arguments(request)
    day = (fields.pop("happened_after", None), fields.pop("happened_before", None))
    # A search at each key pressed says nothing of what matters to the user.
    fields |= {"why": True, "related_only": True, "count_access": False}
    answer = request.ask("search", query=query, limit=_LOOKED_AT if day[0] else HITS, offset=offset, **fields)
    results = [hit for hit in answer["results"] if not day[0] or _is_of_day(request, hit)]
    outcome = answer["outcome"]
    likely: list[Any] = []
    if not offset:
        likely_answer = request.ask("search", query=query, limit=HITS, precision="likely", **fields)
        likely = [hit for hit in likely_answer["results"] if not day[0] or _is_of_day(request, hit)]
        outcome = likely_answer["outcome"]
    sure = [row(hit, request.zone) for hit in likely if not hit.get("less_sure")]
    ids = {hit.id for hit in sure}
    in_order = {hit["id"]: hit for hit in (*likely, *results) if hit["id"] not in ids}
    less_sure = [row(hit, request.zone) for hit in in_order.values()]
    goes_on = not day[0] and len(answer["results"]) == HITS and offset + HITS <= _MOST_OFFSET
    more = url("/", q=query, **conditions(request), offset=offset + HITS) if goes_on else None
    return {
        "rows": less_sure if offset else sure,
        "less_sure": [] if offset else less_sure,
        "more": more,
        "status": f"Results from {offset + 1} on" if offset else _counted(len(sure), len(less_sure), goes_on),
        "outcome": outcome,
        "degraded": outcome["message"] if outcome["kind"] in ("degraded", "offline") else "",
        "words": words(query),
        "last_day": "",
    }


def _counted(sure: int, less_sure: int, goes_on: bool) -> str:
    """How many were found, in words; it `goes_on` where a further page has more."""
    or_more = " or more" if goes_on else ""
    many = f"{sure}{'' if less_sure else or_more} {'memory' if sure == 1 else 'memories'} found"
    count = many if sure else "Nothing found that is likely"
    return f"{count}, {less_sure}{or_more} less likely" if less_sure else count


def _is_of_day(request: PageRequest, memory: Mapping[str, Any]) -> bool:
    return day_of(happened_at(memory), request.zone) == conditions(request)["day"]


def _latest(request: PageRequest, end: datetime | None) -> JsonObject:
    """A page of the timeline, up to a moment. Later pages leave out what was saved since the first one."""
    return _page(request, "/console/timeline", DAYS, {"order": "happened", "happened_before": _text(end)})


def _newest(request: PageRequest, base: str, limit: int) -> JsonObject:
    """A page of the list. Later pages leave out what was saved since the first one."""
    return _page(request, base, limit, {"order": "happened"} if "day" in conditions(request) else {})


def _page(request: PageRequest, base: str, limit: int, fields: Mapping[str, Any]) -> JsonObject:
    offset = number_of(request.query, "offset")
    before = _moment(first(request.query, "before"))
    fields = {**_arguments(request), **fields}
    page = request.ask("list", limit=limit, offset=offset, created_before=_text(before), **fields)
    memories = page["memories"]
    if before is None and memories:
        latest = max(datetime.fromisoformat(memory["created_at"]) for memory in memories)
        before = later(max(request.now, latest), timedelta(microseconds=1))
    rows = [row(memory, request.zone, by_event=fields.get("order") == "happened") for memory in memories]
    query = {**conditions(request), "until": first(request.query, "until"), "before": _text(before)}
    goes_on = offset + limit < page["total"]
    more = url(base, **query, offset=offset + limit, day_above=rows[-1].day if rows else "") if goes_on else None
    return {
        "rows": rows,
        "more": more,
        "total": page["total"],
        "less_sure": [],
        "outcome": None,
        "status": f"{page['total']:,} {'memory' if page['total'] == 1 else 'memories'}",
        "degraded": request.notices[0] if request.notices and request.fragment else "",
        "words": [],
        "last_day": first(request.query, "day_above"),
    }


def _arguments(request: PageRequest) -> dict[str, Any]:
    """The conditions of the address as arguments of list and search."""
    form = conditions(request)
    fields: dict[str, Any] = {"include_superseded": True} if "superseded" in form else {}
    if "scope" in form:
        fields["scope"] = form["scope"]
    if "tag" in form:
        fields["tags"] = [form["tag"]]
    if "conversation" in form:
        fields["of_conversation"] = form["conversation"]
    if "day" in form:
        start = end_of_day(request, form["day"], days=0)
        fields |= {"happened_after": start, "happened_before": end_of_day(request, form["day"])}
    return fields


def _facets(request: PageRequest) -> JsonObject:
    scopes = request.ask("list_scopes")["scopes"]
    return {"scopes": sorted(scopes, key=lambda scope: -scope["memories"])[:12]}


def _most_common(names: Iterable[str]) -> list[tuple[str, int]]:
    return Counter(names).most_common(60)


def _moment(text: str) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InvalidInput("`before` must be a time such as 2026-01-31T09:30:00Z.")
    return moment


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


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
        self.steps_left = steps


def difference(old: str, new: str, steps: int = STEPS) -> list[Piece]:
    """How one text becomes the other: by lines, and within the lines that changed by words. After `steps` comparisons
    the rest is shown as replaced."""
    budget = Budget(steps)
    pieces: list[Piece] = []
    for old_lines, new_lines, same_lines in _runs(old.splitlines(keepends=True), new.splitlines(keepends=True), budget):
        for old_words, new_words, same_words in _runs(_WORD.findall(old_lines), _WORD.findall(new_lines), budget):
            pieces += [Piece("gone", old_words), Piece("new", new_words), Piece("same", same_words)]
        pieces.append(Piece("same", same_lines))
    return list(_joined(pieces))


def changed_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The fields besides the text that differ: name, before, after."""
    return [
        (name.replace("_", " "), _plain_text(old.get(name)), _plain_text(new.get(name)))
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
    for x, y, length in (*_common_runs(a[start:end_a], b[start:end_b], budget), (end_a - start, end_b - start, rest)):
        yield "".join(a[at_a : start + x]), "".join(b[at_b : start + y]), "".join(a[start + x : start + x + length])
        at_a, at_b = start + x + length, start + y + length


def _common_runs(a: Sequence[str], b: Sequence[str], budget: Budget) -> list[tuple[int, int, int]]:
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
            budget.steps_left -= 1 + x - begin
            reached[k] = x
            if x >= len(a) and x - k >= len(b):
                return _walked([*trace, reached], len(a), len(b))
        trace.append(reached)
        furthest = reached
        if budget.steps_left <= 0:
            return []
    return []


def _walked(trace: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int, int]]:
    """The stretches in common on the way back from the ends of both sequences."""
    stretches: list[tuple[int, int, int]] = []
    for edits in range(len(trace) - 1, -1, -1):
        k = x - y
        before = trace[edits - 1] if edits else {1: 0}
        down = k == -edits or (k != edits and before.get(k - 1, -1) < before.get(k + 1, -1))
        begin = before[k + 1] if down else before[k - 1] + 1
        if x > begin:
            stretches.append((begin, begin - k, x - begin))
        x = begin if down else begin - 1
        y = x - (k + 1 if down else k - 1)
    return stretches[::-1]


def _plain_text(value: Any) -> str:
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


def memory_page(request: PageRequest) -> Page:
    """One memory; a deleted one too, until it is purged. Raises NotFound."""
    memory = request.find("get", id=request.id)
    versions = _history(request, memory)
    if memory is None:
        memory = versions[-1]["memory"]
    values: JsonObject = {
        "memory": memory,
        "facts": _facts(request, memory),
        "badges": badges(memory, request.zone),
        "metadata": json.dumps(memory["metadata"], ensure_ascii=False, indent=2) if memory.get("metadata") else "",
        "versions": _changes(request, versions),
        "more_versions": memory["version"] > _VERSIONS,
        "superseded_by": _other(request, memory.get("superseded_by")),
        "supersedes": [other for id in memory.get("supersedes", ()) if (other := _other(request, id))],
        "associations": [],
        "importance": None,
        "said": report(request),
        "conversation": conversation_name(memory),
        "messages": list(_messages(request, memory)),
    }
    if "deleted_at" not in memory:
        values["associations"] = request.ask("associations", id=memory["id"], limit=20)["associations"]
        values["importance"] = request.ask("score", id=memory["id"])
    return Page(template="memory.html", values=values)


def _history(request: PageRequest, memory: Mapping[str, Any] | None) -> list[Any]:
    """The latest versions, oldest first, the current one last."""
    after = 0 if memory is None else max(0, memory["version"] - 1 - _VERSIONS)
    versions: list[Any] = []
    while True:
        page = request.find("history", id=request.id, limit=1000, after=after)
        if page is None:
            raise NotFound("There is no memory with this id: it never existed, has expired, or was forgotten.")
        versions = [*versions, *page["revisions"]][-_VERSIONS - 1 :]
        if page.get("next") is None:
            return versions
        after = page["next"]


def _changes(request: PageRequest, versions: list[Any]) -> list[JsonObject]:
    """Each version beside the one before it, newest first."""
    changes = []
    steps = STEPS // len(versions)
    for number, version in enumerate(versions):
        memory = version["memory"]
        before = versions[number - 1] if number else None
        changes.append(
            {
                "version": memory["version"],
                "time": when(memory["updated_at"], request.zone),
                "at": memory["updated_at"],
                "by": (before or {}).get("replaced_by") or memory.get("updated_by") or memory.get("agent_id"),
                "pieces": difference(before["memory"]["content"], memory["content"], steps) if before else [],
                "same_text": before is not None and before["memory"]["content"] == memory["content"],
                "fields": changed_fields(before["memory"], memory) if before else [],
                "first": memory["content"] if before is None else "",
            }
        )
    return changes[::-1]


def _facts(request: PageRequest, memory: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The facts about a memory: name, value, and for times the exact one."""
    repeated = {"updated_at"} if memory["version"] == 1 else set()
    if memory.get("updated_by") == memory.get("agent_id"):
        repeated.add("updated_by")
    times = [(name, when(memory[name], request.zone), memory[name]) for name in _TIMES if memory.get(name)]
    rest = [(name, _shortly(memory[name]), "") for name in _SHOWN if memory.get(name) is not None]
    return [
        (_LABELS.get(name, name.replace("_", " ").capitalize()), value, at)
        for name, value, at in (*times, *rest)
        if name not in repeated
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


def _other(request: PageRequest, id: str | None) -> Row | None:
    memory = request.find("get", id=id) if id else None
    return row(memory, request.zone) if memory else None


def _messages(request: PageRequest, memory: Mapping[str, Any]) -> Iterator[JsonObject]:
    """The messages of an episode, of which the first are shown as their Markdown says: as much as one memory."""
    room = MOST
    for message in memory.get("messages", ()):
        room -= len(message["content"])
        yield {**_message(request, message), "is_formatted": room >= 0}


def _message(request: PageRequest, message: Mapping[str, Any]) -> JsonObject:
    at = message.get("time")
    return {
        "who": message.get("speaker") or message["role"],
        "role": message["role"],
        "text": message["content"],
        "at": at,
        "time": when(at, request.zone) if at else "",
    }
