"""Between a memory and its row, an id and its 16 bytes, tokens and their stored form."""

import json
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any, Final

import apsw

from ...model import FILTERABLE, Memory, to_micros
from ...ports import Entry
from ...record import to_image
from ...text.limits import to_key
from ...text.matching import compared
from ...text.words import traits
from ..word_digests import word_digest

FILTERED: Final = {
    name: "TEXT" if kind in ("text", "scope") else "INTEGER"
    for name, kind in FILTERABLE.items()
    if kind in ("text", "flag", "time", "scope")
}
"""The filterable fields that have a column of their own, and its type. Tags have a table; metadata is in the image."""
COLUMNS = ", ".join(
    (
        "id, version, change, turn, speaker, updated_at, expires_at, deleted_at, pinned, surprise, importance, fold, "
        "image, episode, traits, superseded_by, superseded_at",
        *FILTERED,
    )
)
PLACES = ", ".join("?" * (COLUMNS.count(",") + 1))
AMONG = "id IN (SELECT unhex(value) FROM json_each(?))"
"""Admits the memories of the ids that `to_keys` lists: one statement for any number of them."""

ASSIGNMENTS = ", ".join(f"{column} = ?" for column in COLUMNS.split(", "))


def to_row(entry: Entry, change: int) -> tuple[Any, ...]:
    """The values of COLUMNS."""
    m = entry.memory
    return (
        to_key(m.id),
        m.version,
        change,
        m.source == "conversation",
        entry.speaker,
        to_micros(m.updated_at),
        _micros(m.expires_at),
        _micros(m.deleted_at),
        m.pinned,
        m.surprise,
        None if m.importance is None else m.importance.score,
        entry.fold,
        to_image(m),
        m.is_episode,
        int(traits(m)),
        None if m.superseded_by is None else to_key(m.superseded_by),
        _micros(m.superseded_at),
        *filtered(m),
    )


def filtered(memory: Memory) -> list[str | int | None]:
    """The values of FILTERED."""
    values = [compared(memory, name) for name in FILTERED]
    return [to_micros(value) if isinstance(value, date) else value for value in values]


def to_keys(ids: Iterable[str]) -> str:
    """Ids as `AMONG` takes them."""
    return json.dumps([to_key(id).hex() for id in ids])


def row_numbers(connection: apsw.Connection, ids: Sequence[str]) -> list[int]:
    """The row numbers of the memories of these ids that are there, in no order."""
    return [n for (n,) in connection.execute(f"SELECT n FROM memory WHERE {AMONG}", (to_keys(ids),))]


def to_terms(tokens: Sequence[str]) -> bytes:
    """Distinct tokens as 8-byte digests, then how often each occurs, 2 bytes each."""
    counts = Counter(tokens)
    frequencies = array("H", [min(count, 65_535) for count in counts.values()])
    return b"".join(map(word_digest, counts)) + frequencies.tobytes()


def _micros(at: Any) -> int | None:
    return None if at is None else to_micros(at)
