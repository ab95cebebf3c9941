"""The marks on an embedder's scale: how near unrelated texts lie, and how near what is new in a talk; and the texts by
whose vectors a model is calibrated.

Some models crowd every cosine between 0.7 and 1, others spread them from 0. Search measures from the level of
unrelated texts and surprise from all, so that a weight or a threshold tuned with one model holds with the next.
"""

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from hashlib import blake2b
from itertools import combinations
from math import comb, log
from typing import Final

from ..errors import SteeltrapError, Unavailable
from ..model import Embedding
from ..ports import Levels, SharedLevels
from ..text.vectors import cosine

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
"""Each of a subject of its own; the English ones first."""

CONVERSATION: Final = (
    "Nina: Hi Paul! How was your weekend? I finally finished painting the kitchen.",
    "Paul: Hey Nina! Mine was quiet, I repaired my bike and cooked for my parents.",
    "Nina: That sounds nice. What did you make for them?",
    "Paul: A lentil curry. My dad asked for the recipe, which never happens!",
    "Nina: Wow, you must be proud. I'm still learning to cook anything but pasta.",
    "Paul: You should come over some time, we could cook together.",
    "Nina: I'd love to! By the way, I signed up for a pottery class that starts in May.",
    "Paul: Cool! Have you ever done pottery before?",
    "Nina: Never, but my aunt had a kiln and I liked to watch her as a child.",
    "Paul: I can see that. It's good to have something to do with your hands.",
    "Nina: Exactly, I sit at a screen the whole day. Work is stressful at the moment.",
    "Paul: I'm sorry to hear it. Is it still the project with the new hospital?",
    "Nina: Yes, the plans changed again and my boss wants them by Friday.",
    "Paul: That's tough. I hope that you get some rest after that.",
    "Nina: I will, we're going to the lake with the kids. They want to learn to swim.",
    "Paul: What a great idea! My sister taught me to swim in a lake.",
    "Nina: How is she doing? Is she still in Norway?",
    "Paul: She is, and she's expecting a baby in October. I'm going to be an uncle!",
    "Nina: Congratulations, that's wonderful news! You'll be a great uncle.",
    "Paul: Thanks! I've already bought a tiny pair of shoes and a picture book.",
    "Nina: So sweet. Did your dog get used to the new flat?",
    "Paul: More or less. Luna barks at the lift, but she loves the park next door.",
    "Nina: Give her a hug from me. I've got to run, the school is calling.",
    "Paul: No problem, talk to you soon! Let me know how the swimming goes.",
)
"""A talk as it goes from one subject to the next, every turn with something of its own."""

JAPANESE_TEXTS: Final = (
    "昨日の夜は雷が鳴って眠れませんでした。",
    "新しい靴のサイズが合わなくて返品しました。",
    "息子のサッカーの試合は三対一で勝ったよ。",
    "この図書館は月曜日が休館日です。",
    "レポートは英語で短くまとめてください。",
    "隣の犬がまた花壇を掘り返してしまった。",
    "彼女は京都で三味線を習っています。",
    "データベースの容量が足りなくなりました。",
    "夏休みに北海道で初めて馬に乗りました。",
    "紅葉の写真を玄関に飾りました。",
    "ユーザーは海老を食べると発疹が出ます。",
    "税金の書類はどこに送ればいいですか。",
)
"""Each of a subject of its own."""


_log = logging.getLogger("steeltrap")

STATIC_UNRELATED: Final = 0.10
"""The median between questions about real conversations and turns picked at random from them. Short texts of
far subjects, as below, lie lower (0.05), two turns of chat higher (0.23)."""

STATIC_UNRELATED_JAPANESE: Final = 0.10
"""The median between Japanese sentences of far subjects."""

STATIC_NOVEL: Final = 0.52
"""About one turn in eight of real conversations, saved in order, has no memory nearer than this."""

STATIC_SLOPE: Final = 0.05
"""By this much, times ln n, the best of n chunks lies nearer to a question about something else than one chunk
does: 0.045 over long messages, 0.056 over turns picked at random."""

PROBES: Final = (*CALIBRATION_TEXTS, *CONVERSATION, *JAPANESE_TEXTS)
_ENGLISH: Final = 18
_TALK: Final = len(CALIBRATION_TEXTS)
_JAPANESE: Final = _TALK + len(CONVERSATION)

HIGHEST: Final = 0.99
"""Above it too little of the scale would be left to divide by."""

MOST_CHUNKS: Final = 12
"""The slope is measured over the best of 1 to so many texts."""


class Calibration:
    """The measurements of a model at first use: its vectors' size and its levels.

    Each can be given; `dimension` 0 and a level None ask the model. Learning twice at the same time is harmless:
    both learn the same. `share` has it ask other processes first, and tell them.
    """

    def __init__(
        self,
        *,
        dimension: int = 0,
        unrelated: float | None = None,
        unrelated_japanese: float | None = None,
        novel: float | None = None,
        slope: float | None = None,
    ) -> None:
        self.dimension = dimension
        self.unrelated = unrelated
        self.unrelated_japanese = unrelated_japanese
        self.novel = novel
        self.slope = slope
        self._given = (unrelated, unrelated_japanese, novel, slope)
        self._shared: SharedLevels | None = None
        self._key = ""
        self._is_recalled = False

    def share(self, shared: SharedLevels, model: str, prefix: str) -> None:
        """Share what is learned of a model whose documents have a prefix."""
        depends_on = json.dumps([model, prefix, self._given, PROBES])
        self._shared, self._key = shared, blake2b(depends_on.encode(), digest_size=16).hexdigest()

    def probes(self) -> tuple[str, ...]:
        """The texts that still have to be embedded, as documents, before all is known."""
        self._recall()
        if None in (self.unrelated, self.unrelated_japanese, self.novel, self.slope):
            return PROBES
        return () if self.dimension else PROBES[:1]

    def learn(self, vectors: Sequence[Embedding]) -> None:
        """Take in the vectors of `probes()`, or of none."""
        self.check(vectors)
        if not vectors:
            return
        if self.unrelated is None:
            self.unrelated = unrelated_level(vectors[:_TALK])
        if self.unrelated_japanese is None:
            self.unrelated_japanese = unrelated_level(vectors[_JAPANESE:])
        if self.novel is None:
            self.novel = max(self.unrelated, novel_level(vectors[_TALK:_JAPANESE]))
        if self.slope is None:
            self.slope = slope_of_best(vectors[:_ENGLISH])
        self._tell()

    def _recall(self) -> None:
        """Take over what another process learned; asked once. Nobody is kept waiting for a place that fails."""
        if self._shared is None or self._is_recalled:
            return
        try:
            levels = self._shared.read(self._key)
        except SteeltrapError as error:
            _log.warning("The levels of the embedding model can't be read: %s", error.message)
            levels = None
        if levels is not None and self.dimension in (0, levels.dimension):
            self.dimension = levels.dimension
            self.unrelated = levels.unrelated if self.unrelated is None else self.unrelated
            own = self.unrelated_japanese
            self.unrelated_japanese = levels.unrelated_japanese if own is None else own
            self.novel = levels.novel if self.novel is None else self.novel
            self.slope = levels.slope if self.slope is None else self.slope
        self._is_recalled = True

    def _tell(self) -> None:
        unrelated, japanese, novel, slope = self.unrelated, self.unrelated_japanese, self.novel, self.slope
        if self._shared is None or unrelated is None or japanese is None or novel is None or slope is None:
            return
        try:
            self._shared.write(self._key, Levels(self.dimension, unrelated, japanese, novel, slope))
        except SteeltrapError as error:
            _log.warning("The levels of the embedding model can't be kept: %s", error.message)

    def check(self, vectors: Sequence[Embedding]) -> None:
        """Raises Unavailable when a vector isn't of the size given, or of that of the first one seen."""
        for vector in vectors:
            self.dimension = self.dimension or len(vector) // 4
            if len(vector) != 4 * self.dimension:
                raise Unavailable(
                    f"The embedding model answers {len(vector) // 4} numbers a text, not {self.dimension}: "
                    "check STEELTRAP_EMBEDDER_MODEL and STEELTRAP_EMBEDDER_DIMENSION.",
                    part="embedder",
                )


class Calibrated(ABC):
    """The size and the levels of an embedder; what is neither given nor learned yet is asked of its model when it is
    read. Raises Unavailable then.
    """

    def __init__(self, calibration: Calibration) -> None:
        self._calibration = calibration

    @abstractmethod
    def _calibrate(self) -> None:
        """Have the calibration learn from the model. Raises Unavailable."""

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        if not self._calibration.dimension:
            self._calibrate()
        return self._calibration.dimension

    @property
    def unrelated(self) -> float:
        if self._calibration.unrelated is None:
            self._calibrate()
        return self._calibration.unrelated or 0.0

    @property
    def unrelated_japanese(self) -> float:
        if self._calibration.unrelated_japanese is None:
            self._calibrate()
        return self._calibration.unrelated_japanese or 0.0

    @property
    def novel(self) -> float:
        if self._calibration.novel is None:
            self._calibrate()
        return self._calibration.novel or 0.0

    @property
    def slope(self) -> float:
        if self._calibration.slope is None:
            self._calibrate()
        return self._calibration.slope or 0.0


def unrelated_level(vectors: Sequence[Embedding]) -> float:
    """The median cosine over all pairs, in 0 to `HIGHEST`."""
    import statistics

    median = statistics.median(cosine(one, other) for one, other in combinations(vectors, 2))
    return min(HIGHEST, max(0.0, median))


def novel_level(vectors: Sequence[Embedding]) -> float:
    """The upper quartile of each turn's cosine to the nearest other turn, in 0 to `HIGHEST`.

    The nearest of a few turns lies further off than the nearest of the hundreds that are stored later;
    the upper quartile of the few meets the level below which lie 9 to 13% of the many, with models whose
    cosines are spread as with models that crowd them.
    """
    import statistics

    nearest = [-1.0] * len(vectors)
    for (i, one), (j, other) in combinations(enumerate(vectors), 2):
        similar = cosine(one, other)
        nearest[i] = max(nearest[i], similar)
        nearest[j] = max(nearest[j], similar)
    return min(HIGHEST, max(0.0, statistics.quantiles(nearest, n=4, method="inclusive")[2]))


def slope_of_best(vectors: Sequence[Embedding]) -> float:
    """By how much the best of n unrelated texts lies nearer than one does, per ln n; at least 0.

    For each text, the mean of the best cosine over all choices of n others, for n from 1 to `MOST_CHUNKS`; a line
    through the means over all texts, with ln n below.
    """
    import statistics

    others = len(vectors) - 1
    sizes = range(1, min(MOST_CHUNKS, others) + 1)
    ascending = [
        sorted(cosine(one, other) for other in (*vectors[:at], *vectors[at + 1 :])) for at, one in enumerate(vectors)
    ]
    # Of all choices of n, `comb(below, n - 1)` have as their best the one that has `below` others under it.
    best = [
        statistics.fmean(
            sum(comb(below, n - 1) * near for below, near in enumerate(cosines)) / comb(others, n)
            for cosines in ascending
        )
        for n in sizes
    ]
    return max(0.0, statistics.linear_regression([log(n) for n in sizes], best).slope)
