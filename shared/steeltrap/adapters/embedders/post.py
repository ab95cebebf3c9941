"""One HTTP POST that always ends in time, whatever hangs: the resolver, the handshake, a header that drips.

    post ──slot──> thread: connect, send, read ──> answer or error
      └─ waits until its deadline, then leaves the thread behind

A socket's timeout starts again with every byte and a resolver has none, so only somebody who waits
outside can promise the deadline. What is left behind keeps its slot until it ends: a server that hangs
costs a bounded number of threads.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from .thread_pool import BoundedThreadPool, OutOfTime

if TYPE_CHECKING:
    from urllib3 import HTTPConnectionPool

SLOTS: Final = 16
MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
_READ_BYTES: Final = 64 * 1024


class AnswerTooLarge(Exception):
    """The answer has more than `MAX_ANSWER_BYTES`."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer; `retry_after` is in seconds, 0 where the server names none."""

    status: int
    body: bytes
    retry_after: float = 0.0


class Poster:
    """Posts to one URL over connections that are kept and shared by all threads."""

    def __init__(self, url: str, headers: Mapping[str, str], *, slots: int = SLOTS) -> None:
        self._url = url
        self._headers = dict(headers)
        self._threads: BoundedThreadPool[Answer] = BoundedThreadPool(slots)
        self._size = slots
        self._opening = Lock()
        self._pool: HTTPConnectionPool | None = None

    def post(self, body: bytes, timeout: float) -> Answer:
        """The answer, within `timeout` seconds. Raises OutOfTime, AnswerTooLarge, and what urllib3 raises."""
        ends = time.monotonic() + timeout
        [answer] = self._threads.run([partial(self._exchange, body, ends)], timeout)
        return answer

    def _exchange(self, body: bytes, ends: float) -> Answer:
        from urllib3 import Timeout

        target = urlsplit(self._url)
        response = self._connections().urlopen(
            "POST",
            target.path + (f"?{target.query}" if target.query else ""),
            body=body,
            headers=self._headers,
            timeout=Timeout(total=max(0.001, ends - time.monotonic())),
            retries=False,
            redirect=False,
            preload_content=False,
        )
        try:
            parts: list[bytes] = []
            size = 0
            while part := response.read1(_READ_BYTES):
                parts.append(part)
                size += len(part)
                if time.monotonic() > ends:
                    raise OutOfTime
                if size > MAX_ANSWER_BYTES:
                    raise AnswerTooLarge
        except BaseException:
            # Half an answer is still in it: this connection can't carry another request.
            response.close()
            raise
        response.release_conn()
        return Answer(response.status, b"".join(parts), _seconds(response.headers.get("retry-after", "")))

    def _connections(self) -> "HTTPConnectionPool":
        from urllib3 import connection_from_url

        with self._opening:
            if self._pool is None:
                self._pool = connection_from_url(self._url, maxsize=self._size)
            return self._pool


def _seconds(retry_after: str) -> float:
    """The header's seconds; its other form, a date, counts as none given."""
    return float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0.0
