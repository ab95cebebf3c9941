"""Markdown notes: one memory a file, or one a section where the file is longer than a chunk."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from ....engine.save import Draft
from ....errors import SteeltrapError
from ....model import JsonObject
from ....rules.chunking import CHUNK_CHARACTERS
from ....rules.limits import check_json
from .item import Flaw, Item, Part

SUFFIXES: Final = (".md", ".markdown")
SECTION_CHARACTERS: Final = 4000
"""A longer section is cut at paragraphs: a memory is something to read, not a chapter."""

_HEADING: Final = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")
_DATES: Final = ("date", "created", "created_at", "updated")


@dataclass(frozen=True, slots=True)
class Section:
    """The headings above a text, outermost first, the text, and the line where it begins."""

    headings: tuple[str, ...]
    text: str
    line: int


def parts(text: str, name: str, *, scope: str, tags: tuple[str, ...], at: int, size: int) -> Iterator[Part]:
    """The memories of one note. `name` is its path below the imported folder."""
    front, body, line = front_matter(text)
    title = str(front.get("title") or "")
    for number, section in enumerate(sections(body, line), 1):
        where = f"{name}:{section.line}"
        path = tuple(dict.fromkeys((title, *section.headings) if title else section.headings))
        above = "" if title and not section.headings and title in section.text else " › ".join(path)
        content = "\n\n".join(filter(None, (above, section.text)))
        metadata: JsonObject = {"path": name, "section": number}
        metadata |= {"headings": list(path)} if path else {}
        try:
            check_json(content, where="content")
            check_json(metadata, where="metadata")
        except SteeltrapError as error:
            yield Flaw(where=where, at=at, sentence=error.message)
            continue
        draft = Draft(
            content=content,
            scope=scope,
            tags=(*tags, *_tags(front)),
            metadata=metadata,
            occurred_at=_date(front),
        )
        yield Item(where=where, at=at, size=size, draft=draft)


def sections(text: str, first_line: int = 1) -> list[Section]:
    """The whole text where it fits into a chunk, else its sections, each cut at paragraphs where it is long.

    A heading without a text of its own is only a heading of those below it.
    """
    found = [section for section in _by_heading(text, first_line) if section.text]
    if len(text) <= CHUNK_CHARACTERS or not found:
        return [Section((), text.strip(), first_line)] if text.strip() else []
    return [part for section in found for part in _cut(section)]


def _by_heading(text: str, line: int) -> Iterator[Section]:
    above: list[tuple[int, str]] = []
    lines: list[str] = []
    began, fence = line, ""
    for number, row in enumerate(text.split("\n"), line):
        if mark := _FENCE.match(row):
            fence = "" if fence == mark[1] else fence or mark[1]
        heading = None if fence else _HEADING.fullmatch(row)
        if heading is None:
            lines.append(row)
            continue
        yield Section(tuple(title for _, title in above), "\n".join(lines).strip(), began)
        level = len(heading[1])
        above = [(depth, title) for depth, title in above if depth < level] + [(level, heading[2])]
        lines, began = [], number
    yield Section(tuple(title for _, title in above), "\n".join(lines).strip(), began)


def _cut(section: Section) -> Iterator[Section]:
    """Pieces of at most SECTION_CHARACTERS, cut at empty lines, else at lines, else at words."""
    kept = ""
    line = section.line
    for paragraph in _pieces(section.text):
        if kept and len(kept) + len(paragraph) > SECTION_CHARACTERS:
            yield Section(section.headings, kept.strip(), line)
            line, kept = line + kept.count("\n"), ""
        kept += paragraph
    if kept.strip():
        yield Section(section.headings, kept.strip(), line)


def _pieces(text: str) -> Iterator[str]:
    for separator in ("\n\n", "\n", " "):
        pieces = [piece + separator for piece in text.split(separator)]
        if max(map(len, pieces)) <= SECTION_CHARACTERS:
            yield from pieces
            return
    yield from (text[i : i + SECTION_CHARACTERS] for i in range(0, len(text), SECTION_CHARACTERS))


def front_matter(text: str) -> tuple[JsonObject, str, int]:
    """The plain `key: value` lines and lists between two `---`, the text behind them, and its first line."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if not text.startswith("---\n"):
        return {}, text, 1
    end = re.search(r"^(---|\.\.\.)[ \t]*$", text[4:], re.MULTILINE)
    if end is None:
        return {}, text, 1
    front: JsonObject = {}
    key = ""
    for line in text[4 : 4 + end.start()].split("\n"):
        if (item := re.fullmatch(r"\s*-\s+(.*)", line)) and isinstance(front.get(key), list | None):
            front[key] = [*(front.get(key) or ()), _unquoted(item[1])]
        elif pair := re.fullmatch(r"([\w-]+)\s*:\s*(.*)", line):
            key = pair[1].lower()
            front[key] = _front_value(pair[2])
    behind = 4 + end.end()
    return front, text[behind:], text.count("\n", 0, behind) + 1


def _front_value(value: str) -> str | list[str] | None:
    value = value.strip()
    if value.startswith("[") and value.endswith("]"):
        return [_unquoted(item) for item in value[1:-1].split(",") if item.strip()]
    return _unquoted(value) or None


def _unquoted(value: str) -> str:
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


def _tags(front: JsonObject) -> tuple[str, ...]:
    tags = front.get("tags") or ()
    listed = [tag for tag in re.split(r"[,\s]+", tags) if tag] if isinstance(tags, str) else tags
    return tuple(tag.removeprefix("#") for tag in listed)


def _date(front: JsonObject) -> datetime | None:
    for key in _DATES:
        try:
            time = datetime.fromisoformat(str(front.get(key)))
            return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
        except (ValueError, OverflowError):
            continue
    return None
