"""Every tool at the limits of its input. A test says which tool has no entry."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from .target import Attack, Target
from .texts import HARD, hard, within

_TAGS: Final = [f"{i} {'x' * 120}" for i in range(64)]
_METADATA: Final = {f"key {i}": "v" * 100 for i in range(120)}
_MANY: Final = {"content": HARD["words"], "tags": _TAGS, "metadata": _METADATA}
_SAID: Final = [{"role": "user", "content": hard(i)[:8000]} for i in range(300)]

Arguments = dict[str, Any]
Given = Callable[[Target], Sequence[Arguments]]
"""The arguments of a tool's calls, one after the other."""


def _texts(**rest: Any) -> Given:
    """One call with each of the hard texts as `content`."""
    return lambda target: [{"content": text, **rest} for text in HARD.values()]


def _queries(most: int = 8192, **rest: Any) -> Given:
    return lambda target: [{"query": within(text, most), **rest} for text in HARD.values()]


def _changes(**rest: Any) -> Given:
    return lambda target: [
        {"content": text, **rest, **_of(id, rest)} for text, id in zip(HARD.values(), target.ids, strict=False)
    ]


def _of(id: str, rest: Arguments) -> Arguments:
    return {rest["of"]: id, "of": None} if "of" in rest else {"id": id}


def _one(name: str = "id", **rest: Any) -> Given:
    """One call for each of the largest memories: of 32 KiB, of an episode, of 20 versions."""
    return lambda target: [{name: id, **rest} for id in (*target.ids[:17], *target.ids[-2:])]


def _all(name: str = "ids", most: int = 1000, **rest: Any) -> Given:
    return lambda target: [{name: target.ids[:most], **rest}]


def _once(**arguments: Any) -> Given:
    return lambda target: [arguments]


def _items(name: str, **rest: Any) -> Given:
    return lambda target: [
        {name: [{"content": hard(i), **rest} for i in range(start, start + 90)]} for start in (0, 90)
    ]


def _updates(target: Target) -> Sequence[Arguments]:
    return [{"updates": [{"id": id, "content": hard(i)} for i, id in enumerate(target.ids[:50])]}]


_IMPORT: Final = "0195f3c4-7a58-4f43-b4ac-0b0f0e7d2f11"

GIVEN: Final[dict[str, Given]] = {
    "agent.remember": _texts(),
    "agent.recall": _queries(max_tokens=20_000),
    "agent.recent_memories": lambda target: [{"limit": 100, "offset": offset} for offset in range(0, 1000, 100)],
    "agent.revise_memory": _changes(),
    "agent.forget_memory": _one(),
    "agent.undo_memory_change": _one(),
    "core.associate": lambda target: [{"id": target.ids[0], "target_id": id} for id in target.ids[1:100]],
    "core.associations": _one(limit=100, discover=True, threshold=0),
    "core.save": lambda target: (
        [{**_MANY, "content": text} for text in HARD.values()] + [{"content": "An episode", "messages": _within(_SAID)}]
    ),
    "core.batch_save": _items("items"),
    "core.put": lambda target: [
        {"items": [{"id": id, "content": hard(i), "tags": _TAGS} for i, id in enumerate(target.ids[:50])]}
    ],
    "core.update": _changes(tags=_TAGS, metadata=_METADATA),
    "core.batch_update": _updates,
    "core.consolidate": lambda target: [{"ids": target.ids[34:84]}, {"ids": target.ids[:3]}, {"ids": target.ids[:50]}],
    "core.move": _all(scope="a/b/c"),
    "core.append_messages": lambda target: [{"messages": _SAID, "conversation_id": "long", "ended": True}],
    "core.delete": _all(),
    "core.undo": _one(),
    "core.forget": _one(),
    "core.search": lambda target: [
        {"query": within(text, 8192), "limit": 1000, "offset": 0, **rest}
        for text in HARD.values()
        for rest in ({}, {"diversity_threshold": 0, "why": True, "include_conversation": True})
    ],
    "core.get": _one(),
    "core.list": _once(limit=1000),
    "core.history": _one(limit=1000),
    "core.stats": _once(),
    "core.retrieve_memory": _queries(limit=100, detail_limit=100),
    "core.review": _one(grade="easy"),
    "core.simulate_decay": _one(at="9999-12-31T00:00:00Z"),
    "core.list_scopes": _once(),
    "core.suggest_scope": _texts(),
    "core.create_session": lambda target: [{"session_id": f"session-{i}"} for i in range(50)],
    "core.list_sessions": _once(),
    "core.cleanup_sessions": _once(max_age_days=0),
    "core.score": _one(),
    "core.set_score": _one(score=1, reason="x" * 4096),
    "core.export": lambda target: [{"limit": 1000, "after": after} for after in (None, target.ids[10])],
    "core.import": lambda target: [
        {"records": [{**r, "id": r["id"][:-4] + f"{n:04x}"} for r in _large(target)], "import_id": _IMPORT}
        for n in (1, 2)
    ],
    "core.list_imports": _once(limit=1000),
    "core.undo_import": _once(id=_IMPORT),
    "notes.memory_search": _queries(top_k=1000),
    "notes.memory_save": _texts(),
    "notes.memory_update": _changes(of="note_id"),
    "notes.memory_delete": _one("note_id"),
    "categories.store_memory": _texts(category="fact", context=HARD["ideographs"][:4096]),
    "categories.search_memories": _queries(limit=20),
    "categories.list_memories": _once(category="fact", limit=50),
    "records.memory_store": _texts(tags=_TAGS, metadata=_METADATA),
    "records.memory_update": _changes(tags=_TAGS, metadata=_METADATA),
    "records.memory_delete": _all(),
    "records.memory_consolidate": _all("memory_ids", 50),
    "records.memory_batch_store": _items("items"),
    "records.memory_batch_update": _updates,
    "records.memory_search": _queries(top_k=1000, search_mode="hybrid", sort_by="importance"),
    "records.memory_get": _one(),
    "records.memory_list": _once(limit=1000),
    "records.memory_get_score": _one(),
    "records.memory_set_score": _one(score=1, reason="x" * 4096),
    "associative.memory_discover_associations": _one("memory_id", limit=100, threshold=0, response_level="full"),
    "associative.memory_list_all": _once(per_page=100, response_level="full"),
    "associative.memory_manage": _one("memory_id", operation="get", response_level="full"),
    "associative.memory_move": _all("memory_ids", target_scope="a/b/c", response_level="full"),
    "associative.scope_list": _once(response_level="full", include_memory_counts=True),
    "associative.scope_suggest": _texts(response_level="full"),
    "associative.memory_search": _queries(
        limit=100, mode="diversified", response_level="full", expansion_factor=10, max_expansion_factor=20
    ),
    "associative.session_manage": _once(action="cleanup", max_age_days=0, response_level="full"),
    "associative.memory_store": _texts(tags=_TAGS, metadata=_METADATA, response_level="full"),
    "associative.memory_sync": lambda target: [
        {"operation": operation, "file_path": "all.json", "response_level": "full"}
        for operation in ("export", "import")
    ],
    "episodic.retrieve_memory": _queries(limit=100, detail_limit=100),
    "episodic.retrieve_memory_raw": _queries(limit=100, detail_limit=100),
    "files.memory": lambda target: [
        {"command": "create", "path": f"/memories/hard/{i}.txt", "file_text": (text * 100)[:32_000]}
        for i, text in enumerate(HARD.values())
    ],
    "episodic.add_message": lambda target: [
        {"message": {"role": "user", "content": text * 100}, "conversation_id": "long"} for text in HARD.values()
    ],
}


def _within(messages: list[Arguments]) -> list[Arguments]:
    return messages[:15]


def _large(target: Target) -> list[Arguments]:
    return [{**record, "content": hard(i)} for i, record in enumerate(target.records[:500])]


def _call(tool: str, make_arguments: Given) -> Callable[[Target], None]:
    def run(target: Target) -> None:
        for arguments in make_arguments(target):
            target.call(tool, **{name: value for name, value in arguments.items() if value is not None})

    return run


TOOLS: Final = [Attack(tool, _call(tool, make_arguments)) for tool, make_arguments in GIVEN.items()]
MCP: Final = [
    Attack(
        f"MCP {tool}",
        lambda target, tool=tool: [  # type: ignore[misc]
            target.mcp(tool, **{name: value for name, value in arguments.items() if value is not None})
            for arguments in GIVEN[tool](target)
        ],
    )
    for tool in ("agent.recall", "agent.recent_memories", "core.search", "core.batch_save", "core.list", "core.export")
]
