"""A Strands agent with our store, as the story sees it: each step is a run in which its model calls one tool."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from strands import Agent
from strands.memory import MemoryManager
from strands.models import Model

from integrations.seams import Seam
from steeltrap.integrations.strands import SteeltrapMemoryStore


class Scripted(Model):
    """A model that calls one tool, if it is told so, says "Noted.", and keeps the messages that it got."""

    def __init__(self, tool: str | None = None, **arguments: Any) -> None:
        self.call = (tool, arguments) if tool else None
        self.requests: list[list[Any]] = []

    def update_config(self, **_: Any) -> None: ...

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        self.requests.append(list(messages))
        tool, self.call = self.call, None
        start, delta = ({}, {"text": "Noted."})
        if tool:
            start, delta = (
                {"toolUse": {"toolUseId": "t1", "name": tool[0]}},
                {"toolUse": {"input": json.dumps(tool[1])}},
            )
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": start}}
        yield {"contentBlockDelta": {"delta": delta}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if tool else "end_turn"}}

    def injected(self) -> str:
        """The memories in the first request."""
        blocks = [block for message in self.requests[0] for block in message["content"]]
        return "\n".join(block["text"] for block in blocks if "<memory>" in block.get("text", ""))

    def returned(self) -> tuple[str, str]:
        """Status and text of the result of the tool that was called."""
        blocks = [block for message in self.requests[-1] for block in message["content"]]
        [result] = [block["toolResult"] for block in blocks if "toolResult" in block]
        return result["status"], "".join(str(part.get("text", part.get("json"))) for part in result["content"])


async def run(store: SteeltrapMemoryStore, model: Scripted, *said: str, **config: Any) -> Scripted:
    """A conversation of an agent with the store, in which the user says these."""
    manager = MemoryManager(stores=[store], add_tool_config=True, **config)
    agent = Agent(model=model, memory_manager=manager, callback_handler=None)
    for text in said:
        await agent.invoke_async(text)
    await manager.flush()
    return model


@dataclass(frozen=True)
class Tools:
    seam: Seam
    store: SteeltrapMemoryStore

    def call(self, tool: str, **arguments: Any) -> str:
        model = self.seam.run(run(self.store, Scripted(tool, **arguments), "Go on.", injection=False))
        status, text = model.returned()
        assert status == "success", text
        return text

    def entries(self, query: str) -> list[Any]:
        return list(json.loads(self.call("search_memory", query=query)))

    def save(self, text: str) -> str:
        self.call("add_memory", entries=[text])
        return str(self.entries(text)[0]["metadata"]["id"])

    def find(self, query: str) -> list[str]:
        entries = self.entries(query)
        for entry in entries:
            if "failed" in entry["metadata"]:
                raise RuntimeError(entry["content"])
        return [entry["content"] for entry in entries]

    def correct(self, key: str, text: str) -> None:
        self.call("revise_memory", id=key, content=text)

    def forget(self, key: str) -> None:
        # A memory that a forgotten one had replaced comes back, and is forgotten in its turn.
        while entries := self.entries("What does Ana drink in the morning?"):
            self.call("forget_memory", id=entries[0]["metadata"]["id"])


def open_store(seam: Seam, user: str) -> Tools:
    return Tools(seam, SteeltrapMemoryStore(seam.client(user), extraction=False))
