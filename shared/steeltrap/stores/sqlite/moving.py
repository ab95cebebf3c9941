"""The rows of a user's file as what a store of another kind takes, and the way back."""

from collections.abc import Iterable, Iterator

import apsw

from ...changes.images import entry, out_of_search
from ...errors import being_embedded
from ...model import Revision, Usage, from_micros, to_micros
from ...ports import Create
from ...ports.space import Beside, Stored
from ...record import from_image
from . import records
from .header import analysis_of, is_staging_begun, read_meta
from .writes import create

_STORED = """
SELECT n, place, written, image, vectors, access_count, last_accessed_at, card, open_turn.n IS NOT NULL
FROM memory
JOIN (
  SELECT n, row_number() OVER (ORDER BY n) AS place, row_number() OVER (ORDER BY change, n) AS written FROM memory
) USING (n)
LEFT JOIN search USING (n) LEFT JOIN usage USING (n) LEFT JOIN open_turn USING (n)
ORDER BY n
"""
_REVISIONS = "SELECT replaced_at, replaced_by, image FROM revision WHERE n = ? ORDER BY version"


def embedder_of(connection: apsw.Connection) -> tuple[str, int]:
    """The embedder that made all vectors of a file, and their dimension. Raises Conflict while others are made."""
    meta = read_meta(connection)
    if is_staging_begun(meta):
        raise being_embedded()
    return str(meta["embedder"]), int(meta["dimension"])


def stored(connection: apsw.Connection, dimension: int) -> Iterator[Stored]:
    """All memories of a file, in the order of creation."""
    size = 4 * dimension
    for n, place, written, image, vectors, count, at, card, is_open in connection.execute(_STORED):
        revisions = connection.execute(_REVISIONS, (n,))
        yield Stored(
            memory=from_image(image),
            n=place,
            written=written,
            embeddings=tuple(vectors[start : start + size] for start in range(0, len(vectors or b""), size)),
            history=tuple(
                Revision(memory=from_image(earlier), replaced_at=from_micros(replaced_at), replaced_by=by)
                for replaced_at, by, earlier in revisions
            ),
            usage=Usage(access_count=count or 0, last_accessed_at=None if at is None else from_micros(at), card=card),
            is_open=bool(is_open),
        )


def beside(connection: apsw.Connection) -> Beside:
    """All that a file has beside memories."""
    return Beside(
        sessions=tuple(records.read_sessions(connection)),
        imports=tuple(records.read_imports(connection)),
        analysis=analysis_of(connection),
    )


def put(connection: apsw.Connection, memories: Iterable[Stored], others: Beside) -> None:
    """Put all of it into a file that has begun and has no rows yet."""
    last = 0
    for each in memories:
        search = entry(each.memory, each.embeddings) if each.embeddings else out_of_search(each.memory)
        create(connection, Create(entry=search, history=each.history), each.written, n=each.n)
        if not each.is_open:
            connection.execute("DELETE FROM open_turn WHERE n = ?", (each.n,))
        if each.usage != Usage():
            at = each.usage.last_accessed_at
            values = each.n, each.usage.access_count, None if at is None else to_micros(at), each.usage.card
            connection.execute(
                "INSERT INTO usage (n, access_count, last_accessed_at, card) VALUES (?, ?, ?, ?)", values
            )
        last = max(last, each.written)
    for session in others.sessions:
        records.add_session(connection, session)
    for run in others.imports:
        records.put_import(connection, run)
    values_of_meta = [(last, "change"), (others.analysis, "analysis")]
    connection.executemany("UPDATE meta SET value = ? WHERE key = ?", values_of_meta)
