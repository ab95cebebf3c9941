"""The contract of every store for filters, against a plain reading of what they say."""

import random
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clock import NOON, SettableClock
from contracts.entries import delete, embed, entry, found, ids, later, memory, query, save, search, turn, update
from steeltrap.engine import reading
from steeltrap.model import Filter, Memory, Message
from steeltrap.ports import Close, Create, Pending, Space

_SCOPES = ["a", "a/b", "a/b/c", "a-b", "ab", "a0", "A", "b", "git", "git/a", "git/a/b", "git/a-b", "gitlab"]

_TAGS = ["ui", "UI", "Straße", "STRASSE", "%", "_", "*", "work", "日本"]

_VALUES: list[Any] = [None, True, False, 0, 1, 1.5, "1", "", "true", "null", "[1]", [1], {"x": 1}, "日本"]

_KEYS = ["k", "K", 'quo"te', "a.b", "$", "", "é"]

_LABELS = [None, "x", "X", "%"]

_TIMES = [later(seconds) for seconds in (-60, 0, 0.000001, 60)]


def _population() -> list[Memory]:
    pick = random.Random(4)
    return [
        memory(
            f"fox {i}",
            id=id,
            tags=tuple(pick.sample(_TAGS, pick.randrange(4))),
            metadata={key: pick.choice(_VALUES) for key in pick.sample(_KEYS, pick.randrange(4))},
            scope=pick.choice(_SCOPES),
            tier=pick.choice(["short_term", "long_term", "working"]),
            category=pick.choice(_LABELS),
            content_type=pick.choice(["text", "code"]),
            agent_id=pick.choice(_LABELS),
            agent_label=pick.choice(_LABELS),
            conversation_id=pick.choice(_LABELS),
            untrusted=pick.choice([False, True]),
            created_at=pick.choice(_TIMES),
            occurred_at=pick.choice([None, *_TIMES]),
            expires_at=pick.choice([None, None, later(1), later(-1)]),
            source=pick.choice(["user_memory", "user_memory", "conversation"]),
            messages=pick.choice([(), (Message(role="user", content="a fox"),)]),
        )
        for i, id in enumerate(ids(150))
    ]


_PLAIN = [value for value in _VALUES if not isinstance(value, list | dict)]

_ONE_CONDITION = st.one_of(
    st.fixed_dictionaries({"tags": st.lists(st.sampled_from(_TAGS), max_size=2).map(tuple)}),
    st.fixed_dictionaries({"metadata": st.dictionaries(st.sampled_from(_KEYS), st.sampled_from(_PLAIN), max_size=2)}),
    st.fixed_dictionaries({"scope": st.sampled_from([*_SCOPES, "c"]), "include_child_scopes": st.booleans()}),
    st.fixed_dictionaries({"project": st.sampled_from(["git/a", "git/a/b", "git/c"])}),
    st.fixed_dictionaries({"categories": st.lists(st.sampled_from(["x", "X", "%", "y"]), max_size=3).map(tuple)}),
    st.fixed_dictionaries({"tier": st.sampled_from(["short_term", "long_term", "working"])}),
    st.fixed_dictionaries({"content_type": st.sampled_from(["text", "code", "json"])}),
    *(
        st.fixed_dictionaries({name: st.sampled_from(["x", "X", "%", "y"])})
        for name in ("category", "agent_id", "agent_label", "conversation_id")
    ),
    st.fixed_dictionaries({"untrusted": st.booleans()}),
    *(
        st.fixed_dictionaries({name: st.sampled_from(_TIMES)})
        for name in ("created_after", "created_before", "occurred_after", "occurred_before")
    ),
)

_TURNS = st.sampled_from([{}, {"include_turns": True}, {"include_turns": True, "turns_of": "x"}])

_EPISODES = st.sampled_from([{}, {"episodes": False}])

_FILTERS = st.tuples(st.lists(_ONE_CONDITION, max_size=3), _TURNS, _EPISODES).map(
    lambda parts: Filter(**{name: value for part in (*parts[0], *parts[1:]) for name, value in part.items()})
)


def _seen(filter: Filter, m: Memory) -> bool:
    if not m.is_visible(NOON):
        return False
    return m.source != "conversation" or _includes_said(filter, m)


def _includes_said(filter: Filter, m: Memory) -> bool:
    return filter.include_turns and filter.turns_of in (None, m.conversation_id)


def _admits(filter: Filter, m: Memory) -> bool:
    plain = ("tier", "category", "content_type", "agent_id", "agent_label", "conversation_id", "untrusted")
    return (
        _seen(filter, m)
        and (filter.episodes or not m.is_episode or _includes_said(filter, m))
        and all(getattr(filter, name) in (None, getattr(m, name)) for name in plain)
        and (not filter.categories or m.category in filter.categories)
        and {tag.casefold() for tag in filter.tags} <= {tag.casefold() for tag in m.tags}
        and all(key in m.metadata and _same(m.metadata[key], value) for key, value in filter.metadata.items())
        and (
            filter.project is None
            or (m.scope != "git" and not m.scope.startswith("git/"))
            or m.scope == filter.project
            or m.scope.startswith(f"{filter.project}/")
        )
        and (
            filter.scope in (None, m.scope) or (filter.include_child_scopes and m.scope.startswith(f"{filter.scope}/"))
        )
        and (filter.created_after is None or m.created_at >= filter.created_after)
        and (filter.created_before is None or m.created_at < filter.created_before)
        and (filter.occurred_after is None or (m.occurred_at is not None and m.occurred_at >= filter.occurred_after))
        and (filter.occurred_before is None or (m.occurred_at is not None and m.occurred_at < filter.occurred_before))
    )


def _same(stored: Any, asked: Any) -> bool:
    return isinstance(stored, bool) == isinstance(asked, bool) and stored == asked


def store_turn(space: Space) -> str:
    """An open turn that was changed since it was said."""
    said = turn("good morning", "talk")
    space.commit([Create(entry=entry(said))])
    return update(space, said, category="greeting").id


class StoreFilters:
    """Earned as a part of `StoreContract`."""

    def test_a_day_without_a_time_has_bounds_of_its_own(self, space: Space) -> None:
        midnight = datetime(2026, 5, 12, tzinfo=UTC)
        day = save(space, "fox", occurred_at=date(2026, 5, 12)).id
        moment = save(space, "fox", occurred_at=midnight).id
        west, east = midnight + timedelta(hours=7), midnight - timedelta(hours=9)
        cases = (
            ({"occurred_after": west, "first_day": date(2026, 5, 12)}, {day}),
            ({"occurred_before": west, "end_day": date(2026, 5, 12)}, {moment}),
            ({"occurred_after": east, "first_day": date(2026, 5, 13)}, {moment}),
            ({"occurred_before": east, "end_day": date(2026, 5, 13)}, {day}),
        )
        for bounds, admitted in cases:
            assert found(search(space, "fox", **bounds)) == admitted, bounds
            page = space.page(Filter(**bounds), limit=9)
            assert ({memory.id for memory in page.memories}, page.total) == (admitted, 1), bounds

    def test_a_text_is_not_the_list_that_it_spells(self, space: Space) -> None:
        save(space, "fox", metadata={"k": [1], "o": {"x": 1}})
        assert found(search(space, "fox", metadata={"k": "[1]"})) == set()
        assert found(search(space, "fox", metadata={"o": '{"x":1}'})) == set()

    def test_a_tag_and_a_category_are_one_however_their_accents_are_encoded(self, space: Space) -> None:
        composed, decomposed = "Caf\u00e9", "Cafe\u0301"
        one = save(space, "fox one", tags=(composed,), category=composed)
        two = save(space, "fox two", tags=(decomposed,), category=decomposed)
        for asked in (composed, decomposed):
            for filter in (Filter(tags=(asked.upper(),)), Filter(category=asked), Filter(categories=(asked, "other"))):
                page = space.page(filter, limit=9)
                assert ({m.id for m in page.memories}, page.total) == ({one.id, two.id}, 2)
                assert found(space.search(replace(query("fox"), filter=filter))) == {one.id, two.id}
        assert [(m.tags, m.category) for m in space.get([two.id]).values()] == [((decomposed,), decomposed)]

    def test_filters_admit_what_they_say_in_pages_and_in_both_legs(self, space: Space, examples: int) -> None:
        population = _population()
        space.commit([Create(entry=entry(m)) for m in population])
        near = embed("fox")[0]

        @given(_FILTERS)
        @settings(max_examples=examples)
        def agrees(filter: Filter) -> None:
            expected = {m.id for m in population if _admits(filter, m)}
            seen = sum(_seen(filter, m) for m in population)
            for text, vector_ in (("fox", None), ("", near), ("fox", near)):
                matches = space.search(replace(query(text, near=vector_, per_leg=None), filter=filter))
                assert found(matches) == expected
                assert (matches.stored, matches.admitted) == (seen, len(expected))
            if not filter.include_turns:
                page = space.page(filter, limit=1000)
                assert ({m.id for m in page.memories}, page.total) == (expected, len(expected))

        agrees()

    def test_what_waits_for_its_look_around_is_told_until_it_has_it(self, space: Space, clock: SettableClock) -> None:
        waits = save(space, "the heron", lookaround_pending=True)
        changed = save(space, "the otter", lookaround_pending=True)
        save(space, "the egret")
        gone = save(space, "the kite", lookaround_pending=True)
        save(space, "the swift", lookaround_pending=True, expires_at=later(60))
        said = store_turn(space)
        clock.advance(seconds=61)
        update(space, changed, lookaround_pending=False)
        delete(space, gone, clock.now())
        assert space.find(Pending()) == [waits.id]
        update(space, waits, category="bird", lookaround_pending=True)
        assert space.find(Pending()) == [waits.id]
        assert [turn.id for turn in reading.open_turns(space, "talk")] == [said]
        assert space.idle_conversations(clock.now(), limit=5) == ["talk"]
        space.commit([Close(turn_ids=(said, waits.id))])
        assert (reading.open_turns(space, "talk"), space.find(Pending())) == ([], [waits.id])
