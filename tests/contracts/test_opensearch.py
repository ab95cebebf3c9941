"""OpenSearch earns the contract of an index, and keeps what only OpenSearch can break."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn
from uuid import uuid4

import pytest

from asking import send_to_index
from clock import SettableClock
from components import opensearch_url
from contracts.entries import EMBEDDER, SECONDS, creation, embed, probe, query, vector
from contracts.index_contract import (
    ANA,
    BOB,
    FROG,
    HERON,
    NOW,
    OTHERS,
    OTTER,
    IndexContract,
    document,
    found,
    gone,
    look_around,
    score,
    search,
    write,
)
from spaces import in_time, space_of
from steeltrap.errors import Conflict, Internal, NotFound, Throttled, Unavailable
from steeltrap.model import Query, to_micros
from steeltrap.ports import Document, Entry, Held
from steeltrap.runtime import SystemClock
from steeltrap.stores.opensearch import (
    Indices,
    OpenSearch,
    OpenSearchIndex,
    OpenSearchUpkeep,
    connect_index,
    queries,
)
from steeltrap.stores.opensearch.indices import Engine, index_body
from steeltrap.stores.sqlite import SqliteStore

ONE_NODE = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1", "gc_deletes": "1ms"}


@pytest.fixture(scope="module")
def client() -> Iterator[OpenSearch]:
    client = connect_index(opensearch_url())
    yield client
    client.close()


@pytest.fixture
def indices(client: OpenSearch) -> Iterator[Indices]:
    indices = Indices(client, f"test-{uuid4().hex[:12]}", SystemClock())
    indices.build(EMBEDDER.dimension, EMBEDDER.name, settings=ONE_NODE)
    yield indices
    send_to_index(client, "DELETE", f"/{indices.alias}-*", timeout=30)
    send_to_index(client, "DELETE", f"/_index_template/{indices.alias}", timeout=30)


@pytest.fixture
def index(client: OpenSearch, indices: Indices) -> OpenSearchIndex:
    return OpenSearchIndex(client, indices)


@pytest.fixture
def settle(indices: Indices) -> Callable[[], None]:
    return indices.refresh


class Recording:
    """A client that keeps the lines of every `_msearch`, and may spoil an answer."""

    def __init__(self, client: OpenSearch) -> None:
        self._to = client
        self.requests: list[list[dict[str, Any]]] = []
        self.spoil: dict[int, dict[str, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._to, name)

    def msearch(self, *, body: list[dict[str, Any]], **options: Any) -> Any:
        answer = self._to.msearch(body=body, **options)
        self.requests.append(body)
        for at, part in self.spoil.items():
            answer["responses"][at] = part
        return answer


@pytest.fixture
def recording(client: OpenSearch, indices: Indices) -> tuple[Recording, OpenSearchIndex]:
    recording = Recording(client)
    return recording, OpenSearchIndex(recording, indices)  # type: ignore[arg-type]


# Isolation


def _queries(body: Any) -> Iterator[dict[str, Any]]:
    """The parts of a body that choose documents: its query, each filter of a k-NN clause, each aggregation's filter."""
    if "query" in body:
        yield body["query"]
    yield from _filters({key: value for key, value in body.items() if key != "rescore"})


def _filters(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, list):
        for each in part:
            yield from _filters(each)
    elif isinstance(part, dict):
        if "knn" in part:
            [clause] = part["knn"].values()
            yield clause["filter"]
        for name, agg in part.get("aggs", {}).items():
            if name in ("seen", "admitted"):
                yield agg["filter"]
        for each in part.values():
            yield from _filters(each)


def _needs_user(query: dict[str, Any]) -> bool:
    """Whether a query can match nothing but ANA's documents."""
    if query == {"term": {"user": ANA}}:
        return True
    if "nested" in query:
        return _needs_user(query["nested"]["query"])
    if "knn" in query:
        return all(_needs_user(clause["filter"]) for clause in query["knn"].values())
    if "dis_max" in query:
        return all(_needs_user(each) for each in query["dis_max"]["queries"])
    clauses = query.get("bool", {})
    must = [*clauses.get("filter", []), *clauses.get("must", [])]
    should = clauses.get("should", [])
    return any(map(_needs_user, must)) or (not must and bool(should) and all(map(_needs_user, should)))


_NEAR = vector(1, 1)
_WHOLE = {"tags": ("a",), "scope": "team", "include_child_scopes": True, "include_turns": True, "turns_of": "talk"}
_NOTES = {**_WHOLE, "episodes": False}


@pytest.mark.parametrize(
    "asked",
    [
        query("heron"),
        query(near=_NEAR),
        query("heron dawn", near=_NEAR),
        query("heron dawn", near=_NEAR, **_WHOLE),
        query("heron dawn", near=_NEAR, **_NOTES),
        query("heron", near=bytes(4 * EMBEDDER.dimension)),
        query("heron", near=_NEAR, per_leg=None),
        query("heron", per_leg=None),
    ],
)
def test_every_leg_of_a_search_is_routed_to_and_filtered_by_the_user(
    recording: tuple[Recording, OpenSearchIndex], asked: Query
) -> None:
    seen, index = recording
    for _ in range(2):  # the first search tells how many memories the user has
        index.search(ANA, asked, now=NOW, deadline=in_time(SECONDS), before=NOW, leave_out=[HERON])
    _are_the_users(seen)


def test_every_leg_of_a_look_around_is_routed_to_and_filtered_by_the_user(
    recording: tuple[Recording, OpenSearchIndex],
) -> None:
    seen, index = recording
    probes = [probe("heron"), probe("heron", scope=None, leave_out=HERON)]
    probes += [replace(probe("x"), embeddings=(vector(1), vector(0, 1)))]
    index.look_around(ANA, probes, now=NOW, floor=0.5, top_k=3, deadline=in_time(SECONDS))
    _are_the_users(seen)


def _are_the_users(seen: Recording) -> None:
    for request in seen.requests:
        for header, body in zip(request[::2], request[1::2], strict=True):
            assert header["routing"] == ANA
            found = list(_queries(body))
            assert found
            assert all(map(_needs_user, found)), body


# One round trip


def test_what_the_graph_finds_is_scored_by_the_whole_vectors(recording: tuple[Recording, OpenSearchIndex]) -> None:
    seen, index = recording
    embedding = vector(1)
    index.search(ANA, Query(embedding=embedding, per_leg=3), now=NOW, deadline=in_time(SECONDS))
    index.look_around(ANA, [probe("heron")], now=NOW, floor=0.5, top_k=3, deadline=in_time(SECONDS))
    by_graph = [body for request in seen.requests for body in request[1::2] if '"k":' in json.dumps(body)]
    assert len(by_graph) >= 2
    for body in by_graph:
        assert body["rescore"]["query"]["query_weight"] == 0
        assert "knn_score" in json.dumps(body["rescore"])
        assert "min_score" not in body, "it would count the graph's own scores"


@pytest.mark.parametrize(("engine", "bits"), [("lucene", 7), ("faiss", None)])
def test_only_lucenes_graph_has_a_byte_per_dimension(engine: Engine, bits: int | None) -> None:
    chunks = index_body(8, "name", engine=engine)["mappings"]["properties"]["chunks"]["properties"]
    encoder = chunks["embedding"]["method"]["parameters"].get("encoder")
    assert encoder == (None if bits is None else {"name": "sq", "parameters": {"bits": bits}})


def test_the_vectors_of_a_user_who_has_few_are_compared_without_the_graph(
    recording: tuple[Recording, OpenSearchIndex], settle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, index = recording
    monkeypatch.setattr(queries, "COMPARED", 2)

    def uses_graph() -> bool:
        return any("knn" in json.dumps(body) and '"k":' in json.dumps(body) for body in seen.requests[-1][1::2])

    near = vector(1, 1)
    write(index, settle, document("a", HERON, embeddings=(vector(1),)), document("b", OTTER, embeddings=()))
    write(index, settle, document("a", HERON, user=BOB))
    by_graph = search(index, near=near)
    assert uses_graph()
    compared = search(index, near=near)
    assert not uses_graph()
    assert [(each.id, pytest.approx(each.cosine)) for each in by_graph.candidates] == [
        (each.id, each.cosine) for each in compared.candidates
    ]
    assert found(compared) == {HERON, OTTER}
    write(index, settle, document("c", FROG, embeddings=(vector(0, 1),)))
    assert search(index, near=near).stored == 3
    search(index, near=near)
    assert uses_graph()


def test_every_match_comes_in_blocks(
    recording: tuple[Recording, OpenSearchIndex], settle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steeltrap.stores.opensearch.queries.MOST", 30)
    seen, index = recording
    write(index, settle, *(document(f"heron {i}", id) for i, id in enumerate(OTHERS[:70])))
    for near in (None, embed("heron")[0]):
        assert found(search(index, "heron", near=near, per_leg=None)) == set(OTHERS[:70])
    assert len(seen.requests) == 6
    _are_the_users(seen)


def test_a_search_and_a_look_around_are_one_request_each(
    recording: tuple[Recording, OpenSearchIndex], settle: Callable[[], None]
) -> None:
    seen, index = recording
    write(index, settle, document("heron"))
    search(index, "heron", near=_NEAR)
    assert len(seen.requests) == 1
    look_around(index, *["heron"] * 20)
    assert len(seen.requests) == 2


def test_a_leg_brings_no_text_and_no_vector(
    recording: tuple[Recording, OpenSearchIndex], settle: Callable[[], None], client: OpenSearch
) -> None:
    _, index = recording
    write(index, settle, document("heron"))
    everything = {"query": {"match_all": {}}, "stored_fields": ["*"]}
    told = json.dumps(send_to_index(client, "POST", f"/{index.alias}/_search", everything, timeout=SECONDS))
    assert HERON in told
    assert "heron" not in told
    assert "embedding" not in told


# When something is broken


def test_one_leg_that_fails_leaves_the_other_and_a_word(
    recording: tuple[Recording, OpenSearchIndex], settle: Callable[[], None]
) -> None:
    seen, index = recording
    write(index, settle, document("heron"))
    broken = {"error": {"type": "script_exception", "reason": "secret heron"}, "status": 400}
    for at, leg in ((1, "keyword"), (2, "semantic")):
        seen.spoil = {at: broken}
        asked = search(index, "heron", near=embed("heron")[0])
        assert found(asked) == {HERON}
        assert leg in str(asked.degraded)
        assert "secret" not in str(asked.degraded)


@pytest.mark.parametrize(
    ("spoiled", "error"),
    [
        ({"error": {"type": "index_not_found_exception"}, "status": 404}, Unavailable),
        ({"error": {"type": "cluster_block_exception"}, "status": 403}, Unavailable),
        ({"error": {"type": "rejected_execution_exception"}, "status": 429}, Throttled),
        ({"error": {"type": "search_phase_execution_exception"}, "status": 503}, Unavailable),
        ({"timed_out": True, "hits": {}}, Unavailable),
        ({"timed_out": False, "_shards": {"failed": 1}, "hits": {}}, Unavailable),
    ],
)
@pytest.mark.parametrize("parts", [(0,), (1, 2)])
def test_half_an_answer_is_an_error_never_an_empty_one(
    recording: tuple[Recording, OpenSearchIndex], spoiled: dict[str, Any], error: type[Exception], parts: tuple[int]
) -> None:
    seen, index = recording
    seen.spoil = dict.fromkeys(parts, spoiled)
    with pytest.raises(error) as raised:
        search(index, "heron", near=_NEAR)
    assert raised.value.can_retry
    seen.spoil = {0: spoiled}
    with pytest.raises(error):
        look_around(index, "heron")


def test_an_index_that_is_missing_is_never_invented(client: OpenSearch) -> None:
    missing = Indices(client, f"test-{uuid4().hex[:12]}", SystemClock())
    index = OpenSearchIndex(client, missing)
    refused = index.write([document("heron"), gone(OTTER)], deadline=in_time(SECONDS))
    assert [error.can_retry for error in refused.values()] == [True, True]
    with pytest.raises(Unavailable):
        search(index, "heron")
    with pytest.raises(Unavailable):
        index.check()
    assert missing.current() is None


def test_a_name_that_is_an_index_and_no_alias_is_not_written_to(client: OpenSearch, indices: Indices) -> None:
    bare = Indices(client, f"{indices.alias}-1", SystemClock())
    refused = OpenSearchIndex(client, bare).write([document("heron")], deadline=in_time(SECONDS))
    assert refused[0].can_retry


def test_a_server_that_is_down_is_unavailable() -> None:
    index = OpenSearchIndex(nowhere := connect_index("http://127.0.0.1:9"), Indices(nowhere, "x", SystemClock()))
    for ask in (
        lambda: search(index, "heron"),
        lambda: look_around(index, "heron"),
        lambda: index.write([document("heron")], deadline=in_time(SECONDS)),
        index.check,
    ):
        with pytest.raises(Unavailable) as raised:
            ask()
        assert raised.value.details["part"] == "index"
        assert raised.value.can_retry
    nowhere.close()


# Writing


def test_a_late_create_is_refused_after_opensearch_has_forgotten_the_delete(
    index: OpenSearchIndex, settle: Callable[[], None], client: OpenSearch
) -> None:
    write(index, settle, document("heron"))
    write(index, settle, gone(index_version=2))
    # `gc_deletes` is 1 ms here; what counts is that a tombstone is a document, which no collection takes.
    send_to_index(client, "POST", f"/{index.alias}/_forcemerge", timeout=30, params={"max_num_segments": "1"})
    settle()
    write(index, settle, document("heron"))
    assert search(index, "heron").candidates == ()


def test_large_writes_go_in_several_requests(
    index: OpenSearchIndex, settle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steeltrap.stores.opensearch.index.BULK_BYTES", 5000)
    many = [document(f"heron {i}", id) for i, id in enumerate(OTHERS[:40])]
    many[25] = replace(many[25], embeddings=(b"\0\0\x80?",))
    refused = index.write(many, deadline=in_time(SECONDS))
    settle()
    assert list(refused) == [25]
    assert search(index, "heron").stored == 39


# Indices


def test_more_writes_of_a_user_than_a_search_reads_from_the_table_are_found_before_the_index_is_refreshed(
    client: OpenSearch, indices: Indices
) -> None:
    indices.clock = clock = SettableClock()
    clock.stand()
    index = OpenSearchIndex(client, indices, refresh_every=4)

    def indexed(*ids: str, user: str = ANA) -> int:
        write(index, lambda: None, *(document("the heron", id, user=user) for id in ids))
        return search(index, "heron").stored

    assert indexed(*OTHERS[:3]) == 0
    assert indexed(*OTHERS[3:6], user=BOB) == 0
    assert indexed(*OTHERS[6:8]) == 5
    assert indexed(*OTHERS[8:11]) == 5
    clock.sleep(31)  # OpenSearch refreshes by itself after 30 seconds; this index never does
    assert indexed(*OTHERS[11:14]) == 5
    assert indexed(OTHERS[14]) == 12


def test_writes_that_were_to_be_found_at_once_and_failed_are_found_at_once_when_they_are_repeated(
    client: OpenSearch, indices: Indices, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = OpenSearchIndex(client, indices, refresh_every=4)
    documents = [document("the heron", id) for id in OTHERS[:5]]

    def fail(*arguments: object, **options: object) -> NoReturn:
        raise Unavailable("OpenSearch does not answer.")

    with monkeypatch.context() as patch:
        patch.setattr("steeltrap.stores.opensearch.index.bulk", fail)
        with pytest.raises(Unavailable):
            index.write(documents, deadline=in_time(SECONDS))
    write(index, lambda: None, *documents[:1])
    assert search(index, "heron").stored == 1


def test_a_new_index_is_built_beside_the_old_one_and_switched(
    client: OpenSearch, indices: Indices, settle: Callable[[], None]
) -> None:
    index = OpenSearchIndex(client, indices)
    write(index, settle, document("heron"))
    assert indices.build(EMBEDDER.dimension, "another", settings=ONE_NODE) == f"{indices.alias}-2"
    with pytest.raises(Conflict):
        indices.build(EMBEDDER.dimension, "a third")
    write(index, settle, document("heron", OTTER))
    assert found(search(index, "heron")) == {HERON, OTTER}
    assert indices.switch() == f"{indices.alias}-1"
    assert found(search(index, "heron")) == {OTTER}
    current = indices.current()
    assert current is not None
    assert (current.name, current.embedder) == (f"{indices.alias}-2", "another")
    with pytest.raises(Conflict):
        indices.drop(f"{indices.alias}-2")
    indices.drop(f"{indices.alias}-1")
    assert indices.write_set() == (indices.alias,)
    with pytest.raises(NotFound):
        indices.switch()


def test_one_name_may_begin_with_another(client: OpenSearch, indices: Indices) -> None:
    longer = Indices(client, f"{indices.alias}-dev", SystemClock())
    try:
        longer.build(EMBEDDER.dimension + 1, "another", settings=ONE_NODE)
        indices.build(EMBEDDER.dimension, EMBEDDER.name, settings=ONE_NODE)
        built, of_longer = indices.building(), longer.current()
        assert built is not None
        assert of_longer is not None
        assert (built.name, built.dimension) == (f"{indices.alias}-2", EMBEDDER.dimension)
        assert (of_longer.name, of_longer.dimension) == (f"{indices.alias}-dev-1", EMBEDDER.dimension + 1)
    finally:
        longer.remove()


def test_an_unknown_field_is_refused(client: OpenSearch, indices: Indices) -> None:
    with pytest.raises(Internal):
        send_to_index(client, "POST", f"/{indices.alias}/_doc", {"surprise": 1}, params={"routing": "x"})


# Old tombstones


@pytest.fixture
def upkeep(client: OpenSearch, indices: Indices) -> OpenSearchUpkeep:
    return OpenSearchUpkeep(client, indices.alias, SystemClock(), embedder=EMBEDDER.name, dimension=EMBEDDER.dimension)


def _nothing(user: str, ids: Sequence[str]) -> tuple[str, ...]:
    return ()


def test_old_tombstones_go_and_nothing_else_does(
    index: OpenSearchIndex, upkeep: OpenSearchUpkeep, settle: Callable[[], None]
) -> None:
    old, new, known, live, expired = OTHERS[:5]
    write(index, settle, gone(old, index_version=9), gone(new, index_version=10), gone(known, index_version=8))
    write(index, settle, document("heron", live), document("otter", expired, expires_at=1))
    write(index, settle, gone(old, user=BOB, index_version=9), document("frog", known, user=BOB))
    asked: list[tuple[str, set[str]]] = []

    def is_known(user: str, ids: Sequence[str]) -> set[str]:
        asked.append((user, set(ids)))
        return {known}

    assert upkeep.drop_tombstones(before=10, find_stored=is_known) == 2
    assert sorted(asked) == sorted([(ANA, {old, known}), (BOB, {old})])
    settle()
    assert upkeep.held(ANA).keys() == {new, known, live, expired}
    assert upkeep.held(BOB).keys() == {known}
    assert upkeep.drop_tombstones(before=10, find_stored=is_known) == 0


def test_a_repeated_dropping_that_sees_what_is_gone_already_counts_nothing(
    index: OpenSearchIndex, upkeep: OpenSearchUpkeep, settle: Callable[[], None]
) -> None:
    write(index, settle, gone(HERON))
    # Nothing is refreshed between.
    assert [upkeep.drop_tombstones(before=10, find_stored=_nothing) for _ in range(2)] == [1, 0]


def test_an_index_that_can_not_filter_by_a_field_says_so_and_is_rebuilt(
    indices: Indices, upkeep: OpenSearchUpkeep
) -> None:
    there = indices.current()
    assert there is not None
    assert upkeep.unfit() is None
    known = {name: kind for name, kind in there.filterable.items() if name != "category"}
    indices.reach(replace(there, filterable={**known, "mood": "text"}), "")
    assert upkeep.unfit() == f"The index {there.name} was made before memories could be filtered by category."
    assert upkeep.begin() == ""
    built = indices.building()
    assert built is not None
    assert built.filterable["category"] == "text"
    upkeep.switch()
    assert upkeep.unfit() is None


def test_a_memory_that_is_written_again_while_its_old_tombstone_goes_stays(
    index: OpenSearchIndex, upkeep: OpenSearchUpkeep, settle: Callable[[], None]
) -> None:
    write(index, settle, gone(HERON), gone(OTTER))

    def heron_comes_back(user: str, ids: Sequence[str]) -> tuple[str, ...]:
        write(index, settle, document("heron", HERON, index_version=2))
        return ()

    assert upkeep.drop_tombstones(before=2, find_stored=heron_comes_back) == 1
    settle()
    assert upkeep.held(ANA) == {HERON: Held(2, True)}
    assert found(search(index, "heron")) == {HERON}


def test_many_old_tombstones_go_a_block_at_a_time_whichever_stay(
    index: OpenSearchIndex,
    upkeep: OpenSearchUpkeep,
    settle: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("steeltrap.stores.opensearch.upkeep._DROPPED_AT_ONCE", 2)
    many = OTHERS[:7]
    # Three blocks of one version each: what comes next is told by the id.
    write(index, settle, *(gone(id, index_version=3) for id in many))
    assert upkeep.drop_tombstones(before=4, find_stored=lambda user, ids: many[:3]) == 4
    settle()
    assert upkeep.held(ANA).keys() == set(many[:3])


def test_a_refusal_to_drop_tombstones_is_told(
    index: OpenSearchIndex, upkeep: OpenSearchUpkeep, settle: Callable[[], None], client: OpenSearch
) -> None:
    write(index, settle, gone(HERON))
    send_to_index(client, "PUT", f"/{index.alias}/_settings", {"index.blocks.read_only": True}, timeout=30)
    try:
        with pytest.raises(Unavailable) as refused:
            upkeep.drop_tombstones(before=10, find_stored=_nothing)
    finally:
        send_to_index(client, "PUT", f"/{index.alias}/_settings", {"index.blocks.read_only": None}, timeout=30)
    assert refused.value.details["status"] == 403
    assert upkeep.held(ANA).keys() == {HERON}


# Against SQLite

_CONDITIONS = [{}, {"tags": ("a",)}, {"scope": "team", "include_child_scopes": True}]


def test_scores_and_order_are_those_of_sqlite(
    index: OpenSearchIndex, settle: Callable[[], None], tmp_path: Path, clock: SettableClock
) -> None:
    pick = random.Random(7)
    words = [f"{a}{b}" for a in ("heron", "otter", "pond", "dawn", "reed") for b in ("", "s", "y", "ia", "ton")]
    words += ["山", "川魚", "señora", "it"]
    texts = [" ".join(pick.choices(words, range(len(words), 0, -1), k=pick.choice([1, 4, 9, 30]))) for _ in range(400)]
    kept = [
        creation(text, tags=pick.choice([(), ("a",), ("A", "b")]), scope=pick.choice(["user/default", "team/x"]))
        for text in texts
    ]
    store = SqliteStore(tmp_path, EMBEDDER, clock)
    space = space_of(store, "ana")
    space.commit(kept)
    write(index, settle, *(_document(change.entry, at) for at, change in enumerate(kept, 1)))
    for number in range(40):
        text = " ".join(pick.choices(words, k=1 + number % 6))
        conditions: dict[str, Any] = pick.choice(_CONDITIONS)
        asked = query(text, near=embed(text)[0], per_leg=pick.choice([5, 100, None]), **conditions)
        theirs = space.search(asked)
        ours = index.search(ANA, asked, now=NOW, deadline=in_time(SECONDS))
        assert (ours.stored, ours.admitted) == (theirs.stored, theirs.admitted)
        by_id = {c.id: c for c in ours.candidates}
        for candidate in theirs.candidates:
            if candidate.id not in by_id:  # one of several that tie for a last place
                continue
            assert by_id[candidate.id].cosine == pytest.approx(candidate.cosine, abs=1e-4)
            assert score(ours, by_id[candidate.id]) == pytest.approx(candidate.bm25, abs=1e-4)
        ours_best = _best([(c.cosine or 0.0, score(ours, c)) for c in ours.candidates], asked.per_leg)
        theirs_best = _best([(c.cosine or 0.0, c.bm25 or 0.0) for c in theirs.candidates], asked.per_leg)
        assert ours_best == [pytest.approx(leg, abs=1e-4) for leg in theirs_best]
    probes = [probe(text) for text in pick.sample(texts, 20)]
    around = index.look_around(ANA, probes, now=NOW, floor=0.3, top_k=10, deadline=in_time(SECONDS))
    for one, other in zip(around, space.look_around(probes, floor=0.3, top_k=10), strict=True):
        assert other.nearest is not None
        assert one.anywhere[0].cosine == pytest.approx(other.nearest.cosine, abs=1e-4)
        assert [round(n.cosine, 3) for n in one.near[:10]] == [round(n.cosine, 3) for n in other.near]
    store.close()


def _best(scores: list[tuple[float, float]], per_leg: int | None) -> list[list[float]]:
    """The best scores of each leg, best first."""
    near, words = ([pair[leg] for pair in scores] for leg in (0, 1))
    return [sorted(near, reverse=True)[:per_leg], sorted(filter(None, words), reverse=True)[:per_leg]]


def _document(entry: Entry, index_version: int) -> Document:
    memory = entry.memory
    return document(
        memory.content,
        memory.id,
        index_version=index_version,
        tags=memory.tags,
        scope=memory.scope,
        created_at=to_micros(memory.created_at),
        tokens=entry.tokens,
        embeddings=entry.embeddings,
    )


class TestOpenSearch(IndexContract):
    pass
