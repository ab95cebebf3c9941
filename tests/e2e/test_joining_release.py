"""A second release with other tables is deployed over the first one, while users of the account go on calling."""

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import infra.stack
import pytest
from infra.stage import Stage, read_stage

from components import aws_iam_url
from e2e.deployment import Aws, Deployment, access_key, deployed, packed_code, redeploy, synthesise
from steeltrap.stores.sqlite.schema import MIGRATIONS

CALLERS: Final = ("ana", "bob")
MIGRATION: Final = "ALTER TABLE usage ADD COLUMN kind INTEGER NOT NULL DEFAULT 7;"
MIGRATES: Final = b"m"
"""The byte of an entry's header that says so."""
MOST_CUT_OFF: Final = 5
LATER: Final = 5
"""Rounds of each caller when the second release is there."""


@pytest.fixture(scope="module")
def aws() -> Aws:
    return Aws(aws_iam_url())


@pytest.fixture(scope="module")
def stage() -> Stage:
    return read_stage("dev").model_copy(update={"name": "joined"})


@pytest.fixture(scope="module")
def releases(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The syntheses of this release and of the next one, which is this one with a migration more."""
    folder = tmp_path_factory.mktemp("joining")
    packed = packed_code(stage)
    # The CDK reads a folder once, whatever is in it later.
    before, after = (shutil.copytree(packed, folder / f"code of {name}") for name in ("before", "after"))
    synthesise(stage, folder / "first", before)
    schema = after / "steeltrap" / "stores" / "sqlite" / "schema.py"
    for compiled in schema.parent.glob("__pycache__/schema.*"):
        compiled.unlink()
    schema.write_text(f"{schema.read_text()}\nMIGRATIONS = (*MIGRATIONS, {MIGRATION!r})\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(infra.stack, "MIGRATIONS", (*MIGRATIONS, MIGRATION))
        patch.setattr(infra.stack, "longest_call", lambda plans: 3)  # calls of these tests don't take thirty seconds
        synthesise(stage, folder / "second", after)
    return folder / "first", folder / "second"


@pytest.fixture(scope="module")
def stack(aws: Aws, stage: Stage, releases: tuple[Path, Path]) -> Iterator[Deployment]:
    with deployed(aws, releases[0], stage.stack_name) as outputs:
        yield Deployment(aws, outputs, "", "")


@dataclass
class Caller:
    """Saves and searches, one after the other, until it is told to stop."""

    stack: Deployment
    key: Any
    joined: threading.Event
    rounds: int = 0
    cut_off: int = 0
    failed: list[Any] = field(default_factory=list)

    def go_on(self) -> None:
        left = LATER
        while left:
            left -= self.joined.is_set()
            self.save_and_search()

    def save_and_search(self) -> None:
        """Save a memory and find it."""
        content = f"heron{self.rounds} waits by the reeds"
        saved = self._call("core.save", content=content)
        found = self._call("core.search", query=f"heron{self.rounds}", mode="keyword")
        if saved and found and saved["id"] not in [hit["id"] for hit in found["results"]]:
            self.failed.append(("not found", content, found))
        self.rounds += 1

    def _call(self, tool: str, **arguments: Any) -> Any:
        status, body = self.stack.call_signed(tool, self.key, **arguments)
        while _is_cut_off(status, body) and self.cut_off < MOST_CUT_OFF:
            self.cut_off += 1
            status, body = self.stack.call_signed(tool, self.key, **arguments)
        if status == 200:
            return body
        self.failed.append((tool, status, body))
        return None


def _is_cut_off(status: int, body: Any) -> bool:
    """Whether the emulator ended a function that was starting or answering, or took its folder away, to give it new
    code. Lambda lets it end."""
    if status != 502 or not isinstance(body, dict):
        return False
    kind, message = str(body.get("errorType")), str(body.get("errorMessage"))
    has_no_code = kind == "FileNotFoundError" and "ministack-lambda-" in message
    return kind == "RuntimeError" or message == "Worker process died" or has_no_code


def test_calls_go_on_without_an_error_while_a_second_release_joins_and_migrates(
    aws: Aws, stage: Stage, stack: Deployment, releases: tuple[Path, Path]
) -> None:
    joined = threading.Event()
    with ExitStack() as opened, ThreadPoolExecutor(len(CALLERS)) as threads:
        callers = [Caller(stack, opened.enter_context(access_key(aws, stack, name)), joined) for name in CALLERS]
        for caller in callers:
            caller.save_and_search()
        calling: list[Future[None]] = [threads.submit(caller.go_on) for caller in callers]
        try:
            assert _migrations(aws, stack) == 0
            redeploy(aws, stage, releases[1])
        finally:
            joined.set()
        for each in calling:
            each.result()
    assert [caller.failed for caller in callers] == [[], []]
    assert all(caller.rounds > LATER for caller in callers)
    assert _migrations(aws, stack) == len(CALLERS), "each user's log says where"


def _migrations(aws: Aws, stack: Deployment) -> int:
    """The entries of all users that say that tables are migrated."""
    table = aws.client("dynamodb").get_paginator("scan").paginate(TableName=stack.outputs["EntryTable"])
    entries = [item["e"]["B"] for page in table for item in page["Items"] if "e" in item]
    return sum(entry[3:4] == MIGRATES for entry in entries)
