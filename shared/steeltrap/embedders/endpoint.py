"""Any server with OpenAI's `POST /embeddings`: Ollama, vLLM, llama.cpp, OpenAI itself.

A call keeps to its timeout, retries and pauses included. No message has the address or what the server
wrote, and not even a traceback has the key.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Final, Unpack
from urllib.parse import urlsplit, urlunsplit

from ..errors import InvalidInput, Unavailable
from ..model import Embedding
from ..text.vectors import unit_vector
from .remote import (
    OUT_OF_TIME,
    SLOTS,
    Answer,
    AnswerTooLarge,
    Failure,
    OutOfTime,
    Poster,
    Purpose,
    RemoteEmbedder,
    Tuning,
)

BATCH: Final = 128


class EndpointEmbedder(RemoteEmbedder):
    """Embeds by a server. Prefixes go before each query or stored text, for models that want them.

    `url` is the base, up to and with `/v1`. `dimension` above 0 is asked of the server and checked, 0
    takes the model's own. What isn't given of `dimension` and the levels is learned from the first call,
    by texts to calibrate with in the same request. Raises InvalidInput for a setting that can't work.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str = "",
        dimension: int = 0,
        slots: int = SLOTS,
        **tuning: Unpack[Tuning],
    ) -> None:
        if not model:
            raise InvalidInput("STEELTRAP_EMBEDDER_MODEL: name the model that the endpoint serves.")
        name = f"endpoint/{model}" + (f"/{dimension}" if dimension else "")
        super().__init__("The embedding endpoint", name, dimension, **tuning)
        self._model = model
        self._asked_dimension = dimension
        self._poster = Poster(_target(url), _headers(key), slots=slots)

    def _embed(self, texts: Sequence[str], purpose: Purpose, ends: float) -> list[Embedding]:
        probes = [self._prefixes["document"] + text for text in self._calibration.probes()]
        inputs = [*probes, *(self._prefixes[purpose] + text for text in texts)]
        vectors: list[Embedding] = []
        for start in range(0, len(inputs), BATCH):
            batch = inputs[start : start + BATCH]
            vectors += _vectors(self._answer(self._request(batch), ends), len(batch))
        self._calibration.learn(vectors[: len(probes)])
        self._calibration.check(vectors)
        return vectors[len(probes) :]

    def _request(self, inputs: Sequence[str]) -> bytes:
        request: dict[str, object] = {"model": self._model, "input": inputs}
        if self._asked_dimension:
            request["dimensions"] = self._asked_dimension
        return json.dumps(request, ensure_ascii=False).encode()

    def _attempt(self, request: bytes, seconds: float) -> bytes | Failure:
        try:
            answer = self._poster.post(request, seconds)
        except OutOfTime:
            return OUT_OF_TIME
        except AnswerTooLarge:
            return Failure("answers without end: check STEELTRAP_EMBEDDER_URL")
        except Exception as error:
            failure = failure_of(error)
            if failure is None:
                raise
            return replace(failure, cause=error)
        return answer.body if answer.status == 200 else refusal(answer, self._model)


LOST: Final = Failure("broke the connection off; try again", passing=True)
UNREACHABLE: Final = Failure("can't be reached: is it running at STEELTRAP_EMBEDDER_URL?", passing=True)
UNREADABLE: Final = Failure("does not answer as HTTP should: check STEELTRAP_EMBEDDER_URL")
UNUSABLE: Final = Failure("has no usable address: check STEELTRAP_EMBEDDER_URL")
UNTRUSTED: Final = Failure("has no certificate that this machine trusts: check STEELTRAP_EMBEDDER_URL")


@cache
def foreign() -> Mapping[type[Exception], Failure]:
    """Every way urllib3 fails, by the nearest base class.

    Its root, HTTPError, is left out on purpose: a branch that a new version grows has to be placed.
    """
    from urllib3 import exceptions

    return {
        exceptions.TimeoutError: OUT_OF_TIME,
        exceptions.NewConnectionError: UNREACHABLE,
        exceptions.ProtocolError: LOST,
        exceptions.IncompleteRead: LOST,
        exceptions.InvalidChunkLength: LOST,
        exceptions.PoolError: LOST,
        exceptions.SSLError: UNTRUSTED,
        exceptions.ProxyError: UNREACHABLE,
        exceptions.ProxySchemeUnsupported: UNUSABLE,
        exceptions.LocationValueError: UNUSABLE,
        exceptions.DecodeError: UNREADABLE,
        exceptions.ResponseError: UNREADABLE,
        exceptions.HeaderParsingError: UNREADABLE,
        exceptions.BodyNotHttplibCompatible: UNREADABLE,
        exceptions.InvalidHeader: UNREADABLE,
        exceptions.UnrewindableBodyError: LOST,
        exceptions.TimeoutStateError: OUT_OF_TIME,
        OSError: LOST,
    }


def failure_of(error: Exception) -> Failure | None:
    """The meaning here of a foreign exception; None for one that nobody has placed."""
    failures = foreign()
    return next((failures[kind] for kind in type(error).__mro__ if kind in failures), None)


def refusal(answer: Answer, model: str) -> Failure:
    """The meaning of a status other than 200."""
    status = answer.status
    if status in (401, 403):
        return Failure(f"refuses the key (HTTP {status}): check STEELTRAP_EMBEDDER_KEY")
    if status == 404:
        return Failure(
            f"does not know the model {model!r}, or has no such address (HTTP 404): check "
            "STEELTRAP_EMBEDDER_MODEL, and STEELTRAP_EMBEDDER_URL, which usually ends in /v1"
        )
    if status in (408, 429):
        return Failure(f"is busy (HTTP {status}); try again later", passing=True, pause=answer.retry_after)
    if status >= 500:
        return Failure(f"failed (HTTP {status}); try again later", passing=True, pause=answer.retry_after)
    if 300 <= status < 400:
        return Failure(f"has moved (HTTP {status}): set STEELTRAP_EMBEDDER_URL to its new address")
    return Failure(
        f"refuses the request (HTTP {status}): check STEELTRAP_EMBEDDER_MODEL, STEELTRAP_EMBEDDER_DIMENSION "
        "and that no text is longer than the model takes"
    )


def _vectors(body: bytes, count: int) -> list[Embedding]:
    """The unit vectors of an answer, by `index`. Raises Unavailable when it isn't `count` embeddings."""
    try:
        items = [
            (item.get("index", position), item["embedding"]) for position, item in enumerate(json.loads(body)["data"])
        ]
        by_index = dict(items)
        if sorted(index for index, _ in items) != list(range(count)):
            raise ValueError("other positions than were asked for")
        return [unit_vector(by_index[index]) for index in range(count)]
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError):
        # The cause may quote the server, and a server may quote the key: it ends here.
        raise Unavailable(
            f"The embedding endpoint did not answer {count} usable embeddings: check STEELTRAP_EMBEDDER_URL, "
            "which usually ends in /v1, and that STEELTRAP_EMBEDDER_MODEL is an embedding model.",
            part="embedder",
        ) from None


def _target(url: str) -> str:
    """The address to post to. Raises InvalidInput for what isn't an http or https URL."""
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InvalidInput("STEELTRAP_EMBEDDER_URL: give the base URL, such as http://127.0.0.1:11434/v1.")
    if "@" in parts.netloc:
        raise InvalidInput("STEELTRAP_EMBEDDER_URL: leave user and password out of it.")
    path = parts.path.rstrip("/").removesuffix("/embeddings") + "/embeddings"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def _headers(key: str) -> dict[str, str]:
    """The request's headers. Raises InvalidInput for a key that no header can carry, without quoting it."""
    key = key.strip()
    if not key.isascii() or not key.isprintable():
        raise InvalidInput("STEELTRAP_EMBEDDER_KEY: a key has printable ASCII characters only.")
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "steeltrap"}
    return headers | ({"Authorization": f"Bearer {key}"} if key else {})
