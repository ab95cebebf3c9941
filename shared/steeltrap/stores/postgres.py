"""Requests to a PostgreSQL database by psycopg and its pool.

Here: connections, how long a request may take, and the one map of foreign errors. Not here: what the tables mean; that
is `postgres_tables`. Nothing outlives a transaction, so a pooler may give each one to another connection.
"""

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from selectors import EVENT_READ, DefaultSelector
from threading import Lock
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool, PoolTimeout

from ..errors import Unavailable
from .data_folder import require_process

Row = tuple[Any, ...]

MOST_CONNECTIONS: Final = 10
"""Connections of one process, at most."""
_CONNECT_SECONDS: Final = 3.0
_IDLE_SECONDS: Final = 120.0
_PATIENCE: Final = ((64 * 1024, 5.0), (1024 * 1024, 12.0))
"""How long a request may take, by the bytes that it sends."""
_LONGEST: Final = 120.0
"""How long one may take that sends more, or may receive more."""
_ATTEMPTS: Final = 2
_SCHEMA: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")

_BEGIN: Final = b"""SELECT set_config('steeltrap.u', %s, true), set_config('synchronous_commit', 'on', true),
set_config('statement_timeout', %s, true), pg_is_in_recovery()"""
"""Opens each transaction: whose rows it may reach, and that what it writes is durable once it is answered."""

_log = logging.getLogger("steeltrap")
logging.getLogger("psycopg").addHandler(logging.NullHandler())  # its warnings name hosts and roles


class Database:
    """The database at `postgresql://user@host/database?schema=steeltrap`. Safe for threads.

    Nothing is asked of it when this is made; connections are opened as they are needed and closed when they are idle.
    The options of the URL, and variables such as PGPASSWORD, are libpq's. `make_tables` says whether it made any; it is
    called before the first request. All methods raise Unavailable.
    """

    def __init__(self, url: str, make_tables: "Callable[[Database], bool]") -> None:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query))
        self.schema = options.pop("schema", "steeltrap")
        try:
            if parts.scheme != "postgresql" or not _SCHEMA.fullmatch(self.schema):
                raise ValueError(parts.scheme)
            self._options = conninfo_to_dict(parts._replace(query=urlencode(options)).geturl())
        except (psycopg.Error, ValueError):
            raise Unavailable(
                "The store's URL names no database; write postgresql://user@host/database?schema=steeltrap.",
                retryable=False,
                part="store",
            ) from None
        self._make_tables = make_tables
        self._lock = Lock()
        self._pool: ConnectionPool[_Patient] | None = None
        self._opened_in = 0
        self._has_tables = False
        self._refusal: psycopg.Error | None = None

    def ask(self, owner: str, statement: str, *values: Any, large: bool = False) -> list[Row]:
        """The rows that a statement answers, in a transaction that reaches the rows of one owner alone.

        `{schema}` stands for the schema. A `large` answer may take long. After an answer that was lost it is asked once
        more, so a statement must bear that.
        """
        self.require_tables()
        return self._ask(owner, statement, values, large)

    def require_tables(self) -> bool:
        """Make the tables when they are first needed; whether they were made. Tables that go away later are missed."""
        if self._has_tables:
            return False
        are_new = self._make_tables(self)
        self._has_tables = True
        return are_new

    def ask_as_it_is(self, statement: str, *values: Any) -> list[Row]:
        """The rows that a statement answers, whether the tables are there or not."""
        return self._ask("", statement, values, False)

    def run(self, statements: Sequence[str]) -> None:
        """Run statements in one transaction, or none of them."""
        with self._translated(), self._connection(_LONGEST) as connection, connection.transaction():
            for statement in statements:
                connection.execute(statement.format(schema=f'"{self.schema}"').encode())

    def close(self) -> None:
        """Let go of connections and threads; they come back when they are needed."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None and os.getpid() == self._opened_in:
            pool.close()

    def _ask(self, owner: str, statement: str, values: Sequence[Any], large: bool) -> list[Row]:
        size = sum(len(value) for value in values if isinstance(value, bytes))
        patience = next((seconds for most, seconds in _PATIENCE if not large and size <= most), _LONGEST)
        request = self._ask_in_transaction if large or size > _PATIENCE[0][0] else self._ask_in_one_message
        begin = [owner, str(int(patience * 1000))]
        query = statement.format(schema=f'"{self.schema}"').encode()
        with self._translated():
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    with self._connection(patience) as connection:
                        return request(connection, begin, query, values)
                except _Broken:
                    if attempt == _ATTEMPTS:
                        raise
        raise AssertionError("the last attempt returns or raises")

    def _ask_in_one_message(
        self, connection: "_Patient", begin: Sequence[str], query: bytes, values: Sequence[Any]
    ) -> list[Row]:
        """One round trip: the statements of a message are one transaction. Bytes are twice as long in it."""
        with psycopg.ClientCursor(connection) as cursor:
            cursor.execute(_BEGIN + b"; " + query, [*begin, *values])
            self._require_primary(connection, cursor.fetchall())
            cursor.nextset()
            return cursor.fetchall() if cursor.description else []

    def _ask_in_transaction(
        self, connection: "_Patient", begin: Sequence[str], query: bytes, values: Sequence[Any]
    ) -> list[Row]:
        """Four round trips, with bytes as they are."""
        with connection.transaction():
            self._require_primary(connection, connection.execute(_BEGIN, begin).fetchall())
            cursor = connection.execute(query, values or None, binary=True)
            return cursor.fetchall() if cursor.description else []

    def _require_primary(self, connection: "_Patient", rows: Sequence[Row]) -> None:
        if rows[0][3]:
            connection.close()  # the address may lead to the primary next time
            raise _Standby

    @contextmanager
    def _connection(self, patience: float) -> "Iterator[_Patient]":
        pool = self._opened()
        connection = pool.getconn()
        for _ in range(MOST_CONNECTIONS):
            if not _has_news(connection):
                break
            connection.close()  # its server has most likely said goodbye
            pool.putconn(connection)
            connection = pool.getconn()
        connection.patience = patience
        try:
            yield connection
        except psycopg.errors._WaitTimeout:
            connection.close()
            raise
        except psycopg.OperationalError as error:
            if connection.broken:
                raise _Broken(*error.args) from error
            raise
        except BaseException:
            connection.close()  # who knows what it still waits for
            raise
        finally:
            pool.putconn(connection)

    def _opened(self) -> "ConnectionPool[_Patient]":
        with self._lock:
            if self._pool is None:
                self._opened_in = os.getpid()
                self._pool = ConnectionPool(
                    connection_class=_Patient,
                    kwargs={
                        "connect_timeout": int(_CONNECT_SECONDS),
                        "application_name": "steeltrap",
                        "client_encoding": "utf8",
                        **self._options,
                        "autocommit": True,
                        "prepare_threshold": None,  # a prepared statement would outlive its transaction
                        "note": self._note,
                    },
                    min_size=0,
                    max_size=MOST_CONNECTIONS,
                    max_idle=_IDLE_SECONDS,
                    timeout=_CONNECT_SECONDS,
                    reconnect_timeout=_CONNECT_SECONDS,
                    open=True,
                )
            require_process(self._opened_in)
            return self._pool

    def _note(self, refusal: psycopg.Error | None) -> None:
        """Keep why no connection could be opened: the pool only says that there was none in time."""
        self._refusal = refusal

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except PoolTimeout as error:
            raise translate(self._refusal or error, self.schema) from None
        except psycopg.Error as error:
            raise translate(error, self.schema) from None


class _Patient(psycopg.Connection[Row]):
    """A connection that waits for an answer no longer than `patience`."""

    patience = _CONNECT_SECONDS

    @classmethod
    def connect(  # type: ignore[override]
        cls, conninfo: str = "", *, note: Callable[[psycopg.Error | None], None], **options: Any
    ) -> "_Patient":
        try:
            connection = super().connect(conninfo, **options)
        except psycopg.Error as error:
            note(error)
            raise
        note(None)
        return connection

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        return super().wait(gen, interval, self.patience if timeout is None else timeout)


class _Broken(psycopg.OperationalError):
    """The connection broke before the answer."""


class _Standby(psycopg.OperationalError):
    """The server follows another one, and may lag behind it."""


def _has_news(connection: psycopg.Connection[Any]) -> bool:
    """Whether a connection that waits for nothing has something to read, such as that it is at its end."""
    with DefaultSelector() as selector:
        selector.register(connection.fileno(), EVENT_READ)
        return bool(selector.select(0))


# Foreign errors

_CREDENTIALS: Final = "its credentials are refused; check the user, PGPASSWORD and pg_hba.conf"
_NONE_LEFT: Final = (
    "The database of the memories has no connection left; try again in a second. If it goes on, raise its "
    "max_connections or put a pooler before it."
)
KNOWN: Final = frozenset(
    {
        "CancellationTimeout",
        "ConnectionTimeout",
        "DataError",
        "DatabaseError",
        "Error",
        "IntegrityError",
        "InterfaceError",
        "InternalError",
        "NotSupportedError",
        "OperationalError",
        "PipelineAborted",
        "PoolClosed",
        "PoolTimeout",
        "ProgrammingError",
        "TooManyRequests",
    }
)
"""psycopg's exceptions without a code, which `translate` tells apart by type or text. A test finds a new one."""
BUSY: Final = frozenset({"40001", "40P01", "55P03", "53400"})
TRANSIENT: Final = frozenset({"08", "57", "58", "25P03", "55006"})
"""Reasons that pass: broken connections, a server that starts or stops, what an administrator ended."""
PERMANENT: Final[Mapping[str, str]] = {
    "0A000": "it refuses a statement of PostgreSQL 12 or newer; use such a server",
    "22": "its tables are not those of steeltrap; name another schema in the store's URL",
    "25006": "it is read-only; name the primary server in the store's URL",
    "28": _CREDENTIALS,
    "3D000": "there is no such database; create it, or correct the store's URL",
    "3F000": "its tables are gone; restore them from a copy, or name another schema in the store's URL",
    "42501": "its role lacks a right; let `steeltrap admin setup --grant ROLE` give it all that are needed, as their "
    "owner",
    "42P01": "its tables are gone; restore them from a copy, or name another schema in the store's URL",
    "42": "its tables are not those of steeltrap; name another schema in the store's URL",
    "54": "an entry or a base is too large for it",
    "XX001": "it is damaged; restore it from a copy",
    "XX002": "it is damaged; restore it from a copy",
}
"""The reasons that no retry ends, by the code or its class."""
_REFUSALS: Final = (
    (re.compile(r"too many clients|remaining connection slots|too many connections|no more connections"), None),
    (re.compile(r"starting up|shutting down|in recovery mode|not yet accepting"), ""),
    (re.compile(r"database \"[^\"]*\" does not exist|no such database"), PERMANENT["3D000"]),
    (re.compile(r"authentication failed|no password supplied|role \"[^\"]*\" does not exist"), _CREDENTIALS),
    (re.compile(r"no pg_hba\.conf entry|is not permitted to log in|certificate|no such user"), _CREDENTIALS),
    (re.compile(r"could not translate host name|[Nn]ame or service not known"), "there is no such host; check the URL"),
    (re.compile(r"SSL|session is (not )?read-only|server is (not )?in hot standby"), "check the options of its URL"),
)
"""The words of libpq when it can't connect, in English: it gives no code. None is a server without connections left, ""
one that will answer soon."""


def translate(error: psycopg.Error, schema: str) -> Unavailable:
    """The error of ours that stands for one of psycopg's or PostgreSQL's. Theirs quote hosts, roles and values."""
    code = error.sqlstate or ""
    if isinstance(error, _Standby):
        code = "25006"
    if code.startswith("533") or (not code and _refusal(error) is None):
        return Unavailable(_NONE_LEFT, part="store")
    if code.startswith("53") and code != "53400":
        return Unavailable(
            "The disk or the memory of the database of the memories is full: free some, then try again.", part="store"
        )
    if code in BUSY:
        return Unavailable("The database of the memories is busy; try again in a second.", part="store")
    why = PERMANENT.get(code) or PERMANENT.get(code[:2]) if code else _refusal(error)
    if code and not why and code not in TRANSIENT and code[:2] not in TRANSIENT:
        why = f"it refuses the request ({code})"
    if not why and not isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)) and not code:
        why = f"it refuses the request ({type(error).__name__})"
    if not why:
        return Unavailable("The database of the memories does not answer; try again.", part="store")
    _log.error("the database failed: %s %s", type(error).__name__, code)
    return Unavailable(f"The database of the memories can't be used: {why}.", retryable=False, part="store")


def _refusal(error: psycopg.Error) -> str | None:
    """Why no connection was opened; "" where only time can tell, None where there were none left."""
    return next((why for pattern, why in _REFUSALS if pattern.search(str(error))), "")
