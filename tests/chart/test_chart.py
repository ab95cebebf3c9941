"""The Helm chart: what Helm makes of it for each cloud, by Kubernetes' own schemas, and what it refuses."""

import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from steeltrap import __version__
from steeltrap.settings import FIELDS, read_settings

_ROOT: Final = Path(__file__).parents[2]
_CHART: Final = _ROOT / "deploy" / "chart"
_PLAIN: Final = _ROOT / "deploy" / "kubernetes.yaml"
_BIN: Final = _ROOT / ".build" / "chart" / "bin"
_EXAMPLES: Final = sorted(path.stem for path in (_CHART / "examples").glob("*.yaml"))
# The oldest version whose pods may sleep before they end, and the newest that the validator has.
_VERSIONS: Final = ("1.30", "1.37")


def _helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([_BIN / "helm", *arguments], capture_output=True, text=True, check=False)


def _example(name: str) -> tuple[str, str]:
    return "--values", str(_CHART / "examples" / f"{name}.yaml")


def _render(*arguments: str) -> str:
    rendering = _helm("template", "steeltrap", str(_CHART), *arguments)
    assert rendering.returncode == 0, rendering.stderr
    return "".join(line for line in rendering.stdout.splitlines(keepends=True) if not line.startswith("# Source: "))


def _kinds(text: str) -> dict[str, dict[str, Any]]:
    return {document["kind"]: document for document in yaml.safe_load_all(text)}


def _server(text: str) -> dict[str, Any]:
    [container] = _kinds(text)["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert isinstance(container, dict)
    return container


@pytest.mark.parametrize("example", _EXAMPLES)
def test_helm_finds_nothing_to_say_about_an_example(example: str) -> None:
    lint = _helm("lint", "--strict", str(_CHART), *_example(example))
    assert lint.returncode == 0, lint.stdout
    assert "[WARNING]" not in lint.stdout


@pytest.mark.parametrize("version", _VERSIONS)
@pytest.mark.parametrize("example", _EXAMPLES)
def test_kubernetes_takes_what_an_example_renders(example: str, version: str, tmp_path: Path) -> None:
    ingress = "ingress.host=memory.example.com,ingress.tlsSecret=tls,ingress.className=nginx"
    text = _render(*_example(example), "--set", ingress, "--set", "image.pullSecrets={registry},envFromSecrets={more}")
    (tmp_path / "all.yaml").write_text(text)
    command = [_BIN / "kubernetes-validate", "--strict", "--kubernetes-version", version, tmp_path / "all.yaml"]
    check = subprocess.run(command, capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stdout + check.stderr
    assert _kinds(text).keys() == {
        *("ServiceAccount", "Deployment", "PodDisruptionBudget", "Service", "Ingress", "CronJob")
    }


@pytest.mark.parametrize("example", _EXAMPLES)
def test_the_settings_of_an_example_are_those_that_the_program_takes(example: str) -> None:
    container = _server(_render(*_example(example)))
    environment = {each["name"]: each.get("value", "postgresql://host/database") for each in container["env"]}
    named = {name.removeprefix("STEELTRAP_").lower() for name in environment if name.startswith("STEELTRAP_")}
    assert named <= FIELDS.keys()
    assert len(environment) == len(container["env"])
    assert read_settings(environment).store == environment["STEELTRAP_STORE"]


def test_the_plain_manifests_are_the_chart_for_eks() -> None:
    """To make them again: helm template steeltrap deploy/chart --values deploy/chart/examples/eks.yaml."""
    comment, _, plain = _PLAIN.read_text().partition("---\n")
    assert all(line.startswith("#") for line in comment.splitlines())
    assert "---\n" + plain == _render(*_example("eks"))


def test_the_chart_is_of_this_release() -> None:
    chart = yaml.safe_load((_CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == __version__


def test_a_larger_cache_gets_more_memory_and_disk() -> None:
    text = _render(*_example("gke"), "--set", "cacheMb=1024,cacheDiskMb=4096000")
    container = _server(text)
    assert {"name": "STEELTRAP_CACHE_DISK_MB", "value": "4096000"} in container["env"]
    assert container["resources"]["limits"]["memory"] == f"{2 * (135 + 1024)}Mi"
    [data, _] = _kinds(text)["Deployment"]["spec"]["template"]["spec"]["volumes"]
    assert data["emptyDir"]["sizeLimit"] == f"{4096000 * 3 // 2}Mi"


def test_a_password_is_read_from_a_secret_and_stands_nowhere() -> None:
    text = _render(*_example("postgresql"))
    [store] = [each for each in _server(text)["env"] if each["name"] == "STEELTRAP_STORE"]
    assert store["valueFrom"] == {"secretKeyRef": {"name": "steeltrap-store", "key": "url"}}
    assert "postgresql://" not in text


def test_two_releases_share_a_namespace() -> None:
    one, other = (_kinds(_helm("template", name, str(_CHART), *_example("eks")).stdout) for name in ("one", "two"))
    assert {each["metadata"]["name"] for each in one.values()}.isdisjoint(
        each["metadata"]["name"] for each in other.values()
    )
    service, pod = one["Service"]["spec"]["selector"], other["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert not service.items() <= pod.items()
    assert service.items() <= one["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
    assert (
        not service.items() <= one["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["labels"].items()
    )


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ("replicas=2", "store is missing: the URL of a bucket or of PostgreSQL, or storeSecret"),
        ("store=/data", "store: Does not match pattern"),
        ("store=sqlite", "store: Does not match pattern"),
        ("store=gs://bucket,replica=3", "Additional property replica is not allowed"),
        ("store=gs://bucket,auth=local", "auth must be one of the following"),
        ("store=postgresql://ana:secret@host/database", "store: Does not match pattern"),
        ("store=gs://bucket,env.STEELTRAP_STORE=/data", "STEELTRAP_STORE"),
        ("store=gs://bucket,podLabels.app\\.kubernetes\\.io/name=x", "app.kubernetes.io/name"),
        ("store=gs://bucket,auth=headers,ingress.host=a.example", "anybody could name any user"),
        ("store=gs://bucket,cacheMb=a lot", "cacheMb"),
        ("store=gs://bucket,env.STEELTRAP_CALLS_PER_MINUTE=60", "STEELTRAP_CALLS_PER_MINUTE"),
    ],
)
def test_values_that_can_t_work_are_refused_by_name(values: str, sentence: str) -> None:
    rendering = _helm("template", "steeltrap", str(_CHART), "--set", values)
    assert rendering.returncode == 1
    assert sentence in rendering.stderr


@pytest.mark.parametrize("name", ["42", "a.b", "n" * 47, "-a"])
def test_a_release_whose_name_kubernetes_would_refuse_is_refused(name: str) -> None:
    assert _helm("template", name, str(_CHART), *_example("eks")).returncode == 1


def test_names_that_look_like_numbers_stay_names(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(
        'image: {pullSecrets: ["1"], digest: "sha256:%s"}\nenvFromSecrets: ["2"]\n'
        'ingress: {host: "3", tlsSecret: "4", className: "true"}\n' % ("0" * 64)
    )
    kinds = _kinds(_render(*_example("eks"), "--values", str(values)))
    pod = kinds["Deployment"]["spec"]["template"]["spec"]
    assert pod["imagePullSecrets"] == [{"name": "1"}]
    assert pod["containers"][0]["envFrom"] == [{"secretRef": {"name": "2"}}]
    assert pod["containers"][0]["image"].endswith("@sha256:" + "0" * 64)
    assert kinds["Ingress"]["spec"]["tls"] == [{"hosts": ["3"], "secretName": "4"}]
    assert kinds["Ingress"]["spec"]["ingressClassName"] == "true"


def test_a_server_behind_tls_knows_its_address() -> None:
    container = _server(_render(*_example("eks"), "--set", "ingress.host=a.example,ingress.tlsSecret=tls"))
    assert {"name": "STEELTRAP_PUBLIC_URL", "value": "https://a.example"} in container["env"]
    own = "ingress.host=a.example,ingress.tlsSecret=tls,env.STEELTRAP_PUBLIC_URL=https://b.example"
    names = [each["name"] for each in _server(_render(*_example("eks"), "--set", own))["env"]]
    assert names.count("STEELTRAP_PUBLIC_URL") == 1
