"""install: each client's files get what its documentation asks for, nothing else in them changes, and --undo takes it
back."""

import json
import os
import shlex
import sys
import tomllib

import pytest

from steeltrap.cli import installing
from steeltrap.cli.installing import CLIENTS, Machine, parts_of
from steeltrap.errors import Unavailable
from steeltrap.servers.hooks.command import EVENTS

COMMAND = "/opt/my tools/steeltrap"
SERVER_FAULT = installing.server_fault
WITH_HOOKS = ("claude-code", "codex", "cursor")
SERVERS = {
    "claude-code": (".claude.json", "mcpServers"),
    "codex": (".codex/config.toml", "mcp_servers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", "servers"),
    "gemini": (".gemini/settings.json", "mcpServers"),
}
HOOKS = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json", "cursor": ".cursor/hooks.json"}
FILLED = {
    "json": """{
    "theme": "dark",
    "mcpServers": {"other": {"command": "x"}},
    "servers": {},
    "π": 1.50
}
""",
    "toml": """# mine
model = "o4"  # best

[mcp_servers.other]
command = "x"

[projects."/a"]
trust_level = "trusted"
""",
    "hooks": """{"hooks": {
  "Stop": [{"hooks": [{"type": "command", "command": "beep"}]}],
  "stop": [{"command": "beep"}]
}}""",
}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setattr(installing, "_command", lambda: [COMMAND])
    monkeypatch.setattr(installing, "server_fault", lambda command: None)
    monkeypatch.setattr("sys.platform", "linux")
    return folder


def contents(home):
    files = [path for path in home.rglob("*") if path.is_file() and path.name != ".made-by-steeltrap"]
    return {str(path.relative_to(home)): path.read_bytes() for path in files}


def read(path):
    return tomllib.loads(path.read_text()) if path.suffix == ".toml" else json.loads(path.read_text())


def filled(home, client):
    """The client's files, with other settings in them."""
    server = home / SERVERS[client][0]
    files = {server: FILLED["toml" if server.suffix == ".toml" else "json"]}
    if client in HOOKS:
        files[home / HOOKS[client]] = FILLED["hooks"]
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return contents(home)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_without_files_gets_a_server_and_hooks_and_undo_leaves_nothing(run, home, client):
    assert run("install", client, "--yes").exit_code == 0
    path, section = SERVERS[client]
    entry = read(home / path)[section]["steeltrap"]
    assert (entry["command"], entry["args"][0]) == (COMMAND, "mcp")
    assert (client in HOOKS) == (client in WITH_HOOKS)
    if client in HOOKS:
        commands = [
            hook["command"]
            for groups in read(home / HOOKS[client])["hooks"].values()
            for group in groups
            for hook in group.get("hooks", [group])
        ]
        assert all(shlex.split(command)[:2] == [COMMAND, "hook"] for command in commands)
        events = {shlex.split(command)[2] for command in commands}
        assert {"session-start", "prompt", "stop", "pre-compact"} <= events <= set(EVENTS)
    assert run("install", client, "--undo", "--yes").exit_code == 0
    assert list(home.iterdir()) == []


def test_undo_takes_away_no_folder_of_the_users_and_none_with_files_of_theirs(run, home):
    (home / ".cursor").mkdir()
    assert run("install", "cursor", "--yes").exit_code == 0
    assert run("install", "gemini", "--yes").exit_code == 0
    (home / ".gemini" / "oauth.json").write_text("{}")
    for client in ("cursor", "gemini"):
        assert run("install", client, "--undo", "--yes").exit_code == 0
    assert {str(path.relative_to(home)) for path in home.rglob("*")} == {".cursor", ".gemini", ".gemini/oauth.json"}


@pytest.mark.parametrize("client", CLIENTS)
def test_what_else_is_in_the_files_stays_and_undo_brings_back_every_byte(run, home, client):
    before = filled(home, client)
    path, section = SERVERS[client]
    old = read(home / path)
    assert run("install", client, "--yes").exit_code == 0
    now = read(home / path)
    assert now[section].pop("steeltrap")
    assert now == old
    if client in HOOKS:
        assert "beep" in (home / HOOKS[client]).read_text()
    assert {name: text for name, text in contents(home).items() if name.endswith(".before-steeltrap")} == {
        f"{name}.before-steeltrap": text for name, text in before.items()
    }
    assert run("install", client, "--undo", "--yes").exit_code == 0
    assert contents(home) == before


@pytest.mark.parametrize("client", CLIENTS)
def test_a_second_install_changes_nothing(run, home, client):
    filled(home, client)
    run("install", client, "--yes")
    once = contents(home)
    again = run("install", client)
    assert again.exit_code == 0
    assert "Nothing to change" in again.stdout
    assert contents(home) == once


@pytest.mark.parametrize("client", CLIENTS)
def test_undo_after_an_edit_takes_out_only_what_install_added(run, home, client):
    filled(home, client)
    run("install", client, "--yes")
    path, section = SERVERS[client]
    file = home / path
    if file.suffix == ".toml":
        file.write_text(
            file.read_text() + '\n[mcp_servers.steeltrap.env]\nA = "1"\n\n[mcp_servers.later]\ncommand = "y"\n'
        )
    else:
        edited = read(file)
        edited[section]["later"] = {"command": "y"}
        edited[section]["steeltrap"]["env"] = {"A": "1"}
        file.write_text(json.dumps(edited))
    expected = read(file)
    del expected[section]["steeltrap"]
    assert run("install", client, "--undo", "--yes").exit_code == 0
    assert read(file) == expected
    assert "steeltrap" not in file.read_text()
    assert (home / f"{path}.before-steeltrap").exists()
    if file.suffix == ".toml":
        assert file.read_text().startswith(FILLED["toml"])


@pytest.mark.parametrize("client", CLIENTS)
def test_nothing_is_written_without_a_yes(run, home, client):
    before = filled(home, client)
    for arguments, answer, code in ((["--dry-run"], None, 0), ([], "n\n", 1), ([], "", 1)):
        shown = run("install", client, *arguments, input=answer)
        assert shown.exit_code == code
        assert f"+++ {home / SERVERS[client][0]}" in shown.stdout
        assert contents(home) == before


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("text", ["{", '{"mcpServers": 1, "servers": 1}\nmcp_servers = 1', "[1]\nx", "\xff"])
def test_a_file_that_is_not_understood_is_left_alone(run, home, client, text):
    filled(home, client)
    (home / SERVERS[client][0]).write_bytes(text.encode("latin-1"))
    before = contents(home)
    refused = run("install", client, "--yes")
    assert refused.exit_code == 2
    assert "correct it first" in refused.stderr.lower()
    assert contents(home) == before


@pytest.mark.parametrize("client", WITH_HOOKS)
def test_a_broken_file_of_hooks_keeps_the_servers_file_as_it_is_too(run, home, client):
    filled(home, client)
    (home / HOOKS[client]).write_text('{"hooks": {"Stop": {}, "stop": {}}}')
    before = contents(home)
    assert run("install", client, "--yes").exit_code == 2
    assert contents(home) == before


@pytest.mark.parametrize("client", CLIENTS)
def test_a_server_of_that_name_that_is_somebody_elses_is_not_touched(run, home, client):
    path, section = SERVERS[client]
    file = home / path
    file.parent.mkdir(parents=True, exist_ok=True)
    address = "https://memory.example/mcp"
    toml = f'[{section}.steeltrap]\nurl = "{address}"\n'
    file.write_text(toml if file.suffix == ".toml" else json.dumps({section: {"steeltrap": {"url": address}}}))
    before = contents(home)
    refused = run("install", client, "--yes")
    assert refused.exit_code == 4
    assert "rename or remove it" in refused.stderr
    assert "Nothing to change" in run("install", client, "--undo", "--yes").stdout
    assert contents(home) == before


def test_a_new_command_takes_the_place_of_the_old_one_and_the_backup_stays(run, home, monkeypatch):
    before = filled(home, "claude-code")
    run("install", "claude-code", "--yes")
    monkeypatch.setattr(installing, "_command", lambda: ["/new/uvx", "steeltrap"])
    assert run("install", "claude-code", "--yes", "--data", "folder").exit_code == 0
    entry = read(home / ".claude.json")["mcpServers"]["steeltrap"]
    assert entry["command"] == "/new/uvx"
    assert entry["args"][:3] == ["steeltrap", "mcp", "--data"]
    assert COMMAND not in (home / ".claude/settings.json").read_text()
    assert (home / ".claude.json.before-steeltrap").read_bytes() == before[".claude.json"]


def test_hooks_can_be_left_out(run, home):
    assert run("install", "codex", "--yes", "--no-hooks").exit_code == 0
    assert list(contents(home)) == [".codex/config.toml"]


def test_a_link_stays_a_link_and_the_mode_of_a_file_stays(run, home):
    target = home / "dotfiles.json"
    target.write_text("{}")
    target.chmod(0o640)
    (home / ".claude.json").symlink_to(target)
    run("install", "claude-code", "--yes", "--no-hooks")
    assert (home / ".claude.json").is_symlink()
    assert "steeltrap" in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o640


def test_the_variables_of_the_clients_name_their_folders(run, home, monkeypatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "c"))
    monkeypatch.setenv("CODEX_HOME", str(home / "x"))
    run("install", "claude-code", "--yes")
    run("install", "codex", "--yes")
    assert sorted(contents(home)) == ["c/.claude.json", "c/settings.json", "x/config.toml", "x/hooks.json"]


def test_desktop_programs_keep_their_files_where_each_system_wants_them(home):
    def path(client, platform):
        return parts_of(client, [COMMAND], Machine(home, {"APPDATA": "/roaming"}, platform), data=None, hooks=True)[
            0
        ].path

    assert path("claude-desktop", "darwin") == home / "Library/Application Support/Claude/claude_desktop_config.json"
    assert str(path("claude-desktop", "win32")) == "/roaming/Claude/claude_desktop_config.json"
    assert path("vscode", "darwin") == home / "Library/Application Support/Code/User/mcp.json"
    assert str(path("vscode", "win32")) == "/roaming/Code/User/mcp.json"


def test_a_key_that_is_there_twice_is_not_lost(run, home):
    (home / ".claude.json").write_text('{"a": 1, "a": 2}')
    assert run("install", "claude-code", "--yes").exit_code == 2
    assert (home / ".claude.json").read_text() == '{"a": 1, "a": 2}'


@pytest.mark.parametrize(
    "text",
    [
        "mcp_servers = 1\n",
        'mcp_servers = { other = { command = "x" } }\n',
        'mcp_servers.steeltrap = { command = "/old/steeltrap", args = ["mcp"] }\n',
    ],
)
def test_a_toml_file_in_another_form_is_left_alone(run, home, text):
    file = home / ".codex/config.toml"
    file.parent.mkdir()
    file.write_text(text)
    assert run("install", "codex", "--yes").exit_code == 2
    assert file.read_text() == text


IN_A_STRING = '''# mine
notes = """
[mcp_servers.steeltrap]
command = "not a server"
"""
[mcp_servers.other]
command = "x"  # keep

[projects."/a"]
trust_level = "trusted"
'''


def test_a_header_inside_a_string_is_a_string_and_undo_takes_out_the_server_alone(run, home):
    file = home / ".codex/config.toml"
    file.parent.mkdir()
    file.write_text(IN_A_STRING)
    assert run("install", "codex", "--yes").exit_code == 0
    installed = read(file)
    assert installed["mcp_servers"].keys() == {"other", "steeltrap"}
    assert installed["notes"] == tomllib.loads(IN_A_STRING)["notes"]
    file.write_text(file.read_text() + '\n[mcp_servers.steeltrap.env]\nA = "1"\n\n[later]\nx = 1  # too\n')
    assert run("install", "codex", "--undo", "--yes").exit_code == 0
    left = file.read_text()
    assert left.startswith(IN_A_STRING)
    assert left.rstrip().endswith("[later]\nx = 1  # too")
    assert read(file) == tomllib.loads(IN_A_STRING) | {"later": {"x": 1}}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_pipe_a_folder_or_a_huge_file_in_place_of_settings_is_refused(run, home, client):
    file = home / SERVERS[client][0]
    file.parent.mkdir(parents=True, exist_ok=True)

    def huge(path):
        path.touch()
        os.truncate(path, 1 << 40)

    for make, unmake in ((os.mkfifo, os.unlink), (os.mkdir, os.rmdir), (huge, os.unlink)):
        make(file)
        for arguments in ([], ["--undo"]):
            refused = run("install", client, "--yes", *arguments)
            assert refused.exit_code == 2, refused.stderr
            assert "Nothing was changed" in refused.stderr
        unmake(file)
    backup = file.with_name(file.name + ".before-steeltrap")
    file.write_text("")
    os.mkfifo(backup)
    assert run("install", client, "--undo", "--yes").exit_code == 2


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "\\ud800"}',
        "[" * 100_000,
        '{"a": 1e999}',
        '{"a": NaN}',
        '{"a": 0.10000000000000000001}',
    ],
    ids=["half a character", "deep", "infinite", "no number", "many digits"],
)
def test_json_that_could_not_be_written_again_is_left_alone(run, home, text):
    file = home / ".claude.json"
    file.write_text(text)
    refused = run("install", "claude-code", "--yes")
    assert (refused.exit_code, "Nothing was changed" in refused.stderr) == (2, True)
    assert file.read_text() == text


def test_a_toml_file_that_is_nested_too_deeply_is_left_alone(run, home):
    file = home / ".codex/config.toml"
    file.parent.mkdir()
    file.write_text("a = " + "[" * 5000)
    assert run("install", "codex", "--yes").exit_code == 2


def test_a_read_only_file_is_left_alone(run, home):
    filled(home, "claude-code")
    (home / ".claude/settings.json").chmod(0o444)
    before = contents(home)
    refused = run("install", "claude-code", "--yes")
    assert (refused.exit_code, "is read-only" in refused.stderr) == (2, True)
    assert contents(home) == before


@pytest.mark.parametrize(
    "form",
    [
        lambda text: text.replace("    ", "\t"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text.replace("    ", "\t").replace("\n", "\r\n"),
    ],
    ids=["tabs", "byte order mark", "carriage returns", "all of them"],
)
def test_a_file_keeps_its_form_and_undo_brings_back_every_byte(run, home, form):
    file = home / ".claude.json"
    before = form(FILLED["json"]).encode()
    file.write_bytes(before)
    assert run("install", "claude-code", "--yes", "--no-hooks").exit_code == 0
    now = file.read_bytes()
    assert b'"steeltrap"' in now
    assert now.startswith(b"\xef\xbb\xbf") == before.startswith(b"\xef\xbb\xbf")
    assert now.count(b"\n") == now.count(b"\r\n") or b"\r" not in before
    assert (b"\n\t" in now) == (b"\t" in before)
    assert run("install", "claude-code", "--undo", "--yes").exit_code == 0
    assert file.read_bytes() == before


def test_a_file_of_five_megabytes_is_changed_and_shown_short(run, home):
    file = home / ".claude.json"
    history = [{"display": f"prompt {number} of a long history", "pastedContents": {}} for number in range(80_000)]
    file.write_text(json.dumps({"projects": {"/a": {"history": history}}}))
    assert file.stat().st_size > 5_000_000
    installed = run("install", "claude-code", "--yes", "--no-hooks")
    assert installed.exit_code == 0
    assert len(installed.stdout) < 20_000
    assert read(file)["projects"] == {"/a": {"history": history}}


def test_a_file_that_its_client_writes_before_the_answer_is_left_as_the_client_wrote_it(run, home, monkeypatch):
    file = home / ".claude.json"
    file.write_text('{"theme": "dark"}')
    monkeypatch.setattr(installing, "confirm", lambda *asked, **told: file.write_text('{"theme": "light"}'))
    refused = run("install", "claude-code")
    assert (refused.exit_code, "was changed in the meantime; run the command again" in refused.stderr) == (4, True)
    assert contents(home) == {".claude.json": b'{"theme": "light"}'}


def test_settings_of_ones_own_in_codex_are_not_lost_to_a_new_command(run, home, monkeypatch):
    run("install", "codex", "--yes")
    file = home / ".codex/config.toml"
    file.write_text(file.read_text() + "startup_timeout_sec = 20\n")
    monkeypatch.setattr(installing, "_command", lambda: ["/new/steeltrap"])
    before = contents(home)
    assert run("install", "codex", "--yes").exit_code == 4
    assert contents(home) == before


def test_the_command_is_found_without_a_path(monkeypatch, tmp_path):
    monkeypatch.undo()
    scripts = tmp_path / "venv/bin"
    scripts.mkdir(parents=True)
    for name in ("python", "steeltrap"):
        (scripts / name).write_text("#!/bin/sh\n")
        (scripts / name).chmod(0o755)
    monkeypatch.setattr("sys.executable", str(scripts / "python"))
    assert installing._command() == [str(scripts / "steeltrap")]
    (scripts / "steeltrap").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="is not beside this Python"):
        installing._command()


@pytest.mark.parametrize("client", CLIENTS)
def test_the_folder_that_the_environment_names_is_the_clients_too(run, home, client, data):
    assert run("install", client, "--yes").exit_code == 0  # `run` sets STEELTRAP_DATA
    path, section = SERVERS[client]
    args = read(home / path)[section]["steeltrap"]["args"]
    assert args[:3] == ["mcp", "--data", str(data)]
    if client in HOOKS:
        assert f"--data {data}" in (home / HOOKS[client]).read_text()


def test_settings_of_the_environment_are_kept_for_the_client_and_no_secret_is_shown(run, home, data, monkeypatch):
    monkeypatch.setenv("STEELTRAP_CACHE_MB", "64")
    monkeypatch.setenv("STEELTRAP_USER", "local")  # the default
    monkeypatch.setenv("STEELTRAP_EMBEDDER_KEY", "hush-hush")
    shown = run("install", "codex", "--dry-run")
    assert "+cache_mb = 64" in shown.stdout
    assert "+embedder_key = ********" in shown.stdout
    assert "hush" not in shown.stdout + shown.stderr
    assert not data.exists()
    assert run("install", "codex", "--yes").exit_code == 0
    assert read(data / "steeltrap.toml") == {"cache_mb": 64, "embedder_key": "hush-hush"}
    assert "Nothing to change" in run("install", "codex").stdout
    monkeypatch.setenv("STEELTRAP_CACHE_MB", "256")  # the default, but not what the file says
    assert run("install", "codex", "--yes").exit_code == 0
    assert read(data / "steeltrap.toml")["cache_mb"] == 256
    assert run("install", "codex", "--undo", "--yes").exit_code == 0
    assert contents(home) == {}


@pytest.mark.parametrize("client", CLIENTS)
def test_it_says_what_will_be_stored_where_and_how_to_stop_it_before_it_asks(run, home, client, data, monkeypatch):
    said = run("install", client, input="n\n").stdout.partition("---")[0]
    assert ("prompts and the agent's answers are stored" in said) == (client in WITH_HOOKS)
    assert ("`steeltrap config set hooks off`" in said) == (client in WITH_HOOKS)
    assert f"Memories are in {data}, on this machine." in said
    assert "become placeholders" in said
    assert f"`steeltrap install {client} --undo`" in said
    assert "not stored by themselves" in run("install", client, "--no-hooks", "--dry-run").stdout or client not in HOOKS
    monkeypatch.setenv("STEELTRAP_SECRETS", "off")
    assert "are stored too" in run("install", client, "--dry-run").stdout


def test_the_change_of_a_long_file_is_shown_short_and_all_of_it_if_asked(run, home):
    (home / ".claude.json").write_text(json.dumps({"history": [f"line {n}" for n in range(500)]}))
    short, whole = (run("install", "claude-code", "--dry-run", *more).stdout for more in ([], ["--verbose"]))
    assert len(short.splitlines()) < 70
    assert "more lines; --verbose shows all" in short
    assert len(whole.splitlines()) > 500
    assert "more lines" not in whole


COMMENTED = """// mine
{
  "theme": "dark", /* "mcpServers": {} */
  "url": "https://example.org//x", // no comment before
  "servers": {"other": {"command": "x",}},
}
"""


@pytest.mark.parametrize("client", [client for client in CLIENTS if client != "codex"])
def test_a_file_with_comments_is_kept_and_the_lines_to_paste_are_printed(run, home, client):
    path, section = SERVERS[client]
    file = home / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(COMMENTED)
    refused = run("install", client, "--yes", "--no-hooks")
    assert refused.exit_code == 2
    assert "has comments, which would be lost. Nothing was changed." in refused.stderr
    pasted = json.loads(refused.stderr[refused.stderr.index("{") :])
    assert file.read_text() == COMMENTED
    assert "Nothing to change" in run("install", client, "--undo", "--yes").stdout
    entry = json.dumps(pasted[section]["steeltrap"])
    file.write_text(f'{{// mine\n"{section}": {{"steeltrap": {entry}}}}}')
    assert "Nothing to change" in run("install", client, "--no-hooks").stdout
    undo = run("install", client, "--undo", "--yes")
    assert (undo.exit_code, f"Take `{section}.steeltrap` out of it by hand" in undo.stderr) == (2, True)


def test_what_is_written_is_started_once_and_a_server_that_does_not_start_is_said(run, home, data, monkeypatch):
    monkeypatch.setattr(installing, "server_fault", SERVER_FAULT)
    failed = run("install", "gemini", "--yes")
    assert failed.exit_code == 1
    assert "It is written, but the server does not start: /opt/my tools/steeltrap: No such file" in failed.stderr
    program = [sys.executable, "-c", "import sys; sys.exit('the sky is grey')"]
    assert SERVER_FAULT(program) == "the sky is grey"


@pytest.mark.slow
def test_the_entry_that_is_written_answers_with_the_settings_of_the_folder_alone(run, home, monkeypatch):
    monkeypatch.setattr(installing, "server_fault", SERVER_FAULT)
    command = os.path.join(os.path.dirname(sys.executable), "steeltrap")
    monkeypatch.setattr(installing, "_command", lambda: [command])
    monkeypatch.setenv("STEELTRAP_CACHE_MB", "64")
    installed = run("install", "gemini", "--yes")
    assert (installed.exit_code, "Started it once: it answers." in installed.stdout) == (0, True), installed.stderr
    (home / "data").mkdir()
    (home / "data/steeltrap.toml").write_text("cahe_mb = 1")
    assert "did you mean `cache_mb`" in SERVER_FAULT([command, "mcp", "--data", str(home / "data")])


@pytest.mark.parametrize(
    ("store", "place"),
    [("aws", "in your AWS account"), ("gs://memories/team", "in gs://memories/team")],
)
def test_it_names_the_place_that_the_memories_are_in(run, home, monkeypatch, store, place):
    monkeypatch.setenv("STEELTRAP_STORE", store)
    assert f"Memories are {place}." in run("install", "gemini", "--dry-run").stdout
