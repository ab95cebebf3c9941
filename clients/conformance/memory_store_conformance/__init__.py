"""Tests that any memory store for AI agents can run.

An adapter gives the seven methods of MemoryStore. A subclass of MemoryStoreSuite whose fixture `store` returns an empty
one runs all tests. The package is a pytest plugin only so that pytest rewrites its asserts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import pytest

TEA = "Ana drinks green tea in the morning."
COFFEE = "Ana drinks black coffee in the morning."


class Conflict(Exception):
    """An edit named a version that is no longer the memory's current one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One memory: its key, its text and its version. A store without versions gives 0."""

    key: str
    text: str
    version: int = 0


class MemoryStore(Protocol):
    """The adapter of a store. Each call names the user. A method raises when the store fails."""

    def save(self, user: str, text: str, *, lifetime: float | None = None) -> str:
        """Save a text, for a number of seconds where `lifetime` is given, and return its key."""
        ...

    def get(self, user: str, key: str) -> Item | None: ...

    def search(self, user: str, query: str, *, limit: int = 10) -> list[Item]: ...

    def page(self, user: str, *, limit: int, offset: int = 0) -> list[Item]: ...

    def edit(self, user: str, key: str, text: str, *, version: int) -> None:
        """Replace the text; raise Conflict unless `version` is the current one."""
        ...

    def delete(self, user: str, key: str) -> None: ...

    def close(self) -> None:
        """End the connection. Later calls fail."""
        ...


class MemoryStoreSuite:
    """The tests. A subclass gives the fixture `store`, and `pass_time` where the store has lifetimes."""

    @pytest.fixture
    def pass_time(self) -> Callable[[float], None]:
        """The function that moves the store's clock on by a number of seconds."""
        pytest.skip("the subclass gives no fixture `pass_time`")

    def test_a_saved_memory_is_read_and_found_at_once(self, store: MemoryStore) -> None:
        key = store.save("ana", TEA)
        item = store.get("ana", key)
        assert item is not None
        assert item.text == TEA
        assert [item.key for item in store.search("ana", "green tea")] == [key]
        assert [item.key for item in store.page("ana", limit=10)] == [key]

    def test_another_user_sees_and_changes_nothing(self, store: MemoryStore) -> None:
        key = store.save("ana", TEA)
        assert store.get("bob", key) is None
        assert store.search("bob", "green tea") == []
        assert store.page("bob", limit=10) == []
        with pytest.raises(Exception):  # noqa: B017, PT011 - each store has an error of its own
            store.edit("bob", key, COFFEE, version=1)
        item = store.get("ana", key)
        assert item is not None
        assert item.text == TEA

    @pytest.mark.parametrize("user", ["an", "ana/x", "ana.x", "ANA", "ana "])
    def test_a_user_with_a_similar_name_is_another_one(self, store: MemoryStore, user: str) -> None:
        store.save("ana", TEA)
        assert store.search(user, "green tea") == []
        assert store.page(user, limit=10) == []

    def test_an_edit_is_found_and_the_text_before_it_is_not(self, store: MemoryStore) -> None:
        key = store.save("ana", TEA)
        item = store.get("ana", key)
        assert item is not None
        store.edit("ana", key, COFFEE, version=item.version)
        assert [item.text for item in store.search("ana", "black coffee")] == [COFFEE]
        assert [item.text for item in store.page("ana", limit=10)] == [COFFEE]

    def test_the_second_of_two_edits_of_one_version_is_refused(self, store: MemoryStore) -> None:
        key = store.save("ana", TEA)
        item = store.get("ana", key)
        assert item is not None
        store.edit("ana", key, COFFEE, version=item.version)
        with pytest.raises(Conflict):
            store.edit("ana", key, "Ana drinks water.", version=item.version)
        current = store.get("ana", key)
        assert current is not None
        assert current.text == COFFEE

    def test_a_deleted_memory_is_gone_everywhere(self, store: MemoryStore) -> None:
        key = store.save("ana", TEA)
        store.delete("ana", key)
        assert store.get("ana", key) is None
        assert store.search("ana", "green tea") == []
        assert store.page("ana", limit=10) == []

    def test_a_memory_ends_with_its_lifetime(self, store: MemoryStore, pass_time: Callable[[float], None]) -> None:
        key = store.save("ana", TEA, lifetime=60)
        assert store.get("ana", key) is not None
        pass_time(61)
        assert store.get("ana", key) is None
        assert store.search("ana", "green tea") == []
        assert store.page("ana", limit=10) == []

    @pytest.mark.parametrize(
        "text", ["Ana aime le thé.", "アナは緑茶を飲みます。", "🍵 e\u0301 \u202eabc", "a'; DROP TABLE x; --"]
    )
    def test_a_text_comes_back_as_it_was_saved(self, store: MemoryStore, text: str) -> None:
        item = store.get("ana", store.save("ana", text))
        assert item is not None
        assert item.text == text

    def test_pages_hold_every_memory_once(self, store: MemoryStore) -> None:
        keys = {store.save("ana", f"Fact {number} of Ana.") for number in range(25)}
        pages = [store.page("ana", limit=10, offset=offset) for offset in (0, 10, 20, 30)]
        assert [len(page) for page in pages] == [10, 10, 5, 0]
        assert {item.key for page in pages for item in page} == keys

    def test_a_failure_is_no_empty_answer(self, store: MemoryStore) -> None:
        store.save("ana", TEA)
        store.close()
        with pytest.raises(Exception):  # noqa: B017, PT011 - each store has an error of its own
            store.search("ana", "green tea")
        with pytest.raises(Exception):  # noqa: B017, PT011 - each store has an error of its own
            store.page("ana", limit=10)
