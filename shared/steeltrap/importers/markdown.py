"""Markdown notes: one memory per file, or per section where the file is longer than a chunk; on request per bullet or
per line. A file that is named after a day, such as `2024-05-03.md`, is about that day.

What stands between `---` at the top is front matter if it is a YAML mapping. Anything else there is text.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import PurePath
from typing import Any, Final

import yaml

from ..errors import InvalidInput, SteeltrapError
from ..model import Draft, JsonObject, When
from ..text.dates import day_of_name
from ..text.json_limits import check_json
from ..text.sentences import CHUNK_CHARACTERS
from .items import Filing, Flaw, Item, Part, Split, moment

SECTION_CHARACTERS: Final = 4000
"""A longer section is cut at paragraphs: a memory is something to read, not a chapter."""

_BULLET: Final = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_FENCE: Final = re.compile(r" {0,3}(`{3,}+|~{3,}+)(.*)")
_TITLE: Final = 1000
"""Characters of a heading. A longer line is text: a heading is repeated in each memory below it."""
_LOADER: Final = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""It makes texts, lists and mappings of them, and nothing else: no times, no numbers, no objects."""
_FRONT: Final = 64 * 1024
"""Characters of front matter. More is text."""
_DEEPEST: Final = 16
_PROPERTIES: Final = 4096
"""Characters of JSON that are kept of front matter beside title, date and tags."""
_NULLS: Final = ("", "null", "~")
_DATES: Final = ("date", "created", "created_at", "updated")
_USED: Final = ("title", "tags", *_DATES)


@dataclass(frozen=True, slots=True)
class Section:
    """The headings above a text, outermost first, the text, and the line where it begins."""

    headings: tuple[str, ...]
    text: str
    line: int


def markdown_parts(text: str, name: str, at: int, size: int, filing: Filing) -> Iterator[Part]:
    """The memories of one note. `name` is its path below the imported folder."""
    front, body, line = front_matter(text)
    title = _text(front.get("title"))
    tags = (*filing.tags, *_tags(front))
    properties: JsonObject = {key: value for key, value in front.items() if key not in _USED}
    about = _date(front, filing.zone)
    if about is None and (day := day_of_name(PurePath(name).name)):
        about = day
    cuts = sections(body, line) if filing.split in (None, "sections") else pieces(body, line, filing.split)
    for number, section in enumerate(cuts, 1):
        where = f"{name}:{section.line}"
        path = tuple(dict.fromkeys((title, *section.headings) if title else section.headings))
        above = "" if title and not section.headings and title in section.text else " › ".join(path)
        content = "\n\n".join(filter(None, (above, section.text)))
        metadata: JsonObject = {"path": name, "section": number}
        metadata |= {"headings": list(path)} if path else {}
        metadata |= {"properties": properties} if properties and number == 1 else {}
        try:
            check_json(content, where="content")
            check_json(metadata, where="metadata")
        except SteeltrapError as error:
            yield Flaw(where=where, at=at, sentence=error.message)
            continue
        draft = Draft(content=content, scope=filing.scope, tags=tags, metadata=metadata, occurred_at=about)
        yield Item(where=where, at=at, size=len(content), draft=draft)


def sections(text: str, first_line: int = 1) -> list[Section]:
    """The whole text where it fits into a chunk, else its sections, each cut at paragraphs where it is long.

    A heading without a text of its own is only a heading of those below it.
    """
    parts = [section for section in _by_heading(text, first_line) if section.text]
    if len(text) <= CHUNK_CHARACTERS or not parts:
        return [Section((), text.strip(), first_line + _blank_lines(text))] if text.strip() else []
    return [part for section in parts for part in _cut(section)]


def pieces(text: str, first_line: int, split: Split) -> Iterator[Section]:
    """The bullets of a text with what is below them, and its other paragraphs; or its lines."""
    cut = _bullets if split == "bullets" else _lines
    for section in _by_heading(text, first_line):
        for offset, piece in cut(section.text):
            yield from _cut(Section(section.headings, piece, section.line + offset))


def _bullets(text: str) -> Iterator[tuple[int, str]]:
    rows: list[str] = []
    began, margin, after_blank, fence = 0, -1, False, ""
    for number, row in enumerate(_rows(text)):
        was_code, fence = bool(fence), _fence(fence, row)
        bullet = None if was_code else _BULLET.match(row)
        widened = row.expandtabs(4)
        indent = len(widened) - len(widened.lstrip())
        is_new = bullet is not None and (margin < 0 or indent <= margin)
        is_outside = bullet is None and not was_code and after_blank and (margin < 0 or indent <= margin)
        if rows and row.strip() and (is_new or is_outside):
            yield began, "\n".join(rows).strip()
            rows = []
        if row.strip() and not rows:
            began, margin = number, indent if bullet else -1
        if row.strip() or (was_code and rows):
            rows.append(row[bullet.end() :] if bullet and is_new else row.rstrip())
        after_blank = not row.strip()
    if rows:
        yield began, "\n".join(rows).strip()


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, row in enumerate(_rows(text)):
        bullet = _BULLET.match(row)
        if line := row[bullet.end() if bullet else 0 :].strip():
            yield number, line


def _by_heading(text: str, line: int) -> Iterator[Section]:
    above: list[tuple[int, str]] = []
    lines: list[str] = []
    began, fence = line, ""
    for number, row in enumerate(_rows(text), line):
        was_code, fence = bool(fence), _fence(fence, row)
        heading = None if was_code or fence else _heading(row)
        if heading is None:
            began = began if lines else number
            if lines or row.strip():
                lines.append(row)
            continue
        yield Section(tuple(title for _, title in above), "\n".join(lines).strip(), began)
        above = [(depth, title) for depth, title in above if depth < heading[0]] + [heading]
        lines, began = [], number
    yield Section(tuple(title for _, title in above), "\n".join(lines).strip(), began)


def _rows(text: str) -> Iterator[str]:
    """The lines one by one: to make and free a list of millions of them takes long, and all users would wait."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def _heading(row: str) -> tuple[int, str] | None:
    """The level and the text of a heading, without the `#` that may close it."""
    level = len(row) - len(row.lstrip("#"))
    if not 1 <= level <= 6 or row[level : level + 1] not in (" ", "\t"):
        return None
    title = row[level:].strip(" \t")
    unclosed = title.rstrip("#")
    if not unclosed or unclosed[-1] in " \t":
        title = unclosed.rstrip(" \t")
    return (level, title) if len(title) <= _TITLE else None


def _fence(fence: str, row: str) -> str:
    """The fence of the block of code that the next row is in, as CommonMark says; "" outside of any.

    A block ends with at least as many of the same marks, and nothing after them.
    """
    match = _FENCE.match(row)
    if match is None:
        return fence
    mark, rest = match.groups()
    if fence:
        return "" if mark.startswith(fence) and not rest.strip(" \t") else fence
    return "" if mark[0] == "`" and "`" in rest else mark


def _cut(section: Section) -> Iterator[Section]:
    """Pieces of at most SECTION_CHARACTERS, cut at empty lines, else at lines, else at words."""
    line = section.line
    for block in _blocks(section.text):
        if text := block.strip():
            yield Section(section.headings, text, line + _blank_lines(block))
        line += block.count("\n")


def _blank_lines(text: str) -> int:
    """How many lines there are before the text."""
    return text.count("\n", 0, len(text) - len(text.lstrip()))


def _blocks(text: str) -> Iterable[str]:
    for separator in ("\n\n", "\n", " "):
        if (blocks := _blocks_at(separator, text)) is not None:
            return blocks
    return (text[i : i + SECTION_CHARACTERS] for i in range(0, len(text), SECTION_CHARACTERS))


def _blocks_at(separator: str, text: str) -> list[str] | None:
    """The longest blocks that end with a separator; None where one would be too long. No list is made of what is
    between separators: a text of spaces has millions of them, and all users would wait."""
    blocks = []
    start = 0
    while len(text) + len(separator) - start > SECTION_CHARACTERS:
        end = text.rfind(separator, start, start + SECTION_CHARACTERS)
        if end < 0:
            return None
        blocks.append(text[start : end + len(separator)])
        start = end + len(separator)
    return [*blocks, text[start:]]


def front_matter(text: str) -> tuple[JsonObject, str, int]:
    """The YAML mapping between two `---` at the top, with keys in small letters; the text after it, and its first line.

    Without such a mapping all is text. What is too long or too deep for properties of a note, or refers to itself, is
    text too.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if not text.startswith("---\n"):
        return {}, text, 1
    at, number = 4, 1
    while 4 <= at <= _FRONT:
        end = text.find("\n", at)
        number += 1
        if text[at : len(text) if end < 0 else end].rstrip(" \t") in ("---", "..."):
            front = _mapping(text[4:at])
            return ({}, text, 1) if front is None else (front, "" if end < 0 else text[end:], number)
        at = end + 1
    return {}, text, 1


def _mapping(text: str) -> JsonObject | None:
    if not text.strip():
        return {}
    try:
        if not _is_plain(text):
            return None
        value = yaml.load(text, Loader=_LOADER)
    except (yaml.YAMLError, ValueError):
        return None
    if not isinstance(value, dict):
        return None
    front = {str(key).lower(): value for key, value in value.items()}
    properties = {key: value for key, value in front.items() if key not in _USED}
    is_short = (
        len(_text(front.get("title"))) <= _TITLE and len(json.dumps(properties, ensure_ascii=False)) <= _PROPERTIES
    )
    return front if is_short else None


def _is_plain(text: str) -> bool:
    """Whether YAML nests no deeper than a note's properties do, and refers to nothing. Read piece by piece, because the
    time to read all of it can grow with the square of the depth."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST or isinstance(event, yaml.AliasEvent):
            return False
    return True


def _text(value: Any) -> str:
    text = value.strip() if isinstance(value, str) else ""
    return "" if text in _NULLS else text


def _tags(front: JsonObject) -> tuple[str, ...]:
    """The tags of a list, or of a text with commas or spaces between them. A link, `[[x]]`, is a list in a list."""
    tags = front.get("tags")
    if isinstance(tags, str):
        tags = re.split(r"[,\s]+", tags)
    names = (_text(tag).removeprefix("#") for tag in _flat(tags))
    return tuple(dict.fromkeys(tag for tag in names if tag))


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for each in value:
            yield from _flat(each)
    else:
        yield value


def _date(front: JsonObject, zone: tzinfo | None) -> When | None:
    for key in _DATES:
        try:
            if (time := moment(_text(front.get(key)), zone)) is not None:
                return time
        except InvalidInput:
            continue
    return None
