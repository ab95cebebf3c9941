"""How an agent talks and has its conversations closed, for the tests of `episodic`."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from clock import NOON, SettableClock
from steeltrap.model import UserRef
from steeltrap.ports import Deadline

Ask = Callable[..., Any]


def told(result: Any) -> Any:
    assert result.error is None, result.body
    return result.body


def episode(ana: Ask, content: str, *said: str, surprise: float = 0.1, ago: timedelta = timedelta(0)) -> str:
    """The id of a memory of a conversation that ended some time ago."""
    end = NOON - ago
    messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(said)]
    memory = {"content": content, "messages": messages, "surprise": surprise}
    times = {"occurred_at": (end - timedelta(hours=1)).isoformat(), "occurred_until": end.isoformat()}
    id = told(ana("core.save", **memory, **times, associate=False))["id"]
    assert isinstance(id, str)
    return id


def say(ana: Ask, *texts: str, conversation: str = "chat", start: datetime | None = None) -> list[str]:
    """Append a message each, a minute apart where a start is given; the ids of the episodes that this made."""
    made: list[str] = []
    for i, text in enumerate(texts):
        message: dict[str, Any] = {"role": "user", "content": text}
        if start is not None:
            message["time"] = (start + timedelta(minutes=i)).isoformat()
        answer = told(ana("core.append_messages", messages=[message], conversation_id=conversation))
        made += answer.get("episodes", [])
    return made


def closed(ana: Ask, clock: SettableClock) -> list[str]:
    """The ids of the episodes that a pause makes of what is open."""
    before = {memory["id"] for memory in told(ana("core.list"))["memories"]}
    clock.advance(minutes=15)
    told(ana("episodic.retrieve_memory", query="anything"))
    return [memory["id"] for memory in told(ana("core.list"))["memories"] if memory["id"] not in before]


def contents(ana: Ask, id: str) -> list[str]:
    return [message["content"] for message in told(ana("core.get", id=id))["messages"]]


class Around:
    """A space that does what another does, but for what a subclass changes."""

    def __init__(self, space: Any) -> None:
        self._space = space

    def __getattr__(self, name: str) -> Any:
        return getattr(self._space, name)

    def until(self, deadline: Deadline) -> Any:
        self._space = self._space.until(deadline)
        return self


class NoEpisodes(Around):
    """A space that writes turns and no episodes."""

    def __init__(self, space: Any, failure: Exception) -> None:
        super().__init__(space)
        self._failure = failure

    def commit(self, changes: Any) -> None:
        if any(getattr(change, "turn_ids", ()) for change in changes):
            raise self._failure
        self._space.commit(changes)


class Wrapped:
    def __init__(self, store: Any, wrap: Callable[[Any], Any]) -> None:
        self._store = store
        self._wrap = wrap

    def space(self, user: UserRef, deadline: Deadline) -> Any:
        return self._wrap(self._store.space(user, deadline))
