"""What a month costs: counted units, prices, sizes, and a bill for each store. `docs/generate.py` writes the tables of
docs/cost.md."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum  # the same in every Python; `sum` of floats is not
from typing import Final, TypeVar

from steeltrap.stores.logs.bucket import read_in_waves

from .simulation import CALL_SECONDS, CONTAINER, FUNCTION, PEAK, SHARES, caching, due_users

MEMORIES_A_USER: Final = 100
MILLION: Final = 1_000_000
HOURS: Final = 730


@dataclass(frozen=True, slots=True)
class Units:
    """Request units of DynamoDB: read units of 4 KB, write units of 1 KB."""

    reads: int
    writes: int


UNITS: Final = {
    "search": Units(17, 10),
    "save": Units(4, 6),
    "update": Units(9, 18),
    "get": Units(2, 1),
    "list": Units(60, 0),
    "delete": Units(6, 8),
}
SWEEP: Final = Units(16, 0)
MIX: Final = {"search": 0.60, "save": 0.25, "update": 0.04, "get": 0.05, "list": 0.05, "delete": 0.01}
CHANGES: Final = MIX["save"] + MIX["update"] + MIX["delete"]

PRICES: Final = {
    "Lambda, arm64, per GB-second": 0.0000133334,
    "Lambda, per million requests": 0.20,
    "HTTP API, per million requests": 1.00,
    "DynamoDB, per million read units": 0.125,
    "DynamoDB, per million write units": 0.625,
    "DynamoDB, per GB and month": 0.25,
    "DynamoDB, point-in-time recovery, per GB and month": 0.20,
    "OpenSearch, t3.small.search, per hour": 0.036,
    "OpenSearch, m7g.medium.search, per hour": 0.068,
    "OpenSearch, r7g.xlarge.search, per hour": 0.356,
    "OpenSearch, gp3, per GB and month": 0.122,
    "CloudWatch, per GB of logs ingested": 0.50,
    "CloudWatch, per custom metric and month": 0.30,
    "CloudWatch, per alarm and month": 0.10,
    "X-Ray, per million traces": 5.00,
    "KMS, per key and month": 1.00,
    "Data to the internet, per GB": 0.09,
}

OTHER_PRICES: Final = {
    "S3, per million of puts and lists": 5.00,
    "S3, per million of gets": 0.40,
    "S3, per GB and month": 0.023,
    "RDS for PostgreSQL, db.t4g.micro, per hour": 0.016,
    "RDS for PostgreSQL, db.t4g.small, per hour": 0.032,
    "RDS for PostgreSQL, db.m7g.2xlarge, per hour": 0.648,
    "RDS, gp3, per GB and month": 0.115,
    "Google Cloud Storage, per million of class A operations": 5.00,
    "Google Cloud Storage, per million of class B operations": 0.40,
    "Google Cloud Storage, per GB and month": 0.020,
    "Cloud Run, per vCPU-second": 0.000024,
    "Cloud Run, per GiB-second": 0.0000025,
    "Cloud Run, per million requests": 0.40,
    "Google Cloud Logging, per GiB": 0.50,
    "Google Cloud, data to the internet, per GiB": 0.12,
    "Azure Blob Storage, hot, per million of writes and lists": 5.50,
    "Azure Blob Storage, hot, per million of reads": 0.44,
    "Azure Blob Storage, hot, per GB and month": 0.018,
    "Azure Container Apps, per vCPU-second": 0.000024,
    "Azure Container Apps, per GiB-second": 0.000003,
    "Azure Container Apps, per million requests": 0.40,
    "Azure Monitor, basic logs, per GB": 0.50,
    "Azure, data to the internet, per GB": 0.087,
}

GB: Final = 1e9
INDEXER_SECONDS: Final = 0.10
SWEEP_SECONDS: Final = 0.025
LONGEST_SWEEP: Final = 900
TABLE_BYTES: Final = 3_600
LOG_BYTES: Final = 3_000
ANSWER_BYTES: Final = 4_000
STORED_BYTES: Final = 4_400
SWEEPS: Final = 30
CALL_METRICS: Final = 6
SWEEP_METRICS: Final = 2
ALARMS: Final = 18


@dataclass(frozen=True, slots=True)
class Use:
    """How much there is, and how often it is asked in a month."""

    users: int
    memories: int
    calls: int


@dataclass(frozen=True, slots=True)
class Size(Use):
    """The use of a stage with tables, and a domain that holds its index."""

    instance: str
    nodes: int
    volume_gb: int

    @property
    def swept(self) -> float:
        """The users that an hour's sweep reaches."""
        return min(self.users, LONGEST_SWEEP / SWEEP_SECONDS)


U = TypeVar("U", bound=Use)

SIZES: Final = (
    Size(100, 10_000, 30_000, "t3.small.search", 1, 10),
    Size(10_000, MILLION, 3 * MILLION, "m7g.medium.search", 3, 20),
    Size(100_000, 20 * MILLION, 60 * MILLION, "r7g.xlarge.search", 3, 150),
)


def _reads(size: Size) -> float:
    swept = HOURS * size.swept * SWEEP.reads * size.memories / size.users / MEMORIES_A_USER
    return size.calls * fsum(MIX[name] * UNITS[name].reads for name in MIX) + swept


def _writes(size: Size) -> float:
    return size.calls * fsum(MIX[name] * UNITS[name].writes for name in MIX)


def _seconds(size: Size) -> float:
    return size.calls * (CALL_SECONDS + CHANGES * INDEXER_SECONDS) + HOURS * size.swept * SWEEP_SECONDS


def _stored(size: Size) -> float:
    return size.memories * TABLE_BYTES / GB


def _domain(size: Size) -> float:
    hourly = PRICES[f"OpenSearch, {size.instance}, per hour"]
    return size.nodes * (HOURS * hourly + size.volume_gb * PRICES["OpenSearch, gp3, per GB and month"])


def _http_api(use: Use) -> float:
    return use.calls / MILLION * PRICES["HTTP API, per million requests"]


def _answers(use: Use) -> float:
    return use.calls * ANSWER_BYTES / GB * PRICES["Data to the internet, per GB"]


COMPONENTS: Final[dict[str, Callable[[Size], float]]] = {
    "Lambda, time": lambda size: _seconds(size) * PRICES["Lambda, arm64, per GB-second"],
    "Lambda, requests": lambda s: s.calls * (1 + CHANGES) / MILLION * PRICES["Lambda, per million requests"],
    "HTTP API": _http_api,
    "DynamoDB, reads": lambda size: _reads(size) / MILLION * PRICES["DynamoDB, per million read units"],
    "DynamoDB, writes": lambda size: _writes(size) / MILLION * PRICES["DynamoDB, per million write units"],
    "DynamoDB, storage": lambda size: _stored(size) * PRICES["DynamoDB, per GB and month"],
    "DynamoDB, recovery": lambda size: _stored(size) * PRICES["DynamoDB, point-in-time recovery, per GB and month"],
    "OpenSearch domain": _domain,
    "Logs": lambda size: size.calls * LOG_BYTES / GB * PRICES["CloudWatch, per GB of logs ingested"],
    "Metrics and alarms": lambda _: (
        (CALL_METRICS + SWEEP_METRICS) * PRICES["CloudWatch, per custom metric and month"]
        + ALARMS * PRICES["CloudWatch, per alarm and month"]
    ),
    # One trace a second and 5 % of the rest.
    "Traces": lambda size: (
        (min(size.calls, HOURS * 3600) + 0.05 * max(0, size.calls - HOURS * 3600))
        / MILLION
        * PRICES["X-Ray, per million traces"]
    ),
    "Encryption key": lambda _: PRICES["KMS, per key and month"],
    "Answers to the internet": _answers,
}


@dataclass(frozen=True, slots=True)
class BucketSize(Use):
    """The use of a store over a log, and in how many hours of a month it is asked."""

    hours: int

    def cold(self, at_once: int) -> float:
        """The share of calls that meet a process without a copy of the user's file."""
        if not self.users:
            return 0.0
        return caching(self.users, PEAK * self.calls / self.hours, at_once).cold


BUCKET_SIZES: Final = (
    BucketSize(0, 0, 0, 0),
    BucketSize(100, 10_000, 30_000, 200),
    BucketSize(10_000, MILLION, 3 * MILLION, HOURS),
    BucketSize(MILLION, 100 * MILLION, 300 * MILLION, HOURS),
)

ENTRY_KB: Final = 1.64
BASE_KB: Final = 1.4 * MEMORIES_A_USER
CHANGES_A_BASE: Final = BASE_KB / 4 / ENTRY_KB
"""A base is put when the entries after the last one have a quarter of its bytes."""
ENTRIES_BEHIND: Final = round(CHANGES_A_BASE / 2)
"""Entries that are read after a user's base where there is no copy, on average."""


def cold_gets(behind: int) -> int:
    """The gets of a first read of a bucket with so many entries after the base: the base, entry 1, and waves of names
    side by side, the last of which asks for some in vain."""
    asked = 0

    def read(numbers: Sequence[int]) -> list[bytes | None]:
        nonlocal asked
        asked += len(numbers)
        return [b"" if n <= behind else None for n in numbers]

    read_in_waves(read, 1, are_many=True)
    return 2 + asked


COLD_GETS: Final = round(fsum(map(cold_gets, range(2 * ENTRIES_BEHIND))) / (2 * ENTRIES_BEHIND))
USAGE: Final = 0.20
PUTS_A_PURGE: Final = 6
"""Puts and lists of a sweep that removes something for good, beside a fetch and the stubs of entries: three entries, a
marker, a base and a list."""


def _fetches(size: BucketSize, at_once: int) -> float:
    """How often a user's file is fetched: where there is no copy, and by sweeps."""
    return size.calls * size.cold(at_once) + purges(size.users) + SWEEPS * size.users / SHARES


def purges(users: int) -> float:
    """How often a sweep removes something of a user for good."""
    return SWEEPS * due_users(users)


def _seconds_busy(size: BucketSize, at_once: int) -> float:
    return (size.calls + _fetches(size, at_once) + 4 * purges(size.users)) * CALL_SECONDS


def _written(size: BucketSize) -> float:
    """The entries that are written: changes, and usage that no change took along."""
    return size.calls * (CHANGES + USAGE)


def _bases(size: BucketSize) -> float:
    return _written(size) / CHANGES_A_BASE


def _objects(size: BucketSize, at_once: int, writes: str, reads: str) -> float:
    """The requests of a log that is all objects."""
    put = 2 * _written(size) + 2 * _bases(size) + _fetches(size, at_once) + PUTS_A_PURGE * purges(size.users)
    got = size.calls + _written(size) + COLD_GETS * _fetches(size, at_once)
    return (put * OTHER_PRICES[writes] + got * OTHER_PRICES[reads]) / MILLION


def _entries(size: BucketSize) -> float:
    """The requests of a log whose entries are items of a table."""
    reads = size.calls + _written(size) + _fetches(size, FUNCTION) * (1 + ENTRIES_BEHIND * ENTRY_KB / 4)
    writes = size.calls * (2 * (MIX["save"] + MIX["update"]) + MIX["delete"] + USAGE) + _written(size)
    return (
        reads * PRICES["DynamoDB, per million read units"] + writes * PRICES["DynamoDB, per million write units"]
    ) / MILLION


def _bases_beside(size: BucketSize) -> float:
    """The requests of a bucket that has the bases of a table's entries."""
    put = 2 * _bases(size) + _fetches(size, FUNCTION) + PUTS_A_PURGE * purges(size.users)
    got = _fetches(size, FUNCTION)
    return (
        put * OTHER_PRICES["S3, per million of puts and lists"] + got * OTHER_PRICES["S3, per million of gets"]
    ) / MILLION


def _gigabytes(size: BucketSize) -> float:
    return size.memories * STORED_BYTES / GB


def _logs(size: BucketSize) -> float:
    return (size.calls + SWEEPS) * LOG_BYTES / GB


def _database(size: BucketSize) -> str:
    at_least = {0: "db.t4g.micro", 10_000: "db.t4g.small", MILLION: "db.m7g.2xlarge"}
    return f"RDS for PostgreSQL, {at_least[max(users for users in at_least if users <= size.users)]}, per hour"


def _replica_seconds(size: BucketSize) -> float:
    """Container Apps charges a replica for as long as it is there: for each hour with calls, here."""
    return max(size.hours * 3600, _seconds_busy(size, CONTAINER))


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a bill, with its formula as it is shown."""

    formula: str
    cost: Callable[[BucketSize], float]


_ON_LAMBDA: Final[Mapping[str, Line]] = {
    "Lambda, time": Line(
        "(calls + fetches + 4 x purges) x 0.10 s x 1 GB",
        lambda size: (_seconds_busy(size, FUNCTION) + SWEEPS) * PRICES["Lambda, arm64, per GB-second"],
    ),
    "Lambda, requests": Line(
        "calls + 30", lambda size: (size.calls + SWEEPS) / MILLION * PRICES["Lambda, per million requests"]
    ),
    "HTTP API": Line("calls", _http_api),
    "Logs": Line("(calls + 30) x 3 KB", lambda size: _logs(size) * PRICES["CloudWatch, per GB of logs ingested"]),
    # CloudWatch charges a metric for the hours in which it has values.
    "Metrics": Line(
        "(6 x hours with calls + 2 x 30) / 730",
        lambda size: (
            (CALL_METRICS * size.hours + SWEEP_METRICS * SWEEPS)
            / HOURS
            * PRICES["CloudWatch, per custom metric and month"]
        ),
    ),
    "Traces": Line(
        "one per second, 5 % of the rest",
        lambda size: (
            (min(size.calls + SWEEPS, HOURS * 3600) + 0.05 * max(0, size.calls - HOURS * 3600))
            / MILLION
            * PRICES["X-Ray, per million traces"]
        ),
    ),
    "Answers to the internet": Line("calls x 4 KB", _answers),
}
_OBJECTS: Final = (
    "(2 x entries + 2 x bases + fetches + 6 x purges) of puts and lists, "
    f"calls + entries + {COLD_GETS} x fetches of gets"
)

BILLS: Final[Mapping[str, Mapping[str, Line]]] = {
    "dynamodb": {
        **_ON_LAMBDA,
        "DynamoDB, requests": Line(
            f"calls + entries + fetches x (1 + {ENTRIES_BEHIND} x {ENTRY_KB} / 4) of reads, "
            "2 x saves and updates + deletes + usage + entries of writes",
            _entries,
        ),
        "S3, requests": Line("2 x bases + fetches + 6 x purges of puts and lists, fetches of gets", _bases_beside),
        "Storage": Line(
            "memories x 4.4 KB in the table and in the bucket",
            lambda size: (
                _gigabytes(size) * (PRICES["DynamoDB, per GB and month"] + OTHER_PRICES["S3, per GB and month"])
            ),
        ),
    },
    "s3": {
        **_ON_LAMBDA,
        "S3, requests": Line(
            _OBJECTS,
            lambda size: _objects(size, FUNCTION, "S3, per million of puts and lists", "S3, per million of gets"),
        ),
        "Storage": Line(
            "2 x memories x 4.4 KB", lambda size: 2 * _gigabytes(size) * OTHER_PRICES["S3, per GB and month"]
        ),
    },
    "gcs": {
        "Cloud Run, time": Line(
            "(calls + fetches + 4 x purges) x 0.10 s x (1 vCPU + 1 GiB)",
            lambda size: (
                _seconds_busy(size, CONTAINER)
                * (OTHER_PRICES["Cloud Run, per vCPU-second"] + OTHER_PRICES["Cloud Run, per GiB-second"])
            ),
        ),
        "Cloud Run, requests": Line(
            "calls", lambda size: size.calls / MILLION * OTHER_PRICES["Cloud Run, per million requests"]
        ),
        "Cloud Storage, requests": Line(
            _OBJECTS,
            lambda size: _objects(
                size,
                CONTAINER,
                "Google Cloud Storage, per million of class A operations",
                "Google Cloud Storage, per million of class B operations",
            ),
        ),
        "Storage": Line(
            "2 x memories x 4.4 KB",
            lambda size: 2 * _gigabytes(size) * OTHER_PRICES["Google Cloud Storage, per GB and month"],
        ),
        "Logs": Line("(calls + 30) x 3 KB", lambda size: _logs(size) * OTHER_PRICES["Google Cloud Logging, per GiB"]),
        "Answers to the internet": Line(
            "calls x 4 KB",
            lambda size: size.calls * ANSWER_BYTES / GB * OTHER_PRICES["Google Cloud, data to the internet, per GiB"],
        ),
    },
    "azure": {
        "Container Apps, time": Line(
            "the longer of hours with calls, and (calls + fetches + 4 x purges) x 0.10 s; x (0.5 vCPU + 1 GiB)",
            lambda size: (
                _replica_seconds(size)
                * (
                    0.5 * OTHER_PRICES["Azure Container Apps, per vCPU-second"]
                    + OTHER_PRICES["Azure Container Apps, per GiB-second"]
                )
            ),
        ),
        "Container Apps, requests": Line(
            "calls", lambda size: size.calls / MILLION * OTHER_PRICES["Azure Container Apps, per million requests"]
        ),
        "Blob Storage, requests": Line(
            _OBJECTS,
            lambda size: _objects(
                size,
                CONTAINER,
                "Azure Blob Storage, hot, per million of writes and lists",
                "Azure Blob Storage, hot, per million of reads",
            ),
        ),
        "Storage": Line(
            "2 x memories x 4.4 KB",
            lambda size: 2 * _gigabytes(size) * OTHER_PRICES["Azure Blob Storage, hot, per GB and month"],
        ),
        "Logs": Line(
            "(calls + 30) x 3 KB", lambda size: _logs(size) * OTHER_PRICES["Azure Monitor, basic logs, per GB"]
        ),
        "Answers to the internet": Line(
            "calls x 4 KB",
            lambda size: size.calls * ANSWER_BYTES / GB * OTHER_PRICES["Azure, data to the internet, per GB"],
        ),
    },
    "postgres": {
        **_ON_LAMBDA,
        "Database": Line(
            "730 h x a `db.t4g.micro`; from 10,000 users a `db.t4g.small`; from 1,000,000 a `db.m7g.2xlarge`",
            lambda size: HOURS * OTHER_PRICES[_database(size)],
        ),
        "Storage": Line(
            "2 x memories x 4.4 KB, at least 20 GB",
            lambda size: max(20.0, 2 * _gigabytes(size)) * OTHER_PRICES["RDS, gp3, per GB and month"],
        ),
    },
}
"""The lines of a month's bill for each store that is a log."""


def total(store: str, size: BucketSize) -> float:
    """A month's bill."""
    return fsum(line.cost(size) for line in BILLS[store].values())


def page(text: str) -> str:
    """The page with its tables as they follow from the figures above."""
    tables = {"units": _units(), "prices": _prices(), "month": _month(), "all": _all_bills(), "cold": _cold()}
    tables |= {store: _bill_of(store) for store in BILLS}
    return filled(text, "cost", tables)


def filled(text: str, page: str, tables: Mapping[str, str]) -> str:
    """A page with its tables in place of those that it has."""
    return re.sub(
        rf"(<!-- {page}: (\w+) -->\n).*?(<!-- end -->)",
        lambda found: f"{found[1]}{tables[found[2]]}\n{found[3]}",
        text,
        flags=re.DOTALL,
    )


def _units() -> str:
    rows = [[f"`{name}`", taken.reads, taken.writes, f"{MIX[name]:.0%}"] for name, taken in UNITS.items()]
    rows.append(["hourly sweep, per user", SWEEP.reads, SWEEP.writes, ""])
    return table(["call", "read units", "write units", "share of calls"], rows)


def _prices() -> str:
    return table(
        ["price", "USD"],
        [
            [name, f"{price:.2f}" if round(price, 2) == price else f"{price:.10f}".rstrip("0")]
            for name, price in (PRICES | OTHER_PRICES).items()
        ],
    )


def _month() -> str:
    rows, sums = _bill(SIZES, COMPONENTS)
    rows.append(["**total**", *(f"**{each:,.0f}**" for each in sums)])
    per_thousand = [each / size.calls * 1000 for each, size in zip(sums, SIZES, strict=True)]
    rows.append(["per thousand calls", *(f"{each:,.3f}" for each in per_thousand)])
    return table(_head(SIZES), rows)


def _bill_of(store: str) -> str:
    rows = [
        [name, line.formula, *(f"{line.cost(size):,.2f}" for size in BUCKET_SIZES)]
        for name, line in BILLS[store].items()
    ]
    rows.append(["**total**", "", *(f"**{total(store, size):,.2f}**" for size in BUCKET_SIZES)])
    return table(["USD per month", "units", *(f"{size.users:,} users" for size in BUCKET_SIZES)], rows)


_STORES: Final = {
    "dynamodb": "DynamoDB and S3, on Lambda: the default stage",
    "s3": "S3, on Lambda",
    "gcs": "Google Cloud Storage, on Cloud Run",
    "azure": "Azure Blob Storage, on Container Apps",
    "postgres": "PostgreSQL on RDS, on Lambda",
}


def _all_bills() -> str:
    sizes = [f"{size.users:,} users, {size.memories:,} memories, {size.calls:,} calls" for size in BUCKET_SIZES]
    rows = [[name, *(f"{total(store, size):,.2f}" for size in BUCKET_SIZES)] for store, name in _STORES.items()]
    return table(["USD per month", *sizes], rows)


def _cold() -> str:
    rows = [
        [name, *(f"{size.cold(at_once):.0%}" for size in BUCKET_SIZES[1:])]
        for name, at_once in (("functions, one call at once", FUNCTION), ("containers, ten calls at once", CONTAINER))
    ]
    return table(["calls that meet no copy", *(f"{size.users:,} users" for size in BUCKET_SIZES[1:])], rows)


def _head(sizes: Sequence[Use]) -> list[str]:
    used = [f"{size.users:,} users, {size.memories:,} memories, {size.calls:,} calls" for size in sizes]
    return ["USD per month", *used]


def _bill(sizes: Sequence[U], components: Mapping[str, Callable[[U], float]]) -> tuple[list[list[str]], list[float]]:
    """A row for each component, and the sum for each size."""
    rows = [[name, *(f"{cost(size):,.2f}" for size in sizes)] for name, cost in components.items()]
    return rows, [fsum(cost(size) for cost in components.values()) for size in sizes]


def table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
