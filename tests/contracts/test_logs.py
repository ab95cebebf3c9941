"""Every place for logs earns the contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts import log_places
from contracts.log_contract import Connect, LogContract


@pytest.fixture(params=["folder", "s3", "azure", "gcs", "dynamodb", "postgres", "pooler"])
def connect(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    with (
        log_places.place(request.param, tmp_path, monkeypatch) as make,
        log_places.connecting(make) as connect,
    ):
        yield connect


class TestLogs(LogContract):
    pass
