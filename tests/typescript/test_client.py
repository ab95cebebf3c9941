"""The TypeScript client is generated, type-checked, built, and run against a server as its users get it."""

import json
import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import TrustedHeaders
from steeltrap.toolsets import CATALOGUE
from steeltrap.version import VERSION
from surfaces.callers import door_on
from surfaces.serving import served

PACKAGE = Path(__file__).parents[2] / "clients" / "typescript"
BIN = PACKAGE / "node_modules" / ".bin"


def run(*words: str, folder: Path = PACKAGE, **variables: str) -> str:
    """The output of a command on the package's own Node, which must succeed."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **variables}
    ran = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module", autouse=True)
def build() -> None:
    run("npm", "run", "build")


def test_it_has_types_for_every_tool_and_no_any() -> None:
    run("npm", "run", "check")
    declared = (PACKAGE / "dist" / "generated" / "methods.d.ts").read_text()
    for tool in CATALOGUE.tools():
        assert f'"{tool.toolset}_{tool.name}"' in declared, tool.full_name
    for path in (PACKAGE / "dist").rglob("*.d.ts"):
        assert re.findall(r"(?<![\w/ *]) ?\bany\b(?=[;,)\]>|])", path.read_text()) == [], path.name


def test_its_version_is_the_products() -> None:
    assert json.loads((PACKAGE / "package.json").read_text())["version"] == VERSION


def test_its_tests_pass_against_a_server(tmp_path: Path) -> None:
    with served(create_app(door_on(tmp_path), TrustedHeaders())) as url:
        report = run("npm", "test", STEELTRAP_URL=url, NO_PROXY="127.0.0.1")
    assert re.search(r"^\S+ skipped 0$", report, re.MULTILINE), report


def test_a_program_that_installs_the_package_remembers(tmp_path: Path) -> None:
    run("npm", "pack", "--ignore-scripts", "--pack-destination", str(tmp_path))
    [archive] = tmp_path.glob("*.tgz")
    installed = tmp_path / "node_modules"
    with tarfile.open(archive) as packed:
        names = {Path(name).relative_to("package").parts[0] for name in packed.getnames()}
        assert names == {"dist", "LICENSE", "README.md", "package.json"}
        packed.extractall(tmp_path, filter="data")
    installed.mkdir()
    (tmp_path / "package").rename(installed / "steeltrap")
    program = tmp_path / "remember.mjs"
    program.write_text(example())
    with served(create_app(door_on(tmp_path / "data"), TrustedHeaders(), local=True)) as url:
        user = 'headers: { "X-User-Id": "ana" }'
        program.write_text(program.read_text().replace('"http://127.0.0.1:8765"', f'"{url}", {{ {user} }}'))
        assert run("node", str(program), folder=tmp_path) == "Ana drinks black coffee.\n"


def example() -> str:
    """The first example of the page, as a user copies it."""
    page = (PACKAGE / "README.md").read_text()
    example = re.search(r"```ts\n(.*?)```", page, re.DOTALL)
    assert example is not None
    return example[1]
