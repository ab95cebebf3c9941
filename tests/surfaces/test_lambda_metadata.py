"""Where a client of MCP gets a token when API Gateway refuses it: the document, by the SDK's own way to find it."""

import json
from typing import Any

import pytest
from mcp.client.auth.utils import build_protected_resource_metadata_discovery_urls
from mcp.shared.auth import ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed

from steeltrap.errors import InvalidInput
from steeltrap.servers.aws_lambda.metadata import metadata_handler
from steeltrap.settings import read_settings
from steeltrap.toolsets import CATALOGUE
from surfaces.events import as_v2

HOST = "id.execute-api.us-east-1.amazonaws.com"
ISSUER = "https://issuer.example"
PATHS = ["/mcp", *(f"/mcp/{name}" for name in CATALOGUE.toolsets)]


def _get(url: str, **settings: str) -> tuple[int, dict[str, Any]]:
    handler = metadata_handler(settings=read_settings({"STEELTRAP_OIDC_ISSUER": ISSUER}, **settings))
    event = as_v2(url.removeprefix(f"https://{HOST}"), "", None, headers={"host": "evil.example"})
    answer = handler(event, None)
    return answer["statusCode"], json.loads(answer["body"])


@pytest.mark.parametrize("path", PATHS)
def test_a_client_whose_401_names_no_document_finds_it_where_it_looks_first(path: str) -> None:
    server = f"https://{HOST}{path}"
    # API Gateway's own 401 says no more than `Bearer`.
    first, *_ = build_protected_resource_metadata_discovery_urls(None, server)
    status, body = _get(first)
    assert status == 200
    document = ProtectedResourceMetadata.model_validate(body)
    assert str(document.resource) == server
    assert check_resource_allowed(server, str(document.resource))
    assert [str(each).rstrip("/") for each in document.authorization_servers] == [ISSUER]


def test_the_address_is_the_gateway_s_own_or_the_setting_s_and_never_a_header_s() -> None:
    asked = f"https://{HOST}/.well-known/oauth-protected-resource"
    assert _get(asked)[1]["resource"] == f"https://{HOST}"
    assert _get(f"{asked}/mcp", public_url="https://memory.example/")[1]["resource"] == "https://memory.example/mcp"


@pytest.mark.parametrize("path", ["/.well-known/oauth-protected-resource/v1/core/save", "/v1/core/save", "/"])
def test_nothing_else_is_told_to_whoever_asks(path: str) -> None:
    status, body = _get(f"https://{HOST}{path}")
    assert (status, body["code"]) == (404, "not_found")


def test_a_function_without_an_issuer_fails_at_its_start() -> None:
    with pytest.raises(InvalidInput, match="STEELTRAP_OIDC_ISSUER"):
        metadata_handler(settings=read_settings({}))


@pytest.mark.parametrize("path", ["/v1/core/save", "/mcp", "/.well-known/oauth-protected-resource/mcp", "/nothing"])
def test_what_a_browser_asks_before_a_page_calls_is_answered_without_an_error(path: str) -> None:
    event = as_v2(path, "", None, routeKey="OPTIONS /{proxy+}")
    event["requestContext"]["http"]["method"] = "OPTIONS"
    answer = metadata_handler(settings=read_settings({"STEELTRAP_OIDC_ISSUER": ISSUER}))(event, None)
    assert (answer["statusCode"], answer["body"]) == (204, "")
