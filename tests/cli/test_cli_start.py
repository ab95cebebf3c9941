"""How the process starts, serves and stops."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tomllib
import urllib.request
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import typer
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from steeltrap import installation, tools
from steeltrap.cli import plain, session
from steeltrap.cli.app import app
from steeltrap.version import VERSION

MAIN = "from steeltrap.cli import main; main()"
ROOT = Path(__file__).parents[2]


def command(*arguments):
    return [sys.executable, "-c", MAIN, *arguments]


def served(environment):
    return subprocess.Popen(command("serve", "--port", "0"), env=environment, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def environment(data):
    path = os.pathsep.join((str(ROOT / "shared"), os.environ.get("PYTHONPATH", "")))
    return {**os.environ, "PYTHONPATH": path, "STEELTRAP_DATA": str(data)}


def test_help_imports_nothing_heavy_and_documents_the_exit_codes(environment):
    code = (
        "import sys\n"
        "try:\n"
        "    from steeltrap.cli import main; main()\n"
        "finally:\n"
        "    heavy = {'numpy', 'pydantic', 'fastapi', 'mcp', 'rich', 'uvicorn', 'apsw'} & set(sys.modules)\n"
        "    print(sorted(heavy), file=sys.stderr)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, "--help"], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stderr == "[]\n"
    assert "Exit codes: 0 success" in result.stdout
    for name in ("serve", "hook", "mcp", "tools", "call", "remember", "recall", "import", "export", "bench", "doctor"):
        assert f"  {name} " in result.stdout


@pytest.mark.parametrize("columns", [None, "40", "200"])
def test_help_is_the_same_text_whichever_way_it_was_made(environment, columns):
    """A pipe is as wide as most terminals: there, it is a file of the package."""
    environment.pop("COLUMNS", None)
    environment |= {"COLUMNS": columns} if columns else {}
    code = "from steeltrap.cli.app import app; app(['--help'], prog_name='steeltrap')"
    made = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    printed = subprocess.run(command("--help"), env=environment, capture_output=True, text=True, check=True)
    assert printed.stdout == made.stdout
    assert (printed.stdout == plain.HELP.read_text()) == (columns != "40")


def test_plain_help_needs_no_library_that_reads_options(environment):
    environment.pop("COLUMNS", None)
    code = "import sys; from steeltrap.cli import plain; plain.run(['--help']); print('typer' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == plain.HELP.read_text() + "False\n"


TYPED = "from steeltrap.cli.app import app; app(prog_name='steeltrap')"


def recalled(environment, *arguments, main=MAIN, **options):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    line = [sys.executable, "-c", main, "recall", *arguments]
    return subprocess.run(line, env=environment, text=True, check=False, **options)


def typed_recall(environment, *arguments, **options):
    """The same by the library that reads options."""
    return recalled(environment, *arguments, main=TYPED, **options)


def outcome(done):
    # On a busy machine a minute may pass between two commands.
    stdout = re.sub(r"just now|1 minute ago|[0-9] minutes ago", "lately", done.stdout)
    return done.returncode, stdout, done.stderr


@pytest.mark.parametrize(
    "options", ["", "--limit 3 --why --all --tag x --scope a/b --user ana --as-of 2026-01-31 --turns"]
)
def test_a_recall_imports_nothing_that_it_does_not_need(environment, run, options):
    assert run("remember", "Alice likes green tea").exit_code == 0
    code = f"import sys; from steeltrap.cli import main; sys.argv[1:] = ['recall', 'tea', *{options.split()}]; main()"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "steeltrap.engine.searching" in imported
    unneeded = {
        "pydantic",
        "pydantic_core",
        "typer",
        "rich",
        "fsrs",
        "fastapi",
        "uvicorn",
        "mcp",
        "jinja2",
        "urllib.request",
        "http.client",
        "boto3",
        "uuid",
        "zoneinfo",
        "tempfile",
        "encodings.cp437",
    }
    assert not unneeded & imported
    rooms = (
        "importers",
        "integrations",
        "installation",
        "servers.asgi",
        "servers.console",
        "stores.logs",
        "maintenance",
    )
    assert not [name for name in imported if name.startswith(tuple(f"steeltrap.{room}" for room in rooms))]


@pytest.fixture
def stored(run):
    pets = {"tags": ["pets"], "scope": "home/pets", "occurred_at": "2026-05-12", "pinned": True}
    about = {"conversation_id": "c", "metadata": {"title": "About Rex"}, "occurred_at": "2026-05-12T09:30:00Z"}

    def save(content, **fields):
        return json.loads(run("call", "core.save", json.dumps({"content": content, **fields})).stdout)["id"]

    save("Alice likes green tea")
    save("Bob's dog is called Rex", **pets)
    old = save("Rex likes long walks " + "in the rain " * 1000, **about)
    save("Rex likes short walks", supersedes=[old])
    messages = [{"role": "user", "content": "Rex was at the vet"}]
    run("call", "core.append_messages", json.dumps({"conversation_id": "d", "messages": messages}))


QUERIES = ("what does Alice drink", "Rex", "", "'", "zebra", "walks of Rex before", "on 2026-05-12")


def test_a_plain_recall_answers_as_typer_does(environment, stored):
    for query in (*QUERIES, "x" * 1001, "y" * 9000):
        assert outcome(recalled(environment, query)) == outcome(typed_recall(environment, query))
    assert "Rex" in recalled(environment, "Rex").stdout


@pytest.mark.parametrize(
    "options",
    [
        "--why --limit 2",
        "--limit=1 --all",
        "--tag PETS --scope home",
        "--tag pets --tag none",
        "--scope home//pets",
        "--superseded --why",
        "--as-of 2026-01-31",
        "--as-of 2099-01-31T10:00",
        "--as-of then",
        "--turns",
        "--turns --conversation d",
        "--json",
        "--user nobody --turns",
        "--agent reviewer",
        "--data {}",
        "--data=~",
    ],
)
def test_a_recall_with_options_answers_as_typer_does_without_loading_it(environment, stored, tmp_path, options):
    environment |= {"HOME": str(tmp_path)}
    words = ["Rex", *options.format(environment["STEELTRAP_DATA"]).split()]
    assert outcome(recalled(environment, *words)) == outcome(typed_recall(environment, *words))
    assert plain.recall_parameters(words) is not None


WORDS = st.sampled_from(
    [
        *(f"--{name}" for name in ("why", "limit", "tag", "scope", "superseded", "as-of", "turns", "all", "json")),
        *("--data", "--user", "--agent", "--conversation", "--timezone", "--help", "--lim", "-x", "--", "-"),
        *("--limit=3", "--limit=0", "--tag=a b", "--tag=", "--why=1", "--scope==x", "--no-why"),
        *("", "3", "03", "+3", "1000", "1001", "\u0663", "Rex", "two words", "a=b", "tab\t", "~", "*", "Ünï", "True"),
    ]
)


@given(st.lists(WORDS, max_size=6))
@example(["--tag", "a", "Rex", "--tag", "b", "--limit", "7", "--data", "~/x", "--why"])
def test_a_recall_is_read_as_typer_reads_it_or_left_to_typer(words):
    plainly = plain.recall_parameters(words)
    if plainly is None:
        return
    commands = typer.main.get_command(app)
    with commands.get_command(None, "recall").make_context("recall", list(words)) as context:
        typed = context.params
    assert {name: value for name, value in typed.items() if name in plainly} == plainly
    defaults = typer.main.get_command(app).get_command(None, "recall").make_context("recall", ["x"]).params
    assert {**defaults, **plainly} == typed


def test_every_option_of_recall_without_a_check_of_its_own_is_read_plainly():
    options = json.loads(plain.OPTIONS.read_text())
    recall = typer.main.get_command(app).get_command(None, "recall")
    assert {name for option in recall.params if option.param_type_name == "option" for name in option.opts} == {
        *options,
        "--timezone",
    }
    assert {row["type"] for row in options.values()} <= set(plain._TYPES)


@pytest.mark.parametrize("settings", [{"STEELTRAP_CACHE_MB": "many"}, {"STEELTRAP_EMBEDDER": "onnx"}])
def test_a_plain_recall_fails_as_typer_does(environment, settings):
    environment |= settings
    plainly = recalled(environment, "tea")
    assert outcome(plainly) == outcome(typed_recall(environment, "tea"))
    assert plainly.returncode == 2
    assert plainly.stderr.count("\n") == 1


def test_a_plain_recall_whose_output_nobody_reads_ends_quietly(environment, run):
    assert run("remember", "Alice likes green tea").exit_code == 0
    for recall in (recalled, typed_recall):
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "wb") as closed:
            done = recall(environment, "tea", stdout=closed)
        assert (done.returncode, done.stderr) == (1, "")


def test_the_version_is_told_at_once(environment):
    told = subprocess.run(command("--version"), env=environment, capture_output=True, text=True, check=True)
    assert told.stdout == f"{VERSION}\n"


@pytest.mark.slow
def test_bash_completes_commands_and_their_options(environment):
    environment["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), environment["PATH"]))
    script = (
        'eval "$(steeltrap --show-completion)"\n'
        "COMP_WORDS=(steeltrap tr); COMP_CWORD=1; _steeltrap_completion steeltrap; echo ${COMPREPLY[@]}\n"
        "COMP_WORDS=(steeltrap recall --super); COMP_CWORD=2; _steeltrap_completion steeltrap; echo ${COMPREPLY[@]}\n"
    )
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("trash\n--superseded\n", "")


@pytest.mark.slow
def test_completion_that_cannot_be_installed_says_why_in_a_sentence(environment, tmp_path):
    home = tmp_path / "file"
    home.touch()
    done = subprocess.run(
        ["bash", "-c", '"$0" "$@"; exit $?', *command("--install-completion")],
        env={**environment, "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert str(home) in done.stderr


def test_output_that_nobody_reads_any_more_ends_quietly(environment):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as closed:
        result = subprocess.run(
            command("tools", "--format", "openapi"),
            env=environment,
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.stderr == ""
    assert result.returncode == 1


@pytest.mark.slow
def test_serve_answers_and_ends_cleanly_on_ctrl_c(environment):
    with served(environment) as server:
        try:
            said = []
            for line in server.stderr:
                said.append(line)
                if line.startswith("Ctrl-C"):
                    break
            assert said[0].startswith("steeltrap is starting")
            url = said[1].split(" on ")[1].split(" ")[0]
            request = urllib.request.Request(
                f"{url}/v1/core/save", b'{"content": "x"}', {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=20) as answer:
                assert json.load(answer)["id"]
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
        assert server.stderr.read() == ""
    assert f"curl {url}/v1/core/save" in "".join(said)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_serve_refuses_an_open_address_without_identity(run, host):
    result = run("serve", "--host", host)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--user-header" in result.stderr


def test_serve_says_when_its_port_is_taken(run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run("serve", "--port", taken.getsockname()[1])
    assert result.exit_code == 5
    assert "in use" in result.stderr
    assert result.stderr.count("\n") == 1


def test_serve_refuses_headers_of_nobody(run):
    assert run("serve", "--agent-header", "X-Agent").exit_code == 2


def test_wrong_usage_has_its_code(run):
    assert run("recall").exit_code == 2
    assert run("no-such-command").exit_code == 2


def test_a_missing_package_is_named_with_how_to_install_it(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "steeltrap.servers.process.connections", raising=False)
    result = run("serve", "--port", "0")
    assert result.exit_code == 5
    assert result.stderr.splitlines()[-1] == (
        "This needs the extra `server`, whose package uvicorn is not installed: "
        f"run `{installation.install_line('server')}`."
    )


def test_every_package_of_the_server_is_one_of_its_extra():
    """Or `serve` would tell those who lack one to install steeltrap again."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    asked = {canonicalize_name(Requirement(each).name) for each in extras["server"]}
    modules = {name for name, extra in session._EXTRAS.items() if extra == "server"}
    distributions = packages_distributions()
    assert {canonicalize_name(distributions[name][0]) for name in modules} <= asked
    for source in (ROOT / "shared/steeltrap/servers").glob("[acp]*/*.py"):
        for name in re.findall(r"^\s*(?:from|import) (\w+)", source.read_text(), re.MULTILINE):
            [distribution] = distributions.get(name, ["steeltrap"])
            assert canonicalize_name(distribution) not in asked or name in modules, source


@pytest.mark.slow
@pytest.mark.parametrize(("no_color", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_only_a_terminal_without_no_color_gets_colours(environment, no_color, coloured):
    environment = {name: value for name, value in environment.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    environment |= {"TERM": "xterm-256color", **no_color}
    ours, theirs = os.openpty()
    with open(theirs, "wb") as terminal:
        done = subprocess.run(command("doctor"), env=environment, stdout=terminal, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0
    with open(ours, "rb", buffering=0) as screen:
        shown = screen.read(65_536)
    assert b"fine" in shown
    assert (b"\x1b[32m" in shown) == coloured
    piped = subprocess.run(command("doctor"), env=environment, capture_output=True, check=True).stdout
    assert b"fine" in piped
    assert b"\x1b" not in piped


@pytest.mark.slow
def test_a_narrow_terminal_shows_the_names_of_tools_whole(environment):
    environment |= {"TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "40"}
    ours, theirs = os.openpty()
    with open(theirs, "wb") as terminal:
        subprocess.run(command("tools", "--toolset", "agent"), env=environment, stdout=terminal, check=True)
    with open(ours, "rb", buffering=0) as screen:
        lines = screen.read(65_536).decode().splitlines()
    assert "agent.undo_memory_change" in "".join(line.split(" ")[0] for line in lines)


def test_a_plain_recall_says_in_a_sentence_what_nobody_expected_and_quotes_nothing(environment, run):
    run("remember", "Alice likes green tea")
    code = (
        "from steeltrap.engine import searching\n"
        "def broken(*_): raise ZeroDivisionError('green tea')\n"
        "searching._rank = broken\n"
        "from steeltrap.cli import plain; plain.run(['recall', 'tea'])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert "Something went wrong on our side" in done.stderr
    assert "Traceback" not in done.stderr
    assert "green" not in done.stderr
    assert done.returncode


def test_a_plain_recall_may_take_as_long_as_a_tool_that_reads():
    assert session.READ_SECONDS == tools.READ_SECONDS


@pytest.mark.parametrize("typed", [".venv/bin/steeltrap", "/a folder/bin/steeltrap"])
def test_messages_name_commands_as_they_can_be_typed(run, monkeypatch, tmp_path, typed):
    monkeypatch.setattr(sys, "argv", [typed])
    monkeypatch.setenv("PATH", str(tmp_path))
    id = json.loads(run("remember", "see `steeltrap recall`", "--json").stdout)["id"]
    assert run("delete", id).stdout.endswith(f"`{shlex.quote(typed)} undo {id}`.\n")
    assert f"`{shlex.quote(typed)} undo {id}`" in run("get", id).stderr
    run("undo", id)
    assert "see `steeltrap recall`" in run("recall", "see").stdout


def test_messages_name_commands_plainly_where_they_are_on_the_path(run, monkeypatch, tmp_path):
    found = tmp_path / "steeltrap"
    found.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [".venv/bin/steeltrap"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "`steeltrap imports`" in run("imports", "12345678").stderr
