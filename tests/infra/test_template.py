"""What is synthesised: valid, complete, and as the catalogue says."""

import re
from pathlib import Path

import pytest
from cfnlint.api import lint_file
from infra.bundle import ROOT
from infra.plan import http_function, mcp_function, tool_functions
from synthesised import STAGES, synthesise, template

from recollect.adapters.dynamodb.tables import memory_table, usage_table
from recollect.surfaces.routes import paths
from recollect.toolsets import CATALOGUE


@pytest.mark.parametrize("stage", STAGES)
def test_a_template_passes_cdk_nag_and_cfn_lint(stage: str) -> None:
    checked = synthesise(STAGES[stage], CATALOGUE, checked=True)
    assert [str(match) for match in lint_file(checked.file)] == []


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
            assert served.pop(f"POST {path}") == f"recollect-domain-{tool.operation}"
    for path in mcp_function(CATALOGUE).paths:
        assert served.pop(f"POST {path}") == "recollect-domain-mcp"
    assert served == {"$default": "recollect-domain-get"}


def test_one_function_may_serve_all_routes() -> None:
    made = template("endpoint")
    names = {
        one["FunctionName"].removeprefix("recollect-endpoint-")
        for one in made.of_type("AWS::Lambda::Function").values()
    }
    assert names == {"http", "indexer", "maintenance", "reindex"}
    routes = {route["RouteKey"] for route in made.of_type("AWS::ApiGatewayV2::Route").values()}
    assert routes == {"$default", *(f"POST {path}" for path in http_function(CATALOGUE).paths)}


@pytest.mark.parametrize(("stage", "kind"), [("domain", "AWS_IAM"), ("zones", "JWT")])
def test_no_route_is_open(stage: str, kind: str) -> None:
    routes = template(stage).of_type("AWS::ApiGatewayV2::Route").values()
    assert {route["AuthorizationType"] for route in routes} == {kind}


def test_a_function_has_the_time_of_its_slowest_tool_and_a_little_more() -> None:
    made = template("domain")
    for plan in tool_functions(CATALOGUE):
        longest = max(tool.timeout for tool in plan.tools)
        assert longest < made.function(plan.name)["Timeout"] <= longest + 5


def test_every_function_has_its_handler_s_file() -> None:
    for one in template("domain").of_type("AWS::Lambda::Function").values():
        assert _file(one["Handler"]).is_file()
    assert _file(template("endpoint").function("http")["Handler"]).is_file()


@pytest.mark.parametrize(
    ("words", "id"), [(memory_table("recollect-domain"), "Memories"), (usage_table("recollect-domain-usage"), "Usage")]
)
def test_tables_are_those_that_the_adapter_asks_for(words: dict, id: str) -> None:
    [found] = [table for logical, table in template("domain").of_type("AWS::DynamoDB::Table").items() if id in logical]
    for name in ("TableName", "BillingMode", "AttributeDefinitions", "KeySchema"):
        assert found[name] == words[name]
    for name in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        assert found.get(name, []) == words.get(name, [])
    assert ("StreamSpecification" in found) == ("StreamSpecification" in words)
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


def test_the_indexer_takes_the_stream_apart_and_loses_nothing() -> None:
    [mapping] = [
        one
        for one in template("domain").of_type("AWS::Lambda::EventSourceMapping").values()
        if "StartingPosition" in one
    ]
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["BisectBatchOnFunctionError"] is True
    assert mapping["DestinationConfig"]["OnFailure"]["Destination"]["Fn::GetAtt"][0].startswith("StorageUnread")


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
    assert named == {"recollect-zones-save"}
    assert template("domain").of_type("AWS::SQS::Queue").keys().isdisjoint({"StorageWrites"})


def test_a_function_starts_from_a_snapshot_where_the_stage_says() -> None:
    made = template("zones")
    assert made.function("search")["SnapStart"] == {"ApplyOn": "PublishedVersions"}
    assert "SnapStart" not in made.function("save")
    [alias] = made.of_type("AWS::Lambda::Alias").values()
    assert alias["Name"] == "live"


def test_outputs_tell_a_client_s_configuration() -> None:
    outputs = template("domain").body["Outputs"]
    assert {"Url", "McpClient", "MemoryTable", "SearchUrl", "ExportBucket"} <= outputs.keys()


def _names_callers(function: dict) -> bool:
    return function["Environment"]["Variables"].get("RECOLLECT_QUEUE_CALLERS") == "true"


def _target(route: dict) -> str:
    return route["Target"]["Fn::Join"][1][1]["Ref"]


def _file(handler: str) -> Path:
    return ROOT / f"{handler.removesuffix('.handler')}.py"


def test_every_alarm_says_in_the_documentation_what_to_do() -> None:
    page = (ROOT / "docs" / "operate.md").read_text()
    told = {name for row in re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    made = {
        one["AlarmName"].removeprefix("recollect-zones-")
        for one in template("zones").of_type("AWS::CloudWatch::Alarm").values()
    }
    assert told == made
