"""`core`: what its tools promise beyond one call each."""

import dataclasses
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from clock import SettableClock
from embedding import HashedWords
from steeltrap.engine.updating import update
from steeltrap.invoke import Door
from steeltrap.model import Caller, Edit, UserRef
from steeltrap.ports import Change, Create, Space
from steeltrap.ranking.budget import estimate_tokens
from steeltrap.runtime.local import open_door
from steeltrap.settings import read_settings

ANA = Caller(UserRef("ana"), "assistant")


def saved(ask: Callable[..., Any], content: str, **fields: Any) -> str:
    return str(ask("core.save", content=content, **fields).body["id"])


def contents(ask: Callable[..., Any]) -> set[str]:
    return {memory["content"] for memory in ask("core.list").body["memories"]}


# Batches


@pytest.mark.parametrize(
    ("tool", "items"),
    [
        ("batch_save", [{"content": "good"}, {"content": "bad", "scope": "//"}]),
        ("batch_update", [{"id": "ID", "content": "better"}, {"id": "nobody", "content": "x"}]),
    ],
)
def test_a_rollback_that_wrote_nothing_is_an_error_that_names_the_item(
    ana: Callable[..., Any], tool: str, items: list[dict[str, str]]
) -> None:
    id = saved(ana, "stays")
    named = [{k: id if v == "ID" else v for k, v in item.items()} for item in items]
    result = ana(f"core.{tool}", **{"items" if tool == "batch_save" else "updates": named})
    assert result.error is not None
    assert result.error.message.startswith("Item 1: ")
    assert result.error.message.endswith("Nothing was written.")
    assert [error["index"] for error in result.error.details["errors"]] == [1]
    assert contents(ana) == {"stays"}


def test_continue_keeps_the_rest_and_stop_keeps_what_came_before(ana: Callable[..., Any]) -> None:
    items = [{"content": "one"}, {"content": "bad", "scope": "//"}, {"content": "three"}]
    kept = ana("core.batch_save", items=items, on_error="continue").body
    assert ([error["index"] for error in kept["errors"]], len(kept["ids"])) == ([1], 2)
    assert len(ana("core.batch_save", items=items, on_error="stop").body["ids"]) == 1


# When it happened, and until when


ENDS_FIRST = {"occurred_at": "2026-05-14T09:00:00Z", "occurred_until": "2026-05-14T08:00:00Z"}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("save", {"content": "The fair", **ENDS_FIRST}),
        ("save", {"content": "The fair", "occurred_at": "2026-05-14", "occurred_until": "2026-05-13"}),
        ("put", {"items": [{"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "content": "The fair", **ENDS_FIRST}]}),
    ],
)
def test_a_memory_that_ends_before_it_begins_is_not_saved(
    ana: Callable[..., Any], tool: str, arguments: dict[str, Any]
) -> None:
    error = ana(f"core.{tool}", **arguments).error
    assert error.code == "invalid_input"
    assert "`occurred_until` (2026-05-1" in error.message
    assert error.message.endswith("give a later end, or leave it out.")
    assert contents(ana) == set()


@pytest.mark.parametrize("changes", [{"occurred_at": "2026-06-01"}, {"occurred_until": "2026-05-01"}, ENDS_FIRST])
def test_an_update_that_would_end_a_memory_before_it_begins_changes_nothing(
    ana: Callable[..., Any], changes: dict[str, str]
) -> None:
    id = saved(ana, "The fair", occurred_at="2026-05-10", occurred_until="2026-05-12")
    error = ana("core.update", id=id, **changes).error
    assert error.code == "invalid_input"
    assert error.message.endswith("give a later end, or name it in `clear`.")
    assert ana("core.get", id=id).body["version"] == 1
    assert ana("core.update", id=id, occurred_at="2026-06-01", clear=["occurred_until"]).error is None


def test_items_that_end_before_they_begin_are_refused_one_by_one(ana: Callable[..., Any]) -> None:
    items = [{"content": "one"}, {"content": "two", **ENDS_FIRST}]
    kept = ana("core.batch_save", items=items, on_error="continue").body
    assert ([error["index"] for error in kept["errors"]], contents(ana)) == ([1], {"one"})
    updates = [{"id": kept["ids"][0], **ENDS_FIRST}]
    [error] = ana("core.batch_update", updates=updates, on_error="continue").body["errors"]
    assert (error["index"], error["code"]) == (0, "invalid_input")


def test_a_memory_of_an_older_release_that_ends_before_it_begins_is_imported_changed_and_exported(
    ana: Callable[..., Any],
) -> None:
    id = "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"
    saved_at = {"created_at": "2026-05-15T10:00:00Z", "updated_at": "2026-05-15T10:00:00Z"}
    assert (
        ana("core.import", records=[{"id": id, "content": "The fair", **saved_at, **ENDS_FIRST}]).body["written"] == 1
    )
    assert ana("core.update", id=id, content="The market").error is None
    assert ana("core.undo", id=id).body["content"] == "The fair"
    [record] = ana("core.export").body["records"]
    assert (record["occurred_at"], record["occurred_until"]) == (
        ENDS_FIRST["occurred_at"],
        ENDS_FIRST["occurred_until"],
    )
    assert ana("core.update", id=id, occurred_until="2026-05-14T10:00:00Z").error is None


def test_what_an_update_both_gives_and_clears_is_refused(ana: Callable[..., Any]) -> None:
    id = saved(ana, "The fair", category="event", occurred_at="2026-05-14")
    given = {"category": "trip", "context": "c", "occurred_at": "2026-05-15", "occurred_until": "2026-05-16"}
    for name, value in given.items():
        error = ana("core.update", id=id, clear=[name], **{name: value}).error
        assert error.code == "invalid_input"
        assert error.message == f"`{name}` is given and `clear` names `{name}`: give a value or clear it, not both."
    error = ana("core.update", id=id, clear=["expires_at"], ttl_seconds=60).error
    assert error.message.startswith("`ttl_seconds` is given and `clear` names `expires_at`")
    updates = [{"id": id, "occurred_at": "2026-05-15", "clear": ["occurred_at"]}]
    [refused] = ana("core.batch_update", updates=updates, on_error="continue").body["errors"]
    assert (refused["index"], refused["code"]) == (0, "invalid_input")
    stored = ana("core.get", id=id).body
    assert (stored["version"], stored["occurred_at"], stored["category"]) == (1, "2026-05-14", "event")
    assert "occurred_at" not in ana("core.update", id=id, clear=["occurred_at"]).body


def test_a_memory_that_becomes_short_term_without_an_expiry_has_none(ana: Callable[..., Any]) -> None:
    id = saved(ana, "The fair")
    assert "expires_at" not in ana("core.update", id=id, tier="short_term", clear=["expires_at"]).body


# Idempotency


def keyed(door: Door, key: str, tool: str, **arguments: Any) -> Any:
    return door.invoke(tool, arguments, ANA, idempotency_key=key)


def test_a_repeated_key_answers_the_same_memory_also_after_an_update(door: Door, ana: Callable[..., Any]) -> None:
    first = keyed(door, "k", "core.save", content="alpha").body
    ana("core.update", id=first["id"], content="beta")
    again = keyed(door, "k", "core.save", content="alpha").body
    assert (again["id"], again["existed"]) == (first["id"], True)
    assert contents(ana) == {"beta"}


@pytest.mark.parametrize("tool", ["core.save", "notes.memory_save"])
def test_a_key_that_was_used_for_another_text_is_a_conflict(door: Door, tool: str) -> None:
    keyed(door, "k", "core.save", content="alpha")
    result = keyed(door, "k", tool, content="something else")
    assert result.error.code == "conflict"
    assert "another text" in result.error.message


def test_a_key_of_a_deleted_or_expired_memory_says_which(
    door: Door, ana: Callable[..., Any], clock: SettableClock
) -> None:
    ana("core.delete", id=keyed(door, "gone", "core.save", content="alpha").body["id"])
    assert "deleted" in keyed(door, "gone", "core.save", content="alpha").error.message
    keyed(door, "brief", "core.save", content="beta", ttl_seconds=1)
    clock.advance(seconds=2)
    assert "expired" in keyed(door, "brief", "core.save", content="beta").error.message


def test_turns_and_memories_of_one_key_are_apart(door: Door) -> None:
    turn = keyed(
        door, "k", "core.append_messages", conversation_id="c", messages=[{"role": "user", "content": "hello"}]
    ).body["ids"][0]
    assert keyed(door, "k", "core.save", content="hello").body["id"] != turn


# Writing at the same time


def test_links_made_at_the_same_time_are_all_kept(ana: Callable[..., Any]) -> None:
    hub = saved(ana, "the hub")
    ends = [saved(ana, f"spoke {i} of quite another kind {i * 7}") for i in range(12)]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda end: ana("core.associate", id=hub, target_id=end), ends))
    assert not [result.error for result in results if result.error]
    linked = ana("core.associations", id=hub, limit=100).body["associations"]
    assert {a["id"] for a in linked if a["manual"]} == set(ends)


class Overtaking:
    """A space in which someone else writes just before the first commit of a merge."""

    def __init__(self, space: Space, write: Callable[[], object]) -> None:
        self._space = space
        self._write: Callable[[], object] | None = write

    def commit(self, changes: list[Change]) -> None:
        write, self._write = self._write, None
        if write is not None and isinstance(changes[0], Create):
            write()
        self._space.commit(changes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._space, name)


def test_a_correction_made_during_a_merge_is_in_the_merged_memory(door: Door, ana: Callable[..., Any]) -> None:
    from steeltrap.engine.consolidating import consolidate

    ids = [saved(ana, "Ana lives in Porto."), saved(ana, "Ana works at Acme.")]
    call = door.call_for(ANA, seconds=10)
    other = door.call_for(ANA, seconds=10)
    space: Any = Overtaking(call.space, lambda: update(other, ids[0], Edit(content="Ana lives in Lisbon.")))
    merged = consolidate(dataclasses.replace(call, space=space), ids, preserve_originals=False)
    assert "Lisbon" in merged.content
    assert contents(ana) == {merged.content}


def test_a_merge_repeated_under_its_key_answers_the_merged_memory(door: Door, ana: Callable[..., Any]) -> None:
    ids = [saved(ana, "Ana lives in Porto."), saved(ana, "Ana works at Acme.")]
    merges = [keyed(door, "m", "core.consolidate", ids=ids, preserve_originals=False) for _ in range(2)]
    assert merges[0].body["id"] == merges[1].body["id"]


# Deleting, undoing, forgetting


def test_undo_goes_back_and_never_forward(ana: Callable[..., Any]) -> None:
    id = saved(ana, "A")
    ana("core.update", id=id, content="B")
    ana("core.update", id=id, content="C")
    assert ana("core.undo", id=id).body["content"] == "B"
    ana("core.delete", id=id)
    assert ana("core.undo", id=id).body["content"] == "B"
    assert ana("core.undo", id=id).body["content"] == "A"
    assert ana("core.undo", id=id).error.code == "conflict"


def test_what_has_expired_can_be_forgotten_but_not_brought_back(ana: Callable[..., Any], clock: SettableClock) -> None:
    id = saved(ana, "soon gone", ttl_seconds=60)
    clock.advance(minutes=2)
    assert ana("core.get", id=id).error.code == "not_found"
    assert ana("core.undo", id=id).error.code == "not_found"
    assert ana("core.forget", id=id).body["verified"] is True


@pytest.mark.parametrize("seconds", [0, 60])
def test_an_update_that_made_a_memory_expire_can_be_undone(
    ana: Callable[..., Any], clock: SettableClock, seconds: int
) -> None:
    id = saved(ana, "Ana likes tea.")
    ana("core.update", id=id, ttl_seconds=seconds)
    clock.advance(seconds=seconds)
    assert ana("core.get", id=id).error.code == "not_found"
    restored = ana("core.undo", id=id).body
    assert (restored["content"], restored["version"], restored.get("expires_at")) == ("Ana likes tea.", 3, None)
    assert [hit["id"] for hit in ana("core.search", query="tea").body["results"]] == [id]


def test_an_undo_brings_back_no_version_that_has_expired_too(ana: Callable[..., Any], clock: SettableClock) -> None:
    id = saved(ana, "soon gone", ttl_seconds=60)
    ana("core.update", id=id, content="soon gone, too")
    clock.advance(minutes=2)
    assert ana("core.undo", id=id).error.code == "not_found"
    assert [r["memory"]["version"] for r in ana("core.history", id=id).body["revisions"]] == [1, 2]


def test_an_undo_of_a_version_that_is_no_longer_the_current_one_changes_nothing(ana: Callable[..., Any]) -> None:
    id = saved(ana, "A")
    for content in ("B", "C"):
        ana("core.update", id=id, content=content)
    assert ana("core.undo", id=id, version=3).body["content"] == "B"
    again = ana("core.undo", id=id, version=3)
    assert (again.error.code, again.error.details["version"]) == ("conflict", 4)
    ana("core.delete", id=id)
    assert ana("core.undo", id=id, version=4).error.code == "conflict"
    assert ana("core.undo", id=id, version=5).body["content"] == "B"


def test_a_search_counts_as_a_read_of_what_it_finds_unless_told_otherwise(ana: Callable[..., Any]) -> None:
    id = saved(ana, "The kettle is on the stove.")
    ana("core.search", query="kettle", count_access=False)
    assert ana("core.score", id=id).body["access_count"] == 0
    ana("core.search", query="kettle")
    assert ana("core.score", id=id).body["access_count"] == 1


def test_deleted_memories_are_listed_latest_first_until_they_can_no_longer_be_restored(
    ana: Callable[..., Any], clock: SettableClock
) -> None:
    ids = {name: saved(ana, name) for name in ("kept", "first", "second", "third", "forgotten", "fading")}
    ana("core.update", id=ids["fading"], ttl_seconds=60)
    for name in ("first", "second", "third", "forgotten", "fading"):
        clock.advance(seconds=1)
        ana("core.delete", id=ids[name])
    ana("core.forget", id=ids["forgotten"])
    clock.advance(hours=1)

    def gone(**page: int) -> tuple[list[str], int]:
        body = ana("core.list", deleted=True, **page).body
        assert all(memory["deleted_at"] for memory in body["memories"])
        return [memory["content"] for memory in body["memories"]], body["total"]

    assert gone() == (["third", "second", "first"], 3)
    assert gone(limit=1, offset=1) == (["second"], 3)
    ana("core.undo", id=ids["second"])
    assert gone() == (["third", "first"], 2)
    assert ana("core.list", deleted=True, scope="work").error.code == "invalid_input"
    clock.advance(days=30)
    assert gone() == ([], 0)
    assert contents(ana) == {"kept", "second"}


def test_an_empty_search_says_that_nothing_is_stored_yet_only_where_nothing_can_be_restored(
    ana: Callable[..., Any], clock: SettableClock
) -> None:
    def nothing(**conditions: Any) -> str:
        outcome = ana("core.search", query="tea", **conditions).body["outcome"]
        assert outcome["kind"] == "nothing_stored"
        return str(outcome["message"])

    assert nothing() == "Nothing is stored yet."
    id = saved(ana, "Ana likes tea.")
    ana("core.delete", id=id)
    assert nothing() == "Nothing is stored; deleted memories can be restored."
    assert nothing(tags=["other"]) == "Nothing is stored; deleted memories can be restored."
    clock.advance(days=31)
    assert nothing() == "Nothing is stored yet."
    ana("core.forget", id=id)
    ana("core.delete", id=saved(ana, "Ana likes tea.", ttl_seconds=60))
    clock.advance(minutes=2)
    assert nothing() == "Nothing is stored yet.", "what has expired can't be restored"
    ana("core.append_messages", conversation_id="c", messages=[{"role": "user", "content": "Ana likes tea."}])
    assert nothing() == "Only messages of conversations are stored."
    ana("core.delete", id=saved(ana, "Ana likes tea."))
    assert nothing() == "Only messages of conversations are stored; deleted memories can be restored."


def test_an_empty_search_tells_of_superseded_memories_whose_successor_has_expired(
    ana: Callable[..., Any], clock: SettableClock
) -> None:
    old = saved(ana, "Ana likes tea.")
    ana("core.save", content="Ana likes coffee.", supersedes=[old], ttl_seconds=60)
    clock.advance(minutes=2)
    outcome = ana("core.search", query="tea").body["outcome"]
    assert outcome == {"kind": "nothing_stored", "message": "Only superseded memories are stored."}
    [hit] = ana("core.search", query="tea", include_superseded=True).body["results"]
    assert hit["id"] == old


def test_memories_are_listed_and_searched_by_the_conversation_that_they_are_from(ana: Callable[..., Any]) -> None:
    saved(ana, "The ferry leaves at six.", conversation_id="harbour")
    saved(ana, "The ferry leaves at nine.", conversation_id="office")
    for found in (
        ana("core.list", of_conversation="harbour").body["memories"],
        ana("core.search", query="when does the ferry leave?", of_conversation="harbour").body["results"],
    ):
        assert [memory["content"] for memory in found] == ["The ferry leaves at six."]


def test_a_deleted_memory_can_be_undone_until_the_retention_time(ana: Callable[..., Any], clock: SettableClock) -> None:
    id = saved(ana, "kept for a while")
    ana("core.delete", id=id)
    clock.advance(days=29)
    assert ana("core.undo", id=id).error is None
    ana("core.delete", id=id)
    clock.advance(days=31)
    assert ana("core.undo", id=id).error.code == "not_found"


def test_with_no_retention_a_delete_is_for_good(door: Door, ana: Callable[..., Any]) -> None:
    ids = [saved(ana, f"memory {i}") for i in range(3)]
    at_once = dataclasses.replace(door, rules=dataclasses.replace(door.rules, retention=timedelta(0)))
    assert at_once.invoke("core.delete", {"ids": ids}, ANA).body["deleted"] == ids
    assert ana("core.history", id=ids[0]).error.code == "not_found"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"include_child_scopes": True},
        {"id": "x", "ids": ["y"]},
        {"ids": ["x"], "version": 3},
        {"scope": "user", "version": 3},
    ],
)
def test_an_ambiguous_delete_is_refused_and_deletes_nothing(ana: Callable[..., Any], arguments: dict[str, Any]) -> None:
    saved(ana, "stays")
    result = ana("core.delete", **arguments)
    assert (result.error.code, "othing was deleted" in result.error.message) == ("invalid_input", True)
    assert contents(ana) == {"stays"}


def test_a_delete_by_criteria_spares_what_is_pinned(ana: Callable[..., Any]) -> None:
    for i in range(5):
        saved(ana, f"plain {i}", scope="old")
    saved(ana, "pinned", scope="old", pinned=True)
    saved(ana, "elsewhere", scope="new")
    assert len(ana("core.delete", scope="old").body["deleted"]) == 5
    assert contents(ana) == {"pinned", "elsewhere"}


# What is shown


def test_a_link_to_what_was_deleted_is_not_shown(ana: Callable[..., Any]) -> None:
    id, end = saved(ana, "one"), saved(ana, "two")
    ana("core.associate", id=id, target_id=end)
    assert [link["target_id"] for link in ana("core.get", id=id).body["links"]] == [end]
    ana("core.delete", id=end)
    assert "links" not in ana("core.get", id=id).body


def test_turns_are_not_linked(ana: Callable[..., Any]) -> None:
    id = saved(ana, "the tide table")
    turn = ana(
        "core.append_messages", conversation_id="c", messages=[{"role": "user", "content": "the tide table"}]
    ).body["ids"][0]
    assert ana("core.associate", id=id, target_id=turn).error.code == "invalid_input"
    ana("core.update", id=turn, content="the tide table again")
    assert ana("core.associations", id=id).body["associations"] == []


def test_an_answer_that_is_cut_to_a_budget_says_so(ana: Callable[..., Any]) -> None:
    for i in range(5):
        saved(ana, f"harbour {i} " + "word " * 200, metadata={"page": i})
    body = ana("core.search", query="harbour", max_tokens=520).body
    written = [json.dumps(hit, ensure_ascii=False, separators=(",", ":")) for hit in body["results"]]
    assert sum(map(estimate_tokens, written)) <= 520
    assert len(body["results"]) == 4
    assert body["outcome"]["message"].startswith("4 of 5 are shown, 4 of them in part")
    assert body["outcome"]["more"] == 1
    for hit in body["results"]:
        whole = ana("core.get", id=hit["id"]).body
        assert hit["left_out"] > estimate_tokens(whole["content"]) - estimate_tokens(hit["content"])
        assert hit["content"].removesuffix(" …") in whole["content"]
        assert "metadata" in whole
        assert "metadata" not in hit


def test_a_budget_shows_a_long_memory_by_the_part_that_answers(ana: Callable[..., Any]) -> None:
    saved(ana, "word " * 300 + "The harbour closes at nine. " + "word " * 300)
    [hit] = ana("core.search", query="when does the harbour close?", max_tokens=200).body["results"]
    assert "The harbour closes at nine." in hit["content"]


def test_a_budget_with_room_changes_nothing_but_the_number(ana: Callable[..., Any]) -> None:
    for i in range(12):
        saved(ana, f"harbour {i}")
    ten = ana("core.search", query="harbour").body["results"]
    assert len(ten) == 10
    assert ana("core.search", query="harbour", limit=10, max_tokens=9_000).body["results"] == ten
    assert len(ana("core.search", query="harbour", max_tokens=9_000).body["results"]) == 12


def test_a_budget_without_room_for_one_says_so(ana: Callable[..., Any]) -> None:
    saved(ana, "the harbour")
    body = ana("core.search", query="harbour", max_tokens=5).body
    assert body["results"] == []
    assert body["outcome"] == {
        "kind": "found",
        "message": "0 of 1 are shown: the answer is cut at about 5 tokens.",
        "more": 1,
    }


def test_an_episode_over_the_budget_is_shown_without_its_messages(
    ana: Callable[..., Any], clock: SettableClock
) -> None:
    said = [{"role": "user", "content": f"the harbour is busy, entry {i}"} for i in range(40)]
    ana("core.append_messages", conversation_id="c", messages=said)
    clock.advance(minutes=20)
    ana("core.append_messages", conversation_id="d", messages=said[:1])
    [hit] = ana("core.search", query="harbour", max_tokens=400).body["results"]
    assert "messages" not in hit
    assert hit["left_out"] > 100


def test_a_scope_of_the_wrong_form_is_refused_in_a_filter(ana: Callable[..., Any]) -> None:
    for scope in ("//", "user/", "/user", "a b"):
        assert ana("core.search", query="x", scope=scope).error.code == "invalid_input"


def test_related_only_leaves_out_what_has_nothing_to_do_with_the_query(ana: Callable[..., Any]) -> None:
    saved(ana, "herons stand in the reeds")
    saved(ana, "the invoice is due on Friday")
    found = ana("core.search", query="herons", related_only=True).body["results"]
    assert [hit["content"] for hit in found] == ["herons stand in the reeds"]


@pytest.mark.parametrize(("environment", "boosted"), [({}, {0.05}), ({"STEELTRAP_ROLE_WEIGHT": "0"}, {None})])
def test_the_bonus_for_roles_is_a_setting(
    tmp_path: Path, environment: dict[str, str], boosted: set[float | None]
) -> None:
    door = open_door(read_settings(environment, data=tmp_path))
    try:
        said = [{"role": "user", "content": "I moor at the harbour"}]
        door.invoke("core.append_messages", {"conversation_id": "c", "messages": said}, ANA)
        asked = {"query": "where do I moor?", "include_conversation": True, "why": True}
        found = door.invoke("core.search", asked, ANA).body["results"]
        assert {hit["why"].get("boosts", {}).get("role") for hit in found} == boosted
    finally:
        door.store.close()


def test_scopes_take_letters_of_any_script_in_one_form(ana: Callable[..., Any]) -> None:
    def told(result: Any) -> Any:
        assert result.error is None, result.body
        return result.body

    def kept(content: str, scope: str) -> str:
        id = told(ana("core.save", content=content, scope=scope))["id"]
        return str(told(ana("core.get", id=id))["scope"])

    assert kept("Ana lives in Faro.", "cafe\u0301/Ju\u0308rgen") == "caf\u00e9/J\u00fcrgen"
    assert kept("Bob lives in Porto.", "caf\u00e9") == "caf\u00e9"
    assert kept("Eva lives in Kyoto.", "仕事/計画_2") == "仕事/計画_2"
    assert kept("Ivan lives in Varna.", "работа-1") == "работа-1"
    below = told(ana("core.list", scope="cafe\u0301", include_child_scopes=True))["memories"]
    assert {memory["content"] for memory in below} == {"Ana lives in Faro.", "Bob lives in Porto."}
    found = told(ana("core.search", query="who lives where?", scope="仕事", include_child_scopes=True))
    assert "Eva lives in Kyoto." in str(found)
    assert "Faro" not in str(found)
    listed = {each["scope"] for each in told(ana("core.list_scopes"))["scopes"]}
    assert {"caf\u00e9/J\u00fcrgen", "caf\u00e9", "仕事/計画_2", "работа-1"} <= listed
    session = told(ana("core.create_session", session_id="发布-42"))
    assert "发布-42" in str(session)


def test_a_search_without_a_query_names_list(ana: Callable[..., Any]) -> None:
    assert "use list" in ana("core.search", query="  ").error.message
    assert "`query` is required" in ana("core.search", limit=5).error.message


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
def test_a_query_that_has_nothing_to_compare_finds_nothing_and_says_so(door: Door, mode: str) -> None:
    class Wordless(HashedWords):
        """Knows no word of a query."""

        def embed(self, texts: Any, *, purpose: Any, timeout: float) -> Any:
            vectors = super().embed(texts, purpose=purpose, timeout=timeout)
            return [bytes(len(vector)) for vector in vectors] if purpose == "query" else vectors

    caller = Caller(UserRef("ana"), "assistant")
    door.invoke("core.save", {"content": "The heron fishes"}, caller)
    blind = dataclasses.replace(door, embedder=Wordless(dimension=256))
    found = blind.invoke("core.search", {"query": "?! \u2026", "mode": mode}, caller).body
    assert found["results"] == []
    assert "no word to search by" in found["outcome"]["message"]
