"""The tools as Python calls in an event loop."""

import asyncio
import inspect
import keyword
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

import steeltrap
from embedding import HashedWords
from steeltrap.client.in_loop import open_memory_async
from steeltrap.errors import InvalidInput, NotFound, Unavailable
from steeltrap.model import Embedding
from steeltrap.toolsets import CATALOGUE


class Waiting(HashedWords):
    """An embedder that waits until somebody lets it go on."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.may_go_on = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str], *, purpose: Literal["document", "query"], timeout: float) -> list[Embedding]:
        self.asked.set()
        if not self.may_go_on.wait(30):
            raise Unavailable("nobody let it go on")
        return super().embed(texts, purpose=purpose, timeout=timeout)


def test_what_is_saved_in_a_loop_is_there_for_other_programs(tmp_path: Path) -> None:
    async def save() -> str:
        async with steeltrap.open_memory_async(tmp_path, embedder=HashedWords()) as memory:
            return str((await memory.core.save(content="User prefers dark mode"))["id"])

    id = asyncio.run(save())
    with steeltrap.open_memory(tmp_path, embedder=HashedWords()) as memory:
        assert memory.core.get(id=id)["content"] == "User prefers dark mode"


def test_the_loop_goes_on_while_a_call_waits(tmp_path: Path) -> None:
    embedder = Waiting()

    async def main() -> int:
        async with open_memory_async(tmp_path, embedder=embedder) as memory:
            saving = asyncio.create_task(memory.core.save(content="User prefers dark mode"))
            while not embedder.asked.is_set():
                await asyncio.sleep(0)
            embedder.may_go_on.set()  # the loop would never come here if the call kept it waiting
            return int((await saving)["version"])

    assert asyncio.run(main()) == 1


def test_every_method_has_its_twin(tmp_path: Path) -> None:
    async def main() -> None:
        memory = await open_memory_async(tmp_path, embedder=HashedWords())
        with steeltrap.open_memory(tmp_path, embedder=HashedWords()) as other:
            assert dir(memory) == dir(other)
            assert repr(memory) == f"Async{other!r}"
            for tool in CATALOGUE.tools():
                name = tool.name + "_" * keyword.iskeyword(tool.name)
                twin = getattr(getattr(memory, tool.toolset), name)
                assert inspect.iscoroutinefunction(twin)
                assert inspect.signature(twin) == inspect.signature(getattr(getattr(other, tool.toolset), name))
                assert name in dir(getattr(memory, tool.toolset))
        with pytest.raises(AttributeError, match="sav"):
            _ = memory.core.sav
        await memory.close()

    asyncio.run(main())


def test_failures_are_raised_or_values_and_users_are_kept_apart(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_memory_async(tmp_path, user="ana", embedder=HashedWords()) as memory:
            with pytest.raises(InvalidInput, match="must not be empty"):
                await memory.core.save(content=" ")
            with pytest.raises(NotFound, match="did you mean `save`"):
                await memory.call("core.sav")
            assert isinstance((await memory.invoke("core.save", {"content": " "})).error, InvalidInput)
            await memory.core.save(content="Ana likes tea.")
            assert (await memory.as_user("bob").core.stats())["memories"] == 0

    asyncio.run(main())


def test_a_folder_that_cant_be_one_is_told_when_it_is_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    async def main() -> None:
        with pytest.raises(Unavailable, match="is not a folder"):
            await open_memory_async(tmp_path / "file")

    asyncio.run(main())


def test_loops_of_several_threads_may_share_a_memory(tmp_path: Path) -> None:
    async def opened() -> Any:
        return await open_memory_async(tmp_path, embedder=HashedWords())

    memory = asyncio.run(opened())

    async def save(number: int) -> None:
        await asyncio.gather(*(memory.core.save(content=f"Fact {number} {each}.") for each in range(4)))

    threads = [threading.Thread(target=asyncio.run, args=(save(number),)) for number in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert asyncio.run(memory.core.stats())["memories"] == 12
    asyncio.run(memory.close())


def test_closing_waits_for_what_runs_and_later_calls_say_that_it_is_closed(tmp_path: Path) -> None:
    embedder = Waiting()

    async def main() -> None:
        memory = await open_memory_async(tmp_path, embedder=embedder)
        saving = asyncio.create_task(memory.core.save(content="User prefers dark mode"))
        while not embedder.asked.is_set():
            await asyncio.sleep(0)
        closing = asyncio.create_task(memory.close())
        await asyncio.sleep(0)
        embedder.may_go_on.set()
        await closing
        assert (await saving)["version"] == 1
        with pytest.raises(RuntimeError, match="This memory is closed"):
            await memory.core.stats()

    asyncio.run(main())
