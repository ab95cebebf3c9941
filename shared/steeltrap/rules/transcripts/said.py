"""What was said, and how the lines of every transcript are read."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal

from ...model.frozen import frozen

Role = Literal["user", "assistant"]

_UNKEPT: Final = re.compile(r"[\x00\ud800-\udfff]")
"""What no store can keep: NUL, and halves of surrogate pairs that a program cut apart."""


@frozen
class Said:
    """One message of a transcript. Its id is the transcript's own, and the same whenever the file is read again."""

    id: str
    role: Role
    content: str
    time: datetime | None = None


def json_object(line: str | bytes) -> Mapping[str, Any]:
    """The object on a line. Raises ValueError for anything else, such as a line that isn't written to its end."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def text_of(content: object, kinds: tuple[str, ...] = ("text",)) -> str:
    """The text of a message: a string, or the blocks of these kinds. Images, thoughts and tool calls are left out."""
    if isinstance(content, str):
        return cleaned(content)
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") in kinds]
    return cleaned("\n\n".join(text for text in texts if isinstance(text, str)))


def cleaned(text: str) -> str:
    """The text as a store can keep it, without the space around it."""
    return _UNKEPT.sub("\ufffd", text).strip()


def time_of(value: object) -> datetime | None:
    """A time such as 2026-03-02T09:15:00.123Z, None if it isn't one. A time without a zone is UTC."""
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def within(value: object, name: str) -> Mapping[str, Any]:
    """The object under a name, empty where there is none."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, dict) else {}
