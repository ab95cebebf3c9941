"""The document "Memory Tools": batches and consolidation."""

from typing import Any
from uuid import UUID

import pytest

from clock import SettableClock
from dialects.recording import UNKNOWN, Tools, stored, that_is_refused, that_succeeds
from spaces import space_of
from steeltrap.invoke import Door
from stores import chosen


@pytest.fixture
def run(ana: Tools) -> Tools:
    return that_succeeds(ana)


@pytest.fixture
def refused(ana: Tools) -> Tools:
    return that_is_refused(ana)


def contents(run: Tools) -> list[str]:
    """The stored contents, oldest first."""
    return [memory["content"] for memory in run("memory_list", limit=1000)["memories"]][::-1]


def told(errors: list[dict[str, Any]]) -> list[tuple[int, str]]:
    assert all(set(error) == {"index", "error_type", "message"} for error in errors)
    return [(error["index"], error["error_type"]) for error in errors]


# memory_batch_store


def test_a_batch_answers_the_documents_response(run: Tools) -> None:
    """レスポンス, 使用例"""
    items = [{"content": f"{which} memory", "tags": ["batch"]} for which in ("First", "Second", "Third")]
    answer = run("memory_batch_store", items=items, on_error="rollback")
    ids = answer["stored_ids"]
    assert len({str(UUID(id)) for id in ids}) == 3
    assert answer == {"success": True, "stored_count": 3, "stored_ids": ids, "errors": []}
    assert [run("memory_get", id=id)["content"] for id in ids] == ["First memory", "Second memory", "Third memory"]
    assert run("memory_list", tags=["batch"])["total"] == 3


def test_an_items_fields_are_stored(run: Tools) -> None:
    """items 各要素"""
    item = {
        "content": "x = 1",
        "content_type": "code",
        "memory_tier": "short_term",
        "tags": ["a"],
        "metadata": {"lines": 1},
    }
    [id] = run("memory_batch_store", items=[item])["stored_ids"]
    memory = run("memory_get", id=id)
    assert {name: memory[name] for name in item} == item
    assert memory["expires_at"] == "2026-01-02T12:00:00Z"


BAD_ITEMS = [
    ({"content": ""}, "ValidationError", "Content cannot be empty"),
    ({"content": " \n"}, "ValidationError", "Content cannot be empty"),
    ({}, "ValidationError", "`content` is required"),
    ({"content": None}, "ValidationError", "`content`"),
    ({"content": 5}, "ValidationError", "`content` must be a string"),
    ("just a text", "ValidationError", "a JSON object with at least `content`"),
    (None, "ValidationError", "a JSON object with at least `content`"),
    ({"contents": "x"}, "ValidationError", "did you mean `content`?"),
    ({"content": "x", "memory_tier": "forever"}, "ValidationError", "one of 'short_term', 'long_term', 'working'"),
    ({"content": "x", "content_type": "film"}, "ValidationError", "one of 'text', 'image', 'code', 'json', 'yaml'"),
    ({"content": "x", "tags": 5}, "ValidationError", "`tags` must be a list"),
    ({"content": "x", "tags": ["t" * 200]}, "ValidationError", "128 characters"),
    ({"content": "x", "metadata": "soon"}, "ValidationError", "`metadata` must be a JSON object"),
    ({"content": "x", "ttl_seconds": 5}, "ValidationError", "`ttl_seconds` is not a field here"),
    ({"content": "nul \x00"}, "ValidationError", "`content` has a NUL character"),
    ({"content": "x", "metadata": {"a": "\ud800"}}, "ValidationError", "`metadata.a` has half of a surrogate pair"),
    (
        {"content": "x", "metadata": {"a": [2**63]}},
        "ValidationError",
        "`metadata.a.0` must be an integer of at most 64",
    ),
    ({"content": "x", "\x00": 1}, "ValidationError", "`arguments` has a NUL character"),
    ({"content": "語" * 20_000}, "TooLargeError", "32,768"),
    ({"content": "x", "metadata": {"a": "b" * 17_000}}, "TooLargeError", "16,384"),
]


@pytest.mark.parametrize(("item", "kind", "says"), BAD_ITEMS)
@pytest.mark.parametrize(
    ("on_error", "kept"), [("rollback", []), ("continue", ["before", "behind"]), ("stop", ["before"])]
)
def test_one_bad_item_is_told_by_its_index(
    run: Tools, item: Any, kind: str, says: str, on_error: str, kept: list[str]
) -> None:
    """on_error: エラー時に全てロールバック, エラーをスキップして継続, エラー時点で停止"""
    items = [{"content": "before"}, item, {"content": "behind"}]
    answer = run("memory_batch_store", items=items, on_error=on_error)
    assert (answer["success"], answer["stored_count"], len(answer["stored_ids"])) == (False, len(kept), len(kept))
    assert told(answer["errors"]) == [(1, kind)]
    assert says in answer["errors"][0]["message"]
    assert set(contents(run)) == set(kept)


def test_every_bad_item_is_told_unless_the_batch_stops_at_the_first(run: Tools) -> None:
    items = [{"content": "a"}, {"content": ""}, {"content": "b"}, 7, {"content": "c"}]
    both = [(1, "ValidationError"), (3, "ValidationError")]
    assert told(run("memory_batch_store", items=items)["errors"]) == both
    assert contents(run) == []
    assert told(run("memory_batch_store", items=items, on_error="stop")["errors"]) == both[:1]
    assert contents(run) == ["a"]
    assert told(run("memory_batch_store", items=items, on_error="continue")["errors"]) == both
    assert sorted(contents(run)) == ["a", "a", "b", "c"]


def test_a_batch_of_bad_items_only_stores_nothing(run: Tools) -> None:
    for on_error in ("rollback", "continue", "stop"):
        answer = run("memory_batch_store", items=[{}, {}], on_error=on_error)
        assert (answer["success"], answer["stored_ids"], answer["errors"][0]["index"]) == (False, [], 0)
    assert contents(run) == []


def test_a_hundred_memories_are_stored_at_once(run: Tools) -> None:
    """パラメータ: 最大100件"""
    answer = run("memory_batch_store", items=[{"content": f"memory {i}"} for i in range(100)])
    assert (answer["success"], answer["stored_count"], run("memory_list")["total"]) == (True, 100, 100)


@pytest.mark.parametrize(
    ("given", "kind", "says"),
    [
        ({"items": [{"content": "x"}] * 101}, "ValidationError", "100"),
        ({"items": []}, "ValidationError", "`items`"),
        ({}, "ValidationError", "`items` is required"),
        ({"items": "all of it"}, "ValidationError", "`items` must be a list"),
        ({"items": [{"content": "x"}], "on_error": "retry"}, "ValidationError", "'rollback', 'continue', 'stop'"),
        ({"items": [{"content": "x" * 32_000}] * 100}, "TooLargeError", "3 MB"),
    ],
)
def test_a_batch_over_its_limits_is_refused(refused: Tools, given: dict[str, Any], kind: str, says: str) -> None:
    assert refused("memory_batch_store", **given)[0] == kind
    assert says in refused("memory_batch_store", **given)[1]


@pytest.mark.slow
def test_what_is_too_large_for_all_or_nothing_is_stored_with_continue(run: Tools) -> None:
    items = [{"content": f"{i} " + "x" * 32_000} for i in range(100)]
    done = run("memory_batch_store", items=items, on_error="continue")
    # DynamoDB Local may be too slow for all of them within the call's ten seconds: then each of the others is told.
    late = [error for error in done["errors"] if "took longer than 10 s" in error["message"]]
    assert done["stored_count"] + len(late) == 100
    assert done["stored_count"] > 0
    assert chosen() == "aws" or not late


# memory_batch_update


def test_a_batch_of_updates_answers_the_documents_response(run: Tools) -> None:
    """レスポンス, 使用例"""
    first, second = stored(run, "first", tags=["old"]), stored(run, "second", metadata={"a": 1})
    updates = [{"id": first, "tags": ["updated", "important"]}, {"id": second, "metadata": {"reviewed": True}}]
    answer = run("memory_batch_update", updates=updates, on_error="continue")
    assert answer == {"success": True, "updated_count": 2, "updated_ids": [first, second], "errors": []}
    assert run("memory_get", id=first)["tags"] == ["updated", "important"]
    assert run("memory_get", id=second)["metadata"] == {"a": 1, "reviewed": True}


def test_an_updates_fields_change_what_they_name(run: Tools, clock: SettableClock) -> None:
    """updates 各要素"""
    id = stored(run, "before", tags=["a"], metadata={"a": 1}, memory_tier="short_term")
    created = run("memory_get", id=id)["created_at"]
    clock.advance(hours=1)
    change = {"content": "after", "tags": ["b"], "metadata": {"b": 2}, "memory_tier": "long_term"}
    assert run("memory_batch_update", updates=[{"id": id, **change}])["success"] is True
    memory = run("memory_get", id=id)
    assert {name: memory[name] for name in change} == {**change, "metadata": {"a": 1, "b": 2}}
    assert (memory["created_at"], memory["updated_at"]) == (created, "2026-01-01T13:00:00Z")
    assert memory["expires_at"] is None


BAD_UPDATES = [
    ({"id": UNKNOWN, "content": "x"}, "NotFoundError", UNKNOWN),
    ({"id": "uuid-1", "tags": []}, "NotFoundError", "uuid-1"),
    ({"content": "x"}, "ValidationError", "`id` is required"),
    ("an id", "ValidationError", "a JSON object with at least `id`"),
    ({"id": 5}, "ValidationError", "`id` must be a string"),
    ({"id": UNKNOWN, "content": "\x00"}, "ValidationError", "`content` has a NUL character"),
    ({"id": UNKNOWN, "content": ""}, "ValidationError", "Content cannot be empty"),
    ({"id": UNKNOWN, "memory_tier": "gone"}, "ValidationError", "one of"),
    ({"id": UNKNOWN, "contents": "x"}, "ValidationError", "did you mean `content`?"),
]


@pytest.mark.parametrize(("update", "kind", "says"), BAD_UPDATES)
@pytest.mark.parametrize(("on_error", "changed"), [("rollback", []), ("continue", [0, 2]), ("stop", [0])])
def test_one_bad_update_is_told_by_its_index(
    run: Tools, ana: Tools, update: Any, kind: str, says: str, on_error: str, changed: list[int]
) -> None:
    ids = [stored(run, "one"), "", stored(run, "two")]
    updates = [{"id": ids[0], "content": "new"}, update, {"id": ids[2], "content": "new"}]
    answer = run("memory_batch_update", updates=updates, on_error=on_error)
    assert told(answer["errors"]) == [(1, kind)]
    assert says in answer["errors"][0]["message"]
    assert (answer["success"], answer["updated_count"]) == (False, len(changed))
    assert answer["updated_ids"] == [ids[i] for i in changed]
    assert [i for i in (0, 2) if run("memory_get", id=ids[i])["content"] == "new"] == changed
    assert [i for i in (0, 2) if ana("core.get", id=ids[i]).body["version"] == 2] == changed


def test_one_memory_twice_in_a_rollback_is_an_error_of_the_second(run: Tools) -> None:
    id = stored(run, "before")
    updates = [{"id": id, "content": "x"}, {"id": id, "tags": ["y"]}]
    answer = run("memory_batch_update", updates=updates)
    assert (answer["updated_ids"], told(answer["errors"])) == ([], [(1, "ValidationError")])
    assert run("memory_batch_update", updates=updates, on_error="continue")["updated_ids"] == [id, id]
    memory = run("memory_get", id=id)
    assert (memory["content"], memory["tags"]) == ("x", ["y"])


def test_a_hundred_updates_are_written_all_or_nothing_where_the_store_can(door: Door, run: Tools) -> None:
    """memory_batch_update: 最大100件"""
    most = space_of(door.store, "ana").atomic_updates or 100
    ids = run("memory_batch_store", items=[{"content": f"memory {i}"} for i in range(most)])["stored_ids"]
    updates = [{"id": id, "content": f"changed {i}"} for i, id in enumerate(ids)]
    failed = run("memory_batch_update", updates=[*updates[:-1], {"id": UNKNOWN, "content": "x"}])
    assert (failed["success"], told(failed["errors"])) == (False, [(most - 1, "NotFoundError")])
    assert contents(run)[0].startswith("memory")
    answer = run("memory_batch_update", updates=updates)
    assert (answer["success"], answer["updated_count"]) == (True, most)
    assert all(content.startswith("changed") for content in contents(run))


def test_more_updates_than_the_store_writes_all_or_nothing_are_refused_with_their_number(
    ana: Tools, door: Door
) -> None:
    most = space_of(door.store, "ana").atomic_updates
    body = ana("records.memory_batch_update", updates=[{"id": UNKNOWN, "tags": []}] * 51).body
    if most is None or most > 50:
        assert [error["index"] for error in body["errors"]] == list(range(51))
    else:
        assert (body["error_type"], f"at most {most}" in body["message"]) == ("TooLargeError", True)


@pytest.mark.parametrize(("count", "on_error"), [(50, "rollback"), (100, "continue"), (100, "stop")])
def test_as_many_updates_as_may_be_are_taken(run: Tools, count: int, on_error: str) -> None:
    ids = run("memory_batch_store", items=[{"content": f"memory {i}"} for i in range(count)])["stored_ids"]
    answer = run("memory_batch_update", updates=[{"id": id, "tags": ["seen"]} for id in ids], on_error=on_error)
    assert (answer["success"], answer["updated_count"]) == (True, count)


@pytest.mark.parametrize(
    ("given", "kind", "says"),
    [
        ({"updates": [{"id": UNKNOWN, "tags": []}] * 101}, "ValidationError", "100"),
        ({"updates": [{"id": UNKNOWN, "tags": []}] * 101, "on_error": "continue"}, "ValidationError", "100"),
        ({"updates": []}, "ValidationError", "`updates`"),
        ({}, "ValidationError", "`updates` is required"),
    ],
)
def test_updates_over_their_limits_are_refused(refused: Tools, given: dict[str, Any], kind: str, says: str) -> None:
    answered = refused("memory_batch_update", **given)
    assert (answered[0], says in answered[1]) == (kind, True)


# memory_consolidate


def test_consolidating_answers_the_documents_response(run: Tools) -> None:
    """レスポンス, 使用例: 関連メモリを統合（元は保持）"""
    ids = [stored(run, f"The heron number {i} fishes.", tags=["bird"]) for i in range(3)]
    answer = run(
        "memory_consolidate",
        memory_ids=ids,
        summary_strategy="extractive",
        preserve_originals=True,
        tags=["consolidated", "summary"],
    )
    id = answer.pop("consolidated_memory_id")
    merged = run("memory_get", id=id)
    assert answer == {"success": True, "original_count": 3, "preserved": True, "summary_length": len(merged["content"])}
    assert all(f"The heron number {i} fishes." in merged["content"] for i in range(3))
    assert (merged["memory_tier"], merged["tags"]) == ("long_term", ["consolidated", "summary"])
    assert run("memory_list")["total"] == 4


def test_consolidating_may_delete_the_originals(run: Tools) -> None:
    """使用例: 統合して元を削除"""
    ids = [stored(run, "one"), stored(run, "two")]
    answer = run("memory_consolidate", memory_ids=ids, preserve_originals=False)
    assert answer["preserved"] is False
    assert [memory["id"] for memory in run("memory_list")["memories"]] == [answer["consolidated_memory_id"]]


def test_the_merged_memory_takes_after_the_originals(run: Tools, ana: Tools) -> None:
    first = stored(
        run,
        "x = 1",
        content_type="code",
        agent_id="planner",
        tags=["b", "A"],
        memory_tier="short_term",
        metadata={"a": 1},
    )
    second = stored(run, "two", agent_id="writer", tags=["c", "a"], memory_tier="working")
    id = run("memory_consolidate", memory_ids=[first, second], metadata={"topic": "x"})["consolidated_memory_id"]
    assert run("memory_get", id=id) == {
        "id": id,
        "content": "x = 1\ntwo",
        "content_type": "code",
        "memory_tier": "long_term",
        "tags": ["A", "b", "c"],
        "metadata": {
            "topic": "x",
            "consolidated_from": [first, second],
            "source_count": 2,
            "consolidation_strategy": "extractive",
            "consolidated_at": "2026-01-01T12:00:00Z",
        },
        "created_at": "2026-01-01T12:00:00Z",
        "updated_at": "2026-01-01T12:00:00Z",
        "expires_at": None,
    }
    assert ana("core.get", id=id).body["agent_label"] == "planner"


def test_no_tags_can_be_asked_for(run: Tools) -> None:
    ids = [stored(run, "one", tags=["a"]), stored(run, "two")]
    id = run("memory_consolidate", memory_ids=ids, tags=[])["consolidated_memory_id"]
    assert run("memory_get", id=id)["tags"] == []


def test_up_to_4000_characters_are_kept_word_for_word(run: Tools) -> None:
    parts = ["a" * 1999, "b" * 2000]
    ids = [stored(run, part) for part in parts]
    answer = run("memory_consolidate", memory_ids=ids)
    assert answer["summary_length"] == 4000
    assert run("memory_get", id=answer["consolidated_memory_id"])["content"] == "\n".join(parts)


@pytest.mark.parametrize("end", [". ", "。"])
def test_of_more_the_best_sentences_are_kept_in_their_order(run: Tools, end: str) -> None:
    """summary_strategy: `extractive` - 重要な文を抽出して要約"""
    said = [[f"鷺 number {i} fishes in river {j}" for j in range(40)] for i in range(6)]
    ids = [stored(run, end.join(sentences) + end) for sentences in said]
    answer = run("memory_consolidate", memory_ids=ids)
    content = run("memory_get", id=answer["consolidated_memory_id"])["content"]
    assert 3000 < answer["summary_length"] == len(content) <= 4000
    kept = [place for s in (s for part in said for s in part) if (place := content.find(f"{s}{end.strip()}")) >= 0]
    assert len(kept) > 50
    assert kept == sorted(kept)


def test_a_sentence_that_memories_share_is_kept_once(run: Tools) -> None:
    first = stored(run, "Ana moved to Faro in May. She likes the sea.")
    second = stored(run, "Ana moved to  Faro in may!\nHer flat is on the third floor. She likes the sea.")
    third = stored(run, "She likes the sea")
    answer = run("memory_consolidate", memory_ids=[first, second, third])
    content = run("memory_get", id=answer["consolidated_memory_id"])["content"]
    assert content == "Ana moved to Faro in May. She likes the sea.\nHer flat is on the third floor."
    assert answer["summary_length"] == len(content)


def test_lines_that_code_repeats_are_kept(run: Tools) -> None:
    parts = ["def a():\n    return 1", "def b():\n    return 1"]
    ids = [stored(run, part, content_type="code") for part in parts]
    id = run("memory_consolidate", memory_ids=ids)["consolidated_memory_id"]
    assert run("memory_get", id=id)["content"] == "\n".join(parts)


def test_repeated_ids_count_once(run: Tools, refused: Tools) -> None:
    first, second = stored(run, "one"), stored(run, "two")
    assert run("memory_consolidate", memory_ids=[first, second, first, f"note-{second}"])["original_count"] == 2
    assert refused("memory_consolidate", memory_ids=[first, first])[0] == "ValidationError"


@pytest.mark.parametrize("count", [2, 50])
def test_from_2_to_50_are_merged(run: Tools, count: int) -> None:
    """バリデーション: `memory_ids` は 2〜50 件"""
    ids = run("memory_batch_store", items=[{"content": f"memory {i}"} for i in range(count)])["stored_ids"]
    assert run("memory_consolidate", memory_ids=ids * 2)["original_count"] == count


@pytest.mark.parametrize("count", [0, 1, 51])
def test_fewer_than_2_or_more_than_50_are_refused(run: Tools, refused: Tools, count: int) -> None:
    """バリデーション: 1件のみの場合はエラー"""
    ids = run("memory_batch_store", items=[{"content": f"memory {i}"} for i in range(51)])["stored_ids"]
    kind, message = refused("memory_consolidate", memory_ids=ids[:count])
    assert (kind, "2 to 50" in message) == ("ValidationError", True)


def test_an_id_that_is_not_there_is_not_found(run: Tools, refused: Tools) -> None:
    """バリデーション: 存在しないIDはエラー"""
    ids = [stored(run, "one"), UNKNOWN]
    kind, message = refused("memory_consolidate", memory_ids=ids, preserve_originals=False)
    assert (kind, UNKNOWN in message) == ("NotFoundError", True)


def test_more_tags_than_fit_are_told_before_anything_is_written(run: Tools, refused: Tools) -> None:
    ids = [stored(run, str(n), tags=[f"{n}-{i}" for i in range(40)]) for n in range(2)]
    kind, message = refused("memory_consolidate", memory_ids=ids)
    assert (kind, "give its `tags`" in message) == ("ValidationError", True)
    assert run("memory_consolidate", memory_ids=ids, tags=["all"])["success"] is True
