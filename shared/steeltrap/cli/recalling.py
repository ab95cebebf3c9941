"""A search and its answer on a terminal: what `recall` does once its options are read."""

import logging
from typing import Any, Final

from .. import record
from ..engine import searching
from ..errors import SteeltrapError
from ..model import DEFAULT_SCOPE, Filter, Hit, JsonObject, Search
from ..ranking.choosing import asks_for_past
from ..text.frames import excerpt
from .session import CliSession, complain, say, write_json
from .showing import Reader, indented, say_about

_LIMIT: Final = 5
_SECONDS: Final = 15.0
"""As long as a tool that reads may take (`tools.READ_SECONDS`)."""
_SHORT: Final = 1000
"""Characters of a query that the tool takes in any case."""


def recall_plainly(memory: CliSession, query: str) -> None:
    """The same as `recall` without options, and in half the time: the tool's models take longer to load than a search,
    so the engine is asked itself, where nothing but its answer is wanted of a tool. Raises SteeltrapError."""
    is_counted = memory.door.counters is not None or logging.getLogger("steeltrap").isEnabledFor(logging.INFO)
    if is_counted or memory.settings.store_kind != "sqlite" or not query.strip() or len(query) > _SHORT:
        return recall(memory, query)
    search = Search(
        query=query,
        limit=_LIMIT,
        filter=Filter(include_superseded=asks_for_past(query)),
        related_only=True,
        precision="likely",
    )
    try:
        answer = searching.search(memory.call(_SECONDS), search)
    except SteeltrapError:
        raise
    except Exception:
        return recall(memory, query)  # a tool says in a sentence what nobody expected, and quotes no memory
    nearest = answer.outcome.nearest
    outcome: JsonObject = {"kind": answer.outcome.kind.value, "message": answer.outcome.message}
    if nearest is not None:
        outcome["nearest"] = {"content": excerpt(nearest.memory.content)}
    return _print(memory, [_row(hit) for hit in answer.hits], outcome)


def _row(hit: Hit) -> JsonObject:
    """A hit as the tool shows it, as far as it is printed."""
    return {
        "scope": DEFAULT_SCOPE,
        **record.encode(hit.memory),
        "score": hit.score,
        "less_sure": hit.less_sure,
    }


def recall(
    memory: CliSession,
    query: str,
    *,
    why: bool = False,
    limit: int = _LIMIT,
    tags: list[str] | None = None,
    scope: str | None = None,
    superseded: bool = False,
    as_of: str | None = None,
    turns: bool = False,
    everything: bool = False,
    as_json: bool = False,
) -> None:
    """Print the memories that a query finds. Raises SteeltrapError."""
    reader = Reader.of(memory)
    answer = memory.ask(
        "core.search",
        query=query,
        limit=limit,
        why=why,
        tags=tags,
        scope=scope,
        include_conversation=turns,
        include_superseded=superseded or None,
        as_of=as_of and reader.utc(as_of),
        related_only=True,
        precision="all" if everything else "likely",
    )
    if as_json:
        return write_json(answer)
    return _print(memory, answer["results"], answer["outcome"], turns=turns)


def _print(memory: CliSession, results: list[JsonObject], outcome: JsonObject, *, turns: bool = False) -> None:
    reader, unseen = Reader.of(memory), 0
    if outcome["kind"] == "nothing_stored" and not turns:
        unseen = memory.ask("core.stats")["turns"]
    less_sure = [hit for hit in results if hit.get("less_sure")]
    for hit in results:
        if less_sure and hit is less_sure[0]:
            say(("Less sure:", "dim"))
        _print_hit(hit, reader)
    if unseen:
        complain(f"Only {unseen:,} messages of conversations are stored yet; search them with recall --turns.")
    elif not results or outcome["kind"] in ("degraded", "offline"):
        nearest = outcome.get("nearest")
        complain(outcome["message"] + (f" Nearest: {nearest['content']}" if nearest else ""))


def _print_hit(hit: dict[str, Any], reader: Reader) -> None:
    say((f"{hit['score']:.2f}  ", "green"), indented(hit["content"], 6))
    say_about(hit, reader, 6)
    if "why" in hit:
        say(("      " + _reasons(hit["why"]), "cyan"))


def _reasons(why: dict[str, Any]) -> str:
    parts = []
    if "similarity" in why:
        parts.append(f"meaning {why['semantic']:.2f} (cosine {why['similarity']:.2f})")
    parts.append(f"words {why['keyword']:.2f} (BM25 {why['bm25']:.2f})" if why.get("bm25") else "no shared words")
    parts += [f"{rule} {boost:+.2f}" for rule, boost in (why.get("boosts") or {}).items()]
    return "because: " + ", ".join(parts)
