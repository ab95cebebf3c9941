"""Commits that no single transaction of DynamoDB can hold: what is left when one is cut short, and how it goes on."""

from typing import Any

import pytest

from cloud import Cloud, cloud
from contracts.entries import EMBEDDER, creation, replacement, save
from spaces import space_of
from steeltrap import record
from steeltrap.errors import Conflict, Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.ports import Create, Replace, Space
from steeltrap.toolsets import CATALOGUE
from unruly import refused

__all__ = ["cloud"]

MANY = 150
FIRST = 99
"""Memories in one transaction: one of its 100 actions is left for a check of the user."""


def _breaks_off(cloud: Cloud, after: int = 1) -> None:
    """DynamoDB takes so many transactions, then none any more."""
    cloud.unruly.faults["transact_write_items"] = [None] * after
    cloud.unruly.always["transact_write_items"] = refused("AccessDeniedException")


def _goes_on(cloud: Cloud) -> None:
    cloud.unruly.faults.clear()
    cloud.unruly.always.clear()


def _there(space: Space, changes: list[Create]) -> set[str]:
    return set(space.get([change.entry.memory.id for change in changes]))


@pytest.fixture
def space(cloud: Cloud) -> Space:
    space = space_of(cloud.store(), "ana")
    save(space, "the first")
    return space


def test_a_creation_of_many_that_is_cut_short_goes_on_with_the_rest(cloud: Cloud, space: Space) -> None:
    many = [creation(f"the heron {i}") for i in range(MANY)]
    _breaks_off(cloud)
    with pytest.raises(Unavailable):
        space.commit(many)
    _goes_on(cloud)
    there = _there(space, many)
    assert there == {change.entry.memory.id for change in many[:FIRST]}
    with pytest.raises(Conflict):
        space.commit(many)
    assert _there(space, many) == there
    space.commit(many[FIRST:])
    assert len(_there(space, many)) == MANY


def test_an_update_of_many_that_is_cut_short_goes_on_with_the_rest(cloud: Cloud, space: Space) -> None:
    many = [creation(f"the heron {i}") for i in range(MANY)]
    space.commit(many)
    changes: list[Replace] = [replacement(change.entry.memory, content="the otter") for change in many]
    _breaks_off(cloud)
    with pytest.raises(Unavailable):
        space.commit(changes)
    _goes_on(cloud)
    with pytest.raises(Conflict):
        space.commit(changes)
    versions = [space.get([change.entry.memory.id])[change.entry.memory.id].version for change in many]
    assert versions == [2] * FIRST + [1] * (MANY - FIRST)
    space.commit(changes[FIRST:])
    assert {memory.version for memory in space.get([change.entry.memory.id for change in many]).values()} == {2}


def test_of_many_nothing_is_written_when_one_can_not_be(cloud: Cloud, space: Space) -> None:
    many = [creation(f"the heron {i}") for i in range(MANY)]
    taken = many[-1].entry.memory.id
    save(space, "taken", id=taken)
    with pytest.raises(Conflict):
        space.commit(many)
    assert _there(space, many) == {taken}


def test_an_import_of_many_that_is_cut_short_is_finished_by_the_same_import(cloud: Cloud) -> None:
    store = cloud.store()
    door = Door(catalogue=CATALOGUE, store=store, embedder=EMBEDDER, clock=cloud.clock)
    records: list[Any] = [record.encode(creation(f"the heron {i}").entry.memory) for i in range(MANY)]
    _breaks_off(cloud, after=2)  # the first notes the import
    cut_short = door.invoke("core.import", {"records": records}, Caller(UserRef("ana")))
    _goes_on(cloud)
    assert isinstance(cut_short.error, Unavailable)
    again = door.invoke("core.import", {"records": records}, Caller(UserRef("ana"))).body
    assert (again["written"], again["skipped"]) == (MANY - FIRST, FIRST)
    assert space_of(store, "ana").statistics()["memories"] == MANY
