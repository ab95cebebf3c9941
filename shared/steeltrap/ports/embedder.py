"""Embedders turn texts into vectors."""

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

from ..model import Embedding
from ..model.frozen import frozen


class Scale(Protocol):
    """The meaning of an embedder's cosines, by three of them, 0 to 1, and one difference.

    `unrelated` is the cosine between unrelated texts. `unrelated_japanese` is the same for Japanese texts, which many
    models place close together. `novel`, no lower than `unrelated`, is the cosine between a turn that says something
    new in a long conversation, after its speaker's name, and the nearest turn before it. The best of n unrelated chunks
    lies nearer than one does by about `slope` times ln n, because it is the best of n.
    """

    @property
    def unrelated(self) -> float: ...
    @property
    def unrelated_japanese(self) -> float: ...
    @property
    def novel(self) -> float: ...
    @property
    def slope(self) -> float: ...


class Embedder(Scale, Protocol):
    """Turns texts into unit vectors. `name` identifies model and version: vectors of two names never meet."""

    @property
    def name(self) -> str: ...
    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str], *, purpose: Literal["document", "query"], timeout: float) -> list[Embedding]:
        """One embedding a text, in order, within `timeout` seconds.

        Raises Unavailable when the model does not answer in time or refuses.
        """
        ...


@runtime_checkable
class Revised(Protocol):
    """An embedder that knows more languages than it did, under the same name: vectors of other texts are the same."""

    def has_changed(self, text: str, since: int) -> bool:
        """Whether a text's vectors are others than those of this version of the analysis. Raises Unavailable."""
        ...


@runtime_checkable
class KnowsWords(Protocol):
    """An embedder with lists of its languages' words."""

    def knows(self, word: str) -> bool:
        """Whether one of its languages has a word, or a form of it. Raises Unavailable."""
        ...


@frozen(kw_only=False)
class Levels:
    """The measurements of a model: the size of its vectors and its `Scale`."""

    dimension: int
    unrelated: float
    unrelated_japanese: float
    novel: float
    slope: float


class SharedLevels(Protocol):
    """Where processes that use the same model share its levels, by a key that stands for all they depend on.

    Both methods raise Unavailable and Throttled.
    """

    def read(self, key: str) -> Levels | None: ...
    def write(self, key: str, levels: Levels) -> None: ...


@runtime_checkable
class Calibrating(Protocol):
    """An embedder that learns its levels from its model, unless another process has shared them."""

    def share_levels(self, shared: SharedLevels) -> None: ...
