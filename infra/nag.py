"""The cdk-nag rules that this stack acknowledges, each with the reason."""

from collections.abc import Mapping
from typing import Final

from aws_cdk import Acknowledgment, App, Validations
from aws_cdk.aws_s3 import Bucket
from cdk_nag import AwsSolutionsChecks
from constructs import IConstruct

from .log_storage import LogStorage
from .stack import Steeltrap
from .stage import Stage
from .storage import Storage

_FUNCTIONS: Final = {
    "AwsSolutions-L1": "Functions run on the newest Python that steeltrap is tested with.",
    "AwsSolutions-IAM5[Resource::*]": "X-Ray's actions know no resources; nothing else is granted on all of them.",
}
_DEAD_LETTERS: Final = {"AwsSolutions-SQS3": "It is itself a dead-letter queue."}
_CALLED_BY_FUNCTIONS: Final = {
    "AwsSolutions-S1": "Only functions call the bucket, and they log each call; CloudTrail's data events can add more."
}
_ENTRIES: Final = {
    "AwsSolutions-DDB3": "Recovery would keep forgotten memories for 35 days; the entries are a history themselves."
}
_DOMAIN: Final = {
    "AwsSolutions-OS1": "Functions outside a VPC start faster and cost no NAT; every request is signed, and each role "
    "may call named paths only.",
    "AwsSolutions-OS3": "Functions have no fixed addresses; IAM decides.",
    "AwsSolutions-OS4": "A stage has three data nodes at most, which elect a master among themselves.",
    "AwsSolutions-OS9[LogExport::SEARCH_SLOW_LOGS]": "Slow logs quote queries, and logs hold no user's text.",
    "AwsSolutions-OS9[LogExport::INDEX_SLOW_LOGS]": "Slow logs quote documents, and logs hold no user's text.",
}
_ONE_NODE: Final = {"AwsSolutions-OS7": "A stage of one node; its index can be rebuilt from the table."}
_OPEN: Final = {"AwsSolutions-APIG4": "It only tells clients without a token where to get one."}
_PREFLIGHT: Final = {"AwsSolutions-APIG4": "Browsers ask without a token which pages may call; nothing else is told."}
_STREAMS: Final = "A table's streams have no names."
_ALL_OBJECTS: Final = "The bucket holds nothing but the log of the stage's users, whom each function serves all."
_PREFIXES: Final = "Each user's exports are stored under a prefix."
_NUMBERED: Final = "The names of the indices behind the alias end in numbers."


def check(app: App, stack: Steeltrap, stage: Stage) -> None:
    """Make cdk-nag fail the synthesis for any finding that is not acknowledged here."""
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    _acknowledge(stack, several_nodes=stage.domain.nodes > 1)


def _acknowledge(stack: Steeltrap, *, several_nodes: bool) -> None:
    """Attach each reason to the construct that it is about."""
    _say(stack.functions, _FUNCTIONS)
    for route in stack.api.open_routes:
        _say(route, _OPEN)
    for route in stack.api.preflight_routes:
        _say(route, _PREFLIGHT)
    storage = stack.storage
    if isinstance(storage, LogStorage):
        _say(storage.objects, _CALLED_BY_FUNCTIONS)
        _say(storage.entries, _ENTRIES)
        objects = _nag_arn(stack, storage.objects.bucket_arn)
        _say(stack.functions, {f"AwsSolutions-IAM5[Resource::{objects}/*]": _ALL_OBJECTS})
    else:
        _acknowledge_tables(stack, storage)
    if stack.search is not None and (domain := stack.search.domain) is not None:
        _say(domain, _DOMAIN if several_nodes else _DOMAIN | _ONE_NODE)
        alias, arn = stack.search.alias, _nag_arn(stack, stack.search.arn)
        paths = (f"{arn}/_alias/{alias}*", f"{arn}/{alias}*")
        _say(stack.functions, {f"AwsSolutions-IAM5[Resource::{path}]": _NUMBERED for path in paths})


def _acknowledge_tables(stack: Steeltrap, storage: Storage) -> None:
    for queue in (storage.index_dead_letters, storage.stream_dead_letters, storage.write_dead_letters):
        if queue is not None:
            _say(queue, _DEAD_LETTERS)
    _say(stack.functions, {f"AwsSolutions-IAM5[Resource::{_nag_arn(stack, storage.memories.arn)}/stream/*]": _STREAMS})
    _say(
        stack.functions,
        {f"AwsSolutions-IAM5[Resource::{_nag_arn(stack, storage.exports.bucket_arn)}/exports/*]": _PREFIXES},
    )
    if isinstance(storage.exports, Bucket):
        _say(storage.exports, _CALLED_BY_FUNCTIONS)


def _nag_arn(stack: Steeltrap, arn: str) -> str:
    """An ARN as cdk-nag writes it: `<AWS::Region>` for what is known later, `<Logical.Arn>` for a resource's own."""
    match stack.resolve(arn):
        case {"Fn::GetAtt": [id, attribute]}:
            return f"<{id}.{attribute}>"
        case {"Fn::Join": [between, parts]}:
            return str(between).join(part if isinstance(part, str) else f"<{part['Ref']}>" for part in parts)
        case plain:
            return str(plain)


def _say(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    rules = [Acknowledgment(id=f"AwsSolutions::{rule}", reason=reason) for rule, reason in reasons.items()]
    Validations.of(construct).acknowledge(*rules)
