"""AG2: its MemoryTool, answered as the page of Anthropic's memory tool shows it, in runs of AG2's scripted model."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ag2.testing", reason="ag2 is not installed")

from ag2 import Agent
from ag2.events import ToolCallEvent
from ag2.testing import TestConfig, TrackingConfig
from ag2.tools import MemoryTool

from integrations.anthropic_memory import Files
from integrations.seams import Seam
from integrations.story import Library, tell
from steeltrap.client import Client

PAGE = Path(__file__).parents[2] / "docs" / "integrations" / "anthropic.md"


def tool_of(client: Client) -> MemoryTool:
    """The tool of the page's section on AG2."""
    section = PAGE.read_text().partition("\n## AG2\n")[2].partition("\n## ")[0]
    code = [line[4:] for line in section.splitlines() if line.startswith("    ") or not line]
    names: dict[str, Any] = {}
    exec("\n".join(code), names)
    return names["SteeltrapMemory"](client)


def called(seam: Seam, client: Client, **command: Any) -> tuple[str, str]:
    """The kind of result that the model reads after it called the tool, and its text."""
    script = TestConfig(ToolCallEvent("memory", arguments=json.dumps(command)), "Done.", raise_tool_errors=False)
    config = TrackingConfig(script)

    async def run() -> str | None:
        # A tool that nobody answers is awaited for ever: that is to fail here.
        async with asyncio.timeout(60):
            return (await Agent("ana", config=config, tools=[tool_of(client)]).ask("Go on.")).body

    assert seam.run(run()) == "Done."
    assert [(tool.type, tool.version) for tool in config.calls[0].tools] == [("memory", "memory_20250818")]
    [result] = config.mock.call_args.args[0].results
    return type(result).__name__, "".join(part.content for part in result.result.parts)


def open_agent(seam: Seam, user: str) -> Files:
    client = seam.client(user)

    def call(command: dict[str, Any]) -> str:
        kind, text = called(seam, client, **command)
        if kind != "ToolResultEvent":
            raise RuntimeError(text)
        return text

    return Files(call)


def test_its_memory_tool_tells_the_common_story(seam: Seam) -> None:
    tell(Library("ag2", f"{__name__}:open_agent"), seam)


def test_a_model_reads_a_failure_as_one(seam: Seam) -> None:
    client = seam.client("ana")
    missing = called(seam, client, command="view", path="/memories/tea.md")
    assert missing[0] == "ToolErrorEvent"
    assert "The path /memories/tea.md does not exist" in missing[1]
    assert "Traceback" not in missing[1]
    seam.store.is_broken = True
    assert "does not answer" in called(seam, client, command="view", path="/memories")[1]
