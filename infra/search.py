"""The search index: a managed domain, a serverless collection, or one that is there already."""

import json
from collections.abc import Sequence
from typing import Literal

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_opensearchserverless as serverless
from aws_cdk import aws_opensearchservice as opensearch
from constructs import Construct

from .grants import FEED_INDEX, KEEP_INDEX, Grant
from .stage import Stage

INDEX = "recollect"


class Search(Construct):
    """Where the index answers, how requests are signed, and who may ask what."""

    url: str
    auth: Literal["none", "es", "aoss"]
    domain: opensearch.CfnDomain | None = None

    def __init__(self, scope: Construct, stage: Stage, key: kms.IKey) -> None:
        super().__init__(scope, "Search")
        self._stage = stage
        self._name = stage.stack_name
        self._arn = stage.endpoint_arn
        match stage.search:
            case "domain":
                self.domain = self._domain(key)
                self.url, self.auth = f"https://{self.domain.attr_domain_endpoint}", "es"
                self._arn = self.domain.attr_arn
            case "serverless":
                self._collection = self._serverless(key)
                self.url, self.auth = self._collection.attr_collection_endpoint, "aoss"
                self._arn = self._collection.attr_arn
            case "endpoint":
                self.url, self.auth = stage.endpoint, "es" if stage.endpoint_arn else "none"

    def statements(self, grant: Grant) -> list[iam.PolicyStatement]:
        """A grant on the index as IAM's. A collection's own policy says more; one that asks nobody needs none."""
        if self.auth == "none":
            return []
        if self.auth == "aoss":
            return [iam.PolicyStatement(actions=["aoss:APIAccessAll"], resources=[self._arn])]
        paths = [f"{self._arn}/{path.format(alias=INDEX)}" for path in grant.paths]
        return [iam.PolicyStatement(actions=list(grant.actions), resources=paths)]

    def admit(self, roles: Sequence[tuple[iam.IRole, Grant]]) -> None:
        """Let roles into a collection, each for what its grant says. A domain asks IAM alone."""
        if self.auth != "aoss":
            return
        rights = {
            FEED_INDEX: ["aoss:DescribeIndex", "aoss:ReadDocument", "aoss:WriteDocument"],
            KEEP_INDEX: ["aoss:*"],
        }
        kinds: dict[tuple[str, ...], list[str]] = {}
        for role, grant in roles:
            kinds.setdefault(tuple(rights.get(grant, ["aoss:DescribeIndex", "aoss:ReadDocument"])), []).append(
                role.role_arn
            )
        rules = [
            {
                "Rules": [
                    {"ResourceType": "index", "Resource": [f"index/{self._name}/*"], "Permission": list(permissions)}
                ],
                "Principal": principals,
            }
            for permissions, principals in kinds.items()
        ]
        serverless.CfnAccessPolicy(
            self, "Access", name=self._name, type="data", policy=Stack.of(self).to_json_string(rules)
        )

    def _domain(self, key: kms.IKey) -> opensearch.CfnDomain:
        size = self._stage.domain
        several = size.nodes > 1
        arn = Stack.of(self).format_arn(service="es", resource="domain", resource_name=f"{self._name}/*")
        account = iam.PolicyStatement(actions=["es:ESHttp*"], principals=[iam.AccountRootPrincipal()], resources=[arn])
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
