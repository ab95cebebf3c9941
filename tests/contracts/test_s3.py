"""A bucket earns the contract of a place for files: by moto in this process, and on each emulator of AWS."""

import os
from collections.abc import Iterator
from itertools import count
from typing import Any

import boto3
import pytest

from contracts import aws_emulators
from contracts.files_contract import FilesContract
from steeltrap.errors import TooLarge, Unavailable
from steeltrap.model import UserRef
from steeltrap.stores.files.s3 import BucketFiles

options = aws_emulators.options
_numbers = count()


@pytest.fixture
def client(options: dict[str, Any]) -> Iterator[Any]:
    client = boto3.session.Session().client("s3", **options)
    yield client
    client.close()


@pytest.fixture
def bucket(client: Any) -> Iterator[str]:
    """A bucket that keeps old versions, gone in the end."""
    name = f"steeltrap-{os.getpid()}-{next(_numbers)}"
    client.create_bucket(Bucket=name)
    client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    yield name
    for key, version in versions(client, name):
        client.delete_object(Bucket=name, Key=key, VersionId=version)
    client.delete_bucket(Bucket=name)


@pytest.fixture
def files(bucket: str, options: dict[str, Any]) -> BucketFiles:
    return BucketFiles(bucket, **options)


def versions(client: Any, bucket: str) -> list[tuple[str, str]]:
    found = client.list_object_versions(Bucket=bucket)
    each = [*found.get("Versions", ()), *found.get("DeleteMarkers", ())]
    return sorted((version["Key"], version["VersionId"]) for version in each)


def test_a_users_prefix_has_the_name_of_the_users_memories(client: Any, bucket: str, files: BucketFiles) -> None:
    files.files(UserRef("ana", "acme")).write("backup/a.json", b"x")
    key = UserRef("ana", "acme").key
    assert [key for key, _ in versions(client, bucket)] == [f"exports/{key}/backup/a.json"]


def test_forgetting_a_user_removes_old_versions_and_the_marks_of_deletions(
    client: Any, bucket: str, files: BucketFiles
) -> None:
    for content in (b"first", b"second"):
        files.files(UserRef("ana")).write("a.json", content)
        files.files(UserRef("ben")).write("a.json", content)
    [(key, _), _] = [each for each in versions(client, bucket) if UserRef("ana").key in each[0]]
    client.delete_object(Bucket=bucket, Key=key)
    assert len(versions(client, bucket)) == 5
    assert files.forget_user(UserRef("ana")) is True
    left = versions(client, bucket)
    assert len(left) == 2
    assert all(UserRef("ben").key in key for key, _ in left)


def test_a_bucket_without_versions_is_emptied_of_a_user_too(
    client: Any, bucket: str, files: BucketFiles, options: dict[str, Any]
) -> None:
    plain = f"{bucket}-plain"
    client.create_bucket(Bucket=plain)
    files = BucketFiles(plain, **options)
    files.files(UserRef("ana")).write("a.json", b"x")
    assert files.forget_user(UserRef("ana")) is True
    assert versions(client, plain) == []
    client.delete_bucket(Bucket=plain)


def test_all_pages_are_listed_and_forgotten(client: Any, bucket: str, files: BucketFiles) -> None:
    prefix = f"exports/{UserRef('ana').key}"
    names = [f"{number:04}.json" for number in range(1001)]
    for name in names:
        client.put_object(Bucket=bucket, Key=f"{prefix}/{name}", Body=b"")
    assert files.files(UserRef("ana")).names() == names
    assert files.forget_user(UserRef("ana")) is True
    assert versions(client, bucket) == []


def test_the_folders_of_a_console_are_no_files(client: Any, bucket: str, files: BucketFiles) -> None:
    client.put_object(Bucket=bucket, Key=f"exports/{UserRef('ana').key}/backup/", Body=b"")
    files.files(UserRef("ana")).write("backup/a.json", b"x")
    assert files.files(UserRef("ana")).names() == ["backup/a.json"]


def test_what_is_too_large_is_not_read(files: BucketFiles, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    files.files(UserRef("ana")).write("a.json", b"x" * 5000)
    monkeypatch.setattr("botocore.response.StreamingBody.read", lambda *_: pytest.fail("the body was read"))
    with pytest.raises(TooLarge, match="4,999"):
        files.files(UserRef("ana")).read("a.json", max_bytes=4999)


def test_a_bucket_that_is_not_there_is_not_a_missing_file(options: dict[str, Any]) -> None:
    files = BucketFiles("steeltrap-never-made", **options)
    for attempt in (
        lambda: files.files(UserRef("ana")).write("a.json", b"x"),
        lambda: files.files(UserRef("ana")).read("a.json", max_bytes=1),
        lambda: files.files(UserRef("ana")).names(),
        lambda: files.forget_user(UserRef("ana")),
    ):
        with pytest.raises(Unavailable, match="fix the bucket") as refused:
            attempt()
        assert not refused.value.can_retry
        assert "never-made" not in refused.value.message


def test_nothing_is_connected_before_the_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("boto3.session.Session", lambda: pytest.fail("a client was made"))
    BucketFiles("steeltrap-lazy").files(UserRef("ana"))


class TestBucket(FilesContract):
    pass
