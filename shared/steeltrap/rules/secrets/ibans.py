"""Account numbers by ISO 13616 (IBAN): as long as their country's are, with valid check digits."""

from collections.abc import Iterator
from typing import Final

from .rule import Span, compiled

KIND: Final = "iban"
CANDIDATE: Final = r"[A-Z]{2}\d{2}[ -]?[A-Z0-9]{4}[ -]?[A-Z0-9]{4}[ -]?[A-Z0-9]{3}"
_WRITTEN: Final = r"\b[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?"
_LENGTHS: Final = {
    each[:2]: int(each[2:])
    for each in """
    AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28
    EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26
    IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28
    NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25
    SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30
    """.split()
}
"""Letters and digits of a number of each country, by the registry of SWIFT."""


def find(data: bytes) -> Iterator[Span]:
    """Numbers in one piece or in the groups of four in which they are printed."""
    for match in compiled(_WRITTEN).finditer(data):
        start = match.start()
        length = _LENGTHS.get(data[start : start + 2].decode(), 0)
        places = [at for at in range(start, match.end()) if data[at] not in b" -"][:length]
        if not length or len(places) < length:
            continue
        end = places[-1] + 1
        if not data[end : end + 1].isalnum() and _is_valid(bytes(data[at] for at in places).decode()):
            yield Span(start, end, KIND)


def _is_valid(number: str) -> bool:
    return int("".join(str(int(letter, 36)) for letter in number[4:] + number[:4])) % 97 == 1
