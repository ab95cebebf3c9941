"""Where memories are stored: the encryption key, the tables, the bucket of exports, the queues."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from steeltrap.stores.dynamodb.keys import EVERYONE, TIME_TO_LIVE, memory_table, usage_table

from .grants import Grant, Resource
from .stage import Stage

_ENCRYPTED: Final[Mapping[Resource, str]] = {
    **dict.fromkeys(("memories", "usage", "stream", "everyone"), "dynamodb"),
    **dict.fromkeys(("index_dead_letters", "stream_dead_letters", "writes"), "sqs"),
    "exports": "s3",
}
"""The service that uses the key, for each resource encrypted with it."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of this stack, or one that it adopts. `stream` is an ARN, of the memories' table alone."""

    name: str
    arn: str
    stream: str = ""


class Storage(Construct):
    """The tables as their adapter defines them, bucket, queues and key. A stage with `retain` keeps them all.

    Adopted tables and an adopted bucket are not part of the stack, which neither changes nor removes them. They keep
    their key; the queues and the domain get a new one.
    """

    def __init__(self, scope: Construct, stage: Stage) -> None:
        super().__init__(scope, "Storage")
        self._stage = stage
        self._removal = RemovalPolicy.RETAIN if stage.retain else RemovalPolicy.DESTROY
        self.key = kms.Key(self, "Key", enable_key_rotation=True, removal_policy=self._removal)
        # AWS chooses the table's name, so a kept table never conflicts with a new one.
        words = memory_table("memories")
        self.indexes_of_a_user = [index["IndexName"] for index in words["LocalSecondaryIndexes"]]
        adopted = stage.adopt
        if adopted is None:
            self.memories = self._table("Memories", words)
            self.usage = self._table("Usage", usage_table("usage"))
            self.table_key = self.key.key_arn
        else:
            self.memories = Table(adopted.memories, adopted.memories_arn, adopted.stream)
            self.usage = Table(adopted.usage, adopted.usage_arn)
            self.table_key = adopted.key
        kept = adopted.exports if adopted else ""
        self.exports: s3.IBucket = s3.Bucket.from_bucket_name(self, "Exports", kept) if kept else self._bucket()
        self.exports_key = self.table_key if kept else self.key.key_arn
        self.index_dead_letters = self._queue("IndexDeadLetters")
        """Changes that the index permanently rejects."""
        self.stream_dead_letters = self._queue("StreamDeadLetters")
        """Records of the stream that the indexer could not process in time."""
        self.write_dead_letters = self._queue("WriteDeadLetters") if stage.queue_senders else None
        """Messages of the write queue that failed too often."""
        self.writes = self._writes(self.write_dead_letters) if self.write_dead_letters else None

    def environment(self) -> dict[str, str]:
        """The settings that name the tables, the bucket and the queue."""
        return {
            "STEELTRAP_STORE": "aws",
            "STEELTRAP_MEMORY_TABLE": self.memories.name,
            "STEELTRAP_USAGE_TABLE": self.usage.name,
            "STEELTRAP_EXPORT_BUCKET": self.exports.bucket_name,
            "STEELTRAP_INDEX_DEAD_LETTER_QUEUE": self.index_dead_letters.queue_url,
        }

    def arns(self, grant: Grant) -> list[str]:
        table = self.memories.arn
        match grant.resource:
            case "memories":
                queried = self.indexes_of_a_user if "dynamodb:Query" in grant.actions else []
                return [table, *(f"{table}/index/{name}" for name in queried)]
            case "everyone":
                return [f"{table}/index/{EVERYONE}"]
            case "usage":
                return [self.usage.arn]
            case "stream":
                return [self.memories.stream]
            case "streams":
                return [f"{table}/stream/*"]
            case "index_dead_letters":
                return [self.index_dead_letters.queue_arn]
            case "stream_dead_letters":
                return [self.stream_dead_letters.queue_arn]
            case "writes":
                return [self.writes.queue_arn] if self.writes else []
            case "exports":
                return [self.exports.arn_for_objects("exports/*")]
            case "listing":
                return [self.exports.bucket_arn]
        raise AssertionError(f"{grant.resource} is not of a stage with tables")

    def encrypted_by(self, grant: Grant) -> tuple[str, str] | None:
        """The service that encrypts what a grant is for, and the key's ARN."""
        if grant.resource not in _ENCRYPTED:
            return None
        service = _ENCRYPTED[grant.resource]
        keys = {"dynamodb": self.table_key, "sqs": self.key.key_arn, "s3": self.exports_key}
        return service, keys[service]

    def _table(self, id: str, words: Mapping[str, Any]) -> Table:
        table = dynamodb.CfnTable(
            self,
            id,
            billing_mode=words["BillingMode"],
            attribute_definitions=[
                dynamodb.CfnTable.AttributeDefinitionProperty(
                    attribute_name=each["AttributeName"], attribute_type=each["AttributeType"]
                )
                for each in words["AttributeDefinitions"]
            ],
            key_schema=_keys(words),
            local_secondary_indexes=[
                dynamodb.CfnTable.LocalSecondaryIndexProperty(**_index(each))
                for each in words.get("LocalSecondaryIndexes", ())
            ]
            or None,
            global_secondary_indexes=[
                dynamodb.CfnTable.GlobalSecondaryIndexProperty(**_index(each))
                for each in words.get("GlobalSecondaryIndexes", ())
            ]
            or None,
            stream_specification=_stream(words),
            time_to_live_specification=dynamodb.CfnTable.TimeToLiveSpecificationProperty(
                attribute_name=str(TIME_TO_LIVE["AttributeName"]), enabled=True
            ),
            point_in_time_recovery_specification=dynamodb.CfnTable.PointInTimeRecoverySpecificationProperty(
                point_in_time_recovery_enabled=True
            ),
            sse_specification=dynamodb.CfnTable.SSESpecificationProperty(
                sse_enabled=True, sse_type="KMS", kms_master_key_id=self.key.key_arn
            ),
            deletion_protection_enabled=self._stage.retain,
        )
        table.apply_removal_policy(self._removal)
        return Table(table.ref, table.attr_arn, table.attr_stream_arn if "StreamSpecification" in words else "")

    def _bucket(self) -> s3.Bucket:
        """A prefix for each user."""
        return s3.Bucket(
            self,
            "Exports",
            encryption=s3.BucketEncryption.KMS,
            encryption_key=self.key,
            bucket_key_enabled=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            removal_policy=self._removal,
        )

    def _queue(self, id: str, **how: Any) -> sqs.Queue:
        return sqs.Queue(
            self,
            id,
            encryption=sqs.QueueEncryption.KMS,
            encryption_master_key=self.key,
            enforce_ssl=True,
            retention_period=Duration.days(14),
            removal_policy=self._removal,
            **how,
        )

    def _writes(self, undone: sqs.Queue) -> sqs.Queue:
        """Bulk writes. Each message is a call that names its caller, so only the application's own roles may send."""
        queue = self._queue(
            "Writes",
            # Six times the longest write, as Lambda recommends: a message in progress must not be received again.
            visibility_timeout=Duration.minutes(3),
            dead_letter_queue=sqs.DeadLetterQueue(queue=undone, max_receive_count=5),
        )
        senders = [iam.ArnPrincipal(arn) for arn in self._stage.queue_senders]
        queue.add_to_resource_policy(
            iam.PolicyStatement(actions=["sqs:SendMessage"], principals=senders, resources=[queue.queue_arn])
        )
        queue.add_to_resource_policy(
            iam.PolicyStatement(
                effect=iam.Effect.DENY,
                actions=["sqs:SendMessage"],
                principals=[iam.AnyPrincipal()],
                resources=[queue.queue_arn],
                conditions={"ArnNotEquals": {"aws:PrincipalArn": list(self._stage.queue_senders)}},
            )
        )
        self.key.add_to_resource_policy(
            iam.PolicyStatement(
                actions=["kms:GenerateDataKey", "kms:Decrypt"],
                principals=senders,
                resources=["*"],
                conditions={"StringEquals": {"kms:ViaService": f"sqs.{Stack.of(self).region}.amazonaws.com"}},
            )
        )
        return queue


def _keys(words: Mapping[str, Any]) -> Sequence[dynamodb.CfnTable.KeySchemaProperty]:
    return [
        dynamodb.CfnTable.KeySchemaProperty(attribute_name=key["AttributeName"], key_type=key["KeyType"])
        for key in words["KeySchema"]
    ]


def _index(words: Mapping[str, Any]) -> dict[str, Any]:
    projection = dynamodb.CfnTable.ProjectionProperty(
        projection_type=words["Projection"]["ProjectionType"],
        non_key_attributes=words["Projection"].get("NonKeyAttributes"),
    )
    return {"index_name": words["IndexName"], "key_schema": _keys(words), "projection": projection}


def _stream(words: Mapping[str, Any]) -> dynamodb.CfnTable.StreamSpecificationProperty | None:
    stream = words.get("StreamSpecification")
    return stream and dynamodb.CfnTable.StreamSpecificationProperty(stream_view_type=stream["StreamViewType"])
