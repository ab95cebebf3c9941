"""Pydantic AI's agent with our toolset, as the story sees it: each step is a run in which its model calls one tool."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from integrations.seams import Seam
from steeltrap.integrations.pydantic_ai import SteeltrapToolset

Part = ToolReturnPart | RetryPromptPart


def calling(tool: str, **arguments: Any) -> FunctionModel:
    """A model that calls the tool, and then says that it is done."""

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        is_first = not any(isinstance(message, ModelResponse) for message in messages)
        return ModelResponse(parts=[ToolCallPart(tool, arguments) if is_first else TextPart("Done.")])

    return FunctionModel(answer)


def returned(messages: list[ModelMessage]) -> Iterator[Part]:
    """The answers of tools in a run."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolReturnPart | RetryPromptPart):
                yield part


@dataclass(frozen=True)
class Tools:
    """`call` runs an agent whose model calls a tool, and gives the text that the model reads."""

    call: Callable[..., str]

    def save(self, text: str) -> str:
        return _ids(self.call("remember", content=text))[0]

    def find(self, query: str) -> list[str]:
        lines = self.call("recall", query=query).splitlines()
        return [line for line in lines if re.match(r"\[\w{8}\]", line)]

    def correct(self, key: str, text: str) -> None:
        self.call("revise_memory", id=key, content=text)

    def forget(self, key: str) -> None:
        # A memory that a forgotten one had replaced comes back, and is forgotten in its turn.
        while ids := _ids(self.call("recent_memories")):
            self.call("forget_memory", id=ids[0])


def _ids(answer: str) -> list[str]:
    return re.findall(r"\[(\w{8})\]", answer)


def open_tools(seam: Seam, user: str) -> Tools:
    agent = Agent(toolsets=[SteeltrapToolset[None](seam.client(user))])

    def call(tool: str, **arguments: Any) -> str:
        result = seam.run(agent.run("Go on.", model=calling(tool, **arguments)))
        [part] = returned(result.all_messages())
        if not isinstance(part, ToolReturnPart) or part.outcome != "success":
            raise RuntimeError(str(part.content))
        return str(part.content)

    return Tools(call)
