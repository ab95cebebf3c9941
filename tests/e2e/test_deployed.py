"""The synthesised template, deployed, and called as a client calls it."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from docs.converse import SCRIPTS, filled
from mcp.client.auth.utils import (
    build_protected_resource_metadata_discovery_urls,
    extract_field_from_www_auth,
)
from mcp.shared.auth import ProtectedResourceMetadata

from e2e.deployment import Deployment, eventually
from e2e.issuer import Issuer
from steeltrap.toolsets import CATALOGUE
from surfaces import scenarios


@pytest.mark.parametrize("toolset", CATALOGUE.toolsets)
def test_every_tool_answers_in_its_dialect(toolset: str, stack: Deployment, issuer: Issuer) -> None:
    token = issuer.token(f"story-{toolset}", agent_id="agent", conversation_id="chat")

    def run(name: str, **arguments: Any) -> Any:
        status, body = stack.call(name, token, **arguments)
        assert status == 200, body
        return body

    getattr(scenarios, toolset)(run)


@pytest.mark.parametrize("toolset", sorted(script.stem for script in SCRIPTS.glob("*.json")))
def test_a_dialect_s_scripted_conversation_goes_as_its_page_shows(
    toolset: str, stack: Deployment, issuer: Issuer
) -> None:
    token = issuer.token(f"script-{toolset}", agent_id="agent")
    page = (SCRIPTS.parent / "dialects" / f"{toolset}.md").read_text()
    answers: list[Any] = []
    for step in json.loads((SCRIPTS / f"{toolset}.json").read_text()):
        status, answer = stack.call(f"{toolset}.{step['tool']}", token, **filled(step["arguments"], answers))
        answers.append(answer)
        assert f"POST {step['tool']} " in page
        assert status < 500, (step, answer)
        if status != 200:
            assert f"\n{status} " in page, (step, answer)


def test_nobody_reaches_another_s_memories(stack: Deployment, issuer: Issuer) -> None:
    ana, bob = issuer.token("ana"), issuer.token("bob")
    _, saved = stack.call("core.save", ana, content="The safe's code is 4711.")
    id = saved["id"]
    for tool, arguments in {
        "get": {"id": id},
        "update": {"id": id, "content": "x"},
        "delete": {"id": id},
        "forget": {"id": id},
        "history": {"id": id},
        "associations": {"id": id},
    }.items():
        status, body = stack.call(f"core.{tool}", bob, **arguments)
        assert status == 404, (tool, body)
        assert "4711" not in json.dumps(body)
    _, found = stack.call("core.search", bob, query="safe code")
    assert (found["results"], found["outcome"]["kind"]) == ([], "nothing_stored")
    _, found = stack.call("core.search", ana, query="safe code")
    assert [hit["id"] for hit in found["results"]] == [id]


def test_the_same_subject_of_two_tenants_is_two_users(stack: Deployment, issuer: Issuer) -> None:
    one, other = issuer.token("kim", tenant="acme"), issuer.token("kim", tenant="apex")
    stack.call("core.save", one, content="Acme's budget is settled.")
    _, found = stack.call("core.search", other, query="budget")
    assert found["outcome"]["kind"] == "nothing_stored"


def test_a_body_that_names_a_user_changes_nothing(stack: Deployment, issuer: Issuer) -> None:
    token = issuer.token("mallory")
    for name in ("user_id", "user", "sub", "tenant"):
        status, body = stack.call("core.search", token, query="safe code", **{name: "ana"})
        assert (status, body["code"]) == (400, "invalid_input")
    _, _, found = stack.post("/v1/core/search?user_id=ana", '{"query": "safe"}', token, **{"X-User-Id": "ana"})
    assert found["results"] == []


def test_what_is_saved_comes_into_the_index_by_the_stream(stack: Deployment, issuer: Issuer) -> None:
    token = issuer.token("stream")
    _, saved = stack.call("core.save", token, content="The ferry to Ilhabela leaves at noon.")
    _, found = stack.call("core.search", token, query="ferry")
    assert [hit["id"] for hit in found["results"]] == [saved["id"]]

    _, with_words = eventually(lambda: stack.indexed("stream", saved["id"]))
    assert with_words
    _, found = stack.call("core.search", token, query="when does the ferry leave?")
    assert [hit["id"] for hit in found["results"]] == [saved["id"]]


def test_of_updates_that_race_one_wins(stack: Deployment, issuer: Issuer) -> None:
    token = issuer.token("race")
    _, saved = stack.call("core.save", token, content="The meeting is on Monday.")

    def update(day: str) -> tuple[int, Any]:
        return stack.call("core.update", token, id=saved["id"], content=f"The meeting is on {day}.", version=1)

    days = ["Tuesday", "Wednesday", "Thursday", "Friday"]
    with ThreadPoolExecutor(len(days)) as threads:
        answers = list(threads.map(update, days))
    assert sorted(status for status, _ in answers) == [200, 409, 409, 409]
    [(_, won)] = [answer for answer in answers if answer[0] == 200]
    _, now = stack.call("core.get", token, id=saved["id"])
    assert (now["version"], now["content"]) == (2, won["content"])


def test_forgetting_leaves_no_text_and_says_so(stack: Deployment, issuer: Issuer) -> None:
    token = issuer.token("forgetful")
    _, saved = stack.call("core.save", token, content="Xylophone lessons are on Thursdays.")
    id = saved["id"]
    assert eventually(lambda: stack.indexed("forgetful", id))[1]
    status, receipt = stack.call("core.forget", token, id=id)
    assert (status, receipt["verified"]) == (200, True)

    def buried() -> bool:
        found = stack.indexed("forgetful", id)
        return found is not None and not found[1]

    eventually(buried)
    items = stack.aws.client("dynamodb").scan(TableName=stack.outputs["MemoryTable"])["Items"]
    assert "xylophon" not in repr(items).lower()
    assert stack.call("core.get", token, id=id)[0] == 404
    _, found = stack.call("core.search", token, query="xylophone lessons")
    assert found["results"] == []


def test_a_repeated_call_saves_once(stack: Deployment, issuer: Issuer) -> None:
    token, body = issuer.token("twice"), '{"content": "The parcel came."}'
    ids = {stack.post("/v1/core/save", body, token, **{"Idempotency-Key": "parcel"})[2]["id"] for _ in range(3)}
    assert len(ids) == 1


def test_a_queue_s_message_is_saved_for_whom_it_names(stack: Deployment, issuer: Issuer) -> None:
    call = {"toolset": "core", "tool": "save", "arguments": {"content": "Imported from the CRM."}}
    body = json.dumps({**call, "caller": {"user_id": "queued"}})
    stack.aws.client("sqs").send_message(QueueUrl=stack.outputs["WriteQueue"], MessageBody=body)
    token = issuer.token("queued")
    found = eventually(lambda: stack.call("core.search", token, query="CRM")[1]["results"])
    assert found[0]["content"] == "Imported from the CRM."


def test_mcp_serves_the_same_memories(stack: Deployment, issuer: Issuer) -> None:
    token = issuer.token("mcp")
    stack.call("notes.memory_save", token, content="Prefers tea to coffee.")
    called = {"name": "memory_search", "arguments": {"query": "tea"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called}
    accepts = {"Accept": "application/json, text/event-stream"}
    for _ in range(2):
        status, _, answer = stack.post("/mcp/notes", json.dumps(message), token, **accepts)
        assert status == 200, answer
        assert "tea to coffee" in answer["result"]["content"][0]["text"]
    assert stack.post("/mcp/notes", json.dumps(message), None, **accepts)[0] == 401
    # By which a client learns that nothing is pushed.
    assert stack.post("/mcp/notes", b"", token, method="GET", **accepts)[0] == 405


@pytest.mark.parametrize("path", ["/mcp", "/mcp/notes"])
def test_a_client_of_mcp_without_a_token_is_led_to_the_issuer(path: str, stack: Deployment, issuer: Issuer) -> None:
    status, headers, _ = stack.post(path, "{}", None)
    assert status == 401
    # The gateway answers itself, and names no document: the client looks in the places that MCP's specification lists.
    named = extract_field_from_www_auth(httpx.Response(status, headers=headers), "resource_metadata")
    url = stack.outputs["Url"]
    looked = build_protected_resource_metadata_discovery_urls(named, f"{url}{path}")
    status, _, body = stack.post(looked[0].removeprefix(url), b"", None, method="GET")
    assert status == 200, body
    document = ProtectedResourceMetadata.model_validate(body)
    assert [str(each).rstrip("/") for each in document.authorization_servers] == [issuer.url]
    assert document.resource.path == path
    assert stack.post("/.well-known/oauth-protected-resource/v1/core/save", b"", None, method="GET")[0] == 404


def test_an_export_lies_under_its_user_s_prefix(stack: Deployment, issuer: Issuer) -> None:
    token = issuer.token("exporter")
    stack.call("associative.memory_store", token, content="The archive is in the cellar.", scope="work")
    status, told = stack.call(
        "associative.memory_sync", token, operation="export", scope="work", file_path="backup/work.json"
    )
    assert status == 200, told
    [file] = stack.aws.client("s3").list_objects_v2(Bucket=stack.outputs["ExportBucket"])["Contents"][-1:]
    assert file["Key"].startswith("exports/")
    assert file["Key"].endswith("/backup/work.json")
    assert "exporter" not in file["Key"]


def test_tokens_are_good_or_refused(stack: Deployment, issuer: Issuer) -> None:
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    assert stack.call("core.stats", issuer.token("tokens"))[0] == 200
    refused = {
        "expired": issuer.token("tokens", seconds=-600),
        "of another key": issuer.token("tokens", key=other),
        "unsigned": issuer.token("tokens", key="", algorithm="none"),
        "signed with the public key": issuer.signed_with_public_key("tokens"),
        "for another audience": issuer.token("tokens", aud="elsewhere"),
        "of another issuer": issuer.token("tokens", iss="https://elsewhere.example"),
        "no token": "garbage",
    }
    answers = {name: stack.call("core.stats", token)[0] for name, token in refused.items()}
    assert answers == dict.fromkeys(refused, 401)
    assert stack.post("/v1/core/stats", "{}", None)[0] == 401


@pytest.mark.parametrize(
    ("path", "body", "kind", "status"),
    [
        ("/v1/core/search", "", "application/json", 400),
        ("/v1/core/search", "{", "application/json", 400),
        ("/v1/core/search", "[]", "application/json", 400),
        ("/v1/core/search", '{"query": "x"}', "text/plain", 415),
        ("/v1/core/nothing", "{}", "application/json", 404),
        ("/elsewhere", "{}", "application/json", 404),
        ("/v1/core/batch_save", json.dumps({"items": [{"content": "x" * 7_000_000}]}), "application/json", 400),
        ("/v1/core/batch_save", json.dumps({"items": [{"content": "x" * 9_000_000}]}), "application/json", 413),
    ],
)
def test_what_is_wrong_with_a_request_is_said_in_a_sentence(
    path: str, body: str, kind: str, status: int, stack: Deployment, issuer: Issuer
) -> None:
    got, headers, told = stack.post(path, body, issuer.token("wrong"), kind=kind)
    assert (got, told["status"]) == (status, status), told
    assert told["detail"].endswith(".")
    assert headers["Content-Type"] == "application/problem+json"


def test_a_rebuilt_index_finds_what_the_old_one_did(stack: Deployment, issuer: Issuer) -> None:
    token = issuer.token("rebuilt")
    _, saved = stack.call("core.save", token, content="The lighthouse has 117 steps.")
    functions = stack.aws.client("lambda")
    answered = functions.invoke(FunctionName=stack.outputs["ReindexFunction"], Payload=b'{"rebuild": true}')
    told = json.loads(answered["Payload"].read())
    assert (told["switched"], told["refused"]) == (True, 0), told
    index, with_words = eventually(lambda: stack.indexed("rebuilt", saved["id"]))
    assert index.endswith("-2")
    assert with_words
    _, found = stack.call("core.search", token, query="lighthouse", why=True)
    assert found["results"][0]["id"] == saved["id"]


def test_a_request_of_maintenance_sweeps_everyone(stack: Deployment) -> None:
    functions = stack.aws.client("lambda")
    answered = functions.invoke(FunctionName="steeltrap-e2e-maintenance", Payload=b"{}")
    told = json.loads(answered["Payload"].read())
    assert told["users"] > 0, told
    assert told["failed"] == 0


def test_every_log_line_of_a_function_is_json_without_a_memory_s_text(stack: Deployment, issuer: Issuer) -> None:
    word = f"zebra{uuid4().hex[:6]}"
    assert stack.call("core.save", issuer.token("logged"), content=f"The {word} sleeps.")[0] == 200
    assert stack.call("core.search", issuer.token("logged"), query=word)[0] == 200
    logs = stack.aws.client("logs")
    events = [
        event["message"]
        for name in ("save", "search")
        for event in logs.filter_log_events(logGroupName=f"/aws/lambda/steeltrap-e2e-{name}")["events"]
    ]
    assert events
    assert not any(word in message for message in events)
