"""How one gets steeltrap: from a clone until the first release, from indexes afterwards.

`RELEASED` in `steeltrap/version.py` is the one setting; `make docs` then writes the other texts into every page that
says it, and into the plugin's script.
"""

import re
from pathlib import Path
from typing import Final

from steeltrap.version import RELEASED

ROOT: Final = Path(__file__).parents[1]
TYPESCRIPT: Final = ROOT / "clients" / "typescript" / "README.md"
PAGES: Final = [
    *(ROOT / "README.md", TYPESCRIPT),
    *(ROOT / "docs" / f"{name}.md" for name in ("agents", "python", "server")),
]
SCRIPT: Final = ROOT / "plugins" / "claude-code" / "scripts" / "start.sh"
TEXTS: Final[dict[str, tuple[str, str]]] = {
    "start": (
        """\
In a clone of this repository, with Python 3.11 or newer and make:

```sh
make serve                                 # a console in the browser, HTTP and MCP on http://127.0.0.1:8765
.venv/bin/steeltrap install claude-code    # in another terminal; or codex, cursor, claude-desktop, vscode, gemini
```

The first one installs into `.venv` (a minute or two; everything works offline afterwards) and serves until Ctrl-C. The
second one needs no server: from now on the agent remembers. It shows what it changes and asks before it writes;
`--undo` takes it back. Memories are stored in `~/.steeltrap`, or where `STEELTRAP_DATA` says.

`. .venv/bin/activate` puts the `steeltrap` command on your shell's PATH. Save a memory, revise it, and ask:
""",
        """\
With Python 3.11 or newer:

```sh
pip install "steeltrap[server]"
steeltrap install claude-code    # or codex, cursor, claude-desktop, vscode, gemini
steeltrap serve                  # a console in the browser, HTTP and MCP on http://127.0.0.1:8765
```

The second one needs no server: from now on the agent remembers. It shows what it changes and asks before it writes;
`--undo` takes it back. Memories are stored in `~/.steeltrap`, or where `STEELTRAP_DATA` says. Everything works offline.

Save a memory, revise it, and ask:
""",
    ),
    "python": (
        """\
`make install` in a clone makes `.venv` with the package `steeltrap`; `pip install PATH_OF_THE_CLONE` installs it into
an environment of yours ([45 packages](packages.md)). No server is needed.
""",
        """\
`pip install steeltrap` installs it ([45 packages](packages.md)). No server is needed.
""",
    ),
    "typescript": (
        """\
Build it in a clone of this repository, with npm, and install it in your project:

```sh
npm ci --prefix /path/to/the/clone/clients/typescript
npm run build --prefix /path/to/the/clone/clients/typescript
npm install /path/to/the/clone/clients/typescript
```
""",
        """\
`npm install steeltrap` installs it.
""",
    ),
    "upgrade": (
        """\
2. Run `git pull` and `make install` in the clone, or build the new image. The [changelog](../CHANGELOG.md) names what
   behaves differently.
""",
        """\
2. Run `pip install --upgrade "steeltrap[server]"`, or pull the new image. The [changelog](../CHANGELOG.md) names what
   behaves differently.
""",
    ),
    "plugin": (
        """\
`steeltrap install claude-code` adds the server and the hooks to your settings. The plugin does the same, and is taken
back by `claude plugin uninstall steeltrap@steeltrap`. It starts the `steeltrap` that is on PATH. Use one of the two, so
that hooks don't run twice:

```sh
claude plugin marketplace add /absolute/path/to/the/clone
claude plugin install steeltrap@steeltrap
```
""",
        """\
`steeltrap install claude-code` adds the server and the hooks to your settings. The plugin does the same, and is taken
back by `claude plugin uninstall steeltrap@steeltrap`. It starts the installed `steeltrap`, or `uvx steeltrap`. Use one
of the two, so that hooks don't run twice:

```sh
claude plugin marketplace add steeltrap-memory/steeltrap
claude plugin install steeltrap@steeltrap
```
""",
    ),
}
"""Each text before the first release and after it."""

_BLOCK: Final = re.compile(r"(<!-- install: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_FLAG: Final = re.compile(r"^released=\w+$", re.MULTILINE)


def with_installs(text: str, *, released: bool = RELEASED) -> str:
    """A page with its texts about how one gets steeltrap."""
    return _BLOCK.sub(lambda found: f"{found[1]}{TEXTS[found[2]][released]}{found[3]}", text)


def script(text: str, *, released: bool = RELEASED) -> str:
    """The plugin's script, which asks an index for steeltrap only once that has it."""
    return _FLAG.sub(f"released={'yes' if released else 'no'}", text)
