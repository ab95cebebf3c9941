"""Writes what can't be written by hand: tool and settings pages, transcripts, and the types of the Python calls.

`python docs/generate.py` writes, `--check` says what would change and exits 1; with pages named, only their transcripts
are played. Transcripts are produced by running their commands against a served folder, one per page, a new one where a
block says `afresh`; ids, times and ports are put in a stable form.
"""

import argparse
import contextlib
import io
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

from typer.main import get_command

from steeltrap.cli import plain
from steeltrap.cli.app import app
from steeltrap.servers import schemas
from steeltrap.settings import FIELDS, PREFIX
from steeltrap.text.schemas import describe, plain_schema
from steeltrap.tools import Tool, Toolset
from steeltrap.toolsets import CATALOGUE

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from infra.stage import Stage

from docs import installs, packages, registry, stub, tokens

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PORT = "8765"
ID = "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3{}"
TIME = "2026-01-31T09:30:00Z"

_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_SHORT_ID = re.compile(r"(?<=[\[\"])[0-9a-f]{8}(?=[\]\"])|(?<=--undo )[0-9a-f]{8}\b")
_TODAY = re.compile(r"Today is [A-Z][a-z]+ 20\d\d-\d\d-\d\d")
_TIME = re.compile(r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?(Z|\+00:00)?)?")
_AGE = re.compile(r"(?<= UTC, )(just now|yesterday|last [a-z]+|\d+ [a-z]+ ago)")
_BLOCK = re.compile(r"(<!-- transcript( afresh)? -->\n```(console|pycon)\n)(.*?)(```)", re.DOTALL)
TRANSCRIPTS = [
    ROOT / "README.md",
    *(DOCS / f"{name}.md" for name in ("bucket", "capture", "http", "moving-in", "python")),
    *sorted(DOCS.glob("dialects/*.md")),
]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is out of date")
    arguments.add_argument("page", nargs="*", type=Path, help="a page whose transcripts are played, and no other")
    given = arguments.parse_args()
    made = [(page, with_transcripts(page.read_text())) for page in map(Path.resolve, given.page)] or pages()
    stale = [path for path, text in made if not path.exists() or path.read_text() != text]
    for path, text in made if stale and not given.check else []:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for path in stale:
        print(f"{'out of date' if given.check else 'written'}: {path.relative_to(ROOT)}")
    return 1 if given.check and stale else 0


def pages() -> list[tuple[Path, str]]:
    """Every generated page with its text."""
    global _pages  # noqa: PLW0603 - transcripts take seconds, once is enough
    if _pages is None:
        # `make dist` plays the README beside the product alone, which lacks the library of buckets that these need.
        from docs import cost, scale

        toolsets = CATALOGUE.toolsets.values()
        _pages = [
            *((DOCS / "tools" / f"{toolset.name}.md", toolset_page(toolset)) for toolset in toolsets),
            (DOCS / "settings.md", settings_page()),
            (DOCS / "stages.md", stages_page()),
            (DOCS / "openapi.json", openapi_page()),
            (plain.HELP, help_text()),
            (plain.OPTIONS, recall_options()),
            (stub.STUB, stub.stub(CATALOGUE)),
            (stub.ASYNC_STUB, stub.async_stub(CATALOGUE)),
            (stub.TABLE, stub.table(CATALOGUE)),
            (DOCS / "cost.md", cost.page((DOCS / "cost.md").read_text())),
            (DOCS / "scale.md", scale.page((DOCS / "scale.md").read_text())),
            (packages.PAGE, packages.with_tables(packages.PAGE.read_text())),
            (DOCS / "agents.md", tokens.with_tokens(installs.with_installs((DOCS / "agents.md").read_text()))),
            (DOCS / "server.md", installs.with_installs((DOCS / "server.md").read_text())),
            (installs.TYPESCRIPT, installs.with_installs(installs.TYPESCRIPT.read_text())),
            (installs.SCRIPT, installs.script(installs.SCRIPT.read_text())),
            (registry.SERVER, registry.server()),
            *((path, with_transcripts(installs.with_installs(path.read_text()))) for path in TRANSCRIPTS),
        ]
    return _pages


_pages: list[tuple[Path, str]] | None = None


def openapi_page() -> str:
    """The HTTP surface as OpenAPI."""
    return json.dumps(schemas.openapi(CATALOGUE), indent=1, ensure_ascii=False) + "\n"


def help_text() -> str:
    """What `steeltrap --help` prints on a terminal of 80 columns or more."""
    with patch.dict(os.environ, {"COLUMNS": "80"}), contextlib.redirect_stdout(io.StringIO()) as printed:
        app(["--help"], prog_name="steeltrap", standalone_mode=False)
    return printed.getvalue()


def recall_options() -> str:
    """The options of `recall`, one per line, to read them without Typer. One with its own check is left out."""
    options: dict[str, dict[str, Any]] = {}
    commands: Any = get_command(app)
    for option in commands.get_command(None, "recall").params:
        if option.param_type_name == "option" and option.callback is None:
            row = {"name": option.name, "type": option.type_descriptor.annotation.__name__}
            row |= {} if option.max is None else {"min": option.min, "max": option.max}
            options |= dict.fromkeys(option.opts, row)
    lines = (f"{json.dumps(name)}: {json.dumps(row)}" for name, row in options.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def toolset_page(toolset: Toolset) -> str:
    """The reference page of a toolset."""
    head = f"# The `{toolset.name}` toolset\n\n"
    head += "After this page you can call each of its tools with the right arguments.\n\n"
    head += f"{toolset.description}\n\n"
    path = f"`POST /v1/{toolset.name}/TOOL`, `steeltrap call {toolset.name}.TOOL JSON`, MCP at `/mcp/{toolset.name}`.\n"
    read = (
        f"A model reads the descriptions and arguments below ({tokens.definition_tokens(toolset):,} tokens) and these"
    )
    read += f" instructions ({tokens.tokens(toolset.instructions)}):\n\n"
    read += "```text\n" + textwrap.fill(toolset.instructions, 116) + "\n```\n"
    return "\n".join([head + path, read, *(tool_section(tool) for tool in toolset.tools.values())])


def tool_section(tool: Tool) -> str:
    """What a model reads of a tool, and what a person wants beside it."""
    traits = [tool.access, f"{tool.timeout:g} s"]
    traits += ["destructive"] * tool.destructive + ["idempotent"] * tool.idempotent
    traits.append(f"{tokens.tool_tokens(tool):,} tokens")
    lines = [f"## `{tool.name}`", "", f"_{' · '.join(traits)}_", "", tool.description, ""]
    required = tool.input_schema.get("required", [])
    properties = tool.input_schema.get("properties", {})
    if properties:
        lines += ["| argument | takes | meaning |", "|---|---|---|"]
        lines += [_row(name, schema, name in required) for name, schema in properties.items()]
        lines.append("")
    for example in tool.examples:
        lines += ["```json", json.dumps(example, ensure_ascii=False), "```", ""]
    return "\n".join(lines)


def _row(name: str, schema: dict[str, Any], required: bool) -> str:
    takes = describe(schema)
    if required:
        takes += ", required"
    elif schema.get("default") not in (None, [], {}):
        takes += f", default {json.dumps(schema['default'])}"
    return f"| `{name}` | {takes} | {schema.get('description', '')} |".replace("\n", " ")


def settings_page() -> str:
    """Every setting with its default."""
    lines = [
        "# Settings",
        "",
        "After this page you can change what steeltrap does by default.",
        "",
        "Settings are read once, when steeltrap starts. A value comes from an option, else from an environment",
        "variable, else from `steeltrap.toml` in the data folder, else it is the default. `steeltrap config` shows",
        "every setting and where its value comes from.",
        "",
        "Keep a setting in the file if it should hold for every program that opens the folder: commands, servers,",
        "hooks, and the clients that `steeltrap install` connects. `steeltrap config set` checks the value, writes the",
        "file, and keeps your comments. In the file, names are in lower case, without `STEELTRAP_`:",
        "",
        "```",
        "steeltrap config set timezone Europe/Lisbon",
        "steeltrap config set embedder_key -        # reads the value from stdin, so that no shell history has it",
        "steeltrap config unset timezone",
        "```",
        "",
        "Only its owner can read the file that is written, because it may hold secrets; `config` masks them. The data",
        "folder itself can't be set in it.",
        "",
        "An invalid value is rejected; the error names the variable, or the name in the file. So is a name that is",
        "nearly a setting's. Any other unknown name is ignored with a warning, because orchestrators set some",
        "(`STEELTRAP_SERVICE_HOST`), and a newer version may have written the file.",
        "",
        "| variable | default | meaning |",
        "|---|---|---|",
    ]
    for name, field in FIELDS.items():
        default = (
            "`~/.steeltrap`" if name == "data" else f"`{field.default}`" if field.default not in ("", None) else ""
        )
        lines.append(f"| `{PREFIX}{name.upper()}` | {default} | {field.metadata['description']} |")
    return "\n".join([*lines, ""])


def stages_page() -> str:
    """Every choice of a stage with its default."""
    lines = [
        "# Stages",
        "",
        "After this page you can describe a deployment on AWS.",
        "",
        "Each table of `infra/stages.toml` is a stage: one deployment. These are its keys. An invalid value stops",
        "`make deploy` before anything is deployed; the error names the key. [How to deploy a stage](deploy.md).",
        "",
        "| key | takes | default | meaning |",
        "|---|---|---|---|",
    ]
    schema = plain_schema(Stage.model_json_schema())["properties"]
    for name, field in Stage.model_fields.items():
        if name == "name":
            continue
        default = json.dumps(schema[name].get("default"))
        lines.append(f"| `{name}` | {describe(schema[name])} | `{default}` | {field.description} |")
    return "\n".join([*lines, ""])


def with_transcripts(text: str) -> str:
    """The page with the output of every command under it, as it is today."""
    stories: list[list[re.Match[str]]] = []
    for block in _BLOCK.finditer(text):
        if block[2] or not stories:
            stories.append([])
        stories[-1].append(block)
    outputs = [(block, output) for story in stories for block, output in zip(story, played(story), strict=True)]
    for block, output in reversed(outputs):
        text = text[: block.start(4)] + output + text[block.end(4) :]
    return text


def played(blocks: list[re.Match[str]]) -> list[str]:
    """What the commands of some blocks print, one after the other against one server."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as (environment, port):
        names: dict[str, str] = {}
        return [(console if block[3] == "console" else pycon)(block[4], environment, port, names) for block in blocks]


def console(block: str, environment: dict[str, str], port: str, names: dict[str, str]) -> str:
    """Run the `$` lines of a block; ids that an earlier output showed stand for the real ones."""
    lines = []
    for command in [line for line in block.splitlines() if line.startswith("$ ")]:
        real = command[2:].replace(f":{PORT}", f":{port}")
        for id, shown in names.items():
            real = real.replace(shown, id)
        done = subprocess.run(
            ["bash", "-c", real], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        printed = (done.stdout + done.stderr).strip().replace(f":{port}", f":{PORT}").replace(environment["HOME"], "~")
        lines += [command, *stable(printed, names).splitlines()]
    return "\n".join(lines) + "\n"


def pycon(block: str, environment: dict[str, str], port: str, names: dict[str, str]) -> str:
    """Run the `>>>` lines of a block in one interpreter."""
    scope: dict[str, Any] = {}
    lines = []
    # In that environment too: by this one's own, `open_memory()` opens the memories of whoever writes the pages.
    with contextlib.chdir(environment["STEELTRAP_DATA"]), patch.dict(os.environ, environment, clear=True):
        for line in [line for line in block.splitlines() if line.startswith(">>> ")]:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(line[4:], "<transcript>", "single"), scope)
            lines += [line, *stable(printed.getvalue(), names).splitlines()]
    return "\n".join(lines) + "\n"


def stable(text: str, names: dict[str, str]) -> str:
    """The text with ids numbered in the order of their appearance, and every time and age the same."""
    for id in _UUID.findall(text):
        if id not in names.values():
            names.setdefault(id, ID.format("0123456789abcdef"[len(names) % 16]))
    for id in _SHORT_ID.findall(text):
        if id not in names.values():
            names.setdefault(id, f"3f2b8c{len(names):02x}")
    for id, shown in names.items():
        text = text.replace(id, shown)
    text = _TODAY.sub("Today is Saturday 2026-01-31", text).replace(f"{datetime.now(UTC):%Y-%m-%d}:", "2026-01-31:")
    text = _TIME.sub(lambda found: TIME if "T" in found[0] else TIME[:16].replace("T", " "), text)
    return _AGE.sub("just now", text)


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[dict[str, str], str]]:
    """A server over a folder, on a free port; the environment that its clients run in."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    scripts = Path(sys.executable).parent
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(PREFIX)},
        "STEELTRAP_DATA": str(folder / "data"),
        "HOME": str(folder),  # where MCP clients keep their configuration
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "110",
        "NO_COLOR": "1",
        "NO_PROXY": "127.0.0.1",
        "TZ": "UTC",
    }
    (folder / "data").mkdir()
    command = shlex.split(f"{scripts / 'steeltrap'} serve --port {port}")
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until_ready(f"http://127.0.0.1:{port}/readyz", server)
        yield environment, port
    finally:
        server.terminate()
        server.wait(timeout=20)


def wait_until_ready(url: str, server: "subprocess.Popen[bytes]") -> None:
    """Return when the server answers. Raises RuntimeError when it ends first or 60 s have passed."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for _ in range(600):
        if server.poll() is not None:
            raise RuntimeError("the server ended before it answered")
        with contextlib.suppress(OSError), opener.open(url, timeout=5):
            return
        time.sleep(0.1)
    raise RuntimeError("the server did not answer within 60 s")


if __name__ == "__main__":
    sys.exit(main())
