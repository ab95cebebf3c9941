"""Markers of due work among objects: in a bucket, or in a database's table of them."""

from collections.abc import Iterator

from ...model import UserRef
from ...ports import Marker
from ..object_place import ObjectPlace
from .names import MARKERS, USERS, markers_among, user_from_json


def due_among(objects: ObjectPlace, hour: str) -> Iterator[list[tuple[UserRef, Marker]]]:
    """`Logs.due` by objects. A place lists names in their order, so those of later hours aren't listed to the end."""
    for names in objects.names(MARKERS):
        page = markers_among(names)
        due = [(marker, key) for marker, key in page if marker.hour < hour]
        users = objects.get_all([f"{USERS}/{key}" for _, key in due])
        gone = [
            f"{MARKERS}/{marker.name}/{key}" for (marker, key), user in zip(due, users, strict=True) if user is None
        ]
        objects.side_by_side(objects.delete, gone)
        yield [(user_from_json(user), marker) for (marker, _), user in zip(due, users, strict=True) if user is not None]
        if len(due) < len(page):
            return
