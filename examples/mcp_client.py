"""An MCP client starts steeltrap as its server and calls its tools over stdin and stdout.

    python examples/mcp_client.py

It prints:

    4 tools: memory_search, memory_save, memory_update, memory_delete
    saved: Note saved successfully.
    found: Miso the cat is allergic to fish.
"""

import asyncio
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

STEELTRAP = str(Path(sys.executable).with_name("steeltrap"))


async def main(folder: str) -> None:
    # `notes` is the smallest toolset. Leave --data out for the memories in ~/.steeltrap.
    server = StdioServerParameters(
        command=STEELTRAP, args=["mcp", "--toolset", "notes", "--data", folder], env=dict(os.environ)
    )
    async with Client(stdio_client(server)) as client:
        tools = (await client.list_tools()).tools
        print(f"{len(tools)} tools:", ", ".join(tool.name for tool in tools))

        saved = await called(client, "memory_save", content="Miso the cat is allergic to fish.")
        print("saved:", saved["message"])

        found = await called(client, "memory_search", query="What may the cat not eat?")
        print("found:", found["result"][0]["text"])


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer of a tool. Raises RuntimeError with the tool's own sentence."""
    answer = await client.call_tool(tool, arguments)
    if answer.is_error:
        raise RuntimeError(answer.content)
    return answer.structured_content or {}


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        asyncio.run(main(folder))
