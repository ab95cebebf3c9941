"""A process that was forked uses nothing that was opened before: it says so, and waits for nobody."""

import subprocess
import sys
from pathlib import Path

import pytest

from contracts import log_places
from gcs_server import serving_gcs
from worker_server import worker_server

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")

_PROGRAM = """
import os, signal, sys
from pathlib import Path
from steeltrap.errors import SteeltrapError
from steeltrap.ports import Deadline
from steeltrap.model import UserRef
from steeltrap.runtime import SystemClock
from steeltrap.runtime.local import open_embedder, open_logs, open_store
from steeltrap.settings import read_settings

clock = SystemClock()

def look(store):
    return list(store.space(UserRef("ana"), Deadline.after(20, clock)).walk())

settings = read_settings(data=Path(sys.argv[1]), store=sys.argv[2])
embedder = open_embedder(settings)
store = open_store(settings, embedder, clock)
assert look(store) == []
child = os.fork()
if not child:
    signal.alarm(60)
    for open in (lambda: store, lambda: open_store(settings, embedder, clock)):
        try:
            print("read", look(open()), flush=True)
        except SteeltrapError as error:
            print(error.message, flush=True)
    os._exit(0)
_, status = os.waitpid(child, 0)
store.close()
sys.exit(os.waitstatus_to_exitcode(status))
"""


def _forked(folder: Path, url: str) -> list[str]:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", _PROGRAM, folder, url]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.splitlines()


def test_over_a_folder_a_forked_process_opens_its_own_store(tmp_path: Path) -> None:
    said = _forked(tmp_path / "data", (tmp_path / "log").as_uri())
    assert "open the memories after the fork" in said[0]
    assert said[1:] == ["read []"]


def test_over_a_bucket_a_forked_process_is_refused_and_never_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving_gcs() as address:
        said = _forked(tmp_path / "data", log_places.gcs(monkeypatch, address))
    assert len(said) == 2
    assert all("start processes by spawn" in each for each in said)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "gcs"])
def test_workers_of_one_server_share_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    with serving_gcs() as address:
        url = log_places.gcs(monkeypatch, address) if kind == "gcs" else (tmp_path / "log").as_uri()
        monkeypatch.setenv("STEELTRAP_STORE", url)
        with worker_server(tmp_path / "data") as server:
            one, other = (server.connected_to(each) for each in server.workers())
            for here, there in ((one, other), (other, one)):
                assert here.found("herons") == []
                saved = here.save("The herons came back to the reeds.")
                assert there.found("herons") == ["The herons came back to the reeds."]
                assert here.call("/v1/core/delete", id=saved["id"])[0] == 200
                assert there.found("herons") == []
