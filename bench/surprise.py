"""Surprise: over real conversations, and over what was said before in other words."""

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean, quantiles
from tempfile import TemporaryDirectory
from typing import Any, Final

from steeltrap.cli.session import CliSession, opened, say, write_json
from steeltrap.cli.terminal import progress_bar
from steeltrap.model import Caller, UserRef
from steeltrap.ranking.novelty import KEY_MOMENT, SURPRISE_OF_THE_FAMILIAR

from .locomo import memories, read
from .paraphrases import PARAPHRASES

_APART: Final = (0, 10, 50, 100, 200, 400, 800)
_TOGETHER: Final = (800, 1_600, 3_200, 6_400)
"""Sizes that only all conversations in one space reach."""


def measure(path: Path, most: int | None = None) -> dict[str, Any]:
    """The distributions by name. Raises NotFound or InvalidInput for a file that isn't LoCoMo."""
    spoken = [[draft.content for draft in memories(one["conversation"]).values()] for one in read(path)[:most]]
    unnamed = [[text.partition(": ")[2] or text for text in texts] for texts in spoken]
    firsts = [first for first, _ in PARAPHRASES]
    said_again = {"in other words": [second for _, second in PARAPHRASES]}
    for how in REWORDINGS:
        said_again[how] = [reworded(first, how) for first in firsts]
    with TemporaryDirectory(prefix="steeltrap-bench-") as folder, opened(data=Path(folder)) as own:
        apart = _apart(own, "speaker: text", spoken)
        together = _saved(own, "together", [turn for turns in spoken for turn in turns])
        without_names = _apart(own, "text", unnamed)
        again = {how: _saved(own, how, firsts + texts)[len(firsts) :] for how, texts in said_again.items()}
    rewordings = {
        how: [value for value, first, text in zip(values, firsts, said_again[how], strict=True) if text != first]
        for how, values in again.items()
    }
    return {
        "turns": {
            "LoCoMo, one space per conversation": _distribution([value for turns in apart for value in turns]),
            "LoCoMo, all in one space": _distribution(together),
            "LoCoMo, without speakers' names": _distribution([value for turns in without_names for value in turns]),
        },
        "said_again": {how: _distribution(values) for how, values in rewordings.items()},
        "turns_by_memories_stored": _by_size(apart, _APART) | _by_size([together], _TOGETHER),
    }


def show(figures: Mapping[str, Any], as_json: bool) -> None:
    """JSON for programs, tables in Markdown for people."""
    if as_json:
        return write_json(dict(figures))
    _print_table("surprise of", figures["turns"] | figures["said_again"])
    say("")
    _print_table("LoCoMo, by memories stored before", figures["turns_by_memories_stored"])
    return None


def _print_table(title: str, rows: Mapping[str, Mapping[str, Any]]) -> None:
    deciles = [f"{10 * n}%" for n in range(1, 10)]
    head = [title, "texts", f"{KEY_MOMENT} or more", f"under {SURPRISE_OF_THE_FAMILIAR}", *deciles]
    say(f"| {' | '.join(head)} |")
    say("|---" + "|--:" * (len(head) - 1) + "|")
    for name, row in rows.items():
        cells = [name, f"{row['texts']:,}", f"{row['key_moments']}%", f"{row['familiar']}%"]
        say(f"| {' | '.join([*cells, *(f'{value:.2f}' for value in row['deciles'])])} |")


def _apart(own: CliSession, user: str, spoken: Sequence[Sequence[str]]) -> list[list[float]]:
    """The surprise of each turn, every conversation in a space of its own."""
    values: list[list[float]] = []
    with progress_bar(f"LoCoMo, {user}", len(spoken)) as advance:
        for number, turns in enumerate(spoken, 1):
            values.append(_saved(own, f"{user} {number}", turns))
            advance(number, sum(map(len, values)))
    return values


def _saved(own: CliSession, user: str, texts: Sequence[str]) -> list[float]:
    """The surprise of each text, saved in this order into the user's own space."""
    by_user = replace(own, caller=Caller(UserRef(user), "default"))
    return [by_user.ask("core.save", content=text)["surprise"] for text in texts]


def _by_size(spaces: Sequence[Sequence[float]], bounds: Sequence[int]) -> dict[str, dict[str, Any]]:
    parts = {
        f"{low:,} to {high - 1:,}": [value for space in spaces for value in space[low:high]]
        for low, high in pairwise(bounds)
    }
    return {size: _distribution(values) for size, values in parts.items() if values}


def _distribution(values: Sequence[float]) -> dict[str, Any]:
    """How many, the percentages of key moments and of the familiar, and the nine deciles."""
    deciles = quantiles(values, n=10, method="inclusive") if len(values) > 1 else [*values] * 9
    return {
        "texts": len(values),
        "key_moments": _percent(value >= KEY_MOMENT for value in values),
        "familiar": _percent(value < SURPRISE_OF_THE_FAMILIAR for value in values),
        "deciles": [round(value, 4) for value in deciles],
    }


def _percent(flags: Iterable[bool]) -> float:
    return round(100 * fmean(flags), 1)


# The same text again, reordered or with a small edit: the same at every run.

_OTHER_WORDS: Final = "table river green seven quickly Peter under machine winter write".split()
_LONG_WORD: Final = re.compile(r"\w{4,}")
_PUNCTUATION: Final = re.compile(r"[^\w\s]")


def _reordered(text: str, chance: random.Random) -> str:
    words = text.split()
    chance.shuffle(words)
    return " ".join(words)


def _a_word_changed(text: str, chance: random.Random) -> str:
    words = text.split()
    if len(words) > 1:  # Japanese has no spaces: its one word would be the whole text
        words[chance.randrange(len(words))] = chance.choice(_OTHER_WORDS)
    return " ".join(words)


def _a_word_left_out(text: str, chance: random.Random) -> str:
    words = text.split()
    if len(words) > 1:
        del words[chance.randrange(len(words))]
    return " ".join(words)


def _a_typo(text: str, chance: random.Random) -> str:
    word = chance.choice(list(_LONG_WORD.finditer(text)))
    at = chance.randrange(word.start(), word.end() - 1)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


REWORDINGS: Final[Mapping[str, Callable[[str, random.Random], str]]] = {
    "words reordered": _reordered,
    "a word changed": _a_word_changed,
    "a word left out": _a_word_left_out,
    "a typo": _a_typo,
    "no punctuation": lambda text, chance: _PUNCTUATION.sub("", text),
    "in lower case": lambda text, chance: text.lower(),
    "in capitals": lambda text, chance: text.upper(),
}
"""The rewordings of a text, by name. A typo swaps two letters of a word of four or more."""


def reworded(text: str, how: str) -> str:
    """The text with one of `REWORDINGS` done to it; the text itself where that changes nothing."""
    return REWORDINGS[how](text, random.Random(f"{how}/{text}"))
