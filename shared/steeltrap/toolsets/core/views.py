"""How `core` shows a memory: every field by its name, those that have their default left out."""

from collections.abc import Sequence
from dataclasses import MISSING, fields, replace
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

from pydantic import Field
from pydantic_core import to_json, to_jsonable_python

from ...model import DEFAULT_SCOPE, Hit, JsonObject, Link, Memory, Outcome, Sized, When
from ...ranking.budget import estimate_tokens, in_part
from ...text.frames import excerpt
from ...tools import Answer


class MessageView(Answer):
    role: str
    content: str
    time: When | None = None
    speaker: str | None = None


class ImportanceView(Answer):
    score: float
    reason: str
    set_at: datetime


class LinkView(Answer):
    target_id: str
    strength: float
    manual: bool = False


class MemoryView(Answer):
    """A memory. Omitted fields have their default.

    The agent `agent_id` wrote it; the agent `updated_by` last changed it. With `imported_at`, its times and history
    come from the imported record.
    """

    id: str
    content: str
    created_at: datetime
    updated_at: datetime
    version: int
    scope: str = DEFAULT_SCOPE
    tags: list[str] | None = None
    category: str | None = None
    context: str | None = None
    confidence: float | None = None
    metadata: JsonObject | None = None
    content_type: str | None = None
    tier: str | None = None
    source: str | None = None
    messages: list[MessageView] | None = None
    agent_id: str | None = None
    agent_label: str | None = None
    updated_by: str | None = None
    imported_by: str | None = None
    imported_at: datetime | None = None
    import_id: str | None = Field(None, description="The import that brought it, or changed it last.")
    conversation_id: str | None = None
    occurred_at: When | None = None
    occurred_until: When | None = None
    expires_at: datetime | None = None
    deleted_at: datetime | None = None
    surprise: float | None = None
    importance: ImportanceView | None = None
    pinned: bool | None = None
    untrusted: bool | None = Field(None, description="An agent that is marked as untrusted wrote it.")
    superseded_by: str | None = Field(None, description="The memory that was saved in its place.")
    superseded_at: datetime | None = None
    supersedes: list[str] | None = Field(None, description="The memories that it was saved in place of.")
    links: list[LinkView] | None = None
    left_out: int | None = Field(
        None,
        description="About how many tokens of the memory are left out, because it is longer than an answer may show: "
        "`content` is a part of it. Read all of it with get.",
    )


class WhyView(Answer):
    """Why a result was found: its raw scores, its scaled scores, and what ranking rules added."""

    similarity: float | None = Field(None, description="Cosine similarity of query and memory.")
    bm25: float | None = Field(None, description="BM25 score of the words they share.")
    semantic: float = Field(description="`similarity` scaled: 0 for unrelated texts, 1 for the same text.")
    keyword: float = Field(
        description="`bm25` scaled: 1 if the memory and the messages near it say all words of the query. With a fixed "
        "`vector_weight` or in keyword mode: 1 for the best keyword match."
    )
    boosts: dict[str, float] | None = Field(
        None, description="What each ranking rule added to the score or took from it."
    )
    led_by: list[str] | None = Field(
        None, description="The names that led to this result: one of the best results has them, the query has not."
    )
    importance: float | None = Field(
        None, description="Importance, 0 to 1, if `importance_weight` or `sort_by` asks for it."
    )


class HitView(MemoryView):
    score: float = Field(description="How well it answers the query, 0 to 1.")
    confidence: float | None = Field(
        None,
        description="How likely it answers the query, 0 to 1: of results at 0.8, eight of ten do. Missing if you fix "
        "the mode or a weight. The confidence that was saved with the memory is `saved_confidence`.",
    )
    saved_confidence: float | None = None
    less_sure: bool | None = Field(None, description="It only may be about the query: check it before you use it.")
    left_out: int | None = Field(
        None,
        description="About how many tokens of the memory are left out, because it is very long or to stay within "
        "`max_tokens`: `content` is the part that fits the query best; `max_tokens` also leaves out metadata and "
        "messages. Read all of it with get.",
    )
    why: WhyView | None = None


class NearestView(Answer):
    """The memory that came nearest; `content` is cut after 200 characters."""

    id: str
    content: str
    score: float


class OutcomeView(Answer):
    """How the search ended: found, less_sure, nothing_stored, nothing_matched, nothing_relevant, below_floor,
    filtered_out, degraded or offline."""

    kind: str
    message: str
    best_score: float | None = None
    more: int | None = Field(None, description="Further results that `max_tokens` had no room for.")
    nearest: NearestView | None = Field(None, description="The best memory, where none was close to the query.")


def memory_view(memory: Memory, links: Sequence[Link] = (), *, left_out: int | None = None) -> MemoryView:
    """A memory with those of its links that lead somewhere."""
    views = [LinkView(target_id=link.target_id, strength=link.strength, manual=link.manual) for link in links]
    return MemoryView(**_fields(memory, confidence=_saved_confidence(memory)), links=views or None, left_out=left_out)


def listed_view(memory: Memory) -> MemoryView:
    """A memory as a list shows it: a very long text in part."""
    text, left_out = in_part(memory.content)
    return memory_view(memory) if not left_out else memory_view(replace(memory, content=text), left_out=left_out)


def hit_body(hit: Hit, *, why: bool) -> JsonObject:
    """A found memory as the JSON of a `HitView`, with why it is there on request. To make and dump a model
    for each of ten would add a twentieth to a search."""
    memory = hit.memory
    values = _fields(memory, confidence=hit.confidence)
    if hit.preview is not None:
        values["content"] = hit.preview
        values.pop("metadata", None)
        values.pop("messages", None)
    if hit.left_out:
        values["left_out"] = hit.left_out
    values["score"] = hit.score
    if (saved_confidence := _saved_confidence(memory)) is not None:
        values["saved_confidence"] = saved_confidence
    if hit.less_sure:
        values["less_sure"] = True
    if why:
        values["why"] = _why(hit)
    body: JsonObject = to_jsonable_python(values, exclude_none=True, inf_nan_mode="null")
    return body


def _why(hit: Hit) -> WhyView:
    return WhyView(
        similarity=hit.cosine,
        bm25=hit.bm25,
        semantic=hit.semantic_score,
        keyword=hit.keyword_score,
        boosts=hit.boosts or None,
        led_by=list(hit.led_by) or None,
        importance=hit.importance,
    )


_MANY: Final = 100_000
"""As long a number as the tokens of any memory."""


def sized(hit: Hit, *, why: bool) -> Sized:
    """A found memory as a token budget counts it: the JSON that is shown."""
    part = _tokens(hit_body(replace(hit, preview="", left_out=_MANY), why=why))
    whole = _tokens(hit_body(replace(hit, memory=replace(hit.memory, content="")), why=why))
    return Sized(text=hit.memory.content, beside=part, rest=max(0, whole - part))


def _tokens(body: JsonObject) -> int:
    return estimate_tokens(to_json(body).decode())


def outcome_body(outcome: Outcome) -> JsonObject:
    """An outcome as the JSON of an `OutcomeView`."""
    body: JsonObject = {"kind": outcome.kind.value, "message": outcome.message}
    if outcome.best_score is not None:
        body["best_score"] = outcome.best_score
    if outcome.more:
        body["more"] = outcome.more
    if outcome.nearest is not None:
        hit = outcome.nearest
        body["nearest"] = {"id": hit.memory.id, "content": excerpt(hit.memory.content), "score": hit.score}
    return body


_DEFAULT_OF: Final = {
    f.name: f.default if f.default_factory is MISSING else f.default_factory() for f in fields(Memory)
}
_NAMES: Final = [name for name in MemoryView.model_fields if name in _DEFAULT_OF and name != "links"]
_OTHERWISE: Final = {"version": None, "scope": None, "confidence": None}
"""Fields that are shown also where they have the default of a memory."""
_DEFAULTS: Final = [(_DEFAULT_OF | _OTHERWISE)[name] for name in _NAMES]
_CONFIDENCE: Final = _NAMES.index("confidence")
_values: Final = attrgetter(*_NAMES)


def _saved_confidence(memory: Memory) -> float | None:
    return None if memory.confidence == _DEFAULT_OF["confidence"] else memory.confidence


def _fields(memory: Memory, *, confidence: float | None) -> dict[str, Any]:
    """The fields of a memory's view but for its links, in their order, without those that have their default."""
    own = list(_values(memory))
    own[_CONFIDENCE] = confidence
    values = {
        name: value
        for name, value, default in zip(_NAMES, own, _DEFAULTS, strict=True)
        if value is not default and value != default
    }
    if memory.messages:
        if memory.source == "conversation":
            # A turn's one message says again what its content says.
            del values["messages"]
        else:
            values["messages"] = [_message(message) for message in memory.messages]
    if (importance := memory.importance) is not None:
        values["importance"] = ImportanceView(
            score=importance.score, reason=importance.reason, set_at=importance.set_at
        )
    return values


def _message(message: Any) -> MessageView:
    return MessageView(role=message.role, content=message.content, time=message.time, speaker=message.speaker)
