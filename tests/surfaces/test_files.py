"""Where exported files go, and which tools are handed them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clock import SettableClock
from embedding import HashedWords
from steeltrap.errors import InvalidInput
from steeltrap.model import Caller, UserRef
from steeltrap.runtime.local import open_door, open_files
from steeltrap.settings import read_settings
from steeltrap.stores.files.folder import FolderFiles
from steeltrap.stores.files.s3 import BucketFiles
from steeltrap.toolsets import CATALOGUE

EXPORT = {"operation": "export", "file_path": "a.json"}


def settings_of(tmp_path: Path, **given: str) -> Any:
    return read_settings({"STEELTRAP_DATA": str(tmp_path)}, **given)


def test_only_a_tool_that_declares_files_is_handed_them(tmp_path: Path, clock: SettableClock) -> None:
    door = open_door(settings_of(tmp_path), clock=clock, embedder=HashedWords(dimension=32))
    sync = CATALOGUE.tool("associative.memory_sync")
    assert door.invoke(sync, EXPORT, Caller(UserRef("ana"))).error is None
    undeclared = door.invoke(replace(sync, files=False), EXPORT, Caller(UserRef("ana")))
    assert undeclared.error is not None
    assert undeclared.error.code == "unavailable"
    door.store.close()


def test_a_tool_with_files_counts_as_a_write() -> None:
    with_files = [tool for tool in CATALOGUE.tools() if tool.files]
    assert with_files
    assert all(tool.access == "write" for tool in with_files)


def test_files_go_to_the_folder_or_the_bucket_and_never_to_the_disk_of_a_function(tmp_path: Path) -> None:
    assert isinstance(open_files(settings_of(tmp_path)), FolderFiles)
    assert isinstance(open_files(settings_of(tmp_path, export_bucket="acme-exports")), BucketFiles)
    assert isinstance(open_files(settings_of(tmp_path, store="aws", export_bucket="acme-exports")), BucketFiles)
    assert open_files(settings_of(tmp_path, store="aws")) is None


@pytest.mark.parametrize("name", ["Acme", "a", "acme_exports", "s3://acme", "acme-", "x" * 64])
def test_a_name_that_no_bucket_has_is_refused_at_the_start(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="`--export-bucket`"):
        settings_of(tmp_path, export_bucket=name)
