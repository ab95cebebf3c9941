"""The search index: a managed domain, or one that is there already."""

import re
from typing import Final, Literal

from aws_cdk import CfnUpdatePolicy, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_opensearchservice as opensearch
from constructs import Construct

from .grants import Grant
from .stage import Stage

ENGINE: Final = "OpenSearch_3.5"


class Search(Construct):
    """Where the index answers, how requests are signed, and who may ask what."""

    url: str
    auth: Literal["none", "es"]
    domain: opensearch.CfnDomain | None = None

    def __init__(self, scope: Construct, stage: Stage, key: kms.IKey) -> None:
        super().__init__(scope, "Search")
        self._stage = stage
        self.alias = stage.index
        self._name = stage.stack_name
        self.arn = stage.endpoint_arn
        match stage.search:
            case "domain":
                # By its name: roles that wait for no domain are known everywhere when it is there.
                self.arn = Stack.of(self).format_arn(service="es", resource="domain", resource_name=self._name)
                self.domain = self._domain(key)
                self.url, self.auth = f"https://{self.domain.attr_domain_endpoint}", "es"
            case "endpoint":
                self.url, self.auth = stage.endpoint, "es" if stage.endpoint_arn else "none"

    def environment(self) -> dict[str, str]:
        """The settings that name the index."""
        return {
            "STEELTRAP_OPENSEARCH_URL": self.url,
            "STEELTRAP_OPENSEARCH_AUTH": self.auth,
            "STEELTRAP_OPENSEARCH_INDEX": self.alias,
        }

    @property
    def url_without_password(self) -> str:
        """The address without a name and a password in it."""
        return re.sub(r"//[^/]*@", "//", self.url)

    def statements(self, grant: Grant) -> list[iam.PolicyStatement]:
        """A grant on the index as IAM's; an index that checks no signature needs none."""
        if self.auth == "none":
            return []
        paths = [f"{self.arn}/{path.format(alias=self.alias)}" for path in grant.paths]
        return [iam.PolicyStatement(actions=list(grant.actions), resources=paths)]

    def _domain(self, key: kms.IKey) -> opensearch.CfnDomain:
        size = self._stage.domain
        several = size.nodes > 1
        account = iam.PolicyStatement(
            actions=["es:ESHttp*"], principals=[iam.AccountRootPrincipal()], resources=[f"{self.arn}/*"]
        )
        domain = opensearch.CfnDomain(
            self,
            "Domain",
            domain_name=self._name,
            # The account's own roles, each as far as its policy says: no request without a signature.
            access_policies=iam.PolicyDocument(statements=[account]),
            engine_version=ENGINE,
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
        # The index can be rebuilt from the table, and keeping it costs money every hour.
        domain.apply_removal_policy(RemovalPolicy.DESTROY)
        domain.cfn_options.update_policy = CfnUpdatePolicy(enable_version_upgrade=True)
        return domain
