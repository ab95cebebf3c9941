"""One deployment for all tests: OpenSearch and the emulator of AWS must run (`make e2e` starts them)."""

import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from aws_cdk import App
from deployment import Aws, Deployment, deployed
from infra.stack import Recollect
from infra.stage import Stage
from issuer import AUDIENCE, Issuer

from components import aws_url, opensearch_url
from recollect.toolsets import CATALOGUE
from surfaces.issuer import published

collect_ignore_glob = [] if os.environ.get("RECOLLECT_TEST_E2E") == "1" else ["test_*.py"]


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
        auth="jwt",
        issuer=issuer.url,
        audience=(AUDIENCE,),
        search="endpoint",
        endpoint=opensearch_url(),
        retain=False,
        emulator=True,
        queue_senders=("arn:aws:iam::000000000000:role/application",),
        index=index,
        settings={"log": "info"},
    )
    assembly: Path = tmp_path_factory.mktemp("cdk")
    app = App(outdir=str(assembly))
    Recollect(app, stage, CATALOGUE)
    app.synth()
    with deployed(aws, assembly, stage.stack_name) as outputs:
        yield Deployment(aws, outputs, opensearch_url(), index)
