"""The door for agents of AWS's own platforms: one function for AgentCore gateways and Bedrock agents, and a gateway."""

from dataclasses import fields
from typing import Any, Final

from aws_cdk import ArnFormat, CfnOutput, Stack
from aws_cdk import aws_bedrockagentcore as agentcore
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from steeltrap.model import JsonObject
from steeltrap.servers import schemas
from steeltrap.servers.auth.identity import ClaimNames
from steeltrap.servers.aws_lambda.agents import CALLER_HEADER
from steeltrap.tools import Toolset
from steeltrap.toolsets import Catalogue

from . import grants
from .functions import Functions
from .plan import agent_function
from .stage import Agent, Stage

TARGET: Final = "memory"
"""The gateway's target: its tools are called `memory___NAME`."""
_INTERCEPTOR: Final = "interceptor"
_INTERCEPTOR_SECONDS: Final = 10
_CLAIMS: Final = tuple(f"{field.name}_claim" for field in fields(ClaimNames) if field.type is str)
_COGNITO: Final = "https://cognito-idp."


class Agents(Construct):
    """The `agent` function, who may invoke it, and the stage's own AgentCore gateway if it has one.

    The gateway is made of CloudFormation's own resources: the CDK's construct for a Lambda target can't let a header
    through, and its role may do more than invoke two functions.
    """

    def __init__(
        self, scope: Construct, stage: Stage, agent: Agent, catalogue: Catalogue, functions: Functions
    ) -> None:
        super().__init__(scope, "Agents")
        self._stage = stage
        self._functions = functions
        plan = agent_function(catalogue, agent.toolset)
        gateway = self._gateway(catalogue.toolset(agent.toolset)) if agent.gateway else None
        gateways = [*agent.gateways, *([gateway.attr_gateway_identifier] if gateway else [])]
        function = functions.add(
            plan.name,
            grants.tool_grants(plan, stage),
            timeout=plan.timeout,
            environment={
                "STEELTRAP_AGENT_TOOLSET": agent.toolset,
                "STEELTRAP_AGENTCORE_GATEWAYS": ",".join(gateways),
                "STEELTRAP_BEDROCK_AGENTS": ",".join(arn.rpartition("/")[2] for arn in agent.bedrock_agents),
            },
        )
        if gateway is not None:
            self._target(gateway, function, catalogue.toolset(agent.toolset))
            CfnOutput(self, "GatewayUrl", value=gateway.attr_gateway_url).override_logical_id("GatewayUrl")
        for nth, arn in enumerate(agent.bedrock_agents):
            lambda_.CfnPermission(
                self,
                f"BedrockAgent{nth}",
                action="lambda:InvokeFunction",
                function_name=function.function_arn,
                principal="bedrock.amazonaws.com",
                source_account=arn.split(":")[4],
                source_arn=arn,
            )
        CfnOutput(self, "AgentFunction", value=function.function_arn).override_logical_id("AgentFunction")

    def _gateway(self, toolset: Toolset) -> agentcore.CfnGateway:
        """A gateway that checks tokens itself, then asks the interceptor who calls."""
        stage = self._stage
        claims = {f"STEELTRAP_{name.upper()}": str(stage.settings[name]) for name in _CLAIMS if name in stage.settings}
        own = {"STEELTRAP_SERVICE": stage.stack_name, "STEELTRAP_OIDC_ISSUER": stage.issuer}
        interceptor = self._functions.add(
            _INTERCEPTOR,
            grants.METADATA,
            timeout=_INTERCEPTOR_SECONDS,
            environment=own | claims | stage.scopes,
            opens_store=False,
        )
        make = agentcore.CfnGateway
        return make(
            self,
            "Gateway",
            name=stage.stack_name,
            description="Long-term memory for AI agents.",
            role_arn=self._role().role_arn,
            protocol_type="MCP",
            protocol_configuration=make.GatewayProtocolConfigurationProperty(
                mcp=make.MCPGatewayConfigurationProperty(instructions=toolset.instructions)
            ),
            authorizer_type="CUSTOM_JWT",
            authorizer_configuration=make.AuthorizerConfigurationProperty(custom_jwt_authorizer=self._tokens()),
            interceptor_configurations=[
                make.GatewayInterceptorConfigurationProperty(
                    interception_points=["REQUEST"],
                    interceptor=make.InterceptorConfigurationProperty(
                        lambda_=make.LambdaInterceptorConfigurationProperty(arn=interceptor.function_arn)
                    ),
                    input_configuration=make.InterceptorInputConfigurationProperty(pass_request_headers=True),
                )
            ],
        )

    def _tokens(self) -> agentcore.CfnGateway.CustomJWTAuthorizerConfigurationProperty:
        issuer, accepted = self._stage.issuer, list(self._stage.audience)
        # An access token of Cognito has its client in `client_id`, and no `aud`.
        of_cognito = issuer.startswith(_COGNITO)
        return agentcore.CfnGateway.CustomJWTAuthorizerConfigurationProperty(
            discovery_url=f"{issuer.rstrip('/')}/.well-known/openid-configuration",
            allowed_clients=accepted if of_cognito else None,
            allowed_audience=None if of_cognito else accepted,
        )

    def _role(self) -> iam.Role:
        """A role of this account's gateways, which may invoke the two functions and nothing else."""
        stack = Stack.of(self)
        # By their names: the function of the target knows the gateway, so the gateway can't wait for it.
        invoked = [self._arn(name) for name in ("agent", _INTERCEPTOR)]
        invoke = iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=invoked)
        gateways = stack.format_arn(service="bedrock-agentcore", resource="gateway", resource_name="*")
        conditions = {"StringEquals": {"aws:SourceAccount": stack.account}, "ArnLike": {"aws:SourceArn": gateways}}
        return iam.Role(
            self,
            "GatewayRole",
            assumed_by=iam.ServicePrincipal("bedrock-agentcore.amazonaws.com", conditions=conditions),
            inline_policies={"invoke": iam.PolicyDocument(statements=[invoke])},
        )

    def _arn(self, name: str) -> str:
        alias = ":live" if name in self._stage.snap_start else ""
        return Stack.of(self).format_arn(
            service="lambda",
            resource="function",
            resource_name=f"{self._stage.stack_name}-{name}{alias}",
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )

    def _target(self, gateway: agentcore.CfnGateway, function: lambda_.IFunction, toolset: Toolset) -> None:
        make = agentcore.CfnGatewayTarget
        tools = [_definition(schemas.agentcore(tool)) for tool in toolset.tools.values()]
        make(
            self,
            "Target",
            gateway_identifier=gateway.attr_gateway_identifier,
            name=TARGET,
            credential_provider_configurations=[
                make.CredentialProviderConfigurationProperty(credential_provider_type="GATEWAY_IAM_ROLE")
            ],
            metadata_configuration=make.MetadataConfigurationProperty(allowed_request_headers=[CALLER_HEADER]),
            target_configuration=make.TargetConfigurationProperty(
                mcp=make.McpTargetConfigurationProperty(
                    lambda_=make.McpLambdaTargetConfigurationProperty(
                        lambda_arn=function.function_arn,
                        tool_schema=make.ToolSchemaProperty(inline_payload=tools),
                    )
                )
            ),
        )


def _definition(definition: JsonObject) -> agentcore.CfnGatewayTarget.ToolDefinitionProperty:
    return agentcore.CfnGatewayTarget.ToolDefinitionProperty(
        name=definition["name"], description=definition["description"], input_schema=_schema(definition["inputSchema"])
    )


def _schema(definition: JsonObject) -> agentcore.CfnGatewayTarget.SchemaDefinitionProperty:
    fields: dict[str, Any] = {name: _schema(field) for name, field in definition.get("properties", {}).items()}
    return agentcore.CfnGatewayTarget.SchemaDefinitionProperty(
        type=definition["type"],
        description=definition.get("description"),
        properties=fields or None,
        required=definition.get("required"),
        items=_schema(definition["items"]) if "items" in definition else None,
    )
