"""Our store for LangGraph beside LangGraph's SqliteStore: the same interface, embedder, texts and queries.

Both are called through `BaseStore` in this process, and take each put and each query in turn. An item is one text of
about 100 characters in one namespace; a search asks for ten items of that namespace. Both embed each text and query in
the measured time, each with an embedder object of its own. Both flush each put to the disk before it returns, as they
are set up by default: theirs by a rollback journal (`synchronous` is full), ours by a write-ahead log (full too).

What differs is what is measured. Theirs compares vectors alone. Ours ranks by words and meaning, corrects misspelt
words, notes the reads, and a put looks for duplicates and links, and keeps a history. So they don't find the same
items: recall over LoCoMo, with a path, says how good the answers of each are.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from steeltrap.client import connect
from steeltrap.integrations.langgraph import SteeltrapStore
from steeltrap.model import Caller, UserRef
from steeltrap.runtime.local import open_embedder
from steeltrap.settings import read_settings

from . import locomo
from .corpus import Corpus
from .peer import LangGraph, sqlite_peer
from .quality.sets import Question, Space
from .report import milliseconds
from .speed import Pair, alternate

TITLES: Final = {
    "size": "memories",
    "search_p50_ms": "our search, median, ms",
    "search_p95_ms": "our search, 95th percentile, ms",
    "peer_search_p50_ms": "SqliteStore's search, median, ms",
    "peer_search_p95_ms": "SqliteStore's search, 95th percentile, ms",
    "search_ratio": "search_ratio, ours / SqliteStore's (<= 0.7 is good)",
    "put_per_s": "our puts per second",
    "peer_put_per_s": "SqliteStore's puts per second",
    "put_ratio": "put_ratio, ours / SqliteStore's (>= 0.7 is good)",
    "questions": "LoCoMo: questions",
    "r5": "LoCoMo: our turn recall@5, %",
    "peer_r5": "LoCoMo: SqliteStore's turn recall@5, %",
}
_PUTS: Final = 200
_SEARCHES: Final = 500
_CUT: Final = 5


def measure(size: int, path: Path | None = None, most: int | None = None) -> dict[str, Any]:
    """The figures; those of LoCoMo with `path`, of its first `most` conversations.

    Raises NotFound or InvalidInput for a file that isn't LoCoMo, Unavailable where LangGraph isn't installed.
    """
    spaces = [] if path is None else [locomo.space(conversation) for conversation in locomo.read(path)[:most]]
    corpus = Corpus()
    texts = list(corpus.texts(size))
    caller = Caller(UserRef("ana"), "default")
    with _opened() as (ours, peer):
        for store in (ours, peer):
            store.load(caller, texts)
        puts = alternate(ours.save, peer.save, [caller], list(corpus.texts(_PUTS, part=1)))
        searches = alternate(ours.search, peer.search, [caller], corpus.questions(texts, _SEARCHES))
    return {"size": size, **_figures(puts, searches), **(_recalls(spaces) if spaces else {})}


@contextmanager
def _opened() -> Iterator[tuple[LangGraph, LangGraph]]:
    """Both stores, empty, in a folder of their own."""
    with TemporaryDirectory(prefix="steeltrap-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        # With an embedder of its own: one for both would have looked up the words when the second asks.
        embedder = open_embedder(read_settings(data=folder / "ours"))
        peer = stack.enter_context(sqlite_peer(folder / "peer.db", embedder))
        yield LangGraph(SteeltrapStore(stack.enter_context(connect(folder / "ours", user="bench")))), peer


def _figures(puts: Pair, searches: Pair) -> dict[str, Any]:
    p50, peer_p50 = milliseconds(searches.ours, 0.5), milliseconds(searches.peers, 0.5)
    put_per_s, peer_put_per_s = len(puts.ours) / sum(puts.ours), len(puts.peers) / sum(puts.peers)
    return {
        "search_p50_ms": p50,
        "search_p95_ms": milliseconds(searches.ours, 0.95),
        "peer_search_p50_ms": peer_p50,
        "peer_search_p95_ms": milliseconds(searches.peers, 0.95),
        "search_ratio": round(p50 / peer_p50, 3),
        "put_per_s": round(put_per_s, 1),
        "peer_put_per_s": round(peer_put_per_s, 1),
        "put_ratio": round(put_per_s / peer_put_per_s, 3),
    }


def _recalls(spaces: list[Space]) -> dict[str, Any]:
    """Recall of both in percent. Each conversation is a namespace, and each turn an item whose value is its text."""
    shares: dict[str, list[float]] = {"r5": [], "peer_r5": []}
    with _opened() as stores:
        for name, store in zip(shares, stores, strict=True):
            for number, space in enumerate(spaces):
                caller = Caller(UserRef(f"conversation-{number}"), "default")
                store.load_named(caller, {turn: draft.content for turn, draft in space.memories.items()})
                shares[name] += [_recall(question, store.search(caller, question.text)) for question in space.questions]
    means = {name: round(100 * sum(values) / len(values), 1) for name, values in shares.items()}
    return {"questions": len(shares["r5"]), **means}


def _recall(question: Question, keys: list[str]) -> float:
    return len(question.relevant & set(keys[:_CUT])) / len(question.relevant)
