"""A PostgreSQL database of logs: its second lock, its roles, what is sent to it, and how it says what is wrong."""

import inspect
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import psycopg
import psycopg_pool
import pytest
from typer.testing import CliRunner

from components import postgres_url
from contracts import log_places
from contracts.log_contract import ANA, BEN
from contracts.test_probing import faults_of
from postgres_server import Server, server
from steeltrap.cli.app import app
from steeltrap.errors import InvalidInput, Unavailable
from steeltrap.model import UserRef
from steeltrap.ports import BaseName
from steeltrap.settings import read_settings
from steeltrap.stores import postgres
from steeltrap.stores.files.objects import ObjectFiles
from steeltrap.stores.logs.postgres import PostgresLogs
from steeltrap.stores.postgres import translate
from steeltrap.stores.postgres_tables import database_at


def logs_at(url: str) -> PostgresLogs:
    return PostgresLogs(database_at(url), url)


@pytest.fixture
def url() -> Iterator[str]:
    with log_places.postgres() as url:
        yield url


@pytest.fixture
def logs(url: str) -> Iterator[PostgresLogs]:
    with closing(logs_at(url)) as logs:
        yield logs


def schema_of(url: str) -> str:
    return urlsplit(url).query.removeprefix("schema=")


# The second lock


def test_a_statement_without_its_condition_reaches_the_rows_of_one_user_alone(logs: PostgresLogs) -> None:
    for user in (ANA, BEN):
        logs.of(user).create(1, b"entry of " + user.key.encode())
        logs.of(user).put_base(BaseName(1, 0), b"base")
        logs.count_call(user, 1)
        ObjectFiles(logs.objects).files(user).write("a.json", b"{}")
    database = logs._database
    for table in ("entries", "bases", "objects", "calls"):
        assert database.ask(ANA.key, f"SELECT DISTINCT u FROM {{schema}}.{table}") == [(ANA.key,)]
        assert ("nobody",) not in database.ask("nobody", f"SELECT u FROM {{schema}}.{table}")
    database.ask(ANA.key, "UPDATE {schema}.entries SET entry = 'gone'")
    database.ask(ANA.key, "DELETE FROM {schema}.bases")
    assert logs.of(BEN).read([1]) == [b"entry of " + BEN.key.encode()]
    assert logs.of(BEN).bases() == [BaseName(1, 0)]
    with pytest.raises(Unavailable):
        database.ask(ANA.key, "INSERT INTO {schema}.entries VALUES (%s, 2, 'x')", BEN.key)
    assert logs.of(BEN).read_on(1) == [b"entry of " + BEN.key.encode()]


def test_nothing_of_a_transaction_is_left_on_its_connection(logs: PostgresLogs) -> None:
    logs.of(ANA).create(1, b"x" * 100_000)
    logs.of(ANA).read_on(1)
    [(left, prepared)] = logs._database.ask_as_it_is(
        "SELECT (SELECT count(*) FROM pg_settings WHERE source = 'session' AND name IN ('statement_timeout', "
        "'synchronous_commit') AND setting <> reset_val), (SELECT count(*) FROM pg_prepared_statements)"
    )
    with closing(psycopg.connect(postgres_url())) as other:
        assert other.execute("SELECT current_setting('steeltrap.u', true)").fetchone() == (None,)
    assert prepared == 0
    assert left <= 2, "those of this transaction itself"


def test_two_schemas_of_a_database_are_two_places(logs: PostgresLogs) -> None:
    logs.of(ANA).create(1, b"x")
    with log_places.postgres() as other_url, closing(logs_at(other_url)) as other:
        assert other.of(ANA).read_on(1) == []
        assert other.id() != logs.id()


# Roles: each in a server of its own, since roles are the server's


@pytest.fixture(scope="module")
def own_server() -> Iterator[Server]:
    with server() as running:
        yield running


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


@pytest.mark.slow
def test_a_role_with_the_rights_of_serving_serves_and_can_t_take_a_number_back(
    own_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(own_server.admin_url, "CREATE ROLE app LOGIN")
    url = f"{own_server.url}?schema=granted"
    monkeypatch.setenv("STEELTRAP_STORE", url)
    made = CliRunner().invoke(app, ["admin", "setup", "--grant", "app"])
    assert made.output == "Created: granted.entries, granted.bases, granted.objects, granted.calls.\n"
    assert CliRunner().invoke(app, ["admin", "setup", "--grant", "app"]).output == "Everything already exists.\n"
    with closing(logs_at(url.replace("memories@", "app@"))) as logs:
        assert faults_of(logs) == []
        assert logs.of(ANA).create(1, b"x")
        logs.of(ANA).overwrite({1: b"stub"})
        logs.of(ANA).list_user()
        assert logs.count_call(ANA, 1) == 1
        assert list(logs.users()) == [ANA]
        with pytest.raises(Unavailable, match="its role lacks a right"):
            logs._database.ask(ANA.key, "DELETE FROM {schema}.entries")


@pytest.mark.slow
def test_each_right_that_is_missing_is_told(own_server: Server) -> None:
    run(own_server.admin_url, "CREATE ROLE poor LOGIN")
    url = f"{own_server.url}?schema=poor"
    with closing(logs_at(url)) as logs:
        logs.id()
    with closing(logs_at(url.replace("memories@", "poor@"))) as logs:
        for attempt in (lambda: logs.of(ANA).read_on(1), logs.check, lambda: list(logs.users())):
            with pytest.raises(Unavailable, match="its role lacks a right; let `steeltrap admin setup") as failed:
                attempt()
            assert not failed.value.can_retry
    run(
        own_server.url,
        "GRANT USAGE ON SCHEMA poor TO poor",
        "GRANT SELECT, INSERT ON poor.entries, poor.objects, poor.bases TO poor",
    )
    with closing(logs_at(url.replace("memories@", "poor@"))) as logs:
        assert logs.of(ANA).create(1, b"x")
        [fault] = [fault for fault in faults_of(logs) if "lacks rights" in fault.problem]
        assert "lacks rights: UPDATE on entries, UPDATE on bases, DELETE on bases, UPDATE on objects" in fault.problem
        with pytest.raises(Unavailable, match="its role lacks a right"):
            logs.of(ANA).overwrite({1: b"stub"})


@pytest.mark.slow
def test_a_role_that_may_not_make_tables_is_told_what_to_do(own_server: Server) -> None:
    run(own_server.admin_url, "CREATE ROLE guest LOGIN")
    url = f"{own_server.url.replace('memories@', 'guest@')}?schema=none"
    with closing(logs_at(url)) as logs, pytest.raises(Unavailable, match="its role lacks a right"):
        logs.id()


@pytest.mark.slow
def test_a_role_that_row_security_does_not_bind_is_a_warning(own_server: Server) -> None:
    with closing(logs_at(f"{own_server.admin_url}?schema=super")) as logs:
        [fault] = faults_of(logs)
        assert not fault.broken
        assert fault.problem.startswith("Row security doesn't bind the role")
        assert logs.of(ANA).create(1, b"x")


# What is wrong


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"path": "/never-made"}, "there is no such database; create it"),
        ({"netloc": "stranger@127.0.0.1:{port}"}, "its credentials are refused"),
        ({"netloc": "memories@nowhere.invalid:{port}"}, "there is no such host"),
    ],
)
def test_a_database_that_can_t_be_connected_to_is_no_empty_one(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, str], says: str
) -> None:
    monkeypatch.setattr(postgres, "_CONNECT_SECONDS", 1.0)
    server = urlsplit(postgres_url())
    wrong = server._replace(**{part: value.format(port=server.port) for part, value in change.items()}).geturl()
    with closing(logs_at(wrong)) as logs:
        log = logs.of(ANA)
        for attempt in (lambda: log.read_on(1), lambda: list(logs.users())):
            with pytest.raises(Unavailable, match=says) as failed:
                attempt()
            assert not failed.value.can_retry


def test_tables_that_went_away_are_missed_and_not_made_again(url: str, logs: PostgresLogs) -> None:
    logs.of(ANA).create(1, b"x")
    run(postgres_url(), "SET client_min_messages = error", f"DROP SCHEMA {schema_of(url)} CASCADE")
    for attempt in (lambda: logs.of(ANA).read_on(1), lambda: logs.of(ANA).create(1, b"x"), lambda: list(logs.users())):
        with pytest.raises(Unavailable, match="its tables are gone; restore them from a copy") as failed:
            attempt()
        assert not failed.value.can_retry


def test_other_tables_of_the_same_names_are_refused(url: str, logs: PostgresLogs) -> None:
    schema = schema_of(url)
    run(
        postgres_url(),
        f"CREATE SCHEMA {schema}",
        *(f"CREATE TABLE {schema}.{name} (a int)" for name in ("calls", "entries")),
    )
    with pytest.raises(Unavailable, match="not those of steeltrap; name another schema"):
        logs.of(ANA).read_on(1)


def test_a_damaged_id_is_refused(logs: PostgresLogs) -> None:
    logs.objects.put("log", b"short")
    with pytest.raises(Unavailable, match="`log`"):
        logs.id()


@pytest.mark.parametrize(
    ("code", "says", "retry"),
    [
        ("57P01", "does not answer", True),
        ("57P03", "does not answer", True),
        ("57014", "does not answer", True),
        ("08006", "does not answer", True),
        ("58030", "does not answer", True),
        ("53300", "no connection left", True),
        ("53100", "disk or the memory", True),
        ("53200", "disk or the memory", True),
        ("40P01", "busy", True),
        ("55P03", "busy", True),
        ("25006", "read-only", False),
        ("28P01", "credentials are refused", False),
        ("3D000", "no such database", False),
        ("42501", "lacks a right", False),
        ("42P01", "tables are gone", False),
        ("42703", "not those of steeltrap", False),
        ("54000", "too large", False),
        ("XX001", "damaged", False),
        ("XX000", "refuses the request (XX000)", False),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence_without_secrets(code: str, says: str, retry: bool) -> None:
    ours = translate(psycopg.errors.lookup(code)("a secret"), "steeltrap")
    assert says in ours.message
    assert ours.can_retry is retry
    assert ours.details == {"part": "store"}
    assert "secret" not in ours.message


@pytest.mark.parametrize(
    ("text", "says", "retry"),
    [
        ("FATAL:  sorry, too many clients already", "no connection left", True),
        ("FATAL:  remaining connection slots are reserved", "no connection left", True),
        ("FATAL:  the database system is starting up", "does not answer", True),
        ("connection refused", "does not answer", True),
        ('FATAL:  password authentication failed for user "secret"', "credentials are refused", False),
        ('FATAL:  database "secret" does not exist', "no such database", False),
        ("server does not support SSL, but SSL was required", "options of its URL", False),
        ("Anmeldung fehlgeschlagen", "does not answer", True),
    ],
)
def test_what_libpq_says_without_a_code_is_understood(text: str, says: str, retry: bool) -> None:
    ours = translate(psycopg.OperationalError(text), "steeltrap")
    assert says in ours.message
    assert ours.can_retry is retry
    assert "secret" not in ours.message


def test_every_exception_of_psycopg_without_a_code_is_known() -> None:
    found = {
        name
        for module in (psycopg, psycopg.errors, psycopg_pool)
        for name, each in inspect.getmembers(module, inspect.isclass)
        if issubclass(each, psycopg.Error) and each.sqlstate is None and not name.startswith("_")
    }
    assert found == postgres.KNOWN


# The URL


@pytest.mark.parametrize(
    "url",
    ["postgresql://host/db?schema=a-b", "mysql://host/db", "postgresql://host/db?schema=", "postgresql://h/d?x=1"],
)
def test_a_url_that_names_no_database_is_refused(url: str) -> None:
    if url.endswith("schema="):
        assert database_at(url).schema == "steeltrap"
        return
    with pytest.raises(Unavailable, match="postgresql://user@host/database") as failed:
        database_at(url)
    assert not failed.value.can_retry


@pytest.mark.parametrize("store", ["postgresql://ana:pw1@host/db", "postgresql://host/db?password=pw1"])
def test_a_password_in_the_url_is_refused_and_never_shown(store: str) -> None:
    with pytest.raises(InvalidInput, match="set PGPASSWORD") as failed:
        read_settings({}, store=store)
    assert "pw1" not in failed.value.message


@pytest.mark.parametrize("store", ["postgresql://host", "postgresql://host/", "postgresql://host/a/b"])
def test_a_url_without_a_database_is_no_store(store: str) -> None:
    with pytest.raises(InvalidInput, match="postgresql://user@host/database"):
        read_settings({}, store=store)
    assert read_settings({}, store="postgresql://ana@host:5433/db?schema=prod").store_kind == "log"


def test_nothing_is_asked_before_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def asking(*_: object, **__: object) -> Any:
        raise AssertionError("asked")

    monkeypatch.setattr(postgres, "ConnectionPool", asking)
    logs = logs_at("postgresql://nowhere.invalid/db")
    logs.of(UserRef("ana"))
    logs.close()
