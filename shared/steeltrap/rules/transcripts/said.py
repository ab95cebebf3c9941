"""What was said, and how the lines of every transcript are read."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal

from ...model.frozen import frozen
from ..json_pieces import parsed

Role = Literal["user", "assistant"]

_UNKEPT: Final = re.compile(r"[\x00\ud800-\udfff]")
"""What no store can keep: NUL, and halves of surrogate pairs that a program cut apart."""
_TAG: Final = re.compile(r"<(/?)([a-z_-]++)>")


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
        value = parsed(line if isinstance(line, str) else line.decode())
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


def without_elements(text: str, is_added: Callable[[str], bool]) -> str:
    """The text without the elements that a program added, from `<name>` to the first `</name>` after it. A tag that
    nothing closes is text. The time is linear, however many tags there are."""
    tags = [tag for tag in _TAG.finditer(text) if is_added(tag[2])]
    closing: dict[str, list[int]] = {}  # where the elements of a name end, the last one first
    for tag in reversed(tags):
        if tag[1]:
            closing.setdefault(tag[2], []).append(tag.end())
    kept, end = [], 0
    for tag in tags:
        ends = closing.get(tag[2], [])
        while ends and ends[-1] <= tag.end():
            ends.pop()
        if ends and not tag[1] and tag.start() >= end:
            kept.append(text[end : tag.start()])
            end = ends[-1]
    return "".join([*kept, text[end:]])


def elements(text: str, name: str) -> Iterator[str]:
    """What stands in each `<name>`, up to the first `</name>` after it."""
    opening, closing = f"<{name}>", f"</{name}>"
    start = text.find(opening)
    while start >= 0 and (end := text.find(closing, start + len(opening))) >= 0:
        yield text[start + len(opening) : end]
        start = text.find(opening, end + len(closing))


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
