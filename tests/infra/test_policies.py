"""No function may do what none of its tools needs, and each may do all that they ask for."""

from dataclasses import replace

import pytest
from asked import asked_for_levels, recorded
from infra.plan import agent_function, mcp_function, tool_functions
from synthesised import STAGES, synthesise, template

from steeltrap.model import JsonObject
from steeltrap.tools import Answer, Input
from steeltrap.toolsets import CATALOGUE, Catalogue

READS = {"dynamodb:BatchGetItem", "dynamodb:Query"}
COUNTS = {"dynamodb:UpdateItem"}
FUNCTIONS = {plan.name: plan for plan in (*tool_functions(CATALOGUE), mcp_function(CATALOGUE))}
OF_EVERY_FUNCTION = {"logs:CreateLogStream", "logs:PutLogEvents", "xray:PutTraceSegments", "xray:PutTelemetryRecords"}


@pytest.mark.parametrize("name", [plan.name for plan in FUNCTIONS.values() if plan.access == "read"])
@pytest.mark.parametrize("stage", ["domain", "bedrock"])
def test_a_read_function_may_change_nothing_but_usage(stage: str, name: str) -> None:
    for action, where in template(stage).allowed(name):
        if action in OF_EVERY_FUNCTION or action.startswith("kms:"):
            continue
        if where.startswith("StorageMemories"):
            assert action in READS
        elif where.startswith("StorageUsage"):
            assert action in READS | COUNTS
        else:
            assert action in {"es:ESHttpPost", "es:ESHttpGet", "bedrock:InvokeModel"}
            assert "_bulk" not in where


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_may_do_what_its_tools_ask_for(name: str) -> None:
    allowed = {(action, _place(where)) for action, where in template("domain").allowed(name)}
    asked = {each for tool in FUNCTIONS[name].tools for each in recorded()[tool.full_name]}
    assert {each for each in asked if each[0].startswith("dynamodb:")} <= allowed
    if any(where == "index" for _, where in asked):
        assert ("es:ESHttpPost", "index") in allowed


@pytest.mark.parametrize(("stage", "toolset"), [("agents", "agent"), ("action-groups", "core")])
def test_the_function_for_agents_may_do_what_its_toolset_asks_for(stage: str, toolset: str) -> None:
    allowed = {(action, _place(where)) for action, where in template(stage).allowed("agent")}
    asked = {each for tool in agent_function(CATALOGUE, toolset).tools for each in recorded()[tool.full_name]}
    assert {each for each in asked if each[0].startswith("dynamodb:")} <= allowed
    assert ("es:ESHttpPost", "index") in allowed


def test_a_function_that_embeds_may_share_what_it_learned_of_its_model() -> None:
    embedding = [plan.name for plan in FUNCTIONS.values() if any(tool.needs != "store" for tool in plan.tools)]
    for name in (*embedding, "maintenance"):
        assert asked_for_levels() <= {(action, _place(where)) for action, where in template("domain").allowed(name)}


@pytest.mark.parametrize("access", ["read", "write"])
def test_no_kind_of_function_may_do_what_no_tool_of_its_kind_asks_for(access: str) -> None:
    plans = [plan for plan in FUNCTIONS.values() if plan.access == access]
    asked = {each for plan in plans for tool in plan.tools for each in recorded()[tool.full_name]}
    for plan in plans:
        for action, where in template("domain").allowed(plan.name):
            if action.startswith("dynamodb:"):
                assert (action, _place(where)) in asked, plan.name


def test_a_tool_reaches_as_far_as_it_says() -> None:
    reached = {"embedder": "embedder", "index": "index"}
    for tool in CATALOGUE.tools():
        asked = {reached[where] for _, where in recorded()[tool.full_name] if where in reached}
        assert asked <= {"store": set(), "embedder": {"embedder"}, "index": {"embedder", "index"}}[tool.needs], tool


def test_only_a_function_whose_tools_search_reaches_the_index_and_none_writes_to_it() -> None:
    for plan in FUNCTIONS.values():
        of_index = {where for action, where in template("domain").allowed(plan.name) if action.startswith("es:")}
        assert bool(of_index) == any(tool.needs == "index" for tool in plan.tools), plan.name
        assert all(where.endswith("/_msearch") or where.endswith("/_mapping") for where in of_index)


def test_only_a_function_whose_tools_embed_may_ask_bedrock() -> None:
    for plan in FUNCTIONS.values():
        asks = any(action == "bedrock:InvokeModel" for action, _ in template("bedrock").allowed(plan.name))
        assert asks == any(tool.needs != "store" for tool in plan.tools), plan.name
        assert not any(action.startswith("bedrock:") for action, _ in template("domain").allowed(plan.name))


def test_only_a_function_whose_tools_have_files_reaches_the_bucket() -> None:
    for plan in FUNCTIONS.values():
        reaches = any(action.startswith("s3:") for action, _ in template("domain").allowed(plan.name))
        assert reaches == any(tool.files for tool in plan.tools), plan.name


def test_only_indexer_and_reindex_write_to_the_index() -> None:
    made = template("domain")
    writers = {
        one["FunctionName"].removeprefix("steeltrap-domain-")
        for one in made.of_type("AWS::Lambda::Function").values()
        for action, where in made.allowed(one["FunctionName"].removeprefix("steeltrap-domain-"))
        if action.startswith("es:") and (action in ("es:ESHttpPut", "es:ESHttpDelete") or where.endswith("_bulk"))
    }
    assert writers == {"indexer", "reindex"}


def test_nothing_but_maintenance_may_list_everyone() -> None:
    made = template("domain")
    for name in (*FUNCTIONS, "indexer", "reindex"):
        assert not any(where.endswith("/index/everyone") for _, where in made.allowed(name))
    assert any(where.endswith("/index/everyone") for _, where in made.allowed("maintenance"))


def test_no_function_may_do_everything_anywhere() -> None:
    for stage in STAGES:
        made = template(stage)
        for function in made.of_type("AWS::Lambda::Function").values():
            for statement in made.statements(function):
                assert statement["Effect"] == "Allow"
                actions = [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]
                assert not any("*" in action for action in actions)
                if statement["Resource"] == "*":
                    assert set(actions) == {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}


class TideInput(Input):
    place: str


class TideAnswer(Answer):
    metres: float


def _with_a_new_tool(access: str, operation: str, *, needs: str = "store", timeout: float = 42.0) -> Catalogue:
    """The catalogue with one more tool, of which nothing else has heard."""
    notes = CATALOGUE.toolset("notes")
    more = replace(notes, registered=dict(notes.registered))

    @more.tool(operation, access, needs=needs, timeout=timeout, paths=("/tides",), examples=({"place": "Porto"},))
    def tide(call: object, input: TideInput) -> TideAnswer:
        """How high the water stands."""
        return TideAnswer(metres=2.0)

    return Catalogue({**CATALOGUE.toolsets, "notes": more})


def test_a_new_tool_has_its_route_schema_timeout_and_grants_in_the_template() -> None:
    made = synthesise(STAGES["domain"], _with_a_new_tool("read", "tide", needs="index"))
    function = made.function("tide")
    assert (function["Handler"], function["Timeout"]) == ("functions/tide/handler.handler", 45)
    routes = {one["Properties"]["RouteKey"]: one for one in made.resources.values() if "RouteKey" in one["Properties"]}
    for key in ("POST /v1/notes/tide", "POST /tides"):
        schema: JsonObject = routes[key]["Metadata"]["steeltrap:input"]["notes.tide"]
        assert schema["properties"]["place"] == {"type": "string"}
        assert schema["required"] == ["place"]
    actions = {action for action, _ in made.allowed("tide")}
    assert "es:ESHttpPost" in actions
    assert "dynamodb:PutItem" not in actions


def test_a_new_writing_tool_changes_what_its_function_may_do() -> None:
    before = {action for action, _ in template("domain").allowed("history")}
    made = synthesise(STAGES["domain"], _with_a_new_tool("write", "history"))
    assert "dynamodb:PutItem" not in before
    assert "dynamodb:PutItem" in {action for action, _ in made.allowed("history")}
    assert made.function("history")["Timeout"] == 45


def _place(where: str) -> str:
    for part, place in (("StorageMemories", "memories"), ("StorageUsage", "usage"), (":domain/", "index")):
        if part in where:
            return place
    return where
