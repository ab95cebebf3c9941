"""The levels of embedding models in the table of usage: one small item for each model, in no user's partition."""

import json
from dataclasses import asdict
from typing import Final

from ....ports import Levels
from ..client.table import Tables
from ..layout.typed import text, to_attributes

PARTITION: Final = "levels"
_SECONDS: Final = 1.0
"""How long a call that needs the levels waits for them at most."""


class DynamoLevels:
    """Levels that all functions of a stage share. Two that learn at once write the same."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def read(self, key: str) -> Levels | None:
        found = self._tables.get_usage(PARTITION, [key], self._tables.within(_SECONDS)).get(key)
        if found is None:
            return None
        try:
            return Levels(**json.loads(text(found, "levels")))
        except (TypeError, ValueError):  # another version wrote it
            return None

    def write(self, key: str, levels: Levels) -> None:
        request = {
            "TableName": self._tables.usage,
            "Key": to_attributes({"u": PARTITION, "k": key}),
            "UpdateExpression": "SET #levels = :levels",
            "ExpressionAttributeNames": {"#levels": "levels"},
            "ExpressionAttributeValues": to_attributes({":levels": json.dumps(asdict(levels))}),
        }
        self._tables.call("update_item", request, self._tables.within(_SECONDS))
