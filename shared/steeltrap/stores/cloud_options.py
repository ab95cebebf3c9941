"""How a bucket is reached: credentials, region and endpoint, found where each cloud's own tools look for them.

obstore finds most by itself: AWS's and Google's variables, Google's application default credentials, and the services
that give credentials to a machine, a container or a function. Here is what it leaves out.
"""

import os
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from ..errors import Unavailable

_KEY: Final = "AWS_ACCESS_KEY_ID"
_REGIONS: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
_AZURE_NAMES: Final = {
    "account_name": "AZURE_STORAGE_ACCOUNT",
    "account_key": "AZURE_STORAGE_KEY",
    "sas_key": "AZURE_STORAGE_SAS_TOKEN",
}
"""Azure's command line has names of its own for them."""
_AZURE_PARTS: Final = {
    "account_name": "AccountName",
    "account_key": "AccountKey",
    "sas_key": "SharedAccessSignature",
    "endpoint": "BlobEndpoint",
}
_AZURE_SIGNS: Final = ("KEY", "TOKEN", "CLIENT_ID", "IDENTITY_ENDPOINT", "MSI_ENDPOINT", "TOKEN_FILE")


def options_for(scheme: str) -> dict[str, Any]:
    """The options for obstore beside a URL of this scheme. Raises Unavailable."""
    if scheme == "s3":
        # Objects are deleted one by one, and not every service that is like S3 deletes many in one request.
        return {"disable_bulk_delete": True, **_aws(os.environ)}
    if scheme == "az":
        return _azure(os.environ)
    return {}


def _aws(environment: Mapping[str, str]) -> dict[str, Any]:
    """A provider by boto3, which reads profiles and signs in as they say; nothing where the variables say it all."""
    if _KEY in environment and any(name in environment for name in _REGIONS):
        return {}
    folder = Path.home() / ".aws"
    keys = Path(environment.get("AWS_SHARED_CREDENTIALS_FILE", folder / "credentials"))
    config = Path(environment.get("AWS_CONFIG_FILE", folder / "config"))
    if not ("AWS_PROFILE" in environment or keys.expanduser().exists() or config.expanduser().exists()):
        return {}
    if find_spec("boto3") is None:
        if _KEY in environment:
            return {}
        raise Unavailable(
            "AWS profiles need boto3: run `pip install boto3`, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
            retryable=False,
            part="store",
        )
    from boto3.session import Session
    from botocore.exceptions import BotoCoreError
    from obstore.auth.boto3 import Boto3CredentialProvider

    try:
        session = Session()
        if session.get_credentials() is None:
            return {} if session.region_name is None else {"region": session.region_name}
        return {"credential_provider": Boto3CredentialProvider(session)}
    except BotoCoreError as error:
        raise Unavailable(
            "The AWS profile can't be used: check AWS_PROFILE and the files in ~/.aws.", retryable=False, part="store"
        ) from error


def _azure(environment: Mapping[str, str]) -> dict[str, Any]:
    """The variables that Azure's command line reads; its own sign-in where nothing else is there."""
    parts = dict(
        part.split("=", 1) for part in environment.get("AZURE_STORAGE_CONNECTION_STRING", "").split(";") if "=" in part
    )
    options = {option: parts[name] for option, name in _AZURE_PARTS.items() if name in parts}
    options |= {option: environment[name] for option, name in _AZURE_NAMES.items() if name in environment}
    signs = [name for name in environment if name.startswith(("AZURE_", "IDENTITY_", "MSI_"))]
    is_signed = any(name.endswith(_AZURE_SIGNS) for name in signs) or "account_key" in options or "sas_key" in options
    if not is_signed and shutil.which("az") is not None:
        return {**options, "use_azure_cli": True}
    return options
