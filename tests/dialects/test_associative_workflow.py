"""The document's workflows ("Operational Continuity", "Usage Examples"), and how memories behave in scopes.

At the end, what the original server got wrong.
"""

from collections.abc import Callable
from typing import Any

import pytest

from clock import SettableClock
from dialects.associative_story import LONG, NEAR, OTHER, UNKNOWN, stored, told
from steeltrap.invoke import Door
from steeltrap.toolsets import CATALOGUE

TOOLS = CATALOGUE.toolset("associative").tools


def target_ids(answer: Any) -> list[str]:
    return [each["target_id"] for each in answer["associations"]]


# "Operational Continuity": what a level answers suffices for the next call


def test_minimal_suffices_to_store_look_change_and_delete(ana: Callable[..., Any]) -> None:
    low = {"response_level": "minimal"}
    ids = [told(ana, "memory_store", content=content, **low)["memory_id"] for content in (LONG, OTHER)]
    assert told(ana, "memory_search", query="nightly build", **low)["total_count"] == 1
    assert told(ana, "memory_manage", operation="get", memory_id=ids[0], **low)["exists"] is True
    told(ana, "memory_manage", operation="update", memory_id=ids[0], tags=["ci"], **low)
    told(
        ana,
        "memory_move",
        memory_ids=ids,
        target_scope=told(ana, "scope_suggest", content=LONG, **low)["suggested_scope"],
        **low,
    )
    told(ana, "memory_manage", operation="delete", memory_id=ids[0], **low)
    assert told(ana, "memory_manage", operation="get", memory_id=ids[0], **low)["exists"] is False
    assert told(ana, "memory_list_all", **low)["total_count"] == 1


def test_minimal_suffices_to_work_in_a_session(ana: Callable[..., Any]) -> None:
    low = {"response_level": "minimal"}
    session = told(ana, "session_manage", action="create", **low)["session_id"]
    told(ana, "memory_store", content="Try the blue branch.", scope=f"session/{session}", **low)
    assert told(ana, "memory_search", query="branch", scope=f"session/{session}", **low)["total_count"] == 1
    told(ana, "session_manage", action="cleanup", session_id=session, max_age_days=0, **low)
    assert told(ana, "memory_list_all", **low)["total_count"] == 0


def test_standard_suffices_from_search_to_associations_to_a_move(ana: Callable[..., Any]) -> None:
    for content in (LONG, NEAR):
        told(ana, "memory_store", content=content, scope="work/build")
    found = told(ana, "memory_search", query="nightly build")["results"][0]
    linked = told(ana, "memory_discover_associations", memory_id=found["id"])["associations"][0]
    assert linked["target_id"] != found["id"]
    target = told(ana, "scope_list", parent_scope=found["scope"].split("/")[0])["scopes"][-1]["name"]
    moved = told(ana, "memory_move", memory_ids=[linked["target_id"]], target_scope=f"{target}/old")
    listed = told(ana, "memory_list_all")["memories"]
    assert {each["scope"] for each in listed} == {"work/build", moved["target_scope"]}
    assert told(ana, "memory_manage", operation="get", memory_id=listed[0]["id"])["memory"]["id"] == listed[0]["id"]


def test_standard_suffices_from_an_export_to_an_import(ana: Callable[..., Any]) -> None:
    told(ana, "memory_store", content=LONG)
    written = told(ana, "memory_sync", operation="export")
    read = told(ana, "memory_sync", operation="import", file_path=written["file_path"], scope="copy")
    assert (written["item_count"], read["item_count"]) == (1, 1)


def test_standard_suffices_from_a_list_of_sessions_to_the_end_of_one(
    ana: Callable[..., Any], clock: SettableClock
) -> None:
    told(ana, "session_manage", action="create", session_id="first")
    clock.advance(days=3)
    told(ana, "session_manage", action="create", session_id="second")
    oldest = max(told(ana, "session_manage", action="list")["session_info"], key=lambda each: each["age_days"])
    assert (oldest["session_id"], oldest["age_days"]) == ("first", 3.0)
    ended = told(ana, "session_manage", action="cleanup", session_id=oldest["session_id"], max_age_days=3)
    assert [each["session_id"] for each in ended["session_info"]] == ["first"]
    assert [each["session_id"] for each in told(ana, "session_manage", action="list")["session_info"]] == ["second"]


def test_full_suffices_to_undo_an_update_by_hand(ana: Callable[..., Any]) -> None:
    id = stored(ana, LONG, tags=["ci"], metadata={"a": 1})
    done = told(
        ana,
        "memory_manage",
        operation="update",
        memory_id=id,
        content=OTHER,
        tags=["tea"],
        metadata={"b": 2},
        response_level="full",
    )
    change = done["change_details"]
    assert list(change["before"]) == list(change["after"]) == ["content", "tags", "metadata"]
    assert change["before"] == {"content": LONG, "tags": ["ci"], "metadata": {"a": 1}}
    assert change["after"] == {"content": OTHER, "tags": ["tea"], "metadata": {"a": 1, "b": 2}}
    told(ana, "memory_manage", operation="update", memory_id=id, content=change["before"]["content"])
    memory = told(ana, "memory_manage", operation="get", memory_id=id, response_level="full")
    assert (memory["memory"]["content"], memory["memory"]["version"]) == (LONG, 3)


def test_a_get_counts_as_a_reading_and_changes_no_version(ana: Callable[..., Any], door: Door) -> None:
    id = stored(ana, LONG)
    get = {"operation": "get", "memory_id": id, "response_level": "full"}
    assert told(ana, "memory_manage", **get)["metadata"]["access_count"] == 0
    assert told(ana, "memory_manage", **get)["metadata"] == {
        "access_count": 1,
        "last_accessed_at": "2026-01-01T12:00:00Z",
    }


# Duplicates


def test_the_same_text_of_a_scope_is_stored_once(ana: Callable[..., Any]) -> None:
    first = told(ana, "memory_store", content="Deploys are on Friday.", scope="work", tags=["a"])
    again = told(
        ana, "memory_store", content="  deploys ARE on\nfriday. ", scope="work", tags=["b"], response_level="full"
    )
    assert again["memory_id"] == first["memory_id"]
    brief = told(ana, "memory_store", content="Deploys are on Friday.", scope="work")
    assert (brief["memory_id"], brief["duplicate_of"]) == (first["memory_id"], first["memory_id"])
    assert again["duplicate_analysis"] == {
        "is_duplicate": True,
        "nearest_id": first["memory_id"],
        "similarity": 1.0,
    }
    assert again["memory_object"]["tags"] == ["a"]
    assert told(ana, "memory_list_all")["total_count"] == 1


@pytest.mark.parametrize("arguments", [{"allow_duplicates": True}, {"scope": "elsewhere"}])
def test_the_same_text_is_stored_again_where_that_is_wanted_or_elsewhere(
    ana: Callable[..., Any], arguments: dict[str, Any]
) -> None:
    first = stored(ana, LONG)
    second = told(ana, "memory_store", content=LONG, **arguments, response_level="full")
    assert second["memory_id"] != first
    assert "duplicate_of" not in second
    assert second["duplicate_analysis"]["similarity"] >= 0.999
    assert second["duplicate_analysis"]["is_duplicate"] is False


def test_a_text_of_the_same_words_in_another_order_is_kept(ana: Callable[..., Any]) -> None:
    first = stored(ana, "Alice lent money to Bob")
    second = told(ana, "memory_store", content="Bob lent money to Alice", response_level="full")
    assert second["memory_id"] != first
    assert second["duplicate_analysis"]["similarity"] >= 0.999


def test_a_deleted_text_is_stored_again(ana: Callable[..., Any]) -> None:
    first = stored(ana, LONG)
    told(ana, "memory_manage", operation="delete", memory_id=first)
    again = told(ana, "memory_store", content=LONG)
    assert again["memory_id"] != first
    assert "duplicate_of" not in again


def test_a_threshold_refuses_what_is_similar_in_the_scope_and_says_how_similar(ana: Callable[..., Any]) -> None:
    stored(ana, "Deploys are on Friday.", scope="work")
    near = {"content": "Deploys are on Monday.", "duplicate_threshold": 0.4}
    body = ana("associative.memory_store", scope="work", **near).body
    assert body == {
        "success": False,
        "error": {"code": "conflict", "message": "Duplicate content detected (similarity: 0.5 >= 0.4)"},
    }
    assert told(ana, "memory_store", scope="home", **near)["scope"] == "home"
    assert told(ana, "memory_store", scope="work", content=near["content"], duplicate_threshold=0.9)
    assert told(ana, "memory_list_all")["total_count"] == 3


# Associations


def test_similar_memories_of_a_scope_are_associated_both_ways(ana: Callable[..., Any]) -> None:
    first = stored(ana, LONG, scope="work")
    stored(ana, NEAR, scope="home")
    second = told(ana, "memory_store", content=NEAR, scope="work", response_level="full")
    assert len(second["associations_details"]) == 1
    assert [each["target_id"] for each in second["associations_details"]] == [first]
    got = told(ana, "memory_manage", operation="get", memory_id=first, response_level="full")
    assert [each["target_id"] for each in got["associations"]] == [second["memory_id"]]
    assert got["associations"][0]["strength"] >= 0.7


def test_nothing_is_associated_when_that_is_not_wanted(ana: Callable[..., Any]) -> None:
    stored(ana, LONG)
    assert told(ana, "memory_store", content=NEAR, auto_associate=False)["associations_count"] == 0


def test_an_update_of_the_text_finds_the_associations_anew(ana: Callable[..., Any]) -> None:
    first, second = stored(ana, LONG), stored(ana, NEAR)
    tea = stored(ana, OTHER)
    told(ana, "memory_manage", operation="update", memory_id=second, content=OTHER + " Always.")
    got = told(ana, "memory_manage", operation="get", memory_id=second, response_level="full")
    assert [each["target_id"] for each in got["associations"]] == [tea]
    got = told(ana, "memory_manage", operation="get", memory_id=first, response_level="full")
    assert got["associations"] == []


def test_an_update_of_either_end_ends_an_association_that_holds_no_more(ana: Callable[..., Any]) -> None:
    first, second = stored(ana, LONG), stored(ana, NEAR)
    told(ana, "memory_manage", operation="update", memory_id=first, content=OTHER)
    for id in (first, second):
        got = told(ana, "memory_manage", operation="get", memory_id=id, response_level="full")
        assert got["associations"] == []
        assert ana("core.associations", id=id).body["associations"] == []


def test_an_association_is_gone_with_either_end(ana: Callable[..., Any]) -> None:
    first, second = stored(ana, LONG), stored(ana, NEAR)
    told(ana, "memory_manage", operation="delete", memory_id=second)
    got = told(ana, "memory_manage", operation="get", memory_id=first, response_level="full")
    assert got["associations"] == []
    assert target_ids(told(ana, "memory_discover_associations", memory_id=first)) == []


def test_discovery_looks_through_every_scope_and_has_links_made_by_hand(ana: Callable[..., Any]) -> None:
    source = stored(ana, LONG, scope="work")
    near, tea = stored(ana, NEAR, scope="home"), stored(ana, OTHER, scope="food")
    ana("core.associate", id=tea, target_id=source, strength=0.99)
    found = told(ana, "memory_discover_associations", memory_id=source, response_level="full")
    assert target_ids(found) == [tea, near]
    assert [each["manual"] for each in found["associations"]] == [True, False]
    assert found["discovery_metadata"] == {
        "source_scope": "work",
        "scopes": ["food", "home"],
        "manual_count": 1,
        "threshold": 0.1,
    }
    assert target_ids(told(ana, "memory_discover_associations", memory_id=source, limit=1)) == [tea]
    assert target_ids(told(ana, "memory_discover_associations", memory_id=source, threshold=0.98)) == [tea]


def test_the_originals_name_of_the_threshold_is_taken_too(ana: Callable[..., Any]) -> None:
    source, near = stored(ana, LONG), stored(ana, NEAR)
    asked = {"memory_id": source}
    assert target_ids(told(ana, "memory_discover_associations", **asked, similarity_threshold=0.5)) == [near]
    assert target_ids(told(ana, "memory_discover_associations", **asked, similarity_threshold=1)) == []


# Moving


def test_a_move_finds_automatic_associations_anew_and_keeps_those_made_by_hand(ana: Callable[..., Any]) -> None:
    moved, left = stored(ana, LONG, scope="work"), stored(ana, NEAR, scope="work")
    there = stored(ana, LONG + " Twice.", scope="archive")
    tea = stored(ana, OTHER, scope="food")
    ana("core.associate", id=moved, target_id=tea, strength=0.4)
    told(ana, "memory_move", memory_ids=[moved], target_scope="archive")
    got = told(ana, "memory_manage", operation="get", memory_id=moved, response_level="full")
    linked = [each["target_id"] for each in got["associations"]]
    assert there in linked
    assert tea in linked
    assert left not in linked


def test_a_move_lists_what_could_not_be_moved(ana: Callable[..., Any]) -> None:
    ids = [stored(ana, LONG, scope="a"), stored(ana, OTHER, scope="b")]
    moved = told(
        ana, "memory_move", memory_ids=[ids[0], UNKNOWN, ids[1], ids[0]], target_scope="c", response_level="full"
    )
    assert moved["moved_items"] == ids
    assert moved["source_scope"] == ["a", "b"]
    [failed] = moved["failed"]
    assert (failed["memory_id"], failed["code"]) == (UNKNOWN, "not_found")


def test_the_source_of_a_move_is_a_string_when_it_is_one_scope(ana: Callable[..., Any]) -> None:
    ids = [stored(ana, LONG, scope="a"), stored(ana, OTHER, scope="a")]
    moved = told(ana, "memory_move", memory_ids=ids, target_scope="b", response_level="full")
    assert moved["source_scope"] == "a"


def test_a_move_to_where_it_is_changes_nothing(ana: Callable[..., Any]) -> None:
    id = stored(ana, LONG, scope="a")
    assert told(ana, "memory_move", memory_ids=[id], target_scope="a")["moved_count"] == 1
    got = told(ana, "memory_manage", operation="get", memory_id=id, response_level="full")
    assert got["memory"]["version"] == 1


# Searching


def test_a_scope_is_searched_alone_unless_its_child_scopes_are_asked_for(ana: Callable[..., Any]) -> None:
    direct = stored(ana, "otter one", scope="work")
    below = stored(ana, "otter two", scope="work/pond")
    stored(ana, "otter three", scope="workshop")

    def found(**arguments: Any) -> set[str]:
        return {each["id"] for each in told(ana, "memory_search", query="otter", **arguments)["results"]}

    assert found(scope="work") == {direct}
    assert found(scope="work", include_child_scopes=True) == {direct, below}
    assert len(found()) == 3


def test_the_threshold_is_a_floor_that_words_in_common_pass(ana: Callable[..., Any]) -> None:
    stored(ana, "A very long list of things: otter, " + "river stone moss leaf twig acorn " * 5)
    low = told(ana, "memory_search", query="otter", similarity_threshold=0.9, response_level="full")
    assert low["total_count"] == 1
    assert low["results"][0]["similarity"] < 0.9
    none = told(ana, "memory_search", query="spaceship", similarity_threshold=0.9, response_level="full")
    assert (none["results"], none["search_metadata"]["outcome"]) == ([], "below_floor")
    assert none["search_metadata"]["threshold"] == 0.9


def test_a_diversified_search_leaves_out_what_is_like_a_better_result(ana: Callable[..., Any]) -> None:
    for i in range(4):
        stored(ana, f"The nightly build deploys the staging server, number {i}", allow_duplicates=True)
    other = stored(ana, "The build of the website takes a minute")
    plain = told(ana, "memory_search", query="build of the staging server", limit=2)
    assert other not in [each["id"] for each in plain["results"]]
    diverse = told(ana, "memory_search", query="build of the staging server", limit=2, mode="diversified")
    assert diverse["results"][0]["id"] == plain["results"][0]["id"]
    assert diverse["results"][1]["id"] == other
    few = told(
        ana,
        "memory_search",
        query="build of the staging server",
        limit=2,
        mode="diversified",
        expansion_factor=1,
        max_expansion_factor=1.5,
    )
    assert (len(few["results"]), few["total_count"]) == (1, 5)


def test_associations_come_with_results_at_full_unless_left_out(ana: Callable[..., Any]) -> None:
    for i in range(6):
        stored(ana, f"{LONG} {'again ' * i}")
    search = {"query": "nightly build", "response_level": "full"}
    results = told(ana, "memory_search", **search)["results"]
    assert len(results[0]["associations"]) == max(len(each["associations"]) for each in results) == 3
    told_of = {frozenset((each["id"], other["target_id"])) for each in results for other in each["associations"]}
    assert all(any(each["id"] in pair for pair in told_of) for each in results)
    without = told(ana, "memory_search", **search, include_associations=False)
    assert all("associations" not in each for each in without["results"])


def test_a_search_says_what_happened_beside_the_answer(ana: Callable[..., Any]) -> None:
    assert ana("associative.memory_search", query="x").outcome.kind == "nothing_stored"
    stored(ana, LONG)
    assert ana("associative.memory_search", query="build", scope="none").outcome.kind == "filtered_out"


# Scopes


def test_scopes_are_listed_with_those_above_them(ana: Callable[..., Any], clock: SettableClock) -> None:
    stored(ana, "otter one", scope="work/pond/deep")
    clock.advance(hours=1)
    stored(ana, "otter two", scope="work")
    stored(ana, "otter three", scope="workshop")
    listed = told(ana, "scope_list", response_level="full")
    assert [(each["name"], each["memory_count"], each["total_memory_count"]) for each in listed["scopes"]] == [
        ("work", 1, 2),
        ("work/pond", 0, 1),
        ("work/pond/deep", 1, 1),
        ("workshop", 1, 1),
    ]
    work, pond, _, _ = listed["scopes"]
    assert (work["child_scopes"], pond["parent"], pond["depth"]) == (["work/pond"], "work", 2)
    assert (pond["last_written_at"], work["last_written_at"]) == ("2026-01-01T12:00:00Z", "2026-01-01T13:00:00Z")
    assert listed["statistics"] == {"scope_count": 4, "top_scopes": 2, "max_depth": 3, "total_memories": 3}


def test_the_scopes_below_one_are_listed_without_the_others(ana: Callable[..., Any]) -> None:
    for scope in ("work", "work/pond", "workshop"):
        stored(ana, "otter", scope=scope)
    listed = told(ana, "scope_list", parent_scope="work", include_memory_counts=False)
    assert listed == {"success": True, "scopes": [{"name": "work"}, {"name": "work/pond"}]}


def test_the_scope_of_similar_memories_is_suggested(ana: Callable[..., Any]) -> None:
    stored(ana, LONG, scope="machines/build")
    stored(ana, OTHER, scope="people/ana")
    suggested = told(ana, "scope_suggest", content="Who runs the nightly build?", response_level="full")
    assert suggested["suggestion_analysis"]["suggested_scope"] == "machines/build"
    assert suggested["suggestion_analysis"]["basis"] == "stored_memories"
    assert "machines/build" in suggested["reasoning"]
    assert "machines/build" not in {each["scope"] for each in suggested["all_alternatives"]}


def test_a_session_is_suggested_only_when_it_is_the_current_one(ana: Callable[..., Any]) -> None:
    stored(ana, LONG, scope="session/today")
    assert told(ana, "scope_suggest", content=NEAR)["suggested_scope"] != "session/today"
    asked = {"content": NEAR, "current_scope": "session/today"}
    assert told(ana, "scope_suggest", **asked)["suggested_scope"] == "session/today"


def test_what_fits_nowhere_stays_in_the_current_scope_or_the_default(ana: Callable[..., Any]) -> None:
    assert told(ana, "scope_suggest", content="zzz")["suggested_scope"] == "user/default"
    kept = told(ana, "scope_suggest", content="zzz", current_scope="work/x", response_level="full")
    analysis = kept["suggestion_analysis"]
    assert (analysis["suggested_scope"], analysis["confidence"]) == ("work/x", 0.0)
    assert analysis["basis"] == "current_scope"


# Sessions


def test_a_session_is_named_by_the_time_and_never_twice(ana: Callable[..., Any]) -> None:
    ids = [told(ana, "session_manage", action="create")["session_info"]["session_id"] for _ in range(3)]
    assert ids == ["session-20260101-120000", "session-20260101-120000-2", "session-20260101-120000-3"]


def test_a_session_that_is_there_is_left_as_it_is(ana: Callable[..., Any], clock: SettableClock) -> None:
    told(ana, "session_manage", action="create", session_id="release")
    stored(ana, LONG, scope="session/release")
    clock.advance(days=1)
    again = told(ana, "session_manage", action="create", session_id="release", response_level="full")
    assert again["session_details"]["created_at"] == "2026-01-01T12:00:00Z"
    again = told(ana, "session_manage", action="create", session_id="release")
    assert again["session_info"] == {"session_id": "release", "memory_count": 1, "age_days": 1.0}
    assert again["action_summary"].startswith("There already")


def test_what_has_memories_is_a_session_also_when_nobody_created_it(ana: Callable[..., Any]) -> None:
    stored(ana, "otter one", scope="session/wild")
    stored(ana, "otter two", scope="session/wild/deep")
    stored(ana, "otter three", scope="session")
    listed = told(ana, "session_manage", action="list", response_level="full")
    assert listed["session_details"] == [
        {
            "session_id": "wild",
            "memory_count": 1,
            "age_days": 0.0,
            "scope": "session/wild",
            "total_memory_count": 2,
            "last_activity": "2026-01-01T12:00:00Z",
        }
    ]


def test_age_counts_from_the_last_activity(ana: Callable[..., Any], clock: SettableClock) -> None:
    told(ana, "session_manage", action="create", session_id="busy")
    told(ana, "session_manage", action="create", session_id="idle")
    clock.advance(days=5)
    stored(ana, "otter", scope="session/busy/deep")
    clock.advance(days=2)
    ages = {each["session_id"]: each["age_days"] for each in told(ana, "session_manage", action="list")["session_info"]}
    assert ages == {"busy": 2.0, "idle": 7.0}
    ended = told(ana, "session_manage", action="cleanup")
    assert [each["session_id"] for each in ended["session_info"]] == ["idle"]
    clock.advance(days=4, hours=23)
    assert told(ana, "session_manage", action="cleanup")["session_info"] == []
    clock.advance(hours=1)
    assert len(told(ana, "session_manage", action="cleanup")["session_info"]) == 1


def test_a_cleanup_deletes_with_undo_and_spares_what_is_pinned(ana: Callable[..., Any], clock: SettableClock) -> None:
    told(ana, "session_manage", action="create", session_id="old")
    loose, below = stored(ana, LONG, scope="session/old"), stored(ana, NEAR, scope="session/old/deep")
    pinned, outside = stored(ana, OTHER, scope="session/old"), stored(ana, "otter", scope="sessions")
    ana("core.update", id=pinned, pinned=True)
    clock.advance(days=8)
    ended = told(ana, "session_manage", action="cleanup", response_level="full")
    assert set(ended["affected_memories"]) == {loose, below}
    assert ended["cleanup_stats"] == {"sessions": 1, "deleted": 2, "spared": 1, "more": False}
    assert {each["id"] for each in told(ana, "memory_list_all")["memories"]} == {pinned, outside}
    assert [each["session_id"] for each in told(ana, "session_manage", action="list")["session_info"]] == ["old"]
    assert ana("core.undo", id=loose).body["content"] == LONG


def test_a_cleanup_of_one_session_leaves_the_others_and_a_young_one(
    ana: Callable[..., Any], clock: SettableClock
) -> None:
    for name in ("a", "b"):
        told(ana, "session_manage", action="create", session_id=name)
    clock.advance(days=8)
    told(ana, "session_manage", action="create", session_id="young")
    for name in ("b", "young", "unknown"):
        told(ana, "session_manage", action="cleanup", session_id=name)
    left = [each["session_id"] for each in told(ana, "session_manage", action="list")["session_info"]]
    assert left == ["young", "a"]


# What the original got wrong


@pytest.mark.parametrize("name", ["memory_search", "memory_list_all", "memory_discover_associations"])
def test_search_list_and_discovery_have_the_level_too(name: str) -> None:
    assert "response_level" in TOOLS[name].input_schema["properties"]


def test_a_store_keeps_tags_category_and_metadata(ana: Callable[..., Any]) -> None:
    given = {"tags": ["CI"], "category": "fact", "metadata": {"source": {"page": 3}}}
    kept = told(ana, "memory_store", content=LONG, **given, response_level="full")["memory_object"]
    assert {name: kept[name] for name in given} == given


def test_a_store_counts_its_associations(ana: Callable[..., Any]) -> None:
    assert told(ana, "memory_store", content=LONG)["associations_count"] == 0
    assert told(ana, "memory_store", content=NEAR)["associations_count"] == 1


def test_an_update_of_metadata_keeps_the_rest(ana: Callable[..., Any]) -> None:
    id = stored(ana, LONG, metadata={"a": 1, "b": 2}, tags=["ci"])
    told(ana, "memory_manage", operation="update", memory_id=id, metadata={"b": None, "c": 3})
    got = told(ana, "memory_manage", operation="get", memory_id=id, response_level="full")["memory"]
    assert (got["metadata"], got["tags"], got["content"]) == ({"a": 1, "c": 3}, ["ci"], LONG)


def test_a_session_is_listed_and_cleaned_up(ana: Callable[..., Any], clock: SettableClock) -> None:
    told(ana, "session_manage", action="create", session_id="s")
    stored(ana, LONG, scope="session/s")
    assert told(ana, "session_manage", action="list")["action_summary"] == "1 session."
    clock.advance(days=8)
    assert told(ana, "session_manage", action="cleanup")["action_summary"] == "1 session ended, 1 memory deleted."
    assert told(ana, "session_manage", action="list")["session_info"] == []


def test_a_good_morning_is_no_go_program(ana: Callable[..., Any]) -> None:
    assert told(ana, "scope_suggest", content="good")["suggested_scope"] == "user/default"
