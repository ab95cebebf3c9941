"""MCP's conformance suite and its inspector, against a real server; the bundle's own tool."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcpb import build

from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import LocalUser
from steeltrap.toolsets import CATALOGUE
from surfaces.callers import door_on
from surfaces.serving import served

HERE = Path(__file__).parent
BIN = HERE / "node_modules" / ".bin"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("data")
    with served(create_app(door_on(folder), LocalUser("local", "default"), local=True)) as address:
        yield address


def node(*command: str) -> str:
    """The output of a command of Node; it must succeed."""
    command = (str(BIN / "node"), str(BIN / command[0]), *command[1:])
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]
    return ran.stdout


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_no_scenario_fails_that_a_memory_server_can_pass(url: str, revision: str, tmp_path: Path) -> None:
    known = HERE / f"expected-failures-{revision}.yml"
    told = node(
        *("conformance", "server", "--url", f"{url}/mcp", "--requirements", revision),
        *("--expected-failures", str(known), "--output-dir", str(tmp_path)),
    )
    for scenario in ("tools-list", "resources-list", "prompts-list", "dns-rebinding-protection"):
        assert f"\u2713 {scenario}: " in told


@pytest.mark.parametrize("toolset", CATALOGUE.toolsets)
def test_the_inspector_accepts_every_tool(url: str, toolset: str) -> None:
    listed = node(
        *("mcp-inspector", "--cli", f"{url}/mcp/{toolset}"),
        *("--transport", "http", "--method", "tools/list", "--strict"),
    )
    assert [each["name"] for each in json.loads(listed)["tools"]] == list(CATALOGUE.toolset(toolset).tools)


def test_the_tool_for_bundles_accepts_ours(tmp_path: Path) -> None:
    node("mcpb", "unpack", str(build.build(tmp_path)), str(tmp_path / "bundle"))
    assert "Manifest schema validation passes" in node("mcpb", "validate", str(tmp_path / "bundle" / "manifest.json"))
