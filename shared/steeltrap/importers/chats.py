"""Chats of other products: ChatGPT, Claude.ai, Claude Code, and messages as JSON of no product in particular.

ChatGPT's export is `conversations.json`, since 2026 also `conversations-000.json`, `conversations-001.json` and so on.
A conversation is a tree of nodes, because an answer can be made again and a question edited. What the user sees is the
way from `current_node` up to the root. Hidden messages, the model's thoughts, custom instructions and the traffic with
tools are in the tree too. OpenAI publishes no schema; see github.com/danny-avila/LibreChat (discussion 15229 and issue
15388) and github.com/mitkury/chatgpt-export-parser, docs/chatgpt-data-export-format.md.

Claude.ai's export is `conversations.json`, and `memories.json` with what Claude keeps about the user. A message has
`text`, which may be empty or only say that a block can't be shown, and `content`, its blocks. Only blocks of type
`text` were said; the others are thoughts and traffic with tools. An edited question and an answer made again are
further messages with the same `parent_message_uuid`. Anthropic publishes no schema; see
github.com/Superkikim/nexus-ai-chat-importer (issues 22 and 73) and github.com/Sinity/polylogue, docs/providers.

Claude Code's transcripts are one file per session, which `text.transcripts` reads. A message keeps the id
of its line and a conversation that of its session, so that hooks which append the same session later add only what is
new.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import cache
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Final

from ..engine.conversations import IncomingMessage
from ..engine.importing import Conversation
from ..errors import InvalidInput, SteeltrapError
from ..model import Draft, JsonObject, Message, When, to_moment
from ..project import Project, project_of
from ..text.json_limits import check_json
from ..text.titles import TITLE
from ..text.transcripts import LEFT, ClaudeEntry, ClaudeTree, claude_entry, cleaned, last_leaf, mended, way_to, within
from ..text.transcripts import TranscriptMessage as InTranscript
from .items import Filing, Flaw, Item, LeftOut, Part, moment
from .json_values import Damage, Value
from .markdown import sections

TITLE_CHARACTERS: Final = 400


class Wrong(Exception):
    """A conversation that doesn't have the form of its format; the argument is the sentence that says why."""


@dataclass(slots=True, kw_only=True)
class Chat:
    """A conversation while it is read."""

    id: str
    title: str
    began: When | None = None
    messages: list[IncomingMessage] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)

    def say(self, id: str, role: str, content: str, time: When | None, *, universal: bool = True) -> None:
        """Add a message; without a time it was said when the one before it was. `universal` says that the id is the
        message's own, whatever file brings it."""
        if not (text := cleaned(content)):
            self.leave_out("messages without text")
            return
        last = self.messages[-1].message.time if self.messages else self.began
        message = Message(role=role, content=text, time=time or last)
        self.messages.append(IncomingMessage(id=id, message=message, universal=universal))

    def leave_out(self, kind: str) -> None:
        self.left_out[kind] = self.left_out.get(kind, 0) + 1

    def parts(self, source: str, filing: Filing, where: str, at: int, size: int) -> Iterator[Part]:
        for kind, count in self.left_out.items():
            yield LeftOut(kind=kind, count=count)
        if not self.messages:
            yield LeftOut(kind="conversations without text")
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


def titled(where: str, number: int, title: object) -> str:
    """How a conversation is called in messages."""
    suffix = f' "{title[:60]}"' if isinstance(title, str) and title else ""
    return f"{where} conversation {number}{suffix}"


_UNSEEN: Final = ("user_editable_context", "model_editable_context", "thoughts", "reasoning_recap")
_CITATION: Final = re.compile("\ue200[^\ue201\n]*+(\ue201?)")
"""A source's number between characters of private use, which the site shows as a link; or the start of one that its
line doesn't end, which is passed over in one step."""


def is_chatgpt(body: JsonObject) -> bool:
    return "mapping" in body and any(key in body for key in ("current_node", "create_time", "title", "conversation_id"))


def chatgpt_parts(value: Value, number: int, where: str, at: int, filing: Filing) -> Iterator[Part]:
    body = value.value if isinstance(value.value, dict) else {}
    where = titled(where, number, body.get("title"))
    try:
        yield from _chatgpt_chat(body, filing.zone).parts("ChatGPT", filing, where, at, value.size)
    except Wrong as error:
        yield Flaw(where=where, at=at, sentence=str(error))


def _chatgpt_chat(body: JsonObject, zone: tzinfo | None) -> Chat:
    id = body.get("conversation_id") or body.get("id")
    mapping = body.get("mapping")
    if not isinstance(id, str) or not id:
        raise Wrong("it has no `conversation_id`.")
    if not isinstance(mapping, dict):
        raise Wrong("it has no `mapping` of its messages.")
    title = body.get("title")
    chat = Chat(id=id, title=title if isinstance(title, str) else "", began=time_of(body.get("create_time"), zone))
    messages = {id: dict(message) for id, node in mapping.items() if (message := within(node, "message"))}
    way = _chatgpt_way(mapping, messages, body.get("current_node"))
    for node_id in way:
        if not isinstance(mapping[node_id], dict):
            raise Wrong("one of its messages is not an object.")
        if node_id in messages:
            _say_chatgpt(chat, node_id, messages[node_id], zone)
    for node_id, message in messages.items():
        if (
            node_id not in way
            and _chatgpt_unseen(message) is None
            and cleaned(_chatgpt_text(within(message, "content")))
        ):
            chat.leave_out(LEFT)
    return chat


def _chatgpt_way(mapping: JsonObject, messages: Mapping[str, JsonObject], leaf: Any) -> dict[str, None]:
    """The nodes from the root to the one that was current, else to the end of the branch that was written last."""
    parent_of: dict[str, str | None] = {}
    for id, node in mapping.items():
        parent = node.get("parent") if isinstance(node, dict) else None
        parent_of[id] = parent if isinstance(parent, str) else None
    parents = mended(parent_of)
    if not isinstance(leaf, str) or leaf not in mapping:
        times = {id: _number(message.get("create_time")) for id, message in messages.items()}
        leaf = last_leaf(parents, times, messages)
    return dict.fromkeys(way_to(parents, leaf))


def _say_chatgpt(chat: Chat, node_id: str, message: JsonObject, zone: tzinfo | None) -> None:
    if (unseen := _chatgpt_unseen(message)) is not None:
        chat.leave_out(unseen)
        return
    id, role = message.get("id"), within(message, "author")["role"]
    text = _CITATION.sub(lambda citation: "" if citation[1] else citation[0], _chatgpt_text(within(message, "content")))
    chat.say(id if isinstance(id, str) and id else node_id, role, text, time_of(message.get("create_time"), zone))


def _chatgpt_unseen(message: JsonObject) -> str | None:
    """The name for a message that the site doesn't show; None for one that was said."""
    role = within(message, "author").get("role")
    is_hidden = within(message, "metadata").get("is_visually_hidden_from_conversation")
    if role == "system" or is_hidden or within(message, "content").get("content_type") in _UNSEEN:
        return "hidden messages"
    if role not in ("user", "assistant") or message.get("recipient", "all") not in ("all", None):
        return "tool calls and their results"
    return None


def _chatgpt_text(content: Any) -> str:
    """The texts among the parts: a voice message has its transcript as the `text` of a part, an image has none."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        text = content.get("text")
        return text if isinstance(text, str) else ""
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str))


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) else 0.0


_ROOT: Final = "00000000-0000-"
"""How the parent of a first message begins."""
_ROLES: Final = {"human": "user", "user": "user", "assistant": "assistant"}


def is_claude_ai(body: JsonObject) -> bool:
    return "chat_messages" in body or "conversations_memory" in body or {"prompt_template", "docs"} <= body.keys()


def claude_ai_parts(value: Value, number: int, where: str, at: int, filing: Filing) -> Iterator[Part]:
    """The conversation of a value, or the memories that Claude keeps."""
    body = value.value if isinstance(value.value, dict) else {}
    if "docs" in body:
        yield LeftOut(kind="projects")
    elif "chat_messages" not in body and "conversations_memory" in body:
        yield from _claude_memories(body, filing, where, at)
    else:
        where = titled(where, number, body.get("name"))
        try:
            yield from _claude_chat(body, filing.zone).parts("Claude", filing, where, at, value.size)
        except Wrong as error:
            yield Flaw(where=where, at=at, sentence=str(error))


def _claude_chat(body: JsonObject, zone: tzinfo | None) -> Chat:
    id, messages, title = body.get("uuid"), body.get("chat_messages"), body.get("name")
    if not isinstance(id, str) or not id:
        raise Wrong("it has no `uuid`.")
    if not isinstance(messages, list):
        raise Wrong("it has no `chat_messages`.")
    chat = Chat(id=id, title=title if isinstance(title, str) else "", began=time_of(body.get("created_at"), zone))
    by_id = {
        _claude_id(message, number): message for number, message in enumerate(messages) if isinstance(message, dict)
    }
    for _ in range(len(messages) - len(by_id)):
        chat.leave_out("messages of nobody known")
    way = _claude_way(by_id, body.get("current_leaf_message_uuid"), zone)
    for id, message in by_id.items():
        role = _ROLES.get(str(message.get("sender")))
        if role is None:
            chat.leave_out("messages of nobody known")
        elif id not in way:
            chat.leave_out(LEFT)
    for id in way:
        message = by_id[id]
        role = _ROLES.get(str(message.get("sender")))
        if role is not None:
            if message.get("attachments") or message.get("files"):
                chat.leave_out("messages' attached files")
            at = time_of(message.get("created_at"), zone)
            chat.say(id, role, _claude_text(message), at, universal=id == message.get("uuid"))
    return chat


def _claude_way(messages: dict[str, JsonObject], leaf: Any, zone: tzinfo | None) -> dict[str, None]:
    """The messages from the first one to the end of the branch that was current, else of the one that was written
    last."""
    parents = mended(
        {id: parent if isinstance(parent := m.get("parent_message_uuid"), str) else "" for id, m in messages.items()},
        lambda parent: parent.startswith(_ROOT),
    )
    if not isinstance(leaf, str) or leaf not in messages:
        raw_times = {id: time_of(m.get("created_at"), zone) for id, m in messages.items()}
        times = {id: to_moment(at).timestamp() for id, at in raw_times.items() if at}
        leaf = last_leaf(parents, times, messages)
    return dict.fromkeys(way_to(parents, leaf))


def _claude_id(message: JsonObject, number: int) -> str:
    id = message.get("uuid")
    return id if isinstance(id, str) and id else str(number)


def _claude_text(message: JsonObject) -> str:
    blocks = message.get("content")
    blocks = blocks if isinstance(blocks, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    joined = "\n\n".join(text for text in texts if isinstance(text, str))
    whole = message.get("text")
    return joined if joined.strip() or blocks or not isinstance(whole, str) else whole


def _claude_memories(body: JsonObject, filing: Filing, where: str, at: int) -> Iterator[Part]:
    projects = body.get("project_memories")
    texts: list[Any] = [body["conversations_memory"], *(projects.values() if isinstance(projects, dict) else ())]
    for text in texts:
        for section in sections(cleaned(text) if isinstance(text, str) else ""):
            content = "\n\n".join(filter(None, (" › ".join(section.headings), section.text)))
            draft = Draft(content=content, scope=filing.scope, tags=filing.tags, metadata={"imported_from": "Claude"})
            yield Item(where=where, at=at, size=len(content), draft=draft)


_OTHER: Final = ("summary", "file-history-snapshot", "queue-operation", "attachment", "permission-mode", "last-prompt")
MAX_LINE_BYTES: Final = 64 * 1024 * 1024
_UNSAID: Final = {"tool": "tool calls and their results", "notice": "notices and summaries of the program"}
_Entries = Sequence[tuple[ClaudeEntry, InTranscript]]


def is_claude_code(body: JsonObject) -> bool:
    if "uuid" in body or body.get("type") in _OTHER:
        return "sessionId" in body or "leafUuid" in body or "snapshot" in body or body.get("type") in _OTHER
    return False


def claude_code_parts(file: BinaryIO, name: str, before: int, size: int, filing: Filing) -> Iterator[Part]:
    """The one conversation of a file, without branches that the user went back from."""
    entries: dict[str, ClaudeEntry] = {}
    titles: dict[str, str] = {}
    tree = ClaudeTree()
    left_out: Counter[str] = Counter()
    number = at = 0
    while line := file.readline(MAX_LINE_BYTES):
        number, at = number + 1, at + len(line)
        if not line.strip():
            continue
        try:
            entry = claude_entry(line)
        except ValueError:
            cut = "" if line.endswith(b"\n") else ", the file ends in the middle of it"
            yield Flaw(where=f"{name}:{number}", at=before + at, sentence=f"the line is no JSON object{cut}.")
            continue
        if entry is None:
            titles |= _title(line)
        elif entry.id not in entries:
            tree.add(entry)
            entries[entry.id] = entry
            if entry.message is None:
                left_out[_UNSAID[entry.kind]] += 1
    kept_ids = tree.main_line_ids()
    left_out.update(tree.left_out(kept_ids))
    for kind, count in left_out.items():
        if count:
            yield LeftOut(kind=kind, count=count)
    messages = [(entry, entry.message) for id, entry in entries.items() if entry.message is not None and id in kept_ids]
    if not messages:
        yield LeftOut(kind="conversations without text")
        return
    title = next((cleaned(text)[:TITLE_CHARACTERS] for leaf, text in titles.items() if leaf in entries), "")
    yield Item(
        where=name, at=before + size, size=_size(messages), conversation=_conversation(messages, name, filing, title)
    )


def _title(line: bytes) -> dict[str, str]:
    """The title that a line gives to the conversation that ends with another line, by that one's id."""
    if b'"summary"' not in line:
        return {}
    body = json.loads(line)
    leaf, title = body.get("leafUuid"), body.get("summary")
    return {leaf: title} if body.get("type") == "summary" and isinstance(leaf, str) and isinstance(title, str) else {}


def _conversation(messages: _Entries, name: str, filing: Filing, title: str) -> Conversation:
    last, _ = messages[-1]
    project = _project(last.folder) if last.folder else None
    return Conversation(
        id=last.session or PurePath(name).stem,
        messages=tuple(
            IncomingMessage(
                id=each.id, message=Message(role=each.role, content=each.content, time=each.time), universal=True
            )
            for _, each in messages
        ),
        copied_from=tuple(dict.fromkeys(id for entry, _ in messages for id in (entry.session, entry.origin) if id)),
        context=project.name if project else None,
        scope=project.scope if project and filing.by_project else filing.scope,
        tags=filing.tags,
        metadata={"imported_from": "Claude Code", **({TITLE: title} if title else {})},
    )


def _size(messages: _Entries) -> int:
    return sum(len(each.content) for _, each in messages)


@cache
def _project(folder: str) -> Project | None:
    return project_of(Path(folder))


_CONVERSATION_KEYS: Final = ("conversation_id", "thread_id", "session_id")
_TIME_KEYS: Final = ("time", "timestamp", "created_at", "create_time", "date")
_FORMS: Final = (
    'unrecognised format. Expected one of: a message such as {"role": "user", "content": "Hello"}, a conversation such '
    'as {"messages": [...]}, a record of `steeltrap export`.'
)


def is_transcript(body: JsonObject) -> bool:
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
                yield Flaw(where=value.place(self.name), at=at, sentence=value.sentence)
                continue
            try:
                check_json(value.value)
                yield from self._parts_of(value, where, at)
            except SteeltrapError as error:
                yield Flaw(where=where, at=at, sentence=error.message)

    def _parts_of(self, value: Value, where: str, at: int) -> Iterator[Part]:
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
        return _named_conversation(body) or (self.conversation if around is None else self.streamed)

    def _next_conversation(self, body: JsonObject) -> str:
        self.conversations += 1
        return _named_conversation(body) or _conversation_id(body) or f"{self.conversation}:{self.conversations}"


def to_message(body: Any, zone: tzinfo | None) -> Message:
    """A message in the OpenAI form, its text parts joined. Raises InvalidInput."""
    if not isinstance(body, dict) or not isinstance(body.get("role"), str) or not body["role"]:
        raise InvalidInput('a message must look like {"role": "user", "content": "Hello"}.')
    speaker = body.get("speaker") or body.get("name")
    return Message(
        role=body["role"],
        content=_message_text(body.get("content")),
        time=_message_time(body, zone),
        speaker=speaker if isinstance(speaker, str) else None,
    )


def _message_text(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in content]
        return "\n".join(part for part in parts if isinstance(part, str))
    raise InvalidInput("a message's `content` must be text or a list of parts.")


def _message_time(body: JsonObject, zone: tzinfo | None) -> When | None:
    for key in _TIME_KEYS:
        try:
            if (time := moment(body.get(key), zone)) is not None:
                return time
        except InvalidInput as error:
            raise InvalidInput(f"`{key}`: {error.message}") from None
    return None


def _named_conversation(body: JsonObject) -> str | None:
    return next((str(body[key]) for key in _CONVERSATION_KEYS if isinstance(body.get(key), str | int)), None)


def _conversation_id(body: JsonObject) -> str | None:
    return body["id"] if isinstance(body.get("id"), str) else None
