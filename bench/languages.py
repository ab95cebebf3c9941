"""Facts and questions in other words, in languages beside English: how often search finds the fact, and how often
SQLite's FTS5 does.

`languages.jsonl` has a space per language, with thirty facts as people keep them and a question to each. A question
shares no word with its fact, nor a stem: `shared_words` says which ones it does. Written for this benchmark.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from unicodedata import combining, normalize

import Stemmer

from steeltrap.cli.session import say, write_json

from .quality.asking import ask
from .quality.baselines import WORD, fts5
from .quality.formats import read
from .quality.scoring import scores
from .quality.sets import Space
from .stores import Store

OWN: Final = Path(__file__).with_name("languages.jsonl")

_SPACELESS: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ARABIC_PREFIX: Final = re.compile("^[وفبكل]?ال(?=..)|^لل(?=..)")
_SAME_START: Final = 5
"""Letters: words that begin with as many in common count as of one stem."""

_STEMMERS: Final = {
    "ar": "arabic",
    "de": "german",
    "es": "spanish",
    "fr": "french",
    "hi": "hindi",
    "it": "italian",
    "nl": "dutch",
    "pl": "polish",
    "pt": "portuguese",
    "ru": "russian",
    "tr": "turkish",
}

FUNCTION_WORDS: Final[Mapping[str, frozenset[str]]] = {
    language: frozenset(words.split())
    for language, words in {
        "fr": """a à ai aux avec ce ces cette combien comment contre d dans de depuis des dois du elle en est et être
            il ils j je jusqu l la le les leur leurs lui m ma me mes mon n ne nos notre nous on où par pas plus
            pour prend prends qu quand que quel quelle quelles quels qui s sa sais se ses son sont sous sur t un
            une vers y après avant deux tous faut fait""",
        "pt": """a à ao aos as até com como da das de dele desde do dos e é em está estou eu foi há isso já me meu
            meus minha minhas na nas no nos o onde os ou para pelo por quais qual quando quanto que quem se sem
            ser seu sua são tem tenho ter tive um uma""",
        "it": """a ad ai al alla alle anche che chi ci come con cosa cui da dal dalla degli dei del della delle di
            dove e è entro fino gli ha ho i il in la le li lo ma me mi mia miei mio ne nei nel nella no non o
            per più qual quale quando quanto se si sia sono sta sto su tra un una uno va""",
        "ru": """а без бы в вам во вы где да до если и из или к как какая какие какой какую когда кто кому ли мне мои
            мой моя мы на не нет но о об он она от по при с со так то у уже чего что чтобы это я во откуда""",
        "ar": """أن أنا أي إلى التي الذي الى أين بعد حتى عن على عند في قبل كل كيف لا لم لي ما ماذا متى مع من منذ نحو
            هل هو هي يجب""",
        "hi": """का की के को में से पर है हैं हूँ हूं था थी थे और या तो ही भी मैं मेरा मेरी मेरे मुझे हम हमारा हमारी
            हमारे हमें वह यह उस इस कौन क्या कब कहाँ कहां कैसे किस किसे किसने कितने कितना कौनसा कौनसी सा सी ने
            नहीं कि जो रहा रही रहे करता करती करते करना लिए साथ तक हर एक गया गई होता होती अपना अपनी अपने वाला
            वाली""",
        "nl": """aan al als bij dat de die dan der deze dit een en er ga gaat geen had heb hebben heeft het hoe ik in
            is je kan mag maar me met mij mijn moet na naar niet nog of om onze ons ons op over te tot uit van
            veel voor waar waarvoor wanneer wat we welk welke werd wie word wordt ze zich zijn zo door elke""",
        "pl": """a aby bez by być co czego czy dla do gdzie go i ile ja jak jaka jaki jakie jakiego jaką jest jestem
            już kiedy kim kogo komu kto która które który których którym ma mam mi mną mnie mój moi moja moje
            moją mojego mojej na nad nam nas nasz nasza nie o od po pod przed przez przy są się ta tak ten to
            tym u w we z za ze że czym dlaczego""",
        "tr": """ben bana benim beni bir bu da de daha değil en gibi hangi her için ile kaç kadar kim kimin kime mi
            mı mu mü ne neden nedir nerede nereden nereye ne o olan olarak önce sonra var ve veya ya yok şu
            bizim""",
        "uk": """а без бо був в вже від він вона де для до є з за зі і із її його й коли кому котрий ким ми мене мені
            мій мої моя моє моєї мою на над наш наша не ні о об од по при про та так те ти то у хто це чи чим
            чого що щоб як яка яке який які яким якої яку я звідки""",
    }.items()
}
"""Words that a question and its fact may both have: they tell nothing about what is meant."""

GRAMMAR_PAIRS: Final = frozenset(
    """아요 어요 여요 해요 예요 이에 에요 니다 습니 입니 합니 나요 까요 지요 는다 에서 에게 한테 으로
    부터 까지 하고 하는 있는 있다 있나 있어 하지 해야 했다 했어 이야 어디 언제 누구 무엇 우리 나는
    저는 내가 있지 我们 什么""".split()
)
"""Pairs of Korean and Chinese characters that are grammar."""


def measure(path: Path, store: Store = Store.SQLITE, *, embedder: str | None = None) -> dict[str, dict[str, Any]]:
    """By language: the shares, in percent, that search and FTS5 find, and how many questions share a word with their
    fact. Raises NotFound or InvalidInput for a file that can't be read, and what the store raises.
    """
    questions = read(path)
    answers = ask(questions, store, embedder=embedder, in_full=False).answers
    figures: dict[str, dict[str, Any]] = {}
    for number, space in enumerate(questions.spaces, 1):
        of_space = [scores(one.answered) for one in answers[: len(space.questions)]]
        del answers[: len(space.questions)]
        places = fts5_places(space)
        figures[space.language or f"space {number}"] = {
            "questions": len(space.questions),
            "top1": _percent([one["top1"] for one in of_space]),
            "r5": _percent([one["r5"] for one in of_space]),
            "fts5_top1": _percent([place == 0 for place in places]),
            "fts5_r5": _percent([place < 5 for place in places]),
            "sharing_words": sum(bool(words) for words in shared_words(space).values()),
        }
    return figures


def show(figures: Mapping[str, Mapping[str, Any]], as_json: bool) -> None:
    """JSON for programs, a table in Markdown for people."""
    if as_json:
        return write_json(dict(figures))
    columns = list(next(iter(figures.values()), ()))
    say(f"| {' | '.join(['', *columns])} |")
    say("|---" + "|--:" * len(columns) + "|")
    for language, row in figures.items():
        say(f"| {' | '.join([language, *(str(row[column]) for column in columns)])} |")
    return None


def shared_words(space: Space) -> dict[str, set[str]]:
    """By question, the words that share a stem, or their first five letters, with a word of a memory that answers it;
    in Chinese, Japanese and Korean the pairs of characters that such a memory has too. Function words don't count.
    """
    shared = {}
    for question in space.questions:
        texts = [space.memories[id].content for id in question.relevant]
        stems = {stem for text in texts for stem in _stems(text, space.language or "").values()}
        query_stems = _stems(question.text, space.language or "")
        shared[question.text] = {
            word for word, stem in query_stems.items() if any(_is_one(stem, each) for each in stems)
        }
    return shared


def _stems(text: str, language: str) -> dict[str, str]:
    """The words of a text with their stems."""
    algorithm = _STEMMERS.get(language)
    stem = Stemmer.Stemmer(algorithm).stemWord if algorithm else str
    stems: dict[str, str] = {}
    for word in WORD.findall(normalize("NFC", text.lower())):
        if _SPACELESS.search(word):
            pairs = {word[i : i + 2] for i in range(len(word) - 1)} or {word}
            stems |= {pair: pair for pair in pairs - GRAMMAR_PAIRS}
        elif word not in FUNCTION_WORDS.get(language, ()):
            bare = _ARABIC_PREFIX.sub("", word) if language == "ar" else word
            stems[word] = _without_accents(stem(bare))
    return stems


def _is_one(stem: str, other: str) -> bool:
    return stem == other or (len(stem) >= _SAME_START and stem[:_SAME_START] == other[:_SAME_START])


def _without_accents(word: str) -> str:
    return "".join(char for char in normalize("NFKD", word) if not combining(char))


def fts5_places(space: Space) -> list[int]:
    """For each question, how many memories FTS5 puts before the first that answers it."""
    count = len(space.memories)
    return [
        min((ids.index(id) for id in question.relevant if id in ids), default=count)
        for question, ids in zip(space.questions, fts5(space, count), strict=True)
    ]


def _percent(hits: Sequence[float]) -> float:
    return round(100 * sum(hits) / max(1, len(hits)), 1)
