"""Embedding models of Amazon Bedrock: what each is asked by `InvokeModel`, and how it answers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from ...errors import InvalidInput, Unavailable
from ...model import Embedding
from ...text.vectors import unit_vector

Purpose = Literal["document", "query"]


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
    known = " or ".join(model.id for model in MODELS)
    raise InvalidInput(f"STEELTRAP_EMBEDDER_MODEL: give {known}, or an ARN or inference profile of one.")


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
