"""The function for agents of AWS's own platforms, deployed. The emulator passes no client context, and its
CloudFormation has no gateways: what AgentCore sends is tested in tests/surfaces/test_agentcore.py.
"""

import json
import re
from typing import Any

import pytest

from e2e.deployment import Deployment
from steeltrap.model import Caller, UserRef
from surfaces.events import as_function, as_operation

FORMS = {"api": as_operation, "functions": as_function}


def _invoked(stack: Deployment, event: dict[str, Any]) -> dict[str, Any]:
    functions = stack.aws.client("lambda")
    answered = functions.invoke(FunctionName=stack.outputs["AgentFunction"], Payload=json.dumps(event).encode())
    assert "FunctionError" not in answered
    told: dict[str, Any] = json.loads(answered["Payload"].read())
    return told


@pytest.mark.parametrize("form", FORMS)
def test_a_bedrock_agent_remembers_recalls_revises_forgets_and_undoes(stack: Deployment, form: str) -> None:
    def call(tool: str, **arguments: str) -> str:
        response = _invoked(stack, FORMS[form](tool, arguments, Caller(UserRef(f"agents-{form}"))))["response"]
        if form == "api":
            assert response["httpStatusCode"] == 200, response
            return str(json.loads(response["responseBody"]["application/json"]["body"]))
        assert "responseState" not in response["functionResponse"], response
        return str(response["functionResponse"]["responseBody"]["TEXT"]["body"])

    saved = call("remember", content="Mira's sister lives in Porto.")
    [id] = re.findall(r"\b[0-9a-f]{8,}\b", saved)
    assert "Mira's sister lives in Porto." in call("recall", query="Where does Mira's sister live?")
    call("revise_memory", id=id, content="Mira's sister lives in Lisbon.")
    recalled = call("recall", query="Where does Mira's sister live?")
    assert "Lisbon" in recalled
    assert "Porto" not in recalled
    [revised] = re.findall(r"\b[0-9a-f]{8,}\b(?=.*Lisbon)", recalled)
    call("forget_memory", id=revised)
    assert "Lisbon" not in call("recall", query="Where does Mira's sister live?")
    call("undo_memory_change")
    assert "Lisbon" in call("recall", query="Where does Mira's sister live?")


@pytest.mark.parametrize("form", FORMS)
def test_an_agent_without_a_user_and_one_that_the_stage_does_not_name_are_refused(stack: Deployment, form: str) -> None:
    for event, status in (
        (FORMS[form]("recall", {"query": "Mira", "user_id": "agents-api"}, None), 401),
        (FORMS[form]("recall", {"query": "Mira"}, Caller(UserRef("ana")), agent={"id": "ELSEWHERE1"}), 403),
    ):
        response = _invoked(stack, event)["response"]
        assert "Mira's" not in json.dumps(response)
        if form == "api":
            assert response["httpStatusCode"] == status
        else:
            assert response["functionResponse"]["responseState"] == "FAILURE"
