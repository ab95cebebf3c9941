"""`steeltrap config`: what holds, from where, and no secret of it."""

import json

import pytest

from steeltrap.settings import FIELDS, PREFIX


@pytest.fixture
def settings(run):
    def settings(*arguments):
        result = run("config", "--json", *arguments)
        assert result.exit_code == 0, result.stderr
        return {row["name"]: (row["value"], row["source"]) for row in json.loads(result.stdout)}

    return settings


def test_every_setting_is_named_with_its_value_and_where_it_comes_from(settings, monkeypatch, data, tmp_path):
    monkeypatch.setenv("STEELTRAP_CACHE_MB", "64")
    monkeypatch.setenv("STEELTRAP_USER", "ana")
    found = settings("--agent", "coder")
    assert list(found) == [PREFIX + name.upper() for name in FIELDS]
    assert found["STEELTRAP_CACHE_MB"] == (64, "environment")
    assert found["STEELTRAP_DATA"] == (str(data), "environment")
    assert found["STEELTRAP_USER"] == ("ana", "environment")
    assert found["STEELTRAP_AGENT"] == ("coder", "option")
    assert found["STEELTRAP_LOG_FORMAT"] == ("text", "default")
    assert found["STEELTRAP_KEYS_FOLDER"] == (None, "default")
    assert settings("--user", "bob")["STEELTRAP_USER"] == ("bob", "option")


def test_no_secret_is_printed(run, monkeypatch):
    monkeypatch.setenv("STEELTRAP_GATEWAY_SECRET", "hush-1-hush-1-hush")
    monkeypatch.setenv("STEELTRAP_METRICS_TOKEN", "hush-2-hush-2-hush")
    monkeypatch.setenv("STEELTRAP_EMBEDDER_KEY", "hush-3")
    monkeypatch.setenv("STEELTRAP_OPENSEARCH_URL", "https://admin:hush-4@search.example:9200/x")
    monkeypatch.setenv("STEELTRAP_EMBEDDER_URL", "https://models.example/v1?key=hush-5")
    for arguments in (["config"], ["config", "--json"]):
        said = run(*arguments).stdout
        assert "hush" not in said
        assert "https://********@search.example:9200/x" in said
        assert "https://models.example/v1?********" in said
        assert said.count("********") == 5
    secrets = [name for name, field in FIELDS.items() if not field.repr]
    assert {"gateway_secret", "metrics_token", "embedder_key", "opensearch_url"} == set(secrets)


def test_an_invalid_setting_is_refused_by_its_name(run, monkeypatch):
    monkeypatch.setenv("STEELTRAP_CACHE_MB", "lots")
    result = run("config")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "STEELTRAP_CACHE_MB must be" in result.stderr


def test_a_setting_that_is_set_holds_for_the_folder_and_only_its_owner_can_read_it(run, settings, data):
    assert run("config", "set", "cache-mb", "64").stdout == "cache_mb = 64\n"
    assert run("config", "set", "STEELTRAP_CONSOLE", "no").stdout == "console = false\n"
    file = data / "steeltrap.toml"
    assert file.read_text() == "cache_mb = 64\nconsole = false\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert data.stat().st_mode & 0o777 == 0o700
    assert settings()["STEELTRAP_CACHE_MB"] == (64, "file")
    assert settings()["STEELTRAP_CONSOLE"] == (False, "file")
    assert "256" in run("config", "unset", "cache_mb").stdout
    assert settings()["STEELTRAP_CACHE_MB"] == (256, "default")


def test_a_secret_comes_from_stdin_and_is_never_shown(run, data):
    kept = run("config", "set", "embedder_key", "-", input="hush-hush\n")
    assert kept.stdout == "embedder_key = ********\n"
    assert "hush-hush" in (data / "steeltrap.toml").read_text()
    assert "hush" not in run("config").stdout


def test_setting_a_value_keeps_comments_and_what_else_is_in_the_file(run, data):
    data.mkdir()
    (data / "steeltrap.toml").write_text('# mine\nuser = "ana"  # me\ncache_mb = 1\n')
    run("config", "set", "cache_mb", "2")
    assert (data / "steeltrap.toml").read_text() == '# mine\nuser = "ana"  # me\ncache_mb = 2\n'


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cache_mb", "lots"], "`cache_mb` must be an integer of at least 1; got 'lots'."),
        (["cahe_mb", "64"], "did you mean `cache_mb`?"),
        (["colour", "red"], "`steeltrap config` lists them"),
        (["data", "x"], "set STEELTRAP_DATA"),
        (["user", ""], "`steeltrap config unset user`"),
        (["timezone", "Mars/Base"], "no time zone is called 'Mars/Base'"),
    ],
)
def test_a_value_that_does_not_fit_changes_nothing(run, data, arguments, said):
    refused = run("config", "set", *arguments)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert said in refused.stderr
    assert not data.exists()


def test_a_file_with_a_mistake_is_refused_by_every_command_but_doctor_and_left_as_it_is(run, data):
    data.mkdir()
    (data / "steeltrap.toml").write_text("cahe_mb = 3\n")
    for arguments in (["recall", "tea"], ["config"], ["config", "set", "cache_mb", "3"]):
        refused = run(*arguments)
        assert (refused.exit_code, "did you mean `cache_mb`?" in refused.stderr) == (2, True)
    assert (data / "steeltrap.toml").read_text() == "cahe_mb = 3\n"


def test_a_variable_that_goes_first_is_named_when_its_setting_is_set(run, monkeypatch):
    monkeypatch.setenv("STEELTRAP_CACHE_MB", "32")
    assert (
        "STEELTRAP_CACHE_MB is set in the environment and goes first" in run("config", "set", "cache_mb", "64").stderr
    )


def test_doctor_names_what_is_wrong_with_the_settings_file_and_checks_the_rest(run, data):
    data.mkdir()
    (data / "steeltrap.toml").write_text("cahe_mb = 3\ncache_mb = 2\n")
    result = run("doctor", "--json")
    assert result.exit_code == 1
    first, *others = json.loads(result.stdout)["checks"]
    assert (first["check"], first["state"], "did you mean `cache_mb`?" in first["found"]) == (
        "settings",
        "broken",
        True,
    )
    assert {"sqlite", "embedder", "folder"} <= {check["check"] for check in others}
    (data / "steeltrap.toml").write_text("cache_mb = \n")
    assert "is not valid TOML" in json.loads(run("doctor", "--json").stdout)["checks"][0]["found"]
