"""The context of one call. Built by the door for each call, handed to the verbs, then gone."""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from typing import Literal, TypeVar

from ..errors import AlreadyExists, VersionConflict
from ..model import DEFAULT_SCOPE, RETENTION, Author, Caller, Embedding, Outcome, OutcomeKind
from ..model.frozen import frozen
from ..ports import Background, Change, Clock, Deadline, Embedder, ExportFiles, Space
from ..ranking.weights import WEIGHTS, Weights
from ..telemetry import Measure
from ..text.dates import minute_text
from .quota import Growth, Quota, growth_of

R = TypeVar("R")
T = TypeVar("T")

SecretsMode = Literal["redact", "refuse", "off"]
"""The treatment of secrets in what a caller gives: a placeholder, an error, or nothing."""


@frozen
class Rules:
    """The settings that change how the engine decides.

    `vector_weight` None leaves it to the ranking rules (`auto`), which `ranking` weighs. `retention` is how long a
    deleted memory can be brought back; zero purges at once. `zone` is where days are for a caller that says nothing of
    it; None is this machine's own. Without `show_untrusted` a model isn't shown what untrusted agents wrote.
    `start_tokens` bounds what a session's start is given. `secrets` None leaves it to each toolset what becomes of
    secrets.
    """

    vector_weight: float | None = None
    ranking: Weights = WEIGHTS
    retention: timedelta = RETENTION
    short_term_ttl: timedelta = timedelta(hours=24)
    zone: tzinfo | None = None
    show_untrusted: bool = True
    start_tokens: int = 400
    secrets: SecretsMode | None = None


@dataclass(slots=True, kw_only=True)
class Call:
    """Everything that one call needs: the caller, their space, the embedder, the clock and the deadline.

    `files` is None if the server has no file storage or the tool doesn't use it. `zone` is where the caller's days are,
    None for this machine's. `measure` takes the time of the stages. With a `background` no append waits for episodes to
    be made.
    What is written belongs to the import `import_id`, if there is one.

    A toolset sets `outcome`, which travels beside the answer: in `core` it is part of it, elsewhere a
    header or `_meta`. `redacted` has the kind and the hash of each secret that was replaced.
    """

    caller: Caller
    space: Space
    embedder: Embedder
    clock: Clock
    deadline: Deadline
    rules: Rules = field(default_factory=Rules)
    files: ExportFiles | None = None
    quota: Quota | None = None
    idempotency_key: str | None = None
    outcome: Outcome | None = None
    secrets: SecretsMode = "redact"
    zone: tzinfo | None = None
    redacted: set[tuple[str, int]] = field(default_factory=set, repr=False)
    measure: Measure = field(default_factory=Measure)
    import_id: str | None = None
    background: Background | None = None

    @property
    def scope(self) -> str:
        """Where a memory goes that names no scope: to the caller's project, if there is one."""
        return self.caller.project or DEFAULT_SCOPE

    def now(self) -> datetime:
        return self.clock.now()

    def author(self) -> Author:
        """The caller as the author of a change that is made now."""
        return Author(
            agent_id=self.caller.agent_id,
            at=self.now(),
            is_untrusted=self.caller.permissions.untrusted,
            import_id=self.import_id,
        )

    def in_time(self, items: Iterable[T]) -> Iterator[T]:
        """The items one by one, as long as there is time left. Raises Unavailable."""
        for item in items:
            self.deadline.left()
            yield item

    def offline_notice(self) -> str | None:
        """The sentence that says since when the answer may be old: the store can't be reached, and a copy of the
        memories answers. None where what the call read was current.

        Such a call can change nothing. What its answer lacks may have been saved on another machine.
        """
        at = self.space.cached_at()
        return None if at is None else f"Offline: this is as of {minute_text(at, self.zone)}."

    def with_offline_notice(self, outcome: Outcome | None) -> Outcome | None:
        """An outcome of this call that begins with the notice. A degraded one stays so: that is worse."""
        sentence = self.offline_notice()
        if sentence is None or (outcome is not None and outcome.message.startswith(sentence)):
            return outcome
        if outcome is None:
            return Outcome(kind=OutcomeKind.OFFLINE, message=sentence)
        kind = outcome.kind if outcome.kind is OutcomeKind.DEGRADED else OutcomeKind.OFFLINE
        return replace(outcome, kind=kind, message=f"{sentence} {outcome.message}")

    def commit(self, changes: Sequence[Change], *, within_quota: bool = True) -> None:
        """Write all of the changes, or none of them. Raises as `Space.commit` does, and Throttled over the quota."""
        growth = Growth() if self.quota is None else growth_of(changes)
        if self.quota is not None and within_quota:
            self.quota.admit(self.space, growth)
        with self.measure.stage("write"):
            self.space.commit(changes)
        if self.quota is not None:
            self.quota.note(growth)

    def change(self, read: Callable[[], R], write: Callable[[R], T]) -> T:
        """Read images, and write what follows from them; again when another write came in between.

        `read` raises what repeating can't help, such as a VersionConflict with the version that the caller saw.
        Raises Unavailable after the deadline.
        """
        while True:
            images = read()
            try:
                return write(images)
            except VersionConflict:
                self.deadline.left()

    def create_absent(self, write: Callable[[Set[str]], T]) -> T:
        """Write what is absent; again without an id that another call created in between. `write` gets those ids."""
        taken_ids: set[str] = set()
        while True:
            try:
                return write(taken_ids)
            except AlreadyExists as conflict:
                if conflict.id in taken_ids:  # an id conflicts once at most, so this ends
                    raise
                taken_ids.add(conflict.id)

    def embed(self, texts: Sequence[str], purpose: Literal["document", "query"] = "document") -> list[Embedding]:
        with self.measure.stage("embed"):
            return self.embedder.embed(texts, purpose=purpose, timeout=self.deadline.left())
