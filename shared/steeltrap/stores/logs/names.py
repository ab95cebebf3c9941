"""Names of what a log is made of, the same at every place, so that a copy of a folder in a bucket is the same logs:
`u/<user's key>/e/<n>`, `u/<key>/b/<n>-<forgot>`, `u/<key>/o/<n>-<token>`, `who/<key>`, `due/<hour>-<n>/<key>`, `log`.

Here too: which users and markers of due work such names and their contents stand for."""

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from secrets import token_bytes
from typing import Final

from ...errors import Unavailable
from ...model import UserRef
from ...ports import BaseName, Marker
from ..shared_folders import ObjectPlace

_log = logging.getLogger("steeltrap")

LOG_ID: Final = "log"
"""The name of 16 bytes that no other place has."""
_BASE: Final = re.compile(r"(\d{12})-(\d{12})")
_KEY: Final = re.compile(r"[0-9a-f]{64}")
USERS: Final = "who"
"""Where the users are listed, each under their key."""
MARKERS: Final = "due"
"""Where markers of due work are: a part of the name for the marker, and the last one for the user's key."""


def log_id(objects: ObjectPlace, damaged: str) -> bytes:
    """The id of a place, which is made where there is none. Raises Unavailable, with `damaged`, for what is no id."""
    content = objects.get(LOG_ID)
    if content is None:
        objects.create(LOG_ID, token_bytes(16))
        content = objects.get(LOG_ID)  # another one's, or our own by an attempt that seemed to fail
    if content is None or len(content) != 16:
        raise Unavailable(f"{damaged} is damaged: restore it from a copy.", retryable=False, part="store")
    return content


def entries_of(user: UserRef) -> str:
    """Where a user's entries are."""
    return f"u/{user.key}/e"


def bases_of(user: UserRef) -> str:
    """Where a user's bases are."""
    return f"u/{user.key}/b"


def bodies_of(user: UserRef) -> str:
    """Where the bodies of a user's entries are that are too large for a table."""
    return f"u/{user.key}/o"


def probes_of(user: UserRef) -> str:
    """Where a place is tried: where even those may write whose credentials reach this user only."""
    return f"u/{user.key}/check"


def listing_of(user: UserRef) -> str:
    """The name of what makes a user one of those that are listed."""
    return f"{USERS}/{user.key}"


def marker_of(user: UserRef, marker: Marker) -> str:
    """The name of a marker of a user's due work."""
    return f"{MARKERS}/{marker.name}/{user.key}"


def entry_name(n: int) -> str:
    """The last part of an entry's name; names sort as numbers do."""
    return f"{n:012}"


def base_name(name: BaseName) -> str:
    """The last part of a base's name; names sort as bases do."""
    return f"{name.n:012}-{name.forgot:012}"


def bases_among(names: Iterable[str]) -> list[BaseName]:
    """The bases that have such names, the newest last. Other files, such as those of file managers, are ignored."""
    matches = [_BASE.fullmatch(name) for name in names]
    return sorted(BaseName(int(match[1]), int(match[2])) for match in matches if match is not None)


def listed_among(names: Iterable[str], first: str = "", end: str = "g") -> list[str]:
    """The keys of the users that are listed under such names, in their order, from a range of keys."""
    return sorted(name for name in names if _KEY.fullmatch(name) and first <= name < end)


def markers_among(names: Iterable[str]) -> list[tuple[Marker, str]]:
    """The markers that have such names under `due/`, in their order, each with the key of its user."""
    pairs = [(Marker.of_name(name.partition("/")[0]), name.partition("/")[2]) for name in names]
    return sorted((marker, key) for marker, key in pairs if marker is not None and _KEY.fullmatch(key))


def listed_markers(
    markers: Iterable[tuple[Marker, str]], listings: Mapping[str, bytes | None]
) -> list[tuple[UserRef, Marker]]:
    """Markers with their users, by what each key's `who/<key>` has; those of nobody are left out."""
    users = {key: user_of_listing(content, key) for key, content in listings.items()}
    return [(user, marker) for marker, key in markers if (user := users[key]) is not None]


def due_pages(objects: ObjectPlace, hour: str) -> Iterator[list[tuple[UserRef, Marker]]]:
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


def user_to_json(user: UserRef) -> bytes:
    """The content of `who/<key>`."""
    return json.dumps({"tenant": user.tenant, "user": user.user_id}).encode()


def user_of_listing(content: bytes | None, key: str) -> UserRef | None:
    """The user that the content of `who/<key>` names. None if there is none, if it is damaged, or if it names a user of
    another key: otherwise credentials for one user could make a sweep take their markers for another user's."""
    if content is None:
        return None
    with suppress(ValueError, KeyError, TypeError):
        value = json.loads(content)
        if (user := UserRef(value["user"], value["tenant"])).key == key:
            return user
    _log.warning("the object who/%s doesn't name the user of this key, who is swept no more", key)
    return None


class UserObjects:
    """One user among objects: their place in the list of users, and the markers of their due work."""

    def __init__(self, objects: ObjectPlace, user: UserRef) -> None:
        self._objects = objects
        self._user = user

    def list_user(self) -> None:
        self._objects.put(listing_of(self._user), user_to_json(self._user))

    def unlist_user(self) -> None:
        self._objects.delete(listing_of(self._user))

    def mark(self, marker: Marker) -> None:
        self._objects.put(marker_of(self._user, marker), b"")

    def unmark(self, marker: Marker) -> None:
        self._objects.delete(marker_of(self._user, marker))
