"""Each extra, installed alone into an environment of its own, brings what its modules import; the package has none."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytest.importorskip("uv", reason="uv is not installed: `make agents` installs it, since pip takes minutes for this")

ROOT = Path(__file__).parents[2]
# Versions alone: a wheel that was just built has no hash in a lock file.
LOCKS = [
    [line.rstrip(" \\") for line in (ROOT / name).read_text().splitlines() if "==" in line]
    for name in ("constraints.txt", "locks/agents.txt")
]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
ADAPTERS = {
    extra: f"steeltrap.integrations.{module.stem}"
    for module in sorted((ROOT / "shared" / "steeltrap" / "integrations").glob("*.py"))
    for extra in re.findall(r"install_line\('([^']+)'\)", module.read_text())
}
MODULES = ADAPTERS | {
    "server": "steeltrap.servers.asgi.app, steeltrap.servers.process.server, steeltrap.servers.console",
    "onnx": "steeltrap.embedders.onnx, onnxruntime, tokenizers",
    "small": "steeltrap.embedders.small, steeltrap_small, onnxruntime, tokenizers",
    "bedrock": "steeltrap.embedders.bedrock, boto3",
    "aws": "steeltrap.stores.dynamodb.store, steeltrap.stores.dynamodb.moving, steeltrap.stores.opensearch.index",
    "bucket": "steeltrap.stores.logs.bucket",
    "postgres": "steeltrap.stores.logs.postgres",
    "lambda": "steeltrap.servers.aws_lambda.tools, mangum",
}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "wheel", "--no-deps")
    _run(*pip, "--no-build-isolation", "--wheel-dir", folder, ROOT, ROOT / "models" / "small")
    return folder


def test_every_extra_and_every_integration_is_tried() -> None:
    assert set(MODULES) == set(EXTRAS)
    integrations = {module.stem for module in (ROOT / "shared" / "steeltrap" / "integrations").glob("[a-z]*.py")}
    assert {module.rpartition(".")[2] for module in ADAPTERS.values()} == integrations


@pytest.mark.parametrize("extra", MODULES)
def test_an_extra_alone_brings_what_it_needs(extra: str, wheels: Path, tmp_path: Path) -> None:
    _run(_installed(wheels, tmp_path, extra), "-c", f"import {MODULES[extra]}")


def test_the_package_alone_brings_no_framework_and_each_integration_names_its_extra(
    wheels: Path, tmp_path: Path
) -> None:
    code = (
        "import importlib\n"
        f"for extra, module in {ADAPTERS}.items():\n"
        "    try:\n"
        "        importlib.import_module(module)\n"
        "    except ImportError as error:\n"
        "        assert f'steeltrap[{extra}]' in str(error), error\n"
        "    else:\n"
        "        raise SystemExit(f'{module} needs no extra')\n"
    )
    _run(_installed(wheels, tmp_path), "-c", code)


def _installed(wheels: Path, folder: Path, extra: str | None = None) -> Path:
    """The Python of a new environment with the package, in the versions of the lock file that has the extra's."""
    asked = {canonicalize_name(Requirement(line).name) for line in EXTRAS[extra]} if extra else set()
    lock = next(lock for lock in LOCKS if asked - {"steeltrap-small"} <= {line.partition("==")[0] for line in lock})
    versions = folder / "versions.txt"
    versions.write_text("\n".join(lock))
    [wheel] = wheels.glob("steeltrap-[0-9]*.whl")
    python = folder / "venv" / "bin" / "python"
    uv = (sys.executable, "-m", "uv", "--quiet")
    _run(*uv, "venv", "--python", sys.executable, folder / "venv")
    places = ("--python", python, "--find-links", wheels, "--constraint", versions)
    places += ("--no-binary", "claude-agent-sdk")  # its wheels bundle Claude Code, 178 MB
    _run(*uv, "pip", "install", *places, f"steeltrap[{extra}] @ {wheel.as_uri()}" if extra else wheel)
    return python


def _run(*command: str | Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("STEELTRAP_", "PYTHON"))}
    environment["UV_LINK_MODE"] = "symlink"  # fifteen environments share one copy of each file
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
