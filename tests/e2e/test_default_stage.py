"""The stage `dev` as infra/stages.toml has it, deployed, and called with signatures by two users of the account.

The emulator checks every signature and every policy: also whether the functions' roles may do what they do.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest
from infra.stage import read_stage

from components import aws_iam_url
from e2e.deployment import Aws, Deployment, access_key, deployed_stage
from steeltrap.toolsets import CATALOGUE
from surfaces import scenarios

CALLERS = ("ana", "bob", "stranger")


@pytest.fixture(scope="module")
def aws() -> Aws:
    return Aws(aws_iam_url())


@pytest.fixture(scope="module")
def newcomer(aws: Aws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The stage that `make deploy` deploys."""
    with deployed_stage(aws, read_stage("dev"), tmp_path_factory.mktemp("dev")) as stack:
        yield stack


@pytest.fixture(scope="module")
def keys(aws: Aws, newcomer: Deployment) -> Iterator[Mapping[str, Any]]:
    """Access keys of the account's users. All but the stranger may call the API."""
    with ExitStack() as made:
        yield {
            name: made.enter_context(access_key(aws, newcomer, name, may_call=name != "stranger")) for name in CALLERS
        }


@pytest.mark.parametrize("toolset", CATALOGUE.toolsets)
def test_every_tool_answers_who_signs(toolset: str, newcomer: Deployment, keys: Mapping[str, Any]) -> None:
    if toolset == "categories":
        pytest.skip("a signature names no agent, which this toolset needs")

    def run(name: str, **arguments: Any) -> Any:
        status, body = newcomer.call_signed(name, keys["ana"], **arguments)
        assert status == 200, body
        return body

    getattr(scenarios, toolset)(run)


def test_each_signer_has_memories_of_their_own(newcomer: Deployment, keys: Mapping[str, Any]) -> None:
    _, saved = newcomer.call_signed("core.save", keys["bob"], content="The safe's code is 4711.")
    status, body = newcomer.call_signed("core.get", keys["ana"], id=saved["id"])
    assert status == 404
    assert "4711" not in json.dumps(body)
    _, found = newcomer.call_signed("core.search", keys["bob"], query="safe code")
    assert [hit["id"] for hit in found["results"]] == [saved["id"]]


def test_who_may_not_call_or_does_not_sign_is_refused(newcomer: Deployment, keys: Mapping[str, Any]) -> None:
    assert newcomer.call_signed("core.stats", keys["stranger"])[0] == 403
    assert newcomer.post("/v1/core/stats", "{}", None)[0] == 403
    forged = {**keys["ana"], "SecretAccessKey": keys["bob"]["SecretAccessKey"]}
    assert newcomer.call_signed("core.stats", forged)[0] == 403


def test_a_function_whose_role_lacks_a_right_says_which(
    aws: Aws, newcomer: Deployment, keys: Mapping[str, Any]
) -> None:
    iam, functions = aws.client("iam"), aws.client("lambda")
    role = functions.get_function_configuration(FunctionName="steeltrap-dev-http")["Role"].rpartition("/")[2]
    granted = iam.get_role_policy(RoleName=role, PolicyName="tools")["PolicyDocument"]
    without = json.dumps(granted).replace("dynamodb:Query", "dynamodb:DescribeTable")
    iam.put_role_policy(RoleName=role, PolicyName="tools", PolicyDocument=without)
    try:
        status, body = newcomer.call_signed("core.stats", keys["bob"])
    finally:
        iam.put_role_policy(RoleName=role, PolicyName="tools", PolicyDocument=json.dumps(granted))
    assert status == 503, body
    assert "grant dynamodb:Query" in body["detail"]


def test_a_forgotten_memory_is_in_no_object_and_no_item(
    aws: Aws, newcomer: Deployment, keys: Mapping[str, Any]
) -> None:
    def call(tool: str, **arguments: Any) -> Any:
        status, body = newcomer.call_signed(tool, keys["bob"], **arguments)
        assert status == 200, body
        return body

    saved = call("core.save", content="Xylophone lessons are on Thursdays.")
    assert call("core.forget", id=saved["id"])["verified"]
    store, bucket = aws.client("s3"), newcomer.outputs["ObjectBucket"]
    names = [each["Key"] for each in store.list_objects_v2(Bucket=bucket)["Contents"]]
    assert any("/b/" in name for name in names)
    hits = call("core.search", query="xylophone lessons")["results"]
    assert saved["id"] not in [hit["id"] for hit in hits]


def test_the_daily_sweep_reaches_who_has_a_marker(aws: Aws, newcomer: Deployment, keys: Mapping[str, Any]) -> None:
    newcomer.call_signed("core.save", keys["bob"], content="The bakery opens at six.")
    store, bucket = aws.client("s3"), newcomer.outputs["ObjectBucket"]

    def names(part: str) -> list[str]:
        return [each["Key"] for each in store.list_objects_v2(Bucket=bucket)["Contents"] if part in each["Key"]]

    marker = names("who/")[0].replace("who/", "due/2026-01-31T09-000000000001/")
    store.put_object(Bucket=bucket, Key=marker, Body=b"")
    answered = aws.client("lambda").invoke(FunctionName="steeltrap-dev-maintenance", Payload=b"{}")
    done = json.loads(answered["Payload"].read())
    assert done["users"] >= 1, done
    assert done["failed"] == 0
    assert marker not in names("due/")
