"""Users who outgrow a bucket are moved into DynamoDB with OpenSearch, and back, while they go on calling."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from uuid import uuid4

import pytest
from infra.stage import Stage
from issuer import AUDIENCE, Issuer

from e2e.deployment import Aws, Deployment, deployed_stage, eventually
from steeltrap.model import UserRef
from steeltrap.runtime import moving
from steeltrap.stores.dynamodb import moving as tables_moving
from steeltrap.toolsets import CATALOGUE

USERS: Final = {"gull": 2, "ibis": 1}
"""The callers of each user."""
ROUNDS: Final = 3
"""Rounds of each caller at each place."""
TOOLS: Final = ("core.save", "core.search", "core.update", "core.forget", "core.list")


@pytest.fixture(scope="module")
def bucket(aws: Aws, issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    stage = Stage(
        name="small",
        store="bucket",
        auth="jwt",
        issuer=issuer.url,
        audience=(AUDIENCE,),
        retain=False,
        log_days=1,
        settings={"calls_per_minute": 0},
    )
    with deployed_stage(aws, stage, tmp_path_factory.mktemp("small")) as deployment:
        yield deployment


@pytest.fixture
def operator(aws: Aws, bucket: Deployment, stack: Deployment, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """The places of both stages, and the settings of a shell that moves between them."""
    settings = stack.settings() | {
        "STEELTRAP_DYNAMODB_URL": aws.url,
        "STEELTRAP_OPENSEARCH_URL": stack.opensearch,
        "AWS_ENDPOINT_URL": aws.url,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    # The tools that are called here end sooner than those for which an operator waits.
    longest = max(tool.timeout for tool in CATALOGUE.tools() if tool.full_name in TOOLS)
    monkeypatch.setattr(tables_moving, "PAUSE_SECONDS", longest + 1.0)
    return bucket.settings()["STEELTRAP_STORE"], "aws"


@dataclass
class Caller:
    """Saves, finds, changes and forgets memories of a user, at the stage that has them."""

    stages: tuple[Deployment, ...]
    token: str
    name: str
    kept: dict[str, str] = field(default_factory=dict)
    """The contents that must be there, by id."""
    rounds: int = 0
    follows: int = 0
    failed: list[Any] = field(default_factory=list)
    at: int = 0

    def work(self, until: threading.Event, rounds: int) -> None:
        done = 0
        while done < rounds or not until.is_set():
            self.turn()
            done += 1

    def turn(self) -> None:
        self.rounds += 1
        key = f"{self.name}x{self.rounds}"
        content = f"{key} waits by the reeds"
        saved = self.call("core.save", content=content, key=key)
        self.kept[saved["id"]] = content
        self.find(saved["id"])
        if self.rounds % 3 == 1:
            self.call("core.update", id=saved["id"], content=f"{key} flies over the sea")
            self.kept[saved["id"]] = f"{key} flies over the sea"
            self.find(saved["id"])
        if self.rounds % 4 == 2:
            self.call("core.forget", id=saved["id"])
            del self.kept[saved["id"]]

    def find(self, id: str) -> None:
        """Find a memory by its first word."""
        word = self.kept[id].split(" ")[0]
        results = self.call("core.search", query=word, mode="keyword")["results"]
        hits = [hit["content"] for hit in results if hit["content"].startswith(f"{word} ")]
        if hits != [self.kept[id]]:
            self.failed.append(("found", word, self.at, hits))

    def call(self, tool: str, *, key: str | None = None, **arguments: Any) -> Any:
        """The answer of the stage that has the memories: a refusal names the other one, until they are there."""
        path, body = f"/v1/{tool.replace('.', '/')}", json.dumps(arguments)
        headers = {} if key is None else {"Idempotency-Key": key}

        def ask() -> Any:
            try:
                status, _, answer = self.stages[self.at].post(path, body, self.token, **headers)
            except TimeoutError:  # a busy machine's emulator; whoever sees no answer asks again
                return None
            if status == 200 or (tool == "core.forget" and status == 404):
                return answer
            assert "These memories were moved to" in str(answer), (tool, self.at, status, answer)
            self.at = 1 - self.at
            self.follows += 1
            return None

        return eventually(ask, seconds=180)


@contextmanager
def calling(callers: list[Caller], rounds: int) -> Iterator[None]:
    """Callers at work, until the body has ended and each had its rounds."""
    over = threading.Event()
    with ThreadPoolExecutor(len(callers)) as threads:
        working = [threads.submit(caller.work, over, rounds) for caller in callers]
        try:
            yield
        finally:
            over.set()
    for each in working:
        each.result()


def test_users_are_moved_to_dynamodb_and_opensearch_and_back_under_writes(
    bucket: Deployment, stack: Deployment, issuer: Issuer, operator: tuple[str, str]
) -> None:
    run = uuid4().hex[:6]
    callers = {
        UserRef(f"{name}-{run}"): [
            Caller((bucket, stack), issuer.token(f"{name}-{run}", seconds=3600), f"{name}{n}") for n in range(count)
        ]
        for name, count in USERS.items()
    }
    everyone = [caller for each in callers.values() for caller in each]
    for caller in everyone:
        caller.turn()
    for source, target in (operator, operator[::-1]):
        with calling(everyone, ROUNDS):
            for user in callers:
                moves = moving.move(source, target, only=user, advance=lambda *_: None)
                assert (moves.users, moves.failures) == (1, [])
                callers[user][0].find(next(iter(callers[user][0].kept)))
        for of_user in callers.values():
            kept = [content for caller in of_user for content in caller.kept.values()]
            listed = of_user[0].call("core.list", limit=500)["memories"]
            assert sorted(memory["content"] for memory in listed) == sorted(kept)
        assert [caller.failed for caller in everyone] == [[] for _ in everyone]
        assert {caller.at for caller in everyone} == {int(target == "aws")}
        if target == "aws":
            for user, [caller, *_] in callers.items():
                for id in caller.kept:
                    indexed = eventually(partial(stack.indexed, user.user_id, id), seconds=90)
                    assert indexed[1], "without words"
