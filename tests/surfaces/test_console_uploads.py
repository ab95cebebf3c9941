"""Uploads to the console: where a file lies, when it is removed, and why one isn't received."""

import errno
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from steeltrap.engine.quota import Quotas
from steeltrap.errors import Unavailable
from steeltrap.model import UserRef
from steeltrap.servers.asgi.admission import Admitted
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.api_keys import ApiKeys
from steeltrap.servers.console import Console, Sessions, console_routes, uploads
from surfaces.callers import door_on
from surfaces.serving import served
from surfaces.test_console import Browser, clock, dropped, guarded, keys, sessions, sign_in

__all__ = ["clock", "guarded", "keys", "sessions"]

NOTE = b"# A note\n\nHarmless.\n"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of this test alone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", ["\u8a18" * 120 + ".md", "n" * 300 + ".md", "\U0001f4dd" * 100 + ".md"])
def test_a_name_of_any_length_is_cut_by_bytes_and_imported(guarded: Browser, keys: ApiKeys, name: str) -> None:
    sign_in(guarded, keys)
    assert "1 written" in dropped(guarded, name, NOTE).text
    assert len(uploads.file_name(name).encode()) <= 140
    assert uploads.file_name(name).endswith(".md")


@pytest.mark.parametrize("content", [NOTE, b"\xff\xd8\xffbinary", b""])
def test_an_upload_is_removed_whatever_comes_of_it(
    guarded: Browser, keys: ApiKeys, temporary: Path, content: bytes
) -> None:
    sign_in(guarded, keys)
    dropped(guarded, "note.md", content)
    assert files_in(temporary) == []


def test_an_upload_that_finds_no_place_is_removed_and_refused_before_any_body(
    guarded: Browser, keys: ApiKeys, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @asynccontextmanager
    async def full(_: Admitted) -> AsyncIterator[None]:
        raise Unavailable("No thread is free.", part="calls")
        yield

    sign_in(guarded, keys)
    monkeypatch.setattr(Admitted, "place", full)
    answer = dropped(guarded, "note.md", NOTE, Accept="application/x-ndjson")
    assert answer.status_code == 503
    assert "No thread is free." in answer.text
    assert files_in(temporary) == []


def test_a_full_temporary_folder_is_a_sentence_and_no_fault_of_ours(
    guarded: Browser, keys: ApiKeys, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    sign_in(guarded, keys)
    monkeypatch.setattr(uploads, "_copy", full)
    answer = dropped(guarded, "note.md", NOTE)
    assert answer.status_code == 503
    assert "temporary folder" in answer.text
    assert "is full: free some space" in answer.text
    assert files_in(temporary) == []


def test_what_a_dead_server_left_is_removed_at_the_next_start_and_a_live_one_s_is_not(temporary: Path) -> None:
    living = uploads.Uploads()
    kept = living.begin()
    (kept.folder / "note.md").write_text("being imported")
    left = temporary / f"{uploads.PREFIX}dead" / "upload"
    left.mkdir(parents=True)
    (left / "note.md").write_text("left behind")
    other = temporary / "somebody-else"
    other.mkdir()
    uploads.Uploads().remove_leftovers()
    assert not left.parent.exists()
    assert other.exists()
    assert (kept.folder / "note.md").read_text() == "being imported"


class Counted:
    """Counters that count the calls of everybody together, in one minute."""

    def __init__(self) -> None:
        self.calls = 0

    def count_call(self, user: UserRef, minute: int) -> int:
        self.calls += 1
        return self.calls

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


def test_an_import_counts_as_a_call(tmp_path: Path, keys: ApiKeys, sessions: Sessions) -> None:
    door = replace(door_on(tmp_path / "counted"), quotas=Quotas(calls_per_minute=3), counters=Counted())
    pages = partial(console_routes, Console(door=door, sessions=sessions))
    app = create_app(door, keys, local=False, public_url="", closes_store=True, pages=pages)
    with served(app) as url, httpx.Client(base_url=url) as client:
        browser = Browser(client)
        sign_in(browser, keys)
        answers = [dropped(browser, "note.md", NOTE).status_code for _ in range(4)]
    assert answers == [200, 200, 200, 429]
