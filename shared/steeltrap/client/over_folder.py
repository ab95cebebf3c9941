"""In this process: calls of a memory that is open here, or of a folder that is opened at the first call."""

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

from .answers import Answer, Call

if TYPE_CHECKING:
    from .in_process import Memory


class OverFolder:
    """The tools of a memory in this process, which `opening` opens when it is first needed. With `closes`, it is
    closed with the client."""

    def __init__(self, opening: "Callable[[], Memory]", *, closes: bool = True) -> None:
        self._opening = opening
        self._closes = closes
        self._memory: Memory | None = None
        self._lock = Lock()

    def open(self) -> "Memory":
        """The memory, opened if it isn't yet. Raises InvalidInput and Unavailable, as `open_memory` does."""
        with self._lock:
            if self._memory is None:
                self._memory = self._opening()
            return self._memory

    def send(self, call: Call) -> Answer:
        result = self.open().invoke(
            call.tool, dict(call.arguments), idempotency_key=call.idempotency_key, timezone=call.timezone
        )
        if result.error is not None:
            return Answer(error=result.error)
        if (call_outcome := result.outcome) is None:
            return Answer(body=result.body)
        outcome = {
            "kind": call_outcome.kind.value,
            "message": call_outcome.message,
            "best_score": call_outcome.best_score,
        }
        return Answer(body=result.body, outcome=outcome)

    def as_user(self, user: str, *, agent: str | None, conversation: str | None, timezone: str | None) -> "OverFolder":
        def opening() -> "Memory":
            return self.open().as_user(user, agent=agent, conversation=conversation, timezone=timezone)

        return OverUser(opening, self)

    def close(self) -> None:
        with self._lock:
            if self._closes and self._memory is not None:
                self._memory.close()

    def __str__(self) -> str:
        return "a folder" if self._memory is None else repr(self._memory)


class OverUser(OverFolder):
    """The memory of another user in the same store, which belongs to its owner."""

    def __init__(self, opening: "Callable[[], Memory]", owner: OverFolder) -> None:
        super().__init__(opening)
        self._owner = owner

    def close(self) -> None:
        self._owner.close()
