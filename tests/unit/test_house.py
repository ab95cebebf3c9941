"""The rooms of the house that imports can't tell apart: who touches a space, and where SQL is written."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import steeltrap

ROOT = Path(steeltrap.__file__).parent
SQL = re.compile(
    r"\s*(SELECT\s.+\sFROM\s|INSERT\s(OR\s\w+\s)?INTO\s|UPDATE\s\w+\sSET\s|DELETE\sFROM\s|PRAGMA\s|VACUUM\b|"
    r"(CREATE|ALTER|DROP)\s(TABLE|INDEX)\s|BEGIN\b)",
    re.DOTALL,
)
WITH_SPACES = {"engine", "stores", "ports", "invoke.py", "maintenance.py"}
WITH_SQL = {"stores", "importers"}


def outside(rooms: set[str]) -> list[Path]:
    """The product's files that are in none of these rooms."""
    return [path for path in sorted(ROOT.rglob("*.py")) if path.relative_to(ROOT).parts[0] not in rooms]


def spaces(source: str) -> list[int]:
    """The lines that reach for a space."""
    tree = ast.parse(source)
    return [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "space"]


def statements(source: str) -> list[str]:
    """The strings that are SQL."""
    texts = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    return [text for text in texts if isinstance(text, str) and SQL.match(text)]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", outside(WITH_SPACES), ids=named)
def test_toolsets_and_surfaces_reach_memories_through_the_engine(path: Path) -> None:
    assert not spaces(path.read_text()), "ask a function of the engine instead"


@pytest.mark.parametrize("path", outside(WITH_SQL), ids=named)
def test_sql_is_written_in_stores_only(path: Path) -> None:
    assert not statements(path.read_text()), "move it to a store"


def test_both_rules_know_what_they_look_for() -> None:
    assert spaces("memories = call.space.get(ids)")
    assert spaces((ROOT / "engine" / "reading.py").read_text())
    assert statements("rows = connection.execute(f'SELECT id FROM memory WHERE {where}')")
    assert statements((ROOT / "stores" / "sqlite" / "space.py").read_text())
    assert not statements("raise InvalidInput('Select a file, update it, and begin again.')")


def test_a_function_that_searches_loads_nothing_that_only_a_write_needs() -> None:
    code = (
        "import sys, steeltrap.stores.dynamodb.store, steeltrap.toolsets.core.searching, steeltrap.engine.searching\n"
        "print(*sorted(name for name in sys.modules if name.startswith('steeltrap.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("steeltrap.") for name in done.stdout.split()}
    writing = ("changes", "engine.saving", "engine.updating", "text.remains")
    assert not [name for name in loaded if name.startswith(writing)]
    assert not loaded & {f"stores.dynamodb.{room}" for room in ("writing", "purging", "reembedding")}


def test_the_types_of_every_service_that_infra_imports_are_read() -> None:
    """Those of the CDK's other services are not: a call of one would be checked against nothing."""
    project = ROOT.parents[1]
    rules = tomllib.loads((project / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    followed = [rule["module"] for rule in rules if rule.get("follow_imports") == "normal"]
    trees = (ast.parse(path.read_text()) for path in sorted((project / "infra").glob("*.py")))
    imports = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    services = {f"aws_cdk.{name.name}" for node in imports if node.module == "aws_cdk" for name in node.names}
    services |= {str(node.module) for node in imports if str(node.module).startswith("aws_cdk.")}
    assert {name for name in services if name.startswith("aws_cdk.aws_")} <= set(*followed)
