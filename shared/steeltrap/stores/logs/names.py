"""Names of what a log is made of, the same at every place: `u/<user's key>/e/<n>`, `u/<key>/b/<n>-<forgot>`,
`who/<key>`, `log`."""

import json

from ...model import UserRef
from ...ports import BaseName


def base_name(name: BaseName) -> str:
    """The last part of a base's name; names sort as bases do."""
    return f"{name.n:012}-{name.forgot:012}"


def base_of(name: str) -> BaseName:
    """The base of such a name."""
    n, forgot = name.split("-")
    return BaseName(int(n), int(forgot))


def user_to_json(user: UserRef) -> bytes:
    """The content of `who/<key>`."""
    return json.dumps({"tenant": user.tenant, "user": user.user_id}).encode()


def user_from_json(content: bytes) -> UserRef:
    """The user of such a content."""
    value = json.loads(content)
    return UserRef(value["user"], value["tenant"])
