"""The contents of both stores: a small text made here, or real conversations by `--locomo FILE`."""

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--locomo", type=Path, help="LoCoMo's conversations: 1,000 turns of them and 200 questions, by a real embedder."
    )
