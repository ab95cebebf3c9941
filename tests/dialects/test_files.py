"""files: the memory tool of the Claude API, command by command; its history, undo, search, sizes and hostile paths.

The cases about commands and answers are those of the Anthropic SDK for Python (anthropics/anthropic-sdk-python,
tests/lib/tools/memory_tools/test_filesystem.py), apart from those about symlinks and modes, which
memories don't have, and a file of a million lines, which is too large here.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from clock import SettableClock
from steeltrap.engine import files as engine
from steeltrap.engine.exchange_file import decode
from steeltrap.invoke import Door
from steeltrap.model import MAX_FILE_BYTES, Caller, UserRef
from steeltrap.text.limits import file_id

Ask = Callable[..., Any]
FILE = "/memories/file.txt"


@pytest.fixture
def memory(ana: Ask) -> Ask:
    """The tool in Ana's hands: the text of an answer."""

    def run(command: str, **arguments: Any) -> str:
        result = ana("files.memory", command=command, **arguments)
        assert result.error is None, result.error
        return str(result.body)

    return run


@pytest.fixture
def refused(ana: Ask) -> Ask:
    """The same, for what must fail: the sentence that the model reads."""

    def run(command: str, **arguments: Any) -> str:
        result = ana("files.memory", command=command, **arguments)
        assert result.error is not None, result.body
        assert isinstance(result.body, str), "an error is a text for the model"
        return result.body

    return run


def text_of(memory: Ask, path: str = FILE) -> str:
    lines = memory("view", path=path).split("\n")[1:]
    return "\n".join(line.split("\t", 1)[1] for line in lines)


# Commands and answers


def test_a_file_is_created_with_its_directories(memory: Ask) -> None:
    path = "/memories/deep/nested/file.txt"
    assert memory("create", path=path, file_text="Nested file") == f"File created successfully at: {path}"
    assert text_of(memory, path) == "Nested file"


def test_a_file_that_exists_is_not_created_again(memory: Ask, refused: Ask) -> None:
    memory("create", path=FILE, file_text="Original")
    assert refused("create", path=FILE, file_text="New") == f"File {FILE} already exists"
    assert refused("create", path="/memories", file_text="New") == "File /memories already exists"
    memory("create", path="/memories/dir/a", file_text="A")
    assert refused("create", path="/memories/dir", file_text="New") == "File /memories/dir already exists"
    assert "is a file" in refused("create", path=f"{FILE}/below", file_text="New")


def test_a_file_is_viewed_with_line_numbers(memory: Ask) -> None:
    memory("create", path=FILE, file_text="Line 1\nLine 2\nLine 3\nLine 4")
    head = f"Here's the content of {FILE} with line numbers:\n"
    assert memory("view", path=FILE) == head + "     1\tLine 1\n     2\tLine 2\n     3\tLine 3\n     4\tLine 4"
    assert memory("view", path=FILE, view_range=[2, 3]) == head + "     2\tLine 2\n     3\tLine 3"
    assert memory("view", path=FILE, view_range=[4, -1]) == head + "     4\tLine 4"
    assert memory("view", path=FILE, view_range=["0", 1]) == head + "     1\tLine 1"
    assert memory("view", path=FILE, view_range=[4, 99]) == head + "     4\tLine 4"


@pytest.mark.parametrize("lines", [[3, 2], [5, 6], [5, -1], [1, -2]])
def test_a_range_without_a_line_is_refused_with_the_number_of_lines(
    memory: Ask, refused: Ask, lines: list[int]
) -> None:
    memory("create", path=FILE, file_text="1\n2\n3\n4")
    assert refused("view", path=FILE, view_range=lines) == (
        f"Invalid `view_range` parameter: {lines}. It should be [start, end] with 1 <= start <= end, and the file has "
        "4 lines; an `end` of -1 is the last one."
    )


def test_a_directory_is_listed_two_levels_deep_with_sizes_and_without_hidden_items(memory: Ask) -> None:
    for path, size in {
        "b.txt": 0,
        "a/x.md": 1536,
        "a/c/deep/er.txt": 2048,
        ".hidden/x": 5,
        "a/.x": 5,
        "é 2.md": 5,
    }.items():
        memory("create", path=f"/memories/{path}", file_text="x" * size)
    assert memory("view", path="/memories").split("\n") == [
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:",
        "3.5K\t/memories",
        "3.5K\t/memories/a/",
        "2K\t/memories/a/c/",
        "1.5K\t/memories/a/x.md",
        "0B\t/memories/b.txt",
        "5B\t/memories/é 2.md",
    ]
    assert memory("view", path="/memories/a/c/").split("\n")[1:] == [
        "2K\t/memories/a/c",
        "2K\t/memories/a/c/deep/",
        "2K\t/memories/a/c/deep/er.txt",
    ]
    assert text_of(memory, "/memories/.hidden/x") == "xxxxx"


def test_an_empty_memory_has_its_root(memory: Ask) -> None:
    assert memory("view", path="/memories").endswith(":\n0B\t/memories")


def test_a_path_without_a_file_is_named(refused: Ask) -> None:
    missing = "/memories/nonexistent.txt"
    advice = f"The path {missing} does not exist. Please provide a valid path."
    assert refused("view", path=missing) == advice
    assert refused("str_replace", path=missing, old_str="old", new_str="new") == advice
    assert refused("insert", path=missing, insert_line=0, insert_text="text") == advice
    assert refused("delete", path=missing) == f"The path {missing} does not exist"
    assert refused("rename", old_path=missing, new_path="/memories/new.txt") == f"The path {missing} does not exist"


def test_a_text_that_is_there_once_is_replaced(memory: Ask) -> None:
    memory("create", path=FILE, file_text="Line 1\nOld Text\nLine 3\nLine 4\nLine 5")
    assert memory("str_replace", path=FILE, old_str="Old Text", new_str="New Text") == (
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        "     1\tLine 1\n     2\tNew Text\n     3\tLine 3\n     4\tLine 4"
    )
    assert text_of(memory) == "Line 1\nNew Text\nLine 3\nLine 4\nLine 5"


def test_a_text_that_is_not_there_once_is_not_replaced(memory: Ask, refused: Ask) -> None:
    memory("create", path=FILE, file_text="Hello\nMiddle\nHello")
    assert refused("str_replace", path=FILE, old_str="NotFound", new_str="x") == (
        f"No replacement was performed, old_str `NotFound` did not appear verbatim in {FILE}."
    )
    assert refused("str_replace", path=FILE, old_str="Hello", new_str="Hi") == (
        "No replacement was performed. Multiple occurrences of old_str `Hello` in lines: 1, 3. "
        "Please ensure it is unique"
    )
    assert "must not be empty" in refused("str_replace", path=FILE, old_str="", new_str="Hi")
    assert text_of(memory) == "Hello\nMiddle\nHello"


@pytest.mark.parametrize(
    ("line", "expected"),
    [(0, "New\nLine 1\nLine 2\n"), (1, "Line 1\nNew\nLine 2\n"), (2, "Line 1\nLine 2\nNew\n")],
)
def test_a_text_is_inserted_after_a_line(memory: Ask, line: int, expected: str) -> None:
    memory("create", path=FILE, file_text="Line 1\nLine 2")
    answer = memory("insert", path=FILE, insert_line=line, insert_text="New\n")
    assert answer == f"The file {FILE} has been edited."
    assert text_of(memory) == expected


def test_a_line_that_is_not_there_is_refused(memory: Ask, refused: Ask) -> None:
    memory("create", path=FILE, file_text="Line 1\nLine 2")
    for line in (10, -1):
        assert refused("insert", path=FILE, insert_line=line, insert_text="x") == (
            f"Invalid `insert_line` parameter: {line}. It should be within the range [0, 2]."
        )


def test_only_a_file_is_edited(memory: Ask, refused: Ask) -> None:
    memory("create", path="/memories/dir/a", file_text="A")
    assert (
        refused("insert", path="/memories/dir", insert_line=0, insert_text="x")
        == "The path /memories/dir is not a file."
    )


def test_a_file_and_a_directory_are_deleted(memory: Ask, refused: Ask) -> None:
    for path in (FILE, "/memories/sub/a.txt", "/memories/sub/deeper/b.txt", "/memories/sub2/c.txt"):
        memory("create", path=path, file_text="x")
    assert memory("delete", path=FILE) == f"Successfully deleted {FILE}"
    assert memory("delete", path="/memories/sub") == "Successfully deleted /memories/sub"
    assert memory("view", path="/memories").endswith("1B\t/memories/sub2/\n1B\t/memories/sub2/c.txt")
    assert refused("delete", path="/memories") == "Cannot delete the /memories directory itself"


def test_a_file_and_a_directory_are_renamed(memory: Ask) -> None:
    memory("create", path="/memories/sub/a.txt", file_text="A")
    memory("create", path="/memories/sub/b/c.txt", file_text="C")
    new = "/memories/nested/dir"
    assert memory("rename", old_path="/memories/sub", new_path=new) == f"Successfully renamed /memories/sub to {new}"
    assert (text_of(memory, f"{new}/a.txt"), text_of(memory, f"{new}/b/c.txt")) == ("A", "C")
    assert memory("view", path="/memories").count("sub") == 0
    memory("rename", old_path=f"{new}/a.txt", new_path=FILE)
    assert text_of(memory) == "A"


def test_nothing_is_renamed_onto_another_or_below_itself(memory: Ask, refused: Ask) -> None:
    memory("create", path="/memories/a/1.txt", file_text="1")
    memory("create", path="/memories/2.txt", file_text="2")
    taken = refused("rename", old_path="/memories/2.txt", new_path="/memories/a/1.txt")
    assert taken == "The destination /memories/a/1.txt already exists"
    assert "already exists" in refused("rename", old_path="/memories/2.txt", new_path="/memories/a")
    assert "below itself" in refused("rename", old_path="/memories/a", new_path="/memories/a/b")
    assert "Cannot rename" in refused("rename", old_path="/memories", new_path="/memories/all")


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/invalid/path.txt", "Path must start with /memories, got: /invalid/path.txt"),
        ("/memoriesX/a", "Path must start with /memories, got: /memoriesX/a"),
        ("memories/a", "Path must start with /memories, got: memories/a"),
        ("/memories/../../../etc/passwd", "Path /memories/../../../etc/passwd would escape /memories directory"),
        ("/memories/a\nb", "A path has no line breaks or other control characters; leave them out."),
        ("/memories/" + "x/" * 21, "A path has at most 1,024 bytes and 20 levels; use a shorter one."),
        ("/memories/" + "é" * 600, "A path has at most 1,024 bytes and 20 levels; use a shorter one."),
    ],
)
def test_a_path_that_leads_out_or_is_too_long_is_refused(refused: Ask, path: str, sentence: str) -> None:
    assert refused("create", path=path, file_text="x") == sentence


def test_two_forms_of_a_path_are_one_file(memory: Ask) -> None:
    memory("create", path="/memories//a/./b/../cafe\u0301.txt", file_text="x")
    assert text_of(memory, "/memories/a/café.txt") == "x"


def test_names_that_no_scope_has_are_kept_apart(memory: Ask) -> None:
    names = ["my notes.v1", "my_notes_v1", "my+notes.v1", "🫖", "🍵"]
    for name in names:
        memory("create", path=f"/memories/{name}/a.txt", file_text=name)
    for name in names:
        assert memory("view", path=f"/memories/{name}").count("\n") == 2
    memory("delete", path="/memories/my notes.v1")
    assert text_of(memory, "/memories/my_notes_v1/a.txt") == "my_notes_v1"


def test_arguments_of_another_command_and_missing_ones_are_refused(refused: Ask) -> None:
    assert refused("create", path=FILE) == "`create` needs `path`, `file_text`; `file_text` is missing."
    assert refused("delete", path=FILE, file_text="x") == "`delete` takes `path`; leave out `file_text`."
    assert "`command`" in refused("move", path=FILE)


# Files are memories


def test_a_file_is_found_by_search_in_its_scope_and_answers_other_toolsets(memory: Ask, ana: Ask) -> None:
    memory("create", path="/memories/people/ana.md", file_text="Ana keeps herons.")
    [hit] = ana("core.search", query="herons", scope="memories", include_child_scopes=True).body["results"]
    assert (hit["scope"], hit["metadata"]) == ("memories/people", {"path": "/memories/people/ana.md"})
    assert "Ana keeps herons." in ana("agent.recall", query="herons").body
    ana("core.update", id=hit["id"], content="Ana keeps storks.")
    assert text_of(memory, "/memories/people/ana.md") == "Ana keeps storks."


def test_an_edit_keeps_the_earlier_text_and_can_be_undone(memory: Ask, ana: Ask) -> None:
    memory("create", path=FILE, file_text="one")
    memory("str_replace", path=FILE, old_str="one", new_str="two")
    [file] = ana("core.list", scope="memories").body["memories"]
    assert [each["memory"]["content"] for each in ana("core.history", id=file["id"]).body["revisions"]] == [
        "one",
        "two",
    ]
    ana("core.undo", id=file["id"])
    assert text_of(memory) == "one"


def test_a_deleted_tree_comes_back_whole(memory: Ask, ana: Ask) -> None:
    paths = [f"/memories/tree/{name}" for name in ("a", "b/c", "b/d/e")]
    for path in paths:
        memory("create", path=path, file_text=path)
    before = memory("view", path="/memories")
    memory("delete", path="/memories/tree")
    for deleted in ana("core.list", deleted=True).body["memories"]:
        ana("core.undo", id=deleted["id"])
    assert memory("view", path="/memories") == before
    assert [text_of(memory, path) for path in paths] == paths


def test_a_new_file_takes_over_the_place_and_the_history_of_a_deleted_one(memory: Ask, ana: Ask) -> None:
    memory("create", path=FILE, file_text="first")
    memory("delete", path=FILE)
    memory("create", path=FILE, file_text="second")
    [file] = ana("core.list").body["memories"]
    assert ana("core.search", query="first", mode="keyword").body["results"] == []
    assert ana("core.search", query="second").body["results"][0]["content"] == "second"
    ana("core.undo", id=file["id"])
    assert text_of(memory) == "first"


def test_undo_leaves_a_file_in_its_directory_also_where_its_id_was_a_memory_elsewhere(memory: Ask, ana: Ask) -> None:
    id = file_id(FILE)
    ana("core.put", items=[{"id": id, "content": "the heron waits", "scope": "work"}])
    ana("core.delete", id=id)
    memory("create", path=FILE, file_text="the heron flies")
    restored = ana("core.undo", id=id).body
    assert (restored["content"], restored["scope"]) == ("the heron waits", "memories")
    assert "file.txt" in memory("view", path="/memories")
    assert text_of(memory) == "the heron waits"


def test_undo_leaves_a_memory_that_became_a_file_in_its_directory(memory: Ask, ana: Ask) -> None:
    id = file_id(FILE)
    ana("core.put", items=[{"id": id, "content": "the heron waits", "scope": "work"}])
    ana("core.update", id=id, content="the heron flies", metadata={"path": FILE}, scope="memories")
    assert "file.txt" in memory("view", path="/memories")
    restored = ana("core.undo", id=id).body
    assert (restored["content"], restored["scope"]) == ("the heron waits", "memories")
    assert "file.txt" in memory("view", path="/memories")


def test_what_was_deleted_too_long_ago_is_no_history(memory: Ask, ana: Ask, clock: SettableClock) -> None:
    memory("create", path=FILE, file_text="first")
    memory("delete", path=FILE)
    clock.advance(days=31)
    memory("create", path=FILE, file_text="second")
    [file] = ana("core.list").body["memories"]
    assert (file["version"], len(ana("core.history", id=file["id"]).body["revisions"])) == (1, 1)


def test_files_without_text_keep_their_white_space(memory: Ask, ana: Ask) -> None:
    for text in ("", "\n", " \n\t"):
        memory("create", path=FILE, file_text=text)
        assert text_of(memory) == text
        memory("insert", path=FILE, insert_line=0, insert_text="said")
        assert text_of(memory).startswith("said\n")
        memory("str_replace", path=FILE, old_str=text_of(memory), new_str="")
        assert text_of(memory) == ""
        memory("delete", path=FILE)


def test_two_users_have_two_memories(memory: Ask, agent: Ask) -> None:
    memory("create", path=FILE, file_text="Ana's")
    ben = agent("ben")
    assert ben("files.memory", command="view", path="/memories").body.endswith("0B\t/memories")
    assert ben("files.memory", command="view", path=FILE).error is not None
    assert ben("files.memory", command="create", path=FILE, file_text="Ben's").error is None
    assert text_of(memory) == "Ana's"


def test_an_export_brings_the_files_to_another_user(memory: Ask, ana: Ask, agent: Ask) -> None:
    memory("create", path=FILE, file_text="long " * 20_000)
    ben = agent("ben")
    assert ben("core.import", records=ana("core.export").body["records"]).body["written"] == 1
    assert ben("files.memory", command="view", path=FILE).body == memory("view", path=FILE)


def test_an_edit_that_another_overtook_is_made_on_the_new_text(memory: Ask, door: Door, monkeypatch: Any) -> None:
    memory("create", path=FILE, file_text="a b")
    first = engine.commit_edits

    def overtaken(call: Any, edits: Any) -> Any:
        monkeypatch.setattr(engine, "commit_edits", first)
        other = Caller(UserRef("ana"), "other")
        door.invoke("files.memory", {"command": "str_replace", "path": FILE, "old_str": "a", "new_str": "A"}, other)
        return first(call, edits)

    monkeypatch.setattr(engine, "commit_edits", overtaken)
    memory("str_replace", path=FILE, old_str="b", new_str="B")
    assert text_of(memory) == "A B"


def test_a_file_that_another_created_in_between_is_kept(
    memory: Ask, refused: Ask, door: Door, monkeypatch: Any
) -> None:
    first = engine.creations

    def overtaken(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(engine, "creations", first)
        other = Caller(UserRef("ana"), "other")
        door.invoke("files.memory", {"command": "create", "path": FILE, "file_text": "theirs"}, other)
        return first(*arguments, **named)

    monkeypatch.setattr(engine, "creations", overtaken)
    assert refused("create", path=FILE, file_text="mine") == f"File {FILE} already exists"
    assert text_of(memory) == "theirs"


def test_a_repeated_call_under_one_key_creates_once(door: Door) -> None:
    ana = Caller(UserRef("ana"), "assistant")
    arguments = {"command": "create", "path": FILE, "file_text": "once"}
    answers = [door.invoke("files.memory", arguments, ana, idempotency_key="k").body for _ in range(2)]
    assert answers == [f"File created successfully at: {FILE}"] * 2


def test_a_secret_is_replaced_and_the_answer_says_so(memory: Ask, refused: Ask) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    answer = memory("create", path=FILE, file_text=f"token: {key}")
    assert answer.startswith(f"File created successfully at: {FILE}\n1 secret was replaced")
    assert key not in text_of(memory)
    assert "looks like a secret" in refused("create", path=f"/memories/{key}", file_text="x")


# Long files


def test_a_file_has_up_to_128_kib(memory: Ask, refused: Ask) -> None:
    memory("create", path=FILE, file_text="x" * (MAX_FILE_BYTES - 1))
    assert "Split it into several files" in refused("insert", path=FILE, insert_line=1, insert_text="more")


def test_other_toolsets_write_32_kib_and_show_the_best_part_of_a_long_file(memory: Ask, ana: Ask) -> None:
    lines = [f"Line {number} says nothing new." for number in range(2_000)]
    lines[1_500] = "The heron nests behind the old mill."
    memory("create", path=FILE, file_text="\n".join(lines))
    assert ana("core.save", content="x" * 33_000).error is not None
    [hit] = ana("core.search", query="heron nests mill").body["results"]
    assert "The heron nests behind the old mill." in hit["content"]
    assert (len(hit["content"]) < 700, hit["left_out"] > 10_000, hit["metadata"]) == (True, True, {"path": FILE})
    for tool, field in (("records.memory_search", "content"), ("notes.memory_search", "text")):
        body = ana(tool, query="heron nests mill").body
        [found] = body if isinstance(body, list) else body["results"]
        assert "The heron nests behind the old mill." in found[field]
        assert len(found[field]) < 700
    for tool in ("core.list", "records.memory_list", "associative.memory_list_all", "agent.recent_memories"):
        arguments = {"response_level": "full"} if tool.startswith("associative") else {}
        assert len(json.dumps(ana(tool, **arguments).body)) < 12_000, tool
    assert len(ana("core.get", id=hit["id"]).body["content"]) == len("\n".join(lines))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("core.update", {"scope": "work"}),
        ("core.update", {"metadata": {"path": "/memories/other.txt"}}),
        ("core.update", {"metadata": {"path": None}}),
        ("core.put", {"content": "whole in its place"}),
    ],
)
def test_no_other_toolset_takes_a_file_out_of_its_directory(
    memory: Ask, ana: Ask, tool: str, arguments: dict[str, Any]
) -> None:
    memory("create", path="/memories/d/a.md", file_text="the otter")
    listing = memory("view", path="/memories/d")
    [file] = ana("core.list").body["memories"]
    item = {"id": file["id"], **arguments}
    result = ana(tool, **({"items": [item]} if tool == "core.put" else item))
    assert result.error.code == "invalid_input"
    assert "is the file /memories/d/a.md" in result.error.message
    assert memory("view", path="/memories/d") == listing
    assert ana("core.update", id=file["id"], scope=file["scope"], metadata={"by": "Ana"}).error is None


def test_no_other_toolset_makes_a_file_out_of_its_directory(memory: Ask, ana: Ask) -> None:
    memory("create", path="/memories/d/a.md", file_text="the otter")
    [file] = ana("core.list").body["memories"]
    ana("core.forget", id=file["id"])
    item = {"id": file["id"], "content": "the heron", "metadata": {"path": "/memories/d/a.md"}}
    result = ana("core.put", items=[item])
    assert result.error.code == "invalid_input"
    assert "whose scope is memories/d" in result.error.message
    assert ana("core.put", items=[{**item, "scope": "memories/d"}]).error is None
    assert "a.md" in memory("view", path="/memories/d")


def test_a_move_between_scopes_leaves_files_where_they_are(memory: Ask, ana: Ask) -> None:
    memory("create", path="/memories/d/a.md", file_text="the otter")
    [file] = ana("core.list").body["memories"]
    other = ana("core.save", content="the heron").body["id"]
    body = ana("core.move", ids=[file["id"], other], scope="work").body
    assert body["moved"] == [other]
    assert "command `rename`" in body["failed"][0]["message"]
    assert "a.md" in memory("view", path="/memories")


def test_a_file_that_is_imported_under_a_scope_is_listed_at_its_path(memory: Ask, ana: Ask) -> None:
    memory("create", path="/memories/d/a.md", file_text="the otter")
    ana("associative.memory_sync", operation="export", file_path="all.json")
    [file] = ana("core.list").body["memories"]
    ana("core.forget", id=file["id"])
    assert ana("associative.memory_sync", operation="import", file_path="all.json", scope="work").error is None
    assert "a.md" in memory("view", path="/memories/d")


def test_a_file_whose_record_names_another_scope_is_imported_at_its_path(memory: Ask, ana: Ask) -> None:
    memory("create", path="/memories/d/a.md", file_text="the otter")
    [file] = ana("core.list").body["memories"]
    exported = ana("associative.memory_sync", operation="export", file_path="all.json", response_level="full")
    assert exported.error is None
    ana("core.forget", id=file["id"])
    changed = {"memory_id": file["id"], "content": "x", "scope": "git/secret", "metadata": file["metadata"]}
    moved = decode([changed], prefix="work", now=datetime.now(UTC))
    assert [item.memory.scope for item in moved] == ["memories/d"]


def test_a_copy_of_a_file_under_another_id_comes_under_the_scope_of_its_import(memory: Ask, ana: Ask) -> None:
    memory("create", path="/memories/d/a.md", file_text="the otter")
    ana("associative.memory_sync", operation="export", file_path="all.json")
    memory("str_replace", path="/memories/d/a.md", old_str="the otter", new_str="the heron")
    arguments = {"operation": "import", "file_path": "all.json", "scope": "work", "merge_strategy": "create_versions"}
    assert ana("associative.memory_sync", **arguments).error is None
    scopes = {each["content"]: each["scope"] for each in ana("core.list").body["memories"]}
    assert scopes == {"the heron": "memories/d", "the otter": "work/memories/d"}


@pytest.mark.parametrize("text", [" " * MAX_FILE_BYTES, "\n" * 20_000])
def test_a_file_of_too_much_white_space_is_refused_by_what_is_wrong_with_it(refused: Ask, text: str) -> None:
    sentence = refused("create", path=FILE, file_text=text)
    assert f"{FILE} would be {len(text):,} bytes of white space and nothing else" in sentence
