"""AWS Lambda for agents of other platforms: AgentCore gateways and Bedrock action groups, in one function."""

from typing import Any, Final

from ...errors import InvalidInput
from ...settings import Settings, read_settings
from ...toolsets import CATALOGUE
from . import agentcore, bedrock
from .direct import error_object, pool_identity
from .opening import Open, before_snapshot, loaded_door, opened_door
from .telemetry import Handler, Telemetry, instrumented, reporting

_UNKNOWN: Final = (
    "This function takes calls of AgentCore gateways, and events of Bedrock action groups (with an API schema or with "
    "function details)."
)


def agent_handler(
    *, open: Open = opened_door, settings: Settings | None = None, telemetry: Telemetry | None = None
) -> Handler:
    """The Lambda handler that serves one toolset to AgentCore gateways and Bedrock agents.

    Raises InvalidInput for an invalid setting, at the function's start.
    """
    known = settings or read_settings()
    if known.agent_toolset not in CATALOGUE.toolsets:
        raise InvalidInput(f"STEELTRAP_AGENT_TOOLSET must be one of {', '.join(CATALOGUE.toolsets)}.")
    gateways, agents = _ids(known.agentcore_gateways), _ids(known.bedrock_agents)
    if open is opened_door:
        before_snapshot(loaded_door)

    def handler(event: Any, context: Any) -> Any:
        if pool_identity(context) is not None:
            return {"error": error_object(InvalidInput(_UNKNOWN))}  # whatever its event imitates
        # A gateway's event is what a model wrote, so it is never taken for an action group's event.
        if (said := agentcore.gateway_call(context)) is not None:
            return agentcore.answer(open, known.agent_toolset, gateways, event, said)
        if bedrock.is_bedrock(event):
            return bedrock.answer(open, known.agent_toolset, agents, event)
        return {"error": error_object(InvalidInput(_UNKNOWN))}

    return instrumented(handler, reporting(telemetry, is_own=open is opened_door))


def _ids(setting: str) -> tuple[str, ...]:
    return tuple(id.strip() for id in setting.split(",") if id.strip())
