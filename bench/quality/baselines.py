"""Two searches to compare with, over the same texts: SQLite's FTS5 by words alone, and the embedder's cosine alone."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import apsw
import numpy as np

from steeltrap.ports import Embedder

from ..place import opened
from ..stores import Store
from .scoring import means, ranking
from .sets import QuestionSet, Space

WORD: Final = re.compile("[\\w\u064b-\u0652\u0900-\u0963]+")
"""With the vowel signs of Arabic and Hindi, which are no letters."""
_MOST: Final = 10
_BLOCK: Final = 256
_SECONDS: Final = 600.0

Ranked = Iterator[list[str]]
"""For each question of a space, the ids of memories, the best first."""


def measure(questions: QuestionSet, embedder: str | None = None) -> dict[str, dict[str, float]]:
    """`top1`, `r5` and `r10` in percent, of FTS5 and of the cosine."""
    with (
        TemporaryDirectory(prefix="steeltrap-bench-") as folder,
        opened(Path(folder), Store.SQLITE, embedder=embedder) as place,
    ):
        searches: dict[str, Callable[[Space], Ranked]] = {
            "FTS5": fts5,
            "cosine": lambda space: _cosine(space, place.door.embedder),
        }
        return {
            name: means(
                [
                    ranking(question.relevant, ids)
                    for space in questions.spaces
                    for question, ids in zip(space.questions, search(space), strict=True)
                    if question.relevant
                ]
            )
            for name, search in searches.items()
        }


def fts5(space: Space, most: int = _MOST) -> Ranked:
    """Memories that have any word of the question, by BM25, with FTS5's own tokenizer."""
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE fact USING fts5(id UNINDEXED, content)")
    connection.executemany(
        "INSERT INTO fact VALUES (?, ?)", [(id, draft.content) for id, draft in space.memories.items()]
    )
    for question in space.questions:
        words = WORD.findall(question.text) or ["_"]  # FTS5 refuses a query without a word
        any_word = " OR ".join(f'"{word}"' for word in words)
        rows = connection.execute("SELECT id FROM fact WHERE fact MATCH ? ORDER BY rank LIMIT ?", (any_word, most))
        yield [str(id) for (id,) in rows]
    connection.close()


def _cosine(space: Space, embedder: Embedder) -> Ranked:
    ids = list(space.memories)
    documents = _unit_vectors(embedder, [draft.content for draft in space.memories.values()], "document")
    for query in _unit_vectors(embedder, [question.text for question in space.questions], "query"):
        yield [ids[place] for place in np.argsort(-(documents @ query), kind="stable")[:_MOST]]


def _unit_vectors(embedder: Embedder, texts: Sequence[str], purpose: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    blocks = [
        embedder.embed(texts[start : start + _BLOCK], purpose=purpose, timeout=_SECONDS)
        for start in range(0, len(texts), _BLOCK)
    ]
    joined = b"".join(bytes(embedding) for block in blocks for embedding in block)
    vectors = np.frombuffer(joined, np.float32).reshape(-1, embedder.dimension)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True).astype(np.float32)
    units: np.ndarray[Any, np.dtype[np.float32]] = np.divide(
        vectors, norms, out=np.zeros_like(vectors), where=norms > 0
    )
    return units
