"""Regular expressions that are compiled when they are first used.

A process that answers one question uses a few of the hundred that its modules name, and compiling all of them takes a
tenth of its time. Pure.
"""

import re
from typing import Any, cast


def lazy_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern that is compiled at the first use of one of its methods. `re.sub` and its kind take none such."""
    return cast("re.Pattern[str]", _Pattern(source, flags))


class _Pattern:
    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """A method of the compiled pattern, which is found at once the next time."""
        if name.startswith("_"):  # as a copy in the making asks, which has no source yet
            raise AttributeError(name)
        method = self.__dict__[name] = getattr(re.compile(self._source, self._flags), name)
        return method
