"""A new filterable field is one line per model and one line of FILTERABLE, and is found by on every store and surface.

A dataclass can't get a field while it is in use. So these tests copy the package, add the lines that CONTRIBUTING
names, and run `throwaway_field.py` over the copy.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clock import SettableClock
from components import check_wanted, opensearch_url
from contracts.entries import EMBEDDER, save
from spaces import space_of
from steeltrap.engine import reading
from steeltrap.errors import Unavailable
from steeltrap.stores.sqlite import SqliteStore

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
_FIELD = "    agent_label: str | None = None\n"
_INPUT = "    agent_label: Label | None = Field("
_OFFERED = '    mood: str | None = Field(None, max_length=256, description="Its mood.")\n'
LINES = (
    ("model/memory.py", _FIELD, _FIELD.replace("agent_label", "mood")),
    ("model/memory.py", '        "agent_label": "text",\n', '        "mood": "text",\n'),
    (
        "toolsets/core/inputs.py",
        _INPUT,
        '    mood: str | None = Field(None, max_length=256, description="Its mood.")\n',
    ),
    (
        "toolsets/core/filtering.py",
        _INPUT,
        '    mood: str | None = Field(None, max_length=256, description="Its mood.")\n',
    ),
)
"""Each line goes in front of those that begin so in a file: a field of every model that has `agent_label`."""

Run = Callable[[str], None]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout in which memories have a mood."""
    folder = tmp_path_factory.mktemp("checkout")
    ignored = shutil.ignore_patterns("__pycache__", "node_modules")
    for name in ("shared", "tests", "infra", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name, place, line in LINES:
        path = folder / "shared" / "steeltrap" / name
        text = path.read_text("utf-8")
        assert place in text, f"{name} has no line that begins {place!r} any more"
        path.write_text(text.replace(place, line + place), "utf-8")
    return folder


@pytest.fixture
def run(copy: Path, tmp_path: Path) -> Run:
    def run(selected: str) -> None:
        file, _, name = selected.partition("::")
        environment = {**os.environ, "PYTHONPATH": str(copy / "shared"), "STEELTRAP_REQUIRE_ALL": "1"}
        arguments = ["-m", "pytest", file, "-k", name, "-p", "no:xdist", "-rA", "--basetemp", str(tmp_path / "copy")]
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=copy,
            env={**environment, "THROWAWAY_FOLDER": str(tmp_path / "older")},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert " passed" in done.stdout

    return run


def test_a_new_field_is_found_by_on_sqlite_and_has_the_limit_of_a_label(run: Run) -> None:
    run("tests/contracts/throwaway_field.py::stores and sqlite or limit")


def test_a_new_field_is_found_by_among_the_latest_writes_and_lists_of_dynamodb(run: Run) -> None:
    check_wanted("dynamodb")
    run("tests/contracts/throwaway_field.py::stores and dynamodb-latest")


def test_a_new_field_is_found_by_in_opensearch(run: Run) -> None:
    check_wanted("dynamodb")
    opensearch_url()
    run("tests/contracts/throwaway_field.py::stores and dynamodb-indexed")


def test_an_older_file_gets_a_column_for_a_new_field_and_is_then_a_newer_one(
    run: Run, tmp_path: Path, clock: SettableClock
) -> None:
    folder = tmp_path / "older"
    older = SqliteStore(folder, EMBEDDER, clock)
    save(space_of(older, "ana"), "the heron fishes", agent_label="older")
    older.close()
    run("tests/contracts/throwaway_field.py::older_file")
    again = SqliteStore(folder, EMBEDDER, clock)
    with pytest.raises(Unavailable, match=r"written by a newer steeltrap \(the file has a column mood"):
        reading.open_turns(space_of(again, "ana"), "talk")
    again.close()


def test_a_new_field_changes_no_table_that_is_deployed(run: Run) -> None:
    run("tests/infra/test_tables.py::never_replaces_a_table")


def test_a_new_field_is_saved_changed_and_found_by_on_every_surface(run: Run) -> None:
    run("tests/contracts/throwaway_field.py::surfaces")
