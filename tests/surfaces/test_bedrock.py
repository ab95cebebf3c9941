"""Action groups of Bedrock agents: the documented events of both forms, who calls, and what is answered."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.servers.aws_lambda.agents import agent_handler
from steeltrap.servers.aws_lambda.telemetry import Handler, Telemetry
from steeltrap.settings import read_settings
from surfaces.conftest import Tell
from surfaces.events import AGENT, GATEWAY, as_function, as_operation

ANA = Caller(UserRef("ana"), "assistant", "chat-1")
FORMS = {"api": as_operation, "functions": as_function}
BOTH = pytest.mark.parametrize("form", FORMS)


def served(door: Door, toolset: str = "core", **given: Any) -> Handler:
    settings = {"agent_toolset": toolset, "agentcore_gateways": GATEWAY, "bedrock_agents": f"OTHER12345, {AGENT}"}
    return agent_handler(open=lambda: door, settings=read_settings({}, **settings | given))


def kept(door: Door, user: str) -> list[dict[str, Any]]:
    return list(door.invoke("core.list", {}, Caller(UserRef(user))).body["memories"])


def told(answer: dict[str, Any]) -> tuple[Any, str]:
    """The body, and how the platform takes the answer: '', 'REPROMPT', 'FAILURE', or the status."""
    response = answer["response"]
    if "functionResponse" in response:
        said = response["functionResponse"]
        return json.loads(said["responseBody"]["TEXT"]["body"]), said.get("responseState", "")
    status = response["httpStatusCode"]
    return json.loads(response["responseBody"]["application/json"]["body"]), "" if status == 200 else str(status)


def test_the_answer_to_an_api_schema_s_event_has_the_documented_envelope(door: Door) -> None:
    event = as_operation("save", {"content": "Ana likes tea."}, ANA, promptSessionAttributes={"lang": "en"})
    answer = served(door)(event, None)
    body = answer["response"].pop("responseBody")
    assert body.keys() == {"application/json"}
    assert json.loads(body["application/json"]["body"])["version"] == 1
    assert answer == {
        "messageVersion": "1.0",
        "response": {"actionGroup": "Memory", "apiPath": "/save", "httpMethod": "POST", "httpStatusCode": 200},
        "sessionAttributes": event["sessionAttributes"],
        "promptSessionAttributes": {"lang": "en"},
    }


def test_the_answer_to_function_details_has_the_documented_envelope(door: Door) -> None:
    event = as_function("save", {"content": "Ana likes tea."}, ANA)
    answer = served(door)(event, None)
    text = answer["response"]["functionResponse"]["responseBody"]["TEXT"].pop("body")
    assert json.loads(text)["version"] == 1
    assert answer == {
        "messageVersion": "1.0",
        "response": {
            "actionGroup": "Memory",
            "function": "save",
            "functionResponse": {"responseBody": {"TEXT": {}}},
        },
        "sessionAttributes": event["sessionAttributes"],
    }


@BOTH
def test_the_user_is_the_session_s_and_the_agent_and_conversation_are_known_too(door: Door, form: str) -> None:
    handler = served(door)
    handler(FORMS[form]("save", {"content": "one"}, ANA), None)
    handler(FORMS[form]("save", {"content": "two"}, Caller(UserRef("bob"))), None)
    [one], [two] = kept(door, "ana"), kept(door, "bob")
    assert (one["agent_id"], one["conversation_id"]) == ("assistant", "chat-1")
    assert (two["agent_id"], two["conversation_id"]) == (AGENT, "12345678912345")


@BOTH
@pytest.mark.parametrize(
    "attributes",
    [
        None,
        {},
        [],
        "ana",
        {"userId": "ana"},
        {"user_id": ""},
        {"user_id": 5},
        {"user_id": None},
        {"user_id": "ana", "tenant": 5},
        {"user_id": "a" * 5000},
    ],
)
def test_without_a_user_the_agent_s_call_fails(door: Door, form: str, attributes: Any) -> None:
    event = FORMS[form]("save", {"content": "x"}, None, sessionAttributes=attributes)
    body, state = told(served(door)(event, None))
    assert body["error"]["code"] == "identity_missing"
    assert state == {"api": "401", "functions": "FAILURE"}[form]
    assert kept(door, "ana") == []


@BOTH
@pytest.mark.parametrize("name", ["user_id", "user", "sub", "tenant", "sessionAttributes", "X-User-Id"])
def test_a_parameter_can_t_name_a_user(door: Door, form: str, name: str) -> None:
    handler = served(door)
    for caller, code in ((ANA, "invalid_input"), (None, "identity_missing")):
        body, _ = told(handler(FORMS[form]("save", {"content": "x", name: "bob"}, caller), None))
        assert body["error"]["code"] == code
    assert kept(door, "ana") == kept(door, "bob") == []


@BOTH
def test_prompt_session_attributes_name_nobody(door: Door, form: str) -> None:
    event = FORMS[form]("save", {"content": "x"}, None, promptSessionAttributes={"user_id": "ana"})
    assert told(served(door)(event, None))[0]["error"]["code"] == "identity_missing"


@BOTH
@pytest.mark.parametrize("agent", [None, "x", {}, {"id": "ELSEWHERE1"}, {"id": [AGENT]}])
@pytest.mark.parametrize("configured", [AGENT, ""])
def test_an_agent_that_is_not_configured_is_refused(door: Door, form: str, agent: Any, configured: str) -> None:
    event = FORMS[form]("save", {"content": "x"}, ANA, agent=agent)
    body, state = told(served(door, bedrock_agents=configured)(event, None))
    assert body["error"]["code"] == "access_denied"
    assert state == {"api": "403", "functions": "FAILURE"}[form]
    assert kept(door, "ana") == []


@BOTH
def test_what_the_model_can_mend_comes_back_to_it_and_what_it_can_t_fails(door: Door, failing: Door, form: str) -> None:
    event = FORMS[form]
    body, state = told(served(door)(event("search", {"query": "x", "limit": "many"}, ANA), None))
    assert "an integer from 1 to 1000" in body["error"]["message"]
    assert state == {"api": "400", "functions": "REPROMPT"}[form]
    body, state = told(served(door)(event("get", {"id": "none"}, ANA), None))
    assert (body["error"]["code"], state) == ("not_found", {"api": "404", "functions": "REPROMPT"}[form])
    body, state = told(served(failing)(event("save", {"content": "x"}, ANA), None))
    assert (body["error"]["code"], state) == ("internal", {"api": "500", "functions": "FAILURE"}[form])
    assert "users_prod" not in json.dumps(body)


@BOTH
def test_values_are_read_by_the_schema_s_types(door: Door, form: str) -> None:
    given = {
        "content": "5",
        "tags": ["one", "two, three"],
        "metadata": {"a": {"b": [1]}},
        "confidence": 0.5,
        "pinned": True,
    }
    body, _ = told(served(door)(FORMS[form]("save", given, ANA), None))
    [memory] = kept(door, "ana")
    assert memory["id"] == body["id"]
    assert {name: memory[name] for name in given} == given


@BOTH
@pytest.mark.parametrize(
    ("sent", "tags"),
    [
        ("[FHIR, HL7 CDA]", ["FHIR", "HL7 CDA"]),
        ("['FHIR', 'HL7 CDA']", ["FHIR", "HL7 CDA"]),
        ('["FHIR, HL7", "CDA"]', ["FHIR, HL7", "CDA"]),
        ("FHIR", ["FHIR"]),
        ("[]", []),
    ],
)
def test_a_list_is_read_in_the_forms_that_agents_write(door: Door, form: str, sent: str, tags: list[str]) -> None:
    told(served(door)(FORMS[form]("save", {"content": "x", "tags": sent}, ANA), None))
    assert [memory.get("tags", []) for memory in kept(door, "ana")] == [tags]


def test_parameters_and_body_are_one_call(door: Door) -> None:
    beside = [{"name": "tags", "type": "array", "value": '["a"]'}]
    assert told(served(door)(as_operation("save", {"content": "x"}, ANA, parameters=beside), None))[1] == ""
    assert [memory["tags"] for memory in kept(door, "ana")] == [["a"]]
    twice = [{"name": "content", "type": "string", "value": "y"}]
    body, state = told(served(door)(as_operation("save", {"content": "x"}, ANA, parameters=twice), None))
    assert ("`content` is given twice" in body["error"]["message"], state) == (True, "400")
    assert len(kept(door, "ana")) == 1


@pytest.mark.parametrize("method", ["GET", "DELETE", "", None])
def test_only_the_schema_s_method_and_path_are_served(door: Door, method: Any) -> None:
    for event in (
        as_operation("save", {"content": "x"}, ANA, httpMethod=method),
        as_operation("nothing", {}, ANA),
        as_operation("save/", {"content": "x"}, ANA),
        as_operation("v1/core/save", {"content": "x"}, ANA),
        as_function("memory_save", {"content": "x"}, ANA),
        as_function("core.save", {"content": "x"}, ANA, function=["save"]),
    ):
        body, state = told(served(door)(event, None))
        assert (body["error"]["code"], state) in {("not_found", "404"), ("not_found", "REPROMPT")}
        assert "`core` has: save, get, " in body["error"]["message"]
    assert kept(door, "ana") == []


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (as_function("save", {}, ANA, parameters=[5]), "invalid_input"),
        (as_function("save", {}, ANA, parameters=[{"name": "content"}]), "invalid_input"),
        (as_function("save", {}, ANA, parameters=[{"value": "x"}]), "invalid_input"),
        (as_function("save", {}, ANA, parameters={"content": "x"}), "invalid_input"),
        (as_function("save", {}, ANA, parameters=None), "invalid_input"),
        (as_operation("save", {}, ANA, requestBody=None), "invalid_input"),
        (as_operation("save", {}, ANA, requestBody={"content": {"text/plain": {}}}), "invalid_input"),
        (as_operation("save", {}, ANA, requestBody={"content": {"application/json": {"properties": "x"}}}), ""),
        (as_operation("save", {}, ANA, requestBody=[1]), "invalid_input"),
    ],
)
def test_an_event_with_a_part_that_no_agent_sends_is_an_answer_too(door: Door, event: Any, code: str) -> None:
    body, _ = told(served(door)(event, None))
    assert body["error"]["code"] == code or not code
    assert kept(door, "ana") == []


@pytest.mark.parametrize(
    "event",
    [
        None,
        [],
        "heron",
        {},
        {"messageVersion": "1.0"},
        {"messageVersion": "1.0", "actionGroup": "Memory"},
        {"actionGroup": "Memory", "function": "save"},
        as_function("save", {"content": "heron"}, ANA, apiPath="/save"),
        {"toolset": "core", "tool": "save", "arguments": {"content": "heron"}, "caller": {"user_id": "ana"}},
        {"Records": [{"eventSource": "aws:sqs"}]},
    ],
)
def test_an_event_of_neither_form_is_refused(door: Door, telemetry: Telemetry, lines: Tell, event: Any) -> None:
    known = read_settings({}, agentcore_gateways=GATEWAY, bedrock_agents=AGENT)
    answer = agent_handler(open=lambda: door, settings=known, telemetry=telemetry)(event, None)
    assert answer["error"]["code"] == "invalid_input"
    assert "AgentCore gateways, and events of Bedrock action groups" in answer["error"]["message"]
    [line] = lines()
    assert line["error"] == "invalid_input"
    assert kept(door, "ana") == []


@BOTH
def test_an_identity_of_a_pool_can_t_imitate_an_agent(door: Door, form: str) -> None:
    context = SimpleNamespace(identity=SimpleNamespace(cognito_identity_id="us-east-1:pool-user"))
    answer = served(door)(FORMS[form]("save", {"content": "x"}, ANA), context)
    assert answer["error"]["code"] == "invalid_input"
    assert kept(door, "ana") == []


@BOTH
def test_a_large_answer_fits_and_the_agent_gets_all_of_it_in_several(door: Door, form: str) -> None:
    items = [{"content": f'{nth} "{"long " * 180}"', "tags": ["語" * 20]} for nth in range(100)]
    door.invoke("core.batch_save", {"items": items}, ANA)
    seen, offset = set[str](), 0
    while offset < 100:
        answer = served(door)(FORMS[form]("list", {"limit": 100, "offset": offset}, ANA), None)
        assert _size(answer) <= 25_000
        body, state = told(answer)
        assert (state, body["total"]) == ("", 100)
        seen |= {memory["id"] for memory in body["memories"]}
        offset += len(body["memories"])
        assert ("cut" not in body) == (offset == 100)
        if "cut" in body:
            assert body["cut"].startswith(f"Only the first {len(body['memories'])} of ")
            assert body["cut"].endswith(f"Continue with `offset` {offset}.")
    assert len(seen) == 100


@BOTH
def test_one_long_memory_is_cut_and_says_where(door: Door, form: str) -> None:
    for text in ("ab " * 10_000, '"\\' * 16_000, "語" * 10_000, "\t" + "\x01" * 32_000):
        id = door.invoke("core.save", {"content": text + "."}, ANA).body["id"]
        answer = served(door)(FORMS[form]("get", {"id": id}, ANA), None)
        assert _size(answer) <= 25_000
        body, _ = told(answer)
        shown, _, more = body["content"].partition("... (")
        assert text.startswith(shown)
        assert more == f"{len(text) + 1 - len(shown):,} more characters)"
        assert body["cut"].startswith("Long texts and lists are shortened.")
        assert len(shown) > len(text) // 100


@BOTH
def test_a_list_and_a_text_are_cut_too(door: Door, form: str) -> None:
    for nth in range(40):
        content = f"Tea, {nth}: {'とても熱い ' * 400}"
        door.invoke("core.save", {"content": content}, ANA)
    notes = served(door, "notes")(FORMS[form]("memory_search", {"query": "tea", "top_k": 20}, ANA), None)
    assert _size(notes) <= 25_000
    body, _ = told(notes)
    assert 1 < len(body["result"]) < 20
    assert f"or for `top_k` {len(body['result'])} at most." in body["cut"]
    markdown = served(door)(FORMS[form]("retrieve_memory", {"query": "tea", "limit": 40}, ANA), None)
    assert _size(markdown) <= 25_000
    response = markdown["response"]
    text = (
        response["functionResponse"]["responseBody"]["TEXT"]["body"]
        if form == "functions"
        else json.loads(response["responseBody"]["application/json"]["body"])
    )
    assert "[Long texts and lists are shortened. Ask for something narrower" in text


@BOTH
def test_an_answer_fits_beside_large_session_attributes(door: Door, form: str) -> None:
    door.invoke("core.save", {"content": "ab " * 10_000}, ANA)
    for size in (10_000, 100_000):
        attributes = {"user_id": "ana", "history": "x" * size}
        answer = served(door)(FORMS[form]("list", {}, ANA, sessionAttributes=attributes), None)
        assert _size(answer) <= 25_000
        assert ("sessionAttributes" in answer) == (size == 10_000)


def test_a_refusal_is_a_line_of_the_log(door: Door, telemetry: Telemetry, lines: Tell) -> None:
    observed = replace(door, observe=telemetry.observe)
    known = read_settings({}, agent_toolset="core", bedrock_agents=AGENT)
    handler = agent_handler(open=lambda: observed, settings=known, telemetry=telemetry)
    for form in FORMS.values():
        handler(form("save", {"content": "heron"}, None), None)
        handler(form("save", {"contents": "heron"}, ANA), None)
    assert [line["error"] for line in lines()] == ["identity_missing", "invalid_input"] * 2
    assert "heron" not in json.dumps(lines())


def _size(answer: dict[str, Any]) -> int:
    # As Lambda's runtime for Python 3.12 and newer writes an answer.
    return len(json.dumps(answer, ensure_ascii=False).encode())
