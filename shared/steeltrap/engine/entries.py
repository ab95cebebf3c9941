"""Builds the search data of a memory: embeddings, tokens, digest, speaker."""

import re
from collections.abc import Sequence, Set
from itertools import takewhile
from typing import Final

from ..model import Embedding, Memory
from ..ports import Entry
from ..text.sentences import chunks, who
from ..text.words import indexed_words, speaker_of, text_digest
from .call import Call

_COLON: Final = re.compile(r":\s+")


def entry(memory: Memory, embeddings: Sequence[Embedding]) -> Entry:
    """The entry of a memory whose chunks have these embeddings."""
    return Entry(
        memory=memory,
        fold=text_digest(memory.content),
        embeddings=tuple(embeddings),
        tokens=indexed_words(memory),
        speaker=speaker(memory),
    )


def anew(call: Call, memories: Sequence[Memory]) -> list[Entry]:
    """Recompute the search data of stored memories with the current embedder and tokenizer."""
    return [entry(memory, vectors) for memory, vectors in zip(memories, embed_memories(call, memories), strict=True)]


def unchanged_text(memory: Memory) -> Entry:
    """The entry of an update that left the text alone: the store keeps vectors and tokens."""
    return Entry(memory=memory, fold=text_digest(memory.content), speaker=speaker(memory))


def out_of_search(memory: Memory) -> Entry:
    """The entry of a deleted memory: the image stays, vectors and tokens go."""
    return Entry(memory=memory, fold=text_digest(memory.content), embeddings=(), tokens=())


def speaker(memory: Memory) -> str | None:
    """Who says it, in lower case: a turn's speaker, else the name that the text begins with."""
    if memory.source == "conversation" and memory.messages and memory.messages[0].speaker:
        return memory.messages[0].speaker.casefold()
    return speaker_of(memory.content)


def meaning(memory: Memory) -> str:
    """The text that the semantic leg reads: the content, and of an episode all that was said.

    The names that a summary puts before what people say are left out: they make texts look alike that
    have nothing else in common.
    """
    if memory.source == "conversation" or not memory.messages:
        return memory.content
    plain = without_labels(memory.content, {who(message) for message in memory.messages})
    return "\n".join([plain, *(message.content for message in memory.messages)])


def without_labels(text: str, names: Set[str]) -> str:
    """The text without the labels that begin it or follow white space: a name, a colon and the white space behind.

    A name is looked up only between two such colons, once for each length that a name has, so that many names
    take no longer than the text is long.
    """
    lengths = sorted({len(name) for name in names})
    parts: list[str] = []
    kept = behind = 0
    for colon in _COLON.finditer(text):
        end = colon.start()
        starts = [end - length for length in takewhile((end - behind).__ge__, lengths)]
        labels = [at for at in starts if (at == 0 or text[at - 1].isspace()) and text[at:end] in names]
        if labels:
            parts.append(text[kept : labels[-1]])
            kept = colon.end()
        behind = colon.end()
    return "".join([*parts, text[kept:]])


def embed_memories(call: Call, memories: Sequence[Memory]) -> list[tuple[Embedding, ...]]:
    """The chunk embeddings of each memory, all in one batch."""
    return embed_chunks(call, [meaning(memory) for memory in call.in_time(memories)])


def embed_chunks(call: Call, texts: Sequence[str]) -> list[tuple[Embedding, ...]]:
    """The chunk embeddings of each text, all texts in one batch."""
    spans = [chunks(text) for text in texts]
    flat = iter(call.embed([span for of_text in spans for span in of_text]))
    return [tuple(next(flat) for _ in of_text) for of_text in spans]
