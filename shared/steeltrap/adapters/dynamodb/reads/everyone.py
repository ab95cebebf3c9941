"""Who has a space: every user's own item, read from the index over them."""

from collections.abc import Iterator
from typing import Any

from ....model import UserRef
from ..client.table import READ_SECONDS, Tables
from ..layout.tables import EVERYONE
from ..layout.typed import from_attributes, text


def everyone(tables: Tables) -> Iterator[UserRef]:
    """All users; someone who came a moment ago may be missing."""
    request: Any = {
        "TableName": tables.memory,
        "IndexName": EVERYONE,
        "KeyConditionExpression": "everyone = :user",
        "ExpressionAttributeValues": {":user": {"S": "user"}},
    }
    while True:
        page = tables.call("query", request, tables.within(READ_SECONDS))
        for item in map(from_attributes, page["Items"]):
            yield UserRef(text(item, "user_id"), text(item, "tenant"))
        if "LastEvaluatedKey" not in page:
            return
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
