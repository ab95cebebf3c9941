"""Which functions there are, read from the catalogue: what each serves, may do, and how long it takes. No CDK here."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from steeltrap.servers.http import mcp_paths, paths
from steeltrap.tools import Access, Tool
from steeltrap.toolsets import Catalogue

BundleName = Literal["tools", "mcp", "http"]

GATEWAY_SECONDS: Final = 30
"""An HTTP API waits no longer for a function, so that one which it alone calls need not run longer."""
INDEXERS_PER_SHARD: Final = 1
SHARDS: Final = 4
"""The shards of a new table's stream. DynamoDB adds some as the table's traffic grows."""
_ANSWER_SECONDS: Final = 3
"""Seconds that a function needs after its tool: to flush usage and to answer."""


@dataclass(frozen=True, slots=True)
class FunctionPlan:
    """A function that serves tools. `timeout` is in seconds."""

    name: str
    tools: tuple[Tool, ...]
    paths: tuple[str, ...]
    timeout: int
    bundle: BundleName = "tools"

    @property
    def access(self) -> Access:
        return "write" if any(tool.access == "write" for tool in self.tools) else "read"

    @property
    def method(self) -> str:
        """The method of its routes. MCP answers other methods itself, by which clients learn that nothing is pushed."""
        return "ANY" if self.bundle == "mcp" else "POST"


def construct_id(name: str) -> str:
    """A function's name as constructs have it: `RetrieveMemory`."""
    return "".join(part.title() for part in name.split("_"))


def tool_functions(catalogue: Catalogue) -> list[FunctionPlan]:
    """A function for each operation of the catalogue, with the paths of all its tools, by name."""
    by_operation: dict[str, list[Tool]] = {}
    for tool in catalogue.tools():
        by_operation.setdefault(tool.operation, []).append(tool)
    return [
        _plan(name, tools, [path for tool in tools for path in paths(tool)])
        for name, tools in sorted(by_operation.items())
    ]


def http_function(catalogue: Catalogue) -> FunctionPlan:
    """The function that serves every tool and MCP, instead of all others."""
    every = [path for tool in catalogue.tools() for path in paths(tool)]
    return _plan("http", catalogue.tools(), [*every, *mcp_function(catalogue).paths], bundle="http")


def mcp_function(catalogue: Catalogue) -> FunctionPlan:
    """The function that serves every tool over MCP."""
    return _plan("mcp", catalogue.tools(), mcp_paths(catalogue), bundle="mcp")


def agent_function(catalogue: Catalogue, toolset: str) -> FunctionPlan:
    """The function that serves one toolset to AgentCore gateways and Bedrock agents. It has no route."""
    return _plan("agent", list(catalogue.toolset(toolset).tools.values()), ())


def longest_call(plans: Iterable[FunctionPlan]) -> int:
    """Seconds after which no function of a release answers a call that it began while there was no newer one."""
    return max(plan.timeout for plan in plans)


def _plan(name: str, tools: Sequence[Tool], at: Iterable[str], *, bundle: BundleName = "tools") -> FunctionPlan:
    seconds = math.ceil(max(tool.timeout for tool in tools)) + _ANSWER_SECONDS
    # The others are invoked directly, too.
    timeout = seconds if bundle == "tools" else min(seconds, GATEWAY_SECONDS)
    return FunctionPlan(name, tuple(tools), tuple(at), timeout, bundle)
