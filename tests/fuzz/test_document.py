"""A server answers as its OpenAPI document says, whatever requests schemathesis makes of the document."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faults.real_server import serving
from steeltrap.servers.schemas import openapi
from steeltrap.toolsets import CATALOGUE

HERE = Path(__file__).parent
SCHEMATHESIS = HERE.parents[1] / ".build" / "schemathesis" / "bin" / "schemathesis"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of `steeltrap serve` over an empty folder."""
    with serving(tmp_path_factory.mktemp("data")) as running:
        yield f"http://127.0.0.1:{running.port}"


def compared(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [str(SCHEMATHESIS), "--no-color", "--config-file", "schemathesis.toml", "run", *arguments]
    return subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False, timeout=600)


def test_the_server_answers_every_request_as_the_document_says(server: str) -> None:
    run = compared(f"{server}/openapi.json", "--header", "X-User:ana")
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"Tested: {sum(map(len, openapi(CATALOGUE)['paths'].values()))}\n" in run.stdout
    print(*re.findall(r".*(?:generated|Filtered:).*", run.stdout), sep="\n")


def _without_text(operation: Any) -> None:
    del operation["responses"]["default"]["content"]["text/plain"]


def _without_outcomes_of_a_search(operation: Any) -> None:
    operation["responses"]["200"]["headers"]["X-Steeltrap-Outcome"]["schema"]["enum"] = ["degraded", "redacted"]


def _with_another_answer(operation: Any) -> None:
    operation["responses"]["200"]["content"]["application/json"]["schema"] = {"type": "array"}


def _with_nothing_required(operation: Any) -> None:
    del operation["requestBody"]["content"]["application/json"]["schema"]["required"]


def _with_a_smaller_limit(operation: Any) -> None:
    operation["requestBody"]["content"]["application/json"]["schema"]["properties"]["limit"]["maximum"] = 3


@pytest.mark.parametrize(
    ("name", "damage", "difference"),
    [
        ("agent.recall", _without_text, "Undocumented Content-Type"),
        ("core.retrieve_memory", _without_outcomes_of_a_search, "Response header does not conform to the schema"),
        ("core.stats", _with_another_answer, "Response violates schema"),
        ("core.search", _with_nothing_required, "Schema-valid request rejected"),
        ("core.search", _with_a_smaller_limit, "Schema-violating request accepted"),
    ],
)
def test_a_document_that_says_otherwise_is_noticed(
    server: str, tmp_path: Path, name: str, damage: Any, difference: str
) -> None:
    document = openapi(CATALOGUE)
    path = "/v1/" + name.replace(".", "/")
    document["paths"] = {path: json.loads(json.dumps(document["paths"][path]))}
    damage(document["paths"][path]["post"])
    damaged = tmp_path / "openapi.json"
    damaged.write_text(json.dumps(document))
    run = compared(str(damaged), "--url", server, "--header", "X-User:ana")
    assert run.returncode == 1, run.stdout + run.stderr
    assert difference in run.stdout
