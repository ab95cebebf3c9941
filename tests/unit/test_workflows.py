"""GitHub's workflows do what the Makefile does, on the Pythons that we support, with no more rights than they need."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from steeltrap.version import VERSION

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(GITHUB.glob("workflows/*.yml"))}
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z][a-z0-9-]*):.*## ", MAKEFILE, re.MULTILINE))
# Compiled where it has no wheel: a failure is shown and stops nothing.
TRIED = {"3.14"}


def _steps(workflow: str) -> list[tuple[str, dict[str, Any]]]:
    return [(name, step) for name, job in WORKFLOWS[workflow]["jobs"].items() for step in job.get("steps", ())]


def _made(text: str) -> list[str]:
    """The targets that a script makes."""
    commands = re.findall(r"^\s*make ([^|&;\n]*)", text, re.MULTILINE)
    return [word for command in commands for word in command.split() if re.fullmatch(r"[a-z][a-z0-9-]*", word)]


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_a_workflow_makes_targets_that_there_are(workflow: str) -> None:
    made = [target for _, step in _steps(workflow) for target in _made(step.get("run", ""))]
    assert made
    assert set(made) <= TARGETS


def test_the_workflow_runs_what_a_submission_must_pass() -> None:
    by_github = [target for _, step in _steps("test") for target in _made(step.get("run", ""))]
    assert set(_made((ROOT / ".ci" / "run").read_text())) <= set(by_github)


def test_every_python_that_we_support_is_tested_and_no_other_may_fail_it() -> None:
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    supported = {each.rpartition(" ")[2] for each in classifiers if re.search(r":: \d+\.\d+$", each)}
    job = WORKFLOWS["test"]["jobs"]["python"]
    assert set(job["strategy"]["matrix"]["python"]) == supported | TRIED
    assert job["continue-on-error"] == "${{ " + " || ".join(f"matrix.python == '{each}'" for each in TRIED) + " }}"
    assert any("PYTHON=python" in step.get("run", "") for step in job["steps"])


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_actions_are_pinned_by_commit_and_say_their_version(workflow: str) -> None:
    used = re.findall(r"uses: (.+)$", (GITHUB / "workflows" / f"{workflow}.yml").read_text(), re.MULTILINE)
    assert used
    for each in used:
        assert each.startswith("./") or re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each), each


def test_only_the_jobs_that_publish_may_write_and_each_only_where_it_publishes() -> None:
    rights: dict[tuple[str, str, str], str] = {}
    for workflow, text in WORKFLOWS.items():
        for name, given in {"": text, **text["jobs"]}.items():
            rights |= {(workflow, name, right): kind for right, kind in given.get("permissions", {}).items()}
    written = {where for where, kind in rights.items() if kind != "read"}
    assert written == {("release", "pypi", "id-token"), ("release", "container", "packages")}
    assert all("permissions" in text for text in WORKFLOWS.values())
    assert "secrets." not in (GITHUB / "workflows" / "test.yml").read_text()
    assert set(re.findall(r"secrets\.\w+", (GITHUB / "workflows" / "release.yml").read_text())) == {
        "secrets.GITHUB_TOKEN"
    }


def test_nothing_is_published_before_everything_is_tested() -> None:
    for name in ("pypi", "container"):
        assert WORKFLOWS["release"]["jobs"][name]["needs"] == ["test", "build"]
    for workflow in WORKFLOWS:
        for name, step in _steps(workflow):
            if "checkout" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False, name


def test_the_version_stands_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"]
    assert "version" in project["project"]["dynamic"]
    told = subprocess.run(
        [sys.executable, "-m", "hatchling", "version"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == VERSION == version("steeltrap")


def test_hooks_before_a_commit_run_the_tools_of_the_lock_file() -> None:
    [repository] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].startswith(".venv/bin/") or set(_made(hook["entry"])) <= TARGETS
    commands = [hook["entry"].split(" --")[0] for hook in repository["hooks"]]
    for command in (".venv/bin/ruff check", ".venv/bin/ruff format", ".venv/bin/lint-imports"):
        assert command in commands
        assert command.replace(".venv", "$(VENV)").replace("$(VENV)/bin", "$(BIN)") in MAKEFILE


@pytest.mark.parametrize("form", ["bug", "feature"])
def test_a_form_asks_and_names_what_exists(form: str) -> None:
    asked = yaml.safe_load((GITHUB / "ISSUE_TEMPLATE" / f"{form}.yml").read_text())
    required = [field["id"] for field in asked["body"] if field.get("validations", {}).get("required")]
    assert required
    for target in re.findall(r"`make ([a-z-]+)`", (GITHUB / "PULL_REQUEST_TEMPLATE.md").read_text()):
        assert target in TARGETS
