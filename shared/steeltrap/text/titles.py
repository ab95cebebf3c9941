"""Names that people know things by: a conversation's title for its id, a project's folder for its scope.

Apart from the surfaces, because the console and the command line show the same names. Pure.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..model import PROJECTS
from .patterns import lazy_pattern

TITLE: Final = "title"
"""The key of the metadata that holds a conversation's title."""
_TITLED: Final = ("ChatGPT", "Claude")
"""Where a conversation's context is its title."""
_LONGEST: Final = 60
_DIGITS: Final = lazy_pattern(r"[0-9a-f]{16}")


def conversation_title(memory: Mapping[str, Any]) -> str:
    """The title that the conversation of a memory, as JSON, had where it was imported from; empty without one."""
    metadata = memory.get("metadata") or {}
    if not memory.get("conversation_id"):
        return ""
    if isinstance(title := metadata.get(TITLE), str) and title.strip():
        return beginning(title)
    if metadata.get("imported_from") in _TITLED and memory.get("context"):
        return beginning(memory["context"])
    return ""


def conversation_name(memory: Mapping[str, Any]) -> str:
    """The title of a memory's conversation, else what the user said first in its episode, else its id."""
    messages = memory.get("messages") or ()
    prompt = next((message for message in messages if message["role"] == "user"), None)
    opening = beginning(prompt["content"]) if prompt else ""
    return conversation_title(memory) or opening or str(memory.get("conversation_id") or "")


def beginning(text: str) -> str:
    """The first words of a text, on one line."""
    line = " ".join(text[: 8 * _LONGEST].split())
    if len(line) <= _LONGEST:
        return line
    whole, _, _ = line[: _LONGEST + 1].rpartition(" ")
    return (whole if len(whole) > _LONGEST // 2 else line[:_LONGEST]).rstrip(" ,.;:") + "…"


def scope_name(scope: str) -> str:
    """A scope as people call it: a repository's by the name of its folder."""
    above, _, rest = scope.partition("/")
    project, slash, below = rest.partition("/")
    name, dash, digits = project.rpartition("-")
    if above != PROJECTS or not (name and dash) or _DIGITS.fullmatch(digits) is None:
        return scope
    return name + slash + below


def happened_at(memory: Mapping[str, Any]) -> str:
    """When a memory, as JSON, happened; without such a time, when it was saved."""
    return str(memory.get("occurred_at") or memory["created_at"])
