"""Card numbers: Luhn-valid, as long as their issuer's are, and not what a text calls something else."""

import re
from collections.abc import Iterator
from typing import Final

from .rule import Span, compiled

KIND: Final = "card-number"
# A digit of the number, with at most one separator before it.
_SEPARATOR: Final = r"(?:[ -]|\x{a0}|\x{202f}|\r?\n)"
CANDIDATE: Final = rf"\d(?:{_SEPARATOR}?\d){{13}}"

_GROUPED: Final = rf"\d{{4}}{_SEPARATOR}(?:\d{{4}}{_SEPARATOR}\d{{4}}{_SEPARATOR}\d{{4}}|\d{{6}}{_SEPARATOR}\d{{4,5}})"
_BARE: Final = r"\d{14,19}"
# What may not stand right before or behind: the number would be a part of something longer.
_BEFORE: Final = re.compile(rb"[\w+*^#/&?%@.-]")
_AFTER: Final = re.compile(rb"[\w/+*^=%@#]|[.:-]\w")
_IBAN: Final = re.compile(rb"\b[A-Z]{2}\d{2}[ -]?(?:[A-Z0-9]{4}[ -])*$")
# A long number that a text calls one of these is no card's. One in groups of four is, whatever it is called.
_OTHER: Final = re.compile(
    rb"(?i)\b(?:orders?|invoices?|tracking|parcels?|shipments?|tickets?|case|ref|reference|receipt|imei|imsi|iccid|sim"
    rb"|serial|sku|ean|upc|gtin|isbn|phone|tel|mobile|fax|time|timestamp|ts|epoch|ids?|uid|pid|build|version|revision"
    rb"|offset|bytes|size|hash|checksum|seed|port|account|transaction|txn|nonce|block|height|customer|user|message"
    rb"|chat|channel|tweet|post|status|number of|rechnung|bestellung|sendung)\b[^\n]{0,16}$"
)
_CARD: Final = re.compile(
    rb"(?i)\b(?:cards?|credit|debit|visa|master ?card|amex|american express|discover|diners|pan|cvv|cvc|kreditkarte)\b"
)
_NEAR: Final = 48


def find(data: bytes) -> Iterator[Span]:
    """Numbers of 14 to 19 digits, in one piece or in the groups that are printed on a card."""
    at = 0
    while (match := compiled(_GROUPED).search(data, at)) is not None:
        start, end = match.span()
        if (
            _is_card(match.group())
            and _is_whole(data, start, end)
            and not _IBAN.search(data[max(0, start - _NEAR) : start])
        ):
            yield Span(start, end, KIND)
            at = end
        else:
            at = start + 4  # the groups behind the first may be a card's
    for match in compiled(_BARE).finditer(data):
        start, end = match.span()
        if _is_card(match.group()) and _is_whole(data, start, end) and not _is_called_otherwise(data, start):
            yield Span(start, end, KIND)


def _is_whole(data: bytes, start: int, end: int) -> bool:
    return not _BEFORE.match(data[max(0, start - 1) : start]) and not _AFTER.match(data, end)


def _is_called_otherwise(data: bytes, start: int) -> bool:
    near = data[max(0, start - _NEAR) : start]
    other = _OTHER.search(near)
    return other is not None and _CARD.search(near, other.start()) is None


def _is_card(written: bytes) -> bool:
    digits = re.sub(rb"\D", b"", written)
    return _has_issuer(digits.decode()) and _passes_luhn(digits) and len(set(digits)) > 1


def _has_issuer(digits: str) -> bool:
    """Whether an issuer's numbers begin so and are so long."""
    two, three, four, length = int(digits[:2]), int(digits[:3]), int(digits[:4]), len(digits)
    if digits[0] == "4" or 51 <= two <= 55 or 2221 <= four <= 2720:  # Visa, Mastercard
        return length == 16
    if two in (34, 37):  # American Express
        return length == 15
    if two == 65 or four == 6011 or 644 <= three <= 649 or 3528 <= four <= 3589:  # Discover, JCB
        return length == 16
    if two in (36, 38) or 300 <= three <= 305:  # Diners Club
        return length == 14
    return two == 62 and 16 <= length <= 19  # UnionPay


def _passes_luhn(digits: bytes) -> bool:
    values = [digit - 48 for digit in reversed(digits)]
    doubled = [value * 2 - 9 * (value > 4) for value in values[1::2]]
    return (sum(values[::2]) + sum(doubled)) % 10 == 0
