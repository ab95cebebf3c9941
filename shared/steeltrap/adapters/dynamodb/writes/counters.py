"""Counters in the table of usage, which many processes share: DynamoDB adds, and removes what is over."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from ....model import UserRef, from_micros, to_micros
from ....ports import Amount
from ..client.table import Cancelled, Tables
from ..layout.typed import Value, from_attributes, number, to_attributes

_SECONDS: Final = 1.0
"""How long a call waits for its counter at most."""
_AMOUNT_LIVES: Final = timedelta(days=1)
_AMOUNT: Final = "amount"


class DynamoCounters:
    """One item for each minute in which a user calls, one for the amount. They are in a partition of their own, so
    that what is counted never looks like something that the user has."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def count_call(self, user: UserRef, minute: int) -> int:
        done = self._update(
            user,
            f"calls#{minute}",
            UpdateExpression="ADD calls :one SET #ttl = :ttl",
            ExpressionAttributeNames={"#ttl": "ttl"},
            ExpressionAttributeValues=to_attributes({":one": 1, ":ttl": 60 * (minute + 2)}),
            ReturnValues="UPDATED_NEW",
        )
        return number(from_attributes(done["Attributes"]), "calls")

    def amount(self, user: UserRef) -> Amount | None:
        found = self._tables.get_usage(partition(user.key), [_AMOUNT], self._tables.within(_SECONDS)).get(_AMOUNT)
        if found is None:
            return None
        measured_at = from_micros(number(found, "measured_at"))
        return Amount(memories=number(found, "memories"), bytes=number(found, "bytes"), measured_at=measured_at)

    def set_amount(self, user: UserRef, amount: Amount) -> None:
        ends = amount.measured_at + _AMOUNT_LIVES
        values: Mapping[str, Value] = {
            ":memories": amount.memories,
            ":bytes": amount.bytes,
            ":measured_at": to_micros(amount.measured_at),
            ":ttl": int(ends.timestamp()),
        }
        self._update(
            user,
            _AMOUNT,
            UpdateExpression="SET memories = :memories, #bytes = :bytes, measured_at = :measured_at, #ttl = :ttl",
            ExpressionAttributeNames={"#bytes": "bytes", "#ttl": "ttl"},
            ExpressionAttributeValues=to_attributes(values),
        )

    def add_amount(self, user: UserRef, *, memories: int, bytes: int) -> None:
        with suppress(Cancelled):
            self._update(
                user,
                _AMOUNT,
                UpdateExpression="ADD memories :memories, #bytes :bytes",
                ConditionExpression="attribute_exists(measured_at)",
                ExpressionAttributeNames={"#bytes": "bytes"},
                ExpressionAttributeValues=to_attributes({":memories": memories, ":bytes": bytes}),
            )

    def _update(self, user: UserRef, key: str, **how: Any) -> Any:
        request = {"TableName": self._tables.usage, "Key": to_attributes({"u": partition(user.key), "k": key}), **how}
        return self._tables.call("update_item", request, self._tables.within(_SECONDS))


def partition(user: str) -> str:
    """The partition of a user's counters."""
    return f"counters#{user}"
