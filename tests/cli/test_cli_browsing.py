"""list, get, delete, trash, stats, users: what is stored, looked through and taken out."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from steeltrap.cli.showing import folded
from steeltrap.engine import reading


@pytest.fixture
def remembered(run):
    def remembered(content, *options):
        return json.loads(run("remember", content, "--json", *options).stdout)["id"]

    return remembered


def ids(result):
    return [memory["id"] for memory in json.loads(result.stdout)["memories"]]


def test_list_shows_the_newest_first_with_their_ids_and_tags(run, remembered):
    tea = remembered("Ana likes tea", "--tag", "drinks")
    key = remembered("The deploy key rotates every 90 days", "--scope", "work/acme")
    shown = run("list")
    assert (shown.exit_code, shown.stderr) == (0, "")
    text, about, older, about_older = shown.stdout.splitlines()
    assert (text, older) == ("The deploy key rotates every 90 days", "Ana likes tea")
    assert about.startswith(f"  {key}  work/acme  ")
    assert about_older.startswith(f"  {tea}  user/default  ")
    assert about_older.endswith("  #drinks")


def test_list_takes_conditions_and_pages_and_says_what_is_left(run, remembered):
    first, second, third = (remembered(f"number {n}", "--tag", "n") for n in "123")
    remembered("of another tag", "--tag", "m")
    page = run("list", "--tag", "n", "--limit", 2)
    assert page.stderr == "1 to 2 of 3; `--offset 2` shows the next.\n"
    assert ids(run("list", "--tag", "n", "--limit", 2, "--json")) == [third, second]
    assert ids(run("list", "--tag", "n", "--limit", 2, "--offset", 2, "--json")) == [first]
    assert run("list", "--offset", 9).stderr == "There are only 4; use a smaller --offset.\n"
    assert run("list", "--limit", 0).exit_code == 2


def test_list_cuts_a_long_text_which_get_shows_whole(run, remembered):
    long = "line one\nline two " + "x" * 300
    id = remembered(long)
    shown = run("list").stdout.splitlines()[0]
    assert shown.startswith("line one line two xxx")
    assert shown.endswith("xxx...")
    assert long in run("get", id).stdout


def test_list_of_nothing_says_why(run, remembered, data):
    data.mkdir(exist_ok=True)
    assert run("list").stderr == "Nothing is stored yet.\n"
    remembered("Ana likes tea")
    assert run("list", "--tag", "work").stderr == "There are no such memories.\n"


def test_an_empty_store_names_the_trash_where_it_holds_something(run, remembered):
    run("delete", remembered("Ana likes tea"))
    nothing = "Nothing is stored; 1 deleted memory can be restored: `steeltrap trash`.\n"
    assert (run("list").stderr, run("recall", "tea").stderr) == (nothing, nothing)


def test_a_list_that_shows_memories_reads_none_that_is_deleted(run, remembered, monkeypatch):
    run("delete", remembered("Ana likes tea"))
    remembered("Ana likes coffee")
    reads = []
    monkeypatch.setattr(reading, "list_deleted", lambda *_, **options: reads.append(options))
    assert "Ana likes coffee" in run("list").stdout
    assert reads == []


def test_a_memory_that_is_named_twice_is_deleted_once_and_named_once(run, remembered):
    id = remembered("Ana likes tea")
    done = run("delete", id, id[:8], id)
    assert done.stdout.count("Ana likes tea") == 1
    assert f"To restore it within 30 days: `steeltrap undo {id}`." in done.stdout + done.stderr


def test_list_leaves_out_what_was_superseded_unless_asked(run, remembered):
    old = remembered("Ana lives in Lisbon")
    new = json.loads(run("revise", old, "Ana lives in Porto", "--json").stdout)["id"]
    assert ids(run("list", "--json")) == [new]
    assert f"superseded by {new} just now" in run("list", "--superseded").stdout


def test_get_shows_every_field_by_its_name(run, ask):
    id = ask("core.save", content="Ana likes tea", category="drinks", metadata={"cup": "blue"}, tags=["a", "b"])["id"]
    rows = dict(line.split(maxsplit=1) for line in run("get", id).stdout.splitlines()[1:])
    assert (rows["id"], rows["category"], rows["tags"]) == (id, "drinks", "a, b")
    assert rows["metadata"] == '{"cup": "blue"}'
    assert json.loads(run("get", id, "--json").stdout)["content"] == "Ana likes tea"


def test_a_memory_that_is_deleted_is_in_the_trash_until_undo_brings_it_back(run, remembered):
    id = remembered("Ana likes tea")
    deleted = run("delete", id)
    assert deleted.stdout == f"Deleted: Ana likes tea\nTo restore it within 30 days: `steeltrap undo {id}`.\n"
    assert run("get", id).exit_code == 3
    assert run("delete", id).exit_code == 3
    trash = run("trash")
    assert trash.stderr == "To restore one: `steeltrap undo ID`.\n"
    assert "Ana likes tea" in trash.stdout
    assert f"  {id}  " in trash.stdout
    assert ids(run("trash", "--json")) == [id]
    assert run("undo", id).exit_code == 0
    assert run("trash").stderr == "The trash is empty.\n"
    assert "Ana likes tea" in run("get", id).stdout


def test_delete_says_when_nothing_can_bring_it_back(run, remembered, monkeypatch):
    monkeypatch.setenv("STEELTRAP_RETENTION_DAYS", "0")
    assert "It can't be restored" in run("delete", remembered("Ana likes tea")).stdout


def test_the_trash_shows_the_latest_deletion_first_and_when_it_was(run, remembered, monkeypatch):
    first, second = remembered("deleted first"), remembered("deleted second")
    run("delete", first)
    later = datetime.now(UTC) + timedelta(days=3)
    monkeypatch.setattr("steeltrap.runtime.local.SystemClock.now", lambda self: later)
    run("delete", second)
    lines = run("trash").stdout.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == ["deleted second", "deleted first"]
    assert lines[1].endswith(", just now")
    assert lines[3].endswith(", 3 days ago")


def test_stats_count_what_is_stored(run, remembered):
    remembered("Ana likes tea")
    run("delete", remembered("The deploy key rotates every 90 days"))
    counted = json.loads(run("stats", "--json").stdout)
    assert (counted["memories"], counted["deleted"]) == (1, 1)
    shown = [line.split(maxsplit=1) for line in run("stats").stdout.splitlines()]
    assert ["1", "memories"] in shown
    assert len(shown) == len(counted)


def test_users_are_listed_by_id(run):
    assert run("users").stderr == "Nothing is stored for any user yet.\n"
    for user in ("zoe", "ana"):
        run("remember", "something", "--user", user)
    assert run("users").stdout == "ana\nzoe\n"
    assert json.loads(run("users", "--json").stdout) == [
        {"user": "ana", "tenant": ""},
        {"user": "zoe", "tenant": ""},
    ]


def test_a_file_that_cannot_be_read_is_named_and_the_other_users_are_listed(run, data):
    run("remember", "something", "--user", "ana")
    [path] = data.glob("users/*/*.db")
    path.write_bytes(b"this is no database" * 100)
    run("remember", "something", "--user", "zoe")
    result = run("users")
    assert (result.exit_code, result.stdout) == (1, "zoe\n")
    assert path.name in result.stderr


def test_another_users_memory_is_not_found(run, remembered):
    id = remembered("Ana's secret", "--user", "ana")
    for command in ("get", "delete"):
        assert run(command, id).exit_code == 3
    assert "secret" not in run("list").stdout


@pytest.mark.parametrize("command", ["list", "get", "trash"])
def test_a_stored_escape_sequence_does_not_reach_the_terminal(run, remembered, ask, command):
    id = ask("core.save", content="red \x1b[31m alert", metadata={"note": "\x1b[2J"}, category="\x1b[1m")["id"]
    if command == "trash":
        run("delete", id)
    shown = run(command, *([id] if command == "get" else []))
    assert "alert" in shown.stdout
    assert "\x1b" not in shown.stdout


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (None, "  an id  a scope  #tag"),
        (22, "  an id  a scope  #tag"),
        (21, "  an id  a scope\n  #tag"),
        (1, "  an id\n  a scope\n  #tag"),
    ],
)
def test_a_narrow_terminal_breaks_the_line_about_a_memory_between_its_parts_only(width, shown):
    assert folded(["an id", "a scope", "#tag"], 2, width) == shown


def test_get_shows_what_a_memory_is_linked_to_and_what_was_said(run, ask):
    said = [
        {"role": "user", "content": "I moved\nto Lisbon.", "speaker": "Ana"},
        {"role": "assistant", "content": "Oh?"},
    ]
    id = ask("core.save", content="Ana moved to Lisbon", messages=said)["id"]
    other = ask("core.save", content="The deploy key rotates every 90 days")["id"]
    ask("core.associate", id=id, target_id=other, strength=0.9)
    shown = run("get", id).stdout
    assert f"  links           {other} (0.90)\n" in shown
    assert shown.endswith("  Ana: I moved\n    to Lisbon.\n  assistant: Oh?\n")
