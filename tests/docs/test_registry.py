"""The entry for MCP's registry: within the limits of its schema (2025-12-11), and true of the package."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from typer.testing import CliRunner

from docs import registry
from steeltrap.cli.app import app
from steeltrap.settings import FIELDS, PREFIX

ROOT = Path(__file__).parents[2]
ENTRY = json.loads(registry.SERVER.read_text())
PYPROJECT = (ROOT / "pyproject.toml").read_text()

LIMITS = {
    "type": "object",
    "required": ["$schema", "name", "description", "version", "packages"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"const": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"},
        "name": {
            "type": "string",
            "minLength": 3,
            "maxLength": 200,
            "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$",
        },
        "title": {"type": "string", "minLength": 1, "maxLength": 100},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "version": {"type": "string", "maxLength": 255, "pattern": r"^\d+\.\d+\.\d+$"},
        "websiteUrl": {"type": "string", "pattern": "^https://"},
        "repository": {
            "type": "object",
            "required": ["url", "source"],
            "additionalProperties": False,
            "properties": {"url": {"type": "string", "pattern": "^https://"}, "source": {"const": "github"}},
        },
        "packages": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["registryType", "identifier", "version", "transport"],
                "additionalProperties": False,
                "properties": {
                    "registryType": {"const": "pypi"},
                    "identifier": {"type": "string"},
                    "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
                    "runtimeHint": {"const": "uvx"},
                    "transport": {"const": {"type": "stdio"}},
                    "packageArguments": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["type", "value"],
                            "additionalProperties": False,
                            "properties": {"type": {"const": "positional"}, "value": {"type": "string"}},
                        },
                    },
                    "environmentVariables": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["name"],
                            "additionalProperties": False,
                            "properties": {
                                "name": {"type": "string"},
                                "description": {"type": "string"},
                                "format": {"enum": ["string", "number", "boolean", "filepath"]},
                                "isRequired": {"type": "boolean"},
                                "isSecret": {"type": "boolean"},
                            },
                        },
                    },
                },
            },
        },
    },
}
"""The fields of the schema that the entry uses, with their limits; a field that is not here is not known there."""


def test_the_entry_is_within_the_documented_limits() -> None:
    assert [error.message for error in Draft7Validator(LIMITS).iter_errors(ENTRY)] == []


@pytest.mark.parametrize(
    "change",
    [
        {"description": "x" * 101},
        {"name": "steeltrap"},
        {"name": "a/b/c"},
        {"version": "latest"},
        {"version": "1.*"},
        {"packages": [{**ENTRY["packages"][0], "registry_type": "pypi"}]},
    ],
    ids=str,
)
def test_what_the_registry_rejects_is_noticed(change: dict[str, Any]) -> None:
    assert list(Draft7Validator(LIMITS).iter_errors({**ENTRY, **change}))


def test_pypi_shows_the_registry_who_owns_the_name() -> None:
    """The registry looks for `mcp-name: NAME` in the description of the release, which is the README."""
    assert 'fragments = [{ path = "README.md" }]' in PYPROJECT
    assert re.findall(r"mcp-name: (\S+)", (ROOT / "README.md").read_text()) == [ENTRY["name"]]
    [owner] = re.findall(r"^Source = \"https://github.com/([^/]+)/", PYPROJECT, re.MULTILINE)
    assert ENTRY["name"] == f"io.github.{owner}/steeltrap", "GitHub's sign-in allows only names of its owner"


def test_a_client_that_installs_from_the_registry_starts_the_mcp_server() -> None:
    [package] = ENTRY["packages"]
    assert f'name = "{package["identifier"]}"' in PYPROJECT
    arguments = [each["value"] for each in package["packageArguments"]]
    assert arguments == shlex.split("mcp")
    assert CliRunner().invoke(app, [*arguments, "--help"]).exit_code == 0
    known = {f"{PREFIX}{name.upper()}" for name in FIELDS}
    assert {each["name"] for each in package["environmentVariables"]} <= known
