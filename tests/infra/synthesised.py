"""Templates as tests read them: synthesised once a stage, without code."""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from aws_cdk import App
from infra.functions import Packed
from infra.nag import check
from infra.stack import Steeltrap
from infra.stage import Stage

from components import check_node
from steeltrap.toolsets import CATALOGUE, Catalogue

Resource = dict[str, Any]
_FOLDER = TemporaryDirectory()

CERTIFICATE = "arn:aws:acm:eu-west-1:123456789012:certificate/0b2f1c3d-0000-4000-8000-000000000000"

STAGES = {
    "bucket": Stage(name="bucket"),
    "public": Stage(
        name="public",
        auth="jwt",
        issuer="https://issuer.example",
        audience=("app",),
        read_scope="memory:read",
        write_scope="memory:write",
        cors_origins=("https://app.example", "http://localhost:3000"),
        domain_name="memory.example.com",
        certificate_arn=CERTIFICATE,
        key=True,
        alarm_email="ops@example.com",
        dashboard=True,
        disk_mb=2048,
        settings={"calls_per_minute": 60},
        agent={"bedrock_agents": ("arn:aws:bedrock:eu-west-1:123456789012:agent/8ZXY0W8P1H",)},
    ),
    "domain": Stage(name="domain", store="aws", functions="each"),
    "zones": Stage(
        name="zones",
        store="aws",
        functions="each",
        domain={"instance": "m7g.medium.search", "nodes": 3, "volume_gb": 20},
        auth="jwt",
        issuer="https://issuer.example",
        audience=("app",),
        alarm_email="ops@example.com",
        dashboard=True,
        snap_start=("search",),
        queue_senders=("arn:aws:iam::123456789012:role/app",),
    ),
    "bedrock": Stage(name="bedrock", store="aws", functions="each", settings={"embedder": "bedrock"}),
    "adopted": Stage(
        name="adopted",
        store="aws",
        functions="each",
        adopt={
            "stream": "arn:aws:dynamodb:eu-west-1:123456789012:table/restored/stream/2026-11-20T09:00:00.000",
            "usage": "restored-usage",
            "key": "arn:aws:kms:eu-west-1:123456789012:key/old",
            "exports": "old-exports",
        },
    ),
    "agents": Stage(
        name="agents",
        store="aws",
        functions="each",
        auth="jwt",
        issuer="https://issuer.example/",
        audience=("app",),
        read_scope="memory:read",
        write_scope="memory:write",
        cors_origins=("*",),
        snap_start=("agent",),
        settings={"user_claim": "username", "untrusted_claim": "reads_mail"},
        agent={
            "gateway": True,
            "gateways": ("other-0123456789",),
            "bedrock_agents": ("arn:aws:bedrock:eu-west-1:123456789012:agent/8ZXY0W8P1H",),
        },
    ),
    "action-groups": Stage(
        name="groups",
        store="aws",
        functions="one",
        agent={"toolset": "core", "bedrock_agents": ("arn:aws:bedrock:eu-west-1:123456789012:agent/8ZXY0W8P1H",)},
    ),
    "endpoint": Stage(name="endpoint", store="aws", search="endpoint", endpoint="https://search.example"),
}


class Template:
    """The resources of a synthesised stack."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.body: dict[str, Any] = json.loads(file.read_text())
        self.resources: dict[str, Resource] = self.body["Resources"]

    def of_type(self, kind: str) -> dict[str, Resource]:
        """The properties of all resources of a type, by logical id."""
        return {id: one["Properties"] for id, one in self.resources.items() if one["Type"] == kind}

    def function(self, name: str) -> Resource:
        """The properties of a function by the name of what it serves."""
        [found] = [
            one for one in self.of_type("AWS::Lambda::Function").values() if one["FunctionName"].endswith(f"-{name}")
        ]
        return found

    def statements(self, function: Resource) -> list[Resource]:
        """The statements of the policies of a function's role."""
        role = self.of_type("AWS::IAM::Role")[function["Role"]["Fn::GetAtt"][0]]
        assert "ManagedPolicyArns" not in role
        return [each for policy in role["Policies"] for each in policy["PolicyDocument"]["Statement"]]

    def allowed(self, name: str) -> set[tuple[str, str]]:
        """(action, resource) that a function may do; a resource by its logical id and what stands behind its ARN."""
        return {
            (action, where)
            for statement in self.statements(self.function(name))
            for action in _listed(statement["Action"])
            for where in map(told, _listed(statement["Resource"]))
        }


@cache
def template(stage: str) -> Template:
    return synthesise(STAGES[stage], CATALOGUE)


def synthesise(stage: Stage, catalogue: Catalogue, *, checked: bool = False, layer: Path | None = None) -> Template:
    """The template of a stage whose functions have no code, and whose dependencies are a folder's or none.

    `checked` by cdk-nag too, which fails it for a rule that nobody acknowledged.
    """
    check_node()
    folder = Path(mkdtemp(dir=_FOLDER.name))
    (folder / "code").mkdir()
    (folder / "code" / "here").touch()
    app = App(outdir=str(folder / "out"))
    packed = Packed(folder / "code", lambda group: layer or folder / "code")
    stack = Steeltrap(app, stage, catalogue, packed=packed)
    if checked:
        check(app, stack, stage)
    app.synth()
    return Template(folder / "out" / f"{stage.stack_name}.template.json")


def told(value: Any) -> str:
    """A reference as text: `Storage...Arn/index/by-write`."""
    match value:
        case str():
            return value
        case {"Ref": name}:
            return str(name)
        case {"Fn::GetAtt": [id, attribute]}:
            return f"{id}.{attribute}"
        case {"Fn::Join": [between, parts]}:
            return str(between).join(map(told, parts))
    raise AssertionError(value)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
