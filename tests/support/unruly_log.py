"""A log whose service answers wrongly now and then, and whose writer dies at chosen moments."""

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from steeltrap.errors import Unavailable
from steeltrap.model import UserRef
from steeltrap.ports import BaseName, Log, Logs, Marker

T = TypeVar("T")


def unavailable() -> Unavailable:
    """The error of a service that doesn't say whether it did its work."""
    return Unavailable("The service answered 500.", part="store")


class UnrulyLogs:
    """Logs in front of others. Every choice is the random generator's: with a seed a run can be repeated.

    `wrong` is the share of calls that answer wrongly, `deadly` the share of steps at which the process dies, `sleep`
    the longest pause before an entry is created.
    """

    def __init__(self, logs: Logs, seed: int, *, wrong: float = 0.04, deadly: float = 0.0, sleep: float = 0.0) -> None:
        self._logs = logs
        self.random = random.Random(seed)
        self.wrong = wrong
        self.deadly = deadly
        self.sleep = sleep

    def of(self, user: UserRef) -> "UnrulyLog":
        return UnrulyLog(self._logs.of(user), self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._logs, name)

    def step(self) -> None:
        """A moment at which the process may die."""
        if self.random.random() < self.deadly:
            os._exit(9)

    def is_wrong(self) -> bool:
        return self.random.random() < self.wrong


class UnrulyLog:
    """One user's log, with the moods of all."""

    def __init__(self, log: Log, moods: UnrulyLogs) -> None:
        self._log = log
        self._moods = moods

    def create(self, n: int, entry: bytes) -> bool:
        if self._moods.sleep:
            time.sleep(self._moods.random.uniform(0, self._moods.sleep))
        self._moods.step()
        if self._moods.is_wrong():
            if self._moods.random.random() < 0.3:
                raise unavailable()
            self._log.create(n, entry)
            self._moods.step()
            if self._moods.random.random() < 0.5:
                return False  # a client that tried again by itself met its own entry
            raise unavailable()
        created = self._log.create(n, entry)
        self._moods.step()
        return created

    def read(self, numbers: Sequence[int]) -> list[bytes | None]:
        return self._answer(lambda: self._log.read(numbers))

    def read_on(self, n: int, *, are_many: bool = False) -> list[bytes]:
        return self._answer(lambda: self._log.read_on(n, are_many=are_many))

    def overwrite(self, stubs: Mapping[int, bytes]) -> None:
        for n, stub in stubs.items():
            self._moods.step()
            self._log.overwrite({n: stub})

    def bases(self) -> list[BaseName]:
        return self._answer(self._log.bases)

    def put_base(self, name: BaseName, base: bytes) -> None:
        self._moods.step()
        self._log.put_base(name, base)
        self._moods.step()

    def read_base(self, name: BaseName) -> bytes | None:
        return self._answer(lambda: self._log.read_base(name))

    def delete_base(self, name: BaseName) -> None:
        self._moods.step()
        self._log.delete_base(name)

    def may_delete(self) -> bool:
        return self._log.may_delete()

    def list_user(self) -> None:
        self._log.list_user()

    def unlist_user(self) -> None:
        self._log.unlist_user()

    def mark(self, marker: Marker) -> None:
        self._moods.step()
        self._log.mark(marker)
        self._moods.step()

    def unmark(self, marker: Marker) -> None:
        self._moods.step()
        self._log.unmark(marker)

    def _answer(self, ask: Callable[[], T]) -> T:
        if self._moods.is_wrong():
            raise unavailable()
        return ask()
