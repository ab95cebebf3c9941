"""Remains: what is left of a memory in other texts, which a purge takes out. Pure."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final
from unicodedata import normalize

from ..model import JsonObject, Memory, Message, When
from .limits import canonical
from .sentences import sentences, summary

SaidKey = tuple[str | None, str, str | None, str, When | None]
"""A message's identity: its writer, role, text, speaker and time."""

_UNSPACED: Final = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
"""A word; a character where words are not set apart."""
_WORDS: Final = 4
_CHARACTERS: Final = 8


class Words:
    """Finds texts that hold what some memories say, or that name their ids.

    A sentence of at least four words (or eight characters of a script without spaces) is looked for inside every text.
    A shorter text counts only where another text says nothing else: "Yes." is in many. Case, spaces and marks make no
    difference. What it costs grows with the text that is looked through, not with the number of sentences.
    """

    def __init__(self, texts: Iterable[str] = (), ids: Iterable[str] = ()) -> None:
        self._whole: set[str] = set()
        self._inside: dict[str, set[str]] = defaultdict(set)
        for text in texts:
            self._whole |= {whole} if (whole := " ".join(_words(text))) else set()
            for sentence in sentences(text):
                words = _words(sentence)
                if len(words) >= _WORDS and sum(map(len, words)) >= _CHARACTERS:
                    self._look_for(words)
        for id in ids:
            self._look_for(_words(id))
            self._look_for([id.replace("-", "")])

    def _look_for(self, words: Sequence[str]) -> None:
        # The longest word is met least often by chance.
        self._inside[max(words, key=len)].add(f" {' '.join(words)} ")

    def are_in(self, texts: Iterable["Folded"]) -> bool:
        """Whether one of the texts holds them."""
        return any(self._is_in(text) for text in texts)

    def _is_in(self, text: "Folded") -> bool:
        shared_words = self._inside.keys() & text.words
        return text.padded[1:-1] in self._whole or any(
            p in text.padded for word in shared_words for p in self._inside[word]
        )


class Folded:
    """A text as `Words` compares it."""

    __slots__ = ("padded", "words")

    def __init__(self, text: str) -> None:
        words = _words(text)
        self.words = frozenset(words)
        self.padded = f" {' '.join(words)} "


def texts_of(memory: Memory) -> Iterator[str]:
    """The texts of a memory: its content and its messages."""
    yield memory.content
    if memory.source != "conversation":
        yield from (message.content for message in memory.messages)


def beside(memory: Memory) -> Iterator[str]:
    """The other texts of a record that a user wrote: its context and its metadata."""
    if memory.context is not None:
        yield memory.context
    if memory.metadata:
        yield from _strings(memory.metadata)


def merged_from(memory: Memory) -> set[str]:
    """The ids of the memories that it was consolidated from."""
    sources = memory.metadata.get("consolidated_from")
    return {canonical(id) for id in sources if isinstance(id, str)} if isinstance(sources, list) else set()


def said_by(turn: Memory) -> Message:
    message = turn.messages[0] if turn.messages else Message(role="user", content=turn.content)
    return replace(message, content=turn.content, time=turn.occurred_at or turn.created_at)


def said_in(memory: Memory) -> set[SaidKey]:
    """The messages of a conversation that a turn is, or that an episode sums up."""
    messages = (said_by(memory),) if memory.source == "conversation" else memory.messages
    return {said_key(memory, message) for message in messages}


def said_key(memory: Memory, message: Message) -> SaidKey:
    return memory.agent_id, message.role, message.speaker, message.content, message.time


def without_said(episode: Memory, lost_keys: Collection[SaidKey]) -> Memory | None:
    """An episode without some messages, summed up again; None where nothing is left of it.

    A text that someone wrote in place of the summary stays, unless it has their words.
    """
    removed = [message for message in episode.messages if said_key(episode, message) in lost_keys]
    messages = tuple(message for message in episode.messages if said_key(episode, message) not in lost_keys)
    if not removed:
        return episode
    if not messages:
        return None
    times = [message.time for message in messages if message.time is not None]
    is_own = episode.content != summary(episode.messages)
    stays = is_own and not Words(message.content for message in removed).are_in([Folded(episode.content)])
    return replace(
        episode,
        content=episode.content if stays else summary(messages),
        messages=messages,
        occurred_at=min(times, default=episode.occurred_at),
        occurred_until=max(times, default=episode.occurred_until),
    )


def _strings(value: JsonObject | list[object] | object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _words(text: str) -> list[str]:
    return _WORD.findall(normalize("NFKC", text).casefold())
