"""A tool that nothing else names, written as CONTRIBUTING says. The catalogue offers it only while a test wants it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from pydantic import Field

from steeltrap.engine import saving
from steeltrap.engine.call import Call
from steeltrap.model import Draft
from steeltrap.tools import Answer, Input, Tool
from steeltrap.toolsets import CATALOGUE, core


class JotInput(Input):
    text: str = Field(min_length=1, max_length=200, description="The line to jot down.")
    times: int = Field(1, ge=1, le=9, description="How often to write it.")


class JotView(Answer):
    """The line as it was jotted down."""

    id: str
    content: str


def jot(call: Call, input: JotInput) -> JotView:
    """Jot down one line, as often as you like."""
    memory = saving.save(call, Draft(content=" ".join([input.text] * input.times))).memory
    return JotView(id=memory.id, content=memory.content)


@contextmanager
def registered() -> Iterator[Tool]:
    """The tool, registered in a copy of `core` that the catalogue offers until this ends."""
    copy = replace(core.CORE, modules={}, registered=dict(core.CORE.tools))
    copy.tool("jot", "write", needs="index", timeout=42.0, examples=({"text": "Buy milk."},))(jot)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CATALOGUE, "toolsets", {**CATALOGUE.toolsets, "core": copy})
        yield copy.tools["jot"]
