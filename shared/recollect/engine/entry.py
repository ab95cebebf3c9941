"""From a memory to what it is found by."""

from collections.abc import Sequence
from typing import Final

from ..model import Embedding, Memory
from ..ports import Entry
from .analysis import text_digest, tokens
from .call import Call
from .chunking import chunks
from .ranking import speaker_of

_MONTHS: Final = "January February March April May June July August September October November December".split()


def entry(memory: Memory, embeddings: Sequence[Embedding]) -> Entry:
    """The entry of a memory whose chunks have these embeddings."""
    return Entry(
        memory=memory,
        fold=text_digest(memory.content),
        embeddings=tuple(embeddings),
        tokens=tuple(tokens(searchable_text(memory))),
        speaker=speaker(memory),
    )


def unchanged_text(memory: Memory) -> Entry:
    """The entry of an update that left the text alone: the store keeps vectors and tokens."""
    return Entry(memory=memory, fold=text_digest(memory.content), speaker=speaker(memory))


def out_of_search(memory: Memory) -> Entry:
    """The entry of a deleted memory: the image stays, vectors and tokens go."""
    return Entry(memory=memory, fold=text_digest(memory.content), embeddings=(), tokens=())


def searchable_text(memory: Memory) -> str:
    """What the keyword leg reads: the content, of an episode all that was said, and the day it is about."""
    parts = [memory.content]
    if memory.source != "conversation":  # a turn's one message is its content
        parts += [message.content for message in memory.messages]
    if memory.occurred_at is not None:
        # In words, since that is how a question names a day: "8 May 2023".
        parts.append(f"{memory.occurred_at.day} {_MONTHS[memory.occurred_at.month - 1]} {memory.occurred_at.year}")
    return "\n".join(parts)


def speaker(memory: Memory) -> str | None:
    """Who says it, in lower case: a turn's speaker, else the name that the text begins with."""
    if memory.source == "conversation" and memory.messages and memory.messages[0].speaker:
        return memory.messages[0].speaker.casefold()
    return speaker_of(memory.content)


def embed_chunks(call: Call, texts: Sequence[str]) -> list[tuple[Embedding, ...]]:
    """The chunk embeddings of each text, all texts in one batch."""
    spans = [chunks(text) for text in texts]
    flat = iter(call.embed([span for of_text in spans for span in of_text]))
    return [tuple(next(flat) for _ in of_text) for of_text in spans]
