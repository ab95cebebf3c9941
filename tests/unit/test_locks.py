"""The lock files fit pyproject.toml, name a hash for everything, and every install goes by them."""

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distributions
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = [ROOT / "constraints.txt", *sorted((ROOT / "locks").glob("*.txt"))]
ALL, PRODUCT, LIBRARY = ROOT / "constraints.txt", ROOT / "locks" / "product.txt", ROOT / "locks" / "library.txt"
AGENTS = ROOT / "locks" / "agents.txt"
OF_AGENTS = {"openai-agents", "google-adk", "llama-index", "strands", "claude-agent-sdk"}
"""The extras that have an environment of their own."""


def _locked(lock: Path) -> list[tuple[Requirement, int]]:
    """Each requirement of a lock file, and how many hashes it has."""
    lines = lock.read_text().replace("\\\n", " ").splitlines()
    entries = [line for line in lines if line and not line.startswith("--no-binary ")]
    return [(Requirement(entry.partition(" --hash")[0]), entry.count("--hash=sha256:")) for entry in entries]


def _named() -> dict[str, list[Requirement]]:
    """The requirements in pyproject.toml: the library's, the product's with its server, all with groups and the extras
    that fit together, and those of `make agents`. Our own model is built here.
    """
    library = PROJECT["project"]["dependencies"]
    product = [*library, *PROJECT["project"]["optional-dependencies"]["server"]]
    optional = PROJECT["project"]["optional-dependencies"]
    extras = [*chain.from_iterable(lines for extra, lines in optional.items() if extra not in OF_AGENTS)]
    agents = [*library, *chain.from_iterable(optional[extra] for extra in OF_AGENTS)]
    theirs = [line for line in extras if not line.startswith("steeltrap-")]
    grouped = [line for group in PROJECT["dependency-groups"].values() for line in group if isinstance(line, str)]
    everything = [*library, *theirs, *grouped]
    named = {"library": library, "product": product, "all": everything, "agents": agents}
    return {which: [*map(Requirement, lines)] for which, lines in named.items()}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_package_of_a_lock_file_has_one_version_and_a_hash(lock: Path) -> None:
    entries = _locked(lock)
    assert entries
    for requirement, hashes in entries:
        assert str(requirement.specifier).startswith("=="), requirement
        assert hashes, requirement
    assert "://" not in lock.read_text()


@pytest.mark.parametrize(
    ("lock", "which"),
    [(LIBRARY, "library"), (PRODUCT, "product"), (ALL, "all"), (AGENTS, "agents")],
    ids=["library", "product", "all", "agents"],
)
def test_every_dependency_is_locked_in_a_version_that_it_admits(lock: Path, which: str) -> None:
    locked: dict[str, list[Requirement]] = {}
    for requirement, _ in _locked(lock):
        locked.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    for asked in _named()[which]:
        found = locked.get(canonicalize_name(asked.name), [])
        assert found, f"{asked} is not locked: run `make lock`"
        for each in found:
            version = str(each.specifier).removeprefix("==")
            assert asked.specifier.contains(version), f"{asked} does not admit {version}: run `make lock`"


def test_what_make_test_lowest_installs_is_the_lowest_that_is_declared() -> None:
    locked = {canonicalize_name(each.name): each for each, _ in _locked(ROOT / "locks" / "lowest.txt")}
    extras = PROJECT["project"]["optional-dependencies"]
    for asked in map(
        Requirement, [*PROJECT["project"]["dependencies"], *extras["server"], *extras["aws"], *extras["lambda"]]
    ):
        [lowest] = [Version(bound.version) for bound in asked.specifier if bound.operator == ">="]
        found = Version(str(locked[canonicalize_name(asked.name)].specifier).removeprefix("=="))
        assert found.release[: len(lowest.release)] == lowest.release, f"{asked} is locked as {found}: run `make lock`"


def test_the_product_has_the_versions_that_tests_run_with() -> None:
    assert {str(requirement) for requirement, _ in _locked(PRODUCT)} <= {str(each) for each, _ in _locked(ALL)}


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_the_library_is_at_most_45_packages(python: str, platform: str) -> None:
    here = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": platform}
    needed = {each.name for each, _ in _locked(LIBRARY) if each.marker is None or each.marker.evaluate(here)}
    assert len({*needed, "steeltrap"}) <= 45
    server = {each.name for each, _ in _locked(PRODUCT)}
    assert needed < server
    assert not {"fastapi", "jinja2", "prometheus-client", "tokenizers", "huggingface-hub"} & needed


def test_nothing_is_installed_here_that_is_not_locked() -> None:
    known = {(canonicalize_name(r.name), str(r.specifier)) for lock in LOCKS for r, _ in _locked(lock)}
    for found in distributions():
        name = canonicalize_name(found.metadata["Name"])
        if name not in ("steeltrap", "steeltrap-small", "setuptools"):
            assert (name, f"=={found.version}") in known, (
                f"{name} {found.version} is not locked: run `make clean install`"
            )


def test_every_install_checks_hashes() -> None:
    """`--no-deps` installs our own package, which nothing was downloaded for."""
    makefile = (ROOT / "Makefile").read_text()
    installs = [line for line in makefile.splitlines() if re.search(r"^\t.*(\$\(PIP\)|pip install)", line)]
    assert len(installs) >= 5
    for line in installs:
        assert any(word in line for word in ("$(LOCKED)", "--require-hashes", "--no-deps")), line
    assert "LOCKED := --require-hashes --constraint constraints.txt --build-constraint constraints.txt\n" in makefile
    assert "npx" not in makefile
    assert "npm ci" in makefile
    for file in ("infra/bundle.py", "localstack/parts.py"):
        assert "--require-hashes" in (ROOT / file).read_text()
    docker = (ROOT / "Dockerfile").read_text()
    assert "PIP_REQUIRE_HASHES=1" in docker
    assert re.search(r"^ARG DEBIAN=debian:\w+-slim$", docker, re.MULTILINE)
    assert set(re.findall(r"^FROM (\S+)", docker, re.MULTILINE)) == {"${DEBIAN}", "scratch"}


@pytest.mark.slow
@pytest.mark.parametrize("tampered", [False, True])
def test_a_package_that_was_changed_is_not_installed(tampered: bool, tmp_path: Path) -> None:
    wheel = tmp_path / "heron-1.0-py3-none-any.whl"
    _write_wheel(wheel, "heron = 1\n")
    hashed = subprocess.run([sys.executable, "-m", "pip", "hash", wheel], capture_output=True, text=True, check=True)
    (tmp_path / "lock.txt").write_text(f"heron==1.0 {hashed.stdout.splitlines()[-1]}\n")
    if tampered:
        _write_wheel(wheel, "heron = 2\n")
    pip = [sys.executable, "-m", "pip", "install", "--isolated", "--no-index", "--dry-run", "--find-links", tmp_path]
    locked = ["--require-hashes", "--constraint", tmp_path / "lock.txt", "heron"]
    done = subprocess.run([*pip, *locked], capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == tampered, done.stderr
    assert ("DO NOT MATCH THE HASHES" in done.stderr) == tampered


def _write_wheel(path: Path, code: str) -> None:
    info = "heron-1.0.dist-info"
    files = {
        "heron.py": code,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: heron\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
