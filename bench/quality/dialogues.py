"""Published sets of dialogues whose evidence is marked: REALTALK, RealMem and VehicleMemBench, each a folder of files.

What the makers leave to a language model (to judge an answer, to call a car's functions) is not measured.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from steeltrap.errors import InvalidInput
from steeltrap.model import Draft

from .sets import Question, Space, parsed, text, turn_ids

_REALTALK: Final = "Chat_*.json"
_KINDS: Final = {1: "multi-hop", 2: "temporal", 3: "commonsense"}
_REALMEM: Final = "*_dialogues_*.json"
_VEHICLE: Final = "history/history_*.txt"
_MESSAGE: Final = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d)\] (.+)")
_EVENT: Final = re.compile(r"\[(\w+ \d+, \d{4})\] At (\d+:\d\d [AP]M)")


def published(folder: Path) -> tuple[str, list[Space]] | None:
    """The set's name and a space per dialogue; None where a folder has none of these. Raises NotFound, InvalidInput."""
    for name, pattern, space in (
        ("REALTALK", _REALTALK, _realtalk),
        ("RealMem", _REALMEM, _realmem),
        ("VehicleMemBench", _VEHICLE, _vehicle),
    ):
        if paths := sorted(folder.glob(pattern)):
            return name, [_space(name, path, space) for path in paths]
    return None


def _space(name: str, path: Path, space: Any) -> Space:
    try:
        memories, questions = space(path)
        return Space(memories=dict(memories), questions=tuple(questions))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise InvalidInput(f"{path.name} is not in the form of {name}: {type(error).__name__}: {error}.") from None


def _realtalk(path: Path) -> tuple[Iterator[tuple[str, Draft]], Iterator[Question]]:
    """A memory per message, a conversation per session; a picture without words is left out, and so is a question all
    of whose evidence is left out or isn't in the file."""
    chat = parsed(path)
    messages = {
        turn_ids(message["dia_id"])[0]: (session, message)
        for session in sorted((key for key in chat if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:]))
        for message in chat[session]
        if message["clean_text"].strip()
    }
    memories = (
        (
            id,
            Draft(
                content=f"{message['speaker']}: {message['clean_text']}",
                conversation_id=session,
                occurred_at=_time(message["date_time"], "%d.%m.%Y, %H:%M:%S"),
            ),
        )
        for id, (session, message) in messages.items()
    )
    questions = (
        Question(text=one["question"], category=_KINDS[one["category"]], relevant=relevant, answer=str(one["answer"]))
        for one in chat["qa"]
        if not (relevant := frozenset(turn_ids(" ".join(one["evidence"])))).isdisjoint(messages)
    )
    return memories, questions


def _realmem(path: Path) -> tuple[Iterator[tuple[str, Draft]], Iterator[Question]]:
    """A memory per fact that the makers extracted. A question is a user's message whose answer uses some."""
    dialogues = parsed(path)["dialogues"]

    def memories() -> Iterator[tuple[str, Draft]]:
        for session in dialogues:
            at = _time(session["current_time"].split()[0], "%Y-%m-%d")
            for fact in session["extracted_memory"]:
                content = _content(fact)
                draft = Draft(content=content, conversation_id=session["session_uuid"], occurred_at=at)
                yield f"{session['session_uuid']} {content}", draft

    questions = (
        Question(
            text=message["content"],
            category=message["category_name"],
            relevant=frozenset(f"{fact['session_uuid']} {_content(fact)}" for fact in answer["memory_used"]),
            answer=answer["content"],
        )
        for session in dialogues
        for message, answer in pairwise(session["dialogue_turns"])
        if message.get("is_query") and answer.get("memory_used")
    )
    return memories(), questions


def _content(fact: dict[str, Any]) -> str:
    content = fact["content"]
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _vehicle(path: Path) -> tuple[Iterator[tuple[str, Draft]], Iterator[Question]]:
    """A memory per minute of talk in a car. The evidence of a question names the days and times of what was said."""
    minutes: dict[str, list[str]] = {}
    for at, message in _MESSAGE.findall(text(path)):
        minutes.setdefault(at, []).append(message)
    memories = (
        (at, Draft(content="\n".join(said), conversation_id=at[:10], occurred_at=_time(at, "%Y-%m-%d %H:%M")))
        for at, said in minutes.items()
    )
    number = path.stem.rpartition("_")[2]
    cases = parsed(path.parent.parent / "qa_data" / f"qa_{number}.json")["related_to_vehicle_preference"]
    questions = (
        Question(text=case["query"], category=case["reasoning_type"], relevant=relevant)
        for case in cases
        if (relevant := frozenset(_events(case["gold_memory"]) & minutes.keys()))
    )
    return memories, questions


def _events(evidence: str) -> set[str]:
    """The minutes that a question's evidence names."""
    times = (_time(f"{day} {hour}", "%B %d, %Y %I:%M %p") for day, hour in _EVENT.findall(evidence))
    return {f"{at:%Y-%m-%d %H:%M}" for at in times}


def _time(value: str, form: str) -> datetime:
    return datetime.strptime(value, form).replace(tzinfo=UTC)
