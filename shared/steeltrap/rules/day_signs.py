"""Dates in Chinese, Japanese and Korean text, which has few spaces or endings at its words. Pure."""

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Any, Final

from . import day_words as say
from .day_mentions import Mention, ago, few_ago, of_unit, recent, weekday_of

_NUMBER_CJK: Final = f"(?:\\d{{1,4}}|[{say.CJK_NUMBERS}两兩]{{1,3}})"


def _any(words: Sequence[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


# Each form has a greatest length, so that looking for them takes no longer than the text is long.
_CJK: Final = re.compile(
    rf"(?P<year>\d{{4}})[年년][ ]?(?:(?P<ymonth>{_NUMBER_CJK})[月월][ ]?(?:(?P<yday>{_NUMBER_CJK})[日号號일])?)?"
    rf"|(?P<last>過去|最近|この|지난|최근)[ ]?(?P<rnumber>{_NUMBER_CJK})[ ]?"
    r"(?P<runit>日|天|週|周|个星期|個星期|か月|ヶ月|カ月|个月|個月|年|일|주|개월|달|년)"
    rf"|(?P<number>{_NUMBER_CJK}|[数几幾数]|{_any(list(say.KOREAN_DAYS))}|몇)[ ]?"
    r"(?P<unit>日|天|週間|周間|週|周|个星期|個星期|星期|か月|ヶ月|ケ月|カ月|箇月|个月|個月|年|일|주일|주|개월|달|년)?"
    r"[ ]?(?:前|之前|以前|전)"
    rf"|(?P<month>{_NUMBER_CJK})[月월][ ]?(?:(?P<day>{_NUMBER_CJK})[日号號일])?"
    rf"|(?P<offset>{_any(list(say.CJK_DAYS))})"
    rf"|(?P<span>{_any(list(say.CJK_UNITS))})(?:(?<=[周週期拜])(?P<ofweek>[一二三四五六天]|日(?!本))(?![起个個些次样樣曜月]))?"
    rf"|(?P<before>지난|저번|上个?|上個)?[ ]?(?P<weekday>{_any(list(say.CJK_WEEKDAYS))})"
)
_CJK_KINDS: Final[dict[str, say.Unit]] = {
    **dict.fromkeys(("日", "天", "일"), "day"),
    **dict.fromkeys(("週", "周", "星", "주"), "week"),
    **dict.fromkeys(("か", "ヶ", "ケ", "カ", "箇", "月", "개", "달"), "month"),
    **dict.fromkeys(("年", "년"), "year"),
}


def _kind(unit: str) -> say.Unit:
    return _CJK_KINDS["月" if unit.endswith("月") else "星" if unit.endswith("星期") else unit[0]]


def signs(text: str, today: date) -> Iterator[Mention]:
    """The dates of Chinese, Japanese and Korean text, which has few spaces or endings at its words."""
    for found in _CJK.finditer(text):
        try:
            values = _cjk_values(found, today)
        except (OverflowError, ValueError):  # a day that no calendar has
            values = None
        if values is not None:
            yield Mention(start=found.start(), end=found.end(), **values)


def _cjk_values(found: re.Match[str], today: date) -> dict[str, Any] | None:
    whole = ((found.start(), found.end(), "day"),)
    said: dict[str, str] = {name: value for name, value in found.groupdict().items() if value}
    match said:
        case {"year": year, **rest}:
            month, day = _cjk_number(rest.get("ymonth", "")), _cjk_number(rest.get("yday", ""))
            kind = "day" if month else "year"
            pieces = ((found.start(), found.end(), kind),)
            unit = "month" if month else "year"
            return {"year": int(year), "month": month, "day": day, "pieces": pieces, "unit": unit}
        case {"rnumber": number, "runit": unit}:
            kind_ = _kind(unit)
            return {"span": recent(today, _cjk_number(number), kind_), "unit": kind_}
        case {"number": number, **rest}:
            return _cjk_ago(number, rest.get("unit"), today)
        case {"month": month, **rest}:
            return {
                "month": _cjk_number(month),
                "day": _cjk_number(rest.get("day", "")),
                "pieces": whole,
                "unit": "month",
            }
        case {"offset": offset}:
            day_ = today + timedelta(days=say.CJK_DAYS[offset])
            return {"span": (day_, day_)}
        case {"span": name, **rest}:
            unit_, step = say.CJK_UNITS[name]
            span = of_unit(today, unit_, step)
            if "ofweek" in rest:
                number_ = "一二三四五六日".find(rest["ofweek"].replace("天", "日"))
                span = (span[0] + timedelta(days=number_),) * 2
                unit_ = "day"
            return {"span": span, "unit": unit_}
        case {"weekday": weekday}:
            number__ = say.CJK_WEEKDAYS[weekday]
            return {"span": weekday_of(today, number__, -1), "weekday": number__}
    return None


def _cjk_ago(number: str, unit: str | None, today: date) -> dict[str, Any] | None:
    if number in say.KOREAN_DAYS:
        return {"span": ago(today, say.KOREAN_DAYS[number], "day")} if unit is None else None
    if unit is None:
        return None
    kind = _kind(unit)
    count = _cjk_number(number)
    return {"span": ago(today, count, kind) if count else few_ago(today, kind), "unit": kind}


def _cjk_number(text: str) -> int:
    """The number of digits or of signs up to 99; 0 for none."""
    if not text or text.isdecimal():
        return int(text or 0)
    text = text.replace("两", "二").replace("兩", "二")
    if any(sign not in say.CJK_NUMBERS for sign in text):
        return 0
    tens, ten, ones = text.rpartition("十")
    if not ten:
        return say.CJK_NUMBERS.index(text[-1]) + 1
    return 10 * (say.CJK_NUMBERS.index(tens[-1]) + 1 if tens else 1) + (
        say.CJK_NUMBERS.index(ones[0]) + 1 if ones else 0
    )
