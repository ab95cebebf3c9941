"""The version of the package, which surfaces tell their clients, and whether one was released."""

from typing import Final

VERSION: Final = "0.1.0"
RELEASED: Final = False
"""Whether the indexes have steeltrap. `make docs` writes what follows from it into the pages (`docs/installs.py`)."""
