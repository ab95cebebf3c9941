"""Fitting an answer into a number of tokens. Pure."""

from collections.abc import Sequence


def estimate_tokens(text: str) -> int:
    """About how many tokens a language model reads: four ASCII characters, or one other character, each."""
    plain = sum(1 for char in text if char < "\x80")
    return (plain + 3) // 4 + len(text) - plain


def fit(texts: Sequence[str], budget: int) -> int:
    """How many texts from the front fit into `budget` tokens; the first one always does."""
    used = 0
    for count, text in enumerate(texts):
        used += estimate_tokens(text)
        if count and used > budget:
            return count
    return len(texts)
