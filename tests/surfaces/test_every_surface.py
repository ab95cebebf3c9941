"""The same story and the same refusals through every surface."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from secret_examples import token
from steeltrap.cli.app import app
from steeltrap.model import Caller, UserRef
from steeltrap.servers.schemas import FORMATS, openapi, schemas
from steeltrap.toolsets import CATALOGUE
from surfaces.callers import SURFACES, Connected, direct
from surfaces.refusals import BAD, MENDED, OWN_ID, UNKNOWN, Case
from surfaces.scenarios import SCENARIOS

ROOT = Path(__file__).parents[2]
# Few callers: each is a process of its own over stdio.
ME = Caller(UserRef("ana"), "default", "chat-1")
OTHER = Caller(UserRef("bob"), "default", "chat-1")


@dataclass(frozen=True)
class Surface:
    """The surface under test, and beside it the engine on the same folder, to see what is stored."""

    name: str
    call_as: Connected
    beside: Connected


@pytest.fixture(scope="module", params=SURFACES)
def surface(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    folder = tmp_path_factory.mktemp("memories")
    with SURFACES[request.param](folder) as call_as, direct(folder) as beside:
        yield Surface(request.param, call_as, beside)


@pytest.mark.parametrize("toolset", SCENARIOS)
def test_every_tool_of_a_toolset_works(surface: Surface, toolset: str) -> None:
    call = surface.call_as(ME)
    called = set()

    def run(tool: str, **arguments: Any) -> Any:
        called.add(tool)
        reply = call(tool, arguments)
        assert not reply.is_error, reply
        Draft202012Validator(CATALOGUE.tool(tool).answer_schema).validate(reply.body)
        return reply.body

    SCENARIOS[toolset](run)
    assert called == {tool.full_name for tool in CATALOGUE.toolset(toolset).tools.values()}


def test_every_toolset_has_a_story() -> None:
    assert set(SCENARIOS) == set(CATALOGUE.toolsets)


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_bad_input_is_refused_in_one_sentence_and_changes_nothing(surface: Surface, case: Case) -> None:
    if surface.name in case.not_on:
        pytest.skip("this surface's own client can't send it")
    call = surface.call_as(ME)
    kept = _kept(surface)
    before = _stored(surface)
    reply = call(case.tool, _filled(case.arguments, kept))
    assert reply.is_error, reply.body
    assert reply.code in (case.code, "")
    assert case.says in reply.message
    _is_a_sentence(reply.message)
    assert _stored(surface) == before


@pytest.mark.parametrize("field", ["user_id", "user", "userId", "sub", "tenant", "caller", "X-User-Id"])
@pytest.mark.parametrize("tool", ["core.save", "core.list", "core.forget"])
def test_a_body_that_names_a_user_shows_and_changes_nothing(surface: Surface, tool: str, field: str) -> None:
    theirs = _kept(surface, OTHER)
    before = _stored(surface), _stored(surface, OTHER)
    arguments = {"core.save": {"content": "x"}, "core.list": {}, "core.forget": {"id": theirs}}[tool]
    named = {"user_id": OTHER.user.user_id} if field == "caller" else OTHER.user.user_id
    reply = surface.call_as(ME)(tool, {**arguments, field: named})
    assert reply.is_error
    assert "Keep this sentence" not in str(reply.body)
    assert (_stored(surface), _stored(surface, OTHER)) == before


@pytest.mark.parametrize("case", MENDED, ids=lambda case: case.name)
def test_what_is_beyond_doubt_is_taken(surface: Surface, case: Case) -> None:
    call = surface.call_as(ME)
    reply = call(case.tool, _filled(case.arguments, _kept(surface)))
    assert not reply.is_error, reply
    assert case.says in json.dumps(reply.body, ensure_ascii=False)


@pytest.mark.parametrize(
    "query", ['"', "NEAR(a b)", "a AND", "*", "%", "_", "col:x", "^a", "(", "-", "'; --", "{}", "😀"]
)
def test_operators_of_any_query_language_are_plain_text(surface: Surface, query: str) -> None:
    call = surface.call_as(ME)
    _kept(surface)
    reply = call("core.search", {"query": query, "mode": "keyword"})
    assert not reply.is_error, reply
    assert reply.body["results"] == []


@pytest.mark.parametrize(("tool", "arguments"), UNKNOWN, ids=lambda value: value if isinstance(value, str) else "")
def test_another_users_id_reads_like_an_unknown_one(surface: Surface, tool: str, arguments: dict[str, Any]) -> None:
    call = surface.call_as(ME)
    own, theirs, nobodys = _kept(surface), _kept(surface, OTHER), "00000000-0000-4000-8000-000000000000"
    before = _stored(surface, OTHER)
    answers = []
    for id in (theirs, nobodys):
        reply = call(tool, _filled(arguments, own, id))
        answers.append((reply.is_error, reply.code, reply.message.replace(id, "ID"), str(reply.body).replace(id, "ID")))
    assert answers[0] == answers[1]
    assert _stored(surface, OTHER) == before


def test_a_batch_with_a_bad_item_keeps_nothing_and_says_which(surface: Surface) -> None:
    call = surface.call_as(ME)
    before = _stored(surface)
    reply = call("core.batch_save", {"items": [{"content": "fine"}, {"content": " "}]})
    assert reply.is_error
    assert "Item 1: `content` must not be empty" in reply.message
    assert "Nothing was written." in reply.message
    assert _stored(surface) == before


def test_a_search_says_what_happened_beside_the_answer(surface: Surface) -> None:
    if surface.name in ("python", "command-line", "agentcore", "bedrock-openapi", "bedrock-functions"):
        pytest.skip("the answer is the body and nothing else")
    _kept(surface)
    reply = surface.call_as(ME)("notes.memory_search", {"query": "anything", "tags": ["none"]})
    assert reply.body == []
    assert reply.outcome == "filtered_out"


def test_a_secret_is_replaced_and_the_answer_says_so(surface: Surface) -> None:
    said = surface.call_as(ME)("agent.remember", {"content": f"{surface.name} deploys with {token()}."})
    assert not said.is_error
    assert "1 secret was replaced: aws-access-token." in said.body
    kept = str(_stored(surface))
    assert f"{surface.name} deploys with [redacted: aws-access-token]." in kept
    assert token() not in kept


def test_what_is_said_stays_in_its_conversation(surface: Surface) -> None:
    here, elsewhere = surface.call_as(ME), surface.call_as(replace(ME, conversation_id="chat-2"))
    _kept(surface)
    here("core.append_messages", {"messages": [{"role": "user", "content": "My cat is called Miso."}]})
    search = {"query": "cat", "include_conversation": True}
    assert "conversation" in {hit["source"] for hit in here("notes.memory_search", search).body}
    assert "conversation" not in {hit["source"] for hit in elsewhere("notes.memory_search", search).body}
    everything = {"query": "my notes", "include_conversation": True}
    assert {hit["source"] for hit in elsewhere("notes.memory_search", everything).body} == {"user_memory"}


def _kept(surface: Surface, caller: Caller = ME) -> str:
    """The id of a memory that this caller has for certain."""
    call = surface.beside(caller)
    kept = call("core.list", {"tags": ["kept"]}).body["memories"]
    if not kept:
        return str(call("core.save", {"content": "Keep this sentence.", "tags": ["kept"]}).body["id"])
    return str(kept[0]["id"])


def _stored(surface: Surface, caller: Caller = ME) -> Any:
    return surface.beside(caller)("core.export", {}).body["records"]


def _filled(arguments: Any, own: str, other: str = "") -> Any:
    """Arguments with OWN_ID, and the id that is asked for, put in."""
    if isinstance(arguments, dict):
        return {name: _filled(value, own, other) for name, value in arguments.items()}
    if isinstance(arguments, list):
        return [_filled(value, own, other) for value in arguments]
    return {OWN_ID: own, "OTHER-ID": other}.get(arguments, arguments) if isinstance(arguments, str) else arguments


def _is_a_sentence(message: str) -> None:
    assert message
    assert "\n" not in message
    for trace in ("Traceback", 'File "', "Error(", "pydantic", "apsw", "sqlite"):
        assert trace not in message


DOCUMENTS_ORDER = {
    "notes": "memory_search memory_save memory_update memory_delete",
    "categories": "store_memory search_memories list_memories",
    "records": "memory_store memory_search memory_get memory_update memory_delete memory_list memory_batch_store "
    "memory_batch_update memory_get_score memory_set_score memory_consolidate",
    "associative": "memory_store memory_search memory_manage memory_discover_associations memory_move memory_list_all "
    "memory_sync scope_list scope_suggest session_manage",
    "episodic": "retrieve_memory retrieve_memory_raw add_message",
}


@pytest.mark.parametrize("toolset", DOCUMENTS_ORDER)
def test_every_listing_has_the_tools_in_the_documents_order(toolset: str) -> None:
    names = DOCUMENTS_ORDER[toolset].split()
    found = CATALOGUE.toolset(toolset)
    for format in FORMATS:
        text = json.dumps(schemas(found, format))
        assert sorted(names, key=lambda name: text.index(f'"{name}"')) == names
    paths = [path.rpartition("/")[2] for path in openapi(CATALOGUE)["paths"] if path.startswith(f"/v1/{toolset}/")]
    assert paths == names
    table = CliRunner().invoke(app, ["tools", "--toolset", toolset]).output
    assert [line.split("\t")[0] for line in table.splitlines()] == [f"{toolset}.{name}" for name in names]
    page = (ROOT / "docs" / "tools" / f"{toolset}.md").read_text()
    assert re.findall(r"^## `(\w+)`$", page, re.MULTILINE) == names
