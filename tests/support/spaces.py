"""Users' spaces, opened by hand."""

from typing import Any

from steeltrap.model import UserRef
from steeltrap.ports import Space


def space_of(store: Any, user_id: str, *, tenant: str = "") -> Space:
    """The space of a user in a store."""
    space: Space = store.space(UserRef(user_id, tenant))
    return space
