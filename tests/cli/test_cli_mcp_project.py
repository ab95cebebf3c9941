"""`steeltrap mcp` in a repository: each has its memories, and what its remote's address hides is stored nowhere."""

import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

MAIN = "from steeltrap.cli import main; main()"
SECRET = "s3cret-t0ken-of-ana"


@pytest.fixture(autouse=True)
def environment(tmp_path, monkeypatch):
    """A client's environment for the command: a home folder and a data folder of its own, and nothing of this machine's
    git or clients."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("CLAUDE_PROJECT_DIR", "WORKSPACE_FOLDER_PATHS", *(n for n in os.environ if n.startswith("GIT_"))):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("STEELTRAP_DATA", str(tmp_path / "data"))
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join((str(Path(__file__).parents[2] / "shared"), os.environ.get("PYTHONPATH", "")))
    )


def repository(folder, remote):
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", remote], check=True)
    return folder


def told(folder, *calls, options=(), environment=None):
    """The answer of each call to a client in the folder, and the names of the arguments that `remember` offers."""
    started = StdioServerParameters(
        command=sys.executable,
        args=["-c", MAIN, "mcp", *options],
        cwd=folder,
        env={**os.environ, **(environment or {})},
    )

    async def asked():
        async with Client(stdio_client(started)) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            answers = [(await client.call_tool(name, arguments)).content[0].text for name, arguments in calls]
            return list(listed["remember"].input_schema["properties"]), answers

    return anyio.run(asked)


REMEMBER = ("remember", {"content": "The database is Postgres 16."})
RECALL = ("recall", {"query": "which database?"})


@pytest.mark.slow
def test_two_clones_share_a_memory_and_another_repository_has_its_own(tmp_path):
    first = repository(tmp_path / "widgets", f"https://ana:{SECRET}@git.example/acme/widgets.git")
    second = repository(tmp_path / "clone/of-widgets", "git@git.example:acme/widgets")
    other = repository(tmp_path / "gadgets", "https://git.example/acme/gadgets")
    offered, [saved] = told(first, REMEMBER)
    assert "about" in offered
    assert saved.endswith("for this project.")
    assert "(this project): The database is Postgres 16." in told(second, RECALL)[1][0]
    assert "Nothing about the user or this project is stored yet." in told(other, RECALL)[1][0]
    for path in (tmp_path / "data").rglob("*"):
        assert SECRET.encode() not in (path.read_bytes() if path.is_file() else b""), path


@pytest.mark.slow
def test_a_client_or_the_user_may_name_the_folder_or_switch_projects_off(tmp_path):
    top = repository(tmp_path / "widgets", "https://git.example/acme/widgets")
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    told(top, REMEMBER)
    inside = "(this project): The database is Postgres 16."
    for environment in (
        {"CLAUDE_PROJECT_DIR": str(top)},
        {"WORKSPACE_FOLDER_PATHS": f"{top},{nowhere}"},
        {"STEELTRAP_PROJECT": str(top), "CLAUDE_PROJECT_DIR": str(nowhere)},
    ):
        assert inside in told(nowhere, RECALL, environment=environment)[1][0], environment
    assert inside in told(nowhere, RECALL, options=["--project", str(top)])[1][0]
    assert inside in told(top, RECALL, options=["--project", "${workspaceFolder}"])[1][0]
    for options, environment in ((["--project", "none"], {}), ([], {"STEELTRAP_PROJECT": "none"})):
        offered, [found] = told(top, RECALL, options=options, environment=environment)
        assert "about" not in offered
        assert "this project" not in found
        assert "Postgres" in found
