"""Codex's transcripts: ~/.codex/sessions/YYYY/MM/DD/rollout-TIME-SESSION.jsonl.

Lines are `{timestamp, type, payload}`. A turn begins with `task_started` and ends with `task_complete`, which has the
answer; both have the turn's id, which hooks are given too (codex-rs/hooks/schema/generated in github.com/openai/codex).
The user's messages come between them, as `user_message`, or in later versions as `item_completed` of a `UserMessage`.
What goes to the model (`response_item`) also holds instructions and the environment, and has no ids.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .messages import TranscriptMessage, cleaned, json_object, text_of, time_of, within


def prompt_id(turn: str, number: int = 1) -> str:
    """The id of a turn's first, second, ... message of the user."""
    return f"{turn}:user" if number == 1 else f"{turn}:user:{number}"


def answer_id(turn: str) -> str:
    """The id of a turn's answer."""
    return f"{turn}:assistant"


@dataclass(slots=True)
class Turn:
    """The turn that the lines are in. `begins_at` is the number of its first line: reading may resume there."""

    id: str | None = None
    begins_at: int = 0
    prompts: int = 0
    last: str = ""


def messages(lines: Iterable[tuple[int, str | bytes]], turn: Turn) -> Iterator[TranscriptMessage]:
    """The messages in some numbered lines, which begin where a turn does; `turn` is kept up. Lines of no JSON object
    are passed over, and so is what belongs to no turn."""
    for number, line in lines:
        try:
            value = json_object(line)
        except ValueError:
            continue
        payload = within(value, "payload")
        turn_id = payload.get("turn_id")
        if isinstance(turn_id, str) and turn_id and turn_id != turn.id and payload.get("type") != "task_complete":
            turn.id, turn.begins_at, turn.prompts, turn.last = turn_id, number, 0, ""
        if turn.id is not None and value.get("type") == "event_msg":
            yield from _messages(payload, turn, value.get("timestamp"))


def _messages(payload: Mapping[str, Any], turn: Turn, timestamp: object) -> Iterator[TranscriptMessage]:
    time = time_of(timestamp)
    text = _question(payload)
    if text and text != turn.last and turn.id is not None:  # a version may write both forms of one message
        turn.prompts, turn.last = turn.prompts + 1, text
        yield TranscriptMessage(id=prompt_id(turn.id, turn.prompts), role="user", content=text, time=time)
    if payload.get("type") == "task_complete":
        answer, id = payload.get("last_agent_message"), payload.get("turn_id") or turn.id
        if isinstance(answer, str) and isinstance(id, str) and cleaned(answer):
            yield TranscriptMessage(id=answer_id(id), role="assistant", content=cleaned(answer), time=time)


def _question(payload: Mapping[str, Any]) -> str:
    if payload.get("type") == "user_message":
        return text_of(payload.get("message"))
    item = within(payload, "item")
    if payload.get("type") == "item_completed" and item.get("type") == "UserMessage":
        return text_of(item.get("content"), ("text", "Text"))
    return ""
