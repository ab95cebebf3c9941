"""Deploys the synthesised template on the emulator, as a deployment tool would: upload the code, make the stack."""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
from infra.portable import write_portable

BUCKET = "recollect-e2e-code"


class Aws:
    """Clients of the emulator."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._account = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}

    def client(self, name: str) -> Any:
        return boto3.client(name, endpoint_url=self.url, **self._account)


@contextmanager
def deployed(aws: Aws, assembly: Path, stack: str) -> Iterator[Mapping[str, str]]:
    """The outputs of a stack, which is gone in the end."""
    formation = aws.client("cloudformation")
    template = _upload(aws, write_portable(assembly, stack))
    formation.create_stack(
        StackName=stack, TemplateURL=f"{aws.url}/{BUCKET}/{template}", Capabilities=["CAPABILITY_NAMED_IAM"]
    )
    try:
        _wait(formation, stack, "stack_create_complete")
        [made] = formation.describe_stacks(StackName=stack)["Stacks"]
        yield {output["OutputKey"]: output["OutputValue"] for output in made["Outputs"]}
    finally:
        formation.delete_stack(StackName=stack)
        _wait(formation, stack, "stack_delete_complete")


def _wait(formation: Any, stack: str, what: str) -> None:
    try:
        formation.get_waiter(what).wait(StackName=stack, WaiterConfig={"Delay": 1, "MaxAttempts": 180})
    except Exception as error:
        events = formation.describe_stack_events(StackName=stack)["StackEvents"]
        failed = [event for event in events if "FAILED" in event["ResourceStatus"]]
        raise AssertionError([(e["LogicalResourceId"], e.get("ResourceStatusReason")) for e in failed]) from error


def _upload(aws: Aws, file: Path) -> str:
    """Upload a template and the folders of code that it names; its name in the bucket."""
    store = aws.client("s3")
    store.create_bucket(Bucket=BUCKET)
    template = json.loads(file.read_text())
    packed: dict[str, str] = {}
    for resource in template["Resources"].values():
        for place in ("Code", "Content"):
            folder = resource["Properties"].get(place)
            if isinstance(folder, str):
                if folder not in packed:
                    packed[folder] = _put(store, _zipped(file.parent / folder), "zip")
                resource["Properties"][place] = {"S3Bucket": BUCKET, "S3Key": packed[folder]}
    return _put(store, json.dumps(template).encode(), "json")


def _put(store: Any, content: bytes, kind: str) -> str:
    key = f"{hashlib.sha256(content).hexdigest()}.{kind}"
    store.put_object(Bucket=BUCKET, Key=key, Body=content)
    return key


def _zipped(folder: Path) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    return packed.getvalue()
