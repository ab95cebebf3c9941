"""Settings: read once from an environment, refused by name."""

import logging
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from steeltrap.errors import InvalidInput
from steeltrap.settings import FIELDS, Settings, read_settings
from steeltrap.settings_table import model, taken_plainly


def test_an_empty_environment_gives_the_defaults() -> None:
    settings = read_settings({})
    assert settings == Settings()
    assert (settings.user, settings.embedder, settings.vector_weight) == ("local", "static-256", "auto")
    assert settings.retention == timedelta(days=30)


def test_values_come_from_the_environment_and_overrides_go_first() -> None:
    environment = {
        "STEELTRAP_USER": "ana",
        "STEELTRAP_VECTOR_WEIGHT": "0.7",
        "STEELTRAP_RETENTION_DAYS": "0",
        "HOME": "x",
    }
    settings = read_settings(environment, user="bob", agent=None, data="folder")
    assert (settings.user, settings.vector_weight, settings.data) == ("bob", 0.7, Path("folder"))
    assert settings.retention == timedelta(0)


@pytest.mark.parametrize(
    ("store", "kind"),
    [
        ("sqlite", "sqlite"),
        ("aws", "aws"),
        ("s3://memories", "log"),
        ("gs://memories/team", "log"),
        ("az://container/a/b", "log"),
        ("file:///srv/memories", "log"),
        ("dynamodb://memories?bases=s3://memories/team", "log"),
        ("dynamodb://memories/team?bases=s3://memories", "log"),
    ],
)
def test_a_store_is_a_name_or_the_url_of_a_log(store: str, kind: str) -> None:
    assert read_settings({"STEELTRAP_STORE": store}).store_kind == kind


@pytest.mark.parametrize(
    "store",
    [
        "sqlit",
        "s3:memories",
        "s3://",
        "s3:///prefix",
        "s3://memories?region=x",
        "s3://memories#x",
        "http://memories.example",
        "file://host/folder",
        "file:///",
        "dynamodb://memories",
        "dynamodb://memories?bases=memories",
        "dynamodb://memories?bases=s3://memories&more=1",
        "dynamodb://?bases=s3://memories",
    ],
)
def test_what_is_no_store_is_refused_with_all_that_are(store: str) -> None:
    with pytest.raises(InvalidInput, match=r"^STEELTRAP_STORE must be `sqlite`, `aws`, or a URL: s3://bucket/prefix, "):
        read_settings({"STEELTRAP_STORE": store})


@pytest.mark.parametrize(
    "store", ["s3://key:sesame@memories", "az://container?sv=1&sig=sesame", "s3://memories?X-Amz-Signature=sesame"]
)
def test_a_key_in_a_stores_url_is_refused_and_never_shown(store: str) -> None:
    with pytest.raises(InvalidInput, match="no credentials in its URL") as refusal:
        read_settings({"STEELTRAP_STORE": store})
    assert "sesame" not in str(refusal.value)


def test_an_empty_value_is_no_value() -> None:
    assert read_settings({"STEELTRAP_USER": ""}).user == "local"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("STEELTRAP_OPENSEARCH_AUTH", "aoss"),
        ("STEELTRAP_OPENSEARCH_URL", "https://x1.eu-west-1.aoss.amazonaws.com"),
        ("STEELTRAP_OPENSEARCH_URL", "https://X1.US-EAST-1.AOSS-FIPS.amazonaws.com:443/"),
        ("STEELTRAP_OPENSEARCH_URL", "https://x1.cn-north-1.aoss.amazonaws.com.cn"),
        ("STEELTRAP_OPENSEARCH_URL", "https://x1.aoss.eu-west-1.on.aws"),
    ],
)
def test_opensearch_serverless_is_refused_with_what_to_use_instead(name: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=rf"^{name}: OpenSearch Serverless can't hold .* managed domain"):
        read_settings({"STEELTRAP_STORE": "aws", name: value})


def test_a_managed_domain_is_no_serverless_collection() -> None:
    url = "https://search-aoss-x1.eu-west-1.es.amazonaws.com"
    assert read_settings({"STEELTRAP_OPENSEARCH_URL": url, "STEELTRAP_OPENSEARCH_AUTH": "es"}).opensearch_url == url


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("STEELTRAP_EMBEDDER", "magic"),
        ("STEELTRAP_VECTOR_WEIGHT", "heavy"),
        ("STEELTRAP_RETENTION_DAYS", "-1"),
        ("STEELTRAP_SHORT_TERM_HOURS", "0"),
        ("STEELTRAP_CACHE_MB", "lots"),
        ("STEELTRAP_LOG", "loud"),
        ("STEELTRAP_EMBEDDER_DIMENSION", "99999"),
        ("STEELTRAP_EMBEDDER_UNRELATED", "1"),
        ("STEELTRAP_VECTOR_WEIGHT", "7"),
        ("STEELTRAP_ROLE_WEIGHT", "2"),
        ("STEELTRAP_RETENTION_DAYS", "inf"),
        ("STEELTRAP_RETENTION_DAYS", "nan"),
        ("STEELTRAP_SHORT_TERM_HOURS", "1e300"),
        ("STEELTRAP_STORE", "cassandra"),
        ("STEELTRAP_OPENSEARCH_AUTH", "basic"),
        ("STEELTRAP_OPENSEARCH_ENGINE", "nmslib"),
        ("STEELTRAP_OPENSEARCH_REFRESH", "now"),
        ("STEELTRAP_OPENSEARCH_INDEX", "steeltrap-next"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_its_name(name: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        read_settings({name: value}).retention  # noqa: B018


@pytest.mark.parametrize(
    ("name", "value", "takes"),
    [
        ("RETENTION_DAYS", "x", "a number from 0 to 100000"),
        ("SHORT_TERM_HOURS", "0", "a number above 0 and of at most 1000000"),
        ("EMBEDDER", "magic", "one of 'static-256', 'small', 'onnx', 'endpoint', 'bedrock'"),
        ("EMBEDDER_UNRELATED", "1", "a number of at least 0 and below 1"),
        ("VECTOR_WEIGHT", "heavy", "a number from 0 to 1 or 'auto'"),
        ("CACHE_MB", "lots", "an integer of at least 1"),
    ],
)
def test_a_refusal_says_what_the_setting_takes(name: str, value: str, takes: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_settings({f"STEELTRAP_{name}": value})
    assert refused.value.message == f"STEELTRAP_{name} must be {takes}; got {value!r}."


def test_a_refusal_names_what_was_given_as_it_was_given() -> None:
    def refused(environment: dict[str, str], **given: Any) -> str:
        with pytest.raises(InvalidInput) as error:
            read_settings(environment, **given)
        return error.value.message

    takes = "must be a string of at least 1 character; got ''."
    assert refused({}, user="") == f"`--user` {takes}"
    assert refused({}, user="", source="argument") == f"`user` {takes}"
    assert refused({"STEELTRAP_CACHE_MB": "0"}).startswith("STEELTRAP_CACHE_MB must be an integer of at least 1;")
    assert refused({}, timezone="Mars/Base").startswith("`--timezone`: no time zone is called 'Mars/Base'")


def test_a_setting_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^STEELTRAP_COLOUR is not a setting\.$"):
        read_settings({}, colour="red")


def test_a_key_is_not_shown() -> None:
    assert "k-12345" not in repr(read_settings({"STEELTRAP_EMBEDDER_KEY": "k-12345"}))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("EMBEDER", "EMBEDDER"),
        ("EMBEDDING_MODEL", "EMBEDDER_MODEL"),
        ("RETENTION_DAY", "RETENTION_DAYS"),
        ("OPENSEARCH_URI", "OPENSEARCH_URL"),
        ("OIDC_ISSUER_URL", "OIDC_ISSUER"),
        ("SERVICES", "SERVICE"),
        ("embedder", "EMBEDDER"),
    ],
)
def test_a_variable_that_nearly_is_a_setting_is_refused_with_the_setting_meant(name: str, meant: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_settings({f"STEELTRAP_{name}": "x"})
    assert refused.value.message == f"STEELTRAP_{name} is not a setting; did you mean STEELTRAP_{meant}?"


@pytest.mark.parametrize("service", ["", "OPENSEARCH_", "DYNAMODB_", "USER_", "MEMORY_", "EXPORT_BUCKET_"])
def test_what_an_orchestrator_injects_for_a_service_is_never_an_error(
    service: str, caplog: pytest.LogCaptureFixture
) -> None:
    injected = "SERVICE_HOST SERVICE_PORT SERVICE_PORT_HTTP SERVICE_PORT_USERS PORT PORT_9200_TCP PORT_9200_TCP_ADDR"
    injected += " PORT_9200_TCP_PORT PORT_9200_TCP_PROTO PORT_53_UDP"
    names = [f"STEELTRAP_{service}{name}" for name in injected.split()]
    assert read_settings(dict.fromkeys(names, "tcp://10.0.0.1:9200")) == Settings()
    assert len(caplog.records) == 1


def test_unknown_variables_are_one_warning_however_often_settings_are_read(caplog: pytest.LogCaptureFixture) -> None:
    environment = {"STEELTRAP_COLOUR": "red", "STEELTRAP_SHAPE": "round", "OTHER_EMBEDER": "x", "STEELTRAP_USER": "ana"}
    assert read_settings(environment).user == read_settings(environment).user == "ana"
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (
            logging.WARNING,
            "These environment variables are not settings and are ignored: STEELTRAP_COLOUR, STEELTRAP_SHAPE.",
        )
    ]


@pytest.mark.parametrize(
    "environment",
    [
        {"STEELTRAP_TEST_STORE": "aws", "STEELTRAP_TEST_PARTS": "0", "STEELTRAP_REQUIRE_ALL": "1"},
        {"STEELTRAP_SHADE": "red", "STEELTRAP_LOG": "error"},
        {"STEELTRAP_EMBEDER": "", "STEELTRAP_SHADE": ""},
        {"STEELTRAP": "x", "MY_STEELTRAP_EMBEDER": "x"},
    ],
)
def test_no_warning_for_variables_of_tests_empty_ones_or_a_log_of_errors_only(
    environment: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    read_settings(environment)
    assert not caplog.records


@pytest.fixture
def in_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str | bytes], Settings]:
    """The settings of a data folder whose file has this text."""
    for name in [name for name in os.environ if name.startswith("STEELTRAP_")]:
        monkeypatch.delenv(name)

    def read(text: str | bytes, **overrides: object) -> Settings:
        (tmp_path / "steeltrap.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_settings(data=tmp_path, **overrides)

    return read


def test_the_environment_goes_before_the_file_and_options_before_both(
    in_file: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'user = "ana"\ncache_mb = 64 # enough\nconsole = false\nretention_days = 1.5\nagent = "coder"\n'
    monkeypatch.setenv("STEELTRAP_CACHE_MB", "32")
    settings = in_file(text, agent="other")
    assert (settings.user, settings.cache_mb, settings.console, settings.agent) == ("ana", 32, False, "other")
    assert settings.retention == timedelta(days=1.5)


def test_the_file_is_found_in_the_folder_that_the_environment_names(
    in_file: Callable[..., Settings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_file('user = "ana"')
    monkeypatch.setenv("STEELTRAP_DATA", str(tmp_path))
    assert read_settings().user == "ana"
    assert read_settings({"STEELTRAP_DATA": str(tmp_path)}).user == "local"


@pytest.mark.parametrize("text", ["", "\n", b"\xef\xbb\xbfcache_mb = 256\r\n", "# only a comment"])
def test_an_empty_file_one_of_comments_and_one_of_an_editor_are_fine(
    in_file: Callable[..., Settings], text: str | bytes
) -> None:
    assert in_file(text).cache_mb == 256


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cahe_mb = 3", r"'cahe_mb' in .*steeltrap.toml is not a setting; did you mean `cache_mb`\?"),
        ("STEELTRAP_CACHE_MB = 3", r"did you mean `cache_mb`\?"),
        ('cache_mb = "lots"', r"`cache_mb` in .*steeltrap.toml must be an integer of at least 1; got 'lots'"),
        ("cache_mb = true", r"`cache_mb` in .* must be an integer"),
        ("cache_mb = [1]", r"`cache_mb` in .* must be text, a number, true or false"),
        ("[cache_mb]\nx = 1", r"`cache_mb` in .* must be text"),
        ('data = "/elsewhere"', r"`data` can't be set in a file that is in that folder"),
        ("\n\ncache_mb = lots", r"not valid TOML: correct it \(.*line 3"),
        ("a = " + "[" * 100_000, r"not valid TOML"),
        (b"user = '\xff'", r"is not UTF-8 text"),
        (b"#" * (1 << 20), r"can't be read \(File too large\)"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence_that_names_it(
    in_file: Callable[..., Settings], text: str | bytes, said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        in_file(text)


def test_a_pipe_in_place_of_the_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "steeltrap.toml")
    with pytest.raises(InvalidInput, match=r"can't be read \(not a regular file\)"):
        read_settings(data=tmp_path)


def test_a_setting_of_a_newer_version_is_ignored_with_one_warning(
    in_file: Callable[..., Settings], caplog: pytest.LogCaptureFixture
) -> None:
    assert in_file('hue = "red"\nuser = "ana"').user == in_file('hue = "red"\nuser = "ana"').user == "ana"
    [record] = caplog.records
    assert "'hue' in " in record.getMessage()
    assert "is not a setting of this version and is ignored" in record.getMessage()


_VALUES = (
    *("", " ", "0", "1", "007", "12", "65", "99999", "9999999999", "-1", "+1", "1.5", "1e3", "١", "x", "xy", "a b"),
    *("true", "True", "on", "off", "sqlite", "aws", "s3://bucket", "http://x", "json", "JSON", "redact", "es", "aoss"),
    *("Europe/Lisbon", "Europe/Nowhere", "x-next", "https://a.aoss.amazonaws.com", "memory:read", "\udcff", "5s"),
)


@pytest.mark.parametrize("name", FIELDS)
def test_a_value_that_is_taken_at_first_sight_is_the_one_that_pydantic_takes(name: str) -> None:
    for value in _VALUES:
        if (taken := taken_plainly(name, value)) is not None:
            checked = getattr(model().model_validate({name: value}), name)
            assert (type(taken), taken) == (type(checked), checked)


def test_every_default_is_one_that_pydantic_takes() -> None:
    defaults = Settings()
    assert defaults.explicit == frozenset()
    checked = model().model_validate({name: getattr(defaults, name) for name in FIELDS})
    assert {name: getattr(checked, name) for name in FIELDS} == {name: getattr(defaults, name) for name in FIELDS}


def test_settings_remember_which_of_them_were_given() -> None:
    settings = read_settings({"STEELTRAP_USER": "ana", "STEELTRAP_RETENTION_DAYS": "1.5"})
    assert settings.explicit == {"user", "retention_days"}
    changed = settings.with_values(agent="writer")
    assert (changed.explicit, changed.user, changed.agent) == ({"user", "retention_days", "agent"}, "ana", "writer")
    with pytest.raises(TypeError, match="usr"):
        Settings(usr="ana")
