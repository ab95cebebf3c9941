"""The search index: a managed domain, a serverless collection, or one that is there already."""

import json
import re
from collections.abc import Sequence
from typing import Literal

from aws_cdk import CfnUpdatePolicy, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_opensearchserverless as serverless
from aws_cdk import aws_opensearchservice as opensearch
from constructs import Construct

from .grants import FEED_INDEX, KEEP_INDEX, READ_INDEX, Grant
from .stage import Stage

_READ = ("aoss:DescribeIndex", "aoss:ReadDocument")
_ITEMS = tuple(f"aoss:{verb}CollectionItems" for verb in ("Create", "Delete", "Update", "Describe"))
_RIGHTS = {
    READ_INDEX: (_READ, ()),
    FEED_INDEX: ((*_READ, "aoss:WriteDocument"), ("aoss:DescribeCollectionItems",)),
    KEEP_INDEX: (("aoss:*",), _ITEMS),
}


class Search(Construct):
    """Where the index answers, how requests are signed, and who may ask what."""

    url: str
    auth: Literal["none", "es", "aoss"]
    domain: opensearch.CfnDomain | None = None

    def __init__(self, scope: Construct, stage: Stage, key: kms.IKey) -> None:
        super().__init__(scope, "Search")
        self._stage = stage
        self.alias = stage.index
        self._name = stage.stack_name
        self._arn = stage.endpoint_arn
        match stage.search:
            case "domain":
                # By its name: roles that wait for no domain are known everywhere when it is there.
                self._arn = Stack.of(self).format_arn(service="es", resource="domain", resource_name=self._name)
                self.domain = self._domain(key)
                self.url, self.auth = f"https://{self.domain.attr_domain_endpoint}", "es"
            case "serverless":
                self._collection = self._serverless(key)
                self.url, self.auth = self._collection.attr_collection_endpoint, "aoss"
                self._arn = self._collection.attr_arn
            case "endpoint":
                self.url, self.auth = stage.endpoint, "es" if stage.endpoint_arn else "none"

    @property
    def told_url(self) -> str:
        """The address without a name and a password in it."""
        return re.sub(r"//[^/]*@", "//", self.url)

    @property
    def told_arn(self) -> str:
        """The ARN as cdk-nag tells it."""
        return re.sub(r"\$\{Token\[AWS\.(\w+)\.\d+\]\}", r"<AWS::\1>", self._arn)

    def statements(self, grant: Grant) -> list[iam.PolicyStatement]:
        """A grant on the index as IAM's. A collection's own policy says more; one that asks nobody needs none."""
        if self.auth == "none":
            return []
        if self.auth == "aoss":
            return [iam.PolicyStatement(actions=["aoss:APIAccessAll"], resources=[self._arn])]
        paths = [f"{self._arn}/{path.format(alias=self.alias)}" for path in grant.paths]
        return [iam.PolicyStatement(actions=list(grant.actions), resources=paths)]

    def admit(self, roles: Sequence[tuple[iam.IRole, Grant]]) -> None:
        """Let roles into a collection, each for what its grant says. A domain asks IAM alone."""
        if self.auth != "aoss":
            return
        kinds: dict[Grant, list[str]] = {}
        for role, grant in roles:
            kinds.setdefault(grant, []).append(role.role_arn)
        rules = [{"Rules": self._rights(grant), "Principal": principals} for grant, principals in kinds.items()]
        serverless.CfnAccessPolicy(
            self, "Access", name=self._name, type="data", policy=Stack.of(self).to_json_string(rules)
        )

    def _rights(self, grant: Grant) -> list[dict[str, Sequence[str]]]:
        """A grant in a collection's own words: its aliases and templates belong to the collection."""
        of_index, of_collection = _RIGHTS[grant]
        rights = (
            ("index", f"index/{self._name}/*", of_index),
            ("collection", f"collection/{self._name}", of_collection),
        )
        return [
            {"ResourceType": kind, "Resource": [what], "Permission": list(permissions)}
            for kind, what, permissions in rights
            if permissions
        ]

    def _domain(self, key: kms.IKey) -> opensearch.CfnDomain:
        size = self._stage.domain
        several = size.nodes > 1
        account = iam.PolicyStatement(
            actions=["es:ESHttp*"], principals=[iam.AccountRootPrincipal()], resources=[f"{self._arn}/*"]
        )
        domain = opensearch.CfnDomain(
            self,
            "Domain",
            domain_name=self._name,
            # The account's own roles, each as far as its policy says: no request without a signature.
            access_policies=iam.PolicyDocument(statements=[account]),
            engine_version="OpenSearch_2.19",
            cluster_config=opensearch.CfnDomain.ClusterConfigProperty(
                instance_type=size.instance,
                instance_count=size.nodes,
                zone_awareness_enabled=several,
                zone_awareness_config=opensearch.CfnDomain.ZoneAwarenessConfigProperty(availability_zone_count=3)
                if several
                else None,
            ),
            ebs_options=opensearch.CfnDomain.EBSOptionsProperty(
                ebs_enabled=True, volume_type="gp3", volume_size=size.volume_gb
            ),
            encryption_at_rest_options=opensearch.CfnDomain.EncryptionAtRestOptionsProperty(
                enabled=True, kms_key_id=key.key_id
            ),
            node_to_node_encryption_options=opensearch.CfnDomain.NodeToNodeEncryptionOptionsProperty(enabled=True),
            domain_endpoint_options=opensearch.CfnDomain.DomainEndpointOptionsProperty(
                enforce_https=True, tls_security_policy="Policy-Min-TLS-1-2-PFS-2023-10"
            ),
        )
        # The index can be built anew from the table, and kept it costs by the hour.
        domain.apply_removal_policy(RemovalPolicy.DESTROY)
        domain.cfn_options.update_policy = CfnUpdatePolicy(enable_version_upgrade=True)
        return domain

    def _serverless(self, key: kms.IKey) -> serverless.CfnCollection:
        where = {"ResourceType": "collection", "Resource": [f"collection/{self._name}"]}
        encryption = serverless.CfnSecurityPolicy(
            self,
            "Encryption",
            name=self._name,
            type="encryption",
            policy=Stack.of(self).to_json_string({"Rules": [where], "AWSOwnedKey": False, "KmsARN": key.key_arn}),
        )
        network = serverless.CfnSecurityPolicy(
            self,
            "Network",
            name=self._name,
            type="network",
            policy=json.dumps([{"Rules": [where], "AllowFromPublic": True}]),
        )
        collection = serverless.CfnCollection(
            self,
            "Collection",
            name=self._name,
            type="SEARCH",
            standby_replicas="ENABLED" if self._stage.retain else "DISABLED",
        )
        collection.add_dependency(encryption)
        collection.add_dependency(network)
        return collection
