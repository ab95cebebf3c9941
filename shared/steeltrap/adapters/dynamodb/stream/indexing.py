"""From the records of the memory table's stream into an index."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ....errors import SteeltrapError
from ....ports import Index, Parked
from ..client.table import Tables
from ..layout import keys
from ..reads.documents import told_by
from .feeding import Change, feed

_log = logging.getLogger("steeltrap")

_FETCH_SECONDS: Final = 10.0
UNREADABLE: Final = "unreadable"


class Indexer:
    """Tells an index what the stream's records say. Replays, and records out of order, do no harm.

    `park` keeps a change that the index permanently rejects, or that can't be read. If it fails, the change is retried.
    """

    def __init__(self, tables: Tables, index: Index, park: Callable[[Parked], None]) -> None:
        self._tables = tables
        self._index = index
        self._park = park

    def take(self, records: Sequence[Mapping[str, Any]], *, timeout: float = 30.0) -> list[str]:
        """The sequence numbers of those that have to come again, in order; the rest is done. Raises nothing for
        what the index, the table or the queue refuse."""
        deadline = self._tables.within(timeout)
        places = [str(record["dynamodb"]["SequenceNumber"]) for record in records]
        changes: list[Change] = []
        again: set[str] = set()
        for place, record in zip(places, records, strict=True):
            if not deadline.before():
                again.add(place)
                continue
            try:
                document = told_by(self._tables, record, deadline.within(_FETCH_SECONDS))
                if document is not None:
                    changes.append((place, document))
            except Exception as error:  # whatever it is, a record that can't be read must not hold up those behind it
                passing = isinstance(error, SteeltrapError) and error.can_retry
                if passing or not self._is_parked(record, type(error).__name__):
                    again.add(place)
        if changes:
            again.update(feed(self._index, changes, park=self._park, deadline=deadline))
        return [place for place in places if place in again]

    def _is_parked(self, record: Mapping[str, Any], kind: str) -> bool:
        change = record["dynamodb"]
        image = change.get("NewImage") or change.get("OldImage") or {}
        parked = Parked(
            user=_text(change, "u"),
            id=keys.id_of(_text(change, "k")),
            index_version=_version(image),
            error=f"{UNREADABLE} ({kind})",
        )
        try:
            self._park(parked)
        except SteeltrapError as error:
            _log.warning("a change could not be put aside: %s", error.message)
            return False
        return True


def _text(change: Mapping[str, Any], name: str) -> str:
    value = change.get("Keys", {}).get(name, {})
    return str(value.get("S", "")) if isinstance(value, Mapping) else ""


def _version(image: Mapping[str, Any]) -> int:
    value = image.get("w")
    digits = str(value.get("N", "")) if isinstance(value, Mapping) else ""
    return int(digits) if digits.isdigit() else 0
