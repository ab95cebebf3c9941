"""The document "Memory Tools": updates, tiers, deletes and lists."""

import json
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from clock import SettableClock
from dialects.recording import UNKNOWN, Tools, stored, that_is_refused, that_succeeds
from steeltrap.engine.call import Rules
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef


@pytest.fixture
def run(ana: Tools) -> Tools:
    return that_succeeds(ana)


@pytest.fixture
def refused(ana: Tools) -> Tools:
    return that_is_refused(ana)


# memory_update


def test_updating_answers_the_documents_response(run: Tools, clock: SettableClock) -> None:
    """レスポンス, 使用例: タグを更新"""
    id = stored(run, tags=["preferences", "ui"])
    clock.advance(minutes=30)
    assert run("memory_update", id=id, tags=["preferences", "ui", "theme"]) == {
        "id": id,
        "updated": True,
        "updated_at": "2026-01-01T12:30:00Z",
    }


UPDATES = [
    ({"content": "Likes light mode"}, {"content": "Likes light mode"}),
    ({"tags": ["theme"]}, {"tags": ["theme"]}),
    ({"tags": []}, {"tags": []}),
    ({"metadata": {"b": 3, "c": 4}}, {"metadata": {"a": 1, "b": 3, "c": 4}}),
    ({"metadata": {"a": None}}, {"metadata": {"b": 2}}),
    ({"memory_tier": "working"}, {"memory_tier": "working"}),
]


@pytest.mark.parametrize(("change", "changed"), UPDATES)
def test_an_update_changes_what_it_names_and_keeps_the_rest(
    run: Tools, clock: SettableClock, change: dict[str, Any], changed: dict[str, Any]
) -> None:
    """パラメータ: 既存を置換, 既存にマージ"""
    id = stored(run, tags=["ui"], metadata={"a": 1, "b": 2}, content_type="code")
    before = run("memory_get", id=id)
    clock.advance(hours=1)
    run("memory_update", id=id, **change)
    assert run("memory_get", id=id) == {**before, **changed, "updated_at": "2026-01-01T13:00:00Z"}


@pytest.mark.parametrize("change", [{}, {"metadata": {}}, {"content": None, "tags": None}])
def test_an_update_that_changes_nothing_is_refused_with_a_sentence(
    run: Tools, refused: Tools, ana: Tools, change: dict[str, Any]
) -> None:
    id = stored(run)
    said = ("ValidationError", "give what to change, besides the id; nothing was changed.")
    assert refused("memory_update", id=id, **change) == said
    for mode in ("rollback", "continue", "stop"):
        batch = run("memory_batch_update", updates=[{"id": id, **change}], on_error=mode)
        assert (batch["success"], batch["updated_ids"]) == (False, [])
        assert [(each["error_type"], each["message"]) for each in batch["errors"]] == [said]
    assert ana("core.update", id=id, **change).error.code == "invalid_input"
    assert ana("core.get", id=id).body["version"] == 1


@pytest.mark.parametrize("tool", ["memory_store", "memory_get", "memory_list", "memory_search", "memory_get_score"])
def test_every_time_is_in_whole_seconds_and_utc(run: Tools, clock: SettableClock, tool: str) -> None:
    clock.advance(microseconds=123_456)
    id = stored(run, memory_tier="short_term")
    run("memory_get", id=id)
    arguments = {"memory_store": {"content": "x"}, "memory_search": {"query": "dark mode"}, "memory_list": {}}
    text = json.dumps(run(tool, **arguments.get(tool, {"id": id})))
    times = re.findall(r'_at": "([^"]*)"', text)
    assert times
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", time) for time in times)


def test_new_content_is_found_and_the_old_is_not(run: Tools) -> None:
    """パラメータ: 埋め込みを再生成"""
    id = stored(run, "The heron fishes")
    run("memory_update", id=id, content="The otter sleeps")
    for mode in ("semantic", "keyword"):
        new = run("memory_search", query="otter sleeps", search_mode=mode, min_similarity=0.9)
        assert [hit["content"] for hit in new["results"]] == ["The otter sleeps"]
    assert run("memory_search", query="heron fishes", min_similarity=0.9)["results"] == []


@pytest.mark.parametrize("content", ["", "  "])
def test_an_update_cannot_empty_the_content(run: Tools, refused: Tools, content: str) -> None:
    assert refused("memory_update", id=stored(run), content=content) == ("ValidationError", "Content cannot be empty")


# Memory Tiers


@pytest.mark.parametrize(
    ("tier", "ttl", "expires"),
    [
        ("short_term", None, "2026-01-02T12:00:00Z"),
        ("short_term", 3600, "2026-01-01T13:00:00Z"),
        ("long_term", None, None),
        ("long_term", 60, "2026-01-01T12:01:00Z"),
        ("working", None, None),
        ("working", 60, "2026-01-01T12:01:00Z"),
        ("long_term", 10**18, None),
    ],
)
def test_a_tier_and_a_ttl_say_when_a_memory_expires(
    run: Tools, tier: str, ttl: int | None, expires: str | None
) -> None:
    """short_term: `ttl_seconds` パラメータで有効期限を設定; long_term: 永続的に保存"""
    id = stored(run, memory_tier=tier, ttl_seconds=ttl)
    assert run("memory_get", id=id)["expires_at"] == expires


def test_how_long_short_term_lives_is_a_setting(door: Door) -> None:
    short = replace(door, rules=Rules(short_term_ttl=timedelta(minutes=5)))
    caller = Caller(UserRef("ana"))
    stored = short.invoke("records.memory_store", {"content": "x", "memory_tier": "short_term"}, caller).body
    got = short.invoke("records.memory_get", {"id": stored["id"]}, caller).body
    assert got["expires_at"] == "2026-01-01T12:05:00Z"


def test_what_has_expired_is_absent_at_once_everywhere(run: Tools, refused: Tools, clock: SettableClock) -> None:
    """short_term: TTL付きで自動期限切れ; without any sweep"""
    id = stored(run, "the heron", memory_tier="short_term", ttl_seconds=60, tags=["bird"])
    stays = stored(run, "the otter")
    clock.advance(seconds=59)
    assert run("memory_list")["total"] == 2
    clock.advance(seconds=1)
    for tool, more in (
        ("memory_get", {}),
        ("memory_update", {"tags": []}),
        ("memory_get_score", {}),
        ("memory_set_score", {"score": 1}),
    ):
        assert refused(tool, id=id, **more)[0] == "NotFoundError"
    assert refused("memory_consolidate", memory_ids=[stays, id])[0] == "NotFoundError"
    assert run("memory_list")["total"] == 1
    for mode in ("semantic", "keyword", "hybrid"):
        found = run("memory_search", query="the heron", search_mode=mode)["results"]
        assert id not in {hit["id"] for hit in found}
    assert run("memory_delete", ids=[id])["deleted_ids"] == []
    assert run("memory_delete", memory_tier="short_term")["deleted_ids"] == []


def test_a_ttl_of_0_expires_at_once(run: Tools, refused: Tools) -> None:
    id = stored(run, memory_tier="short_term", ttl_seconds=0)
    assert refused("memory_get", id=id)[0] == "NotFoundError"
    assert run("memory_list")["total"] == 0


def test_promotion_to_long_term_clears_the_expiry(run: Tools, clock: SettableClock) -> None:
    """memory_update 使用例: 短期から長期へ昇格"""
    id = stored(run, memory_tier="short_term", ttl_seconds=60)
    run("memory_update", id=id, memory_tier="long_term")
    assert run("memory_get", id=id)["expires_at"] is None
    clock.advance(days=1000)
    assert run("memory_get", id=id)["memory_tier"] == "long_term"


def test_demotion_to_short_term_lets_it_expire(run: Tools) -> None:
    id = stored(run)
    run("memory_update", id=id, memory_tier="short_term")
    assert run("memory_get", id=id)["expires_at"] == "2026-01-02T12:00:00Z"


@pytest.mark.parametrize(
    ("before", "after", "expires"),
    [
        ("working", "short_term", "2026-01-01T12:01:00Z"),
        ("long_term", "short_term", "2026-01-01T12:01:00Z"),
        ("long_term", "working", "2026-01-01T12:01:00Z"),
        ("short_term", "working", None),
        ("working", "long_term", None),
    ],
)
def test_a_time_to_live_is_kept_in_another_tier_that_does_not_end_it(
    run: Tools, before: str, after: str, expires: str | None
) -> None:
    id = stored(run, memory_tier=before, ttl_seconds=60)
    run("memory_update", id=id, memory_tier=after)
    assert run("memory_get", id=id)["expires_at"] == expires


# memory_delete


def test_deleting_answers_the_documents_response(run: Tools) -> None:
    """レスポンス, 使用例: 複数削除"""
    ids = [stored(run, f"memory {i}") for i in range(3)]
    assert run("memory_delete", ids=ids) == {"deleted_count": 3, "deleted_ids": ids}
    assert run("memory_list")["total"] == 0


def test_one_memory_is_deleted_by_its_id(run: Tools, refused: Tools) -> None:
    """使用例: 単一削除"""
    id, other = stored(run), stored(run, "other")
    assert run("memory_delete", id=id) == {"deleted_count": 1, "deleted_ids": [id]}
    assert refused("memory_get", id=id)[0] == "NotFoundError"
    assert run("memory_get", id=other)["content"] == "other"


def test_ids_that_are_not_there_are_left_out(run: Tools) -> None:
    """使用例: `ids=["id1", "id2", "id3"]`"""
    id = stored(run)
    assert run("memory_delete", id=UNKNOWN) == {"deleted_count": 0, "deleted_ids": []}
    assert run("memory_delete", ids=["id1", id, UNKNOWN, id, "id3"]) == {"deleted_count": 1, "deleted_ids": [id]}
    assert run("memory_delete", ids=[id]) == {"deleted_count": 0, "deleted_ids": []}


def test_a_whole_tier_is_deleted(run: Tools) -> None:
    """使用例: 階層全体を削除"""
    short = stored(run, memory_tier="short_term")
    kept = {stored(run, memory_tier="working"), stored(run)}
    assert run("memory_delete", memory_tier="short_term")["deleted_ids"] == [short]
    assert {memory["id"] for memory in run("memory_list")["memories"]} == kept


def test_what_is_older_is_deleted_by_when_it_was_created(run: Tools, clock: SettableClock) -> None:
    """使用例: 古いメモリを削除"""
    old = stored(run, "old")
    clock.advance(days=1)
    at = stored(run, "at that very time")
    run("memory_update", id=old, content="old, but changed today")
    assert run("memory_delete", older_than="2026-01-02T12:00:00Z")["deleted_ids"] == [old]
    assert [memory["id"] for memory in run("memory_list")["memories"]] == [at]


def test_tier_and_age_together_mean_both(run: Tools, clock: SettableClock) -> None:
    doomed = stored(run, memory_tier="working")
    stored(run, memory_tier="long_term")
    clock.advance(days=1)
    stored(run, memory_tier="working")
    answer = run("memory_delete", memory_tier="working", older_than="2026-01-02")
    assert answer["deleted_ids"] == [doomed]
    assert run("memory_list")["total"] == 2


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"id": None, "ids": None},
        {"id": UNKNOWN, "ids": [UNKNOWN]},
        {"id": UNKNOWN, "memory_tier": "working"},
        {"ids": [UNKNOWN], "older_than": "2030-01-01"},
        {"ids": []},
        {"older_than": "yesterday"},
        {"memory_tier": "all"},
    ],
)
def test_a_delete_without_one_clear_criterion_is_refused(run: Tools, refused: Tools, given: dict[str, Any]) -> None:
    stored(run)
    assert refused("memory_delete", **given)[0] == "ValidationError"
    assert run("memory_list")["total"] == 1


def test_criteria_spare_what_is_pinned_and_an_id_does_not(run: Tools, ana: Tools) -> None:
    id = stored(run)
    ana("core.update", id=id, pinned=True)
    assert run("memory_delete", memory_tier="long_term")["deleted_ids"] == []
    assert run("memory_delete", older_than="2030-01-01")["deleted_ids"] == []
    assert run("memory_delete", id=id)["deleted_ids"] == [id]


def test_a_delete_can_be_undone(run: Tools, ana: Tools) -> None:
    id = stored(run)
    run("memory_delete", id=id)
    assert ana("core.undo", id=id).error is None
    assert run("memory_get", id=id)["content"] == "User prefers dark mode"


def test_a_turn_of_a_conversation_is_no_record(run: Tools, ana: Tools) -> None:
    said = [{"role": "user", "content": "said about the heron"}]
    ana("core.append_messages", messages=said, conversation_id="c")
    assert run("memory_list")["total"] == 0
    assert run("memory_search", query="heron", search_mode="hybrid")["results"] == []
    assert run("memory_delete", memory_tier="long_term")["deleted_count"] == 0
    assert run("memory_delete", older_than="2030-01-01")["deleted_count"] == 0


# memory_list


def test_listing_answers_the_documents_response(run: Tools) -> None:
    """レスポンス"""
    id = stored(run, tags=["preferences", "ui"])
    assert run("memory_list") == {
        "memories": [
            {
                "id": id,
                "content": "User prefers dark mode",
                "content_type": "text",
                "memory_tier": "long_term",
                "tags": ["preferences", "ui"],
                "created_at": "2026-01-01T12:00:00Z",
            }
        ],
        "total": 1,
        "limit": 50,
        "offset": 0,
    }


@pytest.fixture
def shelf(run: Tools, clock: SettableClock) -> list[str]:
    """120 memories, a day apart from each other, newest first."""
    ids = []
    for i in range(120):
        tags = ["preferences", "ui"] if i % 3 == 0 else ["preferences"]
        kind, tier = ("code", "working") if i % 2 else ("text", "long_term")
        ids.append(stored(run, f"memory {i}", tags=tags, content_type=kind, memory_tier=tier))
        clock.advance(days=1)
    return ids[::-1]


def test_pages_are_newest_first_and_totals_exact(run: Tools, shelf: list[str]) -> None:
    """使用例: `memory_list(limit=50, offset=50)  # 2ページ目`"""
    pages = [run("memory_list", offset=offset) for offset in (0, 50, 100, 150)]
    assert [id for page in pages for id in (memory["id"] for memory in page["memories"])] == shelf
    assert [(page["total"], page["limit"], page["offset"]) for page in pages] == [
        (120, 50, 0),
        (120, 50, 50),
        (120, 50, 100),
        (120, 50, 150),
    ]


LISTED: list[tuple[dict[str, Any], int]] = [
    ({"memory_tier": "long_term"}, 60),
    ({"tags": ["preferences"]}, 120),
    ({"tags": ["UI", "preferences"]}, 40),
    ({"tags": ["u"]}, 0),
    ({"content_type": "code"}, 60),
    ({"content_type": "code", "tags": ["ui"]}, 20),
    ({"tags": ["preferences"], "created_after": "2026-04-01T12:00:00Z"}, 30),
    ({"created_after": "2026-01-11T12:00:00Z", "created_before": "2026-01-21T12:00:00Z"}, 10),
    ({"created_before": "2026-01-01T12:00:00Z"}, 0),
    ({"created_before": "2026-01-02T08:00:00-04:00"}, 1),
]


def test_a_list_holds_what_every_filter_lets_through(run: Tools, shelf: list[str]) -> None:
    """パラメータ, 使用例: the total counts all of them, whatever the limit"""
    for filter, total in LISTED:
        answer = run("memory_list", **filter, limit=7)
        found = (answer["total"], len(answer["memories"]), answer["limit"])
        assert found == (total, min(7, total), 7), filter


@pytest.mark.parametrize("limit", [1, 1000])
def test_a_limit_from_1_to_1000_is_taken(run: Tools, limit: int) -> None:
    """パラメータ: 最大結果数（上限1000）"""
    assert run("memory_list", limit=limit)["limit"] == limit


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"limit": 0}, "from 1 to 1000"),
        ({"limit": 1001}, "from 1 to 1000"),
        ({"limit": -5}, "from 1 to 1000"),
        ({"offset": -1}, "`offset`"),
        ({"created_after": "last week"}, "2026-01-31T09:30:00Z"),
        ({"created_before": 5}, "2026-01-31T09:30:00Z"),
        ({"tags": 5}, "`tags`"),
    ],
)
def test_what_is_out_of_range_is_refused(refused: Tools, given: dict[str, Any], says: str) -> None:
    kind, message = refused("memory_list", **given)
    assert (kind, says in message) == ("ValidationError", True)
