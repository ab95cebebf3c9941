"""The page and the module of a library, each tried in a process of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

_PAGES = Path(__file__).parents[2] / "docs" / "integrations"


def run_page(name: str, folder: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """The end of the one block of Python on a page, run in a folder."""
    [block] = re.findall(r"^```python\n(.*?)^```", (_PAGES / name).read_text(), re.DOTALL | re.MULTILINE)
    command = [sys.executable, "-c", block]
    return subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False
    )


def is_imported(module: str, *, by: str) -> bool:
    """Whether a process that imports these has imported a module."""
    code = f"import sys, {by}; print({module!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout == "True\n"


def is_lazy(library: str, adapter: str) -> bool:
    """Whether a library is imported only by its adapter, and the adapter imports no engine."""
    ours = "steeltrap, steeltrap.client, steeltrap.integrations"
    return not is_imported(library, by=ours) and not is_imported(
        "steeltrap.engine", by=f"steeltrap.integrations.{adapter}"
    )
