"""Stored text as Markdown: a page for reading, and one line without its marks for lists.

markdown-it-py reads it, without the text's own HTML, and nh3 admits only the elements that are listed here: no images,
only addresses of the web and of mail, and only the attributes of links and lists. A link tells nobody where it was
followed from. Text without marks stays as it is, line by line.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererProtocol
from markdown_it.token import Token
from markupsafe import Markup

MOST: Final = 16 * 1024
"""Characters of a text that is rendered. Of hostile ones, so many take about a tenth of a second."""
_TAGS: Final = frozenset(
    {"p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a"}
    | {"table", "thead", "tbody", "tr", "th", "td"}
)
_ATTRIBUTES: Final[dict[str, set[str]]] = {"a": {"href"}, "ol": {"start"}, "*": set()}
"""Those of "*" are any tag's: without it, nh3 lets titles through."""
_SCHEMES: Final = frozenset({"http", "https", "mailto"})
_REL: Final = "noopener noreferrer nofollow"
_PLAIN: Final = frozenset({"paragraph_open", "paragraph_close", "inline", "text", "softbreak"})
_MARKS: Final = frozenset("#*_`[<>|~-+=\\&")
"""Characters without one of which, or a number before a full stop, a text has no marks."""


def rendered(text: str, reveal: Callable[[str], str]) -> Markup | None:
    """A text's Markdown as HTML; None for a text without marks, and for one that is too long. `reveal` makes the hidden
    characters of HTML visible."""
    if len(text) > MOST or not _may_have_marks(text):
        return None
    parser = _parser()
    tokens = parser.parse(text)
    if _kinds(tokens) <= _PLAIN:
        return None
    html = parser.renderer.render(tokens, parser.options, {})
    clean = nh3.clean(html, tags=set(_TAGS), attributes=_ATTRIBUTES, url_schemes=set(_SCHEMES), link_rel=_REL)
    return Markup(reveal(clean))


def without_marks(text: str) -> str:
    """A text without the marks of its Markdown, for a list. A text that has none stays as it is."""
    if not _may_have_marks(text):
        return text
    tokens = _parser().parse(text)
    if _kinds(tokens) <= _PLAIN:
        return text
    return " · ".join(filter(None, map(_text_of, tokens)))


def _may_have_marks(text: str) -> bool:
    return not _MARKS.isdisjoint(text) or ". " in text or ") " in text


def _kinds(tokens: Sequence[Token]) -> set[str]:
    return {token.type for token in tokens} | {child.type for token in tokens for child in token.children or ()}


def _text_of(token: Token) -> str:
    if token.type in ("fence", "code_block"):
        return token.content.strip("\n")
    return "".join(_plain(child) for child in token.children or ())


def _plain(token: Token) -> str:
    if token.type == "image":
        return "".join(map(_plain, token.children or ()))
    return "\n" if token.type in ("softbreak", "hardbreak") else token.content


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    parser.add_render_rule("image", _image)
    # A page has its own headings: those of a text would be lost among them.
    parser.add_render_rule("heading_open", lambda *_: "<p><strong>")
    parser.add_render_rule("heading_close", lambda *_: "</strong></p>\n")
    return parser


def _image(self: RendererProtocol, tokens: Sequence[Token], at: int, *_: Any) -> str:
    """A link in the place of an image: nothing is loaded."""
    address = str(tokens[at].attrGet("src") or "")
    return f'<a href="{escapeHtml(address)}">{escapeHtml(_plain(tokens[at]) or address)}</a>'
