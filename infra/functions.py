"""The Lambda functions: one per operation and a few others, each with its own role."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aws_cdk import Duration, RemovalPolicy, Size
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from steeltrap.servers.aws_lambda import ENVIRONMENT

from .bundle import Bundle, build_code
from .grants import Grant
from .plan import BundleName, construct_id
from .policies import Policies
from .stage import Stage

_GROUPS: Final[Mapping[BundleName, str]] = {"tools": "function", "mcp": "function-mcp", "http": "function-http"}
"""The dependency group of pyproject.toml that each bundle takes."""
_GROUP_OF_BUCKETS: Final = "function-bucket"
"""The group of all functions over a bucket: there are two or three of them, and one layer is made sooner."""
_OWN: Final = frozenset(
    f"STEELTRAP_{name}"
    for name in (
        *("DATA", "SERVICE", "INDEX_DEAD_LETTER_QUEUE", "LOG", "CACHE_FOLDER", "CACHE_DISK_MB"),
        *("READ_SCOPE", "WRITE_SCOPE"),
    )
)
"""Settings that only concern a function."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The folder of code, and how the layer of a dependency group is made, elsewhere."""

    code: Path
    layer: Callable[[str], Path]


class Functions(Construct):
    """Makes functions that share code and layers. Each may do what it is granted, and write its own log."""

    def __init__(
        self,
        scope: Construct,
        stage: Stage,
        policies: Policies,
        environment: Mapping[str, str],
        *,
        packed: Packed | None = None,
    ) -> None:
        super().__init__(scope, "Functions")
        self._stage = stage
        self._policies = policies
        self._environment = {
            **environment,
            "STEELTRAP_DATA": "/tmp/steeltrap",
            "STEELTRAP_SERVICE": stage.stack_name,
            **stage.environment(),
        }
        self._is_over_bucket = stage.store == "bucket"
        self._packed = packed
        code = (
            packed.code
            if packed
            else build_code(stage.python, embedder=stage.has_local_embedder, replicas=self._is_over_bucket)
        )
        self._code = lambda_.Code.from_asset(str(code))
        self._layers: dict[str, lambda_.LayerVersion] = {}
        self.by_name: dict[str, lambda_.Function] = {}

    def add(
        self,
        name: str,
        grants: Sequence[Grant],
        *,
        timeout: int,
        bundle: BundleName = "tools",
        environment: Mapping[str, str] | None = None,
        opens_store: bool = True,
    ) -> lambda_.IFunction:
        """A function, or its alias where it starts from a snapshot. `timeout` is in seconds.

        A function that doesn't open the store gets none of the store's settings.
        """
        stage = self._stage
        id = construct_id(name)
        log = logs.LogGroup(
            self,
            f"{id}Log",
            log_group_name=f"/aws/lambda/{stage.stack_name}-{name}",
            retention=RETENTION[stage.log_days],
            removal_policy=RemovalPolicy.DESTROY,
        )
        snapshot = name in stage.snap_start
        role = self._role(id, grants, log)
        function = lambda_.Function(
            self,
            id,
            function_name=f"{stage.stack_name}-{name}",
            runtime=_RUNTIMES[stage.python],
            architecture=lambda_.Architecture.ARM_64,
            handler=f"functions/{name}/handler.handler",
            code=self._code,
            layers=[self._layer(bundle)],
            role=role.without_policy_updates(),
            timeout=Duration.seconds(timeout),
            memory_size=stage.memory_mb,
            ephemeral_storage_size=Size.mebibytes(stage.disk_mb) if self._is_over_bucket and opens_store else None,
            environment={**ENVIRONMENT, **(self._environment if opens_store else {}), **(environment or {})},
            log_group=log,
            tracing=lambda_.Tracing.ACTIVE,
            snap_start=lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if snapshot else None,
        )
        self.by_name[name] = function
        return function.add_alias("live") if snapshot else function

    def shell_settings(self, **other: str) -> str:
        """The settings in a shell's form, `other` ones in place of a function's, without those that only concern a
        function."""
        settings = {name: value for name, value in self._environment.items() if name not in _OWN} | other
        return " ".join(f"{name}={value}" for name, value in settings.items())

    def _layer(self, bundle: BundleName) -> lambda_.LayerVersion:
        group = _GROUP_OF_BUCKETS if self._is_over_bucket else _GROUPS[bundle]
        if group not in self._layers:
            built = self._packed.layer(group) if self._packed else Bundle(group, self._stage.python).build()
            self._layers[group] = lambda_.LayerVersion(
                self, f"{construct_id(group.replace('-', '_'))}Layer", code=lambda_.Code.from_asset(str(built))
            )
        return self._layers[group]

    def _role(self, id: str, grants: Sequence[Grant], log: logs.LogGroup) -> iam.Role:
        own_log = iam.PolicyStatement(
            actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[log.log_group_arn]
        )
        statements = [own_log, *self._policies.statements(grants)]
        return iam.Role(
            self,
            f"{id}Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={"tools": iam.PolicyDocument(statements=statements)},
        )


_RUNTIMES = {"3.12": lambda_.Runtime.PYTHON_3_12, "3.13": lambda_.Runtime.PYTHON_3_13}
RETENTION = {
    days: getattr(logs.RetentionDays, name)
    for days, name in {
        **{1: "ONE_DAY", 3: "THREE_DAYS", 7: "ONE_WEEK", 14: "TWO_WEEKS", 30: "ONE_MONTH", 60: "TWO_MONTHS"},
        **{90: "THREE_MONTHS", 180: "SIX_MONTHS", 365: "ONE_YEAR"},
    }.items()
}
