"""ChatGPT's export: `conversations.json`, since 2026 also `conversations-000.json`, `conversations-001.json` and so on.

A conversation is a tree of nodes, because an answer can be made again and a question edited. What the user sees is the
way from `current_node` up to the root. Hidden messages, the model's thoughts, custom instructions and the traffic with
tools are in the tree too. OpenAI publishes no schema; see github.com/danny-avila/LibreChat (discussion 15229 and issue
15388) and github.com/mitkury/chatgpt-export-parser, docs/chatgpt-data-export-format.md.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import tzinfo
from typing import Any, Final

from ....model import JsonObject
from ....rules.transcripts.said import within
from ..filing import Filing
from ..json_value import Damage, Value
from ..parts import Flaw, Part
from .chats import Chat, Wrong, flaw, place, time_of

_UNSEEN: Final = ("user_editable_context", "model_editable_context", "thoughts", "reasoning_recap")
_CITATION: Final = re.compile("\ue200[^\ue201\n]*+(\ue201?)")
"""A source's number between characters of private use, which the site shows as a link; or the start of one that its
line doesn't end, which is passed over in one step."""


def is_value(body: JsonObject) -> bool:
    return "mapping" in body and ("current_node" in body or "create_time" in body or "title" in body)


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
    for node_id, message in _path(mapping, body.get("current_node")):
        _say(chat, node_id, message, zone)
    return chat


def _path(mapping: JsonObject, leaf: Any) -> list[tuple[str, JsonObject]]:
    """The messages from the root to the node that was current, else to the one that was written last."""
    if not isinstance(leaf, str) or leaf not in mapping:
        leaf = max(mapping, key=lambda id: _number(within(mapping[id], "message").get("create_time")), default=None)
    path: list[tuple[str, JsonObject]] = []
    passed: set[str] = set()
    while isinstance(leaf, str) and leaf in mapping and leaf not in passed:
        passed.add(leaf)
        node = mapping[leaf]
        if not isinstance(node, dict):
            raise Wrong("one of its messages is not an object.")
        if message := within(node, "message"):
            path.append((leaf, dict(message)))
        leaf = node.get("parent")
    return path[::-1]


def _say(chat: Chat, node_id: str, message: JsonObject, zone: tzinfo | None) -> None:
    role = within(message, "author").get("role")
    content = within(message, "content")
    hidden = within(message, "metadata").get("is_visually_hidden_from_conversation")
    if role == "system" or hidden or content.get("content_type") in _UNSEEN:
        chat.leave_out("hidden messages")
    elif role not in ("user", "assistant") or message.get("recipient", "all") not in ("all", None):
        chat.leave_out("tool calls and their results")
    else:
        id = message.get("id")
        said = _CITATION.sub(lambda found: "" if found[1] else found[0], _text(content))
        chat.say(id if isinstance(id, str) and id else node_id, role, said, time_of(message.get("create_time"), zone))


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
