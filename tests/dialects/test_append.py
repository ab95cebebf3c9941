"""`core.append_messages`: messages that are sent again, and conversations that end."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from clock import SettableClock
from dialects.episodes import Around, Ask, NoEpisodes, Wrapped, closed, contents, told
from steeltrap.errors import Unavailable
from steeltrap.invoke import Door, Result
from steeltrap.model import MAX_CONTENT_BYTES, Caller, UserRef
from steeltrap.text.sentences import pieces

LONG = "".join(f"Line {i} says that the heron fishes at dawn.\n" for i in range(7_000))
USER, ASSISTANT = "I moved to Lisbon.", "How is it?"


def message(content: str, id: str | None = None, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": content} | ({} if id is None else {"id": id})


def append(ana: Ask, *messages: dict[str, Any], conversation: str = "chat", **more: Any) -> Any:
    return told(ana("core.append_messages", messages=list(messages), conversation_id=conversation, **more))


def turns(ana: Ask) -> int:
    stored = told(ana("core.stats"))["turns"]
    assert isinstance(stored, int)
    return stored


def test_messages_and_their_episodes_are_in_the_scope_that_is_given(ana: Ask) -> None:
    append(ana, message(USER, "m1"), scope="project/shop")
    append(ana, message(ASSISTANT, "m2"))
    append(ana, ended=True)
    for scope, text in (("project/shop", USER), ("user/default", ASSISTANT)):
        [episode] = told(ana("core.list", scope=scope))["memories"]
        assert [said["content"] for said in episode["messages"]] == [text]


def test_a_scope_that_is_none_is_refused(ana: Ask) -> None:
    refused = ana("core.append_messages", messages=[message(USER)], conversation_id="chat", scope="../x")
    assert refused.error is not None
    assert "scope" in refused.error.message


# Messages with ids


def test_a_message_that_is_sent_again_is_stored_once(ana: Ask) -> None:
    first = append(ana, message(USER, "m1"), message(ASSISTANT, "m2", "assistant"))
    again = append(ana, message(USER, "m1"), message(ASSISTANT, "m2", "assistant"), message("Sunny.", "m3"))
    assert "existed" not in first
    assert again["ids"][:2] == first["ids"]
    assert again["existed"] == first["ids"]
    assert turns(ana) == 3


def test_a_message_that_one_call_has_twice_is_stored_once(ana: Ask) -> None:
    answer = append(ana, message(USER, "m1"), message(ASSISTANT, "m2"), message(USER, "m1"))
    one, other, last = answer["ids"]
    assert (one, answer["existed"]) == (last, [one])
    assert one != other
    assert turns(ana) == 2


def test_messages_without_ids_are_stored_as_often_as_they_are_sent(ana: Ask) -> None:
    append(ana, message("yes"), message("yes"))
    append(ana, message("yes"))
    assert turns(ana) == 3


def test_an_id_belongs_to_its_conversation_and_its_user(ana: Ask, agent: Callable[..., Ask]) -> None:
    ids = [append(ana, message(USER, "m1"), conversation=name)["ids"][0] for name in ("chat", "chat-2")]
    ids += append(agent("ben"), message(USER, "m1"))["ids"]
    assert len(set(ids)) == 3


def test_calls_at_the_same_time_store_a_message_once(ana: Ask) -> None:
    sent = [message(f"Heron number {i}.", f"m{i}") for i in range(8)]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda first: append(ana, *sent[first:], *sent[:first]), range(6)))
    assert len({frozenset(answer["ids"]) for answer in answers}) == 1
    assert turns(ana) == 8
    assert sum(8 - len(answer.get("existed", [])) for answer in answers) == 8


def test_a_message_stays_in_its_episode_when_it_is_sent_again(ana: Ask, clock: SettableClock) -> None:
    sent = [message(USER, "m1"), message(ASSISTANT, "m2", "assistant")]
    append(ana, *sent)
    [episode] = closed(ana, clock)
    assert len(append(ana, *sent)["existed"]) == 2
    assert closed(ana, clock) == []
    assert contents(ana, episode) == [USER, ASSISTANT]


def test_a_deleted_message_does_not_come_back(ana: Ask, clock: SettableClock) -> None:
    [gone, kept] = append(ana, message(USER, "m1"), message(ASSISTANT, "m2"))["ids"]
    told(ana("core.delete", id=gone))
    assert append(ana, message(USER, "m1"), message(ASSISTANT, "m2"))["existed"] == [gone, kept]
    assert ana("core.get", id=gone).error.code == "not_found"
    [episode] = closed(ana, clock)
    assert contents(ana, episode) == [ASSISTANT]


def test_an_edited_message_stays_as_it_was_edited(ana: Ask) -> None:
    [id] = append(ana, message(USER, "m1"))["ids"]
    told(ana("core.update", id=id, content="I moved to Porto."))
    append(ana, message(USER, "m1"))
    assert told(ana("core.get", id=id))["content"] == "I moved to Porto."


def test_an_idempotency_key_and_ids_go_together(door: Door, ana: Ask) -> None:
    arguments = {"conversation_id": "chat", "messages": [message(USER, "m1"), message("yes")]}
    caller = Caller(UserRef("ana"), "assistant")
    first, again = [told(door.invoke("core.append_messages", arguments, caller, idempotency_key="k")) for _ in range(2)]
    assert again["ids"] == again["existed"] == first["ids"]
    assert append(ana, message(USER, "m1"))["existed"] == first["ids"][:1]
    assert turns(ana) == 2


@pytest.mark.parametrize("id", ["", "x" * 513, "\x00"])
def test_an_id_that_does_not_fit_is_refused_and_nothing_is_kept(ana: Ask, id: str) -> None:
    refused = ana("core.append_messages", messages=[message(USER), message(USER, id)], conversation_id="chat")
    assert refused.error.code == "invalid_input"
    assert "`messages" in refused.error.message
    assert turns(ana) == 0


# Messages of any length, and many of them


def test_a_long_message_is_stored_in_parts_that_follow_each_other(ana: Ask, clock: SettableClock) -> None:
    said = {"role": "tool", "speaker": "Ana", "time": "2025-05-01T10:00:00Z"}
    answer = append(ana, message("Look:"), {**said, "content": LONG}, message("Long, wasn't it?"))
    assert len(answer["ids"]) == 3
    parts = [told(ana("core.get", id=id)) for id in answer["split"][answer["ids"][1]]]
    assert "".join(part["content"] for part in parts) == LONG
    assert all(part["content"].endswith(".\n") for part in parts)
    assert {part["occurred_at"] for part in parts} == {said["time"]}
    closed(ana, clock)
    episodes = told(ana("core.list"))["memories"][::-1]
    in_episodes = [message for episode in sorted(episodes, key=_first) for message in episode["messages"]]
    assert "".join(said["content"] for said in in_episodes) == f"Look:{LONG}Long, wasn't it?"
    spoken = [(said["role"], said.get("speaker")) for said in in_episodes]
    assert spoken == [("user", None), *[("tool", "Ana")] * len(parts), ("user", None)]


def _first(episode: dict[str, Any]) -> int:
    begin = episode["messages"][0]["content"]
    return -1 if begin == "Look:" else LONG.find(begin) if begin in LONG else len(LONG)


def test_a_long_message_goes_through_the_path_of_the_documents_clients_too(ana: Ask) -> None:
    told(ana("episodic.add_message", message={"role": "user", "content": LONG}, conversation_id="chat"))
    assert turns(ana) == len(pieces(LONG, MAX_CONTENT_BYTES))


def test_a_long_message_that_is_sent_again_is_stored_once(ana: Ask) -> None:
    first = append(ana, message(LONG, "m1"))
    again = append(ana, message(LONG, "m1"))
    assert (again["existed"], again["split"]) == (first["ids"], first["split"])
    assert turns(ana) == len(first["split"][first["ids"][0]])


def test_what_is_missing_of_a_long_message_is_stored_when_it_is_sent_again(ana: Ask) -> None:
    first = append(ana, message(LONG, "m1"))
    ids = first["split"][first["ids"][0]]
    told(ana("core.forget", id=ids[-1]))
    assert "existed" not in append(ana, message(LONG, "m1"))
    assert turns(ana) == len(ids)


def test_another_text_under_the_same_id_changes_nothing(ana: Ask) -> None:
    [id] = append(ana, message(USER, "m1"))["ids"]
    assert append(ana, message(LONG, "m1"))["existed"] == [id]
    assert (turns(ana), told(ana("core.get", id=id))["content"]) == (1, USER)


@pytest.mark.parametrize("kind", ["ids", "key", "neither"])
def test_a_call_that_fails_in_the_middle_says_what_is_stored_and_can_be_repeated(
    door: Door, ana: Ask, kind: str
) -> None:
    said = [message(f"Heron number {i}.", f"m{i}" if kind == "ids" else None) for i in range(250)]
    caller, key = Caller(UserRef("ana"), "assistant"), "k" if kind == "key" else None

    def send(door: Door, messages: list[dict[str, Any]]) -> Result:
        arguments = {"messages": messages, "conversation_id": "chat"}
        return door.invoke("core.append_messages", arguments, caller, idempotency_key=key)

    failed = send(replace(door, store=Wrapped(door.store, Interrupted)), said)  # type: ignore[arg-type]
    assert isinstance(failed.error, Unavailable)
    assert failed.error.details["stored"] == 200
    assert "the first 200 of 250 messages are stored" in failed.error.message
    assert turns(ana) == 200
    told(send(door, said[200:] if kind == "neither" else said))
    assert turns(ana) == 250


class Interrupted(Around):
    """A space that fails at its third commit."""

    def __init__(self, space: Any) -> None:
        super().__init__(space)
        self._left = 2

    def commit(self, changes: Any) -> None:
        self._left -= 1
        if self._left < 0:
            raise Unavailable("The store does not answer", part="store")
        self._space.commit(changes)


@pytest.mark.parametrize("bad", ["\x00", "\ud800", " \n "])
def test_nothing_is_stored_when_one_of_many_messages_does_not_fit(ana: Ask, bad: str) -> None:
    said = [message(f"Heron number {i}.") for i in range(250)]
    refused = ana("core.append_messages", messages=[*said, message(bad)], conversation_id="chat")
    assert refused.error.code == "invalid_input"
    assert turns(ana) == 0


# Conversations that end


def test_a_conversation_that_ended_is_an_episode_at_once(ana: Ask) -> None:
    answer = append(ana, message(USER), message(ASSISTANT, role="assistant"), ended=True)
    [episode] = answer["episodes"]
    assert answer["closed"] is True
    assert contents(ana, episode) == [USER, ASSISTANT]


def test_a_conversation_ends_without_another_message(ana: Ask) -> None:
    append(ana, message(USER))
    append(ana, message("Something else."), conversation="other")
    answer = append(ana, ended=True)
    assert answer["ids"] == []
    assert contents(ana, answer["episodes"][0]) == [USER]
    assert append(ana, ended=True) == {"conversation_id": "chat", "ids": [], "closed": True}


def test_a_long_conversation_ends_in_as_many_episodes_as_it_takes(ana: Ask) -> None:
    for block in range(12):
        append(ana, *(message(f"heron {block} {i}") for i in range(99)))
    made = append(ana, ended=True)["episodes"]
    episodes = told(ana("core.list", limit=100))["memories"]
    assert sum(len(memory["messages"]) for memory in episodes) == 12 * 99
    assert {memory["id"] for memory in episodes} >= set(made)


def test_what_is_said_after_the_end_begins_anew(ana: Ask) -> None:
    append(ana, message(USER, "m1"), ended=True)
    answer = append(ana, message(USER, "m1"), message(ASSISTANT, "m2"), ended=True)
    assert contents(ana, answer["episodes"][0]) == [ASSISTANT]


def test_an_end_that_makes_no_episode_says_so_and_can_be_repeated(door: Door, ana: Ask) -> None:
    failing: Any = Wrapped(door.store, lambda space: NoEpisodes(space, Unavailable("gone", part="store")))
    broken, caller = replace(door, store=failing), Caller(UserRef("ana"), "assistant")
    said = {"conversation_id": "chat", "messages": [message(USER, "m1")], "ended": True}
    assert told(broken.invoke("core.append_messages", said, caller))["closed"] is False
    failed = broken.invoke("core.append_messages", {"conversation_id": "chat", "ended": True}, caller)
    assert isinstance(failed.error, Unavailable)
    assert append(ana, message(USER, "m1"), ended=True)["closed"] is True


def test_a_call_with_neither_messages_nor_an_end_is_refused(ana: Ask) -> None:
    refused = ana("core.append_messages", conversation_id="chat")
    assert refused.error.code == "invalid_input"
    assert "`ended: true`" in refused.error.message
