"""The HTTP API: a route for every path of every tool, who may call it, and its log."""

import json
import re
from collections.abc import Sequence
from typing import Final

from aws_cdk import ArnFormat, RemovalPolicy, Stack
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from steeltrap.servers.auth.identity import CONVERSATION_HEADER
from steeltrap.servers.http import BEST_SCORE, ERROR, OUTCOME, OUTCOME_MESSAGE, SECRETS, TIMEZONE, paths

from .functions import RETENTION
from .plan import GATEWAY_SECONDS, FunctionPlan, construct_id
from .stage import Stage

_OPEN_CALLS_PER_SECOND: Final = 20
"""The limit for callers without a token, who read a document that never changes."""
_CORS_HEADERS: Final = (
    *("Authorization", "Content-Type", "Idempotency-Key", CONVERSATION_HEADER, SECRETS, TIMEZONE),
    *("Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name", "Last-Event-ID"),
)
"""The headers that a page may send: those that tools and MCP read. A browser sends `Accept` unasked."""
_SHOWN_HEADERS: Final = ("Retry-After", "WWW-Authenticate", ERROR, OUTCOME, OUTCOME_MESSAGE, BEST_SCORE)
_CORS_SECONDS: Final = 3600
"""How long a browser may remember what it was told."""


class Api(Construct):
    """An HTTP API with one stage. Nobody calls a tool without an identity."""

    def __init__(self, scope: Construct, stage: Stage) -> None:
        super().__init__(scope, "Api")
        self._stage = stage
        self._any_paths: list[str] = []
        self.open_routes: list[apigateway.CfnRoute] = []
        self.preflight_routes: list[apigateway.CfnRoute] = []
        self.api = apigateway.CfnApi(
            self,
            "Http",
            name=stage.stack_name,
            protocol_type="HTTP",
            description="Long-term memory for AI agents.",
            cors_configuration=_cors(stage.cors_origins) if stage.cors_origins else None,
        )
        self._authorizer = self._jwt() if stage.auth == "jwt" else None
        log = logs.LogGroup(
            self,
            "AccessLog",
            log_group_name=f"/aws/apigateway/{stage.stack_name}",
            retention=RETENTION[stage.log_days],
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.live = apigateway.CfnStage(
            self,
            "Stage",
            api_id=self.api.ref,
            stage_name="$default",
            auto_deploy=True,
            access_log_settings=apigateway.CfnStage.AccessLogSettingsProperty(
                destination_arn=log.log_group_arn, format=json.dumps(_LOGGED)
            ),
            default_route_settings=apigateway.CfnStage.RouteSettingsProperty(
                throttling_rate_limit=stage.calls_per_second,
                throttling_burst_limit=2 * stage.calls_per_second,
                # By route they cost up to 128 USD per month: each route has six metrics, each a custom metric's price.
                detailed_metrics_enabled=False,
            ),
        )

        self.domain = self._own_domain(stage) if stage.domain_name else None

    @property
    def url(self) -> str:
        """The address without a slash at its end: the stage's own domain if it has one."""
        return f"https://{self._stage.domain_name}" if self.domain else self.api.attr_api_endpoint

    def serve_all(self, plan: FunctionPlan, function: lambda_.IFunction) -> None:
        """Route every path to one function, by one route: an account may make only a few routes per second."""
        integration = self._integrate(construct_id(plan.name), function, seconds=plan.timeout)
        self._route("$default", integration, None, scopes=self._scopes(plan))

    def serve(self, plan: FunctionPlan, function: lambda_.IFunction, *, any_other: bool = False) -> None:
        """Route a function's paths to it; `any_other` path too, which it answers with what there is."""
        integration = self._integrate(construct_id(plan.name), function, seconds=plan.timeout)
        schemas = {path: {tool.full_name: tool.input_schema} for tool in plan.tools for path in paths(tool)}
        self._any_paths += plan.paths if plan.method == "ANY" else ()
        for path in plan.paths:
            self._route(f"{plan.method} {path}", integration, schemas.get(path), scopes=self._scopes(plan))
        if any_other:
            self._route("$default", integration, None, scopes=self._scopes(plan))

    def serve_open(self, function: lambda_.IFunction, at: Sequence[str]) -> None:
        """Route GET requests for paths to a function without authentication, with one rate limit for all; and where
        pages may call, what their browsers ask first.

        The gateway answers that itself, but the authorizer of `$default`, or of a route for ANY method, would refuse
        it first, since it carries no token. A route for OPTIONS is chosen before those.
        """
        integration = self._integrate("Open", function, seconds=10)
        limits = {f"GET {path}": _OPEN_CALLS_PER_SECOND for path in at}
        self.open_routes = [self._route(key, integration, None, is_open=True) for key in limits]
        if self._stage.cors_origins:
            keys = [f"OPTIONS {path}" for path in ("/{proxy+}", *self._any_paths)]
            self.preflight_routes = [self._route(key, integration, None, is_open=True) for key in keys]
            limits |= dict.fromkeys(keys, self._stage.calls_per_second)
        self.live.route_settings = {
            key: {"ThrottlingRateLimit": rate, "ThrottlingBurstLimit": 2 * rate} for key, rate in limits.items()
        }
        for route in (*self.open_routes, *self.preflight_routes):
            self.live.add_dependency(route)  # a stage is refused settings of a route that isn't there yet

    def _integrate(self, id: str, function: lambda_.IFunction, *, seconds: int) -> apigateway.CfnIntegration:
        lambda_.CfnPermission(
            self,
            f"{id}Permission",
            action="lambda:InvokeFunction",
            function_name=function.function_arn,
            principal="apigateway.amazonaws.com",
            source_arn=Stack.of(self).format_arn(
                service="execute-api",
                resource=self.api.ref,
                resource_name="*/*",
                arn_format=ArnFormat.SLASH_RESOURCE_NAME,
            ),
        )
        return apigateway.CfnIntegration(
            self,
            f"{id}Integration",
            api_id=self.api.ref,
            integration_type="AWS_PROXY",
            integration_uri=function.function_arn,
            payload_format_version="2.0",
            timeout_in_millis=1000 * min(GATEWAY_SECONDS, seconds),
        )

    def _scopes(self, plan: FunctionPlan) -> list[str]:
        """The scopes of which the gateway asks one of a token before it calls the function, which checks them again."""
        read, write = self._stage.read_scope, self._stage.write_scope
        if write and plan.bundle == "tools" and plan.access == "write":
            return [write]
        return [scope for scope in (read, write) if scope]

    def _route(
        self,
        key: str,
        integration: apigateway.CfnIntegration,
        schema: object,
        *,
        is_open: bool = False,
        scopes: Sequence[str] = (),
    ) -> apigateway.CfnRoute:
        authorization = "NONE" if is_open else "JWT" if self._authorizer else "AWS_IAM"
        route = apigateway.CfnRoute(
            self,
            re.sub(r"[^\w.-]", "", key.replace("/", "-")),
            api_id=self.api.ref,
            route_key=key,
            target=f"integrations/{integration.ref}",
            authorization_type=authorization,
            authorizer_id=self._authorizer.ref if self._authorizer and not is_open else None,
            authorization_scopes=list(scopes) or None,
        )
        if schema:
            # An HTTP API checks no bodies, the tool does: this tells who reads the template what one must be.
            route.add_metadata("steeltrap:input", schema)
        return route

    def _own_domain(self, stage: Stage) -> apigateway.CfnDomainName:
        """The stage's own domain, all of whose paths are the API's."""
        domain = apigateway.CfnDomainName(
            self,
            "Domain",
            domain_name=stage.domain_name,
            domain_name_configurations=[
                apigateway.CfnDomainName.DomainNameConfigurationProperty(
                    certificate_arn=stage.certificate_arn, endpoint_type="REGIONAL", security_policy="TLS_1_2"
                )
            ],
        )
        apigateway.CfnApiMapping(self, "Mapping", api_id=self.api.ref, domain_name=domain.ref, stage=self.live.ref)
        return domain

    def _jwt(self) -> apigateway.CfnAuthorizer:
        return apigateway.CfnAuthorizer(
            self,
            "Tokens",
            api_id=self.api.ref,
            name="tokens",
            authorizer_type="JWT",
            identity_source=["$request.header.Authorization"],
            jwt_configuration=apigateway.CfnAuthorizer.JWTConfigurationProperty(
                issuer=self._stage.issuer, audience=list(self._stage.audience)
            ),
        )


def _cors(origins: Sequence[str]) -> apigateway.CfnApi.CorsProperty:
    """Pages of these origins may call with a token. Cookies are never asked for, since no tool reads one."""
    return apigateway.CfnApi.CorsProperty(
        allow_origins=list(origins),
        allow_methods=["GET", "POST"],
        allow_headers=list(_CORS_HEADERS),
        expose_headers=list(_SHOWN_HEADERS),
        allow_credentials=False,
        max_age=_CORS_SECONDS,
    )


_LOGGED = {
    "requestId": "$context.requestId",
    "time": "$context.requestTimeEpoch",
    "route": "$context.routeKey",
    "status": "$context.status",
    "milliseconds": "$context.responseLatency",
    "integrationStatus": "$context.integrationStatus",
    "integrationError": "$context.integrationErrorMessage",
    "authorizerError": "$context.authorizer.error",
    "ip": "$context.identity.sourceIp",
    "bytes": "$context.responseLength",
}
"""The fields of the access log: no header, no claim and no body."""
