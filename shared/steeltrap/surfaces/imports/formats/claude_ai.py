"""Claude.ai's export: `conversations.json`, and `memories.json` with what Claude keeps about the user.

A message has `text`, which may be empty or only say that a block can't be shown, and `content`, its blocks. Only
blocks of type `text` were said; the others are thoughts and traffic with tools. An edited question and an answer made
again are further messages with the same `parent_message_uuid`. Anthropic publishes no schema; see
github.com/Superkikim/nexus-ai-chat-importer (issues 22 and 73) and github.com/Sinity/polylogue, docs/providers.
"""

from collections.abc import Iterable, Iterator
from datetime import tzinfo
from typing import Any, Final

from ....model import Draft, JsonObject, to_moment
from ....text.transcripts import messages as branches
from ....text.transcripts.messages import cleaned
from ..filing import Filing
from ..json_value import Damage, Value
from ..parts import Flaw, Item, LeftOut, Part
from .chats import Chat, Wrong, flaw, place, time_of
from .markdown import sections

_ROOT: Final = "00000000-0000-"
"""How the parent of a first message begins."""
_ROLES: Final = {"human": "user", "user": "user", "assistant": "assistant"}


def is_value(body: JsonObject) -> bool:
    return "chat_messages" in body or "conversations_memory" in body or {"prompt_template", "docs"} <= body.keys()


def parts(values: Iterable[Value | Damage], name: str, before: int, filing: Filing) -> Iterator[Part]:
    """A conversation per value, or what Claude remembers; one that can't be read costs no other."""
    for number, value in enumerate(values, 1):
        if isinstance(value, Damage):
            yield flaw(value, name, before)
            continue
        body = value.value if isinstance(value.value, dict) else {}
        where, at = place(name, value, number, body.get("name")), before + value.at
        if "docs" in body:
            yield LeftOut(what="projects")
            continue
        if "chat_messages" not in body and "conversations_memory" in body:
            yield from _memories(body, filing, name, at)
            continue
        try:
            yield from _chat(body, filing.zone).parts("Claude", filing, where, at, value.size)
        except Wrong as error:
            yield Flaw(where=where, at=at, sentence=str(error))


def _chat(body: JsonObject, zone: tzinfo | None) -> Chat:
    id, messages, title = body.get("uuid"), body.get("chat_messages"), body.get("name")
    if not isinstance(id, str) or not id:
        raise Wrong("it has no `uuid`.")
    if not isinstance(messages, list):
        raise Wrong("it has no `chat_messages`.")
    chat = Chat(id=id, title=title if isinstance(title, str) else "", began=time_of(body.get("created_at"), zone))
    there = {_id(message, number): message for number, message in enumerate(messages) if isinstance(message, dict)}
    for _ in range(len(messages) - len(there)):
        chat.leave_out("messages of nobody known")
    way = _way(there, body.get("current_leaf_message_uuid"), zone)
    for id, message in there.items():
        role = _ROLES.get(str(message.get("sender")))
        if role is None:
            chat.leave_out("messages of nobody known")
        elif id not in way:
            chat.leave_out(branches.LEFT)
    for id in way:
        message = there[id]
        role = _ROLES.get(str(message.get("sender")))
        if role is not None:
            if message.get("attachments") or message.get("files"):
                chat.leave_out("messages' attached files")
            at = time_of(message.get("created_at"), zone)
            chat.say(id, role, _text(message), at, universal=id == message.get("uuid"))
    return chat


def _way(there: dict[str, JsonObject], leaf: Any, zone: tzinfo | None) -> dict[str, None]:
    """The messages from the first one to the end of the branch that was current, else of the one that was written
    last."""
    parents = branches.mended(
        {id: parent if isinstance(parent := m.get("parent_message_uuid"), str) else "" for id, m in there.items()},
        lambda parent: parent.startswith(_ROOT),
    )
    if not isinstance(leaf, str) or leaf not in there:
        times = {id: to_moment(at).timestamp() for id, m in there.items() if (at := time_of(m.get("created_at"), zone))}
        leaf = branches.last_leaf(parents, times, there)
    return dict.fromkeys(branches.way(parents, leaf))


def _id(message: JsonObject, number: int) -> str:
    id = message.get("uuid")
    return id if isinstance(id, str) and id else str(number)


def _text(message: JsonObject) -> str:
    blocks = message.get("content")
    blocks = blocks if isinstance(blocks, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    said = "\n\n".join(text for text in texts if isinstance(text, str))
    whole = message.get("text")
    return said if said.strip() or blocks or not isinstance(whole, str) else whole


def _memories(body: JsonObject, filing: Filing, name: str, at: int) -> Iterator[Part]:
    projects = body.get("project_memories")
    texts: list[Any] = [body["conversations_memory"], *(projects.values() if isinstance(projects, dict) else ())]
    for text in texts:
        for section in sections(cleaned(text) if isinstance(text, str) else ""):
            content = "\n\n".join(filter(None, (" › ".join(section.headings), section.text)))
            draft = Draft(content=content, scope=filing.scope, tags=filing.tags, metadata={"imported_from": "Claude"})
            yield Item(where=name, at=at, size=len(content), draft=draft)
