"""The most tokens that a text can have for a model. Pure.

`budget.estimate_tokens` says about how many there are; ids, digits and rare characters have several times as many.
"""

import re
from typing import Final

_PIECE: Final = re.compile(
    r"(?P<word>[A-Z]?[a-z]+|[A-Z]+)|(?P<digits>[0-9]+)|(?P<spaces> +)|(?P<mark>[\x00-\x7f])"
    # The letters of these scripts are a token each at most: Latin, Cyrillic, Arabic, Devanagari, kana.
    r"|(?P<letter>[\u00c0-\u00ff\u0410-\u044f\u0621-\u064a\u0905-\u0939\u093e-\u094d\u3041-\u3096\u30a1-\u30fa])"
    r"|(?P<rare>.)",
    re.DOTALL,
)


def most_tokens(text: str) -> int:
    """How many tokens a text has at most, for tokenizers like o200k, within a few percent."""
    return sum(_cost(str(piece.lastgroup), piece[0]) for piece in _PIECE.finditer(text))


def _cost(kind: str, piece: str) -> int:
    match kind:
        case "word":  # a long one is no word but code, such as base64
            return (len(piece) + 1) // 2 if len(piece) < 16 else len(piece)
        case "digits":
            return (len(piece) + 2) // 3
        case "spaces":
            return int(len(piece) > 1)
        case "rare":
            return len(piece.encode(errors="replace"))
    return 1
