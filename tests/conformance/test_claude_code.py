"""Claude Code itself takes the configurations that the documentation shows. It needs no account to connect a server."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from docs import generate
from steeltrap.model import Caller, UserRef
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.api_keys import ApiKeys
from steeltrap.stores.shared_folders import LocalFolder
from surfaces.callers import door_on
from surfaces.serving import served

BIN = Path(__file__).parent / "node_modules" / ".bin"
PAGE = Path(generate.DOCS) / "agents.md"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of a server that wants API keys, and a key."""
    keys = ApiKeys(LocalFolder(tmp_path / "keys"))
    _, secret = keys.add(Caller(UserRef("ana")), "claude", datetime.now(UTC))
    with served(create_app(door_on(tmp_path / "data"), keys, local=False)) as url:
        yield url, secret


def claude(home: Path, key: str, *arguments: str) -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "NO_PROXY": "127.0.0.1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "STEELTRAP_KEY": key,
    }
    ran = subprocess.run(
        [str(BIN / "claude"), *arguments], cwd=home, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_the_page_shows_what_claude_code_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")
    page = PAGE.read_text()
    assert page.count("✔ Connected") == 2
    assert generate.with_transcripts(page) == page, "run docs/generate.py docs/agents.md with this `claude` on the PATH"


@pytest.mark.parametrize(("right_key", "status"), [(True, "✔ Connected"), (False, "✘ Failed to connect")])
def test_the_projects_file_connects_with_an_api_key_from_the_environment(
    server: tuple[str, str], tmp_path: Path, right_key: bool, status: str
) -> None:
    url, key = server
    section = PAGE.read_text().split("## Claude Code\n")[1].split("\n## ")[0]
    [shown] = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", section, re.DOTALL)]
    [(name, entry)] = shown["mcpServers"].items()
    entry["url"] = entry["url"].replace("https://memory.example", url)
    claude(tmp_path, key, "mcp", "add-json", "--scope", "user", name, json.dumps(entry))
    listed = claude(tmp_path, key if right_key else "stk_wrong", "mcp", "list")
    assert f"{name}: {url}/mcp (HTTP) - {status}" in listed
