"""Docstrings begin with their subject: a reader learns in the first words what a thing is or does."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import steeltrap

ROOT = Path(steeltrap.__file__).parent


def texts(tree: ast.Module) -> Iterator[str]:
    """Docstrings, and the strings that stand after what they describe."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_docstring_hides_its_subject_behind_what_or_of(path: Path) -> None:
    assert not [text for text in texts(ast.parse(path.read_text())) if text.startswith(("What ", "Of "))]
