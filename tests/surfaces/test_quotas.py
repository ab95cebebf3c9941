"""Quotas through every door: the same refusal, in the form of each, and a way on for who takes away."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp.client import Client

from clock import SettableClock
from embedding import HashedWords
from steeltrap.client.in_process import Memory
from steeltrap.engine.saving import save as engine_save
from steeltrap.errors import InvalidInput, Throttled, Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, Draft, UserRef
from steeltrap.runtime.local import open_door
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import TrustedHeaders
from steeltrap.servers.aws_lambda.tools import tool_handler
from steeltrap.servers.mcp import create_server
from steeltrap.settings import read_settings
from surfaces.events import as_messages, as_v1, as_v2
from surfaces.serving import served

ANA = Caller(UserRef("ana"), "default", "chat-1")
Opening = Callable[..., Door]


@pytest.fixture
def open_limited(tmp_path: Path, clock: SettableClock) -> Iterator[Opening]:
    opened: list[Door] = []

    def opening(**quotas: int) -> Door:
        settings = read_settings({}, data=tmp_path, **quotas)
        opened.append(open_door(settings, embedder=HashedWords(), clock=clock))
        return opened[-1]

    yield opening
    for door in opened:
        door.store.close()


@contextmanager
def client_of(door: Door) -> Iterator[httpx.Client]:
    app = create_app(door, TrustedHeaders(), local=False, closes_store=False)
    with served(app) as url, httpx.Client(base_url=url, headers={"X-User-Id": "ana"}) as client:
        yield client


def save(door: Door, content: str, caller: Caller = ANA, **more: Any) -> Any:
    return door.invoke("core.save", {"content": content, **more}, caller)


def test_over_http_too_many_calls_are_told_when_to_come_back(open_limited: Opening, clock: SettableClock) -> None:
    clock.advance(seconds=15)
    with client_of(open_limited(calls_per_minute=2)) as client:
        statuses = [client.post("/v1/core/list", json={}).status_code for _ in range(2)]
        refused = client.post("/v1/core/list", json={})
        assert [*statuses, refused.status_code, refused.headers["Retry-After"]] == [200, 200, 429, "45"]
        assert refused.json()["code"] == "throttled"
        assert refused.json()["retryable"] is True
        notes = client.post("/v1/notes/memory_search", json={"query": "x"})
        assert (notes.status_code, notes.headers["Retry-After"]) == (429, "45")
        assert client.post("/v1/core/list", json={}, headers={"X-User-Id": "bob"}).status_code == 200
        clock.advance(seconds=45)
        assert client.post("/v1/core/list", json={}).status_code == 200


def test_a_call_that_is_refused_for_its_arguments_counts_too(open_limited: Opening) -> None:
    with client_of(open_limited(calls_per_minute=1)) as client:
        statuses = [client.post("/v1/core/save", json={"content": ""}).status_code for _ in range(2)]
    assert statuses == [400, 429]


@pytest.mark.parametrize("event", [as_v1, as_v2])
def test_functions_answer_with_status_and_header(open_limited: Opening, event: Any) -> None:
    door = open_limited(calls_per_minute=1)
    handler = tool_handler("list", open=lambda: door)
    answers = [handler(event("/v1/core/list", "{}", ANA), None) for _ in range(2)]
    assert [answer["statusCode"] for answer in answers] == [200, 429]
    assert answers[1]["headers"]["Retry-After"] == "60"


def test_a_direct_invocation_is_told_and_a_queues_message_comes_again(open_limited: Opening) -> None:
    door = open_limited(calls_per_minute=1)
    direct = {"toolset": "core", "tool": "list", "arguments": {}, "caller": {"user_id": "ana"}}
    answers = [tool_handler("list", open=lambda: door)(direct, None) for _ in range(2)]
    assert "error" not in answers[0]
    assert answers[1]["error"]["code"] == "throttled"
    assert answers[1]["error"]["retry_after"] == 60
    message = {**direct, "tool": "save", "arguments": {"content": "Later."}}
    queue = tool_handler("save", open=lambda: door, settings=read_settings({"STEELTRAP_QUEUE_CALLERS": "true"}))
    assert queue(as_messages(message), None)["batchItemFailures"] == [{"itemIdentifier": "message-0"}]


def test_a_tenants_user_has_a_quota_of_their_own(open_limited: Opening) -> None:
    door = open_limited(calls_per_minute=1)
    callers = [
        Caller(UserRef("ana")),
        Caller(UserRef("ana", "acme"), None, None),
        Caller(UserRef("ana"), "another-agent"),
    ]
    assert [door.invoke("core.list", {}, caller).error is None for caller in callers] == [True, True, False]


def test_over_mcp_a_refusal_is_the_tools_error_and_listing_tools_counts_nothing(open_limited: Opening) -> None:
    door = open_limited(calls_per_minute=1)

    async def asked() -> Any:
        async with Client(create_server(door, "records", lambda _: ANA)) as client:
            for _ in range(3):
                await client.list_tools()
            return [await client.call_tool("memory_list", {}) for _ in range(2)]

    first, second = anyio.run(asked)
    assert not first.is_error
    assert second.is_error
    assert json.loads(second.content[0].text)["error_type"] == "ThrottledError"


def test_in_python_a_refusal_is_raised(open_limited: Opening) -> None:
    memory = Memory(open_limited(calls_per_minute=1), ANA)
    memory.core.list()
    with pytest.raises(Throttled) as refused:
        memory.core.list()
    assert refused.value.details["retry_after"] == 60


def test_the_memory_too_many_is_refused_over_http_and_there_is_room_after_a_deletion(open_limited: Opening) -> None:
    with client_of(open_limited(max_memories=2)) as client:
        ids = [client.post("/v1/core/save", json={"content": f"Fact {n}."}).json()["id"] for n in range(2)]
        refused = client.post("/v1/core/save", json={"content": "One more."})
        assert (refused.status_code, refused.json()["retryable"], refused.headers["Retry-After"]) == (429, True, "60")
        assert refused.json()["quota"] == "memories"
        assert "2 are allowed: delete or consolidate some" in refused.json()["detail"]
        assert client.post("/v1/core/stats", json={}).json()["memories"] == 2
        assert client.post("/v1/core/update", json={"id": ids[0], "content": "A fact."}).status_code == 200
        assert client.post("/v1/core/delete", json={"id": ids[0]}).status_code == 200
        assert client.post("/v1/core/save", json={"content": "One more."}).status_code == 200
        undone = client.post("/v1/core/undo", json={"id": ids[0]})
        assert undone.status_code == 429
        assert client.post("/v1/core/save", json={"content": "x"}, headers={"X-User-Id": "bob"}).status_code == 200


WRITES: list[tuple[str, dict[str, Any]]] = [
    ("core.save", {"content": "One more."}),
    ("core.batch_save", {"items": [{"content": "One more."}]}),
    ("core.import", {"records": [{"content": "One more.", "created_at": "2026-01-01T00:00:00Z"}]}),
    ("notes.memory_save", {"content": "One more."}),
    ("categories.store_memory", {"content": "One more.", "category": "fact"}),
    ("records.memory_store", {"content": "One more."}),
    ("associative.memory_store", {"content": "One more."}),
]


@pytest.mark.parametrize(("tool", "arguments"), WRITES, ids=[tool for tool, _ in WRITES])
def test_every_dialect_refuses_in_its_own_form_and_writes_nothing(
    open_limited: Opening, tool: str, arguments: dict[str, Any]
) -> None:
    door = open_limited(max_memories=1)
    save(door, "There.")
    for record in arguments.get("records", []):
        exported = door.invoke("core.export", {}, ANA).body["records"][0]
        record.update({**exported, "id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "content": "One more."})
    refused = door.invoke(tool, arguments, ANA)
    assert refused.error is not None
    assert refused.error.code == "throttled"
    assert "1 is allowed" in str(refused.body)
    assert door.invoke("core.stats", {}, ANA).body["memories"] == 1


def test_bytes_are_refused_and_forgetting_makes_room(open_limited: Opening, clock: SettableClock) -> None:
    door = open_limited(max_bytes=3000)
    first = save(door, "word " * 400).body["id"]
    refused = save(door, "word " * 400)
    assert refused.error is not None
    assert "3,000 are allowed: forget some" in refused.error.message
    assert save(door, "Short.").error is None
    assert door.invoke("core.update", {"id": first, "content": "word " * 399}, ANA).error is None
    longer = door.invoke("core.update", {"id": first, "content": "word " * 900}, ANA)
    assert longer.error is not None
    assert door.invoke("core.delete", {"id": first}, ANA).error is None
    clock.advance(seconds=10)
    assert save(door, "word " * 400).error is not None
    assert door.invoke("core.forget", {"id": first}, ANA).error is None
    clock.advance(seconds=refused.error.details["retry_after"])
    assert save(door, "word " * 400).error is None


def test_a_batch_that_does_not_fit_whole_writes_nothing(open_limited: Opening) -> None:
    door = open_limited(max_memories=3)
    items = [{"content": f"Fact {n}."} for n in range(4)]
    assert door.invoke("core.batch_save", {"items": items}, ANA).error is not None
    assert door.invoke("core.stats", {}, ANA).body["memories"] == 0
    body = door.invoke("core.batch_save", {"items": items, "on_error": "continue"}, ANA).body
    assert door.invoke("core.stats", {}, ANA).body["memories"] == 3
    assert [error["code"] for error in body["errors"]] == ["throttled"]


def test_consolidating_at_the_limit_is_a_way_on(open_limited: Opening) -> None:
    door = open_limited(max_memories=2)
    ids = [save(door, f"Fact {n} about herons.").body["id"] for n in range(2)]
    merged = door.invoke("core.consolidate", {"ids": ids, "preserve_originals": False}, ANA)
    assert merged.error is None, merged.body
    assert door.invoke("core.stats", {}, ANA).body["memories"] == 1


def test_a_save_that_is_repeated_at_the_limit_answers_what_it_saved(open_limited: Opening) -> None:
    door = open_limited(max_memories=1)
    answers = [door.invoke("core.save", {"content": "Once."}, ANA, idempotency_key="k") for _ in range(2)]
    assert [answer.error for answer in answers] == [None, None]
    assert answers[0].body["id"] == answers[1].body["id"]
    assert door.invoke("core.save", {"content": "Twice."}, ANA, idempotency_key="other").error is not None


def test_a_conversation_that_is_over_becomes_an_episode_at_the_limit_and_is_read(
    open_limited: Opening, clock: SettableClock
) -> None:
    door = open_limited(max_memories=1)
    save(door, "There.")
    said = [{"role": "user", "content": "My cat is called Miso."}]
    assert door.invoke("core.append_messages", {"messages": said}, ANA).error is None
    clock.advance(hours=1)
    read = door.invoke("core.retrieve_memory", {"query": "cat"}, ANA)
    assert read.error is None
    assert "Miso" in read.body
    assert save(door, "One more.").error is not None


def test_a_lower_limit_leaves_what_is_there(open_limited: Opening) -> None:
    door = open_limited()
    for n in range(3):
        save(door, f"Fact {n}.")
    limited = open_limited(max_memories=1)
    assert len(limited.invoke("core.list", {}, ANA).body["memories"]) == 3
    assert save(limited, "One more.").error is not None


def test_without_settings_there_are_no_counters(open_limited: Opening) -> None:
    assert open_limited().counters is None
    assert open_limited(max_bytes=1).counters is not None


@pytest.mark.parametrize("name", ["calls_per_minute", "max_memories", "max_bytes"])
def test_a_limit_below_nothing_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"STEELTRAP_{name.upper()} must be an integer of at least 0"):
        read_settings({f"STEELTRAP_{name.upper()}": "-1"})


def test_a_store_that_cannot_be_measured_fails_the_write_as_ever(open_limited: Opening) -> None:
    door = open_limited(max_memories=1)
    space = door.call_for(ANA, seconds=5).space

    class Down:
        def statistics(self) -> Any:
            raise Unavailable("The memory store does not answer.", part="store")

        def __getattr__(self, name: str) -> Any:
            return getattr(space, name)

    call = door.call_for(ANA, seconds=5)
    call.space = Down()  # type: ignore[assignment]
    with pytest.raises(Unavailable):
        engine_save(call, Draft(content="x"))


def test_consolidating_in_place_of_the_originals_needs_no_bytes(open_limited: Opening) -> None:
    door = open_limited()
    ids = [save(door, f"Fact {n} about herons.").body["id"] for n in range(2)]
    full = open_limited(max_bytes=door.invoke("core.stats", {}, ANA).body["record_bytes"])
    assert full.invoke("core.consolidate", {"ids": ids}, ANA).error is not None
    merged = full.invoke("core.consolidate", {"ids": ids, "preserve_originals": False}, ANA)
    assert merged.error is None, merged.body


def test_an_import_of_a_file_keeps_what_it_wrote_and_says_how_far_it_came(open_limited: Opening) -> None:
    door = open_limited()
    ana, ben = ANA, Caller(UserRef("ben"))
    items = [{"content": f"Fact {n}."} for n in range(150)]
    for start in (0, 100):
        assert door.invoke("core.batch_save", {"items": items[start : start + 100]}, ana).error is None
    sync = {"operation": "export", "file_path": "all.json"}
    assert door.invoke("associative.memory_sync", sync, ana).error is None
    assert door.files is not None
    door.files.files(UserRef("ben")).write(
        "all.json", door.files.files(UserRef("ana")).read("all.json", max_bytes=10**9)
    )
    limited = open_limited(max_memories=120)
    refused = limited.invoke("associative.memory_sync", {**sync, "operation": "import"}, ben)
    assert refused.error is not None
    assert (refused.error.code, refused.error.details["retry_after"]) == ("throttled", 60)
    assert refused.error.message.startswith("100 of 150 memories were imported, then: This would make 150 memories")
    assert "Nothing" not in refused.error.message
    assert limited.invoke("core.stats", {}, ben).body["memories"] == 100
