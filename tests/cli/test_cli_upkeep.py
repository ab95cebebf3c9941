"""doctor, reembed, sweep, forget-user."""

import io
import json
import logging
import socket
import sqlite3
import sys
import threading
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import apsw
import pytest

from embedding import HashedWords
from steeltrap import installation
from steeltrap.cli import upkeep
from steeltrap.engine import saving
from steeltrap.engine.saving import embed_memories
from steeltrap.runtime import local as runtime
from steeltrap.servers.hooks import command as hook_command
from steeltrap.servers.hooks import server_file
from steeltrap.servers.process.logs import log_to_stderr


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home without clients."""
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def checks(result):
    """The name and state of each check; what isn't fine says how to mend it."""
    found = json.loads(result.stdout)["checks"]
    assert all(check["state"] == "fine" or check["mend"] for check in found)
    return {(check["check"], check["state"]) for check in found}


def only_file(data):
    [path] = data.glob("users/*/*.db")
    return path


def test_doctor_finds_a_healthy_folder_fine(run):
    run("remember", "something")
    result = run("doctor", "--json")
    assert result.exit_code == 0
    assert checks(result) == {
        (name, "fine")
        for name in (*("sqlite", "embedder", "folder", "space", "files", "descriptors", "clients", "hooks", "server"),)
    }


def test_doctor_finds_a_folder_that_is_not_there_yet_fine(run, data):
    assert run("doctor").exit_code == 0
    assert not data.exists()


@pytest.mark.parametrize(
    ("beneath", "says"),
    [
        ("file", "is no folder, so memories can't be stored in"),
        ("link", "can't be made (File exists)"),
        ("n" * 250 + "/" + "n" * 256, "can't be made (File name too long)"),
    ],
)
def test_doctor_says_when_the_folder_cannot_be_made(run, tmp_path, beneath, says):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "at all")
    data = tmp_path / beneath if "/" in beneath else tmp_path / beneath / "data"
    result = run("doctor", data=data)
    assert result.exit_code == 1
    assert says in result.stdout
    assert "et STEELTRAP_DATA to another folder." in result.stdout
    assert "chmod" not in result.stdout
    assert "GiB are free" not in result.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"file", "link"}


def test_doctor_says_which_clients_are_connected_and_to_which_other_folder(run, home, data):
    assert "No client is connected" in run("doctor").stdout
    program, other = sys.executable, "/elsewhere"
    codex = home / ".codex" / "config.toml"
    codex.parent.mkdir(parents=True)
    codex.write_text(f'[mcp_servers.steeltrap]\ncommand = "{program}"\nargs = ["-m", "steeltrap", "mcp"]\n')
    hook = f"{program} -m steeltrap hook stop --client cursor --data {other}"
    cursor = home / ".cursor" / "hooks.json"
    cursor.parent.mkdir()
    cursor.write_text(json.dumps({"version": 1, "hooks": {"stop": [{"command": hook}, {"command": "other"}]}}))
    result = run("doctor", "--json")
    assert ("clients", "fine") in checks(result)
    assert f"Connected: codex, cursor (memories in {other})." in result.stdout


def test_doctor_finds_a_client_that_starts_what_is_gone_and_a_file_that_is_none(run, home):
    home.mkdir()
    gone = {"mcpServers": {"steeltrap": {"command": "/gone/steeltrap", "args": ["mcp"]}}}
    (home / ".claude.json").write_text(json.dumps(gone))
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text("{")
    result = run("doctor")
    assert result.exit_code == 1
    assert "claude-code starts /gone/steeltrap, which is not there" in result.stdout
    assert "fix: Run `steeltrap install claude-code`." in result.stdout
    assert "settings.json is no valid JSON (line 1): correct it first.\n" in result.stdout
    assert "Nothing was changed" not in result.stdout


def test_doctor_counts_the_files_that_are_intact(run):
    run("remember", "Ana likes tea", "--user", "ana")
    assert "1 user's file is intact." in run("doctor").stdout
    run("remember", "Bob likes tea", "--user", "bob")
    assert "2 users' files are intact." in run("doctor").stdout


def test_doctor_reads_the_hooks_log_of_the_last_days(run, data, monkeypatch):
    run("remember", "something")
    path = data / "hooks" / "hooks.log"
    path.parent.mkdir(exist_ok=True)
    path.write_text("2020-01-31T09:30:00Z stop: long ago.\n")
    assert "No hook failed in the last 7 days" in run("doctor").stdout
    hook_command.log(str(data), "prompt", "the server answered 500.")
    result = run("doctor", "--json")
    assert (result.exit_code, ("hooks", "warning") in checks(result)) == (0, True)
    assert "1 failure in the last 7 days" in result.stdout
    assert "prompt: the server answered 500." in result.stdout
    monkeypatch.setenv("STEELTRAP_HOOKS", "off")
    assert "Switched off by the setting `hooks`" in run("doctor").stdout


def test_doctor_asks_the_folders_server(run, data):
    run("remember", "something")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = server_file.of_this_process("127.0.0.1", listener.getsockname()[1], "local")
        server_file.write(str(data), server)
        answering = threading.Thread(target=prove, args=(listener, server))
        answering.start()
        assert f"It listens on port {server.port} of 127.0.0.1" in run("doctor").stdout
        answering.join()
    result = run("doctor")  # the port is closed, and the process is there
    assert f"(process {server.process}) does not answer on port {server.port}" in result.stdout
    server_file.write(str(data), server._replace(process=2**22 + 1))
    assert "No `steeltrap serve` runs" in run("doctor").stdout


def prove(listener, server):
    """Answer one challenge, as a server does."""
    connection, _ = listener.accept()
    with connection:
        challenge = connection.recv(65_536).split(b" ")[1].rpartition(b"/")[2].decode()
        proof = server_file.proof(server.token, challenge, server.host, server.port)
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(proof)}\r\n\r\n{proof}".encode())


@pytest.mark.parametrize("damage", [b"this is no database" * 100, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_doctor_names_a_damaged_file_and_leaves_it(run, data, damage):
    run("remember", "something")
    path = only_file(data)
    path.write_bytes(damage)
    result = run("doctor", "--json")
    assert result.exit_code == 1
    assert ("file", "broken") in checks(result)
    assert str(path) in result.stdout
    assert path.read_bytes() == damage
    assert "fix:" in run("doctor").stdout


def test_doctor_finds_damage_inside_a_file_that_opens(run, data):
    for n in range(20):
        run("remember", f"memory {n} " * 30)
    path = only_file(data)
    content = bytearray(path.read_bytes())
    for page in range(4, len(content) // 4096):
        content[page * 4096 : page * 4096 + 64] = b"\xee" * 64
    path.write_bytes(content)
    assert ("file", "broken") in checks(run("doctor", "--json"))


def test_doctor_says_when_the_embedder_does_not_answer(run, embedder):
    embedder.state = "broken"
    result = run("doctor", "--json")
    assert result.exit_code == 1
    assert ("embedder", "broken") in checks(result)


def test_doctor_says_how_to_fix_a_file_that_has_the_name_of_another_users(run, data):
    run("remember", "Ana likes tea", "--user", "ana")
    path = only_file(data)
    path.rename(path.with_name("0" * 64 + ".db"))
    assert ("file", "broken") in checks(run("doctor", "--json"))
    assert "Move it back to its own name" in run("doctor").stdout


def test_doctor_says_how_to_fix_damaged_counters_and_a_user_is_forgotten_all_the_same(run, data, monkeypatch):
    monkeypatch.setenv("STEELTRAP_CALLS_PER_MINUTE", "100")
    run("remember", "Ana likes tea")
    assert (data / "counters.db").exists()
    assert ("counters", "warning") not in checks(run("doctor", "--json"))
    (data / "counters.db").write_bytes(b"this is no database" * 300)
    assert ("counters", "warning") in checks(run("doctor", "--json"))
    assert f"remove `{data / 'counters.db'}`" in run("doctor").stdout
    assert "Ana likes tea" in run("recall", "tea").stdout
    assert run("forget-user", "local", "--yes").exit_code == 0
    assert "Ana likes tea" not in run("recall", "tea").stdout


def test_a_file_of_a_newer_version_is_refused_with_a_sentence_and_left_as_it_is(run, data):
    run("remember", "Ana likes tea")
    path = only_file(data)
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("user_version", 999)
        connection.pragma("wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()
    for command in (["recall", "tea"], ["remember", "Ana likes coffee"], ["sweep"]):
        refused = run(*command)
        assert refused.exit_code != 0
        assert "was written by a newer steeltrap" in refused.stderr
    result = run("doctor")
    assert result.exit_code == 1
    assert "was written by a newer steeltrap" in result.stdout
    assert f"fix: {installation.upgrade_advice()}, or restore a backup" in result.stdout
    assert path.read_bytes() == before


def test_another_embedder_is_a_conflict_until_reembed(run, monkeypatch):
    run("remember", "Ana likes tea")
    monkeypatch.setattr(runtime, "open_embedder", lambda settings: HashedWords(dimension=32))
    monkeypatch.setenv("STEELTRAP_EMBEDDER", "static-256")
    refused = run("recall", "tea")
    assert refused.exit_code == 4
    assert "steeltrap reembed" in refused.stderr
    assert ("file", "broken") in checks(run("doctor", "--json"))
    assert json.loads(run("reembed", "--json").stdout) == {
        "users": 1,
        "memories": 1,
        "already": 0,
        "moved": 0,
        "failed": 0,
    }
    assert "Ana likes tea" in run("recall", "tea").stdout
    assert run("doctor").exit_code == 0


def test_reembed_gives_new_vectors_to_texts_for_which_a_release_has_changed_them(run, data, embedder, monkeypatch):
    monkeypatch.setattr(embedder, "has_changed", lambda text, since: since < 4 and "rye" in text, raising=False)
    run("remember", "Tea with rye bread.")
    run("remember", "Oats for breakfast.")
    assert "0 memories of 0 users got new vectors. 1 user had them already" in run("reembed").stdout
    with closing(apsw.Connection(str(only_file(data)))) as raw:
        raw.execute("UPDATE meta SET value = 3 WHERE key = 'analysis'")
    assert "1 memory of 1 user got new vectors." in run("reembed").stdout
    assert "0 memories of 0 users got new vectors. 1 user had them already" in run("reembed").stdout


def test_reembed_shows_how_many_memories_are_done_while_it_works(run, ask, monkeypatch):
    for _ in range(3):
        ask("core.batch_save", items=[{"content": f"note {uuid4()}"} for n in range(100)])
    seen = []

    @contextmanager
    def watched(title, total):
        yield lambda reached, count: seen.append((reached, count))

    monkeypatch.setattr(upkeep, "progress_bar", watched)
    monkeypatch.setattr(runtime, "open_embedder", lambda settings: HashedWords(dimension=32))
    run("reembed")
    assert seen == [(256 / 300, 256), (1, 300), (1, 300)]


def test_reembed_that_goes_on_shows_what_was_made_before_and_makes_only_the_rest(run, ask, monkeypatch):
    for _ in range(6):
        ask("core.batch_save", items=[{"content": f"note {uuid4()}"} for n in range(100)])
    monkeypatch.setattr(runtime, "open_embedder", lambda settings: HashedWords(dimension=32))
    blocks = []

    def killed(call, memories):
        if blocks:
            raise KeyboardInterrupt
        blocks.append(len(memories))
        return embed_memories(call, memories)

    with monkeypatch.context() as patch:
        patch.setattr(saving, "embed_memories", killed)
        assert run("reembed").exit_code == 130
    seen = []

    @contextmanager
    def watched(title, total):
        yield lambda reached, count: seen.append((reached, count))

    monkeypatch.setattr(upkeep, "progress_bar", watched)
    assert json.loads(run("reembed", "--json").stdout)["memories"] == 600
    # 256 were made before: this run makes 344, and shows them as the rest of 600.
    assert seen[:2] == [(512 / 600, 256), (1, 344)]


def test_reembed_that_was_interrupted_keeps_what_is_done_and_goes_on_with_the_others(run, monkeypatch):
    for user in ("ana", "bob", "eve"):
        run("remember", f"{user} likes tea", "--user", user)
    other = HashedWords(dimension=32)
    monkeypatch.setattr(runtime, "open_embedder", lambda settings: other)
    calls = []

    def third_fails(call, memories):
        calls.append(len(memories))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return embed_memories(call, memories)

    with monkeypatch.context() as patch:
        patch.setattr(saving, "embed_memories", third_fails)
        stopped = run("reembed")
    assert stopped.exit_code == 130
    assert "2 of 3 users have the new vectors" in stopped.stderr
    assert json.loads(run("reembed", "--json").stdout) == {
        "users": 1,
        "memories": 1,
        "already": 2,
        "moved": 0,
        "failed": 0,
    }
    assert json.loads(run("reembed", "--all", "--json").stdout)["users"] == 3
    for user in ("ana", "bob", "eve"):
        assert f"{user} likes tea" in run("recall", "tea", "--user", user).stdout


def test_what_the_log_says_while_a_bar_is_shown_goes_above_the_bar(monkeypatch):
    before, during = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", before)
    log_to_stderr("warning")
    # A bar takes the place of stderr while it is shown, and prints what is written to it above itself.
    monkeypatch.setattr(sys, "stderr", during)
    logging.getLogger("steeltrap").warning("a sweep failed: the disk is full")
    assert (before.getvalue(), during.getvalue()) == ("", "a sweep failed: the disk is full\n")


@pytest.mark.parametrize("damaged", ["first", "last"])
def test_a_damaged_file_fails_and_everybody_else_is_done(run, data, damaged):
    for user in ("ana", "bob", "eve"):
        run("remember", "something", "--user", user)
    paths = sorted(data.glob("users/*/*.db"))
    paths[0 if damaged == "first" else -1].write_bytes(b"this is no database" * 100)
    for command, memories in (("reembed --all", 2), ("sweep", 0)):
        result = run(*command.split(), "--json")
        assert result.exit_code == 1
        assert json.loads(result.stdout).items() >= {"users": 2, "memories": memories, "failed": 1}.items()
        assert result.stderr.strip()


def test_sweep_purges_what_was_deleted_longer_ago_than_the_retention_time(run, ask, data, monkeypatch):
    for user in ("ana", "bob"):
        id = json.loads(run("remember", "old news", "--json", "--user", user).stdout)["id"]
        run("call", "core.delete", json.dumps({"id": id}), "--user", user)
    assert json.loads(run("sweep", "--json").stdout)["memories"] == 0
    monkeypatch.setenv("STEELTRAP_RETENTION_DAYS", "0")
    assert json.loads(run("sweep", "--json").stdout) == {"users": 2, "memories": 2, "moved": 0, "failed": 0}
    for path in data.glob("users/*/*.db"):
        with sqlite3.connect(path) as connection:
            assert connection.execute("SELECT count(*) FROM memory").fetchone() == (0,)
        connection.close()


def test_forget_user_erases_one_user_and_nobody_else(run, data):
    run("remember", "the heron of Ana", "--user", "ana")
    run("remember", "the stork of Ben", "--user", "ben")
    assert run("forget-user", "ana", "--yes").exit_code == 0
    left = b"".join(path.read_bytes() for path in data.rglob("*.db*"))
    assert b"heron" not in left
    assert b"stork" in left
    assert run("forget-user", "ana", "--yes").exit_code == 3


def test_forget_user_removes_the_exported_files_too(run, data):
    for user in ("ana", "ben"):
        run("remember", "the heron", "--user", user)
        run("call", "associative.memory_sync", json.dumps({"operation": "export"}), "--user", user)
    assert len([path for path in data.rglob("exports/*/*/*") if path.is_file()]) == 2
    assert run("forget-user", "ana", "--yes").exit_code == 0
    [left] = [path for path in data.rglob("exports/*/*/*") if path.is_file()]
    assert "the heron" in left.read_text()
    assert run("forget-user", "ana", "--yes").exit_code == 3


def test_forget_user_without_an_answer_erases_nothing(run):
    run("remember", "the heron", "--user", "ana")
    assert run("forget-user", "ana").exit_code == 1
    assert "heron" in run("recall", "heron", "--user", "ana").stdout


def test_sweep_makes_episodes_of_conversations_that_are_over(run, ask, monkeypatch):
    ask("core.append_messages", messages=[{"role": "user", "content": "The heron fishes."}], conversation_id="c")
    later = datetime.now(UTC) + timedelta(minutes=16)
    monkeypatch.setattr("steeltrap.runtime.local.SystemClock.now", lambda self: later)
    assert run("sweep").exit_code == 0
    assert [memory["content"] for memory in ask("core.list")["memories"]] == ["User: The heron fishes."]


def test_migrate_brings_the_memories_of_a_log_to_this_release_and_says_what_it_did(run, tmp_path, monkeypatch):
    from steeltrap.stores.sqlite import schema

    run("remember", "Ana likes tea")
    assert run("admin", "migrate").stdout == (
        "The memories of 0 users were migrated. Those of 1 user are up to date.\n"
    )
    monkeypatch.setenv("STEELTRAP_STORE", (tmp_path / "log").as_uri())
    run("remember", "Ana likes coffee")
    assert json.loads(run("admin", "migrate", "--json").stdout) == {"users": 0, "already": 1, "moved": 0, "failed": 0}
    later = (*schema.MIGRATIONS, "ALTER TABLE usage ADD COLUMN kind INTEGER NOT NULL DEFAULT 7;")
    monkeypatch.setattr(schema, "MIGRATIONS", later)
    monkeypatch.setattr(schema, "WORKS_SINCE", len(later))
    refused = run("recall", "coffee")
    assert refused.exit_code != 0
    assert "run `steeltrap admin migrate`" in refused.stderr
    assert json.loads(run("admin", "migrate", "--json").stdout) == {"users": 1, "already": 0, "moved": 0, "failed": 0}
    assert "Ana likes coffee" in run("recall", "coffee").stdout
