"""imports, import --undo: each import is one thing that is listed and can be taken back whole."""

import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from cli import exports
from steeltrap.cli import transfer
from steeltrap.engine import imports
from steeltrap.errors import Unavailable
from steeltrap.importers import running
from steeltrap.processes import has_died

SHARED = Path(__file__).parents[2] / "shared"
TALK = ("I moved to Lisbon in March.", "How do you like it?", "The light is wonderful.", "Enjoy it!")


@pytest.fixture
def listed(run):
    return lambda: json.loads(run("imports", "--json").stdout)["imports"]


@pytest.fixture
def undo(run):
    def undo(id, code=0):
        result = run("import", "--undo", id, "--json")
        assert result.exit_code == code, result.stdout + result.stderr
        return json.loads(result.stdout) if code == 0 else result.stderr

    return undo


def stored(run):
    return {json.loads(line)["content"]: json.loads(line) for line in run("export", "-").stdout.splitlines()}


def notes(folder, *texts, name="notes.txt"):
    path = folder / name
    path.write_text("".join(f"{text}\n" for text in texts))
    return path


def test_one_conversation_is_listed_as_one_episode(run, load, tmp_path):
    load(exports.as_json(tmp_path / "c.json", [exports.chatgpt("c1", *TALK)]))
    assert run("imports").stdout.splitlines()[1].endswith(", 1 episode")


def test_an_import_is_listed_with_what_it_did(run, ask, load, listed, tmp_path):
    run("remember", "the heron stands in the reeds")
    assert run("imports").stderr == "Nothing was imported yet.\n"
    chats = exports.as_zip(tmp_path / "chats.zip", **{"conversations.json": [exports.chatgpt("c1", *TALK)]})
    first, second = load(chats)["import"], load(notes(tmp_path, "The heron fishes.", "The owl sleeps."))["import"]
    again = load(chats)["import"]
    runs = listed()
    assert [run["id"] for run in runs] == [again, second, first]
    assert [(run["name"], run["state"], run["written"], run["skipped"]) for run in runs] == [
        ("chats.zip", "complete", 0, 4),
        ("notes.txt", "complete", 2, 0),
        ("chats.zip", "complete", 4, 0),
    ]
    assert (runs[2]["formats"], runs[2]["episodes"]) == (["a ChatGPT export"], 1)
    assert second[:8] in run("imports").stdout
    assert "1 of 3" in run("imports", "--limit", "1").stdout
    brought = [ask("core.list", import_id=id)["memories"] for id in (first, second, again)]
    assert [len(memories) for memories in brought] == [1, 2, 0]
    assert {memory["import_id"] for memory in brought[1]} == {second}


def test_an_undo_takes_back_what_the_import_brought_and_nothing_else(run, load, undo, tmp_path):
    run("remember", "The otter swims.")
    path = exports.as_json(tmp_path / "c.json", [exports.chatgpt("c1", *TALK)])
    id = load(path)["import"]
    assert len(stored(run)) > 5
    done = undo(id[:8])
    assert (done["id"], done["removed"], done["left_total"]) == (id, 5, 0)
    assert list(stored(run)) == ["The otter swims."]
    assert "was taken back already" in undo(id, code=4)
    assert load(path)["written"] == 4


def test_an_undo_takes_yes_like_commands_that_ask(run, load, tmp_path):
    id = load(notes(tmp_path, "The heron fishes."))["import"]
    assert run("import", "--undo", id, "--yes").exit_code == 0
    assert stored(run) == {}


def test_an_undo_leaves_what_was_changed_since_and_lists_it(run, ask, load, undo, tmp_path):
    id = load(notes(tmp_path, "The heron fishes.", "The owl sleeps.", "The newt hides."))["import"]
    there = stored(run)
    ask("core.update", id=there["The heron fishes."]["id"], content="The heron fishes at dawn.")
    ask("core.delete", id=there["The newt hides."]["id"])
    ask("core.search", query="owl")
    done = undo(id)
    assert (done["removed"], [left["content"] for left in done["left"]]) == (2, ["The heron fishes at dawn."])
    assert list(stored(run)) == ["The heron fishes at dawn."]
    assert json.loads(run("imports", "--json").stdout)["imports"][0]["kept"] == 1


def test_a_repeated_import_does_not_claim_what_was_there(run, load, undo, tmp_path):
    path = notes(tmp_path, "The heron fishes.")
    load(path)
    notes(tmp_path, "The heron fishes.", "The owl sleeps.")
    again = load(path)
    assert (again["written"], again["skipped"]) == (1, 1)
    assert undo(again["import"])["removed"] == 1
    assert list(stored(run)) == ["The heron fishes."]


def test_an_undo_of_a_chat_leaves_what_a_hook_had_kept_of_it(run, ask, load, undo, tmp_path):
    said = [{"role": "user", "content": TALK[0], "id": "s1-0"}]
    ask("core.append_messages", conversation_id="s1", messages=said)
    id = load(exports.as_lines(tmp_path / "s1.jsonl", exports.claude_code("s1", *TALK)))["import"]
    undo(id)
    left = stored(run).values()
    assert {message["content"] for record in left for message in record.get("messages", [])} == {TALK[0]}


def test_records_with_a_history_are_taken_back_too(run, ask, load, undo, tmp_path):
    run("remember", "The otter swims.")
    [old] = stored(run).values()
    ask("core.update", id=old["id"], content="The otter dives.")
    path = tmp_path / "all.jsonl"
    run("export", path)
    ask("core.forget", id=old["id"])
    id = load(path)["import"]
    assert undo(id)["removed"] == 1
    assert stored(run) == {}


@pytest.mark.parametrize("typed", ["abc", "", "not-an-id", "3f2b8c1e" * 20])
def test_what_can_be_no_id_of_an_import_is_quoted_as_it_was_typed(run, undo, typed):
    sentence = (
        f'"{typed[:64]}" is not the id of an import: give at least its first 8 characters, as `steeltrap imports` '
        "shows them.\n"
    )
    assert undo(typed, code=2) == sentence
    assert (run("imports", typed).exit_code, run("imports", typed).stderr) == (2, sentence)


def test_unknown_ids_and_a_missing_path_are_refused(run, undo):
    assert "There is no import" in undo("00000000", code=3)
    assert "Name the file" in run("import").stderr


def test_an_interrupted_import_is_listed_as_unfinished_and_can_be_taken_back(
    run, load, listed, undo, monkeypatch, tmp_path
):
    def fail(*given, **more):
        raise KeyboardInterrupt

    whole = running.importing.import_texts
    monkeypatch.setattr(running.importing, "import_texts", fail)
    folder = tmp_path / "both"
    folder.mkdir()
    exports.as_json(folder / "a.json", [exports.chatgpt("c1", *TALK)])
    notes(folder, "The heron fishes.")
    assert run("import", folder).exit_code == 130
    [stopped] = listed()
    assert (stopped["state"], stopped["written"]) == ("unfinished", 4)
    assert undo(stopped["id"])["removed"] == 5
    monkeypatch.setattr(running.importing, "import_texts", whole)
    assert load(folder)["written"] == 5


def test_a_running_import_is_not_taken_back(run, load, listed, undo, monkeypatch, tmp_path):
    met = []

    def try_undo(*given, **more):
        [running_one] = listed()
        met.append((running_one["state"], undo(running_one["id"], code=4)))
        raise KeyboardInterrupt

    monkeypatch.setattr(running.importing, "import_texts", try_undo)
    run("import", notes(tmp_path, "The heron fishes."))
    [(state, refused)] = met
    assert state == "running"
    assert "is running" in refused


KILLED = """
import os
from steeltrap.cli import main
from steeltrap.importers import running
running.importing.import_texts = lambda *given, **more: os.kill(os.getpid(), 9)
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_an_import_whose_process_was_killed_is_taken_back_at_once(data, tmp_path):
    environment = {**os.environ, "STEELTRAP_DATA": str(data), "PYTHONPATH": str(SHARED)}

    def command(*arguments, code="from steeltrap.cli import main; main()"):
        return subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)], env=environment, capture_output=True, check=False
        )

    command("remember", "The otter swims.")
    folder = tmp_path / "both"
    folder.mkdir()
    exports.as_json(folder / "a.json", [exports.chatgpt("c1", *TALK)])
    notes(folder, "The heron fishes.")
    assert command("import", folder, code=KILLED).returncode == -9
    [one] = json.loads(command("imports", "--json").stdout)["imports"]
    assert one["state"] == "unfinished"
    assert json.loads(command("import", "--undo", one["id"], "--json").stdout)["removed"] == 5
    assert json.loads(command("stats", "--json").stdout)["memories"] == 1


def test_a_process_of_another_machine_may_still_run():
    assert not has_died("elsewhere:1")
    assert not has_died(running.this_process())


def test_times_of_imports_are_in_the_user_s_zone(run, load, undo, tmp_path, monkeypatch):
    monkeypatch.setenv("STEELTRAP_TIMEZONE", "Pacific/Kiritimati")  # 14 hours ahead: the day after, for half of it
    id = load(notes(tmp_path, "The heron fishes."))["import"]
    [one] = json.loads(run("imports", "--json").stdout)["imports"]
    there = datetime.fromisoformat(one["started_at"]).astimezone(ZoneInfo("Pacific/Kiritimati"))
    assert f"{there:%Y-%m-%d %H:%M %Z}  notes.txt" in run("imports").stdout
    undo(id)
    [one] = json.loads(run("imports", "--json").stdout)["imports"]
    there = datetime.fromisoformat(one["undone_at"]).astimezone(ZoneInfo("Pacific/Kiritimati"))
    assert f"undone {there:%Y-%m-%d %H:%M %Z}: nothing of it is left" in run("imports").stdout
    assert f"already, at {there:%Y-%m-%d %H:%M}." in undo(id, code=4)


def test_an_undone_import_of_which_something_is_left_says_how_much(run, ask, load, undo, tmp_path):
    id = load(notes(tmp_path, "The heron fishes.", "The owl sleeps."))["import"]
    ask("core.update", id=stored(run)["The owl sleeps."]["id"], content="The owl hunts.")
    undo(id)
    shown = run("imports").stdout
    assert "1 changed since and kept" in shown
    assert "nothing of it is left" not in shown


def test_an_undo_of_several_calls_lists_what_each_of_them_left(run, load, monkeypatch, tmp_path):
    id = load(notes(tmp_path, "The heron fishes."))["import"]
    rest = {"id": id, "restored": 0, "left_total": 1}
    calls = iter(
        [
            {**rest, "removed": 3, "left": [{"id": "a", "content": "The owl sleeps."}], "more": True},
            {**rest, "removed": 4, "left": [{"id": "b", "content": "The newt hides."}]},
        ]
    )
    monkeypatch.setattr(transfer, "_undone", lambda *_: next(calls))
    shown = run("import", "--undo", id).stdout
    assert "7 memories and messages erased" in shown
    assert "Changed since, and left (2):\n  a  The owl sleeps.\n  b  The newt hides.\n" in shown


def test_an_undo_that_is_cut_short_by_the_deadline_lists_all_that_was_left_at_its_end(
    run, ask, load, monkeypatch, tmp_path
):
    id = load(notes(tmp_path, *(f"Fact {number}" for number in range(6))))["import"]
    for memory in list(stored(run).values())[::3]:
        ask("core.update", id=memory["id"], content=f"{memory['content']} changed")
    monkeypatch.setattr(imports, "_BLOCK", 1)
    sorted_out, met = imports._sorted_out, []

    def cut(*given):
        met.append(given)
        if len(met) == 4:
            raise Unavailable("The call took too long.", part="deadline")
        return sorted_out(*given)

    monkeypatch.setattr(imports, "_sorted_out", cut)
    shown = json.loads(run("import", "--undo", id, "--json").stdout)
    assert (shown["removed"], shown["left_total"]) == (4, 2)
    assert sorted(each["content"] for each in shown["left"]) == ["Fact 0 changed", "Fact 3 changed"]


def test_a_forgotten_memory_s_receipt_names_the_import_that_brought_it(run, ask, load, tmp_path):
    id = load(notes(tmp_path, "The heron fishes."))["import"]
    [memory] = stored(run).values()
    assert f"import that brought it: {id[:8]}, notes.txt" in run("forget", memory["id"], "--yes").stdout
    own = ask("core.save", content="The otter swims.")
    assert "imports" not in ask("core.forget", id=own["id"])


def test_an_undo_that_fails_halfway_says_how_much_is_erased_and_how_to_go_on(run, load, monkeypatch, tmp_path):
    id = load(notes(tmp_path, "The heron fishes."))["import"]
    first = {"id": id, "removed": 3, "restored": 0, "left": [], "left_total": 0, "more": True}
    answers = iter([first])

    def undone(*_):
        if (answer := next(answers, None)) is None:
            raise Unavailable("The call took too long.", part="deadline")
        return answer

    monkeypatch.setattr(transfer, "_undone", undone)
    result = run("import", "--undo", id)
    assert result.exit_code == 5
    assert "Stopped with 3 erased. Run the same command again to continue." in result.stderr


def test_a_page_of_imports_beyond_the_last_one_says_how_many_there_are(run, load, tmp_path):
    (tmp_path / "a.txt").write_text("One\n")
    load(tmp_path / "a.txt")
    result = run("imports", "--offset", "5")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "There is only 1; use a smaller --offset.\n"
