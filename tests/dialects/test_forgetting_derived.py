"""Forgotten is forgotten: what is made of a memory goes with it, is written again, or is listed in the receipt."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from clock import SettableClock
from dialects.episodes import Around, Ask, Wrapped, closed, say, told
from spaces import space_of
from steeltrap.errors import NotFound, Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, Memory, UserRef
from steeltrap.ports import Change, Create
from steeltrap.record import to_image

SAID = ["The heron of Zanzibar fishes at dawn.", "Otters sleep beside the quagmire all day.", "Yes."]


def stored(door: Door, user: str = "ana") -> list[Memory]:
    """Every image in a user's space, earlier ones and deleted memories too."""
    space = space_of(door.store, user)
    return [*space.images(), *space.images(earlier=True)]


def holding(door: Door, *words: str) -> set[str]:
    """The ids of all that holds one of some words, or an id, anywhere in its record."""
    return {m.id for m in stored(door) if any(word.casefold() in to_image(m).casefold() for word in words)}


def turns(door: Door) -> dict[str, str]:
    """The id of each message's turn."""
    return {m.content: m.id for m in space_of(door.store, "ana").images() if m.source == "conversation"}


@pytest.fixture
def episode(ana: Ask, clock: SettableClock) -> str:
    say(ana, *SAID)
    [id] = closed(ana, clock)
    return id


def found(ask: Ask, query: str) -> set[str]:
    return {hit["content"] for hit in told(ask("core.search", query=query, include_conversation=True))["results"]}


def test_forgetting_an_episode_takes_its_messages_along(door: Door, ana: Ask, episode: str) -> None:
    mine = turns(door)
    receipt = told(ana("core.forget", id=episode))
    assert receipt["id"] == episode
    assert set(receipt["forgotten"]) == {episode, *mine.values()}
    assert (receipt["verified"], "left" in receipt) == (True, False)
    assert stored(door) == []
    assert found(ana, "heron of Zanzibar") == set()


def test_forgetting_a_message_rewrites_its_episode_without_it(door: Door, ana: Ask, episode: str) -> None:
    told(ana("core.update", id=episode, tags=["birds"], pinned=True))
    other = told(ana("core.save", content="A heron is a bird"))["id"]
    told(ana("core.associate", id=other, target_id=episode))
    receipt = told(ana("core.forget", id=turns(door)[SAID[0]]))
    [rewritten] = receipt["rewritten"]
    assert (rewritten["was"], receipt["verified"], len(receipt["forgotten"])) == (episode, True, 1)
    new = told(ana("core.get", id=rewritten["id"]))
    assert [message["content"] for message in new["messages"]] == SAID[1:]
    assert (new["tags"], new["pinned"]) == (["birds"], True)
    assert "Otters sleep" in new["content"]
    linked = {each["id"] for each in told(ana("core.associations", id=new["id"]))["associations"]}
    assert other in linked
    assert ana("core.get", id=episode).error is not None
    assert holding(door, "Zanzibar", episode) == set()
    assert not any("Zanzibar" in text for text in found(ana, "Zanzibar dawn fishes"))
    hits = told(ana("core.search", query="Otters sleep beside the quagmire"))["results"]
    assert new["id"] in {hit["id"] for hit in hits}


def test_forgetting_every_message_forgets_the_episode_too(door: Door, ana: Ask, episode: str) -> None:
    for id in turns(door).values():
        receipt = told(ana("core.forget", id=id))
    assert stored(door) == []
    assert receipt["verified"]


def test_forgetting_all_messages_at_once_takes_their_episode_along(door: Door, ana: Ask, episode: str) -> None:
    receipt = told(ana("core.forget", ids=list(turns(door).values())))
    assert set(receipt["forgotten"]) == {episode, *receipt["forgotten"][:3]}
    assert stored(door) == []


def test_a_message_that_was_edited_after_its_episode_is_forgotten_there_as_it_was_said(
    door: Door, ana: Ask, episode: str
) -> None:
    id = turns(door)[SAID[0]]
    told(ana("core.update", id=id, content="Nothing to see here, move along"))
    told(ana("core.forget", id=id))
    assert holding(door, "Zanzibar", "Nothing to see") == set()


def test_an_episode_whose_text_was_replaced_still_takes_its_messages_along(door: Door, ana: Ask, episode: str) -> None:
    told(ana("core.update", id=episode, content="About some birds"))
    assert told(ana("core.forget", id=episode))["verified"]
    assert stored(door) == []


def test_a_message_is_gone_from_the_earlier_images_of_its_episode(door: Door, ana: Ask, episode: str) -> None:
    told(ana("core.update", id=episode, content="About some birds"))
    told(ana("core.forget", id=turns(door)[SAID[0]]))
    assert holding(door, "Zanzibar") == set()
    assert "About some birds" in {m.content for m in stored(door)}


def test_a_message_is_gone_from_a_deleted_episode_which_can_still_be_restored(
    door: Door, ana: Ask, episode: str
) -> None:
    told(ana("core.delete", id=episode))
    [rewritten] = told(ana("core.forget", id=turns(door)[SAID[0]]))["rewritten"]
    assert holding(door, "Zanzibar") == set()
    assert ana("core.get", id=rewritten["id"]).error is not None
    restored = told(ana("core.undo", id=rewritten["id"]))
    assert [message["content"] for message in restored["messages"]] == SAID[1:]


def test_an_episode_that_was_deleted_and_restored_is_forgotten_whole(door: Door, ana: Ask, episode: str) -> None:
    told(ana("core.delete", id=episode))
    told(ana("core.undo", id=episode))
    assert told(ana("core.forget", id=episode))["verified"]
    assert stored(door) == []


def test_an_open_message_is_forgotten_and_never_summed_up(door: Door, ana: Ask, clock: SettableClock) -> None:
    say(ana, *SAID)
    told(ana("core.forget", id=turns(door)[SAID[0]]))
    [id] = closed(ana, clock)
    assert [message["content"] for message in told(ana("core.get", id=id))["messages"]] == SAID[1:]
    assert holding(door, "Zanzibar") == set()


def test_other_conversations_keep_what_was_said_in_them(
    door: Door, ana: Ask, clock: SettableClock, episode: str
) -> None:
    say(ana, "Kingfishers dive into the river at noon.", "Yes.", conversation="another")
    closed(ana, clock)
    before = len(stored(door))
    receipt = told(ana("core.forget", id=episode))
    assert len(stored(door)) == before - 4
    # "Yes." was said there too, and says nothing else.
    assert [left["why"] for left in receipt["left"]] == ["same text", "same text"]


def test_a_merged_memory_that_holds_the_text_is_listed_and_no_trace_is_denied(door: Door, ana: Ask) -> None:
    ids = [told(ana("core.save", content=text))["id"] for text in ("The vault code is quagmire", "Ana likes herons")]
    merged = told(ana("core.consolidate", ids=ids))["id"]
    receipt = told(ana("core.forget", id=ids[0]))
    assert receipt["left"] == [{"id": merged, "why": "merged"}]
    assert (receipt["verified"], receipt["left_count"]) == (False, 1)
    assert "1 other memory still holds the text" in receipt["message"]


def test_a_merged_memory_is_taken_along_on_request(door: Door, ana: Ask) -> None:
    ids = [told(ana("core.save", content=text))["id"] for text in ("The vault code is quagmire", "Ana likes herons")]
    merged = told(ana("core.consolidate", ids=ids))["id"]
    again = told(ana("core.consolidate", ids=[merged, told(ana("core.save", content="Otters swim"))["id"]]))["id"]
    receipt = told(ana("core.forget", id=ids[0], merged=True))
    assert set(receipt["forgotten"]) == {ids[0], merged, again}
    assert receipt["verified"]
    assert holding(door, "quagmire", *receipt["forgotten"]) == set()


def test_the_sources_of_a_forgotten_merge_are_listed_deleted_ones_too(door: Door, ana: Ask) -> None:
    ids = [
        told(ana("core.save", content=text))["id"] for text in ("The vault code is quagmire", "Ana likes tall herons")
    ]
    merged = told(ana("core.consolidate", ids=ids, preserve_originals=False))["id"]
    receipt = told(ana("core.forget", id=merged))
    assert {left["id"] for left in receipt["left"]} == set(ids)
    assert told(ana("core.forget", ids=ids))["verified"]
    assert stored(door) == []


def test_a_memory_that_repeats_a_sentence_is_listed_by_id(door: Door, ana: Ask) -> None:
    one = told(ana("core.save", content="The vault code is quagmire. It opens twice a day."))["id"]
    other = told(ana("core.save", content='Bruno wrote: "the vault code is QUAGMIRE", and left'))["id"]
    told(ana("core.save", content="The vault is old"))
    receipt = told(ana("core.forget", id=one))
    assert receipt["left"] == [{"id": other, "why": "same text"}]


def test_what_a_forgotten_memory_superseded_is_named_as_found_again(door: Door, ana: Ask) -> None:
    old = told(ana("core.save", content="Ana lives in Porto"))["id"]
    new = told(ana("core.save", content="Ana lives in Faro since May", supersedes=[old]))["id"]
    receipt = told(ana("core.forget", id=new))
    assert receipt["back"] == [old]
    assert receipt["verified"]


def test_exported_files_that_hold_it_are_listed_by_name(door: Door, ana: Ask) -> None:
    id = told(ana("core.save", content="The vault code is quagmire"))["id"]
    for name, compressed in (("plain.json", False), ("packed.json.gz", True)):
        assert told(ana("associative.memory_sync", operation="export", file_path=name, compression=compressed))
    told(ana("core.update", id=id, content="The vault was sold"))
    told(ana("core.save", content="Ana likes herons"))
    told(ana("associative.memory_sync", operation="export", scope="nobody", file_path="other.json"))
    assert told(ana("core.forget", id=id))["exports"] == ["packed.json.gz", "plain.json"]


def test_forgetting_by_criteria_reaches_messages_and_deleted_memories_and_spares_pinned_ones(
    door: Door, ana: Ask, clock: SettableClock
) -> None:
    messages = [{"role": "user", "content": text} for text in SAID]
    told(ana("core.append_messages", messages=messages, conversation_id="chat", scope="work/x", ended=True))
    deleted = told(ana("core.save", content="The vault code is quagmire", scope="work/x"))["id"]
    told(ana("core.delete", id=deleted))
    pinned = told(ana("core.save", content="Keep this one", scope="work/x", pinned=True))["id"]
    other = told(ana("core.save", content="Elsewhere", scope="home"))["id"]
    receipt = told(ana("core.forget", scope="work", include_child_scopes=True))
    assert len(receipt["forgotten"]) == 5
    assert receipt["verified"]
    assert {m.id for m in stored(door)} == {pinned, other}


def test_a_forgetting_that_matches_nothing_says_so_and_is_not_verified(door: Door, ana: Ask) -> None:
    unknown = "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"
    of_ben = door.invoke("core.save", {"content": "Ben's"}, Caller(UserRef("ben"), "assistant")).body["id"]
    told(ana("core.save", content="Keep this one", scope="work", pinned=True))
    messages = {
        "Nothing was forgotten: no memory has this id.": ({"ids": [unknown]}, {"ids": [of_ben, of_ben]}),
        "Nothing was forgotten: no memory has any of these ids.": ({"ids": [unknown, of_ben]},),
        "Nothing was forgotten: no memory matches, or only pinned ones, which criteria skip.": (
            {"scope": "home"},
            {"scope": "work"},
        ),
    }
    for message, every in messages.items():
        for arguments in every:
            receipt = told(ana("core.forget", **arguments))
            assert (receipt["forgotten"], receipt["verified"], receipt["message"]) == ([], False, message)


def test_a_forgetting_says_how_many_of_the_ids_matched_nothing(ana: Ask) -> None:
    ids = [told(ana("core.save", content=text))["id"] for text in ("The heron", "The otter")]
    receipt = told(ana("core.forget", ids=[*ids, ids[0].upper(), "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "none"]))
    assert (set(receipt["forgotten"]), receipt["verified"]) == (set(ids), True)
    assert receipt["message"].endswith("no memory holds the text or names the id. 2 other ids matched no memory.")


def test_a_forgetting_by_criteria_tells_of_no_ids_where_another_was_faster(door: Door, ana: Ask) -> None:
    heron, otter = (told(ana("core.save", content=text, scope="zoo"))["id"] for text in ("The heron", "The otter"))

    class Racing(Around):
        """Another call forgets the heron once this one has chosen it."""

        is_over = False

        def images(self, *, earlier: bool = False) -> Iterator[Memory]:
            yield from self._space.images(earlier=earlier)
            if not self.is_over:
                type(self).is_over = True
                told(ana("core.forget", id=heron))

    racing = replace(door, store=Wrapped(door.store, Racing))
    receipt = racing.invoke("core.forget", {"scope": "zoo"}, Caller(UserRef("ana"), "assistant")).body
    assert Racing.is_over
    assert (receipt["forgotten"], receipt["verified"]) == ([otter], True)
    assert receipt["message"].endswith("no memory holds the text or names the id.")


def test_forgetting_without_a_way_of_choosing_is_refused(ana: Ask) -> None:
    for arguments in ({}, {"id": "x", "scope": "work"}, {"merged": True}):
        refused = ana("core.forget", **arguments)
        assert "exactly one of" in refused.error.message


def test_a_message_forgotten_while_its_episode_is_made_is_not_in_it(door: Door, ana: Ask, clock: SettableClock) -> None:
    say(ana, *SAID)
    doomed = turns(door)[SAID[0]]

    class Racing(Around):
        """Forgets a message when the episode is about to be written."""

        is_over = False

        def commit(self, changes: Sequence[Change]) -> None:
            if not self.is_over and any(isinstance(c, Create) and c.entry.memory.is_episode for c in changes):
                type(self).is_over = True
                assert told(ana("core.forget", id=doomed))["verified"]
            self._space.commit(changes)

    clock.advance(minutes=16)
    racing = replace(door, store=Wrapped(door.store, Racing))
    racing.invoke("episodic.retrieve_memory", {"query": "otters"}, Caller(UserRef("ana"), "assistant"))
    assert Racing.is_over
    assert holding(door, "Zanzibar") == set()
    [episode] = [m for m in stored(door) if m.is_episode]
    assert [message.content for message in episode.messages] == SAID[1:]


def test_a_forgetting_cut_short_after_the_episode_was_rewritten_is_finished_by_a_repeat(
    door: Door, ana: Ask, episode: str
) -> None:
    class Dying(Around):
        def purge(self, ids: Sequence[str]) -> list[str]:
            raise Unavailable("The disk is gone.", part="store")

    doomed = turns(door)[SAID[0]]
    dying = replace(door, store=Wrapped(door.store, Dying))
    result = dying.invoke("core.forget", {"id": doomed}, Caller(UserRef("ana"), "assistant"))
    assert isinstance(result.error, Unavailable)
    receipt = told(ana("core.forget", id=doomed))
    assert receipt["verified"]
    assert holding(door, "Zanzibar") == set()
    assert len([m for m in stored(door) if m.is_episode]) == 1
    assert isinstance(ana("core.forget", id=doomed).error, NotFound)


def test_two_messages_forgotten_one_after_the_other_leave_one_episode(door: Door, ana: Ask, episode: str) -> None:
    first, second, _ = SAID
    ids = turns(door)
    told(ana("core.forget", id=ids[second]))
    told(ana("core.forget", id=ids[first]))
    assert [[m.content for m in e.messages] for e in stored(door) if e.is_episode] == [["Yes."]]


def test_a_long_message_is_forgotten_with_all_its_turns(door: Door, ana: Ask, clock: SettableClock) -> None:
    text = " ".join(f"word{number}" for number in range(6000))
    say(ana, text, "Yes.", "No.")
    [id] = [m.id for m in stored(door) if m.content.startswith("word0 ")]
    told(ana("core.forget", id=id))
    assert holding(door, "word1", "word5999") == set()


def test_what_is_kept_nowhere_is_deleted_with_its_messages(door: Door, ana: Ask, episode: str) -> None:
    at_once = replace(door, rules=replace(door.rules, retention=timedelta(0)))
    result = at_once.invoke("agent.forget_memory", {"id": episode}, Caller(UserRef("ana"), "assistant"))
    assert "Deleted for good" in result.body
    assert stored(door) == []


def test_time_that_runs_out_behind_the_purge_is_said_and_nothing_is_claimed(door: Door, ana: Ask) -> None:
    id = told(ana("core.save", content="The vault code is quagmire"))["id"]

    class Slow(Around):
        purged = False

        def purge(self, ids: Sequence[str]) -> list[str]:
            type(self).purged = True
            return self._space.purge(ids)

        def images(self, *, earlier: bool = False) -> Iterator[Memory]:
            if self.purged:
                raise Unavailable("Time is up.", part="store")
            return self._space.images(earlier=earlier)

    slow = replace(door, store=Wrapped(door.store, Slow))
    receipt = slow.invoke("core.forget", {"id": id}, Caller(UserRef("ana"), "assistant")).body
    assert receipt["verified"] is False
    assert "time ran out" in receipt["message"]
