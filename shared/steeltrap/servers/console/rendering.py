"""Pages: requests and answers as plain values that need no framework, templates, and how values are shown.

Stored text on a page is always text: what would hide in it or turn it around is shown by name. Numbers are bars of SVG
with attributes alone, as the content security policy wants it. Templates and static files are read once; a static
file's address names its content, so that browsers may keep it for good.
"""

import gzip
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, tzinfo
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import Response

from ...errors import InvalidInput, SteeltrapError
from ...installation import typed_command
from ...invoke import Door
from ...model import Caller, JsonObject, OutcomeKind
from ...model.frozen import frozen
from ...text.dates import day_text, from_zone, minute_text, read, zone_of
from ...text.titles import conversation_name, conversation_title, happened_at, scope_name
from ...version import VERSION
from . import markdown

Fields = Mapping[str, list[str]]
"""The fields of a query or a form; each may come several times."""


@frozen
class PageRequest:
    """One request of somebody who is known. `fragment` is true where htmx asks for a part of a page. `timezone` is a
    zone that there is, which the browser named. `notices` say that answers may be old: the store can't be reached."""

    door: Door
    caller: Caller
    id: str = ""
    query: Fields = field(default_factory=dict)
    form: Fields = field(default_factory=dict)
    fragment: bool = False
    timezone: str | None = None
    notices: list[str] = field(default_factory=list)

    def ask(self, tool: str, *, once: str | None = None, **arguments: Any) -> Any:
        """The answer of a tool of `core`; arguments that are None are left out. `once` makes a repeated call count
        once. Raises the SteeltrapError that the call met."""
        fields = {name: value for name, value in arguments.items() if value is not None}
        result = self.door.invoke(f"core.{tool}", fields, self.caller, idempotency_key=once, timezone=self.timezone)
        if result.error is not None:
            raise result.error
        if (outcome := result.outcome) is not None and outcome.kind is OutcomeKind.OFFLINE:
            self.notices.append(outcome.message)
        return result.body

    def latest(self, **arguments: Any) -> Any:
        """A page of all memories, superseded ones too, the latest event first."""
        return self.ask("list", order="happened", include_superseded=True, **arguments)

    def find(self, tool: str, **arguments: Any) -> Any | None:
        """The same, None for what isn't there."""
        try:
            return self.ask(tool, **arguments)
        except SteeltrapError as error:
            if error.code != "not_found":
                raise
            return None

    @property
    def zone(self) -> tzinfo | None:
        """The zone of the dates that are shown: the browser's, else the setting's, None for the machine's own."""
        return self.door.rules.zone if self.timezone is None else zone_of(self.timezone)

    @property
    def now(self) -> datetime:
        return self.door.clock.now()

    @property
    def writes(self) -> bool:
        return not self.caller.permissions.read_only


def first(fields: Fields, name: str) -> str:
    """The first value of a field, "" without one."""
    return fields.get(name, [""])[0]


def number_of(fields: Fields, name: str) -> int:
    """The first value of a field as a number, 0 for anything else."""
    text = first(fields, name)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else 0


def end_of_day(request: PageRequest, day: str, days: int = 1) -> datetime:
    """The beginning of a day in the zone that is shown, so many days later. Raises InvalidInput."""
    try:
        return from_zone(datetime.combine(date.fromisoformat(day) + timedelta(days=days), time()), request.zone)
    except (ValueError, OverflowError, OSError):
        raise InvalidInput("A day must be a date such as 2026-01-31.") from None


@frozen
class Page:
    """A page, or for htmx the template `part` of it."""

    template: str
    values: JsonObject
    part: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Redirect:
    """Where a browser goes after a change, so that reloading doesn't repeat it."""

    to: str


Reply = Page | Redirect


def url(path: str, **query: str | int | list[str] | None) -> str:
    """A path of this server with a query; what is None or empty is left out."""
    parameters = {name: value for name, value in query.items() if value not in (None, "", [])}
    return path + (f"?{urlencode(parameters, doseq=True)}" if parameters else "")


def memory_url(id: str, action: str = "") -> str:
    return f"/console/memories/{quote(id, safe='')}" + (f"/{action}" if action else "")


def own_path(text: str) -> str:
    """A path of this server as a form names it, "/" for anything that a browser could take for another site."""
    fine = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable() and "\\" not in text
    return text if fine else "/"


_WIDTH: Final = 100


def bar(share: float, kind: str, most: float = 1.0) -> Markup:
    """A bar that is filled to a share of `most`. What it says is written beside it, so it is hidden from readers."""
    width = round(_WIDTH * max(0.0, min(1.0, share / most if most else 0.0)), 1)
    return Markup(
        '<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        '<rect class="bar-track" width="100" height="6" rx="3"/><rect class="bar-{}" width="{}" height="6" rx="3"/>'
        "</svg>"
    ).format(kind, width)


def why(hit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parts of a hit's score: meaning and words from 0 to 1, then what ranking rules added or took."""
    reasons = hit["why"]
    parts = [
        {"name": name, "kind": name.lower(), "share": reasons[leg], "value": f"{reasons[leg]:.2f}"}
        for name, leg in (("Meaning", "semantic"), ("Words", "keyword"))
    ]
    for name, boost in sorted((reasons.get("boosts") or {}).items(), key=lambda pair: -abs(pair[1])):
        if abs(boost) >= 0.005:
            label = name.replace("_", " ").capitalize()
            kind = "gain" if boost > 0 else "loss"
            names = ", ".join(reasons.get("led_by") or ()) if name == "name" else ""
            parts.append({"name": label, "kind": kind, "share": abs(boost), "value": f"{boost:+.2f} {names}".rstrip()})
    return parts


SCORES: Final[Mapping[str, str]] = {
    "Score": "How well the memory answers the search: seven tenths of its meaning, three of its words, and the rest.",
    "Meaning": "How near the memory is to the search in meaning, 0 to 1, whatever words it has.",
    "Words": "The share of the search's words that the memory says, 0 to 1; rare words count more.",
    "Neighbours": "What was said just before and after it in the conversation fits the search.",
    "Conversation": "Something else in the same conversation fits the search better.",
    "Coverage": "Its conversation says the words of the search that it doesn't say itself.",
    "Reply": "It follows a question that fits the search.",
    "Question": "It only asks; what answers it comes after it.",
    "Speaker": "The search names who said it.",
    "Wish": "It is a standing wish of the user's.",
    "Days": "It happened on, or near, the days that the search names.",
    "Recency": "The search asks for the latest or the first, and it is late or early.",
    "Role": "The search says 'I' or 'you', and it was said by the user or the assistant.",
    "Superseded": "It replaced a memory that fits the search.",
    "Past": "The search asks for the past, and the memory was replaced by one that fits.",
    "Order": "It has the search's words in the order of an answer.",
    "Abbreviation": "It has in full what the search abbreviates, or the reverse.",
    "Name": "It has a name that one of the best results brings up.",
    "Literal": "It has the search word for word, or its numbers, names and quotations.",
}
"""The meaning of each name that `why` shows."""

# Controls but tab and line ends; what turns the direction of text; what can't be seen; lone surrogates. The joiners
# U+200C and U+200D stay: Persian and emoji need them.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff9-\ufffc\ud800-\udfff\U000e0000-\U000e0fff]"
)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_WORD: Final = re.compile(r"\w+")
_LEAST: Final = 3
"""Characters of a Latin word of the query that is marked in a result: shorter ones begin too many others."""


def visible_text(value: object) -> Markup:
    """Text as HTML in a direction of its own, with a visible mark for each hidden character."""
    return Markup("<bdi>{}</bdi>").format(_marked(str(value).replace("\r\n", "\n")))


def formatted(value: str) -> Markup:
    """Text as its Markdown says, with a visible mark for each hidden character; without marks as `visible_text`."""
    text = value.replace("\r\n", "\n")
    # A lone surrogate is no text to what sanitises.
    html = None if _SURROGATE.search(text) else markdown.rendered(text, _with_visible)
    return visible_text(text) if html is None else Markup('<div class="markdown" dir="auto">{}</div>').format(html)


def _with_visible(html: str) -> str:
    """HTML whose attributes are plain ASCII, with its hidden characters made visible."""
    return _HIDDEN.sub(lambda match: str(_mark(match[0])), html)


def plain(value: object) -> str:
    """Text for an attribute or a title: without hidden characters."""
    return _HIDDEN.sub("\N{REPLACEMENT CHARACTER}", str(value))


def highlight(value: str, words: Sequence[str]) -> Markup:
    """Text as `visible_text`, with the query's words marked."""
    longest_first = sorted({word for word in words if len(word) >= _LEAST or not word.isascii()}, key=len, reverse=True)
    if not longest_first:
        return visible_text(value)
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, longest_first)) + ")", re.IGNORECASE)
    parts = pattern.split(value)
    pieces = [Markup("<mark>{}</mark>").format(_marked(p)) if i % 2 else _marked(p) for i, p in enumerate(parts)]
    return Markup("<bdi>{}</bdi>").format(Markup("").join(pieces))


def words(query: str) -> list[str]:
    return _WORD.findall(query)[:32]


def _marked(text: str) -> Markup:
    pieces: list[Markup] = []
    at = 0
    for match in _HIDDEN.finditer(text):
        pieces += [escape(text[at : match.start()]), _mark(match[0])]
        at = match.end()
    return Markup("").join([*pieces, escape(text[at:])])


def _mark(character: str) -> Markup:
    code = f"U+{ord(character):04X}"
    name = unicodedata.name(character, "control character").lower()
    return Markup('<span class="hidden-character" title="{} {}">{}</span>').format(code, name, code)


EXCERPT: Final = 360
_SHOWN_TAGS: Final = 6


@frozen
class Row:
    """A memory as a list shows it, at the time when it was saved, or `by_event` when it happened. `happened` is given
    if that was on another day than the save. `title` is that of the conversation that it is of. `score` and `why`
    are of a search."""

    id: str
    version: int
    text: str
    is_cut: bool
    at: str
    time: str
    day: str
    happened: str
    scope: str
    title: str
    conversation: str
    conversation_name: str
    tags: list[str]
    badges: list[tuple[str, str]]
    pinned: bool
    score: float | None = None
    why: list[dict[str, Any]] | None = None
    deleted: str = ""


def row(memory: Mapping[str, Any], zone: tzinfo | None, *, by_event: bool = False) -> Row:
    content = memory["content"]
    deleted = memory.get("deleted_at")
    at = happened_at(memory) if by_event else memory["created_at"]
    day = day_of(at, zone)
    happened = memory.get("occurred_at")
    is_text = memory.get("content_type", "text") == "text"
    return Row(
        id=memory["id"],
        version=memory["version"],
        text=_excerpt(content) if is_text else content[:EXCERPT],
        is_cut=len(content) > EXCERPT,
        at=at,
        time=when(at, zone),
        day=day,
        happened=day_then if happened and (day_then := when(happened, zone)[:10]) != day else "",
        scope=memory["scope"],
        title=conversation_title(memory),
        conversation_name=conversation_name(memory),
        conversation=memory.get("conversation_id", ""),
        tags=memory.get("tags", [])[:_SHOWN_TAGS],
        badges=badges(memory, zone),
        pinned=bool(memory.get("pinned")),
        score=memory.get("score"),
        why=why(memory) if "why" in memory else None,
        deleted=when(deleted, zone) if deleted else "",
    )


def _excerpt(content: str) -> str:
    return markdown.without_marks(content[: 2 * EXCERPT])[:EXCERPT]


def badges(memory: Mapping[str, Any], zone: tzinfo | None) -> list[tuple[str, str]]:
    """Short labels, each with what it means."""
    labels = []
    if memory.get("pinned"):
        labels.append(("pinned", "It never fades, and deleting by criteria skips it."))
    if memory.get("messages"):
        labels.append(("episode", "Made from a conversation."))
    if memory.get("superseded_by"):
        labels.append(("superseded", "A newer memory replaced it; searches leave it out."))
    if memory.get("untrusted"):
        labels.append(("untrusted", "An untrusted agent wrote it."))
    if memory.get("expires_at"):
        labels.append(("expires", f"It expires at {when(memory['expires_at'], zone)}."))
    return labels


def when(moment: str, zone: tzinfo | None) -> str:
    """A time in the zone that is shown, to the minute; a date without a time as it is."""
    return minute_text(read(moment), zone)


def day_of(moment: str, zone: tzinfo | None) -> str:
    return day_text(read(moment), zone)


_HERE: Final = Path(__file__).parent
STATIC: Final = "/console/static"
_MEDIA: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FOR_GOOD: Final = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file as it is sent: plain and compressed."""

    media: str
    content: bytes
    digest: str
    zipped: bytes


@cache
def static_files() -> dict[str, StaticFile]:
    files = {}
    for path in sorted((_HERE / "static").iterdir()):
        if path.suffix in _MEDIA:
            content = path.read_bytes()
            digest = sha256(content).hexdigest()[:12]
            files[path.name] = StaticFile(_MEDIA[path.suffix], content, digest, gzip.compress(content, mtime=0))
    return files


def static_url(name: str) -> str:
    return f"{STATIC}/{static_files()[name].digest}/{name}"


def static_answer(digest: str, name: str, encodings: str) -> Response:
    """A file. Under another digest, of a page from before an upgrade, it is sent too, but not kept."""
    file = static_files().get(name)
    if file is None:
        return Response(status_code=404)
    headers = {
        "Cache-Control": _FOR_GOOD if digest == file.digest else "no-cache",
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    if "gzip" in encodings:
        return Response(file.zipped, 200, {**headers, "Content-Encoding": "gzip"}, media_type=file.media)
    return Response(file.content, 200, headers, media_type=file.media)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(
        shown=visible_text, formatted=formatted, plain=plain, lit=highlight, number="{:,}".format
    )
    environment.globals.update(
        without=_without,
        scope_name=scope_name,
        scores=SCORES,
        static_url=static_url,
        url=url,
        memory_url=memory_url,
        bar=bar,
        product_version=VERSION,
        typed_command=typed_command,
    )
    return environment


@dataclass(frozen=True, slots=True)
class Rendering:
    environment: Environment = field(default_factory=_environment)

    def render(self, template: str, values: JsonObject) -> str:
        return self.environment.get_template(template).render(_with_defaults(values))


def _with_defaults(values: dict[str, Any]) -> dict[str, Any]:
    return {"said": None, "q": "", "who": None, **values}


def _without(values: JsonObject, name: str) -> JsonObject:
    return {key: value for key, value in values.items() if key != name}
