"""Which store a benchmark measures."""

from enum import StrEnum


class Store(StrEnum):
    """The stores by the name that STEELTRAP_STORE gives them."""

    SQLITE = "sqlite"
    AWS = "aws"
