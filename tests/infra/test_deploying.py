"""`make deploy` checks an account before it begins, and changes it in the end."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import boto3
import pytest
from aws_cdk import App
from botocore.exceptions import NoCredentialsError, NoRegionError
from botocore.stub import Stubber
from infra.bundle import ROOT
from infra.github import GitHub
from infra.preflight import BOOTSTRAP, misfits, problems
from infra.protect import POLICY, nobody_is_told, protect
from infra.stage import Stage, read_stage
from synthesised import STAGES, Template, told

from components import check_node
from steeltrap.stores.dynamodb.keys import memory_table

Answers = dict[tuple[str, str], Any]
"""The answers of an account: by service and operation a response, or an error's code."""

READY: Answers = {
    ("sts", "get_caller_identity"): {"Account": "123456789012"},
    ("ssm", "get_parameter"): {"Parameter": {"Name": BOOTSTRAP, "Value": "30"}},
    ("lambda", "get_account_settings"): {"AccountLimit": {"ConcurrentExecutions": 1000}},
    ("opensearch", "list_instance_type_details"): {
        "InstanceTypeDetails": [{"InstanceType": "m7g.medium.search", "AvailabilityZones": ["a", "b", "c"]}]
    },
    ("bedrock", "get_foundation_model"): {
        "modelDetails": {"modelArn": "arn:aws:bedrock:us-east-1::foundation-model/x", "modelId": "x"}
    },
}
NEW_ACCOUNT: Answers = {("lambda", "get_account_settings"): {"AccountLimit": {"ConcurrentExecutions": 10}}}
PROD = Stage(
    name="prod",
    store="aws",
    domain={"instance": "m7g.medium.search", "nodes": 3},
    settings={"embedder": "bedrock"},
)


@pytest.fixture
def account() -> Iterator[Callable[[Answers], Callable[[str], Any]]]:
    """Makes clients of an account that is ready but for what is given."""
    with ExitStack() as stubs:

        def clients(wrong: Answers) -> Callable[[str], Any]:
            answers = READY | wrong

            def client(service: str) -> Any:
                made = boto3.client(service, "us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
                stub = stubs.enter_context(Stubber(made))
                for (of, operation), answer in answers.items():
                    if of == service and isinstance(answer, str):
                        stub.add_client_error(operation, service_error_code=answer)
                    elif of == service:
                        stub.add_response(operation, answer)
                return made

            return client

        yield clients


def test_an_account_that_is_ready_is_let_pass(account: Callable[[Answers], Any]) -> None:
    assert list(problems(PROD, account({}))) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({("sts", "get_caller_identity"): "ExpiredToken"}, "not signed in to AWS"),
        ({("ssm", "get_parameter"): "ParameterNotFound"}, "make bootstrap"),
        ({("ssm", "get_parameter"): {"Parameter": {"Value": "5"}}}, "version 5 of it, and 6 is needed"),
        (
            NEW_ACCOUNT,
            "may need 11: ask AWS for more (Service Quotas, Lambda, Concurrent executions), or set calls_per_second",
        ),
        ({("opensearch", "list_instance_type_details"): {"InstanceTypeDetails": []}}, "no m7g.medium.search"),
        (
            {
                ("opensearch", "list_instance_type_details"): {
                    "InstanceTypeDetails": [{"InstanceType": "m7g.medium.search", "AvailabilityZones": ["a", "b"]}]
                }
            },
            "2 zones",
        ),
        ({("bedrock", "get_foundation_model"): "ValidationException"}, "Bedrock has no amazon.titan"),
        ({("lambda", "get_account_settings"): "AccessDeniedException"}, "could not be checked"),
    ],
)
def test_what_would_fail_in_the_middle_of_a_deployment_is_said_before_it(
    wrong: Answers, said: str, account: Callable[[Answers], Any]
) -> None:
    [problem] = problems(PROD, account(wrong))
    assert said in problem
    assert problem.endswith(".")


CERTIFICATE = "arn:aws:acm:{}:123456789012:certificate/0b2f1c3d-0000-4000-8000-000000000000"


def _certified(**found: Any) -> Answers:
    certificate = {"DomainName": "memory.example.com", "Status": "ISSUED", **found}
    return {("acm", "describe_certificate"): {"Certificate": certificate}}


def _own_domain(region: str = "us-east-1") -> Stage:
    return Stage(name="own", domain_name="memory.example.com", certificate_arn=CERTIFICATE.format(region))


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"DomainName": "*.example.com"},
        {"DomainName": "example.com", "SubjectAlternativeNames": ["example.com", "memory.example.com"]},
    ],
)
def test_a_certificate_for_the_domain_is_let_pass(found: dict[str, Any], account: Callable[[Answers], Any]) -> None:
    assert list(problems(_own_domain(), account(_certified(**found)))) == []


@pytest.mark.parametrize(
    ("region", "answer", "said"),
    [
        ("eu-west-1", {}, "is in eu-west-1, and its API in us-east-1 takes only one of its own region"),
        ("us-east-1", {("acm", "describe_certificate"): "ResourceNotFoundException"}, "There is no certificate"),
        ("us-east-1", {("acm", "describe_certificate"): "AccessDeniedException"}, "could not be checked"),
        ("us-east-1", _certified(Status="PENDING_VALIDATION"), "is PENDING_VALIDATION: create the DNS record"),
        ("us-east-1", _certified(DomainName="other.example.com"), "for other.example.com, not for memory.example.com"),
        ("us-east-1", _certified(DomainName="*.memory.example.com"), "for *.memory.example.com, not for"),
        ("us-east-1", _certified(DomainName="*.com"), "for *.com, not for"),
    ],
)
def test_a_certificate_that_the_domain_can_t_use_is_said_before_a_deployment(
    region: str, answer: Answers, said: str, account: Callable[[Answers], Any]
) -> None:
    [problem] = problems(_own_domain(region), account(answer))
    assert said in problem
    assert problem.endswith(".")


@pytest.mark.parametrize(
    ("fault", "said"), [(NoRegionError(), "AWS_DEFAULT_REGION"), (NoCredentialsError(), "signed in")]
)
def test_a_shell_without_credentials_or_region_is_told_so_and_asked_nothing_else(fault: Exception, said: str) -> None:
    asked = []

    def client(service: str) -> Any:
        asked.append(service)
        raise fault

    [problem] = problems(PROD, client)
    assert said in problem
    assert asked == ["sts"]


def test_the_stage_of_a_newcomer_asks_for_nothing_that_a_new_account_lacks() -> None:
    stage = read_stage("dev")
    asked = []

    def client(service: str) -> Any:
        asked.append(service)
        made = boto3.client(service, "us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
        stub = Stubber(made)
        for (of, operation), answer in (READY | NEW_ACCOUNT).items():
            if of == service:
                stub.add_response(operation, answer)
        stub.activate()
        return made

    assert list(problems(stage, client)) == []
    assert asked == ["sts", "ssm", "lambda"]


def test_what_holds_memories_is_protected_from_later_deployments() -> None:
    formation = boto3.client("cloudformation", "us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    with Stubber(formation) as stub:
        stub.add_response(
            "set_stack_policy", {}, {"StackName": "steeltrap-prod", "StackPolicyBody": json.dumps(POLICY)}
        )
        assert protect(PROD, formation) is True
        stub.assert_no_pending_responses()
        assert protect(PROD.model_copy(update={"retain": False}), formation) is False
    allowed, denied = POLICY["Statement"]
    assert (allowed["Effect"], allowed["Action"]) == ("Allow", "Update:*")
    assert (denied["Effect"], denied["Action"]) == ("Deny", ["Update:Replace", "Update:Delete"])
    assert denied["Condition"] == {
        "StringEquals": {"ResourceType": ["AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::KMS::Key"]}
    }


def test_the_last_line_of_a_deployment_says_that_nobody_hears_of_alarms() -> None:
    assert "`alarm_email`" in nobody_is_told(PROD)
    assert nobody_is_told(PROD.model_copy(update={"alarm_email": "ops@example.com"})) == ""
    assert nobody_is_told(read_stage("dev")) == ""


ADOPTED = STAGES["adopted"].adopt
assert ADOPTED is not None
MEMORIES = memory_table("restored")
AS_IT_MUST_BE = {
    **MEMORIES,
    "SSEDescription": {"KMSMasterKeyArn": ADOPTED.key},
    "LatestStreamArn": ADOPTED.stream,
}


@pytest.mark.parametrize(
    ("wrong", "expires", "said"),
    [
        ({}, "ENABLED", None),
        ({"LocalSecondaryIndexes": list(reversed(MEMORIES["LocalSecondaryIndexes"]))}, "ENABLED", None),
        ({"StreamSpecification": {}}, "ENABLED", "update-table --table-name restored --stream-specification"),
        ({"LatestStreamArn": "arn:other"}, "ENABLED", "is arn:other: write that into"),
        ({}, "DISABLED", "update-time-to-live --table-name restored"),
        ({"SSEDescription": {}}, "ENABLED", "not encrypted by the `key`"),
        ({"LocalSecondaryIndexes": MEMORIES["LocalSecondaryIndexes"][1:]}, "ENABLED", "other keys or indexes"),
    ],
)
def test_what_a_restored_table_lacks_is_said_with_the_command_that_mends_it(
    wrong: dict[str, Any], expires: str, said: str | None
) -> None:
    found = list(misfits(MEMORIES, AS_IT_MUST_BE | wrong, expires, ADOPTED))
    assert len(found) == (said is not None)
    assert said is None or said in found[0]


def test_images_of_the_emulators_are_pinned() -> None:
    images = re.findall(r"image: (\S+)", (ROOT / "localstack" / "compose.yaml").read_text())
    assert len(images) == 4
    assert all(re.search(r":\d+\.\d+\.\d+(@sha256:[0-9a-f]{64})?$", image) for image in images), images


@pytest.mark.parametrize(("ci", "asks"), [("true", False), ("", True)])
def test_a_deployment_asks_nothing_in_ci_and_checks_and_protects_everywhere(ci: str, asks: bool) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "MAKEFLAGS", "MFLAGS")}
    told = subprocess.run(
        ["make", "-n", "deploy", "STAGE=prod"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment | ({"CI": ci} if ci else {}),
        check=True,
    ).stdout
    lines = told.replace("\\\n", "").splitlines()
    before, during, after = [line for line in lines if "-m infra" in line]
    assert "infra.preflight --stage prod" in before
    assert ("--require-approval never" not in during) == asks
    assert "infra.protect --stage prod" in after


def test_github_s_role_is_for_one_subject_and_may_do_no_more_than_deploy(tmp_path: Path) -> None:
    check_node()
    app = App(outdir=str(tmp_path))
    GitHub(app, "repo:you/yours:environment:prod")
    app.synth()
    made = Template(tmp_path / "steeltrap-github.template.json")
    [role] = made.of_type("AWS::IAM::Role").values()
    [trust] = role["AssumeRolePolicyDocument"]["Statement"]
    [issuer] = made.of_type("AWS::IAM::OIDCProvider").values()
    assert issuer == {"Url": "https://token.actions.githubusercontent.com", "ClientIdList": ["sts.amazonaws.com"]}
    assert trust["Action"] == "sts:AssumeRoleWithWebIdentity"
    assert trust["Condition"] == {
        "StringEquals": {
            "token.actions.githubusercontent.com:aud": "sts.amazonaws.com",
            "token.actions.githubusercontent.com:sub": "repo:you/yours:environment:prod",
        }
    }
    statements = [each for policy in role["Policies"] for each in policy["PolicyDocument"]["Statement"]]
    assumed = next(each["Resource"] for each in statements if each["Action"] == "sts:AssumeRole")
    assert [told(arn).split("role/")[1].split("-role-")[0] for arn in assumed] == [
        "cdk-hnb659fds-deploy",
        "cdk-hnb659fds-file-publishing",
        "cdk-hnb659fds-lookup",
    ]
    anywhere = [each["Action"] for each in statements if each["Resource"] == "*"]
    checks = ["lambda:GetAccountSettings", "es:ListInstanceTypeDetails", "bedrock:GetFoundationModel"]
    assert anywhere == [[*checks, "acm:DescribeCertificate"]]
    assert not any("*" in action for each in statements for action in _listed(each["Action"]))


@pytest.mark.parametrize(
    "subject", ["repo:you/yours:*", "repo:you/*:ref:refs/heads/main", "repo:you/yours:pull_request", "you"]
)
def test_a_role_that_strangers_could_take_is_refused(subject: str) -> None:
    with pytest.raises(ValueError, match="repo:you/yours:environment:prod"):
        GitHub(App(), subject)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
