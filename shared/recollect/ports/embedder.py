"""What turns texts into vectors."""

from collections.abc import Sequence
from typing import Literal, Protocol

from ..model import Embedding


class Scale(Protocol):
    """What the cosines of an embedder mean, by three of them, 0 to 1.

    `unrelated` is that between texts that have nothing to do with each other; `unrelated_japanese` that between
    such texts in Japanese, which many models crowd; and `novel`, no lower than the first, that between a turn that
    says something new in a long conversation, its speaker's name in front, and the nearest before it.
    """

    @property
    def unrelated(self) -> float: ...
    @property
    def unrelated_japanese(self) -> float: ...
    @property
    def novel(self) -> float: ...


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
