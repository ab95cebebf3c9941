"""backup and restore: what is copied, what is refused, and what a damaged file changes."""

import json
import os
import shutil
from hashlib import sha256
from pathlib import Path

import apsw
import pytest

from steeltrap.model import UserRef
from steeltrap.servers.auth.api_keys import ApiKeys
from steeltrap.stores.files.folder import FolderFiles
from steeltrap.stores.shared_folders import LocalFolder

MANIFEST = "steeltrap-backup.json"


@pytest.fixture
def target(tmp_path):
    return tmp_path / "backups" / "monday"


@pytest.fixture
def filled(run, data, target):
    """A folder with two users, an exported file and an API key; the key's secret."""
    target.parent.mkdir()
    run("remember", "the heron stands in the reeds", "--user", "ana")
    run("remember", "the otter swims", "--user", "bob")
    FolderFiles(data).files(UserRef("ana")).write("kept/memories.json", b"[]")
    return run("keys", "add", "--user", "ana").stdout.strip()


def files(folder: Path):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def contents(run, folder, user):
    exported = run("export", "--user", user, "-", data=folder)
    assert exported.exit_code == 0, exported.stderr
    records = [json.loads(line) for line in exported.stdout.splitlines()]
    return {record["content"] for record in records if "content" in record}


def file_of(folder, user):
    key = UserRef(user).key
    return folder / "users" / key[:2] / f"{key}.db"


def test_memories_exports_and_keys_come_back(run, data, target, tmp_path, filled):
    made = run("backup", target)
    assert made.exit_code == 0, made.stderr
    assert "2 users" in made.stdout
    restored = run("restore", target, data=tmp_path / "new")
    assert restored.exit_code == 0, restored.stderr
    assert "2 users" in restored.stdout
    assert contents(run, tmp_path / "new", "ana") == {"the heron stands in the reeds"}
    assert contents(run, tmp_path / "new", "bob") == {"the otter swims"}
    assert FolderFiles(tmp_path / "new").files(UserRef("ana")).read("kept/memories.json", max_bytes=9) == b"[]"
    assert ApiKeys(LocalFolder(tmp_path / "new" / "keys")).find(filled).user_id == "ana"
    assert run("doctor", data=tmp_path / "new").exit_code == 0


def test_a_backup_has_every_file_of_the_folder_but_what_is_in_passing_and_links(run, data, target, filled):
    in_passing = {".reserve", ".writable", "keys/.unfinished", "counters.db", "counters.db-wal", "server.json", "link"}
    for name in in_passing - {"link"}:
        (data / name).write_text("in passing")
    (data / "secret").write_text("of a part that came later")
    (data / "link").symlink_to("/etc/passwd")
    run("backup", target)
    expected = files(data) - in_passing
    assert files(target) == expected | {MANIFEST}
    assert "secret" in expected


def test_a_backup_is_for_its_owner_only_and_holds_no_log(run, target, filled):
    run("backup", target)
    assert {path.stat().st_mode & 0o077 for path in (target, *target.rglob("*"))} == {0}
    assert not [name for name in files(target) if name.endswith(("-wal", "-shm"))]


def test_what_is_printed_as_json_counts_users_files_and_bytes(run, target, tmp_path, filled):
    made = json.loads(run("backup", target, "--json").stdout)
    size = sum((target / name).stat().st_size for name in files(target) - {MANIFEST})
    assert made == {"users": 2, "files": 4, "bytes": size, "left_out": []}
    done = json.loads(run("restore", target, "--json", data=tmp_path / "new").stdout)
    assert done == {"users": 2, "files": 4, "bytes": size}


def test_an_older_file_is_backed_up_as_it_is(run, data, target, filled):
    connection = apsw.Connection(str(file_of(data, "ana")))
    connection.execute("DROP TABLE staged; PRAGMA user_version = 3")
    connection.close()
    assert run("backup", target).exit_code == 0
    connection = apsw.Connection(str(file_of(data, "ana")))
    assert connection.pragma("user_version") == 3
    connection.close()


@pytest.mark.parametrize(
    ("where", "said", "code"),
    [
        ("monday", "exists, and a backup never overwrites", 4),
        ("data/backup", "inside the data folder", 2),
        ("backups/not/there", "create it, or mount its disk", 3),
    ],
)
def test_a_target_that_does_not_do_is_refused_and_nothing_is_written(run, data, tmp_path, filled, where, said, code):
    (tmp_path / "monday").mkdir()
    before = files(tmp_path)
    refused = run("backup", tmp_path / where)
    assert refused.exit_code == code
    assert said in refused.stderr
    assert files(tmp_path) == before
    assert not list((tmp_path / "monday").iterdir())


def test_without_a_data_folder_there_is_nothing_to_back_up(run, data, tmp_path):
    refused = run("backup", tmp_path / "monday")
    assert refused.exit_code == 3
    assert f"no data folder {data}" in refused.stderr


def test_a_damaged_file_is_left_out_and_named_and_the_others_are_backed_up(run, data, target, tmp_path, filled):
    damaged = file_of(data, "ana")
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    made = run("backup", target)
    assert made.exit_code == 1
    assert damaged.name in made.stderr
    assert "is damaged" in made.stderr
    assert file_of(target, "ana").relative_to(target).as_posix() not in files(target)
    restored = run("restore", target, data=tmp_path / "new")
    assert restored.exit_code == 0
    assert "lacks 1 file" in restored.stderr
    assert contents(run, tmp_path / "new", "bob") == {"the otter swims"}


def test_a_file_whose_header_is_damaged_is_left_out_and_named_and_the_others_are_backed_up(run, data, target, filled):
    damaged = file_of(data, "ana")
    damaged.write_bytes(damaged.read_bytes().replace(b"hashed-words", b"hashed\xffwords"))
    made = run("backup", target)
    assert made.exit_code == 1
    assert f"The file {damaged.name} is damaged" in made.stderr
    assert file_of(target, "bob").is_file()
    checked = run("doctor")
    assert checked.exit_code == 1
    assert f"{damaged} is damaged" in checked.stdout


def test_another_programs_database_is_left_out(run, data, target, filled):
    path = file_of(data, "ana")
    path.unlink()
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE songs (title)")
    connection.close()
    made = run("backup", target)
    assert made.exit_code == 1
    assert "not a steeltrap database" in made.stderr


def test_a_forgotten_user_is_not_in_the_backup(run, data, target, filled):
    run("forget-user", "ana", "--yes")
    assert file_of(data, "ana").exists()
    run("backup", target)
    assert files(target) == {MANIFEST} | {name for name in files(data) if UserRef("ana").key not in name}


def test_what_lies_elsewhere_is_said(run, data, target, tmp_path, monkeypatch, filled):
    monkeypatch.setenv("STEELTRAP_KEYS_FOLDER", str(tmp_path / "mounted"))
    monkeypatch.setenv("STEELTRAP_EXPORT_BUCKET", "our-exports")
    made = run("backup", target)
    assert made.exit_code == 0
    assert f"The API keys in {tmp_path / 'mounted'} are not in the backup." in made.stderr
    assert "bucket our-exports are not in the backup" in made.stderr


def test_on_aws_both_commands_name_what_to_use_instead(run, target, monkeypatch):
    monkeypatch.setenv("STEELTRAP_STORE", "aws")
    for command in ("backup", "restore"):
        refused = run(command, target)
        assert refused.exit_code == 2
        assert "point-in-time recovery" in refused.stderr


@pytest.mark.parametrize("kind", ["empty", "unfinished", "missing"])
def test_a_source_that_is_no_finished_backup_is_refused(run, target, tmp_path, filled, kind):
    run("backup", target)
    if kind == "missing":
        shutil.rmtree(target)
    else:
        (target / MANIFEST).unlink()
        if kind == "empty":
            shutil.rmtree(target / "users")
    refused = run("restore", target, data=tmp_path / "new")
    assert refused.exit_code == (3 if kind == "missing" else 2)
    assert "steeltrap undo" in refused.stderr if kind == "missing" else "not a finished backup" in refused.stderr
    assert not (tmp_path / "new").exists()


def flip(path):
    changed = bytearray(path.read_bytes())
    changed[len(changed) // 2] ^= 1
    path.write_bytes(changed)


def rewrite(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda target: flip(file_of(target, "ana")), "damaged or missing"),
        (lambda target: file_of(target, "bob").unlink(), "damaged or missing"),
        (lambda target: (target / MANIFEST).write_text("{"), "is damaged"),
        (lambda target: rewrite(target / MANIFEST, format=2, steeltrap="9.0"), "newer steeltrap (9.0)"),
        (
            lambda target: rewrite(target / MANIFEST, files=[{"path": "../x", "size": 1, "sha256": ""}]),
            "is damaged",
        ),
    ],
    ids=["a bit", "a file", "the manifest", "newer", "a path that leads out"],
)
def test_a_damaged_backup_is_refused_and_the_folder_stays_as_it_is(run, data, target, tmp_path, filled, damage, said):
    run("backup", target)
    damage(target)
    refused = run("restore", target, "--replace")
    assert refused.exit_code == 2
    assert said in refused.stderr
    assert contents(run, data, "ana") == {"the heron stands in the reeds"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backups", "data"]


def add(target, path, content=b"x", **changes):
    """A file that a stranger added to a backup, listed as if the backup had written it."""
    made = json.loads((target / MANIFEST).read_text())
    if (target / path).parent.is_dir() and content is not None:
        (target / path).write_bytes(content)
    listed = {"path": path, "size": len(content or b""), "sha256": sha256(content or b"").hexdigest()} | changes
    rewrite(target / MANIFEST, files=[*made["files"], listed])


def execute(target, user, sql):
    """A user's file with something added, and listed with its new checksum."""
    path = file_of(target, user)
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "delete")
    connection.execute(sql)
    connection.close()
    relist(target, path)


def relist(target, path):
    made = json.loads((target / MANIFEST).read_text())
    name, content = path.relative_to(target).as_posix(), path.read_bytes()
    listed = [each for each in made["files"] if each["path"] != name]
    listed.append({"path": name, "size": len(content), "sha256": sha256(content).hexdigest()})
    rewrite(target / MANIFEST, files=listed)


def swap(target):
    """One user's file under the name of the other."""
    shutil.copy(file_of(target, "bob"), file_of(target, "ana"))
    relist(target, file_of(target, "ana"))


def first_file(target, change):
    """The first file of the manifest, changed."""
    made = json.loads((target / MANIFEST).read_text())
    rewrite(target / MANIFEST, files=[made["files"][0] | change, *made["files"][1:]])


def in_place(target, make):
    path = file_of(target, "ana")
    path.unlink()
    make(path)


def linked_folder(target):
    (target / "users").rename(target.parent / "elsewhere")
    (target / "users").symlink_to(target.parent / "elsewhere")


UNLISTED = [
    *("server.json", "SERVER.JSON", "Server.json.", "\uff53erver.json", ".hidden", "keys/.unfinished", "counters.db"),
    *("counters.db-wal", "a\0b", "a\nb", "\u202etxt", "", ".", "./x", "a//b", "a/../../x", "/etc/passwd", "x/"),
    *("users/x.db", "users/ab/x.db-wal", "users/ab/c/x.db", "steeltrap-backup.json"),
]


@pytest.mark.parametrize("path", UNLISTED)
def test_only_what_a_backup_writes_is_restored(run, data, target, filled, path):
    run("backup", target)
    is_file = path not in ("", ".", MANIFEST) and "\0" not in path and not path.endswith("/") and ".." not in path
    add(target, path, b"x" if is_file and path[0] != "/" else None)
    refused = run("restore", target, "--replace")
    assert (refused.exit_code, "is damaged" in refused.stderr) == (2, True)
    assert contents(run, data, "ana") == {"the heron stands in the reeds"}


HOSTILE = {
    "a trigger": lambda target: execute(
        target, "ana", "CREATE TRIGGER t AFTER INSERT ON memory BEGIN DELETE FROM memory; END"
    ),
    "a view": lambda target: execute(target, "ana", "CREATE VIEW v AS SELECT * FROM memory"),
    "a virtual table": lambda target: execute(target, "ana", "CREATE VIRTUAL TABLE v USING fts5(x)"),
    "an index on an expression": lambda target: execute(target, "ana", "CREATE INDEX i ON memory (length(image))"),
    "a generated column": lambda target: execute(target, "ana", "ALTER TABLE memory ADD COLUMN g AS (length(image))"),
    "a table of its own": lambda target: execute(target, "ana", "CREATE TABLE t (x)"),
    "another user's file": swap,
    "no database": lambda target: (file_of(target, "ana").write_bytes(b"x"), relist(target, file_of(target, "ana"))),
    "a link": lambda target: in_place(target, lambda path: path.symlink_to("/etc/passwd")),
    "a pipe": lambda target: in_place(target, os.mkfifo),
    "a folder": lambda target: in_place(target, Path.mkdir),
    "a linked folder": linked_folder,
    "a sparse file": lambda target: os.truncate(file_of(target, "ana"), 1 << 40),
    "a smaller size": lambda target: first_file(target, {"size": 1}),
    "a negative size": lambda target: first_file(target, {"size": -1}),
    "no checksum": lambda target: first_file(target, {"sha256": ""}),
    "a duplicate": lambda target: add(target, file_of(target, "ana").relative_to(target).as_posix(), None),
    "a duplicate in capitals": lambda target: (add(target, "notes"), add(target, "NOTES")),
    "a file that is a folder too": lambda target: (add(target, "notes"), add(target, "notes/x", None)),
    "no file": lambda target: rewrite(target / MANIFEST, files=[], users=0),
    "an empty manifest": lambda target: (target / MANIFEST).write_bytes(b""),
    "a pipe as manifest": lambda target: ((target / MANIFEST).unlink(), os.mkfifo(target / MANIFEST)),
    "a linked manifest": lambda target: (
        (target / MANIFEST).rename(target.parent / "m"),
        (target / MANIFEST).symlink_to(target.parent / "m"),
    ),
    "escapes for a terminal": lambda target: rewrite(target / MANIFEST, began_at="\x1b[2J2026-11-25T00:00:00"),
    "more users": lambda target: rewrite(target / MANIFEST, users=7),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_backup_that_somebody_changed_is_refused_whatever_its_manifest_says(run, data, target, filled, kind):
    run("backup", target)
    HOSTILE[kind](target)
    refused = run("restore", target, "--replace")
    assert refused.exit_code == 2, refused.stderr
    assert "Nothing was restored" in refused.stderr
    assert "\x1b" not in refused.stderr
    assert contents(run, data, "ana") == {"the heron stands in the reeds"}


@pytest.mark.parametrize("by_link", [False, True])
def test_a_backup_that_lacks_only_its_name_is_refused(run, target, tmp_path, filled, by_link):
    run("backup", target)
    part = target.rename(f"{target}.unfinished-1f3a9c02")
    if by_link:
        (tmp_path / "link").symlink_to(part)
    refused = run("restore", tmp_path / "link" if by_link else part, data=tmp_path / "new")
    assert refused.exit_code == 2
    assert "not a finished backup" in refused.stderr
    assert not (tmp_path / "new").exists()


def test_a_name_that_could_not_be_restored_is_left_out_and_said(run, data, target, tmp_path, filled):
    (data / "a\nb").write_text("x")
    made = run("backup", target)
    assert made.exit_code == 1
    assert "rename it" in made.stderr
    assert run("restore", target, data=tmp_path / "new").exit_code == 0


def test_a_folder_that_is_not_empty_is_replaced_only_when_told_and_is_kept(run, data, target, filled):
    run("backup", target)
    run("remember", "after the backup", "--user", "ana")
    refused = run("restore", target)
    assert refused.exit_code == 4
    assert "--replace" in refused.stderr
    assert len(contents(run, data, "ana")) == 2
    done = json.loads(run("restore", target, "--replace", "--json").stdout)
    assert contents(run, data, "ana") == {"the heron stands in the reeds"}
    assert len(contents(run, Path(done["kept"]), "ana")) == 2


def test_an_empty_folder_is_filled(run, target, tmp_path, filled):
    run("backup", target)
    (tmp_path / "new").mkdir()
    assert run("restore", target, data=tmp_path / "new").exit_code == 0
    assert contents(run, tmp_path / "new", "bob") == {"the otter swims"}
    assert not list(tmp_path.glob("new.*"))


def test_a_folder_that_is_in_use_is_not_replaced(run, data, target, embedder, clock, filled):
    from steeltrap.stores.sqlite import SqliteStore

    run("backup", target)
    store = SqliteStore(data, embedder, clock)
    store.check()
    refused = run("restore", target, "--replace")
    assert refused.exit_code == 5
    assert "used by a server or by another command: stop it first" in refused.stderr
    store.close()
    assert run("restore", target, "--replace").exit_code == 0


def test_a_folder_that_is_being_restored_is_not_served(run, data, filled):
    import fcntl

    descriptor = os.open(data, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    refused = run("recall", "heron", "--user", "ana")
    os.close(descriptor)
    assert refused.exit_code == 5
    assert "is being restored; try again" in refused.stderr
    assert run("recall", "heron", "--user", "ana").exit_code == 0


def test_a_mounted_disk_is_not_replaced_as_a_whole(run, target, tmp_path, monkeypatch, filled):
    run("backup", target)
    monkeypatch.setattr(Path, "is_mount", lambda path: path == tmp_path / "volume")
    (tmp_path / "volume").mkdir()
    refused = run("restore", target, data=tmp_path / "volume")
    assert refused.exit_code == 2
    assert f"--data {tmp_path / 'volume' / 'data'}" in refused.stderr
    assert run("restore", target, data=tmp_path / "volume" / "data").exit_code == 0


def test_a_link_to_a_data_folder_is_followed(run, data, target, tmp_path, filled):
    (tmp_path / "link").symlink_to(data)
    assert run("backup", target, data=tmp_path / "link").exit_code == 0
    assert run("restore", target, "--replace", data=tmp_path / "link").exit_code == 0
    assert (tmp_path / "link").is_symlink()
    assert contents(run, data, "bob") == {"the otter swims"}


def test_a_full_disk_is_said_and_leaves_nothing_behind(run, target, monkeypatch, filled):
    from steeltrap.stores.sqlite import backup

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup, "keep_copy", full)
    refused = run("backup", target)
    assert refused.exit_code == 5
    assert f"The disk of {target.parent} is full" in refused.stderr
    assert not list(target.parent.iterdir())


def test_a_user_who_is_forgotten_during_the_copy_is_not_in_the_backup(run, data, target, monkeypatch, filled):
    from steeltrap.stores.sqlite import backup

    copy = backup._copy_database

    def forgotten_meanwhile(source, path):
        generation = copy(source, path)
        if UserRef("ana").key in path.name:
            assert run("forget-user", "ana", "--yes").exit_code == 0
        return generation

    monkeypatch.setattr(backup, "_copy_database", forgotten_meanwhile)
    assert run("backup", target).exit_code == 0
    assert not [name for name in files(target) if UserRef("ana").key in name]
    assert file_of(target, "bob").exists()


def test_a_disk_that_fails_under_one_file_leaves_out_that_file(run, data, target, monkeypatch, filled):
    from steeltrap.stores.sqlite import backup

    copy = backup._copy_database

    def failing(source, path):
        if UserRef("ana").key in path.name:
            raise apsw.IOError("disk I/O error")
        return copy(source, path)

    monkeypatch.setattr(backup, "_copy_database", failing)
    made = run("backup", target)
    assert made.exit_code == 1
    assert "check the disk" in made.stderr
    assert file_of(target, "bob").exists()


def test_settings_travel_with_a_backup_and_restore_names_them(run, tmp_path):
    run("remember", "tea")
    run("config", "set", "embedder_key", "hush")
    assert run("backup", tmp_path / "backup").exit_code == 0
    restored = run("restore", tmp_path / "backup", data=tmp_path / "new")
    assert restored.exit_code == 0, restored.stderr
    assert "Settings that came with it and hold from now on: embedder_key." in restored.stdout
    assert "hush" not in restored.stdout
    assert (tmp_path / "new" / "steeltrap.toml").stat().st_mode & 0o777 == 0o600
