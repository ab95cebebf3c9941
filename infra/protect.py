"""`python -m infra.protect --stage prod`: no later deployment may replace or remove what holds memories.

A stack policy, since a template can't say it: CloudFormation refuses the whole update, and changes nothing. It holds
for change sets too, by which the CDK deploys.
"""

import argparse
import json
from typing import Any, Final

import boto3

from .stage import Stage, read_stage

HOLDING: Final = ("AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::KMS::Key")
"""A new table or bucket is empty; without its key the old one can't be read."""
POLICY: Final = {
    "Statement": [
        {"Effect": "Allow", "Action": "Update:*", "Principal": "*", "Resource": "*"},
        {
            "Effect": "Deny",
            "Action": ["Update:Replace", "Update:Delete"],
            "Principal": "*",
            "Resource": "*",
            "Condition": {"StringEquals": {"ResourceType": list(HOLDING)}},
        },
    ]
}


def protect(stage: Stage, formation: Any) -> bool:
    """Set the policy of a stage's stack; False for a stage whose memories go with it."""
    if not stage.retain:
        return False
    formation.set_stack_policy(StackName=stage.stack_name, StackPolicyBody=json.dumps(POLICY))
    return True


def nobody_is_told(stage: Stage) -> str:
    """A sentence for a stage that keeps memories and mails its alarms to nobody; "" for every other."""
    if stage.alarm_email or not stage.retain:
        return ""
    return (
        f"Nobody hears when {stage.stack_name} fails: set `alarm_email` in the stage, deploy again, and confirm the "
        "mail that AWS sends."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stage", default="dev")
    stage = read_stage(parser.parse_args().stage)
    if protect(stage, boto3.client("cloudformation")):
        print(f"{stage.stack_name}: updates that would replace or remove a table, the bucket or the key are refused")
    if warning := nobody_is_told(stage):
        print(warning)


if __name__ == "__main__":
    main()
