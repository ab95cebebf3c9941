"""Microsoft's agent with our context provider, as the story sees it: each save is a session in which the user says
something, and a find is one whose model is asked, and shows the memories that it got."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent_framework import Agent, AgentSession, BaseChatClient, ChatResponse, Message

from integrations.seams import Seam
from steeltrap.integrations.agent_framework import SteeltrapContextProvider


class ScriptedClient(BaseChatClient):  # type: ignore[type-arg]
    """A model that always says the same, and keeps the messages that it got."""

    def __init__(self, answer: str = "Noted.") -> None:
        super().__init__()
        self.answer = answer
        self.requests: list[list[Message]] = []

    async def _inner_get_response(self, *, messages: Sequence[Message], stream: bool, options: Any, **_: Any) -> Any:
        self.requests.append(list(messages))
        return ChatResponse(messages=[Message("assistant", [self.answer])])

    def recalled(self) -> list[str]:
        """The lines of memories in the last request."""
        texts = [message.text for message in self.requests[-1] if "<memories>" in message.text]
        return [line for text in texts for line in text.splitlines() if line.startswith("- ")]


def run(
    seam: Seam, provider: SteeltrapContextProvider, *said: str, session: AgentSession | None = None
) -> ScriptedClient:
    """A session in which the user says these one after another: the model that answered."""
    model = ScriptedClient()
    agent = Agent(model, context_providers=[provider])
    session = session or AgentSession()
    for text in said:
        seam.run(agent.run(text, session=session))
    return model


@dataclass(frozen=True)
class Conversations:
    seam: Seam
    user: str

    def save(self, text: str) -> str:
        run(self.seam, SteeltrapContextProvider(self.seam.client(self.user)), text)
        return ""

    def find(self, query: str) -> list[str]:
        provider = SteeltrapContextProvider(self.seam.client(self.user), stores=False)
        return run(self.seam, provider, query).recalled()

    def correct(self, key: str, text: str) -> None:
        raise NotImplementedError

    def forget(self, key: str) -> None:
        raise NotImplementedError


def open_conversations(seam: Seam, user: str) -> Conversations:
    return Conversations(seam, user)
