"""The bundle for MCP clients: complete, within its specification, and a server when it is started as it says."""

import json
import os
import re
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio.from_thread
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcpb import build

from steeltrap.version import VERSION

pytestmark = pytest.mark.slow

FIELDS = {
    *("manifest_version", "name", "display_name", "version", "description", "author", "repository", "documentation"),
    *("support", "license", "keywords", "server", "tools", "prompts_generated", "user_config", "compatibility"),
}
"""The used fields, of those that the specification's schema knows; it rejects any other."""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    made = build.build(folder / "dist")
    assert made.name == f"steeltrap-{VERSION}.mcpb"
    with zipfile.ZipFile(made) as bundle:
        bundle.extractall(folder / "unpacked")
    return folder / "unpacked"


@pytest.fixture(scope="module")
def manifest(unpacked: Path) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads((unpacked / "manifest.json").read_text())
    return shown


def test_the_manifest_is_one_of_the_specification(manifest: dict[str, Any]) -> None:
    assert set(manifest) == FIELDS
    assert manifest["manifest_version"] == "0.4", "earlier versions have no type `uv`"
    assert manifest["name"] == "steeltrap"
    assert manifest["version"] == VERSION
    assert manifest["author"]["name"]
    assert set(manifest["server"]) == {"type", "entry_point", "mcp_config"}
    assert set(manifest["compatibility"]["platforms"]) <= {"darwin", "win32", "linux"}


def test_a_client_with_uv_finds_all_that_it_installs(unpacked: Path, manifest: dict[str, Any]) -> None:
    assert manifest["server"]["type"] == "uv"
    assert (unpacked / manifest["server"]["entry_point"]).is_file()
    project = tomllib.loads((unpacked / "pyproject.toml").read_text())
    assert project["project"]["requires-python"] == manifest["compatibility"]["runtimes"]["python"]
    assert project["project"]["dependencies"] == ["steeltrap"]
    assert (unpacked / project["tool"]["uv"]["sources"]["steeltrap"]["path"]).is_file()
    assert not (unpacked / "server").exists(), "dependencies are not in a bundle of this type"


def test_dependencies_have_the_locked_versions(unpacked: Path) -> None:
    constraints = tomllib.loads((unpacked / "pyproject.toml").read_text())["tool"]["uv"]["constraint-dependencies"]
    locked = re.findall(r"^([A-Za-z0-9._-]+==\S+)", (build.ROOT / "locks/library.txt").read_text(), re.MULTILINE)
    assert [constraint.split(" ")[0] for constraint in constraints] == locked


def test_every_value_that_the_server_is_started_with_is_asked_for_or_has_a_default(manifest: dict[str, Any]) -> None:
    used = re.findall(r"\$\{user_config\.(\w+)\}", json.dumps(manifest["server"]))
    assert set(used) == set(manifest["user_config"])
    assert all({"type", "title", "description", "default"} <= set(each) for each in manifest["user_config"].values())


@pytest.fixture(scope="module")
def client(unpacked: Path, manifest: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The server as the manifest starts it, with this environment's Python and packages in place of those of `uv`."""
    [wheel] = unpacked.glob("*.whl")
    with zipfile.ZipFile(wheel) as package:
        package.extractall(unpacked / "installed")
    config = manifest["server"]["mcp_config"]
    data = str(tmp_path_factory.mktemp("data"))
    variables = {name: value.replace("${user_config.folder}", data) for name, value in config["env"].items()}
    assert config["args"][:3] == ["run", "--directory", "${__dirname}"]
    command = StdioServerParameters(
        command=sys.executable,
        args=config["args"][3:],
        cwd=unpacked,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(unpacked / "installed"), **variables},
    )
    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(stdio_client(command))) as connected,
    ):
        yield lambda method, *given: portal.call(getattr(connected, method), *given)
    assert [path.name for path in Path(data).iterdir()], "memories are in the folder that the user chose"


def test_the_started_server_offers_the_tools_that_the_manifest_shows(client: Any, manifest: dict[str, Any]) -> None:
    listed = [{"name": tool.name, "description": tool.description} for tool in client("list_tools").tools]
    assert listed == manifest["tools"]
    assert manifest["prompts_generated"] is bool(client("list_prompts").prompts)


def test_the_started_server_remembers(client: Any) -> None:
    saved = client("call_tool", "remember", {"content": "Ana lives in Faro."})
    assert not saved.is_error
    assert "Ana lives in Faro." in client("call_tool", "recall", {"query": "where does Ana live"}).content[0].text
