"""The entry point for callers: find the tool, validate, run, render, map errors, measure.

Every surface calls only this. It is given the store, the embedder and the files, and knows no adapter.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from . import telemetry
from .engine import secrets as redacting
from .engine.call import Call, Rules, SecretsMode
from .engine.quota import Quota, Quotas
from .engine.reading import whole_ids
from .errors import (
    AccessDenied,
    IdentityMissing,
    InsufficientScope,
    Internal,
    InvalidInput,
    NotFound,
    SteeltrapError,
)
from .model import Caller, Outcome, Permissions
from .model.frozen import frozen
from .ports import Background, Clock, Counters, Deadline, Embedder, FileStore, MemoryStore
from .text.dates import zone_of
from .text.json_limits import check_json
from .text.limits import MAX_IDENTITY_CHARACTERS, check_scope
from .text.schemas import show

if TYPE_CHECKING:
    from pydantic import BaseModel

    from .tools import Media, Tool
    from .toolsets import Catalogue

# Tools need pydantic, whose import takes as long as a search: a hook calls none, and waits for neither.


@frozen
class Result:
    """The result of a call: the dialect's body, JSON-ready or text.

    `error` is None on success. `outcome` says what happened in a search, and what a write replaced.
    """

    body: Any
    tool: "Tool"
    media: "Media" = "application/json"
    error: SteeltrapError | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, kw_only=True)
class Door:
    """The tools over one store and one embedder, and a place for users' files. Safe for many threads.

    Without `counters` there are no quotas. Without a `background`, an append makes the episodes that are due itself.
    `observe` is called after each call. No call takes more than `longest` seconds, whatever its tool may.
    """

    catalogue: "Catalogue"
    store: MemoryStore
    embedder: Embedder
    clock: Clock
    rules: Rules = field(default_factory=Rules)
    files: FileStore | None = None
    quotas: Quotas = field(default_factory=Quotas)
    counters: Counters | None = None
    background: Background | None = None
    observe: telemetry.Observe = telemetry.log_call
    longest: float = inf

    def invoke(
        self,
        tool: "Tool | str",
        arguments: object,
        caller: Caller | None,
        *,
        idempotency_key: str | None = None,
        secrets: str | None = None,
        timezone: str | None = None,
    ) -> Result:
        """Run a tool for a caller. The arguments are an object, or the bytes of its JSON, which are parsed within the
        call's deadline. Failures are returned as results, in the dialect's form.

        `timezone` is the IANA name of the zone that the caller's days are in, None for the setting's. `secrets` is
        `redact` or `refuse` where the caller wants that of a toolset which leaves secrets alone.

        Raises only NotFound, for an unknown tool, which has no dialect.
        """
        definition = self.catalogue.tool(tool) if isinstance(tool, str) else tool
        with telemetry.measured(definition.full_name, self.observe) as measure:
            try:
                result = self._run(definition, arguments, caller, idempotency_key, secrets, timezone, measure)
            except SteeltrapError as error:
                result = self.refuse(definition, redacting.unquoted(error, self._secrets(definition, secrets)))
            except Exception as fault:
                telemetry.log_fault(definition.full_name, fault)
                result = self.refuse(
                    definition, Internal("Something went wrong on our side; it was logged. Try again later.")
                )
            measure.error = result.error.code if result.error else None
            measure.answer = result.body
            measure.outcome = result.outcome.kind if result.outcome else None
        return result

    def refuse(self, tool: "Tool", error: SteeltrapError) -> Result:
        """An error in the form of the tool's dialect, also for calls that a surface rejects before it invokes."""
        body = self.catalogue.toolsets[tool.toolset].render_error(error, tool)
        media: Media = "text/plain" if isinstance(body, str) else "application/json"
        return Result(body=body, tool=tool, media=media, error=error)

    def call_for(
        self,
        caller: Caller | None,
        *,
        seconds: float,
        files: bool = False,
        idempotency_key: str | None = None,
        timezone: str | None = None,
    ) -> Call:
        """The call of one caller, with only their space and, if requested, their files. Raises IdentityMissing, and
        InvalidInput for a zone that there isn't."""
        checked = identified(caller)
        place = self.files if files else None
        deadline = Deadline.after(seconds, self.clock)
        return Call(
            caller=checked,
            space=self.store.space(checked.user, deadline),
            embedder=self.embedder,
            clock=self.clock,
            deadline=deadline,
            rules=self.rules,
            secrets=self.rules.secrets or "redact",
            files=None if place is None else place.files(checked.user),
            quota=self._quota(checked),
            idempotency_key=idempotency_key,
            zone=self.rules.zone if timezone is None else _zone(timezone),
            background=self.background,
        )

    def _quota(self, caller: Caller) -> Quota | None:
        if self.counters is None:
            return None
        return Quota(quotas=self.quotas, counters=self.counters, user=caller.user, clock=self.clock)

    def _run(
        self,
        tool: "Tool",
        arguments: object,
        caller: Caller | None,
        key: str | None,
        secrets: str | None,
        timezone: str | None,
        measure: telemetry.Measure,
    ) -> Result:
        from . import arguments as reading

        key = _checked_key(key)
        seconds = min(tool.timeout, self.longest)
        call = self.call_for(caller, seconds=seconds, files=tool.files, idempotency_key=key, timezone=timezone)
        call.measure = measure
        if secrets not in (None, "redact", "refuse"):
            raise InvalidInput("`X-Steeltrap-Secrets` must be redact or refuse; leave it out for the default.")
        call.secrets = self._secrets(tool, secrets)
        if (why := refusal(call.caller.permissions, tool)) is not None:
            raise why
        if call.quota is not None:
            call.quota.count_call()
        fields = reading.read(tool, arguments, call.zone)
        call.deadline.left()
        run = partial(_answer, tool, call, fields)
        try:
            answer = call.space.ahead(run) if tool.access == "read" else run()
        except NotFound as error:
            raise _missing(call, error) from None
        if call.redacted:
            measure.redacted = dict(Counter(kind for kind, _ in call.redacted))
        return Result(
            body=self._body(tool, answer),
            tool=tool,
            media=tool.media,
            outcome=call.with_offline_notice(redacting.outcome(call)),
        )

    def _body(self, tool: "Tool", answer: object) -> Any:
        """An answer as JSON or text."""
        if tool.writes_json:
            return answer
        omit = self.catalogue.toolsets[tool.toolset].omit_nulls
        return tool.answer_adapter.dump_python(answer, mode="json", exclude_none=omit)

    def _secrets(self, tool: "Tool", mode: str | None) -> SecretsMode:
        if self.rules.secrets is not None:
            return self.rules.secrets
        match mode:
            case "redact" | "refuse":
                return mode
        return self.catalogue.toolsets[tool.toolset].secrets


def _missing(call: Call, error: NotFound) -> NotFound:
    """The error for a memory that may only be missing in a copy: with the notice of the copy's age at its end."""
    if (sentence := call.offline_notice()) is not None:
        error.message = f"{error.message} {sentence}"
        error.args = (error.message,)
    return error


def _answer(tool: "Tool", call: Call, fields: "BaseModel") -> object:
    from . import arguments as reading

    call.outcome = None
    reading.with_whole_ids(fields, partial(whole_ids, call))
    answer = tool.run(call, fields)
    return answer if tool.writes_json else tool.answer_adapter.validate_python(answer)


def refusal(permissions: Permissions, tool: "Tool") -> AccessDenied | None:
    """Why a caller may not use a tool, None if they may."""
    if permissions.toolsets and tool.toolset not in permissions.toolsets:
        allowed = " and ".join(f"`{name}`" for name in permissions.toolsets)
        return AccessDenied(f"You may not use `{tool.full_name}`: your key is for the toolset {allowed} only.")
    if permissions.read_only and tool.access != "read":
        why = f"You may not use `{tool.full_name}`: you may only read, and this tool writes."
        if permissions.missing_scope:
            scope = permissions.missing_scope
            return InsufficientScope(f"{why} It needs a token with the scope `{scope}`.", required_scope=scope)
        return AccessDenied(why)
    return None


def identified(caller: Caller | None) -> Caller:
    """The caller, if it has a valid identity. Raises IdentityMissing or InvalidInput."""
    if caller is None or not caller.user.user_id or str(caller.user.user_id).isspace():
        raise IdentityMissing("No user is known for this call: the application must say who the user is.")
    limits = {
        "user_id": caller.user.user_id,
        "agent_id": caller.agent_id,
        "conversation_id": caller.conversation_id,
        "tenant": caller.user.tenant,
    }
    for name, value in limits.items():
        if value is None:
            continue
        _check_text(value, f"the caller's {name}")
        if len(value) > MAX_IDENTITY_CHARACTERS:
            raise InvalidInput(f"the caller's {name} has more than {MAX_IDENTITY_CHARACTERS:,} characters.")
    if caller.project is not None:
        caller = replace(caller, project=check_scope(caller.project))
    return caller


def _check_text(value: object, where: str) -> None:
    """Refuse what is no text that a store can keep, such as the number of a user."""
    if not isinstance(value, str):
        raise InvalidInput(f"{where} must be a string; got {show(value)}.")
    check_json(value, where=where)


def _zone(name: str) -> tzinfo:
    """The zone of a name that came with a call. Raises InvalidInput."""
    _check_text(name, "the time zone")
    zone = zone_of(name.strip())
    if zone is None:
        raise InvalidInput(f"No time zone is called {show(name)}; give an IANA name such as Europe/Lisbon.")
    return zone


def _checked_key(key: str | None) -> str | None:
    if key is not None:
        _check_text(key, "the idempotency key")
        if not 1 <= len(key) <= 256:
            raise InvalidInput("an idempotency key must have 1 to 256 characters.")
    return key
