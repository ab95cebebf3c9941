"""Builds the bundle that Claude Desktop and other clients install with a double click: `python mcpb/build.py FOLDER`.

It is of the type `uv` (https://github.com/modelcontextprotocol/mcpb/blob/main/MANIFEST.md): the client installs Python
and the dependencies, at the versions that are locked here; the package itself is inside as a wheel.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any, Final

from steeltrap.servers.mcp import TOOLSET
from steeltrap.toolsets import CATALOGUE
from steeltrap.version import VERSION

ROOT: Final = Path(__file__).parents[1]
NAME: Final = f"steeltrap-{VERSION}.mcpb"
_ENTRY: Final = "server.py"


def main() -> None:
    """Build into the folder that the command line names, and print the path."""
    print(build(Path(sys.argv[1])))


def build(folder: Path) -> Path:
    """The bundle, made in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / NAME
    with tempfile.TemporaryDirectory() as wheels, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as bundle:
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", wheels],
            cwd=ROOT,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        [wheel] = Path(wheels).glob("*.whl")
        bundle.writestr("manifest.json", json.dumps(manifest(), indent=2) + "\n")
        bundle.writestr("pyproject.toml", _pyproject(wheel.name))
        bundle.write(ROOT / "mcpb" / _ENTRY, _ENTRY)
        bundle.write(ROOT / "LICENSE", "LICENSE")
        bundle.write(wheel, wheel.name)
    return made


def manifest() -> dict[str, Any]:
    """What the client shows before it installs the bundle, and how it starts the server."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    source = project["urls"]["Source"]
    folder = {
        "type": "directory",
        "title": "Folder for memories",
        "description": "Memories are stored here. The command line uses the same folder by default.",
        "default": "${HOME}/.steeltrap",
        "required": True,
    }
    return {
        "manifest_version": "0.4",  # the first with `uv`
        "name": project["name"],
        "display_name": project["name"],
        "version": VERSION,
        "description": project["description"],
        "author": {"name": "The steeltrap contributors", "url": source},
        "repository": {"type": "git", "url": f"{source}.git"},
        "documentation": project["urls"]["Documentation"],
        "support": project["urls"]["Issues"],
        "license": project["license"],
        "keywords": project["keywords"],
        "server": {
            "type": "uv",
            "entry_point": _ENTRY,
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", _ENTRY],
                "env": {"STEELTRAP_DATA": "${user_config.folder}"},
            },
        },
        "tools": [
            {"name": tool.name, "description": tool.description} for tool in CATALOGUE.toolset(TOOLSET).tools.values()
        ],
        "prompts_generated": True,
        "user_config": {"folder": folder},
        "compatibility": {
            "platforms": ["darwin", "win32", "linux"],
            "runtimes": {"python": project["requires-python"]},
        },
    }


def _pyproject(wheel: str) -> str:
    locked = [
        line.removesuffix(" \\").strip()
        for line in (ROOT / "locks/library.txt").read_text().splitlines()
        if "==" in line
    ]
    return "\n".join(
        [
            "[project]",
            'name = "steeltrap-bundle"',
            f'version = "{VERSION}"',
            'requires-python = ">=3.11"',
            'dependencies = ["steeltrap"]',
            "",
            "[tool.uv]",
            "package = false",
            f"constraint-dependencies = {json.dumps(locked, indent=2)}",
            "",
            "[tool.uv.sources]",
            f'steeltrap = {{ path = "{wheel}" }}',
            "",
        ]
    )


if __name__ == "__main__":
    main()
