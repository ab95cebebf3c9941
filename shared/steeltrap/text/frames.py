"""Marks by which clients and chat templates tell stored text from their own: `</system-reminder>`, `<|im_end|>`,
`[INST]`. The first character of each is escaped, so that no memory can end a frame or open one. Pure.

A mark counts in whatever way it is written: in look-alike letters, in any width and case, with invisible characters in
it, as HTML entities. Other text stays as it is: code, HTML, `a < b`.
"""

import re
from functools import lru_cache
from typing import Final
from unicodedata import category, combining, normalize

from .patterns import lazy_pattern

_ANGLES: Final = "<\u02c2\u1438\u2039\u226e\u2329\u276c\u276e\u27e8\u3008\ufe64\uff1c\U000e003c"
_SQUARES: Final = "[\u2045\u27e6\ufe5d\uff3b\U000e005b"
_ENDS: Final = ">\u02c3\u1433\u203a\u232a\u276d\u276f\u27e9\u3009\ufe65\uff1e"
_BARS: Final = "|\u00a6\u01c0\u05c0\u2223\u2502\u2503\u2758\u2759\u275a\uff5c\uffe8"
_SLASHES: Final = "/\\\u2044\u2215\u2571\u29f5\u29f8\uff0f\uff3c"
_JOINTS: Final = (
    "_-:.\u2010\u2011\u2012\u2013\u2014\u2015\u203f\u2043\u2212\u2581\ufe4d\ufe4e\ufe4f\ufe58\ufe63\uff0d\uff3f"
)
_INVISIBLE: Final = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and signs without ink; other invisible characters are known by their category."""
_TAGS: Final = 0xE0000
"""Where Unicode has an invisible copy of ASCII, which models read."""

_STARTS: Final = re.escape(_ANGLES + _SQUARES) + "&"
_START: Final = lazy_pattern(f"[{_STARTS}][^{_STARTS}]++")
"""A possible beginning of a mark, up to the next: so each character is looked at once, whatever a text holds."""
_ENTITY: Final = lazy_pattern(r"&(?:lt|lbrack|lsqb|#0*(?:60|91)|#x0*(?:3c|5b));?", re.IGNORECASE)
_END_ENTITY: Final = lazy_pattern(r"&(?:gt|#0*62|#x0*3e)(?![a-z0-9])", re.IGNORECASE)
_LONGEST: Final = 64
"""Letters of a mark that are looked at."""

# What letters of other alphabets, small capitals and digits look like. Widths and styles are undone by NFKD.
_LIKE: Final = {
    **{"a": "аɑαᴀ4", "b": "вьʙ", "c": "сϲᴄ", "d": "ԁᴅ", "e": "еєҽεᴇ3", "f": "ƒꜰ", "g": "ɡցɢ", "h": "һнʜ"},
    **{"i": "іιıɪ", "j": "јϳᴊ", "k": "кκᴋ", "l": "ӏʟ1", "m": "мᴍ", "n": "пոηɴ", "o": "оοօσᴏ0", "p": "рρᴘ"},
    **{"q": "ԛ", "r": "гʀᴦ", "s": "ѕꜱ5", "t": "тτᴛ", "u": "υսᴜ", "v": "νѵᴠ", "w": "ԝѡωᴡ", "x": "хχ", "y": "уγүʏ"},
    "z": "ᴢζ",
}  # fmt: skip
_LATIN: Final = {like: letter for letter, likes in _LIKE.items() for like in likes}

_BEGINNINGS: Final = (
    *("memor", "system", "assistant", "antml", "function_call", "function_result", "tool_call", "tool_result"),
    *("tool_use", "tool_response", "user_query", "user_prompt", "user_message", "user_input", "user_info", "user_rule"),
    *("user_instruction", "user_request", "start_of", "end_of", "begin_of", "im_start", "im_end", "additional_data"),
    *("environment_context", "environment_details", "local_command", "persisted_output"),
)
"""How names of tags begin that are a client's, a prompt's or a template's, whether their words are joined or not."""
_NAMES: Final = frozenset(
    "s sys inst bos eos unk pad sep cls mask sop eop human user ai bot model agent developer role tool tools function "
    "functions invoke parameters result results think thinking thought thoughts reasoning reflection scratchpad "
    "analysis answer response request query prompt context instruction instructions directive directives rule rules "
    "policy reminder message messages conversation history session turn channel env environment timestamp document "
    "documents doc docs source sources example examples observation feedback task persona guidelines important "
    "untrusted trusted admin artifact".split()
)
"""Names of one word."""
_WORDS: Final = frozenset(
    "system sys user assistant human ai bot model agent developer tool tools function functions call calls "
    "invoke result results response thinking think reasoning reminder prompt prompts query context instruction "
    "instructions message messages memory memories turn conversation history session environment env hook "
    "command stdout stderr document documents doc file files folder workspace project rules policy task "
    "notification info reply transcript inst im header channel bash input output stdin git status text "
    "sentence eot eom fim token reserved sep start end begin attached cursor editor ide selection linter "
    "errors todo plan mode skill skills mcp claude codex gpt llama gemini mistral".split()
)
"""Words of longer names, such as `open_files` and `user-prompt-submit-hook`."""
_BRACKETED: Final = frozenset(
    "inst sys cls gmask smask tool_calls tool_results tool_content available_tools system_prompt model_settings "
    "img_break img_end call_id begin_audio".split()
)
_CAPITALS: Final = frozenset(
    "system user assistant sep mask unk pad bos eos img audio think args prefix suffix middle".split()
)
"""Words that are marks in capitals: `[THINK]`. In small letters they are words, as in `[user](https://...)`."""


def without_marks(text: str) -> str:
    """The text with the first character of each mark escaped, such as `&lt;/system-reminder>`. In linear time."""
    return _START.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    part = match[0]
    first, rest = part[0], part[1:]
    if entity := _ENTITY.match(part):
        rest = part[entity.end() :]
        first = "[" if entity[0].rstrip(";").lower().endswith(("b", "91")) else "<"
    elif first == "&":
        return part
    after = ">" if _END_ENTITY.match(match.string, match.end()) else ""
    look = _look_of(rest) + after
    if first in _ANGLES:
        before = match.string[match.start() - 1 : match.start()]
        is_mark = _is_tag(look, is_type=before.isascii() and (before.isalnum() or before == "_"))
    else:
        is_mark = _is_bracketed(look, rest.partition("]")[0])
    if not is_mark:
        return part
    return ("&amp;" if entity else "&lt;" if first in _ANGLES else "&#91;") + part[1:]


def _is_tag(look: str, *, is_type: bool) -> bool:
    """Whether `<` and this begin a mark: a bar, or a name that isn't the other side of a comparison.

    `is_type` says that a name stands before it, as in `Promise<Response>`.
    """
    lead, name, rest = _parts(look)
    if "|" in lead:
        return True
    is_spaced, is_closing, is_ended = " " in lead, "/" in lead, rest.lstrip(" /|").startswith(">")
    if is_spaced and not (is_closing or is_ended):
        return False
    joined = name.replace("_", "")
    if joined.startswith("memor"):
        return True
    if not is_ended and rest[:1] not in ("", " ", "|"):
        return False
    if joined.startswith(_JOINED):
        return True
    if "_" in name:
        return not _WORDS.isdisjoint(name.split("_"))
    return joined in _NAMES and (is_closing or (not is_type and (is_ended or ">" in rest)))


def _is_bracketed(look: str, original: str) -> bool:
    """Whether `[` and this are a mark, such as `[/INST]`: a name, and its bracket."""
    _, name, rest = _parts(look)
    joined = name.replace("_", "")
    is_name = joined in _JOINED_BRACKETED or (joined in _CAPITALS and not any(map(str.islower, original)))
    return is_name and rest.lstrip(" ").startswith("]")


_JOINED: Final = tuple(each.replace("_", "") for each in _BEGINNINGS)
_JOINED_BRACKETED: Final = frozenset(each.replace("_", "") for each in _BRACKETED)
_SPLIT: Final = lazy_pattern(r"([\W_]*+)([\w]*+)")


def _parts(look: str) -> tuple[str, str, str]:
    """The part before a name, the name, and what follows it."""
    parts = _SPLIT.match(look)
    assert parts is not None
    return parts[1], parts[2].rstrip("_"), look[parts.end() :]


def _look_of(text: str) -> str:
    """The first letters of a text and the signs between them, as they look."""
    looks: list[str] = []
    letters = 0
    for char in text:
        look = _look_of_character(char)
        looks.append(look)
        letters += look.isalnum()
        if letters == _LONGEST:
            break
    return "".join(looks)


@lru_cache(maxsize=4096)
def _look_of_character(char: str) -> str:
    """The look of a character: Latin in lower case, `_` for what joins words, nothing if it is invisible."""
    if _TAGS + 0x20 <= ord(char) <= _TAGS + 0x7E:
        char = chr(ord(char) - _TAGS)
    for kind, mark in ((_BARS, "|"), (_ENDS, ">"), (_SLASHES, "/"), (_JOINTS, "_"), ("]\uff3d", "]")):
        if char in kind:
            return mark
    if char.isspace():
        return " "
    if char in _INVISIBLE or category(char) in ("Cc", "Cf", "Mn", "Me"):
        return ""
    plain = "".join(each for each in normalize("NFKD", char).casefold() if not combining(each))
    return "".join(_LATIN.get(each, each) for each in plain)


def one_line(text: str) -> str:
    """Text without line breaks and marks of frames, so that what is stored can't forge a heading or an item, or end
    what a client puts around the answer.

    Each line break (as `str.splitlines` defines it), with the white space around it, becomes one space. The rest is
    unchanged.
    """
    lines = text.splitlines()
    return without_marks(text if lines == [text] else " ".join(line.strip() for line in lines if line.strip()))


EXCERPT: Final = 200
"""Characters of a memory where one line shows it."""


def excerpt(text: str) -> str:
    """The beginning of a text on one line, with `…` where it goes on."""
    line = one_line(text)
    return line if len(line) <= EXCERPT else f"{line[: EXCERPT - 1].rstrip()}…"
