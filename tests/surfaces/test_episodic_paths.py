"""`episodic` at the paths of its document: an agent changes nothing but the address."""

import httpx
import pytest

SAID = [(0, "I moved to Lisbon."), (0, "It is sunny."), (0, "And hilly."), (60, "Good morning!")]


def test_what_is_added_there_is_retrieved_there(local: httpx.Client) -> None:
    for minutes, content in SAID:
        message = {"role": "user", "content": content, "timestamp": 1714554000000 + minutes * 60_000}
        body = {"conversation_id": "0195f3c4-7a58-7f43-b4ac-0b0f0e7d2f11", "message": message}
        added = local.post("/api/v0/add_message", json=body)
        assert (added.status_code, added.json()) == (200, {"accepted": True})
    answer = local.post("/api/v0/retrieve_memory", json={"query": "Lisbon"})
    assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert answer.text.startswith("## Memory 1 [rank: 1, score: ")
    [found] = local.post("/api/v0/retrieve_memory/raw", json={"query": "Lisbon"}).json()
    assert found["content"] == "User: I moved to Lisbon."
    assert [said["content"] for said in found["messages"]] == ["I moved to Lisbon.", "It is sunny.", "And hilly."]


@pytest.mark.parametrize("path", ["/api/v0/retrieve_memory", "/api/v0/retrieve_memory/raw"])
@pytest.mark.parametrize("query", ["", "  "])
def test_an_empty_query_is_a_400_that_says_so(local: httpx.Client, path: str, query: str) -> None:
    refused = local.post(path, json={"query": query})
    assert refused.status_code == 400
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert refused.json()["detail"] == "`query` must not be empty: say what to look for."
