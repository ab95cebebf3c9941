"""BEAM: long chats of a user with an assistant, a folder per chat with `chat.json` and `probing_questions.json`."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from steeltrap.errors import InvalidInput
from steeltrap.model import Draft

from .sets import Question, Space, parsed

CHAT: Final = "chat.json"
_PROBES: Final = "probing_questions.json"
_WITHOUT_AN_ANSWER: Final = "abstention"
_ANSWERS: Final = (
    "answer",
    "ideal_answer",
    "ideal_summary",
    "instruction_being_tested",
    "preference_being_tested",
)
_MARK: Final = re.compile(r"\s*->->\s*[\d,\s]*$")
"""Left by the data's makers after a user's message: the number of its plan."""


def chats(folder: Path) -> list[Path]:
    """The folders with a chat: this one, or those in it. None where it isn't BEAM."""
    inside = sorted(path.parent for path in folder.glob(f"*/{CHAT}"))
    return [folder] if (folder / CHAT).is_file() else sorted(inside, key=lambda path: (len(path.name), path.name))


def space(folder: Path) -> Space:
    """A chat: a memory per message, a conversation per batch. Raises NotFound or InvalidInput."""
    chat, probes = parsed(folder / CHAT), parsed(folder / _PROBES)
    try:
        return Space(memories=dict(_memories(chat)), questions=tuple(_questions(probes)))
    except (AttributeError, KeyError, TypeError) as error:
        raise InvalidInput(f"{folder} is not in BEAM's form: {type(error).__name__}: {error}.") from None


def _memories(chat: list[dict[str, Any]]) -> Iterator[tuple[str, Draft]]:
    for batch in chat:
        messages = [message for turn in batch["turns"] for message in turn]
        at = next((_day(message["time_anchor"]) for message in messages if message.get("time_anchor")), None)
        for message in messages:
            yield (
                str(message["id"]),
                Draft(
                    content=f"{message['role']}: {_MARK.sub('', message['content'])}",
                    conversation_id=f"batch_{batch['batch_number']}",
                    occurred_at=at,
                ),
            )


def _questions(probes: dict[str, list[dict[str, Any]]]) -> Iterator[Question]:
    """Those that cite messages, and those that the chat doesn't answer; a few cite nothing by mistake."""
    for category, entries in probes.items():
        for one in entries:
            relevant = frozenset(_cited(one.get("source_chat_ids")))
            if category == _WITHOUT_AN_ANSWER:
                yield Question(text=one["question"], category=category, miss="near")
            elif relevant:
                answer = " ".join(str(one[key]) for key in _ANSWERS if key in one)
                yield Question(text=one["question"], category=category, relevant=relevant, answer=answer)


def _cited(ids: Any) -> Iterator[str]:
    """Ids in a list, in lists by what they prove, or alone."""
    match ids:
        case None:
            return
        case dict():
            for part in ids.values():
                yield from _cited(part)
        case list():
            for part in ids:
                yield from _cited(part)
        case _:
            yield str(ids)


def _day(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%B-%d-%Y").replace(tzinfo=UTC)
    except ValueError:
        return None
