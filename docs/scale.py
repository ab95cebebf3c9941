"""How far a log carries: what a user takes of each store, and four simulations. `docs/generate.py` writes the tables of
docs/scale.md; `python -m docs.scale` prints them."""

from collections.abc import Sequence
from typing import Final

from .cost import (
    BILLS,
    BUCKET_SIZES,
    COLD_GETS,
    ENTRIES_BEHIND,
    ENTRY_KB,
    HOURS,
    MILLION,
    OTHER_PRICES,
    PUTS_A_PURGE,
    STORED_BYTES,
    SWEEPS,
    BucketSize,
    filled,
    table,
    total,
)
from .simulation import (
    CONTAINER,
    FUNCTION,
    OPEN_SECONDS,
    PEAK,
    PURGE_SECONDS,
    SHARES,
    caching,
    crowding,
    signing_up,
    sweeping,
)

LARGEST: Final = BUCKET_SIZES[-1]

S3_PUTS: Final = 3_500
S3_GETS: Final = 5_500
"""Requests per second of one partition of a bucket; S3 adds partitions as a prefix is used."""
NEW_TABLE_WRITES: Final = 4_000
NEW_TABLE_READS: Final = 12_000
"""Units per second of a new on-demand table, before DynamoDB has seen more."""
MONTHLY_ENTRIES: Final = 150
"""Entries of a user: of 300 calls half."""
NEW_ACCOUNT: Final = 10
"""Functions that may run at once in a new account."""


def page(text: str) -> str:
    """The page with its tables as they follow from the simulations and the prices."""
    return filled(text, "scale", tables())


def tables() -> dict[str, str]:
    """The tables by name."""
    return {
        "stores": _stores(),
        "caches": _caches(),
        "due": _due_work(),
        "signup": _sign_up(),
        "hot": _hot_user(),
    }


def busiest(size: BucketSize) -> float:
    """Calls per second in the busiest hour."""
    return PEAK * size.calls / size.hours / 3600


def _stores() -> str:
    """Requests per second in the busiest hour of a million users, beside what a store takes."""
    calls = busiest(LARGEST)
    functions, containers = (LARGEST.cold(at_once) for at_once in (FUNCTION, CONTAINER))
    changes = calls * 0.5
    rows = [
        [
            "DynamoDB, bases in S3",
            f"{calls + functions * calls * (1 + ENTRIES_BEHIND * ENTRY_KB / 4):,.0f} read units, "
            f"{calls * 0.79:,.0f} write units, {2 * functions * calls:,.0f} requests of S3",
            f"{NEW_TABLE_READS:,} and {NEW_TABLE_WRITES:,} units of a new table, more once it was used",
            *_money("dynamodb"),
        ],
        [
            "a bucket (S3)",
            f"{changes + functions * calls:,.0f} puts and lists, {calls + COLD_GETS * functions * calls:,.0f} gets",
            f"{S3_PUTS:,} and {S3_GETS:,} of one partition, more as S3 divides the prefix",
            *_money("s3"),
        ],
        [
            "a bucket (Google Cloud Storage, Azure)",
            f"{changes + containers * calls:,.0f} puts and lists, {calls + COLD_GETS * containers * calls:,.0f} gets",
            "1,000 writes and 5,000 reads at first (Google), 20,000 per account (Azure)",
            *_money("gcs"),
        ],
        [
            "PostgreSQL",
            f"{calls + functions * calls:,.0f} queries, {changes:,.0f} commits, "
            f"{2 * LARGEST.memories * STORED_BYTES / 1e9:,.0f} GB",
            "what one server's disk takes: not measured",
            *_money("postgres"),
        ],
    ]
    return table(["store", "per second", "it takes", "USD per month", "per 1,000 calls"], rows)


def _money(store: str) -> Sequence[str]:
    assert store in BILLS
    bill = total(store, LARGEST)
    return f"{bill:,.0f}", f"{bill / LARGEST.calls * 1000:.4f}"


def _caches() -> str:
    sizes = [*BUCKET_SIZES[1:3], BucketSize(100_000, 10 * MILLION, 30 * MILLION, HOURS), LARGEST]
    rows = []
    for size in sizes:
        by_kind = [caching(size.users, PEAK * size.calls / size.hours, at_once) for at_once in (FUNCTION, CONTAINER)]
        cells = [cell for met in by_kind for cell in (met.processes, f"{met.cold:.0%}")]
        rows.append([f"{size.users:,}", f"{by_kind[0].per_second:.1f}", *cells])
    return table(["users", "calls per second", "functions", "without a copy", "containers", "without a copy"], rows)


def _due_work() -> str:
    rows = []
    per_fetch, per_entry = _dollars(1, COLD_GETS), _dollars(1, 1)
    for users in (1_000, 10_000, 100_000, MILLION):
        swept, others = sweeping(users), users / SHARES
        # Each entry is overwritten once, by the next sweep that purges.
        stubs = MONTHLY_ENTRIES * users
        purges = SWEEPS * swept.due * (per_fetch + PUTS_A_PURGE * _dollars(1, 0)) + stubs * per_entry
        seconds = swept.due * PURGE_SECONDS + others * OPEN_SECONDS
        rows.append(
            [
                f"{users:,}",
                f"{swept.due:,}",
                f"{others:,.0f}",
                f"{swept.reached:,}",
                f"{swept.late:,.1f}",
                f"{swept.latest:,.0f}",
                f"{seconds / 3600:,.1f}",
                f"{purges:,.2f}",
                f"{SWEEPS * others * per_fetch:,.2f}",
                f"{SWEEPS * (users - swept.due) * per_fetch:,.2f}",
            ]
        )
    return table(
        [
            "users",
            "with work due, per day",
            "others opened, per day",
            "due ones reached by one function",
            "days late, mean",
            "99 %",
            "hours of a sweep without a limit",
            "USD per month: due work",
            "the others opened",
            "all others, without markers",
        ],
        rows,
    )


def _dollars(puts: int, gets: int) -> float:
    """Dollars for requests of S3."""
    prices = OTHER_PRICES["S3, per million of puts and lists"], OTHER_PRICES["S3, per million of gets"]
    return (puts * prices[0] + gets * prices[1]) / MILLION


def _sign_up() -> str:
    rows = []
    for users, at_once in ((10_000, NEW_ACCOUNT), (100_000, NEW_ACCOUNT), (150_000, NEW_ACCOUNT), (MILLION, 1_000)):
        met = signing_up(users, at_once)
        rows.append(
            [
                f"{users:,}",
                f"{at_once:,}",
                f"{met.throttled:.3f}",
                met.waited,
                f"{met.given_up:.1%}",
                f"{users / 3600 * 2:,.0f}",
            ]
        )
    return table(
        [
            "first saves in an hour",
            "functions at once",
            "refused attempts per user",
            "longest wait, s",
            "given up",
            "puts per second",
        ],
        rows,
    )


def _hot_user() -> str:
    rows = []
    for writers in (1, 2, 3, 5, 10):
        cells: list[str] = []
        for get, put in ((0.025, 0.035), (0.005, 0.010)):
            met = crowding(writers, get, put)
            cells += [f"{met.per_second:.0f}", f"{met.median:.2f}", f"{met.longest:.1f}"]
        rows.append([writers, *cells])
    head = ["commits per second", "median, s", "longest, s"]
    return table(["machines", *(f"bucket: {name}" for name in head), *(f"table: {name}" for name in head)], rows)


if __name__ == "__main__":
    for name, made in tables().items():
        print(f"{name}\n\n{made}\n")
