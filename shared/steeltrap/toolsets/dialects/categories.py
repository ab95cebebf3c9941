"""`categories`: three tools over an agent's knowledge in four categories, with answers in plain text.

The dialect's document defines their wording. Each of a user's agents has separate memories here, and sees only its own
memories in the four categories.
"""

from functools import partial
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from ...engine import reading, saving, searching
from ...engine.call import Call
from ...engine.secrets import redacted_text
from ...errors import IdentityMissing, InvalidInput, SteeltrapError
from ...model import Draft, Filter, JsonObject, Memory, Outcome, OutcomeKind, Search
from ...text.frames import one_line
from ...text.limits import MAX_CONTEXT_CHARACTERS, check_length
from ...text.schemas import show
from ...tools import Input, Tool, Toolset
from ..fields import AnyText

_Name = Literal["fact", "pattern", "preference", "capability"]
NAMES: Final[tuple[str, ...]] = get_args(_Name)
_FAILURES: Final = {
    "store_memory": "Failed to store memory",
    "search_memories": "Failed to search memories",
    "list_memories": "Failed to list memories",
}


def error_sentence(error: SteeltrapError, tool: Tool) -> str:
    """`Failed to store memory: ...`, in the document's words."""
    return f"{_FAILURES[tool.name]}: {error.message}"


CATEGORIES = Toolset(
    name="categories",
    description="Three tools over an agent's knowledge in four categories (fact, pattern, preference, capability); "
    "answers are plain text, and each agent has separate memories.",
    instructions="This is your own long-term memory, by category: fact, pattern, preference, capability. Call "
    "search_memories before you answer from what you may have learned earlier, and list_memories to see what you know "
    "in one category. Call store_memory, without being asked, when you learn something that will matter later: one "
    "full sentence, with when or why it matters in context. These tools can't change or delete a memory: if something "
    "changed, store the new state and say since when it holds.",
    render_error=error_sentence,
    errors_are_answers=True,
)


def _category(value: Any) -> Any:
    # Not a ValueError: its text would be replaced by a standard sentence.
    if value not in NAMES:
        raise InvalidInput(f"Invalid category {show(value)}. Must be one of: {list(NAMES)}")
    return value


def _confidence(value: float) -> float:
    if not 0.0 <= value <= 1.0:
        raise InvalidInput(f"Confidence must be between 0.0 and 1.0, got {value}")
    return value


def _as_documented(schema: JsonObject) -> None:
    del schema["additionalProperties"]


Category = Annotated[_Name, BeforeValidator(_category)]
Confidence = Annotated[float, AfterValidator(_confidence), Field(json_schema_extra={"minimum": 0.0, "maximum": 1.0})]


class Arguments(Input):
    """Unknown fields are rejected here too, but the document's schemas don't say so."""

    model_config = ConfigDict(json_schema_extra=_as_documented)


class StoreInput(Arguments):
    category: Category = Field(
        description="Type of memory: fact (concrete info), pattern (observed behavior), "
        "preference (learned preference), capability (my ability/limitation)"
    )
    content: AnyText = Field(description="The information to remember. Be specific and concise.")
    context: AnyText | None = Field(None, description="Optional context about when/why this is important")
    confidence: Confidence = Field(1.0, description="Confidence level in this memory (0.0 to 1.0)")


@CATEGORIES.tool(
    "save",
    "write",
    needs="index",
    keyed=True,
    media="text/plain",
    examples=(
        {"category": "fact", "content": "API requires auth"},
        {
            "category": "fact",
            "content": "API endpoint is https://api.example.com/v1",
            "context": "API integration discussion",
            "confidence": 0.9,
        },
    ),
)
def store_memory(call: Call, input: StoreInput) -> str:
    """Store important information in my long-term memory for future use.
    Use this tool to remember:
    - Facts: Concrete information about APIs, data formats, configurations, etc.
    - Patterns: Recurring behaviors or trends I've observed
    - Preferences: User preferences or system settings I've learned
    - Capabilities: My own abilities or limitations I've discovered

    This memory persists across conversations and helps me improve over time.
    """
    _agent(call)
    check_length("context", input.context, MAX_CONTEXT_CHARACTERS)
    content = redacted_text(call, "content", input.content)
    draft = Draft(content=content, category=input.category, context=input.context, confidence=input.confidence)
    saving.save(call, draft)
    return f"Stored {input.category} memory: {content}"


class SearchInput(Arguments):
    query: AnyText = Field(
        description="Search query to find relevant memories. Use keywords related to what you're looking for."
    )
    limit: int = Field(10, ge=1, le=20, description="Maximum number of memories to retrieve")


@CATEGORIES.tool(
    "search", "read", needs="index", media="text/plain", examples=({"query": "API"}, {"query": "time zone", "limit": 5})
)
def search_memories(call: Call, input: SearchInput) -> str:
    """Search my long-term memory for information relevant to the current conversation.
    Use this tool when you need to recall:
    - Previous facts you've learned
    - Patterns you've observed
    - User preferences you've discovered
    - Your own capabilities or limitations

    The search looks through all your stored memories to find relevant information.
    """
    space = Filter(agent_id=_agent(call), categories=NAMES)
    nothing_stored = partial(reading.nothing_stored, call, space, messages=False)
    result = searching.search(
        call,
        Search(
            query=input.query,
            limit=input.limit,
            filter=space,
            precision="relevant",
            mentions=True,
            nothing_stored=nothing_stored,
        ),
    )
    call.outcome = result.outcome
    if result.outcome.kind is OutcomeKind.FILTERED_OUT:
        # Other agents' memories don't count: no other query could find them.
        call.outcome = Outcome(kind=OutcomeKind.NOTHING_STORED, message=nothing_stored())
    result.check_answered()
    query = one_line(input.query)
    if not result.hits:
        return f"No memories found for query: {query}"
    items = [_item(hit.memory, f"[{hit.memory.category}] ") for hit in result.hits]
    return "\n".join([f"Found {len(items)} memories for '{query}':", *items])


class ListInput(Arguments):
    category: Category = Field(description="Category of memories to list")
    limit: int = Field(20, ge=1, le=50, description="Maximum number of memories to retrieve")


@CATEGORIES.tool(
    "list", "read", media="text/plain", examples=({"category": "fact"}, {"category": "preference", "limit": 50})
)
def list_memories(call: Call, input: ListInput) -> str:
    """List my memories organized by category.
    Use this tool to browse what you've learned in different areas:
    - Facts: Concrete information you've stored
    - Patterns: Behavioral patterns you've observed
    - Preferences: User or system preferences you've learned
    - Capabilities: Your own abilities or limitations you've discovered

    This helps you understand what knowledge you have available.
    """
    of_category = Filter(agent_id=_agent(call), category=input.category)
    page = reading.list_memories(call, of_category, limit=input.limit, count_access=True)
    if not page.memories:
        return f"No {input.category} memories found."
    items = [_item(memory) for memory in page.memories]
    return "\n".join([f"My {input.category} memories ({page.total} total):", *items])


def _agent(call: Call) -> str:
    if not call.caller.agent_id:
        raise IdentityMissing("No agent is known for this call: the application must say which agent it is.")
    return call.caller.agent_id


def _item(memory: Memory, label: str = "") -> str:
    context = one_line(memory.context or "").strip()
    item = f"- {label}{one_line(memory.content)}"
    return f"{item}\n  Context: {context}" if context else item
