"""Markers of due work among objects: in a bucket, or in a database's table of them."""

from collections.abc import Iterator
from contextlib import suppress

from ...errors import Unavailable
from ...model import UserRef
from ...ports import Marker
from ..object_place import ObjectPlace
from .names import MARKERS, USERS, listed_markers, markers_among


def due_among(objects: ObjectPlace, hour: str) -> Iterator[list[tuple[UserRef, Marker]]]:
    """`Logs.due` by objects. A place lists names in their order, so those of later hours aren't listed to the end."""
    for names in objects.names(MARKERS):
        page = markers_among(names)
        due = [(marker, key) for marker, key in page if marker.hour < hour]
        keys = list(dict.fromkeys(key for _, key in due))
        listings = dict(zip(keys, objects.get_all([f"{USERS}/{key}" for key in keys]), strict=True))
        orphans = [f"{MARKERS}/{marker.name}/{key}" for marker, key in due if listings[key] is None]
        with suppress(Unavailable):  # the next sweep removes them
            objects.side_by_side(objects.delete, orphans)
        yield listed_markers(due, listings)
        if len(due) < len(page):
            return
