"""Pages that find memories: search and list, browse, the timeline, the trash."""

from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from typing import Any, Final

from ...errors import InvalidInput
from ...model import JsonObject
from ...text.dates import from_zone
from .rendering import Asked, Page, day_of, first, row, url, words

ROWS: Final = 25
HITS: Final = 20
DAYS: Final = 100
_LOOKED_AT: Final = 1000
"""The newest memories, of which tags, conversations and days are counted: as many as a list has at most."""
_MOST_OFFSET: Final = 1000
_CONDITIONS: Final = ("scope", "tag", "conversation", "day", "superseded")


def home(asked: Asked) -> Page:
    """Search as one types, or without a query all memories, newest first; both by scope, tag, conversation and day."""
    query = first(asked.query, "q").strip()
    values = _hits(asked, query) if query else _newest(asked, "/", ROWS)
    values |= {"q": query, "conditions": conditions(asked), "base": "/", "grouped": False}
    if asked.fragment:
        part = "rows.html" if first(asked.query, "part") == "rows" else "results_part.html"
        return Page(template="home.html", part=part, values=values)
    return Page(template="home.html", values={**values, **_facets(asked), "said": said(asked)})


def timeline(asked: Asked) -> Page:
    """All memories by day, newest first."""
    until = first(asked.query, "until")
    values = _newest(asked, "/console/timeline", DAYS, end=_end_of(asked, until) if until else None)
    values |= {"until": until, "conditions": conditions(asked), "grouped": True}
    return Page(template="timeline.html", part="rows.html", values=values)


def browse(asked: Asked) -> Page:
    """The page of everything to look into: scopes, tags, conversations, days."""
    newest = asked.ask("list", limit=_LOOKED_AT, include_superseded=True)
    memories = newest["memories"]
    days = Counter(day_of(m["created_at"], asked.zone) for m in memories)
    values = {
        "scopes": asked.ask("list_scopes")["scopes"],
        "tags": _most(tag for memory in memories for tag in memory.get("tags", ())),
        "conversations": _most(m["conversation_id"] for m in memories if m.get("conversation_id")),
        "days": sorted(days.items(), reverse=True)[:60],
        "busiest": max(days.values(), default=1),
        "total": newest["total"],
        "looked_at": len(memories),
    }
    return Page(template="browse.html", values=values)


def trash(asked: Asked) -> Page:
    """The memories that were deleted and can be restored, latest deletion first."""
    offset = _number(first(asked.query, "offset"))
    page = asked.ask("list", deleted=True, limit=ROWS, offset=offset)
    rows = [row(memory, asked.zone) for memory in page["memories"]]
    more = url("/console/trash", offset=offset + ROWS) if offset + ROWS < page["total"] else None
    values = {
        "rows": rows,
        "total": page["total"],
        "more": more,
        "said": said(asked),
        "retention_days": asked.door.rules.retention.total_seconds() / 86400,
    }
    return Page(template="trash.html", part="trash_rows.html", values=values)


def conditions(asked: Asked) -> dict[str, str]:
    """The conditions that the address names."""
    return {name: value for name in _CONDITIONS if (value := first(asked.query, name).strip())}


def said(asked: Asked) -> dict[str, str] | None:
    """The report of what was just done, as the address of a redirect tells it: a word of ours, and an id."""
    done = first(asked.query, "said")
    return {"done": done, "id": first(asked.query, "about")[:64]} if done else None


def _hits(asked: Asked, query: str) -> JsonObject:
    offset = _number(first(asked.query, "offset"))
    given = _given(asked)
    # A search at each key pressed says nothing of what matters to the user.
    given |= {"why": True, "related_only": True, "count_access": False}
    found = asked.ask("search", query=query, limit=HITS, offset=offset, **given)
    rows = [row(hit, asked.zone) for hit in found["results"]]
    goes_on = len(rows) == HITS and offset + HITS <= _MOST_OFFSET
    more = url("/", q=query, **conditions(asked), offset=offset + HITS) if goes_on else None
    outcome = found["outcome"]
    at_least = f"{offset + len(rows)}{' or more' if goes_on else ''}"
    status = f"{at_least} {'memory' if at_least == '1' else 'memories'} found" if rows or offset else ""
    return {
        "rows": rows,
        "more": more,
        "status": status or outcome["message"],
        "degraded": outcome["message"] if outcome["kind"] == "degraded" else "",
        "words": words(query),
        "last_day": "",
    }


def _newest(asked: Asked, base: str, limit: int, end: datetime | None = None) -> JsonObject:
    """A page of the list. Later pages leave out what was saved since the first one, so that nothing moves."""
    offset = _number(first(asked.query, "offset"))
    before = _moment(first(asked.query, "before"))
    given = _given(asked)
    ends = [each for each in (given.pop("created_before", None), before, end) if each is not None]
    page = asked.ask("list", limit=limit, offset=offset, created_before=_text(min(ends)) if ends else None, **given)
    memories = page["memories"]
    if before is None and memories:
        before = max(asked.now, datetime.fromisoformat(memories[0]["created_at"])) + timedelta(microseconds=1)
    rows = [row(memory, asked.zone) for memory in memories]
    kept = {**conditions(asked), "until": first(asked.query, "until"), "before": _text(before)}
    goes_on = offset + limit < page["total"]
    more = url(base, **kept, offset=offset + limit, day_above=rows[-1].day if rows else "") if goes_on else None
    return {
        "rows": rows,
        "more": more,
        "total": page["total"],
        "status": f"{page['total']:,} {'memory' if page['total'] == 1 else 'memories'}",
        "degraded": "",
        "words": [],
        "last_day": first(asked.query, "day_above"),
    }


def _given(asked: Asked) -> dict[str, Any]:
    """The conditions of the address as arguments of list and search."""
    wanted = conditions(asked)
    given: dict[str, Any] = {"include_superseded": True} if "superseded" in wanted else {}
    if "scope" in wanted:
        given["scope"] = wanted["scope"]
    if "tag" in wanted:
        given["tags"] = [wanted["tag"]]
    if "conversation" in wanted:
        given["of_conversation"] = wanted["conversation"]
    if "day" in wanted:
        start = _end_of(asked, wanted["day"], days=0)
        given |= {"created_after": start, "created_before": _end_of(asked, wanted["day"])}
    return given


def _end_of(asked: Asked, day: str, days: int = 1) -> datetime:
    """The beginning of a day in the zone that is shown, so many days later. Raises InvalidInput."""
    try:
        return from_zone(datetime.combine(date.fromisoformat(day) + timedelta(days=days), time()), asked.zone)
    except (ValueError, OverflowError, OSError):
        raise InvalidInput("A day must be a date such as 2026-01-31.") from None


def _facets(asked: Asked) -> JsonObject:
    scopes = asked.ask("list_scopes")["scopes"]
    return {"scopes": sorted(scopes, key=lambda scope: -scope["memories"])[:12]}


def _most(names: Iterable[str]) -> list[tuple[str, int]]:
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


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else 0
