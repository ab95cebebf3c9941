"""The files in `deploy/` that run containers on other clouds: they say what the program understands, and two replicas
with the environment of Kubernetes' tell one story over every kind of place that instances can share."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from contracts import log_places
from faults.real_server import RealServer, serving
from steeltrap.model import Caller, UserRef
from steeltrap.runtime import local
from steeltrap.servers.auth.api_keys import ApiKeys
from steeltrap.settings import FIELDS, read_settings
from surfaces.machines import EMBEDDER, over_http, tell_in_turn

DEPLOY: Final = Path(__file__).parents[2] / "deploy"
SERVER_MB: Final = 135
"""Memory of a worker beside its caches, as docs/other-clouds.md says."""


def _kubernetes(kind: str) -> dict[str, Any]:
    documents = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
    [document] = [each for each in documents if each["kind"] == kind]
    return document


def _yaml(name: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((DEPLOY / name).read_text())
    return document


POD: Final = _kubernetes("Deployment")["spec"]["template"]["spec"]
SWEEP: Final = _kubernetes("CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
FLY: Final = tomllib.loads((DEPLOY / "fly.toml").read_text())
CONTAINERS: Final[dict[str, dict[str, Any]]] = {
    "kubernetes": POD["containers"][0],
    "kubernetes sweep": SWEEP["containers"][0],
    "cloud run": _yaml("cloud-run.yaml")["spec"]["template"]["spec"]["containers"][0],
    "container app": _yaml("container-app.yaml")["properties"]["template"]["containers"][0],
}
ENVIRONMENTS: Final[dict[str, Mapping[str, str]]] = {
    **{name: {each["name"]: each["value"] for each in container["env"]} for name, container in CONTAINERS.items()},
    "fly": FLY["env"],
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_setting_is_one_that_the_program_takes(name: str) -> None:
    environment = ENVIRONMENTS[name]
    named = {key.removeprefix("STEELTRAP_").lower() for key in environment if key.startswith("STEELTRAP_")}
    assert named
    assert named <= FIELDS.keys()
    assert read_settings(dict(environment)).auth == environment.get("STEELTRAP_AUTH", "local")


@pytest.mark.parametrize("name", ["kubernetes", "cloud run", "container app"])
def test_memory_suffices_for_the_caches(name: str) -> None:
    resources = CONTAINERS[name]["resources"]
    limit = _mib(resources.get("limits", resources)["memory"])
    settings = read_settings(dict(ENVIRONMENTS[name]))
    in_memory = settings.cache_disk_mb if name == "cloud run" else 0
    assert limit >= 1.5 * (SERVER_MB + settings.cache_mb) + in_memory


@pytest.mark.parametrize(("name", "pod"), [("kubernetes", POD), ("kubernetes sweep", SWEEP)])
def test_the_disk_of_a_pod_holds_the_copies(name: str, pod: dict[str, Any]) -> None:
    [data] = [volume for volume in pod["volumes"] if volume["name"] == "data"]
    assert _mib(data["emptyDir"]["sizeLimit"]) >= 1.5 * read_settings(dict(ENVIRONMENTS[name])).cache_disk_mb


def _mib(size: str) -> int:
    number, unit = re.fullmatch(r"(\d+)([MG])i", size).groups()  # type: ignore[union-attr]
    return int(number) * {"M": 1, "G": 1024}[unit]


# Two replicas


@pytest.fixture(scope="module", params=["s3", "azure", "gcs", "postgres"])
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a place that instances can share."""
    with pytest.MonkeyPatch.context() as patch, log_places.empty_url(request.param, patch) as url:
        yield url


@pytest.fixture(scope="module")
def replicas(place: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RealServer]]:
    """As many processes as Kubernetes starts, with its environment but for the place, and no folder in common."""
    folder = tmp_path_factory.mktemp("replicas")
    environment = {
        key.removeprefix("STEELTRAP_").lower(): value
        for key, value in ENVIRONMENTS["kubernetes"].items()
        if key.startswith("STEELTRAP_")
    }
    settings: dict[str, Any] = environment | {"store": place}
    start = partial(serving, before=EMBEDDER, callers=("--host", "127.0.0.1"), **settings)
    count = _kubernetes("Deployment")["spec"]["replicas"]
    with ExitStack() as stack:
        yield [stack.enter_context(start(folder / str(n))) for n in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("toolset", ["core", "agent"])
def test_replicas_tell_one_story_in_turn(replicas: list[RealServer], place: str, toolset: str, tmp_path: Path) -> None:
    keys = ApiKeys(local.open_keys_folder(read_settings({}, data=tmp_path, store=place)))
    _, key = keys.add(Caller(UserRef(toolset), "default"), "a laptop", datetime.now(UTC))
    tell_in_turn([over_http(replica, key) for replica in replicas], toolset)


@pytest.mark.slow
def test_probes_are_answered_without_a_key(replicas: list[RealServer]) -> None:
    container = CONTAINERS["kubernetes"]
    probes = [container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")]
    for replica in replicas:
        for path in {*probes, *(check["path"] for check in FLY["http_service"]["checks"])}:
            assert replica.request("GET", path)[0] == 200
        assert replica.request("POST", "/v1/core/list", "{}", {"Content-Type": "application/json"})[0] == 401
