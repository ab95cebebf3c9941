"""import: wrong, damaged and hostile files."""

import json
import os
import zipfile

import pytest

from cli import exports
from steeltrap.importers import documents

CHAT = [exports.chatgpt("c1", "I moved to Lisbon in March.", "How do you like it?")]


def stored(run):
    return [json.loads(line) for line in run("export", "-").stdout.splitlines()]


def refused(run, path, *options):
    """The one sentence with which an import is refused; nothing is stored."""
    result = run("import", path, *options)
    assert (result.exit_code, result.stdout) == (2, ""), result.stderr
    assert result.stderr.count("\n") == 1
    assert stored(run) == []
    return result.stderr.strip()


def test_a_format_that_is_wrongly_named_is_told_by_what_the_file_looks_like(run, tmp_path):
    path = exports.as_json(tmp_path / "c.json", CHAT)
    assert refused(run, path, "--format", "mem0") == (
        "c.json looks like a ChatGPT export, not memories of mem0. Leave --format out, or give --format chatgpt."
    )
    assert "No format is called 'gpt'. Did you mean chatgpt? There are: chatgpt, claude-ai, mem0" in refused(
        run, path, "--format", "gpt"
    )
    (tmp_path / "x.bin").write_bytes(b"\x00\x01")
    assert refused(run, tmp_path / "x.bin", "--format", "csv") == "x.bin does not look like a table (CSV)."


def test_a_format_decides_where_a_text_could_be_any(run, tmp_path):
    (tmp_path / "facts").write_text("- One\n- Two\n")
    assert "is of no known format" in refused(run, tmp_path / "facts")
    assert run("import", tmp_path / "facts", "--format", "markdown", "--split", "bullets").exit_code == 0
    assert [record["content"] for record in stored(run)] == ["One", "Two"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("empty.json", b"", "empty.json is empty."),
        ("a.json", b'{"a": 1}', "a.json is of no known format. import takes a ChatGPT export, a Claude.ai export"),
        ("a.json", b'[{"mapping": {"x"', "a.json:1: the file ends in the middle of this item."),
        ("a.zip", b"PK\x03\x04 cut off", "a.zip is a damaged or incomplete ZIP archive. Download it again."),
        ("a.db", b"SQLite format 3\x00" + bytes(200), "a.db can't be read further: it is no SQLite database, or it is"),
        ("a.exe", b"MZ\x00\x00", "a.exe is of no known format."),
        ("a.txt", b"text \x00 text", "a.txt is no text."),
        ("a.txt", "\ufeffodd".encode("utf-16-le") + b"\x00", "is not valid UTF-16 after that. Save it as UTF-8."),
    ],
)
def test_a_wrong_file_is_refused_in_a_sentence(run, tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    assert sentence in refused(run, tmp_path / name)


def test_a_zip_bomb_is_not_read(run, tmp_path):
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as whole:
        whole.writestr("conversations.json", b" " * (32 * 1024 * 1024))
        whole.writestr("good.json", json.dumps(CHAT))
    result = run("import", path)
    assert result.exit_code == 6
    assert (
        result.stderr == "conversations.json: the file would unpack to over 200 times its size, as a ZIP bomb does.\n"
    )
    assert "2 written" in result.stdout


def test_an_archive_beyond_the_bounds_is_refused_whole(run, tmp_path, monkeypatch):
    path = exports.as_zip(tmp_path / "a.zip", **{"a.json": CHAT, "b.json": CHAT, "c.json": CHAT})
    monkeypatch.setattr(documents, "MAX_MEMBERS", 2)
    assert refused(run, path) == "a.zip has 3 files; at most 2 are read from an archive."
    monkeypatch.setattr(documents, "MAX_MEMBERS", 3)
    monkeypatch.setattr(documents, "MAX_BYTES", 100)
    assert "would unpack to over" in refused(run, path)


@pytest.mark.parametrize(
    "name", ["../evil.json", "/etc/evil.json", "a/../../evil.json", "..\\evil.json", "C:\\evil.json"]
)
def test_a_path_that_leaves_the_archive_is_not_read_and_nothing_is_unpacked(run, tmp_path, name):
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "a.zip"
    with zipfile.ZipFile(path, "w") as whole:
        whole.writestr(name, json.dumps([exports.chatgpt("evil", "From outside.")]))
        whole.writestr("good.json", json.dumps(CHAT))
    result = run("import", path)
    assert result.exit_code == 6
    assert "the path leads out of the archive, so the file is not read." in result.stderr
    assert "2 written" in result.stdout
    assert sorted(found.name for found in (tmp_path / "in").iterdir()) == ["a.zip"]


def test_an_encrypted_member_is_named(run, tmp_path):
    path = exports.as_zip(tmp_path / "a.zip", **{"conversations.json": CHAT})
    data = bytearray(path.read_bytes())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + flags] |= 1
    path.write_bytes(data)
    result = run("import", path)
    assert "conversations.json: the file is encrypted. Unpack the archive with its password." in result.stderr


def test_what_stands_before_a_damaged_place_of_an_archive_comes_in(run, tmp_path):
    chats = [exports.chatgpt(f"c{n}", os.urandom(2000).hex()) for n in range(200)]
    path = exports.as_zip(tmp_path / "a.zip", **{"conversations.json": chats})
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 2000] = bytes(2000)
    path.write_bytes(data)
    result = run("import", path, "--json")
    assert result.exit_code == 6
    done = json.loads(result.stdout)
    assert 50 < done["written"] < 150
    assert "conversations.json" in done["errors"][0]["where"]


def test_a_chat_export_that_is_cut_gives_the_conversations_before_the_cut(run, tmp_path):
    chats = json.dumps([exports.chatgpt(f"c{n}", f"Message {n}") for n in range(40)])
    (tmp_path / "c.json").write_text(chats[: len(chats) // 2])
    result = run("import", tmp_path / "c.json")
    assert result.exit_code == 6
    assert "c.json:1: the file ends in the middle of this item." in result.stderr
    assert "Episodes made: 19" in result.stdout or "Episodes made: 20" in result.stdout


def test_a_folder_of_mixed_files_gives_what_is_known_and_says_what_is_not(run, tmp_path):
    folder = tmp_path / "stuff"
    folder.mkdir()
    outside = tmp_path / "outside.md"
    outside.write_text("Not of this folder.")
    exports.as_json(folder / "conversations.json", CHAT)
    exports.as_zip(folder / "claude.zip", **{"conversations.json": [exports.claude("d1", "Hello there")]})
    (folder / "note.md").write_text("A note.")
    (folder / "photo.jpg").write_bytes(b"\xff\xd8\xff\x00")
    (folder / "program.py").write_text("print('no note')")
    (folder / "package.json").write_text('{"name": "x"}')
    (folder / "empty.md").write_text("")
    (folder / "link.md").symlink_to(outside)
    (folder / "around").symlink_to(tmp_path, target_is_directory=True)
    result = run("import", folder, "--json")
    assert result.exit_code == 6
    done = json.loads(result.stdout)
    assert (done["written"], done["failed"]) == (4, 1)
    assert done["errors"] == [{"where": "empty.md", "message": "it is empty."}]
    assert done["left_out"] == {"files of other formats": 3, "symbolic links": 2}
    assert set(done["formats"]) == {"a ChatGPT export", "a Claude.ai export", "Markdown"}


def test_a_folder_of_nothing_known_is_refused(run, tmp_path):
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "photo.jpg").write_bytes(b"\xff\xd8\xff\x00")
    assert "has nothing that can be imported. import takes a ChatGPT export" in refused(run, tmp_path / "f")


def test_a_half_written_last_line_of_a_transcript_is_named_and_the_rest_comes_in(run, tmp_path):
    lines = exports.claude_code("s1", "I moved to Lisbon in March.", "How do you like it?")
    path = exports.as_lines(tmp_path / "s1.jsonl", lines)
    path.write_text(path.read_text() + '{"type": "user", "uuid": "x", "mess')
    result = run("import", path)
    assert result.exit_code == 6
    assert result.stderr == "s1.jsonl:6: the line is no JSON object, the file ends in the middle of it.\n"
    assert "2 written" in result.stdout


def test_characters_that_no_store_keeps_cost_no_message(run, tmp_path):
    chat = exports.chatgpt("c1", "A NUL \x00 and half \ud800 a pair")
    assert run("import", exports.as_json(tmp_path / "c.json", [chat])).exit_code == 0
    assert "A NUL \ufffd and half \ufffd a pair" in [record["content"] for record in stored(run)]


def test_metadata_that_no_store_keeps_is_listed(run, tmp_path):
    memories = [{"id": "1", "memory": "Fine"}, {"id": "2", "memory": "Deep", "metadata": {"a": "x\x00"}}]
    result = run("import", exports.as_json(tmp_path / "m.json", memories))
    assert result.exit_code == 6
    assert result.stderr.startswith("m.json:1 item 2: `metadata.a` has a NUL character")
    assert [record["content"] for record in stored(run)] == ["Fine"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--scope", "work/Project X"), "`scope` must be a path such as 'work/project-x'"),
        (("--tag", ""), "each tag must have 1 to 128 characters."),
        (("--map", "content=1", "--map", "content=2"), "--map gives content two columns, 1 and 2: choose one."),
        (("--undo", "3f2b8c00"), "`--undo` takes back an import, and "),
    ],
)
def test_an_option_that_fits_no_memory_is_refused_once_and_not_for_each_line(run, tmp_path, options, sentence):
    (tmp_path / "a.txt").write_text("One\nTwo\nThree\n")
    assert refused(run, tmp_path / "a.txt", *options).startswith(sentence)


def test_of_many_memories_on_one_line_the_bad_one_is_told_by_its_number(run, tmp_path):
    memories = [{"id": "1", "memory": "Loves sushi"}, {"id": "2", "memory": ""}, {"id": "3", "memory": "Swims"}]
    (tmp_path / "mem0.json").write_text(json.dumps({"results": memories}))
    result = run("import", tmp_path / "mem0.json")
    assert result.stderr.startswith("mem0.json:1 item 2: a memory of mem0 must look like")
    (tmp_path / "a.json").write_text(json.dumps([{"content": "Swims"}, {"content": 5}]))
    assert run("import", tmp_path / "a.json").stderr.startswith("a.json:1 item 2: a memory must look like")


def test_a_file_that_is_named_before_a_sentence_is_not_named_in_it_again(run, tmp_path):
    (tmp_path / "a.txt").write_text("One\n")
    (tmp_path / "facts.csv").write_text("Ana likes tea,2024-05-03\nBob likes golf,2024-05-04\n")
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04 cut off")
    sentences = run("import", tmp_path).stderr
    assert "cut.zip: it is a damaged or incomplete ZIP archive. Download it again.\n" in sentences
    assert "facts.csv: it has the columns Ana likes tea, 2024-05-03. Say which" in sentences
