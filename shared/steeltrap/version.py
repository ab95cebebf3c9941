"""The version of the package, which surfaces tell their clients."""

from typing import Final

VERSION: Final = "0.1.0"
