"""A server of this machine that answers as Claude's API, with what a test says."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Script:
    """The content of each answer, in order, and the requests that came. `url` is where the API is."""

    answers: list[list[dict[str, Any]]]
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)

    def results(self) -> list[dict[str, Any]]:
        """The results of tools that the last request brought."""
        return [block for block in self.requests[-1]["messages"][-1]["content"] if block["type"] == "tool_result"]


def says(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def uses(**arguments: Any) -> list[dict[str, Any]]:
    """A call of the tool `memory`."""
    return [{"type": "tool_use", "id": f"toolu_{arguments['command']}", "name": "memory", "input": arguments}]


@contextmanager
def claude(*answers: list[dict[str, Any]]) -> Iterator[Script]:
    script = Script(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            script.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            content = script.answers[len(script.requests) - 1]
            is_stream = script.requests[-1].get("stream", False)
            message = _message(content)
            text = "".join(map(_as_sent, _events(message))) if is_stream else json.dumps(message)
            body = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream" if is_stream else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _message(content: list[dict[str, Any]]) -> dict[str, Any]:
    is_call = content[-1]["type"] == "tool_use"
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": content,
        "stop_reason": "tool_use" if is_call else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The message as a stream brings it."""
    yield {"type": "message_start", "message": message | {"content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        is_text = block["type"] == "text"
        empty = block | ({"text": ""} if is_text else {"input": {}})
        delta = (
            {"type": "text_delta", "text": block["text"]}
            if is_text
            else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        )
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


def _as_sent(event: dict[str, Any]) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
