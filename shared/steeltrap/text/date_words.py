"""Dates as words: by which words, and by which signs in text without spaces, languages say when something was. Pure.

Served are English, German, Spanish, French, Portuguese, Italian, Dutch, Chinese, Japanese and Korean. Words are folded
as `words.fold_case` folds them: lower case, without accents.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Literal

from ..model import Days
from ..model.frozen import frozen

Unit = Literal["day", "week", "weekend", "month", "year"]


def _numbered(*lines: str) -> MappingProxyType[str, int]:
    """Each line's words by the line's number, from 1."""
    return MappingProxyType({word: number for number, line in enumerate(lines, 1) for word in line.split()})


def _units(**lines: str) -> MappingProxyType[str, Unit]:
    return MappingProxyType({word: name for name, line in lines.items() for word in line.split()})  # type: ignore[misc]


MONTHS: Final = _numbered(
    "january jan januar enero janvier janeiro gennaio januari",
    "february feb februar febrero fevrier fevereiro febbraio februari",
    "march mar marz maerz marzo mars marco maart",
    "april apr abril avril aprile",
    "may mai mayo maio maggio mei",
    "june jun juni junio juin junho giugno",
    "july jul juli julio juillet julho luglio",
    "august aug agosto aout augustus",
    "september sept sep septiembre setiembre septembre setembro settembre",
    "october oct oktober okt octubre octobre outubro ottobre",
    "november nov noviembre novembre novembro",
    "december dec dezember diciembre decembre dezembro dicembre",
)
OTHER_WORDS: Final = frozenset({"may", "march", "mar", "mars", "mei"})
"""Months that are other words too: alone they name one only after a word of BEFORE_A_MONTH."""
BEFORE_A_MONTH: Final = frozenset(
    "in im en em a since seit desde depuis sinds dal until of early late mid from between".split()
)

WEEKDAYS: Final = _numbered(
    "monday montag lundi lunes lunedi maandag",
    "tuesday dienstag mardi martes martedi dinsdag",
    "wednesday mittwoch mercredi miercoles mercoledi woensdag",
    "thursday donnerstag jeudi jueves giovedi donderdag",
    "friday freitag vendredi viernes venerdi vrijdag",
    "saturday samstag sonnabend samedi sabado sabato zaterdag",
    "sunday sonntag dimanche domingo domenica zondag",
)
FEIRAS: Final = MappingProxyType({"segunda": 1, "terca": 2, "quarta": 3, "quinta": 4, "sexta": 5})
"""Portuguese weekdays, which are ordinal numbers too: before "feira", or after "na" and "nesta"."""

UNITS: Final = _units(
    day="day days tag tage tagen dia dias jour jours giorno giorni dag dagen",
    week="week weeks woche wochen semana semanas semaine semaines settimana settimane weken",
    weekend="weekend weekends wochenende wochenenden weekeinde",
    month="month months monat monate monaten monats mes meses mois mese mesi maand maanden",
    year="year years jahr jahre jahren jahres ano anos an ans annee annees anno anni jaar jaren",
)
WEEKENDS: Final = (("fin", "de", "semana"), ("fim", "de", "semana"), ("fine", "settimana"), ("week", "-", "end"))

LAST: Final = frozenset(
    """last past previous letzte letzten letzter letztes letztem vergangene vergangenen vergangener vergangenes
    vergangenem vorige vorigen voriger voriges vorigem pasado pasada pasados pasadas passado passada passados passadas
    ultimo ultima ultimos ultimas ultimi ultime scorso scorsa scorsi scorse dernier derniere derniers dernieres passe
    passee vorig afgelopen""".split()
)
THIS: Final = frozenset(
    """this current diese diesen dieser dieses diesem este esta esse essa neste nesta nesse nessa cette ce cet questo
    questa quest deze dit""".split()
)
NEXT: Final = frozenset(
    """next coming nachste nachsten nachster nachstes nachstem naechste naechsten naechstes kommende kommenden kommendes
    proximo proxima prochain prochaine prossimo prossima volgend volgende komende""".split()
)
AGO_BEFORE: Final = (("vor",), ("hace",), ("il", "y", "a"), ("ha",), ("faz",))
"""Before the number, as in "vor drei Tagen"."""
AGO_AFTER: Final = frozenset("ago earlier fa geleden atras".split())
"""After the unit, as in "three days ago"."""

NUMBERS: Final = _numbered(
    "a one ein eine einem einen einer un una uno une um uma een",
    "two couple zwei dos deux dois duas due twee",
    "three drei tres trois tre drie",
    "four vier cuatro quatre quatro quattro",
    "five funf fuenf cinco cinq cinque vijf",
    "six sechs seis sei zes",
    "seven sieben siete sept sete sette zeven",
    "eight acht ocho huit oito otto",
    "nine neun nueve neuf nove negen",
    "ten zehn diez dix dez dieci tien",
    "eleven elf once onze undici",
    "twelve zwolf zwoelf doce douze doze dodici twaalf",
)
FEW: Final = frozenset("few several paar einigen wenigen unos algunos quelques alguns alcuni enkele".split())
"""An unknown number, taken for 2 to 6."""

DAYS: Final = MappingProxyType(
    {
        tuple(phrase.split()): offset
        for offset, phrases in {
            -2: "the day before yesterday|day before yesterday|vorgestern|anteayer|antes de ayer|antier|avant - hier"
            "|avant hier|anteontem|antes de ontem|l ' altro ieri|altro ieri|altroieri|avantieri|eergisteren",
            -1: "yesterday|last night|gestern|gestern morgen|ayer|ayer por la manana|anoche|hier|ontem|ontem de manha"
            "|ieri|gisteren|vannacht",
            0: "today|tonight|this morning|this afternoon|this evening|heute|heute morgen|hoy|esta manana|esta tarde"
            "|esta noche|aujourd ' hui|ce matin|ce soir|cet apres - midi|hoje|esta manha|oggi|stamattina|stasera"
            "|vandaag|vanmorgen|vanochtend|vanmiddag|vanavond",
            1: "tomorrow|morgen|manana|demain|amanha|domani",
            2: "the day after tomorrow|day after tomorrow|ubermorgen|uebermorgen|pasado manana|apres - demain"
            "|depois de amanha|dopodomani|overmorgen",
        }.items()
        for phrase in phrases.split("|")
    }
)
NO_DAYS: Final = tuple(
    tuple(phrase.split())
    for phrase in (
        "am morgen",
        "jeden morgen",
        "guten morgen",
        "goede morgen",
        "de la manana",
        "por la manana",
        "cada manana",
        "la manana",
        "hier in",
        "hier im",
        "hier ist",
    )
)
"""Where a word of the table means something else: the morning, and in German "here"."""

SINCE: Final = frozenset("since seit desde depuis dal dalla sinds".split())
BETWEEN: Final = frozenset("between from zwischen vom von entre del desde du de tra fra dal dalla tussen van".split())
TO: Final = frozenset("to until till through thru bis hasta al au jusqu ate ao alla tot - \u2013 \u2014".split())
"""Between the first and the last day of a span."""
AND: Final = frozenset("and und y et e en a".split())
"""The same after a word of BETWEEN."""
FILLERS: Final = frozenset(
    """the of in on , . de del der des den dem die das el la los las le les l ' d du di do da dello della dell dos das
    im am vom zum bis au il lo o no na von van in""".split()
)
"""May stand between the parts of one date, as in "Monday of last week"."""
OF: Final = frozenset("of de del di d do da".split())
ORDINALS: Final = frozenset("st nd rd th er ere e o a .".split()) | {"\u00ba", "\u00aa"}
"""After the number of a day, as in "1st", "1er" and "1."."""
DAY_ALONE: Final = frozenset("am the le el il".split())
"""Before a day's number without a month, as in "on the 12th" and "am 12."."""

CJK_DAYS: Final = MappingProxyType(
    {
        **dict.fromkeys(("一昨日", "おととい", "前天", "그저께", "그제", "엊그제"), -2),
        **dict.fromkeys(("昨日", "きのう", "昨夜", "昨晩", "昨天", "昨晚", "어제", "어젯밤"), -1),
        **dict.fromkeys(("今日", "きょう", "今朝", "今夜", "今晩", "本日", "今天", "今早", "今晚", "오늘"), 0),
        **dict.fromkeys(("明日", "あした", "明天", "내일"), 1),
        **dict.fromkeys(("明後日", "あさって", "后天", "後天", "모레"), 2),
    }
)
CJK_UNITS: Final[MappingProxyType[str, tuple[Unit, int]]] = MappingProxyType(
    {
        **dict.fromkeys(("先々週", "上上周", "上上週", "지지난주", "지지난 주"), ("week", -2)),
        **dict.fromkeys(
            (
                "先週",
                "上周",
                "上週",
                "上星期",
                "上个星期",
                "上個星期",
                "上礼拜",
                "上禮拜",
                "지난주",
                "지난 주",
                "저번 주",
                "저번주",
            ),
            ("week", -1),
        ),
        **dict.fromkeys(
            ("今週", "这周", "這週", "本周", "本週", "这个星期", "這個星期", "这星期", "이번 주", "이번주"), ("week", 0)
        ),
        **dict.fromkeys(("来週", "下周", "下週", "下星期", "下个星期", "下個星期", "다음 주", "다음주"), ("week", 1)),
        **dict.fromkeys(("先週末", "上周末", "上週末", "지난 주말", "지난주말"), ("weekend", -1)),
        **dict.fromkeys(("今週末", "这周末", "這週末", "本周末", "이번 주말"), ("weekend", 0)),
        **dict.fromkeys(("週末", "周末", "주말"), ("weekend", 0)),
        **dict.fromkeys(("先々月", "上上个月", "上上個月", "지지난달"), ("month", -2)),
        **dict.fromkeys(("先月", "上个月", "上個月", "上月", "지난달", "지난 달", "저번 달"), ("month", -1)),
        **dict.fromkeys(("今月", "这个月", "這個月", "本月", "이번 달", "이번달"), ("month", 0)),
        **dict.fromkeys(("来月", "下个月", "下個月", "다음 달", "다음달"), ("month", 1)),
        **dict.fromkeys(("一昨年", "おととし", "前年", "재작년"), ("year", -2)),
        **dict.fromkeys(("去年", "昨年", "작년", "지난해", "지난 해"), ("year", -1)),
        **dict.fromkeys(("今年", "本年", "올해"), ("year", 0)),
        **dict.fromkeys(("来年", "明年", "내년"), ("year", 1)),
    }
)
CJK_WEEKDAYS: Final = MappingProxyType(
    {
        **{f"{sign}曜{day}": number for number, sign in enumerate("月火水木金土日", 1) for day in ("", "日")},
        **{
            f"{week}{sign}": n
            for week in ("周", "週", "星期", "礼拜", "禮拜")
            for n, sign in enumerate("一二三四五六日", 1)
        },
        **{f"{week}天": 7 for week in ("星期", "礼拜", "禮拜")},
        **{f"{sign}요일": number for number, sign in enumerate("월화수목금토일", 1)},
    }
)
CJK_NUMBERS: Final = "一二三四五六七八九十"
KOREAN_DAYS: Final = MappingProxyType({"하루": 1, "이틀": 2, "사흘": 3, "나흘": 4, "닷새": 5, "열흘": 10})


@frozen
class Part:
    """A piece of the question, and the days that it names. A `relative` one, such as "yesterday", means other days
    where a memory says it."""

    text: str
    spans: tuple[Days, ...]
    relative: bool


@frozen
class Mention:
    """A date as it stands in a question: a span, a weekday, or a day or month that may lack its year."""

    start: int
    end: int
    span: Days | None = None
    unit: Unit = "day"
    weekday: int = 0
    step: int = -1
    """Which weekday is meant: the last one (-1), this week's (0) or the next (1)."""
    year: int = 0
    month: int = 0
    day: int = 0
    to_day: int = 0
    until: "Mention | None" = None
    pieces: tuple[tuple[int, int, str], ...] = ()
    """Where the day's number, the month and the year stand."""

    def overlaps(self, other: "Mention") -> bool:
        return self.start < other.end and other.start < self.end

    def spans(self, years: range) -> list[Days]:
        if self.until is not None:
            return self._to(self.until, years)
        if self.span is not None:
            return [self.span]
        each = (span_of(year, self.month, self.day, self.to_day) for year in ([self.year] if self.year else years))
        return [span for span in each if span is not None]

    def _to(self, until: "Mention", years: range) -> list[Days]:
        begin = replace(self, until=None, year=self.year or until.year)
        ends = until.spans(years)
        if self.weekday:
            return [(last - timedelta(days=(last.isoweekday() - self.weekday) % 7), last) for _, last in ends]
        firsts = [max((s for s in begin.spans(years) if s[0] <= end[1]), default=None) for end in ends]
        return [(first[0], end[1]) for first, end in zip(firsts, ends, strict=True) if first is not None]

    def parts(self, text: str, years: range) -> list[Part]:
        spans = tuple(self.spans(years))
        if not spans:
            return []
        if not self.pieces or self.until is not None:
            return [Part(text=text[self.start : self.end], spans=spans, relative=self.span is not None)]
        any_year = [self.year] if self.year and self.year not in years else list(years)
        of_month = tuple(span for year in any_year if self.month and (span := span_of(year, self.month)))
        of_year = tuple(span for span in [span_of(self.year)] if span is not None) if self.year else ()
        spans_by_kind = {"day": spans, "month": of_month, "year": of_year}
        return [Part(text=text[at:end], spans=spans_by_kind[kind], relative=False) for at, end, kind in self.pieces]


@frozen
class EitherMention(Mention):
    """A date that can be read in two ways, such as 5/12/2026."""

    readings: tuple[Days, ...] = ()

    def spans(self, years: range) -> list[Days]:
        return list(self.readings)


def span_of(year: int, month: int = 0, day: int = 0, to_day: int = 0) -> Days | None:
    """The days of a year, a month, or a day, None for one that no calendar has."""
    try:
        if not month:
            return date(year, 1, 1), date(year, 12, 31)
        first = date(year, month, day or 1)
        if to_day:
            return (first, date(year, month, to_day)) if to_day >= day else None
        return (first, first) if day else (first, end_of_month(first))
    except (ValueError, OverflowError):
        return None


def end_of_month(day: date) -> date:
    after = day.replace(day=28) + timedelta(days=4)
    return after - timedelta(days=after.day)


def month_on(today: date, steps: int) -> date:
    """The first day of the month that is this number of months later."""
    months = today.year * 12 + today.month - 1 + steps
    return date(months // 12, months % 12 + 1, 1)


def of_unit(today: date, unit: Unit, step: int) -> Days:
    """The week, weekend, month or year that many steps on."""
    monday = today - timedelta(days=today.weekday())
    match unit:
        case "day":
            return (today + timedelta(days=step),) * 2
        case "week":
            return monday + timedelta(weeks=step), monday + timedelta(weeks=step, days=6)
        case "weekend":
            saturday = monday + timedelta(weeks=step, days=5)
            return saturday, saturday + timedelta(days=1)
        case "month":
            first = month_on(today, step)
            return first, end_of_month(first)
    return date(today.year + step, 1, 1), date(today.year + step, 12, 31)


def ago(today: date, number: int, unit: Unit) -> Days:
    if unit == "week":
        day = today - timedelta(weeks=number)
        return day - timedelta(days=3), day + timedelta(days=3)
    return of_unit(today, unit, -number)


def few_ago(today: date, unit: Unit) -> Days:
    return ago(today, 6, unit)[0], ago(today, 2, unit)[1]


def recent(today: date, number: int, unit: Unit) -> Days:
    match unit:
        case "day":
            return today - timedelta(days=number), today
        case "week" | "weekend":
            return today - timedelta(weeks=number), today
        case "month":
            first = month_on(today, -number)
            return first.replace(day=min(today.day, end_of_month(first).day)), today
    return date(today.year - number, today.month, min(today.day, 28)), today


def weekday_of(today: date, weekday: int, step: int) -> Days:
    monday = today - timedelta(days=today.weekday())
    day = monday + timedelta(days=weekday - 1)
    if step < 0 and day >= today:
        day -= timedelta(weeks=1)
    if step > 0 and day <= today:
        day += timedelta(weeks=1)
    return day, day


_NUMBER_CJK: Final = f"(?:\\d{{1,4}}|[{CJK_NUMBERS}两兩]{{1,3}})"


def _any(words: Sequence[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


@cache
def _cjk() -> re.Pattern[str]:
    """Compiled when the first such text needs it, which takes 6 ms."""
    # Each form has a greatest length, so that looking for them takes no longer than the text is long.
    return re.compile(
        rf"(?P<year>\d{{4}})[年년][ ]?(?:(?P<ymonth>{_NUMBER_CJK})[月월][ ]?(?:(?P<yday>{_NUMBER_CJK})[日号號일])?)?"
        rf"|(?P<last>過去|最近|この|지난|최근)[ ]?(?P<rnumber>{_NUMBER_CJK})[ ]?"
        r"(?P<runit>日|天|週|周|个星期|個星期|か月|ヶ月|カ月|个月|個月|年|일|주|개월|달|년)"
        rf"|(?P<number>{_NUMBER_CJK}|[数几幾数]|{_any(list(KOREAN_DAYS))}|몇)[ ]?"
        r"(?P<unit>日|天|週間|周間|週|周|个星期|個星期|星期|か月|ヶ月|ケ月|カ月|箇月|个月|個月|年|일|주일|주|개월|달|년)?"
        r"[ ]?(?:前|之前|以前|전)"
        rf"|(?P<month>{_NUMBER_CJK})[月월][ ]?(?:(?P<day>{_NUMBER_CJK})[日号號일])?"
        rf"|(?P<offset>{_any(list(CJK_DAYS))})"
        rf"|(?P<span>{_any(list(CJK_UNITS))})(?:(?<=[周週期拜])(?P<ofweek>[一二三四五六天]|日(?!本))(?![起个個些次样樣曜月]))?"
        rf"|(?P<before>지난|저번|上个?|上個)?[ ]?(?P<weekday>{_any(list(CJK_WEEKDAYS))})"
    )


_CJK_KINDS: Final[dict[str, Unit]] = {
    **dict.fromkeys(("日", "天", "일"), "day"),
    **dict.fromkeys(("週", "周", "星", "주"), "week"),
    **dict.fromkeys(("か", "ヶ", "ケ", "カ", "箇", "月", "개", "달"), "month"),
    **dict.fromkeys(("年", "년"), "year"),
}


def _kind(unit: str) -> Unit:
    return _CJK_KINDS["月" if unit.endswith("月") else "星" if unit.endswith("星期") else unit[0]]


def signs(text: str, today: date) -> Iterator[Mention]:
    """The dates of Chinese, Japanese and Korean text, which has few spaces or endings at its words."""
    for match in _cjk().finditer(text):
        try:
            values = _cjk_values(match, today)
        except (OverflowError, ValueError):  # a day that no calendar has
            values = None
        if values is not None:
            yield Mention(start=match.start(), end=match.end(), **values)


def _cjk_values(match: re.Match[str], today: date) -> dict[str, Any] | None:
    whole = ((match.start(), match.end(), "day"),)
    groups: dict[str, str] = {name: value for name, value in match.groupdict().items() if value}
    match groups:
        case {"year": year, **rest}:
            month, day = _cjk_number(rest.get("ymonth", "")), _cjk_number(rest.get("yday", ""))
            kind = "day" if month else "year"
            pieces = ((match.start(), match.end(), kind),)
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
            day_ = today + timedelta(days=CJK_DAYS[offset])
            return {"span": (day_, day_)}
        case {"span": name, **rest}:
            unit_, step = CJK_UNITS[name]
            span = of_unit(today, unit_, step)
            if "ofweek" in rest:
                number_ = "一二三四五六日".find(rest["ofweek"].replace("天", "日"))
                span = (span[0] + timedelta(days=number_),) * 2
                unit_ = "day"
            return {"span": span, "unit": unit_}
        case {"weekday": weekday}:
            number__ = CJK_WEEKDAYS[weekday]
            return {"span": weekday_of(today, number__, -1), "weekday": number__}
    return None


def _cjk_ago(number: str, unit: str | None, today: date) -> dict[str, Any] | None:
    if number in KOREAN_DAYS:
        return {"span": ago(today, KOREAN_DAYS[number], "day")} if unit is None else None
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
    if any(sign not in CJK_NUMBERS for sign in text):
        return 0
    tens, ten, ones = text.rpartition("十")
    if not ten:
        return CJK_NUMBERS.index(text[-1]) + 1
    return 10 * (CJK_NUMBERS.index(tens[-1]) + 1 if tens else 1) + (CJK_NUMBERS.index(ones[0]) + 1 if ones else 0)
