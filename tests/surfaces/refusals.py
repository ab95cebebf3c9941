"""Bad input: what is sent, and what must be said of it."""

from dataclasses import dataclass
from typing import Any

OWN_ID = "OWN-ID"
OTHER_ID = "OTHER-ID"
_NOBODY = "00000000-0000-4000-8000-000000000000"

# The Python facade raises the engine's error, which knows no dialect.
_PYTHON = frozenset({"python", "client-http", "client-lambda"})
# Clients of MCP write NaN as null and refuse half a surrogate pair before anything is sent.
_MCP = frozenset({"mcp-http", "mcp-stdio"})
# Action groups send every value as a text.
_TEXTS = frozenset({"bedrock-openapi", "bedrock-functions"})


@dataclass(frozen=True)
class Case:
    """One call: the code of its refusal and words that its sentence must have."""

    name: str
    tool: str
    arguments: dict[str, Any]
    says: str
    code: str = "invalid_input"
    not_on: frozenset[str] = frozenset()


def _deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


BAD = [
    Case("word for a number", "core.search", {"query": "x", "limit": "many"}, "an integer from 1 to 1000"),
    Case("fraction for an integer", "core.search", {"query": "x", "limit": 1.5}, "an integer from 1 to 1000"),
    Case("truth for a number", "core.search", {"query": "x", "limit": True}, "an integer from 1 to 1000"),
    Case("limit of nothing", "core.search", {"query": "x", "limit": 0}, "an integer from 1 to 1000"),
    Case("huge limit", "core.list", {"limit": 10**18}, "an integer from 1 to 1000"),
    Case("huge offset", "core.list", {"offset": 10**18}, "`offset`"),
    Case("number for a text", "core.save", {"content": 5}, "`content` must be a string", not_on=_TEXTS),
    Case("list for a text", "core.save", {"content": ["a"]}, "`content` must be a string", not_on=_TEXTS),
    Case("number for a list", "core.save", {"content": "x", "tags": 5}, "`tags` must be a list", not_on=_TEXTS),
    Case("number in a list of texts", "core.save", {"content": "x", "tags": ["a", 5]}, "`tags.1`"),
    Case("text for an object", "core.save", {"content": "x", "metadata": "soon"}, "`metadata` must be a JSON object"),
    Case("list for an object", "core.save", {"content": "x", "metadata": [1]}, "`metadata` must be a JSON object"),
    Case("word for a truth", "core.save", {"content": "x", "pinned": "perhaps"}, "true or false"),
    Case("no such tier", "core.save", {"content": "x", "tier": "forever"}, "one of"),
    Case("word for a time", "core.save", {"content": "x", "occurred_at": "yesterday"}, "2026-01-31"),
    Case("number for a time", "core.save", {"content": "x", "occurred_at": 5}, "2026-01-31"),
    Case("confidence above one", "core.save", {"content": "x", "confidence": 1.5}, "a number from 0 to 1"),
    Case("nothing given", "core.save", {}, "`content` is required"),
    Case("null for what is required", "core.save", {"content": None}, "`content`"),
    Case("field that is none", "core.search", {"query": "x", "limti": 3}, "did you mean `limit`?"),
    Case("user in the arguments", "core.save", {"content": "x", "user_id": "bob"}, "`user_id` is not a field here"),
    Case("agent in the arguments", "core.search", {"query": "x", "agent_id": "a"}, "`agent_id` is not a field here"),
    Case("blank content", "core.save", {"content": " \n\t"}, "must not be empty"),
    Case("empty content", "core.save", {"content": ""}, "`content`"),
    Case("blank query", "core.search", {"query": "  "}, "query"),
    Case("content of too many characters", "core.save", {"content": "a" * 32_769}, "32,768"),
    Case("content of too many bytes", "core.save", {"content": "語" * 20_000}, "32,768", "too_large"),
    Case("query too long", "core.search", {"query": "a" * 8193}, "8,192"),
    Case("metadata too large", "core.save", {"content": "x", "metadata": {"a": "b" * 17_000}}, "16,384", "too_large"),
    Case("metadata too deep", "core.save", {"content": "x", "metadata": _deep(40)}, "32 levels"),
    Case("too many tags", "core.save", {"content": "x", "tags": [str(n) for n in range(65)]}, "64"),
    Case("tag too long", "core.save", {"content": "x", "tags": ["a" * 129]}, "128"),
    Case("scope that leaves", "core.save", {"content": "x", "scope": "../other"}, "a path such as"),
    Case("not a number", "core.save", {"content": "x", "confidence": float("nan")}, "", not_on=_MCP),
    Case("infinity inside", "core.save", {"content": "x", "metadata": {"a": float("inf")}}, "", not_on=_MCP),
    Case("half a surrogate pair", "core.save", {"content": "x\ud800"}, "surrogate", not_on=_MCP),
    Case("half a pair in a key", "core.save", {"content": "x", "metadata": {"\udc00": 1}}, "surrogate", not_on=_MCP),
    Case("NUL in a text", "core.save", {"content": "a\x00b"}, "NUL"),
    Case("NUL in a query", "core.search", {"query": "a\x00b"}, "NUL"),
    Case("NUL in a list", "core.save", {"content": "x", "tags": ["a\x00"]}, "NUL"),
    Case("field that is none in an item", "core.batch_save", {"items": [{"contents": "x"}]}, "`items.0.contents`"),
    Case("too many items", "core.batch_save", {"items": [{"content": "x"}] * 101}, "100"),
    Case("no items", "core.batch_save", {"items": []}, "`items`"),
    Case("delete without saying what", "core.delete", {}, "exactly one of"),
    Case("merge of one", "core.consolidate", {"ids": [OWN_ID]}, "2 to 50"),
    Case("edit of a version gone by", "core.update", {"id": OWN_ID, "content": "x", "version": 9}, "", "conflict"),
    Case("unknown id", "core.get", {"id": _NOBODY}, _NOBODY, "not_found"),
    Case("id that is no id", "core.get", {"id": "../../etc/passwd"}, "", "not_found"),
    Case("id of wildcards", "core.get", {"id": "%"}, "", "not_found"),
    Case("filter by an object", "core.search", {"query": "x", "metadata": {"a": {"b": 1}}}, "plain value"),
    Case("notes: nothing given", "notes.memory_search", {}, "`query` is required"),
    Case("notes: blank query", "notes.memory_search", {"query": " "}, "query must not be empty"),
    Case("notes: limit of nothing", "notes.memory_search", {"query": "x", "top_k": 0}, "top_k must be at least 1"),
    Case("notes: blank content", "notes.memory_save", {"content": " "}, "content must not be empty"),
    Case(
        "notes: unknown note",
        "notes.memory_delete",
        {"note_id": "note-1"},
        "note `note-1` not found",
        "not_found",
        _PYTHON,
    ),
    Case("categories: nothing given", "categories.store_memory", {}, "`category` is required"),
    Case(
        "categories: no such category",
        "categories.store_memory",
        {"category": "idea", "content": "x"},
        "Invalid category 'idea'. Must be one of: ['fact', 'pattern', 'preference', 'capability']",
    ),
    Case(
        "categories: too sure",
        "categories.store_memory",
        {"category": "fact", "content": "x", "confidence": 2},
        "Confidence must be between 0.0 and 1.0, got 2.0",
    ),
    Case(
        "categories: blank content",
        "categories.store_memory",
        {"category": "fact", "content": " "},
        "must not be empty",
    ),
    Case("categories: blank query", "categories.search_memories", {"query": " "}, "must not be empty"),
    Case("categories: limit beyond", "categories.search_memories", {"query": "x", "limit": 21}, "from 1 to 20"),
    Case("records: nothing given", "records.memory_store", {}, "`content` is required"),
    Case("records: blank content", "records.memory_store", {"content": " "}, "Content cannot be empty"),
    Case("records: blank query", "records.memory_search", {"query": " "}, "query"),
    Case("records: limit beyond", "records.memory_search", {"query": "x", "top_k": 1001}, "from 1 to 1000"),
    Case("records: score beyond", "records.memory_set_score", {"id": OWN_ID, "score": 1.1}, "from 0 to 1"),
    Case("records: delete without saying what", "records.memory_delete", {}, "exactly one of"),
    Case("records: two ways to delete", "records.memory_delete", {"id": OWN_ID, "ids": [OWN_ID]}, "exactly one of"),
    Case("records: merge of one", "records.memory_consolidate", {"memory_ids": [OWN_ID, OWN_ID]}, "2 to 50"),
    Case("records: unknown id", "records.memory_get", {"id": _NOBODY}, _NOBODY, "not_found"),
    Case("categories: agent given", "categories.list_memories", {"category": "fact", "agent_id": "a"}, "not a field"),
]

MENDED = [
    Case("number as a text", "core.search", {"query": "keep", "limit": "5"}, "Keep this sentence."),
    Case("whole number with a point", "core.search", {"query": "keep", "limit": 5.0}, "Keep this sentence."),
    Case("truth as a text", "core.search", {"query": "keep", "include_conversation": "true"}, "Keep this sentence."),
    Case("one text for a list", "core.search", {"query": "keep", "tags": "kept"}, "Keep this sentence."),
    Case("list as a text of JSON", "core.search", {"query": "keep", "tags": '["kept"]'}, "Keep this sentence."),
    Case("object as a text of JSON", "core.search", {"query": "keep", "metadata": '{"a": 1}'}, "filtered_out"),
    Case("null for what may be left out", "core.search", {"query": "keep", "tags": None}, "Keep this sentence."),
    Case("the most that may be asked for", "core.search", {"query": "keep", "limit": 1000}, "Keep this sentence."),
    Case("note's id for an id", "core.history", {"id": OWN_ID}, "Keep this sentence."),
    Case("notes: more than the most", "notes.memory_search", {"query": "keep", "top_k": 500}, "Keep this sentence."),
]

UNKNOWN: list[tuple[str, dict[str, Any]]] = [
    ("agent.revise_memory", {"id": OTHER_ID, "content": "mine now"}),
    ("agent.forget_memory", {"id": OTHER_ID}),
    ("agent.undo_memory_change", {"id": OTHER_ID}),
    ("core.get", {"id": OTHER_ID}),
    ("core.history", {"id": OTHER_ID}),
    ("core.update", {"id": OTHER_ID, "content": "mine now"}),
    ("core.batch_update", {"updates": [{"id": OTHER_ID, "content": "mine now"}]}),
    ("core.delete", {"id": OTHER_ID}),
    ("core.delete", {"ids": [OTHER_ID]}),
    ("core.undo", {"id": OTHER_ID}),
    ("core.forget", {"id": OTHER_ID}),
    ("core.move", {"ids": [OTHER_ID], "scope": "mine"}),
    ("core.associate", {"id": OWN_ID, "target_id": OTHER_ID}),
    ("core.associate", {"id": OTHER_ID, "target_id": OWN_ID}),
    ("core.associations", {"id": OTHER_ID}),
    ("core.associations", {"id": OTHER_ID, "discover": True}),
    ("core.consolidate", {"ids": [OWN_ID, OTHER_ID]}),
    ("core.export", {"after": OTHER_ID}),
    ("core.score", {"id": OTHER_ID}),
    ("core.set_score", {"id": OTHER_ID, "score": 1}),
    ("records.memory_get", {"id": OTHER_ID}),
    ("records.memory_update", {"id": OTHER_ID, "content": "mine now"}),
    ("records.memory_delete", {"id": OTHER_ID}),
    ("records.memory_delete", {"ids": [OTHER_ID]}),
    ("records.memory_batch_update", {"updates": [{"id": OTHER_ID, "content": "mine now"}]}),
    ("records.memory_get_score", {"id": OTHER_ID}),
    ("records.memory_set_score", {"id": OTHER_ID, "score": 1}),
    ("records.memory_consolidate", {"memory_ids": [OWN_ID, OTHER_ID]}),
    ("notes.memory_update", {"note_id": OTHER_ID, "content": "mine now"}),
    ("notes.memory_delete", {"note_id": OTHER_ID}),
]
