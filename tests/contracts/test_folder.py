"""Folders of the local disk earn the contract of a place for files, and links planted in them lead nowhere."""

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contracts.files_contract import FilesContract
from steeltrap.errors import InvalidInput, Unavailable
from steeltrap.model import UserRef
from steeltrap.ports import FileStore
from steeltrap.stores.files.folder import FolderFiles


@pytest.fixture
def files(tmp_path: Path) -> FileStore:
    return FolderFiles(tmp_path)


def folder_of(tmp_path: Path, user: str) -> Path:
    key = UserRef(user).key
    return tmp_path / "exports" / key[:2] / key


def test_a_users_folder_has_the_name_of_the_users_memories(tmp_path: Path, files: FileStore) -> None:
    files.files(UserRef("ana")).write("memories.json", b"x")
    assert (folder_of(tmp_path, "ana") / "memories.json").read_bytes() == b"x"


def test_nobody_else_on_the_computer_reads_a_file(tmp_path: Path, files: FileStore) -> None:
    files.files(UserRef("ana")).write("memories.json", b"x")
    assert (folder_of(tmp_path, "ana") / "memories.json").stat().st_mode & 0o777 == 0o600


def test_nobody_else_on_the_computer_enters_the_folders(tmp_path: Path, files: FileStore) -> None:
    files.files(UserRef("ana")).write("backup/memories.json", b"x")
    folders = [path for path in tmp_path.rglob("*") if path.is_dir()]
    assert len(folders) == 4
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}


@pytest.mark.parametrize("above", ["exports", "first digits"])
def test_a_link_above_the_users_folder_is_not_followed(tmp_path: Path, files: FileStore, above: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    own = folder_of(tmp_path, "ana")
    linked = own.parent if above == "first digits" else own.parent.parent
    linked.parent.mkdir(exist_ok=True)
    linked.symlink_to(elsewhere)
    (elsewhere / own.relative_to(linked)).mkdir(parents=True)
    secret = elsewhere / own.relative_to(linked) / "memories.json"
    secret.write_bytes(b"secret")
    ana = files.files(UserRef("ana"))
    for use in (
        lambda: ana.read("memories.json", max_bytes=100),
        lambda: ana.write("memories.json", b"overwritten"),
        ana.names,
        lambda: files.forget_user(UserRef("ana")),
    ):
        with pytest.raises(InvalidInput, match="its path contains a link"):
            use()
    assert secret.read_bytes() == b"secret"


def test_a_link_that_is_planted_between_a_look_and_its_use_is_not_followed(
    tmp_path: Path, files: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "memories.json").write_bytes(b"secret")
    own = folder_of(tmp_path, "ana")
    ana = files.files(UserRef("ana"))
    ana.write("backup/memories.json", b"mine")

    def planting(opener: Callable[..., Any]) -> Callable[..., Any]:
        def open_last(path: str | Path, *how: Any, **named: Any) -> Any:
            if str(path).endswith("memories.json") and not (own / "backup").is_symlink():
                (own / "backup").rename(own / "away")
                (own / "backup").symlink_to(secret)
            return opener(path, *how, **named)

        return open_last

    for module in (os, io):
        monkeypatch.setattr(module, "open", planting(module.open))
    assert ana.read("backup/memories.json", max_bytes=100) == b"mine"


def test_a_data_folder_that_was_removed_is_not_made_anew(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path / "data")
    ana = files.files(UserRef("ana"))
    ana.write("memories.json", b"x")
    (tmp_path / "data").rename(tmp_path / "away")
    for use in (
        lambda: ana.write("memories.json", b"y"),
        lambda: ana.read("memories.json", max_bytes=100),
        ana.names,
        lambda: files.forget_user(UserRef("ana")),
    ):
        with pytest.raises(Unavailable, match="data folder was removed"):
            use()
    assert not (tmp_path / "data").exists()


def test_a_folder_that_is_not_used_is_not_made(tmp_path: Path, files: FileStore) -> None:
    assert files.files(UserRef("ana")).names() == []
    assert files.forget_user(UserRef("ana")) is False
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("planted", ["file", "folder", "circle", "whole"])
def test_a_link_is_not_followed(tmp_path: Path, files: FileStore, planted: str) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "memories.json").write_bytes(b"secret")
    own = folder_of(tmp_path, "ana")
    (own.parent if planted == "whole" else own).mkdir(parents=True)
    name = "memories.json" if planted in ("file", "whole") else "planted/memories.json"
    match planted:
        case "file":
            (own / "memories.json").symlink_to(secret / "memories.json")
        case "folder":
            (own / "planted").symlink_to(secret)
        case "circle":
            (own / "planted").symlink_to(own / "planted")
        case "whole":
            own.symlink_to(secret)
    ana = files.files(UserRef("ana"))
    with pytest.raises(InvalidInput):
        ana.read(name, max_bytes=100)
    with pytest.raises(InvalidInput):
        ana.write(name, b"overwritten")
    if planted != "whole":
        assert ana.names() == []
    files.forget_user(UserRef("ana"))
    assert (secret / "memories.json").read_bytes() == b"secret"
    assert not own.exists()


def test_a_folder_that_cannot_be_used_is_said_to_be_so(tmp_path: Path, files: FileStore) -> None:
    (tmp_path / "exports").write_bytes(b"a file in the way")
    with pytest.raises(Unavailable, match="exported files"):
        files.files(UserRef("ana")).write("memories.json", b"x")


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, files: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana = files.files(UserRef("ana"))
    ana.write("memories.json", b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(Unavailable, match="is full: free some space"):
        ana.write("memories.json", b"new")
    assert ana.read("memories.json", max_bytes=100) == b"old"
    assert [path.name for path in folder_of(tmp_path, "ana").iterdir()] == ["memories.json"]


class TestFolder(FilesContract):
    pass
