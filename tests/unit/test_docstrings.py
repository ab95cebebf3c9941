"""Docstrings begin with their subject: a reader learns in the first words what a thing is or does."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in ("shared", "infra", "functions", "localstack", "bench", "tests")
    for path in (ROOT / folder).rglob("*.py")
    if not {".venv", "node_modules", "cdk.out"} & set(path.parts[len(ROOT.parts) :])
)


def texts(tree: ast.Module) -> Iterator[str]:
    """Docstrings, and the strings that stand after what they describe."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_docstring_hides_its_subject_behind_what_of_or_who(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not [text for text in texts(tree) if text.startswith(("What ", "Of ", "Who "))]
