"""Whether a query asks for what was before, so that what was superseded may answer it. Pure."""

import re
from typing import Final

_WORDS: Final = (
    "prior to|back then|in the past|at first|previous|previously|former|formerly|original|originally|initial|initially"
    "|zuvor|damals"
    "|antes|originalmente|anteriormente|anterior|anteriores|antiguo|antigua|antiguos|antiguas|previo|previa|previos"
    "|previas|al principio|solía|solían"
).split("|")
_BEGINNINGS: Final = ("ursprünglich", "früher", "vorher", "ehemalig")
_JAPANESE: Final = ("以前", "元々", "もともと", "当初", "昔")
_SENTENCE_END: Final = "[.!]"
_BEFORE: Final = r"\bbefore\b"
_HAPPENED: Final = r"\b(?:was|were|did|had)\b|(?<!\bbe )(?<!\bis )(?<!\bare )\b(?!\w*eed\b|embed\b)\w\w+ed\b"
_PATTERNS: Final = {
    "used to": r"(?<!\bbe )(?<!\bis )(?<!\bare )\bused to\b",
    " old": r"\b(?:the|my|your|his|her|its|our|their|\w+['\u2019]s) old\b",
    **{words: rf"\b{words}\b" for words in _WORDS},
    **{beginning: rf"\b{beginning}" for beginning in _BEGINNINGS},
    **{word: word for word in _JAPANESE},
}
"""By what every match says, in lower case: looking for that first takes a tenth of the time. An expression is compiled
when it is first needed."""


def asks_for_past(query: str) -> bool:
    """Whether its words ask for what no longer holds, in English, German, Spanish or Japanese."""
    lowered = query.lower()
    if "before" in lowered and any(map(_asks_before, re.split(_SENTENCE_END, lowered))):
        return True
    return any(said in lowered and re.search(pattern, lowered) for said, pattern in _PATTERNS.items())


def _asks_before(sentence: str) -> bool:
    """ "where did Ana live before Porto?", but not "what must I check before I deploy?" """
    last = max((found.start() for found in re.finditer(_BEFORE, sentence)), default=0)
    return last > 0 and re.search(_HAPPENED, sentence[:last]) is not None
