"""Whether a query asks for what was before, so that what was superseded may answer it. Pure."""

import re
from typing import Final

_PAST: Final = re.compile(
    # English: "where did Ana live before Porto?", but not "what must I check before I deploy?"
    r"(?:\b(?:was|were|did|had)\b|(?<!\bbe )(?<!\bis )(?<!\bare )\b(?!\w*eed\b|embed\b)\w\w+ed\b)[^.!]*\bbefore\b"
    r"|(?<!\bbe )(?<!\bis )(?<!\bare )\bused to\b|\bprior to\b|\bback then\b|\bin the past\b|\bat first\b"
    r"|\b(?:previous|former|original|initial)(?:ly)?\b|\b(?:the|my|your|his|her|its|our|their|\w+['\u2019]s) old\b"
    # German, Spanish, Japanese
    r"|\b(?:ursprünglich|früher|vorher|ehemalig|vorherig)\w*|\b(?:zuvor|damals)\b"
    r"|\b(?:antes|originalmente|anteriormente|anterior(?:es)?|antigu[oa]s?|previ[oa]s?|al principio|solían?)\b"
    r"|以前|元々|もともと|当初|昔",
    re.IGNORECASE,
)


def asks_for_past(query: str) -> bool:
    """Whether its words ask for what no longer holds, in English, German, Spanish or Japanese."""
    return _PAST.search(query) is not None
