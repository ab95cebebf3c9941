"""Anthropic's memory tool: the cases of its SDK, runs of a scripted Claude, users, failures.

The cases are the calls of the Anthropic SDK's own tests (anthropics/anthropic-sdk-python,
tests/lib/tools/memory_tools/test_filesystem.py at 009b0353, MIT licence), with a view in place of each look at the
disk. Each is run on the tool for files that the installed SDK ships, and on ours: the answers and the errors are the
same. Left out are those about symlinks and modes, which memories don't have, and a file of a million lines, which is
too large here.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anthropic.lib.tools", reason="anthropic is not installed")

from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import ToolError
from anthropic.tools import BetaLocalFilesystemMemoryTool

from integrations.modules import is_lazy, run_page
from integrations.scripted_claude import Script, claude, says, uses
from integrations.seams import Seam
from integrations.seams import seam as opened
from steeltrap.errors import Unavailable
from steeltrap.integrations.anthropic import SteeltrapAsyncMemoryTool, SteeltrapMemoryTool
from steeltrap.invoke import Door

Command = dict[str, Any]
FILE = "/memories/file.txt"


def create(path: str, text: str) -> Command:
    return {"command": "create", "path": path, "file_text": text}


def view(path: str, *lines: int) -> Command:
    return {"command": "view", "path": path, **({"view_range": list(lines)} if lines else {})}


def replace(path: str, old: str, new: str) -> Command:
    return {"command": "str_replace", "path": path, "old_str": old, "new_str": new}


def insert(path: str, line: int, text: str) -> Command:
    return {"command": "insert", "path": path, "insert_line": line, "insert_text": text}


def delete(path: str) -> Command:
    return {"command": "delete", "path": path}


def rename(old: str, new: str) -> Command:
    return {"command": "rename", "old_path": old, "new_path": new}


TWO = create(FILE, "Line 1\nLine 2")
NESTED = "/memories/deep/nested/file.txt"
CASES: dict[str, list[Command]] = {
    "create": [create(FILE, "Hello, World!"), view(FILE)],
    "create nested directories": [create(NESTED, "Nested file"), view(NESTED)],
    "create error if file already exists": [create(FILE, "Original"), create(FILE, "New"), view(FILE)],
    "view file": [create(FILE, "Line 1\nLine 2\nLine 3"), view(FILE)],
    "view directory": [create("/memories/dir/f1", "File 1"), create("/memories/dir/f2", "2"), view("/memories/dir")],
    "view file with range": [create(FILE, "1\n2\n3\n4\n5"), view(FILE, 2, 4), view(FILE, 3, -1)],
    "view error for non existent file": [view("/memories/nonexistent.txt")],
    "str replace": [create(FILE, "Line 1\nOld Text\nLine 3"), replace(FILE, "Old Text", "New Text"), view(FILE)],
    "str replace error when string not found": [create(FILE, "Hello"), replace(FILE, "NotFound", "x"), view(FILE)],
    "str replace error when string appears multiple times": [
        create(FILE, "Hello\nMiddle\nHello"),
        replace(FILE, "Hello", "Hi"),
        view(FILE),
    ],
    "str replace error for non existent file": [replace(FILE, "old", "new")],
    "insert": [TWO, insert(FILE, 1, "Inserted Line"), view(FILE)],
    "insert at beginning of file": [TWO, insert(FILE, 0, "First Line"), view(FILE)],
    "insert at end of file": [TWO, insert(FILE, 2, "Last Line"), view(FILE)],
    "insert error for non existent file": [insert(FILE, 0, "text")],
    "insert error for invalid insert line": [TWO, insert(FILE, 10, "text"), insert(FILE, -1, "text"), view(FILE)],
    "delete": [create(FILE, "To be deleted"), delete(FILE), view(FILE)],
    "delete directory": [create("/memories/sub/file.txt", "Content"), delete("/memories/sub"), view("/memories/sub")],
    "delete error when file not found": [delete("/memories/nonexistent.txt")],
    "delete not allow deleting memories directory": [delete("/memories")],
    "rename": [create(FILE, "Original"), rename(FILE, "/memories/new.txt"), view("/memories/new.txt"), view(FILE)],
    "rename to nested path": [create(FILE, "Content"), rename(FILE, NESTED), view(NESTED)],
    "rename error when source not found": [rename("/memories/nonexistent.txt", "/memories/new.txt")],
    "rename error when destination exists": [
        create("/memories/file1.txt", "File 1"),
        create("/memories/file2.txt", "File 2"),
        rename("/memories/file1.txt", "/memories/file2.txt"),
        view("/memories/file2.txt"),
    ],
    "path validation reject paths not starting with memories": [create("/invalid/path.txt", "Invalid")],
    "path validation reject paths trying to escape memories": [create("/memories/../../../etc/passwd", "Escape")],
}


def told(call: Callable[[Command], Any], commands: list[Command]) -> list[str]:
    """The answer of each command; an error is marked."""
    answers = []
    for command in commands:
        try:
            answers.append(str(call(command)))
        except ToolError as error:
            answers.append(f"error: {error.content}")
    return answers


def without_sizes(answer: str) -> str:
    """A listing without sizes: those of directories are a disk's there, and the sum of their files here."""
    return re.sub(r"^\S+\t", "", answer, flags=re.MULTILINE) if answer.startswith("Here're") else answer


@pytest.mark.parametrize("case", CASES)
def test_the_sdks_own_cases_answer_as_its_tool_for_files_does(case: str, door: Door, tmp_path: Path) -> None:
    theirs = told(BetaLocalFilesystemMemoryTool(str(tmp_path / "disk")).call, CASES[case])
    with opened("in-process", door) as seam:
        ours = told(SteeltrapMemoryTool(seam.client("ana")).call, CASES[case])
    assert [*map(without_sizes, ours)] == [*map(without_sizes, theirs)]


def run(script: Script, tool: SteeltrapMemoryTool) -> str:
    """The last text of a run of Claude with the tool."""
    with Anthropic(base_url=script.url, api_key="test", max_retries=0) as client:
        runner = client.beta.messages.tool_runner(
            model="scripted", max_tokens=100, messages=[{"role": "user", "content": "Hello"}], tools=[tool]
        )
        return "".join(block.text for block in runner.until_done().content if block.type == "text")


def test_claude_writes_a_file_and_reads_it_in_a_later_conversation(seam: Seam) -> None:
    tool = SteeltrapMemoryTool(seam.client("ana"), cache_control={"type": "ephemeral"})
    with claude(uses(**create("/memories/diet.md", "Vegan since March.")), says("I'll remember.")) as first:
        assert run(first, tool) == "I'll remember."
    assert first.requests[0]["tools"] == [
        {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
    ]
    with claude(uses(**view("/memories")), uses(**view("/memories/diet.md")), says("You are vegan.")) as second:
        assert run(second, SteeltrapMemoryTool(seam.client("ana"))) == "You are vegan."
    assert "Vegan since March." in second.results()[0]["content"]
    assert seam.client("ana").core.search(query="vegan")["results"][0]["content"] == "Vegan since March."


def test_claude_reads_what_was_wrong_as_an_error(seam: Seam) -> None:
    wrong = [view("/etc/passwd"), {"command": "view"}, insert(FILE, 0, "x") | {"insert_line": "first"}]
    with claude(*(uses(**each) for each in wrong), says("I see.")) as script:
        run(script, SteeltrapMemoryTool(seam.client("ana")))
    results = [block for request in script.requests[1:] for block in request["messages"][-1]["content"]]
    assert all(result["is_error"] for result in results)
    sentences = ["Path must start with /memories", "`view` needs `path`", "insert_line"]
    for result, sentence in zip(results, sentences, strict=True):
        assert sentence in str(result["content"])


def test_numbers_may_come_as_texts(seam: Seam) -> None:
    tool = SteeltrapMemoryTool(seam.client("ana"))
    tool.call(TWO)
    tool.call({**insert(FILE, 0, "First"), "insert_line": "1"})
    assert str(tool.call({**view(FILE), "view_range": ["2", "2"]})).endswith("     2\tFirst")


def test_in_asyncio_the_same(seam: Seam) -> None:
    tool = SteeltrapAsyncMemoryTool(seam.client("ana"))

    async def converse(script: Script) -> Any:
        async with AsyncAnthropic(base_url=script.url, api_key="test", max_retries=0) as client:
            runner = client.beta.messages.tool_runner(
                model="scripted", max_tokens=100, messages=[{"role": "user", "content": "Hello"}], tools=[tool]
            )
            return await runner.until_done()

    with claude(uses(**TWO), uses(**view(FILE)), says("Done.")) as script:
        seam.run(converse(script))
    assert "Line 2" in script.results()[0]["content"]
    commands = [insert(FILE, 0, "0"), replace(FILE, "Line 1", "1"), rename(FILE, NESTED), delete("/memories/deep")]
    assert not any(answer.startswith("error") for answer in told(lambda each: seam.run(tool.call(each)), commands))
    with pytest.raises(ToolError, match="does not exist"):
        seam.run(tool.call(view(NESTED)))
    seam.run(tool.call(TWO))
    assert seam.run(tool.clear_all_memory()) == "All memory cleared"
    with pytest.raises(ToolError, match="does not exist"):
        seam.run(tool.call(view(FILE)))


def test_all_that_is_cleared_can_be_brought_back(seam: Seam) -> None:
    client = seam.client("ana")
    tool = SteeltrapMemoryTool(client)
    paths = [FILE, NESTED, "/memories/deep/other.txt", "/memories/.hidden", "/memories/a name with spaces.md"]
    for path in paths:
        tool.call(create(path, f"In {path}"))
    client.core.save(content="Ana lives in Porto.", scope="memories", metadata={"path": "/memories/no-file.txt"})
    SteeltrapMemoryTool(seam.client("bob")).call(create(FILE, "Bob's"))
    assert tool.clear_all_memory() == "All memory cleared"
    assert "0B\t/memories" in str(tool.call(view("/memories")))
    assert all(answer.startswith("error") for answer in told(tool.call, [view(path) for path in paths]))
    assert client.core.list()["total"] == 1, "a memory that is no file stays"
    assert "Bob's" in str(SteeltrapMemoryTool(seam.client("bob")).call(view(FILE)))
    for row in client.core.list(deleted=True)["memories"]:
        client.core.undo(id=row["id"])
    assert f"In {NESTED}" in str(tool.call(view(NESTED)))


def test_an_outage_is_no_empty_directory(seam: Seam) -> None:
    tool = SteeltrapMemoryTool(seam.client("ana"))
    seam.store.is_broken = True
    for call in (lambda: tool.call(view("/memories")), lambda: tool.call(TWO), tool.clear_all_memory):
        with pytest.raises(ToolError, match="does not answer") as raised:
            call()
        assert isinstance(raised.value.__cause__, Unavailable)


def test_the_code_on_the_page_runs(tmp_path: Path) -> None:
    with claude(
        uses(**view("/memories")), uses(**create("/memories/diet.md", "Vegan since March.")), says("Noted.")
    ) as script:
        settings = {"ANTHROPIC_BASE_URL": script.url, "ANTHROPIC_API_KEY": "test", "NO_PROXY": "127.0.0.1"}
        done = run_page("anthropic.md", tmp_path, **settings)
    assert done.returncode == 0, done.stderr
    assert len(script.requests) == 3


def test_nothing_of_anthropic_is_imported_until_asked_for() -> None:
    assert is_lazy("anthropic", "anthropic")
