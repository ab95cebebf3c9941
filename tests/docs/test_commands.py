"""Every command on a page runs in CI, or is marked with the reason why not; then it is at least one that there is."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner

from steeltrap.cli.app import app

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("examples/*.md")))
BLOCK: Final = re.compile(
    r"^(?P<mark>[^\n]*)\n *```(?:sh|bash|console)\n(?P<lines>.*?)^ *```", re.DOTALL | re.MULTILINE
)
MADE: Final = re.compile(r"<!-- install: .*?<!-- end -->", re.DOTALL)
"""How one gets steeltrap: tests/docs/test_installs.py and `make dist` check it."""
OURS: Final = re.compile(
    r"(?:^(?:\$ )?(?:\w+=\S+ )*|(?:^.* (?:exec \S+|exec \S+ --|--) ))(?:\S*/)?steeltrap (?P<arguments>.+)", re.MULTILINE
)
TARGETS: Final = {*re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)}


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """The line before each block of commands, and the commands, one a line."""
    for block in BLOCK.finditer(MADE.sub("", page.read_text())):
        yield block["mark"].strip(), block["lines"].replace("\\\n", " ")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_command_that_is_not_run_says_why(page: Path) -> None:
    for mark, lines in blocks(page):
        assert re.fullmatch(r"<!-- (transcript( afresh)?|not run: .+) -->", mark), lines


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_command_that_is_shown_is_one_that_there_is(page: Path) -> None:
    for lines in (lines for mark, lines in blocks(page) if "not run" in mark):
        for line in OURS.finditer(lines):
            typed = re.split(r" [|>&] ?", line["arguments"])[0]
            tried = CliRunner().invoke(app, [*shlex.split(typed, comments=True), "--help"])
            assert tried.exit_code == 0, typed
        assert {*re.findall(r"\bmake ([a-z0-9-]+)", lines)} <= TARGETS
