"""Search, save and import through the door, each beside the peer's in the same moments of the same run."""

import json
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from steeltrap.cli.terminal import progress_bar
from steeltrap.errors import InvalidInput
from steeltrap.invoke import Door
from steeltrap.model import Caller, Draft, UserRef
from steeltrap.runtime.local import open_embedder
from steeltrap.servers.process.server import raise_descriptor_limit

from .corpus import Corpus
from .peer import sqlite_peer
from .place import Place, fill, opened
from .report import milliseconds
from .servers import http_client, http_server
from .stores import Store

TITLES: Final = {
    "size": "memories",
    "users": "users",
    "search_p50_ms": "hybrid search, median, ms",
    "search_p95_ms": "hybrid search, 95th percentile, ms",
    "http_search_p50_ms": "the same for a client over HTTP, median, ms",
    "http_adds_ms": "what HTTP adds to a search, median, ms (<= 1.5 is good)",
    "retrieve_p50_ms": "retrieve_memory, median, ms",
    "retrieve_ratio": "retrieve_ratio, retrieve_memory / search (<= 1.5 is good)",
    "save_per_s": "durable saves with look-around, per second",
    "import_per_s": "bulk import with embeddings, per second",
    "baseline_p50_ms": "baseline: both legs in one request to OpenSearch, median, ms",
    "baseline_ratio": "baseline_ratio, search / baseline (<= 2.2 is good)",
    "followed_per_s": "changes indexed from the table's stream, per second",
    "indexed_per_s": "documents written to the index, per second",
    "bulk_per_s": "the same with opensearch-py's bulk helper, per second",
    "bulk_ratio": "bulk_ratio, ours / the helper's (>= 0.8 is good)",
    "bytes": "file bytes",
    "bytes_ratio": "file bytes / bytes of texts and vectors",
    "resident_mb": "resident memory before the peer, MB",
    "peer_search_p50_ms": "LangGraph SqliteStore, vector search, median, ms",
    "peer_search_p95_ms": "the same, 95th percentile, ms",
    "peer_save_per_s": "LangGraph SqliteStore, puts per second",
    "search_ratio": "search_ratio, ours / peer (<= 1 is good)",
    "save_ratio": "save_ratio, ours / peer (>= 1 is good)",
}
_PEERS: Final = ("langgraph",)
_LIMIT: Final = 10
_SECONDS: Final = 25.0
"""How long each of saves and searches is measured at most."""
_SAVES: Final = 200
_SEARCHES: Final = 500
_RETRIEVALS: Final = 200
_SERVED: Final = 200
_WARM: Final = 5
_RECENT: Final = 10
"""Number of memories saved just before searches are compared with the baseline."""


Act = Callable[[Caller, str], object]
"""Something that one user does with a text."""


@dataclass(slots=True)
class Pair:
    """Seconds of each operation, ours and the peer's."""

    ours: list[float] = field(default_factory=list)
    peers: list[float] = field(default_factory=list)


def measure(size: int, users: int, against: str | None, store: Store = Store.SQLITE) -> dict[str, Any]:
    """The figures; the peer's are None without `against`. Raises InvalidInput for an unknown peer."""
    if against not in (None, *_PEERS):
        raise InvalidInput(f"There is no peer `{against}`; there is: {', '.join(_PEERS)}.")
    if users > size:
        raise InvalidInput(f"{size:,} memories can't be spread over {users:,} users; raise --size.")
    raise_descriptor_limit()
    corpus = Corpus()
    texts = list(corpus.texts(size))
    callers = [Caller(UserRef(f"user-{number}"), "default") for number in range(users)]
    shares = [texts[number::users] for number in range(users)]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="steeltrap-bench-")))
        place = stack.enter_context(opened(folder / "ours", store))
        door = place.door
        loading = _load(door, callers, shares)
        indexing = _seconds(place.settle)
        room = _bytes(door, callers, texts)
        questions = corpus.questions(texts, max(_SEARCHES, 3 * users) + _WARM)
        for question, caller in zip(questions[:_WARM], callers, strict=False):
            search(door, caller, question)
        resident = _resident_mb()
        peer = None
        if against is not None:
            # With an embedder of its own: one for both would have looked up the words when the second asks.
            peer = stack.enter_context(sqlite_peer(folder / "peer.db", open_embedder(place.settings)))
            for caller, share in zip(callers, shares, strict=True):
                peer.load(caller, share)
        new = list(corpus.texts(_SAVES + _WARM + _RECENT, part=1))
        baseline = _baseline(place, callers, questions, new[-_RECENT:], indexing, size) if place.baseline else {}
        del new[-_RECENT:]
        saves = alternate(partial(save, door), None if peer is None else peer.save, callers, new)
        place.settle()
        searches = alternate(partial(search, door), None if peer is None else peer.search, callers, questions)
        recalls = alternate(partial(search, door), partial(_retrieve, door), callers, questions[:_RETRIEVALS])
        served = _over_http(door, folder / "ours", callers[0], questions) if store is Store.SQLITE else {}
    figures = {**_figures(saves, searches, size / loading), **served, **_retrieval(recalls)}
    return {"size": size, "users": users, **figures, **baseline, **room, "resident_mb": resident}


def _figures(saves: Pair, searches: Pair, import_per_s: float) -> dict[str, Any]:
    p50, save_per_s = milliseconds(searches.ours, 0.5), len(saves.ours) / sum(saves.ours)
    figures: dict[str, Any] = {
        "search_p50_ms": p50,
        "search_p95_ms": milliseconds(searches.ours, 0.95),
        "save_per_s": round(save_per_s, 1),
        "import_per_s": round(import_per_s),
    }
    peer = dict.fromkeys(("peer_search_p50_ms", "peer_search_p95_ms", "peer_save_per_s", "search_ratio", "save_ratio"))
    if not searches.peers:
        return figures | peer
    peer_p50, peer_save_per_s = milliseconds(searches.peers, 0.5), len(saves.peers) / sum(saves.peers)
    return figures | {
        "peer_search_p50_ms": peer_p50,
        "peer_search_p95_ms": milliseconds(searches.peers, 0.95),
        "peer_save_per_s": round(peer_save_per_s, 1),
        "search_ratio": round(p50 / peer_p50, 3),
        "save_ratio": round(save_per_s / peer_save_per_s, 3),
    }


def _baseline(
    place: Place, callers: list[Caller], questions: list[str], recent: list[str], indexing: float, size: int
) -> dict[str, Any]:
    """Search settled and recent memories, compared with the baseline, and how fast changes are indexed."""
    assert place.baseline is not None
    indexed, bulk = place.baseline.bulk(callers)
    for turn, text in enumerate(recent):
        save(place.door, callers[turn % len(callers)], text)
    pair = alternate(partial(search, place.door), place.baseline.search, callers, questions)
    p50, baseline_p50 = milliseconds(pair.ours, 0.5), milliseconds(pair.peers, 0.5)
    return {
        "baseline_p50_ms": baseline_p50,
        "baseline_ratio": round(p50 / baseline_p50, 3),
        "followed_per_s": round(size / indexing),
        "indexed_per_s": round(indexed),
        "bulk_per_s": round(bulk),
        "bulk_ratio": round(indexed / bulk, 3),
    }


def _over_http(door: Door, folder: Path, caller: Caller, questions: list[str]) -> dict[str, Any]:
    """The first user's searches as a client of `steeltrap serve` sees them, beside the same searches here."""
    with http_server(folder, caller) as server, http_client(server.port) as client:

        def ask(_: Caller, question: str) -> None:
            client.post("/v1/core/search", json.dumps({"query": question, "limit": _LIMIT}))

        pair = alternate(partial(search, door), ask, [caller], questions[:_SERVED])
    adds = [over - here for over, here in zip(pair.peers, pair.ours, strict=True)]
    return {"http_search_p50_ms": milliseconds(pair.peers, 0.5), "http_adds_ms": milliseconds(adds, 0.5)}


def _retrieval(recalls: Pair) -> dict[str, Any]:
    """The time that weighing by retrievability adds to a search of the same moment."""
    p50 = milliseconds(recalls.peers, 0.5)
    return {"retrieve_p50_ms": p50, "retrieve_ratio": round(p50 / milliseconds(recalls.ours, 0.5), 3)}


def _load(door: Door, callers: list[Caller], shares: list[list[str]]) -> float:
    """Seconds of the bulk import of everything."""
    door.embedder.embed(["so that the model is loaded"], purpose="document", timeout=60)
    total = 0
    began = time.perf_counter()
    with progress_bar("Importing", sum(map(len, shares))) as advance:
        for caller, share in zip(callers, shares, strict=True):

            def more(count: int, before: int = total) -> None:
                advance(before + count, before + count)

            total += fill(door, caller, [Draft(content=text) for text in share], more)
    return time.perf_counter() - began


def alternate(ours: Act, peers: Act | None, callers: list[Caller], texts: list[str]) -> Pair:
    """Time both with the same texts in turn, so that what else the machine does meets both."""
    pair = Pair()
    ends = time.perf_counter() + _SECONDS
    for turn, text in enumerate(texts):
        caller = callers[turn % len(callers)]
        times = [_timed(act, caller, text) for act in (ours, peers) if act is not None]
        if turn < _WARM:
            continue
        pair.ours.append(times[0])
        pair.peers += times[1:]
        if time.perf_counter() > ends:
            break
    return pair


def _seconds(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _timed(act: Act, caller: Caller, text: str) -> float:
    began = time.perf_counter()
    act(caller, text)
    return time.perf_counter() - began


def search(door: Door, caller: Caller, question: str) -> None:
    """A hybrid search of one user."""
    _ask(door, "core.search", {"query": question, "limit": _LIMIT}, caller)


def _retrieve(door: Door, caller: Caller, question: str) -> None:
    _ask(door, "core.retrieve_memory", {"query": question, "limit": _LIMIT}, caller)


def save(door: Door, caller: Caller, content: str) -> None:
    _ask(door, "core.save", {"content": content}, caller)


def _ask(door: Door, tool: str, arguments: dict[str, Any], caller: Caller) -> None:
    result = door.invoke(tool, arguments, caller)
    if result.error is not None:
        raise result.error


def _bytes(door: Door, callers: list[Caller], texts: list[str]) -> dict[str, Any]:
    counts = [door.call_for(caller, seconds=60).space.statistics() for caller in callers]
    stored_bytes = sum(count["bytes"] for count in counts)
    raw_bytes = sum(len(text.encode()) for text in texts)
    raw_bytes += 4 * door.embedder.dimension * sum(count["chunks"] for count in counts)
    return {"bytes": stored_bytes, "bytes_ratio": round(stored_bytes / raw_bytes, 2)}


def _resident_mb() -> float | None:
    """The memory of this process now; None where the system doesn't tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except OSError:
        return None
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1_000_000, 1)
