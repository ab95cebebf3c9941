"""A local server that answers `InvokeModel` in the form that Amazon documents for its embedding models.

What the documentation gives is checked field by field: a request of any other form is refused, as is a text
over a model's limits. Vectors are `HashedWords`, three times too long.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event
from types import SimpleNamespace
from typing import Any, Final
from urllib.parse import unquote

import numpy as np

from embedding import HashedWords

TITAN: Final = "amazon.titan-embed-text-v2:0"
COHERE: Final = "cohere.embed-multilingual-v3"

Behaviour = Callable[["BedrockServer", "Handler", dict[str, Any]], None]


class Refusal(Exception):
    """An error as Bedrock sends it."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code, self.message = status, code, message


def malformed(reason: str) -> Refusal:
    return Refusal(
        400, "ValidationException", f"Malformed input request: {reason}, please reformat your input and try again."
    )


class BedrockServer(ThreadingHTTPServer):
    """Each request takes the next of `behaviours`, if any.

    `requests` has what was asked, `embedded` the texts that got a vector.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviours: list[Behaviour] = []
        self.requests: list[SimpleNamespace] = []
        self.embedded: list[str] = []
        self.released = Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.requests]

    def answer(self, model: str, body: Mapping[str, Any]) -> dict[str, Any]:
        if TITAN in model:
            answer = titan(body)
        elif COHERE in model:
            answer = cohere(body)
        else:
            raise Refusal(404, "ResourceNotFoundException", f"Could not resolve the foundation model {model}.")
        self.embedded += body["texts"] if "texts" in body else [body["inputText"]]
        return answer

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients that give up are what these tests are about."""


def titan(body: Mapping[str, Any]) -> dict[str, Any]:
    fields(body, {"inputText"}, {"dimensions", "normalize", "embeddingTypes"})
    text, dimension = body["inputText"], body.get("dimensions", 1024)
    if dimension not in (256, 512, 1024):
        raise malformed(f"#/dimensions: {dimension} is not a valid enum value")
    if len(text) > 50_000:
        raise malformed(f"expected maxLength: 50000, actual: {len(text)}")
    if tokens(text) > 8192:
        raise Refusal(
            400,
            "ValidationException",
            "400 Bad Request: Too many input tokens. Max input tokens: 8192, "
            f"request input token count: {tokens(text)}",
        )
    [numbers] = vectors([text], dimension)
    return {"embedding": numbers, "inputTextTokenCount": tokens(text), "embeddingsByType": {"float": numbers}}


def cohere(body: Mapping[str, Any]) -> dict[str, Any]:
    fields(body, {"texts", "input_type"}, {"truncate", "embedding_types"})
    texts = body["texts"]
    if body["input_type"] not in ("search_document", "search_query", "classification", "clustering"):
        raise malformed(f"#/input_type: {body['input_type']} is not a valid enum value")
    if body.get("truncate", "NONE") != "NONE":
        raise AssertionError("a text would be cut off")
    if len(texts) > 96:
        raise malformed(f"#/texts: expected maximum item count: 96, found: {len(texts)}")
    for position, text in enumerate(texts):
        if len(text) > 2048:
            raise malformed(f"#/texts/{position}: expected maxLength: 2048, actual: {len(text)}")
    if any(tokens(text) > 512 for text in texts):
        raise Refusal(400, "ValidationException", "Input is too long for requested model.")
    return {
        "embeddings": vectors(texts, 1024),
        "id": "e8a9c6a2-5a7e-4a39-9d3e-5d7d8b1c0f11",
        "response_type": "embeddings_floats",
        "texts": texts,
    }


def fields(body: Mapping[str, Any], required: set[str], optional: set[str]) -> None:
    for name in required - body.keys():
        raise malformed(f"#: required key [{name}] not found")
    for name in body.keys() - required - optional:
        raise malformed(f"#: extraneous key [{name}] is not permitted")


def tokens(text: str) -> int:
    """As many as a tokenizer makes, roughly: four letters each, or one character of other scripts."""
    return sum(1 if letter > "\u02ff" else 0.25 for letter in text).__ceil__()


def vectors(texts: Sequence[str], dimension: int) -> list[list[float]]:
    embedded = HashedWords(dimension=dimension).embed(texts, purpose="document", timeout=30)
    return [(3 * np.frombuffer(vector, "<f4")).tolist() for vector in embedded]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: BedrockServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        empty, first, quoted, last = self.path.split("/")
        assert (empty, first, last) == ("", "model", "invoke")
        model = unquote(quoted)
        self.server.requests.append(
            SimpleNamespace(path=self.path, model=model, headers=self.headers, client=self.client_address, body=body)
        )
        behaviour = self.server.behaviours.pop(0) if self.server.behaviours else serve
        behaviour(self.server, self, {"model": model, **body})

    def answer(self, content: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Keep stderr for what went wrong."""


def serve(server: BedrockServer, handler: Handler, asked: dict[str, Any]) -> None:
    body = {name: value for name, value in asked.items() if name != "model"}
    try:
        handler.answer(json.dumps(server.answer(asked["model"], body)).encode())
    except Refusal as refusal:
        refuse(refusal.code, refusal.status, refusal.message)(server, handler, asked)


def refuse(code: str, status: int, message: str = "no") -> Behaviour:
    """Refuse with a code, which Bedrock sends in a header, a web address behind it."""
    header = f"{code}:http://internal.amazon.com/coral/com.amazon.bedrock/"
    return serve_text(json.dumps({"message": message}).encode(), status, x_amzn_ErrorType=header)


def serve_text(content: bytes, status: int = 200, **headers: str) -> Behaviour:
    return lambda server, handler, asked: handler.answer(content, status, **headers)


def serve_json(answer: object) -> Behaviour:
    return serve_text(json.dumps(answer).encode())


def hang(server: BedrockServer, handler: Handler, asked: dict[str, Any]) -> None:
    server.released.wait(30)
    handler.close_connection = True


def break_off(server: BedrockServer, handler: Handler, asked: dict[str, Any]) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
    handler.close_connection = True


def drip(start: bytes) -> Behaviour:
    """Send `start`, then a byte at a time without end, each well within a socket's timeout."""

    def behaviour(server: BedrockServer, handler: Handler, asked: dict[str, Any]) -> None:
        handler.wfile.write(start)
        while not server.released.wait(0.02):
            handler.wfile.write(b" ")
        handler.close_connection = True

    return behaviour
