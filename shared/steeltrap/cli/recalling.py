"""A search and its answer on a terminal: what `recall` does once its options are read."""

import logging
from collections.abc import Sequence
from typing import Any, Final

from .. import record
from ..engine import searching
from ..errors import SteeltrapError, counted
from ..model import DEFAULT_SCOPE, Filter, Hit, JsonObject, Search
from ..text.frames import excerpt
from ..text.limits import check_scope
from .session import READ_SECONDS, CliSession, as_typed, complain, say, write_json
from .showing import Reader, indented, say_about

_LIMIT: Final = 5
_SHORT: Final = 1000
"""Characters of a query, and of a tag, that the tool takes in any case."""
_FEW: Final = 8
"""Tags that it takes in any case."""


def recall_plainly(memory: CliSession, query: str, *, as_json: bool = False, **options: Any) -> None:
    """The same as `recall`, and in half the time: the tool's models take longer to load than a search, so the engine is
    asked itself, where nothing but its answer is wanted of a tool. Raises SteeltrapError."""
    is_counted = memory.door.counters is not None or logging.getLogger("steeltrap").isEnabledFor(logging.INFO)
    is_the_tools = as_json or is_counted or memory.settings.store_kind != "sqlite"
    search = None if is_the_tools else _search(memory, query, **options)
    if search is None:
        return recall(memory, query, as_json=as_json, **options)
    try:
        answer = searching.search(memory.call(READ_SECONDS), search)
    except SteeltrapError:
        raise
    except Exception:
        # A tool says in a sentence what nobody expected, and quotes no memory.
        return recall(memory, query, as_json=as_json, **options)
    nearest = answer.outcome.nearest
    outcome: JsonObject = {"kind": answer.outcome.kind.value, "message": answer.outcome.message}
    if nearest is not None:
        outcome["nearest"] = {"content": excerpt(nearest.memory.content)}
    rows = [_row(hit, why=options.get("why", False)) for hit in answer.hits]
    return _print(memory, rows, outcome, turns=options.get("turns", False))


def _search(
    memory: CliSession,
    query: str,
    *,
    why: bool = False,
    limit: int = _LIMIT,
    tag: Sequence[str] = (),
    scope: str | None = None,
    superseded: bool = False,
    as_of: str | None = None,
    turns: bool = False,
    everything: bool = False,
) -> Search | None:
    """The search that the tool makes of these arguments; None where it may refuse one of them."""
    if not query.strip() or any(len(text) > _SHORT for text in (query, *tag)) or len(tag) > _FEW:
        return None
    try:
        admitted = Filter(
            tags=tuple(tag),
            scope=None if scope is None else check_scope(scope),
            include_child_scopes=True,
            include_superseded=superseded or None,
            as_of=None if as_of is None else record.read_time(Reader.of(memory).utc(as_of), memory.door.rules.zone),
            include_turns=turns,
            turns_of=memory.caller.conversation_id if turns else None,
        )
    except (SteeltrapError, ValueError):
        return None
    return Search(
        query=query,
        limit=limit,
        filter=admitted,
        related_only=True,
        precision="all" if everything else "likely",
    )


def _row(hit: Hit, *, why: bool) -> JsonObject:
    """A hit as the tool shows it, as far as it is printed."""
    row = {
        "scope": DEFAULT_SCOPE,
        **record.encode(hit.memory),
        "score": hit.score,
        "less_sure": hit.less_sure,
    }
    if why:
        row["why"] = {"semantic": hit.semantic_score, "keyword": hit.keyword_score, "boosts": hit.boosts}
        row["why"] |= {"led_by": list(hit.led_by)} if hit.led_by else {}
        row["why"] |= {} if hit.cosine is None else {"similarity": hit.cosine}
        row["why"] |= {} if hit.bm25 is None else {"bm25": hit.bm25}
    return row


def recall(
    memory: CliSession,
    query: str,
    *,
    why: bool = False,
    limit: int = _LIMIT,
    tag: Sequence[str] | None = None,
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
        tags=tag,
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
        only = counted(unseen, "message of a conversation is", "messages of conversations are")
        complain(f"Only {only} stored; search {'it' if unseen == 1 else 'them'} with recall --turns.")
    elif not results or outcome["kind"] in ("degraded", "offline"):
        nearest = outcome.get("nearest")
        sentence = memory.nothing_stored() if outcome["kind"] == "nothing_stored" else outcome["message"]
        say(as_typed(sentence) + (f" Nearest: {nearest['content']}" if nearest else ""), error=True)


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
    parts += [f"led by {' and '.join(names)}"] if (names := why.get("led_by")) else []
    return "because: " + ", ".join(parts)
