"""Every error of DynamoDB has its place in the map; a new one fails here."""

import botocore.session
import pytest
from botocore import exceptions as foreign
from botocore.exceptions import ClientError

from steeltrap.errors import Internal, SteeltrapError, Throttled, TooLarge, Unavailable
from steeltrap.stores.dynamodb import client

_OPERATIONS = (
    *("PutItem", "UpdateItem", "DeleteItem", "Query", "BatchGetItem", "BatchWriteItem", "TransactWriteItems"),
    "DescribeTable",
)
_CODES = (
    client.THROTTLED,
    client.BUSY,
    client.FULL,
    frozenset(client.PERMANENT),
    client.MISTAKES,
    client.ASKED_FOR,
)


def _refused(code: str, *, status: int = 400, reasons: tuple[str, ...] = ()) -> ClientError:
    answer = {
        "Error": {"Code": code, "Message": "a secret"},
        "ResponseMetadata": {"HTTPStatusCode": status},
        "CancellationReasons": [{"Code": reason} for reason in reasons],
    }
    return ClientError(answer, "PutItem")  # type: ignore[arg-type]


def test_every_error_that_dynamodb_declares_for_what_we_ask_is_in_one_place_of_the_map() -> None:
    model = botocore.session.get_session().get_service_model("dynamodb")
    declared = {shape.name for name in _OPERATIONS for shape in model.operation_model(name).error_shapes}
    assert declared
    assert {code: sum(code in place for place in _CODES) for code in declared} == dict.fromkeys(declared, 1)


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        (_refused("ThrottlingException"), Throttled, True),
        (_refused("ProvisionedThroughputExceededException"), Throttled, True),
        (_refused("InternalServerError", status=500), Unavailable, True),
        (_refused("NeverHeardOf", status=503), Unavailable, True),
        (_refused("TransactionCanceledException", reasons=("None", "TransactionConflict")), Unavailable, True),
        (_refused("TransactionCanceledException", reasons=("ThrottlingError",)), Throttled, True),
        (_refused("TransactionCanceledException", reasons=("ItemCollectionSizeLimitExceeded",)), TooLarge, False),
        (_refused("TransactionCanceledException", reasons=("ValidationError",)), Internal, False),
        (_refused("ItemCollectionSizeLimitExceededException"), TooLarge, False),
        (_refused("ResourceNotFoundException"), Unavailable, False),
        (_refused("AccessDeniedException"), Unavailable, False),
        (_refused("ValidationException"), Internal, False),
        (_refused("NeverHeardOf"), Internal, False),
        (foreign.EndpointConnectionError(endpoint_url="http://secret"), Unavailable, True),
        (foreign.ReadTimeoutError(endpoint_url="http://secret"), Unavailable, True),
        (foreign.NoCredentialsError(), Unavailable, False),
        (foreign.ParamValidationError(report="a secret"), Internal, False),
    ],
)
def test_an_error_says_whether_a_retry_helps_and_quotes_nothing(
    error: Exception, kind: type[SteeltrapError], retryable: bool
) -> None:
    ours = client.translate(error)
    assert type(ours) is kind
    assert ours.can_retry is retryable
    assert "secret" not in ours.message
