"""Help in groups, commands made when asked for, and words for usage that doesn't fit."""

import os
import re
import subprocess
import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from steeltrap.cli.app import COMMANDS, OPERATORS, app
from steeltrap.toolsets import CATALOGUE

EVERY = {
    (*prefix, name): row
    for prefix, groups in (((), COMMANDS), (("admin",), OPERATORS))
    for rows in groups.values()
    for name, row in rows.items()
}


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_the_list_of_commands_says_what_each_ones_own_help_says(command):
    result = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "500"})
    assert result.exit_code == 0
    described = re.search(r"\n\n {2}(.+?)\n\n", result.stdout, re.DOTALL)
    assert described is not None
    assert described[1] == EVERY[command].summary


def test_operators_commands_go_on_working_by_their_old_names_and_are_not_listed(run):
    run("remember", "The violin is mended.")
    assert run("users").stdout == run("admin", "users").stdout == "local\n"
    listed = run("--help").stdout
    assert "  admin " in listed
    assert not any(re.search(rf"^  {name} ", listed, re.MULTILINE) for rows in OPERATORS.values() for name in rows)


def test_help_fits_a_terminal_of_40_columns():
    for command in ((), ("recall",), ("admin",)):
        shown = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "40"}).stdout
        assert max(map(len, shown.splitlines())) <= 40


@pytest.mark.slow
def test_without_a_utf8_locale_and_colours_texts_are_printed_as_they_are(data):
    environment = {**os.environ, "STEELTRAP_DATA": str(data), "LC_ALL": "C", "TERM": "dumb"}
    main = [sys.executable, "-c", "from steeltrap.cli import main; main()"]
    for words in (("remember", "Größe: 日本"), ("list",)):
        done = subprocess.run([*main, *words], env=environment, capture_output=True, check=True)
    assert done.stdout.startswith("Größe: 日本\n".encode())
    assert b"\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("recall", "x", "--limit", "many"), "`--limit` must be a whole number from 1 to 1000; got 'many'."),
        (("list", "--limit", "0"), "`--limit` must be a whole number from 1 to 1000; got '0'."),
        (("list", "--offset", "-1"), "`--offset` must be a whole number of at least 0; got '-1'."),
        (("serve", "--port", "70000"), "`--port` must be a whole number from 0 to 65535; got '70000'."),
        (("serve", "--workers", "1.5"), "`--workers` must be a whole number from 1 to 64; got '1.5'."),
        (
            ("install", "claud-code"),
            "`CLIENT` must be one of claude-code, codex, cursor, claude-desktop, vscode, gemini; got 'claud-code'. Did "
            "you mean `claude-code`?",
        ),
        (("tools", "--toolset", "corr"), "No toolset `corr`; did you mean `core`?"),
    ],
)
def test_a_value_that_does_not_fit_is_one_sentence_without_a_librarys_words(run, typed, said):
    refused = run(*typed)
    assert (refused.stdout, refused.stderr) == ("", f"{said}\n")
    assert refused.exit_code in (2, 3)


def test_a_misspelt_command_is_shown_the_ones_that_are_near(run):
    assert "Did you mean `remember`" in run("remeber", "x").stderr
    assert "Did you mean `users`?" in run("admin", "usrs").stderr
    assert "Did you mean" not in run("xyzzy").stderr


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("core.serch", "No tool `serch` in `core`; did you mean `search`?"),
        ("search", "No tool `search`; did you mean `core.search`?"),
        ("recal", "No toolset `recal`; there are: agent"),
        ("agent.xyzzy", "No tool `xyzzy` in `agent`; there are: remember"),
    ],
)
def test_a_misspelt_tool_is_shown_the_one_that_is_near(run, tool, said):
    assert said in run("call", tool).stdout


def completed(words, incomplete, **given):
    """The choices that a shell gets for the last word."""
    command, context = get_command(app), None
    for name in words:
        context = command.make_context(name, [], parent=context, resilient_parsing=True)
        command = command.get_command(context, name)
    *_, last = words
    context = command.make_context(last, [], parent=context, resilient_parsing=True)
    context.params |= given
    [parameter] = [each for each in command.params if each.name in ("id", "ids", "tool", "toolset", "name")]
    return [item.value for item in parameter.shell_complete(context, incomplete)]


def test_a_shell_completes_tools_toolsets_settings_and_ids(run, ask, data):
    ids = [ask("core.save", content=text)["id"] for text in ("The violin is mended.", "The cello is not.")]
    ask("core.delete", id=ids[0])
    assert completed(["call"], "core.sea") == ["core.search"]
    assert completed(["tools"], "a") == [name for name in CATALOGUE.toolsets if name.startswith("a")]
    assert completed(["config", "set"], "cache_m") == ["cache_mb"]
    assert completed(["get"], "", data=data) == ids[1:]
    assert completed(["get"], ids[1][:4], data=data) == ids[1:]
    assert completed(["undo"], "", data=data) == ids


def test_a_folder_that_cannot_be_read_completes_nothing(run, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    assert completed(["get"], "", data=file) == []


def test_what_help_needs_is_no_module_of_a_command():
    code = (
        "import sys; import steeltrap.cli.app; print([name for name in sys.modules if name.startswith('steeltrap.')])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for row in EVERY.values():
        assert row.module == "app" or f"steeltrap.cli.{row.module}'" not in loaded


@pytest.mark.parametrize(
    ("typed", "usage"),
    [
        (("config", "set", "retention_days", "-1"), "config set -- {NAME} {VALUE}"),
        (("remember", "-5 degrees in Faro"), "remember -- {TEXT}"),
        (("recall", "-x"), "recall -- {QUERY}"),
    ],
)
def test_a_value_that_begins_with_a_dash_is_told_how_it_is_given(run, data, typed, usage):
    refused = run(*typed)
    assert refused.exit_code == 2
    assert re.search(rf"\. Before a value that begins with a dash, write `--`: \w+ {usage}\n$", refused.stderr)
    assert not data.exists()


def test_a_misspelt_option_is_no_value(run):
    assert run("recall", "x", "--limt", "3").stderr.endswith("No such option: --limt (Possible options: --limit)\n")


def test_after_two_dashes_a_value_may_begin_with_one(run):
    assert "must be a number from 0 to 100000; got '-1'" in run("config", "set", "--", "retention_days", "-1").stderr
    assert run("remember", "--", "-5 degrees in Faro").exit_code == 0
    assert run("list").stdout.startswith("-5 degrees in Faro\n")


def test_an_empty_user_is_told_by_the_option(run):
    assert run("list", "--user", "").stderr == "`--user` must be a string of at least 1 character; got ''.\n"
