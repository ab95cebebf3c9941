"""`core`: steeltrap's own dialect, which offers everything the engine can."""

from .toolset import CORE

__all__ = ["CORE"]
