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

from steeltrap.servers.http import paths

from .functions import RETENTION
from .plan import GATEWAY_SECONDS, FunctionPlan, construct_id
from .stage import Stage

_OPEN_CALLS_PER_SECOND: Final = 20
"""The limit for callers without a token, who read a document that never changes."""


class Api(Construct):
    """An HTTP API with one stage. Nobody calls a tool without an identity."""

    def __init__(self, scope: Construct, stage: Stage) -> None:
        super().__init__(scope, "Api")
        self._stage = stage
        self.open_routes: list[apigateway.CfnRoute] = []
        self.api = apigateway.CfnApi(
            self,
            "Http",
            name=stage.stack_name,
            protocol_type="HTTP",
            description="Long-term memory for AI agents.",
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

    @property
    def url(self) -> str:
        return self.api.attr_api_endpoint

    def serve_all(self, plan: FunctionPlan, function: lambda_.IFunction) -> None:
        """Route every path to one function, by one route: an account may make only a few routes per second."""
        self._route("$default", self._integrate(construct_id(plan.name), function, seconds=plan.timeout), None)

    def serve(self, plan: FunctionPlan, function: lambda_.IFunction, *, any_other: bool = False) -> None:
        """Route a function's paths to it; `any_other` path too, which it answers with what there is."""
        integration = self._integrate(construct_id(plan.name), function, seconds=plan.timeout)
        schemas = {path: {tool.full_name: tool.input_schema} for tool in plan.tools for path in paths(tool)}
        for path in plan.paths:
            self._route(f"{plan.method} {path}", integration, schemas.get(path))
        if any_other:
            self._route("$default", integration, None)

    def serve_open(self, function: lambda_.IFunction, at: Sequence[str]) -> None:
        """Route GET requests for paths to a function without authentication, with one rate limit for all."""
        integration = self._integrate("Open", function, seconds=10)
        limit = {"ThrottlingRateLimit": _OPEN_CALLS_PER_SECOND, "ThrottlingBurstLimit": 2 * _OPEN_CALLS_PER_SECOND}
        self.open_routes = [self._route(f"GET {path}", integration, None, is_open=True) for path in at]
        self.live.route_settings = {f"GET {path}": limit for path in at}
        for route in self.open_routes:
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

    def _route(
        self, key: str, integration: apigateway.CfnIntegration, schema: object, *, is_open: bool = False
    ) -> apigateway.CfnRoute:
        asked = "NONE" if is_open else "JWT" if self._authorizer else "AWS_IAM"
        route = apigateway.CfnRoute(
            self,
            re.sub(r"[^\w.-]", "", key.replace("/", "-")),
            api_id=self.api.ref,
            route_key=key,
            target=f"integrations/{integration.ref}",
            authorization_type=asked,
            authorizer_id=self._authorizer.ref if self._authorizer and not is_open else None,
        )
        if schema:
            # An HTTP API checks no bodies, the tool does: this tells who reads the template what one must be.
            route.add_metadata("steeltrap:input", schema)
        return route

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
