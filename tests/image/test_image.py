"""The image's contents, and how it is run: its root read-only, as its own user, with a volume at /data."""

import json
import os
import re
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

_STORE: Final = Path(__file__).parents[2] / ".build" / "image" / "store"
_BUILDAH: Final = ("buildah", "--root", f"{_STORE}/root", "--runroot", f"{_STORE}/run", "--storage-driver", "vfs")
_MOST_BYTES: Final = 250 * 1000**2
_OPENER: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
# In a namespace of its own, so that no mount outlives the process.
_CONTAINED: Final = """
set -e
mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"
mount --bind "$2" "$1/data"; mount -t tmpfs tmpfs "$1/tmp"; mount -t proc proc "$1/proc"
shift 2
exec "$(command -v chroot)" --userspec="$USERSPEC" "$@"
"""


_SHARED: Final = """
import os
os.environ["STEELTRAP_STORE"] = "file:///data/shared"
from steeltrap.cli import main
main()
"""


@dataclass(frozen=True)
class Image:
    """An image's configuration, its unpacked files, and a folder that stands for its volume."""

    config: dict[str, Any]
    root: Path
    volume: Path

    def command(self, *arguments: str) -> list[str]:
        return ["unshare", "--mount", "sh", "-c", _CONTAINED, "sh", str(self.root), str(self.volume), str(self.root),
                *arguments]  # fmt: skip

    @property
    def environment(self) -> dict[str, str]:
        image = dict(pair.split("=", 1) for pair in self.config["Env"])
        image["PATH"] += ":/usr/sbin:/bin:/sbin"  # where this machine has what sets the container up
        return {**image, "STEELTRAP_AUTH": "keys", "USERSPEC": self.config["User"]}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command in the image beside the one that serves, as `docker exec` runs it."""
        return subprocess.run(
            self.command(*arguments), env=self.environment, capture_output=True, text=True, check=False
        )

    @contextmanager
    def serving(self) -> Iterator[subprocess.Popen[str]]:
        entry = [*self.config["Entrypoint"], "serve", "--host", "127.0.0.1", "--port", "0"]
        server = subprocess.Popen(self.command(*entry), env=self.environment, stderr=subprocess.PIPE, text=True)
        try:
            yield server
        finally:
            server.kill()
            server.communicate()


def _buildah(*arguments: str) -> str:
    done = subprocess.run([*_BUILDAH, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module", params=["localhost/steeltrap:latest", "localhost/steeltrap:small"])
def image(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    if os.geteuid() != 0:
        pytest.fail("unpacking and running an image without a daemon takes root")
    config = json.loads(_buildah("inspect", "--type", "image", request.param))["Docker"]["config"]
    container = _buildah("from", request.param)
    try:
        root = Path(_buildah("mount", container))
        volume = tmp_path_factory.mktemp("volume") / "data"
        shutil.copytree(root / "data", volume)
        shutil.copystat(root / "data", volume)
        os.chown(volume, *map(int, config["User"].split(":")))
        volume.parent.chmod(0o755)
        yield Image(config, root, volume)
    finally:
        _buildah("rm", container)


def test_it_is_small_runs_as_nobody_and_holds_no_shell(image: Image) -> None:
    size = sum(path.lstat().st_size for path in image.root.rglob("*") if path.is_file() and not path.is_symlink())
    small = "STEELTRAP_EMBEDDER=small" in image.config["Env"]
    assert small or size < _MOST_BYTES
    assert image.config["User"] == "10001:10001"
    assert (image.root / "data").stat().st_uid == 10001
    assert not (image.root / "bin" / "sh").exists()
    assert not (image.root / "usr" / "bin" / "apt-get").exists()
    assert bool([*image.root.glob("app/lib/python3*/site-packages/onnxruntime")]) == small


def test_it_serves_from_a_read_only_root_and_keeps_what_was_saved(image: Image) -> None:
    for call, arguments in (
        ("save", {"content": "Ana prefers dark mode."}),
        ("search", {"query": "Which theme does Ana like?"}),
    ):
        with image.serving() as server:
            address = _address(server)
            key = image.run("/app/bin/steeltrap", "keys", "add", "--user", "ana", "--name", call).stdout.split()[-1]
            body = _post(f"{address}/v1/core/{call}", key, arguments)
            assert _healthy(image, address).returncode == 0
            server.send_signal(signal.SIGTERM)
            assert server.wait(timeout=20) in (0, -signal.SIGTERM)
    assert [found["content"] for found in body["results"]] == ["Ana prefers dark mode."]
    assert _healthy(image, address).returncode != 0


def test_it_has_what_the_store_in_the_cloud_needs(image: Image) -> None:
    code = "import boto3, opensearchpy, steeltrap.runtime.aws; boto3.client('dynamodb', 'eu-west-1')"
    done = image.run("/app/bin/python", "-c", code)
    assert done.returncode == 0, done.stderr


def test_it_keeps_memories_at_a_url_without_anything_more(image: Image) -> None:
    shared = ("/app/bin/python", "-c", _SHARED)
    assert image.run(*shared, "remember", "Ana prefers dark mode.").returncode == 0
    assert "Ana prefers dark mode." in image.run(*shared, "recall", "dark mode").stdout
    done = image.run("/app/bin/python", "-c", "import obstore.store; obstore.store.from_url('s3://memories')")
    assert done.returncode == 0, done.stderr


def _address(server: subprocess.Popen[str]) -> str:
    assert server.stderr is not None
    said = next((line for line in server.stderr if "listens on" in line), "")
    listens = re.search(r"http://127\.0\.0\.1:\d+", said)
    assert listens, said
    return listens[0]


def _healthy(image: Image, address: str) -> subprocess.CompletedProcess[str]:
    _, *check = image.config["Healthcheck"]["Test"]
    return image.run(*(word.replace("http://127.0.0.1:8765", address) for word in check))


def _post(url: str, key: str, arguments: dict[str, Any]) -> Any:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(arguments).encode(), headers)
    with _OPENER.open(request, timeout=30) as answer:
        return json.load(answer)
