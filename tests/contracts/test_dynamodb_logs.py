"""Logs in a table of DynamoDB: how much is asked of it, where large entries are, and how it says what is wrong."""

from collections import Counter
from collections.abc import Iterator

import botocore.session
import pytest
from botocore import exceptions as foreign
from botocore.exceptions import ClientError

from contracts import log_places
from contracts.log_contract import ANA, BEN
from faults.proxy import Asked, Proxy, Rule, Send, passing, refusing
from steeltrap.errors import Unavailable
from steeltrap.stores.logs import dynamodb
from steeltrap.stores.logs.dynamodb import DynamoLog, DynamoLogs, translate

LARGE = b"heron" * 100_000


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[DynamoLogs, Proxy]]:
    with (
        log_places.proxied_place("dynamodb", monkeypatch) as (make, proxy),
        log_places.connecting(make) as connect,
    ):
        logs = connect()
        assert isinstance(logs, DynamoLogs)
        yield logs, proxy


def _bodies(log: DynamoLog) -> list[bytes | None]:
    return [log._objects.get(log._body(name)) for page in log._objects.names(log._bodies) for name in page]


def test_each_operation_asks_as_little_as_it_can(place: tuple[DynamoLogs, Proxy]) -> None:
    logs, proxy = place
    log = logs.of(ANA)

    def take() -> dict[str, int]:
        found, proxy.asked = dict(proxy.asked), Counter()
        return found

    assert log.read_on(1) == []
    assert take() == {"Query": 1}, "a quiet read"
    assert log.create(1, b"x")
    assert not log.create(1, b"y")
    assert take() == {"PutItem": 2}
    for n in range(2, 131):
        log.create(n, b"x" * 9000)
    take()
    assert len(log.read_on(2)) == 129
    assert take() == {"Query": 2}, "a page has 1 MB"
    log.read([1])
    log.read(range(1, 131))
    assert take() == {"GetItem": 1, "BatchGetItem": 2}
    log.overwrite(dict.fromkeys(range(1, 131), b"stub"))
    assert take() == {"BatchWriteItem": 6}
    assert logs.of(BEN).bases() == []
    logs.id()
    log.list_user()
    assert take() == {}, "all else is in the bucket"


def test_a_large_entry_is_in_the_bucket_until_it_is_overwritten(place: tuple[DynamoLogs, Proxy]) -> None:
    log = place[0].of(ANA)
    assert log.create(1, LARGE)
    assert log.create(2, LARGE + b"2")
    assert sorted(_bodies(log), key=len) == [LARGE, LARGE + b"2"]  # type: ignore[arg-type]
    log.overwrite({1: b"stub"})
    assert _bodies(log) == [LARGE + b"2"]
    assert log.read_on(1) == [b"stub", LARGE + b"2"]


def test_the_body_of_a_writer_that_lost_goes_at_once(place: tuple[DynamoLogs, Proxy]) -> None:
    log = place[0].of(ANA)
    assert log.create(1, b"first")
    assert not log.create(1, LARGE)
    assert _bodies(log) == []


def test_a_body_that_a_killed_writer_left_goes_with_the_next_overwriting(place: tuple[DynamoLogs, Proxy]) -> None:
    logs, proxy = place
    log = logs.of(ANA)
    proxy.rule = refusing("AccessDeniedException")
    with pytest.raises(Unavailable):
        log.create(1, LARGE)  # dies between body and item
    proxy.rule = passing
    log.overwrite({})
    assert _bodies(log) == [LARGE], "its writer may still be at work"
    assert log.create(1, b"theirs")
    log.overwrite({})
    assert _bodies(log) == []
    assert log.read_on(1) == [b"theirs"]


def test_an_overwriting_that_was_killed_is_finished_by_the_next(
    place: tuple[DynamoLogs, Proxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = place[0].of(ANA)
    log.create(1, LARGE)
    with monkeypatch.context() as patch:
        patch.setattr(DynamoLog, "_clear_bodies", lambda log: pytest.fail("killed"))
        with pytest.raises(BaseException, match="killed"):
            log.overwrite({1: b"stub"})
    assert _bodies(log) == [LARGE]
    assert log.read_on(1) == [b"stub"]
    log.overwrite({})
    assert _bodies(log) == []


def test_an_entry_that_is_overwritten_while_it_is_read_is_its_stub(place: tuple[DynamoLogs, Proxy]) -> None:
    logs, proxy = place
    log = logs.of(ANA)
    log.create(1, LARGE)
    log.create(2, b"second")

    def meanwhile(asked: Asked, send: Send) -> object:
        answered = send(asked)
        if asked.operation in ("Query", "BatchGetItem"):
            proxy.rule = passing
            log.overwrite({1: b"stub"})
        return answered

    rule: Rule = meanwhile  # type: ignore[assignment]
    proxy.rule = rule
    assert log.read_on(1) == [b"stub", b"second"]


def test_a_body_that_is_missing_is_no_empty_entry(place: tuple[DynamoLogs, Proxy]) -> None:
    log = place[0].of(ANA)
    log.create(1, LARGE)
    [[name]] = log._objects.names(log._bodies)
    log._objects.delete(log._body(name))
    with pytest.raises(Unavailable, match="body of entry 1 is missing") as failed:
        log.read([1])
    assert not failed.value.can_retry


def test_what_a_batch_leaves_undone_is_done_by_the_next(
    place: tuple[DynamoLogs, Proxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    logs, _ = place
    log = logs.of(ANA)
    pauses: list[float] = []
    logs._table._pause = pauses.append
    call = logs._table._call

    def leaving(operation: str, **request: object) -> object:
        """DynamoDB does the first half of a batch alone, as under load."""
        if not operation.startswith("batch"):
            return call(operation, **request)
        [(table, asked)] = request["RequestItems"].items()  # type: ignore[attr-defined]
        every = asked if operation == "batch_write_item" else asked["Keys"]
        now, later = every[: (len(every) + 1) // 2], every[(len(every) + 1) // 2 :]
        shaped = (lambda some: some) if operation == "batch_write_item" else (lambda some: {**asked, "Keys": some})
        answer = call(operation, RequestItems={table: shaped(now)})
        left = "UnprocessedItems" if operation == "batch_write_item" else "UnprocessedKeys"
        return {**answer, left: {table: shaped(later)} if later else {}}

    monkeypatch.setattr(logs._table, "_call", leaving)
    log.overwrite({n: str(n).encode() for n in range(1, 31)})
    assert log.read(range(1, 31)) == [str(n).encode() for n in range(1, 31)]
    assert pauses
    monkeypatch.setattr(
        logs._table, "_call", lambda operation, **request: {"UnprocessedItems": request["RequestItems"]}
    )
    with pytest.raises(Unavailable, match="busy") as failed:
        log.overwrite({1: b"x"})
    assert failed.value.can_retry


def test_two_prefixes_of_a_table_are_two_places(monkeypatch: pytest.MonkeyPatch) -> None:
    url = log_places.dynamodb(monkeypatch)
    bare = url.replace(url[: url.index("?")], url[: url.index("?")].rpartition("/")[0])
    with (
        log_places.connecting(lambda: DynamoLogs(url)) as first,
        log_places.connecting(lambda: DynamoLogs(bare)) as other,
    ):
        first().of(ANA).create(1, b"x")
        assert other().of(ANA).read_on(1) == []
        assert other().of(ANA)._partition == ANA.key


@pytest.mark.parametrize(
    "url", ["dynamodb://table", "dynamodb://?bases=s3://b", "dynamodb:///prefix?bases=s3://b", "s3://bucket/prefix"]
)
def test_a_url_without_table_or_bucket_is_refused_with_the_right_form(url: str) -> None:
    with pytest.raises(Unavailable, match=r"dynamodb://table\?bases=s3://bucket/prefix") as failed:
        DynamoLogs(url)
    assert not failed.value.can_retry


def test_a_table_that_is_not_there_is_no_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    url = log_places.dynamodb(monkeypatch).replace("dynamodb://", "dynamodb://never-made-")
    with log_places.connecting(lambda: DynamoLogs(url)) as connect:
        logs = connect()
        log = logs.of(ANA)
        for attempt in (lambda: log.read_on(1), lambda: log.read([1]), lambda: log.create(1, b"x"), logs.check):
            with pytest.raises(Unavailable, match="no such table") as failed:
                attempt()
            assert not failed.value.can_retry


def test_every_error_that_dynamodb_declares_for_what_we_ask_is_in_one_place_of_the_map() -> None:
    model = botocore.session.get_session().get_service_model("dynamodb")
    operations = ("PutItem", "GetItem", "Query", "BatchGetItem", "BatchWriteItem")
    declared = {shape.name for name in operations for shape in model.operation_model(name).error_shapes}
    places = (dynamodb.BUSY, dynamodb.TRANSIENT, dynamodb.PERMANENT, {"ConditionalCheckFailedException"})
    assert {code: sum(code in place for place in places) for code in declared} == dict.fromkeys(declared, 1)


def _refused(code: str, status: int = 400) -> ClientError:
    answer = {"Error": {"Code": code, "Message": "a secret"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "BatchGetItem")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "says", "retry"),
    [
        (_refused("ThrottlingException"), "busy", True),
        (_refused("InternalServerError", 500), "does not answer", True),
        (_refused("NeverHeardOf", 503), "does not answer", True),
        (_refused("400"), "does not answer", True),
        (_refused("AccessDeniedException"), "grant dynamodb:BatchGetItem", False),
        (_refused("ResourceNotFoundException"), "no such table", False),
        (_refused("ExpiredTokenException"), "credentials are refused", False),
        (_refused("ValidationException"), "partition key must be `u`", False),
        (_refused("NeverHeardOf"), "refuses the request (NeverHeardOf)", False),
        (foreign.EndpointConnectionError(endpoint_url="http://secret"), "does not answer", True),
        (foreign.ReadTimeoutError(endpoint_url="http://secret"), "does not answer", True),
        (foreign.NoCredentialsError(), "fix the credentials", False),
        (foreign.NoRegionError(), "fix the region", False),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence_without_secrets(error: Exception, says: str, retry: bool) -> None:
    ours = translate(error, "batch_get_item")
    assert says in ours.message
    assert ours.can_retry is retry
    assert ours.details == {"part": "store"}
    assert "secret" not in ours.message
