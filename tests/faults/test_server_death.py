"""A server that is killed while four clients save: every save that it acknowledged is there, whole, and found."""

import http.client
import json
import os
import random
import signal
import subprocess
import threading
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from faults.doors import answer, open_door, running
from steeltrap.model import Caller, UserRef

ROUNDS = 20
A_ROUND = (30, 80)
CLIENTS = 4
CALLER = Caller(UserRef("local"), "default")

_SERVER = """
import os, socket, sys
from pathlib import Path
import uvicorn
from faults.doors import open_door
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import LocalUser

# A process a round, forked from one that has imported everything.
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        app = create_app(open_door(Path(sys.argv[1])), LocalUser("local", "default"))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
        listening.listen(64)
        os.write(1, f"{os.getpid()} {listening.getsockname()[1]}\\n".encode())
        server.run(sockets=[listening])
    os.waitpid(child, 0)
    os.write(1, b"dead\\n")
"""


class Clients:
    """Save until the server is gone; what was acknowledged, by id."""

    def __init__(self) -> None:
        self.acknowledged: dict[str, str] = {}
        self._changed = threading.Condition()

    def save_until_it_dies(self, port: int, round_: int, client: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            for i in range(10_000):
                content = f"heron{round_}x{client}x{i} stood in the reeds " + "at dawn " * (i % 50)
                connection.request(
                    "POST", "/v1/core/save", json.dumps({"content": content}), {"Content-Type": "application/json"}
                )
                response = connection.getresponse()
                body = json.loads(response.read())
                assert response.status == 200, body
                with self._changed:
                    self.acknowledged[body["id"]] = content
                    self._changed.notify_all()
        except (OSError, http.client.HTTPException, ValueError):
            pass  # killed, perhaps in the middle of an answer
        finally:
            connection.close()

    def wait_for(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.acknowledged) >= count, timeout=60)


@pytest.mark.slow
def test_what_a_server_acknowledged_survives_its_sudden_death_twenty_times_over(tmp_path: Path) -> None:
    chance = random.Random(20)
    clients = Clients()
    with running(_SERVER, tmp_path) as nursery:
        for round_ in range(ROUNDS):
            one_round(nursery, clients, round_, chance.randint(*A_ROUND))
    assert len(clients.acknowledged) >= 1000

    for file in tmp_path.rglob("*.db"):
        with closing(apsw.Connection(str(file))) as connection:
            assert connection.pragma("integrity_check") == "ok"
    door = open_door(tmp_path)
    stored = answer(door, "core.list", CALLER, limit=1)["total"]
    assert len(clients.acknowledged) <= stored <= len(clients.acknowledged) + ROUNDS * CLIENTS
    for i, (id, content) in enumerate(clients.acknowledged.items()):
        assert answer(door, "core.get", CALLER, id=id)["content"] == content
        word = content.split()[0]
        [first] = answer(door, "core.search", CALLER, query=word, limit=1, mode="keyword")["results"]
        assert first["id"] == id
        if i % 10 == 0:
            near = answer(door, "core.search", CALLER, query=content, mode="semantic", min_similarity=0.99)
            assert near["results"]
    door.store.close()


def one_round(nursery: "subprocess.Popen[str]", clients: Clients, round_: int, saves: int) -> None:
    """Start a server, save to it from all clients, kill it at the given number of acknowledged saves."""
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    print(round_, file=nursery.stdin, flush=True)
    pid, port = map(int, nursery.stdout.readline().split())
    before = len(clients.acknowledged)
    threads = [
        threading.Thread(target=clients.save_until_it_dies, args=(port, round_, client)) for client in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    try:
        clients.wait_for(before + saves)
    finally:
        os.kill(pid, signal.SIGKILL)
    for thread in threads:
        thread.join(60)
    assert nursery.stdout.readline() == "dead\n"
