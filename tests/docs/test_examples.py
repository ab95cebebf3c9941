"""Every example prints what its first lines say."""

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs import generate

EXAMPLES = generate.ROOT / "examples"
PROGRAMS = sorted(path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".sh"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, str], str]]:
    with generate.served(tmp_path_factory.mktemp("memories")) as (environment, port):
        yield environment, f"http://127.0.0.1:{port}"


def told(program: Path) -> str:
    """The output that a program's first lines promise."""
    text = re.sub(r"^# ?", "", program.read_text(), flags=re.MULTILINE)
    [block] = re.findall(r"^It prints:\n\n((?:    .*\n)+)", text, re.MULTILINE)
    return textwrap.dedent(block)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_prints_what_it_says(server: tuple[dict[str, str], str], name: str, tmp_path: Path) -> None:
    environment, url = server
    program = EXAMPLES / name
    command = ["bash"] if program.suffix == ".sh" else [sys.executable]
    needs_server = "Start the server first" in program.read_text()
    done = subprocess.run(
        [*command, program, *([url] if needs_server else [])],
        cwd=tmp_path,
        env={**environment, "HOME": str(tmp_path), "PYTHONWARNINGS": os.environ.get("PYTHONWARNINGS", "error")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == told(program)
    assert list(tmp_path.iterdir()) == []


def test_every_example_is_in_the_list() -> None:
    assert sorted(re.findall(r"^\| \[(\S+)\]\(\1\)", (EXAMPLES / "README.md").read_text(), re.MULTILINE)) == PROGRAMS
