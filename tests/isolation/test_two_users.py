"""Two users, one of them hostile: whatever she sends, she is answered as if the other did not exist.

Eve has the same memories in two worlds; in one of them Ana is there too. Every tool, with whatever
arguments, must answer Eve alike in both: then nothing of Ana's (texts, ids, tags, scopes, counts, scores,
sizes) reaches her by any way.
"""

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clock import SettableClock
from embedding import HashedWords
from steeltrap.engine import exporting, saving
from steeltrap.invoke import Door, Result
from steeltrap.model import Caller, JsonObject, UserRef
from steeltrap.stores.files.folder import FolderFiles
from steeltrap.tools import Tool
from steeltrap.toolsets import CATALOGUE
from stores import Opening, chosen

# The same agent and conversation: only the user tells them apart.
ANA = Caller(UserRef("ana"), agent_id="agent", conversation_id="zqtalk")
EVE = Caller(UserRef("eve"), agent_id="agent", conversation_id="zqtalk")

# Real parts answer a hundred times as slowly; SQLite's run has met the rest. `make check` asks for fewer.
_EXAMPLES = min(25 if chosen() == "sqlite" else 5, settings.default.max_examples)
SECRETS = ["zqheron", "zqotter"]
UNKNOWN = "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"


@dataclass
class World:
    """A door, and ids that are the same in every world: `next_id` numbers the memory that comes next."""

    folder: Path
    open_store: Opening
    with_ana: bool
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(10**6))

    def __post_init__(self) -> None:
        embedder, clock = HashedWords(), SettableClock()
        clock.stand()  # a call that a busy machine cuts short in one world alone would tell them apart
        self.store = self.open_store(self.folder, embedder, clock)
        files = FolderFiles(self.folder)
        self.door = Door(catalogue=CATALOGUE, store=self.store, embedder=embedder, clock=clock, files=files)

    def fill(self, tool: str, arguments: JsonObject, caller: Caller = EVE) -> Any:
        """The answer of a call that must succeed: in a world that lacks something Eve would see that."""
        result = self.invoke(tool, arguments, caller)
        assert result.error is None, result.error
        assert result.outcome is None or result.outcome.kind != "degraded", result.outcome
        return result.body

    def invoke(self, tool: Tool | str, arguments: object, caller: Caller = EVE) -> Result:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(saving, "uuid4", lambda: UUID(int=next(self.numbers), version=4))
            patch.setattr(exporting, "token_hex", lambda size: f"{next(self.numbers):0{2 * size}x}")
            return self.door.invoke(tool, arguments, caller)


def _fill(world: World) -> list[str]:
    """Eve's memories, and Ana's where she is; Ana's ids."""
    own = [{"content": f"Eve keeps otter {i} by the pond", "tags": ["mine"], "scope": "pond"} for i in range(6)]
    for memory in own[:3]:
        world.fill("core.save", memory)
    world.fill("core.batch_save", {"items": own[3:]})
    world.fill("core.append_messages", {"messages": [{"role": "user", "content": "Eve said heron"}]})
    if not world.with_ana:
        return []
    numbers, world.numbers = world.numbers, itertools.count(1)
    memories = [
        {
            "content": f"zqheron fishes zqotter at dawn {i}",
            "tags": ["zqtag", f"zq{i}"],
            "scope": "zqscope/deep",
            "metadata": {"zqkey": "zqvalue"},
            "category": "zqcategory",
            "agent_label": "zqlabel",
            "conversation_id": "zqtalk",
            "context": "zqcontext",
        }
        for i in range(12)
    ]
    ids = [world.fill("core.save", memory, ANA)["id"] for memory in memories[:4]]
    ids += world.fill("core.batch_save", {"items": memories[4:]}, ANA)["ids"]
    world.fill("core.update", {"id": ids[0], "content": "zqheron sleeps"}, ANA)
    world.fill("core.delete", {"id": ids[1]}, ANA)
    world.fill("core.associate", {"id": ids[2], "target_id": ids[3]}, ANA)
    said = {"messages": [{"role": "user", "content": "zqheron was said", "speaker": "zqana"}]}
    ids += world.fill("core.append_messages", said, ANA)["ids"]
    world.numbers = numbers
    return ids


Worlds = tuple[World, World, list[str]]


@contextmanager
def _worlds(folder: Path, open_store: Opening) -> Iterator[Worlds]:
    there = World(folder / "there", open_store, with_ana=True)
    alone = World(folder / "alone", open_store, with_ana=False)
    ids = _fill(there)
    _fill(alone)
    yield there, alone, ids
    there.store.close()
    alone.store.close()


@pytest.fixture
def worlds(tmp_path: Path, open_store: Opening) -> Iterator[Worlds]:
    """A world with Ana and Eve, one with Eve alone, and Ana's ids."""
    with _worlds(tmp_path, open_store) as worlds:
        yield worlds


def _kept(*_: object, **__: object) -> Literal["function", "module"]:
    """Real parts take seconds to fill a world."""
    return "module" if chosen() == "aws" else "function"


@pytest.fixture(scope=_kept)
def kept_worlds(tmp_path_factory: pytest.TempPathFactory, open_store: Opening) -> Iterator[Worlds]:
    """Worlds in which Eve may have read before, the same in both."""
    with _worlds(tmp_path_factory.mktemp("worlds"), open_store) as worlds:
        yield worlds


@pytest.fixture(scope=_kept)
def kept_world(tmp_path_factory: pytest.TempPathFactory, open_store: Opening) -> Iterator[tuple[World, list[str]]]:
    """A world with Ana and Eve in which Eve may have asked before, and Ana's ids."""
    world = World(tmp_path_factory.mktemp("world"), open_store, with_ana=True)
    yield world, _fill(world)
    world.store.close()


# What Eve sends


def _poison(ids: list[str]) -> st.SearchStrategy[str]:
    known = [form for id in (*ids[:4], ids[-1], UNKNOWN) for form in (id, f"note-{id}", id.upper())]
    own = str(UUID(int=10**6, version=4))
    terms = [
        *SECRETS,
        "zqheron zqotter dawn",
        "otter pond",
        "zqtag",
        "mine",
        "zqscope",
        "zqscope/deep",
        "pond",
        "zqtalk",
    ]
    syntax = [
        '"',
        "*",
        "zq*",
        'NEAR("zqheron" "dawn")',
        "zqheron OR otter",
        "-zqheron",
        "content:zqheron",
        "%",
        "_",
        "zq%",
    ]
    odd = ["ana", "../ana", "' OR 1=1 --", "2026-01-01T12:00:00Z", "", " ", "\u0000", "🫖", "x" * 600]
    return st.sampled_from([own, *known, *terms, *syntax, *odd])


def _values(schema: JsonObject, poison: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Arguments that mostly fit a schema, made of what Eve has heard."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "integer":
            low, high = schema.get("minimum", 0), schema.get("maximum", 50)
            return st.sampled_from(sorted({low, min(high, low + 1), min(high, 20), high if high < 1001 else 1000}))
        case "number":
            return st.sampled_from([schema.get("minimum", 0), 0.5, schema.get("maximum", 1)])
        case "boolean":
            return st.booleans()
        case "string" if schema.get("format") == "date-time":
            return st.sampled_from(["2025-01-01T00:00:00Z", "2026-01-01T12:00:00Z", "2027-01-01T00:00:00Z"])
        case "string":
            return poison
        case "array":
            return st.lists(_values(schema.get("items", {}), poison), min_size=1, max_size=3)
        case "object" if schema.get("properties"):
            return _objects(schema, poison)
    return st.dictionaries(st.sampled_from(["zqkey", "k", "id", "content"]), poison, max_size=2)


def _objects(schema: JsonObject, poison: st.SearchStrategy[str]) -> st.SearchStrategy[JsonObject]:
    fields = {name: _values(below, poison) for name, below in schema.get("properties", {}).items()}
    required = {name: values for name, values in fields.items() if name in schema.get("required", ())}
    optional = {name: values for name, values in fields.items() if name not in required}
    few = st.lists(st.sampled_from(sorted(optional)), unique=True, max_size=3) if optional else st.just([])
    return few.flatmap(lambda names: st.fixed_dictionaries({**required, **{name: optional[name] for name in names}}))


def _records(poison: st.SearchStrategy[str]) -> st.SearchStrategy[JsonObject]:
    record = {"id": poison, "content": poison, "created_at": st.just("2026-01-01T12:00:00Z")}
    whole = st.fixed_dictionaries({**record, "updated_at": record["created_at"], "scope": st.just("pond")})
    return st.lists(whole, min_size=1, max_size=2).map(lambda records: {"records": records})


def _seen(result: Result) -> str:
    """All that a client can see of an answer."""
    outcome = result.outcome
    error = result.error and (result.error.code, result.error.message, result.error.details)
    return json.dumps(
        [result.body, outcome and [outcome.kind, outcome.message, outcome.best_score], error], default=str
    )


@pytest.mark.usefixtures("open_store")  # which it asks for by name: pytest doesn't see it
@pytest.mark.parametrize("tool", CATALOGUE.tools(), ids=lambda tool: tool.full_name)
def test_whatever_eve_sends_she_is_answered_as_if_ana_did_not_exist(request: pytest.FixtureRequest, tool: Tool) -> None:
    there, alone, ids = request.getfixturevalue("kept_worlds" if tool.access == "read" else "worlds")
    poison = _poison(ids)
    arguments = _records(poison) if tool.full_name == "core.import" else _objects(tool.input_schema, poison)
    before = _seen(there.invoke("core.export", {"limit": 1000}, ANA))

    @given(arguments)
    @settings(max_examples=_EXAMPLES)
    def answers_alike(given_: JsonObject) -> None:
        answered = there.invoke(tool, given_)
        assert _seen(answered) == _seen(alone.invoke(tool, given_))
        assert answered.error is None or answered.error.code != "internal"

    answers_alike()
    assert _seen(there.invoke("core.stats", {})) == _seen(alone.invoke("core.stats", {}))
    assert _seen(there.invoke("core.export", {"limit": 1000}, ANA)) == before


_BY_ID = [
    (tool, name)
    for tool in CATALOGUE.tools()
    for name in tool.input_schema.get("properties", {})
    if name in ("id", "note_id", "target_id", "memory_id", "ids", "memory_ids", "updates", "after")
]


@pytest.mark.parametrize(("tool", "name"), _BY_ID, ids=lambda part: getattr(part, "full_name", part))
def test_anothers_id_is_answered_exactly_as_an_unknown_one(
    kept_world: tuple[World, list[str]], tool: Tool, name: str
) -> None:
    world, ids = kept_world
    own = str(UUID(int=10**6, version=4))
    for id in (ids[0], ids[1], ids[-1]):  # one that is there, one that is deleted, one of a turn
        for form in ("{}", "note-{}"):
            answers = []
            for asked in (id, UNKNOWN):
                given_ = dict(tool.examples[0])
                for key in given_:
                    if key in ("id", "target_id"):
                        given_[key] = own
                asked_for = form.format(asked)
                many = {
                    "ids": [own, asked_for],
                    "memory_ids": [own, asked_for],
                    "updates": [{"id": asked_for, "content": "x"}],
                }
                given_[name] = many.get(name, asked_for)
                if tool.operation == "delete":
                    given_ = {name: [asked_for] if name == "ids" else asked_for}
                answers.append(_seen(world.invoke(tool, given_)).replace(asked, "<id>"))
            assert answers[0] == answers[1]


def test_scores_do_not_move_when_another_writes(worlds: Worlds) -> None:
    world, _, _ = worlds
    asked = {"query": "otter pond dawn", "why": True, "include_conversation": True}
    before = _seen(world.invoke("core.search", asked))
    assert "bm25" in before
    for i in range(30):
        world.invoke("core.save", {"content": f"otter pond dawn {i}", "scope": "pond"}, ANA)
    assert _seen(world.invoke("core.search", asked)) == before


def test_one_idempotency_key_of_two_users_is_two_memories(worlds: Worlds) -> None:
    world, _, _ = worlds
    saved = [
        world.door.invoke("core.save", {"content": "the same"}, caller, idempotency_key="key").body["id"]
        for caller in (ANA, EVE, ANA, Caller(UserRef("ana", "other")))
    ]
    assert saved[0] == saved[2]
    assert len(set(saved)) == 3


@pytest.mark.parametrize(
    "caller",
    [None, Caller(UserRef("")), Caller(UserRef("x" * 3000)), Caller(UserRef("a\x00b")), Caller(UserRef("\ud83d"))],
)
def test_without_a_usable_identity_nothing_is_answered(
    kept_world: tuple[World, list[str]], caller: Caller | None
) -> None:
    world, _ = kept_world
    for tool in CATALOGUE.tools():
        error = world.door.invoke(tool, dict(tool.examples[0]), caller).error
        assert error is not None
        assert error.code in ("identity_missing", "invalid_input")
    assert len(list(world.store.users())) == 2


@pytest.mark.parametrize("name", ["ana/", "../ana", "ANA", "ana\n", "ana'--", "%", "an_", "🫖" * 200, ".", "x" * 1000])
def test_users_with_odd_names_have_nothing_in_common_with_ana(worlds: Worlds, name: str) -> None:
    world, _, _ = worlds
    odd = Caller(UserRef(name), agent_id="agent", conversation_id="zqtalk")
    asked = {"query": "zqheron", "include_conversation": True}
    assert world.invoke("core.search", asked, odd).body["outcome"]["kind"] == "nothing_stored"
    world.invoke("core.save", {"content": "otter"}, odd)
    assert world.invoke("core.stats", {}, odd).body["memories"] == 1
