"""The synthesised template without what only the CDK's own tools know, so that SAM and CloudFormation deploy it too."""

import json
from pathlib import Path
from typing import Any, Final

from steeltrap.model import JsonObject

FILE: Final = "template.json"
_PLACES: Final = {"AWS::Lambda::Function": "Code", "AWS::Lambda::LayerVersion": "Content"}
_OF_THE_CDK: Final = ("aws:cdk", "aws:asset")


def write_portable(assembly: Path, stack: str) -> Path:
    """Write `template.json` beside the assembly's own: code by its folder, which `sam deploy` uploads."""
    template: JsonObject = json.loads((assembly / f"{stack}.template.json").read_text())
    for resource in template["Resources"].values():
        _make_portable(resource)
    for section, name in (("Parameters", "BootstrapVersion"), ("Rules", "CheckBootstrapVersion")):
        template[section].pop(name)
        if not template[section]:
            del template[section]
    # Folders instead of addresses are what a deployment tool replaces.
    template["Metadata"]["cfn-lint"]["config"]["ignore_checks"].append("W3002")
    file = assembly / FILE
    file.write_text(json.dumps(template, indent=1))
    return file


def _make_portable(resource: dict[str, Any]) -> None:
    metadata = resource.get("Metadata", {})
    if (place := _PLACES.get(resource["Type"])) is not None:
        packed = resource["Properties"][place]["S3Key"]
        resource["Properties"][place] = f"asset.{packed.removesuffix('.zip')}"
    remaining = {name: value for name, value in metadata.items() if not name.startswith(_OF_THE_CDK)}
    if remaining:
        resource["Metadata"] = remaining
    else:
        resource.pop("Metadata", None)
