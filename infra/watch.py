"""Alarms and a dashboard. docs/operate.md says of each alarm what it means and what to do."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from .api import Api
from .search import Search
from .stage import Stage
from .storage import Storage

_FIVE_MINUTES = Duration.minutes(5)


class Watch(Construct):
    """What tells that something is wrong, and shows how it goes."""

    def __init__(self, scope: Construct, stage: Stage, storage: Storage) -> None:
        super().__init__(scope, "Watch")
        self._name = stage.stack_name
        self._topic = sns.Topic(self, "Alarms", master_key=storage.key, enforce_ssl=True) if stage.alarm_email else None
        if self._topic is not None:
            self._topic.add_subscription(subscriptions.EmailSubscription(stage.alarm_email))

    def alarms(self, api: Api, storage: Storage, search: Search, made: Mapping[str, lambda_.Function]) -> None:
        """One alarm for what its reader can do one thing about."""
        self._alarm("ApiFails", _metric("AWS/ApiGateway", "5xx", {"ApiId": api.api.ref}), 5)
        for name in ("indexer", "maintenance", "reindex"):
            self._alarm(f"{name.title()}Fails", made[name].metric_errors(period=_FIVE_MINUTES), 1, times=3)
        self._alarm(
            "IndexLags",
            made["indexer"].metric("IteratorAge", statistic="Maximum", period=_FIVE_MINUTES),
            60_000,
            times=2,
        )
        self._alarm("Throttled", _metric("AWS/Lambda", "Throttles", {}), 1)
        queues = {"ChangesParked": storage.parked, "StreamGivenUp": storage.unread}
        if storage.writes is not None:
            queues["WritesUndone"] = storage.undone
        for id, queue in queues.items():
            self._alarm(id, _depth(queue), 1)
        for id, table in (("Memories", storage.memories), ("Usage", storage.usage)):
            for kind in ("Read", "Write"):
                throttles = _metric("AWS/DynamoDB", f"{kind}ThrottleEvents", {"TableName": table.ref})
                self._alarm(f"{id}{kind}Throttled", throttles, 10)
        if search.domain is not None:
            domain = {"DomainName": search.domain.ref, "ClientId": search.domain.stack.account}
            of = "AWS/ES"
            self._alarm("IndexRed", _metric(of, "ClusterStatus.red", domain, statistic="Maximum"), 1)
            self._alarm("IndexMemory", _metric(of, "JVMMemoryPressure", domain, statistic="Maximum"), 90, times=3)
            self._alarm("IndexFull", _metric(of, "FreeStorageSpace", domain, statistic="Minimum"), 2048, below=True)

    def dashboard(self, api: Api, storage: Storage, made: Mapping[str, lambda_.Function]) -> None:
        """Calls, errors, times, the index's lag, and what the tables take."""
        board = cloudwatch.Dashboard(self, "Dashboard", dashboard_name=self._name)
        of_api = {"ApiId": api.api.ref}
        own = f"{{recollect,service,tool}} service={self._name}"
        board.add_widgets(
            _graph(
                "Calls and refusals",
                *(_metric("AWS/ApiGateway", name, of_api) for name in ("Count", "4xx", "5xx")),
            ),
            _graph("Time to answer (p50, p99), ms", *_percentiles("AWS/ApiGateway", "Latency", of_api)),
            _searched("Calls by tool", f"SEARCH('{own} MetricName=calls', 'Sum', 300)"),
        )
        board.add_widgets(
            _searched("Errors by code", f"SEARCH('{{recollect,service,code}} service={self._name}', 'Sum', 300)"),
            _graph("Lag of the index, ms", made["indexer"].metric("IteratorAge", statistic="Maximum")),
            _graph("Given up", *(_depth(queue) for queue in (storage.parked, storage.unread))),
        )
        board.add_widgets(
            *(
                _graph(
                    f"{id}: capacity",
                    *(
                        _metric("AWS/DynamoDB", f"Consumed{kind}CapacityUnits", {"TableName": table.ref})
                        for kind in ("Read", "Write")
                    ),
                )
                for id, table in (("Memories", storage.memories), ("Usage", storage.usage))
            ),
            _searched(
                "Time by stage (p99), ms", f"SEARCH('{{recollect,service,stage}} service={self._name}', 'p99', 300)"
            ),
        )

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


def _metric(of: str, name: str, dimensions: dict[str, str], *, statistic: str = "Sum") -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=of, metric_name=name, dimensions_map=dimensions, statistic=statistic, period=_FIVE_MINUTES
    )


def _percentiles(of: str, name: str, dimensions: dict[str, str]) -> list[cloudwatch.Metric]:
    return [_metric(of, name, dimensions, statistic=statistic) for statistic in ("p50", "p99")]


def _depth(queue: sqs.Queue) -> cloudwatch.Metric:
    return queue.metric_approximate_number_of_messages_visible(statistic="Maximum", period=_FIVE_MINUTES)


def _graph(title: str, *metrics: Any) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(metrics), width=8)


def _searched(title: str, expression: str) -> cloudwatch.GraphWidget:
    return _graph(
        title, cloudwatch.MathExpression(expression=expression, using_metrics={}, label="", period=_FIVE_MINUTES)
    )
