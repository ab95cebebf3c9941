"""A bucket of each cloud earns the contract of a place for files."""

from collections.abc import Iterator

import pytest
from files_contract import *  # noqa: F403 - the suite

from contracts import log_places
from gcs_server import serving_gcs
from steeltrap.ports import FileStore
from steeltrap.stores.files.objects import ObjectFiles


@pytest.fixture(params=["s3", "azure", "gcs"])
def files(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileStore]:
    with serving_gcs() as address:
        match request.param:
            case "s3":
                url = log_places.s3(monkeypatch)
            case "azure":
                url = log_places.azure(monkeypatch)
            case _:
                url = log_places.gcs(monkeypatch, address)
        yield ObjectFiles(url)
