"""Transcripts that coding agents write, one JSON object per line: their messages, under their own ids. Pure.

Here: from the lines of each program to `TranscriptMessage`, and which branch of a conversation is the last. Not here:
where the files are and how far they have been read (`servers.hooks`), how messages are stored (`engine.conversations`).

An edited question or an answer made again starts a branch. Every reader of such a form follows the last branch. A file
may lack a message that another one names, because a line is damaged or an export is cut. The message before it in the
file takes its place, so that nothing else is lost.

Claude Code: ~/.claude/projects/FOLDER/SESSION.jsonl, and SESSION/subagents/ for its subagents. Each line has an id of
its own, `uuid`, and names the line before it, `parentUuid`. An answer is written as one line per block, so its text and
its tool calls are lines apart. A user who goes back and asks otherwise starts a branch. A session that is resumed or
branched off may begin with copies of another session's lines: a copy has the `uuid` of its original, or names it as
`forkedFrom`. After a compaction `parentUuid` is null and `logicalParentUuid` names the line before. The form may change
without notice (github.com/anthropics/claude-code/issues/323), so nothing that is missing is an error.

Codex: ~/.codex/sessions/YYYY/MM/DD/rollout-TIME-SESSION.jsonl, lines of `{timestamp, type, payload}`. A turn begins
with `task_started` and ends with `task_complete`, which has the answer; both have the turn's id, which hooks get too
(codex-rs/hooks/schema/generated in github.com/openai/codex). The user's messages come between them, as `user_message`,
or in later versions as `item_completed` of a `UserMessage`. What goes to the model (`response_item`) also holds
instructions and the environment, and has no ids.

Cursor: ~/.cursor/projects/FOLDER/agent-transcripts/ID/ID.jsonl, lines of `{role, message}`. They have neither ids nor
times, and lines are only added. So a message's id is the number of its line and a digest of its text: where a user goes
back and asks otherwise, the line has another id.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, Literal

from ..model.frozen import frozen
from .json_pieces import parsed

Role = Literal["user", "assistant"]

_UNKEPT: Final = re.compile(r"[\x00\ud800-\udfff]")
"""Characters that no store can keep: NUL, and halves of surrogate pairs that a program cut apart."""
_TAG: Final = re.compile(r"<(/?)([a-z_-]++)>")


@frozen
class TranscriptMessage:
    """One message of a transcript. Its id is the transcript's own, and the same whenever the file is read again."""

    id: str
    role: Role
    content: str
    time: datetime | None = None


def json_object(line: str | bytes) -> Mapping[str, Any]:
    """The object on a line. Raises ValueError for anything else, such as a line that isn't written to its end."""
    try:
        value = parsed(line if isinstance(line, str) else line.decode())
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def text_of(content: object, kinds: tuple[str, ...] = ("text",)) -> str:
    """The text of a message: a string, or the blocks of these kinds. Images, thoughts and tool calls are left out."""
    if isinstance(content, str):
        return cleaned(content)
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") in kinds]
    return cleaned("\n\n".join(text for text in texts if isinstance(text, str)))


def cleaned(text: str) -> str:
    """The text as a store can keep it, without the space around it."""
    return _UNKEPT.sub("\ufffd", text).strip()


def without_elements(text: str, is_added: Callable[[str], bool]) -> str:
    """The text without the elements that a program added, from `<name>` to the first `</name>` after it. A tag that
    nothing closes is text. The time is linear, however many tags there are."""
    tags = [tag for tag in _TAG.finditer(text) if is_added(tag[2])]
    closing: dict[str, list[int]] = {}  # where the elements of a name end, the last one first
    for tag in reversed(tags):
        if tag[1]:
            closing.setdefault(tag[2], []).append(tag.end())
    parts, end = [], 0
    for tag in tags:
        ends = closing.get(tag[2], [])
        while ends and ends[-1] <= tag.end():
            ends.pop()
        if ends and not tag[1] and tag.start() >= end:
            parts.append(text[end : tag.start()])
            end = ends[-1]
    return "".join([*parts, text[end:]])


def elements(text: str, name: str) -> Iterator[str]:
    """The text in each `<name>`, up to the first `</name>` after it."""
    opening, closing = f"<{name}>", f"</{name}>"
    start = text.find(opening)
    while start >= 0 and (end := text.find(closing, start + len(opening))) >= 0:
        yield text[start + len(opening) : end]
        start = text.find(opening, end + len(closing))


def time_of(value: object) -> datetime | None:
    """A time such as 2026-03-02T09:15:00.123Z, None if it isn't one. A time without a zone is UTC."""
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def within(value: object, name: str) -> Mapping[str, Any]:
    """The object under a name, empty where there is none."""
    item = value.get(name) if isinstance(value, Mapping) else None
    return item if isinstance(item, dict) else {}


LEFT: Final = "messages of branches that were left"
"""The name that readers give to the messages that are not on the way."""

Parents = Mapping[str, str | None]
"""The id of the message before each message, in the order of the file; None for a first message."""


def mended(references: Parents, is_root: Callable[[str], bool] = lambda parent: False) -> dict[str, str | None]:
    """The same with a message of the file for each parent that the file doesn't have, unless `is_root` says that the
    name stands for the beginning."""
    parents: dict[str, str | None] = {}
    before: str | None = None
    for id, parent in references.items():
        is_there = parent is None or (parent in references and parent != id)
        parents[id] = parent if is_there else None if is_root(parent or "") else before
        before = id
    return parents


def way_to(parents: Parents, leaf: str | None) -> list[str]:
    """The ids from the first message to `leaf`. Messages that name each other in a circle count once."""
    ids: dict[str, None] = {}
    while leaf is not None and leaf not in ids:
        ids[leaf] = None
        leaf = parents.get(leaf)
    return list(ids)[::-1]


def last_leaf(parents: Parents, times: Mapping[str, float], among: Collection[str]) -> str | None:
    """The latest of some messages that no other one follows; of those without a time the last one in the file."""
    followed = set(parents.values())
    leaves = [id for id in among if id not in followed] or list(among)
    place = {id: number for number, id in enumerate(parents)}
    return max(leaves, key=lambda id: (times.get(id, 0.0), place[id]), default=None)


def abandoned_ids(
    parents: Parents, path_ids: Collection[str], prompts: Collection[str], ids: Iterable[str]
) -> set[str]:
    """The ids that hang on the way only by a prompt that the user went back from.

    What a program writes beside an answer, such as a summary of its hooks, branches off too, and no user left that.
    """
    verdicts: dict[str, bool] = dict.fromkeys(path_ids, False)
    for id in ids:
        passed: list[str] = []
        at: str | None = id
        while at is not None and at not in verdicts:
            passed.append(at)
            verdicts[at] = at in prompts
            at = None if verdicts[at] else parents.get(at)
        was_left = verdicts[at] if at is not None else bool(passed) and verdicts[passed[-1]]
        verdicts |= dict.fromkeys(passed, was_left)
    return {id for id in ids if verdicts[id]}


_NOT_SAID: Final = (
    "<local-command-",
    "<command-name>",
    "<command-message>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
    "<user-memory-input>",
    "Caveat: The messages below were generated by the user while running local commands.",
    "[Request interrupted by user",
)
"""How messages begin that the program writes in the user's name."""
_SYNTHETIC: Final = "<synthetic>"
"""The model of what the program says in the assistant's name, such as an error of the API."""


@frozen
class ClaudeEntry:
    """A line with an id: where it hangs, and what was said in it, if anything was.

    `session` and `folder` are where it was said: the session's id and the working directory. `origin` is the session
    that a copied line is from. `is_first` says that the line begins a conversation: a prompt whose parent is null.
    `kind` tells tool calls and their results from notices of the program, where nothing was said.
    """

    id: str
    parent: str | None
    message: TranscriptMessage | None
    session: str | None = None
    folder: str | None = None
    origin: str | None = None
    is_sidechain: bool = False
    is_first: bool = False
    kind: Literal["tool", "notice"] = "notice"


def claude_entry(line: str | bytes) -> ClaudeEntry | None:
    """The entry of a line; None for a line without an id, such as a title or a copy of a file.

    Raises ValueError for what is no JSON object.
    """
    value = json_object(line)
    id = value.get("uuid")
    if not isinstance(id, str) or not id:
        return None
    parent = value.get("parentUuid") or value.get("logicalParentUuid")
    origin = within(value, "forkedFrom")
    message = _claude_message(_text_or_none(origin.get("messageUuid")) or id, value)
    return ClaudeEntry(
        id=id,
        parent=parent if isinstance(parent, str) else None,
        message=message,
        session=_text_or_none(value.get("sessionId")),
        folder=_text_or_none(value.get("cwd")),
        origin=_text_or_none(origin.get("sessionId")),
        is_sidechain=bool(value.get("isSidechain")),
        is_first=parent is None and "parentUuid" in value and message is not None and message.role == "user",
        kind="tool" if _is_tool(within(value, "message").get("content")) else "notice",
    )


@dataclass(slots=True)
class ClaudeTree:
    """How the lines of a transcript hang together, without their texts: which ones the last line follows from.

    An id counts once, where it comes first: a session that was resumed or branched off may repeat lines.
    """

    _parents: dict[str, str | None] = field(default_factory=dict)
    _messages: dict[str, bool] = field(default_factory=dict)
    """The lines in which something was said, and whether it was the user who said it."""
    _subagents: set[str] = field(default_factory=set)
    _last: str | None = None

    def add(self, entry: ClaudeEntry) -> None:
        """Add the next line. A line that names no parent follows the one before it."""
        if entry.is_sidechain:
            if entry.message is not None:
                self._subagents.add(entry.id)
            return
        if entry.id in self._parents:
            return
        self._parents[entry.id] = None if entry.is_first else entry.parent or self._last or ""
        if entry.message is not None:
            self._messages[entry.id] = entry.message.role == "user"
        self._last = entry.id

    def main_line_ids(self, is_before: Callable[[str], bool] = lambda id: False) -> set[str]:
        """The ids of the lines that were said and that the user did not go back from.

        `is_before` tells whether a line comes earlier in a file that is read on from somewhere.
        """
        parents = mended(self._parents, is_before)
        leaf = next(reversed(self._messages), None)
        path = way_to(parents, leaf)
        prompts = {id for id, is_prompt in self._messages.items() if is_prompt}
        return self._messages.keys() - abandoned_ids(parents, set(path), prompts, self._messages)

    def left_out(self, ids: set[str]) -> dict[str, int]:
        """How many messages there are beside those, by what they are."""
        return {LEFT: len(self._messages) - len(ids), "messages of subagents": len(self._subagents)}


def _claude_message(id: str, value: Any) -> TranscriptMessage | None:
    role: Role | None = {"user": "user", "assistant": "assistant"}.get(value.get("type"))  # type: ignore[assignment]
    message = within(value, "message")
    if role is None or any(value.get(mark) for mark in ("isMeta", "isCompactSummary", "isApiErrorMessage")):
        return None
    if message.get("model") == _SYNTHETIC:
        return None
    text = text_of(message.get("content"))
    if role == "user":
        text = without_elements(text, _is_added_by_claude).strip()
    if not text or text.startswith(_NOT_SAID):
        return None
    return TranscriptMessage(id=id, role=role, content=text, time=time_of(value.get("timestamp")))


def _is_added_by_claude(name: str) -> bool:
    """Whether the program puts elements of this name into a user's message: reminders, the file that is open."""
    return name == "system-reminder" or (name.startswith("ide_") and len(name) > len("ide_") and "-" not in name)


def _is_tool(content: object) -> bool:
    kinds = ("tool_use", "tool_result")
    return isinstance(content, list) and any(isinstance(b, dict) and b.get("type") in kinds for b in content)


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def codex_prompt_id(turn: str, number: int = 1) -> str:
    """The id of a turn's first, second, ... message of the user."""
    return f"{turn}:user" if number == 1 else f"{turn}:user:{number}"


def codex_answer_id(turn: str) -> str:
    """The id of a turn's answer."""
    return f"{turn}:assistant"


@dataclass(slots=True)
class CodexTurn:
    """The turn that the lines are in. `begins_at` is the number of its first line: reading may resume there."""

    id: str | None = None
    begins_at: int = 0
    prompts: int = 0
    last: str = ""


def codex_messages(lines: Iterable[tuple[int, str | bytes]], turn: CodexTurn) -> Iterator[TranscriptMessage]:
    """The messages in some numbered lines, which begin where a turn does; `turn` is kept up. Lines of no JSON object
    are passed over, and so is what belongs to no turn."""
    for number, line in lines:
        try:
            value = json_object(line)
        except ValueError:
            continue
        payload = within(value, "payload")
        turn_id = payload.get("turn_id")
        if isinstance(turn_id, str) and turn_id and turn_id != turn.id and payload.get("type") != "task_complete":
            turn.id, turn.begins_at, turn.prompts, turn.last = turn_id, number, 0, ""
        if turn.id is not None and value.get("type") == "event_msg":
            yield from _event_messages(payload, turn, value.get("timestamp"))


def _event_messages(payload: Mapping[str, Any], turn: CodexTurn, timestamp: object) -> Iterator[TranscriptMessage]:
    time = time_of(timestamp)
    text = _question(payload)
    if text and text != turn.last and turn.id is not None:  # a version may write both forms of one message
        turn.prompts, turn.last = turn.prompts + 1, text
        yield TranscriptMessage(id=codex_prompt_id(turn.id, turn.prompts), role="user", content=text, time=time)
    if payload.get("type") == "task_complete":
        answer, id = payload.get("last_agent_message"), payload.get("turn_id") or turn.id
        if isinstance(answer, str) and isinstance(id, str) and cleaned(answer):
            yield TranscriptMessage(id=codex_answer_id(id), role="assistant", content=cleaned(answer), time=time)


def _question(payload: Mapping[str, Any]) -> str:
    if payload.get("type") == "user_message":
        return text_of(payload.get("message"))
    item = within(payload, "item")
    if payload.get("type") == "item_completed" and item.get("type") == "UserMessage":
        return text_of(item.get("content"), ("text", "Text"))
    return ""


_REDACTED: Final = "[REDACTED]"
"""The mark in an answer that stands for what the model thought."""


def cursor_messages(lines: Iterable[tuple[int, str | bytes]]) -> Iterator[TranscriptMessage]:
    """The messages in some numbered lines. Lines of no JSON object are passed over."""
    for number, line in lines:
        try:
            value = json_object(line)
        except ValueError:
            continue
        roles: dict[object, Role] = {"user": "user", "assistant": "assistant"}
        role = roles.get(value.get("role"))
        text = text_of(within(value, "message").get("content"))
        text = _prompt(text) if role == "user" else text.replace(_REDACTED, "").strip()
        if role is not None and text:
            yield TranscriptMessage(id=f"{number}-{cursor_digest(text)}", role=role, content=text)


def cursor_digest(text: str) -> str:
    """Enough of a digest to tell the messages of one conversation apart."""
    return sha256(text.encode()).hexdigest()[:16]


def _prompt(text: str) -> str:
    """The text that the user typed: the editor wraps it in tags, and adds others beside it."""
    queries = list(elements(text, "user_query"))
    return "\n\n".join(queries).strip() if queries else without_elements(text, _is_added_by_cursor).strip()


def _is_added_by_cursor(name: str) -> bool:
    """Whether the editor puts elements of this name beside what the user typed."""
    return name in ("timestamp", "system_reminder") or (name.endswith(("files", "context")) and "-" not in name)
