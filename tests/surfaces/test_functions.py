"""The functions folder: one Lambda an operation, nothing written in it that the catalogue knows."""

import importlib.util
import pkgutil
import subprocess
import sys

import pytest

from steeltrap.toolsets import CATALOGUE, core
from surfaces.callers import ROOT

OPERATIONS = sorted({tool.operation for tool in CATALOGUE.tools()})
OF_THEIR_OWN = {"http", "mcp", "agent", "indexer", "interceptor", "maintenance", "metadata", "reindex"}
FUNCTIONS = ROOT / "functions"


def test_every_operation_has_a_function_and_every_function_an_operation() -> None:
    folders = {handler.parent.name for handler in FUNCTIONS.glob("*/handler.py")}
    assert folders - OF_THEIR_OWN == set(OPERATIONS)
    assert folders >= {"http", "mcp", "indexer", "maintenance"}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_function_says_only_which_operation_it_serves(operation: str) -> None:
    lines = (FUNCTIONS / operation / "handler.py").read_text().split("\n")
    assert [line for line in lines if line] == [
        "from steeltrap.servers.aws_lambda.tools import tool_handler",
        f'handler = tool_handler("{operation}")',
    ]


@pytest.mark.parametrize("name", ["http", "mcp", "agent", "save", "indexer", "maintenance"])
def test_a_function_loads_without_a_store(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELTRAP_DATA", "/dev/null/nowhere")
    spec = importlib.util.spec_from_file_location(f"function_{name}", FUNCTIONS / name / "handler.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert callable(module.handler)


@pytest.mark.parametrize(
    ("environment", "is_patient"), [({"AWS_LAMBDA_RUNTIME_API": "127.0.0.1:9001"}, True), ({}, False)]
)
def test_only_in_a_function_garbage_is_looked_for_seldom(environment: dict[str, str], is_patient: bool) -> None:
    asked = "import gc; a = gc.get_threshold(); import steeltrap.servers.aws_lambda; print(gc.get_threshold() != a)"
    told = subprocess.run(
        [sys.executable, "-c", asked], env=environment, cwd=ROOT / "shared", capture_output=True, text=True, check=True
    )
    assert told.stdout == f"{is_patient}\n"


def test_core_offers_every_tool_that_its_modules_register() -> None:
    for module in pkgutil.iter_modules(core.__path__, f"{core.__name__}."):
        importlib.import_module(module.name)
    assert set(core.CORE.tools) == set(core.CORE.registered)
    assert {name: tool.run.__module__ for name, tool in core.CORE.tools.items()} == core.CORE.modules
