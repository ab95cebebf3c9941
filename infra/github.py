"""`python -m infra.github --subject repo:you/yours:environment:prod`: a role by which GitHub Actions may deploy.

No key is kept at GitHub: a workflow's token is taken for the role, if it is of that one subject. The role itself may do
next to nothing: it assumes the CDK's own roles, and makes the checks of `make deploy`.
"""

import argparse
import os
import re
from typing import Final

from aws_cdk import App, ArnFormat, Aws, CfnOutput, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

ISSUER: Final = "token.actions.githubusercontent.com"
AUDIENCE: Final = "sts.amazonaws.com"
_CDK_ROLES: Final = ("deploy", "file-publishing", "lookup")
_CHECKS: Final = (
    *("lambda:GetAccountSettings", "es:ListInstanceTypeDetails", "bedrock:GetFoundationModel"),
    "acm:DescribeCertificate",
)


class GitHub(Stack):
    """The role, and GitHub as an issuer of tokens where the account doesn't know it yet (`provider`, its ARN)."""

    def __init__(self, scope: Construct, subject: str, *, provider: str = "") -> None:
        super().__init__(scope, "steeltrap-github", stack_name="steeltrap-github", description="GitHub deploys.")
        if not re.fullmatch(r"repo:[^*?:]+/[^*?:]+:[^*?]+", subject) or subject.endswith(":pull_request"):
            raise ValueError(
                f"`{subject}` must be one subject without wildcards, such as repo:you/yours:environment:prod or "
                "repo:you/yours:ref:refs/heads/main, and never pull_request: anybody may open one"
            )
        issuer = provider or iam.CfnOIDCProvider(self, "Issuer", url=f"https://{ISSUER}", client_id_list=[AUDIENCE]).ref
        role = iam.Role(
            self,
            "Deploy",
            role_name="steeltrap-github",
            assumed_by=iam.WebIdentityPrincipal(
                issuer, {"StringEquals": {f"{ISSUER}:aud": AUDIENCE, f"{ISSUER}:sub": subject}}
            ),
            inline_policies={"deploy": iam.PolicyDocument(statements=self._statements())},
        )
        CfnOutput(self, "Role", value=role.role_arn, description="For aws-actions/configure-aws-credentials")

    def _statements(self) -> list[iam.PolicyStatement]:
        cdk = [
            f"arn:{Aws.PARTITION}:iam::{Aws.ACCOUNT_ID}:role/cdk-hnb659fds-{name}-role-{Aws.ACCOUNT_ID}-{Aws.REGION}"
            for name in _CDK_ROLES
        ]
        bootstrap = self.format_arn(
            service="ssm", resource="parameter", resource_name="cdk-bootstrap/hnb659fds/version"
        )
        stacks = self.format_arn(service="cloudformation", resource="stack", resource_name="steeltrap-*")
        tables = self.format_arn(
            service="dynamodb", resource="table", resource_name="*", arn_format=ArnFormat.SLASH_RESOURCE_NAME
        )
        return [
            iam.PolicyStatement(actions=["sts:AssumeRole"], resources=cdk),
            iam.PolicyStatement(actions=["ssm:GetParameter"], resources=[bootstrap]),
            iam.PolicyStatement(actions=["cloudformation:SetStackPolicy"], resources=[stacks]),
            iam.PolicyStatement(actions=["dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive"], resources=[tables]),
            iam.PolicyStatement(actions=list(_CHECKS), resources=["*"]),  # these know no resources of ours
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subject", required=True, help="the `sub` of the workflow's token")
    parser.add_argument("--provider", default="", help="the ARN of GitHub's issuer, where the account has it already")
    parser.add_argument("--out", default=os.environ.get("CDK_OUTDIR"))
    arguments = parser.parse_args()
    app = App(outdir=arguments.out)
    GitHub(app, arguments.subject, provider=arguments.provider)
    app.synth()


if __name__ == "__main__":
    main()
