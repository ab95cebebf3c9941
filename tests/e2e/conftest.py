"""One deployment for all tests: OpenSearch and the emulator of AWS must run (`make e2e` starts them)."""

import os
from collections.abc import Iterator
from uuid import uuid4

import pytest
from infra.stage import Stage

from components import aws_url, opensearch_url
from e2e.deployment import Aws, Deployment, deployed_stage
from e2e.issuer import AUDIENCE, Issuer
from surfaces.events import AGENT
from surfaces.issuer import published

collect_ignore_glob = [] if os.environ.get("STEELTRAP_TEST_E2E") == "1" else ["test_*.py"]


@pytest.fixture(scope="session")
def aws() -> Aws:
    return Aws(aws_url())


@pytest.fixture(scope="session")
def issuer() -> Iterator[Issuer]:
    with published(Issuer) as issuer:
        yield issuer


@pytest.fixture(scope="session")
def stack(aws: Aws, issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    index = f"e2e-{uuid4().hex[:8]}"
    stage = Stage(
        name="e2e",
        store="aws",
        functions="each",
        auth="jwt",
        issuer=issuer.url,
        audience=(AUDIENCE,),
        search="endpoint",
        endpoint=opensearch_url(),
        retain=False,
        queue_senders=("arn:aws:iam::000000000000:role/application",),
        index=index,
        agent={"bedrock_agents": (f"arn:aws:bedrock:us-east-1:000000000000:agent/{AGENT}",)},
        settings={"log": "info", "calls_per_minute": 0},
    )
    with deployed_stage(aws, stage, tmp_path_factory.mktemp("cdk")) as stack:
        yield stack
