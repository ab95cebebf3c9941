"""The vectors of memories, as they were written."""

import json
from collections.abc import Sequence

import apsw

from ...model import Embedding
from .connection import select
from .rows import from_key, to_key


def read(connection: apsw.Connection, ids: Sequence[str], size: int) -> dict[str, tuple[Embedding, ...]]:
    """The embeddings of each memory that can be searched; `size` is one vector's bytes."""
    rows = select(
        connection,
        "SELECT id, vectors FROM memory JOIN search USING (n) WHERE deleted_at IS NULL "
        "AND id IN (SELECT unhex(value) FROM json_each(?))",
        (json.dumps([to_key(id).hex() for id in ids]),),
    )
    return {from_key(key): tuple(blob[at : at + size] for at in range(0, len(blob), size)) for key, blob in rows}
