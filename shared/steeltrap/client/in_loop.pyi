"""Written by docs/generate.py from the tools and `in_loop.py`: change those, then run `make docs`."""

import builtins
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import Any, Literal

from ..invoke import Result
from ..ports import Clock, Embedder
from .calling import Awaited, CallThreads
from .in_process import (
    AssociativeDiscoverAnswer,
    AssociativeListAllAnswer,
    AssociativeManageAnswer,
    AssociativeMoveAnswer,
    AssociativeScopeListAnswer,
    AssociativeScopeSuggestAnswer,
    AssociativeSearchAnswer,
    AssociativeSessionAnswer,
    AssociativeStoreAnswer,
    AssociativeSyncAnswer,
    CoreAppendedMessage,
    CoreAppendedView,
    CoreAssociationsView,
    CoreBatchView,
    CoreCleanedUpView,
    CoreCreatedSessionView,
    CoreDecayView,
    CoreDeletedView,
    CoreEditInput,
    CoreExportView,
    CoreHistoryView,
    CoreImportsView,
    CoreImportUndoneView,
    CoreImportView,
    CoreListView,
    CoreMemoryInput,
    CoreMemoryView,
    CoreMessageInput,
    CoreMovedView,
    CorePutItemInput,
    CorePutView,
    CoreReceiptView,
    CoreRescoredView,
    CoreSavedView,
    CoreScopesView,
    CoreScoreView,
    CoreSearchView,
    CoreSessionsView,
    CoreStatsView,
    CoreSuggestionView,
    EpisodicAcceptedView,
    EpisodicEpisodeView,
    EpisodicMessageInput,
    Memory,
    NotesNoteView,
    NotesWrittenView,
    RecordsBatchStoredView,
    RecordsBatchUpdatedView,
    RecordsConsolidatedView,
    RecordsDeletedView,
    RecordsEditInput,
    RecordsListView,
    RecordsMemoryInput,
    RecordsRecordView,
    RecordsRescoredView,
    RecordsScoreView,
    RecordsSearchView,
    RecordsStoredView,
    RecordsUpdatedView,
)

class AsyncMemory(Awaited[Result]):
    """One user's memory, for asyncio: the methods of `Memory`, to be awaited.

        async with open_memory_async("data") as memory:
            await memory.core.save(content="User prefers dark mode")

    Several calls may run at once, also from the event loops of several threads. A call that is cancelled may still be
    carried out.
    """

    agent: AsyncAgent
    core: AsyncCore
    files: AsyncFiles
    notes: AsyncNotes
    categories: AsyncCategories
    records: AsyncRecords
    associative: AsyncAssociative
    episodic: AsyncEpisodic

    def __init__(self, memory: Memory, threads: CallThreads) -> None: ...

class Opening:
    """A memory that is being opened: await it and close it yourself, or use it in an `async with`."""

    def __init__(self, opening: Callable[[], Memory]) -> None: ...
    def __await__(self) -> Generator[Any, None, AsyncMemory]: ...
    async def __aenter__(self) -> AsyncMemory: ...
    async def __aexit__(self, *_: object) -> None: ...

def open_memory_async(
    folder: str | PathLike[str] | None = None,
    *,
    user: str | None = None,
    agent: str | None = None,
    conversation: str | None = None,
    embedder: Embedder | str | None = None,
    clock: Clock | None = None,
    timezone: str | None = None,
) -> Opening:
    """The memory in a folder for asyncio, as `open_memory` opens it; nothing that it does keeps the event loop waiting.

    Use it in an `async with`, or await it and close what it gives. Raises InvalidInput and Unavailable then.
    """
    ...

class AsyncAgent:
    """Six tools for a model: remember, recall, revise, forget, list, undo. Answers are plain text."""

    async def remember(
        self,
        *,
        content: str,
        occurred_at: str | datetime | None = None,
        about: Literal["project", "user"] | None = None,
    ) -> str:
        """Save a fact, preference, decision or event that will matter in later conversations. Write names and dates, not
        "he" or "tomorrow". Don't save passwords, keys or what only matters for the task at hand.
        """

    async def recall(self, *, query: str, max_tokens: int = 2000) -> str:
        """Search what was remembered in earlier conversations. Call it before you answer anything that may depend on the
        user's past, plans, preferences or projects. Memories after "Less sure" may be about something else. If nothing is
        close, ask again in other words before you say that you don't know.
        """

    async def recent_memories(self, *, limit: int = 10, offset: int = 0) -> str:
        """List the memories that were saved last, newest first."""

    async def revise_memory(self, *, id: str, content: str) -> str:
        """Replace a memory that changed or was wrong. The old text stays in history."""

    async def forget_memory(self, *, id: str) -> str:
        """Delete a memory when the user asks you to forget it."""

    async def undo_memory_change(self, *, id: str | None = None) -> str:
        """Undo the last change to a memory: saved, revised or forgotten."""

class AsyncCore:
    """Everything steeltrap can do: save, find, correct, merge, link, forget and move memories."""

    async def save(
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

    async def get(self, *, id: str) -> CoreMemoryView:
        """Read one memory by its id, with all its fields."""

    async def list(
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

    async def search(
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

    async def update(
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

    async def delete(
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

    async def retrieve_memory(
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

    async def consolidate(
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

    async def batch_save(
        self, *, items: Sequence[CoreMemoryInput], on_error: Literal["rollback", "continue", "stop"] = "rollback"
    ) -> CoreBatchView:
        """Save up to 100 memories in one call, by default all or nothing."""

    async def put(self, *, items: Sequence[CorePutItemInput]) -> CorePutView:
        """Store up to 100 memories under ids of your own, all or nothing: new ones, or whole in place of what is stored
        under the id. undo brings back what was replaced.
        """

    async def batch_update(
        self, *, updates: Sequence[CoreEditInput], on_error: Literal["rollback", "continue", "stop"] = "rollback"
    ) -> CoreBatchView:
        """Update up to 100 memories in one call, by default all or nothing.

        Some stores take at most 50 with rollback; the error then says so.
        """

    async def associate(self, *, id: str, target_id: str, strength: float = 1.0) -> CoreAssociationsView:
        """Link two related memories. Similar memories in the same scope are linked automatically."""

    async def associations(
        self, *, id: str, limit: int = 10, discover: bool = False, threshold: float = 0.1
    ) -> CoreAssociationsView:
        """List the memories linked to a memory, strongest first. Links work in both directions."""

    async def move(self, *, ids: Sequence[str], scope: str) -> CoreMovedView:
        """Move memories to another scope. The answer lists those that could not be moved, with the reason."""

    async def list_scopes(self, *, parent: str | None = None) -> CoreScopesView:
        """List the scopes that have memories, each with its number of memories and the time of its last write."""

    async def suggest_scope(self, *, content: str, current_scope: str | None = None) -> CoreSuggestionView:
        """Suggest a scope for a text: the scope of similar memories, otherwise a common scope for such texts."""

    async def create_session(self, *, session_id: str | None = None) -> CoreCreatedSessionView:
        """Create a session: a scope for memories of the current task only. cleanup_sessions ends it once it is idle."""

    async def list_sessions(self) -> CoreSessionsView:
        """List the sessions, each with its number of memories and its last activity."""

    async def cleanup_sessions(self, *, max_age_days: float = 7, session_id: str | None = None) -> CoreCleanedUpView:
        """End idle sessions and delete their memories, except pinned ones. undo restores deleted memories."""

    async def append_messages(
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

    async def review(self, *, id: str, grade: Literal["again", "hard", "good", "easy"]) -> CoreDecayView:
        """Grade how well a memory was remembered or how much it helped.

        The better the grade, the slower it fades from retrieve_memory. Every review counts, even several per day. A
        retrieval counts as a review with grade good, at most once per day.
        """

    async def simulate_decay(self, *, id: str, at: str | datetime) -> CoreDecayView:
        """Predict how well a memory will be remembered at a time if nobody recalls it before. Changes nothing."""

    async def score(self, *, id: str) -> CoreScoreView:
        """Get the importance of a memory, 0 to 1: set manually, otherwise from how often and how recently it was read.

        This call does not count as a read.
        """

    async def set_score(self, *, id: str, score: float, reason: str = "Manual override") -> CoreRescoredView:
        """Set the importance of a memory. Reads don't change it; it stays until it is set again or undone."""

    async def history(self, *, id: str, limit: int = 100, after: int = 0) -> CoreHistoryView:
        """Show all versions of a memory, oldest first. This works for a deleted memory until it is purged.

        An answer ends at `limit` versions or 4 MiB. If it has `next`, call again with that value as `after`.
        """

    async def undo(self, *, id: str, version: int | None = None) -> CoreMemoryView:
        """Undo the last change to a memory: restore it after a delete, or restore its version before an update.

        Undoing a superseded memory makes it found again. Undoing a save that superseded others deletes the new memory and
        makes them found again. Call again to go back one more version. Nothing is lost: every version stays in the history.
        """

    async def forget(
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

    async def export(
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

    async def import_(self, *, records: Sequence[Mapping[str, Any]], import_id: str | None = None) -> CoreImportView:
        """Import records from an export, under their own ids. Records that already exist are skipped.

        The calling agent becomes their `agent_id` and `imported_by`; `imported_at` is the time of the import. Another
        agent's name in a record is kept as `agent_label`. list_imports lists the import, and undo_import takes it back.
        """

    async def list_imports(self, *, limit: int = 20, offset: int = 0, id: str | None = None) -> CoreImportsView:
        """List the imports, the latest first: from which file, when, and what each wrote.

        `list` with `import_id` lists the memories that one brought; undo_import takes one back.
        """

    async def undo_import(self, *, id: str) -> CoreImportUndoneView:
        """Take back an import: erase what it created, and give what it changed its earlier text again.

        What was changed since is left and listed, and what was there before the import stays. The erased memories can't be
        restored, but the file can be imported again.
        """

    async def stats(self) -> CoreStatsView:
        """Count what is stored: memories, those that others superseded, conversation turns, deleted or expired memories
        not purged yet, and bytes.
        """

class AsyncFiles:
    """Anthropic's memory tool: view, create, str_replace, insert, delete and rename files of memory."""

    async def memory(
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

class AsyncNotes:
    """Four tools over natural-language notes: search, save, update, delete."""

    async def memory_search(
        self, *, query: str, top_k: int = 5, include_conversation: bool = False, tags: Sequence[str] | None = None
    ) -> builtins.list[NotesNoteView]:
        """Search your persistent memory for relevant information. Use this when you need to recall user preferences, past decisions, stored facts, or anything previously saved. Results are ranked by relevance using semantic similarity and keyword matching. By default searches only your saved notes; set include_conversation to true to also search the current conversation history."""

    async def memory_save(self, *, content: str, tags: Sequence[str] = ...) -> NotesWrittenView:
        """Save an important piece of information to your persistent memory as a natural language note. Use this proactively whenever the user shares preferences, makes decisions, states facts, or tells you something worth remembering across conversations. Saved notes persist across all sessions and channels. Returns a note_id for future reference."""

    async def memory_update(self, *, note_id: str, content: str, tags: Sequence[str] | None = None) -> NotesWrittenView:
        """Update a previously saved note with new content. Use this when the user corrects or changes previously stored information (e.g., a new preferred name, an updated preference). First use memory_search to find the note and its note_id, then call this with the note_id and the new content."""

    async def memory_delete(self, *, note_id: str) -> NotesWrittenView:
        """Delete a previously saved note from memory. Use this when the user asks you to forget specific information. First use memory_search to find the note and its note_id, then call this with the note_id to remove it."""

class AsyncCategories:
    """Three tools over an agent's knowledge in four categories (fact, pattern, preference, capability); answers are plain text, and each agent has separate memories."""

    async def store_memory(
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

    async def search_memories(self, *, query: str, limit: int = 10) -> str:
        """Search my long-term memory for information relevant to the current conversation.
        Use this tool when you need to recall:
        - Previous facts you've learned
        - Patterns you've observed
        - User preferences you've discovered
        - Your own capabilities or limitations

        The search looks through all your stored memories to find relevant information.
        """

    async def list_memories(
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

class AsyncRecords:
    """Eleven tools over memories with tiers, expiry and importance: store, search, get, update, delete, list, batches, scores, consolidate."""

    async def memory_store(
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

    async def memory_search(
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

    async def memory_get(self, *, id: str) -> RecordsRecordView:
        """Get one memory by its id."""

    async def memory_update(
        self,
        *,
        id: str,
        content: str | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        memory_tier: Literal["short_term", "long_term", "working"] | None = None,
    ) -> RecordsUpdatedView:
        """Update an existing memory entry. Fields that are left out stay unchanged."""

    async def memory_delete(
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

    async def memory_list(
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

    async def memory_batch_store(
        self, *, items: Sequence[RecordsMemoryInput], on_error: Literal["rollback", "continue", "stop"] = "rollback"
    ) -> RecordsBatchStoredView:
        """Store several memories in one call, at most 100. If `success` is false, `errors` lists the failures."""

    async def memory_batch_update(
        self, *, updates: Sequence[RecordsEditInput], on_error: Literal["rollback", "continue", "stop"] = "rollback"
    ) -> RecordsBatchUpdatedView:
        """Update several memories in one call. If `success` is false, `errors` lists the failures.

        At most 100; with rollback some stores take at most 50, and the error says so.
        """

    async def memory_get_score(self, *, id: str) -> RecordsScoreView:
        """Get the importance score of a memory. It is computed from how often and how recently the memory was accessed,
        unless it was set manually.
        """

    async def memory_set_score(self, *, id: str, score: float, reason: str = "Manual override") -> RecordsRescoredView:
        """Set the importance score of a memory manually. It stays until it is set again."""

    async def memory_consolidate(
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

class AsyncAssociative:
    """Ten tools over memories in scopes, linked to each other; each answers in three levels of detail."""

    async def memory_store(
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

    async def memory_search(
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

    async def memory_manage(
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

    async def memory_discover_associations(
        self,
        *,
        response_level: Literal["minimal", "standard", "full"] = "standard",
        memory_id: str,
        limit: int = 10,
        threshold: float = 0.1,
    ) -> AssociativeDiscoverAnswer:
        """Find the memories related to a memory, in all scopes, strongest first: similar memories and linked ones."""

    async def memory_move(
        self,
        *,
        response_level: Literal["minimal", "standard", "full"] = "standard",
        memory_ids: Sequence[str],
        target_scope: str,
    ) -> AssociativeMoveAnswer:
        """Move memories to another scope. They are associated with similar memories there; manual links stay."""

    async def memory_list_all(
        self, *, response_level: Literal["minimal", "standard", "full"] = "standard", page: int = 1, per_page: int = 10
    ) -> AssociativeListAllAnswer:
        """List all memories page by page, newest first. To find something, use memory_search."""

    async def memory_sync(
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

    async def scope_list(
        self,
        *,
        response_level: Literal["minimal", "standard", "full"] = "standard",
        parent_scope: str | None = None,
        include_memory_counts: bool = True,
    ) -> AssociativeScopeListAnswer:
        """List the scopes that have memories in them or below them."""

    async def scope_suggest(
        self,
        *,
        response_level: Literal["minimal", "standard", "full"] = "standard",
        content: str,
        current_scope: str | None = None,
    ) -> AssociativeScopeSuggestAnswer:
        """Suggest a scope for a text: the scope of similar memories, otherwise a common scope for such texts."""

    async def session_manage(
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

class AsyncEpisodic:
    """Episodes of past conversations, recalled as Markdown for a model; messages are added one by one."""

    async def retrieve_memory(
        self,
        *,
        query: str,
        limit: int = 5,
        detail_limit: int | None = None,
        detail: Literal["auto", "none", "low", "high"] | None = None,
    ) -> str:
        """Recall past conversations that matter now. Returns Markdown, the most relevant first: when it was, a summary, and the messages of key moments."""

    async def retrieve_memory_raw(
        self,
        *,
        query: str,
        limit: int = 5,
        detail_limit: int | None = None,
        detail: Literal["auto", "none", "low", "high"] | None = None,
    ) -> builtins.list[EpisodicEpisodeView]:
        """Recall past conversations that matter now, as JSON for a program: each with its messages, times and scores."""

    async def add_message(
        self, *, message: EpisodicMessageInput, conversation_id: str | None = None
    ) -> EpisodicAcceptedView:
        """Add a message to a conversation. Related messages become an episode, which retrieve_memory finds."""
