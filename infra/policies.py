"""Grants as IAM's statements, on the resources of one stack."""

from collections.abc import Sequence
from typing import Final

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from steeltrap.embedders.bedrock import MODELS
from steeltrap.stores.dynamodb.keys import EVERYONE

from .grants import Grant
from .search import Search
from .stage import Stage
from .storage import Storage

_AREAS: Final = ("us", "eu", "apac", "jp", "au", "global")
"""The prefixes of inference profiles' ids."""
_ENCRYPTED: Final = {
    **dict.fromkeys(("memories", "usage", "stream", "everyone"), "dynamodb"),
    **dict.fromkeys(("index_dead_letters", "stream_dead_letters", "writes"), "sqs"),
    "exports": "s3",
}
"""The service that uses the key, for each resource encrypted with it."""
_USE_KEY: Final = (
    *("kms:Decrypt", "kms:Encrypt", "kms:DescribeKey", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext"),
    *("kms:ReEncryptFrom", "kms:ReEncryptTo"),
)
"""The KMS actions that DynamoDB requires of a caller of an encrypted table."""


class Policies:
    """Maps the resource names in grants to a stage's ARNs."""

    def __init__(self, stage: Stage, storage: Storage, search: Search) -> None:
        self._stage = stage
        self._storage = storage
        self._search = search

    def statements(self, grants: Sequence[Grant]) -> list[iam.PolicyStatement]:
        """The IAM statements of the grants, with those for the keys of encrypted resources."""
        return [*(one for grant in grants for one in self._of(grant)), *self._keys(grants)]

    def _of(self, grant: Grant) -> list[iam.PolicyStatement]:
        if grant.resource == "index":
            return self._search.statements(grant)
        if grant.resource == "embedder" and self._stage.settings.get("embedder") != "bedrock":
            return []
        return [iam.PolicyStatement(actions=list(grant.actions), resources=self._arns(grant))]

    def _arns(self, grant: Grant) -> list[str]:
        storage = self._storage
        table = storage.memories.arn
        match grant.resource:
            case "memories":
                queried = storage.indexes_of_a_user if "dynamodb:Query" in grant.actions else []
                return [table, *(f"{table}/index/{name}" for name in queried)]
            case "everyone":
                return [f"{table}/index/{EVERYONE}"]
            case "usage":
                return [storage.usage.arn]
            case "stream":
                return [storage.memories.stream]
            case "streams":
                return [f"{table}/stream/*"]
            case "index_dead_letters":
                return [storage.index_dead_letters.queue_arn]
            case "stream_dead_letters":
                return [storage.stream_dead_letters.queue_arn]
            case "writes":
                return [storage.writes.queue_arn] if storage.writes else []
            case "exports":
                return [storage.exports.arn_for_objects("exports/*")]
            case "listing":
                return [storage.exports.bucket_arn]
            case "embedder":
                return _models(str(self._stage.settings.get("embedder_model", "")), Stack.of(storage))
        return ["*"]  # X-Ray's actions take no resource

    def _keys(self, grants: Sequence[Grant]) -> list[iam.PolicyStatement]:
        """The keys, each through those services alone that hold what is granted."""
        region = Stack.of(self._storage).region
        storage = self._storage
        key_of = {"dynamodb": storage.table_key, "sqs": storage.key.key_arn, "s3": storage.exports_key}
        through: dict[str, list[str]] = {}
        for service in sorted({_ENCRYPTED[grant.resource] for grant in grants if grant.resource in _ENCRYPTED}):
            through.setdefault(key_of[service], []).append(f"{service}.{region}.amazonaws.com")
        return [
            iam.PolicyStatement(
                actions=list(_USE_KEY), resources=[key], conditions={"StringEquals": {"kms:ViaService": services}}
            )
            for key, services in through.items()
        ]


def _models(named: str, stack: Stack) -> list[str]:
    """A model of Bedrock as ARNs: by its own, by its id, or by an inference profile, which asks several regions."""
    model = named or MODELS[0].id
    profile = model.rpartition("inference-profile/")[2]
    area, _, of_area = profile.partition(".")
    if area in _AREAS:
        own = f"arn:{stack.partition}:bedrock:{stack.region}:{stack.account}:inference-profile/{profile}"
        asked = f"arn:{stack.partition}:bedrock:*::foundation-model/{of_area}"
        return [model if model.startswith("arn:") else own, asked]
    own = f"arn:{stack.partition}:bedrock:{stack.region}::foundation-model/{model}"
    return [model if model.startswith("arn:") else own]
