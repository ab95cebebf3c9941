"""The common part of the chats of all exports: from messages to one conversation, or to what is left out."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Final

from ....engine.conversations import Said
from ....engine.importing import Conversation
from ....errors import InvalidInput
from ....model import JsonObject, Message, When
from ....text.transcripts.messages import cleaned
from ..filing import Filing
from ..json_value import Damage, Value
from ..parts import Flaw, Item, LeftOut, Part
from ..times import moment

TITLE_CHARACTERS: Final = 400


class Wrong(Exception):
    """A conversation that doesn't have the form of its format; the argument is the sentence that says why."""


@dataclass(slots=True, kw_only=True)
class Chat:
    """A conversation while it is read."""

    id: str
    title: str
    began: When | None = None
    messages: list[Said] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)

    def say(self, id: str, role: str, content: str, time: When | None, *, universal: bool = True) -> None:
        """Add a message; without a time it was said when the one before it was. `universal` says that the id is the
        message's own, whatever file brings it."""
        if not (text := cleaned(content)):
            self.leave_out("messages without text")
            return
        last = self.messages[-1].message.time if self.messages else self.began
        message = Message(role=role, content=text, time=time or last)
        self.messages.append(Said(id=id, message=message, universal=universal))

    def leave_out(self, what: str) -> None:
        self.left_out[what] = self.left_out.get(what, 0) + 1

    def parts(self, source: str, filing: Filing, where: str, at: int, size: int) -> Iterator[Part]:
        for what, count in self.left_out.items():
            yield LeftOut(what=what, count=count)
        if not self.messages:
            yield LeftOut(what="conversations without text")
            return
        title = cleaned(self.title)[:TITLE_CHARACTERS]
        metadata: JsonObject = {"imported_from": source}
        conversation = Conversation(
            id=self.id,
            messages=tuple(self.messages),
            context=title or None,
            scope=filing.scope,
            tags=filing.tags,
            metadata=metadata,
        )
        yield Item(where=where, at=at, size=size, conversation=conversation)


def time_of(value: object, zone: tzinfo | None) -> When | None:
    """The time that a chat's export tells, None for what is none: a message counts without it."""
    try:
        return moment(value, zone)
    except InvalidInput:
        return None


def place(name: str, value: Value, number: int, title: object) -> str:
    """How a conversation is called in messages."""
    named = f' "{title[:60]}"' if isinstance(title, str) and title else ""
    return f"{name}:{value.line} conversation {number}{named}"


def flaw(damage: Damage, name: str, before: int) -> Flaw:
    return Flaw(where=f"{name}:{damage.line}", at=before + damage.at, sentence=damage.sentence)
