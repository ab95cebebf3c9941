"""JSON Lines, one space per line: the format for your own questions. docs/ranking.md describes it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime

from pydantic import BaseModel, Field, ValidationError

from steeltrap.errors import InvalidInput
from steeltrap.model import Draft

from .sets import Miss, Question, Space


class _Memory(BaseModel):
    id: str
    text: str = Field(min_length=1)
    tags: list[str] = []
    occurred_at: datetime | None = None
    conversation_id: str | None = None
    supersedes: list[str] | str = []

    def draft(self) -> Draft:
        at = self.occurred_at
        return Draft(
            content=self.text,
            tags=tuple(self.tags),
            occurred_at=at.replace(tzinfo=UTC) if at and at.tzinfo is None else at,
            conversation_id=self.conversation_id,
        )

    def superseded(self) -> list[str]:
        return [self.supersedes] if isinstance(self.supersedes, str) else self.supersedes


class _Question(BaseModel):
    query: str = Field(min_length=1)
    relevant: list[str]
    kind: str = "all"
    miss: Miss | None = None
    answer: str = ""


class _Line(BaseModel):
    memories: list[_Memory] = Field(min_length=1)
    questions: list[_Question]
    language: str | None = None


def is_jsonl(text: str) -> bool:
    """Whether the first line is an object with `memories` and `questions`."""
    try:
        first = json.loads(next((line for line in text.splitlines() if line.strip()), ""))
    except ValueError:
        return False
    return isinstance(first, dict) and {"memories", "questions"} <= first.keys()


def spaces(text: str, name: str) -> Iterator[Space]:
    """The space of each line that isn't blank. Raises InvalidInput, naming the line."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield _space(_Line.model_validate_json(line))
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                where = ".".join(map(str, first["loc"])) or "the line"
                raise InvalidInput(f"{name}, line {number}: {where}: {first['msg']}.") from None
            except InvalidInput as error:
                raise InvalidInput(f"{name}, line {number}: {error.message}") from None


def _space(line: _Line) -> Space:
    memories = {memory.id: memory for memory in line.memories}
    if len(memories) < len(line.memories):
        raise InvalidInput("two memories have the same `id`.")
    return Space(
        memories={id: memory.draft() for id, memory in memories.items()},
        supersedes=_superseding(line.memories),
        questions=tuple(_question(question, memories) for question in line.questions),
        language=line.language,
    )


def _superseding(memories: list[_Memory]) -> dict[str, tuple[str, ...]]:
    before: set[str] = set()
    old_ids: dict[str, tuple[str, ...]] = {}
    for memory in memories:
        if unknown := sorted(set(memory.superseded()) - before):
            raise InvalidInput(f"`supersedes` names {unknown[0]!r}, which is no earlier memory's `id`.")
        if memory.supersedes:
            old_ids[memory.id] = tuple(memory.superseded())
        before.add(memory.id)
    return old_ids


def _question(question: _Question, memories: dict[str, _Memory]) -> Question:
    relevant = frozenset(question.relevant)
    if unknown := sorted(relevant - memories.keys()):
        raise InvalidInput(f"`relevant` names {unknown[0]!r}, which is no memory's `id`.")
    if bool(relevant) == bool(question.miss):
        raise InvalidInput(f"{question.query!r} needs `relevant`, or `miss` (near or far) when nothing answers it.")
    outdated = {old for id in relevant for old in memories[id].superseded()} - relevant
    return Question(
        text=question.query,
        category=question.kind,
        relevant=relevant,
        miss=question.miss,
        outdated=frozenset(outdated),
        answer=question.answer,
    )
