"""The table of settings: the name, kind, default, description and limits of each, and what else is checked of it.

Pydantic checks and describes the values, but loading it takes as long as a search: a value whose kind shows that it is
right is taken without it.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass, field, fields
from datetime import timedelta, tzinfo
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints
from urllib.parse import parse_qs, urlsplit

from .model import RETENTION
from .ranking.weights import WEIGHTS
from .text.dates import zone_of
from .text.patterns import lazy_pattern
from .text.schemas import show

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic import Field as Described

NO_COLLECTIONS: Final = (
    "OpenSearch Serverless can't hold the index: SEARCH collections have no vector search, and VECTORSEARCH "
    "collections have no Lucene engine, no scripts and no custom document ids. Use a managed domain (`es`) or "
    "your own cluster."
)
_COLLECTION: Final = lazy_pattern(r"\.aoss(-fips)?\.([a-z0-9-]+\.)?(amazonaws\.com|on\.aws)", re.IGNORECASE)
"""A collection's host, such as ID.eu-west-1.aoss.amazonaws.com."""
SCOPE: Final = r"[\x21\x23-\x5b\x5d-\x7e]+"
"""The pattern of an OAuth scope (RFC 6749, section 3.3)."""


def _setting(
    default: object = MISSING,
    *,
    description: str,
    default_factory: Any = MISSING,
    repr: bool = True,
    **limits: float | str,
) -> Any:
    """A field with what pydantic's `Field` takes."""
    return field(
        default=default, default_factory=default_factory, repr=repr, metadata={"description": description, **limits}
    )


@dataclass(frozen=True, init=False)
class Settings:
    """How steeltrap runs. The environment names each field in capitals after `STEELTRAP_`, the file in lower case."""

    explicit: frozenset[str] = field(repr=False, compare=False)
    """The names of the settings that somebody set: the others have their default."""

    data: Path = _setting(
        default_factory=lambda: Path.home() / ".steeltrap", description="Folder where memories are stored."
    )
    store: str = _setting(
        "sqlite",
        description="Where memories are stored: `sqlite` (files in the folder), `aws` (DynamoDB and OpenSearch), or "
        "the URL of a place that any number of machines share: `s3://bucket/prefix`, `gs://bucket/prefix`, "
        "`az://container/prefix`, `dynamodb://table?bases=s3://bucket/prefix`, `postgresql://user@host/database`, or "
        "`file:///folder`.",
    )
    cache_folder: Path | None = _setting(
        None,
        description="Folder for the copies of users' files when the store is a URL. It may be removed at any time. "
        "Default: `.cache` in the folder of the memories.",
    )
    cache_disk_mb: int = _setting(
        4096, ge=1, description="Disk space for the copies in the cache folder, in MB. What was used longest ago goes."
    )
    memory_table: str = _setting("steeltrap", min_length=3, description="DynamoDB table for memories.")
    usage_table: str = _setting(
        "steeltrap-usage", min_length=3, description="DynamoDB table for usage statistics and quotas."
    )
    dynamodb_url: str = _setting("", description="URL of DynamoDB. Default: AWS's own endpoint.")
    opensearch_url: str = _setting("", description="URL of OpenSearch. Required with `aws`.", repr=False)
    opensearch_index: str = _setting(
        "steeltrap",
        min_length=1,
        description="Alias of the search index. The indices behind it have this name and a number.",
    )
    opensearch_auth: Literal["none", "es"] = _setting(
        "none",
        description="How requests to OpenSearch are authenticated: `none` (or user name and password in the URL), or "
        "`es` (signed for a managed domain, with the machine's AWS credentials and region).",
    )
    opensearch_engine: Literal["lucene", "faiss"] = _setting(
        "lucene", description="Engine that stores the vectors of a new index."
    )
    opensearch_refresh: str = _setting(
        "30s",
        pattern=r"^([1-9]\d?s|[1-9]\d{1,4}ms)$",
        description="Refresh interval of a new index, such as 5s or 500ms, at most 99s. Searches read what was written "
        "since from DynamoDB.",
    )
    opensearch_shards: int = _setting(
        1,
        ge=1,
        le=1024,
        description="Number of primary shards of a new index; docs/cloud.md says how many. Each user's memories are in "
        "one shard.",
    )
    index_dead_letter_queue: str = _setting(
        "",
        description="URL of the SQS queue for changes that the index permanently rejects. If unset, they are only "
        "logged.",
    )
    export_bucket: str = _setting(
        "",
        pattern=r"^(|[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])$",
        description="S3 bucket for exported files. If unset, `sqlite` stores them in the folder, and `aws` can't "
        "export files.",
    )
    user: str = _setting("local", min_length=1, description="User id in local single-user mode.")
    agent: str = _setting("default", min_length=1, description="Agent id in local single-user mode.")
    project: str = _setting(
        "",
        description="Folder of the git repository that `steeltrap mcp` serves, or `none`. Default: the folder that the "
        "client works in.",
    )
    auth: Literal["local", "headers", "oidc", "keys", "oidc+keys"] = _setting(
        "local",
        description="How `steeltrap serve` authenticates callers: `local` (everybody is the local user), `headers` "
        "(set by a gateway), `oidc` (tokens of an OpenID Connect issuer), `keys` (API keys), or `oidc+keys` (either).",
    )
    gateway_secret: str = _setting(
        "",
        description="With `headers`: the secret that the gateway must send in `X-Gateway-Secret`. If unset, no "
        "secret is required.",
        repr=False,
    )
    oidc_issuer: str = _setting("", description="Issuer of the tokens, exactly as in their claim `iss`.")
    oidc_audience: str = _setting(
        "",
        description="Audience that the tokens' claim `aud` must contain; separate several with commas. Required with "
        "the issuer.",
    )
    oidc_jwks_url: str = _setting("", description="URL of the issuer's keys. Default: from its openid-configuration.")
    public_url: str = _setting(
        "",
        description="URL at which clients reach the server, such as https://memory.example. Clients that need a "
        "token are sent to metadata at this URL, and browser requests from its pages are allowed. Default: a "
        "loopback name, or the address that the server listens on.",
    )
    keys_folder: Path | None = _setting(
        None,
        description="Folder of this machine for the digests of API keys. Default: `keys` in the folder of the "
        "memories, or beside them when the store is a URL.",
    )
    console: bool = _setting(
        True, description="Whether `steeltrap serve` shows the memories in a browser, at `/`. Functions never do."
    )
    user_claim: str = _setting("sub", min_length=1, description="Token claim with the user's id.")
    agent_claim: str = _setting("agent_id", min_length=1, description="Token claim with the agent's id.")
    conversation_claim: str = _setting(
        "conversation_id",
        min_length=1,
        description="Token claim with the conversation's id. Tokens without it: a header is used instead.",
    )
    tenant_claim: str = _setting("tenant", min_length=1, description="Token claim with the user's tenant.")
    untrusted_claim: str = _setting(
        "untrusted",
        min_length=1,
        description="Token claim that is true if what the caller writes is to be marked as untrusted.",
    )
    read_scope: str = _setting(
        "",
        description="OAuth scope of tokens that may call tools which change nothing, such as memory:read. If neither "
        "scope is set, every token may do everything.",
    )
    write_scope: str = _setting(
        "", description="OAuth scope of tokens that may do everything, such as memory:write. Others may only read."
    )
    calls_per_minute: int = _setting(0, ge=0, description="Maximum calls per user per minute; 0 is no limit.")
    calls_at_once: int = _setting(
        4,
        ge=1,
        le=16,
        description="Calls per user that `steeltrap serve` runs at the same time; further calls wait. There is no "
        "such limit with `--auth local`.",
    )
    max_memories: int = _setting(0, ge=0, description="Maximum memories per user; 0 is no limit.")
    max_bytes: int = _setting(
        0,
        ge=0,
        description="Maximum bytes of records per user, including deleted ones until they are purged; 0 is no limit.",
    )
    queue_callers: bool = _setting(
        False,
        description="Whether SQS messages may name their caller. Enable it only if the queue's policy lets only "
        "the application send.",
    )
    agent_toolset: str = _setting(
        "agent",
        min_length=1,
        description="Toolset that the `agent` function offers to AgentCore gateways and Bedrock agents.",
    )
    agentcore_gateways: str = _setting(
        "",
        description="Ids of the AgentCore gateways whose calls the `agent` function accepts; separate several with "
        "commas. Name only gateways whose request interceptor sets the caller's header. If unset, it accepts none.",
    )
    bedrock_agents: str = _setting(
        "",
        description="Ids of the Bedrock agents whose calls the `agent` function accepts; separate several with "
        "commas. If unset, it accepts none.",
    )
    embedder: Literal["static-256", "small", "onnx", "endpoint", "bedrock"] = _setting(
        "static-256",
        description="What computes the vectors: the model that comes with steeltrap, the more accurate `small` "
        "(`steeltrap embedder small` installs it), any `onnx` model in a folder (needs onnxruntime), an "
        "OpenAI-compatible `endpoint`, or `bedrock`, which finds its region and credentials as every AWS client does.",
    )
    embedder_model: str = _setting(
        "",
        description="Name of the model, for `endpoint` and `bedrock` (default: Titan v2). For `onnx`: the model's "
        "folder, prepared by `steeltrap embedder add`.",
    )
    embedder_url: str = _setting(
        "", description="Base URL of an OpenAI-compatible endpoint, such as http://127.0.0.1:11434/v1."
    )
    embedder_key: str = _setting("", description="API key for the endpoint, if it requires one.", repr=False)
    embedder_dimension: int = _setting(
        0,
        ge=0,
        le=8192,
        description="Vector size. 0 uses the model's own size; any other number is also sent to an endpoint or to "
        "Titan.",
    )
    embedder_unrelated: float | None = _setting(
        None,
        ge=0,
        lt=1,
        description="Cosine similarity of unrelated texts for this model. Default: measured at first use.",
    )
    embedder_query_prefix: str = _setting(
        "", description="Prefix for queries with `endpoint` and `bedrock`, for models that need one."
    )
    embedder_document_prefix: str = _setting(
        "", description="Prefix for stored texts with `endpoint` and `bedrock`, for models that need one."
    )
    vector_weight: "Annotated[float, Described(ge=0, le=1)] | Literal['auto']" = _setting(
        "auto", description="Weight of meaning against keywords in a search, 0 to 1, or auto."
    )
    role_weight: float = _setting(
        WEIGHTS.role,
        ge=0,
        le=1,
        description="Bonus for the user's messages if a query says 'I', and for the assistant's if it says 'you', "
        "0 to 1. Use 0 if users often ask what the assistant told them.",
    )
    retention_days: float = _setting(
        RETENTION.days,
        ge=0,
        le=100_000,
        description="Number of days in which a deleted memory can be restored; 0 purges it at once.",
    )
    short_term_hours: float = _setting(
        24, gt=0, le=1_000_000, description="Number of hours until a short_term memory without a ttl expires."
    )
    secrets: Literal["redact", "refuse", "off"] | None = _setting(
        None,
        description="What becomes of keys, tokens, private keys, passwords and card numbers in what is saved: `redact` "
        "(a placeholder takes their place), `refuse` (nothing is saved), or `off`. Default: `redact` for the `agent` "
        "toolset, hooks and `steeltrap import`, `off` for the other toolsets.",
    )
    show_untrusted: bool = _setting(
        True,
        description="Whether the `agent` toolset shows what untrusted agents wrote. It shows it apart, with a label.",
    )
    hooks: Literal["on", "off"] = _setting(
        "on", description="`off` makes `steeltrap hook` do nothing: nothing is stored, and nothing is added to prompts."
    )
    start_tokens: int = _setting(
        400,
        ge=0,
        le=20_000,
        description="Maximum tokens of memories that `steeltrap hook session-start` adds to a session; 0 adds none. "
        "Below 160, long memories have no room.",
    )
    timezone: str = _setting(
        "",
        description="Time zone of the days that users ask for and are shown, such as Europe/Lisbon. A call may name "
        "another. Default: the machine's own, and UTC in functions.",
    )
    cache_mb: int = _setting(256, ge=1, description="Memory for the search indexes and caches of open users, in MB.")
    service: str = _setting(
        "steeltrap",
        min_length=1,
        description="Service name in the logs and metrics of functions; use one name per deployment.",
    )
    log: Literal["debug", "info", "warning", "error"] = _setting(
        "warning", description="Level of the log on stderr. Functions use `info` if it is unset."
    )
    metrics_token: str = _setting(
        "",
        description="Token with which Prometheus reads `/metrics` of `steeltrap serve`. If unset, only a server with "
        "`--auth local` answers there.",
        repr=False,
    )
    log_format: Literal["text", "json"] = _setting(
        "text", description="Format of the log on stderr: `text`, or `json` with one object per line."
    )

    def __init__(self, **values: Any) -> None:
        """These settings, unchecked, and the default of every other one. Raises TypeError."""
        if unknown := values.keys() - FIELDS.keys():
            raise TypeError(f"no setting is called {min(unknown)}")
        defaults = {name: _default_of(each) for name, each in FIELDS.items() if name not in values}
        vars(self).update(defaults | values, explicit=frozenset(values))

    def with_values(self, **values: Any) -> "Settings":
        """The same with other values, unchecked."""
        return Settings(**{name: getattr(self, name) for name in self.explicit} | values)

    def as_json(self) -> dict[str, Any]:
        """The values by name, as JSON has them."""
        values = {name: getattr(self, name) for name in FIELDS}
        return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}

    @property
    def store_kind(self) -> Literal["sqlite", "aws", "log"]:
        """Which store it is: `log` for every URL."""
        match self.store:
            case "sqlite" | "aws" as kind:
                return kind
            case _:
                return "log"

    @property
    def place(self) -> str:
        """Where memories are, for people to read."""
        match self.store_kind:
            case "sqlite":
                return str(self.data)
            case "aws":
                return f"the table {self.memory_table}"
            case "log":
                return self.store

    @property
    def zone(self) -> tzinfo | None:
        return zone_of(self.timezone) if self.timezone else None

    @property
    def retention(self) -> timedelta:
        return timedelta(days=self.retention_days)


FIELDS: Final[Mapping[str, "Field[Any]"]] = {each.name: each for each in fields(Settings) if each.name != "explicit"}
"""The settings by name, with their default, and in `metadata` their description and limits."""


def _default_of(setting: "Field[Any]") -> Any:
    return setting.default if setting.default_factory is MISSING else setting.default_factory()


_PLACES: Final = (
    "s3://bucket/prefix, gs://bucket/prefix, az://container/prefix, dynamodb://table?bases=s3://bucket/prefix, "
    "postgresql://user@host/database"
)


def _check_store_url(store: str) -> None:
    """Raises ValueError, which never quotes the URL: it might hold a key."""
    try:
        url = urlsplit(store)
        query = parse_qs(url.query, strict_parsing=bool(url.query))
    except ValueError:
        url, query = urlsplit(""), {}
    if url.scheme == "postgresql" and (url.password or query.keys() & {"password", "sslpassword"}):
        raise ValueError("must have no password in its URL; set PGPASSWORD, or use a password file (PGPASSFILE).")
    has_user = bool(url.username) and url.scheme != "postgresql"
    if has_user or url.password or "sig" in query or "X-Amz-Signature" in query:
        raise ValueError(
            "must have no credentials in its URL; set your cloud's own variables, or sign in with its tool."
        )
    match url.scheme:
        case "s3" | "gs" | "az":
            is_valid = bool(url.netloc) and not query
        case "file":
            is_valid = url.netloc in ("", "localhost") and len(url.path) > 1 and not query
        case "dynamodb":
            is_valid = bool(url.netloc) and query.keys() == {"bases"} and query["bases"][0].startswith("s3://")
        case "postgresql":
            is_valid = len(url.path) > 1 and url.path.count("/") == 1
        case _:
            is_valid = False
    if not is_valid or url.fragment:
        raise ValueError(f"must be `sqlite`, `aws`, or a URL: {_PLACES}, or file:///folder.")


def _checked_store(store: str) -> str:
    if store not in ("sqlite", "aws"):
        _check_store_url(store)
    return store


def _checked_url(url: str) -> str:
    if _COLLECTION.search(url):
        raise ValueError(NO_COLLECTIONS)
    return url


def _checked_alias(alias: str) -> str:
    if alias.endswith("-next"):
        raise ValueError(f"{show(alias)} would also name an index that is being rebuilt; end it in another word.")
    return alias


def _checked_auth(way: object) -> object:
    if way == "aoss":
        raise ValueError(NO_COLLECTIONS)
    return way


def _checked_scope(scope: str) -> str:
    if scope and not re.fullmatch(SCOPE, scope):
        raise ValueError(
            "must be one OAuth scope, such as memory:read: ASCII characters without spaces, quotation marks and "
            "backslashes."
        )
    return scope


def _checked_zone(name: str) -> str:
    if name and zone_of(name) is None:
        raise ValueError(f"no time zone is called {show(name)}; give an IANA name such as Europe/Lisbon.")
    return name


_CHECKS: Final[Mapping[str, Callable[[Any], object]]] = {
    "store": _checked_store,
    "opensearch_url": _checked_url,
    "opensearch_index": _checked_alias,
    "opensearch_auth": _checked_auth,
    "read_scope": _checked_scope,
    "write_scope": _checked_scope,
    "timezone": _checked_zone,
}
"""The checks of values besides those of their kind and limits. Each gives the value, or raises ValueError."""


@cache
def model() -> "type[BaseModel]":
    """Pydantic's model of the settings, which checks and describes them."""
    from pydantic import AfterValidator, BeforeValidator, ConfigDict, create_model
    from pydantic import Field as Described

    def checked(name: str, kind: Any) -> Any:
        check = _CHECKS.get(name)
        if check is None:
            return kind
        return Annotated[kind, (AfterValidator if kind is str else BeforeValidator)(check)]

    kinds = get_type_hints(Settings, localns={"Described": Described}, include_extras=True)
    return create_model(  # type: ignore[no-any-return, call-overload]
        "Settings",
        __config__=ConfigDict(extra="forbid"),
        **{
            name: (checked(name, kinds[name]), Described(_default_of(each), **each.metadata))
            for name, each in FIELDS.items()
        },
    )


def taken_plainly(name: str, value: object) -> object:
    """A value that is right at first sight, as the setting has it; None where pydantic must look at it."""
    each = FIELDS.get(name)
    if each is None or not isinstance(value, str | Path) or not value or not str(value).isprintable():
        return None
    if each.type in (Path, Path | None):
        return Path(value)
    if not isinstance(value, str):
        return None
    if get_origin(each.type) is Literal:
        return value if value in get_args(each.type) else None
    if each.type is int and value.isascii() and value.isdigit() and len(value) < 10:
        number, limits = int(value), each.metadata
        return number if limits.get("ge", number) <= number <= limits.get("le", number) else None
    if each.type is not str or "pattern" in each.metadata or len(value) < each.metadata.get("min_length", 0):
        return None
    with suppress(ValueError):
        return _CHECKS.get(name, str)(value)
    return None
