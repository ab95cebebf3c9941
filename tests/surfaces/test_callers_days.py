"""Days are the caller's, whichever surface it calls through: its zone comes with the call; a wrong one is refused."""

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from clock import SettableClock
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import LocalUser
from steeltrap.servers.aws_lambda import agents, tools
from steeltrap.servers.hooks import answering
from steeltrap.servers.mcp import TIMEZONE
from surfaces.callers import door_on
from surfaces.mcp_client import ask
from surfaces.serving import served

NOW = datetime(2026, 5, 13, 15, tzinfo=UTC)
NEW_YORK = "America/New_York"
ME = Caller(UserRef("ana"), "default")
QUESTION = "who did I run with on 12 May 2026?"


@pytest.fixture
def door(tmp_path: Path) -> Any:
    opened = door_on(tmp_path / "data", SettableClock(NOW))
    for content, at in (
        ("I ran along the river with Bruno.", "2026-05-12T01:00:00Z"),  # the 11th in New York
        ("I ran in the park with Carla.", "2026-05-13T01:00:00Z"),  # the 12th
    ):
        assert opened.invoke("core.save", {"content": content, "occurred_at": at}, ME).error is None
    yield opened
    opened.store.close()


@pytest.mark.parametrize(
    ("question", "zone", "found", "other"),
    [
        (QUESTION, NEW_YORK, "Carla", "Bruno"),
        (QUESTION, "UTC", "Bruno", "Carla"),
        ("Who did I run with yesterday?", NEW_YORK, "Carla", "Bruno"),
        ("Mit wem bin ich gestern gelaufen?", NEW_YORK, "Carla", "Bruno"),
        ("¿Con quién corrí ayer?", NEW_YORK, "Carla", "Bruno"),
        ("昨日は誰と走った？", NEW_YORK, "Carla", "Bruno"),
        ("What did I do on Tuesday?", NEW_YORK, "Carla", "Bruno"),
        ("Mit wem bin ich vor zwei Tagen gelaufen?", NEW_YORK, "Bruno", "Carla"),
        ("Who did I run with yesterday?", "UTC", "Bruno", "Carla"),
        ("Who did I run with today?", "Pacific/Kiritimati", "", ""),
    ],
)
def test_recall_and_search_answer_with_the_memory_of_the_callers_day(
    door: Door, question: str, zone: str, found: str, other: str
) -> None:
    recalled = door.invoke("agent.recall", {"query": question}, ME, timezone=zone).body
    assert found in recalled
    assert not other or other not in recalled
    results = door.invoke("core.search", {"query": question}, ME, timezone=zone).body["results"]
    assert found in results[0]["content"]


def test_a_call_that_names_no_zone_has_that_of_the_setting(door: Door) -> None:
    assert "2026-05-12: I ran along" in door.invoke("agent.recent_memories", {}, ME, timezone="UTC").body
    assert "2026-05-11: I ran along" in door.invoke("agent.recent_memories", {}, ME, timezone=NEW_YORK).body


def test_over_http_a_header_names_the_zone(door: Door) -> None:
    with (
        served(create_app(door, LocalUser("ana", "default"))) as address,
        httpx.Client(base_url=address, trust_env=False) as client,
    ):
        answer = _recalled(client, NEW_YORK)
        assert "2026-05-12: I ran in the park with Carla." in answer.text
        assert "Bruno" not in answer.text
        refused = _recalled(client, "Mars/Base")
    assert refused.status_code == 400
    assert "Mars/Base" in refused.text


def _recalled(client: httpx.Client, zone: str) -> httpx.Response:
    return client.post("/v1/agent/recall", json={"query": QUESTION}, headers={"X-Steeltrap-Timezone": zone})


def test_over_mcp_meta_names_the_zone(door: Door) -> None:
    async def recalled(client: Any) -> str:
        result = await client.call_tool("recall", {"query": QUESTION}, meta={TIMEZONE: NEW_YORK})
        return str(result.content[0].text)

    text = ask(door, "agent", recalled)
    assert "Carla" in text
    assert "Bruno" not in text


def test_an_event_of_a_function_names_the_zone(door: Door) -> None:
    arguments = {"query": QUESTION}
    invoked = {"toolset": "agent", "tool": "recall", "arguments": arguments, "caller": {"user_id": "ana"}}
    body = tools.direct("search", lambda: door, {**invoked, "timezone": NEW_YORK})["body"]
    assert "Carla" in body
    assert "Bruno" not in body
    wrong = tools.direct("search", lambda: door, {**invoked, "timezone": "Mars/Base"})
    assert wrong["error"]["code"] == "invalid_input"


def test_a_bedrock_agents_session_names_the_zone(door: Door) -> None:
    event = {
        "messageVersion": "1.0",
        "actionGroup": "memory",
        "function": "recall",
        "agent": {"id": "A1"},
        "parameters": [{"name": "query", "type": "string", "value": QUESTION}],
        "sessionAttributes": {"user_id": "ana", "timezone": NEW_YORK},
    }
    answer = json.dumps(agents.answer_agent(lambda: door, "agent", ("A1",), event))
    assert "Carla" in answer
    assert "Bruno" not in answer


def test_an_agentcore_gateways_header_names_the_zone(door: Door) -> None:
    headers = {"X-Steeltrap-Caller": '{"user_id": "ana"}', "x-steeltrap-timezone": NEW_YORK}
    said = {
        "bedrockAgentCoreToolName": "memory___recall",
        "bedrockAgentCoreGatewayId": "G1",
        "bedrockAgentCorePropagatedHeaders": headers,
    }
    assert agents.gateway_call(SimpleNamespace(client_context=SimpleNamespace(custom=said))) == said
    answer = json.dumps(agents.answer_gateway(lambda: door, "agent", ("G1",), {"query": QUESTION}, said))
    assert "Carla" in answer
    assert "Bruno" not in answer


def test_a_hook_sends_the_machines_zone(door: Door, tmp_path: Path) -> None:
    def asked(zone: str) -> str:
        given = {"hook_event_name": "UserPromptSubmit", "session_id": zone, "prompt": QUESTION, "cwd": str(tmp_path)}
        asked = {"client": "claude-code", "folder": str(tmp_path), "input": given, "timezone": zone}
        return str(answering.answer(door, "ana", tmp_path, "prompt", asked)["print"])

    assert "Carla" in asked(NEW_YORK)
    assert "Bruno" not in asked(NEW_YORK)
    assert "Bruno" in asked("UTC")


def test_the_console_shows_days_where_the_browser_is(door: Door) -> None:
    from steeltrap.servers.console import Console, console_routes

    app = create_app(
        door,
        LocalUser("ana", "default"),
        pages=lambda admission: console_routes(Console(door=door), admission),
        local=True,
    )
    with served(app) as address, httpx.Client(base_url=address, trust_env=False) as client:
        page = client.get("/?q=park", headers={"Cookie": f"steeltrap-timezone={NEW_YORK}"}).text
        elsewhere = client.get("/?q=park", headers={"Cookie": "steeltrap-timezone=Mars/Base"})
    assert "2026-05-12" in page
    assert elsewhere.status_code == 200


def test_a_day_without_a_time_is_answered_as_it_was_given(door: Door) -> None:
    saved = door.invoke("core.save", {"content": "Dentist.", "occurred_at": "2026-05-12"}, ME).body
    for zone in ("Pacific/Kiritimati", "Etc/GMT+12", "Asia/Kathmandu"):
        assert door.invoke("core.get", {"id": saved["id"]}, ME, timezone=zone).body["occurred_at"] == "2026-05-12"
        assert "2026-05-12: Dentist." in door.invoke("agent.recent_memories", {}, ME, timezone=zone).body
    midnight = {"content": "Fireworks.", "occurred_at": "2026-05-12T00:00:00Z"}
    assert door.invoke("core.save", midnight, ME).error is None
    assert "2026-05-11: Fireworks." in door.invoke("agent.recent_memories", {}, ME, timezone=NEW_YORK).body
    exported = door.invoke("core.export", {}, ME).body["records"]
    times = {each["content"]: each["occurred_at"] for each in exported}
    assert (times["Dentist."], times["Fireworks."]) == ("2026-05-12", "2026-05-12T00:00:00Z")
    other = Caller(UserRef("bob"), "default")
    assert door.invoke("core.import", {"records": exported}, other).error is None
    again = door.invoke("core.export", {}, other).body["records"]
    assert {each["content"]: each["occurred_at"] for each in again} == times


def test_a_time_that_is_changed_is_found_on_its_new_day(door: Door) -> None:
    saved = door.invoke("core.save", {"content": "Tax return.", "occurred_at": "2026-03-02T12:00:00Z"}, ME).body
    edit = {"id": saved["id"], "occurred_at": "2026-02-01T12:00:00Z"}
    assert door.invoke("core.update", edit, ME).error is None
    found = door.invoke("core.search", {"query": "1 February 2026", "mode": "keyword"}, ME).body["results"]
    assert [each["content"] for each in found] == ["Tax return."]
    found = door.invoke("core.search", {"query": "2 March 2026", "mode": "keyword"}, ME).body["results"]
    assert "Tax return." not in [each["content"] for each in found[:1]]


def test_a_day_of_which_nothing_is_known_is_told_by_its_date(door: Door) -> None:
    answer = door.invoke("agent.recall", {"query": "qwxzv plumbus, 2019-03-02"}, ME, timezone=NEW_YORK).body
    assert "Nothing close to this and 2019-03-02 among 2 memories" in answer
