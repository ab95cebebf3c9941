"""Two servers that require keys and a function, each with a folder of its own, over one log of memories and keys."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from contracts import log_places
from embedding import HashedWords
from faults.real_server import serving
from function_telemetry import telemetry_of
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.runtime import local
from steeltrap.servers.auth.api_keys import ApiKeys
from steeltrap.servers.aws_lambda import tools
from steeltrap.servers.aws_lambda.telemetry import Telemetry
from steeltrap.servers.aws_lambda.tools import opened_door, tool_handler
from steeltrap.settings import read_settings
from steeltrap.toolsets import CATALOGUE
from surfaces.callers import Call, Reply
from surfaces.machines import EMBEDDER, over_http, tell_in_turn
from surfaces.scenarios import SCENARIOS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def telemetry() -> Iterator[Telemetry]:
    """The telemetry of the functions. Two at once would share a logger."""
    with telemetry_of("function") as made:
        yield made


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory, telemetry: Telemetry) -> Iterator[list[Call]]:
    """How each machine over a folder is called; what one saves the next one has to know."""
    folder = tmp_path_factory.mktemp("machines")
    with running(folder, f"file://{folder}/log", telemetry) as machines:
        yield machines


@pytest.fixture(scope="module")
def machines_over_s3(tmp_path_factory: pytest.TempPathFactory, telemetry: Telemetry) -> Iterator[list[Call]]:
    """How each machine over a bucket is called."""
    with (
        pytest.MonkeyPatch.context() as patch,
        running(tmp_path_factory.mktemp("machines"), log_places.s3(patch), telemetry) as machines,
    ):
        yield machines


@contextmanager
def running(folder: Path, store: str, telemetry: Telemetry) -> Iterator[list[Call]]:
    """Two servers and a function over a store, whose keys are there, too."""
    with opened_function(folder / "function", store, telemetry) as door:
        keys = ApiKeys(local.open_keys_folder(read_settings({}, data=folder / "keys", store=store)))
        _, secret = keys.add(Caller(UserRef("ana"), "default"), "both servers", datetime.now(UTC))
        start = partial(serving, before=EMBEDDER, callers=("--auth", "keys"), store=store)
        with start(folder / "one") as one, start(folder / "two") as two:
            yield [over_http(one, secret), _as_function(door), over_http(two, secret)]


@contextmanager
def opened_function(folder: Path, store: str, telemetry: Telemetry) -> Iterator[Door]:
    """The door of a function whose environment names the store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "open_embedder", lambda settings: HashedWords())
        patch.setattr(tools, "function_telemetry", lambda: telemetry)
        patch.setenv("STEELTRAP_DATA", str(folder))
        patch.setenv("STEELTRAP_STORE", store)
        door = opened_door.__wrapped__()
    yield door
    door.store.close()


@pytest.mark.parametrize("toolset", SCENARIOS)
def test_machines_over_one_log_tell_one_story_in_turn(machines: list[Call], toolset: str) -> None:
    tell_in_turn(machines, toolset)


@pytest.mark.parametrize("toolset", ["core", "agent"])
def test_machines_over_one_bucket_tell_one_story_in_turn(machines_over_s3: list[Call], toolset: str) -> None:
    tell_in_turn(machines_over_s3, toolset)


def _as_function(door: Door) -> Call:
    fields = {"user_id": "ana", "agent_id": "default", "conversation_id": "chat-1"}

    def call(tool: str, arguments: dict[str, Any]) -> Reply:
        toolset, _, name = tool.partition(".")
        handler = tool_handler(CATALOGUE.tool(tool).operation, open=lambda: door)
        got = handler({"toolset": toolset, "tool": name, "arguments": arguments, "caller": fields}, None)
        return Reply(got["body"], is_error="error" in got)

    return call
