"""Purged memories leave the index too, after 15 days, and no search calls the index lagging for that."""

from typing import Any

from contracts.entries import delete, save, search, update
from contracts.entries import found as ids_of
from faults.indexing_homes import SECONDS, Home
from steeltrap.engine.upkeep import sweep_index


def _sweep(home: Home) -> int:
    home.parts.upkeep.refresh()
    dropped = sweep_index(home.truth, home.parts.upkeep, home.clock.now())
    home.parts.upkeep.refresh()
    return dropped


def _expire(home: Home, id: str) -> None:
    """DynamoDB's and the indexer's part when a tombstone's time to live is over."""
    key = {"u": {"S": home.key}, "k": {"S": f"m#{id}"}}
    client: Any = home.store.tables._client(SECONDS)
    item = client.get_item(TableName=home.store.tables.memory, Key=key)["Item"]
    assert int(item["ttl"]["N"]) <= home.clock.now().timestamp()
    client.delete_item(TableName=home.store.tables.memory, Key=key)
    assert home.take(home.of(id)) == []


def test_a_tombstone_leaves_the_index_once_the_table_has_none_and_15_days_have_passed(home: Home) -> None:
    kept, forgotten = save(home.space, "the heron"), save(home.space, "the otter")
    home.clock.advance(seconds=1)
    home.space.purge([forgotten.id])
    assert home.take(home.records()) == []
    home.clock.advance(days=14)
    assert _sweep(home) == 0
    home.clock.advance(days=1, seconds=1)
    assert _sweep(home) == 0
    # The table's tombstone was the user's last write: without the index's, every search would call the index lagging.
    assert search(home.space, "heron").degraded is None
    _expire(home, forgotten.id)
    assert _sweep(home) == 1
    assert home.held() == {kept.id: True}
    assert home.differences() == {}
    home.clock.advance(minutes=1)  # a store remembers the table's last write so long
    matches = search(home.space, "heron")
    assert (matches.degraded, ids_of(matches)) == (None, {kept.id})
    assert _sweep(home) == 0


def test_what_can_still_be_undone_keeps_its_tombstone_and_comes_back_after_a_sweep(home: Home) -> None:
    one = save(home.space, "the heron")
    home.clock.advance(seconds=1)
    gone = delete(home.space, one, home.clock.now())
    assert home.take(home.records()) == []
    home.clock.advance(days=20)
    assert _sweep(home) == 0
    assert home.held() == {one.id: False}
    assert search(home.space, "heron").degraded is None
    update(home.space, gone, deleted_at=None)
    assert home.take(home.records()) == []
    assert home.found_by_the_index("heron") == {one.id}


def test_an_id_that_is_imported_again_after_its_tombstone_went_is_found(home: Home) -> None:
    one = save(home.space, "the heron")
    home.space.purge([one.id])
    home.clock.advance(days=16)
    _expire(home, one.id)
    assert _sweep(home) == 1
    save(home.space, "the heron", id=one.id)
    assert home.take(home.of(one.id)) == []
    assert home.found_by_the_index("heron") == {one.id}
    assert _sweep(home) == 0
