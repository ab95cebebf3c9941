"""Calls while the logs can't be reached: they read what the cache has, and say since when; they change nothing.

A log can't be reached where nothing answers at its address. A service that refuses, fails or is busy is no network that
is down: its calls fail. Whoever is offline can't know what others saved, deleted or forgot since; a replica that has
begun to read newer entries doesn't answer by its older rows.
"""

import threading
from datetime import datetime
from math import inf
from pathlib import Path
from typing import Final

from ...errors import StoreUnreachable, Unavailable
from ...ports import Clock, Deadline, Logs
from .file import ReplicaFile

_QUIET_SECONDS: Final = 10.0
"""How long calls read the cache without asking, once nothing answered: else each of them would wait for the network."""
_ID: Final = "log-id"


class Reach:
    """How calls come by a user's rows, with the network or without. Safe for threads.

    `folder` is the cache, which keeps the id of the logs: without it no file there could be told from those of another
    place.
    """

    def __init__(self, logs: Logs, folder: Path, clock: Clock) -> None:
        self._logs = logs
        self._id_place = folder / _ID
        self._clock = clock
        self._lock = threading.Lock()
        self._id: bytes | None = None
        self._is_confirmed = False
        self._quiet_until = -inf

    def log_id(self) -> bytes:
        """The id of the logs, as the cache remembers it where they can't be reached. Raises Unavailable."""
        with self._lock:
            if self._id is None:
                self._id = self._ask_id()
            return self._id

    def _ask_id(self) -> bytes:
        log_id = self._id_place.read_bytes() if self._id_place.exists() else None
        if log_id is not None and self._is_quiet():
            return log_id
        try:
            id = self._logs.id()
        except StoreUnreachable:
            if log_id is None:
                raise
            self._wait()
            return log_id
        self._is_confirmed = True
        if log_id != id:
            self._id_place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._id_place.write_bytes(id)
        return id

    def bring_up(self, file: ReplicaFile, deadline: Deadline) -> datetime | None:
        """Bring a file to the end of its log; None. Where nothing answers, the time when it was there last.

        Raises Unavailable, also where the log can't be reached and the cache has nothing of the user.
        """
        if not (self._is_quiet() and (since := file.go_offline()) is not None):
            try:
                self._confirm_id()
                file.catch_up(deadline)
                return None
            except StoreUnreachable:
                self._wait()
                since = file.go_offline()
                if since is None:
                    raise
        return since

    def _confirm_id(self) -> None:
        """Make sure that an id that was remembered is still that of the place. Raises Unavailable."""
        if self._is_confirmed:
            return
        if self._logs.id() != self.log_id():
            self._id_place.unlink(missing_ok=True)
            raise Unavailable(
                "Other memories are in this place than before: start steeltrap again.", retryable=False, part="store"
            )
        self._is_confirmed = True

    def _is_quiet(self) -> bool:
        return self._clock.monotonic() < self._quiet_until

    def _wait(self) -> None:
        self._quiet_until = self._clock.monotonic() + _QUIET_SECONDS
