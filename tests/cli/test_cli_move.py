"""move, backup and restore where memories lie at the URL of a log."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from components import dynamodb_url
from contracts.dynamodb_stores import local, tables
from steeltrap.errors import Unavailable
from steeltrap.model import UserRef
from steeltrap.runtime import aws as runtime_aws
from steeltrap.runtime.local import cache_of
from steeltrap.settings import read_settings
from steeltrap.stores.dynamodb import moving as tables_moving
from steeltrap.stores.files.folder import FolderFiles
from steeltrap.stores.replica import moving
from steeltrap.stores.replica.store import REMEMBERED_ID


@pytest.fixture
def url(tmp_path):
    return f"file://{tmp_path}/log"


def key_ids(run):
    return [key["id"] for key in json.loads(run("keys", "list", "--json").stdout)]


def recalled(run, user):
    found = run("recall", "heron", "--user", user)
    return (found.exit_code, found.stdout + found.stderr)


def test_memories_and_files_of_all_users_go_to_a_log_and_back(run, data, tmp_path, url):
    run("remember", "the heron stands in the reeds", "--user", "ana")
    run("remember", "the heron flies", "--user", "bob")
    key = run("keys", "add", "--user", "ana").stdout.strip()
    FolderFiles(data).files(UserRef("ana")).write("kept/memories.json", b"[]")
    there = run("move", data, url)
    assert there.exit_code == 0, there.stderr
    assert f"Moved 2 memories of 2 users to {url}." in there.stdout
    code, said = recalled(run, "ana")
    assert code != 0
    assert f"These memories were moved to {url}" in said
    assert run("config", "set", "store", url).exit_code == 0
    assert "the heron stands in the reeds" in recalled(run, "ana")[1]
    assert FolderFiles(tmp_path / "log").files(UserRef("ana")).read("kept/memories.json", max_bytes=9) == b"[]"
    assert key_ids(run) == [key.split("_")[1]]
    assert run("remember", "the heron sleeps", "--user", "ana").exit_code == 0
    back = run("move", url, data, "--json")
    assert json.loads(back.stdout) == {"users": 2, "memories": 3, "files": 1, "moved_before": 0, "failed": []}
    assert run("config", "set", "store", "sqlite").exit_code == 0
    assert "the heron sleeps" in recalled(run, "ana")[1]
    assert key_ids(run) == [key.split("_")[1]]


def test_a_key_that_was_revoked_after_a_move_stays_revoked(run, data, url):
    run("remember", "the heron stands in the reeds")
    run("keys", "add", "--user", "ana")
    assert run("move", data, url).exit_code == 0
    assert run("config", "set", "store", url).exit_code == 0
    assert run("keys", "revoke", *key_ids(run)).exit_code == 0
    assert run("move", data, url).exit_code == 0
    assert key_ids(run) == []


def test_one_user_alone_is_moved(run, data, url):
    run("remember", "the heron stands in the reeds", "--user", "ana")
    run("remember", "the heron flies", "--user", "bob")
    assert run("move", data, url, "--user", "ana").exit_code == 0
    assert recalled(run, "bob")[0] == 0
    assert recalled(run, "ana")[0] != 0


def test_a_move_says_how_what_was_moved_is_found(run, data, tmp_path, url):
    run("remember", "the heron stands in the reeds", "--user", "ana")
    other = tmp_path / "another disk"
    said = run("move", data, other).stdout
    assert f"Whoever uses {data} finds them with: --data '{other}', or STEELTRAP_DATA='{other}'" in said
    said = run("move", other, url).stdout
    assert f"Whoever uses {other} finds them by: steeltrap config set store {url} --data '{other}'" in said


def test_a_move_between_folders_needs_no_package_of_logs(run, data, tmp_path):
    run("remember", "the heron stands in the reeds", "--user", "ana")
    program = (
        "import sys; sys.modules.update(dict.fromkeys(('backports', 'obstore', 'boto3')))\n"
        "from steeltrap.cli import main; main()"
    )

    def move(*places):
        command = [sys.executable, "-c", program, "move", *places]
        return subprocess.run(command, check=False, capture_output=True, text=True)

    other = tmp_path / "other"
    refused = move(data, "s3://bucket/memories")
    assert (refused.returncode, "'obstore" in refused.stderr) == (2, True), refused.stderr
    done = move(data, other)
    assert done.returncode == 0, done.stderr
    assert "the heron stands in the reeds" in run("recall", "heron", "--user", "ana", data=other).stdout


def test_a_folder_whose_memories_are_gone_is_not_an_empty_one(run, data, tmp_path, url):
    assert run("config", "set", "store", url).exit_code == 0
    assert run("remember", "the heron stands in the reeds").exit_code == 0
    (tmp_path / "log").rename(tmp_path / "away")
    for command in (["recall", "heron"], ["remember", "the heron flies"], ["list"], ["doctor"]):
        refused = run(*command)
        assert refused.exit_code != 0, command
        assert f"The memories are no longer in {tmp_path}/log: mount its disk again" in refused.stdout + refused.stderr
    assert not (tmp_path / "log").exists()
    (tmp_path / "away").rename(tmp_path / "log")
    assert "the heron stands in the reeds" in run("recall", "heron").stdout


def test_a_folder_that_can_not_be_looked_into_is_told_by_a_sentence(run, data, tmp_path):
    settings = read_settings(data=data, store=f"file://{tmp_path}/{'x' * 300}")
    assert run("config", "set", "store", settings.store).exit_code == 0
    cache_of(settings).mkdir(parents=True)
    (cache_of(settings) / REMEMBERED_ID).write_bytes(b"of before")
    refused = run("recall", "heron")
    assert refused.exit_code != 0
    assert "The folder of the logs can't be used (" in refused.stderr


def test_a_folder_or_a_user_that_isnt_there_is_no_move_of_nothing(run, data, tmp_path, url):
    run("remember", "the heron stands in the reeds", "--user", "ana")
    missing = run("move", tmp_path / "misspelt", url)
    assert (missing.exit_code, missing.stdout) == (3, "")
    assert missing.stderr == f"There is no folder {tmp_path / 'misspelt'}.\n"
    nobody = run("move", data, url, "--user", "anna")
    assert nobody.exit_code == 1
    assert f"anna: nothing is stored for this user in {data}.\n" in nobody.stderr
    for moves in (1, 0):
        again = json.loads(run("move", data, url, "--user", "ana", "--json").stdout)
        assert (again["users"], again["moved_before"], again["failed"]) == (moves, 1 - moves, [])


def test_a_place_where_nobody_has_memories_is_no_move_of_nothing(run, data, tmp_path, url, monkeypatch):
    missing = run("move", f"file://{tmp_path}/misspelt", data)
    assert (missing.exit_code, missing.stdout) == (3, "")
    assert missing.stderr == f"There is no folder {tmp_path / 'misspelt'}.\n"
    assert not (tmp_path / "misspelt").exists()
    (tmp_path / "photos").mkdir()
    for source in (tmp_path / "photos", f"file://{tmp_path}/photos"):
        nobody = run("move", source, f"file://{tmp_path}/target")
        assert (nobody.exit_code, nobody.stdout) == (3, "")
        assert nobody.stderr == f"Nothing was moved: nobody has memories in {tmp_path / 'photos'}. Check FROM.\n"
    monkeypatch.setenv("STEELTRAP_STORE", f"file://{tmp_path}/looked-at")
    assert run("list").exit_code == 0
    monkeypatch.delenv("STEELTRAP_STORE")
    assert run("move", f"file://{tmp_path}/looked-at", f"file://{tmp_path}/target").exit_code == 3
    run("remember", "the heron stands in the reeds")
    for source, target in ((data, url), (url, f"{url}-2")):
        assert [run("move", source, target).exit_code for _ in range(2)] == [0, 0]


@pytest.mark.parametrize("places", [("", "target"), ("source", "")])
def test_an_empty_place_is_not_the_current_folder(run, tmp_path, monkeypatch, places):
    monkeypatch.chdir(tmp_path)
    refused = run("move", *places)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == "One of the places is empty: give a folder, a URL or `aws`.\n"
    assert list(tmp_path.iterdir()) == []


def test_who_cant_be_moved_is_named_and_the_others_are_moved(run, data, tmp_path, url):
    for user in ("ana", "bob"):
        run("remember", "the heron stands in the reeds", "--user", user)
    run("remember", "the heron flies", "--user", "ana", data=tmp_path / "other")
    assert run("move", tmp_path / "other", url).exit_code == 0
    moved = run("move", data, url)
    assert moved.exit_code == 1
    assert "ana: The target has other memories of this user; they were left as they are." in moved.stderr
    assert "Moved 1 memory of 1 user" in moved.stdout
    assert recalled(run, "ana")[0] == 0


@pytest.fixture
def table(monkeypatch):
    """Tables that the settings name; of their index nothing answers, which a move doesn't ask."""
    url = dynamodb_url()
    monkeypatch.setattr(runtime_aws, "connect", lambda settings: local(settings.dynamodb_url))
    monkeypatch.setattr(tables_moving, "PAUSE_SECONDS", 0.0)
    with tables(local(url), fetches=True) as names:
        for variable, value in {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "STEELTRAP_MEMORY_TABLE": names[0],
            "STEELTRAP_USAGE_TABLE": names[1],
            "STEELTRAP_DYNAMODB_URL": url,
            "STEELTRAP_OPENSEARCH_URL": "http://127.0.0.1:9",
        }.items():
            monkeypatch.setenv(variable, value)
        yield names[0]


def listed(run, user):
    answer = run("call", "core.list", "{}", "--user", user)
    return {memory["content"] for memory in json.loads(answer.stdout)["memories"]}


def test_memories_of_all_users_go_to_the_tables_of_the_settings_and_on_to_a_log(run, data, table, tmp_path, url):
    run("remember", "the heron stands in the reeds", "--user", "ana")
    run("remember", "the heron flies", "--user", "bob")
    run("keys", "add", "--user", "ana")
    keys = key_ids(run)
    there = run("move", data, "aws")
    assert there.exit_code == 0, there.stderr
    assert "Moved 2 memories of 2 users to aws." in there.stdout
    assert "steeltrap config set store aws --data" in there.stdout
    assert "These memories were moved to aws: use the store there." in recalled(run, "ana")[1]
    elsewhere = run("move", data, f"{url}-2", "--user", "ana")
    assert f"were moved to aws:{table} before: move them from there" in elsewhere.stderr
    assert run("config", "set", "store", "aws").exit_code == 0
    assert key_ids(run) == keys
    assert listed(run, "ana") == {"the heron stands in the reeds"}
    assert run("remember", "the heron sleeps", "--user", "ana").exit_code == 0
    alone = run("move", "aws", url, "--user", "ana", "--json")
    assert json.loads(alone.stdout) == {"users": 1, "memories": 2, "files": 0, "moved_before": 0, "failed": []}
    assert f"These memories were moved to {url}" in recalled(run, "ana")[1]
    assert listed(run, "bob") == {"the heron flies"}
    assert json.loads(run("move", "aws", url, "--json").stdout)["users"] == 1
    assert run("config", "set", "store", url).exit_code == 0
    assert listed(run, "ana") == {"the heron stands in the reeds", "the heron sleeps"}
    assert listed(run, "bob") == {"the heron flies"}
    assert key_ids(run) == keys


def test_tables_where_nobody_has_memories_are_no_move_of_nothing(run, data, table, url):
    for _ in range(2):
        nobody = run("move", "aws", url)
        assert (nobody.exit_code, nobody.stdout) == (3, "")
        assert nobody.stderr == f"Nothing was moved: nobody has memories in the table {table}. Check FROM.\n"
    run("remember", "the heron stands in the reeds")
    assert [run("move", *places).exit_code for places in ((data, "aws"), ("aws", url), ("aws", url))] == [0, 0, 0]


@pytest.mark.parametrize(("target", "says"), [("ftp://x", "must be `sqlite`, `aws`, or a URL"), (".", "Both places")])
def test_a_place_that_is_none_is_refused(run, data, monkeypatch, target, says):
    data.mkdir()
    monkeypatch.chdir(data)
    refused = run("move", data, target)
    assert refused.exit_code != 0
    assert says in refused.stderr


def test_a_backup_of_a_log_is_restored_as_a_folder_and_into_another_log(run, data, tmp_path, url):
    assert run("config", "set", "store", url).exit_code == 0
    run("remember", "the heron stands in the reeds", "--user", "ana")
    run("remember", "the heron flies", "--user", "bob")
    run("keys", "add", "--user", "ana")
    keys = key_ids(run)
    FolderFiles(tmp_path / "log").files(UserRef("ana")).write("kept/memories.json", b"[]")
    made = run("backup", tmp_path / "monday")
    assert made.exit_code == 0, made.stderr
    assert "2 users" in made.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"data", "log", "monday"}
    assert run("restore", tmp_path / "monday", data=tmp_path / "folder").exit_code == 0
    found = run("recall", "heron", "--user", "ana", data=tmp_path / "folder")
    assert "the heron stands in the reeds" in found.stdout
    assert run("config", "set", "store", f"{url}-2").exit_code == 0
    restored = run("restore", tmp_path / "monday")
    assert restored.exit_code == 0, restored.stderr
    assert f"to {url}-2." in restored.stdout
    assert key_ids(run) == keys
    assert "the heron flies" in recalled(run, "bob")[1]
    assert FolderFiles(tmp_path / "log-2").files(UserRef("ana")).read("kept/memories.json", max_bytes=9) == b"[]"


def test_a_restore_leaves_who_has_memories_there_as_they_are(run, tmp_path, url):
    assert run("config", "set", "store", url).exit_code == 0
    run("remember", "the heron stands in the reeds", "--user", "ana")
    run("backup", tmp_path / "monday")
    run("remember", "the heron flies", "--user", "ana")
    refused = run("restore", tmp_path / "monday")
    assert refused.exit_code == 4
    assert (
        "ana was not restored: The target has other memories of this user; they were left as they are."
        in refused.stderr
    )
    assert "the heron flies" in recalled(run, "ana")[1]
    assert run("restore", tmp_path / "monday", "--replace").exit_code == 2


def test_a_damaged_log_is_left_out_of_a_backup_and_named(run, tmp_path, url):
    assert run("config", "set", "store", url).exit_code == 0
    run("remember", "the heron stands in the reeds", "--user", "ana")
    run("remember", "the heron flies", "--user", "bob")
    for entry in tmp_path.glob(f"log/u/{UserRef('bob').key}/e/*"):
        entry.write_bytes(entry.read_bytes()[:-1])
    for cache in tmp_path.glob("data/.cache/*/users/*/*"):
        cache.unlink()
    made = run("backup", tmp_path / "monday")
    assert made.exit_code == 1
    assert "Left out: user bob. The log of these memories is damaged" in made.stderr
    assert run("restore", tmp_path / "monday", data=tmp_path / "folder").exit_code == 0
    assert run("recall", "heron", "--user", "ana", data=tmp_path / "folder").exit_code == 0


def test_a_user_whose_move_was_cut_short_is_left_out_of_a_backup_and_named(run, tmp_path, url, monkeypatch):
    assert run("config", "set", "store", url).exit_code == 0
    run("remember", "the heron stands in the reeds", "--user", "ana")
    run("remember", "the heron flies", "--user", "bob")
    with monkeypatch.context() as patch:
        patch.setattr(moving, "_take", killed)
        patch.setattr(moving, "_withdraw", killed)
        assert run("move", url, f"{url}-2", "--user", "ana").exit_code == 9
    made = run("backup", tmp_path / "monday", "--json")
    assert made.exit_code == 1
    assert f"Left out: user ana. These memories were moved to {url}-2: " in made.stderr
    answer = json.loads(made.stdout)
    assert (answer["users"], answer["left_out"]) == (1, ["user ana"])
    assert run("move", url, f"{url}-2", "--user", "ana").exit_code == 0
    assert run("backup", tmp_path / "tuesday").exit_code == 0


def test_a_user_whose_move_was_cut_short_is_counted_and_named_by_a_sweep(run, url, monkeypatch):
    assert run("config", "set", "store", url).exit_code == 0
    for user in ("ana", "bob"):
        id = json.loads(run("remember", "the heron flies", "--json", "--user", user).stdout)["id"]
        run("call", "core.delete", json.dumps({"id": id}), "--user", user)
    with monkeypatch.context() as patch:
        patch.setattr(moving, "_take", killed)
        patch.setattr(moving, "_withdraw", killed)
        assert run("move", url, f"{url}-2", "--user", "ana").exit_code == 9
    later = datetime.now(UTC) + timedelta(days=31)
    monkeypatch.setattr("steeltrap.runtime.local.SystemClock.now", lambda self: later)
    done = run("sweep", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout) == {"users": 1, "memories": 1, "moved": 1, "failed": 0}
    assert f"user ana: These memories were moved to {url}-2: " in done.stderr
    assert "1 user was passed over: the move is going on or was cut short." in run("sweep").stdout


def test_a_backup_of_a_log_without_users_is_an_empty_one(run, tmp_path, url):
    assert run("config", "set", "store", url).exit_code == 0
    made = run("backup", tmp_path / "monday", "--json")
    assert (made.exit_code, json.loads(made.stdout)["users"]) == (0, 0)


def killed(*_):
    raise SystemExit(9)


def test_a_users_memories_go_back_to_a_time_once_the_change_was_seen(run, url):
    assert run("config", "set", "store", url).exit_code == 0
    run("remember", "the heron stands in the reeds", "--user", "ana")
    then = datetime.now(UTC).isoformat()
    run("remember", "the heron flies", "--user", "ana")
    refused = run("restore", "--user", "ana", "--at", then, input="n\n")
    assert refused.exit_code == 1
    assert "1 memory differs from " in refused.stdout
    assert "- the heron flies" in refused.stdout
    assert "the heron flies" in recalled(run, "ana")[1]
    done = run("restore", "--user", "ana", "--at", then, "--yes")
    assert done.exit_code == 0, done.stderr
    assert "the heron flies" not in recalled(run, "ana")[1]
    again = run("restore", "--user", "ana", "--at", then, "--json")
    assert json.loads(again.stdout) == {"restored": []}
    back = done.stdout.splitlines()[-1].removeprefix("Restored. To take it back: steeltrap ").split()
    assert run(*back, "--yes").exit_code == 0
    assert "the heron flies" in recalled(run, "ana")[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--at", "yesterday"], "Give a time such as 2026-01-31T09:30"),
        (["--at", "2020-01-01"], "has no memories"),
        ([], "Name the folder of a backup, or a time with --at"),
    ],
)
def test_a_restore_without_a_place_or_a_time_says_what_is_wanted(run, url, arguments, says):
    assert run("config", "set", "store", url).exit_code == 0
    refused = run("restore", *arguments)
    assert refused.exit_code != 0
    assert says in " ".join(refused.stderr.split())


def test_a_data_folder_has_no_history_to_go_back_to(run):
    run("remember", "the heron stands in the reeds")
    refused = run("restore", "--at", "2020-01-01")
    assert refused.exit_code == 2
    assert "Only a store at a URL goes back to a time" in refused.stderr


def test_a_move_that_was_cut_short_is_finished_by_the_same_command(run, data, url, monkeypatch):
    run("remember", "the heron stands in the reeds", "--user", "ana")
    with monkeypatch.context() as patch:
        patch.setattr(moving, "_take", killed)
        patch.setattr(moving, "_withdraw", killed)
        assert run("move", data, url).exit_code == 9
    assert "run `steeltrap move` again" in recalled(run, "ana")[1]
    assert "Moved 1 memory of 1 user" in run("move", data, url).stdout
    assert "1 had been moved before" in run("move", data, url).stdout


def test_files_that_a_move_could_not_copy_go_along_with_the_next(run, data, tmp_path, monkeypatch):
    url, back = f"file://{tmp_path}/log", tmp_path / "back"
    for source, target in ((data, url), (url, back)):
        run("remember", "the heron stands in the reeds", "--user", "ana")
        files = FolderFiles(data if source == data else tmp_path / "log")
        files.files(UserRef("ana")).write("kept/memories.json", b"[]")
        with monkeypatch.context() as patch:
            patch.setattr("steeltrap.stores.files.folder.UserFolder.read", refusing)
            assert run("move", source, target).exit_code == 1
        assert run("move", source, target).exit_code == 0
    assert FolderFiles(back).files(UserRef("ana")).read("kept/memories.json", max_bytes=9) == b"[]"


def refusing(*_, **__):
    raise Unavailable("The disk is away.", part="files")
