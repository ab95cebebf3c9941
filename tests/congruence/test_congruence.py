"""The same memories and questions are answered alike on SQLite, over a log and on DynamoDB with OpenSearch.

In the cloud some memories are found by the index, the latest by DynamoDB. `pytest tests/congruence --locomo FILE` asks
the questions of real conversations.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from bench.corpus import Corpus

from clock import NOON, SettableClock
from contracts.refusing_scripts import refusing_scripts
from embedding import HashedWords
from steeltrap.changes.images import entry
from steeltrap.engine.call import Call
from steeltrap.engine.saving import embed_memories
from steeltrap.engine.searching import search
from steeltrap.invoke import Door
from steeltrap.model import Caller, Filter, Hit, Memory, Message, Mode, Query, Search, UserRef
from steeltrap.ports import Create, Embedder, MemoryStore
from steeltrap.ranking.weights import MOST_TERMS
from steeltrap.stores.logs.folder import FolderLogs
from steeltrap.stores.replica import ReplicaStore
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.text.words import query_tokens
from steeltrap.toolsets import CATALOGUE
from stores import parts

ANA, BEN = Caller(UserRef("ana")), Caller(UserRef("ben"))
EXACT = 1e-4
"""How far two scores may lie apart: both stores keep single precision."""
_BLOCK = 20
_SECONDS = 600.0


@dataclass(frozen=True)
class Pair:
    """Two doors over the same memories."""

    sqlite: Door
    other: Door
    questions: list[str]

    def calls(self) -> tuple[Call, Call]:
        return self.sqlite.call_for(ANA, seconds=_SECONDS), self.other.call_for(ANA, seconds=_SECONDS)


@pytest.fixture(scope="module", params=["log", "scripts", "no scripts"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """With a log, with an OpenSearch that takes scripted similarities, and with one that refuses them."""
    path: Path | None = request.config.getoption("--locomo", default=None)
    memories, questions = _made() if path is None else _real(path)
    embedder: Embedder = HashedWords(dimension=256)
    if path is not None:
        from steeltrap.embedders.static import StaticEmbedder

        embedder = StaticEmbedder()
    clock = SettableClock()
    folder = tmp_path_factory.mktemp("congruence")
    with ExitStack() as stack:
        stores: list[MemoryStore] = [SqliteStore(folder / "data", embedder, clock)]
        if request.param == "log":
            logs = FolderLogs(folder / "log")
            stores += [ReplicaStore(folder / machine, logs, embedder, clock) for machine in ("writes", "reads")]
        else:
            refusing, found = stack.enter_context(refusing_scripts()), stack.enter_context(parts())
            index = found.build(embedder, refusing.url) if request.param == "no scripts" else None
            stores.append(found.open(embedder, clock, window=timedelta(minutes=5), index=index))
        for store in stores:
            stack.callback(store.close)
        doors = [Door(catalogue=CATALOGUE, store=store, embedder=embedder, clock=clock) for store in stores]
        _fill(doors[:2], clock, memories, ANA)
        yield Pair(doors[0], doors[-1], questions)


def _made() -> tuple[list[Memory], list[str]]:
    corpus = Corpus()
    texts = list(corpus.texts(300))
    memories = [_memory(i, text, speaker="Ana" if i % 3 else "Ben", said=i % 5 == 0) for i, text in enumerate(texts)]
    return memories, corpus.questions(texts, 30)


def _real(path: Path) -> tuple[list[Memory], list[str]]:
    conversations = json.loads(path.read_text())
    turns = [
        (turn["speaker"], turn["text"])
        for conversation in conversations
        for name, session in conversation["conversation"].items()
        if name.startswith("session_") and isinstance(session, list)
        for turn in session
    ]
    questions = [str(asked["question"]) for conversation in conversations[:2] for asked in conversation["qa"]]
    memories = [
        _memory(i, f"{speaker}: {text}", speaker=speaker, said=i % 5 == 0)
        for i, (speaker, text) in enumerate(turns[:1000])
    ]
    return memories, questions[:200]


def _memory(at: int, text: str, *, speaker: str, said: bool) -> Memory:
    made = NOON + timedelta(minutes=at // _BLOCK)
    memory = Memory(
        id=str(UUID(int=at + 1, version=4)),
        content=text,
        created_at=made,
        updated_at=made,
        tags=("odd",) if at % 2 else ("even", speaker.lower()),
        scope=("user/default", "work/infra", "work")[at % 3],
        category="fact" if at % 4 == 0 else None,
        metadata={"part": at % 7},
        conversation_id=f"talk-{at // 50}",
        surprise=0.5,
    )
    if said:
        return replace(memory, source="conversation", messages=(Message(role="user", content=text, speaker=speaker),))
    return memory


def _fill(doors: Sequence[Door], clock: SettableClock, memories: Sequence[Memory], whose: Caller) -> None:
    for block in (memories[i : i + _BLOCK] for i in range(0, len(memories), _BLOCK)):
        for door in doors:
            call = door.call_for(whose, seconds=_SECONDS)
            vectors = embed_memories(call, block)
            changes = [Create(entry=entry(*one)) for one in zip(block, vectors, strict=True)]
            call.space.commit(changes)
        clock.advance(minutes=1)


def _found(call: Call, question: str, mode: Mode, **how: Any) -> list[Hit]:
    return search(call, Search(query=question, mode=mode, limit=10, **how)).hits


def _scores(hits: Sequence[Hit]) -> list[float]:
    return [hit.score for hit in hits]


def _settled(hits: Sequence[Hit]) -> list[str | None]:
    """The ids in order, None where a neighbour has the same score as far as single precision tells."""
    close = {id(hit) for pair in pairwise(hits) if pair[0].score - pair[1].score <= 2 * EXACT for hit in pair}
    return [None if id(hit) in close or hit is hits[-1] else hit.memory.id for hit in hits]


@pytest.mark.parametrize("mode", ["semantic", "keyword"])
def test_order_and_scores_are_the_same(pair: Pair, mode: Mode) -> None:
    sqlite, other = pair.calls()
    for question in pair.questions:
        expected, found = _found(sqlite, question, mode), _found(other, question, mode)
        assert _scores(found) == pytest.approx(_scores(expected), abs=EXACT), question
        assert _settled(found) == _settled(expected), question


@pytest.mark.parametrize("per_leg", [100, None])
def test_every_candidate_has_the_same_cosine_and_the_same_bm25(pair: Pair, per_leg: int | None) -> None:
    sqlite, other = pair.calls()
    for question in pair.questions[:: 1 if per_leg else 10]:
        [vector] = sqlite.embed([question], "query")
        query = Query(tokens=tuple(query_tokens(question)), embedding=vector, filter=Filter(), per_leg=per_leg)
        expected = {c.id: c for c in sqlite.space.search(query).candidates}
        found = {c.id: c for c in other.space.search(query).candidates}
        both = expected.keys() & found.keys()
        # Where a hundred are cut off, ties may fall on either side.
        assert len(both) >= (0.9 * len(expected) if per_leg else len(expected | found))
        for id in both:
            assert found[id].cosine == pytest.approx(expected[id].cosine, abs=EXACT)
            assert found[id].bm25 == pytest.approx(expected[id].bm25, abs=EXACT)


def test_of_a_query_of_many_words_the_same_are_looked_for(pair: Pair) -> None:
    sqlite, other = pair.calls()
    tokens = tuple(query_tokens(" ".join(pair.questions)))
    assert len(set(tokens)) > MOST_TERMS
    query = Query(tokens=tokens, embedding=None, filter=Filter(), per_leg=None)
    expected = {c.id: c.bm25 for c in sqlite.space.search(query).candidates}
    found = {c.id: c.bm25 for c in other.space.search(query).candidates}
    assert found == pytest.approx(expected, abs=EXACT)


# SQLite ranks all of them. What is said near a message, or elsewhere in its conversation, may lie beyond the 200 best
# of each leg that OpenSearch answers; so may what is drawn up beside the best of its messages.
@pytest.mark.parametrize(
    ("admitted", "least"), [(Filter(), 0.96), (Filter(include_turns=True), 0.91)], ids=["memories", "with turns"]
)
def test_the_best_ten_of_both_legs_overlap(pair: Pair, admitted: Filter, least: float) -> None:
    sqlite, other = pair.calls()
    shared = wanted = 0
    for question in pair.questions:
        expected = {hit.memory.id for hit in _found(sqlite, question, "hybrid", filter=admitted)}
        found = {hit.memory.id for hit in _found(other, question, "hybrid", filter=admitted)}
        shared += len(expected & found)
        wanted += len(expected)
    print(f"the best ten overlap by {shared / wanted:.2%}")
    assert shared >= least * wanted


_FILTERS = {
    "none": Filter(),
    "tag": Filter(tags=("odd",)),
    "two tags": Filter(tags=("even", "odd")),
    "scope": Filter(scope="work"),
    "scope and below": Filter(scope="work", include_child_scopes=True),
    "category": Filter(category="fact"),
    "conversation": Filter(conversation_id="talk-1"),
    "metadata": Filter(metadata={"part": 3}),
    "since": Filter(created_after=NOON + timedelta(minutes=8)),
    "nothing": Filter(tags=("neither",)),
}


@pytest.mark.parametrize("name", _FILTERS)
def test_filters_and_totals_are_equal(pair: Pair, name: str) -> None:
    sqlite, other = pair.calls()
    filter = _FILTERS[name]
    expected, found = (call.space.page(filter, limit=50) for call in (sqlite, other))
    assert (found.total, [m.id for m in found.memories]) == (expected.total, [m.id for m in expected.memories])
    for question in pair.questions[:10]:
        query = Query(tokens=tuple(query_tokens(question)), embedding=None, filter=filter, per_leg=100)
        mine, theirs = sqlite.space.search(query), other.space.search(query)
        assert (theirs.stored, theirs.admitted) == (mine.stored, mine.admitted)
        assert {c.id for c in theirs.candidates} == {c.id for c in mine.candidates}
        if filter != Filter():
            assert _scores(_found(other, question, "semantic", filter=filter)) == pytest.approx(
                _scores(_found(sqlite, question, "semantic", filter=filter)), abs=EXACT
            )


def test_scores_stay_when_another_user_writes(pair: Pair) -> None:
    _, other = pair.calls()

    def scores() -> list[Any]:
        return [
            [(hit.memory.id, hit.score, hit.bm25) for hit in _found(other, q, "hybrid")] for q in pair.questions[:10]
        ]

    before = scores()
    clock = other.clock
    assert isinstance(clock, SettableClock)
    memories = [_memory(10_000 + i, f"{q} {q}", speaker="Ana", said=False) for i, q in enumerate(pair.questions[:40])]
    call = pair.other.call_for(BEN, seconds=_SECONDS)
    changes = [Create(entry=entry(*one)) for one in zip(memories, embed_memories(call, memories), strict=True)]
    for start in range(0, len(changes), _BLOCK):
        call.space.commit(changes[start : start + _BLOCK])
    assert scores() == before
