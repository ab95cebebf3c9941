"""The plugin for Claude Code has the hooks that install writes, and is silent where steeltrap isn't installed."""

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from steeltrap.cli.installing import Machine, parts_of

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugins" / "claude-code"
START = PLUGIN / "scripts" / "start.sh"


def test_the_plugin_has_the_hooks_that_install_writes():
    start = "${CLAUDE_PLUGIN_ROOT}/scripts/start.sh"
    [_, installed] = parts_of("claude-code", [start], Machine(Path("/home"), {}), data=None, hooks=True)
    shipped = json.loads((PLUGIN / "hooks/hooks.json").read_text())["hooks"]

    def words(hooks):
        return {
            event: [(shlex.split(hook["command"]), hook["timeout"]) for hook in group["hooks"]]
            for event, group in hooks.items()
        }

    assert words({event: group for event, [group] in shipped.items()}) == words(installed.hooks)


def test_the_marketplace_lists_the_plugin_by_its_name():
    [listed] = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text())["plugins"]
    assert (ROOT / listed["source"]).resolve() == PLUGIN
    assert listed["name"] == json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text())["name"] == "steeltrap"


@pytest.fixture
def start(tmp_path):
    """Start the plugin's script with these programs on its PATH, each of which prints its name and arguments."""

    def start(programs, *arguments):
        folder = tmp_path / "-".join(["bin", *programs])
        folder.mkdir()
        for name in programs:
            (folder / name).write_text(f'#!/bin/sh\necho {name} "$@"\n')
            (folder / name).chmod(0o755)
        return subprocess.run(
            ["/bin/sh", str(START), *arguments], env={"PATH": str(folder)}, capture_output=True, text=True, check=False
        )

    return start


def test_the_plugin_starts_the_installed_command(start):
    assert os.access(START, os.X_OK)
    assert start(["steeltrap", "uvx"], "hook", "stop").stdout == "steeltrap hook stop\n"


def test_without_either_a_hook_is_silent_and_the_server_says_why(start):
    hook = start([], "hook", "stop")
    assert (hook.returncode, hook.stdout, hook.stderr) == (0, "", "")
    server = start(["other"], "mcp")
    assert server.returncode == 1
    assert "not on PATH" in server.stderr
