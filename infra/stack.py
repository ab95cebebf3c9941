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
from steeltrap.tools import Catalogue

from . import grants
from .agents import Agents
from .api import Api
from .functions import Functions, Packed
from .plan import http_function, mcp_function, tool_functions
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
        self.storage = Storage(self, stage)
        self.search = Search(self, stage, self.storage.key)
        self.functions = Functions(self, stage, self.storage, self.search, packed=packed)
        self.api = Api(self, stage)
        self._serve(stage, catalogue)
        self.agents = Agents(self, stage, stage.agent, catalogue, self.functions) if stage.agent else None
        self._index_stream()
        self._schedule_upkeep(stage)
        made = self.functions.made
        if unknown := set(stage.snap_start) - set(made):
            raise ValueError(f"`snap_start` names {', '.join(sorted(unknown))}; there are: {', '.join(made)}")
        watch = Watch(self, stage, self.storage)
        watch.alarms(self.api, self.storage, self.search, made)
        watch.dashboard(self.api, self.storage, made)
        self._add_outputs(stage)

    def _serve(self, stage: Stage, catalogue: Catalogue) -> None:
        """One function per operation with the routes of its tools, and one for MCP; or one function for everything."""
        each = [*tool_functions(catalogue), mcp_function(catalogue)]
        for plan in each if stage.functions == "each" else [http_function(catalogue)]:
            queue = self.storage.writes if plan.name == _SAVES else None
            function = self.functions.add(
                plan.name,
                [*grants.tool_grants(plan), *([grants.RECEIVE_WRITES] if queue else [])],
                timeout=plan.timeout,
                bundle=plan.bundle,
                environment={"STEELTRAP_QUEUE_CALLERS": "true"} if queue else None,
            )
            # Unknown paths go to the function with the fewest rights, if there are several: `get` may read memories
            # and count the reads, but not change memories, search the index or use the embedder.
            self.api.serve(plan, function, any_other=plan.name in ("get", "http"))
            if queue:
                self._consume_writes(function, queue)

        if stage.auth == "jwt":
            # A separate function, so that requests without a token never reach one that can read memories.
            metadata = self.functions.add(
                "metadata",
                grants.METADATA,
                timeout=10,
                environment={"STEELTRAP_SERVICE": stage.stack_name, "STEELTRAP_OIDC_ISSUER": stage.issuer},
                opens_store=False,
            )
            self.api.serve_open(metadata, (WELL_KNOWN, f"{WELL_KNOWN}/{{path+}}"))

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

    def _index_stream(self) -> None:
        """Send the stream's changes to the indexer: in order, bisecting failed batches, with a dead-letter queue."""
        indexer = self.functions.add("indexer", grants.INDEXER, timeout=60)
        lambda_.CfnEventSourceMapping(
            self,
            "Follow",
            function_name=indexer.function_arn,
            event_source_arn=self.storage.memories.stream,
            starting_position="TRIM_HORIZON",
            batch_size=100,
            maximum_batching_window_in_seconds=0,
            parallelization_factor=4,
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
                    destination=self.storage.stream_dead_letters.queue_arn
                )
            ),
        )

    def _schedule_upkeep(self, stage: Stage) -> None:
        """Schedule the upkeep functions, and create the index on the first deployment."""
        maintenance = self.functions.add("maintenance", grants.MAINTENANCE, timeout=_QUARTER_HOUR)
        reindex = self.functions.add("reindex", grants.REINDEX, timeout=_QUARTER_HOUR)
        for id, function, every in (("Hourly", maintenance, Duration.hours(1)), ("Daily", reindex, Duration.days(1))):
            # The next scheduled run is soon enough.
            function.configure_async_invoke(retry_attempts=0)
            rule = events.Rule(self, id, schedule=events.Schedule.rate(every))
            rule.add_target(targets.LambdaFunction(function))
        made = CustomResource(
            self,
            "Index",
            service_token=reindex.function_arn,
            service_timeout=Duration.seconds(_QUARTER_HOUR + 60),
            # CloudFormation calls it again when one of these changes.
            properties={"Url": self.search.url, "Index": stage.index},
        )
        made.node.add_dependency(self.search)

    def _add_outputs(self, stage: Stage) -> None:
        """Output what clients need in their configuration."""
        url = self.api.url
        CfnOutput(self, "Url", value=url, description="Tools answer by POST to {Url}/v1/{toolset}/{tool}")
        client = json.dumps({"mcpServers": {"steeltrap": self._mcp_client(stage, f"{url}/mcp")}})
        CfnOutput(self, "McpClient", value=client, description="For an MCP client's configuration")
        for id, value in (
            ("MemoryTable", self.storage.memories.name),
            ("Settings", self.functions.shell_settings()),
            ("ExportBucket", self.storage.exports.bucket_name),
            ("ReindexFunction", self.functions.made["reindex"].function_name),
        ):
            CfnOutput(self, id, value=value)
        if self.storage.writes is not None:
            CfnOutput(self, "WriteQueue", value=self.storage.writes.queue_url)

    def _mcp_client(self, stage: Stage, url: str) -> JsonObject:
        """An MCP client's configuration: with a token, or through AWS's signing proxy, since MCP clients can't sign."""
        if stage.auth == "jwt":
            return {"type": "http", "url": url, "headers": {"Authorization": "Bearer TOKEN"}}
        signed = ["mcp-proxy-for-aws@latest", url, "--service", "execute-api", "--region", self.region]
        return {"command": "uvx", "args": signed}
