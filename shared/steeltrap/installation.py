"""Where this steeltrap was installed from, and the one command that adds an optional part to it.

An index has every part. A clone and a folder of wheels have `steeltrap-small` beside them, and take other packages from
an index. The command names this very Python, so that it works from any shell. Standard library alone.
"""

import importlib
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

SMALL: Final = "steeltrap-small"
_EXTRA: Final = re.compile(r"extra == ['\"]([\w-]+)")


def lacks_small() -> bool:
    """Whether one of the packages that the embedder `small` needs is not there."""
    importlib.invalidate_caches()  # they may have been installed a moment ago
    return any(importlib.util.find_spec(name) is None for name in ("steeltrap_small", "onnxruntime", "tokenizers"))


def install_line(extra: str) -> str:
    """The command, as one types it, that installs an extra such as `small` here."""
    return shlex.join(install_command(extra) or ["pip", "install", f"steeltrap[{extra}]"])


def line_of(packages: Sequence[str]) -> str:
    """The command, as one types it, that installs packages of an index here."""
    return shlex.join([*(_installer() or ("pip", "install")), *packages])


def typed_command() -> str:
    """The command to type in this shell: `steeltrap` if it is on the PATH, else its path."""
    own = shutil.which("steeltrap", path=str(Path(sys.executable).parent))
    return "steeltrap" if own is None or shutil.which("steeltrap") is not None else shlex.quote(own)


def upgrade_advice() -> str:
    """How to get a newer steeltrap, as the beginning of a sentence."""
    source = _source()
    if source is None:
        return f"Run `{line_of(['--upgrade', 'steeltrap'])}`"
    return f"Run `git pull` and `make install` in {source}" if source.is_dir() else "Install a newer wheel"


def install_command(extra: str) -> list[str] | None:
    """The command that installs an extra into this environment, None where there is nothing to install with."""
    if "archive-v0" in Path(sys.executable).parts:  # made by `uvx`, which makes it anew for other packages
        return ["uv", "tool", "install", f"steeltrap[{extra}]"]
    installer = _installer()
    return None if installer is None else [*installer, *_packages(extra)]


def _installer() -> list[str] | None:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install"]
    return ["uv", "pip", "install", "--python", sys.executable] if shutil.which("uv") is not None else None


def run(command: Sequence[str]) -> bool:
    """Run an installer; whether it succeeded. What it prints goes to stderr."""
    return subprocess.run(command, check=False, stdout=sys.stderr).returncode == 0


def _packages(extra: str) -> list[str]:
    source = _source()
    if source is None:
        return [f"steeltrap[{extra}]"]
    # Naming the folder again would replace an editable install.
    required = _required(extra)
    if source.is_dir():
        clone = {SMALL: str(source / "models" / "small")}
        return [clone.get(_name(each), each) for each in required]
    return ["--find-links", str(source.parent), *required]


def _required(extra: str) -> list[str]:
    requirements = [each.partition(";") for each in metadata.requires("steeltrap") or ()]
    return [required.strip() for required, _, marker in requirements if extra in _EXTRA.findall(marker)]


def _name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].replace("_", "-").lower()


def _source() -> Path | None:
    """The folder or the wheel that was installed; None where it came from an index."""
    try:
        text = metadata.distribution("steeltrap").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return None
    url = urlsplit(json.loads(text or "{}").get("url", ""))
    return Path(url2pathname(url.path)) if url.scheme == "file" else None
