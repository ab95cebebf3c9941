"""The exit codes and their meaning."""

from enum import IntEnum
from typing import Final

from ...errors import OverQuota, SteeltrapError


class Exit(IntEnum):
    """How a command ended."""

    OK = 0
    OTHER = 1
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    UNAVAILABLE = 5
    PARTIAL = 6
    QUOTA = 7
    INTERRUPTED = 130


_CODES: Final = {
    "invalid_input": Exit.USAGE,
    "too_large": Exit.USAGE,
    "identity_missing": Exit.USAGE,
    "not_found": Exit.NOT_FOUND,
    "conflict": Exit.CONFLICT,
    "unavailable": Exit.UNAVAILABLE,
    "throttled": Exit.UNAVAILABLE,
}

EPILOG: Final = (
    "Exit codes: 0 success; 1 other failure (also: doctor found a fault, or you answered no); 2 wrong usage or "
    "invalid input; 3 not found; 4 conflict; 5 store or embedder unavailable, try again; 6 import incomplete, the"
    " failed items are listed; 7 over the quota of memories or bytes; 130 interrupted. Settings come from "
    "STEELTRAP_* variables (STEELTRAP_DATA, STEELTRAP_USER, ...); options override them."
)


def exit_code(error: SteeltrapError) -> Exit:
    """The exit code that stands for an error."""
    return Exit.QUOTA if isinstance(error, OverQuota) else _CODES.get(error.code, Exit.OTHER)
