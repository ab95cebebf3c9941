"""`agent`: six tools for a model, with names that collide with nothing, and answers in plain text."""

from .toolset import AGENT

__all__ = ["AGENT"]
