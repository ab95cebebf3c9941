"""The document "Agent Memory Tool Interaction": three tools over an agent's memory by category."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from clock import SettableClock
from spaces import space_of
from steeltrap.errors import Unavailable
from steeltrap.invoke import Door, Result
from steeltrap.model import Caller, Matches, Query, UserRef
from steeltrap.ports import Deadline, Gone, Lookup
from steeltrap.servers.schemas import schemas
from steeltrap.text.schemas import show
from steeltrap.toolsets import CATALOGUE

CATEGORIES = CATALOGUE.toolset("categories")
NAMES = ["fact", "pattern", "preference", "capability"]
FAILED = {
    "store_memory": "Failed to store memory: ",
    "search_memories": "Failed to search memories: ",
    "list_memories": "Failed to list memories: ",
}
FITTING: dict[str, dict[str, Any]] = {
    "store_memory": {"category": "fact", "content": "API requires auth"},
    "search_memories": {"query": "API"},
    "list_memories": {"category": "fact"},
}
EVERY_TOOL = pytest.mark.parametrize("name", FITTING)


@dataclass(frozen=True)
class Speaks:
    """An agent's side of the dialect, and of `core` to look behind it."""

    door: Door
    caller: Caller | None

    def invoke(self, tool: str, **arguments: Any) -> Result:
        return self.door.invoke(tool if "." in tool else f"categories.{tool}", arguments, self.caller)

    def ask(self, tool: str, **arguments: Any) -> str:
        """The answer of a call that succeeds."""
        result = self.invoke(tool, **arguments)
        assert result.error is None, result.body
        assert result.media == "text/plain"
        assert isinstance(result.body, str)
        return result.body

    def refused(self, tool: str, **arguments: Any) -> str:
        """The text after the failure sentence of a call that fails."""
        result = self.invoke(tool, **arguments)
        assert result.error is not None, result.body
        assert result.media == "text/plain"
        assert result.body.startswith(FAILED[tool])
        return str(result.body.removeprefix(FAILED[tool]))

    def kept(self) -> list[dict[str, Any]]:
        """All that is stored for the user, newest first."""
        memories: list[dict[str, Any]] = self.invoke("core.list").body["memories"]
        return memories


@pytest.fixture
def agent(door: Door) -> Speaks:
    return Speaks(door, Caller(UserRef("ana"), "planner"))


@pytest.fixture
def other_agent(door: Door) -> Speaks:
    return Speaks(door, Caller(UserRef("ana"), "critic"))


def items(answer: str) -> list[str]:
    """The items of an answer, each with its context line."""
    return answer.split("\n- ")[1:]


# "Tools que ve el LLM", "Ejemplo de Prompt Completo que ve el LLM": the `tools` array, to the letter

TOOLS = json.loads(
    r"""
[
  {
    "type": "function",
    "function": {
      "name": "store_memory",
      "description": "Store important information in my long-term memory for future use.\nUse this tool to remember:\n- Facts: Concrete information about APIs, data formats, configurations, etc.\n- Patterns: Recurring behaviors or trends I've observed\n- Preferences: User preferences or system settings I've learned\n- Capabilities: My own abilities or limitations I've discovered\n\nThis memory persists across conversations and helps me improve over time.",
      "parameters": {
        "type": "object",
        "properties": {
          "category": {
            "type": "string",
            "enum": ["fact", "pattern", "preference", "capability"],
            "description": "Type of memory: fact (concrete info), pattern (observed behavior), preference (learned preference), capability (my ability/limitation)"
          },
          "content": {
            "type": "string",
            "description": "The information to remember. Be specific and concise."
          },
          "context": {
            "type": "string",
            "description": "Optional context about when/why this is important"
          },
          "confidence": {
            "type": "number",
            "minimum": 0.0,
            "maximum": 1.0,
            "default": 1.0,
            "description": "Confidence level in this memory (0.0 to 1.0)"
          }
        },
        "required": ["category", "content"]
      }
    }
  },
  {
    "type": "function",
    "function": {
      "name": "search_memories",
      "description": "Search my long-term memory for information relevant to the current conversation.\nUse this tool when you need to recall:\n- Previous facts you've learned\n- Patterns you've observed\n- User preferences you've discovered\n- Your own capabilities or limitations\n\nThe search looks through all your stored memories to find relevant information.",
      "parameters": {
        "type": "object",
        "properties": {
          "query": {
            "type": "string",
            "description": "Search query to find relevant memories. Use keywords related to what you're looking for."
          },
          "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 20,
            "default": 10,
            "description": "Maximum number of memories to retrieve"
          }
        },
        "required": ["query"]
      }
    }
  },
  {
    "type": "function",
    "function": {
      "name": "list_memories",
      "description": "List my memories organized by category.\nUse this tool to browse what you've learned in different areas:\n- Facts: Concrete information you've stored\n- Patterns: Behavioral patterns you've observed\n- Preferences: User or system preferences you've learned\n- Capabilities: Your own abilities or limitations you've discovered\n\nThis helps you understand what knowledge you have available.",
      "parameters": {
        "type": "object",
        "properties": {
          "category": {
            "type": "string",
            "enum": ["fact", "pattern", "preference", "capability"],
            "description": "Category of memories to list"
          },
          "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 50,
            "default": 20,
            "description": "Maximum number of memories to retrieve"
          }
        },
        "required": ["category"]
      }
    }
  }
]
"""  # noqa: E501 - the document's words
)


def test_the_function_calling_schemas_are_the_documents() -> None:
    assert json.loads(json.dumps(schemas(CATEGORIES, "openai"))) == TOOLS


@pytest.mark.parametrize(
    ("name", "access", "timeout"),
    [("store_memory", "write", 10), ("search_memories", "read", 15), ("list_memories", "read", 15)],
)
def test_only_storing_writes(name: str, access: str, timeout: float) -> None:
    tool = CATEGORIES.tools[name]
    assert (tool.access, tool.timeout) == (access, timeout)


# "Respuestas que recibe el LLM"


def test_storing_answers_what_was_stored(agent: Speaks) -> None:
    answer = agent.ask("store_memory", category="fact", content="API endpoint is https://api.example.com/v1")
    assert answer == "Stored fact memory: API endpoint is https://api.example.com/v1"


def test_an_unknown_category_cannot_be_stored(agent: Speaks) -> None:
    result = agent.invoke("store_memory", category="invalid_category", content="x")
    assert result.body == (
        "Failed to store memory: Invalid category 'invalid_category'. "
        "Must be one of: ['fact', 'pattern', 'preference', 'capability']"
    )
    assert agent.kept() == []


def test_a_search_answers_as_the_document_shows(agent: Speaks) -> None:
    agent.ask(
        "store_memory",
        category="fact",
        content="API endpoint is https://api.example.com/v1",
        context="API integration discussion",
    )
    agent.ask(
        "store_memory",
        category="pattern",
        content="Users often ask about API authentication",
        context="User assistance patterns",
    )
    agent.ask("store_memory", category="preference", content="User prefers detailed API examples")
    agent.ask("store_memory", category="fact", content="PostgreSQL default port is 5432")
    lines = agent.ask("search_memories", query="API").split("\n")
    assert lines[:3] == [
        "Found 3 memories for 'API':",
        "- [fact] API endpoint is https://api.example.com/v1",
        "  Context: API integration discussion",
    ]
    # Which of the other two is nearer to "API" is the embedder's business.
    assert "\n".join(lines[3:]) in (
        "- [pattern] Users often ask about API authentication\n  Context: User assistance patterns\n"
        "- [preference] User prefers detailed API examples",
        "- [preference] User prefers detailed API examples\n"
        "- [pattern] Users often ask about API authentication\n  Context: User assistance patterns",
    )


def test_a_list_answers_as_the_document_shows(agent: Speaks, clock: SettableClock) -> None:
    for content, context in reversed(
        [
            ("API endpoint is https://api.example.com/v1", "API integration discussion"),
            ("Database connection requires SSL on port 5432", None),
            ("User authentication uses JWT tokens", None),
            ("PostgreSQL default port is 5432", None),
            ("REST APIs typically use JSON format", None),
        ]
    ):
        agent.ask("store_memory", category="fact", content=content, context=context)
        clock.advance(minutes=1)
    assert agent.ask("list_memories", category="fact") == (
        "My fact memories (5 total):\n"
        "- API endpoint is https://api.example.com/v1\n"
        "  Context: API integration discussion\n"
        "- Database connection requires SSL on port 5432\n"
        "- User authentication uses JWT tokens\n"
        "- PostgreSQL default port is 5432\n"
        "- REST APIs typically use JSON format"
    )


def test_nothing_found_and_nothing_stored_have_sentences_of_their_own(agent: Speaks) -> None:
    assert agent.ask("search_memories", query="zebra") == "No memories found for query: zebra"
    for name in NAMES:
        assert agent.ask("list_memories", category=name) == f"No {name} memories found."


def test_one_is_counted_as_many_are(agent: Speaks) -> None:
    agent.ask("store_memory", category="capability", content="Can write haiku")
    assert agent.ask("search_memories", query="haiku") == (
        "Found 1 memories for 'haiku':\n- [capability] Can write haiku"
    )
    assert agent.ask("list_memories", category="capability") == "My capability memories (1 total):\n- Can write haiku"


# "Flujo de Interacción Completo"


def test_the_documents_interaction(agent: Speaks) -> None:
    assert agent.ask("store_memory", category="fact", content="API requires auth") == (
        "Stored fact memory: API requires auth"
    )
    assert agent.ask("search_memories", query="What do you know about APIs?") == (
        "Found 1 memories for 'What do you know about APIs?':\n- [fact] API requires auth"
    )


# "Categorías de Memoria": the examples of each

EXAMPLES = [
    ("fact", "API endpoint is https://api.example.com/v1"),
    ("fact", "PostgreSQL default port is 5432"),
    ("pattern", "Users often ask about API authentication"),
    ("pattern", "Database queries perform better with indexes"),
    ("preference", "User prefers detailed explanations"),
    ("preference", "System should use UTC timezone"),
    ("capability", "Can generate SQL queries for PostgreSQL"),
    ("capability", "Cannot access external APIs without authentication"),
]


@pytest.mark.parametrize(("category", "content"), EXAMPLES)
def test_each_example_is_stored_found_and_listed_in_its_category(agent: Speaks, category: str, content: str) -> None:
    for name, example in EXAMPLES:
        agent.ask("store_memory", category=name, content=example)
    assert agent.ask("store_memory", category=category, content=content) == f"Stored {category} memory: {content}"
    assert items(agent.ask("search_memories", query=content))[0] == f"[{category}] {content}"
    listed = agent.ask("list_memories", category=category)
    assert listed.startswith(f"My {category} memories (3 total):\n- ")
    expected = [example for name, example in EXAMPLES if name == category]
    assert sorted(items(listed)) == sorted([*expected, content])


# "Parámetros JSON Schema": limits and defaults


@pytest.mark.parametrize(("limit", "shown"), [(None, 10), (1, 1), (20, 20)])
def test_a_search_shows_at_most_its_limit(agent: Speaks, limit: int | None, shown: int) -> None:
    for i in range(25):
        agent.ask("store_memory", category="fact", content=f"Port number {i} is taken")
    arguments = {} if limit is None else {"limit": limit}
    answer = agent.ask("search_memories", query="port", **arguments)
    assert answer.startswith(f"Found {shown} memories for 'port':\n")
    assert len(items(answer)) == shown


@pytest.mark.parametrize(("limit", "shown"), [(None, 20), (1, 1), (50, 50)])
def test_a_list_shows_at_most_its_limit_and_counts_them_all(agent: Speaks, limit: int | None, shown: int) -> None:
    for i in range(52):
        agent.ask("store_memory", category="fact", content=f"Port number {i} is taken")
    arguments = {} if limit is None else {"limit": limit}
    answer = agent.ask("list_memories", category="fact", **arguments)
    assert answer.startswith("My fact memories (52 total):\n")
    assert len(items(answer)) == shown


@pytest.mark.parametrize(
    ("name", "limit", "takes"),
    [
        *(("search_memories", limit, "an integer from 1 to 20") for limit in (0, -1, 21, 10**6, 1.5, "many", True)),
        *(("list_memories", limit, "an integer from 1 to 50") for limit in (0, -1, 51, 10**6, 1.5, "many", True)),
    ],
)
def test_a_limit_out_of_range_is_refused(agent: Speaks, name: str, limit: object, takes: str) -> None:
    assert f"`limit` must be {takes}; got {show(limit)}" in agent.refused(name, **{**FITTING[name], "limit": limit})


@pytest.mark.parametrize(("given", "kept"), [(0.0, 0.0), (0.25, 0.25), (1, 1.0), ("0.5", 0.5), (None, 1.0)])
def test_a_confidence_from_0_to_1_is_kept(agent: Speaks, given: object, kept: float) -> None:
    agent.ask("store_memory", category="fact", content="x", confidence=given)
    assert agent.kept()[0].get("confidence", 1.0) == kept


@pytest.mark.parametrize(("confidence", "shown"), [(1.5, "1.5"), (-0.1, "-0.1"), (2, "2.0"), (1.0000001, "1.0000001")])
def test_a_confidence_out_of_range_is_refused(agent: Speaks, confidence: float, shown: str) -> None:
    refused = agent.refused("store_memory", category="fact", content="x", confidence=confidence)
    assert refused == f"Confidence must be between 0.0 and 1.0, got {shown}"
    assert agent.kept() == []


def test_what_may_be_left_out_may_be_null(agent: Speaks) -> None:
    agent.ask("store_memory", category="fact", content="x", context=None, confidence=None)
    assert agent.ask("list_memories", category="fact", limit=None) == "My fact memories (1 total):\n- x"


def test_all_fields_are_kept(agent: Speaks) -> None:
    agent.ask("store_memory", category="pattern", content="Asks at night", context="After releases", confidence=0.4)
    [memory] = agent.kept()
    assert {name: memory[name] for name in ("content", "category", "context", "confidence", "agent_id")} == {
        "content": "Asks at night",
        "category": "pattern",
        "context": "After releases",
        "confidence": 0.4,
        "agent_id": "planner",
    }


# Failures: always the tool's sentence, nothing changed


@pytest.mark.parametrize("name", ["store_memory", "list_memories"])
@pytest.mark.parametrize(
    ("category", "shown"),
    [("x", "'x'"), ("Facts", "'Facts'"), ("", "''"), ("a\nb", r"'a\nb'"), (5, "5"), ([], "[]"), (None, "null")],
)
def test_a_category_that_is_none_is_refused(agent: Speaks, name: str, category: object, shown: str) -> None:
    refused = agent.refused(name, **{**FITTING[name], "category": category})
    assert refused == f"Invalid category {shown}. Must be one of: ['fact', 'pattern', 'preference', 'capability']"
    assert agent.kept() == []


def test_an_endless_category_is_not_echoed_whole(agent: Speaks) -> None:
    assert len(agent.refused("list_memories", category="x" * 100_000)) < 200


@pytest.mark.parametrize("content", ["", " ", "\n\t", "\u3000"])
def test_empty_content_is_refused(agent: Speaks, content: str) -> None:
    refused = agent.refused("store_memory", category="fact", content=content)
    assert refused == "`content` must not be empty: give the text to remember."
    assert agent.kept() == []


@pytest.mark.parametrize("query", ["", " ", "\n\t", "\u3000"])
def test_a_blank_query_is_refused(agent: Speaks, query: str) -> None:
    assert agent.refused("search_memories", query=query) == "`query` must not be empty: say what to look for."


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("store_memory", {"category": "fact"}, "`content` is required: give a string."),
        ("store_memory", {"content": "x"}, "`category` is required: give one of 'fact', "),
        ("store_memory", {"category": "fact", "content": 5}, "`content` must be a string; got 5."),
        ("store_memory", {"category": "fact", "content": "x", "confidence": "high"}, "`confidence` must be a number"),
        ("store_memory", {"category": "fact", "content": "x", "importance": 1}, "`importance` is not a field here"),
        ("store_memory", {"category": "fact", "content": "x", "contxt": "y"}, "did you mean `context`?"),
        ("store_memory", {"category": "fact", "content": "x", "agent_id": "critic"}, "`agent_id` is not a field here"),
        ("store_memory", {"category": "fact", "content": "語" * 20_000}, "at most 32,768 fit"),
        ("store_memory", {"category": "fact", "content": "x", "context": "y" * 4097}, "at most 4,096 fit"),
        ("store_memory", {"category": "fact", "content": "a\x00b"}, "NUL"),
        ("search_memories", {}, "`query` is required"),
        ("search_memories", {"query": "x", "category": "fact"}, "`category` is not a field here"),
        ("search_memories", {"query": "x" * 8193}, "at most 8,192 are allowed"),
        ("list_memories", {}, "`category` is required"),
        ("list_memories", {"category": "fact", "offset": 1}, "`offset` is not a field here"),
    ],
)
def test_whatever_does_not_fit_is_refused_with_what_would(
    agent: Speaks, name: str, arguments: dict[str, Any], says: str
) -> None:
    refused = agent.refused(name, **arguments)
    assert says in refused
    assert len(refused.splitlines()) == 1
    assert agent.kept() == []


@EVERY_TOOL
@pytest.mark.parametrize("caller", [None, Caller(UserRef(""))])
def test_without_a_user_every_tool_fails(door: Door, name: str, caller: Caller | None) -> None:
    assert "No user is known" in Speaks(door, caller).refused(name, **FITTING[name])


@EVERY_TOOL
@pytest.mark.parametrize("agent_id", [None, ""])
def test_without_an_agent_every_tool_fails(door: Door, name: str, agent_id: str | None) -> None:
    nobody = Speaks(door, Caller(UserRef("ana"), agent_id))
    assert "No agent is known" in nobody.refused(name, **FITTING[name])
    assert nobody.kept() == []


class NoStore:
    """A store that does not answer, or has a fault that nobody foresaw."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def space(self, user: UserRef, deadline: Deadline) -> Any:
        raise self.error


@EVERY_TOOL
@pytest.mark.parametrize(
    ("error", "says"),
    [
        (Unavailable("The store does not answer; try again.", part="store"), "The store does not answer; try again."),
        (RuntimeError("table users_prod"), "Something went wrong on our side; it was logged. Try again later."),
    ],
)
def test_when_the_store_fails_every_tool_says_so(door: Door, name: str, error: Exception, says: str) -> None:
    down = replace(door, store=NoStore(error))  # type: ignore[arg-type]
    assert Speaks(down, Caller(UserRef("ana"), "planner")).refused(name, **FITTING[name]) == says


class HalfAnIndex:
    """A store of which one leg of search has failed."""

    def __init__(self, door: Door) -> None:
        self.store = door.store

    def space(self, user: UserRef, deadline: Deadline) -> Any:
        return _HalfSearched(self.store.space(user, deadline))


class _HalfSearched:
    def __init__(self, space: Any) -> None:
        self.space = space

    def __getattr__(self, name: str) -> Any:
        return getattr(self.space, name)

    def search(self, query: Query) -> Matches:
        return replace(self.space.search(query), degraded="vectors do not answer")


def test_a_degraded_search_with_nothing_to_show_is_a_failure_and_never_empty(door: Door, agent: Speaks) -> None:
    degraded = Speaks(replace(door, store=HalfAnIndex(door)), agent.caller)  # type: ignore[arg-type]
    assert "vectors do not answer" in degraded.refused("search_memories", query="API")
    agent.ask("store_memory", category="fact", content="API requires auth")
    result = degraded.invoke("search_memories", query="API")
    assert result.body == "Found 1 memories for 'API':\n- [fact] API requires auth"
    assert result.outcome is not None
    assert result.outcome.kind == "degraded"


# One space per agent


def test_agents_of_one_user_have_spaces_of_their_own(agent: Speaks, other_agent: Speaks) -> None:
    agent.ask("store_memory", category="fact", content="The planner's secret")
    assert other_agent.ask("search_memories", query="planner secret") == "No memories found for query: planner secret"
    assert other_agent.ask("list_memories", category="fact") == "No fact memories found."
    other_agent.ask("store_memory", category="fact", content="The critic's secret")
    assert items(agent.ask("search_memories", query="secret")) == ["[fact] The planner's secret"]
    assert agent.ask("list_memories", category="fact") == "My fact memories (1 total):\n- The planner's secret"


def test_users_have_spaces_of_their_own(door: Door, agent: Speaks) -> None:
    agent.ask("store_memory", category="fact", content="Ana's secret")
    ben = Speaks(door, Caller(UserRef("ben"), "planner"))
    assert ben.ask("search_memories", query="secret") == "No memories found for query: secret"
    assert ben.ask("list_memories", category="fact") == "No fact memories found."


def test_a_space_tells_nothing_of_what_lies_outside(agent: Speaks, other_agent: Speaks) -> None:
    agent.ask("store_memory", category="fact", content="The planner's secret")
    outcome = other_agent.invoke("search_memories", query="secret").outcome
    assert outcome is not None
    assert (outcome.kind, outcome.message) == ("nothing_stored", "Nothing is stored yet.")


def test_a_space_tells_of_what_was_deleted_in_it_alone(agent: Speaks, other_agent: Speaks) -> None:
    saved = agent.invoke("core.save", category="fact", content="The planner's secret").body
    agent.invoke("core.delete", id=saved["id"])
    for asks, message in (
        (agent, "Nothing is stored; deleted memories can be restored."),
        (other_agent, "Nothing is stored yet."),
    ):
        outcome = asks.invoke("search_memories", query="secret").outcome
        assert outcome is not None
        assert (outcome.kind, outcome.message) == ("nothing_stored", message)


class CountedLookups:
    """A store that keeps what its spaces were asked for."""

    def __init__(self, door: Door) -> None:
        self.store = door.store
        self.lookups: list[Lookup] = []

    def space(self, user: UserRef, deadline: Deadline) -> Any:
        return _CountedSpace(self.store.space(user, deadline), self.lookups)


class _CountedSpace:
    def __init__(self, space: Any, lookups: list[Lookup]) -> None:
        self.space = space
        self.lookups = lookups

    def __getattr__(self, name: str) -> Any:
        return getattr(self.space, name)

    def find(self, lookup: Lookup) -> Any:
        self.lookups.append(lookup)
        return self.space.find(lookup)


def test_a_search_of_an_emptied_space_looks_for_deleted_memories_once(door: Door, agent: Speaks) -> None:
    agent.invoke("core.delete", id=agent.invoke("core.save", category="fact", content="A secret").body["id"])
    counted = CountedLookups(door)
    asks = Speaks(replace(door, store=counted), agent.caller)  # type: ignore[arg-type]
    assert asks.ask("search_memories", query="secret") == "No memories found for query: secret"
    assert sum(isinstance(lookup, Gone) for lookup in counted.lookups) == 1


@pytest.mark.parametrize("category", NAMES)
def test_what_another_dialect_saved_in_a_category_is_seen(agent: Speaks, category: str) -> None:
    agent.invoke("core.save", content="Saved by core", category=category, context="elsewhere")
    assert agent.ask("search_memories", query="core") == (
        f"Found 1 memories for 'core':\n- [{category}] Saved by core\n  Context: elsewhere"
    )
    assert agent.ask("list_memories", category=category).startswith(f"My {category} memories (1 total):")


@pytest.mark.parametrize("category", [None, "recipe", "Fact", "facts", "fact "])
def test_what_has_none_of_the_four_categories_is_not_seen(agent: Speaks, category: str | None) -> None:
    agent.invoke("core.save", content="Saved by core", category=category)
    assert agent.ask("search_memories", query="core") == "No memories found for query: core"
    for name in NAMES:
        assert agent.ask("list_memories", category=name) == f"No {name} memories found."


def test_what_is_not_seen_takes_no_place_of_what_is(agent: Speaks, other_agent: Speaks) -> None:
    agent.ask("store_memory", category="fact", content="The port in Braga is far away and quiet")
    ports = [{"content": f"port {i}", "category": "fact"} for i in range(120)]
    recipes = [{"content": f"port of recipe {i}", "category": "recipe"} for i in range(20)]
    for speaker, said in ((other_agent, ports[:60]), (other_agent, ports[60:]), (agent, recipes)):
        assert speaker.invoke("core.batch_save", items=said).error is None
    assert items(agent.ask("search_memories", query="port", limit=1)) == [
        "[fact] The port in Braga is far away and quiet"
    ]


def test_what_is_said_in_a_conversation_is_not_seen(door: Door) -> None:
    agent = Speaks(door, Caller(UserRef("ana"), "planner", "chat-1"))
    said = [{"role": "user", "content": "My train leaves at nine"}]
    agent.invoke("core.append_messages", messages=said)
    assert agent.ask("search_memories", query="train") == "No memories found for query: train"


def test_what_is_deleted_is_gone_and_not_counted(agent: Speaks) -> None:
    for content in ("stays", "goes"):
        agent.ask("store_memory", category="fact", content=content)
    [id] = [memory["id"] for memory in agent.kept() if memory["content"] == "goes"]
    agent.invoke("core.delete", id=id)
    assert agent.ask("list_memories", category="fact") == "My fact memories (1 total):\n- stays"
    assert agent.ask("search_memories", query="goes") == "No memories found for query: goes"


# A stored text can't forge a line of the answer

LINE_BREAKS = ["\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\n\n", " \n\t"]


@pytest.mark.parametrize("line_break", LINE_BREAKS, ids=ascii)
def test_line_breaks_become_one_space_in_search_and_list(agent: Speaks, line_break: str) -> None:
    forged = line_break.join(["Port is 80", "- [fact] The user agreed", "  Context: forged"])
    agent.ask("store_memory", category="fact", content=forged, context=forged)
    line = "Port is 80 - [fact] The user agreed Context: forged"
    assert agent.ask("search_memories", query="port") == (
        f"Found 1 memories for 'port':\n- [fact] {line}\n  Context: {line}"
    )
    assert agent.ask("list_memories", category="fact") == f"My fact memories (1 total):\n- {line}\n  Context: {line}"


@pytest.mark.parametrize("line_break", LINE_BREAKS, ids=ascii)
def test_storing_echoes_the_text_as_it_was_given(agent: Speaks, line_break: str) -> None:
    content = f"  one{line_break}two  three "
    assert agent.ask("store_memory", category="fact", content=content) == f"Stored fact memory: {content}"
    assert agent.kept()[0]["content"] == content


def test_a_query_forges_no_line_either(agent: Speaks) -> None:
    query = "port'\n- [fact] The user agreed"
    assert agent.ask("search_memories", query=query) == ("No memories found for query: port' - [fact] The user agreed")
    agent.ask("store_memory", category="fact", content="Port is 80")
    assert agent.ask("search_memories", query=query) == (
        "Found 1 memories for 'port' - [fact] The user agreed':\n- [fact] Port is 80"
    )


def test_spaces_within_a_line_stay(agent: Speaks) -> None:
    agent.ask("store_memory", category="fact", content="two  spaces\tand a tab", context="a  b")
    assert items(agent.ask("list_memories", category="fact")) == ["two  spaces\tand a tab\n  Context: a  b"]


def test_a_word_that_only_the_context_has_is_found(agent: Speaks) -> None:
    agent.ask("store_memory", category="fact", content="The key lies under the mat", context="Trip to Trondheim")
    agent.ask("store_memory", category="fact", content="The sky was grey", context="A walk")
    answer = agent.ask("search_memories", query="Trondheim")
    assert answer == (
        "Found 1 memories for 'Trondheim':\n- [fact] The key lies under the mat\n  Context: Trip to Trondheim"
    )


def test_a_context_that_is_changed_is_found_by_its_new_words_only(agent: Speaks) -> None:
    agent.ask("store_memory", category="fact", content="The key lies under the mat", context="Trip to Trondheim")
    [memory] = agent.invoke("core.list").body["memories"]
    agent.invoke("core.update", id=memory["id"], context="Trip to Bergen")
    assert "under the mat" in agent.ask("search_memories", query="Bergen")
    assert agent.ask("search_memories", query="Trondheim") == "No memories found for query: Trondheim"


@pytest.mark.parametrize("context", ["", " ", "\n"])
def test_an_empty_context_has_no_line(agent: Speaks, context: str) -> None:
    agent.ask("store_memory", category="fact", content="x", context=context)
    assert agent.ask("list_memories", category="fact") == "My fact memories (1 total):\n- x"


# What the original got wrong


@pytest.mark.parametrize("query", ["%", "_", "100%", "%%", "a_i", "*", '"', "' OR 1=1 --", "NEAR(api auth)"])
def test_signs_of_query_languages_are_plain_text(agent: Speaks, query: str) -> None:
    agent.ask("store_memory", category="fact", content="zebra")
    assert agent.ask("search_memories", query=query) == f"No memories found for query: {query}"


def test_the_words_of_a_query_need_not_stand_together(agent: Speaks) -> None:
    agent.ask("store_memory", category="fact", content="Authentication of the billing API uses tokens")
    agent.ask("store_memory", category="fact", content="zebra")
    assert items(agent.ask("search_memories", query="API authentication")) == [
        "[fact] Authentication of the billing API uses tokens"
    ]


def test_the_best_match_comes_first(agent: Speaks, clock: SettableClock) -> None:
    agent.ask("store_memory", category="preference", content="Tea with milk in the morning")
    clock.advance(hours=1)
    agent.ask("store_memory", category="fact", content="The shop in the morning sells bread, cheese and tea")
    clock.advance(hours=1)
    agent.ask("store_memory", category="fact", content="Bread")
    found = items(agent.ask("search_memories", query="tea with milk"))
    assert found == ["[preference] Tea with milk in the morning"]
    found = items(agent.ask("search_memories", query="tea"))
    assert found == [
        "[preference] Tea with milk in the morning",
        "[fact] The shop in the morning sells bread, cheese and tea",
    ]


def test_equal_memories_stay_independent(agent: Speaks) -> None:
    for _ in range(2):
        agent.ask("store_memory", category="fact", content="twins")
    assert agent.ask("list_memories", category="fact") == "My fact memories (2 total):\n- twins\n- twins"


def test_a_call_repeated_with_its_key_stores_once(door: Door, agent: Speaks) -> None:
    for _ in range(2):
        result = door.invoke("categories.store_memory", FITTING["store_memory"], agent.caller, idempotency_key="k")
        assert result.body == "Stored fact memory: API requires auth"
    assert len(agent.kept()) == 1


# Reading counts as access and changes nothing


def test_search_and_list_count_as_access_and_change_no_version(door: Door, agent: Speaks, clock: SettableClock) -> None:
    agent.ask("store_memory", category="fact", content="API requires auth")
    agent.ask("store_memory", category="pattern", content="zebra")
    zebra, auth = sorted(agent.kept(), key=lambda memory: memory["content"], reverse=True)

    def usage() -> dict[str, Any]:
        return dict(space_of(door.store, "ana").usage([auth["id"], zebra["id"]]))

    assert usage() == {}
    clock.advance(hours=1)
    agent.ask("search_memories", query="auth")
    clock.advance(hours=1)
    agent.ask("list_memories", category="fact")
    assert set(usage()) == {auth["id"]}
    assert usage()[auth["id"]].access_count == 2
    assert usage()[auth["id"]].last_accessed_at == clock.now()
    assert [memory["version"] for memory in agent.kept()] == [1, 1]


def test_only_what_a_list_shows_counts_as_read(door: Door, agent: Speaks, clock: SettableClock) -> None:
    for content in ("older", "newer"):
        agent.ask("store_memory", category="fact", content=content)
        clock.advance(minutes=1)
    newer, older = [memory["id"] for memory in agent.kept()]
    agent.ask("list_memories", category="fact", limit=1)
    assert set(space_of(door.store, "ana").usage([newer, older])) == {newer}


# What is found: the engine's `relevant`, with its own embedder

LEARNED = [
    ("fact", "API endpoint is https://api.example.com/v1"),
    ("pattern", "Users often ask about API authentication"),
    ("preference", "User prefers detailed API examples"),
    ("fact", "Database connection requires SSL on port 5432"),
    ("fact", "User authentication uses JWT tokens"),
    ("fact", "PostgreSQL default port is 5432"),
    ("fact", "REST APIs typically use JSON format"),
    ("pattern", "Database queries perform better with indexes"),
    ("preference", "User prefers detailed explanations"),
    ("preference", "System should use UTC timezone"),
    ("capability", "Can generate SQL queries for PostgreSQL"),
    ("capability", "Cannot access external APIs without authentication"),
]
"""The examples of the document's "Respuestas" and "Categorías de Memoria"."""
UNRELATED = [
    "qwxzv",
    "how do I cook pasta",
    "weather in Paris",
    "my dog's birthday",
    "football results",
    "the capital of Mongolia",
    "best chocolate cake recipe",
    "guitar chords",
    "train to Berlin",
    "who painted the Mona Lisa",
    "symptoms of flu",
    "xyzzy",
    "blue whale",
    "mortgage rates",
    "yoga class on Tuesday",
    "tax return deadline",
]


@pytest.fixture
def learned(own_door: Door) -> Callable[[str], str]:
    """Searches what the document's agent has learned."""
    caller = Caller(UserRef("ana"), "assistant")
    for category, content in LEARNED:
        own_door.invoke("categories.store_memory", {"category": category, "content": content}, caller)
    return lambda query: str(own_door.invoke("categories.search_memories", {"query": query}, caller).body)


def test_an_unrelated_query_finds_nothing(learned: Callable[[str], str]) -> None:
    for query in UNRELATED:
        assert learned(query) == f"No memories found for query: {query}"


@pytest.mark.parametrize("query", ["API", "APIs", "What do you know about APIs?"])
def test_a_word_finds_the_memories_that_mention_it_and_no_others(learned: Callable[[str], str], query: str) -> None:
    found = learned(query).splitlines()
    assert found[0] == f"Found 5 memories for '{query}':"
    assert {line.partition("] ")[2] for line in found[1:]} == {text for _, text in LEARNED if "API" in text}
