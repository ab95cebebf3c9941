"""The types of the tools as Python calls, as editors and type checkers see them, are true."""

import io
import pydoc
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

import pytest
from docs.stub import STUB
from pydantic import ConfigDict, TypeAdapter

from embedding import HashedWords
from steeltrap.client.in_process import open_memory
from steeltrap.toolsets import CATALOGUE
from surfaces.callers import ROOT
from surfaces.scenarios import SCENARIOS

GOOD = """
from datetime import UTC, datetime

from steeltrap import open_memory

with open_memory("data") as memory:
    saved = memory.core.save(content="Ana likes tea.", tags=("drinks",), occurred_at=datetime.now(UTC))
    version: int = saved["version"]
    memory.core.batch_save(items=[{"content": "Ana likes tea."}], on_error="continue")
    for hit in memory.core.search(query="tea")["results"]:
        text: str = hit["content"]
    memory.core.import_(records=[{"content": "Ana likes coffee."}])
    listed: str = memory.categories.list_memories(category="fact")
    memory.as_user("bob").notes.memory_search(query="tea")[0]["text"].upper()
"""

GOOD_ASYNC = """
from steeltrap import open_memory_async

async def main() -> None:
    async with open_memory_async("data") as memory:
        saved = await memory.core.save(content="Ana likes tea.", tags=("drinks",))
        version: int = saved["version"]
        for hit in (await memory.core.search(query="tea"))["results"]:
            text: str = hit["content"]
        (await memory.as_user("bob").notes.memory_search(query="tea"))[0]["text"].upper()
    again = await open_memory_async()
    await again.close()
"""

BAD = {
    "memory.core.sav(contnt=1)": '"Core" has no attribute "sav"',
    "memory.cor": '"Memory" has no attribute "cor"',
    'memory.core.save(contnt="x")': 'Unexpected keyword argument "contnt" for "save" of "Core"',
    "memory.core.save()": 'Missing named argument "content"',
    "memory.core.save(content=1)": 'Argument "content" to "save" of "Core" has incompatible type "int"',
    'memory.core.save("Ana likes tea.")': "Too many positional arguments",
    'memory.core.save(content="x", tier="forever")': 'Argument "tier" to "save" of "Core" has incompatible type',
    'memory.core.save(content="x")["ID"]': 'TypedDict "CoreSavedView" has no key "ID"',
    'memory.core.batch_save(items=[{"contnt": "x"}])': 'Extra key "contnt" for TypedDict "CoreMemoryInput"',
}


def mypy(*arguments: str) -> str:
    """mypy's output for some files, by the project's own settings."""
    command = [sys.executable, "-m", "mypy", "--no-error-summary", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


@pytest.mark.slow
def test_a_type_checker_takes_right_calls_and_refuses_each_wrong_one(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(GOOD + GOOD_ASYNC)
    bad.write_text("from steeltrap import open_memory\n\nmemory = open_memory()\n" + "\n".join(BAD) + "\n")
    told = mypy(str(good), str(bad)).splitlines()
    errors = [line for line in told if " error: " in line]
    assert [line for line in errors if "bad.py" not in line] == []
    for number, says in enumerate(BAD.values(), 4):
        assert any(f"bad.py:{number}: " in line and says in line for line in errors), "\n".join(told)


@pytest.mark.slow
def test_the_module_beside_its_types_is_checked_too() -> None:
    assert mypy("shared/steeltrap/client/in_process.py", "shared/steeltrap/client/in_loop.py") == ""


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The types as a module, whose dictionaries may be validated: no key too few or too many, nothing converted."""
    module = ModuleType("steeltrap.client.in_process_types")
    module.__package__ = "steeltrap.client"
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile("from __future__ import annotations\n" + STUB.read_text(), str(STUB), "exec"), module.__dict__)
    for each in vars(module).values():
        if hasattr(each, "__required_keys__"):
            each.__pydantic_config__ = ConfigDict(extra="forbid", strict=True)
    return module


@pytest.mark.parametrize("toolset", SCENARIOS)
def test_every_answer_is_of_the_type_that_the_types_say(declared: Any, tmp_path: Path, toolset: str) -> None:
    with open_memory(tmp_path, conversation="chat-1", embedder=HashedWords()) as memory:

        def run(tool: str, **arguments: Any) -> Any:
            name = "import_" if CATALOGUE.tool(tool).name == "import" else CATALOGUE.tool(tool).name
            answer = getattr(getattr(memory, toolset), name)(**arguments)
            hints = get_type_hints(getattr(getattr(declared, toolset.title()), name))
            TypeAdapter(hints["return"]).validate_python(answer)
            assert arguments.keys() <= hints.keys()
            return answer

        SCENARIOS[toolset](run)


def test_help_shows_a_tools_parameters_and_what_it_does(tmp_path: Path) -> None:
    with open_memory(tmp_path, embedder=HashedWords()) as memory:
        printed = io.StringIO()
        pydoc.Helper(output=printed).help(memory.core.save)
    # Newer Pythons print one parameter per line.
    assert re.search(r"save\(\s*\*,\s*content: str,\s*messages:", printed.getvalue())
    assert "tags: list[str] = []" in printed.getvalue()
    assert "Save one memory: a fact, preference" in printed.getvalue()


@pytest.mark.slow
def test_the_wheel_brings_the_types(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], cwd=ROOT, check=True)
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert {"steeltrap/py.typed", "steeltrap/client/in_process.pyi"} <= set(archive.namelist())
        assert archive.read("steeltrap/client/in_process.pyi") == STUB.read_bytes()
