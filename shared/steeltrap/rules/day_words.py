"""The words by which languages say when something was, as one table for each kind of word.

Served are English, German, Spanish, French, Portuguese, Italian, Dutch, Chinese, Japanese and Korean. Words are folded
as `analysis.fold_case` folds them: lower case, without accents.
"""

from types import MappingProxyType
from typing import Final, Literal

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
IN_A_NUMBER: Final = frozenset({"of", "a", "ein", "een", "the"})

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
