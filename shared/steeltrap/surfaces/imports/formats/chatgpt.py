"""ChatGPT's export: `conversations.json`, since 2026 also `conversations-000.json`, `conversations-001.json` and so on.

A conversation is a tree of nodes, because an answer can be made again and a question edited. What the user sees is the
way from `current_node` up to the root. Hidden messages, the model's thoughts, custom instructions and the traffic with
tools are in the tree too. OpenAI publishes no schema; see github.com/danny-avila/LibreChat (discussion 15229 and issue
15388) and github.com/mitkury/chatgpt-export-parser, docs/chatgpt-data-export-format.md.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import tzinfo
from typing import Any, Final

from ....model import JsonObject
from ....text.transcripts import messages as branches
from ....text.transcripts.messages import cleaned, within
from ..filing import Filing
from ..json_value import Damage, Value
from ..parts import Flaw, Part
from .chats import Chat, Wrong, flaw, place, time_of

_UNSEEN: Final = ("user_editable_context", "model_editable_context", "thoughts", "reasoning_recap")
_CITATION: Final = re.compile("\ue200[^\ue201\n]*+(\ue201?)")
"""A source's number between characters of private use, which the site shows as a link; or the start of one that its
line doesn't end, which is passed over in one step."""


def is_value(body: JsonObject) -> bool:
    return "mapping" in body and any(key in body for key in ("current_node", "create_time", "title", "conversation_id"))


def parts(values: Iterable[Value | Damage], name: str, before: int, filing: Filing) -> Iterator[Part]:
    """A conversation per value; one that can't be read costs no other."""
    for number, value in enumerate(values, 1):
        if isinstance(value, Damage):
            yield flaw(value, name, before)
            continue
        body = value.value if isinstance(value.value, dict) else {}
        where, at = place(name, value, number, body.get("title")), before + value.at
        try:
            yield from _chat(body, filing.zone).parts("ChatGPT", filing, where, at, value.size)
        except Wrong as error:
            yield Flaw(where=where, at=at, sentence=str(error))


def _chat(body: JsonObject, zone: tzinfo | None) -> Chat:
    id = body.get("conversation_id") or body.get("id")
    mapping = body.get("mapping")
    if not isinstance(id, str) or not id:
        raise Wrong("it has no `conversation_id`.")
    if not isinstance(mapping, dict):
        raise Wrong("it has no `mapping` of its messages.")
    title = body.get("title")
    chat = Chat(id=id, title=title if isinstance(title, str) else "", began=time_of(body.get("create_time"), zone))
    messages = {id: dict(message) for id, node in mapping.items() if (message := within(node, "message"))}
    way = _way(mapping, messages, body.get("current_node"))
    for node_id in way:
        if not isinstance(mapping[node_id], dict):
            raise Wrong("one of its messages is not an object.")
        if node_id in messages:
            _say(chat, node_id, messages[node_id], zone)
    for node_id, message in messages.items():
        if node_id not in way and _unseen(message) is None and cleaned(_text(within(message, "content"))):
            chat.leave_out(branches.LEFT)
    return chat


def _way(mapping: JsonObject, messages: Mapping[str, JsonObject], leaf: Any) -> dict[str, None]:
    """The nodes from the root to the one that was current, else to the end of the branch that was written last."""
    named: dict[str, str | None] = {}
    for id, node in mapping.items():
        parent = node.get("parent") if isinstance(node, dict) else None
        named[id] = parent if isinstance(parent, str) else None
    parents = branches.mended(named)
    if not isinstance(leaf, str) or leaf not in mapping:
        times = {id: _number(message.get("create_time")) for id, message in messages.items()}
        leaf = branches.last_leaf(parents, times, messages)
    return dict.fromkeys(branches.way(parents, leaf))


def _say(chat: Chat, node_id: str, message: JsonObject, zone: tzinfo | None) -> None:
    if (unseen := _unseen(message)) is not None:
        chat.leave_out(unseen)
        return
    id, role = message.get("id"), within(message, "author")["role"]
    said = _CITATION.sub(lambda found: "" if found[1] else found[0], _text(within(message, "content")))
    chat.say(id if isinstance(id, str) and id else node_id, role, said, time_of(message.get("create_time"), zone))


def _unseen(message: JsonObject) -> str | None:
    """The name for a message that the site doesn't show; None for one that was said."""
    role = within(message, "author").get("role")
    hidden = within(message, "metadata").get("is_visually_hidden_from_conversation")
    if role == "system" or hidden or within(message, "content").get("content_type") in _UNSEEN:
        return "hidden messages"
    if role not in ("user", "assistant") or message.get("recipient", "all") not in ("all", None):
        return "tool calls and their results"
    return None


def _text(content: Any) -> str:
    """The texts among the parts: a voice message has its transcript as the `text` of a part, an image has none."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        text = content.get("text")
        return text if isinstance(text, str) else ""
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str))


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) else 0.0
