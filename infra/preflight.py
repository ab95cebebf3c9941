"""`python -m infra.preflight --stage prod`: what would fail in the middle of a deployment, said before it begins."""

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import boto3
from botocore.exceptions import BotoCoreError, ClientError, EndpointConnectionError, NoCredentialsError, NoRegionError

from steeltrap.embedders.bedrock import MODELS
from steeltrap.stores.dynamodb.keys import TIME_TO_LIVE, memory_table, usage_table

from .plan import INDEXERS_PER_SHARD, SHARDS
from .search import ENGINE
from .stage import Adopted, Stage, read_stage

BOOTSTRAP: Final = "/cdk-bootstrap/hnb659fds/version"
LEAST_BOOTSTRAP: Final = 6
"""The version of the CDK's bootstrap stack that deploying files requires."""
CALL_SECONDS: Final = 0.1
FUNCTIONS_OF_AN_AGENT: Final = 2
"""The functions that a call through an AgentCore gateway takes: its interceptor, and the one that answers."""

Client = Callable[[str], Any]


def problems(stage: Stage, client: Client) -> Iterator[str]:
    """The obstacles to a deployment, a sentence each. Without credentials or a region nothing else is asked."""
    try:
        client("sts").get_caller_identity()
    except NoRegionError:
        yield "No region is chosen: set AWS_DEFAULT_REGION."
        return
    except (NoCredentialsError, ClientError) as error:
        yield f"This shell is not signed in to AWS: `aws sts get-caller-identity` must answer ({error})."
        return
    for what, check in _CHECKS.items():
        try:
            yield from check(stage, client)
        except EndpointConnectionError as error:
            yield f"The region lacks a service that this stage needs; choose another AWS_DEFAULT_REGION ({error})."
        except (BotoCoreError, ClientError) as error:
            yield f"{what} could not be checked ({error})."


def _bootstrap(stage: Stage, client: Client) -> Iterator[str]:
    ssm = client("ssm")
    try:
        version = int(ssm.get_parameter(Name=BOOTSTRAP)["Parameter"]["Value"])
    except ssm.exceptions.ParameterNotFound:
        version = 0
    if version < LEAST_BOOTSTRAP:
        state = f"has version {version} of it, and {LEAST_BOOTSTRAP} is needed" if version else "has none"
        yield (
            f"The CDK needs a stack of its own in each account and region, and this one {state}: run `make bootstrap`."
        )


def functions_beside_calls(stage: Stage) -> int:
    """The functions that run at once beside those that answer calls of the API: the sweep; an agent's call; and with
    tables the index's own function and its indexers."""
    agents = 0 if stage.agent is None else FUNCTIONS_OF_AN_AGENT
    return 1 + agents + (1 + SHARDS * INDEXERS_PER_SHARD if stage.store == "aws" else 0)


def _concurrency(stage: Stage, client: Client) -> Iterator[str]:
    limit = client("lambda").get_account_settings()["AccountLimit"]["ConcurrentExecutions"]
    beside = functions_beside_calls(stage)
    needed = math.ceil(stage.calls_per_second * CALL_SECONDS) + beside
    if limit >= needed:
        return
    fits = int((limit - beside) / CALL_SECONDS)
    lower = f", or set calls_per_second = {fits} in the stage" if fits > 0 else ""
    yield (
        f"Lambda runs at most {limit} functions at once in this account and region, and this stage may need {needed}: "
        f"ask AWS for more (Service Quotas, Lambda, Concurrent executions){lower}."
    )


def _domain(stage: Stage, client: Client) -> Iterator[str]:
    if stage.store != "aws" or stage.search != "domain":
        return
    domain = stage.domain
    details = client("opensearch").list_instance_type_details(
        EngineVersion=ENGINE, InstanceType=domain.instance, RetrieveAZs=True
    )["InstanceTypeDetails"]
    if not details:
        yield f"This region has no {domain.instance} for {ENGINE}: set another `instance` in the stage's `domain`."
    elif len(details[0].get("AvailabilityZones", ())) < domain.nodes:
        zones = len(details[0].get("AvailabilityZones", ()))
        yield (
            f"{domain.instance} is in {zones} zones of this region, and the stage has {domain.nodes} nodes in as many: "
            "set another `instance` in the stage's `domain`, or one node."
        )


def _model(stage: Stage, client: Client) -> Iterator[str]:
    model = str(stage.settings.get("embedder_model", "")) or MODELS[0].id
    if stage.settings.get("embedder") != "bedrock" or model not in {each.id for each in MODELS}:
        return  # an inference profile or an ARN names its own regions
    bedrock = client("bedrock")
    try:
        bedrock.get_foundation_model(modelIdentifier=model)
    except (bedrock.exceptions.ResourceNotFoundException, bedrock.exceptions.ValidationException):
        yield (
            f"Bedrock has no {model} in this region: set another `embedder_model` in the stage's settings, or choose "
            "another AWS_DEFAULT_REGION."
        )


def _certificate(stage: Stage, client: Client) -> Iterator[str]:
    if not stage.domain_name:
        return
    acm = client("acm")
    region = stage.certificate_arn.split(":")[3]
    if region != acm.meta.region_name:
        yield (
            f"The stage's certificate is in {region}, and its API in {acm.meta.region_name} takes only one of its own "
            "region: request it there, and set `certificate_arn` to its ARN."
        )
        return
    try:
        certificate = acm.describe_certificate(CertificateArn=stage.certificate_arn)["Certificate"]
    except acm.exceptions.ResourceNotFoundException:
        yield "There is no certificate with the stage's `certificate_arn`: `aws acm list-certificates` lists them."
        return
    if certificate.get("Status") != "ISSUED":
        yield (
            f"The certificate for {stage.domain_name} is {certificate.get('Status')}: create the DNS record that "
            "`aws acm describe-certificate` shows, and wait until it is ISSUED."
        )
    names = {certificate.get("DomainName", ""), *certificate.get("SubjectAlternativeNames", ())}
    if not names & {stage.domain_name, f"*.{stage.domain_name.partition('.')[2]}"}:
        yield f"The stage's certificate is for {', '.join(sorted(names))}, not for {stage.domain_name}."


def _tables(stage: Stage, client: Client) -> Iterator[str]:
    if stage.adopt is None:
        return
    dynamodb = client("dynamodb")
    for words in (memory_table(stage.adopt.memories), usage_table(stage.adopt.usage)):
        try:
            table = dynamodb.describe_table(TableName=words["TableName"])["Table"]
        except dynamodb.exceptions.ResourceNotFoundException:
            yield f"There is no table {words['TableName']} to adopt: restore it first, or correct the stage's `adopt`."
            continue
        expires = dynamodb.describe_time_to_live(TableName=words["TableName"])["TimeToLiveDescription"]
        yield from misfits(words, table, expires.get("TimeToLiveStatus", ""), stage.adopt)


def misfits(words: Mapping[str, Any], table: Mapping[str, Any], expires: str, adopt: Adopted) -> Iterator[str]:
    """Faults of an adopted table, and the command that mends each: a restore has no stream and no time to live."""
    name = words["TableName"]
    if _form(table) != _form(words):
        yield f"{name} has other keys or indexes than memories need: adopt a table that steeltrap made, or its restore."
    if table.get("SSEDescription", {}).get("KMSMasterKeyArn") != adopt.key:
        yield f"{name} is not encrypted by the `key` of the stage's `adopt`: `aws dynamodb describe-table` tells which."
    if expires not in ("ENABLED", "ENABLING"):
        yield (
            f"{name} keeps what has expired: run `aws dynamodb update-time-to-live --table-name {name} "
            f"--time-to-live-specification Enabled=true,AttributeName={TIME_TO_LIVE['AttributeName']}`."
        )
    if "StreamSpecification" not in words:
        return
    if not table.get("StreamSpecification", {}).get("StreamEnabled"):
        yield (
            f"{name} has no stream, so nothing would be indexed: run `aws dynamodb update-table --table-name {name} "
            "--stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES`, and write the ARN of its "
            "stream into the stage's `adopt`."
        )
    elif table.get("LatestStreamArn") != adopt.stream:
        yield f"The stream of {name} is {table.get('LatestStreamArn')}: write that into the stage's `adopt`."


def _form(table: Mapping[str, Any]) -> object:
    """A table's keys and indexes, whatever their order."""
    indexes = [*table.get("LocalSecondaryIndexes", ()), *table.get("GlobalSecondaryIndexes", ())]
    return _keys(table), sorted(
        (
            one["IndexName"],
            _keys(one),
            one["Projection"]["ProjectionType"],
            sorted(one["Projection"].get("NonKeyAttributes", ())),
        )
        for one in indexes
    )


def _keys(of: Mapping[str, Any]) -> list[tuple[str, str]]:
    return sorted((key["KeyType"], key["AttributeName"]) for key in of["KeySchema"])


_CHECKS: Final = {
    "The CDK's own stack": _bootstrap,
    "Lambda's concurrency": _concurrency,
    "The domain's instance type": _domain,
    "Bedrock's model": _model,
    "The domain's certificate": _certificate,
    "The adopted tables": _tables,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stage", default="dev")
    stage = read_stage(parser.parse_args().stage)
    faults = list(problems(stage, boto3.session.Session().client))
    for fault in faults:
        print(f"- {fault}", file=sys.stderr)
    if faults:
        sys.exit("Nothing was deployed.")
    print(f"{stage.stack_name}: account and region are ready")


if __name__ == "__main__":
    main()
