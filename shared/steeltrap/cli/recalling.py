"""A search and its answer on a terminal: what `recall` does once its options are read."""

from typing import Any

from .session import CliSession, complain, say, write_json
from .showing import Reader, indented, say_about


def recall(
    memory: CliSession,
    query: str,
    *,
    why: bool = False,
    limit: int = 5,
    tags: list[str] | None = None,
    scope: str | None = None,
    superseded: bool = False,
    as_of: str | None = None,
    turns: bool = False,
    everything: bool = False,
    as_json: bool = False,
) -> None:
    """Print the memories that a query finds. Raises SteeltrapError."""
    reader, unseen = Reader.of(memory), 0
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
    if answer["outcome"]["kind"] == "nothing_stored" and not turns:
        unseen = memory.ask("core.stats")["turns"]
    if as_json:
        return write_json(answer)
    less_sure = [hit for hit in answer["results"] if hit.get("less_sure")]
    for hit in answer["results"]:
        if less_sure and hit is less_sure[0]:
            say(("Less sure:", "dim"))
        _print_hit(hit, reader)
    if unseen:
        complain(f"Only {unseen:,} messages of conversations are stored yet; search them with recall --turns.")
    elif not answer["results"] or answer["outcome"]["kind"] in ("degraded", "offline"):
        nearest = answer["outcome"].get("nearest")
        complain(answer["outcome"]["message"] + (f" Nearest: {nearest['content']}" if nearest else ""))
    return None


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
