"""A real server whose disk fills up or turns read-only, whose data folder is removed, or one of whose files breaks."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.real_server import RealServer, contents, save, serving
from steeltrap.model import UserRef

SIZE = 96
"""MB of a small disk: plenty for the reserve that forgetting works in."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}m", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk can be mounted by root only")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def fill(disk: Path) -> Path:
    """Take all the room that is left."""
    filler = disk / "filler"
    with open(filler, "wb", buffering=0) as file:
        for block in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * block)
            except OSError:
                continue
    return filler


def file_of(server: RealServer, user: str) -> Path:
    key = UserRef(user).key
    return server.folder / "users" / key[:2] / f"{key}.db"


def refused_until_full(server: RealServer, user: str) -> list[str]:
    """Save until a save is refused for want of room; the ids that were acknowledged."""
    saved = []
    for n in range(1000):
        status, body = server.call("core.save", user, content=f"note {n} " * 300)
        if status != 200:
            assert (status, body["code"], body["retryable"]) == (503, "unavailable", True)
            assert "The disk is full: free some space, then try again." in body["detail"]
            return saved
        saved.append(body["id"])
    raise AssertionError("the disk did not fill up")


def test_a_full_disk_is_said_and_reads_go_on_and_writes_come_back(disk: Path) -> None:
    with serving(disk / "data") as server:
        assert server.request("GET", "/readyz")[0] == 200
        kept = save(server, "bob", "the otter")
        secret = save(server, "ana", "the secret")
        filler = fill(disk)
        saved = refused_until_full(server, "ana")
        new_status, new = server.call("core.save", "a new user", content="hello")
        assert (new_status, new["detail"]) == (503, "The disk is full: free some space, then try again.")
        for user, id in (("bob", kept), ("ana", secret), *(("ana", id) for id in saved)):
            assert server.call("core.get", user, id=id)[0] == 200
        assert [hit["id"] for hit in server.call("core.search", "bob", query="otter")[1]["results"]] == [kept]
        assert server.call("core.forget", "ana", id=secret)[0] == 200
        filler.unlink()
        saved.append(save(server, "ana", "there is room again"))
        assert save(server, "a new user", "hello")
        assert set(contents(server, "ana")) == set(saved)
    with serving(disk / "data") as server:
        assert set(contents(server, "ana")) == set(saved)
        assert server.command("doctor", "--json").returncode in (0, 1)
        assert set(contents(server, "bob")) == {kept}


def test_a_backup_to_a_full_disk_says_so_and_leaves_nothing_there(disk: Path, tmp_path: Path) -> None:
    with serving(tmp_path / "data") as server:
        kept = save(server, "ana", "the heron")
        filler = fill(disk)
        refused = server.command("backup", disk / "monday")
        assert refused.returncode == 5
        assert f"The disk of {disk} is full" in refused.stderr
        assert list(disk.iterdir()) == [filler]
        filler.unlink()
        assert server.command("backup", disk / "monday").returncode == 0
        assert set(contents(server, "ana")) == {kept}


def make_read_only(disk: Path) -> None:
    """Turn a disk read-only as soon as the server that starts has no file open any more."""
    ends = time.monotonic() + 30
    while subprocess.run(["mount", "-o", "remount,ro", disk], capture_output=True, check=False).returncode:
        assert time.monotonic() < ends


def test_a_disk_that_turns_read_only_is_said_and_writes_come_back(disk: Path) -> None:
    with serving(disk / "data") as server:
        kept = save(server, "ana", "the heron")
    with serving(disk / "data") as server:
        make_read_only(disk)
        # SQLite can't read a file in WAL mode either, if nobody had it open before.
        for status, body in (
            server.call("core.save", "ana", content="the otter"),
            server.call("core.save", "a new user", content="the otter"),
            server.call("core.search", "ana", query="heron"),
            server.call("core.list", "ana"),
        ):
            assert (status, body["code"], body["retryable"]) == (503, "unavailable", True)
            assert "The disk is read-only" in body["detail"]
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        again = save(server, "ana", "the otter")
        assert set(contents(server, "ana")) == {kept, again}


def test_a_removed_data_folder_is_said_and_a_restored_one_is_served_at_once(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as server:
        kept = save(server, "ana", "the heron")
        assert server.command("backup", tmp_path / "backup").returncode == 0
        shutil.rmtree(tmp_path / "data")
        for status, body in (
            server.call("core.save", "ana", content="lost?"),
            server.call("core.search", "ana", query="heron"),
            server.call("core.save", "a new user", content="lost?"),
        ):
            assert (status, body["code"], body["retryable"]) == (503, "unavailable", False)
            assert "The data folder was removed, or its disk was unmounted" in body["detail"]
        assert server.request("GET", "/readyz")[0] == 503
        assert not (tmp_path / "data").exists()
        assert server.command("restore", tmp_path / "backup").returncode == 0
        again = save(server, "ana", "the otter")
        assert set(contents(server, "ana")) == {kept, again}
        assert server.request("GET", "/readyz")[0] == 200


@pytest.mark.parametrize("opened_before", [True, False])
def test_a_damaged_file_is_named_and_the_others_are_served(tmp_path: Path, opened_before: bool) -> None:
    with serving(tmp_path / "data") as server:
        kept = {user: save(server, user, "the heron") for user in ("ana", "bob", "eve")}
        assert server.command("backup", tmp_path / "backup").returncode == 0
    with serving(tmp_path / "data") as server:
        if opened_before:
            assert set(contents(server, "bob")) == {kept["bob"]}
        broken = file_of(server, "bob")
        whole = broken.read_bytes()
        broken.with_suffix(".new").write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))
        broken.with_suffix(".new").replace(broken)
        for status, body in (
            server.call("core.save", "bob", content="the otter"),
            server.call("core.list", "bob"),
            server.call("core.search", "bob", query="heron"),
        ):
            assert (status, body["code"], body["retryable"]) == (503, "unavailable", False)
            assert f"The file {broken.name} is damaged" in body["detail"]
            assert "steeltrap doctor" in body["detail"]
        for user in ("ana", "eve"):
            again = save(server, user, "the otter")
            assert set(contents(server, user)) == {kept[user], again}
        doctor = server.command("doctor")
        assert doctor.returncode == 1
        assert str(broken) in doctor.stdout
        swept = server.command("sweep")
        assert swept.returncode == 1
        assert broken.name in swept.stderr
        assert server.request("GET", "/readyz")[0] == 200
        assert server.command("restore", tmp_path / "backup", "--data", tmp_path / "restored").returncode == 0
        (tmp_path / "restored" / broken.relative_to(server.folder)).replace(broken)
        again = save(server, "bob", "the otter")
        assert set(contents(server, "bob")) == {kept["bob"], again}
