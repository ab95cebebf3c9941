"""`associative`: ten tools over scoped, associated memories, each with three levels of detail.

The dialect's document says what each level answers.
"""

from .toolset import ASSOCIATIVE

__all__ = ["ASSOCIATIVE"]
