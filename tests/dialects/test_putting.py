"""core.put: whole memories under ids of the caller's own."""

from collections.abc import Callable
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest

from clock import SettableClock
from steeltrap.invoke import Result

TEA = str(uuid5(NAMESPACE_URL, "tea"))
COFFEE = str(uuid5(NAMESPACE_URL, "coffee"))


@pytest.fixture
def ana(agent: Callable[..., Any]) -> Callable[..., Result]:
    ask: Callable[..., Result] = agent("ana")
    return ask


def put(ask: Callable[..., Result], id: str, content: str, **fields: Any) -> Any:
    result = ask("core.put", items=[{"id": id, "content": content, **fields}])
    assert result.error is None, result.error
    return result.body


def test_a_put_is_new_and_then_replaces_the_whole_memory(ana: Callable[..., Result], clock: SettableClock) -> None:
    assert put(ana, TEA, "Ana drinks tea.", metadata={"cups": 2, "hot": True}, tags=["drinks"]) == {
        "ids": [TEA],
        "versions": [1],
    }
    born = ana("core.get", id=TEA).body["created_at"]
    clock.advance(hours=1)
    assert put(ana, TEA, "Ana drinks mate.", metadata={"cups": 3})["versions"] == [2]
    memory = ana("core.get", id=TEA).body
    assert (memory["content"], memory["metadata"], memory.get("tags")) == ("Ana drinks mate.", {"cups": 3}, None)
    assert memory["created_at"] == born < memory["updated_at"]
    assert ana("core.undo", id=TEA).body["metadata"] == {"cups": 2, "hot": True}
    assert [hit["id"] for hit in ana("core.search", query="tea", mode="keyword").body["results"]] == [TEA]


def test_what_was_deleted_or_has_expired_begins_anew(ana: Callable[..., Result], clock: SettableClock) -> None:
    put(ana, TEA, "Ana drinks tea.", ttl_seconds=60)
    put(ana, COFFEE, "Ana drinks coffee.")
    assert ana("core.delete", id=COFFEE).error is None
    clock.advance(minutes=2)
    assert ana("core.list").body["total"] == 0
    put(ana, TEA, "Ana drinks tea.")
    put(ana, COFFEE, "Ana drinks coffee.")
    listed = ana("core.list").body["memories"]
    assert {memory["id"] for memory in listed} == {TEA, COFFEE}
    assert {memory["created_at"] for memory in listed} == {clock.now().isoformat().replace("+00:00", "Z")}
    assert {hit["id"] for hit in ana("core.search", query="drinks tea coffee").body["results"]} == {TEA, COFFEE}


def test_all_are_put_or_none(ana: Callable[..., Result]) -> None:
    good, bad = {"id": TEA, "content": "Ana drinks tea."}, {"id": "tea", "content": "x" * 40}
    for items in ([good, good], [good, bad], [good, {**good, "id": COFFEE, "supersedes": [TEA]}]):
        assert ana("core.put", items=items).error is not None
    assert ana("core.list").body["total"] == 0


def test_the_same_again_keeps_what_was_found_out_about_it(ana: Callable[..., Result]) -> None:
    put(ana, COFFEE, "Ana drinks coffee at noon.")
    put(ana, TEA, "Ana drinks tea at noon.")
    before = ana("core.get", id=TEA).body
    put(ana, TEA, "Ana drinks tea at noon.", metadata={"cups": 1})
    after = ana("core.get", id=TEA).body
    assert (after["surprise"], after.get("links")) == (before["surprise"], before.get("links"))


def test_a_message_of_a_conversation_is_not_overwritten(ana: Callable[..., Result]) -> None:
    [id] = ana("core.append_messages", messages=[{"role": "user", "content": "Hello."}], conversation_id="chat").body[
        "ids"
    ]
    error = ana("core.put", items=[{"id": id, "content": "Ana drinks tea."}]).error
    assert error is not None
    assert "message of a conversation" in error.message


def test_two_users_put_under_one_id(agent: Callable[..., Any]) -> None:
    ana, bob = agent("ana"), agent("bob")
    put(ana, TEA, "Ana drinks tea.")
    put(bob, TEA, "Bob drinks tea.")
    assert ana("core.get", id=TEA).body["content"] == "Ana drinks tea."
    assert [hit["content"] for hit in bob("core.search", query="tea").body["results"]] == ["Bob drinks tea."]
