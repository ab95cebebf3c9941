"""Written by docs/generate.py from the tools: change those, then run `make docs`.

A client that calls a server knows the tools by this table and imports none of them.
"""

from collections.abc import Mapping
from typing import Final

from .answers import ToolRow

TOOLS: Final[Mapping[str, Mapping[str, ToolRow]]] = {
    "agent": {
        "remember": ToolRow("save", "by_key", 10.0, "string"),
        "recall": ToolRow("search", "always", 15.0, "string"),
        "recent_memories": ToolRow("list", "always", 15.0, "string"),
        "revise_memory": ToolRow("save", "never", 10.0, "string"),
        "forget_memory": ToolRow("delete", "never", 10.0, "string"),
        "undo_memory_change": ToolRow("undo", "never", 10.0, "string"),
    },
    "core": {
        "save": ToolRow("save", "by_key", 10.0, "object", ("id", "version", "scope", "links", "existed")),
        "get": ToolRow("get", "always", 15.0, "object", ("id", "content", "created_at", "updated_at", "version")),
        "list": ToolRow("list", "always", 15.0, "object", ("memories", "total")),
        "search": ToolRow("search", "always", 15.0, "object", ("results", "outcome")),
        "update": ToolRow("update", "always", 10.0, "object", ("id", "content", "created_at", "updated_at", "version")),
        "delete": ToolRow("delete", "always", 30.0, "object", ("deleted",)),
        "retrieve_memory": ToolRow("retrieve_memory", "never", 15.0, "string"),
        "consolidate": ToolRow(
            "consolidate", "by_key", 15.0, "object", ("id", "content", "created_at", "updated_at", "version")
        ),
        "batch_save": ToolRow("save", "by_key", 10.0, "object", ("ids", "errors")),
        "put": ToolRow("save", "always", 10.0, "object", ("ids", "versions")),
        "batch_update": ToolRow("update", "always", 10.0, "object", ("ids", "errors")),
        "associate": ToolRow("associate", "always", 10.0, "object", ("associations",)),
        "associations": ToolRow("associations", "always", 15.0, "object", ("associations",)),
        "move": ToolRow("move", "always", 30.0, "object", ("moved", "failed")),
        "list_scopes": ToolRow("list", "always", 15.0, "object", ("scopes",)),
        "suggest_scope": ToolRow(
            "suggest_scope", "always", 15.0, "object", ("scope", "confidence", "basis", "alternatives")
        ),
        "create_session": ToolRow(
            "sessions", "never", 10.0, "object", ("id", "scope", "last_activity", "memories", "total", "existed")
        ),
        "list_sessions": ToolRow("list", "always", 15.0, "object", ("sessions",)),
        "cleanup_sessions": ToolRow("sessions", "never", 30.0, "object", ("sessions", "deleted", "spared")),
        "append_messages": ToolRow("append_messages", "by_key", 30.0, "object", ("conversation_id", "ids")),
        "review": ToolRow("review", "never", 10.0, "object", ("id", "at", "retrievability")),
        "simulate_decay": ToolRow("get", "always", 15.0, "object", ("id", "at", "retrievability")),
        "score": ToolRow("get", "always", 15.0, "object", ("id", "score", "access_count")),
        "set_score": ToolRow("update", "always", 10.0, "object", ("id", "version", "previous", "score")),
        "history": ToolRow("history", "always", 15.0, "object", ("revisions",)),
        "undo": ToolRow("undo", "never", 10.0, "object", ("id", "content", "created_at", "updated_at", "version")),
        "forget": ToolRow("forget", "never", 30.0, "object", ("forgotten", "forgotten_at", "verified", "message")),
        "export": ToolRow("export", "always", 60.0, "object", ("records",)),
        "import": ToolRow("import", "always", 60.0, "object", ("written", "skipped", "errors")),
        "list_imports": ToolRow("list", "always", 15.0, "object", ("imports", "total")),
        "undo_import": ToolRow("forget", "never", 60.0, "object", ("id", "removed", "restored", "left", "left_total")),
        "stats": ToolRow(
            "list",
            "always",
            15.0,
            "object",
            ("memories", "superseded", "turns", "deleted", "chunks", "bytes", "record_bytes"),
        ),
    },
    "files": {"memory": ToolRow("files", "never", 30.0, "string")},
    "notes": {
        "memory_search": ToolRow("search", "always", 15.0, "array"),
        "memory_save": ToolRow("save", "by_key", 10.0, "object", ("note_id", "message")),
        "memory_update": ToolRow("update", "always", 10.0, "object", ("note_id", "message")),
        "memory_delete": ToolRow("delete", "never", 10.0, "object", ("note_id", "message")),
    },
    "categories": {
        "store_memory": ToolRow("save", "by_key", 10.0, "string"),
        "search_memories": ToolRow("search", "always", 15.0, "string"),
        "list_memories": ToolRow("list", "always", 15.0, "string"),
    },
    "records": {
        "memory_store": ToolRow("save", "by_key", 10.0, "object", ("id", "content", "memory_tier", "created_at")),
        "memory_search": ToolRow("search", "always", 15.0, "object", ("results", "total")),
        "memory_get": ToolRow(
            "get",
            "always",
            15.0,
            "object",
            (
                "id",
                "content",
                "content_type",
                "memory_tier",
                "tags",
                "metadata",
                "created_at",
                "updated_at",
                "expires_at",
            ),
        ),
        "memory_update": ToolRow("update", "always", 10.0, "object", ("id", "updated", "updated_at")),
        "memory_delete": ToolRow("delete", "always", 30.0, "object", ("deleted_count", "deleted_ids")),
        "memory_list": ToolRow("list", "always", 15.0, "object", ("memories", "total", "limit", "offset")),
        "memory_batch_store": ToolRow(
            "save", "by_key", 10.0, "object", ("success", "stored_count", "stored_ids", "errors")
        ),
        "memory_batch_update": ToolRow(
            "update", "always", 10.0, "object", ("success", "updated_count", "updated_ids", "errors")
        ),
        "memory_get_score": ToolRow(
            "get",
            "always",
            15.0,
            "object",
            ("success", "memory_id", "importance_score", "access_count", "last_accessed_at"),
        ),
        "memory_set_score": ToolRow(
            "update", "always", 10.0, "object", ("success", "memory_id", "previous_score", "new_score")
        ),
        "memory_consolidate": ToolRow(
            "consolidate",
            "by_key",
            15.0,
            "object",
            ("success", "consolidated_memory_id", "original_count", "preserved", "summary_length"),
        ),
    },
    "associative": {
        "memory_store": ToolRow("save", "by_key", 10.0, "object", ("memory_id",)),
        "memory_search": ToolRow("search", "always", 15.0, "object", ("total_count",)),
        "memory_manage": ToolRow("manage", "never", 10.0, "object"),
        "memory_discover_associations": ToolRow("associations", "always", 15.0, "object"),
        "memory_move": ToolRow("move", "always", 30.0, "object"),
        "memory_list_all": ToolRow("list", "always", 15.0, "object"),
        "memory_sync": ToolRow("sync", "never", 60.0, "object", ("operation_type",)),
        "scope_list": ToolRow("list", "always", 15.0, "object"),
        "scope_suggest": ToolRow("suggest_scope", "always", 15.0, "object"),
        "session_manage": ToolRow("sessions", "never", 30.0, "object"),
    },
    "episodic": {
        "retrieve_memory": ToolRow("retrieve_memory", "never", 15.0, "string"),
        "retrieve_memory_raw": ToolRow("retrieve_memory", "never", 15.0, "array"),
        "add_message": ToolRow("append_messages", "by_key", 10.0, "object", ("accepted",)),
    },
}
