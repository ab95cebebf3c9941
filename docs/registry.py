"""`server.json`: what MCP's registry shows, and how a client installs steeltrap from there.

Its schema is https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json. The registry takes it from
whoever owns the name, which the README on PyPI repeats.
"""

import json
from pathlib import Path
from typing import Final

from steeltrap.version import VERSION

SERVER: Final = Path(__file__).parents[1] / "server.json"
NAME: Final = "io.github.steeltrap-memory/steeltrap"
REPOSITORY: Final = "https://github.com/steeltrap-memory/steeltrap"
DESCRIPTION: Final = "Long-term memory for AI agents: save, recall, correct and forget, offline in one SQLite file."


def server() -> str:
    """The text of `server.json`."""
    data = {
        "name": "STEELTRAP_DATA",
        "description": "Folder where memories are stored; ~/.steeltrap by default.",
        "format": "filepath",
        "isRequired": False,
    }
    package = {
        "registryType": "pypi",
        "identifier": "steeltrap",
        "version": VERSION,
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "packageArguments": [{"type": "positional", "value": "mcp"}],
        "environmentVariables": [data],
    }
    described = {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": NAME,
        "title": "steeltrap",
        "description": DESCRIPTION,
        "version": VERSION,
        "repository": {"url": REPOSITORY, "source": "github"},
        "websiteUrl": f"{REPOSITORY}/blob/main/docs/agents.md",
        "packages": [package],
    }
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"
