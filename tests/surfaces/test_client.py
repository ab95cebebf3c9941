"""The client of a server and of functions: lost calls, answers of something else, types of errors, what it imports."""

import asyncio
import json
import subprocess
import sys
import threading
from collections import UserString
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum, StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from steeltrap.client import Client, calling, connect, connect_async
from steeltrap.client.answers import Answer, Call, NoAnswer
from steeltrap.client.calling import Patience
from steeltrap.client.in_process import open_memory
from steeltrap.client.over_http import OverHttp
from steeltrap.errors import (
    AccessDenied,
    IdentityMissing,
    InvalidInput,
    MemoryNotFound,
    NotFound,
    OverQuota,
    SteeltrapError,
    Throttled,
    TooLarge,
    Unavailable,
    VersionConflict,
    restored,
    type_name,
)
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import LocalUser, TrustedHeaders
from steeltrap.servers.aws_lambda.asgi import app_handler
from steeltrap.toolsets import CATALOGUE
from surfaces.callers import Functions
from surfaces.serving import served

NOBODY = "00000000-0000-4000-8000-000000000000"
AT_ONCE = Patience(pause=lambda seconds: None)
KEYED = [tool.full_name for tool in CATALOGUE.tools() if tool.keyed]


@dataclass
class Losing:
    """The door behind a transport that carries a call out and loses the answer, or never sends it."""

    door: Door
    losses: int
    sent: bool = True
    calls: list[Call] = field(default_factory=list)

    def send(self, call: Call) -> Answer:
        self.calls.append(call)
        lost = len(self.calls) <= self.losses
        if not lost or self.sent:
            caller = Caller(UserRef("ana"), "default", "chat")
            result = self.door.invoke(call.tool, dict(call.arguments), caller, idempotency_key=call.idempotency_key)
        if lost:
            raise NoAnswer("The server went away before it answered.", sent=self.sent)
        return Answer(error=result.error) if result.error else Answer(body=result.body)

    def as_user(self, user: str, *, agent: str | None, conversation: str | None, timezone: str | None) -> "Losing":
        return self

    def close(self) -> None:
        """Nothing is held."""


def losing(door: Door, losses: int = 1, *, sent: bool = True) -> tuple[Client, Losing]:
    transport = Losing(door, losses, sent)
    return Client(transport, patience=AT_ONCE), transport


@pytest.mark.parametrize("tool", KEYED)
def test_a_save_whose_answer_was_lost_saves_once(door: Door, tool: str) -> None:
    client, transport = losing(door)
    ids = [client.core.save(content=text)["id"] for text in ("Ana likes tea.", "Bob likes coffee.")]
    transport.calls.clear()
    example: dict[str, Any] = dict(next(each for each in CATALOGUE.tools() if each.full_name == tool).examples[0])
    if "ids" in example or "memory_ids" in example:
        example["ids" if "ids" in example else "memory_ids"] = ids
    client.call(tool, **example)
    keys = [call.idempotency_key for call in transport.calls]
    assert len(keys) == 2
    assert keys[0] == keys[1] is not None
    after = client.core.stats()
    client.invoke(tool, example, idempotency_key=keys[0])
    assert client.core.stats() == after


def test_each_save_has_a_key_of_its_own(door: Door) -> None:
    client, transport = losing(door, 0)
    client.core.save(content="Ana likes tea.")
    client.core.save(content="Ana likes tea.")
    assert client.core.stats()["memories"] == 2
    assert len({call.idempotency_key for call in transport.calls}) == 3  # stats has none


def test_what_would_be_done_twice_is_not_repeated(door: Door) -> None:
    client, transport = losing(door, 0)
    saved = client.core.save(content="Ana likes tea.")
    client.core.update(id=saved["id"], content="Ana likes coffee.")
    for tool, arguments in (
        ("core.undo", {"id": saved["id"]}),
        ("core.update", {"id": saved["id"], "content": "Ana likes mate.", "version": 3}),
    ):
        transport.calls.clear()
        transport.losses = 9
        with pytest.raises(NoAnswer, match="may have been carried out") as caught:
            client.call(tool, **arguments)
        assert not caught.value.can_retry
        assert len(transport.calls) == 1
    transport.losses = 0
    assert client.core.get(id=saved["id"])["content"] == "Ana likes mate."


def test_a_call_that_never_left_is_sent_again_whatever_it_does(door: Door) -> None:
    client, _ = losing(door, 0)
    saved = client.core.save(content="Ana likes tea.")
    client, transport = losing(door, 2, sent=False)
    assert client.core.forget(id=saved["id"])["forgotten"] == [saved["id"]]
    assert len(transport.calls) == 3


def test_a_read_is_repeated_until_patience_ends(door: Door) -> None:
    pauses: list[float] = []
    transport = Losing(door, 99)
    client = Client(transport, patience=Patience(pause=pauses.append, spread=lambda low, high: high))
    with pytest.raises(Unavailable) as caught:
        client.core.list()
    assert caught.value.can_retry
    assert len(transport.calls) == calling.ATTEMPTS
    assert pauses == [0.2, 0.4, 0.8, 1.6]


class Refusing:
    def __init__(self, error: SteeltrapError) -> None:
        self.error = error
        self.asked = 0

    def send(self, call: Call) -> Answer:
        self.asked += 1
        return Answer(error=self.error)

    as_user = Losing.as_user
    close = Losing.close


@pytest.mark.parametrize(
    ("error", "asked"),
    [
        (Throttled("busy", retry_after=7), 5),
        (Throttled("busy", retry_after=3600), 1),
        (OverQuota("the quota is used up"), 1),
        (InvalidInput("no"), 1),
        (Unavailable("the store"), 1),  # the tool may have done half of what it does
    ],
)
def test_pauses_are_those_that_the_server_asks_for(error: SteeltrapError, asked: int) -> None:
    pauses: list[float] = []
    transport = Refusing(error)
    client = Client(transport, patience=Patience(pause=pauses.append))  # type: ignore[arg-type]
    with pytest.raises(type(error)):
        client.core.undo()
    assert (transport.asked, pauses) == (asked, [7.0] * (asked - 1))


@contextmanager
def answering(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            answer(self)

        def log_message(self, *_: object) -> None:
            """Nothing is to be read in a test."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def replying(status: int, media: str, body: bytes, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in {"Content-Type": media, "Content-Length": str(len(body)), **headers}.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        request.wfile.write(body)

    return answer


OTHERS = {
    "a page": (replying(200, "text/html", b"<h1>Sign in</h1>"), Unavailable, "text/html"),
    "nothing": (replying(200, "application/json", b""), Unavailable, "can't be read"),
    "half of it": (replying(200, "application/json", b'{"results": ['), Unavailable, "can't be read"),
    "another version": (replying(200, "application/json", b'{"results": []}'), Unavailable, "lacks `outcome`"),
    "a list": (replying(200, "application/json", b"[]"), Unavailable, "another version"),
    "deep JSON": (replying(200, "application/json", b"[" * 99_999), Unavailable, "can't be read"),
    "no content": (replying(204, "application/json", b""), Unavailable, "204"),
    "another place": (replying(302, "text/html", b"", Location="/login"), Unavailable, "302"),
    "a gateway's refusal": (
        replying(401, "application/json", b'{"message":"Unauthorized"}'),
        IdentityMissing,
        "Unauth",
    ),
    "another gateway's": (replying(403, "text/html", b"no"), AccessDenied, "403"),
    "another server's": (replying(404, "text/html", b"Not Found"), NotFound, "404"),
    "a gateway without a server": (replying(502, "text/html", b"Bad Gateway"), NoAnswer, "502"),
    "an error of tomorrow": (
        replying(418, "application/problem+json", b'{"code": "teapot", "detail": "Tea only.", "retryable": false}'),
        SteeltrapError,
        "Tea only",
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_what_is_no_answer_of_ours_is_a_clear_error(case: str) -> None:
    answer, kind, sentence = OTHERS[case]
    with answering(answer) as url, connect(url, patience=Patience(attempts=2, pause=lambda _: None)) as client:
        with pytest.raises(kind, match=sentence) as caught:
            client.core.search(query="tea")
        assert caught.value.can_retry == (kind is NoAnswer)


def test_a_server_that_goes_away_in_the_middle_is_asked_again() -> None:
    keys: list[str] = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        keys.append(request.headers["Idempotency-Key"])
        if len(keys) < 3:
            request.send_response(200)
            request.send_header("Content-Length", "1000")
            request.end_headers()
            request.wfile.write(b'{"id": "half')
            request.close_connection = True
            return
        body = {"id": NOBODY, "version": 1, "scope": "user/default", "links": 0, "existed": True}
        replying(200, "application/json", json.dumps(body).encode())(request)

    with answering(answer) as url, connect(url, patience=AT_ONCE) as client:
        assert client.core.save(content="Ana likes tea.")["existed"]
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_an_answer_that_drips_ends_in_time() -> None:
    ticks = iter([0.0, 1.0, 99.0, 99.0])
    transport = OverHttp("http://127.0.0.1:1", monotonic=lambda: next(ticks))

    class Dripping:
        def stream(self, _: int) -> Iterator[bytes]:
            yield from (b"{", b"}", b" ")

    assert next(ticks) == 0.0
    with pytest.raises(NoAnswer, match="in time"):
        transport._read(Dripping(), 20.0)  # type: ignore[arg-type]


def test_types_and_facts_of_errors_cross_every_way(door: Door, tmp_path: Path) -> None:
    with served(create_app(door, TrustedHeaders(), closes_store=False)) as url:
        ana = {"X-User-Id": "ana", "X-Agent-Id": "a"}
        with connect(url, headers=ana, patience=AT_ONCE) as http, connect(url, patience=AT_ONCE) as nobody:
            by_function = connect("lambda:f-{operation}", user="ana", functions=Functions(door))
            for client in (http, by_function):
                with pytest.raises(MemoryNotFound) as caught:
                    client.records.memory_get(id=NOBODY)
                assert caught.value.id == NOBODY
                saved = client.core.save(content="Ana likes tea.")
                with pytest.raises(VersionConflict) as conflict:
                    client.core.update(id=saved["id"], content="Ana likes coffee.", version=9)
                assert conflict.value.details["id"] == saved["id"]
                with pytest.raises(InvalidInput, match="query"):
                    client.notes.memory_search(query="x" * 200_000)
            with pytest.raises(IdentityMissing):
                nobody.agent.recall(query="tea")


def test_a_function_of_all_tools_is_called_by_its_name(door: Door) -> None:
    handler = app_handler(open=lambda: door)

    class Function(Functions):
        def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:
            assert FunctionName == "steeltrap-dev-http"
            return {"Payload": _Read(json.dumps(handler(json.loads(Payload), None)).encode())}

    with connect("lambda:steeltrap-dev-http", user="ana", functions=Function(door)) as client:
        client.core.save(content="Ana likes tea.")
        assert client.core.stats()["memories"] == 1
        assert client.as_user("bob").core.search(query="tea")["outcome"]["kind"] == "nothing_stored"


class _Read:
    def __init__(self, payload: bytes) -> None:
        self.payload = payload

    def read(self) -> bytes:
        return self.payload


CRASHES = {
    "time is over": ({"errorMessage": "2026 Task timed out after 12 seconds"}, NoAnswer),
    "a crash": ({"errorType": "Runtime.ImportModuleError", "errorMessage": "secret"}, SteeltrapError),
}


@pytest.mark.parametrize("case", CRASHES)
def test_a_function_that_fails_is_an_error_without_its_text(case: str) -> None:
    payload, kind = CRASHES[case]

    class Function:
        def invoke(self, **_: Any) -> dict[str, Any]:
            return {"FunctionError": "Unhandled", "Payload": _Read(json.dumps(payload).encode())}

    with pytest.raises(kind) as caught:
        connect("lambda:f", user="ana", functions=Function(), patience=AT_ONCE).core.list()
    assert "secret" not in caught.value.message


def test_what_boto3_raises_is_an_error_of_ours() -> None:
    from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError, ReadTimeoutError

    def refused(code: str) -> Exception:
        return ClientError({"Error": {"Code": code, "Message": "secret"}}, "Invoke")

    cases: list[tuple[Exception, type[SteeltrapError]]] = [
        (refused("TooManyRequestsException"), Throttled),
        (refused("ResourceNotFoundException"), NotFound),
        (refused("AccessDeniedException"), AccessDenied),
        (refused("ServiceException"), NoAnswer),
        (EndpointConnectionError(endpoint_url="https://lambda"), NoAnswer),
        (ReadTimeoutError(endpoint_url="https://lambda"), NoAnswer),
        (NoCredentialsError(), InvalidInput),
    ]
    for error, kind in cases:

        class Function:
            def invoke(self, failure: Exception = error, **_: Any) -> Any:
                raise failure

        with pytest.raises(kind) as caught:
            connect("lambda:f", user="ana", functions=Function(), patience=AT_ONCE).core.list()
        assert "secret" not in caught.value.message


def test_every_type_of_error_is_restored_by_its_name() -> None:
    def below(kind: type[SteeltrapError]) -> Iterator[type[SteeltrapError]]:
        yield kind
        for each in kind.__subclasses__():
            yield from below(each)

    for kind in below(SteeltrapError):
        if kind.__module__ == "steeltrap.errors" and kind is not SteeltrapError:
            error = restored(type_name(kind("no")), kind.code, "no", retryable=kind.retryable, details={"id": "7"})
            assert (type(error), error.message, error.details["id"]) == (kind, "no", "7")


def test_arguments_of_python_are_sent_as_json(door: Door) -> None:
    with served(create_app(door, LocalUser("ana", "default"), closes_store=False)) as url, connect(url) as client:
        then = datetime(2026, 1, 2, tzinfo=UTC)
        saved = client.core.save(content="Ana likes tea.", tags=("drinks",), occurred_at=then)
        assert client.core.get(id=str(UUID(saved["id"])))["tags"] == ["drinks"]


class Weekday(IntEnum):
    """An enumeration of numbers, as programs pass its members."""

    MON = 1


class Word(StrEnum):
    """One of texts."""

    TEA = "tea"


@pytest.fixture(params=["a server", "a folder"])
def anywhere(request: pytest.FixtureRequest, door: Door, tmp_path: Path) -> Iterator[Client]:
    """A client of a server, and one of a folder."""
    with ExitStack() as stack:
        app = create_app(door, LocalUser("ana", "default"), closes_store=False)
        at = stack.enter_context(served(app)) if request.param == "a server" else str(tmp_path / "data")
        yield stack.enter_context(connect(at))


def test_values_of_python_are_one_memory_over_a_server_and_in_a_folder(anywhere: Client) -> None:
    then, id = datetime(2026, 1, 2, 3, tzinfo=UTC), UUID("3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b")
    metadata: dict[Any, Any] = {"at": then, "day": then.date(), "id": id, "set": {1}, "pair": (1, {2}), 7: {None: True}}
    metadata |= {"own": UserString("a text"), 1.5: 2, "member": Weekday.MON, "word": Word.TEA}
    anywhere.call("core.put", items=[{"id": id, "content": "Ana likes tea.", "metadata": metadata}])
    assert anywhere.call("core.get", id=id)["metadata"] == {
        "at": "2026-01-02T03:00:00+00:00",
        "day": "2026-01-02",
        "id": str(id),
        "set": [1],
        "pair": [1, [2]],
        "7": {"null": True},
        "own": "a text",
        "1.5": 2,
        "member": 1,
        "word": "tea",
    }


def test_a_name_that_is_no_text_is_refused_as_its_text_everywhere(anywhere: Client) -> None:
    arguments: dict[Any, Any] = {"query": "tea", 7: 8}
    assert str(anywhere.invoke("core.search", arguments).error).startswith("`7`")


@pytest.mark.parametrize("member", [Weekday.MON, Word.TEA])
def test_a_member_of_an_enumeration_is_its_number_or_its_text_everywhere(
    anywhere: Client, member: IntEnum | Word
) -> None:
    if isinstance(member, Word):
        assert anywhere.call("core.save", content=member)["version"] == 1
    else:
        with pytest.raises(InvalidInput, match=r"`content` must be a string .*; got 1\."):
            anywhere.call("core.save", content=member)


@pytest.mark.parametrize("metadata", [{1: "a", "1": "b"}, {None: 1, "null": 2}, {"in": {True: 1, "true": 2}}])
def test_keys_that_are_one_in_json_are_refused_everywhere(anywhere: Client, metadata: dict[Any, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"`metadata(\.in)?` has two keys that JSON writes as \"(1|null|true)\""):
        anywhere.call("core.save", content="x", metadata=metadata)
    assert anywhere.call("core.stats")["memories"] == 0


@pytest.mark.parametrize("arguments", [[1], "x", None, 5, [("content", "x")]])
def test_arguments_without_names_are_refused_everywhere(anywhere: Client, arguments: Any) -> None:
    answer = anywhere.invoke("core.save", arguments)
    assert isinstance(answer.error, InvalidInput)
    assert answer.error.message.startswith("The arguments must be a dict, such as ")


@pytest.mark.parametrize("tool", [5, None, b"core.save", ["core.save"]])
def test_a_tool_is_called_by_its_name_everywhere(anywhere: Client, tool: Any) -> None:
    with pytest.raises(InvalidInput, match=r"A tool is called by its name, such as 'core\.save'; got"):
        anywhere.invoke(tool, {"content": "x"})


@pytest.mark.parametrize(
    "value",
    [object(), b"bytes", Path("x"), Decimal(1), np.zeros(2)],
    ids=["object", "bytes", "path", "decimal", "array"],
)
def test_what_json_has_no_form_for_is_refused_by_its_field_everywhere(anywhere: Client, value: object) -> None:
    for arguments in ({"content": "x", "metadata": {"k": value}}, {"content": "x", "tags": [value]}):
        with pytest.raises(InvalidInput, match=r"`(metadata.k|tags.0)` has no form in JSON"):
            anywhere.call("core.save", **arguments)
    with pytest.raises(InvalidInput, match=r"`metadata.k` has no form in JSON"):
        anywhere.call("core.search", query="x", metadata={"k": value})
    with pytest.raises(InvalidInput, match=r"`metadata` has no form in JSON"):
        anywhere.call("core.save", content="x", metadata=value)
    assert anywhere.core.stats()["memories"] == 0


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_without_an_end_are_refused_by_their_field_everywhere(anywhere: Client, number: float) -> None:
    with pytest.raises(InvalidInput, match=r"`metadata.k` must be a finite number"):
        anywhere.call("core.save", content="x", metadata={"k": number})
    with pytest.raises(InvalidInput, match=r"`metadata` has a key that is not a string"):
        anywhere.call("core.save", content="x", metadata={number: 1})
    assert anywhere.core.stats()["memories"] == 0


def test_values_that_hold_themselves_are_refused_by_their_field_everywhere(anywhere: Client) -> None:
    tree: dict[str, Any] = {}
    tree["children"] = [{"name": name, "parent": tree} for name in "abcdef"]
    answer = anywhere.invoke("core.save", {"content": "x", "metadata": {"tree": tree}})
    assert isinstance(answer.error, InvalidInput)
    assert answer.error.message.startswith("`metadata.tree.....parent` is one of the values that hold it;")
    shared: list[Any] = []
    for _ in range(2):
        anywhere.call("core.save", content=f"x{_}", metadata={"one": shared, "other": shared})
    for _ in range(30):
        shared = [shared, shared]
    with pytest.raises(TooLarge, match=r"`metadata.shared\S* repeats more than 262,144 shared values"):
        anywhere.call("core.save", content="x", metadata={"shared": shared})
    assert anywhere.core.stats()["memories"] == 2


@pytest.mark.parametrize(
    ("target", "options", "sentence"),
    [
        ("http://", {}, "is no URL"),
        ("http://x:port", {}, "is no URL"),
        ("https://ana:secret@x", {}, "`token`"),
        ("https://x?key=1", {}, "the URL of the server alone"),
        ("https://x", {"user": "ana"}, "the token says who the user is"),
        ("https://x", {"token": "a\nb"}, "printable ASCII"),
        ("s3://x", {}, "no place of memories"),
        ("data", {"token": "x"}, "are for a server"),
        ("lambda:", {"user": "ana"}, "names no function"),
        ("lambda:a b", {"user": "ana"}, "names no function"),
        ("lambda:f", {}, "whose memories"),
    ],
)
def test_a_target_that_cant_be_one_is_refused_at_once(target: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SteeltrapError, match=sentence) as caught:
        connect(target, **options)
    assert "secret" not in caught.value.message


def test_another_user_over_http_is_another_token() -> None:
    with connect("http://127.0.0.1:1") as client, pytest.raises(InvalidInput, match="each with their own token"):
        client.as_user("bob")


def test_a_wrong_name_says_what_is_meant(tmp_path: Path) -> None:
    with connect(tmp_path) as client:
        with pytest.raises(NotFound, match="did you mean `save`"):
            client.call("core.sav")
        with pytest.raises(AttributeError, match="no tool 'sav'"):
            client.core.sav  # type: ignore[attr-defined]  # noqa: B018
        assert dir(client.core) == dir(client.core)
        assert "import_" in dir(client.core)
        assert set(CATALOGUE.toolsets) <= set(dir(client))


def test_clients_offer_every_toolset() -> None:
    assert set(Client.__annotations__) == set(CATALOGUE.toolsets)
    assert set(connect_async("x").__annotations__) == set(CATALOGUE.toolsets)


def test_a_client_is_used_from_two_loops_and_not_after_its_end(tmp_path: Path) -> None:
    client = connect_async(tmp_path, user="ana")

    async def save(text: str) -> None:
        await asyncio.gather(*(client.core.save(content=f"{text} {n}") for n in range(5)))

    threads = [threading.Thread(target=asyncio.run, args=(save(text),)) for text in ("tea", "coffee")]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    async def end() -> int:
        total = (await client.core.list())["total"]
        await client.close()
        with pytest.raises(RuntimeError, match="closed"):
            await client.core.list()
        return total

    assert asyncio.run(end()) == 10


@pytest.mark.parametrize("target", ["http://127.0.0.1:1", "folder", "memory", "lambda:f"])
def test_a_closed_client_refuses_calls_for_every_user(tmp_path: Path, target: str) -> None:
    memory = open_memory(tmp_path)
    places: dict[str, Any] = {"folder": tmp_path, "memory": memory}
    options: dict[str, Any] = {"user": "ana", "functions": object()} if target == "lambda:f" else {}
    client = connect(places.get(target, target), **options)
    clients = [client] if target.startswith("http") else [client, client.as_user("bob")]
    clients[-1].close()
    for each in clients:
        with pytest.raises(RuntimeError, match=r"^This client is closed; make another with `connect`\.$"):
            each.core.list()
    assert memory.core.stats()["memories"] == 0, "whoever opened a memory closes it"
    memory.close()


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_a_client_of_a_server_imports_no_engine_and_no_framework() -> None:
    loaded = modules_after(
        "from steeltrap.client import connect, connect_async\n"
        "connect('http://127.0.0.1:1'), connect_async('http://127.0.0.1:1')\n"
        "connect('lambda:f', user='ana', functions=object())"
    )
    rooms = {"engine", "toolsets", "tools", "invoke", "model", "stores", "settings", "runtime", "client.in_process"}
    assert not loaded & ({f"steeltrap.{room}" for room in rooms} | {"fastapi", "pydantic", "numpy", "boto3"})


def test_the_package_alone_imports_no_client() -> None:
    assert not [name for name in modules_after("import steeltrap") if name.startswith("steeltrap.client")]


def test_a_memory_in_this_process_imports_no_http() -> None:
    assert "steeltrap.client.over_http" not in modules_after("from steeltrap import open_memory, open_memory_async")
