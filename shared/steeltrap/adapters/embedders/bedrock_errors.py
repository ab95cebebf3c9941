"""Maps the errors of botocore and Amazon Bedrock to ours; the only place that does.

passing     tried again within the call: throttled, busy, a lost connection
lasting     no retry helps until somebody fixes the settings, the account or the machine
neither     a later call may succeed
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from ..aws_client import Kind, kind_of
from .failure import Failure

OUT_OF_TIME: Final = Failure("did not answer in time; try again")
SLOW: Final = Failure("did not answer in time; try again", passing=True)
LOST: Final = Failure("broke the connection off; try again", passing=True)
UNREACHABLE: Final = Failure("can't be reached: check the network and the region (AWS_DEFAULT_REGION)", passing=True)
UNTRUSTED: Final = Failure("has no certificate that this machine trusts", lasting=True)
BUSY: Final = Failure("is busy; try again later", passing=True)
FAILED: Final = Failure("failed; try again later", passing=True)
USED_UP: Final = Failure("has no quota left for this account; try again later, or have the quota raised")
TOO_LONG: Final = Failure("takes no text of this length; send a shorter one", lasting=True, quotes=True)
REFUSED: Final = Failure(
    "refuses the request: check STEELTRAP_EMBEDDER_MODEL and STEELTRAP_EMBEDDER_DIMENSION",
    lasting=True,
    quotes=True,
)
FORBIDDEN: Final = Failure(
    "refuses access to the model: allow the action bedrock:InvokeModel on it, and enable the model for this "
    "account and region",
    lasting=True,
)
UNKNOWN: Final = Failure(
    "does not know the model in this region: check STEELTRAP_EMBEDDER_MODEL and AWS_DEFAULT_REGION", lasting=True
)
NOT_LET_IN: Final = Failure("can't be asked without valid AWS credentials: give some, or renew them", lasting=True)
CLOCK: Final = Failure("refuses the signature's time: set this machine's clock right", lasting=True)
NO_REGION: Final = Failure("can't be found without a region that has it: set AWS_DEFAULT_REGION", lasting=True)
MISCONFIGURED: Final = Failure("can't be reached as AWS is configured on this machine: fix that", lasting=True)
OUTDATED: Final = Failure(
    'is unknown to this version of boto3: run `pip install --upgrade "steeltrap[bedrock]"`', lasting=True
)
MISTAKEN: Final = Failure("could not be asked: a fault of steeltrap, please report it", lasting=True, quotes=True)

CODES: Final[Mapping[str, Failure]] = {
    # Modelled for the service
    "AccessDeniedException": FORBIDDEN,
    "ConflictException": FAILED,
    "InternalServerException": FAILED,
    "ModelErrorException": FAILED,
    "ModelNotReadyException": BUSY,
    "ModelStreamErrorException": FAILED,
    "ModelTimeoutException": SLOW,
    "ResourceNotFoundException": UNKNOWN,
    "ServiceQuotaExceededException": USED_UP,
    "ServiceUnavailableException": BUSY,
    "ThrottlingException": BUSY,
    "ValidationException": REFUSED,
    # Common to all of AWS
    "ExpiredToken": NOT_LET_IN,
    "ExpiredTokenException": NOT_LET_IN,
    "IncompleteSignature": NOT_LET_IN,
    "IncompleteSignatureException": NOT_LET_IN,
    "InternalFailure": FAILED,
    "InvalidClientTokenId": NOT_LET_IN,
    "InvalidSignatureException": NOT_LET_IN,
    "MissingAuthenticationToken": NOT_LET_IN,
    "MissingAuthenticationTokenException": NOT_LET_IN,
    "NotAuthorized": FORBIDDEN,
    "OptInRequired": FORBIDDEN,
    "RequestExpired": CLOCK,
    "ServiceUnavailable": BUSY,
    "Throttling": BUSY,
    "TooManyRequestsException": BUSY,
    "UnrecognizedClientException": NOT_LET_IN,
    "ValidationError": REFUSED,
}

_LENGTH: Final = re.compile(r"too long|too many input tokens|maxLength", re.IGNORECASE)
"""How Bedrock says that a text is over a limit of its model: it has no code of its own."""


PLACES: Final[Mapping[Kind, Failure]] = {
    "slow": SLOW,
    "lost": LOST,
    "unreachable": UNREACHABLE,
    "untrusted": UNTRUSTED,
    "credentials": NOT_LET_IN,
    "profile": MISCONFIGURED,
    "configuration": MISCONFIGURED,
    "proxy": MISCONFIGURED,
    "endpoint": MISCONFIGURED,
    "region": NO_REGION,
    "capacity": BUSY,
    "installation": MISCONFIGURED,
    "outdated": OUTDATED,
    "mistake": MISTAKEN,
}
"""What the ways in which a client of AWS fails mean here."""


def failure_of(error: Exception) -> Failure | None:
    """What a foreign exception means here; None for one that nobody has placed."""
    from botocore.exceptions import ClientError

    if isinstance(error, ClientError):
        return refusal(error.response)
    kind = kind_of(error)
    if kind is not None:
        return PLACES[kind]
    return LOST if isinstance(error, OSError) else None


def refusal(answer: Mapping[str, Any]) -> Failure:
    """What an answer other than 200 means, by its code; by its status when nobody has placed the code."""
    details = answer.get("Error", {})
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    code = str(details.get("Code", ""))
    placed = CODES.get(code)
    if placed is REFUSED and _LENGTH.search(str(details.get("Message", ""))):
        return TOO_LONG
    if placed is not None:
        return placed
    if status in (408, 429):
        return BUSY
    if status >= 500:
        return FAILED
    return FORBIDDEN if status in (401, 403) else REFUSED
