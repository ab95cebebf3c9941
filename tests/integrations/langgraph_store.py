"""LangGraph's store, as the story sees it: keys are the caller's own, and a put corrects."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from integrations.seams import Seam
from steeltrap.integrations.langgraph import SteeltrapStore

FACTS = ("facts",)


@dataclass(frozen=True)
class Facts:
    """`call` calls a method of the store by its name."""

    call: Callable[..., Any]
    keys: Any = field(default_factory=count)

    def save(self, text: str) -> str:
        key = f"fact-{next(self.keys)}"
        self.correct(key, text)
        return key

    def find(self, query: str) -> list[str]:
        return [item.value["text"] for item in self.call("search", FACTS, query=query)]

    def correct(self, key: str, text: str) -> None:
        self.call("put", FACTS, key, {"text": text})

    def forget(self, key: str) -> None:
        self.call("delete", FACTS, key)


def open_store(seam: Seam, user: str) -> Facts:
    store = SteeltrapStore(seam.client(user))
    return Facts(lambda name, *arguments, **named: getattr(store, name)(*arguments, **named))


def open_store_in_loop(seam: Seam, user: str) -> Facts:
    store = SteeltrapStore(seam.client(user))
    return Facts(lambda name, *arguments, **named: seam.run(getattr(store, f"a{name}")(*arguments, **named)))
