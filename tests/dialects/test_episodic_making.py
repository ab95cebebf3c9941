"""Messages become episodes, which fill `episodic`; failures on the way lose none."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from clock import NOON, SettableClock
from dialects.episodes import Around, Ask, NoEpisodes, Wrapped, closed, contents, episode, say, told
from steeltrap.errors import Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, Candidates, Matches, UserRef

CAREER = (
    "I've been doing Python for 5 years but my new team is all Rust",
    "That's a big shift. What prompted it?",
    "The trading system needs microsecond latency, Python can't cut it",
    "Also I need to learn it within 3 months or I'm screwed",
)
"""The document's conversation."""
OTHERS = (
    ("Could you use dark mode in the screenshots?", "Sure.", "I prefer dark interfaces, light mode strains my eyes."),
    ("I lived in Tokyo for 3 years before I moved to Singapore.", "How do you like it?", "It is hot, but I like it."),
)
EVERYDAY = (
    ("What's the weather like today?", "Sunny, about 22 degrees.", "Great, I'll go for a walk then."),
    ("Can you remind me to buy milk?", "Sure, I'll remind you at six.", "Thanks!"),
    ("How do I boil an egg?", "Put it in boiling water for eight minutes.", "Perfect, thank you."),
    ("I went to the gym this morning.", "How far did you run?", "About 5 km. My legs are tired now."),
    ("I need to buy groceries: milk, eggs, bread and cheese.", "I added them.", "Great, remind me at five please."),
    ("We watched a detective film last night.", "Did you like it?", "It was fun, but the ending was a little slow."),
    ("今日の天気はどうですか？", "晴れです。", "ありがとう、散歩に行きます。"),
)


def talked(door: Door, clock: SettableClock, *conversations: tuple[str, ...]) -> Ask:
    """The agent of a new user with whom these conversations were held, one after the other."""

    def ask(tool: str, **arguments: Any) -> Any:
        return door.invoke(tool, arguments, Caller(UserRef("new"), "assistant"))

    for number, said in enumerate(conversations):
        for place, content in enumerate(said):
            message = {"role": "assistant" if place == 1 else "user", "content": content}
            told(ask("episodic.add_message", conversation_id=f"chat {number}", message=message))
        clock.advance(hours=1)
    return ask


def test_the_documents_conversation_is_a_key_moment_with_details_as_the_first_of_a_space(
    own_door: Door, clock: SettableClock
) -> None:
    ask = talked(own_door, clock, CAREER, *OTHERS)
    text = told(ask("episodic.retrieve_memory", query="why did the user switch to Rust?"))
    first = text.split("\n\n## ")[0].splitlines()
    assert first[0].startswith("## Memory 1 [rank: 1, score: ")
    assert first[0].endswith(", key moment]")
    assert first[2] == (
        "**Summary:** User: I've been doing Python for 5 years but my new team is all Rust. "
        "Also I need to learn it within 3 months or I'm screwed."
    )
    assert first[3:] == [
        "",
        "**Details:**",
        f'- user: "{CAREER[0]}"',
        f'- assistant: "{CAREER[1]}"',
        f'- user: "{CAREER[2]}"',
        f'- user: "{CAREER[3]}"',
    ]
    assert text.count("key moment") == 1
    assert "**Details:**" not in told(ask("episodic.retrieve_memory", query="Rust", detail_limit=0))


def test_everyday_chats_are_no_key_moments_in_a_new_space(own_door: Door, clock: SettableClock) -> None:
    ask = talked(own_door, clock, *EVERYDAY)
    found = told(ask("episodic.retrieve_memory_raw", query="what did we talk about", limit=20))
    assert len(found) == len(EVERYDAY)
    assert [each["content"] for each in found if each["surprise"] >= 0.7] == []


def test_a_message_is_added_as_the_documents_clients_send_it(ana: Ask, clock: SettableClock) -> None:
    sent = [
        {"role": "user", "content": "I moved to Lisbon.", "timestamp": 1767225600000},
        {"role": "assistant", "content": "How is it?", "timestamp": "1767225660000"},
        {"role": "user", "content": "Sunny.", "timestamp": "2026-01-01T00:02:00Z"},
        {"role": "user", "content": "And hilly."},
    ]
    for message in sent:
        answer = told(
            ana("episodic.add_message", conversation_id="0195f3c4-7a58-7f43-b4ac-0b0f0e7d2f11", message=message)
        )
        assert answer == {"accepted": True}
    [found] = told(ana("episodic.retrieve_memory_raw", query="Lisbon"))
    assert found["content"] == "User: I moved to Lisbon."
    assert (found["start_at"], found["end_at"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:02:00Z")
    assert [message["timestamp"] for message in found["messages"]] == [
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:01:00Z",
        "2026-01-01T00:02:00Z",
    ]
    [late] = closed(ana, clock)
    assert told(ana("core.get", id=late))["occurred_until"] == "2026-01-01T12:00:00Z"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"message": {"role": "user", "content": ""}}, "`content` must not be empty"),
        ({"message": {"role": "user", "content": " \n"}}, "`content` must not be empty"),
        ({"message": {"content": "x"}}, "`message.role` is required"),
        ({}, "`message` is required"),
        ({"message": {"role": "user", "content": "x", "timestamp": 10**18}}, "must be in milliseconds since 1970"),
        ({"message": {"role": "user", "content": "x", "timestamp": "soon"}}, "must be a time such as"),
    ],
)
def test_a_message_that_does_not_fit_is_refused_and_nothing_is_kept(
    ana: Ask, arguments: dict[str, Any], sentence: str
) -> None:
    refused = ana("episodic.add_message", conversation_id="chat", **arguments)
    assert refused.error.code == "invalid_input"
    assert sentence in refused.error.message
    assert told(ana("core.stats"))["turns"] == 0


def test_a_message_needs_a_conversation(ana: Ask, agent: Callable[..., Any]) -> None:
    message = {"role": "user", "content": "hello"}
    assert ana("episodic.add_message", message=message).error.code == "identity_missing"
    assert told(agent("ana", "here")("episodic.add_message", message=message)) == {"accepted": True}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_conversation_idle_for_15_minutes_is_closed_however_short(ana: Ask, clock: SettableClock, count: int) -> None:
    assert say(ana, *["The heron fishes."] * count) == []
    clock.advance(minutes=14, seconds=59)
    assert told(ana("episodic.retrieve_memory", query="heron")) == "No memories found."
    clock.advance(seconds=1)
    [found] = told(ana("episodic.retrieve_memory_raw", query="heron"))
    assert len(found["messages"]) == count
    assert told(ana("core.get", id=found["id"]))["conversation_id"] == "chat"
    stats = told(ana("core.stats"))
    assert (stats["memories"], stats["turns"], stats["deleted"]) == (1, count, 0)


def test_the_next_message_closes_what_was_idle_in_any_conversation(ana: Ask, clock: SettableClock) -> None:
    say(ana, "The heron fishes.", conversation="one")
    say(ana, "The otter swims.", conversation="two")
    clock.advance(minutes=15)
    made = say(ana, "The heron is back.", conversation="one")
    assert [contents(ana, id) for id in made] == [["The heron fishes."], ["The otter swims."]]
    assert say(ana, "Again.", conversation="one") == []


def test_a_core_retrieval_closes_idle_conversations_too(ana: Ask, clock: SettableClock) -> None:
    say(ana, "The heron fishes.")
    clock.advance(minutes=15)
    assert "The heron fishes." in told(ana("core.retrieve_memory", query="heron"))


def test_at_most_twenty_idle_conversations_are_closed_at_once_and_none_is_forgotten(
    ana: Ask, clock: SettableClock
) -> None:
    for i in range(45):
        say(ana, f"The heron fishes {i}.", conversation=f"chat {i}")
    clock.advance(minutes=15)
    counts = []
    for _ in range(4):
        told(ana("episodic.retrieve_memory", query="heron"))
        counts.append(told(ana("core.stats"))["memories"])
    assert counts == [20, 40, 45, 45]


def test_fifty_messages_are_an_episode(ana: Ask) -> None:
    assert say(ana, *["The heron fishes."] * 49) == []
    [made] = say(ana, "The heron fishes.")
    assert len(contents(ana, made)) == 50
    assert say(ana, "The heron fishes.") == []


def test_an_episode_holds_no_more_than_128_kib(ana: Ask) -> None:
    long = "heron " * 5400  # 32,400 bytes
    assert say(ana, long, long, long, long) == []
    [made] = say(ana, long)
    assert len(contents(ana, made)) == 4


@pytest.mark.parametrize(("count", "gap", "closes"), [(3, 15, False), (3, 16, True), (2, 60, False), (4, 60, True)])
def test_a_gap_of_over_15_minutes_between_said_times_closes_three_or_more(
    ana: Ask, count: int, gap: int, closes: bool
) -> None:
    start = NOON - timedelta(days=300)
    assert say(ana, *["The heron fishes."] * count, start=start) == []
    made = say(ana, "The heron fishes.", start=start + timedelta(minutes=count - 1 + gap))
    assert [len(contents(ana, id)) for id in made] == ([count] if closes else [])


def test_a_shift_of_topic_closes_an_episode(ana: Ask) -> None:
    herons = [
        "The heron fishes in the pond.",
        "Herons fish at the pond.",
        "A heron and its pond.",
        "Pond, heron, fish.",
    ]
    taxes = [
        "The invoice of the tax office.",
        "A tax invoice is due.",
        "Pay the tax invoice.",
        "Invoice paid to tax office.",
    ]
    made = say(ana, *herons, *taxes)
    assert [contents(ana, id) for id in made] == [herons]


def test_what_is_closed_is_not_said_again(ana: Ask, clock: SettableClock) -> None:
    say(ana, "The heron fishes.")
    [first] = closed(ana, clock)
    say(ana, "The heron sleeps.")
    [second] = closed(ana, clock)
    assert (contents(ana, first), contents(ana, second)) == (["The heron fishes."], ["The heron sleeps."])


def test_an_episode_knows_who_when_where_and_how_new(ana: Ask, clock: SettableClock) -> None:
    told(ana("core.save", content="The otter swims."))
    said = [
        {"role": "user", "content": "京都に引っ越しました。", "speaker": "Ana", "time": "2025-05-01T10:00:00Z"},
        {"role": "assistant", "content": "いつですか？", "time": "2025-05-01T10:01:00Z"},
    ]
    told(ana("core.append_messages", messages=said, conversation_id="chat"))
    [id] = closed(ana, clock)
    memory = told(ana("core.get", id=id))
    assert memory["content"] == "Ana: 京都に引っ越しました。 Assistant: いつですか？"
    assert (memory["agent_id"], memory["conversation_id"]) == ("assistant", "chat")
    assert (memory["occurred_at"], memory["occurred_until"]) == ("2025-05-01T10:00:00Z", "2025-05-01T10:01:00Z")
    assert memory["messages"][0]["speaker"] == "Ana"
    assert 0.3 < memory["surprise"] < 0.7
    assert told(ana("episodic.retrieve_memory", query="京都")).startswith("## Memory 1 [rank: 1, score: ")


def test_an_episode_begins_with_the_earliest_and_ends_with_the_latest_of_its_times(
    ana: Ask, clock: SettableClock
) -> None:
    for minute in (5, 9, 2):
        message = {"role": "user", "content": f"It is {minute} past ten.", "time": f"2025-05-01T10:0{minute}:00Z"}
        told(ana("core.append_messages", messages=[message], conversation_id="chat"))
    [id] = closed(ana, clock)
    memory = told(ana("core.get", id=id))
    assert (memory["occurred_at"], memory["occurred_until"]) == ("2025-05-01T10:02:00Z", "2025-05-01T10:09:00Z")


def test_what_was_said_before_is_no_key_moment(ana: Ask, clock: SettableClock) -> None:
    for _ in range(2):
        say(ana, *CAREER)
        closed(ana, clock)
    surprises = [item["surprise"] for item in told(ana("core.list"))["memories"]]
    assert surprises == [0.0, 0.7773]


def test_agents_that_share_a_conversation_id_have_their_own_episodes(
    door: Door, ana: Ask, clock: SettableClock
) -> None:
    for i in range(3):
        for name in ("one", "other"):
            message = {"role": "user", "content": f"{name} {i}"}
            arguments = {"messages": [message], "conversation_id": "chat"}
            told(door.invoke("core.append_messages", arguments, Caller(UserRef("ana"), name)))
    made = {told(ana("core.get", id=id))["agent_id"]: contents(ana, id) for id in closed(ana, clock)}
    assert made == {name: [f"{name} {i}" for i in range(3)] for name in ("one", "other")}


def test_a_repeated_idempotency_key_adds_nothing_twice(door: Door, ana: Ask, clock: SettableClock) -> None:
    message = {"role": "user", "content": "The heron fishes."}
    for pause in (0, 20, 20):
        clock.advance(minutes=pause)
        arguments = {"conversation_id": "chat", "message": message}
        told(door.invoke("episodic.add_message", arguments, Caller(UserRef("ana"), "assistant"), idempotency_key="k"))
    closed(ana, clock)
    stats = told(ana("core.stats"))
    assert (stats["turns"], stats["memories"]) == (1, 1)


# What fails: nothing said is lost, no read or append fails for an episode


@pytest.mark.parametrize("failure", [Unavailable("gone", part="store"), RuntimeError("a fault")])
def test_an_episode_that_can_not_be_made_fails_neither_append_nor_retrieval_and_is_made_next_time(
    door: Door, ana: Ask, clock: SettableClock, failure: Exception
) -> None:
    failing: Any = Wrapped(door.store, lambda space: NoEpisodes(space, failure))
    broken, caller = replace(door, store=failing), Caller(UserRef("ana"), "assistant")
    said = {"conversation_id": "chat", "message": {"role": "user", "content": "The heron fishes."}}
    for _ in range(50):
        told(broken.invoke("episodic.add_message", said, caller))
    assert told(broken.invoke("episodic.retrieve_memory", {"query": "heron"}, caller)) == "No memories found."
    assert told(ana("core.stats"))["turns"] == 50
    clock.advance(minutes=15)
    [found] = told(ana("episodic.retrieve_memory_raw", query="heron"))
    assert len(found["messages"]) == 50


def test_two_who_close_at_once_make_one_episode(door: Door, ana: Ask, clock: SettableClock) -> None:
    say(ana, "The heron fishes.", "The heron sleeps.")
    clock.advance(minutes=15)

    class Late(Around):
        """A space that another closer is ahead of, once."""

        def __init__(self, space: Any) -> None:
            super().__init__(space)
            self._ahead = True

        def commit(self, changes: Any) -> None:
            if self._ahead:
                self._ahead = False
                self._space.commit(changes)
            self._space.commit(changes)

    late: Any = Wrapped(door.store, Late)
    result = replace(door, store=late).invoke(
        "episodic.retrieve_memory_raw", {"query": "heron"}, Caller(UserRef("ana"))
    )
    [found] = told(result)
    assert len(found["messages"]) == 2
    assert told(ana("core.stats"))["memories"] == 1


def test_what_an_import_brings_is_not_summed_up_again(
    ana: Ask, agent: Callable[..., Any], clock: SettableClock
) -> None:
    say(ana, "The heron fishes.", "The heron sleeps.")
    closed(ana, clock)
    say(ana, "The otter swims.")
    records = told(ana("core.export", include_conversations=True))["records"]
    bob = agent("bob")
    assert told(bob("core.import", records=records))["written"] == 4
    clock.advance(minutes=15)
    for _ in range(2):
        told(bob("episodic.retrieve_memory", query="heron"))
    found = told(bob("episodic.retrieve_memory_raw", query="heron otter"))
    assert sorted(len(item["messages"]) for item in found) == [1, 2]


def test_a_search_that_is_broken_is_an_error_and_never_an_empty_memory(door: Door) -> None:
    class Degraded(Around):
        def search(self, query: Any) -> Matches:
            return Matches(candidates=Candidates.of([]), stored=1, admitted=1, degraded="the index does not answer.")

    broken: Any = Wrapped(door.store, Degraded)
    for tool in ("episodic.retrieve_memory", "episodic.retrieve_memory_raw", "core.retrieve_memory"):
        result = replace(door, store=broken).invoke(tool, {"query": "heron"}, Caller(UserRef("ana")))
        assert isinstance(result.error, Unavailable)
        assert "the index does not answer" in result.error.message


def test_a_grade_that_can_not_be_kept_is_not_acknowledged(door: Door, ana: Ask) -> None:
    id = episode(ana, "heron")

    class Refusing(Around):
        def keep_review(self, *_: Any, **__: Any) -> bool:
            raise Unavailable("The usage table refuses writes.", part="store")

    refusing: Any = Wrapped(door.store, Refusing)
    result = replace(door, store=refusing).invoke("core.review", {"id": id, "grade": "good"}, Caller(UserRef("ana")))
    assert isinstance(result.error, Unavailable)


def test_a_grade_is_given_again_when_a_retrieval_came_between(door: Door, ana: Ask, clock: SettableClock) -> None:
    id = episode(ana, "heron", surprise=0)
    clock.advance(days=5)

    class Overtaken(Around):
        def __init__(self, space: Any) -> None:
            super().__init__(space)
            self._ahead = True

        def keep_review(self, *arguments: Any, **options: Any) -> Any:
            if self._ahead:
                self._ahead = False
                told(ana("episodic.retrieve_memory", query="heron"))
            return self._space.keep_review(*arguments, **options)

    overtaken: Any = Wrapped(door.store, Overtaken)
    told(replace(door, store=overtaken).invoke("core.review", {"id": id, "grade": "again"}, Caller(UserRef("ana"))))
    month = (clock.now() + timedelta(days=30)).isoformat()
    assert told(ana("core.simulate_decay", id=id, at=month))["retrievability"] < 0.75
