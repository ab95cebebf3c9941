"""Writes the records of the memory table's stream to an index."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ....errors import SteeltrapError
from ....ports import DeadLetter, Index
from ..client.table import Tables
from ..layout import keys
from ..reads.documents import document_from
from .changes import Change, write_changes

_log = logging.getLogger("steeltrap")

_FETCH_SECONDS: Final = 10.0
UNREADABLE: Final = "unreadable"


class Indexer:
    """Writes the stream's records to an index. Repeated records, and records out of order, do no harm.

    `send_dead_letter` takes a change that the index permanently rejects or that can't be read. If it fails, the change
    is retried.
    """

    def __init__(self, tables: Tables, index: Index, send_dead_letter: Callable[[DeadLetter], None]) -> None:
        self._tables = tables
        self._index = index
        self._send_dead_letter = send_dead_letter

    def take(self, records: Sequence[Mapping[str, Any]], *, timeout: float = 30.0) -> list[str]:
        """Write records; return the sequence numbers of those to retry, in order.

        Raises nothing when the index, the table or the queue reject something.
        """
        deadline = self._tables.within(timeout)
        places = [str(record["dynamodb"]["SequenceNumber"]) for record in records]
        changes: list[Change] = []
        again: set[str] = set()
        for place, record in zip(places, records, strict=True):
            if not deadline.before():
                again.add(place)
                continue
            try:
                document = document_from(self._tables, record, deadline.within(_FETCH_SECONDS))
                if document is not None:
                    changes.append((place, document))
            except Exception as error:  # a record that can't be read must not block those behind it
                passing = isinstance(error, SteeltrapError) and error.can_retry
                if passing or not self._is_queued(record, type(error).__name__):
                    again.add(place)
        if changes:
            again.update(
                write_changes(self._index, changes, send_dead_letter=self._send_dead_letter, deadline=deadline)
            )
        return [place for place in places if place in again]

    def _is_queued(self, record: Mapping[str, Any], kind: str) -> bool:
        change = record["dynamodb"]
        image = change.get("NewImage") or change.get("OldImage") or {}
        letter = DeadLetter(
            user=_text(change, "u"),
            id=keys.id_of(_text(change, "k")),
            index_version=_version(image),
            error=f"{UNREADABLE} ({kind})",
        )
        try:
            self._send_dead_letter(letter)
        except SteeltrapError as error:
            _log.warning("a change could not be sent to the dead-letter queue: %s", error.message)
            return False
        return True


def _text(change: Mapping[str, Any], name: str) -> str:
    value = change.get("Keys", {}).get(name, {})
    return str(value.get("S", "")) if isinstance(value, Mapping) else ""


def _version(image: Mapping[str, Any]) -> int:
    value = image.get("w")
    digits = str(value.get("N", "")) if isinstance(value, Mapping) else ""
    return int(digits) if digits.isdigit() else 0
