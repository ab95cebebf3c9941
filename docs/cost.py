"""What a month costs: counted units, prices, three sizes. `docs/generate.py` writes the tables of docs/cost.md."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum  # the same in every Python; `sum` of floats is not
from typing import Final, TypeVar

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
    "list": Units(59, 0),
    "delete": Units(5, 8),
}
SWEEP: Final = Units(15, 0)
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

OBJECT_PRICES: Final = {
    "S3, per million of puts and lists": 5.00,
    "S3, per million of gets": 0.40,
    "S3, per GB and month": 0.023,
}
LOG_UNITS: Final = {
    "search": Units(1, 0),
    "save": Units(1, 2),
    "update": Units(1, 2),
    "get": Units(1, 0),
    "list": Units(1, 0),
    "delete": Units(1, 1),
}
"""Over a bucket: a call asks for the next entry, and a change writes one."""
ENTRIES_BEHIND: Final = 64
"""Entries that a function reads after a user's base when it has no copy: half of those after which a base is put."""
COLD: Final = 0.10
USAGE: Final = 0.20

GB: Final = 1e9
CALL_SECONDS: Final = 0.10
INDEXER_SECONDS: Final = 0.10
SWEEP_SECONDS: Final = 0.025
LONGEST_SWEEP: Final = 900
TABLE_BYTES: Final = 3_600
INDEX_BYTES: Final = 5_900
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
    """The use of a stage over a bucket, and in how many hours of a month it is asked."""

    hours: int


BUCKET_SIZES: Final = (
    BucketSize(0, 0, 0, 0),
    BucketSize(100, 10_000, 30_000, 200),
    BucketSize(10_000, MILLION, 3 * MILLION, HOURS),
)


def _fetches(size: BucketSize) -> float:
    """How often a function fetches a user's file: when it has no copy, and in each sweep."""
    return size.calls * COLD + SWEEPS * size.users


def _log_units(size: BucketSize) -> float:
    read = fsum(MIX[name] * LOG_UNITS[name].reads for name in MIX) * size.calls
    write = (USAGE + fsum(MIX[name] * LOG_UNITS[name].writes for name in MIX)) * size.calls
    read += _fetches(size) * ENTRIES_BEHIND * 1.64 / 4
    return (
        read * PRICES["DynamoDB, per million read units"] + write * PRICES["DynamoDB, per million write units"]
    ) / MILLION


BUCKET_COMPONENTS: Final[dict[str, Callable[[BucketSize], float]]] = {
    "Lambda, time": lambda size: (
        (size.calls * CALL_SECONDS + _fetches(size) * CALL_SECONDS + SWEEPS) * PRICES["Lambda, arm64, per GB-second"]
    ),
    "Lambda, requests": lambda size: (size.calls + SWEEPS) / MILLION * PRICES["Lambda, per million requests"],
    "HTTP API": _http_api,
    "DynamoDB, requests": _log_units,
    "S3, requests": lambda size: (
        (
            (_fetches(size) + SWEEPS) * OBJECT_PRICES["S3, per million of puts and lists"]
            + (_fetches(size) + SWEEPS * size.users) * OBJECT_PRICES["S3, per million of gets"]
        )
        / MILLION
    ),
    "Storage": lambda size: (
        size.memories
        * STORED_BYTES
        / GB
        * (PRICES["DynamoDB, per GB and month"] + OBJECT_PRICES["S3, per GB and month"])
    ),
    "Logs": lambda size: (size.calls + SWEEPS) * LOG_BYTES / GB * PRICES["CloudWatch, per GB of logs ingested"],
    # CloudWatch charges a metric for the hours in which it has values.
    "Metrics": lambda size: (
        (CALL_METRICS * size.hours + SWEEP_METRICS * SWEEPS) / HOURS * PRICES["CloudWatch, per custom metric and month"]
    ),
    "Traces": lambda size: (
        (min(size.calls + SWEEPS, HOURS * 3600) + 0.05 * max(0, size.calls - HOURS * 3600))
        / MILLION
        * PRICES["X-Ray, per million traces"]
    ),
    "Answers to the internet": _answers,
}


def page(text: str) -> str:
    """The page with its tables as they follow from the figures above."""
    tables = {"units": _units(), "prices": _prices(), "month": _month(), "bucket": _bucket_month()}
    return re.sub(
        r"(<!-- cost: (\w+) -->\n).*?(<!-- end -->)",
        lambda found: f"{found[1]}{tables[found[2]]}\n{found[3]}",
        text,
        flags=re.DOTALL,
    )


def _units() -> str:
    rows = [[f"`{name}`", taken.reads, taken.writes, f"{MIX[name]:.0%}"] for name, taken in UNITS.items()]
    rows.append(["hourly sweep, per user", SWEEP.reads, SWEEP.writes, ""])
    return _table(["call", "read units", "write units", "share of calls"], rows)


def _prices() -> str:
    return _table(
        ["price", "USD"],
        [
            [name, f"{price:.2f}" if round(price, 2) == price else f"{price:.10f}".rstrip("0")]
            for name, price in (PRICES | OBJECT_PRICES).items()
        ],
    )


def _month() -> str:
    rows, sums = _bill(SIZES, COMPONENTS)
    rows.append(["**total**", *(f"**{each:,.0f}**" for each in sums)])
    per_thousand = [each / size.calls * 1000 for each, size in zip(sums, SIZES, strict=True)]
    rows.append(["per thousand calls", *(f"{each:,.3f}" for each in per_thousand)])
    return _table(_head(SIZES), rows)


def _bucket_month() -> str:
    rows, sums = _bill(BUCKET_SIZES, BUCKET_COMPONENTS)
    rows.append(["**total**", *(f"**{each:,.2f}**" for each in sums)])
    return _table(_head(BUCKET_SIZES), rows)


def _head(sizes: Sequence[Use]) -> list[str]:
    used = [f"{size.users:,} users, {size.memories:,} memories, {size.calls:,} calls" for size in sizes]
    return ["USD per month", *used]


def _bill(sizes: Sequence[U], components: Mapping[str, Callable[[U], float]]) -> tuple[list[list[str]], list[float]]:
    """A row for each component, and the sum for each size."""
    rows = [[name, *(f"{cost(size):,.2f}" for size in sizes)] for name, cost in components.items()]
    return rows, [fsum(cost(size) for cost in components.values()) for size in sizes]


def _table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
