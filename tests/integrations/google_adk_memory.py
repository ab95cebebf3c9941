"""Google's ADK with our memory service, as the story sees it: what is said in a run of its Runner is remembered, and a
later run reads it by the tool `load_memory`."""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools import load_memory
from google.genai import types

from integrations.seams import Seam
from steeltrap.integrations.google_adk import SteeltrapMemoryService

APP = "support"


class ScriptedLlm(BaseLlm):
    """A model that says what it is told, and keeps the requests."""

    model: str = "scripted"
    answers: list[types.Part] = []
    requests: list[LlmRequest] = []

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        part = self.answers[len(self.requests)]
        self.requests.append(llm_request)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def content(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])


def calls(name: str, **arguments: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args=arguments))


async def run(
    service: SteeltrapMemoryService, user: str, said: str, *answers: types.Part, tools: Any = ()
) -> tuple[ScriptedLlm, Any]:
    """A session in which the user says something and the model answers: the model and the session."""
    model = ScriptedLlm(answers=list(answers), requests=[])
    sessions = InMemorySessionService()
    agent = LlmAgent(name="helper", model=model, tools=list(tools))
    runner = Runner(app_name=APP, agent=agent, session_service=sessions, memory_service=service)
    session = await sessions.create_session(app_name=APP, user_id=user)
    async for _ in runner.run_async(user_id=user, session_id=session.id, new_message=content(said)):
        pass
    await runner.close()
    return model, await sessions.get_session(app_name=APP, user_id=user, session_id=session.id)


def read(model: ScriptedLlm) -> list[dict[str, Any]]:
    """The entries that the model's last request brought from `load_memory`."""
    [answer] = [
        part.function_response.response
        for each in model.requests[-1].contents
        for part in each.parts or ()
        if part.function_response
    ]
    return list(json.loads(json.dumps(answer, default=lambda each: each.model_dump(mode="json")))["result"]["memories"])


@dataclass(frozen=True)
class Memories:
    seam: Seam
    service: SteeltrapMemoryService
    user: str

    def save(self, text: str) -> str:
        _, session = self.seam.run(run(self.service, self.user, text, types.Part(text="Noted.")))
        self.seam.run(self.service.add_session_to_memory(session))
        found = self.seam.run(self.service.search_memory(app_name=APP, user_id=self.user, query=text))
        return str(found.memories[0].id)

    def find(self, query: str) -> list[str]:
        asked = calls("load_memory", query=query)
        model, _ = self.seam.run(
            run(self.service, self.user, query, asked, types.Part(text="I see."), tools=[load_memory])
        )
        texts = [entry["content"]["parts"][0]["text"] for entry in read(model)]
        return [text for text in texts if text != "Noted."]

    def correct(self, key: str, text: str) -> None:
        entry = MemoryEntry(id=key, content=content(text), author="user")
        self.seam.run(self.service.add_memory(app_name=APP, user_id=self.user, memories=[entry]))

    def forget(self, key: str) -> None:
        self.seam.run(self.service.delete_memory(app_name=APP, user_id=self.user, memory_id=key))


def open_service(seam: Seam, user: str) -> Memories:
    return Memories(seam, SteeltrapMemoryService(seam.client), user)
