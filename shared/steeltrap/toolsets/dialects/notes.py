"""`notes`: four tools over a user's natural-language notes.

The dialect's document defines their wording. Limits: `top_k` above 20 is treated as 20; tags are trimmed, lower-cased
and deduplicated. Episodes are not notes: like turns, they belong to their conversation.
"""

from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from ...engine import deleting, reading, saving, searching, updating
from ...engine.call import Call
from ...engine.note_search import by_earlier_text, passages
from ...engine.secrets import redacted_text
from ...errors import IdentityMissing, InvalidInput, MemoryNotFound, SteeltrapError
from ...model import Draft, Edit, Filter, Hit, JsonObject, Outcome, OutcomeKind, Search, to_micros
from ...ranking.choosing import is_broad
from ...tools import Answer, Input, Tool, Toolset
from ..fields import AnyId, AnyText, TagList

MAX_RESULTS = 20
MAX_TAGS = 16
MAX_TAG_CHARACTERS = 64
PREFIX = "note-"


def error_body(error: SteeltrapError, tool: Tool) -> JsonObject:
    """`{"error": message}`, in the document's words."""
    if isinstance(error, IdentityMissing):
        return {"error": "user context is not available"}
    if isinstance(error, MemoryNotFound):
        return {"error": f"note `{error.id}` not found"}
    return {"error": error.message}


NOTES = Toolset(
    name="notes",
    description="Four tools over natural-language notes: search, save, update, delete.",
    instructions="This is the user's long-term memory, kept as notes that outlast this conversation. Call "
    "memory_search before you answer from what the user may have told you earlier. Call memory_save, without being "
    "asked, when the user states a preference, a decision or a fact that will matter later: one full sentence per "
    "note. If something changed, find the old note with memory_search and correct it with memory_update, so that "
    "notes don't contradict each other. Call memory_delete only when the user asks you to forget.",
    render_error=error_body,
)


def _tidy_tags(tags: list[str]) -> list[str]:
    # Lower-cased later: many secrets are none in lower case, and would be stored so.
    tidy = list({tag.strip().lower(): tag.strip() for tag in tags}.values())
    if any(not 1 <= len(tag) <= MAX_TAG_CHARACTERS for tag in tidy):
        raise ValueError(f"must be a list of tags of 1 to {MAX_TAG_CHARACTERS} characters")
    if len(tidy) > MAX_TAGS:
        raise ValueError(f"must have at most {MAX_TAGS} tags")
    return tidy


Tags = Annotated[TagList, AfterValidator(_tidy_tags)]
Content = Annotated[AnyText, Field(description="Natural language text to save (fact, preference, decision, etc.)")]


class SearchInput(Input):
    query: AnyText = Field(description="Natural language search query")
    top_k: int = Field(5, description="Max results to return (default: 5, max: 20)")
    include_conversation: bool = Field(
        False, description="Also search the current conversation session (default: false)"
    )
    tags: Tags | None = Field(
        None, description="Only notes that have all of these tags (at most 16 of at most 64 characters)"
    )


class NoteView(Answer):
    """A note, or a message of the conversation, which has no id. `text` is the best chunk of a long one."""

    note_id: str
    text: str
    score: float
    source: Literal["user_memory", "conversation"]


@NOTES.tool(
    "search",
    "read",
    needs="index",
    examples=({"query": "user's name"}, {"query": "preferences", "top_k": 10, "tags": ["ui"]}),
)
def memory_search(call: Call, input: SearchInput) -> list[NoteView]:
    """Search your persistent memory for relevant information. Use this when you need to recall user preferences, past decisions, stored facts, or anything previously saved. Results are ranked by relevance using semantic similarity and keyword matching. By default searches only your saved notes; set include_conversation to true to also search the current conversation history."""  # noqa: E501 - the document's words
    if input.top_k < 1:
        raise InvalidInput("top_k must be at least 1")
    if not input.query.strip():
        raise InvalidInput("query must not be empty")
    limit = min(input.top_k, MAX_RESULTS)
    notes = Filter(tags=tuple(tag.lower() for tag in input.tags or ()), episodes=False)
    with_turns = input.include_conversation and call.caller.conversation_id is not None
    filter = replace(notes, include_turns=True, turns_of=call.caller.conversation_id) if with_turns else notes
    nothing_stored = partial(reading.nothing_stored, call, notes, "No note", messages=False)
    result = searching.search(
        call,
        Search(
            query=input.query,
            limit=limit,
            filter=filter,
            precision="related",
            said_once=True,
            nothing_stored=nothing_stored,
        ),
    )
    result.check_answered()
    hits, outcome = result.hits, result.outcome
    if len(hits) < limit and is_broad(input.query):
        hits = _with_newest(call, notes, hits, limit)
    elif not hits:
        hits = by_earlier_text(call, input.query, notes, limit)
    if hits and not result.hits:
        outcome = Outcome(kind=OutcomeKind.FOUND, message=f"{len(hits)} found.")
    texts = passages(call, input.query, [hit.memory for hit in hits])
    if parts := sum(text != hit.memory.content for hit, text in zip(hits, texts, strict=True)):
        outcome = replace(outcome, message=f"{outcome.message} The best part of {parts} long ones is shown.")
    if outcome.kind is OutcomeKind.FILTERED_OUT and not notes.tags:
        # Without tags it only means that episodes were filtered out: there is no note.
        outcome = Outcome(kind=OutcomeKind.NOTHING_STORED, message=nothing_stored())
    call.outcome = outcome
    return [_view(hit, text) for hit, text in zip(hits, texts, strict=True)]


class SaveInput(Input):
    content: Content
    tags: Tags = Field([], description="Labels to filter by later (at most 16 of at most 64 characters)")


class WrittenView(Answer):
    note_id: str
    message: str


@NOTES.tool("save", "write", needs="index", keyed=True, examples=({"content": "User's name is Shantanu"},))
def memory_save(call: Call, input: SaveInput) -> WrittenView:
    """Save an important piece of information to your persistent memory as a natural language note. Use this proactively whenever the user shares preferences, makes decisions, states facts, or tells you something worth remembering across conversations. Saved notes persist across all sessions and channels. Returns a note_id for future reference."""  # noqa: E501 - the document's words
    _check_content(input.content)
    result = saving.save(call, Draft(content=input.content, tags=_stored_tags(call, input.tags)))
    return WrittenView(note_id=PREFIX + result.memory.id, message="Note saved successfully.")


class UpdateInput(Input):
    note_id: AnyId = Field(description="ID of the note to update (from memory_search or memory_save results)")
    content: AnyText = Field(description="New content to replace the existing note")
    tags: Tags | None = Field(None, description="New tags; they replace the old ones. Default: keep the tags")


@NOTES.tool(
    "update",
    "write",
    needs="index",
    idempotent=True,
    examples=({"note_id": "note-3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "content": "User prefers to be called SG"},),
)
def memory_update(call: Call, input: UpdateInput) -> WrittenView:
    """Update a previously saved note with new content. Use this when the user corrects or changes previously stored information (e.g., a new preferred name, an updated preference). First use memory_search to find the note and its note_id, then call this with the note_id and the new content."""  # noqa: E501 - the document's words
    _check_content(input.content)
    tags = None if input.tags is None else _stored_tags(call, input.tags)
    memory = updating.update(call, input.note_id, Edit(content=input.content, tags=tags))
    return WrittenView(note_id=PREFIX + memory.id, message="Note updated successfully.")


def _stored_tags(call: Call, tags: list[str]) -> tuple[str, ...]:
    return tuple(redacted_text(call, "tags", tag).lower() for tag in tags)


class DeleteInput(Input):
    note_id: AnyId = Field(description="ID of the note to delete (from memory_search results)")


@NOTES.tool(
    "delete",
    "write",
    destructive=True,
    examples=({"note_id": "note-3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"},),
)
def memory_delete(call: Call, input: DeleteInput) -> WrittenView:
    """Delete a previously saved note from memory. Use this when the user asks you to forget specific information. First use memory_search to find the note and its note_id, then call this with the note_id to remove it."""  # noqa: E501 - the document's words
    memory = deleting.delete(call, input.note_id)
    return WrittenView(note_id=PREFIX + memory.id, message="Note deleted successfully.")


def _check_content(content: str) -> None:
    if not content.strip():
        raise InvalidInput("content must not be empty")


def _with_newest(call: Call, notes: Filter, hits: list[Hit], limit: int) -> list[Hit]:
    """The hits, and the newest notes: a query that asks for everything is answered by each as well as by any hit."""
    score = min((hit.score for hit in hits), default=1.0)
    ids = {hit.memory.id for hit in hits}
    newest = reading.list_memories(call, notes, limit=limit).memories
    all = [*hits, *(Hit(memory=memory, score=score) for memory in newest if memory.id not in ids)]
    return sorted(all, key=lambda hit: (-hit.score, -to_micros(hit.memory.created_at), hit.memory.id))[:limit]


def _view(hit: Hit, text: str) -> NoteView:
    memory = hit.memory
    is_spoken = memory.source == "conversation" or memory.is_episode
    return NoteView(
        note_id="" if is_spoken else PREFIX + memory.id,
        text=text,
        score=hit.score,
        source="conversation" if is_spoken else "user_memory",
    )
