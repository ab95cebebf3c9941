"""The rules that gitleaks doesn't have, or has for one type of file only."""

from typing import Final

from .rule import Allow, Rule

_PLACEHOLDERS: Final = Allow(
    regexes=(
        r"^[<\[{$%*.]|^[xX]+$|\*\*\*|\.\.\.",
        r"(?i)^(?:user|pass|password|passwd|pwd|secret|token|changeme|change[_-]?it|test|example)\d{0,4}$",
        r"(?i)your|example|placeholder|redacted",
    )
)
_NO_DIGIT: Final = Allow(regexes=(r"^\D+$",))

OWN: Final = (
    Rule(
        id="url-password",
        # postgres://user:PASSWORD@host
        regex=r"""\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/@:'"<>]{0,100}:([^\s/@'"<>]{3,200})@[\w\[]""",
        keywords=("://",),
        allow=(_PLACEHOLDERS,),
    ),
    Rule(
        id="password",
        # "password": "PASSWORD", and DB_PASSWORD=PASSWORD as in files of environment variables
        regex=r"(?i)(?:password|passwd|passphrase)(?:"
        r"""["']?\s{0,3}(?:=>|:=|=|:)\s{0,3}(?:"([^"\s]{6,100})"|'([^'\s]{6,100})')"""
        r"""|=([^\s"'`&;,<>()\[\]{}$/]{6,100}))""",
        keywords=("password", "passwd", "passphrase"),
        entropy=2,
        allow=(_PLACEHOLDERS, _NO_DIGIT),
    ),
)
