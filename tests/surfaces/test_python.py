"""The tools as Python calls."""

import keyword
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import steeltrap
from embedding import HashedWords
from steeltrap.cli.app import app
from steeltrap.client.in_process import open_memory
from steeltrap.errors import IdentityMissing, InvalidInput, NotFound, Unavailable
from steeltrap.model import OutcomeKind
from steeltrap.runtime import local as runtime
from steeltrap.toolsets import CATALOGUE


def test_what_is_saved_is_there_when_the_folder_is_opened_again(tmp_path: Path) -> None:
    with steeltrap.open_memory(tmp_path, embedder=HashedWords()) as memory:
        saved = memory.core.save(content="User prefers dark mode")
    with steeltrap.open_memory(str(tmp_path), embedder=HashedWords()) as memory:
        assert memory.call("core.get", id=saved["id"])["content"] == "User prefers dark mode"


def test_without_arguments_python_opens_what_the_command_line_uses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELTRAP_DATA", str(tmp_path))
    monkeypatch.setenv("STEELTRAP_USER", "ana")
    monkeypatch.setenv("STEELTRAP_AGENT", "helper")
    monkeypatch.setattr(runtime, "open_embedder", lambda settings: HashedWords())
    with open_memory() as memory:
        memory.categories.store_memory(content="Ana likes tea", category="preference")
    listed = CliRunner().invoke(app, ["call", "categories.list_memories", '{"category": "preference"}'])
    assert "Ana likes tea" in listed.stdout
    assert "Ana likes tea" in CliRunner().invoke(app, ["recall", "tea"]).stdout


def test_what_is_given_goes_before_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELTRAP_DATA", str(tmp_path / "other"))
    monkeypatch.setenv("STEELTRAP_USER", "ana")
    with open_memory(tmp_path, user="bob", embedder=HashedWords()) as memory:
        memory.core.save(content="Bob likes coffee")
    with open_memory(tmp_path, embedder=HashedWords()) as memory:
        assert memory.core.stats()["memories"] == 0
        assert memory.as_user("bob").core.stats()["memories"] == 1


def test_every_tool_is_an_attribute(tmp_path: Path) -> None:
    with open_memory(tmp_path, embedder=HashedWords()) as memory:
        for tool in CATALOGUE.tools():
            name = tool.name + "_" if keyword.iskeyword(tool.name) else tool.name
            assert callable(getattr(getattr(memory, tool.toolset), name))
            assert name in dir(getattr(memory, tool.toolset))
        assert memory.core.list() == memory.core.list_()


def test_a_name_that_is_none_says_what_there_is(tmp_path: Path) -> None:
    with open_memory(tmp_path, embedder=HashedWords()) as memory:
        with pytest.raises(AttributeError, match="there are: agent, core"):
            memory.cor.save()
        with pytest.raises(AttributeError, match="there are: save, get"):
            memory.core.sav()
        with pytest.raises(NotFound, match="did you mean `save`"):
            memory.call("core.sav")


def test_a_failure_is_raised_or_a_value_as_the_caller_likes(tmp_path: Path) -> None:
    with open_memory(tmp_path, embedder=HashedWords()) as memory:
        with pytest.raises(InvalidInput, match="must not be empty"):
            memory.core.save(content=" ")
        result = memory.invoke("core.save", {"content": " "})
        assert isinstance(result.error, InvalidInput)
        outcome = memory.invoke("notes.memory_search", {"query": "x"}).outcome
        assert outcome is not None
        assert outcome.kind is OutcomeKind.NOTHING_STORED


def test_a_repeated_key_saves_once(tmp_path: Path) -> None:
    with open_memory(tmp_path, embedder=HashedWords()) as memory:
        saves = [memory.invoke("core.save", {"content": "Once."}, idempotency_key="k").body["id"] for _ in range(2)]
        assert saves[0] == saves[1]


def test_users_are_kept_apart_and_threads_may_share(tmp_path: Path) -> None:
    with open_memory(tmp_path, embedder=HashedWords()) as memory:
        users = [memory.as_user(f"user {n}") for n in range(4)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: users[n % 4].core.save(content=f"Fact {n}."), range(24)))
        assert [user.core.stats()["memories"] for user in users] == [6, 6, 6, 6]
        assert memory.core.stats()["memories"] == 0


def test_a_path_that_cant_be_a_folder_is_told_when_it_is_opened_and_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(Unavailable, match="file is not a folder"):
            open_memory(path, embedder=HashedWords())
    open_memory(tmp_path / "new" / "folder", embedder=HashedWords()).close()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_number_is_no_users_id_key_or_zone(tmp_path: Path) -> None:
    with open_memory(tmp_path, embedder=HashedWords()) as memory:
        seven: Any = 7
        for refused, what in (
            (memory.as_user(seven).invoke("core.save", {"content": "Tea."}), "the caller's user_id"),
            (memory.as_user("ana", agent=seven).invoke("core.save", {"content": "Tea."}), "the caller's agent_id"),
            (memory.invoke("core.save", {"content": "Tea."}, idempotency_key=seven), "the idempotency key"),
            (memory.invoke("core.save", {"content": "Tea."}, timezone=seven), "the time zone"),
        ):
            assert isinstance(refused.error, InvalidInput)
            assert str(refused.error) == f"{what} must be a string; got 7."
        assert memory.core.stats()["memories"] == 0


def test_an_empty_folder_is_not_the_current_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="`folder` is empty"):
        open_memory("", embedder=HashedWords())
    assert list(tmp_path.iterdir()) == []


def test_a_memory_says_whose_it_is_and_what_it_can_do(tmp_path: Path) -> None:
    with open_memory(tmp_path, user="ana", embedder=HashedWords()) as memory:
        assert repr(memory) == f"<Memory of user 'ana' in {tmp_path}>"
        assert repr(memory.as_user("bob")) == f"<Memory of user 'bob' in {tmp_path}>"
        assert repr(memory.categories) == "<Toolset 'categories': store_memory, search_memories, list_memories>"
        assert "import_" in dir(memory.core)
        assert "import" not in dir(memory.core)
        assert set(dir(memory)) == {"as_user", "call", "close", "invoke", *CATALOGUE.toolsets}


FIRST_CALLS_AT_ONCE = """
import sys
from threading import Barrier, Thread

from steeltrap import open_memory

failures, together = [], Barrier(8)
sys.setswitchinterval(1e-6)

def save(memory, number):
    together.wait()
    try:
        memory.core.save(content=f"Fact {number}.")
    except Exception as error:
        failures.append(repr(error))

with open_memory(sys.argv[1]) as memory:
    threads = [Thread(target=save, args=(memory, number)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
sys.exit("; ".join(failures) or None)
"""


@pytest.mark.slow
def test_the_first_calls_of_a_process_may_come_from_many_threads(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FIRST_CALLS_AT_ONCE, str(tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True, check=False).stderr == ""


def test_an_embedder_may_be_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"^`embedder` must be one of"):
        open_memory(tmp_path, embedder="no such model")


def test_a_closed_memory_refuses_calls_for_every_user(tmp_path: Path) -> None:
    memory = open_memory(tmp_path, embedder=HashedWords())
    other, save = memory.as_user("bob"), memory.core.save
    save(content="Ana likes tea")
    other.close()
    other.close()
    for call in (memory.core.list, other.core.stats, lambda: save(content="x"), lambda: memory.invoke("core.list", {})):
        with pytest.raises(RuntimeError, match=r"^This memory is closed; open it again with `open_memory`\.$"):
            call()


@pytest.mark.parametrize("user", ["", " ", "\t\n", "\u3000"])
def test_a_user_of_white_space_is_nobody(tmp_path: Path, user: str) -> None:
    with open_memory(tmp_path, user="ana") as memory, pytest.raises(IdentityMissing, match="No user is known"):
        memory.as_user(user).core.list()
