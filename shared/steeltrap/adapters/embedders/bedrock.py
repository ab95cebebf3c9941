"""Amazon Bedrock: Titan Text Embeddings v2 and Cohere Embed Multilingual v3, through boto3.

Region, credentials and a private endpoint are found as every AWS client finds them. A call keeps to its
timeout, retries and pauses included. A text that is longer than the model takes is embedded in parts, so
that nothing is cut off. No message has what the service wrote.
"""

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from threading import Lock
from typing import Any, Final

from ...errors import Unavailable
from ...model import Embedding
from ...ports import SharedLevels
from ...text.vectors import mean_vector
from .bedrock_errors import NOT_LET_IN, OUT_OF_TIME, TOO_LONG, failure_of
from .bedrock_models import MODELS, Purpose, find_dimension, find_model, read_vectors
from .calibration import Calibrated, Calibration
from .failure import Failure
from .thread_pool import BoundedThreadPool, OutOfTime
from .vectors import placed, worded

SERVICE: Final = "Amazon Bedrock"
SLOTS: Final = 16
"""Requests at once."""

ATTEMPTS: Final = 4
FIRST_PAUSE: Final = 0.25
"""Seconds before the second attempt, at most; each later pause may be twice as long. Up to half of it is left
out at random, so that requests that were throttled together don't come back together."""

CONNECT_SECONDS: Final = 2.0
READ_SECONDS: Final = 10.0
"""How long a request that nobody waits for any more may be silent before it ends."""

PATIENCE: Final = 10.0
"""Seconds for learning the model's levels when they are read before anything was embedded."""

SHORTEST: Final = 16
"""Characters of a text that is not halved again: a refusal of it isn't about its length."""


class TooLong(Exception):
    """A text has more tokens or characters than the model takes."""


class BedrockEmbedder(Calibrated):
    """Embeds by a model of Bedrock, named by its id, an ARN or an inference profile; "" is Titan.

    `dimension` 0 is the model's own size. Levels that aren't given are learned from the first call, by
    texts to calibrate with beside its own. Prefixes go before each query or stored text. `connect` makes
    the client at the first text; all threads share it. Raises InvalidInput for a setting that can't work.
    """

    def __init__(
        self,
        model: str = "",
        *,
        dimension: int = 0,
        unrelated: float | None = None,
        unrelated_japanese: float | None = None,
        novel: float | None = None,
        slope: float | None = None,
        query_prefix: str = "",
        document_prefix: str = "",
        slots: int = SLOTS,
        connect: Callable[[], Any] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._asked_model = model or MODELS[0].id
        self._model = find_model(self._asked_model)
        size = find_dimension(self._model, dimension)
        self.name = f"bedrock/{self._model.id}/{size}"
        self._prefixes = {"query": query_prefix, "document": document_prefix}
        super().__init__(
            Calibration(
                dimension=size,
                unrelated=unrelated,
                unrelated_japanese=unrelated_japanese,
                novel=novel,
                slope=slope,
            )
        )
        self._threads: BoundedThreadPool[list[Embedding]] = BoundedThreadPool(slots)
        self._connect = connect or partial(open_client, slots)
        self._connecting = Lock()
        self._client: Any = None
        self._monotonic = monotonic
        self._sleep = sleep

    def share_levels(self, shared: SharedLevels) -> None:
        """Learn the levels from other processes where they have them, and tell them."""
        self._calibration.share(shared, self.name, self._prefixes["document"])

    def embed(self, texts: Sequence[str], *, purpose: Purpose, timeout: float) -> list[Embedding]:
        """One embedding a text, in order. Raises Unavailable when Bedrock can't be reached in time or
        refuses; throttling, 5xx and lost connections are tried again first.

        A text over the model's limit has the mean of its parts' vectors, weighted by their characters.
        """
        ends = self._monotonic() + timeout
        positions = worded(texts)
        vectors = self._embed([texts[position] for position in positions], purpose, ends) if positions else []
        return placed(vectors, positions, len(texts), self.dimension)

    def _calibrate(self) -> None:
        self._embed([], "document", self._monotonic() + PATIENCE)

    def _embed(self, texts: Sequence[str], purpose: Purpose, ends: float) -> list[Embedding]:
        asked = self._calibration.probes()
        probes = [self._prefixes["document"] + text for text in asked]
        inputs = [self._prefixes[purpose] + text for text in texts]
        split = [parts(text, self._model.characters) for text in (*probes, *inputs)]
        flat = list(chain.from_iterable(split))
        of_probes = sum(map(len, split[: len(probes)]))
        asks = [
            *(partial(self._ask, block, "document", ends) for block in self._blocks(flat[:of_probes])),
            *(partial(self._ask, block, purpose, ends) for block in self._blocks(flat[of_probes:])),
        ]
        try:
            answers = iter(chain.from_iterable(self._threads.run(asks, ends - self._monotonic())))
        except OutOfTime:
            raise OUT_OF_TIME.error(SERVICE) from None
        vectors = [_whole(of_text, list(islice(answers, len(of_text)))) for of_text in split]
        self._calibration.check(vectors)
        self._calibration.learn(vectors[: len(probes)])
        return vectors[len(probes) :]

    def _blocks(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        for start in range(0, len(texts), self._model.texts):
            yield texts[start : start + self._model.texts]

    def _ask(self, texts: Sequence[str], purpose: Purpose, ends: float) -> list[Embedding]:
        """The vectors of one request's texts. What the model finds too long is halved until it isn't."""
        try:
            request = json.dumps(self._model.request(texts, purpose, self.dimension), ensure_ascii=False).encode()
            return read_vectors(self._model, self._patiently(request, ends), len(texts))
        except TooLong:
            # The refusal doesn't say which text it means.
            if len(texts) > 1:
                middle = len(texts) // 2
                return self._ask(texts[:middle], purpose, ends) + self._ask(texts[middle:], purpose, ends)
            if len(texts[0]) <= SHORTEST:
                raise TOO_LONG.error(SERVICE) from None
        smaller = halves(texts[0])
        return [_whole(smaller, [vector for half in smaller for vector in self._ask([half], purpose, ends)])]

    def _patiently(self, request: bytes, ends: float) -> bytes:
        """The body of the first good answer. Raises TooLong, and Unavailable when there is none in time."""
        failure = OUT_OF_TIME
        longest = FIRST_PAUSE
        for attempt in range(1, ATTEMPTS + 1):
            outcome = self._attempt(request, ends)
            if isinstance(outcome, bytes):
                return outcome
            failure = outcome
            pause = longest * random.uniform(0.5, 1)
            if not failure.passing or attempt == ATTEMPTS or pause >= ends - self._monotonic():
                break
            self._sleep(pause)
            longest *= 2
        raise failure.error(SERVICE) from failure.cause

    def _attempt(self, request: bytes, ends: float) -> bytes | Failure:
        if self._monotonic() >= ends:
            return OUT_OF_TIME
        try:
            return self._invoke(request)
        except Unavailable:
            raise
        except Exception as error:
            failure = failure_of(error)
            if failure is None:
                raise
            if failure is not TOO_LONG:
                # A client keeps the credentials that it was made with, or their absence.
                self._client = None if failure is NOT_LET_IN else self._client
                return failure if failure.quotes else replace(failure, cause=error)
        raise TooLong

    def _invoke(self, request: bytes) -> bytes:
        answer = self._opened().invoke_model(
            modelId=self._asked_model, body=request, contentType="application/json", accept="application/json"
        )
        with closing(answer["body"]) as body:
            content: bytes = body.read()
        return content

    def _opened(self) -> Any:
        with self._connecting:
            if self._client is None:
                self._client = self._connect()
            return self._client


def open_client(connections: int = SLOTS) -> Any:
    """A client as the machine is configured. Raises Unavailable without boto3, and what botocore raises."""
    try:
        import boto3
        from botocore.config import Config
    except ImportError as error:
        raise Unavailable(
            'boto3 is not installed: run `pip install "steeltrap[bedrock]"`, or choose another STEELTRAP_EMBEDDER.',
            retryable=False,
            part="embedder",
        ) from error
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        # What to repeat, and for how long, is decided where the deadline is known.
        retries={"total_max_attempts": 1},
        max_pool_connections=connections,
        tcp_keepalive=True,
    )
    return boto3.session.Session().client("bedrock-runtime", config=config)


def parts(text: str, most: int) -> list[str]:
    """Parts of at most `most` characters, which together are the text but for blank ones."""
    return [text] if len(text) <= most else [part for half in halves(text) for part in parts(half, most)]


def halves(text: str) -> list[str]:
    """Two parts cut near the middle, behind a space where there is one; a blank one is left out."""
    middle = len(text) // 2
    cut = text.rfind(" ", middle // 2, middle) + 1 or middle
    return [half for half in (text[:cut], text[cut:]) if half.strip()]


def _whole(texts: Sequence[str], vectors: Sequence[Embedding]) -> Embedding:
    """The vector of a text that was embedded in parts."""
    return vectors[0] if len(vectors) == 1 else mean_vector(vectors, [len(text) for text in texts])
