"""Grants as IAM's statements, on the resources of one stack."""

from collections.abc import Sequence
from typing import Final, Protocol

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from steeltrap.embedders.bedrock import MODELS

from .grants import Grant
from .search import Search
from .stage import Stage

_AREAS: Final = ("us", "eu", "apac", "jp", "au", "global")
"""The prefixes of inference profiles' ids."""
_USE_KEY: Final = (
    *("kms:Decrypt", "kms:Encrypt", "kms:DescribeKey", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext"),
    *("kms:ReEncryptFrom", "kms:ReEncryptTo"),
)
"""The KMS actions that DynamoDB requires of a caller of an encrypted table."""


class Stored(Protocol):
    """The resources with a stage's memories: the tables with a bucket of exports, or the log."""

    def arns(self, grant: Grant) -> list[str]: ...

    def encrypted_by(self, grant: Grant) -> tuple[str, str] | None: ...


class Policies:
    """Maps the resource names in grants to a stage's ARNs. `search` is missing where nothing is indexed."""

    def __init__(self, scope: Construct, stage: Stage, storage: Stored, search: Search | None) -> None:
        self._stack = Stack.of(scope)
        self._stage = stage
        self._storage = storage
        self._search = search

    def statements(self, grants: Sequence[Grant]) -> list[iam.PolicyStatement]:
        """The IAM statements of the grants, with those for the keys of encrypted resources."""
        return [*(one for grant in grants for one in self._of(grant)), *self._keys(grants)]

    def _of(self, grant: Grant) -> list[iam.PolicyStatement]:
        match grant.resource:
            case "index":
                return self._search.statements(grant) if self._search else []
            case "embedder":
                if self._stage.settings.get("embedder") != "bedrock":
                    return []
                arns = _models(str(self._stage.settings.get("embedder_model", "")), self._stack)
            case "traces":
                arns = ["*"]  # X-Ray's actions take no resource
            case _:
                arns = self._storage.arns(grant)
        return [iam.PolicyStatement(actions=list(grant.actions), resources=arns)]

    def _keys(self, grants: Sequence[Grant]) -> list[iam.PolicyStatement]:
        """The keys, each through those services alone that hold what is granted."""
        encrypted = {service_key for grant in grants if (service_key := self._storage.encrypted_by(grant)) is not None}
        through: dict[str, list[str]] = {}
        for service, key in sorted(encrypted):
            through.setdefault(key, []).append(f"{service}.{self._stack.region}.amazonaws.com")
        return [
            iam.PolicyStatement(
                actions=list(_USE_KEY), resources=[key], conditions={"StringEquals": {"kms:ViaService": services}}
            )
            for key, services in through.items()
        ]


def _models(model_setting: str, stack: Stack) -> list[str]:
    """A model of Bedrock as ARNs: by its own, by its id, or by an inference profile, which asks several regions."""
    model = model_setting or MODELS[0].id
    profile = model.rpartition("inference-profile/")[2]
    area, _, of_area = profile.partition(".")
    if area in _AREAS:
        own = f"arn:{stack.partition}:bedrock:{stack.region}:{stack.account}:inference-profile/{profile}"
        regional = f"arn:{stack.partition}:bedrock:*::foundation-model/{of_area}"
        return [model if model.startswith("arn:") else own, regional]
    own = f"arn:{stack.partition}:bedrock:{stack.region}::foundation-model/{model}"
    return [model if model.startswith("arn:") else own]
