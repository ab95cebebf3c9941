"""Written by docs/generate.py from the tools and `in_process.py`: change those, then run `make docs`."""

import builtins
from collections.abc import Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from ..invoke import Door, Result
from ..model import Caller, JsonObject
from ..ports import Clock, Embedder

class Memory:
    """One user's memory. Safe for many threads; close it at the end, or use it in a `with`.

        with open_memory("data") as memory:
            memory.core.save(content="User prefers dark mode")
            memory.call("notes.memory_search", query="theme")

    Each toolset is an attribute, and each tool one of its attributes (`memory.core.import_`, since
    `import` is a keyword).
    """

    agent: Agent
    core: Core
    files: Files
    notes: Notes
    categories: Categories
    records: Records
    associative: Associative
    episodic: Episodic

    def __init__(self, door: Door, caller: Caller, timezone: str | None = None, *, place: str = "") -> None: ...
    def call(self, tool: str, /, **arguments: Any) -> Any:
        """The answer of a tool such as `core.save`. Raises the SteeltrapError that the call met."""
        ...

    def invoke(
        self, tool: str, arguments: JsonObject, *, idempotency_key: str | None = None, timezone: str | None = None
    ) -> Result:
        """A call with all that it tells: the answer, what a search met, and a failure as a value.

        `timezone` is the zone of the caller's days for this call. Raises NotFound for a tool that there isn't,
        InvalidInput for a name that is no text, and RuntimeError once this is closed.
        """
        ...

    def as_user(
        self, user: str, *, agent: str | None = None, conversation: str | None = None, timezone: str | None = None
    ) -> Memory:
        """The same store for another user, with the days of their time zone; closing either closes both."""
        ...

    def close(self) -> None:
        """Flush what is buffered and let go of files. Later calls are refused."""
        ...

    def __enter__(self) -> Memory: ...
    def __exit__(self, *_: object) -> None: ...

def open_memory(
    folder: str | PathLike[str] | None = None,
    *,
    user: str | None = None,
    agent: str | None = None,
    conversation: str | None = None,
    embedder: Embedder | str | None = None,
    clock: Clock | None = None,
    timezone: str | None = None,
) -> Memory:
    """The memory in a folder. A folder that isn't there is made at the first save.

    What is not given comes from the settings that the command line uses: STEELTRAP_DATA (else ~/.steeltrap),
    STEELTRAP_USER, STEELTRAP_AGENT. So `open_memory()` opens what `steeltrap recall` searches.
    `timezone` is the IANA name of the user's zone, STEELTRAP_TIMEZONE or the machine's own without it.
    `embedder` is a setting's name (`static-256`) or an object that embeds. Raises InvalidInput, and Unavailable for a
    folder that can't be one.
    """
    ...

class Agent:
    """Six tools for a model: remember, recall, revise, forget, list, undo. Answers are plain text."""

    def remember(
        self,
        *,
        content: str,
        occurred_at: str | datetime | None = None,
        about: Literal["project", "user"] | None = None,
    ) -> str:
        """Save a fact, preference, decision or event that will matter in later conversations. Write names and dates, not
        "he" or "tomorrow". Don't save passwords, keys or what only matters for the task at hand.
        """

    def recall(self, *, query: str, max_tokens: int = 2000) -> str:
        """Search what was remembered in earlier conversations. Call it before you answer anything that may depend on the
        user's past, plans, preferences or projects. Memories after "Less sure" may be about something else. If nothing is
        close, ask again in other words before you say that you don't know.
        """

    def recent_memories(self, *, limit: int = 10, offset: int = 0) -> str:
        """List the memories that were saved last, newest first."""

    def revise_memory(self, *, id: str, content: str) -> str:
        """Replace a memory that changed or was wrong. The old text stays in history."""

    def forget_memory(self, *, id: str) -> str:
        """Delete a memory when the user asks you to forget it."""

    def undo_memory_change(self, *, id: str | None = None) -> str:
        """Undo the last change to a memory: saved, revised or forgotten."""

class CoreMessageInput(TypedDict):
    """One message."""

    role: str
    content: str
    time: NotRequired[str | datetime | None]
    speaker: NotRequired[str | None]

class CoreSavedView(TypedDict):
    """The saved memory, and the most similar one stored before it."""

    id: str
    version: int
    scope: str
    surprise: NotRequired[float]
    links: int
    existed: bool
    nearest_id: NotRequired[str]
    similarity: NotRequired[float]
    supersedes: NotRequired[builtins.list[str]]
    probably_supersedes: NotRequired[builtins.list[str]]

class CoreMessageView(TypedDict):
    role: str
    content: str
    time: NotRequired[str]
    speaker: NotRequired[str]

class CoreImportanceView(TypedDict):
    score: float
    reason: str
    set_at: str

class CoreLinkView(TypedDict):
    target_id: str
    strength: float
    manual: bool

class CoreMemoryView(TypedDict):
    """A memory. Omitted fields have their default.

    The agent `agent_id` wrote it; the agent `updated_by` last changed it. With `imported_at`, its times and history
    come from the imported record.
    """

    id: str
    content: str
    created_at: str
    updated_at: str
    version: int
    scope: str
    tags: NotRequired[builtins.list[str]]
    category: NotRequired[str]
    context: NotRequired[str]
    confidence: NotRequired[float]
    metadata: NotRequired[builtins.dict[str, Any]]
    content_type: NotRequired[str]
    tier: NotRequired[str]
    source: NotRequired[str]
    messages: NotRequired[builtins.list[CoreMessageView]]
    agent_id: NotRequired[str]
    agent_label: NotRequired[str]
    updated_by: NotRequired[str]
    imported_by: NotRequired[str]
    imported_at: NotRequired[str]
    import_id: NotRequired[str]
    conversation_id: NotRequired[str]
    occurred_at: NotRequired[str]
    occurred_until: NotRequired[str]
    expires_at: NotRequired[str]
    deleted_at: NotRequired[str]
    surprise: NotRequired[float]
    importance: NotRequired[CoreImportanceView]
    pinned: NotRequired[bool]
    untrusted: NotRequired[bool]
    superseded_by: NotRequired[str]
    superseded_at: NotRequired[str]
    supersedes: NotRequired[builtins.list[str]]
    links: NotRequired[builtins.list[CoreLinkView]]
    left_out: NotRequired[int]

class CoreListView(TypedDict):
    """A page of memories, in the order that was asked for, and the total number."""

    memories: builtins.list[CoreMemoryView]
    total: int

class CoreWhyView(TypedDict):
    """Why a result was found: its raw scores, its scaled scores, and what ranking rules added."""

    similarity: NotRequired[float]
    bm25: NotRequired[float]
    semantic: float
    keyword: float
    boosts: NotRequired[builtins.dict[str, float]]
    led_by: NotRequired[builtins.list[str]]
    importance: NotRequired[float]

class CoreHitView(TypedDict):
    id: str
    content: str
    created_at: str
    updated_at: str
    version: int
    scope: str
    tags: NotRequired[builtins.list[str]]
    category: NotRequired[str]
    context: NotRequired[str]
    confidence: NotRequired[float]
    metadata: NotRequired[builtins.dict[str, Any]]
    content_type: NotRequired[str]
    tier: NotRequired[str]
    source: NotRequired[str]
    messages: NotRequired[builtins.list[CoreMessageView]]
    agent_id: NotRequired[str]
    agent_label: NotRequired[str]
    updated_by: NotRequired[str]
    imported_by: NotRequired[str]
    imported_at: NotRequired[str]
    import_id: NotRequired[str]
    conversation_id: NotRequired[str]
    occurred_at: NotRequired[str]
    occurred_until: NotRequired[str]
    expires_at: NotRequired[str]
    deleted_at: NotRequired[str]
    surprise: NotRequired[float]
    importance: NotRequired[CoreImportanceView]
    pinned: NotRequired[bool]
    untrusted: NotRequired[bool]
    superseded_by: NotRequired[str]
    superseded_at: NotRequired[str]
    supersedes: NotRequired[builtins.list[str]]
    links: NotRequired[builtins.list[CoreLinkView]]
    left_out: NotRequired[int]
    score: float
    saved_confidence: NotRequired[float]
    less_sure: NotRequired[bool]
    why: NotRequired[CoreWhyView]

class CoreNearestView(TypedDict):
    """The memory that came nearest; `content` is cut after 200 characters."""

    id: str
    content: str
    score: float

class CoreOutcomeView(TypedDict):
    """How the search ended: found, less_sure, nothing_stored, nothing_matched, nothing_relevant, below_floor,
    filtered_out, degraded or offline.
    """

    kind: str
    message: str
    best_score: NotRequired[float]
    more: NotRequired[int]
    nearest: NotRequired[CoreNearestView]

class CoreSearchView(TypedDict):
    """The results, best first, and the outcome of the search."""

    results: builtins.list[CoreHitView]
    outcome: CoreOutcomeView

class CoreDeletedView(TypedDict):
    """The ids of the deleted memories. `more` is true if time ran out: call again to continue."""

    deleted: builtins.list[str]
    more: NotRequired[bool]

class CoreMemoryInput(TypedDict):
    """A memory to save."""

    content: str
    messages: NotRequired[Sequence[CoreMessageInput]]
    content_type: NotRequired[Literal["text", "image", "code", "json", "yaml"]]
    tier: NotRequired[Literal["short_term", "long_term", "working"]]
    category: NotRequired[str | None]
    context: NotRequired[str | None]
    confidence: NotRequired[float]
    tags: NotRequired[Sequence[str]]
    metadata: NotRequired[Mapping[str, Any]]
    scope: NotRequired[str]
    agent_label: NotRequired[str | None]
    conversation_id: NotRequired[str | None]
    occurred_at: NotRequired[str | datetime | None]
    occurred_until: NotRequired[str | datetime | None]
    ttl_seconds: NotRequired[int | None]
    surprise: NotRequired[float | None]
    pinned: NotRequired[bool]
    supersedes: NotRequired[Sequence[str]]

class CoreItemError(TypedDict):
    """Why an item was not written."""

    index: int
    code: str
    message: str

class CoreBatchView(TypedDict):
    """The ids written, in order, and the items that failed."""

    ids: builtins.list[str]
    errors: builtins.list[CoreItemError]

class CorePutItemInput(TypedDict):
    """A memory and the id to put it under."""

    content: str
    messages: NotRequired[Sequence[CoreMessageInput]]
    content_type: NotRequired[Literal["text", "image", "code", "json", "yaml"]]
    tier: NotRequired[Literal["short_term", "long_term", "working"]]
    category: NotRequired[str | None]
    context: NotRequired[str | None]
    confidence: NotRequired[float]
    tags: NotRequired[Sequence[str]]
    metadata: NotRequired[Mapping[str, Any]]
    scope: NotRequired[str]
    agent_label: NotRequired[str | None]
    conversation_id: NotRequired[str | None]
    occurred_at: NotRequired[str | datetime | None]
    occurred_until: NotRequired[str | datetime | None]
    ttl_seconds: NotRequired[int | None]
    surprise: NotRequired[float | None]
    pinned: NotRequired[bool]
    id: str

class CorePutView(TypedDict):
    """The ids, in order, and their versions: 1 for a memory that is new."""

    ids: builtins.list[str]
    versions: builtins.list[int]

class CoreEditInput(TypedDict):
    """The changes; omitted fields stay as they are."""

    id: str
    content: NotRequired[str | None]
    tags: NotRequired[Sequence[str] | None]
    metadata: NotRequired[Mapping[str, Any] | None]
    content_type: NotRequired[Literal["text", "image", "code", "json", "yaml"] | None]
    tier: NotRequired[Literal["short_term", "long_term", "working"] | None]
    category: NotRequired[str | None]
    context: NotRequired[str | None]
    confidence: NotRequired[float | None]
    scope: NotRequired[str | None]
    agent_label: NotRequired[str | None]
    occurred_at: NotRequired[str | datetime | None]
    occurred_until: NotRequired[str | datetime | None]
    ttl_seconds: NotRequired[int | None]
    surprise: NotRequired[float | None]
    pinned: NotRequired[bool | None]
    clear: NotRequired[Sequence[Literal["category", "context", "occurred_at", "occurred_until", "expires_at"]]]

class CoreAssociationView(TypedDict):
    """A linked memory."""

    id: str
    content: str
    scope: str
    strength: float
    manual: bool

class CoreAssociationsView(TypedDict):
    associations: builtins.list[CoreAssociationView]

class CoreMovedView(TypedDict):
    """The ids moved, and the memories that could not be moved."""

    moved: builtins.list[str]
    failed: builtins.list[CoreItemError]

class CoreScopeView(TypedDict):
    scope: str
    memories: int
    last_written_at: str

class CoreScopesView(TypedDict):
    """The scopes that have memories, sorted by name. `memories` counts those directly in the scope."""

    scopes: builtins.list[CoreScopeView]

class CoreGuessView(TypedDict):
    scope: str
    confidence: float

class CoreSuggestionView(TypedDict):
    """The suggested scope, the confidence (0 to 1) and the basis: stored_memories, described_scopes (common scopes,
    used if no similar memory is stored), current_scope or default.
    """

    scope: str
    confidence: float
    basis: str
    alternatives: builtins.list[CoreGuessView]

class CoreCreatedSessionView(TypedDict):
    id: str
    scope: str
    created_at: NotRequired[str]
    last_activity: str
    memories: int
    total: int
    existed: bool

class CoreSessionView(TypedDict):
    """A session. Its memories have the scope `session/{id}`. There is no `created_at` if nobody created it."""

    id: str
    scope: str
    created_at: NotRequired[str]
    last_activity: str
    memories: int
    total: int

class CoreSessionsView(TypedDict):
    """The sessions, most recently active first."""

    sessions: builtins.list[CoreSessionView]

class CoreCleanedUpView(TypedDict):
    """The ended sessions and the deleted memories. `more` is true if time ran out: call again to continue."""

    sessions: builtins.list[str]
    deleted: builtins.list[str]
    spared: int
    more: bool

class CoreAppendedMessage(TypedDict):
    """A message to append."""

    role: str
    content: str
    time: NotRequired[str | datetime | None]
    speaker: NotRequired[str | None]
    id: NotRequired[str | None]

class CoreAppendedView(TypedDict):
    """The ids of the stored messages, in order, and those that were stored before. `split` lists all ids of a message
    that is stored in several parts, by its first id. `episodes` were made in this call, also of other conversations; a
    server makes them after it. With `ended`, `closed` says whether all messages are in episodes: if false, repeat with
    `ended`.
    """

    conversation_id: str
    ids: builtins.list[str]
    existed: NotRequired[builtins.list[str]]
    split: NotRequired[builtins.dict[str, builtins.list[str]]]
    episodes: NotRequired[builtins.list[str]]
    closed: NotRequired[bool]

class CoreDecayView(TypedDict):
    """How well a memory is remembered at a time, 0 to 1, and when that falls below 0.9 and 0.5 if nobody recalls it.
    Pinned memories never fade.
    """

    id: str
    at: str
    retrievability: float
    below_90_percent_at: NotRequired[str]
    below_50_percent_at: NotRequired[str]

class CoreScoreView(TypedDict):
    """How important a memory is, 0 to 1. `reason` and `set_at` are present if it was set manually."""

    id: str
    score: float
    access_count: int
    last_accessed_at: NotRequired[str]
    reason: NotRequired[str]
    set_at: NotRequired[str]

class CoreRescoredView(TypedDict):
    """The previous score and the new one."""

    id: str
    version: int
    previous: float
    score: float

class CoreRevisionView(TypedDict):
    """One version of a memory. The current one has no `replaced_at` or `replaced_by`."""

    memory: CoreMemoryView
    replaced_at: NotRequired[str]
    replaced_by: NotRequired[str]

class CoreHistoryView(TypedDict):
    """Versions of a memory. There is no `next` once the current version is included."""

    revisions: builtins.list[CoreRevisionView]
    next: NotRequired[int]

class CoreRewrittenView(TypedDict):
    """An episode that lost messages: its old id and its new one."""

    was: str
    id: str

class CoreLeftView(TypedDict):
    """A memory that is still there. `why`: it was `merged` from a forgotten one, has the `same text`, or `names it`."""

    id: str
    why: str

class CoreBroughtByView(TypedDict):
    """An import that brought a forgotten memory, and the name of its file."""

    id: str
    name: str

class CoreReceiptView(TypedDict):
    """The erased ids, and what is left. `id` is the memory's if one was asked for, `forgotten` are all erased ids.

    `verified` is true if something was forgotten, the store was searched afterwards, and no memory holds the text or
    names the id. `left` lists up to 100 of the `left_count` that do. `rewritten` episodes lost messages. `back` are
    memories that a forgotten one had superseded, found again. `exports` are your exported files that still hold the
    text, and `unread_exports` could not be read. `imports` brought what was forgotten, and their files may still hold
    it. `more` is true if time ran out: call again to continue.
    """

    id: NotRequired[str]
    forgotten: builtins.list[str]
    forgotten_at: str
    verified: bool
    rewritten: NotRequired[builtins.list[CoreRewrittenView]]
    left: NotRequired[builtins.list[CoreLeftView]]
    left_count: NotRequired[int]
    back: NotRequired[builtins.list[str]]
    exports: NotRequired[builtins.list[str]]
    unread_exports: NotRequired[builtins.list[str]]
    imports: NotRequired[builtins.list[CoreBroughtByView]]
    more: NotRequired[bool]
    message: str
    outside: str

class CoreExportView(TypedDict):
    """Complete records for `import`. The last page has no `next`."""

    records: builtins.list[builtins.dict[str, Any]]
    next: NotRequired[str]

class CoreImportView(TypedDict):
    """The number written, the number that already existed, and the records that failed."""

    written: int
    skipped: int
    errors: builtins.list[CoreItemError]

class CoreImportRunView(TypedDict):
    """An import. `state`: running; unfinished (it was stopped or killed); complete; undone. `kept` counts what an undo
    left because it was changed since. With `id`, `files` has the first files with their counts: found, written, skipped
    (already there), failed, and left_out by what it is.
    """

    id: str
    name: str
    state: str
    started_at: str
    formats: NotRequired[builtins.list[str]]
    agent_id: NotRequired[str]
    found: NotRequired[int]
    written: int
    updated: NotRequired[int]
    skipped: int
    failed: int
    episodes: NotRequired[int]
    finished_at: NotRequired[str]
    undone_at: NotRequired[str]
    kept: NotRequired[int]
    files: NotRequired[builtins.list[builtins.dict[str, Any]]]
    file_count: NotRequired[int]

class CoreImportsView(TypedDict):
    """The imports, the latest first, and how many there are in all."""

    imports: builtins.list[CoreImportRunView]
    total: int

class CoreChangedView(TypedDict):
    """A memory that was changed since the import."""

    id: str
    content: str

class CoreImportUndoneView(TypedDict):
    """The numbers of memories and messages that were removed and of memories that have their earlier text again. `left`
    has up to 100 of the memories that were changed since and stay, `left_total` counts them. `more` is true if time
    ran out: call again to continue.
    """

    id: str
    removed: int
    restored: int
    left: builtins.list[CoreChangedView]
    left_total: int
    more: NotRequired[bool]

class CoreStatsView(TypedDict):
    """How much is stored. `bytes` is the size on disk; `record_bytes` is the size that counts towards a quota."""

    memories: int
    superseded: int
    turns: int
    deleted: int
    chunks: int
    bytes: int
    record_bytes: int

class Core:
    """Everything steeltrap can do: save, find, correct, merge, link, forget and move memories."""

    def save(
        self,
        *,
        content: str,
        messages: Sequence[CoreMessageInput] = ...,
        content_type: Literal["text", "image", "code", "json", "yaml"] = "text",
        tier: Literal["short_term", "long_term", "working"] = "long_term",
        category: str | None = None,
        context: str | None = None,
        confidence: float = 1.0,
        tags: Sequence[str] = ...,
        metadata: Mapping[str, Any] = ...,
        scope: str = "user/default",
        agent_label: str | None = None,
        conversation_id: str | None = None,
        occurred_at: str | datetime | None = None,
        occurred_until: str | datetime | None = None,
        ttl_seconds: int | None = None,
        surprise: float | None = None,
        pinned: bool = False,
        supersedes: Sequence[str] = ...,
        duplicate_threshold: float | None = None,
        fold_duplicates: bool = False,
        associate: bool = True,
    ) -> CoreSavedView:
        """Save one memory: a fact, preference, decision or event worth remembering beyond this conversation.

        Write it as a full sentence that makes sense on its own. If it corrects older memories, give their ids as
        `supersedes`. The answer names those that it probably corrects: if it does, delete it and save it again with
        `supersedes`.
        """

    def get(self, *, id: str) -> CoreMemoryView:
        """Read one memory by its id, with all its fields."""

    def list(
        self,
        *,
        tags: Sequence[str] | None = None,
        tier: Literal["short_term", "long_term", "working"] | None = None,
        category: str | None = None,
        content_type: Literal["text", "image", "code", "json", "yaml"] | None = None,
        scope: str | None = None,
        include_child_scopes: bool = True,
        agent_label: str | None = None,
        written_by: str | None = None,
        of_conversation: str | None = None,
        import_id: str | None = None,
        untrusted: bool | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        occurred_after: str | datetime | None = None,
        occurred_before: str | datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        include_superseded: bool = False,
        order: Literal["saved", "happened"] = "saved",
        happened_after: str | datetime | None = None,
        happened_before: str | datetime | None = None,
        limit: int = 50,
        offset: int = 0,
        deleted: bool = False,
    ) -> CoreListView:
        """List memories, newest first or by when they happened, with the exact total. To find something, use search."""

    def search(
        self,
        *,
        tags: Sequence[str] | None = None,
        tier: Literal["short_term", "long_term", "working"] | None = None,
        category: str | None = None,
        content_type: Literal["text", "image", "code", "json", "yaml"] | None = None,
        scope: str | None = None,
        include_child_scopes: bool = True,
        agent_label: str | None = None,
        written_by: str | None = None,
        of_conversation: str | None = None,
        import_id: str | None = None,
        untrusted: bool | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        occurred_after: str | datetime | None = None,
        occurred_before: str | datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        query: str,
        limit: int | None = None,
        offset: int = 0,
        mode: Literal["hybrid", "semantic", "keyword"] = "hybrid",
        vector_weight: float | None = None,
        min_similarity: float = 0.0,
        related_only: bool = False,
        as_of: str | datetime | None = None,
        precision: Literal["all", "likely", "relevant", "best"] = "all",
        include_conversation: bool = False,
        conversation_id: str | None = None,
        sort_by: Literal["relevance", "importance", "created_at"] = "relevance",
        importance_weight: float = 0.0,
        diversity_threshold: float | None = None,
        max_tokens: int | None = None,
        include_superseded: bool | None = None,
        why: bool = False,
        count_access: bool = True,
    ) -> CoreSearchView:
        """Search memories by meaning and keywords. Use it before you answer anything that you may have learned earlier.

        Without a query use list. Memories that another one superseded are left out unless you ask for them, or for the
        past. The best results come first. An empty result says why: nothing stored, nothing matched, nothing relevant, all
        below the threshold, or filtered out. A result with `left_out` is shown in part; read it in full with get.
        """

    def update(
        self,
        *,
        id: str,
        content: str | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        content_type: Literal["text", "image", "code", "json", "yaml"] | None = None,
        tier: Literal["short_term", "long_term", "working"] | None = None,
        category: str | None = None,
        context: str | None = None,
        confidence: float | None = None,
        scope: str | None = None,
        agent_label: str | None = None,
        occurred_at: str | datetime | None = None,
        occurred_until: str | datetime | None = None,
        ttl_seconds: int | None = None,
        surprise: float | None = None,
        pinned: bool | None = None,
        clear: Sequence[Literal["category", "context", "occurred_at", "occurred_until", "expires_at"]] = ...,
        version: int | None = None,
    ) -> CoreMemoryView:
        """Correct or extend a memory. The old version stays in its history; undo restores it. If the update makes the
        memory expire, undo works only until the next sweep purges it.

        New content for an episode also replaces its messages.
        """

    def delete(
        self,
        *,
        id: str | None = None,
        ids: Sequence[str] | None = None,
        tier: Literal["short_term", "long_term", "working"] | None = None,
        older_than: str | datetime | None = None,
        scope: str | None = None,
        include_child_scopes: bool = False,
        tags: Sequence[str] | None = None,
        written_by: str | None = None,
        untrusted: bool | None = None,
        version: int | None = None,
    ) -> CoreDeletedView:
        """Delete one memory by `id`, several by `ids`, or all that match every given criterion. undo restores them.

        Memories that a deleted one superseded are found again. Criteria also match superseded memories, but skip pinned
        ones. An unknown `id` is an error; unknown `ids` are skipped.
        """

    def retrieve_memory(
        self,
        *,
        tags: Sequence[str] | None = None,
        tier: Literal["short_term", "long_term", "working"] | None = None,
        category: str | None = None,
        content_type: Literal["text", "image", "code", "json", "yaml"] | None = None,
        scope: str | None = None,
        include_child_scopes: bool = True,
        agent_label: str | None = None,
        written_by: str | None = None,
        of_conversation: str | None = None,
        import_id: str | None = None,
        untrusted: bool | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        occurred_after: str | datetime | None = None,
        occurred_before: str | datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        include_superseded: bool = False,
        query: str,
        limit: int = 5,
        detail_limit: int | None = None,
        detail: Literal["auto", "none", "low", "high"] | None = None,
    ) -> str:
        """Recall relevant memories as Markdown: what was learned, how long ago, and how relevant it is.

        Memories fade unless they are recalled. The score is relevance times how well a memory is still remembered;
        recalling a memory strengthens it.
        """

    def consolidate(
        self,
        *,
        ids: Sequence[str],
        preserve_originals: bool = True,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        dry_run: bool = False,
    ) -> CoreMemoryView:
        """Merge 2 to 50 related memories into one long-term memory made of their own sentences.

        Up to 4,000 characters, all text is kept; beyond that, only the most informative sentences.
        """

    def batch_save(
        self, *, items: Sequence[CoreMemoryInput], on_error: Literal["rollback", "continue", "stop"] = "rollback"
    ) -> CoreBatchView:
        """Save up to 100 memories in one call, by default all or nothing."""

    def put(self, *, items: Sequence[CorePutItemInput]) -> CorePutView:
        """Store up to 100 memories under ids of your own, all or nothing: new ones, or whole in place of what is stored
        under the id. undo brings back what was replaced.
        """

    def batch_update(
        self, *, updates: Sequence[CoreEditInput], on_error: Literal["rollback", "continue", "stop"] = "rollback"
    ) -> CoreBatchView:
        """Update up to 100 memories in one call, by default all or nothing.

        Some stores take at most 50 with rollback; the error then says so.
        """

    def associate(self, *, id: str, target_id: str, strength: float = 1.0) -> CoreAssociationsView:
        """Link two related memories. Similar memories in the same scope are linked automatically."""

    def associations(
        self, *, id: str, limit: int = 10, discover: bool = False, threshold: float = 0.1
    ) -> CoreAssociationsView:
        """List the memories linked to a memory, strongest first. Links work in both directions."""

    def move(self, *, ids: Sequence[str], scope: str) -> CoreMovedView:
        """Move memories to another scope. The answer lists those that could not be moved, with the reason."""

    def list_scopes(self, *, parent: str | None = None) -> CoreScopesView:
        """List the scopes that have memories, each with its number of memories and the time of its last write."""

    def suggest_scope(self, *, content: str, current_scope: str | None = None) -> CoreSuggestionView:
        """Suggest a scope for a text: the scope of similar memories, otherwise a common scope for such texts."""

    def create_session(self, *, session_id: str | None = None) -> CoreCreatedSessionView:
        """Create a session: a scope for memories of the current task only. cleanup_sessions ends it once it is idle."""

    def list_sessions(self) -> CoreSessionsView:
        """List the sessions, each with its number of memories and its last activity."""

    def cleanup_sessions(self, *, max_age_days: float = 7, session_id: str | None = None) -> CoreCleanedUpView:
        """End idle sessions and delete their memories, except pinned ones. undo restores deleted memories."""

    def append_messages(
        self,
        *,
        messages: Sequence[CoreAppendedMessage] = ...,
        conversation_id: str | None = None,
        scope: str = "user/default",
        ended: bool = False,
    ) -> CoreAppendedView:
        """Store messages of a conversation, in order. A search covers them only with `include_conversation`.

        A message with an `id` can be sent again safely: it is stored once, and stays deleted if it was deleted. If a call
        fails in the middle, the error says how many messages are stored. Related messages become an episode, a memory like
        any other: when the topic changes, after 50 messages, after 15 minutes without a message, or at once with `ended`.
        """

    def review(self, *, id: str, grade: Literal["again", "hard", "good", "easy"]) -> CoreDecayView:
        """Grade how well a memory was remembered or how much it helped.

        The better the grade, the slower it fades from retrieve_memory. Every review counts, even several per day. A
        retrieval counts as a review with grade good, at most once per day.
        """

    def simulate_decay(self, *, id: str, at: str | datetime) -> CoreDecayView:
        """Predict how well a memory will be remembered at a time if nobody recalls it before. Changes nothing."""

    def score(self, *, id: str) -> CoreScoreView:
        """Get the importance of a memory, 0 to 1: set manually, otherwise from how often and how recently it was read.

        This call does not count as a read.
        """

    def set_score(self, *, id: str, score: float, reason: str = "Manual override") -> CoreRescoredView:
        """Set the importance of a memory. Reads don't change it; it stays until it is set again or undone."""

    def history(self, *, id: str, limit: int = 100, after: int = 0) -> CoreHistoryView:
        """Show all versions of a memory, oldest first. This works for a deleted memory until it is purged.

        An answer ends at `limit` versions or 4 MiB. If it has `next`, call again with that value as `after`.
        """

    def undo(self, *, id: str, version: int | None = None) -> CoreMemoryView:
        """Undo the last change to a memory: restore it after a delete, or restore its version before an update.

        Undoing a superseded memory makes it found again. Undoing a save that superseded others deletes the new memory and
        makes them found again. Call again to go back one more version. Nothing is lost: every version stays in the history.
        """

    def forget(
        self,
        *,
        id: str | None = None,
        ids: Sequence[str] | None = None,
        tier: Literal["short_term", "long_term", "working"] | None = None,
        older_than: str | datetime | None = None,
        scope: str | None = None,
        include_child_scopes: bool = False,
        tags: Sequence[str] | None = None,
        written_by: str | None = None,
        untrusted: bool | None = None,
        merged: bool = False,
    ) -> CoreReceiptView:
        """Erase memories permanently: text, vectors, history and links to them. This can't be undone; a delete can.

        Choose by `id`, by `ids`, or by criteria, which also match messages and deleted memories but skip pinned ones. An
        episode takes its messages along. A forgotten message is taken out of its episode, which gets a new id. The receipt
        lists other memories and exported files that still hold the text.
        """

    def export(
        self,
        *,
        limit: int = 100,
        after: str | None = None,
        include_conversations: bool = True,
        include_history: bool = True,
    ) -> CoreExportView:
        """Export memories as complete records, page by page: text, times, versions, links and history.

        A page ends at `limit` records or 4 MiB. If it has `next`, call again with that value as `after`.
        A long history goes on in further records, which have `id` and `history` only.
        """

    def import_(self, *, records: Sequence[Mapping[str, Any]], import_id: str | None = None) -> CoreImportView:
        """Import records from an export, under their own ids. Records that already exist are skipped.

        The calling agent becomes their `agent_id` and `imported_by`; `imported_at` is the time of the import. Another
        agent's name in a record is kept as `agent_label`. list_imports lists the import, and undo_import takes it back.
        """

    def list_imports(self, *, limit: int = 20, offset: int = 0, id: str | None = None) -> CoreImportsView:
        """List the imports, the latest first: from which file, when, and what each wrote.

        `list` with `import_id` lists the memories that one brought; undo_import takes one back.
        """

    def undo_import(self, *, id: str) -> CoreImportUndoneView:
        """Take back an import: erase what it created, and give what it changed its earlier text again.

        What was changed since is left and listed, and what was there before the import stays. The erased memories can't be
        restored, but the file can be imported again.
        """

    def stats(self) -> CoreStatsView:
        """Count what is stored: memories, those that others superseded, conversation turns, deleted or expired memories
        not purged yet, and bytes.
        """

class Files:
    """Anthropic's memory tool: view, create, str_replace, insert, delete and rename files of memory."""

    def memory(
        self,
        *,
        command: Literal["view", "create", "str_replace", "insert", "delete", "rename"],
        path: str | None = None,
        view_range: Sequence[int] | None = None,
        file_text: str | None = None,
        old_str: str | None = None,
        new_str: str | None = None,
        insert_line: int | None = None,
        insert_text: str | None = None,
        old_path: str | None = None,
        new_path: str | None = None,
    ) -> str:
        """Read and write files of long-term memory in /memories: view a file or directory, create a file, replace or
        insert text, delete or rename. View /memories before you begin a task, and write down what later conversations
        need.
        """

class NotesNoteView(TypedDict):
    """A note, or a message of the conversation, which has no id. `text` is the best chunk of a long one."""

    note_id: str
    text: str
    score: float
    source: Literal["user_memory", "conversation"]

class NotesWrittenView(TypedDict):
    note_id: str
    message: str

class Notes:
    """Four tools over natural-language notes: search, save, update, delete."""

    def memory_search(
        self, *, query: str, top_k: int = 5, include_conversation: bool = False, tags: Sequence[str] | None = None
    ) -> builtins.list[NotesNoteView]:
        """Search your persistent memory for relevant information. Use this when you need to recall user preferences, past decisions, stored facts, or anything previously saved. Results are ranked by relevance using semantic similarity and keyword matching. By default searches only your saved notes; set include_conversation to true to also search the current conversation history."""

    def memory_save(self, *, content: str, tags: Sequence[str] = ...) -> NotesWrittenView:
        """Save an important piece of information to your persistent memory as a natural language note. Use this proactively whenever the user shares preferences, makes decisions, states facts, or tells you something worth remembering across conversations. Saved notes persist across all sessions and channels. Returns a note_id for future reference."""

    def memory_update(self, *, note_id: str, content: str, tags: Sequence[str] | None = None) -> NotesWrittenView:
        """Update a previously saved note with new content. Use this when the user corrects or changes previously stored information (e.g., a new preferred name, an updated preference). First use memory_search to find the note and its note_id, then call this with the note_id and the new content."""

    def memory_delete(self, *, note_id: str) -> NotesWrittenView:
        """Delete a previously saved note from memory. Use this when the user asks you to forget specific information. First use memory_search to find the note and its note_id, then call this with the note_id to remove it."""

class Categories:
    """Three tools over an agent's knowledge in four categories (fact, pattern, preference, capability); answers are plain text, and each agent has separate memories."""

    def store_memory(
        self,
        *,
        category: Literal["fact", "pattern", "preference", "capability"],
        content: str,
        context: str | None = None,
        confidence: float = 1.0,
    ) -> str:
        """Store important information in my long-term memory for future use.
        Use this tool to remember:
        - Facts: Concrete information about APIs, data formats, configurations, etc.
        - Patterns: Recurring behaviors or trends I've observed
        - Preferences: User preferences or system settings I've learned
        - Capabilities: My own abilities or limitations I've discovered

        This memory persists across conversations and helps me improve over time.
        """

    def search_memories(self, *, query: str, limit: int = 10) -> str:
        """Search my long-term memory for information relevant to the current conversation.
        Use this tool when you need to recall:
        - Previous facts you've learned
        - Patterns you've observed
        - User preferences you've discovered
        - Your own capabilities or limitations

        The search looks through all your stored memories to find relevant information.
        """

    def list_memories(
        self, *, category: Literal["fact", "pattern", "preference", "capability"], limit: int = 20
    ) -> str:
        """List my memories organized by category.
        Use this tool to browse what you've learned in different areas:
        - Facts: Concrete information you've stored
        - Patterns: Behavioral patterns you've observed
        - Preferences: User or system preferences you've learned
        - Capabilities: Your own abilities or limitations you've discovered

        This helps you understand what knowledge you have available.
        """

class RecordsStoredView(TypedDict):
    id: str
    content: str
    memory_tier: Literal["short_term", "long_term", "working"]
    created_at: str

class RecordsFoundView(TypedDict):
    """A result. `similarity` is the cosine of query and memory, 0 to 1; of a keyword search, its share of the best."""

    id: str
    content: str
    similarity: float
    memory_tier: Literal["short_term", "long_term", "working"]
    tags: builtins.list[str]
    created_at: str

class RecordsSearchView(TypedDict):
    results: builtins.list[RecordsFoundView]
    total: int

class RecordsRecordView(TypedDict):
    id: str
    content: str
    content_type: Literal["text", "image", "code", "json", "yaml"]
    memory_tier: Literal["short_term", "long_term", "working"]
    tags: builtins.list[str]
    metadata: builtins.dict[str, Any]
    created_at: str
    updated_at: str
    expires_at: str | None

class RecordsUpdatedView(TypedDict):
    id: str
    updated: bool
    updated_at: str

class RecordsDeletedView(TypedDict):
    deleted_count: int
    deleted_ids: builtins.list[str]

class RecordsListedView(TypedDict):
    id: str
    content: str
    content_type: Literal["text", "image", "code", "json", "yaml"]
    memory_tier: Literal["short_term", "long_term", "working"]
    tags: builtins.list[str]
    created_at: str

class RecordsListView(TypedDict):
    """A page, newest first. `total` counts all memories that pass the filter."""

    memories: builtins.list[RecordsListedView]
    total: int
    limit: int
    offset: int

class RecordsMemoryInput(TypedDict):
    """A memory to store."""

    content: str
    content_type: NotRequired[Literal["text", "image", "code", "json", "yaml"]]
    memory_tier: NotRequired[Literal["short_term", "long_term", "working"]]
    tags: NotRequired[Sequence[str]]
    metadata: NotRequired[Mapping[str, Any]]

class RecordsItemError(TypedDict):
    """Why one item of a batch was not written; `index` counts from 0."""

    index: int
    error_type: str
    message: str

class RecordsBatchStoredView(TypedDict):
    """`success` is true only if nothing failed. After a rollback nothing is stored."""

    success: bool
    stored_count: int
    stored_ids: builtins.list[str]
    errors: builtins.list[RecordsItemError]

class RecordsEditInput(TypedDict):
    """The fields to change. Fields that are left out stay unchanged."""

    id: str
    content: NotRequired[str | None]
    tags: NotRequired[Sequence[str] | None]
    metadata: NotRequired[Mapping[str, Any] | None]
    memory_tier: NotRequired[Literal["short_term", "long_term", "working"] | None]

class RecordsBatchUpdatedView(TypedDict):
    """`success` is true only if nothing failed. After a rollback nothing is changed."""

    success: bool
    updated_count: int
    updated_ids: builtins.list[str]
    errors: builtins.list[RecordsItemError]

class RecordsScoreView(TypedDict):
    success: bool
    memory_id: str
    importance_score: float
    access_count: int
    last_accessed_at: str | None

class RecordsRescoredView(TypedDict):
    success: bool
    memory_id: str
    previous_score: float
    new_score: float

class RecordsConsolidatedView(TypedDict):
    success: bool
    consolidated_memory_id: str
    original_count: int
    preserved: bool
    summary_length: int

class Records:
    """Eleven tools over memories with tiers, expiry and importance: store, search, get, update, delete, list, batches, scores, consolidate."""

    def memory_store(
        self,
        *,
        content: str,
        content_type: Literal["text", "image", "code", "json", "yaml"] = "text",
        memory_tier: Literal["short_term", "long_term", "working"] = "long_term",
        tags: Sequence[str] = ...,
        metadata: Mapping[str, Any] = ...,
        agent_id: str | None = None,
        ttl_seconds: int | None = None,
    ) -> RecordsStoredView:
        """Store a memory entry; its embedding is generated automatically.

        Write it as a full sentence that makes sense on its own.
        """

    def memory_search(
        self,
        *,
        query: str,
        top_k: int = 10,
        memory_tier: Literal["short_term", "long_term", "working"] | None = None,
        tags: Sequence[str] | None = None,
        content_type: Literal["text", "image", "code", "json", "yaml"] | None = None,
        min_similarity: float = 0.0,
        search_mode: Literal["hybrid", "semantic", "keyword"] = "semantic",
        keyword_weight: float = 0.3,
        sort_by: Literal["relevance", "importance", "created_at"] = "relevance",
        importance_weight: float = 0.0,
    ) -> RecordsSearchView:
        """Search memories by semantic, keyword or hybrid search. Use it before you answer anything that may be stored."""

    def memory_get(self, *, id: str) -> RecordsRecordView:
        """Get one memory by its id."""

    def memory_update(
        self,
        *,
        id: str,
        content: str | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        memory_tier: Literal["short_term", "long_term", "working"] | None = None,
    ) -> RecordsUpdatedView:
        """Update an existing memory entry. Fields that are left out stay unchanged."""

    def memory_delete(
        self,
        *,
        id: str | None = None,
        ids: Sequence[str] | None = None,
        memory_tier: Literal["short_term", "long_term", "working"] | None = None,
        older_than: str | datetime | None = None,
    ) -> RecordsDeletedView:
        """Delete memories by id or by criteria.

        Give id, ids, or memory_tier and older_than, of which both must hold if both are given. Unknown ids are left out of
        the answer.
        """

    def memory_list(
        self,
        *,
        memory_tier: Literal["short_term", "long_term", "working"] | None = None,
        tags: Sequence[str] | None = None,
        content_type: Literal["text", "image", "code", "json", "yaml"] | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> RecordsListView:
        """List memories with filters and pagination, newest first. To find something, use memory_search."""

    def memory_batch_store(
        self, *, items: Sequence[RecordsMemoryInput], on_error: Literal["rollback", "continue", "stop"] = "rollback"
    ) -> RecordsBatchStoredView:
        """Store several memories in one call, at most 100. If `success` is false, `errors` lists the failures."""

    def memory_batch_update(
        self, *, updates: Sequence[RecordsEditInput], on_error: Literal["rollback", "continue", "stop"] = "rollback"
    ) -> RecordsBatchUpdatedView:
        """Update several memories in one call. If `success` is false, `errors` lists the failures.

        At most 100; with rollback some stores take at most 50, and the error says so.
        """

    def memory_get_score(self, *, id: str) -> RecordsScoreView:
        """Get the importance score of a memory. It is computed from how often and how recently the memory was accessed,
        unless it was set manually.
        """

    def memory_set_score(self, *, id: str, score: float, reason: str = "Manual override") -> RecordsRescoredView:
        """Set the importance score of a memory manually. It stays until it is set again."""

    def memory_consolidate(
        self,
        *,
        memory_ids: Sequence[str],
        summary_strategy: Literal["extractive"] = "extractive",
        preserve_originals: bool = True,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> RecordsConsolidatedView:
        """Merge several related memories into one long-term memory and summarise them.

        Up to 4,000 characters, all text is kept; beyond that, only the most important sentences.
        """

class AssociativeMemoryObject(TypedDict):
    """A complete memory object."""

    id: str
    scope: str
    content: NotRequired[str]
    category: NotRequired[str]
    tags: NotRequired[builtins.list[str]]
    metadata: NotRequired[builtins.dict[str, Any]]
    context: NotRequired[str]
    confidence: NotRequired[float]
    content_type: NotRequired[str]
    tier: NotRequired[str]
    pinned: NotRequired[bool]
    importance: NotRequired[float]
    surprise: NotRequired[float]
    agent_id: NotRequired[str]
    conversation_id: NotRequired[str]
    occurred_at: NotRequired[str]
    created_at: NotRequired[str]
    updated_at: NotRequired[str]
    expires_at: NotRequired[str]
    version: NotRequired[int]

class AssociativeAssociationItem(TypedDict):
    """An associated memory. `preview` is left out if the answer has its whole text."""

    target_id: str
    strength: float
    preview: NotRequired[str]

class AssociativeDuplicateAnalysis(TypedDict):
    """The nearest older memory in any scope, and its similarity; both are left out if there is none."""

    is_duplicate: bool
    nearest_id: NotRequired[str]
    similarity: NotRequired[float]

class AssociativeStoreAnswer(TypedDict):
    """If nothing was stored, `duplicate_of` and `memory_id` name the memory that already has the text."""

    success: bool
    memory_id: str
    scope: NotRequired[str]
    associations_count: NotRequired[int]
    duplicate_of: NotRequired[str]
    memory_object: NotRequired[AssociativeMemoryObject]
    associations_details: NotRequired[builtins.list[AssociativeAssociationItem]]
    duplicate_analysis: NotRequired[AssociativeDuplicateAnalysis]

class AssociativeSearchResult(TypedDict):
    """A result. `score`, 0 to 1, decides the rank; `similarity` is the cosine of query and memory. An association
    between two results is listed with the better one.
    """

    id: str
    scope: str
    content_preview: NotRequired[str]
    content: NotRequired[str]
    category: NotRequired[str]
    tags: NotRequired[builtins.list[str]]
    metadata: NotRequired[builtins.dict[str, Any]]
    context: NotRequired[str]
    confidence: NotRequired[float]
    content_type: NotRequired[str]
    tier: NotRequired[str]
    pinned: NotRequired[bool]
    importance: NotRequired[float]
    surprise: NotRequired[float]
    agent_id: NotRequired[str]
    conversation_id: NotRequired[str]
    occurred_at: NotRequired[str]
    created_at: NotRequired[str]
    updated_at: NotRequired[str]
    expires_at: NotRequired[str]
    version: NotRequired[int]
    score: NotRequired[float]
    similarity: NotRequired[float]
    associations: NotRequired[builtins.list[AssociativeAssociationItem]]

class AssociativeSearchMetadata(TypedDict):
    """`outcome` is found, nothing_stored, nothing_matched, below_floor, filtered_out, degraded or offline; `message` is
    a sentence. `threshold` is the one used; `best_score` is the best similarity if all were below it.
    """

    outcome: str
    message: str
    threshold: float
    best_score: NotRequired[float]

class AssociativeSearchAnswer(TypedDict):
    """`total_count` counts the matches that the search examined; `results` are the best of them."""

    success: bool
    total_count: int
    results: NotRequired[builtins.list[AssociativeSearchResult]]
    search_metadata: NotRequired[AssociativeSearchMetadata]

class AssociativeManagedMemory(TypedDict):
    """The memory that a get returns."""

    id: str
    scope: str
    content_preview: NotRequired[str]
    content: NotRequired[str]
    category: NotRequired[str]
    tags: NotRequired[builtins.list[str]]
    metadata: NotRequired[builtins.dict[str, Any]]
    context: NotRequired[str]
    confidence: NotRequired[float]
    content_type: NotRequired[str]
    tier: NotRequired[str]
    pinned: NotRequired[bool]
    importance: NotRequired[float]
    surprise: NotRequired[float]
    agent_id: NotRequired[str]
    conversation_id: NotRequired[str]
    occurred_at: NotRequired[str]
    created_at: NotRequired[str]
    updated_at: NotRequired[str]
    expires_at: NotRequired[str]
    version: NotRequired[int]

class AssociativeRecordMetadata(TypedDict):
    """How often the memory was read before, and when it was read last."""

    access_count: int
    last_accessed_at: NotRequired[str]

class AssociativeChangeDetails(TypedDict):
    """The changed fields before and after; of a delete, all before. core.undo can restore a deleted memory until
    `restorable_until`.
    """

    before: builtins.dict[str, Any]
    after: builtins.dict[str, Any]
    version: int
    restorable_until: NotRequired[str]

class AssociativeManageAnswer(TypedDict):
    """A get sets the fields from `exists` to `metadata`; update and delete set the others. `exists` of an unknown id is
    false at every level; of another it is in the answer at level minimal.
    """

    success: bool
    exists: NotRequired[bool]
    memory: NotRequired[AssociativeManagedMemory]
    associations: NotRequired[builtins.list[AssociativeAssociationItem]]
    metadata: NotRequired[AssociativeRecordMetadata]
    affected_count: NotRequired[int]
    summary: NotRequired[str]
    affected_items: NotRequired[builtins.list[str]]
    change_details: NotRequired[AssociativeChangeDetails]

class AssociativeDiscoveredAssociation(TypedDict):
    """An associated memory. `manual` is true if the link was made manually."""

    target_id: str
    strength: float
    preview: NotRequired[str]
    content: NotRequired[str]
    category: NotRequired[str]
    tags: NotRequired[builtins.list[str]]
    metadata: NotRequired[builtins.dict[str, Any]]
    context: NotRequired[str]
    confidence: NotRequired[float]
    content_type: NotRequired[str]
    tier: NotRequired[str]
    pinned: NotRequired[bool]
    importance: NotRequired[float]
    surprise: NotRequired[float]
    agent_id: NotRequired[str]
    conversation_id: NotRequired[str]
    occurred_at: NotRequired[str]
    created_at: NotRequired[str]
    updated_at: NotRequired[str]
    expires_at: NotRequired[str]
    version: NotRequired[int]
    scope: NotRequired[str]
    manual: NotRequired[bool]

class AssociativeDiscoveryMetadata(TypedDict):
    """The scope of the memory, and the scopes of its associations; all scopes are searched."""

    source_scope: str
    scopes: builtins.list[str]
    manual_count: int
    threshold: float

class AssociativeDiscoverAnswer(TypedDict):
    success: bool
    association_count: NotRequired[int]
    associations: NotRequired[builtins.list[AssociativeDiscoveredAssociation]]
    discovery_metadata: NotRequired[AssociativeDiscoveryMetadata]

class AssociativeMoveFailure(TypedDict):
    """A memory that could not be moved, and why."""

    memory_id: str
    code: str
    message: NotRequired[str]

class AssociativeMoveAnswer(TypedDict):
    """`failed_count` or `failed` is set only if some memories could not be moved. If none could, the call fails."""

    success: bool
    failed_count: NotRequired[int]
    moved_count: NotRequired[int]
    target_scope: NotRequired[str]
    failed: NotRequired[builtins.list[AssociativeMoveFailure]]
    moved_items: NotRequired[builtins.list[str]]
    source_scope: NotRequired[str | builtins.list[str]]

class AssociativeListedMemory(TypedDict):
    """A memory on the page."""

    id: str
    scope: str
    preview: NotRequired[str]
    content: NotRequired[str]
    category: NotRequired[str]
    tags: NotRequired[builtins.list[str]]
    metadata: NotRequired[builtins.dict[str, Any]]
    context: NotRequired[str]
    confidence: NotRequired[float]
    content_type: NotRequired[str]
    tier: NotRequired[str]
    pinned: NotRequired[bool]
    importance: NotRequired[float]
    surprise: NotRequired[float]
    agent_id: NotRequired[str]
    conversation_id: NotRequired[str]
    occurred_at: NotRequired[str]
    created_at: NotRequired[str]
    updated_at: NotRequired[str]
    expires_at: NotRequired[str]
    version: NotRequired[int]

class AssociativePaginationInfo(TypedDict):
    """The position of this page."""

    page: int
    per_page: int
    total_count: int
    total_pages: int
    has_next: bool
    has_previous: bool

class AssociativeListAllAnswer(TypedDict):
    """`total_count` counts all memories, not only those on the page."""

    success: bool
    total_count: NotRequired[int]
    memories: NotRequired[builtins.list[AssociativeListedMemory]]
    pagination_info: NotRequired[AssociativePaginationInfo]

class AssociativeSyncFailure(TypedDict):
    """A memory in the file that was not imported: its position in the file, from 0, and why."""

    index: int
    code: str
    message: str

class AssociativeSyncSummary(TypedDict):
    """Counts of the memories. An export sets `exported`, an import the other counts."""

    exported: NotRequired[int]
    imported: NotRequired[int]
    overwritten: NotRequired[int]
    merged: NotRequired[int]
    versions: NotRequired[int]
    skipped: NotRequired[int]
    associations: int
    failures: NotRequired[builtins.list[AssociativeSyncFailure]]

class AssociativeFileInfo(TypedDict):
    """The file. `size` and `uncompressed_size` are in bytes; the latter is set if the file is compressed."""

    file_path: str
    format_version: str
    size: int
    uncompressed_size: NotRequired[int]
    compressed: bool

class AssociativeProcessingStats(TypedDict):
    """The seconds it took."""

    seconds: float

class AssociativeSyncAnswer(TypedDict):
    """`item_count` counts the memories written to the file, or imported from it. `failed_count` is set if some could
    not be imported.
    """

    success: bool
    operation_type: Literal["export", "import"]
    failed_count: NotRequired[int]
    item_count: NotRequired[int]
    file_path: NotRequired[str]
    detailed_summary: NotRequired[AssociativeSyncSummary]
    file_info: NotRequired[AssociativeFileInfo]
    processing_stats: NotRequired[AssociativeProcessingStats]

class AssociativeScopeItem(TypedDict):
    """`memory_count` counts the memories in exactly this scope; `total_memory_count` includes the scopes below it."""

    name: str
    memory_count: NotRequired[int]
    total_memory_count: NotRequired[int]
    parent: NotRequired[str]
    depth: NotRequired[int]
    child_scopes: NotRequired[builtins.list[str]]
    last_written_at: NotRequired[str]

class AssociativeScopeStatistics(TypedDict):
    """Statistics over the scopes in this answer."""

    scope_count: int
    top_scopes: int
    max_depth: int
    total_memories: NotRequired[int]

class AssociativeScopeListAnswer(TypedDict):
    """The scopes with memories in or below them, by name."""

    success: bool
    scope_count: NotRequired[int]
    scopes: NotRequired[builtins.list[AssociativeScopeItem]]
    statistics: NotRequired[AssociativeScopeStatistics]

class AssociativeAlternative(TypedDict):
    """Another possible scope. At level full, `similarity` is that of its memories, `similar_memories` their number."""

    scope: str
    confidence: float
    similarity: NotRequired[float]
    similar_memories: NotRequired[int]

class AssociativeSuggestionAnalysis(TypedDict):
    """`basis` is stored_memories, described_scopes (common scopes, if no similar text is stored), current_scope or
    default. `compared_memories` is the number of similar memories compared.
    """

    suggested_scope: str
    confidence: float
    basis: str
    compared_memories: int

class AssociativeScopeSuggestAnswer(TypedDict):
    """`confidence` is 0 to 1."""

    success: bool
    suggested_scope: NotRequired[str]
    confidence: NotRequired[float]
    alternatives: NotRequired[builtins.list[AssociativeAlternative]]
    suggestion_analysis: NotRequired[AssociativeSuggestionAnalysis]
    all_alternatives: NotRequired[builtins.list[AssociativeAlternative]]
    reasoning: NotRequired[str]

class AssociativeSessionInfo(TypedDict):
    """A session: the number of memories in exactly the scope `session/{session_id}`, and the days since the last write
    there.
    """

    session_id: str
    memory_count: int
    age_days: float

class AssociativeSessionDetails(TypedDict):
    """All about a session. `total_memory_count` includes the scopes below it. `created_at` is left out if the session
    has memories but was never created.
    """

    session_id: str
    memory_count: int
    age_days: float
    scope: str
    total_memory_count: int
    created_at: NotRequired[str]
    last_activity: str

class AssociativeCleanupStats(TypedDict):
    """Counts of a cleanup; zeros for the other actions. If `more` is true, time ran out: call again."""

    sessions: int
    deleted: int
    spared: int
    more: bool

class AssociativeSessionAnswer(TypedDict):
    """`session_info` and `session_details` are one session for create, all sessions for list, and the ended sessions
    for cleanup. `affected_memories` are the ids of the deleted memories.
    """

    success: bool
    session_id: NotRequired[str]
    session_info: NotRequired[AssociativeSessionInfo | builtins.list[AssociativeSessionInfo]]
    action_summary: NotRequired[str]
    session_details: NotRequired[AssociativeSessionDetails | builtins.list[AssociativeSessionDetails]]
    affected_memories: NotRequired[builtins.list[str]]
    cleanup_stats: NotRequired[AssociativeCleanupStats]

class Associative:
    """Ten tools over memories in scopes, linked to each other; each answers in three levels of detail."""

    def memory_store(
        self,
        *,
        response_level: Literal["minimal", "standard", "full"] = "standard",
        content: str,
        scope: str = "user/default",
        metadata: Mapping[str, Any] | None = None,
        tags: Sequence[str] | None = None,
        category: str | None = None,
        auto_associate: bool = True,
        allow_duplicates: bool = False,
        duplicate_threshold: float | None = None,
    ) -> AssociativeStoreAnswer:
        """Store a new memory with automatic association discovery.

        A text that its scope has already is not stored twice: the answer is then the memory that is there.
        """

    def memory_search(
        self,
        *,
        response_level: Literal["minimal", "standard", "full"] = "standard",
        query: str,
        mode: Literal["standard", "diversified"] = "standard",
        scope: str | None = None,
        include_child_scopes: bool = False,
        limit: int = 10,
        similarity_threshold: float = 0.1,
        include_associations: bool = True,
        min_score: float = 0.1,
        diversity_threshold: float = 0.8,
        expansion_factor: float = 2.5,
        max_expansion_factor: float = 5.0,
    ) -> AssociativeSearchAnswer:
        """Search memories by meaning and words. Use it before you answer anything that may be stored.

        The best results come first. Level minimal returns only their number.
        """

    def memory_manage(
        self,
        *,
        response_level: Literal["minimal", "standard", "full"] = "standard",
        operation: Literal["get", "update", "delete"],
        memory_id: str,
        include_associations: bool = True,
        content: str | None = None,
        scope: str | None = None,
        tags: Sequence[str] | None = None,
        category: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> AssociativeManageAnswer:
        """Read, change or delete one memory by its id.

        A get of an id that is unknown says so with `exists`; an update or delete of one is an error.
        """

    def memory_discover_associations(
        self,
        *,
        response_level: Literal["minimal", "standard", "full"] = "standard",
        memory_id: str,
        limit: int = 10,
        threshold: float = 0.1,
    ) -> AssociativeDiscoverAnswer:
        """Find the memories related to a memory, in all scopes, strongest first: similar memories and linked ones."""

    def memory_move(
        self,
        *,
        response_level: Literal["minimal", "standard", "full"] = "standard",
        memory_ids: Sequence[str],
        target_scope: str,
    ) -> AssociativeMoveAnswer:
        """Move memories to another scope. They are associated with similar memories there; manual links stay."""

    def memory_list_all(
        self, *, response_level: Literal["minimal", "standard", "full"] = "standard", page: int = 1, per_page: int = 10
    ) -> AssociativeListAllAnswer:
        """List all memories page by page, newest first. To find something, use memory_search."""

    def memory_sync(
        self,
        *,
        response_level: Literal["minimal", "standard", "full"] = "standard",
        operation: Literal["export", "import"],
        scope: str | None = None,
        file_path: str | None = None,
        include_associations: bool = True,
        compression: bool = False,
        merge_strategy: Literal[
            "skip_duplicates", "overwrite", "create_versions", "merge_metadata"
        ] = "skip_duplicates",
    ) -> AssociativeSyncAnswer:
        """Export memories to a file in your own folder, or import them from one.

        An export of a scope includes the scopes below it and the associations between its memories. An existing file of
        that name is replaced. Files keep their content, even if memories are forgotten later.
        """

    def scope_list(
        self,
        *,
        response_level: Literal["minimal", "standard", "full"] = "standard",
        parent_scope: str | None = None,
        include_memory_counts: bool = True,
    ) -> AssociativeScopeListAnswer:
        """List the scopes that have memories in them or below them."""

    def scope_suggest(
        self,
        *,
        response_level: Literal["minimal", "standard", "full"] = "standard",
        content: str,
        current_scope: str | None = None,
    ) -> AssociativeScopeSuggestAnswer:
        """Suggest a scope for a text: the scope of similar memories, otherwise a common scope for such texts."""

    def session_manage(
        self,
        *,
        response_level: Literal["minimal", "standard", "full"] = "standard",
        action: Literal["create", "list", "cleanup"],
        session_id: str | None = None,
        max_age_days: int = 7,
    ) -> AssociativeSessionAnswer:
        """Manage sessions: scopes for memories of the current task only. Store those in the scope `session/{session_id}`.

        A cleanup ends idle sessions and deletes their memories, except pinned ones. core.undo restores deleted memories.
        """

class EpisodicMessageView(TypedDict):
    role: str
    content: str
    timestamp: str | None
    speaker: str | None

class EpisodicEpisodeView(TypedDict):
    """A memory. `score` is `relevance` times `retrievability`, each 0 to 1."""

    id: str
    content: str
    messages: builtins.list[EpisodicMessageView]
    surprise: float | None
    start_at: str
    end_at: str
    created_at: str
    score: float
    relevance: float
    retrievability: float

class EpisodicMessageInput(TypedDict):
    role: str
    content: str
    timestamp: NotRequired[int | None]

class EpisodicAcceptedView(TypedDict):
    accepted: bool

class Episodic:
    """Episodes of past conversations, recalled as Markdown for a model; messages are added one by one."""

    def retrieve_memory(
        self,
        *,
        query: str,
        limit: int = 5,
        detail_limit: int | None = None,
        detail: Literal["auto", "none", "low", "high"] | None = None,
    ) -> str:
        """Recall past conversations that matter now. Returns Markdown, the most relevant first: when it was, a summary, and the messages of key moments."""

    def retrieve_memory_raw(
        self,
        *,
        query: str,
        limit: int = 5,
        detail_limit: int | None = None,
        detail: Literal["auto", "none", "low", "high"] | None = None,
    ) -> builtins.list[EpisodicEpisodeView]:
        """Recall past conversations that matter now, as JSON for a program: each with its messages, times and scores."""

    def add_message(self, *, message: EpisodicMessageInput, conversation_id: str | None = None) -> EpisodicAcceptedView:
        """Add a message to a conversation. Related messages become an episode, which retrieve_memory finds."""
