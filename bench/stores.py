"""Which store a benchmark measures."""

from enum import StrEnum


class Store(StrEnum):
    """The stores by the name, or the scheme, that STEELTRAP_STORE gives them."""

    SQLITE = "sqlite"
    FILE = "file"
    AWS = "aws"
