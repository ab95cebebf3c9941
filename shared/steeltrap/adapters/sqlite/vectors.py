"""The vectors of memories, as they were written."""

from collections.abc import Sequence

import apsw

from ...model import Embedding
from ...text.limits import from_key
from .connection import select
from .rows import AMONG, to_keys


def read(connection: apsw.Connection, ids: Sequence[str], size: int, table: str) -> dict[str, tuple[Embedding, ...]]:
    """The embeddings of each memory that can be searched, in a table; `size` is one vector's bytes."""
    rows = select(
        connection,
        f"SELECT id, vectors FROM memory JOIN {table} USING (n) WHERE deleted_at IS NULL AND {AMONG}",
        (to_keys(ids),),
    )
    return {from_key(key): tuple(blob[at : at + size] for at in range(0, len(blob), size)) for key, blob in rows}
