"""Cursor's transcripts: ~/.cursor/projects/FOLDER/agent-transcripts/ID/ID.jsonl, lines of `{role, message}`.

They have neither ids nor times, and lines are only added. So a message's id is the number of its line and a digest of
its text: where a user goes back and asks otherwise, the line has another id.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final

from .messages import Role, TranscriptMessage, elements, json_object, text_of, within, without_elements

_REDACTED: Final = "[REDACTED]"
"""The mark in an answer that stands for what the model thought."""


def messages(lines: Iterable[tuple[int, str | bytes]]) -> Iterator[TranscriptMessage]:
    """The messages in some numbered lines. Lines of no JSON object are passed over."""
    for number, line in lines:
        try:
            value = json_object(line)
        except ValueError:
            continue
        roles: dict[object, Role] = {"user": "user", "assistant": "assistant"}
        role = roles.get(value.get("role"))
        text = text_of(within(value, "message").get("content"))
        text = _prompt(text) if role == "user" else text.replace(_REDACTED, "").strip()
        if role is not None and text:
            yield TranscriptMessage(id=f"{number}-{digest(text)}", role=role, content=text)


def digest(text: str) -> str:
    """Enough of a digest to tell the messages of one conversation apart."""
    return sha256(text.encode()).hexdigest()[:16]


def _prompt(text: str) -> str:
    """The text that the user typed: the editor wraps it in tags, and adds others beside it."""
    queries = list(elements(text, "user_query"))
    return "\n\n".join(queries).strip() if queries else without_elements(text, _is_added).strip()


def _is_added(name: str) -> bool:
    """Whether the editor puts elements of this name beside what the user typed."""
    return name in ("timestamp", "system_reminder") or (name.endswith(("files", "context")) and "-" not in name)
