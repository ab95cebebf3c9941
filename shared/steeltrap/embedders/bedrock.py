"""Amazon Bedrock: Titan Text Embeddings v2 and Cohere Embed Multilingual v3, through boto3; and the map of its errors.

passing     tried again within the call: throttled, busy, a lost connection
lasting     no retry helps until somebody fixes the settings, the account or the machine
neither     a later call may succeed

Region, credentials and a private endpoint are found as every AWS client finds them. A call keeps to its
timeout, retries and pauses included. A text that is longer than the model takes is embedded in parts, so
that nothing is cut off. No message has what the service wrote.
"""

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from threading import Lock
from typing import Any, Final, Protocol, Unpack

from ..aws_client import Kind, kind_of
from ..errors import InvalidInput, Unavailable
from ..model import Embedding
from ..text.vectors import mean_vector, unit_vector
from .remote import OUT_OF_TIME, BoundedThreadPool, Failure, OutOfTime, Purpose, RemoteEmbedder, Tuning

SLOW: Final = Failure("did not answer in time; try again", passing=True)
LOST: Final = Failure("broke the connection off; try again", passing=True)
UNREACHABLE: Final = Failure("can't be reached: check the network and the region (AWS_DEFAULT_REGION)", passing=True)
UNTRUSTED: Final = Failure("has no certificate that this machine trusts", lasting=True)
BUSY: Final = Failure("is busy; try again later", passing=True)
FAILED: Final = Failure("failed; try again later", passing=True)
USED_UP: Final = Failure("has no quota left for this account; try again later, or have the quota raised")
TOO_LONG: Final = Failure("takes no text of this length; send a shorter one", lasting=True, quotes=True)
REFUSED: Final = Failure(
    "refuses the request: check STEELTRAP_EMBEDDER_MODEL and STEELTRAP_EMBEDDER_DIMENSION",
    lasting=True,
    quotes=True,
)
FORBIDDEN: Final = Failure(
    "refuses access to the model: allow the action bedrock:InvokeModel on it, and enable the model for this "
    "account and region",
    lasting=True,
)
UNKNOWN: Final = Failure(
    "does not know the model in this region: check STEELTRAP_EMBEDDER_MODEL and AWS_DEFAULT_REGION", lasting=True
)
NOT_LET_IN: Final = Failure("can't be asked without valid AWS credentials: give some, or renew them", lasting=True)
CLOCK: Final = Failure("refuses the signature's time: set this machine's clock right", lasting=True)
NO_REGION: Final = Failure("can't be found without a region that has it: set AWS_DEFAULT_REGION", lasting=True)
MISCONFIGURED: Final = Failure("can't be reached as AWS is configured on this machine: fix that", lasting=True)
OUTDATED: Final = Failure("is unknown to this version of boto3: run `pip install --upgrade boto3`", lasting=True)
MISTAKEN: Final = Failure("could not be asked: a fault of steeltrap, please report it", lasting=True, quotes=True)

CODES: Final[Mapping[str, Failure]] = {
    # Modelled for the service
    "AccessDeniedException": FORBIDDEN,
    "ConflictException": FAILED,
    "InternalServerException": FAILED,
    "ModelErrorException": FAILED,
    "ModelNotReadyException": BUSY,
    "ModelStreamErrorException": FAILED,
    "ModelTimeoutException": SLOW,
    "ResourceNotFoundException": UNKNOWN,
    "ServiceQuotaExceededException": USED_UP,
    "ServiceUnavailableException": BUSY,
    "ThrottlingException": BUSY,
    "ValidationException": REFUSED,
    # Common to all of AWS
    "ExpiredToken": NOT_LET_IN,
    "ExpiredTokenException": NOT_LET_IN,
    "IncompleteSignature": NOT_LET_IN,
    "IncompleteSignatureException": NOT_LET_IN,
    "InternalFailure": FAILED,
    "InvalidClientTokenId": NOT_LET_IN,
    "InvalidSignatureException": NOT_LET_IN,
    "MissingAuthenticationToken": NOT_LET_IN,
    "MissingAuthenticationTokenException": NOT_LET_IN,
    "NotAuthorized": FORBIDDEN,
    "OptInRequired": FORBIDDEN,
    "RequestExpired": CLOCK,
    "ServiceUnavailable": BUSY,
    "Throttling": BUSY,
    "TooManyRequestsException": BUSY,
    "UnrecognizedClientException": NOT_LET_IN,
    "ValidationError": REFUSED,
}

_LENGTH: Final = re.compile(r"too long|too many input tokens|maxLength", re.IGNORECASE)
"""How Bedrock says that a text is over a limit of its model: it has no code of its own."""


PLACES: Final[Mapping[Kind, Failure]] = {
    "slow": SLOW,
    "lost": LOST,
    "unreachable": UNREACHABLE,
    "untrusted": UNTRUSTED,
    "credentials": NOT_LET_IN,
    "profile": MISCONFIGURED,
    "configuration": MISCONFIGURED,
    "proxy": MISCONFIGURED,
    "endpoint": MISCONFIGURED,
    "region": NO_REGION,
    "capacity": BUSY,
    "installation": MISCONFIGURED,
    "outdated": OUTDATED,
    "mistake": MISTAKEN,
}
"""The meaning here of each way in which a client of AWS fails."""


def failure_of(error: Exception) -> Failure | None:
    """The meaning here of a foreign exception; None for one that nobody has placed."""
    from botocore.exceptions import ClientError

    if isinstance(error, ClientError):
        return refusal(error.response)
    kind = kind_of(error)
    if kind is not None:
        return PLACES[kind]
    return LOST if isinstance(error, OSError) else None


def refusal(answer: Mapping[str, Any]) -> Failure:
    """The meaning of an answer other than 200, by its code; by its status when nobody has placed the code."""
    details = answer.get("Error", {})
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    code = str(details.get("Code", ""))
    placed = CODES.get(code)
    if placed is REFUSED and _LENGTH.search(str(details.get("Message", ""))):
        return TOO_LONG
    if placed is not None:
        return placed
    if status in (408, 429):
        return BUSY
    if status >= 500:
        return FAILED
    return FORBIDDEN if status in (401, 403) else REFUSED


class Model(Protocol):
    """`texts` is how many a request takes, `characters` how long each may be, `dimensions` has its own first."""

    @property
    def id(self) -> str: ...
    @property
    def dimensions(self) -> tuple[int, ...]: ...
    @property
    def texts(self) -> int: ...
    @property
    def characters(self) -> int: ...

    def request(self, texts: Sequence[str], purpose: Purpose, dimension: int) -> dict[str, object]:
        """The body of a request."""
        ...

    def embeddings(self, answer: Any) -> list[Any]:
        """The numbers of each text. Raises LookupError or TypeError for what isn't the model's answer."""
        ...


@dataclass(frozen=True, slots=True)
class Titan:
    """Queries and documents are embedded alike; it refuses more than 8,192 tokens.

    https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html
    """

    id: str = "amazon.titan-embed-text-v2:0"
    dimensions: tuple[int, ...] = (1024, 512, 256)
    texts: int = 1
    characters: int = 50_000

    def request(self, texts: Sequence[str], purpose: Purpose, dimension: int) -> dict[str, object]:
        return {"inputText": texts[0], "dimensions": dimension, "normalize": True}

    def embeddings(self, answer: Any) -> list[Any]:
        return [answer["embedding"]]


@dataclass(frozen=True, slots=True)
class Cohere:
    """Told queries from documents; it takes up to 512 tokens a text.

    https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed-v3.html
    """

    id: str = "cohere.embed-multilingual-v3"
    dimensions: tuple[int, ...] = (1024,)
    texts: int = 96
    characters: int = 2048

    def request(self, texts: Sequence[str], purpose: Purpose, dimension: int) -> dict[str, object]:
        # NONE refuses a text of too many tokens, where START and END would drop what doesn't fit.
        return {"texts": list(texts), "input_type": f"search_{purpose}", "truncate": "NONE"}

    def embeddings(self, answer: Any) -> list[Any]:
        return list(answer["embeddings"])


MODELS: Final[tuple[Model, ...]] = (Titan(), Cohere())


def find_model(name: str) -> Model:
    """The model of an id, an ARN or an inference profile. Raises InvalidInput."""
    for model in MODELS:
        if model.id in name:
            return model
    ids = " or ".join(model.id for model in MODELS)
    raise InvalidInput(f"STEELTRAP_EMBEDDER_MODEL: give {ids}, or an ARN or inference profile of one.")


def find_dimension(model: Model, dimension: int) -> int:
    """A size that the model has, 0 for its own. Raises InvalidInput."""
    if dimension and dimension not in model.dimensions:
        sizes = " or ".join(str(size) for size in sorted(model.dimensions))
        raise InvalidInput(f"STEELTRAP_EMBEDDER_DIMENSION: {model.id} makes vectors of {sizes} numbers.")
    return dimension or model.dimensions[0]


def read_vectors(model: Model, body: bytes, count: int) -> list[Embedding]:
    """The unit vectors of an answer. Raises Unavailable when it isn't `count` embeddings."""
    try:
        embeddings = model.embeddings(json.loads(body))
        if len(embeddings) != count:
            raise ValueError("another number of embeddings than of texts")
        return [unit_vector(numbers) for numbers in embeddings]
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError):
        # The cause may quote the answer, and Cohere's has the texts in it: it ends here.
        raise Unavailable(
            f"Amazon Bedrock did not answer {count} usable embeddings: check STEELTRAP_EMBEDDER_MODEL.",
            part="embedder",
        ) from None


SLOTS: Final = 16
"""Requests at once."""

CONNECT_SECONDS: Final = 2.0
READ_SECONDS: Final = 10.0
"""How long a request that nobody waits for any more may be silent before it ends."""

SHORTEST: Final = 16
"""Characters of a text that is not halved again: a refusal of it isn't about its length."""


class TooLong(Exception):
    """A text has more tokens or characters than the model takes."""


class BedrockEmbedder(RemoteEmbedder):
    """Embeds by a model of Bedrock, named by its id, an ARN or an inference profile; "" is Titan. A text over the
    model's limit has the mean of its parts' vectors, weighted by their characters.

    `dimension` 0 is the model's own size. Levels that aren't given are learned from the first call, by
    texts to calibrate with beside its own. Prefixes go before each query or stored text. `connect` makes
    the client at the first text; all threads share it. Raises InvalidInput for a setting that can't work.
    """

    def __init__(
        self,
        model: str = "",
        *,
        dimension: int = 0,
        slots: int = SLOTS,
        connect: Callable[[], Any] | None = None,
        **tuning: Unpack[Tuning],
    ) -> None:
        self._asked_model = model or MODELS[0].id
        self._model = find_model(self._asked_model)
        size = find_dimension(self._model, dimension)
        super().__init__("Amazon Bedrock", f"bedrock/{self._model.id}/{size}", size, **tuning)
        self._threads: BoundedThreadPool[list[Embedding]] = BoundedThreadPool(slots)
        self._connect = connect or partial(open_client, slots)
        self._connecting = Lock()
        self._client: Any = None

    def _embed(self, texts: Sequence[str], purpose: Purpose, ends: float) -> list[Embedding]:
        probe_texts = self._calibration.probes()
        probes = [self._prefixes["document"] + text for text in probe_texts]
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
            raise OUT_OF_TIME.error(self._service) from None
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
            return read_vectors(self._model, self._answer(request, ends), len(texts))
        except TooLong:
            # The refusal doesn't say which text it means.
            if len(texts) > 1:
                middle = len(texts) // 2
                return self._ask(texts[:middle], purpose, ends) + self._ask(texts[middle:], purpose, ends)
            if len(texts[0]) <= SHORTEST:
                raise TOO_LONG.error(self._service) from None
        smaller = halves(texts[0])
        return [_whole(smaller, [vector for half in smaller for vector in self._ask([half], purpose, ends)])]

    def _spread(self, pause: float) -> float:
        # Requests that were throttled together don't come back together.
        return pause * random.uniform(0.5, 1)

    def _attempt(self, request: bytes, seconds: float) -> bytes | Failure:
        """Raises TooLong."""
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
            "boto3 is not installed: run `pip install boto3`, or choose another STEELTRAP_EMBEDDER.",
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
    """Two parts cut near the middle, after a space where there is one; a blank one is left out."""
    middle = len(text) // 2
    cut = text.rfind(" ", middle // 2, middle) + 1 or middle
    return [half for half in (text[:cut], text[cut:]) if half.strip()]


def _whole(texts: Sequence[str], vectors: Sequence[Embedding]) -> Embedding:
    """The vector of a text that was embedded in parts."""
    return vectors[0] if len(vectors) == 1 else mean_vector(vectors, [len(text) for text in texts])
