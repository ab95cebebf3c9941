"""The grants of each function, derived from what its tools need: our names for resources, IAM's for actions. No CDK."""

from dataclasses import dataclass
from typing import Final, Literal

from .plan import FunctionPlan
from .stage import Stage

Resource = Literal[
    "memories",
    "everyone",
    "usage",
    "stream",
    "streams",
    "index",
    "embedder",
    "exports",
    "listing",
    "index_dead_letters",
    "stream_dead_letters",
    "writes",
    "entries",
    "objects",
    "traces",
]


@dataclass(frozen=True, slots=True)
class Grant:
    """Actions on one resource. `paths` are the index's that they are for."""

    resource: Resource
    actions: tuple[str, ...]
    paths: tuple[str, ...] = ()


READ_MEMORIES: Final = Grant("memories", ("dynamodb:BatchGetItem", "dynamodb:Query"))
WRITE_MEMORIES: Final = Grant(
    "memories",
    (
        *("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem"),
        "dynamodb:ConditionCheckItem",
    ),
)
COUNT_USAGE: Final = Grant("usage", ("dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:UpdateItem"))
FORGET_USAGE: Final = Grant("usage", ("dynamodb:DeleteItem", "dynamodb:BatchWriteItem"))
TRACE: Final = Grant("traces", ("xray:PutTraceSegments", "xray:PutTelemetryRecords"))
EMBED: Final = Grant("embedder", ("bedrock:InvokeModel",))
USE_FILES: Final = Grant("exports", ("s3:GetObject", "s3:PutObject"))
LIST_FILES: Final = Grant("listing", ("s3:ListBucket",))

READ_INDEX: Final = Grant("index", ("es:ESHttpPost", "es:ESHttpGet"), ("_msearch", "{alias}/_mapping"))
# A task that runs `steeltrap admin index --once` in this role refreshes at its end.
WRITE_INDEX: Final = Grant(
    "index",
    ("es:ESHttpPost", "es:ESHttpGet"),
    ("_bulk", "_alias/{alias}*", "{alias}/_refresh", "{alias}-next/_refresh"),
)
MANAGE_INDEX: Final = Grant(
    "index",
    ("es:ESHttpGet", "es:ESHttpPost", "es:ESHttpPut", "es:ESHttpDelete"),
    ("{alias}*", "_alias/{alias}*", "_aliases", "_index_template/{alias}", "_bulk"),
)
READ_STREAM: Final = Grant("stream", ("dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:DescribeStream"))
LIST_STREAMS: Final = Grant("streams", ("dynamodb:ListStreams",))
SEND_INDEX_DEAD_LETTERS: Final = Grant("index_dead_letters", ("sqs:SendMessage",))
SEND_STREAM_DEAD_LETTERS: Final = Grant("stream_dead_letters", ("sqs:SendMessage",))
RECEIVE_WRITES: Final = Grant("writes", ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"))
EVERYONE: Final = Grant("everyone", ("dynamodb:Query",))
SCAN: Final = Grant("memories", ("dynamodb:Scan",))


USE_ENTRIES: Final = Grant(
    "entries",
    (
        *("dynamodb:Query", "dynamodb:GetItem", "dynamodb:BatchGetItem"),
        *("dynamodb:PutItem", "dynamodb:BatchWriteItem"),
    ),
)
COUNT_CALLS: Final = Grant("entries", ("dynamodb:UpdateItem",))
USE_OBJECTS: Final = Grant("objects", ("s3:GetObject", "s3:PutObject", "s3:DeleteObject"))
LIST_OBJECTS: Final = Grant("listing", ("s3:ListBucket",))
LOG: Final = (TRACE, USE_ENTRIES, USE_OBJECTS, LIST_OBJECTS, EMBED)
"""The rights of a function over a bucket, whichever tools it serves: reads and the sweep may put bases too."""


def tool_grants(plan: FunctionPlan, stage: Stage) -> list[Grant]:
    """The grants of a function that serves tools: what its tools need together, and nothing else."""
    if stage.store == "bucket":
        return [*LOG, *([COUNT_CALLS] if stage.counts_calls else [])]
    grants = [TRACE, READ_MEMORIES, COUNT_USAGE]
    if plan.access == "write":
        grants += [WRITE_MEMORIES, FORGET_USAGE]
    needs = {tool.needs for tool in plan.tools}
    if needs != {"store"}:
        grants.append(EMBED)
    if "index" in needs:
        grants.append(READ_INDEX)
    if any(tool.files for tool in plan.tools):
        grants += [USE_FILES, LIST_FILES]
    return grants


METADATA: Final = (TRACE,)
INDEXER: Final = (
    *(TRACE, READ_MEMORIES, WRITE_INDEX, READ_STREAM, LIST_STREAMS),
    *(SEND_INDEX_DEAD_LETTERS, SEND_STREAM_DEAD_LETTERS),
)
MAINTENANCE: Final = (TRACE, READ_MEMORIES, EVERYONE, COUNT_USAGE, WRITE_MEMORIES, FORGET_USAGE, EMBED, READ_INDEX)
REINDEX: Final = (TRACE, READ_MEMORIES, SCAN, MANAGE_INDEX)
