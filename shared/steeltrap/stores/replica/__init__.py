"""A user's file over a log: the engine of a laptop, on any number of machines that share a bucket.

Each commit is one entry of the user's log. A replica is a SQLite file that has the entries 1 to n applied; it writes by
creating entry n + 1, and reads by asking for entry n + 1 first. Five invariants make that safe:

I1. A number that is taken stays taken, and a log never goes back. So "there is no entry n + 1" means "up to date".
I2. A file at n is the entries 1 to n. Its position and its rows are written in one transaction.
I3. Base S is the state after entry S. While entry k is a stub, a base of k or later can be read.
I4. After every base that is put, all bases are deleted but the newest and the root: the oldest base at or after the
    `forgot` of the newest. A forgetting makes its own base the root.
I5. What comes due at n is found: a marker of its hour, or of an earlier one, was put before entry n. `meta` says which
    marker stands, and only entry k lets a marker of k stand. `due` has the reasons.

Here: entries, bases, due work, and the file and the store over them. Not here: SQL of memories, which is
`stores.sqlite`'s, and where a log lies, which is `stores.logs`'s. Only `runtime` makes a `ReplicaStore`.
"""

from .store import ReplicaStore

__all__ = ["ReplicaStore"]
