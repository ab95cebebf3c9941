"""Memories row by row: a page of a list, a block of a walk, the links of a memory."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import apsw

from ...model import Association, Filter, Memory, Page
from ...record import from_image
from ...text.limits import bounds_of_start, from_key, to_key
from .connection import select
from .filters import CURRENT, NOT_A_TURN, VISIBLE, conditions
from .rows import to_keys

_BLOCK: Final = 256


def page(connection: apsw.Connection, filter: Filter, now: int, *, limit: int, offset: int) -> Page:
    """A page of what the filter admits, newest first then id, and the exact total."""
    where, values = conditions(replace(filter, include_turns=False, as_of=None), now)
    [(total,)] = select(connection, f"SELECT count(*) FROM memory WHERE {where}", values)
    rows = select(
        connection,
        f"SELECT image FROM memory WHERE {where} ORDER BY created_at DESC, id LIMIT :limit OFFSET :offset",
        values | {"limit": limit, "offset": offset},
    )
    return Page(memories=tuple(from_image(image) for (image,) in rows), total=total)


def block(connection: apsw.Connection, last: int, now: int, *, turns: bool) -> list[tuple[int, Memory]]:
    """The next visible memories behind a row, each with its row's number."""
    rows = select(
        connection,
        f"SELECT n, image FROM memory WHERE n > :last AND {VISIBLE} AND (:turns OR {NOT_A_TURN}) "
        f"ORDER BY n LIMIT {_BLOCK}",
        {"last": last, "now": now, "turns": turns},
    )
    return [(n, from_image(image)) for n, image in rows]


def images(connection: apsw.Connection, last: int) -> list[tuple[int, Memory]]:
    """The next images behind a row, of turns, deleted and expired ones too, each with its row's number."""
    rows = select(connection, f"SELECT n, image FROM memory WHERE n > ? ORDER BY n LIMIT {_BLOCK}", (last,))
    return [(n, from_image(image)) for n, image in rows]


def earlier_images(connection: apsw.Connection, last: tuple[int, int]) -> list[tuple[tuple[int, int], Memory]]:
    """The next images that updates replaced, behind a row's number and a version, each with its own."""
    rows = select(
        connection,
        f"SELECT n, version, image FROM revision WHERE (n, version) > (?, ?) ORDER BY n, version LIMIT {_BLOCK}",
        last,
    )
    return [((n, version), from_image(image)) for n, version, image in rows]


def row_number(connection: apsw.Connection, id: str) -> int | None:
    """The number of a memory's row, deleted or not; None without one."""
    row = connection.execute("SELECT n FROM memory WHERE id = ?", (to_key(id),)).fetchone()
    return None if row is None else int(row[0])


def completions(connection: apsw.Connection, start: str, limit: int) -> list[str]:
    """The ids that have a start, in order."""
    within = "SELECT id FROM memory WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"
    rows = select(connection, within, (*bounds_of_start(start), limit))
    return [from_key(key) for (key,) in rows]


def latest_writes(connection: apsw.Connection, limit: int) -> list[Memory]:
    """What was written last, turns left out; deleted and expired ones are there."""
    rows = select(connection, "SELECT turn, image FROM memory ORDER BY change DESC, n DESC LIMIT ?", (limit,))
    return [from_image(image) for turn, image in rows if not turn]


def superseded(connection: apsw.Connection, ids: Sequence[str]) -> list[Memory]:
    """What these memories superseded, deleted and expired ones too."""
    rows = select(
        connection,
        "SELECT image FROM memory WHERE superseded_by IN (SELECT unhex(value) FROM json_each(?))",
        (to_keys(ids),),
    )
    return [from_image(image) for (image,) in rows]


def successions(connection: apsw.Connection, ids: Sequence[str], now: int) -> dict[str, str]:
    """What superseded these memories, and what superseded that, of those that are visible: a row a memory."""
    rows = select(
        connection,
        "WITH RECURSIVE chain (id, newer) AS ("
        f"  SELECT id, superseded_by FROM memory WHERE id IN (SELECT unhex(value) FROM json_each(:ids)) AND {VISIBLE}"
        f"  UNION SELECT memory.id, superseded_by FROM chain JOIN memory ON memory.id = chain.newer WHERE {VISIBLE}"
        ") SELECT id, newer FROM chain WHERE newer IS NOT NULL",
        {"ids": to_keys(ids), "now": now},
    )
    return {from_key(id): from_key(newer) for id, newer in rows}


def associations(connection: apsw.Connection, id: str, now: int) -> list[Association]:
    """The links of a memory from both sides, strongest first, then newest, then by id."""
    rows = select(
        connection,
        "SELECT id, max(strength), max(manual) FROM ("
        "  SELECT target AS id, strength, manual FROM link JOIN memory USING (n) WHERE memory.id = :key"
        "  UNION ALL SELECT memory.id, strength, manual FROM link JOIN memory USING (n) WHERE target = :key"
        f") AS seen JOIN memory USING (id) WHERE {CURRENT} AND {NOT_A_TURN} "
        "GROUP BY id ORDER BY max(strength) DESC, created_at DESC, id",
        {"key": to_key(id), "now": now},
    )
    return [Association(memory_id=from_key(k), strength=s, manual=bool(m)) for k, s, m in rows]
