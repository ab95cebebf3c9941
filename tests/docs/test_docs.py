"""The documentation's examples run as it shows them."""

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import validate
from typer.testing import CliRunner

from docs import generate, packages, registry, stub, tokens
from steeltrap.cli.app import COMMANDS, OPERATORS, app
from steeltrap.servers.http import STATUS
from steeltrap.settings import PREFIX
from steeltrap.tools import Toolset
from steeltrap.toolsets import CATALOGUE

ROOT = Path(__file__).parents[2]
OF_THE_ROOT = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
WITH_CODE = ["docs/python.md", "docs/client.md", "docs/integrations/langgraph.md"]
PAGES = [*OF_THE_ROOT, *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("examples/*.md"))]


@pytest.mark.parametrize("toolset", CATALOGUE.toolsets)
def test_the_tool_pages_are_as_generated(toolset: str) -> None:
    page = ROOT / "docs" / "tools" / f"{toolset}.md"
    assert page.read_text() == generate.toolset_page(CATALOGUE.toolsets[toolset]), "run `make docs`"


def test_the_settings_page_is_as_generated() -> None:
    assert (ROOT / "docs" / "settings.md").read_text() == generate.settings_page(), "run `make docs`"


def test_the_stages_page_is_as_generated() -> None:
    assert (ROOT / "docs" / "stages.md").read_text() == generate.stages_page(), "run `make docs`"


def test_the_openapi_document_is_as_generated() -> None:
    assert (ROOT / "docs" / "openapi.json").read_text() == generate.openapi_page(), "run `make docs`"


@pytest.mark.slow
def test_the_openapi_document_is_valid() -> None:
    validate(json.loads((ROOT / "docs" / "openapi.json").read_text()))


def test_the_entry_for_mcps_registry_is_as_generated() -> None:
    assert registry.SERVER.read_text() == registry.server(), "run `make docs`"


def test_the_page_on_packages_names_each_with_its_reason() -> None:
    """Sizes differ between machines."""
    page = packages.PAGE.read_text()
    kept = [re.sub(r"[\d.]+ (?=\||MB)", "", text) for text in (page, packages.with_tables(page))]
    assert kept[0] == kept[1], "run `make docs`"
    assert "Python, the command line and MCP over stdio: 45 packages, " in page


def test_the_types_of_the_python_calls_are_as_generated() -> None:
    assert stub.STUB.read_text() == stub.stub(CATALOGUE), "run `make docs`"
    assert stub.ASYNC_STUB.read_text() == stub.async_stub(CATALOGUE), "run `make docs`"


def test_the_clients_table_of_tools_is_as_generated() -> None:
    assert stub.TABLE.read_text() == stub.table(CATALOGUE), "run `make docs`"


@pytest.mark.slow
@pytest.mark.parametrize("page", generate.TRANSCRIPTS, ids=lambda page: page.stem)
def test_transcripts_are_what_their_commands_print(page: Path) -> None:
    text = page.read_text()
    assert generate.with_transcripts(text) == text, "run `make docs`, and look at what changed"


@pytest.mark.parametrize("toolset", CATALOGUE.toolsets.values(), ids=lambda toolset: toolset.name)
def test_the_index_and_the_page_on_agents_say_what_each_toolset_costs(toolset: Toolset) -> None:
    page = (ROOT / "docs" / "agents.md").read_text()
    assert page == tokens.with_tokens(page), "run `make docs`"
    index = (ROOT / "docs" / "index.md").read_text()
    [row] = [line for line in index.splitlines() if line.startswith(f"| `{toolset.name}` ")]
    assert f"| {tokens.definition_tokens(toolset):,}" in row
    before = tokens.BEFORE.get(toolset.name)
    assert before is None or f"({before:,}) |" in row


@pytest.mark.parametrize("toolset", [name for name in CATALOGUE.toolsets if name != "core"])
@pytest.mark.parametrize("protocol", ["v1", "mcp"])
def test_a_dialects_page_shows_a_conversation_over_http_and_over_mcp(toolset: str, protocol: str) -> None:
    page = (ROOT / "docs" / "dialects" / f"{toolset}.md").read_text()
    assert f"$ python docs/converse.py http://127.0.0.1:8765/{protocol}/{toolset}\n" in page


@pytest.mark.parametrize("toolset", [name for name in CATALOGUE.toolsets if name != "core"])
def test_a_dialects_conversation_calls_every_tool(toolset: str) -> None:
    steps = json.loads((ROOT / "docs" / "conversations" / f"{toolset}.json").read_text())
    assert {step["tool"] for step in steps} == set(CATALOGUE.toolsets[toolset].tools)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


ROOMS = (
    "arguments cli client embedders engine functions importers invoke maintenance model ports ranking runtime servers "
    "settings stores tests text toolsets"
)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_every_path_that_the_guides_name_exists(page: str) -> None:
    named = re.findall(r"`([a-z_/]+(?:/|\.py|/[a-z_]+))`", (ROOT / page).read_text())
    named = [path for path in named if re.split(r"[/.]", path)[0] in ROOMS.split() and ("/" in path or "." in path)]
    assert len(named) > 15
    missing = [path for path in named if not any((root / path).exists() for root in (ROOT, ROOT / "shared/steeltrap"))]
    assert not missing


def test_the_architecture_page_links_each_path_to_the_file_that_it_names() -> None:
    links = re.findall(r"\[`([^`]+)`\]\(([^)]+)\)", (ROOT / "docs" / "architecture.md").read_text())
    assert links
    for path, target in links:
        assert target.removesuffix("__init__.py") == f"../shared/steeltrap/{path}"


def test_the_readme_fits_on_two_screens_and_has_one_picture() -> None:
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) <= 90
    assert len(re.findall(r"!\[", readme)) == 1


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/**/*.md")), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_opens_with_what_one_can_do_after_it(page: Path) -> None:
    title, _, opening, *_ = page.read_text().splitlines()
    assert title.startswith("# ")
    assert opening.startswith("After this page you can ")


def test_the_index_has_four_groups() -> None:
    assert len(re.findall(r"^## ", (ROOT / "docs" / "index.md").read_text(), re.MULTILINE)) == 4


def test_the_page_on_http_names_every_code_with_its_status() -> None:
    page = (ROOT / "docs" / "http.md").read_text()
    assert re.findall(r"^\| (\d{3}) \| `(\w+)` \|", page, re.MULTILINE) == [
        (str(status), code) for code, status in STATUS.items()
    ]


LOCAL = "http://127.0.0.1:8765"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with generate.served(tmp_path_factory.mktemp("memories")) as (_, port):
        yield f"http://127.0.0.1:{port}"


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_CODE)
def test_the_code_on_a_page_runs(page: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    text = (ROOT / page).read_text()
    if LOCAL in text:
        text = text.replace(LOCAL, request.getfixturevalue("url"))
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert blocks
    environment = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    for number, block in enumerate(blocks):
        folder = tmp_path / str(number)
        folder.mkdir()
        command = [sys.executable, "-W", "error", "-c", block]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_code_on_the_pages_has_right_types(tmp_path: Path) -> None:
    for page in WITH_CODE:
        blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
        (tmp_path / Path(page).with_suffix(".py").name).write_text(
            "".join(f"def block_{n}() -> None:\n{textwrap.indent(each, '    ')}" for n, each in enumerate(blocks))
        )
    # One process for all pages: each would read the types of the whole package again.
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", *sorted(tmp_path.iterdir())],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""


def test_the_readme_is_played_without_the_packages_of_any_store() -> None:
    """As `make dist` does, beside the wheel alone."""
    modules = ["boto3", "obstore", "onnxruntime", "opensearchpy", "psycopg"]
    code = f"import sys; sys.modules.update(dict.fromkeys({modules}))\nfrom docs import generate"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_page_is_in_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / target).resolve() for target in re.findall(r"\]\(([^)]+)\)", index.read_text())}
    assert {page for page in PAGES if page != index} <= linked


def test_the_page_on_the_command_line_names_every_command_and_no_other() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text()
    rows = re.findall(r"^\| (`.+?) \|", page, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`((?:admin )?[a-z-]+)", row)}
    groups = {
        f"{prefix}{name}" for prefix, part in (("", COMMANDS), ("admin ", OPERATORS)) for name in chain(*part.values())
    }
    assert named == groups


def test_help_lists_the_commands_in_the_groups_of_their_page() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text()
    sections = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", page, re.MULTILINE))
    for title, rows in COMMANDS.items():
        assert set(re.findall(r"^\| `([a-z-]+)", sections[title], re.MULTILINE)) <= set(rows)
        assert set(rows) <= set(re.findall(r"`([a-z-]+)", sections[title]))


def test_the_json_in_the_readme_is_json() -> None:
    assert _json_blocks((ROOT / "README.md").read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_mcp_clients_are_shown_servers_that_they_take(page: Path) -> None:
    """Claude Code refuses an address without its type; Claude Desktop skips every address. Two clients have a name of
    their own for an address, which needs no type."""
    text = page.read_text()
    for server in _mcp_servers(text):
        if {"httpUrl", "serverUrl"} & server.keys():
            assert not {"command", "type", "url"} & server.keys(), server
            continue
        assert ("command" in server) == (server.get("type", "stdio") == "stdio"), server
        assert ("url" in server) == (server.get("type") == "http"), server
    for section in re.split(r"^## ", text, flags=re.MULTILINE):
        for paragraph in re.findall(r"Claude Desktop.*?```json\n.*?```", section, re.DOTALL):
            assert all("command" in server for server in _mcp_servers(paragraph))


def test_the_arguments_that_mcp_clients_are_shown_are_those_of_the_command() -> None:
    text = (ROOT / "README.md").read_text() + (ROOT / "docs" / "agents.md").read_text()
    ours = [server for server in _mcp_servers(text) if server.get("command", "").endswith("/steeltrap")]
    assert ours
    for server in ours:
        assert CliRunner().invoke(app, [*server["args"], "--help"]).exit_code == 0


def _json_blocks(text: str) -> list[Any]:
    return [json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL)]


def _mcp_servers(text: str) -> list[dict[str, Any]]:
    shown = [block for block in _json_blocks(text) if isinstance(block, dict)]
    return [server for block in shown for key in ("mcpServers", "servers") for server in block.get(key, {}).values()]
