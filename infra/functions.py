"""The Lambda functions: one an operation and the few beside them, each with a role of its own."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from recollect.adapters.dynamodb.tables import EVERYONE
from recollect.adapters.embedders.bedrock_models import MODELS

from .bundle import Bundle, build_code
from .grants import Grant
from .plan import BundleName
from .search import INDEX, Search
from .stage import Stage
from .storage import Storage

EXTRAS: Final[Mapping[BundleName, tuple[str, ...]]] = {
    "tools": ("lambda", "aws"),
    "mcp": ("lambda", "aws", "mcp"),
    "http": ("lambda", "aws", "mcp", "http"),
}


class Functions(Construct):
    """Makes functions that share code and layers. Each may do what it is granted, and write its own log."""

    def __init__(
        self, scope: Construct, stage: Stage, storage: Storage, search: Search, *, packed: Path | None = None
    ) -> None:
        super().__init__(scope, "Functions")
        self._stage = stage
        self._storage = storage
        self._search = search
        self._packed = packed
        self._code = lambda_.Code.from_asset(str(packed or build_code(stage.python, emulator=stage.emulator)))
        self._layers: dict[str, lambda_.LayerVersion] = {}
        self.made: dict[str, lambda_.Function] = {}
        self.index_roles: list[tuple[iam.IRole, Grant]] = []

    def add(
        self,
        name: str,
        grants: Sequence[Grant],
        *,
        handler: str | None = None,
        timeout: int,
        bundle: BundleName = "tools",
        memory_mb: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> lambda_.IFunction:
        """A function, or its alias where it starts from a snapshot. `timeout` is in seconds."""
        stage = self._stage
        id = "".join(part.title() for part in name.split("_"))
        log = logs.LogGroup(
            self,
            f"{id}Log",
            log_group_name=f"/aws/lambda/{stage.stack_name}-{name}",
            retention=RETENTION[stage.log_days],
            removal_policy=RemovalPolicy.DESTROY,
        )
        snapshot = name in stage.snap_start
        role = self._role(id, grants, log)
        self.index_roles += [(role, grant) for grant in grants if grant.resource == "index"]
        function = lambda_.Function(
            self,
            id,
            function_name=f"{stage.stack_name}-{name}",
            runtime=_RUNTIMES[stage.python],
            architecture=lambda_.Architecture.ARM_64,
            handler=handler or f"functions/{name}/handler.handler",
            code=self._code,
            layers=[self._layer(bundle)],
            role=role.without_policy_updates(),
            timeout=Duration.seconds(timeout),
            memory_size=memory_mb or stage.memory_mb,
            environment={**self._environment(), **(environment or {})},
            log_group=log,
            tracing=lambda_.Tracing.ACTIVE,
            snap_start=lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if snapshot else None,
        )
        self.made[name] = function
        return function.add_alias("live") if snapshot else function

    def _environment(self) -> dict[str, str]:
        return {
            "RECOLLECT_STORE": "aws",
            "RECOLLECT_MEMORY_TABLE": self._storage.memories.ref,
            "RECOLLECT_USAGE_TABLE": self._storage.usage.ref,
            "RECOLLECT_OPENSEARCH_URL": self._search.url,
            "RECOLLECT_OPENSEARCH_AUTH": self._search.auth,
            "RECOLLECT_OPENSEARCH_INDEX": INDEX,
            "RECOLLECT_EXPORT_BUCKET": self._storage.exports.bucket_name,
            "RECOLLECT_PARKED_QUEUE": self._storage.parked.queue_url,
            "RECOLLECT_DATA": "/tmp/recollect",
            **self._stage.environment(),
        }

    def _layer(self, bundle: BundleName) -> lambda_.LayerVersion:
        if bundle not in self._layers:
            embedder = self._stage.settings.get("embedder", "wordllama") == "wordllama"
            wanted = Bundle(EXTRAS[bundle], embedder, self._stage.python, self._stage.emulator)
            built = self._packed or wanted.build()
            self._layers[bundle] = lambda_.LayerVersion(
                self, f"{bundle.title()}Layer", code=lambda_.Code.from_asset(str(built))
            )
        return self._layers[bundle]

    def _role(self, id: str, grants: Sequence[Grant], log: logs.LogGroup) -> iam.Role:
        own_log = iam.PolicyStatement(
            actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[log.log_group_arn]
        )
        statements = [own_log, *(statement for grant in grants for statement in self._statements(grant))]
        return iam.Role(
            self,
            f"{id}Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={"tools": iam.PolicyDocument(statements=[*statements, *self._keys(grants)])},
        )

    def _statements(self, grant: Grant) -> list[iam.PolicyStatement]:
        if grant.resource == "index":
            return self._search.statements(grant)
        if grant.resource == "embedder" and self._stage.settings.get("embedder") != "bedrock":
            return []
        return [iam.PolicyStatement(actions=list(grant.actions), resources=self._arns(grant))]

    def _arns(self, grant: Grant) -> list[str]:
        storage = self._storage
        match grant.resource:
            case "memories":
                arn = storage.memories.attr_arn
                return [arn, *(f"{arn}/index/{name}" for name in storage.indexes_of_a_user)]
            case "everyone":
                return [f"{storage.memories.attr_arn}/index/{EVERYONE}"]
            case "usage":
                return [storage.usage.attr_arn]
            case "stream":
                return [storage.memories.attr_stream_arn]
            case "parked":
                return [storage.parked.queue_arn]
            case "unread":
                return [storage.unread.queue_arn]
            case "writes":
                return [storage.writes.queue_arn] if storage.writes else []
            case "exports":
                return [storage.exports.arn_for_objects("exports/*")]
            case "listing":
                return [storage.exports.bucket_arn]
            case "embedder":
                return _models(str(self._stage.settings.get("embedder_model", "")), Stack.of(self))
        return ["*"]  # X-Ray knows no resources

    def _keys(self, grants: Sequence[Grant]) -> list[iam.PolicyStatement]:
        """The key, for those services alone that hold what a function is granted."""
        services = {
            **dict.fromkeys(("memories", "usage", "stream", "everyone"), "dynamodb"),
            "exports": "s3",
            **_QUEUES,
        }
        through = sorted({services[grant.resource] for grant in grants if grant.resource in services})
        if not through:
            return []
        region = Stack.of(self).region
        return [
            iam.PolicyStatement(
                actions=list(_USE_KEY),
                resources=[self._storage.key.key_arn],
                conditions={"StringEquals": {"kms:ViaService": [f"{name}.{region}.amazonaws.com" for name in through]}},
            )
        ]


def _models(named: str, stack: Stack) -> list[str]:
    """A model of Bedrock as an ARN: by its own, by its id, or by an inference profile, which asks several regions."""
    model = named or MODELS[0].id
    if model.startswith("arn:"):
        return [model]
    area, _, of_area = model.partition(".")
    if area not in _AREAS:
        return [f"arn:{stack.partition}:bedrock:{stack.region}::foundation-model/{model}"]
    profile = f"arn:{stack.partition}:bedrock:{stack.region}:{stack.account}:inference-profile/{model}"
    return [profile, f"arn:{stack.partition}:bedrock:*::foundation-model/{of_area}"]


_RUNTIMES = {"3.12": lambda_.Runtime.PYTHON_3_12, "3.13": lambda_.Runtime.PYTHON_3_13}
_AREAS = ("us", "eu", "apac", "jp", "au", "global")
_QUEUES = dict.fromkeys(("parked", "unread", "writes"), "sqs")
_USE_KEY = (
    *("kms:Decrypt", "kms:Encrypt", "kms:DescribeKey", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext"),
    *("kms:ReEncryptFrom", "kms:ReEncryptTo"),
)
"""What DynamoDB asks a caller of an encrypted table for, to read or to write."""

RETENTION = {
    days: getattr(logs.RetentionDays, name)
    for days, name in {
        **{1: "ONE_DAY", 3: "THREE_DAYS", 7: "ONE_WEEK", 14: "TWO_WEEKS", 30: "ONE_MONTH", 60: "TWO_MONTHS"},
        **{90: "THREE_MONTHS", 180: "SIX_MONTHS", 365: "ONE_YEAR"},
    }.items()
}
