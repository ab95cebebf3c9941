"""The services of AWS that the product and its deployment ask, on each emulator: queues, keys, parameters, stacks."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import boto3
import pytest
from aws_cdk import App, Stack
from infra.preflight import BOOTSTRAP, problems
from infra.stage import Stage
from infra.storage import Storage

from components import check_node
from contracts import aws_emulators
from steeltrap.errors import Unavailable
from steeltrap.model import UserRef
from steeltrap.ports import DeadLetter
from steeltrap.stores.dynamodb.stream import DeadLetterQueue
from steeltrap.stores.files.s3 import BucketFiles

options = aws_emulators.options
_LETTER = DeadLetter(user="u", id="i", index_version=7, error="mapper_parsing_exception")
_STAGE = Stage(
    name="services",
    store="aws",
    functions="each",
    search="endpoint",
    endpoint="https://search.example",
    retain=False,
    queue_senders=("arn:aws:iam::000000000000:role/application",),
)
_KINDS = ("AWS::KMS::Key", "AWS::S3::Bucket", "AWS::SQS::Queue")
_numbers = count()

Client = Callable[[str], Any]


@pytest.fixture
def client(options: dict[str, Any]) -> Iterator[Client]:
    made: dict[str, Any] = {}

    def client(service: str) -> Any:
        if service not in made:
            made[service] = boto3.session.Session().client(service, **options)
        return made[service]

    yield client
    for each in made.values():
        each.close()


@pytest.fixture
def name() -> str:
    """A name that nothing has."""
    return f"steeltrap-services-{os.getpid()}-{next(_numbers)}"


@pytest.fixture
def queue(client: Client, name: str) -> Iterator[str]:
    url = client("sqs").create_queue(QueueName=name)["QueueUrl"]
    yield url
    client("sqs").delete_queue(QueueUrl=url)


def test_a_dead_letter_is_in_its_queue_with_what_a_replay_needs(
    client: Client, queue: str, options: dict[str, Any]
) -> None:
    DeadLetterQueue(queue, **options)(_LETTER)
    [message] = client("sqs").receive_message(QueueUrl=queue)["Messages"]
    body = {"user": "u", "id": "i", "index_version": 7, "error": "mapper_parsing_exception"}
    assert json.loads(message["Body"]) == body


def test_a_dead_letter_for_a_queue_that_is_not_there_is_not_taken_for_sent(
    client: Client, name: str, options: dict[str, Any]
) -> None:
    url = client("sqs").create_queue(QueueName=name)["QueueUrl"]
    client("sqs").delete_queue(QueueUrl=url)
    with pytest.raises(Unavailable, match="dead-letter queue"):
        DeadLetterQueue(url, **options)(_LETTER)


def test_a_message_that_was_received_too_often_goes_to_the_dead_letters(client: Client, queue: str, name: str) -> None:
    sqs = client("sqs")
    dead = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": dead, "maxReceiveCount": 2})
    writes = sqs.create_queue(
        QueueName=f"{name}-writes", Attributes={"RedrivePolicy": policy, "VisibilityTimeout": "0"}
    )["QueueUrl"]
    sqs.send_message(QueueUrl=writes, MessageBody="poison")
    seen = [len(sqs.receive_message(QueueUrl=writes).get("Messages", ())) for _ in range(3)]
    assert seen == [1, 1, 0]
    assert [each["Body"] for each in sqs.receive_message(QueueUrl=queue)["Messages"]] == ["poison"]
    sqs.delete_queue(QueueUrl=writes)


def test_exports_in_a_bucket_with_a_key_are_encrypted_by_it_and_read_again(
    client: Client, name: str, options: dict[str, Any]
) -> None:
    key = client("kms").create_key()["KeyMetadata"]["Arn"]
    rule = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key}}
    s3 = client("s3")
    s3.create_bucket(Bucket=name)
    s3.put_bucket_encryption(Bucket=name, ServerSideEncryptionConfiguration={"Rules": [rule]})
    files = BucketFiles(name, **options)
    files.files(UserRef("ana")).write("a.json", b"x")
    stored = s3.head_object(Bucket=name, Key=f"exports/{UserRef('ana').key}/a.json")
    assert (stored["ServerSideEncryption"], stored["SSEKMSKeyId"]) == ("aws:kms", key)
    assert files.files(UserRef("ana")).read("a.json", max_bytes=1) == b"x"
    assert files.forget_user(UserRef("ana")) is True
    s3.delete_bucket(Bucket=name)


def test_what_a_deployment_needs_of_an_account_is_asked_of_it(client: Client) -> None:
    assert [each for each in problems(_STAGE, client) if "make bootstrap" in each]
    client("ssm").put_parameter(Name=BOOTSTRAP, Value="30", Type="String")
    found = list(problems(_STAGE, client))
    client("ssm").delete_parameter(Name=BOOTSTRAP)
    # Not all emulators know Lambda's limits, and that is said, too.
    assert [each for each in found if not each.startswith("Lambda's concurrency could not be checked")] == []


@pytest.mark.parametrize("options", aws_emulators.STACKS, indirect=True)
def test_bucket_key_and_queues_are_made_as_the_stack_declares_them(client: Client, name: str, tmp_path: Path) -> None:
    with made(client("cloudformation"), name, tmp_path) as ids:
        [key], [bucket] = ids["AWS::KMS::Key"], ids["AWS::S3::Bucket"]
        assert client("kms").get_key_rotation_status(KeyId=key)["KeyRotationEnabled"]
        blocked = client("s3").get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"]
        assert len(blocked) == 4
        assert all(blocked.values())
        queues = [
            client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
            for url in ids["AWS::SQS::Queue"]
        ]
        assert {queue["MessageRetentionPeriod"] for queue in queues} == {"1209600"}
        [writes] = [queue for queue in queues if "RedrivePolicy" in queue]
        undone = json.loads(writes["RedrivePolicy"])
        assert writes["VisibilityTimeout"] == "180"
        assert int(undone["maxReceiveCount"]) == 5
        assert undone["deadLetterTargetArn"] in {queue["QueueArn"] for queue in queues}


@contextmanager
def made(formation: Any, name: str, folder: Path) -> Iterator[dict[str, list[str]]]:
    """The ids of what the stack declares but its tables, by type; gone in the end."""
    check_node()
    app = App(outdir=str(folder))
    Storage(Stack(app, name), _STAGE)
    app.synth()
    declared = json.loads((folder / f"{name}.template.json").read_text())["Resources"]
    resources = {id: each for id, each in declared.items() if each["Type"] in _KINDS}
    formation.create_stack(StackName=name, TemplateBody=json.dumps({"Resources": resources}))
    formation.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    ids: dict[str, list[str]] = {}
    for each in formation.describe_stack_resources(StackName=name)["StackResources"]:
        ids.setdefault(each["ResourceType"], []).append(each["PhysicalResourceId"])
    yield ids
    formation.delete_stack(StackName=name)
    formation.get_waiter("stack_delete_complete").wait(StackName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 60})
