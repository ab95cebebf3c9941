"""Made-up secrets, built from the rules' own patterns when a test runs, so that this repository holds none."""

import random
import re
import re._constants as op  # type: ignore
import re._parser as parser  # type: ignore
import string
from typing import Any, Final

from steeltrap.text.secrets.patterns import Rule

_TRIES: Final = 400
_WORDS: Final = string.ascii_letters + string.digits
_PRINTABLE: Final = _WORDS + "-_+/=.~!#$%&*"
_LETTERS: Final = {"digit": string.digits, "word": _WORDS, "space": " "}


def example(rule: Rule, seed: int = 0) -> str:
    """A text that the rule finds a secret in."""
    made = random.Random(f"{rule.id}{seed}")
    tree = parser.parse(_as_python(rule.regex))
    for _ in range(_TRIES):
        text = f" {_from(tree, made)} "
        if not any(keyword in text.lower() for keyword in rule.keywords):
            text = f" {rule.keywords[0]}{text}"
        if next(rule.find(text.encode()), None) is not None:
            return text
    raise AssertionError(f"no example of {rule.id} was found: {text!r}")


def _as_python(regex: str) -> str:
    """RE2's syntax as Python's: an example in the case in which the pattern is written fits in any."""
    regex = re.sub(r"\(\?(?:-?[is]+)\)", "", regex)
    regex = re.sub(r"\(\?-?[is]+:", "(?:", regex)
    return regex.replace("[[:alnum:]]", "[A-Za-z0-9]").replace("[:alnum:]", "A-Za-z0-9").replace(r"\z", r"\Z")


def _from(tree: Any, made: random.Random) -> str:
    return "".join(_piece(kind, value, made) for kind, value in tree)


def _piece(kind: Any, value: Any, made: random.Random) -> str:
    match kind:
        case op.LITERAL:
            return chr(value)
        case op.NOT_LITERAL:
            return made.choice([each for each in _PRINTABLE if ord(each) != value])
        case op.ANY:
            return made.choice(_WORDS)
        case op.IN:
            return made.choice(_class(value))
        case op.BRANCH:
            return _from(made.choice(value[1]), made)
        case op.SUBPATTERN:
            return _from(value[-1], made)
        case op.MAX_REPEAT | op.MIN_REPEAT:
            least, most, inner = value
            # The shortest of what comes before a secret; of long ones, not the shortest: it may lack entropy.
            times = least if kind is op.MIN_REPEAT else made.randint(least, min(most, max(least, 8)))
            return "".join(_from(inner, made) for _ in range(times))
    return ""  # a boundary


def _class(items: Any) -> list[str]:
    if items[0][0] is op.NEGATE:
        out = set(_class(items[1:]))
        return [each for each in _PRINTABLE if each not in out]
    found: list[str] = []
    for kind, value in items:
        if kind is op.LITERAL:
            found.append(chr(value))
        elif kind is op.RANGE:
            found += map(chr, range(value[0], value[1] + 1))
        else:
            found += {op.CATEGORY_DIGIT: string.digits, op.CATEGORY_WORD: _WORDS, op.CATEGORY_SPACE: " "}.get(
                value, _PRINTABLE
            )
    return found


def token() -> str:
    """An access key of AWS that nobody has."""
    return "AKIA" + "QYLPMN5HNM3ZFOPA"


def card() -> str:
    """A card's number that issuers give for tests."""
    return " ".join(["4242"] * 4)


def pem(lines: int = 6, name: str = "RSA PRIVATE KEY") -> str:
    """A private key that opens nothing."""
    made = random.Random(7)
    body = "\n".join("".join(made.choices(_WORDS + "+/", k=64)) for _ in range(lines))
    return f"-----BEGIN {name}-----\n{body}\nq8Zk2A==\n-----END {name}-----"
