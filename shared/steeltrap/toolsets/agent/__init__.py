"""`agent`: six tools for a model, with names that collide with nothing, and answers in plain text."""

# isort: off
# Clients see the tools in the order of these imports.
from . import (
    remembering,
    recalling,
    changing,
)

# isort: on
from .toolset import AGENT

__all__ = ["AGENT", "changing", "recalling", "remembering"]
