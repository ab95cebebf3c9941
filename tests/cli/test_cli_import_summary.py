"""The summary of an import, file by file; and its conversations and their days by name, in the order of their time."""

import json

import pytest

from cli import exports

TALK = ("I moved to Lisbon in March.", "How do you like it?")


@pytest.fixture
def mixed(tmp_path):
    folder = tmp_path / "mixed"
    (folder / "deep").mkdir(parents=True)
    exports.as_json(folder / "chats.json", [exports.chatgpt("c1", *TALK, title="Moving to Lisbon")])
    (folder / "notes.md").write_text("Plant the beans in May.")
    (folder / "deep" / "photo.png").write_bytes(b"\x89PNG\x00\x00")
    (folder / "bad.json").write_text('{"role": "user", "con')
    (folder / "empty.txt").write_text("")
    return folder


def lines(result):
    return [" ".join(line.split()) for line in result.stdout.splitlines()]


def test_a_summary_says_what_became_of_each_file(run, mixed):
    told = lines(run("import", mixed))
    assert told[0] == "5 found: 3 written, 0 already there, 2 failed."
    assert "chats.json a ChatGPT export: 2 found, 2 written" in told
    assert "notes.md Markdown: 1 found, 1 written" in told
    assert "bad.json 1 found, 1 failed" in told
    assert "empty.txt can't be imported" in told
    assert "deep/photo.png left out: a format that import doesn't take" in told
    again = lines(run("import", mixed))
    assert "chats.json a ChatGPT export: 2 found, 2 already there" in again


def test_an_archives_files_that_are_left_out_are_named(run, tmp_path):
    path = exports.as_zip(tmp_path / "all.zip", **{"conversations.json": [exports.chatgpt("c1", *TALK)], "a.png": {}})
    assert "a.png left out: a format that import doesn't take" in lines(run("import", path))


def test_a_preview_names_the_files_too(run, mixed):
    told = lines(run("import", mixed, "--dry-run"))
    assert told[0] == "5 found: 3 would be written, 0 already there, 2 can't be. Nothing was written."
    assert "chats.json a ChatGPT export: 2 found, 2 would be written" in told
    assert "deep/photo.png left out: a format that import doesn't take" in told
    assert run("imports").stderr.startswith("Nothing is stored yet")


@pytest.mark.parametrize("form", ["chats", "notes", "table", "export", "messages"])
def test_a_preview_says_what_the_import_then_does(run, tmp_path, form):
    run("remember", "The owl sleeps.")
    names = {"notes": "n.txt", "table": "t.csv", "export": "e.jsonl", "messages": "m.jsonl", "chats": "c.json"}
    path = tmp_path / names[form]
    more = tmp_path / f"more-{path.name}"
    if form == "chats":
        exports.as_json(path, [exports.chatgpt("c1", *TALK)])
        exports.as_json(more, [exports.chatgpt("c1", *TALK, "The light is wonderful.")])
    elif form == "export":
        run("export", path)
        lines_ = path.read_text().splitlines()
        new = json.loads(lines_[0]) | {"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "content": "The heron fishes."}
        more.write_text("\n".join([*lines_, json.dumps(new)]) + "\n")
    elif form == "messages":
        said = [json.dumps({"role": "user", "content": text, "conversation_id": "m1"}) for text in (*TALK, "Done.")]
        path.write_text("\n".join(said[:2]) + "\n")
        more.write_text("\n".join(said) + "\n")
    else:
        head = "Fact\n" if form == "table" else ""
        path.write_text(f"{head}One.\nTwo.\n")
        more.write_text(f"{head}One.\nTwo.\nThree.\nThree.\n")
    for each in (path, more, more):
        told = json.loads(run("import", each, "--dry-run", "--json").stdout)
        done = json.loads(run("import", each, "--json").stdout)
        for name in ("found", "written", "skipped", "failed", "files"):
            assert told[name] == done[name], (each, name)


def test_what_became_of_each_file_is_kept_with_the_import(run, ask, mixed):
    done = json.loads(run("import", mixed, "--json").stdout)
    told = lines(run("imports", done["import"][:8]))
    assert "notes.md Markdown: 1 found, 1 written" in told
    assert "5 found" in told[1]
    [one] = ask("core.list_imports", id=done["import"])["imports"]
    assert one["files"] == done["files"]
    assert sum(file["written"] for file in one["files"]) == one["written"] == 3
    assert "files" not in ask("core.list_imports")["imports"][0]
    assert run("imports", "00000000").exit_code == 3


def test_the_number_of_what_is_left_out_follows_its_kind(run, tmp_path):
    (tmp_path / "t.csv").write_text("content,day\nAna ran,Monday\n,Tuesday\n")
    told = lines(run("import", tmp_path / "t.csv"))
    assert "t.csv a table (CSV): 1 found, 1 written, rows without text left out: 1" in told


def test_of_a_folder_of_many_files_those_with_something_to_say_come_first(run, tmp_path):
    for number in range(60):
        (tmp_path / f"{number:02}.md").write_text(f"Note {number}.")
    (tmp_path / "z.png").write_bytes(b"\x89PNG\x00\x00")
    told = lines(run("import", tmp_path))
    assert told[1] == "z.png left out: a format that import doesn't take"
    assert "... and 21 more files." in told


def test_an_unknown_format_is_one_usage_error_before_anything_is_read(run, mixed, tmp_path):
    for path in (mixed, tmp_path / "nothing-here"):
        refused = run("import", path, "--format", "markdwn")
        assert refused.exit_code == 2
        assert refused.stderr.count("No format is called 'markdwn'. Did you mean markdown?") == 1
        assert len(refused.stderr.splitlines()) == 1
    assert run("imports").stderr.startswith("Nothing is stored yet")


def test_the_list_is_in_the_order_of_the_dates_that_it_prints(run, ask, tmp_path):
    ask("core.save", content="The owl sleeps.", occurred_at="2024-05-01")
    ask("core.save", content="The newt hides.", occurred_at="2026-01-02")
    run("import", exports.as_json(tmp_path / "c.json", [exports.chatgpt("c1", *TALK)]))  # 3 March 2025
    run("remember", "The heron fishes.")
    shown = [line for line in run("list").stdout.splitlines() if not line.startswith("  ")]
    assert [text.split(".")[0] for text in shown] == [
        "The heron fishes",
        "The newt hides",
        f"User: {TALK[0]}".rstrip("."),
        "The owl sleeps",
    ]


@pytest.mark.parametrize(
    ("form", "title"), [("chatgpt", "Moving to Lisbon"), ("claude", "Moving to Lisbon"), ("code", "A session")]
)
def test_an_imported_conversation_is_shown_by_its_title(run, tmp_path, form, title):
    if form == "code":
        lines_ = exports.claude_code("s1", *TALK)
        lines_[0]["leafUuid"] = "s1-1-t"
        path = exports.as_lines(tmp_path / "s1.jsonl", lines_)
    else:
        path = exports.as_json(tmp_path / "c.json", [getattr(exports, form)("c1", *TALK, title=title)])
    run("import", path)
    assert f'of "{title}"' in run("list").stdout
    assert f'of "{title}"' in run("recall", "Lisbon").stdout


def test_a_preview_counts_a_text_once_however_far_apart_it_is_said_twice(run, tmp_path):
    path = tmp_path / "n.txt"
    path.write_text("".join(f"Fact {number % 600}.\n" for number in range(1300)))
    told = json.loads(run("import", path, "--dry-run", "--json").stdout)
    assert (told["found"], told["written"], told["skipped"]) == (1300, 600, 700)
    done = json.loads(run("import", path, "--json").stdout)
    assert (done["written"], done["skipped"]) == (600, 700)
