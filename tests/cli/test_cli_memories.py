"""remember, recall, history, revise, edit, undo, forget."""

import json
import os
import shlex
import sys

import pytest

from steeltrap.cli import memories


def remembered(run, content, *options):
    return json.loads(run("remember", content, "--json", *options).stdout)["id"]


def test_recall_finds_what_was_remembered(run):
    remembered(run, "Ana prefers dark mode", "--tag", "ui")
    remembered(run, "The deploy key rotates every 90 days")
    found = json.loads(run("recall", "dark mode", "--limit", "1", "--json").stdout)
    assert [(hit["content"], hit["tags"]) for hit in found["results"]] == [("Ana prefers dark mode", ["ui"])]


def test_recall_shows_people_score_id_and_why(run):
    id = remembered(run, "Ana prefers dark mode")
    shown = run("recall", "dark mode", "--why").stdout
    assert "Ana prefers dark mode" in shown
    assert id in shown
    assert "because: meaning" in shown


def test_recall_leaves_out_what_only_resembles_the_answer_unless_all_is_wanted(run):
    remembered(run, "The deploy key rotates every 90 days")
    remembered(run, "The key of the car is in the drawer below the kitchen window")
    asked = ("recall", "deploy key rotates", "--json")
    assert [hit["content"][:10] for hit in json.loads(run(*asked).stdout)["results"]] == ["The deploy"]
    assert len(json.loads(run(*asked, "--all").stdout)["results"]) == 2


def test_a_command_takes_the_start_of_an_id_that_agents_show(run):
    id = remembered(run, "Ana likes tea")
    assert run("delete", id[:8]).exit_code == 0
    assert "Ana likes tea" in run("undo", f"[{id[:8]}]").stdout
    assert "Ana likes tea" in run("get", id[:8]).stdout
    unknown = run("get", "00000000")
    assert (unknown.exit_code, unknown.stdout) == (run("get", f"{id[:-1]}x").exit_code, "")


def test_recall_of_an_empty_store_says_so_beside_the_results(run, data):
    data.mkdir(exist_ok=True)
    result = run("recall", "anything")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "Nothing is stored yet.\n"


@pytest.mark.parametrize("command", ["list", "recall tea", "stats", "trash", "imports", "export -"])
def test_a_misspelt_folder_is_named_as_one_that_there_is_not(run, tmp_path, command):
    folder = tmp_path / "memorise"
    result = run(*command.split(), "--data", folder)
    sentence = f"Nothing is stored yet: there is no folder {folder}.\n"
    assert sentence in (result.stderr, result.stdout if command == "imports" else "")
    assert not folder.exists()


def test_a_stored_escape_sequence_does_not_reach_the_terminal(run):
    remembered(run, "red \x1b[31m alert")
    assert "\x1b" not in run("recall", "red alert").stdout


def test_undo_brings_the_earlier_text_back_and_history_shows_all(run, ask):
    id = remembered(run, "Ana likes tea")
    ask("core.update", id=id, content="Ana likes coffee")
    assert "Ana likes tea" in run("undo", id).stdout
    assert run("history", id).stdout.count("version ") == 3


def test_revise_saves_a_text_in_place_of_another_and_undo_takes_it_back(run, ask):
    old = remembered(run, "Ana lives in Lisbon", "--tag", "home", "--scope", "people/ana")
    new = json.loads(run("revise", old, "Ana lives in Porto", "--json").stdout)
    kept = ask("core.get", id=new["id"])
    assert (new["supersedes"], kept["tags"], kept["scope"]) == ([old], ["home"], "people/ana")
    assert "Lisbon" not in run("recall", "where does Ana live").stdout
    assert f"superseded by {new['id']}" in run("recall", "where does Ana live", "--superseded").stdout
    assert f"superseded by {new['id']}" in run("history", old).stdout
    assert run("revise", old, "Ana lives in Faro").exit_code != 0
    undone = run("undo", new["id"]).stdout
    assert undone == "Undone. What it superseded is back, and this is deleted again: Ana lives in Porto\n"
    assert "Lisbon" in run("recall", "where does Ana live").stdout


def test_recall_as_of_a_time_before_anything_says_so(run):
    remembered(run, "Ana lives in Lisbon")
    assert "Nothing was stored yet at 2001-01-31" in run("recall", "Ana", "--as-of", "2001-01-31").stderr


def test_remember_asks_whether_it_corrects_what_is_very_near(run):
    old = remembered(run, "The staging deploy key of the billing service rotates every 90 days")
    said = run("remember", "The staging deploy key of the billing service rotates every 30 days").stdout
    assert f"Similar to {old}" in said
    assert "steeltrap revise ID TEXT" in said


def test_forget_asks_first_and_a_no_keeps_the_memory(run, ask):
    id = remembered(run, "Ana lives in Lisbon")
    refused = run("forget", id, input="n\n")
    assert refused.exit_code == 1
    assert "Ana lives in Lisbon" in refused.stderr
    assert ask("core.get", id=id)["content"] == "Ana lives in Lisbon"


def test_forget_without_an_answer_forgets_nothing(run, ask):
    id = remembered(run, "Ana lives in Lisbon")
    refused = run("forget", id, input="")
    assert refused.exit_code == 1
    assert "--yes" in refused.stderr
    assert ask("core.get", id=id)["id"] == id


def test_forget_with_yes_erases(run):
    id = remembered(run, "Ana lives in Lisbon")
    assert json.loads(run("forget", id, "--yes", "--json").stdout)["verified"] is True
    assert run("history", id).exit_code == 3


def test_an_error_is_one_sentence_on_stderr_and_a_code(run):
    result = run("undo", "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("No memory with id 3f2b8c1e")
    assert result.stderr.count("\n") == 1


def test_users_do_not_see_each_other(run):
    run("remember", "Ana's secret", "--user", "ana")
    assert json.loads(run("recall", "secret", "--user", "Ana", "--json").stdout)["results"] == []


def test_remember_reads_stdin(run):
    id = json.loads(run("remember", "-", "--json", input="de la entrada estándar").stdout)["id"]
    assert "de la entrada estándar" in run("history", id).stdout


def test_a_text_from_a_pipe_loses_its_byte_order_mark_and_last_newlines_only(run, ask):
    piped = "\ufeff  two\r\n\nlines \r\n\n"
    id = json.loads(run("remember", "-", "--json", input=piped.encode()).stdout)["id"]
    assert ask("core.get", id=id)["content"] == "  two\r\n\nlines "
    new = json.loads(run("revise", id, "-", "--json", input="three\n").stdout)["id"]
    assert ask("core.get", id=new)["content"] == "three"


@pytest.mark.parametrize("piped", ["", "\n", b"\xff"])
def test_a_pipe_without_a_text_is_refused(run, ask, piped):
    assert run("remember", "-", input=piped).exit_code == 2
    assert ask("core.stats")["memories"] == 0


def test_a_setting_that_does_not_fit_is_named(run, monkeypatch):
    monkeypatch.setenv("STEELTRAP_RETENTION_DAYS", "soon")
    result = run("recall", "x")
    assert result.exit_code == 2
    assert "STEELTRAP_RETENTION_DAYS" in result.stderr


def test_edit_changes_text_tags_scope_day_and_pin_and_undo_takes_it_back(run, ask):
    id = remembered(run, "Ana likes tea", "--tag", "drinks")
    assert "Changed: Ana likes coffee" in run("edit", id[:8], "Ana likes coffee").stdout
    options = ("--tag", "hot", "--tag", "home", "--scope", "people/ana", "--happened", "2026-01-31", "--pin", "--json")
    edited = json.loads(run("edit", id, *options).stdout)
    assert (edited["content"], edited["tags"], edited["scope"]) == ("Ana likes coffee", ["hot", "home"], "people/ana")
    assert (edited["occurred_at"], edited["pinned"]) == ("2026-01-31", True)
    assert "tags" not in json.loads(run("edit", id, "--no-tags", "--unpin", "--json").stdout)
    for _ in range(3):
        run("undo", id)
    assert ask("core.get", id=id)["content"] == "Ana likes tea"


def test_an_event_that_moves_past_its_end_loses_the_end_and_is_told_so(run, ask):
    id = ask("core.save", content="The fair", occurred_at="2026-05-10", occurred_until="2026-05-12")["id"]
    assert "end" not in run("edit", id, "--happened", "2026-05-11").stdout
    assert ask("core.get", id=id)["occurred_until"] == "2026-05-12"
    moved = run("edit", id, "--happened", "2026-06-01")
    assert (moved.exit_code, moved.stderr) == (0, "")
    assert "Its end, 2026-05-12, was before the new time, and was removed." in moved.stdout
    event = ask("core.get", id=id)
    assert (event["occurred_at"], "occurred_until" in event) == ("2026-06-01", False)


def test_edit_takes_no_second_id_for_a_text(run, ask):
    tea, coffee = remembered(run, "Ana likes tea"), remembered(run, "Bob likes coffee")
    refused = run("edit", tea, coffee, "--tag", "drinks")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "the second argument is its new text, and this one is an id" in refused.stderr
    assert ask("core.get", id=tea)["content"] == "Ana likes tea"


def test_edit_reads_stdin_and_refuses_two_minds_about_tags(run, ask):
    id = remembered(run, "Ana likes tea")
    assert run("edit", id, "-", input="Ana likes coffee\n").exit_code == 0
    assert run("edit", id, "--tag", "a", "--no-tags").exit_code == 2
    assert ask("core.get", id=id)["content"] == "Ana likes coffee"


@pytest.fixture
def editor(monkeypatch):
    """An editor that runs some Python on the text, which is called `text`, at a terminal."""

    def editor(code):
        script = f"import pathlib, sys; file = pathlib.Path(sys.argv[1]); text = file.read_text(); {code}"
        monkeypatch.setenv("VISUAL", shlex.join([sys.executable, "-c", script]))
        monkeypatch.setattr(memories, "is_interactive", lambda: True)

    return editor


def test_edit_without_a_text_opens_the_editor_with_it(run, ask, editor, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    id = remembered(run, "Ana likes tea")
    editor("file.write_text(text.replace('tea', 'coffee'))")
    assert "Changed: Ana likes coffee" in run("edit", id).stdout
    editor("pass")
    unchanged = run("edit", id)
    assert (unchanged.exit_code, unchanged.stderr) == (0, "The text was not changed.\n")
    assert ask("core.get", id=id)["version"] == 2
    assert os.listdir(tmp_path) == ["data"]


@pytest.mark.parametrize("code", ["file.write_text(''); sys.exit(1)", "file.write_text('')"])
def test_a_text_that_is_not_saved_is_kept_in_the_editors_file(run, ask, editor, tmp_path, monkeypatch, code):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    id = remembered(run, "Ana likes tea")
    editor(code)
    failed = run("edit", id)
    [name] = [name for name in os.listdir(tmp_path) if name.startswith("steeltrap-")]
    assert failed.exit_code == 2
    assert f"Your text is kept in {tmp_path / name}." in failed.stderr
    assert ask("core.get", id=id)["content"] == "Ana likes tea"


def test_edit_without_a_text_needs_a_terminal_and_an_editor_that_starts(run, editor, monkeypatch):
    id = remembered(run, "Ana likes tea")
    assert "Give the new text after the id" in run("edit", id).stderr
    editor("pass")
    monkeypatch.setenv("VISUAL", "no-such-editor")
    assert "no-such-editor can't be started" in run("edit", id).stderr


def test_several_ids_are_shown_deleted_undone_and_forgotten(run, ask):
    ids = [remembered(run, text) for text in ("one", "two", "three")]
    assert [each["id"] for each in json.loads(run("get", *ids, "--json").stdout)] == ids
    assert run("get", *ids).stdout.count("\n\n") == 2
    deleted = run("delete", ids[0], ids[1][:8], ids[0])
    assert deleted.stdout.startswith("Deleted: one\nDeleted: two\n")
    assert ask("core.stats")["memories"] == 1
    assert run("undo", *ids[:2]).stdout.count("Undone.") == 2
    assert ask("core.stats")["memories"] == 3
    refused = run("forget", *ids[:2], input="n\n")
    assert "one\n  two" in refused.stderr
    assert json.loads(run("forget", *ids[:2], "--yes", "--json").stdout)["forgotten"] == ids[:2]
    assert ask("core.stats")["memories"] == 1


@pytest.mark.parametrize("command", ["get", "delete", "undo", "forget"])
def test_an_unknown_id_among_several_stops_a_command_before_it_changes_anything(run, ask, command):
    id = remembered(run, "Ana likes tea")
    refused = run(command, id, "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b")
    assert (refused.exit_code, refused.stdout) == (3, "")
    assert ask("core.get", id=id)["version"] == 1


@pytest.mark.parametrize("command", [("delete",), ("get",), ("edit", "x"), ("revise", "x")])
def test_a_command_on_a_deleted_memory_names_undo(run, command):
    id = remembered(run, "Ana likes tea")
    run("delete", id)
    name, *text = command
    refused = run(name, id, *text)
    assert (refused.exit_code, refused.stderr) == (
        3,
        f"The memory {id} is deleted; `steeltrap undo {id}` restores it.\n",
    )


def test_a_delete_that_is_confirmed_beforehand_is_taken(run, ask):
    id = ask("core.save", content="Ana likes tea")["id"]
    assert run("delete", id, "--yes").exit_code == 0
    assert run("recall", "tea", "-y").exit_code == 2
    assert ask("core.list")["total"] == 0


@pytest.mark.parametrize("below", ["", "sub/folder"])
@pytest.mark.parametrize(
    "command",
    ["recall heron", "list", "stats", "get x", "export -", "admin users", "admin sweep", "keys list", "backup monday"],
)
def test_a_file_in_place_of_the_data_folder_is_no_empty_memory(run, tmp_path, command, below):
    (tmp_path / "file").write_text("")
    result = run(*command.split(), "--data", tmp_path / "file" / below)
    assert (result.exit_code, result.stdout) == (5, "")
    assert f"{tmp_path / 'file'} is not a folder. Name another folder, or set STEELTRAP_DATA." in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["list", "stats", "remember heron", "keys list", "backup monday"])
def test_a_relative_data_folder_in_a_folder_that_was_removed_is_named(run, tmp_path, monkeypatch, command):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    result = run(*command.split(), "--data", "data")
    assert (result.exit_code, result.stdout) == (5, "")
    assert result.stderr == (
        "Memories can't be stored in data: the current folder was removed. Name another folder, or set "
        "STEELTRAP_DATA.\n"
    )


def test_a_relative_path_in_a_folder_that_was_removed_says_so(run, tmp_path, monkeypatch, data):
    run("remember", "the heron stands in the reeds")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    result = run("backup", "monday", "--data", data)
    assert result.exit_code != 0
    assert result.stderr == "The current folder was removed: change to another one, or give full paths.\n"


def test_what_is_remembered_may_have_happened_before(run, ask):
    run("remember", "Moved to Faro", "--happened", "2026-01-31")
    [memory] = ask("core.list")["memories"]
    assert memory["occurred_at"] == "2026-01-31"
    for command in (("remember", "Moved to Lisbon"), ("edit", memory["id"])):
        refused = run(*command, "--happened", "soon")
        assert (refused.exit_code, refused.stdout) == (2, "")
        said = "--happened must be a time such as '2026-01-31T09:30:00Z' or a date such as '2026-01-31'.\n"
        assert refused.stderr == said
