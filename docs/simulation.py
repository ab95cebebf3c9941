"""Four things that arithmetic alone doesn't tell about many users of a bucket, simulated: which calls meet a function
without a copy of their user's file, when the sweep reaches a user, what a wave of sign-ups meets, and how many commits
one user's log takes.

Each draws from a generator of a fixed seed, so that docs/scale.md and docs/cost.md have the same figures every time.
"""

import heapq
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from functools import cache
from math import exp, inf
from random import Random
from typing import Final

CALL_SECONDS: Final = 0.10
"""A call of a function with a copy of the user's file; a fetch of the file takes as long again."""

# Caches

CALLS_A_SESSION: Final = 10
SESSION_PAUSE: Final = 60.0
"""Seconds between the calls of a session, on average."""
PEAK: Final = 3
"""The busiest hour has so many times the calls of an average one."""
IDLE_SECONDS: Final = 600.0
"""What nobody called for so long is taken down, with its copies."""
COPIES: Final = 1_200
"""Copies on a disk: 384 MB of files of 100 memories each."""
FUNCTION: Final = 1
CONTAINER: Final = 10
"""Calls that a process answers at once, before another one is started."""
_WARM_UP: Final = 750.0
_MEASURED: Final = 20_000
_LONGEST: Final = 20 * 3600.0


@dataclass(frozen=True, slots=True)
class Caching:
    """What the calls of a busy time met."""

    per_second: float
    processes: int
    """The functions or containers that were there, at most."""
    cold: float
    """The share of calls that met no copy."""


class _Process:
    def __init__(self) -> None:
        self.calls = 0
        self.used = 0.0
        self.copies: OrderedDict[int, None] = OrderedDict()

    def has(self, user: int) -> bool:
        """Whether it has a copy of a user's file. From now on it has."""
        had = user in self.copies
        self.copies[user] = None
        self.copies.move_to_end(user)
        if len(self.copies) > COPIES:
            self.copies.popitem(last=False)
        return had


class _Fleet:
    """Processes of which any that is free takes a call, by chance; a new one starts where none is."""

    def __init__(self, at_once: int, random: Random) -> None:
        self._at_once = at_once
        self._random = random
        self._free: list[_Process] = []
        self._ends: list[tuple[float, int, _Process]] = []
        self._calls = 0
        self.size = 0

    def take(self, now: float, user: int) -> bool:
        """Answer a call; whether the process had a copy of the user's file."""
        while self._ends and self._ends[0][0] <= now:
            used, _, process = heapq.heappop(self._ends)
            process.used = used
            process.calls -= 1
            if process.calls == self._at_once - 1:
                self._free.append(process)
        process = self._any_free(now)
        had = process.has(user)
        process.calls += 1
        if process.calls < self._at_once:
            self._free.append(process)
        self._calls += 1
        heapq.heappush(self._ends, (now + CALL_SECONDS * (1 if had else 2), self._calls, process))
        return had

    def _any_free(self, now: float) -> _Process:
        while self._free:
            place = int(len(self._free) * self._random.random())
            self._free[place], self._free[-1] = self._free[-1], self._free[place]
            process = self._free.pop()
            if process.calls or now - process.used < IDLE_SECONDS:
                return process
            self.size -= 1
        self.size += 1
        return _Process()


@cache
def caching(users: int, calls_an_hour: float, at_once: int) -> Caching:
    """Calls in sessions of one user each, the user of a session by chance. Any process that is free takes a call,
    whichever users it knows."""
    random = Random(users)
    rate = calls_an_hour / 3600
    ends = min(_LONGEST, _WARM_UP + _MEASURED / rate)
    sessions = rate / CALLS_A_SESSION
    calls: list[tuple[float, int, int]] = [(random.expovariate(sessions), 0, 0)]
    fleet = _Fleet(at_once, random)
    met = cold = most = 0
    while calls[0][0] < ends:
        now, user, left = heapq.heappop(calls)
        if not left:  # a session begins, and the next one is known
            heapq.heappush(calls, (now + random.expovariate(sessions), 0, 0))
            user, left = int(users * random.random()), CALLS_A_SESSION
        had = fleet.take(now, user)
        if now > _WARM_UP:
            met += 1
            cold += not had
            most = max(most, fleet.size)
        if left > 1:
            heapq.heappush(calls, (now + random.expovariate(1 / SESSION_PAUSE), user, left - 1))
    return Caching(rate, most, cold / met)


# Due work

OPEN_SECONDS: Final = 0.10
"""To sweep a user with nothing due: the file is fetched and looked at."""
PURGE_SECONDS: Final = 0.50
"""To sweep a user with something due, measured with 25 ms put into each get and 35 into each put: the file is fetched,
rows are removed, a base is put, the entries before it are overwritten, and the marker goes."""
LONGEST_SWEEP: Final = 900.0
"""The longest that a function runs."""
LIST_SECONDS: Final = 0.025 / 32
"""To read the name of a user: a request of 25 ms, 32 of them side by side."""
SHARES: Final = 64
"""A day's sweep opens one of so many parts of all users, whether or not something is due: stores/replica/due.py."""
PAGE: Final = 1_000
"""Of these it opens so many after as many with due work: stores/replica/store.py."""
DELETES_A_DAY: Final = 0.1
"""Of a user, on average: 1 % of ten calls."""
_SAMPLE: Final = 2_000
_DAYS: Final = 1_500
_DAYS_BEFORE: Final = 700
"""Until the users who wait are as many each day."""


@dataclass(frozen=True, slots=True)
class Sweeping:
    """What a daily sweep by one function comes to, which takes the markers of due work in their order."""

    due: int
    """The users of whom something comes due on a day."""
    reached: int
    """Those whom a day's sweep reaches."""
    late: float
    """The days that what is due waits for its sweep, on average."""
    latest: float
    """The days that 99 of 100 wait at most."""


@cache
def sweeping(users: int) -> Sweeping:
    """Users who delete now and then, each a month before it is due; whoever waits for the sweep has one marker."""
    random = Random(users)
    sample = min(users, _SAMPLE)
    most = most_due(users) * sample / users
    # Users differ: one in ten makes half of all deletions.
    rates = [DELETES_A_DAY * (5 if user % 10 == 0 else 5 / 9) for user in range(sample)]
    coming: dict[int, list[int]] = {}
    for user, rate in enumerate(rates):
        coming.setdefault(int(random.expovariate(rate)), []).append(user)
    waiting: deque[tuple[int, int]] = deque()
    left, waits = 0.0, list[int]()
    for day in range(_DAYS):
        waiting.extend((user, day) for user in coming.pop(day, ()))
        left = min(left, 1) + most
        while waiting and left >= 1:
            left -= 1
            user, since = waiting.popleft()
            coming.setdefault(day + 1 + int(random.expovariate(rates[user])), []).append(user)
            if day >= _DAYS_BEFORE:
                waits.append(day - since)
    waits.sort()
    reached = round(len(waits) / (_DAYS - _DAYS_BEFORE) * users / sample)
    return Sweeping(due_users(users), reached, sum(waits) / len(waits), waits[int(len(waits) * 0.99)])


def most_due(users: int) -> float:
    """How many users with due work a function reaches at most, beside a page of the others: two take too long."""
    return (LONGEST_SWEEP - OPEN_SECONDS * min(users / SHARES, PAGE)) / (PURGE_SECONDS + LIST_SECONDS)


def due_users(users: int) -> int:
    """Of how many users something comes due on a day, if all are swept."""
    return round(users * (0.1 * (1 - exp(-5 * DELETES_A_DAY)) + 0.9 * (1 - exp(-5 / 9 * DELETES_A_DAY))))


# Sign-up

FIRST_SAVE_SECONDS: Final = 0.30
"""A first save: a function that has no copy, and four requests of a bucket one after the other."""
STARTED_PER_SECOND: Final = 100
"""Functions that Lambda adds per second at most: 1,000 each ten seconds."""
_BACK_OFF: Final = (1, 2, 4, 8, 16, 32)
"""Seconds after which a client tries again what was throttled."""


@dataclass(frozen=True, slots=True)
class SigningUp:
    """What an hour of first saves met."""

    throttled: float
    """Refused attempts per sign-up."""
    waited: int
    """The longest that anyone waited, in seconds."""
    given_up: float
    """The share that was refused seven times."""


@cache
def signing_up(users: int, at_once: int) -> SigningUp:
    """An hour in which users come evenly but for chance, and so many functions may run at once."""
    random = Random(users + at_once)
    due: dict[int, deque[int]] = {}
    throttled = given_up = longest = second = 0
    functions = 0
    arriving = users / 3600
    while second < 3600 or due:
        new = int(arriving * (0.5 + random.random()) + random.random()) if second < 3600 else 0
        waiting = due.pop(second, deque())
        waiting.extend([0] * new)
        functions = min(at_once, functions + STARTED_PER_SECOND)
        served = int(functions / FIRST_SAVE_SECONDS)
        for place, tries in enumerate(waiting):
            if place < served:
                longest = max(longest, sum(_BACK_OFF[:tries]))
                continue
            throttled += 1
            if tries == len(_BACK_OFF):
                given_up += 1
            else:
                due.setdefault(second + _BACK_OFF[tries], deque()).append(tries + 1)
        second += 1
    return SigningUp(throttled / users, longest, given_up / users)


# One user whom many machines write to

CROWD_SECONDS: Final = 5.0
NEAR_SECONDS: Final = 0.3
GAP_SECONDS: Final = 0.14
"""The protocol's own times: stores/replica/file.py has them."""
_RUN_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class Crowding:
    """Commits to one user's log."""

    per_second: float
    median: float
    longest: float
    """Seconds from the start of a save to its answer."""
    lost: float
    """Lost attempts per commit."""


@dataclass(slots=True)
class _Writer:
    known: int = 0
    began: float = 0.0
    committed: float = -inf
    crowded_until: float = 0.0
    waits: list[float] = field(default_factory=list)
    lost: int = 0


@cache
def crowding(writers: int, get: float, put: float) -> Crowding:
    """Writers on machines of their own that save without a pause; a get and a put take so many seconds."""
    random = Random(writers)
    all_of_them = [_Writer() for _ in range(writers)]
    log = 0
    steps: list[tuple[float, int, str]] = [(0.01 * number, number, "begin") for number in range(writers)]
    heapq.heapify(steps)
    while True:
        now, number, step = heapq.heappop(steps)
        if now > _RUN_SECONDS:
            break
        writer = all_of_them[number]

        def asking(seconds: float) -> float:
            return seconds * (0.7 + 0.6 * random.random())

        if step == "begin":
            writer.began = now
            heapq.heappush(steps, (now + asking(get), number, "pulled"))
        elif step == "pulled":
            if log > writer.known:  # what came is applied, and the next number is asked for
                writer.known, writer.crowded_until = log, now + CROWD_SECONDS
                heapq.heappush(steps, (now + asking(get), number, "pulled"))
                continue
            crowded = now < writer.crowded_until and now - writer.committed < NEAR_SECONDS
            gap = GAP_SECONDS * random.random() if crowded and writer.committed >= writer.began - get else 0.0
            heapq.heappush(steps, (now + gap + asking(put), number, "created"))
        elif log == writer.known:
            log += 1
            writer.known, writer.committed = log, now
            writer.waits.append(now - writer.began)
            heapq.heappush(steps, (now, number, "begin"))
        else:
            writer.lost += 1
            heapq.heappush(steps, (now + asking(get), number, "pulled"))  # whose entry is it?
    waits = sorted(wait for writer in all_of_them for wait in writer.waits)
    return Crowding(
        len(waits) / _RUN_SECONDS,
        waits[len(waits) // 2],
        waits[-1],
        sum(writer.lost for writer in all_of_them) / len(waits),
    )
