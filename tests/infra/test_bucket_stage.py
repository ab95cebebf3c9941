"""The template of a stage over a bucket: nothing in it is charged while nobody calls, and no function may do more than
its store asks for."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from infra.protect import HOLDING
from infra.stage import Stage, read_stage
from synthesised import Template, synthesise, template, told

from steeltrap.settings import read_settings
from steeltrap.stores.logs.dynamodb import log_table
from steeltrap.stores.sqlite.schema import MIGRATIONS
from steeltrap.toolsets import CATALOGUE

GOLDEN: dict[str, Any] = json.loads(Path(__file__).with_name("tables.json").read_text())
OF_EVERY_FUNCTION = {"logs:CreateLogStream", "logs:PutLogEvents", "xray:PutTraceSegments", "xray:PutTelemetryRecords"}
OBJECTS = {"s3:GetObject", "s3:PutObject", "s3:DeleteObject"}
ENTRIES = {
    *("dynamodb:Query", "dynamodb:GetItem", "dynamodb:BatchGetItem"),
    *("dynamodb:PutItem", "dynamodb:BatchWriteItem"),
}


@pytest.fixture(scope="module")
def newcomer() -> Template:
    """The stage `dev`, as infra/stages.toml has it."""
    return synthesise(read_stage("dev"), CATALOGUE)


def test_the_stage_of_a_newcomer_has_nothing_that_is_charged_by_the_hour(newcomer: Template) -> None:
    kinds = Counter(one["Type"].removeprefix("AWS::") for one in newcomer.resources.values())
    assert kinds == {
        "DynamoDB::Table": 1,
        **{"S3::Bucket": 1, "S3::BucketPolicy": 1},
        **{"Lambda::Function": 2, "Lambda::LayerVersion": 1, "Lambda::Permission": 2, "Lambda::EventInvokeConfig": 1},
        **{"IAM::Role": 2, "Logs::LogGroup": 3, "Events::Rule": 1, "CloudFormation::CustomResource": 1},
        **{f"ApiGatewayV2::{part}": 1 for part in ("Api", "Stage", "Integration", "Route")},
    }
    [table] = newcomer.of_type("AWS::DynamoDB::Table").values()
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert "ProvisionedConcurrencyConfig" not in json.dumps(newcomer.body)
    [rule] = newcomer.of_type("AWS::Events::Rule").values()
    assert rule["ScheduleExpression"] == "rate(1 day)"


def test_memories_are_migrated_when_all_else_of_a_deployment_is_done(newcomer: Template) -> None:
    [(name, step)] = [each for each in newcomer.resources.items() if each[1]["Type"].endswith("::CustomResource")]
    assert {*step["DependsOn"], name} == set(newcomer.resources)
    properties = step["Properties"]
    assert properties["Version"] == str(len(MIGRATIONS)), "another number makes CloudFormation ask again"
    assert properties["LongestCall"] == str(newcomer.function("http")["Timeout"])
    [waits] = template("public").of_type("AWS::CloudFormation::CustomResource").values()
    assert int(waits["LongestCall"]) == max(template("public").function(name)["Timeout"] for name in ("http", "agent"))


def test_the_table_is_the_one_that_the_log_asks_for_and_keeps_nothing_that_was_forgotten(newcomer: Template) -> None:
    [table] = newcomer.of_type("AWS::DynamoDB::Table").values()
    [bucket] = newcomer.of_type("AWS::S3::Bucket").values()
    words = log_table("entries")
    assert {name: table[name] for name in ("BillingMode", "AttributeDefinitions", "KeySchema")} == {
        name: words[name] for name in ("BillingMode", "AttributeDefinitions", "KeySchema")
    }
    assert not table.keys() & {"PointInTimeRecoverySpecification", "StreamSpecification", "TableName"}
    assert not bucket.keys() & {"VersioningConfiguration", "ObjectLockConfiguration", "ReplicationConfiguration"}
    [rule] = bucket["LifecycleConfiguration"]["Rules"]
    assert not any("Expiration" in name or "Transition" in name for name in rule)
    assert all(bucket["PublicAccessBlockConfiguration"].values())
    assert bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"][0]["ServerSideEncryptionByDefault"] == {
        "SSEAlgorithm": "AES256"
    }


def test_a_function_has_the_store_as_its_setting_and_less_cache_than_disk() -> None:
    function = template("public").function("http")
    given = {name: told(value) for name, value in function["Environment"]["Variables"].items()}
    settings = read_settings(given)
    assert (settings.store_kind, settings.store.split("?")[0]) == ("log", f"dynamodb://{_only('DynamoDB::Table')}")
    assert settings.store.endswith(f"bases=s3://{_only('S3::Bucket')}")
    assert settings.cache_disk_mb < function["EphemeralStorage"]["Size"] == 2048
    assert str(settings.cache_folder).startswith("/tmp/")


@pytest.mark.parametrize("name", ["http", "agent", "maintenance"])
def test_a_function_reaches_the_entries_and_the_objects_and_nothing_else(name: str) -> None:
    table, bucket = _only("DynamoDB::Table"), _only("S3::Bucket")
    [key] = template("public").of_type("AWS::KMS::Key")
    allowed: dict[str, set[str]] = {}
    for action, where in template("public").allowed(name):
        if action not in OF_EVERY_FUNCTION:
            allowed.setdefault(where, set()).add(action)
    assert all(action.startswith("kms:") for action in allowed.pop(f"{key}.Arn"))
    counts = {"dynamodb:UpdateItem"} if name != "maintenance" else set()
    assert allowed == {
        f"{table}.Arn": ENTRIES | counts,
        f"{bucket}.Arn/*": OBJECTS,
        f"{bucket}.Arn": {"s3:ListBucket"},
    }


def test_calls_are_counted_only_where_a_stage_limits_them(newcomer: Template) -> None:
    assert "dynamodb:UpdateItem" not in {action for action, _ in newcomer.allowed("http")}


def test_users_with_tokens_have_a_quota_unless_the_stage_says_otherwise() -> None:
    public = Stage(name="public", auth="jwt", issuer="https://issuer.example", audience=("app",))
    assert public.environment()["STEELTRAP_CALLS_PER_MINUTE"] == "120"
    assert public.counts_calls
    unlimited = public.model_copy(update={"settings": {"calls_per_minute": 0}})
    assert unlimited.environment()["STEELTRAP_CALLS_PER_MINUTE"] == "0"
    assert not unlimited.counts_calls
    assert not read_stage("dev").counts_calls


@pytest.mark.parametrize(("stage", "name"), [("bucket", "http"), ("domain", "mcp")])
def test_a_function_that_only_the_gateway_calls_runs_no_longer_than_that_waits(stage: str, name: str) -> None:
    assert template(stage).function(name)["Timeout"] == 30


def test_a_key_encrypts_all_of_a_stage_that_asks_for_one() -> None:
    made = template("public")
    [key] = made.of_type("AWS::KMS::Key")
    [table] = made.of_type("AWS::DynamoDB::Table").values()
    [bucket] = made.of_type("AWS::S3::Bucket").values()
    assert table["SSESpecification"]["KMSMasterKeyId"] == {"Fn::GetAtt": [key, "Arn"]}
    assert f'"{key}"' in json.dumps(bucket["BucketEncryption"])


def test_memories_outlive_a_stack_unless_its_stage_says_otherwise(newcomer: Template) -> None:
    kept = template("public")
    for one in kept.resources.values():
        assert one["Type"] not in HOLDING or one["DeletionPolicy"] == "Retain"
    [table] = kept.of_type("AWS::DynamoDB::Table").values()
    assert table["DeletionProtectionEnabled"] is True
    assert {one.get("DeletionPolicy") for one in newcomer.resources.values() if one["Type"] in HOLDING} == {"Delete"}


def test_a_deployment_makes_no_second_table_bucket_or_key_beside_the_first() -> None:
    holding = sorted(id for id, one in template("public").resources.items() if one["Type"] in HOLDING)
    assert holding == GOLDEN["holding a log"]


def test_outputs_tell_the_command_line_where_memories_are(newcomer: Template) -> None:
    outputs = newcomer.body["Outputs"]
    assert {"Url", "McpClient", "EntryTable", "ObjectBucket"} <= outputs.keys()
    settings = dict(each.split("=", 1) for each in told(outputs["Settings"]["Value"]).split(" "))
    assert settings == {
        "STEELTRAP_STORE": f"dynamodb://{told(outputs['EntryTable']['Value'])}"
        f"?bases=s3://{told(outputs['ObjectBucket']['Value'])}"
    }


def _only(kind: str) -> str:
    """The logical id of the only resource of a type in the public stage."""
    [id] = template("public").of_type(f"AWS::{kind}")
    return id
