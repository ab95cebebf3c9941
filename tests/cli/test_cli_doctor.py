"""doctor over a log, and what it says of folders that are no disk of this machine."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from contracts import log_places
from faults.proxy import Answered
from steeltrap.cli import diagnosis
from steeltrap.runtime import SystemClock

Run = Callable[..., Any]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a log that the settings name."""
    monkeypatch.setenv("STEELTRAP_STORE", (tmp_path / "log").as_uri())
    return tmp_path / "log"


def checks(result: Any) -> list[tuple[str, str]]:
    """The name and state of each check; what isn't fine says how to mend it."""
    found = json.loads(result.stdout)["checks"]
    assert all(check["state"] == "fine" or check["mend"] for check in found)
    return [(check["check"], check["state"]) for check in found]


def test_a_folder_of_logs_is_tried_and_only_its_id_is_left(run: Run, log: Path) -> None:
    result = run("doctor", "--json")
    assert result.exit_code == 0
    assert set(checks(result)) == {
        (name, "fine") for name in ("sqlite", "embedder", "store", "space", "cache", "descriptors")
    }
    assert [path.name for path in log.rglob("*")] == ["log"]


def test_damaged_copies_in_the_cache_are_named_and_left(run: Run, data: Path, log: Path) -> None:
    for user in ("ana", "bob"):
        for number in range(20):
            run("remember", f"memory {number} " * 30, "--user", user)
    assert "Intact copies of users' memories on this machine: 2." in run("doctor").stdout
    path = sorted(data.glob(".cache/*/users/*/*.db"))[0]
    content = bytearray(path.read_bytes())
    for page in range(4, len(content) // 4096):
        content[page * 4096 : page * 4096 + 64] = b"\xee" * 64
    path.write_bytes(content)
    result = run("doctor", "--json")
    assert [state for name, state in checks(result) if name == "cache"] == ["warning", "fine"]
    assert f"{path} is damaged" in result.stdout
    assert "on this machine: 1." in result.stdout
    assert path.read_bytes() == content


def test_each_fault_of_a_bucket_has_a_line_of_its_own(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with log_places.proxied_url("gcs", monkeypatch) as (url, proxy):
        monkeypatch.setenv("STEELTRAP_STORE", url)
        assert "soft delete" in run("doctor").stdout
        assert ("store", "fine") in checks(run("doctor", "--json"))
        proxy.rule = lambda asked, send: (
            send(asked) if asked.method == "PUT" else Answered(403, b"<Error><Code>AccessDenied</Code></Error>")
        )
        result = run("doctor", "--json")
    assert result.exit_code == 1
    store = [check for check in json.loads(result.stdout)["checks"] if check["check"] == "store"]
    assert [(check["state"], check["found"].partition("may not ")[2].split(" ")[0]) for check in store] == [
        ("broken", "read"),
        ("broken", "list"),
        ("warning", "delete"),
    ]


def test_a_clock_that_is_far_off_is_a_warning(run: Run, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SystemClock, "now", lambda self: datetime.now(UTC) + timedelta(minutes=10))
    result = run("doctor", "--json")
    assert result.exit_code == 0
    assert ("store", "warning") in checks(result)
    assert "This machine's clock is 10 minutes ahead of the store's." in result.stdout


@pytest.mark.parametrize("setting", ["STEELTRAP_STORE", "STEELTRAP_CACHE_FOLDER"])
def test_folders_of_a_network_and_of_syncing_programs_are_warned_of(
    run: Run, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    def set_to(folder: Path) -> None:
        monkeypatch.setenv(setting, folder.as_uri() if setting == "STEELTRAP_STORE" else str(folder))

    set_to(tmp_path / "Dropbox" / "memories")
    told = run("doctor")
    assert told.exit_code == 0
    assert "is synced by Dropbox" in told.stdout
    set_to(tmp_path / "mounted")
    (tmp_path / "mounted").mkdir(exist_ok=True)
    assert "drive" not in dict(checks(run("doctor", "--json")))
    monkeypatch.setattr(diagnosis, "_mounts", lambda: f"server:/export {tmp_path / 'mounted'} nfs4 rw 0 0")
    assert ("drive", "warning") in checks(run("doctor", "--json"))
    assert "is on a network drive (nfs4)" in run("doctor").stdout


def test_a_data_folder_that_is_synced_is_warned_of(run: Run, tmp_path: Path) -> None:
    assert "is synced by iCloud" in run("doctor", data=tmp_path / "Mobile Documents" / "x").stdout


def test_machines_that_count_calls_each_for_itself_are_told_of(
    run: Run, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "quotas" not in run("doctor").stdout
    monkeypatch.setenv("STEELTRAP_CALLS_PER_MINUTE", "60")
    assert ("quotas", "warning") in checks(run("doctor", "--json"))
    assert "each admits 60 per user and minute" in run("doctor").stdout
    monkeypatch.setenv("STEELTRAP_STORE", "sqlite")
    assert "quotas" not in run("doctor").stdout
