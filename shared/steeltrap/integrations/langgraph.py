"""LangGraph and deepagents: a `BaseStore` whose items are memories.

    namespace ("users", "ana")  ->  scope langgraph/users/ana     key  ->  a UUID of namespace and key
    value {"text": "..."}       ->  metadata, and its text as the memory's content

So an item is found by meaning and by words, has a history, and is seen by every other toolset. LangGraph has no word
for undo: a deleted item can be brought back by `core.undo`.
"""

import asyncio
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha1
from itertools import islice
from operator import ge, gt, le, lt
from typing import Any, Final, cast
from uuid import UUID

from ..installation import install_line
from . import answered

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        validate_op_namespace,
    )
except ImportError as error:
    raise ImportError(f"This needs LangGraph's interface: run `{install_line('langgraph')}`.") from error

from ..client import Client
from ..errors import AccessDenied, InvalidInput, MemoryNotFound, TooLarge
from ..text.json_limits import check_json

_to_json: Final = json.JSONEncoder(ensure_ascii=False).encode
_to_strict_json: Final = json.JSONEncoder(allow_nan=False).encode

ROOT: Final = "langgraph"
"""The scope below which items are."""
_IDS: Final = UUID("6d3c1c0e-3a53-5d0a-9d0c-6a0f6a1f3b6e")
_LEVELS: Final = 8
"""Labels that get a level of their own; a scope has ten. Further ones share the last."""
_SCOPE_CHARACTERS: Final = 512
_METADATA_BYTES: Final = 15 * 1024
_CONTENT_BYTES: Final = 32 * 1024
_FILTERED_CHARACTERS: Final = 128
_PUTS: Final = 50
_DELETES: Final = 1000
_PAGE: Final = 1000
_SEARCHED: Final = 2000
"""Results that one search can reach."""
_RENEWED: Final = 0.05
"""The part of its time to live that an item loses before a read renews it: not every read is to write."""

Key = tuple[tuple[str, ...], str]
Namespace = tuple[str, ...]


class SteeltrapStore(BaseStore):
    """A LangGraph store over a client, for one user. Safe for many threads and event loops.

        store = SteeltrapStore(connect("http://127.0.0.1:8765"))
        graph = builder.compile(store=store)

    `fields` are the paths of the values' texts that searches look at, all texts by default. `ttl` is LangGraph's
    configuration: minutes after the last access, by default never. The client stays the caller's to close.
    """

    supports_ttl = True

    def __init__(
        self,
        client: Client,
        *,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__()
        self._client = client
        self._fields = None if fields is None else tuple(fields)
        self._now = now
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The results in the order of the operations. All reads come before the writes, as in LangGraph's own stores;
        of several writes of one key the last one counts. Raises SteeltrapError."""
        results: list[Result] = []
        puts: dict[Key, PutOp] = {}
        for op in ops:
            validate_op_namespace(op)
            match op:
                case GetOp():
                    results.append(self._get(op))
                case SearchOp():
                    results.append(self._search(op))
                case ListNamespacesOp():
                    results.append(self._list_namespaces(op))
                case PutOp():
                    puts[tuple(op.namespace), op.key] = op
                    results.append(None)
                case _:
                    raise ValueError(f"Unknown operation: {type(op).__name__}")
        self._put([op for op in puts.values() if op.value is not None])
        self._delete([op for op in puts.values() if op.value is None])
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same in a thread, so that the event loop goes on."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _get(self, op: GetOp) -> Item | None:
        try:
            memory = self._client.core.get(id=item_id(op.namespace, op.key))
        except MemoryNotFound:
            return None
        item = item_of(cast("dict[str, Any]", memory))
        if item is not None and op.refresh_ttl:
            self._renew(cast("dict[str, Any]", memory))
        return item

    def _renew(self, memory: dict[str, Any]) -> None:
        """Let the time to live of an item begin again."""
        minutes = memory["metadata"].get("ttl")
        if minutes is None or "expires_at" not in memory:
            return
        ttl = timedelta(minutes=minutes)
        if datetime.fromisoformat(memory["expires_at"]) - self._now() > ttl * (1 - _RENEWED):
            return
        try:
            self._client.core.update(id=memory["id"], ttl_seconds=_seconds(minutes))
        except (MemoryNotFound, AccessDenied):
            return  # it has just gone, or the caller may only read

    def _search(self, op: SearchOp) -> list[SearchItem]:
        if op.limit < 0 or op.offset < 0:
            raise InvalidInput("`limit` and `offset` must be 0 or more.")
        if op.query and op.offset + op.limit > _SEARCHED:
            raise InvalidInput(f"A search by `query` reaches {_SEARCHED:,} items; ask for fewer, or leave `query` out.")
        candidates = ((memory, item) for memory in self._candidates(op) if (item := item_of(memory)) is not None)
        matches = ((memory, item) for memory, item in candidates if _is_match(op, memory, item))
        chosen = list(islice(matches, op.offset, op.offset + op.limit))
        for memory, _ in chosen if op.refresh_ttl else ():
            self._renew(memory)
        return [item for _, item in chosen]

    def _candidates(self, op: SearchOp) -> Iterator[dict[str, Any]]:
        """Memories below the namespace, best or newest first, page by page."""
        at, size = 0, max(1, min(op.limit + op.offset, _PAGE))
        where: dict[str, Any] = {"scope": scope_of(op.namespace_prefix[:_LEVELS])}
        if op.filter:
            where["metadata"] = _pushed(op.filter)
        while True:
            page: Sequence[Mapping[str, Any]]
            if op.query:
                size = min(size, _SEARCHED - at)
                answer = self._client.call("core.search", query=op.query, limit=size, offset=at, **where)
                # A later page may be empty because there are no more.
                page = answer["results"] if at else answered(answer)
            else:
                page = self._client.call("core.list", limit=size, offset=at, **where)["memories"]
            yield from cast("Sequence[dict[str, Any]]", page)
            at += len(page)
            if len(page) < size or (op.query and at > _PAGE):
                return
            size = _PAGE

    def _list_namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        scopes = self._client.core.list_scopes(parent=ROOT)["scopes"]
        every = (namespace_of(use["scope"]) for use in scopes)
        conditions = op.match_conditions or ()
        kept = {each[: op.max_depth] for each in every if each and all(_is_like(how, each) for how in conditions)}
        return sorted(kept)[op.offset : op.offset + op.limit]

    def _put(self, ops: Sequence[PutOp]) -> None:
        items = [record_of(op, self._fields) for op in ops]
        for start in range(0, len(items), _PUTS):
            self._client.call("core.put", items=items[start : start + _PUTS])

    def _delete(self, ops: Sequence[PutOp]) -> None:
        ids = [item_id(op.namespace, op.key) for op in ops]
        for start in range(0, len(ids), _DELETES):
            self._client.core.delete(ids=ids[start : start + _DELETES])


def item_id(namespace: Namespace, key: str) -> str:
    """The memory's id: always the same one for a namespace and a key."""
    return _id_of(tuple(namespace), key)


@lru_cache(4096)
def _id_of(namespace: Namespace, key: str) -> str:
    try:
        # As uuid.uuid5, in a fifth of its time: each hit of a search is checked.
        digest = sha1(_id_start(namespace) + f"{len(key)}:{key}".encode(), usedforsecurity=False).hexdigest()
    except UnicodeEncodeError:
        raise InvalidInput("A key must be whole Unicode text.") from None
    variant = "89ab"[int(digest[16], 16) % 4]
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"


@lru_cache(1024)
def _id_start(namespace: Namespace) -> bytes:
    return _IDS.bytes + "".join(f"{len(part)}:{part}" for part in namespace).encode()


_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_]+")
_TOKEN: Final = re.compile(r"-([0-9a-f]++)-|([A-Za-z0-9_]++)")
_NEXT: Final = "-0-"
"""Between the labels that share a level: no text is half a byte long."""


def scope_of(namespace: Namespace) -> str:
    """The scope of a namespace; other characters than letters, digits and `_` are written in hexadecimal.

    Labels after the eighth share one level. Raises InvalidInput for a namespace that is too long.
    """
    labels = [_UNSAFE.sub(_escaped, label) for label in namespace]
    levels = labels[:_LEVELS] + ([_NEXT.join(labels[_LEVELS:])] if len(labels) > _LEVELS else [])
    scope = "/".join((ROOT, *levels))
    if len(scope) > _SCOPE_CHARACTERS:
        raise InvalidInput(
            f"A namespace has at most {_SCOPE_CHARACTERS} characters, and other characters than letters and digits of "
            "English count several times; use shorter labels."
        )
    return scope


def _escaped(match: re.Match[str]) -> str:
    try:
        return f"-{match[0].encode().hex()}-"
    except UnicodeEncodeError:
        raise InvalidInput("A label of a namespace must be whole Unicode text.") from None


@lru_cache(1024)
def namespace_of(scope: str) -> Namespace | None:
    """The namespace of a scope, None for a scope that isn't a namespace's."""
    root, _, path = scope.partition("/")
    if root != ROOT or not path:
        return None
    labels: list[str] = []
    for level in path.split("/"):
        labels.append("")
        at = 0
        while at < len(level):
            if (token := _TOKEN.match(level, at)) is None:
                return None
            at = token.end()
            if token[0] == _NEXT:
                labels.append("")
                continue
            try:
                labels[-1] += token[2] or bytes.fromhex(token[1]).decode()
            except ValueError:
                return None
    return tuple(labels)


def record_of(op: PutOp, fields: Sequence[str] | None) -> dict[str, Any]:
    """The memory of an item, as `core.put` takes it. Raises InvalidInput, TooLarge."""
    value = _as_json(op)
    texts = _texts(value, fields if op.index is None else op.index)
    metadata: dict[str, Any] = {f"value.{name}": text for name, text in value.items() if _is_filtered(name, text)}
    metadata["key"] = op.key
    if op.ttl is not None:
        metadata["ttl"] = op.ttl
    if not texts:
        metadata["index"] = False
    text = "\n".join(texts)
    whole = "" if text else _to_json(value)
    record: dict[str, Any] = {
        "id": item_id(op.namespace, op.key),
        "scope": scope_of(op.namespace),
        "content": _clipped(text or whole),
        "metadata": {**metadata, "value": value},
        **({} if op.ttl is None else {"ttl_seconds": _seconds(op.ttl)}),
    }
    if len(_to_json(record["metadata"]).encode()) > _METADATA_BYTES:
        # A large value is its own text.
        whole = whole or _to_json(value)
        record |= {"content": whole, "content_type": "json", "metadata": metadata}
        if (size := len(whole.encode())) > _CONTENT_BYTES:
            raise TooLarge(
                f"The value of {op.key!r} has {size:,} bytes as JSON; at most {_CONTENT_BYTES:,} fit. Split it."
            )
    return record


def item_of(memory: dict[str, Any]) -> SearchItem | None:
    """The item of a memory, None for one that no put stored."""
    metadata = memory.get("metadata", {})
    namespace, key = namespace_of(memory["scope"]), metadata.get("key")
    if namespace is None or not isinstance(key, str) or item_id(namespace, key) != memory["id"]:
        return None
    return SearchItem(
        namespace=namespace,
        key=key,
        value=_value_of(memory),
        created_at=datetime.fromisoformat(memory["created_at"]),
        updated_at=datetime.fromisoformat(memory["updated_at"]),
        score=memory.get("score"),
    )


def _value_of(memory: dict[str, Any]) -> dict[str, Any]:
    value = memory["metadata"].get("value")
    return cast("dict[str, Any]", json.loads(memory["content"]) if value is None else value)


def _as_json(op: PutOp) -> dict[str, Any]:
    if not isinstance(op.value, Mapping):
        raise InvalidInput(f"The value of {op.key!r} must be a dictionary.")
    try:
        value: dict[str, Any] = json.loads(_to_strict_json(dict(op.value)))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"The value of {op.key!r} is no JSON ({error}); store plain values.") from None
    try:
        check_json(value)
    except InvalidInput as error:
        raise InvalidInput(f"The value of {op.key!r} can't be stored: {error.message}") from None
    return value


def _texts(value: dict[str, Any], index: Sequence[str] | bool | None) -> list[str]:
    """The texts that searches look at; none for an item that only its key finds."""
    if index is False:
        return []
    if index is None or index is True:
        return list(_leaves(value))
    texts = [text for path in index for text in (_leaves(value) if path == "$" else get_text_at_path(value, path))]
    return [text for text in texts if text.strip()]


def _leaves(value: Any, name: str = "") -> Iterator[str]:
    """The texts and numbers of a value, each after the name of its field; a single text is itself."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, "" if not name and len(value) == 1 else key)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, name)
    elif value is not None and str(value).strip():
        yield f"{name}: {value}" if name else str(value)


def _clipped(text: str) -> str:
    return text.encode()[:_CONTENT_BYTES].decode(errors="ignore")


def _seconds(minutes: float) -> int:
    if not (math.isfinite(minutes) and minutes >= 0):
        raise InvalidInput("`ttl` must be 0 or more minutes.")
    return math.ceil(minutes * 60)


def _is_filtered(name: str, text: Any) -> bool:
    if not isinstance(text, str) or "." in name:
        return False
    return all(each.isprintable() and 0 < len(each) <= _FILTERED_CHARACTERS for each in (name, text))


def _pushed(filter: Mapping[str, Any]) -> dict[str, str]:
    """The conditions that the server can check; all are checked here again."""
    pushed: dict[str, str] = {}
    for name, wanted in filter.items():
        text = wanted.get("$eq") if isinstance(wanted, dict) and "$eq" in wanted else wanted
        if _is_filtered(name, text):
            pushed[f"value.{name}"] = cast("str", text)
    return pushed


def _is_match(op: SearchOp, memory: dict[str, Any], item: Item) -> bool:
    if item.namespace[: len(op.namespace_prefix)] != tuple(op.namespace_prefix):
        return False
    if op.query and memory["metadata"].get("index") is False:
        return False
    return not op.filter or all(_is_equal(_field(item.value, name), wanted) for name, wanted in op.filter.items())


def _field(value: Mapping[str, Any], name: str) -> Any:
    """A field by its name, or by its path with dots, as LangGraph's SqliteStore takes it."""
    if name in value:
        return value[name]
    first, dot, rest = name.partition(".")
    inner = value.get(first)
    return _field(inner, rest) if dot and isinstance(inner, dict) else None


_ORDERED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


def _is_equal(value: Any, wanted: Any) -> bool:
    """Whether a field meets a condition, as LangGraph's own stores decide it."""
    if isinstance(wanted, dict):
        if any(name.startswith("$") for name in wanted):
            return all(_meets(value, operator, other) for operator, other in wanted.items())
        return isinstance(value, dict) and all(_is_equal(value.get(name), each) for name, each in wanted.items())
    if isinstance(wanted, list | tuple):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(_is_equal, value, wanted))
    return type(value) is type(wanted) and value == wanted if isinstance(wanted, bool) else bool(value == wanted)


def _meets(value: Any, operator: str, other: Any) -> bool:
    if operator == "$eq":
        return _is_equal(value, other)
    if operator == "$ne":
        return not _is_equal(value, other)
    if operator not in _ORDERED:
        raise InvalidInput(f"No operator {operator!r}; there are: $eq, $ne, {', '.join(_ORDERED)}.")
    if isinstance(value, str) and isinstance(other, str):
        return _ORDERED[operator](value, other)
    try:
        return _ORDERED[operator](float(value), float(other))
    except (TypeError, ValueError):
        return False  # a value of another kind is neither more nor less


def _is_like(condition: MatchCondition, namespace: Namespace) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidInput(f"No match type {condition.match_type!r}; there are: prefix, suffix.")
    start = 0 if condition.match_type == "prefix" else len(namespace) - len(path)
    part = namespace[start : start + len(path)]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
