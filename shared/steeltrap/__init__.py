"""steeltrap: long-term memory for AI agents.

    >>> from steeltrap import open_memory
    >>> memory = open_memory("data")
    >>> memory.call("core.save", content="User prefers dark mode")
    >>> memory.call("core.search", query="what theme does the user like?")

What lives where: `model` nouns, `engine` verbs, `text` and `ranking` pure rules, `toolsets` names and wording, `stores`
and `embedders` technologies, `servers` protocols, `cli` a terminal, `client` calls of Python, `importers` files of
other products. `invoke` is the one door, `runtime` the one place that wires the parts together.
"""

from typing import TYPE_CHECKING, Any

from .version import VERSION

if TYPE_CHECKING:
    from .client.in_loop import AsyncMemory as AsyncMemory
    from .client.in_loop import open_memory_async as open_memory_async
    from .client.in_process import Memory as Memory
    from .client.in_process import open_memory as open_memory

__version__ = VERSION
__all__ = ["__version__", "open_memory", "open_memory_async"]


def __getattr__(name: str) -> Any:
    # Importing the catalogue must need no adapter, so the wiring is loaded when it is asked for.
    if name == "open_memory":
        from .client.in_process import open_memory

        return open_memory
    if name == "open_memory_async":
        from .client.in_loop import open_memory_async

        return open_memory_async
    raise AttributeError(f"module 'steeltrap' has no attribute {name!r}")
