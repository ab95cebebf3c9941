"""HTTP adds statuses, problems, headers, limits, probes."""

import asyncio
import gzip
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx
import pytest
from starlette.routing import Route

from embedding import HashedWords
from secret_examples import token
from steeltrap.errors import Internal, SteeltrapError, Throttled, Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, Outcome, OutcomeKind, UserRef
from steeltrap.servers.asgi.admission import MAX_IDENTIFIED_AT_ONCE, CallThreads
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import LocalUser
from steeltrap.servers.http import STATUS, error_reply, outcome_headers
from steeltrap.servers.schemas import openapi
from steeltrap.tools import MAX_BODY_BYTES
from steeltrap.toolsets import CATALOGUE
from surfaces.conftest import FailingStore
from surfaces.serving import served

JSON = {"Content-Type": "application/json"}
MiB = 1024 * 1024


def refused(answer: httpx.Response, status: int, says: str = "") -> None:
    problem = answer.json()
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert (answer.status_code, problem["status"]) == (status, status)
    assert says in problem["detail"]
    assert {"type", "title", "code", "retryable"} <= problem.keys()


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff\xfe",
        b"[1]",
        b'"text"',
        b"null",
        b"[" * 4_000,
        b'{"a":' * 2_000,
        b'{"content": NaN}',
        b'{"content": "\\ud800"}',
        b'{"confidence": ' + b"9" * 5000 + b"}",
        b"\xef\xbb\xbf{}",
        b"content=x",
        b"",
    ],
    ids=lambda body: repr(body[:12]),
)
@pytest.mark.parametrize("tool", ["core/save", "notes/memory_save"])
def test_a_body_that_is_no_json_object_is_a_bad_request(local: httpx.Client, tool: str, body: bytes) -> None:
    answer = local.post(f"/v1/{tool}", content=body, headers=JSON)
    assert answer.status_code == 400
    assert "Traceback" not in answer.text
    if tool.startswith("core"):
        refused(answer, 400)


@pytest.mark.parametrize(
    "kind",
    ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json; charset=latin-1"],
)
def test_only_json_is_taken(local: httpx.Client, kind: str) -> None:
    headers = {"Content-Type": kind} if kind else {}
    refused(local.post("/v1/core/save", content=b'{"content": "x"}', headers=headers), 415, "application/json")


@pytest.mark.parametrize("encoding", ["gzip", "Br", "gzip, identity"])
def test_a_compressed_body_is_refused_as_such(local: httpx.Client, encoding: str) -> None:
    headers = {**JSON, "Content-Encoding": encoding}
    answer = local.post("/v1/core/save", content=gzip.compress(b'{"content": "x"}'), headers=headers)
    refused(answer, 415, "without `Content-Encoding`")


def test_an_identity_encoding_is_none(local: httpx.Client) -> None:
    headers = {**JSON, "Content-Encoding": "identity"}
    assert local.post("/v1/core/stats", content=b"{}", headers=headers).status_code == 200


def test_json_may_say_that_it_is_utf_8(local: httpx.Client) -> None:
    kind = "Application/JSON; charset=UTF-8"
    assert local.post("/v1/core/stats", content=b"{}", headers={"Content-Type": kind}).status_code == 200


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/v1/core/sav", "did you mean `save`?"),
        ("/v1/cor/save", "did you mean `core`?"),
        ("/v1/cor", "there are: agent, core"),
        ("/v1/core/save/", "/v1/{toolset}/{tool}"),
        ("/v1/core/save%00", "did you mean `save`?"),
        ("/", "/v1/{toolset}/{tool}"),
        ("/../../etc/passwd", "/v1/{toolset}/{tool}"),
        ("/mcp/nothing", "there are: agent, core"),
    ],
)
def test_an_unknown_path_says_what_there_is(local: httpx.Client, path: str, says: str) -> None:
    refused(local.post(path, json={}), 404, says)


@pytest.mark.parametrize(("path", "allowed"), [("/v1/core/save", "POST"), ("/mcp", "POST"), ("/mcp/notes", "POST")])
def test_a_wrong_method_says_the_right_one(local: httpx.Client, path: str, allowed: str) -> None:
    answer = local.get(path)
    refused(answer, 405, allowed)
    assert answer.headers["Allow"] == allowed


@pytest.mark.parametrize("body", [b"{", b"[]", b"", b"\xff"])
@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("notes/memory_save", '{"error":"'),
        ("categories/store_memory", "Failed to store memory: "),
        ("records/memory_store", '{"error":true,"error_type":"ValidationError","message":"'),
    ],
)
def test_a_body_that_is_no_arguments_is_refused_in_the_dialects_own_form(
    local: httpx.Client, path: str, form: str, body: bytes
) -> None:
    answer = local.post(f"/v1/{path}", content=body, headers=JSON)
    # An empty body is no arguments, which a model can mend: `categories` answers that.
    is_answer = path.startswith("categories") and not body
    assert answer.status_code == (200 if is_answer else 400)
    assert answer.text.startswith(form)


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        (
            "store_memory",
            {"category": "invalid_category", "content": "x"},
            "Failed to store memory: Invalid category 'invalid_category'. "
            "Must be one of: ['fact', 'pattern', 'preference', 'capability']",
        ),
        (
            "store_memory",
            {"category": "fact", "content": "x", "confidence": 2},
            "Failed to store memory: Confidence must be between 0.0 and 1.0, got 2.0",
        ),
        ("store_memory", {"category": "fact", "content": "x" * 32_769}, "Failed to store memory: `content` is 32,769"),
        ("search_memories", {"query": " "}, "Failed to search memories: `query` must not be empty"),
        ("list_memories", {"category": "fact", "limit": 51}, "Failed to list memories: `limit` must be"),
    ],
)
def test_an_error_that_a_model_can_mend_is_an_answer_of_categories(
    local: httpx.Client, tool: str, arguments: dict[str, Any], sentence: str
) -> None:
    """A client that raises an error for a status of 400 would hide the document's sentence."""
    answer = local.post(f"/v1/categories/{tool}", json=arguments)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert answer.text.startswith(sentence)
    assert answer.headers["X-Steeltrap-Error"] in ("invalid_input", "too_large")
    stored = local.post("/v1/categories/store_memory", json={"category": "fact", "content": "x"})
    assert "X-Steeltrap-Error" not in stored.headers


def test_a_dialect_answers_its_own_error_with_the_status(local: httpx.Client) -> None:
    answer = local.post("/v1/notes/memory_delete", json={"note_id": "note-1"})
    assert answer.status_code == 404
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json() == {"error": "note `note-1` not found"}


def test_a_problem_has_the_facts_of_the_error(local: httpx.Client) -> None:
    saved = local.post("/v1/core/save", json={"content": "A fact."}).json()
    answer = local.post("/v1/core/update", json={"id": saved["id"], "content": "x", "version": 7})
    refused(answer, 409)
    assert answer.json()["version"] == 1


def test_text_is_answered_as_text(local: httpx.Client) -> None:
    local.post("/v1/core/save", json={"content": "Café à Zürich, 東京."})
    answer = local.post("/v1/core/retrieve_memory", json={"query": "東京"})
    assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert "Café à Zürich, 東京." in answer.text
    assert answer.headers["X-Steeltrap-Outcome"] == "found"


def test_a_repeated_idempotency_key_saves_once(local: httpx.Client) -> None:
    ids = {
        local.post("/v1/core/save", json={"content": "Once."}, headers={"Idempotency-Key": "k-1"}).json()["id"]
        for _ in range(2)
    }
    assert len(ids) == 1
    refused(local.post("/v1/core/save", json={"content": "x"}, headers={"Idempotency-Key": "k" * 257}), 400, "256")


def test_a_header_asks_for_secrets_to_be_replaced_or_refused(local: httpx.Client) -> None:
    def saved(how: str) -> httpx.Response:
        arguments = {"content": f"Deploys use {token()}."}
        return local.post("/v1/core/save", json=arguments, headers={"X-Steeltrap-Secrets": how})

    answer = saved("redact")
    assert answer.headers["X-Steeltrap-Outcome"] == "redacted"
    assert answer.headers["X-Steeltrap-Outcome-Message"] == "1 secret was replaced: aws-access-token."
    stored = local.post("/v1/core/get", json={"id": answer.json()["id"]}).json()
    assert stored["content"] == "Deploys use [redacted: aws-access-token]."
    refused(saved("refuse"), 400, "what looks like a secret (aws-access-token)")
    refused(saved("off"), 400, "must be redact or refuse")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("X-Steeltrap-Secret", "X-Steeltrap-Secrets"),
        ("X_Steeltrap_Secrets", "X-Steeltrap-Secrets"),
        ("Steeltrap-Secrets", "X-Steeltrap-Secrets"),
        ("X-Steel-Trap-Secrets", "X-Steeltrap-Secrets"),
        ("X-Steeltrap_Secrets", "X-Steeltrap-Secrets"),
        ("X-Steeltrap-Time-Zone", "X-Steeltrap-Timezone"),
    ],
)
def test_a_misspelt_header_is_refused_and_nothing_is_saved(local: httpx.Client, name: str, meant: str) -> None:
    before = local.post("/v1/core/list", json={}).json()["total"]
    answer = local.post("/v1/core/save", json={"content": f"Deploys use {token()}."}, headers={name: "redact"})
    refused(answer, 400, f"There is no header '{name.lower()}'; did you mean `{meant}`?")
    assert local.post("/v1/core/list", json={}).json()["total"] == before


def test_other_headers_of_a_gateway_are_none_of_ours(local: httpx.Client) -> None:
    names = ("X-Steeltrap-Caller", "X-Steeltrap-Stage", "X-Steeltrap-Request-Id", "X-Steeltrap-Outcome", "X-Secrets")
    headers = dict.fromkeys((*names, "X-Steeltrap-User", "X-Steeltrap-Server", "X-Forwarded-For"), "x")
    assert local.post("/v1/core/save", json={"content": "Tea."}, headers=headers).status_code == 200


def test_many_calls_at_once_all_succeed(local: httpx.Client) -> None:
    with ThreadPoolExecutor(20) as pool:
        answers = pool.map(lambda n: local.post("/v1/core/save", json={"content": f"Fact {n}."}), range(60))
        assert {answer.status_code for answer in answers} == {200}


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_limit_is_refused_by_its_size(local: httpx.Client, chunked: bool) -> None:
    body = b'{"content": "' + b"a" * MAX_BODY_BYTES + b'"}'
    content: Any = (body[at : at + MiB] for at in range(0, len(body), MiB)) if chunked else body
    refused(local.post("/v1/core/batch_save", content=content, headers=JSON), 413, "8 MiB")


def test_an_endless_body_is_given_up_at_the_limit(door: Door) -> None:
    app = create_app(door, LocalUser("local", "default"))
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += MiB
            yield b" " * MiB

    async def post() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return await client.post("/v1/core/save", content=endless(), headers=JSON)

    refused(asyncio.run(post()), 413)
    assert read <= MAX_BODY_BYTES + MiB


def test_an_import_may_be_larger(local: httpx.Client) -> None:
    answer = local.post("/v1/core/import", content=b'{"records": [{}]' + b" " * MAX_BODY_BYTES + b"}", headers=JSON)
    assert answer.status_code == 200
    assert answer.json()["errors"][0]["index"] == 0


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8000", "10.0.0.7", ""]
)
@pytest.mark.parametrize("path", ["/v1/core/list", "/mcp", "/healthz"])
def test_a_host_that_is_not_this_computer_is_refused(local: httpx.Client, host: str, path: str) -> None:
    refused(local.post(path, json={}, headers={"Host": host}), 403, "localhost")


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://127.0.0.1.evil.example", "http://127.0.0.1:1", "null", "file://"]
)
@pytest.mark.parametrize("path", ["/v1/core/list", "/mcp"])
def test_a_page_of_another_site_is_refused(local: httpx.Client, origin: str, path: str) -> None:
    refused(local.post(path, json={}, headers={"Origin": origin}), 403, "Cross-origin")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "127.9.9.9", "[::1]:8000"])
def test_every_name_of_this_computer_is_served(local: httpx.Client, host: str) -> None:
    headers = {"Host": host, "Origin": f"http://{host}"}
    assert local.post("/v1/core/list", json={}, headers=headers).status_code == 200


def test_a_server_behind_a_gateway_answers_to_any_host(door: Door) -> None:
    app = create_app(door, LocalUser("local", "default"), local=False, closes_store=False)
    with served(app) as url:
        answer = httpx.post(f"{url}/v1/core/list", json={}, headers={"Host": "memory.example"})
    assert answer.status_code == 200


def test_no_page_may_read_the_answers(local: httpx.Client) -> None:
    answer = local.options(
        "/v1/core/list",
        headers={"Origin": "http://localhost:3000", "Access-Control-Request-Method": "POST"},
    )
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


def test_probes_say_up_and_ready(local: httpx.Client) -> None:
    assert [local.get(path).json() for path in ("/healthz", "/readyz")] == [{"status": "ok"}] * 2


@pytest.mark.parametrize("part", ["store", "embedder"])
def test_a_server_whose_parts_fail_is_up_and_not_ready(door: Door, failing: Door, part: str) -> None:
    broken = failing if part == "store" else replace(door, embedder=HashedWords(state="broken"))
    with served(create_app(broken, LocalUser("local", "default"))) as url:
        assert httpx.get(f"{url}/healthz").status_code == 200
        answer = httpx.get(f"{url}/readyz")
    refused(answer, 503)
    assert FailingStore.secret not in answer.text


def test_a_server_that_is_not_ready_tells_its_log_why_and_nobody_else(
    door: Door, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(self: object) -> None:
        raise Unavailable("The data folder /srv/memories can't be written to.", part="store")

    monkeypatch.setattr(type(door.store), "check", check)
    with served(create_app(door, LocalUser("local", "default"), closes_store=False)) as url:
        answer = httpx.get(f"{url}/readyz")
    refused(answer, 503, "The store is not ready")
    assert "/srv" not in answer.text
    assert "/srv/memories" in caplog.text


def test_shutting_down_closes_the_store(failing: Door) -> None:
    with served(create_app(failing, LocalUser("local", "default"))):
        assert not failing.store.closed  # type: ignore[attr-defined]
    assert failing.store.closed  # type: ignore[attr-defined]


def test_the_document_of_the_server_has_every_tool(local: httpx.Client) -> None:
    document = local.get("/openapi.json").json()
    assert document == openapi(CATALOGUE)
    for tool in CATALOGUE.tools():
        operation = document["paths"][f"/v1/{tool.toolset}/{tool.name}"]["post"]
        assert operation["description"] == tool.description
        given = operation["requestBody"]["content"]["application/json"]
        assert given["schema"] == tool.input_schema
        assert [example["value"] for example in given["examples"].values()] == list(tool.examples)
        assert operation["responses"]["200"]["content"][tool.media]["schema"] == tool.answer_schema


def test_every_kind_of_error_has_its_status() -> None:
    assert {kind.code for kind in SteeltrapError.__subclasses__()} == STATUS.keys()
    assert error_reply(Internal("x")).status == 500


def test_too_many_calls_say_when_to_come_back() -> None:
    assert error_reply(Throttled("Slower, please.", retry_after=1.2)).headers["Retry-After"] == "2"


def test_what_happened_fits_in_a_header() -> None:
    headers = outcome_headers(Outcome(kind=OutcomeKind.BELOW_FLOOR, message="naïve\r\n語", best_score=0.25))
    assert headers["X-Steeltrap-Outcome-Message"] == "na?ve???"
    assert headers["X-Steeltrap-Best-Score"] == "0.2500"


def test_callers_that_wait_to_be_known_hold_up_no_probe(door: Door) -> None:
    waiting, known = threading.Semaphore(0), threading.Event()

    class Slow:
        def caller(self, scope: Any) -> Caller:
            waiting.release()
            known.wait(30)
            return Caller(UserRef("ana"))

    app = create_app(door, Slow(), local=False, closes_store=False)
    with served(app) as url, ThreadPoolExecutor(MAX_IDENTIFIED_AT_ONCE) as pool:
        try:
            calls = [
                pool.submit(httpx.post, f"{url}/v1/core/list", json={}, timeout=60)
                for _ in range(MAX_IDENTIFIED_AT_ONCE)
            ]
            assert all(waiting.acquire(timeout=20) for _ in calls)
            assert httpx.get(f"{url}/readyz", timeout=20).status_code == 200
        finally:
            known.set()
        assert {call.result().status_code for call in calls} == {200}


def test_a_path_is_found_without_trying_every_route(door, monkeypatch):
    tried = []
    matches = Route.matches
    monkeypatch.setattr(Route, "matches", lambda route, scope: tried.append(route.path) or matches(route, scope))
    app = create_app(door, LocalUser("local", "default"), closes_store=False)
    with served(app) as url, httpx.Client(base_url=url) as client:
        for path in ("/healthz", "/v1/notes/memory_search", "/mcp/associative", "/nothing/here"):
            client.get(path)
    assert tried == ["/healthz", "/v1/notes/memory_search", "/mcp/associative"]


@pytest.mark.parametrize("path", ["/v1/notes/memory_search", "/mcp/notes"])
def test_a_call_of_who_is_known_at_once_takes_one_thread(door, monkeypatch, path):
    started = []
    start = CallThreads.start
    monkeypatch.setattr(CallThreads, "start", lambda threads, job: started.append(job) or start(threads, job))
    body: dict[str, Any] = {"query": "where?"}
    if path.startswith("/mcp"):
        call = {"name": "memory_search", "arguments": body}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    app = create_app(door, LocalUser("local", "default"), closes_store=False)
    with served(app) as url, httpx.Client(base_url=url) as client:
        accepts = {"Accept": "application/json, text/event-stream"}
        assert client.post(path, json=body, headers=accepts).status_code == 200
    assert len(started) == 1
