"""A bucket of each cloud, and a database, earns the contract of a place for files."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from contracts import log_places
from contracts.files_contract import FilesContract
from steeltrap.ports import FileStore
from steeltrap.stores.files.objects import ObjectFiles


@pytest.fixture(params=["s3", "azure", "gcs", "postgres"])
def files(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileStore]:
    with log_places.empty_url(request.param, monkeypatch) as url, closing(log_places.objects(url)) as objects:
        yield ObjectFiles(objects)


class TestObjectFiles(FilesContract):
    pass
