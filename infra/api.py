"""The HTTP API: a route for every path of every tool, who may call it, and its log."""

import json

from aws_cdk import ArnFormat, RemovalPolicy, Stack
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from recollect.surfaces.routes import paths

from .functions import RETENTION
from .plan import FunctionPlan, construct_id
from .stage import Stage


class Api(Construct):
    """An HTTP API with one stage. Nobody calls it without an identity."""

    def __init__(self, scope: Construct, stage: Stage) -> None:
        super().__init__(scope, "Api")
        self._stage = stage
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
                detailed_metrics_enabled=True,
            ),
        )

    @property
    def url(self) -> str:
        return self.api.attr_api_endpoint

    def serve(self, plan: FunctionPlan, function: lambda_.IFunction, *, any_other: bool = False) -> None:
        """Route a function's paths to it; `any_other` path too, which it answers with what there is."""
        id = construct_id(plan.name)
        integration = apigateway.CfnIntegration(
            self,
            f"{id}Integration",
            api_id=self.api.ref,
            integration_type="AWS_PROXY",
            integration_uri=function.function_arn,
            payload_format_version="2.0",
            timeout_in_millis=min(30_000, 1000 * plan.timeout),
        )
        schemas = {path: {tool.full_name: tool.input_schema} for tool in plan.tools for path in paths(tool)}
        for path in plan.paths:
            self._route(f"{plan.method} {path}", integration, schemas.get(path))
        if any_other:
            self._route("$default", integration, None)
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

    def _route(self, key: str, integration: apigateway.CfnIntegration, schema: object) -> None:
        route = apigateway.CfnRoute(
            self,
            key.replace("/", "-").replace("$", "").replace(" ", ""),
            api_id=self.api.ref,
            route_key=key,
            target=f"integrations/{integration.ref}",
            authorization_type="JWT" if self._authorizer else "AWS_IAM",
            authorizer_id=self._authorizer and self._authorizer.ref,
        )
        if schema:
            # An HTTP API checks no bodies, the tool does: this tells who reads the template what one must be.
            route.add_metadata("recollect:input", schema)

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
"""What the access log holds of a call: no header, no claim and no body."""
