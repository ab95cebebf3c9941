"""`steeltrap config`: what holds, from where, and no secret of it."""

import json

import pytest

from steeltrap.settings import PREFIX, Settings


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
    assert list(found) == [PREFIX + name.upper() for name in Settings.model_fields]
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
    secrets = [name for name, field in Settings.model_fields.items() if not field.repr]
    assert {"gateway_secret", "metrics_token", "embedder_key", "opensearch_url"} == set(secrets)


def test_an_invalid_setting_is_refused_by_its_name(run, monkeypatch):
    monkeypatch.setenv("STEELTRAP_CACHE_MB", "lots")
    result = run("config")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "STEELTRAP_CACHE_MB must be" in result.stderr
