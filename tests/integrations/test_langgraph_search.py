"""LangGraph's own tests of search by meaning, run on our store over every form of the client.

Ported from langchain-ai/langgraph, libs/checkpoint-sqlite/tests/test_store.py at f09cfe8f (MIT licence): each test's
steps and expectations are theirs, and the store is ours. Left out are tests of SQLite's own schema and queries.

Two things differ, since scores here are of words and meaning together. Theirs are cosines of an embedder of letters,
which finds "blue" by "bbbbluuu" and gives 0.9 to the same word (`test_scores` compares just that). The query here is a
word, and scores are compared with each other.
"""

from collections.abc import Callable

import pytest

pytest.importorskip("langgraph.store.base", reason="langgraph is not installed")


from steeltrap.integrations.langgraph import SteeltrapStore

Fields = Callable[[list[str]], SteeltrapStore]


def test_vector_insert_with_auto_embedding(store: SteeltrapStore) -> None:
    docs = [
        ("doc1", {"text": "short text"}),
        ("doc2", {"text": "longer text document"}),
        ("doc3", {"text": "longest text document here"}),
        ("doc4", {"description": "text in description field"}),
        ("doc5", {"content": "text in content field"}),
        ("doc6", {"body": "text in body field"}),
    ]

    for key, value in docs:
        store.put(("test",), key, value)

    results = store.search(("test",), query="long text")
    assert len(results) > 0

    doc_order = [r.key for r in results]
    assert "doc2" in doc_order
    assert "doc3" in doc_order


def test_vector_update_with_embedding(store: SteeltrapStore) -> None:
    store.put(("test",), "doc1", {"text": "zany zebra Xerxes"})
    store.put(("test",), "doc2", {"text": "something about dogs"})
    store.put(("test",), "doc3", {"text": "text about birds"})

    results_initial = store.search(("test",), query="Zany Xerxes")
    assert len(results_initial) > 0
    assert results_initial[0].key == "doc1"
    initial_score = results_initial[0].score

    store.put(("test",), "doc1", {"text": "new text about dogs"})

    results_after = store.search(("test",), query="Zany Xerxes")
    after_score = next((r.score for r in results_after if r.key == "doc1"), 0.0)
    assert after_score < initial_score

    results_new = store.search(("test",), query="new text about dogs")
    for r in results_new:
        if r.key == "doc1":
            assert r.score > after_score

    store.put(("test",), "doc4", {"text": "new text about dogs"}, index=False)
    results_new = store.search(("test",), query="new text about dogs", limit=3)
    assert not any(r.key == "doc4" for r in results_new)


def test_vector_search_with_filters(store: SteeltrapStore) -> None:
    docs = [
        ("doc1", {"text": "red apple", "color": "red", "score": 4.5}),
        ("doc2", {"text": "red car", "color": "red", "score": 3.0}),
        ("doc3", {"text": "green apple", "color": "green", "score": 4.0}),
        ("doc4", {"text": "blue car", "color": "blue", "score": 3.5}),
    ]
    for key, value in docs:
        store.put(("test",), key, value)

    results = store.search(("test",), query="apple", filter={"color": "red"})

    assert len(results) == 2
    assert results[0].key == "doc1"

    results = store.search(("test",), query="car", filter={"color": "red"})
    assert len(results) > 0
    assert results[0].key == "doc2"

    results = store.search(("test",), query="blue", filter={"score": {"$gt": 3.2}})
    assert len(results) == 3
    assert results[0].key == "doc4"  # The blue car should be the most relevant
    high_score_keys = [r.key for r in results]
    assert "doc1" in high_score_keys  # score 4.5
    assert "doc3" in high_score_keys  # score 4.0

    results = store.search(("test",), query="apple", filter={"score": {"$gte": 4.0}, "color": "green"})
    assert len(results) > 0
    assert results[0].key == "doc3"


def test_vector_search_pagination(store: SteeltrapStore) -> None:
    for i in range(5):
        store.put(("test",), f"doc{i}", {"text": f"test document number {i}"})

    results_page1 = store.search(("test",), query="test", limit=2)
    results_page2 = store.search(("test",), query="test", limit=2, offset=2)

    assert len(results_page1) == 2
    assert len(results_page2) == 2
    assert results_page1[0].key != results_page2[0].key
    assert results_page1[1].key != results_page2[0].key
    assert results_page1[0].key != results_page2[1].key
    assert results_page1[1].key != results_page2[1].key

    assert results_page1[0].score >= results_page1[1].score
    assert results_page2[0].score >= results_page2[1].score

    all_results = store.search(("test",), query="test", limit=10)
    assert len(all_results) == 5
    assert all_results[0].score >= all_results[2].score  # First page vs second page start


def test_vector_search_edge_cases(store: SteeltrapStore) -> None:
    store.put(("test",), "doc1", {"text": "test document"})

    results = store.search(("test",), query="")
    assert len(results) == 1

    results = store.search(("test",), query=None)
    assert len(results) == 1

    long_query = "test " * 100
    results = store.search(("test",), query=long_query)
    assert len(results) == 1

    special_query = "test!@#$%^&*()"
    results = store.search(("test",), query=special_query)
    assert len(results) == 1


def test_embed_with_path(with_fields: Fields) -> None:
    store = with_fields(["key0", "key1", "key3"])
    doc1 = {
        "key1": "xxx",
        "key2": "yyy",
        "key3": "zzz",
    }
    doc2 = {
        "key0": "uuu",
        "key1": "vvv",
        "key2": "www",
        "key3": "xxx",
    }
    store.put(("test",), "doc1", doc1)
    store.put(("test",), "doc2", doc2)

    results = store.search(("test",), query="xxx")
    assert len(results) == 2
    assert results[0].key != results[1].key
    least = results[1].score

    results = store.search(("test",), query="uuu")
    assert len(results) == 2
    assert results[0].key != results[1].key
    assert results[0].key == "doc2"
    assert results[0].score > results[1].score

    results = store.search(("test",), query="zzz")
    assert len(results) == 2
    assert results[0].key != results[1].key
    assert results[0].key == "doc1"
    assert results[0].score > results[1].score

    results = store.search(("test",), query="www")
    assert len(results) == 2
    assert results[0].key != results[1].key
    assert results[0].score < least
    assert results[1].score < least


def test_embed_with_path_operation_config(with_fields: Fields) -> None:
    store = with_fields(["key17"])
    doc3 = {
        "key0": "aaa",
        "key1": "bbb",
        "key2": "ccc",
        "key3": "ddd",
    }
    doc4 = {
        "key0": "eee",
        "key1": "bbb",  # Same as doc3.key1
        "key2": "fff",
        "key3": "ggg",
    }

    store.put(("test",), "doc3", doc3, index=["key0", "key1"])
    store.put(("test",), "doc4", doc4, index=["key1", "key3"])

    results = store.search(("test",), query="aaa")
    assert len(results) == 2
    assert results[0].key == "doc3"
    assert len({r.key for r in results}) == 2
    assert results[0].score > results[1].score

    results = store.search(("test",), query="ggg")
    assert len(results) == 2
    assert results[0].key == "doc4"
    assert results[0].score > results[1].score

    results = store.search(("test",), query="bbb")
    assert len(results) == 2
    assert results[0].key != results[1].key
    assert abs(results[0].score - results[1].score) < 0.1  # Similar scores

    results = store.search(("test",), query="ccc")
    assert len(results) == 2
    assert all(r.score < 0.9 for r in results)  # Unindexed field should have low scores

    doc5 = {
        "key0": "hhh",
        "key1": "iii",
    }
    store.put(("test",), "doc5", doc5, index=False)
    results = store.search(("test",))
    assert len(results) == 3
    assert any(r.key == "doc5" for r in results)


def test_non_ascii(store: SteeltrapStore) -> None:
    store.put(("user_123", "memories"), "1", {"text": "这是中文"})  # Chinese
    store.put(("user_123", "memories"), "2", {"text": "これは日本語です"})  # Japanese
    store.put(("user_123", "memories"), "3", {"text": "이건 한국어야"})  # Korean
    store.put(("user_123", "memories"), "4", {"text": "Это русский"})  # Russian
    store.put(("user_123", "memories"), "5", {"text": "यह रूसी है"})  # Hindi

    result1 = store.search(("user_123", "memories"), query="这是中文")
    result2 = store.search(("user_123", "memories"), query="これは日本語です")
    result3 = store.search(("user_123", "memories"), query="이건 한국어야")
    result4 = store.search(("user_123", "memories"), query="Это русский")
    result5 = store.search(("user_123", "memories"), query="यह रूसी है")

    assert result1[0].key == "1"
    assert result2[0].key == "2"
    assert result3[0].key == "3"
    assert result4[0].key == "4"
    assert result5[0].key == "5"
