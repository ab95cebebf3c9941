"""LlamaIndex's agent with our block, as the story sees it: each save is a session in which the user says something and
whose messages are handed over at its end, and a find is one whose model is asked, and shows what it got of memories."""

import warnings
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus
from sqlalchemy.ext.asyncio import create_async_engine

from integrations.seams import Seam
from steeltrap.integrations.llamaindex import SteeltrapMemoryBlock


class Scripted:
    """A model that always says the same, and keeps the messages that it got."""

    def __init__(self, answer: str = "Noted.") -> None:
        self.answer = answer
        self.requests: list[list[ChatMessage]] = []
        self.llm = MockFunctionCallingLLM(response_generator=self._respond, is_chat_model=True)

    def _respond(self, messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        self.requests.append(list(messages))
        return ChatMessage(role="assistant", content=self.answer)

    def recalled(self) -> list[str]:
        """The lines of memories in the last request."""
        texts = [message.content or "" for message in self.requests[-1]]
        return [line for text in texts if "<memories>" in text for line in text.splitlines() if line.startswith("- ")]


@asynccontextmanager
async def opened(block: SteeltrapMemoryBlock, **more: Any) -> AsyncIterator[Memory]:
    """A session's memory with the block, in a database of its own."""
    engine = create_async_engine("sqlite+aiosqlite:///:memory:")
    try:
        yield Memory.from_defaults(memory_blocks=[block], async_engine=engine, **more)
    finally:
        await engine.dispose()


async def say(memory: Memory, *said: str) -> Scripted:
    """The model that answered, after the user said these one after another."""
    model = Scripted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a workflow looks at what pydantic has deprecated
        agent = FunctionAgent(llm=model.llm, tools=[])
        for text in said:
            await agent.run(text, memory=memory)
    return model


async def converse(block: SteeltrapMemoryBlock, *said: str, hands_over: bool = False, **more: Any) -> Scripted:
    """The model of a session in which the user says these, and whose messages the block gets at its end if told so."""
    async with opened(block, **more) as memory:
        model = await say(memory, *said)
        if hands_over:
            await block.aput(await memory.aget_all(status=MessageStatus.ACTIVE), session_id=memory.session_id)
        return model


@dataclass(frozen=True)
class Sessions:
    seam: Seam
    block: SteeltrapMemoryBlock

    def save(self, text: str) -> str:
        self.seam.run(converse(self.block, text, hands_over=True))
        return ""

    def find(self, query: str) -> list[str]:
        return self.seam.run(converse(self.block, query)).recalled()

    def correct(self, key: str, text: str) -> None:
        raise NotImplementedError

    def forget(self, key: str) -> None:
        raise NotImplementedError


def open_sessions(seam: Seam, user: str) -> Sessions:
    return Sessions(seam, SteeltrapMemoryBlock(client=seam.client(user)))
