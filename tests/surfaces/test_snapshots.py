"""A function that starts from a snapshot (SnapStart): what is in the snapshot, and what each start makes anew."""

import subprocess
import sys

import pytest

from surfaces.callers import ROOT

_SNAPSHOT = """
import importlib.util, random, socket, sys
from urllib3.connectionpool import ConnectionPool

def refuse(*_, **__):
    raise AssertionError("a snapshot holds no connection")

socket.socket.connect = refuse
spec = importlib.util.spec_from_file_location("function", "functions/{name}/handler.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
assert "botocore.client" not in sys.modules, "without a snapshot nothing is loaded ahead"

import snapshot_restore_py
for hook, arguments, named in reversed(snapshot_restore_py.get_before_snapshot()):
    hook(*arguments, **named)

from steeltrap.servers.aws_lambda.tools import opened_door
door = opened_door()
assert door.embedder._model is not None
clients = door.store.tables._clients
assert len(clients) == 5
made = set(map(id, clients.values()))
for seconds in (0.1, 1, 2, 5, 10, 60):
    door.store.tables._client(seconds)
assert set(map(id, door.store.tables._clients.values())) == made

random.seed(7)  # what the snapshot holds
restored = []
for start in range(2):
    random.seed(7)
    for hook, arguments, named in snapshot_restore_py.get_after_restore():
        hook(*arguments, **named)
    restored.append(random.random())
assert restored[0] != restored[1]
"""

_ENVIRONMENT = {
    "PYTHONPATH": str(ROOT / "shared"),
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "x",
    "AWS_SECRET_ACCESS_KEY": "x",
    "STEELTRAP_STORE": "aws",
    "STEELTRAP_OPENSEARCH_URL": "https://search.example",
    "STEELTRAP_OPENSEARCH_AUTH": "es",
}


@pytest.mark.parametrize("name", ["search", "http", "mcp", "maintenance"])
def test_a_snapshot_holds_the_model_and_the_clients_but_no_connection_and_no_chance(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SNAPSHOT.replace("{name}", name)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=_ENVIRONMENT,
        check=False,
    )
    assert (done.stderr.strip(), done.returncode) == ("", 0)
