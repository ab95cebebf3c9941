"""Deploys the synthesised template on the emulator, as a deployment tool would: upload the code, make the stack."""

import hashlib
import io
import json
import sys
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import boto3
from aws_cdk import App
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from infra.bundle import Bundle, pack_code
from infra.functions import Packed
from infra.portable import write_portable
from infra.stack import Steeltrap
from infra.stage import Stage

from contracts.dynamodb_stores import projecting_all
from steeltrap.model import UserRef
from steeltrap.stores.opensearch.documents import document_id
from steeltrap.toolsets import CATALOGUE

T = TypeVar("T")

BUCKET = "steeltrap-e2e-code"


class Aws:
    """Clients of the emulator."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._account = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}

    def client(self, name: str) -> Any:
        return boto3.client(name, endpoint_url=self.url, **self._account)


@dataclass(frozen=True, slots=True)
class Deployment:
    """A stack that is there: where its API answers, and what lies behind it."""

    aws: Aws
    outputs: Mapping[str, str]
    opensearch: str
    index: str

    def settings(self) -> dict[str, str]:
        """The settings for the command line, as the stack's output tells it."""
        return dict(each.split("=", 1) for each in self.outputs["Settings"].split(" "))

    def post(
        self,
        path: str,
        body: bytes | str,
        token: str | None,
        *,
        kind: str = "application/json",
        method: str = "POST",
        **headers: str,
    ) -> tuple[int, dict[str, str], Any]:
        """Status, headers and body of an answer; JSON as what it stands for."""
        told = {"Host": self.outputs["Url"].partition("://")[2], "Content-Type": kind, **headers}
        if token is not None:
            told["Authorization"] = f"Bearer {token}"
        sent = body.encode() if isinstance(body, str) else body
        return _answer(urllib.request.Request(f"{self.aws.url}{path}", sent, told, method=method))

    def call(self, tool: str, token: str, /, **arguments: Any) -> tuple[int, Any]:
        """Status and body of a tool's answer."""
        status, _, body = self.post(f"/v1/{tool.replace('.', '/')}", json.dumps(arguments), token)
        return status, body

    def call_signed(self, tool: str, key: Mapping[str, str], /, **arguments: Any) -> tuple[int, Any]:
        """Status and body of a tool's answer to a request that an access key signs."""
        path, body = f"/v1/{tool.replace('.', '/')}", json.dumps(arguments)
        request = AWSRequest("POST", f"{self.outputs['Url']}{path}", {"Content-Type": "application/json"}, body)
        credentials = Credentials(key["AccessKeyId"], key["SecretAccessKey"])
        SigV4Auth(credentials, "execute-api", "us-east-1").add_auth(request)
        status, _, answer = self.post(path, body, None, **dict(request.headers.items()))
        return status, answer

    def indexed(self, user: str, id: str) -> tuple[str, bool] | None:
        """The index that holds a memory now, and whether with its words; None when none does. OpenSearch says it."""
        self._of_index("POST", "_refresh")
        found = {"ids": {"values": [document_id(UserRef(user).key, id)]}}
        there = self._of_index("POST", "_search", {"query": found})["hits"]["hits"]
        worded = {"bool": {"filter": [found, {"exists": {"field": "tokens"}}]}}
        with_words = self._of_index("POST", "_search", {"query": worded})["hits"]["hits"]
        return (there[0]["_index"], bool(with_words)) if there else None

    def _of_index(self, method: str, what: str, body: Any = None) -> Any:
        sent, kind = json.dumps(body or {}).encode(), {"Content-Type": "application/json"}
        url = f"{self.opensearch}/{self.index}/{what}"
        status, _, answer = _answer(urllib.request.Request(url, sent, kind, method=method))
        assert status == 200, answer
        return answer


def eventually(check: Callable[[], T | None], seconds: float = 30.0) -> T:
    """The first answer of `check` that isn't empty."""
    ends = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < ends, f"nothing after {seconds:g} s"
        time.sleep(0.1)
    return found


def _answer(request: urllib.request.Request) -> tuple[int, dict[str, str], Any]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=60) as answered:
            return answered.status, dict(answered.headers), _read(answered.read())
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, dict(refused.headers), _read(refused.read())


def _read(body: bytes) -> Any:
    text = body.decode()
    return json.loads(text) if text.startswith(("{", "[")) else text


class _Here(Bundle):
    """The environment of functions on the emulator, which runs them on this machine, by this Python."""

    def target(self) -> list[str]:
        return []

    def interpreter(self) -> str:
        return sys.executable

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"{super().digest} {sys.platform} {sys.version}".encode()).hexdigest()[:16]


@contextmanager
def deployed_stage(aws: Aws, stage: Stage, assembly: Path) -> Iterator[Deployment]:
    """A stage, synthesised and deployed, which is gone in the end."""
    synthesise(stage, assembly, packed_code(stage))
    with deployed(aws, assembly, stage.stack_name) as outputs:
        yield Deployment(aws, outputs, stage.endpoint, stage.index)


def packed_code(stage: Stage) -> Path:
    """The folder of a stage's own code. The next one that is packed takes its place."""
    return pack_code(sys.executable, embedder=True, replicas=stage.store == "bucket")


def synthesise(stage: Stage, assembly: Path, code: Path) -> None:
    """Synthesise a stage of a folder of code."""
    app = App(outdir=str(assembly))
    packed = Packed(code, lambda group: _Here(group, python=stage.python).build())
    Steeltrap(app, stage, CATALOGUE, packed=packed)
    app.synth()


def redeploy(aws: Aws, stage: Stage, assembly: Path) -> None:
    """Deploy another synthesis of a stage that is there."""
    formation = aws.client("cloudformation")
    formation.update_stack(
        StackName=stage.stack_name,
        TemplateURL=f"{aws.url}/{BUCKET}/{_upload(aws, write_portable(assembly, stage.stack_name))}",
        Capabilities=["CAPABILITY_NAMED_IAM"],
    )
    _wait(formation, stage.stack_name, "stack_update_complete")


@contextmanager
def access_key(aws: Aws, deployment: Deployment, name: str, *, may_call: bool = True) -> Iterator[Mapping[str, Any]]:
    """The key of a new user of the account, who may call a stage's API unless told otherwise."""
    iam, user = aws.client("iam"), f"e2e-{name}-{uuid4().hex[:6]}"
    api = deployment.outputs["Url"].partition("://")[2].partition(".")[0]
    calls = {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": _API.format(api=api)}
    iam.create_user(UserName=user)
    if may_call:
        policy = json.dumps({"Version": "2012-10-17", "Statement": [calls]})
        iam.put_user_policy(UserName=user, PolicyName="call", PolicyDocument=policy)
    key = iam.create_access_key(UserName=user)["AccessKey"]
    try:
        yield key
    finally:
        iam.delete_access_key(UserName=user, AccessKeyId=key["AccessKeyId"])
        if may_call:
            iam.delete_user_policy(UserName=user, PolicyName="call")
        iam.delete_user(UserName=user)


_API = "arn:aws:execute-api:us-east-1:000000000000:{api}/*"


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


_UPLOADED: dict[str, dict[str, str]] = {}
"""The name in the bucket of each folder of code that an emulator has. Its own name is the digest of its files."""


def _upload(aws: Aws, file: Path) -> str:
    """Upload a template, with tables and policies as the emulator needs them, and the folders of code that it names.

    Returns its name in the bucket.
    """
    store = aws.client("s3")
    uploaded = _UPLOADED.setdefault(aws.url, {})
    if BUCKET not in {each["Name"] for each in store.list_buckets()["Buckets"]}:
        store.create_bucket(Bucket=BUCKET)
    template = json.loads(file.read_text())
    for resource in template["Resources"].values():
        for place in ("Code", "Content"):
            folder = resource["Properties"].get(place)
            if isinstance(folder, str):
                if folder not in uploaded:
                    uploaded[folder] = _put(store, _zipped(file.parent / folder), "zip")
                resource["Properties"][place] = {"S3Bucket": BUCKET, "S3Key": uploaded[folder]}
        if "LocalSecondaryIndexes" in resource["Properties"]:
            resource["Properties"] = projecting_all(resource["Properties"])
        if resource["Type"] in ("AWS::S3::BucketPolicy", "AWS::SQS::QueuePolicy"):
            _allow_plain_http(resource["Properties"]["PolicyDocument"])
    return _put(store, json.dumps(template).encode(), "json")


def _allow_plain_http(policy: dict[str, Any]) -> None:
    """Take out of a policy what refuses requests without TLS: the emulator is spoken to on the loopback."""
    policy["Statement"] = [each for each in policy["Statement"] if "aws:SecureTransport" not in str(each)]


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
