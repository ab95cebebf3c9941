"""Between a memory and its row, an id and its 16 bytes, tokens and vectors and their bytes, a filter and its SQL."""

import json
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import date
from typing import Any, Final

import apsw

from ...model import FILTERABLE, FLAGS, PROJECTS, TEXTS, TIMES, Embedding, Filter, Memory, to_micros
from ...ports import Entry
from ...record import to_image
from ...text.limits import from_key, to_key
from ...text.matching import compared, fold_category, fold_tag
from ...text.words import Trait, traits
from ..exact.postings import word_digest
from .connection import select

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


REFERRING = "image = ?, superseded_by = ?, superseded_at = ?"
"""Sets what of a row follows from its references to other memories."""


def referring(memory: Memory) -> tuple[Any, ...]:
    """The values of REFERRING."""
    by = None if memory.superseded_by is None else to_key(memory.superseded_by)
    return to_image(memory), by, _micros(memory.superseded_at)


def filtered(memory: Memory) -> list[str | int | None]:
    """The values of FILTERED."""
    values = [compared(memory, name) for name in FILTERED]
    return [to_micros(value) if isinstance(value, date) else value for value in values]


def to_keys(ids: Iterable[str]) -> str:
    """Ids as `AMONG` takes them."""
    return json.dumps([to_key(id).hex() for id in ids])


def to_terms(tokens: Sequence[str]) -> bytes:
    """Distinct tokens as 8-byte digests, then how often each occurs, 2 bytes each."""
    counts = Counter(tokens)
    frequencies = array("H", [min(count, 65_535) for count in counts.values()])
    return b"".join(map(word_digest, counts)) + frequencies.tobytes()


def _micros(at: Any) -> int | None:
    return None if at is None else to_micros(at)


_NAMED = "IN (SELECT value FROM json_each(:names))"
NAMING = (
    """(instr(image, '"links":[') AND EXISTS (SELECT 1 FROM json_each(image, '$.links') AS link """
    f"WHERE lower(replace(link.value ->> 'target_id', '-', '')) {_NAMED}) "
    """OR instr(image, '"supersede') AND (lower(replace(image ->> '$.superseded_by', '-', '')) """
    f"{_NAMED} OR EXISTS (SELECT 1 FROM json_each(image, '$.supersedes') AS old "
    f"WHERE lower(replace(old.value, '-', '')) {_NAMED})))"
)
"""Admits the images that name one of the memories that `to_names` lists, by a link or by superseding."""


def to_names(keys: Collection[bytes]) -> str:
    """The values that NAMING is bound to."""
    return json.dumps([key.hex() for key in keys])


VISIBLE = "deleted_at IS NULL AND (expires_at IS NULL OR expires_at > :now)"
CURRENT = f"{VISIBLE} AND superseded_at IS NULL"
NOT_A_TURN = "NOT turn"


def conditions(filter: Filter, now: int) -> tuple[str, dict[str, object]]:
    """The WHERE clause for what is visible at `now` (microseconds) and passes the filter, with bindings."""
    where = [VISIBLE]
    values: dict[str, object] = {"now": now}
    where += _turns(filter, values) + _superseding(filter, values)
    for column in TEXTS:
        if (value := compared(filter, column)) is not None:
            where.append(f"{column} = :{column}")
            values[column] = value
    for column in FLAGS:
        if (flag := getattr(filter, column)) is not None:
            # A row of before the column has no value there.
            where.append(column if flag else f"{column} IS NOT 1")
    for column in TIMES:
        bounds = zip((">=", "<"), filter.between(column), filter.between(column, days=True), strict=True)
        for name, (comparison, time, day) in zip(("after", "before"), bounds, strict=True):
            if time is None or day is None:
                continue
            bound = f":{column}_{name}"
            values[bound[1:]] = to_micros(time)
            if day != time:
                bound = f"CASE WHEN traits & {int(Trait.DAY)} THEN {bound}_day ELSE {bound} END"
                values[f"{column}_{name}_day"] = to_micros(day)
            where.append(f"{column} {comparison} {bound}")
    where += _scope(filter, values)
    if filter.categories:
        names = {f"category{i}": fold_category(category) for i, category in enumerate(filter.categories)}
        where.append(f"category IN ({', '.join(f':{name}' for name in names)})")
        values |= names
    for i, tag in enumerate(filter.tags):
        where.append(f"EXISTS (SELECT 1 FROM tag WHERE tag.n = memory.n AND tag.tag = :tag{i})")
        values[f"tag{i}"] = fold_tag(tag)
    for i, (key, value) in enumerate(filter.metadata.items()):
        where.append(
            "EXISTS (SELECT 1 FROM json_each(memory.image, '$.metadata') AS pair "
            f"WHERE pair.key = :key{i} AND pair.value IS :value{i} AND (pair.type IN ('true', 'false')) = :bool{i} "
            "AND pair.type NOT IN ('array', 'object'))"
        )
        values |= {f"key{i}": key, f"value{i}": value, f"bool{i}": isinstance(value, bool)}
    return " AND ".join(where), values


def _turns(filter: Filter, values: dict[str, object]) -> list[str]:
    kinds = ["turn"] if filter.episodes else ["turn", "episode"]
    if not filter.include_turns:
        return [f"NOT {kind}" for kind in kinds]
    if filter.turns_of is None:
        return []
    values["turns_of"] = filter.turns_of
    return [f"(NOT {kind} OR conversation_id = :turns_of)" for kind in kinds]


def _superseding(filter: Filter, values: dict[str, object]) -> list[str]:
    if filter.include_superseded:
        return []
    if filter.as_of is None:
        return ["superseded_at IS NULL"]
    values["as_of"] = to_micros(filter.as_of)
    return ["(superseded_at IS NULL OR superseded_at > :as_of)"]


def _scope(filter: Filter, values: dict[str, object]) -> list[str]:
    where = []
    if filter.scope is not None:
        values["scope"] = filter.scope
        where.append(_within("scope", filter.scope, values) if filter.include_child_scopes else "scope = :scope")
    if filter.project is not None:
        others, own = _within("projects", PROJECTS, values), _within("project", filter.project, values)
        where.append(f"(NOT {others} OR {own})")
    return where


def _within(name: str, scope: str, values: dict[str, object]) -> str:
    # "0" is the character after "/", so this is the range of all that begins with the scope and a slash.
    values |= {name: scope, f"{name}_below": f"{scope}/", f"{name}_end": f"{scope}0"}
    return f"(scope = :{name} OR (scope >= :{name}_below AND scope < :{name}_end))"


def read_vectors(
    connection: apsw.Connection, ids: Sequence[str], size: int, table: str
) -> dict[str, tuple[Embedding, ...]]:
    """The embeddings of each memory that can be searched, in a table; `size` is one vector's bytes."""
    rows = select(
        connection,
        f"SELECT id, vectors FROM memory JOIN {table} USING (n) WHERE deleted_at IS NULL AND {AMONG}",
        (to_keys(ids),),
    )
    return {from_key(key): tuple(blob[at : at + size] for at in range(0, len(blob), size)) for key, blob in rows}
