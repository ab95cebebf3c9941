"""Tries a place for logs, as `steeltrap doctor` does: whether it keeps the promises that logs rest on."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Final, Protocol

from ...errors import Unavailable
from ...model.frozen import frozen
from ..shared_folders import ObjectPlace

_FAR_APART: Final = timedelta(minutes=1)


@frozen
class Fault:
    """Something that is wrong with a place, and how to mend it. One that isn't `broken` is a warning."""

    problem: str
    mend: str
    broken: bool = True


class Place(Protocol):
    """The requests that logs make to a place. All methods raise Unavailable."""

    unseen: str
    """Advice about settings that can't be seen from here; "" for none."""

    def warnings(self) -> "list[Fault]":
        """Settings that work, and should be others."""
        ...

    def create(self, name: str, content: bytes) -> bool: ...

    def read(self, name: str) -> bytes | None: ...

    def overwrite(self, name: str, content: bytes) -> bool:
        """Put content in place of other content. True where the place says that it keeps the other, too."""
        ...

    def write_times(self) -> Mapping[str, datetime | None]:
        """The names of all probes, and when each was written by the place's clock, where it says so."""
        ...

    def delete(self, name: str) -> None: ...


class ProbedFolder:
    """A folder of objects as a place to be tried."""

    unseen = ""

    def __init__(self, objects: ObjectPlace, folder: str) -> None:
        self._objects = objects
        self._folder = folder

    def warnings(self) -> list[Fault]:
        return []

    def create(self, name: str, content: bytes) -> bool:
        return self._objects.create(f"{self._folder}/{name}", content)

    def read(self, name: str) -> bytes | None:
        return self._objects.get(f"{self._folder}/{name}")

    def overwrite(self, name: str, content: bytes) -> bool:
        self._objects.put(f"{self._folder}/{name}", content)
        return False

    def write_times(self) -> Mapping[str, datetime | None]:
        return self._objects.write_times(self._folder)

    def delete(self, name: str) -> None:
        self._objects.delete(f"{self._folder}/{name}")


def probe(place: Place, now: Callable[[], datetime]) -> list[Fault]:
    """All that is wrong with a place. What is written to try it goes again, where it may be deleted."""
    probing = _Probing(place, now)
    for step in (probing.create, probing.read, probing.overwrite, probing.list, probing.delete, probing.warn):
        try:
            step()
        except Unavailable as error:
            probing.note(error.message, _SETTINGS)
            if error.can_retry:  # each step would wait for an answer
                break
    return probing.faults


_SETTINGS: Final = "Check the URL in STEELTRAP_STORE, your cloud's credentials and their rights."


class _Probing:
    """The steps, each of which a right or a promise of its own may stop."""

    def __init__(self, place: Place, now: Callable[[], datetime]) -> None:
        self.faults: list[Fault] = []
        self._place = place
        self._now = now
        self._name = token_hex(8)
        self._is_there = False

    def note(self, problem: str, mend: str, *, broken: bool = True) -> None:
        if problem not in (fault.problem for fault in self.faults):
            self.faults.append(Fault(problem=problem, mend=mend, broken=broken))

    def create(self) -> None:
        # An answer that was lost makes its own second attempt a refusal.
        self._is_there = self._place.create(self._name, b"first") or self._place.read(self._name) == b"first"
        if not self._is_there:
            self.note("It refuses to create an object where none is.", _SETTINGS)
        elif self._place.create(self._name, b"second"):
            self.note(
                "It creates an object where one is already: two machines would lose each other's memories.",
                "Use a store that refuses it (a PUT with `If-None-Match: *`), such as S3, R2, GCS or Azure, or a newer "
                "version of yours.",
            )

    def read(self) -> None:
        content = self._place.read(self._name)
        if self._is_there and content is None:
            self.note(
                "It doesn't find what was written a moment ago: a saved memory could be lost.",
                "Use a store that reads its own writes, and no cache in front of it.",
            )

    def overwrite(self) -> None:
        keeps_old = self._place.overwrite(self._name, b"third")
        self._is_there = True
        if self._place.read(self._name) != b"third":
            self.note(
                "It still answers what was overwritten: forgotten memories would stay.",
                "Use a store that reads its own writes, and no cache in front of it.",
            )
        if keeps_old:
            self.note(
                "It keeps old versions: forgotten memories stay in them, and can't be removed where it locks objects.",
                "Turn off versioning and object lock, and delete the old versions, or use another bucket.",
                broken=False,
            )

    def list(self) -> None:
        before = self._now()
        times = self._place.write_times()
        if self._is_there and self._name not in times:
            self.note(
                "It doesn't list what was written a moment ago.", "Use a store whose lists are current, and no cache."
            )
        if (at := times.get(self._name)) is not None and abs(off := before - at) >= _FAR_APART:
            amount = f"{abs(off).total_seconds() / 60:,.0f} minutes"
            self.note(
                f"This machine's clock is {amount} {'ahead of' if off > timedelta() else 'behind'} the store's.",
                "Set it by NTP: memories get wrong dates, and from 15 minutes on clouds refuse requests.",
                broken=False,
            )

    def delete(self) -> None:
        try:
            self._place.delete(self._name)
        except Unavailable as error:
            self.note(
                error.message,
                "Without it this machine can't remove old copies of what is forgotten; another one that may has to.",
                broken=False,
            )

    def warn(self) -> None:
        self.faults += self._place.warnings()
