"""Bundles of functions: for their processor, small, and without anything that they don't use."""

import zipfile
from pathlib import Path

import pytest
from infra.bundle import Bundle, build_code

MB = 1_000_000


@pytest.mark.parametrize(("embedder", "most"), [(False, 26 * MB), (True, 56 * MB)])
def test_a_tool_s_bundle_is_small_and_for_its_processor(embedder: bool, most: int, tmp_path: Path) -> None:
    layer = Bundle("function", "3.13").build() / "python"
    packages = {path.name for path in layer.iterdir()}
    assert {"pydantic", "botocore", "boto3", "numpy", "opensearchpy", "urllib3", "aws_lambda_powertools"} <= packages
    assert not packages & {
        "tokenizers",
        "huggingface_hub",
        "grpc",
        "google",
        "opensearch",
        "aws_xray_sdk",
        "fastapi",
        "mcp",
    }
    services = {path.name for path in (layer / "botocore" / "data").iterdir() if path.is_dir()}
    assert services <= {"dynamodb", "s3", "sqs", "sts", "sso", "sso-oidc", "bedrock-runtime"}
    libraries = [path.name for path in layer.rglob("*.so") if "cpython" in path.name]
    assert libraries
    assert all(name.endswith("aarch64-linux-gnu.so") for name in libraries)

    code = build_code("3.13", embedder=embedder, replicas=False)
    assert not {"cli", "integrations"} & {path.name for path in (code / "steeltrap").iterdir()}
    assert (code / "steeltrap" / "embedders" / "static_256" / "model.npz").exists() == embedder
    assert _zipped(layer, tmp_path) + _zipped(code, tmp_path) < most


def test_the_bundle_of_a_bucket_s_stage_has_its_log_and_no_search_index(tmp_path: Path) -> None:
    layer = Bundle("function-bucket", "3.13").build() / "python"
    packages = {path.name for path in layer.iterdir()}
    assert {"obstore", "apsw", "fastapi", "mcp", "botocore"} <= packages
    assert not packages & {"opensearchpy", "requests", "grpc", "aws_xray_sdk"}
    code = build_code("3.13", embedder=True, replicas=True) / "steeltrap"
    assert {"sqlite", "replica", "logs"} <= {path.name for path in (code / "stores").iterdir()}
    assert not (code / "stores" / "opensearch").exists()
    assert _zipped(layer, tmp_path) + _zipped(code, tmp_path) < 95 * MB
    assert sum(path.stat().st_size for folder in (layer, code) for path in folder.rglob("*")) < 250 * MB


def _zipped(folder: Path, into: Path) -> int:
    packed = into / f"{folder.name}.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in folder.rglob("*"):
            archive.write(path, path.relative_to(folder))
    return packed.stat().st_size
