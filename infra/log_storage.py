"""Where a stage over a bucket keeps memories: a table of entries, a bucket for all else, a key if it is asked for."""

from collections.abc import Mapping
from typing import Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from steeltrap.stores.logs.dynamodb import log_table

from .grants import Grant, Resource
from .stage import Stage

_CACHE: Final = "/tmp/steeltrap"
_CACHED: Final = 0.75
"""The part of a function's disk that copies of users' files may fill. One that is being fetched needs room, too."""
_ENCRYPTED: Final[Mapping[Resource, str]] = {"entries": "dynamodb", "objects": "s3"}


class LogStorage(Construct):
    """The log of every user's memories. A stage with `retain` keeps all of it.

    Neither the table nor the bucket keeps what was overwritten or deleted (no point-in-time recovery, no versions): a
    memory that was forgotten would stay in it.
    """

    def __init__(self, scope: Construct, stage: Stage) -> None:
        super().__init__(scope, "Storage")
        self._stage = stage
        self._removal = RemovalPolicy.RETAIN if stage.retain else RemovalPolicy.DESTROY
        self.key = kms.Key(self, "Key", enable_key_rotation=True, removal_policy=self._removal) if stage.key else None
        self.entries = self._table()
        self.objects = s3.Bucket(
            self,
            "Objects",
            encryption=s3.BucketEncryption.KMS if self.key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=self.key,
            bucket_key_enabled=True if self.key else None,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            removal_policy=self._removal,
            # An upload that was cut off leaves parts that nobody sees and everybody pays for.
            lifecycle_rules=[s3.LifecycleRule(abort_incomplete_multipart_upload_after=Duration.days(1))],
        )

    def _table(self) -> dynamodb.CfnTable:
        # AWS chooses the table's name, so a kept table never conflicts with a new one.
        words = log_table("entries")
        make = dynamodb.CfnTable
        table = make(
            self,
            "Entries",
            billing_mode=words["BillingMode"],
            attribute_definitions=[
                make.AttributeDefinitionProperty(
                    attribute_name=each["AttributeName"], attribute_type=each["AttributeType"]
                )
                for each in words["AttributeDefinitions"]
            ],
            key_schema=[
                make.KeySchemaProperty(attribute_name=each["AttributeName"], key_type=each["KeyType"])
                for each in words["KeySchema"]
            ],
            sse_specification=make.SSESpecificationProperty(
                sse_enabled=True, sse_type="KMS", kms_master_key_id=self.key.key_arn
            )
            if self.key
            else None,
            deletion_protection_enabled=self._stage.retain,
        )
        table.apply_removal_policy(self._removal)
        return table

    @property
    def url(self) -> str:
        """The store as STEELTRAP_STORE names it."""
        return f"dynamodb://{self.entries.ref}?bases=s3://{self.objects.bucket_name}"

    def environment(self) -> dict[str, str]:
        """The settings that name the store, and the room that a function has for copies of it."""
        return {
            "STEELTRAP_STORE": self.url,
            "STEELTRAP_CACHE_FOLDER": _CACHE,
            "STEELTRAP_CACHE_DISK_MB": str(int(self._stage.disk_mb * _CACHED)),
        }

    def arns(self, grant: Grant) -> list[str]:
        match grant.resource:
            case "entries":
                return [self.entries.attr_arn]
            case "objects":
                return [self.objects.arn_for_objects("*")]
            case "listing":
                return [self.objects.bucket_arn]
        raise AssertionError(f"{grant.resource} is not of a bucket's stage")

    def encrypted_by(self, grant: Grant) -> tuple[str, str] | None:
        """The service that encrypts what a grant is for, and the key's ARN; None where AWS's own key does."""
        if self.key is None or grant.resource not in _ENCRYPTED:
            return None
        return _ENCRYPTED[grant.resource], self.key.key_arn
