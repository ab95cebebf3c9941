"""A memory that supersedes others: what comes up, what stays, and what brings it back."""

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from clock import NOON, SettableClock
from contracts.entries import SECONDS, creation
from dialects.episodes import Around, Wrapped
from spaces import space_of
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef

ANA = Caller(UserRef("ana"), "assistant")
Ask = Callable[..., Any]

OLD = "Ana works at Acme as an engineer"
NEW = "Ana works at Globex as a manager"


def saved(ask: Ask, content: str, *supersedes: str, **fields: Any) -> str:
    result = ask("core.save", content=content, **({"supersedes": list(supersedes)} if supersedes else {}), **fields)
    assert result.error is None, result.error
    return str(result.body["id"])


def seen(ask: Ask, **how: Any) -> set[str]:
    """The contents of a list, and of a search that everything matches."""
    listed = {memory["id"] for memory in ask("core.list", **how).body["memories"]}
    found = {hit["id"] for hit in ask("core.search", query="Ana works", limit=100, **how).body["results"]}
    assert found == listed
    return listed


def by(ask: Ask, id: str) -> str | None:
    superseded: str | None = ask("core.history", id=id).body["revisions"][-1]["memory"].get("superseded_by")
    return superseded


def images(ask: Ask) -> list[Any]:
    return sorted(ask("core.export").body["records"], key=lambda record: str(record["id"]))


# What comes up


def test_a_superseded_memory_comes_up_in_no_dialect(ana: Ask) -> None:
    old = saved(ana, OLD, category="fact")
    new = saved(ana, NEW, old, category="fact")
    assert seen(ana) == {new}
    asked = [
        ana("notes.memory_search", query="Ana works"),
        ana("categories.search_memories", query="Ana works"),
        ana("categories.list_memories", category="fact"),
        ana("records.memory_search", query="Ana works"),
        ana("records.memory_list"),
        ana("associative.memory_search", query="Ana works"),
        ana("associative.memory_list_all"),
        ana("associative.memory_discover_associations", memory_id=new),
        ana("episodic.retrieve_memory", query="Ana works"),
        ana("core.retrieve_memory", query="Ana works"),
        ana("core.associations", id=new),
        ana("core.list_scopes"),
    ]
    assert [result.error for result in asked if result.error is not None and result.error.code != "not_found"] == []
    assert not [result.body for result in asked if old in str(result.body) or "Acme" in str(result.body)]


def test_a_superseded_memory_is_read_by_its_id_and_kept_in_its_history_and_export(ana: Ask) -> None:
    old = saved(ana, OLD)
    new = saved(ana, NEW, old)
    assert ana("core.get", id=old).body["superseded_by"] == new
    assert ana("core.get", id=new).body["supersedes"] == [old]
    assert [r["memory"].get("superseded_by") for r in ana("core.history", id=old).body["revisions"]] == [None, new]
    assert {record["id"] for record in images(ana)} == {old, new}
    counts = ana("core.stats").body
    assert (counts["memories"], counts["superseded"]) == (1, 1)


def test_a_superseded_memory_is_found_on_request_and_says_by_what(ana: Ask) -> None:
    old = saved(ana, OLD)
    new = saved(ana, NEW, old)
    assert seen(ana, include_superseded=True) == {old, new}
    hits = ana("core.search", query="Acme engineer", include_superseded=True).body["results"]
    assert (hits[0]["id"], hits[0]["superseded_by"]) == (old, new)


def test_a_question_in_the_words_of_what_was_superseded_finds_what_is_current(ana: Ask) -> None:
    for text in ("Ana works near a lake", "Ana plays chess on Fridays", "Tom works at Acme in Oslo"):
        saved(ana, text)
    old = saved(ana, OLD, tags=["job"])
    middle = saved(ana, "She left in May and moved on", old)
    new = saved(ana, "Globex made her a manager", middle)

    def hits(**how: Any) -> list[dict[str, Any]]:
        answer = ana("core.search", query="Where does Ana work as an engineer?", **how).body
        return list(answer["results"])

    first, *rest = hits(why=True)
    assert (first["id"], first["score"] > rest[0]["score"]) == (new, True)
    assert first["why"]["boosts"]["superseded"] > 0.3
    assert not {old, middle} & {hit["id"] for hit in rest}
    assert [hit["id"] for hit in hits(precision="best")] == [new]
    # It is asked for itself, or the caller measures each memory's own likeness.
    assert hits(include_superseded=True)[0]["id"] == old
    assert new not in {hit["id"] for hit in hits(min_similarity=0.2)}
    # A filter holds for what is answered and for what it is found by.
    assert hits(tags=["job"]) == []
    ana("core.delete", id=new)
    assert hits()[0]["id"] == middle


def test_a_question_about_the_past_finds_what_was_superseded_unless_that_is_unwanted(ana: Ask) -> None:
    old = saved(ana, "Ana lived in Porto")
    new = saved(ana, "Ana lives in Lisbon", old)

    def found(tool: str = "core.search", **how: Any) -> Any:
        return ana(tool, query="Where did Ana live before she moved?", **how).body

    hits = {hit["id"]: hit for hit in found()["results"]}
    assert (set(hits), hits[old]["superseded_by"]) == ({old, new}, new)
    assert [hit["id"] for hit in found(include_superseded=False)["results"]] == [new]
    [line] = [line for line in found("agent.recall").splitlines() if "Porto" in line]
    assert "(replaced 2026-" in line
    assert "Porto" not in str(ana("agent.recall", query="Where does Ana live?").body)
    assert old not in str(found("records.memory_search"))  # its answers have no word for it


def test_a_search_as_of_a_time_answers_what_was_known_then(ana: Ask, clock: SettableClock) -> None:
    old = saved(ana, OLD)
    clock.advance(days=30)
    new = saved(ana, NEW, old)

    def found(as_of: str) -> list[str]:
        return [hit["id"] for hit in ana("core.search", query="Ana works", as_of=as_of).body["results"]]

    assert found((NOON + timedelta(days=10)).isoformat()) == [old]
    assert found((NOON + timedelta(days=30)).isoformat()) == [new]
    ana("core.delete", id=old)
    assert found((NOON + timedelta(days=10)).isoformat()) == []


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Who insured the Volvo before March 2025?", 0),
        ("Who insured the Volvo before Halvard?", 0),
        ("Who insured the Volvo before Bergen Direct?", 1),
        ("Who insures the Volvo?", 2),
    ],
)
def test_a_question_for_the_past_finds_first_what_held_before(ana: Ask, query: str, first: int) -> None:
    chain = (
        "Insurance for the Volvo is with Nordring, renewal each June.",
        "From 1 March 2025 the Volvo is insured with Halvard Mutual, 38 euros a month.",
        "Since May 2026 Bergen Direct insures the Volvo, 31 euros a month.",
    )
    ids: list[str] = []
    for content in chain:
        ids.append(saved(ana, content, *ids[-1:]))
    saved(ana, "The Volvo has winter tyres.")
    assert ana("core.search", query=query).body["results"][0]["content"] == chain[first]


def test_as_of_before_the_first_memory_says_so(ana: Ask) -> None:
    saved(ana, OLD)
    outcome = ana("core.search", query="Ana works", as_of="2001-01-31").body["outcome"]
    assert outcome["kind"] == "filtered_out"
    assert "Nothing was stored yet at 2001-01-31 00:00" in outcome["message"]


def test_a_text_that_is_superseded_may_be_saved_again(ana: Ask) -> None:
    old = saved(ana, OLD)
    new = saved(ana, NEW, old, fold_duplicates=True)
    again = ana("core.save", content=OLD, fold_duplicates=True, supersedes=[new]).body
    assert (again["existed"], again["links"]) == (False, 0)
    assert seen(ana) == {again["id"]}


def test_a_guard_lets_a_text_in_that_supersedes_the_one_like_it(ana: Ask) -> None:
    old = saved(ana, OLD)
    assert ana("core.save", content=f"{OLD}!", duplicate_threshold=0.9).error.code == "conflict"
    new = saved(ana, f"{OLD}!", old, duplicate_threshold=0.9)
    assert seen(ana) == {new}


# What is refused


@pytest.mark.parametrize(
    ("ids", "code", "told"),
    [
        (["nobody"], "not_found", "No memory with id nobody"),
        (["theirs"], "not_found", "No memory with id"),
        (["deleted"], "not_found", "No memory with id"),
        (["superseded"], "conflict", "is superseded by"),
        (["old", "superseded"], "conflict", "is superseded by"),
        (["turn"], "invalid_input", "was said in a conversation"),
        (["old"] * 21, "invalid_input", "at most 20"),
    ],
)
def test_what_can_not_be_superseded_is_refused_and_nothing_changes(
    ana: Ask, agent: Callable[..., Any], ids: list[str], code: str, told: str
) -> None:
    known = {name: saved(ana, f"{name} {OLD}") for name in ("old", "deleted", "superseded")}
    known["theirs"] = saved(agent("bob"), OLD)
    said = [{"role": "user", "content": "Ana works"}]
    known["turn"] = ana("core.append_messages", conversation_id="c", messages=said).body["ids"][0]
    ana("core.delete", id=known["deleted"])
    newer = saved(ana, NEW, known["superseded"])
    before = images(ana)
    many = len(ids) > 20
    named = [f"00000000-0000-4000-8000-{i:012}" for i in range(21)] if many else [known.get(id, id) for id in ids]
    for result in (
        ana("core.save", content=NEW, supersedes=named),
        ana("core.batch_save", items=[{"content": NEW}, {"content": NEW, "supersedes": named}]),
    ):
        assert result.error.code == code
        assert told in result.error.message.replace("at most 20 items", "at most 20") or many
    assert images(ana) == before
    if ids == ["superseded"]:
        assert newer in ana("core.save", content=NEW, supersedes=named).error.message


def test_a_memory_never_supersedes_itself(door: Door) -> None:
    first = door.invoke("core.save", {"content": OLD}, ANA, idempotency_key="k").body["id"]
    result = door.invoke("core.save", {"content": OLD, "supersedes": [first]}, ANA, idempotency_key="k")
    assert "can't supersede itself" in result.error.message


def test_a_repeated_key_answers_the_same_memory_and_supersedes_once(door: Door, ana: Ask) -> None:
    old = saved(ana, OLD)
    arguments = {"content": NEW, "supersedes": [old]}
    first, again = (door.invoke("core.save", arguments, ANA, idempotency_key="k").body for _ in range(2))
    assert (again["id"], again["existed"]) == (first["id"], True)
    assert len(ana("core.history", id=old).body["revisions"]) == 2


# Batches


def test_a_batch_supersedes_item_by_item_or_as_a_whole(ana: Ask) -> None:
    one, two = saved(ana, OLD), saved(ana, f"two {OLD}")
    items = [{"content": NEW, "supersedes": [one]}, {"content": f"two {NEW}", "supersedes": [one]}]
    refused = ana("core.batch_save", items=items)
    assert "superseded by two items" in refused.error.message
    assert seen(ana) == {one, two}
    kept = ana("core.batch_save", items=items, on_error="continue").body
    assert [error["code"] for error in kept["errors"]] == ["conflict"]
    assert seen(ana) == {two, *kept["ids"]}
    whole = ana("core.batch_save", items=[{"content": NEW, "supersedes": [two, kept["ids"][0]]}]).body["ids"]
    assert seen(ana) == set(whole)


# What brings it back


def test_deleting_the_newer_one_brings_the_older_one_back_and_undo_takes_it_away_again(ana: Ask) -> None:
    old = saved(ana, OLD)
    new = saved(ana, NEW, old)
    ana("core.delete", id=new)
    assert (seen(ana), by(ana, old)) == ({old}, None)
    ana("core.undo", id=new)
    assert (seen(ana), by(ana, old)) == ({new}, new)


def test_undoing_a_save_that_superseded_takes_it_back_and_undo_repeats_it(ana: Ask) -> None:
    old = saved(ana, OLD)
    new = saved(ana, NEW, old)
    ana("core.update", id=new, content=f"{NEW} now")
    ana("core.undo", id=new)
    assert seen(ana) == {new}
    assert "deleted_at" in ana("core.undo", id=new).body
    assert (seen(ana), by(ana, old)) == ({old}, None)
    ana("core.undo", id=new)
    assert (seen(ana), by(ana, old)) == ({new}, new)


def test_undoing_the_older_one_brings_it_back_beside_the_newer_one_for_good(ana: Ask) -> None:
    old = saved(ana, OLD)
    new = saved(ana, NEW, old)
    assert ana("core.undo", id=old).body["content"] == OLD
    assert seen(ana) == {old, new}
    ana("core.delete", id=new)
    ana("core.undo", id=new)
    assert seen(ana) == {old, new}


def test_going_back_never_supersedes_by_what_is_gone(ana: Ask) -> None:
    old = saved(ana, OLD)
    new = saved(ana, NEW, old)
    ana("core.delete", id=new)
    ana("core.update", id=old, content=f"{OLD} again")
    for _ in range(3):
        ana("core.undo", id=old)
        assert seen(ana) == {old}


def test_what_was_superseded_and_then_deleted_comes_back_as_if_it_never_was(ana: Ask) -> None:
    old = saved(ana, OLD)
    new = saved(ana, NEW, old)
    ana("core.delete", id=old)
    ana("core.delete", id=new)
    ana("core.undo", id=old)
    assert seen(ana) == {old}


def test_an_undone_delete_leaves_alone_what_was_superseded_by_another_since(ana: Ask) -> None:
    old = saved(ana, OLD)
    new = saved(ana, NEW, old)
    ana("core.delete", id=new)
    other = saved(ana, "Ana works for herself", old)
    ana("core.undo", id=new)
    assert (seen(ana), by(ana, old)) == ({new, other}, other)


def test_forgetting_the_newer_one_brings_the_older_one_back_without_a_trace(ana: Ask) -> None:
    old = saved(ana, OLD)
    new = saved(ana, NEW, old)
    assert ana("core.forget", id=new).body["verified"]
    assert seen(ana) == {old}
    assert new not in str(ana("core.history", id=old).body)


def test_with_no_retention_a_delete_brings_the_older_one_back(door: Door, ana: Ask) -> None:
    old = saved(ana, OLD)
    new = saved(ana, NEW, old)
    at_once = dataclasses.replace(door, rules=dataclasses.replace(door.rules, retention=timedelta(0)))
    assert at_once.invoke("core.undo", {"id": new}, ANA).error is None
    assert seen(ana) == {old}
    assert ana("core.history", id=new).error.code == "not_found"


def test_an_expired_newer_one_brings_nothing_back(ana: Ask, clock: SettableClock) -> None:
    old = saved(ana, OLD)
    saved(ana, NEW, old, ttl_seconds=60)
    clock.advance(seconds=61)
    assert seen(ana) == set()
    assert seen(ana, include_superseded=True) == {old}


def test_a_chain_gives_back_one_link_at_a_time(ana: Ask) -> None:
    first = saved(ana, OLD)
    second = saved(ana, NEW, first)
    third = saved(ana, "Ana works for herself", second)
    assert seen(ana) == {third}
    ana("core.delete", id=third)
    assert seen(ana) == {second}
    ana("core.delete", id=second)
    assert seen(ana) == {first}


# Other writes


def test_a_delete_by_criteria_takes_what_was_superseded_along(ana: Ask) -> None:
    first = saved(ana, OLD, scope="work/acme")
    second = saved(ana, NEW, first, scope="work/acme")
    saved(ana, "Ana works for herself", second, scope="work/acme")
    assert len(ana("core.delete", scope="work/acme").body["deleted"]) == 3
    assert seen(ana, include_superseded=True) == set()


def test_what_merged_memories_superseded_is_superseded_by_their_merger(ana: Ask) -> None:
    old = saved(ana, OLD)
    new, other = saved(ana, NEW, old), saved(ana, "Ana works on Mondays")
    merged = ana("core.consolidate", ids=[new, other], preserve_originals=False).body
    assert (seen(ana), merged["supersedes"]) == ({merged["id"]}, [old])
    ana("core.delete", id=merged["id"])
    assert seen(ana) == {old}


def test_an_update_or_a_move_leaves_a_memory_superseded(ana: Ask) -> None:
    old = saved(ana, OLD)
    new = saved(ana, NEW, old)
    ana("core.update", id=old, content=f"{OLD} once")
    ana("core.move", ids=[old, new], scope="work/jobs")
    assert seen(ana) == {new}
    assert ana("core.get", id=old).body["superseded_by"] == new


# Suggestions


def test_a_save_names_what_it_probably_corrects_and_does_nothing_about_it(ana: Ask) -> None:
    old = saved(ana, "Ana works at Acme in Berlin as an engineer of bridges")
    answer = ana("core.save", content="Ana works at Acme in Lisbon as an engineer of bridges").body
    assert (answer["probably_supersedes"], answer["nearest_id"]) == ([old], old)
    assert seen(ana) == {old, answer["id"]}
    assert "probably_supersedes" not in ana("core.save", content="The heron fishes at dawn").body
    same = ana("core.save", content="Ana works at Acme in Berlin as an engineer of bridges").body
    assert "probably_supersedes" not in same


def test_what_a_save_supersedes_is_no_suggestion(ana: Ask) -> None:
    old = saved(ana, "Ana works at Acme in Berlin as an engineer of bridges")
    answer = ana("core.save", content="Ana works at Acme in Lisbon as an engineer of bridges", supersedes=[old]).body
    assert (answer["supersedes"], answer.get("probably_supersedes"), answer.get("nearest_id")) == ([old], None, None)


# Transfer


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("at_once", [False, True])
def test_an_import_restores_superseding_in_any_order(
    ana: Ask, agent: Callable[..., Any], turned: bool, at_once: bool
) -> None:
    old = saved(ana, OLD)
    new = saved(ana, NEW, old)
    records = images(ana)[:: -1 if turned else 1]
    bob = agent("bob")
    for part in [records] if at_once else [[record] for record in records]:
        assert bob("core.import", records=part).body["errors"] == []
    assert (seen(bob), by(bob, old)) == ({new}, new)
    bob("core.delete", id=new)
    assert seen(bob) == {old}


def test_an_import_refuses_superseding_in_a_circle(ana: Ask) -> None:
    ids = [f"00000000-0000-4000-8000-{i:012}" for i in range(3)]
    times = {"created_at": "2026-01-01T00:00:00+00:00", "updated_at": "2026-01-01T00:00:00+00:00"}
    records = [{"id": id, "content": OLD, "superseded_by": ids[i - 1], **times} for i, id in enumerate(ids)]
    refused = ana("core.import", records=records).body
    assert (refused["written"], [error["index"] for error in refused["errors"]]) == (0, [0, 1, 2])
    assert ana("core.import", records=records[:2]).body["written"] == 2
    assert "supersede itself" in ana("core.import", records=records[2:]).body["errors"][0]["message"]
    alone = {"id": ids[2], "content": OLD, "superseded_by": ids[2], **times}
    assert "can't supersede itself" in ana("core.import", records=[alone]).body["errors"][0]["message"]


def test_an_import_supersedes_nothing_by_what_is_deleted_here(ana: Ask) -> None:
    old = saved(ana, OLD)
    new = saved(ana, NEW, old)
    records = [record for record in images(ana) if record["id"] == old]
    ana("core.forget", id=old)
    ana("core.delete", id=new)
    assert ana("core.import", records=records).body["written"] == 1
    assert seen(ana) == {old}


def test_a_file_keeps_superseding_and_gives_it_the_ids_that_it_makes(ana: Ask) -> None:
    old = saved(ana, OLD, scope="work/jobs")
    new = saved(ana, NEW, old, scope="work/jobs")
    ana("associative.memory_sync", operation="export", scope="work", file_path="jobs.json")
    for _ in range(2):
        ana("associative.memory_sync", operation="import", scope="copy", file_path="jobs.json")
    every = ana("core.list", scope="copy", include_superseded=True).body["memories"]
    [copied] = ana("core.list", scope="copy").body["memories"]
    assert (copied["content"], len(every)) == (NEW, 2)
    [hidden] = [memory for memory in every if memory["content"] == OLD]
    assert hidden["superseded_by"] == copied["id"]
    assert {old, new}.isdisjoint({copied["id"], hidden["id"]})


def test_a_search_after_hundreds_of_revisions_reads_no_more_than_after_a_few(door: Door, ana: Ask) -> None:
    read: list[int] = []

    class Counted(Around):
        def get(self, ids: Any, **how: Any) -> Any:
            read.append(len(ids))
            return self._space.get(ids, **how)

    def reads(revisions: int) -> list[int]:
        chain_of(door, f"user{revisions}", revisions)
        read.clear()
        counted = dataclasses.replace(door, store=Wrapped(door.store, Counted))
        body = counted.invoke("core.search", {"query": STATUS}, Caller(UserRef(f"user{revisions}"), "assistant")).body
        assert [hit["content"] for hit in body["results"]] == [f"{STATUS} {revisions - 1}, all done by now, at last"]
        return list(read)

    assert reads(20) == reads(60) == [1, 1]


def test_what_hundreds_of_its_own_revisions_crowd_out_is_found(door: Door) -> None:
    last = chain_of(door, "ana", 700)
    for tool in ("core.search", "agent.recall"):
        assert "all done by now" in str(door.invoke(tool, {"query": STATUS}, ANA).body), tool
    assert last in str(door.invoke("core.search", {"query": STATUS}, ANA).body)


STATUS = "The status of the bridge project is"


def chain_of(door: Door, user: str, length: int) -> str:
    """Revisions of one text, each of which superseded the one before; the id of the last."""
    texts = [f"{STATUS} {i}" for i in range(length - 1)] + [f"{STATUS} {length - 1}, all done by now, at last"]
    vectors = door.embedder.embed(texts, purpose="document", timeout=SECONDS)
    made = [creation(text, vectors=[vector]) for text, vector in zip(texts, vectors, strict=True)]
    for old, (i, new) in zip(made, enumerate(made[1:]), strict=False):
        memory = new.entry.memory
        marked = dataclasses.replace(old.entry.memory, superseded_by=memory.id, superseded_at=memory.created_at)
        made[i] = dataclasses.replace(old, entry=dataclasses.replace(old.entry, memory=marked), links_ahead=True)
    space = space_of(door.store, user)
    for at in range(0, length, 100):
        space.commit(made[at : at + 100])
    return made[-1].entry.memory.id


def test_what_is_superseded_already_is_refused_in_words_of_every_toolset(ana: Ask) -> None:
    old = saved(ana, OLD)
    new = saved(ana, NEW, old)
    sentence = f"Memory {old} is superseded by {new} already: give that id instead, or undo that change first."
    assert ana("agent.revise_memory", id=old, content="Ana works at Initech").body == sentence
    assert ana("core.save", content="Ana works at Initech", supersedes=[old]).error.message == sentence
    assert f"[{new[:8]}] is no longer recalled" in ana("agent.revise_memory", id=new, content="Ana is retired").body
