"""How near texts lie that have nothing to do with each other: the zero of an embedder's scale.

Some models crowd every cosine between 0.7 and 1, others spread them from 0. Search and surprise measure
from this level, so that a weight tuned with one model holds with the next.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Final

from ...errors import Unavailable
from ...model import Embedding
from .vectors import cosine

WORDLLAMA_UNRELATED: Final = 0.07
"""The median between questions about real conversations and turns picked at random from them. Short texts of
far subjects, as below, lie lower (0.02), two turns of chat higher (0.14)."""

CALIBRATION_TEXTS: Final = (
    "The user can't eat shellfish since an allergic reaction ten years ago.",
    "The nightly backup fails because the disk of the database server is full.",
    "Maria: I'm so excited, my sister's wedding will be in a vineyard near Porto!",
    "User wants tabs, not spaces, in every Makefile of the project.",
    "Tom: We climbed the ridge before sunrise and saw two eagles above the glacier.",
    "The landlord is called Mr. Okafor and wants the rent on the third of the month.",
    "What did my grandfather do for a living?",
    "The quarterly report shows that sales in Canada fell by four percent.",
    "Aisha: My cat sleeps on the printer whenever the heating is off, it's so funny.",
    "The user prefers historical novels, above all those about the silk road.",
    "Ben: Did you hear that the goalkeeper broke his wrist in the cup final?",
    "A vaccination against tetanus should be refreshed every ten years.",
    "User's flight to Nairobi leaves on Friday at 6:40 and she likes window seats.",
    "How do I renew the certificate of the staging cluster?",
    "Priya: I've started to play the clarinet again, my teacher is really patient.",
    "The user's tomatoes want six hours of sun and a stake to climb on.",
    "The team decided to charge customers by the seat instead of by the month.",
    "Knead the dough for ten minutes and let it rise until it has doubled.",
    "El usuario cambia los frenos de la furgoneta azul el martes.",
    "Lucía: La profesora de baile vive encima de la panadería.",
    "Los delfines duermen con medio cerebro despierto.",
    "会議の資料は金曜日までに田中さんへ送ってください。",
    "祖母の家の庭には大きな柿の木があります。",
    "ユーザーは薬を食後に一日三回飲みます。",
)
"""Memories, turns and questions as agents keep them, each of a subject of its own."""

HIGHEST: Final = 0.99
"""Above it too little of the scale would be left to divide by."""


class Calibration:
    """What is learned about a model at first use: its vectors' size and its level of unrelated texts.

    Both can be given, `dimension` 0 and `unrelated` None ask the model. Learning twice at the same time
    is harmless: both learn the same.
    """

    def __init__(self, *, dimension: int = 0, unrelated: float | None = None) -> None:
        self.dimension = dimension
        self.unrelated = unrelated

    def probes(self) -> tuple[str, ...]:
        """The texts that still have to be embedded, as documents, before both are known."""
        if self.unrelated is None:
            return CALIBRATION_TEXTS
        return () if self.dimension else CALIBRATION_TEXTS[:1]

    def learn(self, vectors: Sequence[Embedding]) -> None:
        """Take in the vectors of `probes()`."""
        self.check(vectors)
        if self.unrelated is None:
            self.unrelated = unrelated_level(vectors)

    def check(self, vectors: Sequence[Embedding]) -> None:
        """Raises Unavailable when a vector isn't of the size given, or of that of the first one seen."""
        for vector in vectors:
            self.dimension = self.dimension or len(vector) // 4
            if len(vector) != 4 * self.dimension:
                raise Unavailable(
                    f"The embedding model answers {len(vector) // 4} numbers a text, not {self.dimension}: "
                    "check RECOLLECT_EMBEDDER_MODEL and RECOLLECT_EMBEDDER_DIMENSION.",
                    part="embedder",
                )


def unrelated_level(vectors: Sequence[Embedding]) -> float:
    """The median cosine over all pairs, in 0 to `HIGHEST`."""
    import statistics

    median = statistics.median(cosine(one, other) for one, other in combinations(vectors, 2))
    return min(HIGHEST, max(0.0, median))
