"""The document "Memory Tools": searching and scores."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from clock import SettableClock
from dialects.recording import FILLER, Tools, stored, that_succeeds
from embedding import HashedWords
from steeltrap.invoke import Door
from steeltrap.model import Caller, Candidates, Matches, Query, UserRef
from steeltrap.ports import Deadline, MemoryStore


@pytest.fixture
def run(ana: Tools) -> Tools:
    return that_succeeds(ana)


def found(run: Tools, query: str, **arguments: Any) -> list[str]:
    return [hit["content"] for hit in run("memory_search", query=query, **arguments)["results"]]


# memory_search


def test_searching_answers_the_documents_response(run: Tools) -> None:
    """レスポンス"""
    id = stored(run, "User prefers dark mode", tags=["preferences", "ui"])
    answer = run("memory_search", query="dark mode")
    similarity = answer["results"][0].pop("similarity")
    assert similarity == pytest.approx(0.7071, abs=1e-4)
    assert answer == {
        "results": [
            {
                "id": id,
                "content": "User prefers dark mode",
                "memory_tier": "long_term",
                "tags": ["preferences", "ui"],
                "created_at": "2026-01-01T12:00:00Z",
            }
        ],
        "total": 1,
    }


def test_the_documents_example_finds_what_it_asks_for(run: Tools) -> None:
    """使用例"""
    stored(run, "User interface preferences: dark mode", memory_tier="long_term")
    stored(run, "User interface preferences: today light mode", memory_tier="working")
    stored(run, "The heron fishes at dawn")
    query = "user interface preferences"
    assert found(run, query, top_k=5, memory_tier="long_term", min_similarity=0.5) == [
        "User interface preferences: dark mode"
    ]


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
@pytest.mark.parametrize(
    ("filter", "contents"),
    [
        ({}, {"otter one", "otter two", "otter three"}),
        ({"memory_tier": "working"}, {"otter two"}),
        ({"tags": ["WET"]}, {"otter one", "otter two"}),
        ({"tags": ["wet", "river"]}, {"otter two"}),
        ({"content_type": "code"}, {"otter three"}),
        ({"content_type": "code", "tags": ["wet"]}, set()),
    ],
)
def test_every_filter_must_let_a_memory_through(
    run: Tools, mode: str, filter: dict[str, Any], contents: set[str]
) -> None:
    """パラメータ: 階層でフィルタ, タグでフィルタ（AND条件）, コンテンツタイプでフィルタ"""
    stored(run, "otter one", tags=["wet"])
    stored(run, "otter two", tags=["wet", "river"], memory_tier="working")
    stored(run, "otter three", content_type="code")
    answer = run("memory_search", query="otter", search_mode=mode, **filter)
    assert {hit["content"] for hit in answer["results"]} == contents
    assert answer["total"] == len(contents)


@pytest.mark.parametrize("top_k", [1, 1000])
def test_top_k_from_1_to_1000_is_taken(run: Tools, top_k: int) -> None:
    """バリデーション: `top_k` は 1〜1000 の範囲; デフォルト 10"""
    run("memory_batch_store", items=[{"content": f"otter {i}"} for i in range(12)])
    assert len(found(run, "otter", top_k=top_k)) == min(top_k, 12)
    assert len(found(run, "otter")) == 10


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"top_k": 0}, "from 1 to 1000"),
        ({"top_k": 1001}, "from 1 to 1000"),
        ({"min_similarity": -0.1}, "from 0 to 1"),
        ({"min_similarity": 1.1}, "from 0 to 1"),
        ({"keyword_weight": -0.1}, "from 0 to 1"),
        ({"keyword_weight": 2}, "from 0 to 1"),
        ({"importance_weight": 1.5}, "from 0 to 1"),
        ({"query": " "}, "`query` must not be empty"),
        ({"query": ""}, "`query` must not be empty"),
        ({"limit": 5}, "`limit` is not a field here"),
    ],
)
def test_what_is_out_of_range_is_refused(ana: Tools, given: dict[str, Any], says: str) -> None:
    """バリデーション: `top_k` は 1〜1000 の範囲, `min_similarity` は 0.0〜1.0 の範囲"""
    body = ana("records.memory_search", **{"query": "x", **given}).body
    assert (body["error"], body["error_type"], says in body["message"]) == (True, "ValidationError", True)


# search_mode


@pytest.fixture
def pond(run: Tools) -> None:
    """One memory near in meaning, one that only shares a rare word, and one that does neither."""
    stored(run, "the otter swims in the river")
    stored(run, f"ticket KX4711 {FILLER} {FILLER}")
    stored(run, "bread needs flour")


@pytest.mark.usefixtures("pond")
def test_the_default_is_semantic_and_lists_all_by_similarity(run: Tools) -> None:
    answer = run("memory_search", query="otter river")["results"]
    assert answer == run("memory_search", query="otter river", search_mode="semantic")["results"]
    assert answer[0]["content"] == "the otter swims in the river"
    similarities = [hit["similarity"] for hit in answer]
    assert similarities == sorted(similarities, reverse=True)
    assert len(answer) == 3
    assert all(0 <= similarity <= 1 for similarity in similarities)


@pytest.mark.usefixtures("pond")
def test_keyword_finds_only_what_shares_a_word(run: Tools) -> None:
    [hit] = run("memory_search", query="KX4711", search_mode="keyword")["results"]
    assert hit["content"].startswith("ticket KX4711")
    assert hit["similarity"] == 1.0
    assert found(run, "unheard", search_mode="keyword") == []


def test_in_keyword_mode_similarity_is_the_share_of_the_best_match(run: Tools) -> None:
    stored(run, "otter otter river")
    stored(run, f"otter {FILLER}")
    best, rest = run("memory_search", query="otter river", search_mode="keyword")["results"]
    assert best["similarity"] == 1.0
    assert 0 < rest["similarity"] < 1


@pytest.mark.usefixtures("pond")
def test_hybrid_finds_by_meaning_and_by_words(run: Tools) -> None:
    hits = run("memory_search", query="otter swims KX4711", search_mode="hybrid")["results"]
    assert {hit["content"][:9] for hit in hits[:2]} == {"the otter", "ticket KX"}
    assert all(0 <= hit["similarity"] <= 1 for hit in hits)


@pytest.mark.parametrize(
    ("weight", "first"), [(1.0, f"ticket {FILLER} {FILLER}"), (0.9, f"ticket {FILLER} {FILLER}"), (0.0, "otter river")]
)
def test_the_keyword_weight_decides_between_meaning_and_words(run: Tools, weight: float, first: str) -> None:
    """パラメータ: ハイブリッド検索でのキーワード重み; the vector's weight is what is left of 1"""
    stored(run, f"ticket {FILLER} {FILLER}")
    for _ in range(5):
        stored(run, "otter river")
    assert found(run, "ticket otter river", search_mode="hybrid", keyword_weight=weight, top_k=1) == [first]


def test_without_words_of_its_own_hybrid_at_weight_0_ranks_as_semantic(run: Tools) -> None:
    for content in ("otter river", "otter", "river bank path", "bread"):
        stored(run, content)
    weightless = found(run, "otter river", search_mode="hybrid", keyword_weight=0.0, min_similarity=0.2)
    assert weightless[:2] == found(run, "otter river")[:2]


# min_similarity


@pytest.mark.parametrize(("floor", "count"), [(0.0, 3), (0.3, 2), (0.8, 1), (1.0, 1)])
def test_a_floor_leaves_out_what_is_less_similar(run: Tools, floor: float, count: int) -> None:
    for content in ("otter river", "otter path", "bread"):
        stored(run, content)
    hits = run("memory_search", query="otter river", min_similarity=floor)["results"]
    assert len(hits) == count
    assert all(hit["similarity"] >= floor for hit in hits)


@pytest.mark.usefixtures("pond")
@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
@pytest.mark.parametrize("floor", [0.01, 0.1234567, 0.3, 0.5, 0.70004, 0.9, 1.0])
def test_no_result_by_meaning_is_shown_below_the_floor(run: Tools, mode: str, floor: float) -> None:
    stored(run, f"{FILLER} KX4711 {FILLER} {FILLER}")
    everything = run("memory_search", query="KX4711 otter", search_mode=mode)["results"]
    hits = run("memory_search", query="KX4711 otter", search_mode=mode, min_similarity=floor)["results"]
    assert all(hit["similarity"] >= floor for hit in hits)
    assert {hit["id"] for hit in hits} >= {hit["id"] for hit in everything if hit["similarity"] > floor + 1e-4}


@pytest.mark.parametrize("mode", ["semantic", "hybrid", "keyword"])
def test_a_result_has_the_documents_keys_whatever_found_it(run: Tools, mode: str) -> None:
    stored(run, f"{FILLER} KX4711 {FILLER} {FILLER}")
    stored(run, "KX4711")
    for floor in (0.0, 0.9):
        hits = run("memory_search", query="KX4711", search_mode=mode, min_similarity=floor)["results"]
        assert hits
        for hit in hits:
            assert list(hit) == ["id", "content", "similarity", "memory_tier", "tags", "created_at"]


@pytest.mark.usefixtures("pond")
def test_in_keyword_mode_the_floor_has_no_say(run: Tools) -> None:
    assert len(found(run, "KX4711", search_mode="keyword", min_similarity=1.0)) == 1


def test_below_the_floor_the_outcome_says_what_was_nearest(run: Tools, ana: Tools) -> None:
    stored(run, "otter path")
    result = ana("records.memory_search", query="otter river", min_similarity=0.9)
    assert (result.body, result.outcome.kind) == ({"results": [], "total": 0}, "below_floor")
    assert result.outcome.best_score == pytest.approx(0.5, abs=0.1)


# sort_by, importance_weight


def test_sorting_orders_every_match_before_it_cuts(run: Tools, clock: SettableClock) -> None:
    """sort_by: `importance` - 重要度スコア順, `created_at` - 作成日時順; the least relevant match may be the first"""
    vital = stored(run, f"otter {FILLER}")
    for batch in range(5):
        clock.advance(hours=1)
        run("memory_batch_store", items=[{"content": f"otter river {batch} {i}"} for i in range(100)])
    clock.advance(hours=1)
    newest = stored(run, f"otter {FILLER} {FILLER}")
    run("memory_set_score", id=vital, score=1.0)
    for mode in ("semantic", "keyword", "hybrid"):
        given = {"query": "otter river", "search_mode": mode, "top_k": 1}
        assert run("memory_search", **given)["results"][0]["content"].startswith("otter river")
        assert run("memory_search", **given, sort_by="importance")["results"][0]["id"] == vital
        assert run("memory_search", **given, sort_by="created_at")["results"][0]["id"] == newest


def test_sorting_keeps_to_the_floor_and_the_filter(run: Tools, clock: SettableClock) -> None:
    stored(run, "otter river", tags=["wet"])
    clock.advance(hours=1)
    run("memory_set_score", id=stored(run, "bread", tags=["wet"]), score=1.0)
    run("memory_set_score", id=stored(run, "otter river too"), score=1.0)
    for order in ("importance", "created_at"):
        assert found(run, "otter river", sort_by=order, min_similarity=0.5, tags=["wet"]) == ["otter river"]


def test_equal_places_go_to_the_more_relevant_then_the_newest_then_the_smallest_id(
    run: Tools, clock: SettableClock
) -> None:
    old = stored(run, "otter river")
    clock.advance(minutes=1)
    young = [stored(run, "otter river") for _ in range(3)]
    less = stored(run, "otter path")
    for id in (old, *young, less):
        run("memory_set_score", id=id, score=0.5)
    ranked = run("memory_search", query="otter river", sort_by="importance")["results"]
    assert [hit["id"] for hit in ranked] == [*sorted(young), old, less]


@pytest.mark.parametrize(
    ("weight", "first"), [(0.0, "otter river"), (0.3, "otter river"), (0.7, "otter path"), (1.0, "otter path")]
)
def test_the_importance_weight_mixes_relevance_and_importance(run: Tools, weight: float, first: str) -> None:
    """パラメータ: 重要度スコアの重み付け; (1 - w) x relevance + w x importance: 1 and 0 against 0.5 and 1"""
    run("memory_set_score", id=stored(run, "otter river"), score=0.0)
    run("memory_set_score", id=stored(run, "otter path"), score=1.0)
    for mode in ("semantic", "hybrid"):
        given = {"search_mode": mode, "keyword_weight": 0.0, "importance_weight": weight}
        assert found(run, "otter river", **given)[0] == first


def test_a_mixed_score_is_the_formula(run: Tools, ana: Tools) -> None:
    id = stored(run, "otter path")
    run("memory_set_score", id=id, score=0.8)
    [hit] = ana("core.search", query="otter river", mode="semantic", importance_weight=0.25, why=True).body["results"]
    assert hit["why"]["importance"] == 0.8
    assert hit["score"] == pytest.approx(0.75 * hit["why"]["similarity"] + 0.25 * 0.8, abs=1e-4)


# memory_get_score


def test_a_score_answers_the_documents_response(run: Tools, clock: SettableClock) -> None:
    """レスポンス: how often it was read, and when last"""
    id = stored(run, "otter")
    clock.advance(hours=4)
    for _ in range(12):
        run("memory_get", id=id)
    clock.advance(days=15)
    answer = run("memory_get_score", id=id)
    assert answer.pop("importance_score") == pytest.approx(0.6 * 2.718281828 ** (-0.5) + 0.4 * 0.12, abs=1e-4)
    assert answer == {
        "success": True,
        "memory_id": id,
        "access_count": 12,
        "last_accessed_at": "2026-01-01T16:00:00Z",
    }


@pytest.mark.parametrize(
    ("days", "reads", "score"),
    [
        (0, 0, 0.6),
        (0, 100, 1.0),
        (0, 150, 1.0),
        (30, 0, 0.2207),
        (30, 50, 0.4207),
        (300, 0, 0.0),
    ],
)
def test_importance_is_by_recency_and_frequency(
    run: Tools, clock: SettableClock, days: int, reads: int, score: float
) -> None:
    """0.6 x e^(-days since the last access, else creation / 30) + 0.4 x min(accesses / 100, 1)"""
    id = stored(run, "otter")
    for _ in range(reads):
        run("memory_get", id=id)
    clock.advance(days=days)
    assert run("memory_get_score", id=id)["importance_score"] == pytest.approx(score, abs=1e-4)


def test_only_getting_and_searching_count_as_access(run: Tools) -> None:
    id, other = stored(run, "otter"), stored(run, "bread")
    run("memory_list")
    run("memory_get_score", id=id)
    run("memory_update", id=id, tags=["a"])
    run("memory_set_score", id=id, score=0.5)
    run("memory_consolidate", memory_ids=[id, other])
    assert (run("memory_get_score", id=id)["access_count"], _accessed(run, id)) == (0, None)
    run("memory_get", id=id)
    assert run("memory_get_score", id=id)["access_count"] == 1
    run("memory_search", query="otter", search_mode="keyword", top_k=1)
    run("memory_search", query="bread", search_mode="keyword", top_k=1)
    assert run("memory_get_score", id=id)["access_count"] == 2
    assert _accessed(run, id) == "2026-01-01T12:00:00Z"


def test_reading_changes_no_version(run: Tools, ana: Tools) -> None:
    id = stored(run, "otter")
    run("memory_get", id=id)
    run("memory_search", query="otter")
    assert ana("core.get", id=id).body["version"] == 1


def _accessed(run: Tools, id: str) -> Any:
    return run("memory_get_score", id=id)["last_accessed_at"]


# memory_set_score


def test_setting_a_score_answers_the_documents_response(run: Tools) -> None:
    """レスポンス, 使用例"""
    id = stored(run, "otter")
    run("memory_set_score", id=id, score=0.5)
    answer = run("memory_set_score", id=id, score=0.9, reason="Critical user preference")
    assert answer == {"success": True, "memory_id": id, "previous_score": 0.5, "new_score": 0.9}


def test_the_previous_score_is_what_was_effective(run: Tools, clock: SettableClock) -> None:
    id = stored(run, "otter")
    clock.advance(days=30)
    assert run("memory_set_score", id=id, score=1)["previous_score"] == pytest.approx(0.2207, abs=1e-4)


@pytest.mark.parametrize("score", [0.0, 0.123456, 1.0])
def test_a_score_set_by_hand_sticks(run: Tools, clock: SettableClock, score: float) -> None:
    """スコアを手動で設定: whatever is read, 0.0 included"""
    id = stored(run, "otter")
    run("memory_set_score", id=id, score=score)
    for _ in range(3):
        run("memory_get", id=id)
    clock.advance(days=90)
    run("memory_update", id=id, content="otter river")
    assert run("memory_get_score", id=id)["importance_score"] == score
    assert run("memory_set_score", id=id, score=0.5)["previous_score"] == score


def test_the_reason_is_kept_for_the_audit(run: Tools, ana: Tools) -> None:
    """パラメータ: 設定理由（監査用）"""
    id = stored(run, "otter")
    run("memory_set_score", id=id, score=0.2)
    run("memory_set_score", id=id, score=0.9, reason="Critical user preference")
    now = {"score": 0.9, "reason": "Critical user preference", "set_at": "2026-01-01T12:00:00Z"}
    assert ana("core.get", id=id).body["importance"] == now
    images = [revision["memory"].get("importance") for revision in ana("core.history", id=id).body["revisions"]]
    assert images == [None, {**now, "score": 0.2, "reason": "Manual override"}, now]


@pytest.mark.parametrize("score", [-0.1, 1.1, "high", None, True])
def test_a_score_is_a_number_from_0_to_1(run: Tools, ana: Tools, score: Any) -> None:
    """バリデーション: `score` は 0.0〜1.0 の範囲"""
    id = stored(run, "otter")
    body = ana("records.memory_set_score", id=id, score=score).body
    assert (body["error"], body["error_type"]) == (True, "ValidationError")
    assert "a number from 0 to 1" in body["message"]
    assert ana("core.get", id=id).body["version"] == 1


def test_core_scores_too(run: Tools, ana: Tools) -> None:
    id = stored(run, "otter")
    run("memory_get", id=id)
    assert ana("core.score", id=id).body == {
        "id": id,
        "score": 0.604,
        "access_count": 1,
        "last_accessed_at": "2026-01-01T12:00:00Z",
    }
    assert ana("core.set_score", id=id, score=0.0, reason="Noise").body == {
        "id": id,
        "version": 2,
        "previous": 0.604,
        "score": 0.0,
    }
    told = ana("core.score", id=id).body
    assert (told["score"], told["reason"], told["set_at"]) == (0.0, "Noise", "2026-01-01T12:00:00Z")


# What the original got wrong


def test_a_score_of_0_ranks_below_what_was_never_scored(run: Tools) -> None:
    run("memory_set_score", id=stored(run, "otter one"), score=0.0)
    stored(run, "otter two")
    assert found(run, "otter", sort_by="importance") == ["otter two", "otter one"]


def test_scores_are_computed_when_they_are_asked_for(run: Tools, clock: SettableClock) -> None:
    often, once = stored(run, "otter one"), stored(run, "otter two")
    for _ in range(20):
        run("memory_get", id=often)
    clock.advance(days=60)
    run("memory_get", id=once)
    assert found(run, "otter", sort_by="importance") == ["otter two", "otter one"]


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
def test_a_filter_starves_no_search(run: Tools, mode: str) -> None:
    run("memory_batch_store", items=[{"content": f"otter river {i}"} for i in range(100)])
    run("memory_batch_store", items=[{"content": f"otter river {i}"} for i in range(100, 200)])
    wanted = {f"otter {FILLER} {i}" for i in range(8)}
    run("memory_batch_store", items=[{"content": content, "tags": ["rare"]} for content in sorted(wanted)])
    assert set(found(run, "otter river", search_mode=mode, tags=["rare"])) == wanted


@pytest.mark.parametrize(
    "query", ["river otter", "river the otter", 'otter" OR "river', "otter AND NOT river", "otter*"]
)
def test_keywords_are_no_phrase_and_have_no_operators(run: Tools, query: str) -> None:
    stored(run, "The otter sleeps by the river")
    assert found(run, query, search_mode="keyword") == ["The otter sleeps by the river"]


@pytest.mark.parametrize("query", ["設定", "ダークモード", "画面", "京"])
@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_japanese_is_found_inside_a_sentence(run: Tools, query: str, mode: str) -> None:
    sentence = "京都の利用者は画面の設定でダークモードを選びました。"
    stored(run, sentence)
    stored(run, "パンは小麦粉から作られる。")
    assert found(run, query, search_mode=mode)[0] == sentence
    assert found(run, query, search_mode="keyword") == [sentence]


def test_spanish_is_found_without_its_accents(run: Tools) -> None:
    stored(run, "La reunión será en otoño")
    assert found(run, "reunion otono", search_mode="keyword") == ["La reunión será en otoño"]


def test_a_search_without_its_embedder_is_an_error_and_by_words_it_goes_on(door: Door, ana: Tools, run: Tools) -> None:
    stored(run, "otter")
    broken = replace(door, embedder=HashedWords(dimension=256, state="broken"))
    caller = Caller(UserRef("ana"), "assistant")
    body = broken.invoke("records.memory_search", {"query": "otter"}, caller).body
    assert (body["error"], body["error_type"]) == (True, "UnavailableError")
    words = broken.invoke("records.memory_search", {"query": "otter", "search_mode": "keyword"}, caller).body
    assert words["total"] == 1


@dataclass(frozen=True)
class HalfBlind:
    """A store of which one leg failed, as `found` says what the other one still finds."""

    store: MemoryStore
    found: bool

    def space(self, user: UserRef, deadline: Deadline) -> Any:
        space = self.store.space(user, deadline)

        def search(query: Query) -> Matches:
            matches = space.search(query)
            return replace(
                matches,
                candidates=matches.candidates if self.found else Candidates.of([]),
                degraded="the index does not answer",
            )

        return _Patched(space, search)


class _Patched:
    def __init__(self, space: Any, search: Callable[[Query], Matches]) -> None:
        self._space = space
        self.search = search

    def __getattr__(self, name: str) -> Any:
        return getattr(self._space, name)


def test_a_degraded_search_is_an_error_where_it_has_nothing_and_marked_where_it_has(door: Door, run: Tools) -> None:
    stored(run, "otter")
    caller = Caller(UserRef("ana"), "assistant")
    blind = replace(door, store=HalfBlind(door.store, found=False))  # type: ignore[arg-type]
    body = blind.invoke("records.memory_search", {"query": "otter"}, caller).body
    assert (body["error_type"], "the index does not answer" in body["message"]) == ("UnavailableError", True)
    half = replace(door, store=HalfBlind(door.store, found=True))  # type: ignore[arg-type]
    result = half.invoke("records.memory_search", {"query": "otter"}, caller)
    assert result.outcome is not None
    assert (result.body["total"], result.outcome.kind) == (1, "degraded")
