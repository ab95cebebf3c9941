"""Markdown notes: one memory per file, or per section where the file is longer than a chunk; on request per bullet or
per line. A file that is named after a day, such as `2024-05-03.md`, is about that day."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import PurePath
from typing import Final

from ....engine.save import Draft
from ....errors import InvalidInput, SteeltrapError
from ....model import JsonObject
from ....rules.chunking import CHUNK_CHARACTERS
from ....rules.limits import check_json
from ..filing import Filing, Split
from ..parts import Flaw, Item, Part
from ..times import day_of_name, moment, noon

SUFFIXES: Final = (".md", ".markdown")
SECTION_CHARACTERS: Final = 4000
"""A longer section is cut at paragraphs: a memory is something to read, not a chapter."""

_HEADING: Final = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_BULLET: Final = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")
_DATES: Final = ("date", "created", "created_at", "updated")


@dataclass(frozen=True, slots=True)
class Section:
    """The headings above a text, outermost first, the text, and the line where it begins."""

    headings: tuple[str, ...]
    text: str
    line: int


def parts(text: str, name: str, at: int, size: int, filing: Filing) -> Iterator[Part]:
    """The memories of one note. `name` is its path below the imported folder."""
    front, body, line = front_matter(text)
    title = str(front.get("title") or "")
    about = _date(front, filing.zone)
    if about is None and (day := day_of_name(PurePath(name).name)):
        about = noon(day, filing.zone)
    found = sections(body, line) if filing.split in (None, "sections") else pieces(body, line, filing.split)
    for number, section in enumerate(found, 1):
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
            scope=filing.scope,
            tags=(*filing.tags, *_tags(front)),
            metadata=metadata,
            occurred_at=about,
        )
        yield Item(where=where, at=at, size=len(content), draft=draft)


def sections(text: str, first_line: int = 1) -> list[Section]:
    """The whole text where it fits into a chunk, else its sections, each cut at paragraphs where it is long.

    A heading without a text of its own is only a heading of those below it.
    """
    found = [section for section in _by_heading(text, first_line) if section.text]
    if len(text) <= CHUNK_CHARACTERS or not found:
        return [Section((), text.strip(), first_line)] if text.strip() else []
    return [part for section in found for part in _cut(section)]


def pieces(text: str, first_line: int, split: Split) -> Iterator[Section]:
    """The bullets of a text with what is below them, and its other paragraphs; or its lines."""
    cut = _bullets if split == "bullets" else _lines
    for section in _by_heading(text, first_line):
        for offset, piece in cut(section.text):
            yield from _cut(Section(section.headings, piece, section.line + offset))


def _bullets(text: str) -> Iterator[tuple[int, str]]:
    rows: list[str] = []
    began, margin, after_blank = 0, -1, False
    for number, row in enumerate(text.split("\n")):
        bullet = _BULLET.match(row)
        indent = len(row.expandtabs(4)) - len(row.expandtabs(4).lstrip())
        is_new = bullet is not None and (margin < 0 or indent <= margin)
        is_outside = bullet is None and after_blank and (margin < 0 or indent <= margin)
        if rows and row.strip() and (is_new or is_outside):
            yield began, "\n".join(rows).strip()
            rows = []
        if row.strip() and not rows:
            began, margin = number, indent if bullet else -1
        if row.strip():
            rows.append(row[bullet.end() :] if bullet and is_new else row.rstrip())
        after_blank = not row.strip()
    if rows:
        yield began, "\n".join(rows).strip()


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, row in enumerate(text.split("\n")):
        if line := _BULLET.sub("", row, count=1).strip():
            yield number, line


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


def _date(front: JsonObject, zone: tzinfo | None) -> datetime | None:
    for key in _DATES:
        try:
            if (time := moment(front.get(key), zone)) is not None:
                return time
        except InvalidInput:
            continue
    return None
