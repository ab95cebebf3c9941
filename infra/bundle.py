"""Packages of functions: installed for their processor without Docker, pruned, compiled, kept by the lock's hash."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from steeltrap.embedders.static import FOLDER

ROOT: Final = Path(__file__).parents[1]
BUILT: Final = ROOT / ".build"
_PROJECT: Final = ROOT / "pyproject.toml"
_LOCK: Final = ROOT / "constraints.txt"

# Lambda's own Linux has glibc 2.34.
_PLATFORMS: Final = ("manylinux2014_aarch64", "manylinux_2_24_aarch64", "manylinux_2_28_aarch64")
_SERVICES: Final = ("dynamodb", "s3", "sqs", "sts", "sso", "sso-oidc", "bedrock-runtime")
"""The services that functions call. Botocore describes over four hundred, which is most of it."""
_UNUSED: Final = (
    # opensearch-py 3.2 requires what its gRPC is made of, and imports none of it; nobody here is asynchronous.
    *("grpc", "google", "opensearch", "opensearchpy/_async/client", "opensearchpy/_async/plugins"),
    *("grpcio-*.dist-info", "protobuf-*.dist-info", "opensearch_protobufs-*.dist-info"),
    *("bin", "boto3/examples", "*.dist-info/sboms", "aws_lambda_powertools/event_handler", "pydantic/v1"),
    *("numpy/f2py", "numpy/testing", "numpy/tests", "numpy/*/tests", "numpy/_pyinstaller", "numpy/_core/include"),
    *("numpy/_core/lib", "numpy/random", "numpy/fft", "numpy/ma", "numpy/polynomial"),
    *(
        f"aws_lambda_powertools/utilities/{unused}"
        for unused in (
            *("auth_alpha", "circuit_breaker", "data_masking", "feature_flags", "idempotency", "kafka"),
            *("parameters", "streaming", "validation"),
        )
    ),
    *("**/*.pyi", "**/*.pyx", "**/*.pxd", "**/*.a", "**/__pycache__"),
)


class MissingPython(Exception):
    """No interpreter of the functions' version is here; the message says how to get one."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """The packages of one kind of function: a dependency group of pyproject.toml, for one version of Python."""

    group: str
    python: str

    def target(self) -> list[str]:
        """The options that tell pip which processor and which Python to install for."""
        kind = ["--python-version", self.python, "--implementation", "cp", "--only-binary=:all:"]
        return [*kind, *(f"--platform={platform}" for platform in _PLATFORMS)]

    def interpreter(self) -> str:
        """The Python that compiles the packages. Raises MissingPython."""
        return find_python(self.python)

    @property
    def digest(self) -> str:
        """Another one for whatever changes what is installed."""
        groups = tomllib.loads(_PROJECT.read_text())["dependency-groups"]
        facts = [
            self.group,
            groups,
            self.python,
            self.target(),
            _LOCK.read_text(),
            Path(__file__).read_text(),
        ]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]

    def build(self) -> Path:
        """The folder of a Lambda layer, made once for the same digest."""
        layer = BUILT / "layers" / self.digest
        if not layer.exists():
            layer.parent.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(dir=layer.parent))
            self._fill(folder / "python")
            folder.chmod(0o755)
            folder.rename(layer)
        return layer

    def _fill(self, folder: Path) -> None:
        self._install(folder, "--group", f"{_PROJECT}:{self.group}")
        _prune(folder)
        _compile(folder, "/opt/python", self.interpreter())

    def _install(self, folder: Path, *what: str) -> None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
        locked = ["--require-hashes", "--constraint", str(_LOCK), "--build-constraint", str(_LOCK)]
        subprocess.run([*pip, *locked, "--target", str(folder), *self.target(), *what], check=True)


def build_code(python: str, *, embedder: bool, replicas: bool) -> Path:
    """The folder of the functions' own code, compiled for a version of Python. Raises MissingPython."""
    return pack_code(find_python(python), embedder=embedder, replicas=replicas)


def pack_code(interpreter: str, *, embedder: bool, replicas: bool) -> Path:
    """The folder of the functions' own code: steeltrap without what runs on laptops or in other programs alone, and the
    handlers.

    With `embedder`, the model of the local embedder too; with `replicas`, the files that a store over a log keeps.
    """
    code = BUILT / ("code-replicas" if replicas else "code")
    shutil.rmtree(code, ignore_errors=True)
    left_out = ["__pycache__", "*.pyi", "cli", "process", "console", "importers", "integrations"]
    left_out += ["opensearch"] if replicas else ["sqlite", "replica", "logs"]
    leave = shutil.ignore_patterns(*left_out, *([] if embedder else [FOLDER.name]))
    shutil.copytree(ROOT / "shared" / "steeltrap", code / "steeltrap", ignore=leave)
    shutil.copytree(ROOT / "functions", code / "functions", ignore=leave)
    _compile(code, "/var/task", interpreter)
    return code


def _compile(folder: Path, place: str, interpreter: str) -> None:
    """Compile the files that will be at `place`, which is read-only: otherwise each start would compile them again.

    It takes an interpreter of the functions' own version.
    """
    # By hash and unchecked: packing changes files' times.
    how = ["-q", "-j", "0", "--invalidation-mode", "unchecked-hash", "-s", str(folder), "-p", place]
    subprocess.run([interpreter, "-m", "compileall", *how, str(folder)], check=True)


def find_python(python: str) -> str:
    """An interpreter of this version, on the path or where pyenv and uv put it. Raises MissingPython."""
    if python == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or Path.home() / ".local" / "share" / "uv" / "python")
    candidates = [
        *(str(Path(folder) / f"python{python}") for folder in os.environ.get("PATH", "").split(os.pathsep) if folder),
        *(str(path) for path in sorted(pyenv.glob(f"versions/{python}.*/bin/python"))),
        *(str(path) for path in sorted(uv.glob(f"cpython-{python}.*/bin/python{python}"))),
    ]
    # A version manager's stand-in may be on the path without the version.
    for candidate in candidates:
        command = [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        if shutil.which(candidate) and _output(command) == python:
            return candidate
    raise MissingPython(
        f"python{python} isn't on this machine, and the functions' code is compiled with it: install it "
        f"(`uv python install {python}`, `pyenv install {python}`, or your system's package), or set `python` in the "
        "stage to a version that is here."
    )


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _prune(folder: Path) -> None:
    for pattern in _UNUSED:
        for path in list(folder.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for service in (folder / "botocore" / "data").iterdir():
        if service.is_dir() and service.name not in _SERVICES:
            shutil.rmtree(service)
