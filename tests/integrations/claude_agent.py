"""Claude Code by a script, as the Claude Agent SDK talks to it: it calls tools of a server of the SDK, and says what it
wrote into a transcript. And our server in runs of the SDK, as the story sees it.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, Transport, query

from integrations.seams import Seam
from steeltrap.integrations.claude_agent_sdk import memory_server

RESULT = {
    "type": "result",
    "subtype": "success",
    "duration_ms": 1,
    "duration_api_ms": 1,
    "is_error": False,
    "num_turns": 1,
    "session_id": "s",
    "total_cost_usd": 0.0,
    "result": "Done.",
}


def requests_of(tool: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages by which a client of MCP lists the tools and calls one."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "script", "version": "1"}}
    return [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": tool, "arguments": arguments}},
    ]


class ScriptedClaudeCode(Transport):
    """Claude Code that answers a prompt with these frames, then sends requests to the server `memory`, then ends."""

    def __init__(self, *frames: dict[str, Any], requests: Iterable[dict[str, Any]] = ()) -> None:
        self.answers: dict[int, dict[str, Any]] = {}
        self._frames = frames
        self._requests = iter(requests)
        self._out: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    async def connect(self) -> None: ...

    async def write(self, data: str) -> None:
        said = json.loads(data)
        if said["type"] == "control_request":
            response = {"subtype": "success", "request_id": said["request_id"], "response": {}}
            self._out.put_nowait({"type": "control_response", "response": response})
            return
        if said["type"] == "user":
            for frame in self._frames:
                self._out.put_nowait(frame)
        elif answer := said["response"]["response"]["mcp_response"]:
            self.answers[answer.get("id", 0)] = answer.get("result", answer)
        if request := next(self._requests, None):
            message = {"subtype": "mcp_message", "server_name": "memory", "message": request}
            self._out.put_nowait({"type": "control_request", "request_id": str(id(request)), "request": message})
        else:
            self._out.put_nowait(RESULT)
            self._out.put_nowait(None)

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        while (frame := await self._out.get()) is not None:
            yield frame

    async def close(self) -> None: ...

    def is_ready(self) -> bool:
        return True

    async def end_input(self) -> None: ...


def mirrored(folder: Path, project: str, session: str, *entries: dict[str, Any]) -> dict[str, Any]:
    """The frame by which Claude Code says what it wrote into a transcript."""
    path = folder / "projects" / project / f"{session}.jsonl"
    return {"type": "transcript_mirror", "filePath": str(path), "entries": list(entries)}


async def run(code: ScriptedClaudeCode, **options: Any) -> list[Any]:
    """The messages of a run of the SDK."""
    return [message async for message in query(prompt="Go on.", options=ClaudeAgentOptions(**options), transport=code)]


@dataclass(frozen=True)
class Tools:
    """A run of the SDK per step, in which Claude Code calls one tool of our server."""

    seam: Seam
    user: str

    def result(self, tool: str, **arguments: Any) -> tuple[bool, str]:
        """Whether the call failed, and the text that Claude reads."""
        code = ScriptedClaudeCode(requests=requests_of(tool, arguments))
        server = memory_server(self.seam.client(self.user))
        self.seam.run(run(code, mcp_servers={"memory": server}))
        answer = code.answers[3]
        return answer.get("isError", False), "".join(part["text"] for part in answer["content"])

    def call(self, tool: str, **arguments: Any) -> str:
        failed, text = self.result(tool, **arguments)
        if failed:
            raise RuntimeError(text)
        return text

    def save(self, text: str) -> str:
        return _ids(self.call("remember", content=text))[0]

    def find(self, query: str) -> list[str]:
        return [line for line in self.call("recall", query=query).splitlines() if re.match(r"\[\w{8}\]", line)]

    def correct(self, key: str, text: str) -> None:
        self.call("revise_memory", id=key, content=text)

    def forget(self, key: str) -> None:
        # A memory that a forgotten one had replaced comes back, and is forgotten in its turn.
        while ids := _ids(self.call("recent_memories")):
            self.call("forget_memory", id=ids[0])


def _ids(answer: str) -> list[str]:
    return re.findall(r"\[(\w{8})\]", answer)


def open_tools(seam: Seam, user: str) -> Tools:
    return Tools(seam, user)
