"""A folder of logs: nobody else can read it, and a writer that is killed leaves nothing behind that stays."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from contracts.log_contract import ANA
from steeltrap.errors import Unavailable
from steeltrap.ports import BaseName
from steeltrap.stores.logs.folder import FolderLogs

_KILLED = """
import os, signal, sys
from pathlib import Path
from steeltrap.model import UserRef
from steeltrap.ports import BaseName
from steeltrap.stores.logs import folder

die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
os.link = os.replace = die
log = folder.FolderLogs(Path(sys.argv[1])).of(UserRef("ana", "acme"))
if sys.argv[2] == "entry":
    log.create(2, b"heron")
else:
    log.put_base(BaseName(2, 0), b"heron")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        logs = FolderLogs(tmp_path / "logs")
        log = logs.of(ANA)
        log.create(1, b"x")
        log.overwrite({1: b"y"})
        log.put_base(BaseName(1, 0), b"x")
        log.list_user()
        logs.id()
        logs.check()
    finally:
        os.umask(before)
    paths = [tmp_path / "logs", *(tmp_path / "logs").rglob("*")]
    assert {oct(path.stat().st_mode & 0o777) for path in paths if path.is_dir()} == {"0o700"}
    assert {oct(path.stat().st_mode & 0o777) for path in paths if path.is_file()} == {"0o600"}


def test_nothing_is_left_but_what_was_put(tmp_path: Path) -> None:
    log = FolderLogs(tmp_path).of(ANA)
    log.create(1, b"x")
    log.create(1, b"x")
    log.overwrite({1: b"y"})
    log.put_base(BaseName(1, 0), b"x")
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 2


@pytest.mark.parametrize("is_mounted", [True, False])
def test_a_folder_whose_disk_is_gone_takes_no_entry_and_is_not_empty(tmp_path: Path, is_mounted: bool) -> None:
    logs = FolderLogs(tmp_path / "logs")
    id, log = logs.id(), logs.of(ANA)
    log.create(1, b"first")
    (tmp_path / "logs").rename(tmp_path / "away")
    if is_mounted:
        (tmp_path / "logs").mkdir()  # the place where a disk is mounted
    asked: list[Callable[[], object]] = [
        lambda: log.create(2, b"second"),
        lambda: log.read([1]),
        lambda: log.read_on(2),
        log.bases,
        log.list_user,
        logs.id,
        logs.check,
        lambda: list(logs.users()),
    ]
    for ask in asked:
        with pytest.raises(Unavailable, match="mount its disk"):
            ask()
    assert not list((tmp_path / "logs").rglob("*"))
    if is_mounted:
        (tmp_path / "logs").rmdir()
    (tmp_path / "away").rename(tmp_path / "logs")
    assert (log.create(2, b"second"), log.read_on(1), logs.id()) == (True, [b"first", b"second"], id)


def test_a_folder_with_other_memories_is_not_taken_for_the_one_of_before(tmp_path: Path) -> None:
    logs = FolderLogs(tmp_path / "logs")
    logs.id()
    (tmp_path / "logs").rename(tmp_path / "away")
    FolderLogs(tmp_path / "logs").id()
    with pytest.raises(Unavailable, match="start steeltrap again"):
        logs.of(ANA).create(1, b"first")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("kind", ["entry", "base"])
def test_a_killed_writer_is_in_nobodys_way_and_its_part_goes_with_the_next_forgetting(
    tmp_path: Path, kind: str
) -> None:
    log = FolderLogs(tmp_path).of(ANA)
    log.create(1, b"first")
    killed = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path), kind], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert _with(tmp_path, b"heron"), "the test kills too early"
    assert log.read_on(1) == [b"first"]
    assert log.bases() == []
    assert log.create(2, b"second") is True
    log.overwrite({1: b"stub"})
    assert _with(tmp_path, b"heron") == []
    assert log.read_on(1) == [b"stub", b"second"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no file that is open and gone")
@pytest.mark.parametrize("kind", ["link", "replace"])
def test_a_writer_whose_part_a_forgetting_took_writes_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    log = FolderLogs(tmp_path).of(ANA)
    log.create(1, b"first")
    put, met = getattr(os, kind), []

    def putting(part: Path, path: Path) -> None:
        if not met:
            met.append(part)
            FolderLogs(tmp_path).of(ANA).overwrite({})
            assert not part.exists()
        put(part, path)

    monkeypatch.setattr(os, kind, putting)
    if kind == "link":
        assert log.create(2, b"second") is True
        assert log.read_on(1) == [b"first", b"second"]
    else:
        log.put_base(BaseName(1, 0), b"base")
        assert log.read_base(BaseName(1, 0)) == b"base"
    assert met
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 2


def test_a_folder_that_takes_nothing_says_so(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file")
    logs = FolderLogs(tmp_path / "logs")
    for attempt in (logs.check, logs.id, lambda: logs.of(ANA).create(1, b"x")):
        with pytest.raises(Unavailable, match="permissions") as failed:
            attempt()
        assert not failed.value.can_retry


def _with(folder: Path, text: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]
