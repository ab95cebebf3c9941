"""Redact: secrets leave what a caller gives before it is embedded, compared, keyed or written."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, Final, TypeVar

from ..errors import InvalidInput, SteeltrapError, counted
from ..model import Draft, Edit, JsonObject, Memory, Message, Outcome, OutcomeKind
from ..text.json_limits import cut
from .call import Call, SecretsMode

Redactable = TypeVar("Redactable", Draft, Edit, Memory)

_TEXTS: Final = ("content", "context", "category", "agent_label")
_NAMES: Final = ("scope", "conversation_id", "agent_id", "updated_by", "imported_by")
_SHORTEST_CARD: Final = 10**13
_CARD_DIGITS: Final = 14
_LONG_WORD: Final = 20
_SHORTEST: Final = 4
"""Characters of a word in a secret: the shortest passwords have six characters, and an account number's groups have
four."""


def redacted(call: Call, value: Redactable) -> Redactable:
    """A caller's input without its secrets, as the call's `secrets` says: each is a placeholder, or the call is
    refused, or all stays as it is.

    Raises InvalidInput for a secret in what something is found by, such as a scope or a conversation's id: under a
    placeholder, things of different names would be one.
    """
    if call.secrets == "off":
        return value
    for name in _NAMES:
        check_name(call, name, getattr(value, name, None))
    new: dict[str, Any] = {}
    for name in _TEXTS:
        if text := getattr(value, name, None):
            new[name] = redacted_text(call, name, text)
    if value.tags:
        new["tags"] = tuple(redacted_text(call, "tags", tag) for tag in value.tags)
    if value.metadata:
        new["metadata"] = _redacted_json(call, value.metadata)
    if messages := getattr(value, "messages", ()):
        new["messages"] = tuple(redacted_message(call, message) for message in messages)
    if importance := getattr(value, "importance", None):
        new["importance"] = replace(importance, reason=redacted_text(call, "reason", importance.reason))
    return replace(value, **new)


def check_name(call: Call, name: str, value: str | None) -> None:
    """Raises InvalidInput where a name, by which something is found again, has a secret in it."""
    if value and call.secrets != "off" and (kinds := _kinds(value)):
        raise InvalidInput(f"`{name}` has what looks like a secret ({kinds}); choose a name without it.")


def redacted_text(call: Call, field: str, text: str, name: str = "") -> str:
    """A text without its secrets; `name` is the key that it has in an object. Raises InvalidInput where the call
    refuses secrets."""
    if call.secrets == "off":
        return text
    from ..text import secrets  # needs RE2, which only a write loads

    result = secrets.redacted(text, name)
    if result.secrets and call.secrets == "refuse":
        raise InvalidInput(
            f"`{field}` has what looks like a secret ({_listed(kind for kind, _ in result.secrets)}), and secrets are "
            "not stored here; leave it out and say instead where it is kept."
        )
    call.redacted.update(result.secrets)
    return result.text


def without_secrets(call: Call, text: str) -> str:
    """A stored text as a model is shown it: secrets that were saved before, or by others, become placeholders too."""
    if call.secrets == "off" or not _may_have_secret(text):
        return text
    from ..text import secrets  # needs RE2, which most answers do without

    return secrets.redacted(text).text


def _may_have_secret(text: str) -> bool:
    """Whether a text has what every secret has: a long word, a word of letters and digits, or many digits."""
    digits = 0
    for word in text.split():
        digits_in_word = sum(letter.isdigit() for letter in word)
        digits += digits_in_word
        if len(word) >= _LONG_WORD or digits >= _CARD_DIGITS:
            return True
        if digits_in_word and len(word) >= _SHORTEST and any(letter.isalpha() for letter in word):
            return True
    return "://" in text


def redacted_message(call: Call, message: Message) -> Message:
    """A message without its secrets. Raises InvalidInput where the call refuses them."""
    speaker = message.speaker and redacted_text(call, "speaker", message.speaker)
    role = redacted_text(call, "role", message.role)
    return replace(message, role=role, content=redacted_text(call, "messages", message.content), speaker=speaker)


def redaction_notice(secrets: Set[tuple[str, int]]) -> str | None:
    """A sentence for the caller on what was replaced in a call; None where nothing was."""
    if not secrets:
        return None
    subject = counted(len(secrets), "secret was", "secrets were")
    return f"{subject} replaced: {_listed(kind for kind, _ in secrets)}."


def outcome(call: Call) -> Outcome | None:
    """The outcome beside the answer: the call's own outcome, and what was replaced."""
    notice, own = redaction_notice(call.redacted), call.outcome
    if notice is None:
        return own
    if own is None:
        return Outcome(kind=OutcomeKind.REDACTED, message=notice)
    return replace(own, message=f"{own.message} {notice}")


def unquoted(error: SteeltrapError, mode: SecretsMode) -> SteeltrapError:
    """An error that quotes no secret, whatever argument it is about."""
    if mode != "off":
        from ..text import secrets

        error.message = secrets.redacted(error.message).text
        error.args = (error.message,)
        error.details = {name: _unquoted(value) for name, value in error.details.items()}
    return error


def _unquoted(value: Any) -> Any:
    from ..text import secrets

    if isinstance(value, str):
        return secrets.redacted(value).text
    if isinstance(value, dict):
        return {name: _unquoted(each) for name, each in value.items()}
    return [_unquoted(each) for each in value] if isinstance(value, list) else value


def _kinds(text: str) -> str:
    from ..text import secrets

    return _listed(kind for kind, _ in secrets.redacted(text).secrets)


def _listed(kinds: Any) -> str:
    return ", ".join(sorted(set(kinds)))


def _redacted_json(call: Call, metadata: Mapping[str, Any]) -> JsonObject:
    redacted_fields: JsonObject = {}
    for key, value in metadata.items():
        name = redacted_text(call, "metadata", key)
        while name in redacted_fields:  # two keys that were secrets of the same kind
            name += "'"
        redacted_fields[name] = _redacted_value(call, key, value)
    return redacted_fields


def _redacted_value(call: Call, key: str, value: Any) -> Any:
    if isinstance(value, str):
        return redacted_text(call, f"metadata.{cut(key)}", value, key)
    if isinstance(value, int) and value >= _SHORTEST_CARD:
        text = redacted_text(call, f"metadata.{cut(key)}", str(value), key)
        return value if text == str(value) else text
    if isinstance(value, Mapping):
        return _redacted_json(call, value)
    if isinstance(value, Sequence):
        return [_redacted_value(call, key, each) for each in value]
    return value
