"""From a JSON value to what it means: a message, a conversation, or a record of our own export."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Final

from ....errors import InvalidInput, SteeltrapError
from ....model import Draft, JsonObject, Message, When
from ....text.limits import check_json
from ..filing import Filing
from ..json_value import Damage, Value
from ..parts import Flaw, Item, Part
from ..times import moment

_CONVERSATION_KEYS: Final = ("conversation_id", "thread_id", "session_id")
_TIME_KEYS: Final = ("time", "timestamp", "created_at", "create_time", "date")
_FORMS: Final = (
    'unrecognised format. Expected one of: a message such as {"role": "user", "content": "Hello"}, a conversation such '
    'as {"messages": [...]}, a record of `steeltrap export`.'
)


def is_value(body: JsonObject) -> bool:
    return "role" in body or isinstance(body.get("messages"), list) or {"id", "content", "created_at"} <= body.keys()


@dataclass(slots=True, kw_only=True)
class Transcript:
    """The meaning of one file's values, in order.

    `name` is how the file is called in messages, `offset` how many bytes of the import came before it.
    `conversation` is the id of what the data itself doesn't name; the nth conversation in a file gets
    `:n`. Both are the same whenever the file is read again, so that a repeated import adds nothing.
    `around` is the object whose messages are being streamed, and `streamed` their conversation.
    """

    name: str
    conversation: str
    filing: Filing
    offset: int = 0
    conversations: int = 0
    around: JsonObject | None = None
    streamed: str = ""

    def parts(self, values: Iterator[Value | Damage]) -> Iterator[Part]:
        """Items and flaws. A message without text, such as a tool call, is passed over."""
        for value in values:
            where, at = f"{self.name}:{value.line}", self.offset + value.at
            if isinstance(value, Damage):
                yield Flaw(where=where, at=at, sentence=value.sentence)
                continue
            try:
                check_json(value.value)
                yield from self._meant(value, where, at)
            except SteeltrapError as error:
                yield Flaw(where=where, at=at, sentence=error.message)

    def _meant(self, value: Value, where: str, at: int) -> Iterator[Part]:
        body = value.value
        if not isinstance(body, dict):
            raise InvalidInput(_FORMS)
        if "role" in body:
            yield from self._turn(body, self._conversation(value.around, body), where, at, value.size)
        elif "id" in body and ("content" in body or "history" in body):
            yield Item(where=where, at=at, size=value.size, record=body)
        elif isinstance(messages := body.get("messages"), list):
            conversation = self._next_conversation(body)
            for number, message in enumerate(messages, 1):
                place = f"{where} message {number}"
                try:
                    yield from self._turn(message, conversation, place, at, value.size // len(messages))
                except SteeltrapError as error:
                    yield Flaw(where=place, at=at, sentence=error.message)
        else:
            raise InvalidInput(_FORMS)

    def _turn(self, body: Any, conversation: str, where: str, at: int, size: int) -> Iterator[Item]:
        message = to_message(body, self.filing.zone)
        if message.content.strip():
            draft = Draft(
                content=message.content,
                messages=(message,),
                source="conversation",
                conversation_id=conversation,
                scope=self.filing.scope,
                tags=self.filing.tags,
                occurred_at=message.time,
                associate=False,
            )
            yield Item(where=where, at=at, size=size, draft=draft)

    def _conversation(self, around: JsonObject | None, body: JsonObject) -> str:
        if around is not None and around is not self.around:
            self.around, self.streamed = around, self._next_conversation(around)
        return _named(body) or (self.conversation if around is None else self.streamed)

    def _next_conversation(self, body: JsonObject) -> str:
        self.conversations += 1
        return _named(body) or _id(body) or f"{self.conversation}:{self.conversations}"


def to_message(body: Any, zone: tzinfo | None) -> Message:
    """A message in the OpenAI form, its text parts joined. Raises InvalidInput."""
    if not isinstance(body, dict) or not isinstance(body.get("role"), str) or not body["role"]:
        raise InvalidInput('a message must look like {"role": "user", "content": "Hello"}.')
    speaker = body.get("speaker") or body.get("name")
    return Message(
        role=body["role"],
        content=_text(body.get("content")),
        time=_time(body, zone),
        speaker=speaker if isinstance(speaker, str) else None,
    )


def _text(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in content]
        return "\n".join(part for part in parts if isinstance(part, str))
    raise InvalidInput("a message's `content` must be text or a list of parts.")


def _time(body: JsonObject, zone: tzinfo | None) -> When | None:
    for key in _TIME_KEYS:
        try:
            if (time := moment(body.get(key), zone)) is not None:
                return time
        except InvalidInput as error:
            raise InvalidInput(f"`{key}`: {error.message}") from None
    return None


def _named(body: JsonObject) -> str | None:
    return next((str(body[key]) for key in _CONVERSATION_KEYS if isinstance(body.get(key), str | int)), None)


def _id(body: JsonObject) -> str | None:
    return body["id"] if isinstance(body.get("id"), str) else None
