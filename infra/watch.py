"""Alarms and a dashboard. docs/operate.md says of each alarm what it means and what to do."""

from collections.abc import Mapping
from typing import Any, Final, get_args

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_opensearchservice as opensearch
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from steeltrap import telemetry
from steeltrap.servers.aws_lambda.telemetry import NAMESPACE

from .api import Api
from .log_storage import LogStorage
from .search import Search
from .stage import Stage
from .storage import Storage

_FIVE_MINUTES = Duration.minutes(5)
_LOG_GROUPS: Final = 50
"""A query reads no more of them."""
_BY_TOOL: Final = (
    "filter ispresent(milliseconds)",
    "stats count() as calls, pct(milliseconds, 50) as p50, pct(milliseconds, 99) as p99, pct(bytes, 99) as bytes_p99 "
    "by tool",
    "sort calls desc",
)
_BY_CODE: Final = ("filter ispresent(error)", "stats count() as calls by error, tool", "sort calls desc")
_BY_STEP: Final = (
    "filter ispresent(milliseconds)",
    "stats " + ", ".join(f"pct(stages.{step}, 99) as {step}" for step in get_args(telemetry.Stage)) + " by tool",
)


class Watch(Construct):
    """The alarms and the dashboard."""

    def __init__(self, scope: Construct, stage: Stage, key: kms.IKey | None) -> None:
        super().__init__(scope, "Watch")
        self._name = stage.stack_name
        self._volume_gb = stage.domain.volume_gb
        self._topic = self._mailed(stage.alarm_email, key) if stage.alarm_email else None

    @property
    def _left(self) -> cloudwatch.Metric:
        """The users that a sweep did not reach."""
        return _metric(NAMESPACE, "users_left", {"service": self._name}, statistic="Maximum", period=Duration.hours(1))

    def _mailed(self, address: str, key: kms.IKey | None) -> sns.Topic:
        """A topic that this account's alarms may publish to, and may encrypt for."""
        topic = sns.Topic(self, "Alarms", master_key=key, enforce_ssl=True)
        topic.add_subscription(subscriptions.EmailSubscription(address))
        alarms = [iam.ServicePrincipal("cloudwatch.amazonaws.com")]
        ours = {"StringEquals": {"aws:SourceAccount": Stack.of(self).account}}
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                actions=["sns:Publish"], principals=alarms, resources=[topic.topic_arn], conditions=ours
            )
        )
        if key is not None:
            key.add_to_resource_policy(
                iam.PolicyStatement(
                    actions=["kms:Decrypt", "kms:GenerateDataKey"], principals=alarms, resources=["*"], conditions=ours
                )
            )
        return topic

    def alarms_of_bucket(self, api: Api, storage: LogStorage, functions: Mapping[str, lambda_.Function]) -> None:
        """The alarms of a stage over a bucket, if somebody is mailed: each is charged per month."""
        if self._topic is None:
            return
        self._alarm("ApiFails", _metric("AWS/ApiGateway", "5xx", {"ApiId": api.api.ref}), 5)
        self._alarm("Throttled", _metric("AWS/Lambda", "Throttles", {}), 1)
        self._alarm("MaintenanceFails", functions["maintenance"].metric_errors(period=_FIVE_MINUTES), 1)
        throttles = _metric("AWS/DynamoDB", "WriteThrottleEvents", {"TableName": storage.entries.ref})
        self._alarm("EntriesThrottled", throttles, 10)

    def dashboard_of_bucket(self, api: Api, storage: LogStorage, functions: Mapping[str, lambda_.Function]) -> None:
        """Calls, errors, times, and what the table takes."""
        board = cloudwatch.Dashboard(self, "Dashboard", dashboard_name=self._name)
        board.add_widgets(*self._calls(api))
        board.add_widgets(
            _capacity("Entries", storage.entries.ref),
            _graph("Bytes of an answer (p50, p99)", *self._own_percentiles("answer_bytes")),
            _graph("Users whom a sweep left", self._left),
        )
        board.add_widgets(*_of_logs(functions))

    def _calls(self, api: Api) -> list[cloudwatch.GraphWidget]:
        of_api = {"ApiId": api.api.ref}
        return [
            _graph(
                "Calls and refusals",
                *(_metric("AWS/ApiGateway", name, of_api) for name in ("Count", "4xx", "5xx")),
            ),
            _graph("Time to answer (p50, p99), ms", *_percentiles("AWS/ApiGateway", "Latency", of_api)),
            _graph("Calls of tools", *(self._own(name) for name in ("calls", "errors", "degraded"))),
        ]

    def alarms_of_tables(
        self, api: Api, storage: Storage, search: Search, functions: Mapping[str, lambda_.Function]
    ) -> None:
        """One alarm per problem that its reader can fix."""
        self._alarm("ApiFails", _metric("AWS/ApiGateway", "5xx", {"ApiId": api.api.ref}), 5)
        self._alarm("IndexerFails", functions["indexer"].metric_errors(period=_FIVE_MINUTES), 1, times=3)
        for name in ("maintenance", "reindex"):
            self._alarm(f"{name.title()}Fails", functions[name].metric_errors(period=_FIVE_MINUTES), 1)
        # Three hours in a row: the next sweep reaches the users that one sweep left out.
        self._alarm("SweepsFallBehind", self._left, 1, times=3)
        self._alarm(
            "IndexLags",
            functions["indexer"].metric("IteratorAge", statistic="Maximum", period=_FIVE_MINUTES),
            60_000,
            times=2,
        )
        self._alarm("Throttled", _metric("AWS/Lambda", "Throttles", {}), 1)
        queues = {"IndexDeadLetters": storage.index_dead_letters, "StreamDeadLetters": storage.stream_dead_letters}
        if storage.write_dead_letters is not None:
            queues["WriteDeadLetters"] = storage.write_dead_letters
        for id, queue in queues.items():
            self._alarm(id, _depth(queue), 1)
        for id, table in (("Memories", storage.memories), ("Usage", storage.usage)):
            for kind in ("Read", "Write"):
                throttles = _metric("AWS/DynamoDB", f"{kind}ThrottleEvents", {"TableName": table.name})
                self._alarm(f"{id}{kind}Throttled", throttles, 10)
        if search.domain is not None:
            self._domain_alarms(search.domain)

    def _domain_alarms(self, domain: opensearch.CfnDomain) -> None:
        def worst(name: str, statistic: str = "Maximum") -> cloudwatch.Metric:
            dimensions = {"DomainName": domain.ref, "ClientId": Stack.of(self).account}
            return _metric("AWS/ES", name, dimensions, statistic=statistic)

        self._alarm("IndexRed", worst("ClusterStatus.red"), 1)
        self._alarm("IndexBlocked", worst("ClusterIndexWritesBlocked"), 1)
        self._alarm("IndexKey", worst("KMSKeyError"), 1)
        self._alarm("IndexMemory", worst("JVMMemoryPressure"), 95, times=3)
        # In MB: a quarter of a node's volume.
        self._alarm("IndexFull", worst("FreeStorageSpace", "Minimum"), self._volume_gb * 256, below=True)

    def dashboard_of_tables(self, api: Api, storage: Storage, functions: Mapping[str, lambda_.Function]) -> None:
        """Calls, errors, times, the index's lag, and what the tables take."""
        board = cloudwatch.Dashboard(self, "Dashboard", dashboard_name=self._name)
        board.add_widgets(*self._calls(api))
        board.add_widgets(
            _graph("Time in a function (p50, p99), ms", *self._own_percentiles("time")),
            _graph("Lag of the index, ms", functions["indexer"].metric("IteratorAge", statistic="Maximum")),
            _graph(
                "Dead letters", *(_depth(queue) for queue in (storage.index_dead_letters, storage.stream_dead_letters))
            ),
        )
        board.add_widgets(
            *(_capacity(id, table.name) for id, table in (("Memories", storage.memories), ("Usage", storage.usage))),
            _graph("Users whom a sweep left", self._left),
        )
        board.add_widgets(
            _graph("Bytes of an answer (p50, p99)", *self._own_percentiles("answer_bytes")), *_of_logs(functions)
        )

    def _own(self, name: str) -> cloudwatch.Metric:
        """A metric that the functions write."""
        return _metric(NAMESPACE, name, {"service": self._name})

    def _own_percentiles(self, name: str) -> list[cloudwatch.Metric]:
        return _percentiles(NAMESPACE, name, {"service": self._name})

    def _alarm(
        self, id: str, metric: cloudwatch.Metric, threshold: float, *, times: int = 1, below: bool = False
    ) -> None:
        compared = cloudwatch.ComparisonOperator
        alarm = metric.create_alarm(
            self,
            id,
            alarm_name=f"{self._name}-{id}",
            threshold=threshold,
            evaluation_periods=times,
            comparison_operator=compared.LESS_THAN_THRESHOLD if below else compared.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            # Where nothing is called there is nothing to count.
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        if self._topic is not None:
            alarm.add_alarm_action(actions.SnsAction(self._topic))


def _metric(
    of: str, name: str, dimensions: dict[str, str], *, statistic: str = "Sum", period: Duration = _FIVE_MINUTES
) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=of, metric_name=name, dimensions_map=dimensions, statistic=statistic, period=period
    )


def _percentiles(of: str, name: str, dimensions: dict[str, str]) -> list[cloudwatch.Metric]:
    return [_metric(of, name, dimensions, statistic=statistic) for statistic in ("p50", "p99")]


def _capacity(id: str, table: str) -> cloudwatch.GraphWidget:
    kinds = ("Read", "Write")
    return _graph(
        f"{id}: capacity",
        *(_metric("AWS/DynamoDB", f"Consumed{kind}CapacityUnits", {"TableName": table}) for kind in kinds),
    )


def _depth(queue: sqs.Queue) -> cloudwatch.Metric:
    return queue.metric_approximate_number_of_messages_visible(statistic="Maximum", period=_FIVE_MINUTES)


def _of_logs(functions: Mapping[str, lambda_.Function]) -> list[cloudwatch.LogQueryWidget]:
    """Tables of what metrics would cost too much for: calls by tool, by code, and by step."""
    groups = [function.log_group.log_group_name for function in list(functions.values())[:_LOG_GROUPS]]
    queries = {"Calls by tool": _BY_TOOL, "Errors by code": _BY_CODE, "Time by step (p99), ms": _BY_STEP}
    return [
        cloudwatch.LogQueryWidget(title=title, log_group_names=groups, query_lines=list(lines), width=8)
        for title, lines in queries.items()
    ]


def _graph(title: str, *metrics: Any) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(metrics), width=8)
