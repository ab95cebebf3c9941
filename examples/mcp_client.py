"""An MCP client starts steeltrap as its server and calls its tools over stdin and stdout.

    python examples/mcp_client.py

It prints:

    6 tools: remember, recall, recent_memories, revise_memory, forget_memory, undo_memory_change
    recalled: Miso the cat is allergic to fish.
"""

import asyncio
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import TextContent

STEELTRAP = str(Path(sys.executable).with_name("steeltrap"))


async def main(folder: str) -> None:
    # Leave --data out for the memories in ~/.steeltrap. `--toolset core` offers every tool, with answers in JSON.
    server = StdioServerParameters(command=STEELTRAP, args=["mcp", "--data", folder], env=dict(os.environ))
    async with Client(stdio_client(server)) as client:
        tools = (await client.list_tools()).tools
        print(f"{len(tools)} tools:", ", ".join(tool.name for tool in tools))

        await called(client, "remember", content="Miso the cat is allergic to fish.")
        recalled = await called(client, "recall", query="What may the cat not eat?")
        # One line per memory: [id] date: text
        print("recalled:", recalled.partition("<memories>\n")[2].splitlines()[0].partition(": ")[2])


async def called(client: Client, tool: str, **arguments: Any) -> str:
    """The answer of a tool. Raises RuntimeError with the tool's own sentence."""
    answer = await client.call_tool(tool, arguments)
    text = "".join(part.text for part in answer.content if isinstance(part, TextContent))
    if answer.is_error:
        raise RuntimeError(text)
    return text


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        asyncio.run(main(folder))
