"""The synthesised template is valid, complete, and as the catalogue says."""

import json
import re
from pathlib import Path
from typing import get_args

import pytest
from aws_cdk.aws_opensearchservice import EngineVersion
from cfnlint.api import lint_file
from infra.bundle import ROOT
from infra.plan import mcp_function, tool_functions
from infra.stage import Stage, read_stage
from pydantic import ValidationError
from synthesised import STAGES, synthesise, template, told

from function_telemetry import telemetry_of
from steeltrap import telemetry
from steeltrap.errors import InvalidInput
from steeltrap.servers.aws_lambda import ENVIRONMENT
from steeltrap.servers.http import paths
from steeltrap.stores.dynamodb.keys import memory_table, usage_table
from steeltrap.telemetry import Measure
from steeltrap.toolsets import CATALOGUE

METADATA = {
    "GET /.well-known/oauth-protected-resource",
    "GET /.well-known/oauth-protected-resource/{path+}",
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_template_passes_cdk_nag_and_cfn_lint(stage: str) -> None:
    checked = synthesise(STAGES[stage], CATALOGUE, checked=True)
    assert [str(match) for match in lint_file(checked.file)] == []


@pytest.mark.parametrize("stage", ["domain", "zones"])
def test_a_domain_runs_opensearch_3_and_is_upgraded_in_place(stage: str) -> None:
    [domain] = template(stage).of_type("AWS::OpenSearchService::Domain").values()
    # The newest that AWS offers and that the index's tests have passed on.
    assert domain["EngineVersion"] == EngineVersion.OPENSEARCH_3_5.version
    [resource] = [each for each in template(stage).resources.values() if each["Properties"] == domain]
    assert resource["UpdatePolicy"]["EnableVersionUpgrade"] is True


def test_every_path_of_every_tool_is_a_route_to_its_operation_s_function() -> None:
    made = template("domain")
    integrations = made.of_type("AWS::ApiGatewayV2::Integration")
    routes = {route["RouteKey"]: route for route in made.of_type("AWS::ApiGatewayV2::Route").values()}
    functions = made.of_type("AWS::Lambda::Function")
    served = {
        key: functions[integrations[_target(route)]["IntegrationUri"]["Fn::GetAtt"][0]]["FunctionName"]
        for key, route in routes.items()
    }
    for tool in CATALOGUE.tools():
        for path in paths(tool):
            assert served.pop(f"POST {path}") == f"steeltrap-domain-{tool.operation}"
    for path in mcp_function(CATALOGUE).paths:
        assert served.pop(f"ANY {path}") == "steeltrap-domain-mcp"
    assert served == {"$default": "steeltrap-domain-get"}


def test_one_function_may_serve_all_routes() -> None:
    made = template("endpoint")
    names = {
        one["FunctionName"].removeprefix("steeltrap-endpoint-")
        for one in made.of_type("AWS::Lambda::Function").values()
    }
    assert names == {"http", "indexer", "maintenance", "reindex"}
    routes = {route["RouteKey"] for route in made.of_type("AWS::ApiGatewayV2::Route").values()}
    assert routes == {"$default"}


@pytest.mark.parametrize(("stage", "kind", "is_open"), [("domain", "AWS_IAM", set()), ("zones", "JWT", METADATA)])
def test_no_route_is_open_but_what_tells_where_to_get_a_token(stage: str, kind: str, is_open: set[str]) -> None:
    routes = template(stage).of_type("AWS::ApiGatewayV2::Route").values()
    asked = {route["RouteKey"]: route["AuthorizationType"] for route in routes}
    assert {key for key, asks in asked.items() if asks == "NONE"} == is_open
    assert {asks for key, asks in asked.items() if key not in is_open} == {kind}


def test_who_has_no_token_reaches_no_function_that_knows_the_store() -> None:
    made = template("zones")
    assert {action.partition(":")[0] for action, _ in made.allowed("metadata")} == {"logs", "xray"}
    environment = made.function("metadata")["Environment"]["Variables"]
    own = {"STEELTRAP_SERVICE": "steeltrap-zones", "STEELTRAP_OIDC_ISSUER": "https://issuer.example"}
    assert environment == {**ENVIRONMENT, **own}
    [live] = made.of_type("AWS::ApiGatewayV2::Stage").values()
    assert live["RouteSettings"].keys() == METADATA
    assert all(each["ThrottlingRateLimit"] <= 20 for each in live["RouteSettings"].values())


def test_a_function_has_the_time_of_its_slowest_tool_and_a_little_more() -> None:
    made = template("domain")
    for plan in tool_functions(CATALOGUE):
        longest = max(tool.timeout for tool in plan.tools)
        assert longest < made.function(plan.name)["Timeout"] <= longest + 5


def test_every_function_starts_with_the_environment_that_starts_are_measured_with() -> None:
    for plan in tool_functions(CATALOGUE):
        variables = template("domain").function(plan.name)["Environment"]["Variables"]
        assert ENVIRONMENT.items() <= variables.items()


def test_every_function_has_its_handler_s_file() -> None:
    for one in template("domain").of_type("AWS::Lambda::Function").values():
        assert _file(one["Handler"]).is_file()
    assert _file(template("endpoint").function("http")["Handler"]).is_file()


@pytest.mark.parametrize(("words", "id"), [(memory_table("memories"), "Memories"), (usage_table("usage"), "Usage")])
def test_tables_are_those_that_the_adapter_asks_for(words: dict, id: str) -> None:
    [found] = [table for logical, table in template("domain").of_type("AWS::DynamoDB::Table").items() if id in logical]
    assert "TableName" not in found
    for name in ("BillingMode", "AttributeDefinitions", "KeySchema"):
        assert found[name] == words[name]
    for name in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        assert found.get(name, []) == words.get(name, [])
    stream = found.get("StreamSpecification", {}).get("StreamViewType")
    assert stream == words.get("StreamSpecification", {}).get("StreamViewType")
    assert found["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True
    assert found["SSESpecification"]["SSEType"] == "KMS"
    assert found["DeletionProtectionEnabled"] is True


def test_memories_outlive_a_stack_unless_its_stage_says_otherwise() -> None:
    kept = {"AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::KMS::Key", "AWS::SQS::Queue"}
    for one in template("domain").resources.values():
        if one["Type"] in kept:
            assert one["DeletionPolicy"] == "Retain"
    gone = synthesise(STAGES["domain"].model_copy(update={"retain": False}), CATALOGUE)
    for one in gone.resources.values():
        assert one.get("DeletionPolicy") != "Retain" or one["Type"] not in kept


def test_a_stage_that_adopts_has_the_tables_stream_key_and_bucket_that_are_there() -> None:
    made, adopted = template("adopted"), STAGES["adopted"].adopt
    assert adopted is not None
    assert made.of_type("AWS::DynamoDB::Table") == made.of_type("AWS::S3::Bucket") == {}
    variables = made.function("search")["Environment"]["Variables"]
    assert (variables["STEELTRAP_MEMORY_TABLE"], variables["STEELTRAP_USAGE_TABLE"]) == ("restored", "restored-usage")
    assert variables["STEELTRAP_EXPORT_BUCKET"] == "old-exports"
    table = "arn:aws:dynamodb:eu-west-1:123456789012:table/restored"
    assert ("dynamodb:Query", table) in made.allowed("search")
    assert ("dynamodb:UpdateItem", f"{table}-usage") in made.allowed("search")
    assert ("kms:Decrypt", adopted.key) in made.allowed("search")
    [mapping] = [one for one in made.of_type("AWS::Lambda::EventSourceMapping").values() if "StartingPosition" in one]
    assert mapping["EventSourceArn"] == adopted.stream
    # What is the stack's own has the stack's own key.
    [own] = made.of_type("AWS::KMS::Key")
    assert {("kms:GenerateDataKey", adopted.key), ("kms:GenerateDataKey", f"{own}.Arn")} <= made.allowed("indexer")


def test_the_indexer_takes_the_stream_apart_and_loses_nothing() -> None:
    [mapping] = [
        one
        for one in template("domain").of_type("AWS::Lambda::EventSourceMapping").values()
        if "StartingPosition" in one
    ]
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["BisectBatchOnFunctionError"] is True
    [wanted] = mapping["FilterCriteria"]["Filters"]
    assert json.loads(wanted["Pattern"]) == {"dynamodb": {"Keys": {"k": {"S": [{"prefix": "m#"}]}}}}
    assert mapping["DestinationConfig"]["OnFailure"]["Destination"]["Fn::GetAtt"][0].startswith(
        "StorageStreamDeadLetters"
    )


def test_only_the_application_s_roles_may_write_by_the_queue() -> None:
    made = template("zones")
    senders = list(STAGES["zones"].queue_senders)
    [policy] = [
        one["PolicyDocument"]["Statement"]
        for one in made.of_type("AWS::SQS::QueuePolicy").values()
        if "StorageWrites" in one["Queues"][0]["Ref"]
    ]
    allowed = [statement for statement in policy if statement["Effect"] == "Allow"]
    assert [(one["Action"], one["Principal"]["AWS"]) for one in allowed] == [("sqs:SendMessage", senders[0])]
    [denied] = [one for one in policy if "ArnNotEquals" in one.get("Condition", {})]
    assert (denied["Effect"], denied["Condition"]["ArnNotEquals"]["aws:PrincipalArn"]) == ("Deny", senders)
    named = {one["FunctionName"] for one in made.of_type("AWS::Lambda::Function").values() if _names_callers(one)}
    assert named == {"steeltrap-zones-save"}
    without = template("domain").of_type("AWS::SQS::Queue")
    assert not any(id.startswith(("StorageWrites", "StorageWriteDeadLetters")) for id in without)


def test_a_function_starts_from_a_snapshot_where_the_stage_says() -> None:
    made = template("zones")
    assert made.function("search")["SnapStart"] == {"ApplyOn": "PublishedVersions"}
    assert "SnapStart" not in made.function("save")
    [alias] = made.of_type("AWS::Lambda::Alias").values()
    assert alias["Name"] == "live"


def test_a_snapshot_is_taken_anew_when_its_dependencies_change(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for folder in (before, after):
        (folder / "layer").mkdir(parents=True)
        (folder / "layer" / "dependency.py").write_text(folder.name)
    versions = [
        set(synthesise(STAGES["zones"], CATALOGUE, layer=folder / "layer").of_type("AWS::Lambda::Version"))
        for folder in (before, after)
    ]
    assert [len(ids) for ids in versions] == [1, 1]
    assert versions[0] != versions[1]


def test_metrics_that_cost_by_route_are_off() -> None:
    # 71 routes of six metrics at 0.30 USD: 128 USD per month for figures that functions' own metrics give already.
    [live] = template("domain").of_type("AWS::ApiGatewayV2::Stage").values()
    assert live["DefaultRouteSettings"].get("DetailedMetricsEnabled", False) is False


def test_the_default_is_one_function_over_a_bucket() -> None:
    stages = {name: read_stage(name) for name in ("dev", "prod")}
    chosen = {name: (stage.store, stage.functions) for name, stage in stages.items()}
    assert chosen == {"dev": ("bucket", "one"), "prod": ("aws", "each")}


def test_outputs_tell_a_client_s_configuration() -> None:
    outputs = template("domain").body["Outputs"]
    assert {"Url", "McpClient", "MemoryTable", "ExportBucket", "ReindexFunction"} <= outputs.keys()
    settings = dict(each.split("=", 1) for each in told(outputs["Settings"]["Value"]).split(" "))
    assert settings["STEELTRAP_STORE"] == "aws"
    assert settings["STEELTRAP_EXPORT_BUCKET"] == told(outputs["ExportBucket"]["Value"])
    assert settings["STEELTRAP_OPENSEARCH_AUTH"] == "es"
    signed = json.loads(told(outputs["McpClient"]["Value"]))["mcpServers"]["steeltrap"]
    assert signed["args"][1].endswith("/mcp")
    with_token = json.loads(told(template("zones").body["Outputs"]["McpClient"]["Value"]))["mcpServers"]["steeltrap"]
    assert with_token["type"] == "http"
    assert with_token["headers"] == {"Authorization": "Bearer TOKEN"}


def _names_callers(function: dict) -> bool:
    return function["Environment"]["Variables"].get("STEELTRAP_QUEUE_CALLERS") == "true"


def _target(route: dict) -> str:
    return route["Target"]["Fn::Join"][1][1]["Ref"]


def _file(handler: str) -> Path:
    return ROOT / f"{handler.removesuffix('.handler')}.py"


def test_every_alarm_says_in_the_documentation_what_to_do() -> None:
    page = (ROOT / "docs" / "operate.md").read_text()
    told = {name for row in re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    made = {
        one["AlarmName"].removeprefix(f"steeltrap-{stage}-")
        for stage in ("zones", "public")
        for one in template(stage).of_type("AWS::CloudWatch::Alarm").values()
    }
    assert told == made


def test_sweeps_that_fall_behind_are_heard_of_by_the_metric_that_they_write(capsys: pytest.CaptureFixture[str]) -> None:
    with telemetry_of("steeltrap-zones") as telemetry:
        telemetry.count(users_swept=5, users_left=2)
    [written] = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "_aws" in line]
    [kind] = written["_aws"]["CloudWatchMetrics"]
    [alarm] = [
        one
        for one in template("zones").of_type("AWS::CloudWatch::Alarm").values()
        if one["AlarmName"] == "steeltrap-zones-SweepsFallBehind"
    ]
    assert (alarm["Namespace"], alarm["MetricName"]) == (kind["Namespace"], "users_left")
    assert alarm["MetricName"] in {metric["Name"] for metric in kind["Metrics"]}
    assert alarm["Dimensions"] == [{"Name": "service", "Value": written["service"]}]
    assert kind["Dimensions"] == [["service"]]
    # Once an hour there is a sweep: three of them.
    assert (alarm["Period"], alarm["EvaluationPeriods"], alarm["Threshold"]) == (3600, 3, 1)


def test_an_alarm_may_publish_to_its_topic_and_encrypt_for_it() -> None:
    made = template("zones")
    [topic] = made.of_type("AWS::SNS::TopicPolicy").values()
    [key] = made.of_type("AWS::KMS::Key").values()
    for policy, action in ((topic["PolicyDocument"], "sns:Publish"), (key["KeyPolicy"], "kms:GenerateDataKey")):
        [statement] = [
            one for one in policy["Statement"] if one["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
        ]
        assert statement["Effect"] == "Allow"
        assert action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
        assert "aws:SourceAccount" in statement["Condition"]["StringEquals"]
    for alarm in made.of_type("AWS::CloudWatch::Alarm").values():
        assert len(alarm["AlarmActions"]) == 1


@pytest.mark.parametrize("name", ["zones", "public"])
def test_the_dashboard_asks_for_what_functions_write(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    measure = Measure(
        tool="core.search",
        outcome="found",
        hits=1,
        answer="Bo likes tea.",
        error="x",
        stages=dict.fromkeys(get_args(telemetry.Stage), 1.0),
    )
    with telemetry_of(f"steeltrap-{name}", level="info") as reported:
        reported.observe(measure)
        reported.count(users_swept=5, users_left=2)
    written = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    metrics = {
        metric["Name"]
        for line in written
        if "_aws" in line
        for kind in line["_aws"]["CloudWatchMetrics"]
        for metric in kind["Metrics"]
    }
    [line] = [line for line in written if "_aws" not in line]
    fields = {*line, *(f"stages.{step}" for step in line["stages"])}
    board = template(name).of_type("AWS::CloudWatch::Dashboard").popitem()[1]
    widgets = json.loads(told(board["DashboardBody"]))["widgets"]
    graphs = [widget["properties"]["metrics"] for widget in widgets if widget["type"] == "metric"]
    asked = {metric[1] for graph in graphs for metric in graph if metric[0] == "steeltrap"}
    assert {"calls", "errors", "answer_bytes", "users_left"} <= asked <= metrics
    assert {metric[3] for graph in graphs for metric in graph if metric[0] == "steeltrap"} == {f"steeltrap-{name}"}
    queries = [widget["properties"]["query"] for widget in widgets if widget["type"] == "log"]
    assert len(queries) == 3
    read = {
        name
        for query in queries
        for name in re.findall(r"(?:ispresent\(|pct\(|\bby |, )([a-z_]{4,}(?:\.[a-z_]+)?)", query)
    }
    assert {"tool", "error", "milliseconds", "bytes", "stages.embed"} <= read <= fields
    assert all(1 <= query.count("SOURCE") <= 50 for query in queries)


def test_a_serverless_collection_is_refused_with_what_to_choose_instead() -> None:
    with pytest.raises(ValidationError, match=r'Serverless can.t hold this index.* search = "domain"'):
        Stage(name="wrong", search="serverless")


@pytest.mark.parametrize(
    "wrong",
    [
        {"settings": {"opensearch_index": "other"}},
        {"settings": {"retention_days": "long"}},
        {"settings": {"embedder": "small"}},
        {"store": "aws", "index": "steeltrap-next"},
        {"auth": "jwt"},
        {"read_scope": "memory:read"},
        {"auth": "jwt", "issuer": "https://issuer.example", "audience": ("app",), "write_scope": "a b"},
        {"settings": {"write_scope": "memory:write"}},
        {"store": "aws", "search": "endpoint"},
        {"store": "aws", "endpoint_arn": "arn:aws:aoss:eu-west-1:123456789012:collection/x"},
        {"store": "aws", "functions": "each", "queue_senders": ("arn:aws:iam::123456789012:root",)},
        {
            "store": "aws",
            "adopt": {"stream": "arn:aws:dynamodb:eu-west-1:123456789012:table/x", "usage": "y-1", "key": "z"},
        },
        {"store": "aws", "queue_senders": ("arn:aws:iam::123456789012:role/app",)},
        {"store": "aws", "domain": {"nodes": 2}},
        {"domain": {"nodes": 3}},
        {"endpoint": "https://search.example"},
        {"functions": "each"},
        {"settings": {"store": "s3://elsewhere"}},
        {"colour": "red"},
    ],
)
def test_a_stage_that_does_not_fit_is_refused(wrong: dict) -> None:
    with pytest.raises((ValidationError, InvalidInput)):
        Stage(name="wrong", **wrong)


def test_a_snapshot_of_what_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="nosuch"):
        synthesise(STAGES["domain"].model_copy(update={"snap_start": ("nosuch",)}), CATALOGUE)
