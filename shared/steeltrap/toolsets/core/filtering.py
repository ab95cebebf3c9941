"""The conditions that core's search and list take. A module of its own: searching needs no model of writing."""

from pydantic import Field

from ...engine.call import Call
from ...model import ContentType, Filter, Tier
from ...text.dates import bound
from ...text.limits import check_conditions, check_scope
from ...tools import Input
from ..fields import Bound, ImportId, Label, Metadata, OuterId, Scope, Tags, Time


class FilterInput(Input):
    """Conditions; all that are given must hold."""

    tags: Tags | None = Field(None, description="Only memories that have all of these tags.")
    tier: Tier | None = Field(None, description="Only this tier.")
    category: Label | None = Field(None, description="Only this category.")
    content_type: ContentType | None = Field(None, description="Only this type of content.")
    scope: Scope | None = Field(None, description="Only this scope, such as 'work/project-x'.")
    include_child_scopes: bool = Field(True, description="With `scope`: also the scopes below it.")
    agent_label: Label | None = Field(None, description="Only memories with this label.")
    written_by: Label | None = Field(None, description="Only memories that this agent wrote.")
    of_conversation: OuterId | None = Field(None, description="Only memories that were saved in this conversation.")
    import_id: ImportId | None = Field(None, description="Only memories that this import brought.")
    untrusted: bool | None = Field(
        None, description="true: only what untrusted agents wrote; false: nothing of theirs. Default: both."
    )
    created_after: Time | None = Field(None, description="Only memories saved at or after this time.")
    created_before: Time | None = Field(None, description="Only memories saved before this time.")
    occurred_after: Bound | None = Field(None, description="Only memories of events at or after this time.")
    occurred_before: Bound | None = Field(None, description="Only memories of events before this time.")
    metadata: Metadata | None = Field(
        None, description="Only memories with these metadata keys and plain values; at most 64."
    )

    def to_filter(self, call: Call, *, turns: bool = False, conversation_id: str | None = None) -> Filter:
        check_conditions(self.metadata or {})
        given = vars(self)
        values = {name: given[name] for name in Filter.__dataclass_fields__.keys() & given.keys()}
        values["tags"] = tuple(self.tags or ())
        values["scope"] = None if self.scope is None else check_scope(self.scope)
        values["metadata"] = self.metadata or {}
        values["agent_id"] = self.written_by
        values["conversation_id"] = self.of_conversation
        for name, day in (("occurred_after", "first_day"), ("occurred_before", "end_day")):
            if values[name] is not None:
                values[name], values[day] = bound(values[name], call.zone)
        return Filter(
            **values,
            include_turns=turns,
            turns_of=(conversation_id or call.caller.conversation_id) if turns else None,
        )


class ListFilterInput(FilterInput):
    """Conditions where nothing but the caller says whether older versions of what is known are wanted."""

    include_superseded: bool = Field(False, description="Include memories that another one superseded.")
