"""Memories as a terminal shows them: text, times and ages in a zone, the line about each."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

from ..text.dates import age, from_zone, in_zone, minute_text, read
from ..text.titles import conversation_title, happened_at
from .session import CliSession, rich_console, say

_SHORT: Final = 200
"""Characters of a memory's text where one line shows it."""


@dataclass(frozen=True, slots=True)
class Reader:
    """When somebody reads, and in which time zone; None is the machine's own."""

    now: datetime
    zone: tzinfo | None

    @classmethod
    def of(cls, memory: CliSession) -> "Reader":
        return cls(memory.door.clock.now(), memory.settings.zone)

    def time(self, moment: str) -> str:
        """A time with its zone, to the minute; a date without a time as it is."""
        at = read(moment)
        text = minute_text(at, self.zone)
        return f"{text} {in_zone(at, self.zone):%Z}" if isinstance(at, datetime) else text

    def age(self, moment: str) -> str:
        """How long ago it was, in words; empty for what is yet to come."""
        return age(read(moment), self.now, self.zone)

    def when(self, moment: str) -> str:
        """A time, and how long ago it was."""
        age = self.age(moment)
        return f"{self.time(moment)}, {age}" if age else self.time(moment)

    def utc(self, typed: str) -> str:
        """A time that was typed, which is local unless it names a zone; what is no time stays as it is."""
        try:
            moment = datetime.fromisoformat(typed.strip())
            if moment.tzinfo is None and not typed.strip().isdigit():
                return from_zone(moment, self.zone).astimezone(UTC).isoformat()
        except (ValueError, OverflowError, OSError):
            pass
        return typed


def say_about(memory: Mapping[str, Any], reader: Reader, indent: int) -> None:
    """The line under a memory's text: its id, scope, age and tags, and what became of it."""
    width = rich_console().width if sys.stdout.isatty() else None
    say((folded(_about(memory, reader), indent, width), "dim"))


def folded(parts: list[str], indent: int, width: int | None) -> str:
    """The parts on one line, or on as many as a terminal of this width needs to break none of them."""
    lines = [" " * indent + parts[0]]
    for part in parts[1:]:
        if width is None or len(lines[-1]) + 2 + len(part) <= width:
            lines[-1] += f"  {part}"
        else:
            lines.append(" " * indent + part)
    return "\n".join(lines)


def _about(memory: Mapping[str, Any], reader: Reader) -> list[str]:
    parts = [memory["id"], memory["scope"], reader.when(happened_at(memory))]
    if "superseded_by" in memory:
        age = reader.age(memory.get("superseded_at") or memory["updated_at"])
        parts.append(f"superseded by {memory['superseded_by']} {age}".rstrip())
    elif "deleted_at" in memory:
        parts.append(f"deleted {reader.when(memory['deleted_at'])}")
    elif (age := reader.age(memory["updated_at"])) != reader.age(memory["created_at"]):
        parts.append(f"updated {age}".rstrip())
    if title := conversation_title(memory):
        parts.append(f'of "{title}"')
    parts += ["pinned"] if memory.get("pinned") else []
    parts += [f"#{tag}" for tag in memory.get("tags", ())]
    return parts


def say_short(memory: Mapping[str, Any], reader: Reader) -> None:
    """A memory in two lines: the beginning of its text, and about it."""
    say(short(memory["content"]))
    say_about(memory, reader, 2)


def say_whole(memory: Mapping[str, Any], reader: Reader) -> None:
    """Everything that a memory has: its text, then each field by its name."""
    say(memory["content"])
    for name, value in memory.items():
        if name not in ("content", "messages"):
            say((f"  {name:16}", "dim"), _field(name, value, reader))
    for message in memory.get("messages", ()):
        say((f"  {message.get('speaker') or message['role']}: ", "dim"), indented(message["content"], 4))


def short(content: str) -> str:
    """The text on one line, cut where it is long."""
    line = " ".join(content.split())
    return line if len(line) <= _SHORT else line[:_SHORT] + "..."


def indented(content: str, columns: int) -> str:
    """The text with its further lines this far to the right."""
    return content.replace("\n", "\n" + " " * columns)


def field_line(name: str, value: Any, reader: Reader) -> str:
    """A field by its name, with its value as people read it."""
    return f"{name}: {_field(name, value, reader)}"


def _field(name: str, value: Any, reader: Reader) -> str:
    if name.endswith(("_at", "_until")):
        return reader.when(value)
    if name == "links":
        return ", ".join(f"{link['target_id']} ({link['strength']:.2f})" for link in value)
    if isinstance(value, list):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
