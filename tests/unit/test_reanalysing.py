"""Memories that an earlier release analysed are analysed again behind the calls of a server that starts."""

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import apsw
import pytest

from clock import SettableClock
from embedding import HashedWords
from faults.real_server import MAIN, environment
from steeltrap.engine import upkeep
from steeltrap.invoke import Door
from steeltrap.model import Caller, Embedding, UserRef
from steeltrap.runtime import background
from steeltrap.runtime.background import reanalysing_in_background
from steeltrap.runtime.local import open_door
from steeltrap.settings import read_settings
from steeltrap.stores.sqlite.records import to_terms
from steeltrap.text.words import WORDS_VERSION

SECONDS = 60.0
HERONS = ("Серая цапля стоит у пруда.", "Цапли вернулись весной.", "Мы видели цаплю.")


class Polyglot(HashedWords):
    """HashedWords, which has learned Russian: a Russian text about herons has the vector of the English word.

    Once `closed`, it holds whoever wants vectors of memories until `gate` is set, and says so by `reached`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.reached, self.closed, self.texts = threading.Event(), threading.Event(), False, 0

    def embed(self, texts: Sequence[str], *, purpose: Literal["document", "query"], timeout: float) -> list[Embedding]:
        if self.closed and purpose == "document":
            self.texts += len(texts)
            self.reached.set()
            assert self.gate.wait(SECONDS)
        read = ["heron" if self.has_changed(text, 1) else text for text in texts]
        return super().embed(read, purpose=purpose, timeout=timeout)

    def has_changed(self, text: str, since: int) -> bool:
        return since < 2 and "цапл" in text.lower()


@pytest.fixture
def embedder() -> Polyglot:
    return Polyglot()


@pytest.fixture
def open_folder(tmp_path: Path, embedder: Polyglot) -> Iterator[Callable[[], Door]]:
    doors: list[Door] = []

    def opened() -> Door:
        doors.append(open_door(read_settings({}, data=tmp_path), embedder=embedder, clock=SettableClock()))
        return doors[-1]

    yield opened
    for door in doors:
        door.store.close()


def ask(door: Door, tool: str, user: str, **arguments: Any) -> Any:
    result = door.invoke(tool, arguments, Caller(UserRef(user), "assistant"))
    assert result.error is None, result.body
    return result.body


def texts(answer: Any) -> set[str]:
    return {hit["content"] for hit in answer["results"]}


def make_older(folder: Path) -> None:
    """Leave every file as the release before WORDS_VERSION 2 did: whole words, and vectors that know no Russian."""
    for path in folder.glob("users/*/*.db"):
        with contextlib.closing(apsw.Connection(str(path))) as raw:
            raw.execute("UPDATE meta SET value = 1 WHERE key IN ('words_version', 'analysis')")
            for n, image, vectors in raw.execute(
                "SELECT n, image, vectors FROM search JOIN memory USING (n)"
            ).fetchall():
                if "цапл" in str(image).lower():
                    old = to_terms(["цапля"]), bytes(len(vectors)), n
                    raw.execute("UPDATE search SET terms = ?, vectors = ? WHERE n = ?", old)


def analyses(folder: Path) -> set[int]:
    found = set()
    for path in folder.glob("users/*/*.db"):
        with contextlib.closing(apsw.Connection(str(path))) as raw:
            raw.set_busy_timeout(10_000)
            found |= {int(version) for (version,) in raw.execute("SELECT value FROM meta WHERE key = 'analysis'")}
    return found


def until(true: Callable[[], bool]) -> None:
    """Wait for what another thread or process does."""
    waiting = threading.Event()
    for _ in range(1200):
        if true():
            return
        waiting.wait(0.05)
    raise AssertionError("it never came true")


def fill(door: Door, folder: Path, users: Sequence[str] = ("ana",)) -> None:
    for user in users:
        for content in (*HERONS, "Oats for breakfast."):
            ask(door, "core.save", user, content=content)
    door.store.close()
    make_older(folder)


def test_after_an_upgrade_every_users_texts_are_analysed_again_behind_the_calls(
    open_folder: Callable[[], Door], tmp_path: Path
) -> None:
    fill(open_folder(), tmp_path, ["ana", "ben"])
    door = open_folder()
    assert texts(ask(door, "core.search", "ana", query="heron", precision="relevant")).isdisjoint(HERONS)
    with reanalysing_in_background(door):
        until(lambda: analyses(tmp_path) == {WORDS_VERSION})
    for user in ("ana", "ben"):
        assert set(HERONS) <= texts(ask(door, "core.search", user, query="heron", precision="relevant"))


def test_meanwhile_a_search_answers_by_the_words_of_today_and_is_no_failure(
    open_folder: Callable[[], Door], tmp_path: Path, embedder: Polyglot
) -> None:
    fill(open_folder(), tmp_path)
    door = open_folder()
    embedder.closed = True
    with reanalysing_in_background(door):
        assert embedder.reached.wait(SECONDS)
        by_word = ask(door, "core.search", "ana", query="цаплю", precision="all", limit=3)
        assert (texts(by_word), by_word["outcome"]["kind"]) == (set(HERONS), "found")
        plain = ask(door, "core.search", "ana", query="oats", precision="relevant")
        assert (texts(plain), plain["outcome"]["kind"]) == ({"Oats for breakfast."}, "found")
        unknown = ask(door, "agent.recall", "ana", query="heron")
        assert "4 memories" in unknown  # it says how many it looked at, not that nothing is stored
        embedder.gate.set()
        until(lambda: analyses(tmp_path) == {WORDS_VERSION})


def test_a_server_that_stops_ends_it_after_a_block_and_the_next_one_finishes_it(
    open_folder: Callable[[], Door], tmp_path: Path, embedder: Polyglot, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = threading.Event()
    monkeypatch.setattr(background, "Event", lambda: stopped)
    monkeypatch.setattr(upkeep, "_REANALYSED_AT_ONCE", 1)
    fill(open_folder(), tmp_path)
    door = open_folder()
    embedder.closed = True
    with contextlib.ExitStack() as server:
        server.enter_context(reanalysing_in_background(door))
        assert embedder.reached.wait(SECONDS)
        stopping = threading.Thread(target=server.pop_all().close)
        stopping.start()
        assert stopped.wait(SECONDS)
        embedder.gate.set()
        stopping.join(SECONDS)
    assert embedder.texts == 1
    assert analyses(tmp_path) == {1}
    stopped.clear()
    with reanalysing_in_background(open_folder()):
        until(lambda: analyses(tmp_path) == {WORDS_VERSION})
    assert set(HERONS) <= texts(ask(door, "core.search", "ana", query="heron", precision="relevant"))


def test_a_file_that_cannot_be_read_keeps_no_other_user_from_it(
    open_folder: Callable[[], Door], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fill(open_folder(), tmp_path, ["ana", "ben"])
    damaged, whole = sorted(tmp_path.glob("users/*/*.db"))
    damaged.write_bytes(b"no database" * 100)
    with reanalysing_in_background(open_folder()):
        until(lambda: "analysing memories again failed" in caplog.text)
    with contextlib.closing(apsw.Connection(str(whole))) as raw:
        assert raw.execute("SELECT value FROM meta WHERE key = 'analysis'").fetchall() == [(WORDS_VERSION,)]


def found_by(folder: Path) -> dict[int, tuple[bytes, bytes]]:
    """The words and the vectors of each memory."""
    [path] = folder.glob("users/*/*.db")
    with contextlib.closing(apsw.Connection(str(path))) as raw:
        return {n: (terms, vectors) for n, terms, vectors in raw.execute("SELECT n, terms, vectors FROM search")}


@pytest.mark.slow
@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("serve", "--port", "0", "--workers", "2"), ("mcp",)])
def test_a_server_that_starts_brings_an_older_folder_to_the_analysis_of_today(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    door = open_door(read_settings({}, data=tmp_path))
    for content in ("Летом мы видели в деревне цаплю.", "Oats for breakfast."):
        ask(door, "core.save", "local", content=content)
    door.store.close()
    fresh = found_by(tmp_path)
    make_older(tmp_path)
    assert found_by(tmp_path) != fresh
    server = subprocess.Popen(
        [sys.executable, "-c", MAIN, *command],
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: analyses(tmp_path) == {WORDS_VERSION})
        if command[0] == "serve":
            server.terminate()
        _, said = server.communicate(timeout=SECONDS)  # the end of its input ends `mcp`
    finally:
        server.kill()
        server.communicate()
    assert (server.returncode, "Traceback" in said) == (0, False)
    assert found_by(tmp_path) == fresh
