"""Which of cdk-nag's rules don't hold here, each with why."""

from collections.abc import Mapping
from typing import Final

from aws_cdk import Acknowledgment, App, Validations
from aws_cdk.aws_s3 import CfnBucket
from cdk_nag import AwsSolutionsChecks
from constructs import IConstruct

from .stack import Recollect
from .stage import Stage

_FUNCTIONS: Final = {
    "AwsSolutions-L1": "Functions run on the newest Python that recollect is tested with.",
    "AwsSolutions-IAM5[Resource::*]": "X-Ray's actions know no resources; nothing else is granted on all of them.",
}
_DEAD_LETTERS: Final = {"AwsSolutions-SQS3": "It is where dead letters go, named by what sends them there."}
_EXPORTS: Final = {
    "AwsSolutions-S1": "Every request to the bucket is a function's, and its log says so; CloudTrail's data events "
    "tell more where an account wants that."
}
_DOMAIN: Final = {
    "AwsSolutions-OS1": "Functions outside a VPC start faster and cost no NAT; every request is signed, and each role "
    "may ask for named paths alone.",
    "AwsSolutions-OS3": "Functions have no fixed addresses; IAM decides.",
    "AwsSolutions-OS4": "A stage has three data nodes at most, which elect a master among themselves.",
    "AwsSolutions-OS9[LogExport::SEARCH_SLOW_LOGS]": "Slow logs quote queries, and logs hold no user's text.",
    "AwsSolutions-OS9[LogExport::INDEX_SLOW_LOGS]": "Slow logs quote documents, and logs hold no user's text.",
}
_ONE_NODE: Final = {"AwsSolutions-OS7": "A stage of one node; its index can be built anew from the table."}
_OPEN: Final = {"AwsSolutions-APIG4": "It tells a client without a token where to get one, and nothing else."}
_NUMBERED: Final = "The indices behind the alias carry numbers."


def check(app: App, stack: Recollect, stage: Stage) -> None:
    """Have cdk-nag fail the synthesis for whatever is not acknowledged here."""
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    _acknowledge(stack, several_nodes=stage.domain.nodes > 1)


def _acknowledge(stack: Recollect, *, several_nodes: bool) -> None:
    """Note why, on what each is about."""
    _say(stack.functions, _FUNCTIONS)
    for route in stack.api.open_routes:
        _say(route, _OPEN)
    storage = stack.storage
    for queue in (storage.parked, storage.unread, storage.undone):
        if queue is not None:
            _say(queue, _DEAD_LETTERS)
    table = stack.get_logical_id(storage.memories)
    _say(stack.functions, {f"AwsSolutions-IAM5[Resource::<{table}.Arn>/stream/*]": "A table's streams have no names."})
    _say(storage.exports, _EXPORTS)
    bucket = storage.exports.node.default_child
    assert isinstance(bucket, CfnBucket)
    objects = f"<{stack.get_logical_id(bucket)}.Arn>/exports/*"
    _say(stack.functions, {f"AwsSolutions-IAM5[Resource::{objects}]": "Each user's exports lie under a prefix."})
    if (domain := stack.search.domain) is not None:
        _say(domain, _DOMAIN if several_nodes else _DOMAIN | _ONE_NODE)
        alias = stack.search.alias
        paths = (f"{stack.search.told_arn}/_alias/{alias}*", f"{stack.search.told_arn}/{alias}*")
        _say(stack.functions, {f"AwsSolutions-IAM5[Resource::{path}]": _NUMBERED for path in paths})


def _say(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    rules = [Acknowledgment(id=f"AwsSolutions::{rule}", reason=reason) for rule, reason in reasons.items()]
    Validations.of(construct).acknowledge(*rules)
