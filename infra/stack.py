"""One stage of steeltrap: the catalogue's functions over tables and index, and what keeps them."""

import json

from aws_cdk import CfnOutput, CustomResource, Duration, Stack, Tags
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from steeltrap.model import JsonObject
from steeltrap.servers.auth.identity import WELL_KNOWN
from steeltrap.stores.dynamodb import keys
from steeltrap.stores.sqlite.schema import MIGRATIONS
from steeltrap.text.words import WORDS_VERSION
from steeltrap.toolsets import Catalogue

from . import grants
from .agents import Agents
from .api import Api
from .functions import Functions, Packed
from .log_storage import LogStorage
from .plan import INDEXERS_PER_SHARD, agent_function, http_function, longest_call, mcp_function, tool_functions
from .policies import Policies
from .search import Search
from .stage import Stage
from .storage import Storage
from .watch import Watch

_DAY = 24 * 3600
_QUARTER_HOUR = 900
"""Lambda's maximum timeout."""
_MEMORIES = {"dynamodb": {"Keys": {"k": {"S": [{"prefix": keys.MEMORIES}]}}}}
"""Selects the stream's records of memories."""
_RECOGNIZE_LAYERS = "@aws-cdk/aws-lambda:recognizeLayerVersion"
_SAVES = "save"
"""The operation whose function reads the write queue."""


class Steeltrap(Stack):
    """One template for a whole stage. Code and layers are packed here unless `packed` has them."""

    def __init__(self, scope: Construct, stage: Stage, catalogue: Catalogue, *, packed: Packed | None = None) -> None:
        super().__init__(scope, stage.stack_name, stack_name=stage.stack_name, description="Memory for AI agents.")
        # Without it a published version keeps its old layer, and so does a snapshot of it.
        self.node.set_context(_RECOGNIZE_LAYERS, True)
        Tags.of(self).add("steeltrap:stage", stage.name)
        # The CDK makes each function wait for its role, which naming the role does too.
        self.template_options.metadata = {"cfn-lint": {"config": {"ignore_checks": ["W3005"]}}}
        self.search: Search | None = None
        self.storage: Storage | LogStorage
        if stage.store == "bucket":
            self.storage = LogStorage(self, stage)
            environment = self.storage.environment()
        else:
            self.storage = tables = Storage(self, stage)
            self.search = Search(self, stage, tables.key)
            environment = tables.environment() | self.search.environment()
        policies = Policies(self, stage, self.storage, self.search)
        self.functions = Functions(self, stage, policies, environment, packed=packed)
        self.api = Api(self, stage)
        self._serve(stage, catalogue)
        self.agents = Agents(self, stage, stage.agent, catalogue, self.functions) if stage.agent else None
        functions = self.functions.by_name
        watch = Watch(self, stage, self.storage.key)
        if isinstance(self.storage, Storage) and self.search is not None:
            self._index_stream(self.storage)
            self._schedule_upkeep(stage, self.search)
            watch.alarms_of_tables(self.api, self.storage, self.search, functions)
            if stage.dashboard:
                watch.dashboard_of_tables(self.api, self.storage, functions)
        elif isinstance(self.storage, LogStorage):
            self._schedule_sweep(stage)
            watch.alarms_of_bucket(self.api, self.storage, functions)
            if stage.dashboard:
                watch.dashboard_of_bucket(self.api, self.storage, functions)
            self._migrate_last(stage, catalogue)
        if unknown := set(stage.snap_start) - set(functions):
            raise ValueError(f"`snap_start` names {', '.join(sorted(unknown))}; there are: {', '.join(functions)}")
        self._add_outputs(stage)

    def _serve(self, stage: Stage, catalogue: Catalogue) -> None:
        """One function for everything; or one per operation with the routes of its tools, and one for MCP."""
        if stage.functions == "one":
            plan = http_function(catalogue)
            granted = grants.tool_grants(plan, stage)
            self.api.serve_all(plan, self.functions.add(plan.name, granted, timeout=plan.timeout, bundle=plan.bundle))
        else:
            self._serve_each(stage, catalogue)
        if stage.auth == "jwt":
            # A separate function, so that requests without a token never reach one that can read memories.
            metadata = self.functions.add(
                "metadata",
                grants.METADATA,
                timeout=10,
                environment={
                    "STEELTRAP_SERVICE": stage.stack_name,
                    "STEELTRAP_OIDC_ISSUER": stage.issuer,
                    **stage.scopes,
                },
                opens_store=False,
            )
            self.api.serve_open(metadata, (WELL_KNOWN, f"{WELL_KNOWN}/{{path+}}"))

    def _serve_each(self, stage: Stage, catalogue: Catalogue) -> None:
        writes = self.storage.writes if isinstance(self.storage, Storage) else None
        for plan in [*tool_functions(catalogue), mcp_function(catalogue)]:
            queue = writes if plan.name == _SAVES else None
            function = self.functions.add(
                plan.name,
                [*grants.tool_grants(plan, stage), *([grants.RECEIVE_WRITES] if queue else [])],
                timeout=plan.timeout,
                bundle=plan.bundle,
                environment={"STEELTRAP_QUEUE_CALLERS": "true"} if queue else None,
            )
            # Unknown paths go to the function with the fewest rights: `get` may read memories and count the reads, but
            # not change memories, search the index or use the embedder.
            self.api.serve(plan, function, any_other=plan.name == "get")
            if queue:
                self._consume_writes(function, queue)

    def _consume_writes(self, function: lambda_.IFunction, queue: sqs.Queue) -> None:
        """Send the queue's messages to the function that saves. Only failed messages are retried."""
        lambda_.CfnEventSourceMapping(
            self,
            "TakeWrites",
            function_name=function.function_arn,
            event_source_arn=queue.queue_arn,
            function_response_types=["ReportBatchItemFailures"],
            batch_size=10,
        )

    def _index_stream(self, storage: Storage) -> None:
        """Send the stream's changes to the indexer: in order, bisecting failed batches, with a dead-letter queue."""
        indexer = self.functions.add("indexer", grants.INDEXER, timeout=60)
        lambda_.CfnEventSourceMapping(
            self,
            "Follow",
            function_name=indexer.function_arn,
            event_source_arn=storage.memories.stream,
            starting_position="TRIM_HORIZON",
            batch_size=100,
            maximum_batching_window_in_seconds=0,
            parallelization_factor=INDEXERS_PER_SHARD,
            bisect_batch_on_function_error=True,
            function_response_types=["ReportBatchItemFailures"],
            # Vectors, revisions and the users' own items are not indexed.
            filter_criteria=lambda_.CfnEventSourceMapping.FilterCriteriaProperty(
                filters=[lambda_.CfnEventSourceMapping.FilterProperty(pattern=json.dumps(_MEMORIES))]
            ),
            # Just under the stream's 24 hours: changes wait in the stream while the index is down.
            maximum_record_age_in_seconds=_DAY - 3600,
            destination_config=lambda_.CfnEventSourceMapping.DestinationConfigProperty(
                on_failure=lambda_.CfnEventSourceMapping.OnFailureProperty(
                    destination=storage.stream_dead_letters.queue_arn
                )
            ),
        )

    def _schedule_sweep(self, stage: Stage) -> None:
        """Sweep once a day those whose work is due: over a bucket each user who is opened costs some requests."""
        maintenance = self.functions.add("maintenance", grants.LOG, timeout=_QUARTER_HOUR)
        maintenance.configure_async_invoke(retry_attempts=0)
        rule = events.Rule(self, "Daily", schedule=events.Schedule.rate(Duration.days(1)))
        rule.add_target(targets.LambdaFunction(maintenance))

    def _migrate_last(self, stage: Stage, catalogue: Catalogue) -> None:
        """Bring everyone's memories to the release's tables as the last step of a deployment: until every function has
        the new release, the old ones could not read them."""
        plans = tool_functions(catalogue) if stage.functions == "each" else [http_function(catalogue)]
        if stage.agent:
            plans.append(agent_function(catalogue, stage.agent.toolset))
        tables = CustomResource(
            self,
            "Tables",
            service_token=self.functions.by_name["maintenance"].function_arn,
            service_timeout=Duration.seconds(_QUARTER_HOUR + 60),
            # CloudFormation calls it again when one of these changes.
            properties={
                "Version": str(len(MIGRATIONS)),
                "Words": str(WORDS_VERSION),
                "Due": "1",  # one more where a release has to put markers that the last one didn't
                "LongestCall": str(longest_call(plans)),
            },
        )
        tables.node.add_dependency(*(each for each in self.node.children if each is not tables))

    def _schedule_upkeep(self, stage: Stage, search: Search) -> None:
        """Schedule the upkeep functions, and create the index on the first deployment."""
        maintenance = self.functions.add("maintenance", grants.MAINTENANCE, timeout=_QUARTER_HOUR)
        reindex = self.functions.add("reindex", grants.REINDEX, timeout=_QUARTER_HOUR)
        for id, function, every in (("Hourly", maintenance, Duration.hours(1)), ("Daily", reindex, Duration.days(1))):
            # The next scheduled run is soon enough.
            function.configure_async_invoke(retry_attempts=0)
            rule = events.Rule(self, id, schedule=events.Schedule.rate(every))
            rule.add_target(targets.LambdaFunction(function))
        index = CustomResource(
            self,
            "Index",
            service_token=reindex.function_arn,
            service_timeout=Duration.seconds(_QUARTER_HOUR + 60),
            # CloudFormation calls it again when one of these changes.
            properties={"Url": search.url, "Index": stage.index},
        )
        index.node.add_dependency(search)

    def _add_outputs(self, stage: Stage) -> None:
        """Output what clients need in their configuration."""
        url = self.api.url
        CfnOutput(self, "Url", value=url, description="Tools answer by POST to {Url}/v1/{toolset}/{tool}")
        client = json.dumps({"mcpServers": {"steeltrap": self._mcp_client(stage, f"{url}/mcp")}})
        if (domain := self.api.domain) is not None:
            record = f"CNAME {domain.attr_regional_domain_name}"
            CfnOutput(self, "DnsRecord", value=record, description=f"For {stage.domain_name} at your DNS provider")
            CfnOutput(self, "DnsZone", value=domain.attr_regional_hosted_zone_id, description="For a Route 53 alias")
        CfnOutput(self, "McpClient", value=client, description="For an MCP client's configuration")
        CfnOutput(self, "Settings", value=self._shell_settings())
        for id, value in self._places().items():
            CfnOutput(self, id, value=value)

    def _shell_settings(self) -> str:
        if self.search is None:
            return self.functions.shell_settings()
        return self.functions.shell_settings(STEELTRAP_OPENSEARCH_URL=self.search.url_without_password)

    def _places(self) -> dict[str, str]:
        """Names of what an operator looks at."""
        storage = self.storage
        if isinstance(storage, LogStorage):
            return {"EntryTable": storage.entries.ref, "ObjectBucket": storage.objects.bucket_name}
        places = {
            "MemoryTable": storage.memories.name,
            "ExportBucket": storage.exports.bucket_name,
            "ReindexFunction": self.functions.by_name["reindex"].function_name,
        }
        return places | ({"WriteQueue": storage.writes.queue_url} if storage.writes else {})

    def _mcp_client(self, stage: Stage, url: str) -> JsonObject:
        """An MCP client's configuration: with a token, or through AWS's signing proxy, since MCP clients can't sign."""
        if stage.auth == "jwt":
            return {"type": "http", "url": url, "headers": {"Authorization": "Bearer TOKEN"}}
        signed = ["mcp-proxy-for-aws@latest", url, "--service", "execute-api", "--region", self.region]
        return {"command": "uvx", "args": signed}
