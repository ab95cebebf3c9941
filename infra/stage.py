"""The choices of one deployment: its callers, its search index, its sizes."""

import re
import tomllib
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from steeltrap.settings import FIELDS, PREFIX, SCOPE, read_settings
from steeltrap.settings_file import as_text
from steeltrap.toolsets import CATALOGUE

STAGES = Path(__file__).with_name("stages.toml")

Value = str | int | float | bool
Role = Annotated[str, StringConstraints(pattern=r"^arn:[^:]+:iam::\d{12}:role/.+$")]
Scope = Annotated[str, StringConstraints(pattern=rf"^({SCOPE})?$")]
BedrockAgent = Annotated[str, StringConstraints(pattern=r"^arn:[^:]+:bedrock:[^:]+:\d{12}:agent/[0-9A-Z]{10}$")]
Gateway = Annotated[str, StringConstraints(pattern=r"^([0-9a-z]-?){1,100}-[0-9a-z]{10}$")]
OF_THE_STACK = frozenset(
    {
        *("agent_toolset", "agentcore_gateways", "bedrock_agents"),
        *("store", "memory_table", "usage_table", "dynamodb_url", "opensearch_url", "opensearch_auth"),
        *("opensearch_index", "export_bucket", "index_dead_letter_queue", "queue_callers", "data", "service", "auth"),
        *("cache_folder", "cache_disk_mb", "read_scope", "write_scope"),
    }
)
"""Settings that a stage may not have: its resources, grants and other keys decide them."""


_OF_TABLES: Final = frozenset({"search", "domain", "endpoint", "endpoint_arn", "index", "adopt", "queue_senders"})
"""Keys that say nothing of a stage over a bucket."""
PUBLIC_CALLS_PER_MINUTE: Final = 120
"""The quota of each user of a stage whose callers have tokens, unless its settings name another; 0 is none."""


_HOST: Final = r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN_NAME: Final = re.compile(rf"(?=.*\.[a-z]|.*\.xn--){_HOST}", re.ASCII)
_ORIGIN: Final = re.compile(rf"(?P<scheme>https?)://(?P<host>{_HOST})(?::(?P<port>[1-9]\d{{0,4}}))?", re.ASCII)


class Domain(BaseModel):
    """The size of a managed OpenSearch domain. Three nodes stand in three zones."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    instance: str = Field(default="t3.small.search", pattern=r"^[a-z0-9-]+\.[a-z0-9]+\.search$")
    nodes: Literal[1, 3] = 1
    volume_gb: int = Field(default=10, ge=10, le=16384)


class Adopted(BaseModel):
    """Tables that are there already: restored from a backup, or kept when a stage was destroyed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    stream: str = Field(pattern=r"^arn:[^:]+:dynamodb:[^:]+:\d{12}:table/[A-Za-z0-9_.-]+/stream/[^/]+$")
    usage: str = Field(pattern=r"^[A-Za-z0-9_.-]{3,255}$")
    key: str = Field(pattern=r"^arn:[^:]+:kms:[^:]+:\d{12}:key/[^/]+$")
    exports: str = Field("", pattern=r"^(|[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])$")

    @property
    def memories(self) -> str:
        """The table whose stream it is."""
        return self.memories_arn.rpartition("/")[2]

    @property
    def memories_arn(self) -> str:
        return self.stream.partition("/stream/")[0]

    @property
    def usage_arn(self) -> str:
        return f"{self.memories_arn.rpartition('/')[0]}/{self.usage}"


class Agent(BaseModel):
    """The function for agents of AWS's own platforms, and who may call it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    toolset: str = "agent"
    gateway: bool = False
    gateways: tuple[Gateway, ...] = ()
    bedrock_agents: tuple[BedrockAgent, ...] = ()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.toolset not in CATALOGUE.toolsets:
            raise ValueError(f"there is no toolset `{self.toolset}`; there are: {', '.join(CATALOGUE.toolsets)}")
        if not (self.gateway or self.gateways or self.bedrock_agents):
            raise ValueError("`agent` needs `gateway`, `gateways` or `bedrock_agents`: nobody could call it")
        return self


class Stage(BaseModel):
    """One deployment of steeltrap, by the name of its table in `stages.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern="^[a-z][a-z0-9]{0,15}$")
    store: Literal["bucket", "aws"] = Field(
        "bucket",
        description="Where memories are stored: in a bucket with a table of entries, which costs nothing while nobody "
        "calls, or (`aws`) in DynamoDB with an OpenSearch index, for users who outgrow a function.",
    )
    auth: Literal["iam", "jwt"] = Field("iam", description="How callers authenticate: by IAM signatures or by tokens.")
    issuer: str = Field("", description="The issuer of tokens, exactly as in their `iss` claim.")
    audience: tuple[str, ...] = Field((), description="The audiences (or client ids) of tokens.")
    read_scope: Scope = Field(
        "",
        description="The OAuth scope of tokens that may only read. If neither scope is set, every token may do "
        "everything ([how](authentication.md#scopes)).",
    )
    write_scope: Scope = Field("", description="The OAuth scope of tokens that may do everything.")
    cors_origins: tuple[str, ...] = Field(
        (),
        description="The origins whose web pages may call with a token, such as https://app.example; or `*` alone, for "
        "every page. Without any, none may.",
    )
    domain_name: str = Field(
        "",
        description="Your own domain of the API, such as memory.example.com, instead of AWS's address; needs "
        "`certificate_arn` ([the DNS record](deploy.md#your-own-domain)).",
    )
    certificate_arn: str = Field(
        "",
        pattern=r"^(|arn:[^:]+:acm:[a-z0-9-]+:\d{12}:certificate/[A-Za-z0-9-]+)$",
        description="The ARN of the domain's certificate in AWS Certificate Manager, in the stage's own region.",
    )
    functions: Literal["one", "each"] = Field(
        "one",
        description="One function for all tools, or (only with `aws`) one per operation: those that read can change "
        "nothing but usage counts, but cold starts are more frequent.",
    )
    search: Literal["domain", "endpoint"] = Field(
        "domain", description="The index: a new managed domain, or an existing endpoint."
    )
    domain: Domain = Field(
        Domain(), description="The domain's `instance`, `nodes` (1, or 3 in three zones) and `volume_gb` per node."
    )
    endpoint: str = Field("", description="The URL of an existing OpenSearch.")
    endpoint_arn: str = Field(
        "",
        pattern=r"^(|arn:[^:]+:es:[^:]+:\d{12}:domain/[^/]+)$",
        description="The ARN of the existing domain, if requests to it must be signed.",
    )
    index: str = Field(
        "steeltrap", pattern="^[a-z][a-z0-9-]*$", description="The alias of the index; each stage needs its own."
    )
    adopt: Adopted | None = Field(
        None,
        description="Existing tables to use instead of new ones: the `stream` (ARN) of the memories' table, the "
        "`usage` table's name, the `key` (ARN) of both, and the existing `exports` bucket (left out: a new one).",
    )
    retain: bool = Field(True, description="Whether memories are kept when the stack is destroyed.")
    key: bool = Field(
        False,
        description="Whether a bucket's stage has a KMS key of its own. Without, AWS's own keys encrypt. A stage with "
        "`aws` always has one.",
    )
    python: Literal["3.12", "3.13"] = Field("3.13", description="The functions' Python version.")
    memory_mb: int = Field(
        1024, ge=256, le=10240, description="The functions' memory; their CPU is proportional to it."
    )
    disk_mb: int = Field(
        512,
        ge=512,
        le=10240,
        description="The functions' disk, which holds the copies of users' files over a bucket. AWS charges for more "
        "than 512.",
    )
    log_days: Literal[1, 3, 7, 14, 30, 60, 90, 180, 365] = Field(30, description="How many days logs are kept.")
    calls_per_second: int = Field(
        50, ge=1, description="Calls per second, of all callers together, above which the API answers 429."
    )
    snap_start: tuple[str, ...] = Field(
        (), description="The functions that start from a snapshot; each is charged per hour."
    )
    alarm_email: str = Field(
        "", description="The address that alarms are mailed to. Without one, a bucket's stage has no alarms."
    )
    dashboard: bool = Field(False, description="Whether the stage has a dashboard, which is charged per month.")
    queue_senders: tuple[Role, ...] = Field(
        (), description="The ARNs of roles that may write through the queue. Without any, there is no queue."
    )
    agent: Agent | None = Field(
        None,
        description="A function for agents on AWS's own platforms: its `toolset` (left out: agent), whether the stage "
        "makes an AgentCore `gateway`, the ids of existing `gateways` to accept, and the ARNs of `bedrock_agents`.",
    )
    settings: dict[str, Value] = Field(
        {},
        description="Settings of steeltrap, named as in docs/settings.md, without the prefix and in lower case. With "
        f"tokens, each user may make {PUBLIC_CALLS_PER_MINUTE} calls per minute unless `calls_per_minute` says "
        "otherwise.",
    )

    @field_validator("search", mode="before")
    @classmethod
    def _is_no_collection(cls, search: object) -> object:
        if search == "serverless":
            raise ValueError(
                "OpenSearch Serverless can't hold this index: a SEARCH collection has no vectors, and a VECTORSEARCH "
                'collection takes no ids of documents and no scripts. Use search = "domain", or "endpoint"'
            )
        return search

    @field_validator("cors_origins")
    @classmethod
    def _are_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        if "*" in origins and len(origins) > 1:
            raise ValueError("`*` allows every page: name it alone, or leave it out")
        for origin in origins:
            if origin != "*" and not _is_origin(origin):
                raise ValueError(
                    f"{origin!r} is not an origin: write it as a browser sends it, such as https://app.example or "
                    "https://app.example:8443, in lower case, without a path or a slash at its end; http:// is "
                    "for localhost only"
                )
        return origins

    @field_validator("domain_name")
    @classmethod
    def _is_a_domain(cls, name: str) -> str:
        if name and not (len(name) <= 253 and _DOMAIN_NAME.fullmatch(name)):
            raise ValueError(
                f"{name!r} is not a domain name: write it in lower case and without https://, such as "
                "memory.example.com; for other scripts write its xn-- form"
            )
        return name

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if bool(self.domain_name) != bool(self.certificate_arn):
            raise ValueError(
                "`domain_name` and `certificate_arn` need each other: API Gateway serves a domain over TLS"
            )
        if self.auth == "jwt" and not (self.issuer and self.audience):
            raise ValueError('auth = "jwt" needs `issuer` and `audience`')
        if self.auth != "jwt" and self.scopes:
            raise ValueError('`read_scope` and `write_scope` need auth = "jwt": signatures carry no scopes')
        if self.auth != "jwt" and self.cors_origins:
            raise ValueError('`cors_origins` needs auth = "jwt": web pages call with tokens')
        if self.store == "bucket" and (other := _OF_TABLES & self.model_fields_set):
            raise ValueError(f'{", ".join(f"`{name}`" for name in sorted(other))} needs store = "aws"')
        if self.store == "bucket" and self.functions == "each":
            raise ValueError('functions = "each" needs store = "aws": over a bucket, every function reads and writes')
        if self.search == "endpoint" and not self.endpoint:
            raise ValueError('search = "endpoint" needs `endpoint`, a URL')
        if self.queue_senders and self.functions == "one":
            raise ValueError('`queue_senders` needs functions = "each": one of them takes the queue')
        if self.agent and self.agent.gateway and self.auth != "jwt":
            raise ValueError('`gateway` of `agent` needs auth = "jwt": a gateway tells users apart by their tokens')
        if decided := OF_THE_STACK & self.settings.keys():
            raise ValueError(f"`settings` may not have {', '.join(sorted(decided))}: the stack decides that")
        if self.settings.get("embedder") in ("small", "onnx"):
            raise ValueError(
                '`embedder` may not be "small" or "onnx": functions have no ONNX Runtime; run the container for them'
            )
        read_settings(self.environment(), opensearch_index=self.index)
        return self

    @property
    def stack_name(self) -> str:
        return f"steeltrap-{self.name}"

    @property
    def has_local_embedder(self) -> bool:
        """Whether the functions embed by the model that is part of steeltrap."""
        default = FIELDS["embedder"].default
        return bool(self.settings.get("embedder", default) == default)

    @property
    def scopes(self) -> dict[str, str]:
        """The OAuth scopes that tokens need, as a function's environment has them."""
        scopes = {"READ_SCOPE": self.read_scope, "WRITE_SCOPE": self.write_scope}
        return {PREFIX + name: scope for name, scope in scopes.items() if scope}

    @property
    def counts_calls(self) -> bool:
        """Whether users' calls per minute are counted."""
        return self.environment().get(f"{PREFIX}CALLS_PER_MINUTE", "0") != "0"

    def environment(self) -> dict[str, str]:
        """The settings as a function's environment has them."""
        public: dict[str, Value] = {"calls_per_minute": PUBLIC_CALLS_PER_MINUTE} if self.auth == "jwt" else {}
        settings = {PREFIX + name.upper(): as_text(value) for name, value in (public | self.settings).items()}
        return settings | self.scopes


def read_stage(name: str, file: Path = STAGES) -> Stage:
    """The stage of a name. Raises KeyError with the names there are, ValidationError."""
    stages = tomllib.loads(file.read_text())
    if name not in stages:
        raise KeyError(f"no stage `{name}` in {file.name}; there are: {', '.join(stages)}")
    return Stage(name=name, **stages[name])


def _is_origin(text: str) -> bool:
    """Whether a text is an origin as browsers send it, of a page that nobody can change on its way."""
    match = _ORIGIN.fullmatch(text)
    if match is None or (match["port"] and int(match["port"]) > 65535):
        return False
    usual = {"http": "80", "https": "443"}[match["scheme"]]
    is_here = match["host"] in ("localhost", "127.0.0.1")
    return match["port"] != usual and (match["scheme"] == "https" or is_here)
