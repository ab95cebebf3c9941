"""Pydantic AI: runs of agents with scripted models, many users, what the model reads of failures."""

import json
import re
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")

from anthropic.lib.tools import ToolError
from packaging.version import Version
from pydantic_ai import Agent, MemoryTool, RunContext
from pydantic_ai.capabilities import NativeTool
from pydantic_ai.exceptions import ToolFailed, UnexpectedModelBehavior
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from integrations.modules import is_lazy, run_page
from integrations.pydantic_ai_tools import Part, calling, returned
from integrations.scripted_claude import Script, claude, says, uses
from integrations.seams import Seam
from steeltrap.client import Client
from steeltrap.integrations import INSTRUCTIONS
from steeltrap.integrations.anthropic import SteeltrapMemoryTool
from steeltrap.integrations.pydantic_ai import SteeltrapToolset
from steeltrap.toolsets import CATALOGUE

TEA = "Ana drinks green tea in the morning."


def run(seam: Seam, agent: Agent[Any, str], tool: str, deps: Any = None, **arguments: Any) -> list[Part]:
    """The parts that the model reads after it called the tool."""
    result = seam.run(agent.run("Go on.", model=calling(tool, **arguments), deps=deps))
    assert result.output == "Done."
    return list(returned(result.all_messages()))


def outcome(part: Part) -> str:
    """How a call ended. Earlier versions have a part of its own for one that is asked for again."""
    return part.outcome if isinstance(part, ToolReturnPart) else "retried"


def agent_of(seam: Seam, user: str = "ana") -> Agent[Any, str]:
    return Agent(toolsets=[SteeltrapToolset[Any](seam.client(user))])


def test_a_model_gets_the_tools_and_instructions_of_the_toolset_agent(seam: Seam) -> None:
    seen: list[AgentInfo] = []

    def answer(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info)
        return ModelResponse(parts=[TextPart("Done.")])

    seam.run(agent_of(seam).run("Hello", model=FunctionModel(answer)))
    [info] = seen
    agent = CATALOGUE.toolsets["agent"]
    assert agent.instructions == INSTRUCTIONS
    assert INSTRUCTIONS in str(info.instructions)
    assert {tool.name for tool in info.function_tools} == set(agent.tools)
    for tool in info.function_tools:
        ours = agent.tools[tool.name]
        assert " ".join(str(tool.description).split()) == " ".join(ours.description.split())
        theirs = ours.input_schema["properties"]
        for name, argument in tool.parameters_json_schema["properties"].items():
            assert argument["description"] == theirs[name]["description"]


def test_what_one_run_remembers_a_later_one_recalls(seam: Seam) -> None:
    run(seam, agent_of(seam), "remember", content=TEA, occurred_at="2026-05-31")
    [part] = run(seam, agent_of(seam), "recall", query="What does Ana drink?", max_tokens="500")
    assert TEA in str(part.content)
    assert "2026-05-31" in str(part.content)
    assert seam.client("ana").core.search(query="tea")["results"][0]["content"] == TEA


@dataclass(frozen=True)
class Deps:
    memory: Client


def test_one_agent_serves_the_user_of_each_run(seam: Seam) -> None:
    def memory(context: RunContext[Deps]) -> Client:
        return context.deps.memory

    agent = Agent(deps_type=Deps, toolsets=[SteeltrapToolset(memory)])
    ana, bob = (Deps(seam.client(user)) for user in ("ana", "bob"))
    run(seam, agent, "remember", deps=ana, content=TEA)
    [for_bob] = run(seam, agent, "recall", deps=bob, query="tea")
    [for_ana] = run(seam, agent, "recall", deps=ana, query="tea")
    assert "Nothing is stored yet" in str(for_bob.content)
    assert TEA in str(for_ana.content)


def test_what_was_forgotten_can_be_undone(seam: Seam) -> None:
    agent = agent_of(seam)
    [saved] = run(seam, agent, "remember", content=TEA)
    [id] = re.findall(r"\[(\w+)\]", str(saved.content))
    run(seam, agent, "forget_memory", id=id)
    [listed] = run(seam, agent, "recent_memories")
    assert TEA not in str(listed.content)
    run(seam, agent, "undo_memory_change")
    [listed] = run(seam, agent, "recent_memories", limit="1")
    assert TEA in str(listed.content)


def test_a_failure_is_a_failed_tool_and_wrong_arguments_are_asked_for_again(seam: Seam) -> None:
    agent = agent_of(seam)
    for tool, wrong in (("remember", {"content": ""}), ("recall", {"query": "tea", "max_tokens": "many"})):
        [part] = run(seam, agent, tool, **wrong)
        assert outcome(part) == "retried"
    [part] = run(seam, agent, "forget_memory", id="0123abcd")
    assert outcome(part) == "failed"
    assert part.content == "No memory with id 0123abcd; recall and recent_memories show ids."
    seam.store.is_broken = True
    for tool, arguments in (("recall", {"query": "tea"}), ("recent_memories", {}), ("remember", {"content": TEA})):
        [part] = run(seam, agent, tool, **arguments)
        assert outcome(part) == "failed"
        assert "does not answer" in str(part.content)


def test_arguments_that_stay_wrong_end_the_run(seam: Seam) -> None:
    def answer(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[*calls])

    calls = [ToolCallPart("remember", {"content": ""})]
    with pytest.raises(UnexpectedModelBehavior):
        seam.run(agent_of(seam).run("Go on.", model=FunctionModel(answer)))


def test_their_own_test_model_calls_the_tools(seam: Seam) -> None:
    model = TestModel(call_tools=["remember", "recall", "recent_memories"])
    result = seam.run(agent_of(seam).run("Go on.", model=model))
    answers = json.loads(result.output)
    assert set(answers) == {"remember", "recall", "recent_memories"}
    assert answers["remember"].startswith("Saved as")


@pytest.mark.skipif(
    Version(version("pydantic-ai-slim")) < Version("2.62"), reason="earlier ones fail with version 2 of Anthropic's SDK"
)
def test_claudes_own_memory_tool_works_on_files(seam: Seam) -> None:
    files = SteeltrapMemoryTool(seam.client("ana"))

    def converse(script: Script) -> str:
        provider = AnthropicProvider(api_key="test", base_url=script.url)
        agent = Agent(AnthropicModel("claude-sonnet-5-5", provider=provider), capabilities=[NativeTool(MemoryTool())])

        @agent.tool_plain
        def memory(**command: Any) -> Any:
            try:
                return files.call(command)
            except ToolError as error:
                raise ToolFailed(str(error)) from error

        return str(seam.run(agent.run("I'm vegan.")).output)

    wrong, create = (
        uses(command="create", path=path, file_text="Vegan.") for path in ("/etc/diet", "/memories/diet.md")
    )
    with claude(wrong, create, uses(command="view", path="/memories/diet.md"), says("Noted.")) as script:
        assert converse(script) == "Noted."
    assert {"type": "memory_20250818", "name": "memory"}.items() <= script.requests[0]["tools"][0].items()
    assert "     1\tVegan." in script.results()[0]["content"][0]["text"]


def test_the_code_on_the_page_runs(tmp_path: Path) -> None:
    done = run_page("pydantic-ai.md", tmp_path)
    assert done.returncode == 0, done.stderr


def test_nothing_of_pydantic_ai_is_imported_until_asked_for() -> None:
    assert is_lazy("pydantic_ai", "pydantic_ai")
