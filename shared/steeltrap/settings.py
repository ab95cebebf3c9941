"""Every setting, read once from the environment. Invalid values and misspelt names are rejected by name."""

import logging
import os
import re
from collections.abc import Mapping
from datetime import timedelta
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from .errors import InvalidInput
from .rules.wording import describe, plain_schema, show

_log = logging.getLogger("steeltrap")

PREFIX = "STEELTRAP_"

NO_COLLECTIONS: Final = (
    "OpenSearch Serverless can't hold the index: SEARCH collections have no vector search, and VECTORSEARCH "
    "collections have no Lucene engine, no scripts and no document ids of one's own. Use a managed domain (`es`) or a "
    "cluster of your own."
)
_COLLECTION: Final = re.compile(r"\.aoss(-fips)?\.([a-z0-9-]+\.)?(amazonaws\.com|on\.aws)", re.IGNORECASE)
"""A collection's host, such as ID.eu-west-1.aoss.amazonaws.com."""

_INJECTED: Final = re.compile(r"(.*_)?(SERVICE_(HOST|PORT(_.+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)")
"""What Kubernetes and Docker links set for a service called `steeltrap`, or `steeltrap-opensearch`: never misspelt."""
_OF_TESTS: Final = re.compile(r"TEST_.+|REQUIRE_ALL")
_LIKENESS: Final = 0.82
"""From which a name counts as misspelt: EMBEDDING_MODEL does (0.83), OPENSEARCH_HOST (0.80) doesn't."""


class Settings(BaseModel):
    """How steeltrap runs. The environment names each field in capitals behind `STEELTRAP_`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: Path = Field(default_factory=lambda: Path.home() / ".steeltrap", description="Folder of the memories.")
    store: Literal["sqlite", "aws"] = Field(
        "sqlite", description="Where memories are kept: files in the folder, or DynamoDB with OpenSearch (`aws`)."
    )
    memory_table: str = Field("steeltrap", min_length=3, description="DynamoDB's table of memories.")
    usage_table: str = Field(
        "steeltrap-usage", min_length=3, description="DynamoDB's table of how they are read, and of quotas."
    )
    dynamodb_url: str = Field("", description="Where DynamoDB answers; AWS's own address when not given.")
    opensearch_url: str = Field("", description="Where OpenSearch answers; `aws` needs it.", repr=False)
    opensearch_index: str = Field(
        "steeltrap",
        min_length=1,
        description="The alias of the search index; the indices behind it have its name and a number.",
    )
    opensearch_auth: Literal["none", "es"] = Field(
        "none",
        description="How requests to OpenSearch are signed: not (name and password may stand in the URL), or for a "
        "managed domain (`es`) with the machine's own credentials and region.",
    )
    opensearch_engine: Literal["lucene", "faiss"] = Field(
        "lucene", description="What a new index keeps its vectors in."
    )
    opensearch_refresh: str = Field(
        "",
        pattern=r"^(|-1|\d+(ms|s))$",
        description="A new index's refresh interval, such as 5s; OpenSearch's own when not given.",
    )
    opensearch_shards: int = Field(
        1, ge=1, le=1024, description="A new index's primary shards; a user's memories lie in one of them."
    )
    parked_queue: str = Field(
        "", description="URL of the SQS queue for changes that the index never takes; they are logged when not given."
    )
    export_bucket: str = Field(
        "",
        pattern=r"^(|[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])$",
        description="S3 bucket of exported files. When not given they lie in the folder; with `aws` there are none.",
    )
    user: str = Field("local", min_length=1, description="The user in local single-user mode.")
    agent: str = Field("default", min_length=1, description="The agent in local single-user mode.")
    auth: Literal["local", "headers", "oidc", "keys", "oidc+keys"] = Field(
        "local",
        description="How `steeltrap serve` knows who calls: everybody is the local user, headers of a gateway, tokens "
        "of an OpenID Connect issuer, API keys, or tokens and keys.",
    )
    gateway_secret: str = Field(
        "",
        description="With headers of a gateway: the secret that the gateway must send in `X-Gateway-Secret`. When not "
        "given, none is asked for.",
        repr=False,
    )
    oidc_issuer: str = Field("", description="The issuer of tokens, exactly as their claim `iss` has it.")
    oidc_audience: str = Field(
        "",
        description="What the tokens' claim `aud` must name, or several with commas between; needed with the issuer.",
    )
    oidc_jwks_url: str = Field(
        "", description="Where the issuer's keys are; as its openid-configuration says when not given."
    )
    public_url: str = Field(
        "",
        description="How clients reach the server, such as https://memory.example: what tells them where to get a "
        "token names it, and browser requests of its pages are answered. When not given: a loopback name, or the "
        "address that the server listens on.",
    )
    keys_folder: Path | None = Field(
        None, description="Folder of the API keys' digests; `keys` in the folder of the memories when not given."
    )
    user_claim: str = Field("sub", min_length=1, description="The claim of a token that names the user.")
    agent_claim: str = Field("agent_id", min_length=1, description="The claim that names the agent.")
    conversation_claim: str = Field(
        "conversation_id",
        min_length=1,
        description="The claim that names the conversation; a header serves without it.",
    )
    tenant_claim: str = Field("tenant", min_length=1, description="The claim that names the user's tenant.")
    calls_per_minute: int = Field(0, ge=0, description="Calls of a user in a minute at most; 0 is no limit.")
    calls_at_once: int = Field(
        4,
        ge=1,
        le=16,
        description="Calls of one user that `steeltrap serve` runs at the same time; more wait for their turn. "
        "`--auth local` has one user and no such limit.",
    )
    max_memories: int = Field(0, ge=0, description="Memories of a user at most; 0 is no limit.")
    max_bytes: int = Field(
        0, ge=0, description="Bytes of a user's records at most, deleted ones too until they are purged; 0 is no limit."
    )
    queue_callers: bool = Field(
        False,
        description="Whether the messages of a queue name their callers: only where its policy admits nobody but the "
        "application.",
    )
    embedder: Literal["wordllama", "endpoint", "fastembed", "bedrock"] = Field(
        "wordllama",
        description="What makes the vectors. `bedrock` finds region and credentials as every AWS client does.",
    )
    embedder_model: str = Field(
        "",
        description="The model's name, for `endpoint`, `fastembed` and `bedrock` (Titan v2 without one).",
    )
    embedder_url: str = Field(
        "", description="Base URL of an OpenAI-compatible endpoint, such as http://127.0.0.1:11434/v1."
    )
    embedder_key: str = Field("", description="API key of the endpoint, when it wants one.", repr=False)
    embedder_dimension: int = Field(
        0, ge=0, le=8192, description="Vector size; 0 asks the model, a number is also sent to an endpoint or Titan."
    )
    embedder_unrelated: float | None = Field(
        None, ge=0, lt=1, description="Cosine of unrelated texts for this model; measured at first use when not given."
    )
    embedder_query_prefix: str = Field("", description="Put before a query, for models that want one.")
    embedder_document_prefix: str = Field("", description="Put before a stored text, for models that want one.")
    vector_weight: Annotated[float, Field(ge=0, le=1)] | Literal["auto"] = Field(
        "auto", description="Weight of the semantic leg, 0 to 1, or auto."
    )
    retention_days: float = Field(
        30, ge=0, le=100_000, description="How long a deleted memory can be undone; 0 purges at once."
    )
    short_term_hours: float = Field(
        24, gt=0, le=1_000_000, description="How long a short_term memory lives without a ttl."
    )
    cache_mb: int = Field(256, ge=1, description="Memory for the open users: their search indexes and caches, in MB.")
    service: str = Field(
        "steeltrap", min_length=1, description="The service as which functions log and count: one name a deployment."
    )
    log: Literal["debug", "info", "warning", "error"] = Field(
        "warning", description="How much is logged to stderr; functions log `info` when it is not given."
    )

    @field_validator("opensearch_url")
    @classmethod
    def _is_no_collection(cls, url: str) -> str:
        if _COLLECTION.search(url):
            raise ValueError(NO_COLLECTIONS)
        return url

    @field_validator("opensearch_auth", mode="before")
    @classmethod
    def _signs_for_no_collection(cls, way: object) -> object:
        if way == "aoss":
            raise ValueError(NO_COLLECTIONS)
        return way

    @property
    def retention(self) -> timedelta:
        return timedelta(days=self.retention_days)


def read_settings(environment: Mapping[str, str] | None = None, **overrides: object) -> Settings:
    """The settings of an environment, `overrides` (None is left out) on top. Raises InvalidInput.

    A variable whose name is nearly a setting's is an error. Other unknown `STEELTRAP_*` names are one warning.
    """
    source = os.environ if environment is None else environment
    unknown = _unknown(source)
    values: dict[str, object] = {
        name: source[PREFIX + name.upper()] for name in Settings.model_fields if source.get(PREFIX + name.upper())
    }
    values.update({name: value for name, value in overrides.items() if value is not None})
    settings = _validated(values)
    if unknown and settings.log != "error":
        _warn(unknown)
    return settings


def _unknown(source: Mapping[str, str]) -> tuple[str, ...]:
    """The names behind the prefix that are no setting. Raises InvalidInput for one that nearly is."""
    known = [name.upper() for name in Settings.model_fields]
    given = sorted(name.removeprefix(PREFIX) for name, value in source.items() if value and name.startswith(PREFIX))
    unknown = tuple(name for name in given if name not in known and not _OF_TESTS.fullmatch(name))
    for name in unknown:
        near = get_close_matches(name.upper(), known, 1, _LIKENESS)
        if near and not _INJECTED.fullmatch(name):
            raise InvalidInput(f"{PREFIX}{name} is not a setting; did you mean {PREFIX}{near[0]}?")
    return unknown


@cache
def _warn(unknown: tuple[str, ...]) -> None:
    """Once per process: a function reads its settings more than once."""
    names = ", ".join(PREFIX + name for name in unknown)
    _log.warning("These environment variables are not settings and are ignored: %s.", names)


def _validated(values: dict[str, object]) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0])
        if first["type"] == "value_error":
            raise InvalidInput(f"{PREFIX}{field.upper()}: {first['ctx']['error']}") from None
        schema = plain_schema(Settings.model_json_schema())["properties"].get(field)
        if schema is None:
            raise InvalidInput(f"{PREFIX}{field.upper()} is not a setting.") from None
        said = f"must be {describe(schema)}; got {show(first['input'])}."
        raise InvalidInput(f"{PREFIX}{field.upper()} {said}") from None
