"""From a memory to what it is found by."""

from collections.abc import Sequence

from ..model import Embedding, Memory
from ..ports import Entry
from .analysis import text_digest, tokens
from .call import Call
from .chunking import chunks


def entry(memory: Memory, embeddings: Sequence[Embedding]) -> Entry:
    """The entry of a memory whose chunks have these embeddings."""
    return Entry(
        memory=memory,
        fold=text_digest(memory.content),
        embeddings=tuple(embeddings),
        tokens=tuple(tokens(searchable_text(memory))),
    )


def unchanged_text(memory: Memory) -> Entry:
    """The entry of an update that left the text alone: the store keeps vectors and tokens."""
    return Entry(memory=memory, fold=text_digest(memory.content))


def out_of_search(memory: Memory) -> Entry:
    """The entry of a deleted memory: the image stays, vectors and tokens go."""
    return Entry(memory=memory, fold=text_digest(memory.content), embeddings=(), tokens=())


def searchable_text(memory: Memory) -> str:
    """What the keyword leg reads: the content and, of an episode, all that was said."""
    if memory.source == "conversation":
        return memory.content  # a turn's one message is its content
    return "\n".join((memory.content, *(message.content for message in memory.messages)))


def embed_chunks(call: Call, texts: Sequence[str]) -> list[tuple[Embedding, ...]]:
    """The chunk embeddings of each text, all texts in one batch."""
    spans = [chunks(text) for text in texts]
    flat = iter(call.embed([span for of_text in spans for span in of_text]))
    return [tuple(next(flat) for _ in of_text) for of_text in spans]
