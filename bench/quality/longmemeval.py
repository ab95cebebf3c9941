"""LongMemEval: questions that each have a history of their own, of sessions between a user and an assistant."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from steeltrap.errors import InvalidInput
from steeltrap.model import Draft

from .sets import Question, Space

_WITHOUT_AN_ANSWER: Final = "_abs"
"""How the ids of questions end that the history doesn't answer."""


def is_longmemeval(content: Any) -> bool:
    return isinstance(content, list) and all(isinstance(one, dict) and "haystack_sessions" in one for one in content)


def spaces(instances: list[dict[str, Any]]) -> Iterator[Space]:
    """A space per question: a memory per message, a conversation per session.

    A question whose evidence isn't marked turn by turn is left out. Raises InvalidInput.
    """
    for instance in instances:
        try:
            space = _space(instance)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            name = instance.get("question_id", "one without `question_id`")
            raise InvalidInput(f"Question {name} is not in LongMemEval's form: {error!r}.") from None
        if space.questions:
            yield space


def _space(instance: dict[str, Any]) -> Space:
    memories: dict[str, Draft] = {}
    relevant: set[str] = set()
    sessions = zip(
        instance["haystack_session_ids"], instance["haystack_dates"], instance["haystack_sessions"], strict=True
    )
    for number, (session, date, messages) in enumerate(sorted(sessions, key=lambda one: _time(one[1]))):
        for turn, message in enumerate(messages):
            id = f"{number}:{turn}"
            memories[id] = Draft(
                content=f"{message['role']}: {message['content']}", conversation_id=session, occurred_at=_time(date)
            )
            if message.get("has_answer"):
                relevant.add(id)
    return Space(memories=memories, questions=tuple(_question(instance, relevant)))


def _question(instance: dict[str, Any], relevant: set[str]) -> Iterator[Question]:
    text, category = instance["question"], instance["question_type"]
    if instance["question_id"].endswith(_WITHOUT_AN_ANSWER):
        yield Question(text=text, category=category, miss="near")
    elif relevant:
        answer = str(instance.get("answer", ""))
        yield Question(text=text, category=category, relevant=frozenset(relevant), answer=answer)


def _time(text: str) -> datetime:
    """A session's time, such as "2023/05/20 (Sat) 02:21"; the day of the week may be left out."""
    day, *_, hour = text.split()
    return datetime.strptime(f"{day} {hour}", "%Y/%m/%d %H:%M").replace(tzinfo=UTC)
