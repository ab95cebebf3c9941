"""Services that embed: what their embedders share, one HTTP POST that always ends in time, a bounded number of threads.

    run ──slots──> threads: take a task, do it, take the next ──> results in the order of the tasks
     └─ waits until its deadline, then leaves the threads behind

A thread left behind keeps its slot until it ends, so a service that hangs occupies a bounded number of threads.

    post ──slot──> thread: connect, send, read ──> answer or error
      └─ waits until its deadline, then leaves the thread behind

A socket's timeout starts again with every byte and a resolver has none, so only somebody who waits
outside can promise the deadline. What is left behind keeps its slot until it ends: a server that hangs
costs a bounded number of threads.
"""

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Event, Lock, Thread
from typing import TYPE_CHECKING, Final, Generic, Literal, TypedDict, TypeVar
from urllib.parse import urlsplit

from ..errors import Unavailable
from ..model import Embedding
from ..ports import SharedLevels
from . import nonblank_positions, restore_positions
from .calibration import Calibrated, Calibration

if TYPE_CHECKING:
    from urllib3 import HTTPConnectionPool


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed, as the end of a sentence.

    `passing`: the next attempt within the call may do better, after `pause` seconds at least. `lasting`: no retry
    helps until somebody fixes the settings, the account or the machine. `quotes`: the foreign error may have what was
    sent in it, and must not be kept as the `cause`.
    """

    reason: str
    passing: bool = False
    lasting: bool = False
    pause: float = 0.0
    quotes: bool = False
    cause: Exception | None = None

    def error(self, service: str) -> Unavailable:
        """The error of ours; raise it from `cause`."""
        return Unavailable(f"{service} {self.reason}.", retryable=not self.lasting, part="embedder")


ATTEMPTS: Final = 4
FIRST_PAUSE: Final = 0.25
"""Seconds before the second attempt, at most; each later pause is twice as long, or as long as the service asks."""
PATIENCE: Final = 10.0
"""Seconds for learning the model's size and levels when they are read before anything was embedded."""
OUT_OF_TIME: Final = Failure("did not answer in time; try again")

Purpose = Literal["document", "query"]


class Tuning(TypedDict, total=False):
    """The settings of any service: levels that are given, what goes before a query or a stored text, and the clock."""

    unrelated: float | None
    unrelated_japanese: float | None
    novel: float | None
    slope: float | None
    query_prefix: str
    document_prefix: str
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]


class RemoteEmbedder(Calibrated):
    """Embeds by a service. A call keeps to its timeout, retries and pauses included. Of the model's size and levels,
    those that aren't given are learned from the first call, by texts to calibrate with beside its own."""

    def __init__(
        self,
        service: str,
        name: str,
        dimension: int,
        *,
        query_prefix: str = "",
        document_prefix: str = "",
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        **levels: float | None,
    ) -> None:
        super().__init__(Calibration(dimension=dimension, **levels))
        self.name = name
        self._service = service
        self._prefixes = {"query": query_prefix, "document": document_prefix}
        self._monotonic = monotonic
        self._sleep = sleep

    def share_levels(self, shared: SharedLevels) -> None:
        """Learn size and levels from other processes where they have them, and tell them."""
        self._calibration.share(shared, self.name, self._prefixes["document"])

    def embed(self, texts: Sequence[str], *, purpose: Purpose, timeout: float) -> list[Embedding]:
        """One embedding a text, in order. Raises Unavailable when the service can't be reached in time or refuses;
        throttling, 5xx and lost connections are tried again first."""
        if not texts:
            return []
        ends = self._monotonic() + timeout
        positions = nonblank_positions(texts)
        vectors: list[Embedding] = []
        if positions or not self._calibration.dimension:
            vectors = self._embed([texts[position] for position in positions], purpose, ends)
        return restore_positions(vectors, positions, len(texts), self._calibration.dimension)

    @abstractmethod
    def _embed(self, texts: Sequence[str], purpose: Purpose, ends: float) -> list[Embedding]:
        """An embedding a text; what is not learned yet is, even of no text. Raises Unavailable."""

    @abstractmethod
    def _attempt(self, request: bytes, seconds: float) -> "bytes | Failure":
        """The body of the answer to one request."""

    def _spread(self, pause: float) -> float:
        """The pause that is made in place of one."""
        return pause

    def _calibrate(self) -> None:
        self._embed([], "document", self._monotonic() + PATIENCE)

    def _answer(self, request: bytes, ends: float) -> bytes:
        """The body of the first good answer. Raises Unavailable when there is none, or no time for one."""
        failure = OUT_OF_TIME
        pause = FIRST_PAUSE
        for attempt in range(1, ATTEMPTS + 1):
            seconds_left = ends - self._monotonic()
            outcome = self._attempt(request, seconds_left) if seconds_left > 0 else OUT_OF_TIME
            if isinstance(outcome, bytes):
                return outcome
            failure = outcome
            pause = max(pause, failure.pause)
            wait = self._spread(pause)
            if not failure.passing or attempt == ATTEMPTS or wait >= ends - self._monotonic():
                break
            self._sleep(wait)
            pause *= 2
        raise failure.error(self._service) from failure.cause


Result = TypeVar("Result")


class OutOfTime(Exception):
    """The deadline passed before every task ended."""


class BoundedThreadPool(Generic[Result]):
    """Up to `slots` threads, shared by all callers of `run`. No thread runs while there is no task."""

    def __init__(self, slots: int) -> None:
        self._slots = BoundedSemaphore(slots)
        self._most = slots

    def run(self, tasks: Sequence[Callable[[], Result]], timeout: float) -> list[Result]:
        """Return one result per task, in order, within `timeout` seconds.

        The first exception of a task is raised; tasks that have not started are dropped.
        Raises OutOfTime.
        """
        ends = time.monotonic() + timeout
        todo: SimpleQueue[tuple[int, Callable[[], Result]]] = SimpleQueue()
        for task in enumerate(tasks):
            todo.put(task)
        outcomes: SimpleQueue[tuple[int, Result] | Exception] = SimpleQueue()
        over = Event()
        self._start(len(tasks), (todo, outcomes, over), timeout)
        results: dict[int, Result] = {}
        try:
            while len(results) < len(tasks):
                outcome = outcomes.get(timeout=max(0.0, ends - time.monotonic()))
                if isinstance(outcome, Exception):
                    raise outcome
                results[outcome[0]] = outcome[1]
        except Empty:
            raise OutOfTime from None
        finally:
            over.set()
        return [results[position] for position in range(len(tasks))]

    def _start(self, tasks: int, work: tuple[object, object, Event], timeout: float) -> None:
        """Start one thread per task, as far as slots are free; wait for the first slot. Raises OutOfTime."""
        for thread in range(min(tasks, self._most)):
            first = thread == 0
            if not self._slots.acquire(timeout=max(0.0, timeout) if first else 0.0):
                if first:
                    raise OutOfTime
                return
            try:
                Thread(target=self._work, args=work, name="steeltrap-embedder", daemon=True).start()
            except RuntimeError:
                self._slots.release()
                if first:
                    raise
                return

    def _work(
        self,
        todo: "SimpleQueue[tuple[int, Callable[[], Result]]]",
        outcomes: "SimpleQueue[tuple[int, Result] | Exception]",
        over: Event,
    ) -> None:
        try:
            while not over.is_set():
                position, task = todo.get_nowait()
                outcomes.put((position, task()))
        except Empty:
            return
        except Exception as error:
            outcomes.put(error)
        finally:
            self._slots.release()


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
