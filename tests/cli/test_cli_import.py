"""import: every format, damaged, repeated, interrupted."""

import json
import os
import zipfile
from io import BytesIO
from zipfile import ZipFile

import pytest

from steeltrap.importers import running

TALK = [
    {"role": "user", "content": "I moved to Lisbon", "time": "2025-03-01T10:00:00Z"},
    {"role": "assistant", "content": [{"type": "text", "text": "How is"}, {"type": "text", "text": "Lisbon?"}]},
    {"role": "assistant", "content": None, "tool_calls": []},
    {"role": "user", "content": "Sunny", "name": "Ana"},
    {"role": "user", "content": "Sunny", "name": "Ana"},
]


@pytest.fixture
def load(load):
    def counts(path, *options, code=0):
        done = load(path, *options, code=code)
        return done["written"], done["skipped"], done["failed"]

    return counts


def lines(path, *values):
    path.write_text("".join(value if isinstance(value, str) else json.dumps(value) + "\n" for value in values))
    return path


def stored(run):
    return [json.loads(line) for line in run("export", "-").stdout.splitlines()]


def turns_of(run):
    return [record for record in stored(run) if record.get("source") == "conversation"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("list.json", json.dumps(TALK)),
        ("pretty.json", json.dumps(TALK, indent=2)),
        ("object.json", json.dumps({"model": "m", "messages": TALK, "n": 1})),
        ("messages.jsonl", "\n".join(map(json.dumps, TALK))),
        ("conversation.jsonl", json.dumps({"messages": TALK}) + "\n"),
    ],
)
def test_each_form_of_a_transcript_becomes_turns_once(run, load, tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    assert load(path) == (4, 0, 0)
    assert load(path) == (0, 4, 0)
    turns = turns_of(run)
    assert [turn["content"] for turn in turns] == ["I moved to Lisbon", "How is\nLisbon?", "Sunny", "Sunny"]
    assert len({turn["conversation_id"] for turn in turns}) == 1
    assert turns[0]["occurred_at"] == "2025-03-01T10:00:00Z"
    assert turns[2]["messages"] == [{"role": "user", "content": "Sunny", "speaker": "Ana"}]


def test_conversations_keep_their_ids_and_others_get_one_each(run, load, tmp_path):
    one = {"role": "user", "content": "hello"}
    path = lines(tmp_path / "c.jsonl", {"id": "chat-1", "messages": [one]}, {"messages": [one]}, {"messages": [one]})
    assert load(path) == (3, 0, 0)
    ids = [turn["conversation_id"] for turn in turns_of(run)]
    assert ids[0] == "chat-1"
    assert len(set(ids)) == 3


def test_a_conversation_id_before_streamed_messages_is_theirs(run, load, tmp_path):
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"conversation_id": "chat-9", "messages": TALK}))
    load(path)
    assert {turn["conversation_id"] for turn in stored(run)} == {"chat-9"}


def test_two_files_of_one_name_are_two_conversations(run, load, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        load(lines(tmp_path / folder / "chat.jsonl", {"role": "user", "content": "hello"}))
    assert len({turn["conversation_id"] for turn in stored(run)}) == 2


def test_damaged_lines_are_listed_and_the_rest_is_imported(run, tmp_path):
    path = lines(
        tmp_path / "d.jsonl",
        {"role": "user", "content": "good"},
        "{broken\n",
        '"text"\n',
        {"role": "user", "content": "nul \0 byte"},
        '{"role": "user", "content": "half \\ud800"}\n',
        {"role": "user", "content": "x" * 40_000},
        {"role": "user", "content": "good too"},
        '{"role": "user", "cont',
    )
    result = run("import", path)
    assert result.exit_code == 6
    assert [line.split(": ")[0] for line in sorted(result.stderr.splitlines())] == [
        f"d.jsonl:{number}" for number in (2, 3, 4, 5, 6, 8)
    ]
    assert [turn["content"] for turn in turns_of(run)] == ["good", "good too"]


def test_a_line_of_bad_utf8_costs_no_other(load, tmp_path):
    path = tmp_path / "u.jsonl"
    path.write_bytes(b'{"role": "user", "content": "a"}\n\xff\xfe\n{"role": "user", "content": "b"}\n')
    assert load(path, code=6) == (2, 0, 1)


@pytest.mark.parametrize("wrap", ["{}", '{{"messages": {}}}'])
def test_a_truncated_document_gives_what_stands_before(run, tmp_path, wrap):
    whole = wrap.format(json.dumps([{"role": "user", "content": f"turn {n}"} for n in range(5000)], indent=1))
    path = tmp_path / "t.json"
    path.write_text(whole[: len(whole) // 2])
    result = run("import", path, "--json")
    assert result.exit_code == 6
    counts = json.loads(result.stdout)
    assert counts["written"] in range(2400, 2600)
    assert counts["errors"][0]["message"].startswith("the file ends in the middle")
    assert int(counts["errors"][0]["where"].split(":")[1]) > 9000


def test_the_damage_of_an_archive_is_that_of_a_file_and_of_no_item(run, tmp_path):
    notes = [{"id": "m1", "memory": "Ana likes tea.", "user_id": "ana", "created_at": "2026-01-02T03:04:05Z"}]
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mem0.json", json.dumps(notes) + " " * 300_000 + "\n")
    path.write_bytes(path.read_bytes().replace(b" \n", b"\t\n"))
    result = run("import", path)
    assert result.exit_code == 6
    assert result.stderr == "mem0.json: the archive is damaged here; what follows is missing.\n"
    assert "Ana likes tea." in run("list").stdout


def test_a_damaged_document_names_the_line_of_the_damage(run, tmp_path):
    path = tmp_path / "t.json"
    path.write_text('[\n{"role": "user", "content": "a"},\n{"role" "user"},\n{"role": "user", "content": "b"}]')
    result = run("import", path)
    assert result.exit_code == 6
    assert result.stderr.startswith("t.json:3: ")


def test_an_interrupted_import_goes_on_where_it_stopped(run, load, tmp_path, monkeypatch):
    path = lines(tmp_path / "long.jsonl", *({"role": "user", "content": f"turn {n % 7}"} for n in range(30)))
    monkeypatch.setattr(running, "BLOCK_ITEMS", 4)
    write, blocks = running.importing.import_drafts, []

    def third_block_fails(*arguments, **more):
        blocks.append(1)
        if len(blocks) == 3:
            raise KeyboardInterrupt
        return write(*arguments, **more)

    monkeypatch.setattr(running.importing, "import_drafts", third_block_fails)
    result = run("import", path)
    assert result.exit_code == 130
    assert "8 written" in result.stderr
    monkeypatch.setattr(running.importing, "import_drafts", write)
    assert load(path) == (22, 8, 0)
    assert [turn["content"] for turn in turns_of(run)] == [f"turn {n % 7}" for n in range(30)]


def test_recall_finds_a_chat_that_was_just_imported(run, tmp_path):
    path = lines(tmp_path / "chat.jsonl", *TALK)
    imported = run("import", path)
    assert imported.stdout.splitlines()[0] == "4 found: 4 written, 0 already there, 0 failed."
    assert "Episodes made: 1. recall finds them" in imported.stdout
    assert "I moved to Lisbon" in run("recall", "Lisbon").stdout
    assert json.loads(run("import", path, "--json").stdout)["episodes"] == 0


def test_an_import_that_was_interrupted_before_the_episodes_makes_them_when_it_is_repeated(run, tmp_path, monkeypatch):
    path = lines(tmp_path / "chat.jsonl", *TALK)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(running, "close_conversation", interrupted)
        assert run("import", path).exit_code == 130
    unseen = run("recall", "Lisbon")
    assert unseen.stdout == ""
    assert "Only 4 messages of conversations are stored; search them with recall --turns." in unseen.stderr
    assert "Lisbon" in run("recall", "Lisbon", "--turns").stdout
    assert json.loads(run("import", path, "--json").stdout)["episodes"] == 1
    assert "Lisbon" in run("recall", "Lisbon").stdout


def test_notes_become_memories_with_their_headings_dates_and_tags(run, load, tmp_path, monkeypatch):
    monkeypatch.setenv("STEELTRAP_TIMEZONE", "UTC")
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "x.md").write_text("not seen")
    (folder / "short.md").write_text("---\ntitle: Trip\ndate: 2024-05-03\ntags: [sea, '#sun']\n---\nWe saw the sea.\n")
    body = "".join(f"\n## Part {n}\n\n```\n# no heading\n```\n{'Some words here. ' * 20}\n" for n in range(3))
    (folder / "sub" / "long.md").write_text(f"# Plan\n{body}")
    assert load(folder, "--tag", "vault", "--scope", "notes/mine") == (4, 0, 0)
    assert load(folder, "--tag", "vault", "--scope", "notes/mine") == (0, 4, 0)
    short, *parts = stored(run)
    assert short["content"] == "Trip\n\nWe saw the sea."
    assert short["tags"] == ["vault", "sea", "sun"]
    assert short["occurred_at"] == "2024-05-03"
    assert short["scope"] == "notes/mine"
    assert [part["metadata"]["headings"] for part in parts] == [["Plan", f"Part {n}"] for n in range(3)]
    assert parts[1]["content"].startswith("Plan › Part 1\n\n```\n# no heading")
    assert parts[1]["metadata"]["path"] == "sub/long.md"


def test_a_long_section_is_cut_and_no_word_is_lost(run, load, tmp_path):
    words = [f"word{n}" for n in range(3000)]
    (tmp_path / "n.md").write_text(" ".join(words))
    load(tmp_path / "n.md")
    assert " ".join(memory["content"] for memory in stored(run)).split() == words


def test_a_note_that_is_not_text_is_listed_and_the_others_are_imported(load, tmp_path):
    (tmp_path / "a.md").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "b.md").write_text("fine")
    assert load(tmp_path, code=6) == (1, 0, 1)


def test_looking_around_finds_links_but_not_for_turns(run, load, tmp_path):
    (tmp_path / "a.md").write_text("Ana likes green tea")
    load(tmp_path / "a.md")
    (tmp_path / "b.md").write_text("Ana likes green tea too")
    load(tmp_path / "b.md", "--look-around")
    load(lines(tmp_path / "t.jsonl", {"role": "user", "content": "Ana likes green tea"}), "--look-around")
    [turn] = turns_of(run)
    note = stored(run)[1]
    assert note["links"]
    assert "surprise" in note
    assert "links" not in turn
    assert "surprise" not in turn


@pytest.mark.parametrize(("name", "code"), [("nowhere", 3), ("empty", 2), ("image.png", 2)])
def test_what_cannot_be_imported_is_said_in_a_sentence(run, tmp_path, name, code):
    (tmp_path / "empty").mkdir()
    (tmp_path / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    result = run("import", tmp_path / name)
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.count("\n") == 1


def test_documents_one_behind_the_other_are_conversations_of_their_own(run, load, tmp_path):
    path = tmp_path / "two.json"
    path.write_text(json.dumps({"messages": TALK[:2]}, indent=1) + "\n" + json.dumps({"messages": TALK[3:4]}, indent=1))
    assert load(path) == (3, 0, 0)
    assert load(path) == (0, 3, 0)
    ids = [turn["conversation_id"] for turn in turns_of(run)]
    assert ids[0] == ids[1] != ids[2]


def test_a_document_is_read_up_to_its_first_bad_byte(run, tmp_path):
    path = tmp_path / "u.json"
    path.write_bytes(b'[{"role": "user", "content": "a"},\n{"role": "user", "content": "\xff"}]')
    result = run("import", path)
    assert result.exit_code == 6
    assert result.stderr == "u.json:2: the file is not valid UTF-8 from here on.\n"
    assert [turn["content"] for turn in turns_of(run)] == ["a"]


def test_an_import_over_the_quota_says_how_far_it_came_and_ends_with_a_code_of_its_own(run, tmp_path, monkeypatch):
    (tmp_path / "n").mkdir()
    for n in range(6):
        (tmp_path / "n" / f"{n}.md").write_text(f"Fact {n}.")
    monkeypatch.setattr(running, "BLOCK_ITEMS", 4)
    monkeypatch.setenv("STEELTRAP_MAX_MEMORIES", "5")
    result = run("import", tmp_path / "n")
    assert result.exit_code == 7
    assert result.stderr.startswith("Stopped with 4 written.")
    assert "5 are allowed" in result.stderr
    assert len(stored(run)) == 4


def _archive():
    file = BytesIO()
    with ZipFile(file, "w") as whole:
        whole.writestr("facts.txt", "It rains.\n")
    return file.getvalue()


MESSAGES = b'{"role": "user", "content": "It rains."}\n{"role": "assistant", "content": "Take a coat."}\n'


@pytest.mark.parametrize(
    ("piped", "options", "written"),
    [
        (b'{"content": "It rains."}', (), 1),
        (MESSAGES, (), 2),
        (_archive(), (), 1),
        ("It rains.\n".encode("utf-16"), ("--format", "text"), 1),
        (b"# Weather\n\nIt rains.\n", ("--format", "markdown"), 1),
        (b"What\nIt rains.\n", ("--map", "content=What"), 1),
    ],
)
def test_what_is_piped_in_is_imported_once(run, piped, options, written):
    first, again = (json.loads(run("import", "-", *options, "--json", input=piped).stdout) for _ in range(2))
    assert (first["written"], again["written"], again["skipped"]) == (written, 0, written)
    assert "It rains." in run("list").stdout
    assert run("imports").stdout.count("  stdin\n") == 2


def test_an_empty_path_is_not_the_current_folder(run, tmp_path, monkeypatch):
    (tmp_path / "diary.md").write_text("# Weather\n\nIt rains.\n")
    monkeypatch.chdir(tmp_path)
    for command in (
        ("import", ""),
        ("import", "diary.md", "--data", ""),
        ("list", "--data", ""),
        ("recall", "rain", "--data="),
    ):
        refused = run(*command)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "is empty; give one, such as `.` for the current folder." in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["diary.md"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
def test_a_pipe_with_a_name_is_not_said_to_be_missing(run, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refused = run("import", tmp_path / "pipe")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"{tmp_path / 'pipe'} is neither a file nor a folder; pipe it in: ")


def test_other_messages_that_are_piped_in_are_another_conversation(run, ask):
    for piped in (MESSAGES, MESSAGES.replace(b"rains", b"snows")):
        assert run("import", "-", input=piped).exit_code == 0
    assert len({memory["conversation_id"] for memory in ask("core.list")["memories"]}) == 2


@pytest.mark.parametrize(
    ("piped", "said"), [(b"", "stdin is empty."), (b"It rains.\n", "--format says which: markdown, csv, text.")]
)
def test_what_is_piped_in_and_can_not_be_read_is_refused(run, data, tmp_path, monkeypatch, piped, said):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    refused = run("import", "-", input=piped)
    assert refused.exit_code == 2
    assert said in refused.stderr
    assert not list(tmp_path.glob("steeltrap-*")), "no copy is left"
